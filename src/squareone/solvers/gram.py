"""``gram``: the eigendecomposition of X̃ᵀX̃, with leverages by a second pass over the rows."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, eigh
from .factor import BasisFactor
from .features import CentredRows
from .folds import errors_of_thin_basis


class GramFactor(BasisFactor):
    """X̃ᵀX̃ = VS²Vᵀ and Z = X̃V; r = ỹ − Z(S² + λ)⁻¹Zᵀỹ and 1 − h = 1 − u² − Z²·1/(S² + λ).

    For n > d and features in good condition: forming a Gram matrix squares the condition, and
    here 1 − h is a difference, so rows of leverage near one lose digits.

    **Cost**: nd² + 9d³ flops and d² numbers once, in one pass over the rows; a second pass, nd²
    and then nd(t + 1) multiplications per λ, for the leverages.
    """

    def __init__(self, rows: CentredRows, Y: Array) -> None:
        self.rows = rows
        self.weighting = rows.weighting
        self.targets, self.means = self.weighting.targets(Y)
        values, vectors = eigh(rows.gram())
        self.squares = np.maximum(values, 0.0)
        self.axes = np.ascontiguousarray(vectors.astype(self.targets.dtype))
        self.projections = self.axes.T @ self._against_targets()
        self.base_residuals = self.targets
        u = self.weighting.direction
        self.base_complements = (
            np.ones(self.n) if u is None else 1.0 - np.square(u, dtype=np.float64)
        )
        self.largest = float(np.max(self.squares, initial=0.0)) * rows.unit**2

    def _against_targets(self) -> Array:
        """X̃ᵀỹ (d, t)."""
        total = np.zeros((self.rows.shape[1], self.targets.shape[1]))
        for block in self.rows.row_blocks():
            total += self.rows[block].T @ self.targets[block]
        return total.astype(self.targets.dtype)

    def _scaled(self, alphas: Array) -> Array:
        return alphas / self.rows.unit / self.rows.unit

    def basis(self, rows: slice | Array) -> Array:
        return self.rows[rows] @ self.axes

    def filters(self, alphas: Array) -> Array:
        F = -1.0 / (self.squares[:, None] + self._scaled(alphas))
        return F.astype(self.targets.dtype)

    def degrees_of_freedom(self, alphas: Array) -> Array:
        return super().degrees_of_freedom(self._scaled(alphas))

    def errors_without(self, alphas: Array, removed: Array) -> Array:
        A, residuals = self._fitted(alphas, removed)
        scale = np.sqrt(-self.filters(alphas))
        penalty = (self._scaled(alphas) * np.square(scale)).astype(scale.dtype)
        kept = np.delete(np.arange(self.n), removed)
        Z = self.basis(kept)
        u = self.weighting.direction
        if u is not None:  # fitted in full, no penalty
            ones = np.ones((1, alphas.size), scale.dtype)
            A, Z = np.column_stack([u[removed], A]), np.column_stack([u[kept], Z])
            scale, penalty = np.vstack([ones, scale]), np.vstack([0 * ones, penalty])
        return errors_of_thin_basis(A, Z.T @ Z, scale, penalty, residuals)

    def coefficients(self, alphas: Array) -> tuple[Array, Array]:
        return self.rows.hyperplane(
            self.axes @ (-self.filters(alphas) * self.projections), self.means
        )

    def error_estimate(self, alpha: float) -> float:
        if self.squares.size == 0:
            return 0.0
        scaled = alpha / self.rows.unit / self.rows.unit
        smallest, largest = float(self.squares.min()) + scaled, float(self.squares.max()) + scaled
        eps = float(np.finfo(self.targets.dtype).eps)
        least = self.least_complements.get(alpha, 1.0)
        return eps * largest / smallest / least if smallest > 0 else np.inf
