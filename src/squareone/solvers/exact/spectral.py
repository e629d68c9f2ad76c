"""``spectral``: one eigendecomposition of the kernel matrix answers for every λ."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ...arrays import TILE, Array, times, transposed_times, weighted_product
from ...decompositions import LARGEST_EIGENPROBLEM, eigh
from ...errors import NotPositiveSemidefiniteError
from ..basis_factor import BasisFactor, shrinkage
from ..contract import Candidate, Functions, KeptRows, SolverInput, Task
from ..cost_counts import (
    after_width_search,
    counted,
    during,
    kernel_matrix_work,
    path_length,
    path_numbers,
    path_work,
    scoring_stage,
)
from .folds import errors_of_square_basis
from .symmetric_system import SymmetricSystem


class SpectralFactor(BasisFactor):
    """B̃ = QΛQᵀ; then r/λ = Q(Λ + λ)⁻¹Qᵀỹ and (1 − h)/λ = Q²·1/(Λ + λ).

    The complements are sums of positive terms: no cancellation at any λ. With an intercept the
    direction u is the last eigenvector, by construction, and is dropped.

    **Cost**: about 9n³ flops and 3n² numbers once; n²(t + 1) multiplications per λ.
    """

    def __init__(self, system: SymmetricSystem, *, given: bool = False) -> None:
        self.system = system
        self.weighting = system.weighting
        self.targets = system.targets
        values, vectors = eigh(system.matrix)
        if self.weighting.direction is not None:
            values, vectors = values[:-1], vectors[:, :-1]
        if given:
            _check_semidefinite(values, system.norm + system.tau)
        # what is left of a zero matrix is rounding
        self.squares = np.maximum(values, 0.0) if system.norm > 0 else np.zeros_like(values)
        self.vectors = vectors
        self.projections = transposed_times(vectors, self.targets)
        self.alpha_units = system.alpha_units
        self._top = float(np.max(self.squares, initial=0.0))
        self._rounded = max(self._top, system.rounded)
        self._inverse_rows = KeptRows()
        self.largest = self._top * system.unit * self.weighting.unit
        self.rounded = self._rounded * system.unit * self.weighting.unit

    @classmethod
    def build(cls, problem: SolverInput, system: SymmetricSystem | None) -> SpectralFactor:
        """Of the kernel matrix; every λ can be asked for."""
        assert system is not None
        return cls(system, given=problem.given)

    def for_targets(self, Y: Array) -> SpectralFactor:
        other = copy(self)
        other.system = self.system.for_targets(Y)
        other.targets = other.system.targets
        other.projections = transposed_times(self.vectors, other.targets)
        return other

    def of_some_rows(self, Y: Array, some: Array, most_centers: int) -> SpectralFactor | None:
        system = self.system.of_some_rows(Y, some)
        return None if system is None else SpectralFactor(system)

    def basis(self, rows: slice | Array) -> Any:
        return self.vectors[rows]

    def filters(self, alphas: Array) -> Array:
        return shrinkage(self.squares, self.scaled(alphas))

    def errors_without(self, alphas: Array, removed: Array) -> Array:
        A, residuals = self._fitted(alphas, removed)
        return errors_of_square_basis(A, self.filters(alphas), residuals)

    def coefficients(self, alphas: Array) -> tuple[Array, Array]:
        gains = (1.0 / (self.squares[:, None] + self.scaled(alphas))).astype(self.squares.dtype)
        solutions = times(self.vectors, self.projections * gains)
        return self.system.expansion(solutions, self.system.means)

    def gains(self, alpha: float) -> Array:
        scaled = float(self.scaled(alpha))
        with np.errstate(divide="ignore"):
            return (1.0 / (self.squares.astype(np.float64) + scaled)).astype(self.squares.dtype)

    def settle(self) -> None:
        self.system.settle()

    @property
    def takes_rows(self) -> bool:  # type: ignore[override]
        return self.system.takes_rows

    def sensitivities(self, alpha: float, queries: Array, some: Array | None = None) -> Array:
        """Of some rows by their rows of the inverse: n²q multiplications once, nqm for new rows."""
        if some is None:
            return super().sensitivities(alpha, queries)
        rows = self._rows_of_inverse(alpha, some)
        return self._with_mean(times(rows, self.system.queries(queries)), some)

    def _rows_of_inverse(self, alpha: float, some: Array) -> Array:
        return self._inverse_rows.of(
            alpha,
            some,
            lambda: weighted_product(self.vectors[some], self.gains(alpha), self.vectors),
        )

    def sensitivity_functions(self, alpha: float, some: Array) -> Functions:
        rows = self.weighting.scale(np.array(self._rows_of_inverse(alpha, some)), some)
        return self.system.expansion(rows.T, self._shares_of_mean(some))

    def view(self, queries: Array) -> Array:
        return transposed_times(self.vectors, self.system.queries(queries))

    def energies(self, alphas: Array) -> Array:
        gains = np.column_stack([self.gains(float(alpha)) for alpha in alphas])
        return np.square(self.projections, dtype=np.float64).T @ gains / self.system.unit

    def variances(self, alpha: float, queries: Array, prior: Array) -> Array:
        centred = self.system.prior(queries, prior)
        explained = self.gains(alpha) @ np.square(self.view(queries), dtype=np.float64)
        return centred - explained * self.system.unit + self._variance_of_mean(alpha)

    def error_estimate(self, alpha: float) -> float:
        if self.squares.size == 0:
            return 0.0
        scaled = float(self.scaled(alpha))
        smallest = float(np.min(self.squares)) + scaled
        eps = float(np.finfo(self.squares.dtype).eps)
        return eps * (self._rounded + scaled) / smallest if smallest > 0 else np.inf


def _check_semidefinite(values: Array, norm: float) -> None:
    """Refuse a given kernel matrix with an eigenvalue below zero by more than rounding."""
    smallest = float(np.min(values, initial=0.0))
    tolerance = 10.0 * values.size * float(np.finfo(values.dtype).eps) * norm
    if smallest < -tolerance:
        raise NotPositiveSemidefiniteError(
            not_semidefinite(f"its smallest eigenvalue is {smallest:.3g}")
        )


def not_semidefinite(what: str) -> str:
    """The message for a precomputed kernel matrix that is none."""
    return (
        f"the precomputed kernel matrix is not positive semidefinite: {what}. A kernel matrix "
        "k(x_i, x_j) is expected, not a matrix of distances; check that rows and columns are in "
        "the same order"
    )


def spectral_cost(task: Task) -> Candidate:
    """An eigendecomposition of the kernel matrix, then every λ."""
    n, m = task.n, task.largest_fold
    folds = counted(task, "product", path_length(task) * 2 * task.fold_work * n, TILE)
    work = [
        *kernel_matrix_work(task, n),
        *during("factorisation", [counted(task, "eigh", 9.0 * n**3, n)]),
        *path_work(task, n, n),
        *during(scoring_stage(task), [folds]),
    ]
    refused = "" if n <= LARGEST_EIGENPROBLEM else f"LAPACK stops at {LARGEST_EIGENPROBLEM:,} rows"
    after = 2.0 * m * n + 2.0 * m * m + path_numbers(task, n)
    numbers = n * n + max(2.0 * n * n + 6 * n, after)
    return after_width_search(
        task, "spectral", work, numbers, "eigendecomposition, every alpha", refused
    )
