"""``gram``: the eigendecomposition of X̃ᵀX̃, with leverages by a second pass over the rows."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, eigh
from .factor import BasisFactor, gram_by_blocks
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
        self.projections = self.axes.T @ rows.transposed_times(self.targets)
        self.base_residuals = self.targets
        u = self.weighting.direction
        self.base_complements = (
            np.ones(self.n) if u is None else 1.0 - np.square(u, dtype=np.float64)
        )
        self.alpha_units = rows.alpha_units
        self.largest = self.rounded = rows.in_user_units(float(np.max(self.squares, initial=0.0)))

    def basis(self, rows: slice | Array) -> Array:
        return self.rows.times(self.axes, rows)

    def settle(self) -> None:
        self.rows = self.rows.owned()

    def filters(self, alphas: Array) -> Array:
        return (-1.0 / (self.squares[:, None] + self.scaled(alphas))).astype(self.targets.dtype)

    def errors_without(self, alphas: Array, removed: Array) -> Array:
        A, residuals = self._fitted(alphas, removed)
        scale = np.sqrt(-self.filters(alphas))
        penalty = (self.scaled(alphas) * np.square(scale, dtype=np.float64)).astype(scale.dtype)
        kept = np.delete(np.arange(self.n), removed)
        u = self.weighting.direction
        if u is None:
            rest = gram_by_blocks(self.basis, kept, A.shape[1])
        else:  # u: fitted in full, no penalty
            ones = np.ones((1, alphas.size), scale.dtype)
            scale, penalty = np.vstack([ones, scale]), np.vstack([0 * ones, penalty])
            A = np.column_stack([u[removed], A])
            rest = gram_by_blocks(
                lambda rows: np.column_stack([u[rows], self.basis(rows)]), kept, A.shape[1]
            )
        return errors_of_thin_basis(A, rest, scale, penalty, residuals)

    def coefficients(self, alphas: Array) -> tuple[Array, Array]:
        return self.rows.hyperplane(
            self.axes @ (-self.filters(alphas) * self.projections), self.means
        )

    takes_rows = True

    def gains(self, alpha: float) -> Array:
        return -self.filters(np.array([alpha]))[:, 0]

    def view(self, queries: Array) -> Array:
        return self.rows.like(queries, self.axes).T

    def sensitivities(self, alpha: float, queries: Array) -> Array:
        turned = self.axes @ (self.gains(alpha)[:, None] * self.view(queries))
        found = np.empty((queries.shape[0], self.n), self.targets.dtype)
        for rows in self.rows.row_blocks():
            found[:, rows] = self.rows.times(turned, rows).T
        return self._with_mean(found.T)

    def energies(self, alphas: Array) -> Array:
        """(ỹᵀỹ − gᵀ(S² + λ)⁻¹g) / λ: a difference, as the leverages are here."""
        scaled = self.scaled(alphas)
        explained = np.square(self.projections, dtype=np.float64).T @ (
            1.0 / (self.squares[:, None] + scaled)
        )
        squares = np.square(self.targets, dtype=np.float64).sum(axis=0)
        left = np.maximum(squares[:, None] - explained, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return left / scaled / self.rows.unit / self.rows.unit

    def variances(self, alpha: float, queries: Array, prior: Array) -> Array:
        left = self.rows.leftover_variances(queries, self.axes, self.gains(alpha), alpha)
        return left + self._variance_of_mean(alpha)

    def error_estimate(self, alpha: float) -> float:
        if self.squares.size == 0:
            return 0.0
        scaled = float(self.scaled(alpha))
        smallest, largest = float(self.squares.min()) + scaled, float(self.squares.max()) + scaled
        eps = float(np.finfo(self.targets.dtype).eps)
        least = self.least_complements.get(alpha, 1.0)
        return eps * largest / smallest / least if smallest > 0 else np.inf
