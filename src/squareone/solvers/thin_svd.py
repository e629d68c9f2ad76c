"""``svd``: the singular value decomposition of the features, by QR of row blocks."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, qr_by_blocks, rotate_rows, svd
from .factor import BasisFactor
from .features import CentredRows
from .folds import errors_of_square_basis, errors_of_thin_basis


class SvdFactor(BasisFactor):
    """X̃ = USVᵀ; r = (ỹ − UUᵀỹ) + U λ/(S² + λ) Uᵀỹ, 1 − h = (1 − ΣU²) + U²·λ/(S² + λ).

    The condition of the features enters once, not squared as in a Gram matrix: right down to
    λ = 1e-12 on a Hilbert design. With an intercept the column βu joins the features, β above
    their norm: u becomes the first singular vector whatever the rank, and is set aside.

    **Cost**: about 6n·d·min(n, d) flops and 2nd numbers once; nd(t + 1) multiplications per λ.
    """

    def __init__(self, rows: CentredRows, Y: Array) -> None:
        self.rows = rows
        self.weighting = rows.weighting
        self.targets, self.means = self.weighting.targets(Y)
        n, d = rows.shape
        self._augmented = self.weighting.direction is not None
        k = d + self._augmented
        self.wide = n <= k
        if self.wide:
            U, s, V = self._decompose_wide(n, k)
        else:
            U, s, V = self._decompose_tall(n, k)
            self.base_complements = 1.0 - np.einsum("ij,ij->i", U, U)
        first = int(self._augmented)
        self.vectors, self.singular, self.axes = U[:, first:], s[first:], V[:d, first:]
        self._all_vectors = U
        self.squares = np.square(self.singular)
        self.projections = self.vectors.T @ self.targets
        if not self.wide:
            self.base_residuals = self.targets - self.vectors @ self.projections
        self.largest = float(np.max(self.squares, initial=0.0)) * rows.unit**2

    def _beta(self) -> float:
        """Twice a bound on the norm of X̃, whose entries are at most about two."""
        n, d = self.rows.shape
        total = 0.0
        for block in self.rows.row_blocks():
            tile = self.rows[block]
            total += float(np.einsum("ij,ij->", tile, tile))
        return 2.0 * float(np.sqrt(total)) or 1.0

    def _decompose_tall(self, n: int, k: int) -> tuple[Array, Array, Array]:
        """U (n, k), s (k,), V (k, k) from QR by row blocks and the SVD of R."""
        beta = self._beta() if self._augmented else 0.0
        Q, R = qr_by_blocks(lambda rows: self._block(rows, beta), n, k, self.targets.dtype)
        U, s, Vt = svd(R)
        return rotate_rows(Q, U), s, Vt.T

    def _block(self, rows: slice, beta: float) -> Array:
        block = self.rows[rows]
        if self.weighting.direction is None:
            return block
        return np.column_stack([block, self.weighting.direction[rows] * block.dtype.type(beta)])

    def _decompose_wide(self, n: int, k: int) -> tuple[Array, Array, Array]:
        """U (n, n), s (n,), V (k, n): the same for the transposed features."""
        beta = self._beta() if self._augmented else 0.0
        transposed = self._block(slice(0, n), beta).T
        Q, R = qr_by_blocks(lambda rows: transposed[rows], k, n, self.targets.dtype)
        V, s, Ut = svd(R)
        return Ut.T, s, rotate_rows(Q, V)

    def _scaled(self, alphas: Array) -> Array:
        return (alphas / self.rows.unit / self.rows.unit).astype(self.squares.dtype)

    def basis(self, rows: slice | Array) -> Array:
        return self.vectors[rows]

    def filters(self, alphas: Array) -> Array:
        scaled = self._scaled(alphas)
        total = self.squares[:, None] + scaled
        return 1.0 / total if self.wide else scaled / total

    def degrees_of_freedom(self, alphas: Array) -> Array:
        return super().degrees_of_freedom(self._scaled(alphas))

    def errors_without(self, alphas: Array, removed: Array) -> Array:
        A, residuals = self._fitted(alphas, removed)
        if self.wide:
            return errors_of_square_basis(A, self.filters(alphas), residuals)
        penalty, scale = (
            self.filters(alphas),
            np.sqrt(self.squares[:, None] / (self.squares[:, None] + self._scaled(alphas))),
        )
        if self._augmented:  # u: fitted in full, no penalty
            ones = np.ones((1, alphas.size), penalty.dtype)
            penalty, scale = np.vstack([0 * ones, penalty]), np.vstack([ones, scale])
        kept = np.delete(self._all_vectors, removed, axis=0)
        return errors_of_thin_basis(
            self._all_vectors[removed], kept.T @ kept, scale, penalty, residuals
        )

    def coefficients(self, alphas: Array) -> tuple[Array, Array]:
        gains = self.singular[:, None] / (self.squares[:, None] + self._scaled(alphas))
        return self.rows.hyperplane(self.axes @ (self.projections * gains), self.means)

    def error_estimate(self, alpha: float) -> float:
        if self.singular.size == 0:
            return 0.0
        scaled = alpha / self.rows.unit / self.rows.unit
        smallest = float(np.sqrt(self.squares[-1] + scaled))
        largest = float(np.sqrt(self.squares[0] + scaled))
        eps = float(np.finfo(self.squares.dtype).eps)
        return eps * largest / smallest if smallest > 0 else np.inf
