"""The kernel matrix of a support vector machine: as it is, or as a product of few features.

Both answer the same questions: products with some of the columns, and systems of the few rows whose
coefficients are free.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ..arrays import Array, cholesky, cholesky_solve


class FreeRows(ABC):
    """Rows whose coefficients are free: K between them, shifted by a diagonal, factored."""

    @abstractmethod
    def solve(self, B: Array) -> Array:
        """(K_MM + diag μ)⁻¹ B for ``B`` (k, t)."""

    @abstractmethod
    def spread(self, coefficients: Array) -> Array:
        """K_{·M} c for ``coefficients`` (k,) → (n,)."""


class KernelSystem(ABC):
    """A positive semidefinite matrix K (n, n).

    Attributes
    ----------
    n : int
    diagonal : array (n,)
    """

    n: int
    diagonal: Array

    @abstractmethod
    def block(self, rows: Array, others: Array) -> Array:
        """K between some rows (k,) and others (l,): a copy (k, l)."""

    @abstractmethod
    def part(self, rows: Array) -> KernelSystem:
        """The same between some rows (k,), copied."""

    @abstractmethod
    def product(self, coefficients: Array) -> Array:
        """K c for ``coefficients`` (n,), of which many may be zero."""

    @abstractmethod
    def products(self, coefficients: Array) -> Array:
        """CK for ``coefficients`` C (k, n), of whose columns many may be zero: (k, n)."""

    @abstractmethod
    def free_rows(self, rows: Array, shifts: Array) -> FreeRows:
        """Factor K of some rows (k,), with ``shifts`` (k,) above zero on its diagonal."""


class MatrixSystem(KernelSystem):
    """K as an array (n, n) of float64, both triangles of it.

    **Cost**: a product n² multiplications at most; a factorisation k³/3 flops and kn numbers.
    """

    def __init__(self, K: Array) -> None:
        self.K = K
        self.n = K.shape[0]
        self.diagonal = np.diagonal(K).copy()

    def block(self, rows: Array, others: Array) -> Array:
        """K between some rows (k,) and others (l,): a copy (k, l)."""
        return self.K[rows].take(others, axis=1)

    def part(self, rows: Array) -> MatrixSystem:
        """Of some rows."""
        return MatrixSystem(self.block(rows, rows))

    def product(self, coefficients: Array) -> Array:
        """K c; only the rows of coefficients other than zero are read where they are few."""
        used = np.flatnonzero(coefficients)
        if 4 * used.size > self.n:  # rows are copied for that, which takes longer than zeros
            return self.K @ coefficients
        return coefficients[used] @ self.K[used]

    def products(self, coefficients: Array) -> Array:
        """CK. Cost: 2kn multiplications for every column that is not zero."""
        used = np.flatnonzero(coefficients.any(axis=0))
        if 2 * used.size > self.n:
            return coefficients @ self.K
        return coefficients[:, used] @ self.K[used]

    def free_rows(self, rows: Array, shifts: Array) -> FreeRows:
        """Factor K of some rows, shifted."""
        return _FreeRowsOfMatrix(self.K[rows], rows, shifts)


class _FreeRowsOfMatrix(FreeRows):
    def __init__(self, R: Array, rows: Array, shifts: Array) -> None:
        self._R = R
        self._L = R.take(rows, axis=1)
        self._L[np.diag_indices(rows.size)] += shifts
        cholesky(self._L)

    def solve(self, B: Array) -> Array:
        return cholesky_solve(self._L, B)

    def spread(self, coefficients: Array) -> Array:
        return coefficients @ self._R


class FeatureSystem(KernelSystem):
    """K = ZZᵀ for features Z (n, m) of float64; K is never formed.

    **Cost**: a product 2nm multiplications; a factorisation km² or k²m, whichever is less.
    """

    def __init__(self, Z: Array) -> None:
        self.Z = Z
        self.n = Z.shape[0]
        self.diagonal = np.einsum("ij,ij->i", Z, Z)

    def block(self, rows: Array, others: Array) -> Array:
        """K between some rows (k,) and others (l,): a copy (k, l)."""
        return self.Z[rows] @ self.Z[others].T

    def part(self, rows: Array) -> FeatureSystem:
        """Of some rows."""
        return FeatureSystem(self.Z[rows])

    def product(self, coefficients: Array) -> Array:
        """Z(Zᵀc)."""
        used = np.flatnonzero(coefficients)
        if 2 * used.size > self.n:
            return self.Z @ (self.Z.T @ coefficients)
        return self.Z @ (coefficients[used] @ self.Z[used])

    def products(self, coefficients: Array) -> Array:
        """(CZ)Zᵀ. Cost: 4knm flops."""
        return (coefficients @ self.Z) @ self.Z.T

    def free_rows(self, rows: Array, shifts: Array) -> FreeRows:
        """Factor K of some rows, shifted."""
        return _FreeRowsOfFeatures(self.Z, self.Z[rows], shifts)


class _FreeRowsOfFeatures(FreeRows):
    """With more rows than features by (D + ZZᵀ)⁻¹ = D⁻¹ − D⁻¹Z(I + ZᵀD⁻¹Z)⁻¹ZᵀD⁻¹."""

    def __init__(self, Z: Array, own: Array, shifts: Array) -> None:
        self._Z, self._own, self._shifts = Z, own, shifts
        k, m = own.shape
        self._wide = k <= m
        if self._wide:
            self._L = own @ own.T
            self._L[np.diag_indices(k)] += shifts
        else:
            scaled = own / np.sqrt(shifts)[:, None]
            self._L = scaled.T @ scaled
            self._L[np.diag_indices(m)] += 1.0
        cholesky(self._L)

    def solve(self, B: Array) -> Array:
        if self._wide:
            return cholesky_solve(self._L, B)
        found = self._once(B)
        # the difference of two large terms: one step of refinement gives back what it has lost
        rest = B - self._own @ (self._own.T @ found) - _scaled(self._shifts, found)
        return found + self._once(rest)

    def _once(self, B: Array) -> Array:
        scaled = _scaled(1.0 / self._shifts, B)
        inner = cholesky_solve(self._L, self._own.T @ scaled)
        return scaled - _scaled(1.0 / self._shifts, self._own @ inner)

    def spread(self, coefficients: Array) -> Array:
        return self._Z @ (coefficients @ self._own)


def _scaled(d: Array, B: Array) -> Array:
    return d * B if B.ndim == 1 else d[:, None] * B
