"""Parts of an encoded column: a number, an indicator of gaps, levels, target means, parts of dates.

Distances are comparable: two levels are 1 apart, a gap and none are 1 apart, the opposite points of
a year or a day are 1 apart, and standardised numbers √2 on average (the root of the mean square).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any, Self

import numpy as np

from ..arrays import Array
from ..persistence import INTEGERS, Fields, refuse
from .columns import Column
from .number_pieces import NumberPieces
from .number_scaling import NumberScaling

__all__ = [
    "MOST_HASHES",
    "PARTS",
    "DateCycles",
    "GapIndicator",
    "HashedLevels",
    "LevelOrder",
    "Levels",
    "NumberInPieces",
    "Part",
    "ScaledNumber",
    "TargetMeans",
    "TrueFalse",
    "numbers_of",
    "text_list",
]

#: Columns that a level can be hashed to: the bits of the hash.
MOST_HASHES = 512
_DAY = 86_400_000_000  # microseconds
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CYCLES = ("season", "time of day")
# What a gap in the hash of a level is called: no level is.
_GAP = b"\xff"


@dataclass(frozen=True)
class Part(ABC):
    """Some columns of the encoder's output, made of one column of the table."""

    @abstractmethod
    def names(self) -> list[str]:
        """What stands behind the name of the column in the names of the outputs."""

    @abstractmethod
    def encode(self, column: Column) -> Array:
        """The outputs (n,) or (n, k) for the rows of a column."""

    def unknown(self, column: Column) -> Array | None:
        """Which rows (n,) have a level that the training rows did not; None where all are known."""
        return None

    def state(self) -> dict[str, Any]:
        """What a file has of it."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    @abstractmethod
    def restore(cls, found: Fields) -> Self:
        """From a file, checked."""


def numbers_of(column: Column) -> Array:
    """Numbers (n,), NaN for gaps; times are days since 1970."""
    if column.content != "times":
        return column.values
    days = column.values.astype(np.int64) / _DAY
    return np.where(column.gaps, np.nan, days)


@dataclass(frozen=True)
class ScaledNumber(Part):
    """A number, or a time in days, scaled; the median where there is a gap."""

    scaling: NumberScaling

    def names(self) -> list[str]:
        return [""]

    def encode(self, column: Column) -> Array:
        return self.scaling(numbers_of(column))

    def state(self) -> dict[str, Any]:
        return {"scaling": self.scaling.state()}

    @classmethod
    def restore(cls, found: Fields) -> Self:
        return cls(NumberScaling.restore(found.inner("scaling")))


@dataclass(frozen=True)
class NumberInPieces(Part):
    """A number, or a time in days, in pieces; those of the median where there is a gap."""

    pieces: NumberPieces

    def names(self) -> list[str]:
        return [f":{name}" for name in self.pieces.names()]

    def encode(self, column: Column) -> Array:
        return self.pieces(numbers_of(column))

    def state(self) -> dict[str, Any]:
        return {"pieces": self.pieces.state()}

    @classmethod
    def restore(cls, found: Fields) -> Self:
        return cls(NumberPieces.restore(found.inner("pieces")))


@dataclass(frozen=True)
class GapIndicator(Part):
    """1 where there is a gap, 0 elsewhere."""

    def names(self) -> list[str]:
        return ["=(gap)"]

    def encode(self, column: Column) -> Array:
        return column.gaps.astype(np.float64)

    @classmethod
    def restore(cls, found: Fields) -> Self:
        return cls()


@dataclass(frozen=True)
class TrueFalse(Part):
    """A half for true, minus a half for false, 0 for a gap."""

    def names(self) -> list[str]:
        return [""]

    def encode(self, column: Column) -> Array:
        return np.where(column.gaps, 0.0, column.values - 0.5)

    @classmethod
    def restore(cls, found: Fields) -> Self:
        return cls()


# --- words ---


def _places(column: Column, levels: Sequence[str], gap: int) -> Array:
    """Where the level of each row (n,) stands in ``levels``: ``gap`` for gaps, −1 if nowhere."""
    known = {level: place for place, level in enumerate(levels)}
    there = [known.get(level, -1) for level in column.levels]
    return np.array([*there, gap], dtype=np.int64)[column.values]


@dataclass(frozen=True)
class Levels(Part):
    """An indicator over √2 for each group of levels, or ±½ for two groups.

    Attributes
    ----------
    levels : tuple of str
        Those of the training rows.
    groups : int array (L + 2,)
        The group of each level, of a gap and of a level that is not known; −1 for zeros.
    labels : tuple of str
        The groups.
    """

    levels: tuple[str, ...]
    groups: Array
    labels: tuple[str, ...]

    def names(self) -> list[str]:
        return [f"={label}" for label in self.labels[len(self.labels) == 2 :]]

    def encode(self, column: Column) -> Array:
        groups = self.groups[_places(column, self.levels, gap=-2)]
        if len(self.labels) == 2:
            return np.where(groups < 0, 0.0, groups - 0.5)
        codes = np.zeros((len(self.labels) + 1, len(self.labels)))  # the last of zeros
        np.fill_diagonal(codes, np.sqrt(0.5))
        return codes[groups]

    def unknown(self, column: Column) -> Array:
        return _places(column, self.levels, gap=0) < 0

    def state(self) -> dict[str, Any]:
        texts = {"levels": _stored(self.levels), "labels": list(self.labels)}
        return texts | {"groups": self.groups}

    @classmethod
    def restore(cls, found: Fields) -> Self:
        levels = _texts(found.inner("levels"))
        labels = tuple(text_list(found, "labels"))
        groups = found.array("groups", (len(levels) + 2,), (np.int64,), least=-1)
        if len(labels) < 2 or groups.max(initial=-1) >= len(labels) or (groups[:-2] < 0).any():
            refuse(found.where, f"groups are not those of {len(labels)} labels")
        return cls(levels, groups, labels)


@dataclass(frozen=True)
class LevelOrder(Part):
    """The place of a level in the order of an ordered categorical, scaled as a number.

    A gap, and a level that the order has not, stand at the median.
    """

    order: tuple[str, ...]
    scaling: NumberScaling

    def names(self) -> list[str]:
        return [":order"]

    def encode(self, column: Column) -> Array:
        return self.scaling(self.numbers(column, self.order))

    @staticmethod
    def numbers(column: Column, order: Sequence[str]) -> Array:
        """The places (n,), NaN where there is none."""
        places = _places(column, order, gap=-1).astype(np.float64)
        return np.where(places < 0, np.nan, places)

    def state(self) -> dict[str, Any]:
        return {"order": _stored(self.order), "scaling": self.scaling.state()}

    @classmethod
    def restore(cls, found: Fields) -> Self:
        order = _texts(found.inner("order"))
        return cls(order, NumberScaling.restore(found.inner("scaling")))


@dataclass(frozen=True)
class TargetMeans(Part):
    """What the targets are on average at each level; see :mod:`~squareone.tables.target_means`.

    Attributes
    ----------
    levels : tuple of str
    values : array (L + 2, K)
        Of each level, of a gap, and zeros for a level that is not known.
    targets : tuple of str
        The names of the targets, K of them.
    """

    levels: tuple[str, ...]
    values: Array
    targets: tuple[str, ...]

    def names(self) -> list[str]:
        return [f":mean {target}".rstrip() for target in self.targets]

    @staticmethod
    def codes(column: Column, levels: Sequence[str]) -> Array:
        """The level (n,) of training rows, by its number; that after the last one for a gap."""
        return _places(column, levels, gap=len(levels))

    def encode(self, column: Column) -> Array:
        return self.values[_places(column, self.levels, gap=-2)]

    def unknown(self, column: Column) -> Array:
        return _places(column, self.levels, gap=0) < 0

    def state(self) -> dict[str, Any]:
        texts = {"levels": _stored(self.levels), "targets": list(self.targets)}
        return texts | {"values": self.values}

    @classmethod
    def restore(cls, found: Fields) -> Self:
        levels, targets = _texts(found.inner("levels")), tuple(text_list(found, "targets"))
        shape = (len(levels) + 2, len(targets))
        return cls(levels, found.array("values", shape, (np.float64,)), targets)


@dataclass(frozen=True)
class HashedLevels(Part):
    """The bits of a hash of the level as signs, over √(2k) for k columns.

    Two levels differ in about half of the signs, and so are about 1 apart. Every level has a code,
    one that the training rows did not have, too: nothing is kept of the levels.

    Attributes
    ----------
    count : int
    gaps : bool
        Whether a gap has a code like any level; otherwise it is zeros.
    """

    count: int
    gaps: bool

    def names(self) -> list[str]:
        return [f":hash {k}" for k in range(self.count)]

    def encode(self, column: Column) -> Array:
        texts = [level.encode("utf-8", "surrogatepass") for level in column.levels]
        codes = np.array([self._code(text) for text in [*texts, _GAP]])
        if not self.gaps:
            codes[-1] = 0.0
        return codes[column.values]

    def _code(self, text: bytes) -> Array:
        size = (self.count + 7) // 8
        bits = np.unpackbits(np.frombuffer(blake2b(text, digest_size=size).digest(), np.uint8))
        return (2.0 * bits[: self.count] - 1.0) / np.sqrt(2.0 * self.count)

    @classmethod
    def restore(cls, found: Fields) -> Self:
        count = found.take("count", int)
        if not 1 <= count <= MOST_HASHES:
            refuse(found.where, f"{count} columns cannot be hashed to")
        return cls(count, found.take("gaps", bool))


# --- dates ---


@dataclass(frozen=True)
class DateCycles(Part):
    """The parts of a time that come again: the season, the day of the week, the time of day.

    The season is the share of the year that has gone, and with the time of day a point of a circle
    of diameter 1; a day of the week is an indicator over √2. A gap has zeros.

    Attributes
    ----------
    cycles : tuple of str
        Those of ``"season"`` and ``"time of day"`` that vary.
    weekdays : tuple of int
        Days that occur, Monday is 0; none where there is only one.
    """

    cycles: tuple[str, ...]
    weekdays: tuple[int, ...]

    @classmethod
    def fit(cls, times: Array) -> Self:
        """The parts that vary in ``times`` (n,), which have no gaps."""
        cycles = [name for name in _CYCLES if np.ptp(_share(times, name)) > 0]
        weekdays = np.unique(_weekday(times)).tolist()
        return cls(tuple(cycles), tuple(weekdays if len(weekdays) > 1 else ()))

    def names(self) -> list[str]:
        circles = [f":{name} {wave}" for name in self.cycles for wave in ("sin", "cos")]
        return circles + [f":{_WEEKDAYS[day]}" for day in self.weekdays]

    def encode(self, column: Column) -> Array:
        gaps = column.gaps
        times = np.where(gaps, np.datetime64(0, "us"), column.values)
        found = []
        for name in self.cycles:
            angle = 2.0 * np.pi * _share(times, name)
            found += [0.5 * np.sin(angle), 0.5 * np.cos(angle)]
        weekday = _weekday(times)
        found += [np.where(weekday == day, np.sqrt(0.5), 0.0) for day in self.weekdays]
        outputs = np.column_stack(found) if found else np.empty((times.size, 0))
        outputs[gaps] = 0.0
        return outputs

    def state(self) -> dict[str, Any]:
        return {"cycles": list(self.cycles), "weekdays": list(self.weekdays)}

    @classmethod
    def restore(cls, found: Fields) -> Self:
        cycles, weekdays = text_list(found, "cycles"), found.take("weekdays", list)
        if not set(cycles) <= set(_CYCLES) or len(cycles) > len(_CYCLES):
            refuse(found.where, f"cycles of {_CYCLES} are expected, got {cycles[:5]}")
        if not all(type(day) is int and 0 <= day < 7 for day in weekdays) or len(weekdays) > 7:
            refuse(found.where, "days of the week from 0 to 6 are expected")
        return cls(tuple(cycles), tuple(weekdays))


def _share(times: Array, cycle: str) -> Array:
    """How much of the day, or the year, has gone at ``times`` (n,), from 0 to 1."""
    if cycle == "time of day":
        return (times.astype(np.int64) % _DAY) / _DAY
    days, years = times.astype("datetime64[D]"), times.astype("datetime64[Y]")
    first, next_year = (
        years.astype("datetime64[D]"),
        (years + np.timedelta64(1, "Y")).astype("datetime64[D]"),
    )
    return (days - first).astype(np.int64) / (next_year - first).astype(np.int64)


def _weekday(times: Array) -> Array:
    return (times.astype("datetime64[D]").astype(np.int64) + 3) % 7  # 1970 began on a Thursday


PARTS: dict[str, type[Part]] = {
    kind.__name__: kind
    for kind in (
        DateCycles,
        GapIndicator,
        HashedLevels,
        LevelOrder,
        Levels,
        NumberInPieces,
        ScaledNumber,
        TargetMeans,
        TrueFalse,
    )
}


# --- texts in files ---


def _stored(texts: Sequence[str]) -> dict[str, Array]:
    """Many texts as two arrays: the header of a file has no room for a million."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    letters = np.frombuffer(b"".join(encoded), np.uint8)
    return {"utf8": letters, "lengths": np.array([len(text) for text in encoded], np.int64)}


def _texts(found: Fields) -> tuple[str, ...]:
    """The way back; all of them differ."""
    with found:
        letters = found.array("utf8", (None,), (np.uint8,)).tobytes()
        lengths = found.array("lengths", (None,), INTEGERS, least=0)
    ends = np.cumsum(lengths).tolist()
    if (ends[-1] if ends else 0) != len(letters) or (np.diff(ends) < 0).any():
        refuse(found.where, "lengths are not those of the texts")
    starts = [0, *ends[:-1]] if ends else []
    try:
        pieces = [letters[a:b] for a, b in zip(starts, ends, strict=True)]
        texts = tuple(piece.decode("utf-8", "surrogatepass") for piece in pieces)
    except UnicodeDecodeError as error:
        refuse(found.where, f"they are no texts: {error}")
    if len(set(texts)) < len(texts):
        refuse(found.where, "a text comes twice")
    return texts


def text_list(found: Fields, name: str) -> list[str]:
    """A list of texts called ``name``."""
    texts = found.take(name, list)
    if not all(isinstance(text, str) for text in texts):
        refuse(f"{found.where}.{name}", "a list of texts is expected")
    return texts
