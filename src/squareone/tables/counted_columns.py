"""Columns of large tables as the different values they have, with how often: these can be added.

A column of a part of the rows becomes its different values, ascending, with counts. Those of two
parts are merged into those of both, always in the order of the parts. As long as there are few
different values nothing is lost. Where there are more than :data:`MOST_VALUES` numbers or times,
they become :data:`POINTS` of them, equally many rows apart: each stands for the rows around it, the
smallest and the largest stay, and mean and standard deviation are added up beside them. That
moves a rank by no more than about n / POINTS for its n rows, so that with parts and L levels of
merges ranks, and what is at a quantile, are right to (L + 1) / POINTS of all rows: 0.06 per cent
for 4,096 parts. Of more than :data:`MOST_VALUES` texts the commonest half is kept. How many
different values there were is then estimated from the :data:`HASHES` smallest hashes, to three per
cent or so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, NoReturn, Self

import numpy as np

from ..arrays import Array
from .column_parts import numbers_of
from .columns import Column, parsed_numbers, parsed_times

__all__ = ["HASHES", "MOST_VALUES", "POINTS", "CountedColumn", "Moments"]

#: Different values up to which all are kept, points that are kept of more, and hashes.
MOST_VALUES, POINTS, HASHES = 16_384, 8_192, 1_024
_RANGE = 2.0**64


@dataclass(frozen=True)
class Moments:
    """The weight of numbers, their mean and the sum of squares around it."""

    weight: float
    mean: float
    squares: float

    @classmethod
    def of(cls, values: Array, weights: Array) -> Self:
        """Of numbers (k,) with weights."""
        total = float(weights.sum())
        mean = float(values[0] + weights @ (values - values[0]) / total)
        away = values - mean
        mean += float(weights @ away / total)
        return cls(total, mean, float(weights @ (values - mean) ** 2))

    def plus(self, other: Moments) -> Moments:
        """Of both together."""
        total = self.weight + other.weight
        apart, share = other.mean - self.mean, other.weight / total
        squares = self.squares + other.squares + apart * apart * self.weight * share
        return Moments(total, self.mean + apart * share, squares)

    @property
    def sd(self) -> float:
        """The standard deviation over the weight."""
        return float(np.sqrt(self.squares / self.weight))


@dataclass(frozen=True)
class CountedColumn:
    """The different values of a column, ascending, and how often each is there.

    Attributes
    ----------
    column : Column
        Each value once; no gaps.
    rows : int array (k,)
        How many rows have it.
    weights : float array (k,)
        Their weight.
    gaps : (int, float)
        Rows without a value, and their weight.
    others : (int, float)
        Those with texts that were not kept.
    moments : Moments or None
        Of numbers and times, where some values stand for others.
    hashes : array or None
        The smallest of all values, ascending, where not all are here.
    as_text : bool
        Whether numbers or times were written as text.
    """

    column: Column
    rows: Array
    weights: Array
    gaps: tuple[int, float]
    moments: Moments | None = None
    hashes: Array | None = None
    as_text: bool = False
    others: tuple[int, float] = (0, 0.0)

    @classmethod
    def of(cls, column: Column, weights: Array | None) -> CountedColumn:
        """Of rows (n,) of a column.

        **Cost**: a sort.
        """
        if column.integers is not None:
            column = column.as_words()
        known = ~column.gaps
        each = np.ones(known.size) if weights is None else weights
        values, places = np.unique(column.values[known], return_inverse=True)
        count = values.size
        rows = np.bincount(places, minlength=count)
        weight = np.bincount(places, each[known], count)
        gaps = int((~known).sum()), float(each[~known].sum())
        found = cls(replace(column, values=values), rows, weight, gaps)
        return found._within_limits()

    @property
    def n(self) -> int:
        """All rows."""
        return int(self.rows.sum()) + self.gaps[0] + self.others[0]

    @property
    def different(self) -> float:
        """How many different values there are; an estimate where not all are kept."""
        if self.hashes is None:
            return float(self.rows.size)
        if self.hashes.size < HASHES:
            return float(self.hashes.size)
        return (HASHES - 1) * _RANGE / (float(self.hashes[-1]) + 1.0)

    def plus(self, *others: CountedColumn) -> CountedColumn:
        """Of the rows of all, in this order.

        **Cost**: a sort of the values for each.
        """
        found = self
        for other in others:
            found = found._with(other)
        return found._within_limits()

    def _with(self, other: CountedColumn) -> CountedColumn:
        """Of both, with all values that either has."""
        a, b = _alike(self, other)
        if a.column.content == "words":
            texts = np.array([*a.column.levels, *b.column.levels], dtype=object)
            levels, places = np.unique(texts, return_inverse=True)
            values: Array = np.arange(levels.size)
        else:
            levels = np.empty(0, object)
            joined = np.concatenate([a.column.values, b.column.values])
            values, places = np.unique(joined, return_inverse=True)
        rows = np.zeros(values.size, np.int64)
        np.add.at(rows, places, np.concatenate([a.rows, b.rows]))
        weights = np.bincount(places, np.concatenate([a.weights, b.weights]), values.size)
        same = a.column.order == b.column.order
        column = replace(
            a.column,
            values=values,
            levels=tuple(levels.tolist()),
            whole=a.column.whole and b.column.whole,
            zoned=a.column.zoned or b.column.zoned,
            declared=a.column.declared or b.column.declared,
            order=a.column.order if same else (),
        )
        moments = hashes = None
        if a.hashes is not None or b.hashes is not None:
            hashes = np.union1d(a._hashes(), b._hashes())[:HASHES]
            if column.content != "words":
                parts = [each for each in (a._moments(), b._moments()) if each is not None]
                moments = parts[0] if len(parts) == 1 else parts[0].plus(parts[1])
        gaps = a.gaps[0] + b.gaps[0], a.gaps[1] + b.gaps[1]
        as_text = a.as_text or b.as_text
        others = a.others[0] + b.others[0], a.others[1] + b.others[1]
        return CountedColumn(column, rows, weights, gaps, moments, hashes, as_text, others)

    def with_gaps(self) -> tuple[Column, Array, Array]:
        """A row for every value and one for gaps, how many each stands for, and their weights."""
        column, rows, weights = self.column, self.rows, self.weights
        if self.gaps[0]:
            gap: Any = {"words": -1, "times": np.datetime64("NaT", "us")}.get(
                column.content, np.nan
            )
            column = replace(column, values=np.append(column.values, gap))
            rows, weights = np.append(rows, self.gaps[0]), np.append(weights, self.gaps[1])
        return column, rows, weights

    # --- what is kept ---

    def _within_limits(self) -> CountedColumn:
        if self.rows.size <= MOST_VALUES:
            return self
        if self.column.content != "words":
            return self._fewer_points()
        if not self.column.declared:
            for parse in (parsed_numbers, parsed_times):
                parsed = parse(self.column)
                if parsed is not None:
                    return _sorted(replace(self, column=parsed, as_text=True))
        kept = np.sort(np.lexsort((np.arange(self.rows.size), -self.rows))[: MOST_VALUES // 2])
        levels = tuple(self.column.levels[i] for i in kept)
        column = replace(self.column, values=np.arange(kept.size), levels=levels)
        lost = int(self.rows.sum() - self.rows[kept].sum())
        weight = float(self.weights.sum() - self.weights[kept].sum())
        return replace(
            self,
            column=column,
            rows=self.rows[kept],
            weights=self.weights[kept],
            hashes=self._hashes(),
            others=(self.others[0] + lost, self.others[1] + weight),
        )

    def _fewer_points(self) -> CountedColumn:
        """Values equally many rows apart, each with the weight of those around it."""
        moments, hashes = self._moments(), self._hashes()
        ends = np.cumsum(self.weights)
        # of each run of values the one in its middle; the smallest and the largest are runs alone
        run = np.minimum((POINTS - 2) * (ends - self.weights / 2) / ends[-1], POINTS - 3).astype(
            int
        )
        run += 1
        run[0], run[-1] = 0, POINTS - 1
        _, first, run = np.unique(run, return_index=True, return_inverse=True)
        weights = np.bincount(run, self.weights)
        rows = np.zeros(first.size, np.int64)
        np.add.at(rows, run, self.rows)
        middles = np.cumsum(weights) - weights / 2
        chosen = np.searchsorted(ends, middles, side="left")
        chosen = np.clip(chosen, first, np.append(first[1:], run.size) - 1)
        column = replace(self.column, values=self.column.values[chosen])
        return replace(
            self, column=column, rows=rows, weights=weights, moments=moments, hashes=hashes
        )

    def _moments(self) -> Moments | None:
        if self.moments is not None or not self.rows.size:
            return self.moments
        return Moments.of(numbers_of(self.column), self.weights)

    def _hashes(self) -> Array:
        if self.hashes is not None:
            return self.hashes
        if self.column.content == "words":
            texts = (level.encode("utf-8", "surrogatepass") for level in self.column.levels)
            digests = [blake2b(text, digest_size=8).digest() for text in texts]
            found = np.frombuffer(b"".join(digests), np.uint64)
        else:
            found = _mixed(self.column.values)
        return np.sort(found)[:HASHES]


def _mixed(values: Array) -> Array:
    """A hash of each number or time (k,): the finaliser of splitmix64."""
    found = (values + 0 if values.dtype.kind == "f" else values).view(np.uint64).copy()
    with np.errstate(over="ignore"):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            found ^= found >> np.uint64(shift)
            found *= np.uint64(factor)
        found ^= found >> np.uint64(31)
    return found


def _sorted(counted: CountedColumn) -> CountedColumn:
    """Values ascending and different again, after texts were read as numbers or times."""
    values, places = np.unique(counted.column.values, return_inverse=True)
    rows = np.zeros(values.size, np.int64)
    np.add.at(rows, places, counted.rows)
    weights = np.bincount(places, counted.weights, values.size)
    column = replace(counted.column, values=values, levels=())
    return replace(counted, column=column, rows=rows, weights=weights)._within_limits()


def _alike(a: CountedColumn, b: CountedColumn) -> tuple[CountedColumn, CountedColumn]:
    """Both with the same content, that of values which may be either."""
    contents = {a.column.content, b.column.content}
    if len(contents) == 1 and (
        a.column.zoned == b.column.zoned or not (a.rows.size and b.rows.size)
    ):
        return a, b
    if not a.rows.size:
        return replace(a, column=replace(b.column, values=b.column.values[:0], levels=())), b
    if not b.rows.size:
        return a, replace(b, column=replace(a.column, values=a.column.values[:0], levels=()))
    if contents == {"numbers", "booleans"}:
        return tuple(  # type: ignore[return-value]
            replace(each, column=replace(each.column, content="numbers")) for each in (a, b)
        )
    written = a.as_text or b.as_text or "times" not in contents
    if "words" not in contents or not written:
        _refuse_mixture(a, b)
    return _as_words(a), _as_words(b)


def _as_words(counted: CountedColumn) -> CountedColumn:
    if counted.column.content == "words":
        return counted
    column = counted.column
    if column.content == "times":
        texts = [str(value) for value in column.values]
    else:
        written = column.as_words()
        texts = [written.levels[code] for code in written.values]
    levels, places = np.unique(np.array(texts, dtype=object), return_inverse=True)
    rows = np.zeros(levels.size, np.int64)
    np.add.at(rows, places, counted.rows)
    weights = np.bincount(places, counted.weights, levels.size)
    column = Column(column.name, "words", np.arange(levels.size), tuple(levels.tolist()))
    return replace(counted, column=column, rows=rows, weights=weights, moments=None, as_text=False)


def _refuse_mixture(a: CountedColumn, b: CountedColumn) -> NoReturn:
    if a.column.content == b.column.content:  # times
        msg = (
            f"column {a.column.name!r} has times with a time zone in some partitions and without "
            "in others: give all of them one (in pandas .dt.tz_localize), or none"
        )
        raise ValueError(msg)
    msg = (
        f"column {a.column.name!r} holds {a.column.content} in some partitions and "
        f"{b.column.content} in others: dates do not mix with anything else. Write all of it as "
        "one of these"
    )
    raise TypeError(msg)
