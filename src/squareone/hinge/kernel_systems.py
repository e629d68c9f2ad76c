"""The kernel matrix of a support vector machine: as it is, or as a product of few features.

Both answer the same questions: products with some of the columns, and systems of the few rows whose
coefficients are free.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ..arrays import Array, blocks, calm_blas, cholesky, cholesky_solve, upper_product
from ..threads import for_each, thread_budget

# Numbers of rows that are copied at a time: what a cache holds. Numbers from which a second core
# is worth being woken.
_CHUNK, _SHARED = 100_000, 2_000_000


class FreeRows(ABC):
    """Rows whose coefficients are free: K between them, shifted by a diagonal, factored.

    Attributes
    ----------
    rows, shifts : array (k,)
    triangle : array (k, k) or None
        L with LLᵀ = K_MM + diag μ in its lower triangle; None where something else was factored.
    """

    rows: Array
    shifts: Array
    triangle: Array | None = None

    @abstractmethod
    def solve(self, B: Array) -> Array:
        """(K_MM + diag μ)⁻¹ B for ``B`` (k, t)."""

    @abstractmethod
    def product(self, coefficients: Array) -> Array:
        """K_MM c for ``coefficients`` (k,) → (k,)."""

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
        out = np.empty((rows.size, others.size))

        def copy(part: slice) -> None:
            # whole rows of few at a time, which stay in the cache: columns of K are far apart
            np.take(self.K[rows[part]], others, axis=1, out=out[part], mode="clip")

        parts = blocks(rows.size, self._at_a_time)
        if rows.size * self.n < _SHARED:
            for part in parts:
                copy(part)
        else:
            for_each(copy, parts)
        return out

    def part(self, rows: Array) -> MatrixSystem:
        """Of some rows."""
        return MatrixSystem(self.block(rows, rows))

    def product(self, coefficients: Array) -> Array:
        """K c; only the rows of coefficients other than zero are read where they are few."""
        used = np.flatnonzero(coefficients)
        if 2 * used.size > self.n:
            return self.K @ coefficients
        return self.combined(used, coefficients[used])

    def combined(self, rows: Array, coefficients: Array) -> Array:
        """K_{·M} c for some rows M (k,) and their ``coefficients`` (k,): (n,). Cost: 2kn flops."""
        cores = thread_budget() if rows.size * self.n >= _SHARED else 1
        shares = blocks(rows.size, max(1, -(-rows.size // cores)))
        sums = np.zeros((max(1, len(shares)), self.n))

        def add(number: int) -> None:
            own, c = rows[shares[number]], coefficients[shares[number]]
            for part in blocks(own.size, self._at_a_time):
                sums[number] += c[part] @ self.K[own[part]]

        for_each(add, range(len(shares)))
        return sums.sum(axis=0)

    def products(self, coefficients: Array) -> Array:
        """CK. Cost: 2kn multiplications for every column that is not zero."""
        used = np.flatnonzero(coefficients.any(axis=0))
        if 2 * used.size > self.n:
            return coefficients @ self.K
        return coefficients[:, used] @ self.K[used]

    def free_rows(self, rows: Array, shifts: Array) -> FreeRows:
        """Factor K of some rows, shifted."""
        return _FreeRowsOfMatrix(self, rows, shifts)

    @property
    def _at_a_time(self) -> int:
        return max(1, _CHUNK // self.n)


class _FreeRowsOfMatrix(FreeRows):
    """The factor is in the lower triangle; K of the rows stays above the diagonal."""

    def __init__(self, system: MatrixSystem, rows: Array, shifts: Array) -> None:
        self._system, self.rows, self.shifts = system, rows, shifts
        self._both = self.triangle = system.block(rows, rows)
        self._both[np.diag_indices(rows.size)] += shifts
        with calm_blas(rows.size):
            cholesky(self._both)

    def solve(self, B: Array) -> Array:
        return cholesky_solve(self._both, B)

    def product(self, coefficients: Array) -> Array:
        return upper_product(self._both, self._system.diagonal[self.rows], coefficients)

    def spread(self, coefficients: Array) -> Array:
        full = np.zeros(self._system.n)
        full[self.rows] = coefficients
        return self._system.product(full)


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
        return _FreeRowsOfFeatures(self.Z, rows, shifts)


class _FreeRowsOfFeatures(FreeRows):
    """With more rows than features by (D + ZZᵀ)⁻¹ = D⁻¹ − D⁻¹Z(I + ZᵀD⁻¹Z)⁻¹ZᵀD⁻¹."""

    def __init__(self, Z: Array, rows: Array, shifts: Array) -> None:
        self._Z, self._own, self.rows, self.shifts = Z, Z[rows], rows, shifts
        own = self._own
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
        self.triangle = self._L if self._wide else None

    def solve(self, B: Array) -> Array:
        if self._wide:
            return cholesky_solve(self._L, B)
        found = self._once(B)
        # the difference of two large terms: one step of refinement gives back what it has lost
        rest = B - self._own @ (self._own.T @ found) - _scaled(self.shifts, found)
        return found + self._once(rest)

    def _once(self, B: Array) -> Array:
        scaled = _scaled(1.0 / self.shifts, B)
        inner = cholesky_solve(self._L, self._own.T @ scaled)
        return scaled - _scaled(1.0 / self.shifts, self._own @ inner)

    def product(self, coefficients: Array) -> Array:
        return self._own @ (coefficients @ self._own)

    def spread(self, coefficients: Array) -> Array:
        return self._Z @ (coefficients @ self._own)


def _scaled(d: Array, B: Array) -> Array:
    return d * B if B.ndim == 1 else d[:, None] * B
