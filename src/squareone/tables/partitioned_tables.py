"""Tables in the partitions of Dask: what an encoder learns of them, in two passes.

The first counts the values of every column, the second adds up the targets at the levels of words.
A task for each partition, and one for every node of a tree over them: the bits depend on the
partitions alone, not on the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import dask.array as da
import numpy as np

from ..arrays import Array, blocks
from ..rows.block_sums import ARITY, added
from ..rows.dask_rows import DaskRows
from ..rows.dask_tasks import as_task, later, results_in_order
from ..threads import one_core
from .column_choice import ChoiceRules, EncodedColumn, choose_counted
from .column_parts import TargetMeans
from .columns import columns_of
from .counted_columns import CountedColumn
from .target_means import level_sums, values_of_sums

#: A table: names of columns or None, and their values.
Counted = tuple[list[str] | None, list[CountedColumn]]


class PartitionedTable:
    """The partitions of a Dask data frame, or the chunks of an array, that have rows.

    Parameters
    ----------
    X : dask.dataframe.DataFrame or dask.array.Array (n, d)
    owner : str
        Who asks, for messages.

    Attributes
    ----------
    parts : list
        Tasks.
    slices : list of slice
        Their rows among all.
    n : int
    X : dask.dataframe.DataFrame or dask.array.Array
    """

    def __init__(self, X: Any, owner: str) -> None:
        self.X = X
        self._fetched: tuple[Array, Any] | None = None
        if X.ndim != 2:
            msg = f"X has {X.ndim} dimension: a table (n, d) is expected"
            raise ValueError(msg)
        frame = hasattr(X, "columns")
        if not frame and len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        parts = list(X.to_delayed()) if frame else list(X.to_delayed()[:, 0])
        tasks = [later(len, part) for part in parts]
        lengths = list(results_in_order(tasks, len(tasks)))
        there = [i for i, length in enumerate(lengths) if length]
        ends = np.cumsum([0, *(lengths[i] for i in there)])
        self.owner, self.n = owner, int(ends[-1])
        self.parts = [parts[i] for i in there]
        self.slices = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        if not self.n:
            msg = f"Found array with 0 sample(s) while a minimum of 1 is required by {owner}."
            raise ValueError(msg)

    def counted(self, weights: Array | None) -> tuple[list[str] | None, list[CountedColumn]]:
        """Names of columns, None for an array, and the different values of each.

        **Cost**: a pass.
        """
        tasks = [
            later(_counted, part, self.owner, None if weights is None else weights[rows])
            for part, rows in zip(self.parts, self.slices, strict=True)
        ]
        found: Counted = _in_tree(tasks, _merged)
        return found

    def level_sums(
        self,
        encoded: Sequence[EncodedColumn],
        away: Array,
        weights: Array | None,
        folds: Array,
    ) -> list[Array]:
        """For each of some columns rows and sums of ``away`` (n, K) at its levels, by fold.

        (folds, levels and gaps, 1 + K). **Cost**: a pass.
        """
        shared = as_task(list(encoded))
        tasks = [
            later(
                _sums_at_levels,
                part,
                self.owner,
                shared,
                away[rows],
                None if weights is None else weights[rows],
                folds[rows],
                int(folds.max()) + 1,
            )
            for part, rows in zip(self.parts, self.slices, strict=True)
        ]
        return _in_tree(tasks, _added_each)

    def rows(self, numbers: Array) -> Any:
        """Some rows (m,), in this order, as a table in memory.

        The last ones that were fetched are kept: parts of them are asked for many times.
        """
        wanted, places = np.unique(numbers, return_inverse=True)
        if not wanted.size:
            return self._fetch(np.array([0]))[:0]
        if self._fetched is None or not np.isin(wanted, self._fetched[0]).all():
            self._fetched = wanted, self._fetch(wanted)
        there = np.searchsorted(self._fetched[0], wanted)[places]
        found = self._fetched[1]
        return found.iloc[there] if hasattr(found, "iloc") else found[there]

    def _fetch(self, wanted: Array) -> Any:
        starts = np.array([rows.start for rows in self.slices])
        which = np.searchsorted(starts, wanted, side="right") - 1
        tasks = [
            later(_taken, self.parts[i], wanted[which == i] - starts[i]) for i in np.unique(which)
        ]
        found = list(results_in_order(tasks, len(tasks)))
        if hasattr(found[0], "iloc"):
            import pandas

            return pandas.concat(found)
        return np.concatenate(found)

    def encoded(
        self,
        encoder: Any,
        by_fold: dict[int, Array] | None = None,
        folds: Array | None = None,
        known: tuple[Array, Array] | None = None,
    ) -> da.Array:
        """All rows by a fitted encoder, as a Dask array of known chunks.

        Parameters
        ----------
        encoder : TableEncoder
        by_fold : dict of int to array (folds, levels, K), optional
            Means of targets of the columns at these places, by the fold of a row.
        folds : int array (n,), optional
            −1 for rows that are encoded as new ones are.
        known : (array (m,), array (m, k)), optional
            Rows, ascending, and what they are encoded to.
        """
        shared, width = as_task((encoder, by_fold or {})), encoder.output_columns_.size
        chunks = []
        for part, rows in zip(self.parts, self.slices, strict=True):
            own = None
            if known is not None:
                first, last = np.searchsorted(known[0], [rows.start, rows.stop])
                own = known[0][first:last] - rows.start, known[1][first:last]
            task = later(_encoded, shared, part, None if folds is None else folds[rows], own)
            shape = (rows.stop - rows.start, width)
            chunks.append(da.from_delayed(task, shape, dtype=np.dtype(encoder.dtype)))
        return da.concatenate(chunks)

    def partitioned_rows(
        self, encoder: Any, taught: Array | None = None, learned: Array | None = None
    ) -> DaskRows:
        """All rows by a fitted encoder, encoded anew in every pass.

        Rows ``taught`` (p,), ascending, are ``learned`` (p, k) instead.
        """
        known = None if taught is None or learned is None else (taught, learned)
        return DaskRows(self.encoded(encoder, known=known))


def values_at_levels(
    sums: Array, Y: Array, weights: Array | None, rules: ChoiceRules, folds: Array
) -> tuple[Array, Array]:
    """Values (levels, K) of all rows, and (folds, levels, K) of the rows of all other folds.

    Of sums around the mean of all targets (n, K).
    """
    square = np.average(Y**2, axis=0, weights=weights)

    def values(part: Array) -> Array:
        rows, total = part[:, 0], part[:, 1:]
        if not rows.sum():
            return np.zeros(total.shape)
        total = total - rows[:, None] * (total.sum(axis=0) / rows.sum())
        return values_of_sums(rows, total, square, rules.smoothing)

    count = sums.shape[0]
    others = [sums[np.arange(count) != fold].sum(axis=0) for fold in range(count)]
    by_fold = np.stack([values(each) for each in others])
    # the last is of a text that was not kept
    return values(sums.sum(axis=0)), np.concatenate([by_fold, 0.0 * by_fold[:, :1]], axis=1)


def chosen_columns(
    table: PartitionedTable, rules: ChoiceRules, weights: Array | None, folds: Array
) -> tuple[list[str] | None, list[EncodedColumn], dict[int, Array]]:
    """Names, what each column is taken for, and values of levels (folds, levels, K) by place."""
    names, columns = table.counted(weights)
    encoded = [choose_counted(column, rules) for column in columns]
    places = [
        place
        for place, column in enumerate(encoded)
        if column.parts and isinstance(column.parts[0], TargetMeans)
    ]
    by_fold: dict[int, Array] = {}
    if places:
        Y = rules.Y
        assert Y is not None
        away = Y - np.average(Y, axis=0, weights=weights)
        some = [replace(encoded[place], why=str(place)) for place in places]
        found = table.level_sums(some, away, weights, folds)
        for place, sums in zip(places, found, strict=True):
            values, by_fold[place] = values_at_levels(sums, Y, weights, rules, folds)
            first = encoded[place].parts[0]
            assert isinstance(first, TargetMeans)
            means = TargetMeans(first.levels, np.vstack([values, 0.0 * values[:1]]), first.targets)
            encoded[place] = replace(encoded[place], parts=(means, *encoded[place].parts[1:]))
    return names, encoded, by_fold


def _in_tree(tasks: list[Any], merge: Any) -> Any:
    while len(tasks) > 1:
        parts = [tasks[part] for part in blocks(len(tasks), ARITY)]
        tasks = [later(merge, part) if len(part) > 1 else part[0] for part in parts]
    return next(results_in_order(tasks))


# --- what the tasks do ---


def _counted(part: Any, owner: str, weights: Array | None) -> Counted:
    with one_core():
        table = columns_of(part, owner)
        names = table.names or [f"x{place}" for place in range(table.d)]
        keep = None if weights is None or weights.all() else weights > 0
        found = []
        for place, name in enumerate(names):
            column = table.column(place, name)
            if keep is not None:
                column = column.rows(keep)
            own = weights if keep is None or weights is None else weights[keep]
            found.append(CountedColumn.of(column, own))
        return table.names, found


def _merged(parts: Sequence[Counted]) -> Counted:
    names, columns = parts[0]
    for others, found in parts[1:]:
        if others != names or len(found) != len(columns):
            msg = f"partitions of X have different columns: {names} and {others}"
            raise ValueError(msg)
    together = zip(*(found for _, found in parts), strict=True)
    return names, [first.plus(*others) for first, *others in together]


def _sums_at_levels(
    part: Any,
    owner: str,
    encoded: Sequence[EncodedColumn],
    away: Array,
    weights: Array | None,
    folds: Array,
    count: int,
) -> list[Array]:
    with one_core():
        table, found = columns_of(part, owner), []
        for column in encoded:
            levels = column.parts[0].levels  # type: ignore[attr-defined]
            read = column.read(table.column(int(column.why), column.name))
            codes = TargetMeans.codes(read, levels)
            # a text that was not kept is at no level
            places = np.where(codes < 0, len(levels) + 1, codes)
            size = len(levels) + 2
            rows, sums = level_sums(places + size * folds, size * count, away, weights)
            joined = np.column_stack([rows, sums]).reshape(count, size, -1)
            found.append(joined[:, :-1])
        return found


def _added_each(parts: Sequence[list[Array]]) -> list[Array]:
    return [added(each) for each in zip(*parts, strict=True)]


def _taken(part: Any, numbers: Array) -> Any:
    return part.iloc[numbers] if hasattr(part, "iloc") else part[numbers]


def _encoded(
    shared: tuple[Any, dict[int, Array]],
    part: Any,
    folds: Array | None,
    known: tuple[Array, Array] | None,
) -> Array:
    encoder, by_fold = shared
    with one_core():
        found = np.ascontiguousarray(encoder._outputs(part))
        start = 0
        for place, column in enumerate(encoder._encoded):
            if place in by_fold and folds is not None:
                values, own = by_fold[place], folds >= 0
                read = column.read(columns_of(part, "").column(place, column.name))
                codes = TargetMeans.codes(read, column.parts[0].levels)
                stop = start + values.shape[2]
                found[own, start:stop] = values[folds[own], codes[own]]
            start += len(column.outputs(""))
        if known is not None:
            found[known[0]] = known[1]
        return found
