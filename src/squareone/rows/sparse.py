"""Rows in a compressed sparse matrix (CSR): what is zero is neither stored nor multiplied."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..arrays import Array, sparse_product
from ..threads import for_each, thread_budget
from .base import Lifted, Rows, dealt_sums, gram_blocks

# Pieces per core into which a product is cut: cores end together, and a piece is still long.
_PIECES = 2
# Features that occur are numbered anew if they are at most this share of all.
_MOSTLY = 0.7
# Below so many multiplications threads cost more than they save.
_WORTH_THREADS = 200_000
# Pairs of numbers in one piece of a city-block distance: its arrays are as large as a tile.
_PAIRS = 262_144


class SparseRows(Rows):
    """The rows of a CSR matrix (n, d) with sorted indices and without duplicates.

    Centring is implicit: (X − 1·mᵀ)V = XV − 1·(mᵀV), so that zeros stay zeros.
    """

    sparse = True

    def __init__(self, X: Any) -> None:
        self.X = X
        self._pieces: list[tuple[slice, Any]] | None = None
        self._transposed: SparseRows | None = None

    @property
    def stored(self) -> int:
        return int(self.X.nnz)

    def __getitem__(self, rows: slice | Array) -> SparseRows:
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(self.shape[0])
            return SparseRows(_view(self.X, start, max(start, stop)))
        return SparseRows(self.X[rows])

    def dense(self) -> Array:
        return self.X.toarray()

    @cached_property
    def _counts(self) -> Array:
        """For how many rows each feature is stored (d,)."""
        return np.bincount(self.X.indices, minlength=self.shape[1])

    def constants(self) -> Array:
        """Only of a feature that is stored for every row, or for none, is it looked at."""
        n, features = self.shape[0], self.everywhere()
        result = np.where(self._counts == 0, 0.0, np.nan)
        if features.size and n:
            stored = self.columns(features).X.data.reshape(n, -1)
            lowest, highest = stored.min(axis=0), stored.max(axis=0)
            result[features] = np.where(lowest == highest, highest, np.nan)
        return result

    def everywhere(self) -> Array:
        return np.flatnonzero(self._counts == self.shape[0])

    def shifted(self, shift: Array) -> SparseRows:
        n, touched = self.shape[0], np.flatnonzero(shift)
        if np.isin(self.X.indices, touched).sum() == n * touched.size:
            data = (self.X.data - shift[self.X.indices]).astype(self.dtype, copy=False)
            return SparseRows(_like(self.X, data))
        # a row that lacks such a feature gets it
        row = csr_array(shift[None].astype(self.dtype))
        all_rows = csr_array(np.ones((n, 1), self.dtype)) @ row
        return SparseRows(csr_array(csr_array(self.X) - all_rows))

    def occupied(self) -> Array | None:
        """Hashed features are many, and most of them are not there."""
        features = np.flatnonzero(self._counts)
        return features if features.size < _MOSTLY * self.shape[1] else None

    def columns(self, features: Array) -> SparseRows:
        position = np.full(self.shape[1], -1, self.X.indices.dtype)
        position[features] = np.arange(features.size)
        indices = position[self.X.indices]
        here = indices >= 0
        before = np.concatenate([[0], np.cumsum(here)])
        indptr = before[self.X.indptr].astype(self.X.indptr.dtype)
        parts = self.X.data[here], indices[here], indptr
        return SparseRows(type(self.X)(parts, shape=(self.shape[0], features.size), copy=False))

    def peak(self) -> float:
        data = self.X.data
        return float(max(abs(data.max(initial=0.0)), abs(data.min(initial=0.0))))

    def mean(self, shares: Array | None = None) -> Array:
        n, d = self.shape
        indices, data = self.X.indices, self.X.data
        if shares is None:
            return np.bincount(indices, weights=data, minlength=d) / n
        weights = np.repeat(shares, np.diff(self.X.indptr)) * data
        return np.bincount(indices, weights=weights, minlength=d)

    def squares(self) -> Array:
        squares = np.square(self.X.data, dtype=np.float64)
        return _over_rows(np.add, squares, self.X.indptr).astype(self.dtype)

    def scaled(self, factors: float | Array) -> SparseRows:
        factors = np.asarray(factors, dtype=self.dtype)
        data = self.X.data * (factors if factors.ndim == 0 else factors[self.X.indices])
        return SparseRows(_like(self.X, data))

    def normalised(self) -> SparseRows:
        counts, indptr = np.diff(self.X.indptr), self.X.indptr
        largest = _over_rows(np.maximum, np.abs(self.X.data), indptr)
        data = self.X.data / np.repeat(np.where(largest > 0, largest, 1.0), counts)
        lengths = np.sqrt(_over_rows(np.add, np.square(data), indptr))
        data /= np.repeat(np.where(lengths > 0, lengths, 1.0), counts)
        return SparseRows(_like(self.X, data.astype(self.dtype)))

    def standardised(self, origin: Array, widths: float | Array) -> SparseRows:
        """Only divided: the origin of sparse rows is zero."""
        widths = np.asarray(widths, dtype=self.dtype)
        data = self.X.data / (widths if widths.ndim == 0 else widths[self.X.indices])
        dtype = np.result_type(self.dtype, origin.dtype)  # as that of dense rows
        return SparseRows(_like(self.X, data.astype(dtype, copy=False)))

    def lifted(self, origin: Array, widths: float | Array, *, square_at: int) -> LiftedSparseRows:
        rows = self.standardised(origin, widths)
        return LiftedSparseRows(rows, -0.5 * rows.squares())

    def cross(self, other: Rows, out: Array) -> None:
        out[...] = (self.X @ other.X.T).toarray()

    def city_block(self, other: Rows) -> Array:
        return _city_block(self.X, other.X)

    def transposed_product(self, U: Array) -> Array:
        turned = self._transposed
        return self.X.T @ U if turned is None else turned.product(U)

    def times(self, V: Array, mean: Array) -> Array:
        result = self.product(V)
        if mean.any():
            result -= (mean @ V).astype(result.dtype)
        return result

    def transposed_times(self, U: Array, mean: Array) -> Array:
        result = self.transposed_product(U)
        if mean.any():
            result -= np.outer(mean, U.sum(axis=0, dtype=np.float64)).astype(result.dtype)
        return result

    def gram(self, mean: Array, factor: float, root: Array | None) -> Array:
        n, d = self.shape
        hands = gram_blocks(n, d)[1]
        cuts = np.linspace(0, n, hands + 1).astype(int)

        def add(hand: int, total: Array) -> None:
            block = self[slice(cuts[hand], cuts[hand + 1])].scaled(factor).X.astype(np.float64)
            if root is not None:
                block.data *= np.repeat(root[cuts[hand] : cuts[hand + 1]], np.diff(block.indptr))
            total += (block.T @ block).toarray()

        result = dealt_sums(hands, d, add)
        weight = n if root is None else float(np.square(root, dtype=np.float64).sum())
        scaled = mean * factor
        result -= np.outer(weight * scaled, scaled)
        return result

    def copy(self) -> SparseRows:
        """With the transpose, which is no one else's already."""
        rows = SparseRows(self.X.copy())
        rows._transposed = self._transposed
        return rows

    def astype(self, dtype: np.dtype) -> SparseRows:
        """Where numbers stand is told by the same arrays."""
        return self if dtype == self.dtype else SparseRows(_like(self.X, self.X.data.astype(dtype)))

    def prepare(self, budget: float) -> float:
        """Store the transpose by its own rows: its products can then be shared among cores."""
        needed = self.X.data.nbytes + self.X.indices.nbytes + 8.0 * self.shape[1]
        if self._transposed is not None or needed > budget:
            return budget
        self._transposed = SparseRows(self.X.T.tocsr())
        return budget - needed

    def product(self, V: Array) -> Array:
        """SciPy's compiled loop, which releases the interpreter lock, on every core."""
        V = np.ascontiguousarray(V)
        if thread_budget() == 1 or self.stored * V.shape[1] < _WORTH_THREADS:
            return self.X @ V
        if self._pieces is None:
            self._pieces = self._cut(_PIECES * thread_budget())
        result = np.empty((self.shape[0], V.shape[1]), np.result_type(self.dtype, V.dtype))

        def multiply(piece: tuple[slice, Any]) -> None:
            rows, part = piece
            sparse_product(part, V, result[rows])

        for_each(multiply, self._pieces)
        return result

    def _cut(self, count: int) -> list[tuple[slice, Any]]:
        """Views of consecutive rows with about as many stored numbers each."""
        n = self.shape[0]
        cuts = np.searchsorted(self.X.indptr, np.linspace(0, self.stored, count + 1))
        cuts[0], cuts[-1] = 0, n
        return [(slice(a, b), _view(self.X, a, b)) for a, b in pairwise(cuts) if b > a]


@dataclass
class LiftedSparseRows(Lifted):
    """Rows z (n, d) and −|z|²/2 (n,).

    Two more columns, as dense rows have, would make every product of two rows one of numbers that
    are stored: adding the squares to a tile is several times faster.
    """

    rows: SparseRows
    halves: Array

    def __getitem__(self, rows: slice) -> LiftedSparseRows:
        return LiftedSparseRows(self.rows[rows], self.halves[rows])

    def cross(self, other: LiftedSparseRows, out: Array) -> None:
        self.rows.cross(other.rows, out)
        out += self.halves[:, None]
        out += other.halves


def canonical(X: Any) -> Any:
    """A CSR matrix with sorted indices of 32 bits, where these suffice, and no duplicates.

    Nor has it room for more numbers at its end. The user's matrix stays as it is, and numbers that
    are in place are not copied.
    """
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    small = max(*X.shape, X.nnz) < np.iinfo(np.int32).max
    wide = small and X.indices.dtype != np.int32
    if wide or X.data.size > X.nnz:
        kind = np.int32 if wide else X.indices.dtype
        parts = X.data[: X.nnz], X.indices[: X.nnz].astype(kind, copy=False)
        X = type(X)((*parts, X.indptr.astype(kind, copy=False)), shape=X.shape, copy=False)
    return X


def _like(X: Any, data: Array) -> Any:
    """A matrix with other numbers in the same places."""
    return type(X)((data, X.indices, X.indptr), shape=X.shape, copy=False)


def _view(X: Any, start: int, stop: int) -> Any:
    """Rows ``start`` to ``stop``; their numbers are those of ``X`` itself."""
    first, last = int(X.indptr[start]), int(X.indptr[stop])
    # made of its parts at once, SciPy would copy them: they are small beside what they are part of
    part = csr_array((stop - start, X.shape[1]), dtype=X.dtype)
    part.data, part.indices = X.data[first:last], X.indices[first:last]
    part.indptr = X.indptr[start : stop + 1] - X.indptr.dtype.type(first)
    return part


def _over_rows(ufunc: np.ufunc, values: Array, indptr: Array) -> Array:
    """Sums or maxima of stored numbers over n rows that begin at ``indptr`` (n + 1,): float64.

    Of a row without any it is zero.
    """
    result = np.zeros(indptr.size - 1)
    filled = np.flatnonzero(np.diff(indptr))  # reduceat would take a number for an empty row
    if filled.size:
        result[filled] = ufunc.reduceat(values, indptr[filled], dtype=np.float64)
    return result


def _city_block(X: Any, Y: Any) -> Array:
    """Σ_k |x_k − y_k| between the rows of two CSR matrices (n, d) and (m, d) → (n, m), in float64.

    It is |x|₁ + |y|₁ − 2 Σ_k s(x_k, y_k), where s is the smaller magnitude of two numbers of the
    same sign, and zero for others: only features that both rows have are looked at.

    Cost: some ten operations for two stored numbers of the same feature. (scikit-learn's
    ``manhattan_distances`` merges all stored numbers of two rows: where few are shared it takes
    tens of times as long.)
    """
    sizes = [_over_rows(np.add, np.abs(A.data, dtype=np.float64), A.indptr) for A in (X, Y)]
    distances = np.add.outer(*sizes)
    distances -= 2.0 * _shared(X, Y)
    return np.maximum(distances, 0.0, out=distances)  # rounding may leave less than nothing


def _shared(X: Any, Y: Any) -> Array:
    """Σ_k s(x_k, y_k) (n, m): every number of X meets those of Y in the same feature."""
    n, m = X.shape[0], Y.shape[0]
    by_feature = Y.T.tocsr()
    meets = np.diff(by_feature.indptr)[X.indices].astype(np.int64)  # how many it meets
    ends = np.cumsum(meets)
    # where they are, less where the pairs of this number begin
    firsts = by_feature.indptr[X.indices] - (ends - meets)
    cells = np.repeat(np.arange(n) * m, np.diff(X.indptr))  # where the row begins in the result
    total = np.zeros(n * m)
    for start, stop in _pair_pieces(ends):
        count = meets[start:stop]
        at = np.arange(ends[start] - meets[start], ends[stop - 1])
        at += np.repeat(firsts[start:stop], count)
        x, y = np.repeat(X.data[start:stop], count), by_feature.data[at]
        least = np.maximum(np.minimum(x, y), 0.0)
        least -= np.minimum(np.maximum(x, y), 0.0)
        cell = np.repeat(cells[start:stop], count)
        cell += by_feature.indices[at]
        total += np.bincount(cell, weights=least, minlength=n * m)
    return total.reshape(n, m)


def _pair_pieces(ends: Array) -> list[tuple[int, int]]:
    """Stored numbers, in order, cut where about so many pairs are together."""
    if not ends.size:
        return []
    cuts = np.searchsorted(ends, np.arange(0, ends[-1], _PAIRS)[1:], side="right")
    return list(pairwise(np.unique(np.concatenate([[0], cuts, [ends.size]])).tolist()))
