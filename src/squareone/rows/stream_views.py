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
from .column_problems import refuse_missing
from .stream import Blocks, Stream, rows_among

# Numbers in a block: large enough for products at full speed, small beside any machine's memory.
_NUMBERS = 1_048_576
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
        self.sparse = X.sparse

    @property
    def stored(self) -> int:
        return self.X.stored

    def __getitem__(self, rows: slice | Array) -> Rows:
        """Some of the rows, in memory."""
        return rows_of(self.X[rows])

    def row_blocks(self, size: int) -> Iterator[tuple[slice, Rows]]:
        for rows, block in self.X.blocks(size):
            yield rows, rows_of(block)

    def _blocks(self) -> Iterator[tuple[slice, Rows]]:
        dense = max(_FEWEST, _NUMBERS // self.shape[1])
        return self.row_blocks(_SPARSE if self.sparse else dense)

    # --- answers that are put together ---

    def _filled(self, ask: Callable[[Rows], Array]) -> Array:
        """Answers (b,) or (b, t) of the blocks below each other."""
        result: Array | None = None
        for rows, block in self._blocks():
            part = ask(block)
            if result is None:
                result = np.empty((self.shape[0], *part.shape[1:]), part.dtype)
            result[rows] = part
        assert result is not None  # a stream has rows
        return result

    def _summed(self, ask: Callable[[slice, Rows], Array]) -> Array:
        """The sum of the answers, in float64, in the type they have."""
        total: Array | None = None
        for rows, block in self._blocks():
            part = ask(rows, block)
            if total is None:
                total, dtype = part.astype(np.float64), part.dtype
            else:
                total += part
        assert total is not None  # a stream has rows
        return total.astype(dtype, copy=False)

    def dense(self) -> Array:
        return self._filled(lambda block: block.dense())

    def constants(self) -> Array:
        parts = (block.constants() for _, block in self._blocks())
        return reduce(lambda one, other: np.where(one == other, one, np.nan), parts)

    def everywhere(self) -> Array:
        if not self.sparse:
            return super().everywhere()
        return reduce(np.intersect1d, (block.everywhere() for _, block in self._blocks()))

    def peak(self) -> float:
        """Remembered by the stream: everybody asks for it first."""
        if not hasattr(self.X, "_peak"):
            self.X._peak = max(block.peak() for _, block in self._blocks())
        return self.X._peak

    def mean(self, shares: Array | None = None) -> Array:
        n = self.shape[0]
        if shares is None:
            return self._summed(lambda rows, block: block.mean() * (block.shape[0] / n))
        return self._summed(lambda rows, block: block.mean(shares[rows]))

    def squares(self) -> Array:
        return self._filled(lambda block: block.squares())

    def product(self, V: Array) -> Array:
        return self._filled(lambda block: block.product(V))

    def transposed_product(self, U: Array) -> Array:
        return self._summed(lambda rows, block: block.transposed_product(U[rows]))

    def times(self, V: Array, mean: Array) -> Array:
        return self._filled(lambda block: block.times(V, mean))

    def transposed_times(self, U: Array, mean: Array) -> Array:
        return self._summed(lambda rows, block: block.transposed_times(U[rows], mean))

    def gram(self, mean: Array, factor: float, root: Array | None) -> Array:
        return self._summed(
            lambda rows, block: block.gram(mean, factor, None if root is None else root[rows])
        )

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


class _StreamView(Stream):
    """Rows made from those of another stream, like it but for the attributes that ``changed``."""

    def __init__(self, rows: Stream, **changed: Any) -> None:
        self._rows = rows
        for name in ("_source", "_remedy", "shape", "dtype", "sparse", "feature_names"):
            setattr(self, name, changed.get(name, getattr(rows, name)))


class TransformedStream(_StreamView):
    """What ``make`` gives of every block of another stream: as many rows.

    It is made anew in every pass, so that nothing is held. ``make`` has to be picklable if the
    stream is to be.
    """

    def __init__(self, rows: Stream, make: Callable[[Rows], Rows], **changed: Any) -> None:
        super().__init__(rows, **changed)
        self._make = make

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

    def _read(self, size: int, pieces: Sequence[int]) -> Blocks:
        with closing(self._rows._checked_blocks(size)) as blocks:
            yield from rows_among(blocks, self._chosen)

    def _take(self, wanted: Array) -> Any:
        return self._rows._take(self._chosen[wanted])


def some_rows(X: Any, numbers: Array) -> Any:
    """Rows ``numbers`` (m,), ascending, of an array, a CSR matrix or a stream (not read)."""
    return StreamSubset(X, numbers) if isinstance(X, Stream) else X[numbers]


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
