"""Rows in a dense array in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..threads import for_each
from .base import Lifted, Rows, dealt_sums, gram_blocks, row_blocks


class DenseRows(Rows):
    """The rows of an array (n, d)."""

    X: Array

    def __init__(self, X: Array) -> None:
        self.X = X

    @property
    def stored(self) -> int:
        return self.X.size

    def __getitem__(self, rows: slice | Array) -> DenseRows:
        return DenseRows(self.X[rows])

    def dense(self) -> Array:
        return self.X.copy()

    def constants(self) -> Array:
        lowest, highest = self.X.min(axis=0), self.X.max(axis=0)
        return np.where(lowest == highest, highest, np.nan)

    def shifted(self, shift: Array) -> DenseRows:
        return DenseRows((self.X - shift).astype(self.dtype, copy=False))

    def columns(self, features: Array) -> DenseRows:
        return DenseRows(self.X[:, features])

    def peak(self) -> float:
        return float(max(abs(self.X.max(initial=0.0)), abs(self.X.min(initial=0.0))))

    def mean(self, shares: Array | None = None) -> Array:
        if shares is None:
            return self.X.mean(axis=0, dtype=np.float64)
        return shares @ self.X

    def squares(self) -> Array:
        return np.einsum("ij,ij->i", self.X, self.X)

    def scaled(self, factors: float | Array) -> DenseRows:
        return DenseRows(self.X * np.asarray(factors, dtype=self.dtype))

    def normalised(self) -> DenseRows:
        largest = np.abs(self.X).max(axis=1, keepdims=True, initial=0.0)
        Z = self.X / np.where(largest > 0, largest, 1).astype(self.dtype)
        lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))[:, None]
        Z /= np.where(lengths > 0, lengths, 1)
        return DenseRows(Z)

    def standardised(self, origin: Array, widths: float | Array) -> DenseRows:
        return DenseRows((self.X - origin) / np.asarray(widths, dtype=self.dtype))

    def lifted(self, origin: Array, widths: float | Array, *, square_at: int) -> LiftedDenseRows:
        n, d = self.shape
        Z = np.empty((n, d + 2), self.dtype)
        scaled, halves = Z[:, :d], Z[:, d + square_at]
        np.subtract(self.X, origin, out=scaled)
        scaled /= np.asarray(widths, dtype=self.dtype)
        halves[...] = np.einsum("ij,ij->i", scaled, scaled)
        halves *= -0.5
        Z[:, d + 1 - square_at] = 1.0
        return LiftedDenseRows(Z, halves)

    def cross(self, other: Rows, out: Array) -> None:
        np.matmul(self.X, other.X.T, out=out)

    def city_block(self, other: Rows) -> Array:
        """SciPy's compiled loop, which releases the interpreter lock."""
        from scipy.spatial.distance import cdist  # imported late: it would slow `import squareone`

        return cdist(self.X, other.X, "cityblock")

    def astype(self, dtype: np.dtype) -> DenseRows:
        return self if dtype == self.dtype else DenseRows(self.X.astype(dtype))

    def _centred(self, rows: slice, mean: Array, factor: float = 1.0) -> Array:
        block = self.X[rows] - mean.astype(self.dtype)
        if factor != 1.0:
            block *= self.dtype.type(factor)
        return block

    def product(self, V: Array) -> Array:
        return self.X @ V

    def transposed_product(self, U: Array) -> Array:
        return self.X.T @ U

    def times(self, V: Array, mean: Array) -> Array:
        """Centred block by block: the digits that the mean would cost are not lost."""
        result = np.empty((self.shape[0], V.shape[1]), self.dtype)

        def block(rows: slice) -> None:
            np.matmul(self._centred(rows, mean), V, out=result[rows])

        for_each(block, row_blocks(*self.shape))
        return result

    def transposed_times(self, U: Array, mean: Array) -> Array:
        n, d = self.shape
        hands = max(1, min(8, 16_000_000 // max(d * U.shape[1], 1), -(-n // 256)))
        pieces = row_blocks(n, d)
        sums = np.zeros((hands, d, U.shape[1]))  # in float64: it costs nothing

        def add(hand: int) -> None:
            for rows in pieces[hand::hands]:
                sums[hand] += self._centred(rows, mean).T @ U[rows]

        for_each(add, range(hands))
        return sums.sum(axis=0).astype(self.dtype, copy=False)

    def gram(self, mean: Array, factor: float, root: Array | None) -> Array:
        n, d = self.shape
        hands = gram_blocks(n, d)[1]
        pieces = row_blocks(n, d)

        def add(hand: int, total: Array) -> None:
            for rows in pieces[hand::hands]:
                block = self._centred(rows, mean, factor)
                if root is not None:
                    block *= root[rows, None]
                total += block.T @ block

        return dealt_sums(hands, d, add)


@dataclass
class LiftedDenseRows(Lifted):
    """(z, −|z|²/2, 1) for rows z (n, d), or the last two the other way round.

    (z, −|z|²/2, 1)·(z', 1, −|z'|²/2) is −|z − z'|²/2: the product itself does what would take
    two more passes over the tile.
    """

    Z: Array
    halves: Array  # among the columns of Z

    def __getitem__(self, rows: slice) -> LiftedDenseRows:
        return LiftedDenseRows(self.Z[rows], self.halves[rows])

    def cross(self, other: LiftedDenseRows, out: Array) -> None:
        np.matmul(self.Z, other.Z.T, out=out)
