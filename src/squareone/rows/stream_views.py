"""Views of streams: as rows that answer block by block, some of the rows, or other columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial, reduce
from operator import methodcaller
from typing import Any, NoReturn

import numpy as np

from ..arrays import Array
from .base import Rows, rows_of
from .block_sums import AddedUp, Keeper, Start, TreeSum, Watcher, group_rows, some_of
from .column_problems import refuse_missing
from .stream import Blocks, Stream, rows_among

# Numbers in a block: large enough for products at full speed, small beside any machine's memory.
_NUMBERS = 1_048_576
# What a view of a stream has from it.
_VIEWED = (
    "_source",
    "_remedy",
    "_reads_ahead",
    "by_tasks",
    "shape",
    "dtype",
    "sparse",
    "feature_names",
)
# Rows in a block: at least, and of sparse rows, which may have any number of features.
_FEWEST, _SPARSE = 1024, 8192


def _refused(question: str) -> Any:
    """A method for what needs all rows at once."""

    def refuse(self: StreamedRows, *_: Any, **__: Any) -> NoReturn:
        msg = (
            f"{question} needs its rows in memory, and {self.X!r} is read block by block: ask the "
            "blocks that row_blocks(size) gives"
        )
        raise TypeError(msg)

    return refuse


class StreamedRows(Rows):
    """The rows of a :class:`Stream` (n, d).

    A question is put to every block as :class:`DenseRows` or :class:`SparseRows`, and the answers
    are put together: only these classes know how anything is computed.

    **Cost**: that of the question, one pass, two blocks in memory.
    """

    X: Stream

    def __init__(self, X: Stream) -> None:
        self.X = X
        self.sparse, self.by_tasks = X.sparse, X.by_tasks
        self._held: Any = None

    @property
    def stored(self) -> int:
        return self.X.stored

    def __getitem__(self, rows: slice | Array) -> Rows:
        """Some of the rows, in memory."""
        return rows_of(self.X[rows])

    def row_blocks(self, size: int, within: int | None = None) -> Iterator[tuple[slice, Rows]]:
        for rows, block in self.X.blocks(size, within):
            yield rows, rows_of(block)

    def sum_over_blocks(
        self,
        start: Start,
        beside: Sequence[Array | None] = (),
        *,
        size: int,
        watch: Watcher | None = None,
        keeper: Keeper | None = None,
    ) -> Array:
        options: Any = {"size": size, "watch": watch, "keeper": keeper}
        if not self.by_tasks:
            return super().sum_over_blocks(start, beside, **options)
        from .dask_tasks import sum_by_tasks  # imported late: Dask is an extra

        return sum_by_tasks(self, start, beside, **options)

    def _size(self) -> int:
        """Rows in a block."""
        return _SPARSE if self.sparse else max(_FEWEST, _NUMBERS // self.shape[1])

    # --- answers that are put together ---

    def answers(
        self,
        ask: Callable[..., Any],
        beside: Sequence[Array | None] = (),
        size: int | None = None,
    ) -> Iterator[tuple[slice, Any]]:
        """What ``ask`` answers of every block, and of what lies beside it, in order.

        No block lies in two groups. Where the rows are read by tasks ``ask`` can be pickled.
        """
        if size is None and self._are_held:
            yield from self._held.answers(ask, beside)
            return
        size = size or self._size()
        if self.by_tasks:
            from .dask_tasks import answers_of_tasks  # imported late: Dask is an extra

            yield from answers_of_tasks(self, ask, beside, size)
            return
        # as tasks would: what is computed of a block may depend on where it ends
        for rows, block in self.row_blocks(size, group_rows(self.shape[1], self.sparse)):
            yield rows, ask(block, *some_of(beside, rows))

    def filled(
        self,
        ask: Callable[..., Array],
        beside: Sequence[Array | None] = (),
        size: int | None = None,
    ) -> Array:
        """Answers (b,) or (b, t) of the blocks below each other."""
        result: Array | None = None
        for rows, part in self.answers(ask, beside, size):
            if result is None:
                result = np.empty((self.shape[0], *part.shape[1:]), part.dtype)
            result[rows] = part
        assert result is not None  # a stream has rows
        return result

    def _summed(self, ask: Callable[..., Array], *beside: Array | None) -> Array:
        """The sum of the answers, in float64."""
        return self.summed(partial(AddedUp, ask), beside)

    def summed(self, start: Start, beside: Sequence[Array | None] = ()) -> Array:
        """The sum that ``start()`` accumulates over all rows, in blocks of a length of their own.

        Rows that were prepared are asked where they are held.
        """
        if self._are_held:
            return self._held.sum(start, beside)
        return self.sum_over_blocks(start, beside, size=self._size())

    @property
    def _are_held(self) -> bool:
        return self._held is not None and self._held.there

    def prepare(self, budget: float) -> float:
        """Let the workers of Dask hold them as they are asked for, if they have room.

        Other streams are read in every pass.
        """
        if not self.by_tasks or self._held is not None:
            return budget
        from .held_groups import HeldGroups, itself  # imported late: Dask is an extra

        # of a sparse number its place is stored, too
        needed = self.stored * (self.dtype.itemsize + 4.0 * self.sparse) + 8.0 * self.shape[0]
        self._held = HeldGroups.of(self, self._size(), needed, budget, itself)
        return budget

    def held(
        self, size: int, needed: float, make: Callable[..., Any], beside: Sequence[Array | None]
    ) -> Any:
        """What is made of every block, held by the workers of Dask for several questions.

        None where these have not ``needed`` bytes to spare, or where there is no cluster.
        """
        if not self.by_tasks:
            return None
        from .held_groups import HeldGroups  # imported late: Dask is an extra

        return HeldGroups.of(self, size, needed, 0.0, make, beside)

    def dense(self) -> Array:
        return self.filled(methodcaller("dense"))

    def _first_look(self) -> tuple[float, Array, Array]:
        """Peak, constants and mean in one pass by tasks, of dense rows; remembered by the stream.

        The mean is added as elsewhere, to the bit.
        """
        if hasattr(self.X, "_looks"):
            return self.X._looks
        n, within = self.shape[0], group_rows(self.shape[1], self.sparse)
        peaks, constants, tree = [], np.empty(0), TreeSum()
        begun: Array | None = None
        for rows, (peak, same, share) in self.answers(partial(_look, n)):
            peaks.append(peak)
            constants = np.where(constants == same, same, np.nan) if rows.start else same
            begun = np.array(share) if begun is None else begun + share
            if rows.stop % within == 0 or rows.stop == n:
                tree.add(begun)
                begun = None
        self.X._looks = max(peaks), constants, tree.total()
        return self.X._looks

    def constants(self) -> Array:
        if self.by_tasks and not self.sparse:
            return self._first_look()[1]
        parts = (part for _, part in self.answers(methodcaller("constants")))
        return reduce(lambda one, other: np.where(one == other, one, np.nan), parts)

    def everywhere(self) -> Array:
        if not self.sparse:
            return super().everywhere()
        parts = (part for _, part in self.answers(methodcaller("everywhere")))
        return reduce(np.intersect1d, parts)

    def peak(self) -> float:
        """Remembered by the stream: everybody asks for it first."""
        if self.by_tasks and not self.sparse:
            return self._first_look()[0]
        if not hasattr(self.X, "_peak"):
            self.X._peak = max(part for _, part in self.answers(methodcaller("peak")))
        return self.X._peak

    def mean(self, shares: Array | None = None) -> Array:
        if shares is None and self.by_tasks and not self.sparse:
            return self._first_look()[2].copy()
        if shares is None:
            return self._summed(partial(_share_of_mean, self.shape[0]))
        return self._summed(_weighted_mean, shares)

    def squares(self) -> Array:
        return self.filled(methodcaller("squares"))

    def product(self, V: Array) -> Array:
        return self.filled(methodcaller("product", V))

    def transposed_product(self, U: Array) -> Array:
        found = self._summed(_transposed_product, U)
        return found.astype(np.result_type(self.dtype, U), copy=False)

    def times(self, V: Array, mean: Array) -> Array:
        return self.filled(methodcaller("times", V, mean))

    def transposed_times(self, U: Array, mean: Array) -> Array:
        found = self._summed(partial(_transposed_times, mean), U)
        return found.astype(self.dtype, copy=False)

    def gram(self, mean: Array, factor: float, root: Array | None) -> Array:
        return self._summed(partial(_gram, mean, factor), root)

    # --- other rows, made in every pass ---

    def _transformed(self, method: str, *arguments: Any, **changed: Any) -> StreamedRows:
        return StreamedRows(TransformedStream(self.X, methodcaller(method, *arguments), **changed))

    def shifted(self, shift: Array) -> StreamedRows:
        return self._transformed("shifted", shift)

    def scaled(self, factors: float | Array) -> StreamedRows:
        return self._transformed("scaled", factors)

    def normalised(self) -> StreamedRows:
        return self._transformed("normalised")

    def columns(self, features: Array) -> StreamedRows:
        names = self.X.feature_names
        some = None if names is None else [names[i] for i in features]
        shape = (self.shape[0], features.size)
        return self._transformed("columns", features, shape=shape, feature_names=some)

    def astype(self, dtype: np.dtype) -> StreamedRows:
        if dtype == self.dtype:
            return self
        return self._transformed("astype", dtype, dtype=np.dtype(dtype))

    def copy(self) -> StreamedRows:
        """Themselves: nobody can change them through us."""
        return self

    like = _refused("like")
    standardised = _refused("standardised")
    lifted = _refused("lifted")
    cross = _refused("cross")
    city_block = _refused("city_block")


# What is asked of a block, and of what lies beside it.


def _share_of_mean(n: int, block: Rows) -> Array:
    return block.mean() * (block.shape[0] / n)


def _look(n: int, block: Rows) -> tuple[float, Array, Array]:
    return block.peak(), block.constants(), _share_of_mean(n, block)


def _weighted_mean(block: Rows, shares: Array) -> Array:
    return block.mean(shares)


def _transposed_product(block: Rows, U: Array) -> Array:
    return block.transposed_product(U)


def _transposed_times(mean: Array, block: Rows, U: Array) -> Array:
    return block.transposed_times(U, mean)


def _gram(mean: Array, factor: float, block: Rows, root: Array | None) -> Array:
    return block.gram(mean, factor, root)


class _StreamView(Stream):
    """Rows made from those of another stream, like it but for the attributes that ``changed``."""

    def __init__(self, rows: Stream, **changed: Any) -> None:
        self._rows = rows
        for name in _VIEWED:
            setattr(self, name, changed.get(name, getattr(rows, name)))

    def _name_failure(self, error: Exception) -> None:
        self._rows._name_failure(error)


class TransformedStream(_StreamView):
    """What ``make`` gives of every block of another stream: as many rows.

    It is made anew in every pass, so that nothing is held. ``make`` has to be picklable if the
    stream is to be.
    """

    def __init__(self, rows: Stream, make: Callable[[Rows], Rows], **changed: Any) -> None:
        super().__init__(rows, **changed)
        self._make, self._changed = make, changed
        self._task: Any = None

    def _delayed(self, rows: slice) -> Any:
        from .dask_tasks import as_task, later

        if self._task is None:  # what they are made with may be large: one task for all groups
            self._task = as_task(self._make)
        changed = {**self._changed, "shape": (rows.stop - rows.start, self.shape[1])}
        return later(_view, self._rows._delayed(rows), self._task, changed)

    def __getstate__(self) -> dict[str, Any]:
        """Without tasks, which belong to a scheduler."""
        return {**self.__dict__, "_task": None}

    def _bounds(self) -> Array:
        return self._rows._bounds()

    def _read(self, size: int, pieces: Sequence[int]) -> Blocks:
        with closing(self._rows._checked_blocks(size, pieces)) as blocks:
            for block in blocks:
                yield self._make(rows_of(block)).X

    def _take(self, wanted: Array) -> Any:
        return self._make(rows_of(self._rows._take(wanted))).X


class StreamSubset(_StreamView):
    """The rows of a stream with given ``numbers`` (m,), ascending: the others are passed over."""

    def __init__(self, rows: Stream, numbers: Array) -> None:
        super().__init__(rows, shape=(numbers.size, rows.shape[1]))
        self._chosen = numbers

    def _delayed(self, rows: slice) -> Any:
        from .dask_tasks import later

        numbers = self._chosen[rows]
        within = slice(int(numbers[0]), int(numbers[-1]) + 1)
        return later(StreamSubset, self._rows._delayed(within), numbers - within.start)

    def _read(self, size: int, pieces: Sequence[int]) -> Blocks:
        with closing(self._rows._checked_blocks(size)) as blocks:
            yield from rows_among(blocks, self._chosen)

    def _take(self, wanted: Array) -> Any:
        return self._rows._take(self._chosen[wanted])


def some_rows(X: Any, numbers: Array) -> Any:
    """Rows ``numbers`` (m,), ascending, of an array, a CSR matrix or a stream (not read)."""
    return StreamSubset(X, numbers) if isinstance(X, Stream) else X[numbers]


def kept_rows(X: Any, kept: Array, given: bool) -> Any:
    """The rows of a fit that count, ``kept`` (m,); with their columns of a ``given`` matrix K."""
    if kept.size == X.shape[0]:
        return X
    return X[np.ix_(kept, kept)] if given else some_rows(X, kept)


def _view(rows: Stream, make: Callable[[Rows], Rows], changed: dict[str, Any]) -> Stream:
    return TransformedStream(rows, make, **changed)


def with_columns(X: Any, names: Sequence[str], source: str) -> Any:
    """A data frame or a stream with these columns in this order; as it is if it has no names."""
    there = X.feature_names if isinstance(X, Stream) else getattr(X, "columns", None)
    if there is None:
        return X
    there = [str(name) for name in there]
    refuse_missing(names, there, source)
    if there == list(names):
        return X
    if not isinstance(X, Stream):
        return X[list(names)]
    make = partial(_reordered, features=np.array([there.index(name) for name in names]))
    return TransformedStream(X, make, shape=(len(X), len(names)), feature_names=list(names))


def _reordered(rows: Rows, features: Array) -> Rows:
    some = rows.X[:, features]
    if not rows.sparse:
        return rows_of(np.ascontiguousarray(some))
    some.sort_indices()
    return rows_of(some)
