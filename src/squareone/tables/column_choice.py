"""What a column of a table is taken for, and why: decided once, at fit.

Dropped are columns without a value, those that do not vary, and identifiers; what a column is kept
as follows from its contents and, for words, from the number of its levels.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from ..arrays import Array
from ..persistence import Fields, refuse
from .column_parts import (
    PARTS,
    DateCycles,
    GapIndicator,
    HashedLevels,
    LevelOrder,
    Levels,
    NumberInPieces,
    Part,
    ScaledNumber,
    TargetMeans,
    TrueFalse,
    numbers_of,
)
from .columns import (
    Column,
    alone_no_word,
    as_content,
    check_size,
    parsed_numbers,
    parsed_times,
)
from .counted_columns import CountedColumn
from .number_pieces import NumberPieces
from .number_scaling import NumberScaling
from .target_means import level_means

__all__ = ["ChoiceRules", "EncodedColumn", "Unseen", "choose", "choose_counted", "stays_words"]

# A share of different texts that makes an identifier of them, with so many rows at least.
_DIFFERENT, _FEWEST = 0.9, 10
# The share of the whole numbers from 0 on that has to occur in a part of a running number, of so
# many rows at least: measurements that are as close together repeat sooner.
_DENSE, _MANY = 0.5, 200
# Words in the name of a column that say what it is.
_IDS = {"id", "ids", "idx", "index", "identifier", "key", "guid", "uuid", "rowid", "rownum"}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Codes such as 02139, of which float would make 2139.
_CODE = re.compile(r"[+-]?0\d+", re.ASCII)
_INTEGER = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
_FORMATTED = re.compile(r"[^\w\s]?\s?[-+]?\d[\d.,' ]*\s?[^\w\s]?")

#: Kinds of columns that are dropped.
DROPPED = ("identifier", "constant", "empty")
_CONTENTS = ("numbers", "booleans", "times", "words")
# What a file may say that a column has.
_PARTS_OF: dict[tuple[str, str], tuple[str, ...]] = {
    ("number", "numbers"): ("ScaledNumber", "NumberInPieces", "GapIndicator"),
    ("boolean", "booleans"): ("TrueFalse", "GapIndicator"),
    ("words", "words"): ("Levels", "TargetMeans", "HashedLevels", "LevelOrder"),
    ("date", "times"): ("ScaledNumber", "NumberInPieces", "DateCycles", "GapIndicator"),
    **{("presence", content): ("GapIndicator",) for content in _CONTENTS},
}
_KINDS = {kind for kind, _ in _PARTS_OF} | set(DROPPED)


class Unseen(NamedTuple):
    """Rows of a column that hold what the training rows did not."""

    levels: int
    gaps: int


@dataclass(frozen=True)
class ChoiceRules:
    """The parameters of an encoder, and the targets, as far as a choice needs them.

    Attributes
    ----------
    scaling : str
    n_pieces : int
    max_levels, rare : int
    n_hash : int
    smoothing : float
    drop_identifiers : bool
    Y : array (n, K) or None
        Targets of the training rows, for words of many levels; without them these are hashed.
    targets : tuple of str
        Their names.
    weights : array (n,) or None
    """

    scaling: str
    n_pieces: int
    max_levels: int
    rare: int
    n_hash: int
    smoothing: float
    drop_identifiers: bool
    Y: Array | None
    targets: tuple[str, ...]
    weights: Array | None

    def number(self, numbers: Array) -> Part:
        """What numbers (n,) become."""
        if self.scaling != "pieces":
            return ScaledNumber(self.scaled(numbers))
        known, weights = self._known(numbers)
        return NumberInPieces(NumberPieces.fit(known, weights, self.n_pieces))

    def scaled(self, numbers: Array) -> NumberScaling:
        """The scaling for numbers (n,), to one column."""
        known, weights = self._known(numbers)
        return NumberScaling.fit(known, weights, self.scaling)

    def _known(self, numbers: Array) -> tuple[Array, Array | None]:
        """Without gaps, and what these rows count."""
        known = ~np.isnan(numbers)
        return numbers[known], None if self.weights is None else self.weights[known]


@dataclass(frozen=True)
class EncodedColumn:
    """What a column is taken for.

    Attributes
    ----------
    name : str
    kind : str
        ``"number"``, ``"boolean"``, ``"words"``, ``"date"``, ``"presence"``, ``"identifier"``,
        ``"constant"`` or ``"empty"``; the last three are dropped.
    why : str
    content : str
        What new rows have to hold; see :mod:`~squareone.tables.columns`.
    zoned : bool
        Whether times have a time zone.
    gaps : bool
        Whether the training rows had gaps.
    parts : tuple of Part
        None where the column is dropped.
    """

    name: str
    kind: str
    why: str
    content: str = "words"
    zoned: bool = False
    gaps: bool = False
    parts: tuple[Part, ...] = ()

    def outputs(self, name: str) -> list[str]:
        """The names of what it becomes, where the column is called ``name``."""
        return [f"{name}{ending}" for part in self.parts for ending in part.names()]

    def read(self, column: Column) -> Column:
        """New rows of the column, as what it was; refused where they cannot be that."""
        if self.kind == "presence":  # whatever is there, it is there, but for "nan" as a number
            words = column.content == "words" and self.content == "numbers"
            return (parsed_numbers(column) if words else None) or column
        column = as_content(column, self.content, self.zoned)
        if self.content == "numbers":
            check_size(column)
        return column

    def encode(self, column: Column, out: Array) -> None:
        """Write the outputs (n, k) for rows that :meth:`read` gave."""
        start = 0
        for part in self.parts:
            stop = start + len(part.names())
            out[:, start:stop] = part.encode(column).reshape(len(out), stop - start)
            start = stop

    def unseen(self, column: Column) -> Unseen:
        """How many rows hold what the training rows did not."""
        masks = [mask for part in self.parts if (mask := part.unknown(column)) is not None]
        gaps = 0 if self.gaps else int(column.gaps.sum())
        return Unseen(sum(int(mask.sum()) for mask in masks), gaps)

    def state(self) -> dict[str, Any]:
        """What a file has of it."""
        parts = [{"part": type(part).__name__} | part.state() for part in self.parts]
        plain = ("name", "kind", "why", "content", "zoned", "gaps")
        return {name: getattr(self, name) for name in plain} | {"parts": parts}

    @classmethod
    def restore(cls, found: Fields) -> Self:
        """From a file, checked."""
        with found:
            name, kind, why, content = (
                found.take(field, str) for field in ("name", "kind", "why", "content")
            )
            zoned, gaps = found.take("zoned", bool), found.take("gaps", bool)
            nodes = found.take("parts", list)
        if kind not in _KINDS or content not in _CONTENTS:
            refuse(found.where, f"a column of {content!r} cannot be a {kind!r}")
        parts = []
        for place, node in enumerate(nodes):
            with Fields(node, f"{found.where}.parts.{place}") as fields:
                part = fields.take("part", str)
                if part not in PARTS or part not in _PARTS_OF.get((kind, content), ()):
                    refuse(fields.where, f"{part!r} is no part of a {kind!r} of {content!r}")
                parts.append(PARTS[part].restore(fields))
        if bool(parts) == (kind in DROPPED):
            refuse(found.where, f"a {kind!r} has {len(parts)} parts")
        return cls(name, kind, why, content, zoned, gaps, tuple(parts))


# --- the choice ---


def choose_counted(counted: CountedColumn, rules: ChoiceRules) -> EncodedColumn:
    """What a column is taken for, of which the different values and their counts are known.

    Values of target means, which need the rows, are zeros still.

    **Cost**: as :func:`choose` for the different values.
    """
    column, rows, weights = counted.with_gaps()
    Y = None if rules.Y is None else np.zeros((rows.size, rules.Y.shape[1]))
    found = choose(column, replace(rules, Y=Y, weights=weights), _Counts(rows, counted))
    why, levels = found.why, f"{len(column.levels):,} levels"
    if counted.hashes is not None and column.content == "words":
        why = why.replace(levels, f"about {counted.different:,.0f} levels")
    parts = found.parts
    if counted.moments is not None and parts and isinstance(parts[0], ScaledNumber):
        scaling = parts[0].scaling
        if not scaling.knots.size:
            moments = counted.moments
            scaling = replace(scaling, mean=moments.mean, sd=moments.sd)
        parts = (ScaledNumber(scaling), *parts[1:])
    return replace(found, why=why, parts=parts)


class _Counts(NamedTuple):
    """How many rows each value of a column stands for, and where they are from."""

    rows: Array
    counted: CountedColumn


def choose(column: Column, rules: ChoiceRules, counts: _Counts | None = None) -> EncodedColumn:
    """What a column of training rows, all of positive weight, is taken for.

    With ``counts`` a value stands for several rows.

    **Cost**: a few passes; a sort for numbers that may be identifiers, one call of ``float`` for
    every level of words.
    """
    name, n = column.name, column.values.size if counts is None else counts.counted.n
    column, why = _typed(column)
    if counts is not None and counts.counted.as_text and column.content != "words":
        why = "as text"
    if column.content == "numbers":
        check_size(column)
    gaps = column.gaps
    count = int(gaps.sum() if counts is None else counts.rows[gaps].sum())
    if count == n:
        return EncodedColumn(name, "empty", f"no value in {_rows(n, 'any')}")
    values = column.values[~gaps]
    if (values == values[0]).all() and not column.merged and not _more(counts):
        shown = column.shown(int(np.argmin(gaps)))
        if not count:
            return EncodedColumn(name, "constant", f"{shown} in {_rows(n)}")
        why = f"{shown} or a gap: whether there is a value"
        return EncodedColumn(
            name, "presence", why, column.content, gaps=True, parts=(GapIndicator(),)
        )
    identifier = ""
    if rules.drop_identifiers:
        identifier = _identifier(column, n, count, None if counts is None else counts.counted)
    if identifier:
        return EncodedColumn(name, "identifier", identifier, column.content)
    kind, parts, more = _CHOICES[column.content](column, rules)
    why = ", ".join(filter(None, (why, more, f"{count:,} gap{'s' * (count > 1)}" if count else "")))
    return EncodedColumn(name, kind, why, column.content, column.zoned, count > 0, parts)


def _rows(n: int, which: str = "each") -> str:
    return "the only row" if n == 1 else f"{which} of {n:,} rows"


def _typed(column: Column) -> tuple[Column, str]:
    """Words that are numbers or dates as such, and what is to be said of a column."""
    if column.merged:
        return column.as_words(), "integers that are no longer apart in float64"
    if column.content != "words":
        return column, ""
    if column.declared:
        return column, "ordered categories" if column.order else "categories"
    numbers, gaps = parsed_numbers(column), column.gaps
    if numbers is not None:
        codes = [level for level in column.levels if _CODE.fullmatch(level)]
        if codes:
            return column, f"codes with leading zeros such as {codes[0]!r}"
        whole = all(map(_INTEGER.fullmatch, column.levels))
        if whole and len(set(map(int, column.levels))) > np.unique(numbers.values[~gaps]).size:
            return column, "integers that are no longer apart in float64"
        if not column.settled:
            return replace(numbers, whole=whole), "as text"
    times = None if column.settled else parsed_times(column)
    if times is not None:
        return times, "as text"
    if all(map(_FORMATTED.fullmatch, column.levels)):
        return column, f"not numbers, as {column.levels[0]!r} is none for Python"
    return column, ""


def stays_words(column: Column) -> bool:
    """Whether a column of words has levels of which alone it would be numbers, dates or booleans.

    **Cost**: one call of ``float`` for every level.
    """
    if column.content != "words" or column.declared or _typed(column)[0].content != "words":
        return False
    return any(map(alone_no_word, column.levels))


def _more(counts: _Counts | None) -> bool:
    """Whether there are texts that were not kept."""
    return counts is not None and counts.counted.others[0] > 0


def _identifier(column: Column, n: int, gaps: int, counted: CountedColumn | None) -> str:
    """Why a column tells rows apart and nothing else; empty where it does not.

    Where not all values were kept, how many are different is an estimate: then nine rows of ten.
    """
    if n < _FEWEST:
        return ""
    estimated = counted is not None and counted.hashes is not None
    if column.content == "words":
        known = n - gaps
        levels = counted.different if counted is not None and estimated else len(column.levels)
        if known >= _FEWEST and levels >= _DIFFERENT * known:
            about = "about " * estimated
            return f"{about}{levels:,.0f} different texts in {known:,} rows"
    if column.content == "numbers" and column.whole:
        named = called_identifier(column.name)
        if counted is not None and estimated:
            low, high = column.values[0], column.values[~column.gaps][-1]
            running = low >= 0 and high + 1 <= n / _DENSE
            if counted.different >= _DIFFERENT * n and (named or running):
                what = f"called {named!r}" if named else "a running number"
                return f"whole numbers, another one in nearly every row, and {what}"
            return ""
        different = np.unique(column.values)
        if different.size == n and (named or _is_running(different)):
            what = f"called {named!r}" if named else "a running number"
            return f"whole numbers, another one in every row, and {what}"
    return ""


def _is_running(ordered: Array) -> bool:
    """Whether different whole numbers (n,) count rows: 0, 1, … or 1, 2, …, or many rows of these.

    A few measurements may all differ by chance, and those of a plan are equally far apart.
    """
    apart = np.diff(ordered)
    if (apart == apart[0]).all():
        return bool(ordered[0] in (0, 1) and apart[0] == 1)
    n = ordered.size
    return bool(n >= _MANY and ordered[0] >= 0 and ordered[-1] + 1 <= n / _DENSE)


def called_identifier(name: str) -> str:
    """The word in the name of a column that calls it an identifier; empty where there is none."""
    return min({word.lower() for word in _WORD.findall(name)} & _IDS, default="")


_Choice = tuple[str, tuple[Part, ...], str]


def _number(column: Column, rules: ChoiceRules) -> _Choice:
    return "number", (rules.number(column.values), *_indicator(column)), ""


def _boolean(column: Column, rules: ChoiceRules) -> _Choice:
    return "boolean", (TrueFalse(), *_indicator(column)), ""


def _date(column: Column, rules: ChoiceRules) -> _Choice:
    number = rules.number(numbers_of(column))
    cycles = DateCycles.fit(column.values[~column.gaps])
    parts = (cycles,) if cycles.names() else ()
    said = [*cycles.cycles, *(["day of the week"] if cycles.weekdays else [])]
    return "date", (number, *parts, *_indicator(column)), ", ".join(["running number", *said])


def _indicator(column: Column) -> tuple[Part, ...]:
    return (GapIndicator(),) if column.gaps.any() else ()


def _words(column: Column, rules: ChoiceRules) -> _Choice:
    count = len(column.levels)
    said = f"{count:,} levels"
    main: Part
    if count <= rules.max_levels:
        main = _levels(column, rules)
        rare = int((main.groups[:count] == main.groups[-1]).sum())
        said += f", of which {rare:,} rare" if rare else ""
    elif rules.Y is None:
        main = HashedLevels(rules.n_hash, bool(column.gaps.any()))
        said += ", hashed"
    else:
        codes = TargetMeans.codes(column, column.levels)
        means = level_means(codes, count + 1, rules.Y, rules.weights, rules.smoothing)
        values = np.vstack([means, np.zeros(rules.Y.shape[1])])
        main = TargetMeans(column.levels, values, rules.targets)
        said += ", means of the targets"
    if not column.order or len(main.names()) == 1:
        return "words", (main,), said
    places = LevelOrder.numbers(column, column.order)
    return "words", (main, LevelOrder(column.order, rules.scaled(places))), said


def _levels(column: Column, rules: ChoiceRules) -> Levels:
    """A group for every level, one for those that are rare, and one for gaps."""
    levels, gap = column.levels, int(column.gaps.any())
    known = ~column.gaps
    weights = None if rules.weights is None else rules.weights[known]
    rows = np.bincount(column.values[known], weights, len(levels))
    rare = rows < rules.rare
    if len(levels) + gap <= 2 or not rare.any() or (rare.all() and not gap):
        rare = np.zeros(len(levels), bool)  # two groups stay two, and one would be none
    kept = int((~rare).sum())
    labels = [level for level, is_rare in zip(levels, rare, strict=True) if not is_rare]
    groups = np.full(len(levels) + 2, -1, dtype=np.int64)
    groups[:-2][~rare] = np.arange(kept)
    if rare.any():
        groups[:-2][rare] = groups[-1] = len(labels)
        labels.append("(rare)")
    if gap:
        groups[-2] = len(labels)
        labels.append("(gap)")
    return Levels(levels, groups, tuple(labels))


_CHOICES: dict[str, Callable[[Column, ChoiceRules], _Choice]] = {
    "numbers": _number,
    "booleans": _boolean,
    "times": _date,
    "words": _words,
}
