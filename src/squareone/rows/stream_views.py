"""Rows that are asked block by block: every question is one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import methodcaller
from typing import NoReturn

import numpy as np

from ..arrays import Array
from .base import Lifted, Rows, rows_of
from .derived import DerivedRows
from .stream import Stream

# Numbers in a block: large enough for products at full speed, small beside any machine's memory.
_NUMBERS = 1_048_576
# Rows in a block: at least, and of sparse rows, which may have any number of features.
_FEWEST, _SPARSE = 1024, 8192


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

    def _filled(self, width: int | None, ask: Callable[[slice, Rows], Array]) -> Array:
        """Answers (b,) or (b, width) of the blocks below each other."""
        n = self.shape[0]
        result: Array | None = None
        for rows, block in self._blocks():
            part = ask(rows, block)
            if result is None:
                result = np.empty(n if width is None else (n, width), part.dtype)
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
        return self._filled(self.shape[1], lambda rows, block: block.dense())

    def constants(self) -> Array:
        found: Array | None = None
        for _, block in self._blocks():
            part = block.constants()
            found = part if found is None else np.where(found == part, found, np.nan)
        assert found is not None  # a stream has rows
        return found

    def everywhere(self) -> Array:
        if not self.sparse:
            return np.empty(0, int)
        features = np.arange(self.shape[1])
        for _, block in self._blocks():
            features = np.intersect1d(features, block.everywhere(), assume_unique=True)
        return features

    def occupied(self) -> Array | None:
        return None

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
        return self._filled(None, lambda rows, block: block.squares())

    def origin(self, mean: Array) -> Array:
        return np.zeros_like(mean) if self.sparse else mean

    def product(self, V: Array) -> Array:
        return self._filled(V.shape[1], lambda rows, block: block.product(V))

    def transposed_product(self, U: Array) -> Array:
        return self._summed(lambda rows, block: block.transposed_product(U[rows]))

    def times(self, V: Array, mean: Array) -> Array:
        return self._filled(V.shape[1], lambda rows, block: block.times(V, mean))

    def transposed_times(self, U: Array, mean: Array) -> Array:
        return self._summed(lambda rows, block: block.transposed_times(U[rows], mean))

    def gram(self, mean: Array, factor: float, root: Array | None) -> Array:
        return self._summed(
            lambda rows, block: block.gram(mean, factor, None if root is None else root[rows])
        )

    # --- other rows, made in every pass ---

    def shifted(self, shift: Array) -> StreamedRows:
        make = methodcaller("shifted", shift)
        return StreamedRows(DerivedRows(self.X, make, feature_names=self.X.feature_names))

    def scaled(self, factors: float | Array) -> StreamedRows:
        make = methodcaller("scaled", factors)
        return StreamedRows(DerivedRows(self.X, make, feature_names=self.X.feature_names))

    def columns(self, features: Array) -> StreamedRows:
        names = self.X.feature_names
        some = None if names is None else [names[i] for i in features]
        make = methodcaller("columns", features)
        return StreamedRows(DerivedRows(self.X, make, d=features.size, feature_names=some))

    def astype(self, dtype: np.dtype) -> StreamedRows:
        if dtype == self.dtype:
            return self
        names, make = self.X.feature_names, methodcaller("astype", dtype)
        return StreamedRows(DerivedRows(self.X, make, dtype=np.dtype(dtype), feature_names=names))

    def prepare(self, budget: float) -> float:
        return budget

    def copy(self) -> StreamedRows:
        """Themselves: nobody can change them through us."""
        return self

    # --- what needs all rows at once ---

    def _refuse(self, what: str) -> NoReturn:
        msg = (
            f"{what} needs its rows in memory, and {self.X!r} is read block by block: ask the "
            "blocks that row_blocks(size) gives"
        )
        raise TypeError(msg)

    def like(self, other: Rows) -> Rows:
        self._refuse("like")

    def standardised(self, origin: Array, widths: float | Array) -> Rows:
        self._refuse("standardised")

    def lifted(self, origin: Array, widths: float | Array, *, square_at: int) -> Lifted:
        self._refuse("lifted")

    def cross(self, other: Rows, out: Array) -> None:
        self._refuse("cross")

    def city_block(self, other: Rows) -> Array:
        self._refuse("city_block")
