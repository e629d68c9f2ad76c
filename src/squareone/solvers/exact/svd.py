"""``svd``: the singular value decomposition of the features, by QR of row blocks."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...decompositions import BlockedQR, longest_part, svd
from ..basis_factor import gram_by_blocks, shrinkage
from ..contract import Candidate, SolverInput, Task, Work
from ..cost_counts import columns_of, counted, during, path_numbers, path_work
from .feature_matrix import CentredRows, FeatureFactor
from .folds import errors_of_square_basis, errors_of_thin_basis
from .symmetric_system import SymmetricSystem


class SvdFactor(FeatureFactor):
    """X̃ = USVᵀ; r = (ỹ − UUᵀỹ) + U λ/(S² + λ) Uᵀỹ, 1 − h = (1 − ΣU²) + U²·λ/(S² + λ).

    The condition of the features enters once, not squared as in a Gram matrix: right down to
    λ = 1e-12 on a Hilbert design. With an intercept u is the first column of what is factored,
    so that every other basis vector is orthogonal to it whatever the rank.

    **Cost**: about 6n·d·min(n, d) flops and 2nd numbers once; nd(t + 1) multiplications per λ.
    """

    def __init__(self, rows: CentredRows, Y: Array) -> None:
        self.rows = rows
        self.weighting = rows.weighting
        self.targets, self.means = self.weighting.targets(Y)
        n, d = rows.shape
        self._lead = int(self.weighting.direction is not None)
        self.wide = n <= d + self._lead
        if self.wide:
            self._decompose_wide(n, d)
        else:
            self._decompose_tall(n, d)
        self.alpha_units = rows.alpha_units
        self.squares = np.square(self.singular)
        self._project()
        self.largest = self.rounded = self.in_user_units(float(np.max(self.squares, initial=0.0)))

    def _project(self) -> None:
        self.projections = self.vectors.T @ self.targets
        if not self.wide:
            self.base_residuals = self.targets - self.vectors @ self.projections

    def of_some_rows(self, Y: Array, some: Array, most_centers: int) -> SvdFactor:
        return SvdFactor(self.rows.restricted(some), Y)

    @classmethod
    def build(cls, problem: SolverInput, system: SymmetricSystem | None) -> SvdFactor:
        """Of the features of the rows."""
        return cls(CentredRows.of(problem.X, problem.weighting()), problem.Y)

    def _decompose_tall(self, n: int, d: int) -> None:
        """QR of (u, X̃) by row blocks, then the SVD of the small triangle that belongs to X̃."""
        lead, k = self._lead, d + self._lead
        u = self.weighting.direction

        def block(rows: slice) -> Array:
            return self.rows[rows] if u is None else np.column_stack([u[rows], self.rows[rows]])

        qr = BlockedQR(block, n, k, self.targets.dtype)
        turn = np.eye(k, dtype=self.targets.dtype)
        turn[lead:, lead:], self.singular, Vt = svd(qr.R[lead:, lead:].copy())
        self._all_vectors = qr.rotated(turn)
        self.vectors, self.axes = self._all_vectors[:, lead:], Vt.T
        squares = np.einsum("ij,ij->i", self._all_vectors, self._all_vectors)
        self.base_complements = np.maximum(1.0 - squares, 0.0)

    def _decompose_wide(self, n: int, d: int) -> None:
        """QR of X̃ᵀ by blocks of features, after u is reflected away."""
        u = self.weighting.direction
        reduced = self.rows[slice(0, n)]
        if u is not None:
            reduced = _reflect(u, reduced)[1:]  # (n − 1, d): the first row was uᵀX̃ = 0
        if reduced.shape[0] <= d:
            qr = BlockedQR(lambda columns: reduced.T[columns], d, reduced.shape[0], reduced.dtype)
            V, self.singular, Ut = svd(qr.R)
            self.axes, U = qr.rotated(V), Ut.T
        else:
            U, self.singular, Vt = svd(reduced)
            self.axes = Vt.T
        if u is not None:
            U = _reflect(u, np.vstack([np.zeros((1, U.shape[1]), U.dtype), U]))
        self.vectors = U

    def basis(self, rows: slice | Array) -> Array:
        return self.vectors[rows]

    def filters(self, alphas: Array) -> Array:
        scaled = self.scaled(alphas)
        if self.wide:
            return shrinkage(self.squares, scaled)
        return (scaled / (self.squares[:, None] + scaled)).astype(self.squares.dtype)

    def errors_without(self, alphas: Array, removed: Array) -> Array:
        A, residuals = self._fitted(alphas, removed)
        if self.wide:
            return errors_of_square_basis(A, self.filters(alphas), residuals)
        penalty = self.filters(alphas)
        s2 = self.squares.astype(np.float64)[:, None]
        scale = np.sqrt(s2 / (s2 + self.scaled(alphas))).astype(penalty.dtype)
        if self._lead:  # u: fitted in full, no penalty
            ones = np.ones((1, alphas.size), penalty.dtype)
            penalty, scale = np.vstack([0 * ones, penalty]), np.vstack([ones, scale])
        vectors = self._all_vectors
        kept = np.delete(np.arange(self.n), removed)
        rest = gram_by_blocks(lambda rows: vectors[rows], kept, vectors.shape[1])
        return errors_of_thin_basis(vectors[removed], rest, scale, penalty, residuals)

    def coefficients(self, alphas: Array) -> tuple[Array, Array]:
        gains = self.singular[:, None] / (self.squares[:, None] + self.scaled(alphas))
        gains = gains.astype(self.singular.dtype)
        return self.rows.hyperplane(self.axes @ (self.projections * gains), self.means)

    def gains(self, alpha: float) -> Array:
        return (self.singular * self._shrunk(alpha)).astype(self.singular.dtype)

    def _shrunk(self, alpha: float) -> Array:
        """1/(s² + λ) (k,); zero in a direction that is not there."""
        total = self.squares.astype(np.float64) + float(self.scaled(alpha))
        return np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)

    def view(self, queries: Array) -> Array:
        return self.rows.like(queries, self.axes).T

    def energies(self, alphas: Array) -> Array:
        shrunk = np.column_stack([self._shrunk(float(alpha)) for alpha in alphas])
        energies = np.square(self.projections, dtype=np.float64).T @ shrunk
        if self.base_residuals is not None:
            outside = np.square(self.base_residuals, dtype=np.float64).sum(axis=0)
            with np.errstate(divide="ignore"):
                energies = energies + outside[:, None] / self.scaled(alphas)
        return energies / self.rows.unit / self.rows.unit

    def variances(self, alpha: float, queries: Array, prior: Array) -> Array:
        left = self.rows.leftover_variances(queries, self.axes, self._shrunk(alpha), alpha)
        return left + self._variance_of_mean(alpha)

    def error_estimate(self, alpha: float) -> float:
        if self.singular.size == 0:
            return 0.0
        scaled = float(self.scaled(alpha))
        smallest = float(np.sqrt(float(self.squares[-1]) + scaled))
        largest = float(np.sqrt(float(self.squares[0]) + scaled))
        eps = float(np.finfo(self.squares.dtype).eps)
        if smallest == 0:
            return np.inf
        return eps * (largest / smallest + 1.0 / self.least_complements.get(alpha, 1.0))


def _reflect(u: Array, A: Array) -> Array:
    """HA for the reflection H that exchanges −u and the first axis; ``A`` (n, k) is lost."""
    v = u.copy()
    v[0] += 1.0  # u is positive: no cancellation
    A -= np.outer(v, (v @ A) / v[0])  # |v|² = 2 v₀
    return A


def svd_cost(task: Task) -> Candidate:
    """QR by blocks and the SVD of what is small, then every λ."""
    n, d, m = task.n, task.d, task.largest_fold
    small, long = min(n, d), max(n, d)
    factorisation = [
        counted(task, "qr", 6.0 * n * d * small, small),
        counted(task, "svd", 20.0 * small**3, small),
        Work("pass", 8.0 * n * d * task.itemsize, n, task.bits),
    ]
    work = (*during("factorisation", factorisation), *path_work(task, n, small))
    form = "QR by row blocks, then SVD" if n > d else "QR of the transposed features, then SVD"
    k = small + 1
    part = longest_part(k)
    kept = long * k * (1 if n > d else 2)
    at_once = 3.0 * min(long, task.threads * part) * k + 3.0 * (1 + long // part) * k * k
    folds = 2.0 * m * k + 4.0 * k * k if n > d else 2.0 * m * n + 2.0 * m * m
    path = path_numbers(task, small) + (folds if m else 0.0)
    needed = kept + max(at_once, 4.0 * k * k, path) + columns_of(task) + n * d * task.copied
    dense = "more features than rows: sparse rows would have to be made dense"
    refused = dense if task.sparse and n <= d else ""
    return Candidate("svd", work, task.itemsize * needed, form, refused)
