"""``cholesky``: one factorisation per λ, and the leave-one-out diagonal when asked."""

from __future__ import annotations

import numpy as np

from ...arrays import (
    TILE,
    Array,
    add_rank_one,
    cholesky,
    cholesky_solve,
    cholesky_workspace,
    column_square_sums,
    copy_triangle,
    diagonal,
    gram_of_columns,
    inverse_product,
    product,
    reciprocal_condition,
    set_diagonal,
    subtract_outer,
    transposed_copy,
    triangular_inverse,
    triangular_product,
)
from ...errors import NotPositiveSemidefiniteError, SingularSystemError
from ..contract import (
    Candidate,
    Factor,
    Functions,
    KeptRows,
    SolverInput,
    Task,
    Visitor,
    Work,
    shown_of,
)
from ..cost_counts import (
    after_width_search,
    counted,
    during,
    factorisation_work,
    kernel_matrix_work,
    path_length,
    path_work,
    row_visits,
    width_search_work,
)
from .feature_matrix import DualFeatures
from .folds import solve_fold
from .spectral import SpectralFactor, not_semidefinite
from .symmetric_system import SymmetricSystem

# A bound on the relative error below which nobody asks for the condition number itself.
_NO_DOUBT = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-3}
# Up to this share of the rows their rows of the inverse cost less than the inverse of the factor.
_FEW_OF = 1 / 8


class CholeskyFactor(Factor):
    """M + λI = LLᵀ; r/λ = (M + λI)⁻¹ỹ and (1 − h)/λ = column sums of squares of L⁻¹.

    The matrix lives in one triangle and the factor in the other, so another λ costs no memory.

    **Cost**: n³/3 flops per λ, n³/3 more for the complements, only when asked; n² numbers.

    Parameters
    ----------
    system : SymmetricSystem
        Taken over.
    several : bool
        Whether more than one λ will be asked for (costs one copy of a triangle).
    given : bool
        Whether the kernel matrix came from the user, to be checked for semidefiniteness.
    """

    many_at_once = False
    #: λ of the factor at hand, in the units of the matrix.
    shift: float

    def __init__(self, system: SymmetricSystem, *, several: bool, given: bool = False) -> None:
        self.system = system
        self.weighting = system.weighting
        self.targets = system.targets
        self.alpha_units = system.alpha_units
        self.largest = system.norm * system.unit * self.weighting.unit
        self.rounded = system.rounded * system.unit * self.weighting.unit
        # beyond this λ the fit is the mean to all digits, and λ itself may leave the type's range
        self._most = (system.norm or 1.0) / float(np.finfo(self.targets.dtype).eps) ** 2
        self._diagonal = diagonal(system.matrix)
        self._several = several or given
        self._alpha: float | None = None
        self._inverse_rows = KeptRows()
        self._touched = False
        if self._several:
            copy_triangle(system.matrix, to_upper=True)
        if given:
            self._check_semidefinite()

    @classmethod
    def build(cls, problem: SolverInput, system: SymmetricSystem | None) -> CholeskyFactor:
        """For the λ that a fit asks for: one that is given is factored at once."""
        assert system is not None
        several = not isinstance(problem.alpha, float)
        factor = cls(system, several=several, given=problem.given)
        if isinstance(problem.alpha, float):
            factor.factor(problem.alpha)
        return factor

    def _check_semidefinite(self) -> None:
        n = self.n
        norm = self.system.norm + self.system.tau
        rounding = 10.0 * n * float(np.finfo(self.targets.dtype).eps) * norm
        try:
            self._factor_shifted(rounding)
        except SingularSystemError:
            msg = not_semidefinite(
                "adding rounding to its diagonal does not make it positive definite"
            )
            raise NotPositiveSemidefiniteError(msg) from None

    def _factor_shifted(self, shift: float) -> None:
        matrix = self.system.matrix
        if self._touched:
            if not self._several:
                msg = "the factorisation was lost to an interrupt: fit again"
                raise RuntimeError(msg)
            copy_triangle(matrix, to_upper=False)
        self._touched = True
        set_diagonal(matrix, self._diagonal + self._diagonal.dtype.type(shift))
        cholesky(matrix)

    def factor(self, alpha: float) -> None:
        """Factor at ``alpha`` unless that is the factor at hand."""
        if self._alpha == alpha:
            return
        self._alpha = None
        self.shift = min(float(self.scaled(alpha)), self._most)
        try:
            self._factor_shifted(self.shift)
        except SingularSystemError as failure:
            precision = self.targets.dtype.name
            msg = (
                f"the kernel matrix plus alpha = {alpha:.3g} on its diagonal is singular in "
                f"{precision} ({failure}). Use a larger alpha"
                + (", or float64 rows" if precision == "float32" else "")
                + (', or solver="spectral"' if alpha > 0 else "")
            )
            raise SingularSystemError(msg) from None
        self.solutions = cholesky_solve(self.system.matrix, self.targets)
        self._condition: float | None = None
        self._complements: Array | None = None
        self._alpha = alpha

    def complements(self) -> Array:
        """diag of the inverse without the direction u, (n,): (1 − h)/λ at the current λ."""
        if self._complements is None:
            alpha = self._alpha or 0.0
            self.error_estimate(alpha)  # while L is still there
            self._alpha = None  # an interrupt must not leave half an inverse behind as L
            triangular_inverse(self.system.matrix)
            diagonal = column_square_sums(self.system.matrix)
            u = self.weighting.direction
            if u is not None:
                diagonal -= np.square(u, dtype=np.float64) * self._share_of_u()
            self._complements, self._alpha = diagonal, alpha
        return self._complements

    def _complements_of(self, alpha: float, some: Array) -> Array:
        """:meth:`complements` (q,) of some rows, by their rows of the inverse: 2n²q flops."""
        inverse = self._inverse_rows.of(alpha, some, lambda: self._rows_of_inverse(some))
        diagonal = inverse[np.arange(some.size), some].astype(np.float64)
        u = self.weighting.direction
        if u is not None:
            diagonal -= np.square(u[some], dtype=np.float64) * self._share_of_u()
        return diagonal

    def inverse_times(self, B: Array) -> Array:
        """The inverse without the direction u, at the current λ, times ``B`` (n, m) → (n, m)."""
        self.complements()  # L becomes its inverse
        product = inverse_product(self.system.matrix, B)
        u = self.weighting.direction
        if u is not None:
            product = add_rank_one(product, u, (u @ B) * B.dtype.type(-self._share_of_u()))
        return product

    def _excess(self, alpha: float) -> float:
        """How many times λ is larger than the one that was factored; nearly always one."""
        return max(float(self.scaled(alpha)) / self.shift, 1.0) if self.shift else 1.0

    def _share_of_u(self) -> float:
        return 1.0 / (self.system.tau + self.shift)

    def visit(self, alphas: Array, visitor: Visitor, sample: Array | None = None) -> None:
        if sample is not None and alphas.size == 1:
            self.factor(float(alphas[0]))
            if self._complements is None and sample.size <= _FEW_OF * self.n:
                complements = self._complements_of(float(alphas[0]), sample)
                visitor(sample, self.solutions[sample][:, :, None], complements[:, None])
                return
        t = self.targets.shape[1]
        residuals = np.empty((self.n, t, alphas.size), self.targets.dtype)
        complements = np.empty((self.n, alphas.size))
        for i, alpha in enumerate(alphas):
            self.factor(float(alpha))
            residuals[:, :, i] = self.solutions
            complements[:, i] = self.complements()
        shown_of(sample, visitor)(slice(0, self.n), residuals, complements)

    def errors_without(self, alphas: Array, removed: Array) -> Array:
        errors = np.empty((removed.size, self.targets.shape[1], alphas.size), self.targets.dtype)
        u = self.weighting.direction
        for i, alpha in enumerate(alphas):
            self.factor(float(alpha))
            self.complements()  # L becomes its inverse
            inverse = gram_of_columns(self.system.matrix, removed)
            if u is not None:
                subtract_outer(inverse, u[removed], self._share_of_u())
            errors[:, :, i] = solve_fold(inverse, self.solutions[removed])
        return errors

    def settle(self) -> None:
        self.system.settle()

    @property
    def numbers_for_targets(self) -> float:  # type: ignore[override]
        return 3.0 * self.n * self.n

    def for_targets(self, Y: Array) -> Factor | None:
        """By an eigendecomposition, since another λ is wanted: 9n³ flops, 3n² numbers.

        None where the matrix is not kept beside its factor, and the rows are not here either.
        """
        system = self.system
        if self._several:
            matrix = transposed_copy(system.matrix)  # below the diagonal it is the kernel's
            set_diagonal(matrix, self._diagonal)
            return SpectralFactor(system.for_targets(Y, matrix))
        if isinstance(system, DualFeatures):
            assert system.rows is not None
            return SpectralFactor(DualFeatures.of(system.rows, Y, self.weighting))
        return None

    def of_some_rows(self, Y: Array, some: Array, most_centers: int) -> Factor | None:
        """By an eigendecomposition of their own."""
        system = self.system.of_some_rows(Y, some)
        return None if system is None else SpectralFactor(system)

    @property
    def takes_rows(self) -> bool:  # type: ignore[override]
        return self.system.takes_rows

    def log_determinants(self, alphas: Array) -> Array:
        directions = self.n - (self.weighting.direction is not None)
        totals = np.empty(alphas.size)
        for i, alpha in enumerate(alphas):
            self.factor(float(alpha))
            # the diagonal of L, or of its inverse
            half = np.log(diagonal(self.system.matrix).astype(np.float64)).sum()
            totals[i] = 2.0 * (half if self._complements is None else -half)
            if self.weighting.direction is not None:
                totals[i] += np.log(self._share_of_u())
            totals[i] += directions * np.log(self._excess(float(alpha)))
        return totals + directions * sum(np.log(unit) for unit in self.alpha_units)

    def energies(self, alphas: Array) -> Array:
        energies = np.empty((self.targets.shape[1], alphas.size))
        for i, alpha in enumerate(alphas):
            self.factor(float(alpha))
            energies[:, i] = np.einsum("it,it->t", self.targets, self.solutions, dtype=np.float64)
            energies[:, i] /= self._excess(float(alpha))
        return energies / self.system.unit

    def sensitivities(self, alpha: float, queries: Array, some: Array | None = None) -> Array:
        """Of some rows by their rows of the inverse: 2n²q flops once, 2nqm for new rows."""
        self.factor(alpha)
        inverse = None
        if some is None:
            self.complements()  # L becomes its inverse
        else:
            inverse = self._inverse_rows.of(alpha, some, lambda: self._rows_of_inverse(some))
        Q = self.system.queries(queries)
        u, excess = self.weighting.direction, self._excess(alpha)
        along = None if u is None else product(Q.T, u[:, None])[:, 0]
        if inverse is None:
            found = inverse_product(self.system.matrix, Q, in_place=True)
        else:
            found = product(inverse, Q)
        if excess != 1.0:
            found /= found.dtype.type(excess)
        rows = slice(None) if some is None else some
        if u is not None and along is not None:
            # less the share of u in the inverse, and the share of the mean: u² = √w u/‖√w‖
            share = 1.0 / self.weighting.total_root - along * (self._share_of_u() / excess)
            found = add_rank_one(found, u[rows], share.astype(found.dtype))
        return self.weighting.scale(found, rows)

    def sensitivity_functions(self, alpha: float, some: Array) -> Functions:
        """Rows of the inverse, less the share of u in it."""
        self.factor(alpha)
        kept = self._inverse_rows.of(alpha, some, lambda: self._rows_of_inverse(some))
        rows, u = np.array(kept), self.weighting.direction
        if u is not None:
            rows -= np.outer(u[some], u * u.dtype.type(self._share_of_u()))
        rows = self.weighting.scale(rows / rows.dtype.type(self._excess(alpha)), some)
        return self.system.expansion(rows.T, self._shares_of_mean(some))

    def _rows_of_inverse(self, some: Array) -> Array:
        """Rows (q, n) of the inverse at the current λ, from L or from its inverse."""
        units = np.zeros((some.size, self.n), self.targets.dtype)
        units[np.arange(some.size), some] = 1.0
        if self._complements is None:
            return cholesky_solve(self.system.matrix, units.T).T
        return inverse_product(self.system.matrix, units.T, in_place=True).T

    def variances(self, alpha: float, queries: Array, prior: Array) -> Array:
        self.factor(alpha)
        self.complements()  # L becomes its inverse
        centred = self.system.prior(queries, prior)
        Q = self.system.queries(queries)
        u = self.weighting.direction
        along: float | Array = 0.0
        if u is not None:
            along = np.square(product(Q.T, u[:, None])[:, 0], dtype=np.float64) * self._share_of_u()
        half = triangular_product(self.system.matrix, Q, in_place=True)
        explained = np.einsum("im,im->m", half, half, dtype=np.float64) - along
        return centred - explained * self.system.unit + self._variance_of_mean(alpha)

    def degrees_of_freedom(self, alphas: Array) -> Array:
        dof = np.empty(alphas.size)
        for i, alpha in enumerate(alphas):
            self.factor(float(alpha))
            dof[i] = self.n - self.shift * self.complements().sum()
        return dof

    def coefficients(self, alphas: Array) -> tuple[Array, Array]:
        A = np.empty_like(self.targets)
        for alpha in np.unique(alphas):
            self.factor(float(alpha))
            excess = A.dtype.type(self._excess(float(alpha)))
            A[:, alphas == alpha] = self.solutions[:, alphas == alpha] / excess
        return self.system.expansion(A, self.system.means)

    def error_estimate(self, alpha: float) -> float:
        eps = float(np.finfo(self.targets.dtype).eps)
        shift = min(float(self.scaled(alpha)), self._most)
        norm = self.system.norm + shift
        eps *= (self.system.rounded + shift) / norm if norm > 0 else 1.0
        bound = eps * norm / shift if shift > 0 else np.inf
        if bound <= _NO_DOUBT[self.targets.dtype]:
            return bound  # small enough: an estimate would cost more
        self.factor(alpha)
        if self._condition is None:
            rcond = reciprocal_condition(self.system.matrix, norm)
            self._condition = 1.0 / rcond if rcond > 0 else np.inf
        return min(bound, eps * self._condition)


def cholesky_is_safe(system: SymmetricSystem, alpha: float) -> bool:
    """Whether λ is well above the rounding of the matrix."""
    rounding = 16.0 * float(np.finfo(system.targets.dtype).eps) * system.norm
    return alpha / system.unit / system.weighting.unit >= rounding


# --- what it costs ---

#: λ values a bracketed search factors at, in float32 (twice as fast) and in float64.
SEARCH_STEPS = (7, 1)


def cholesky_cost(task: Task) -> Candidate:
    """A factorisation for every λ that is looked at."""
    n, m = task.n, task.largest_fold
    refused = searched_form = ""
    if task.alphas == 1:
        form = "one Cholesky factorisation"
        work = [
            *kernel_matrix_work(task, n),
            *during("factorisation", [counted(task, "cholesky", n**3 / 3, n)]),
            Work("pass", 1.0 * n * n * task.itemsize, n, task.bits, stage="coefficients"),
        ]
        if row_visits(task):
            work.append(Work("inverse", n**3 / 3, n, task.bits, stage="leave-one-out values"))
    elif task.alphas == "auto":
        form = "bracketed search, a factorisation per step"
        searched_form = "search for width and λ, a factorisation per step"
        work = _search(task)
        if not task.smooth:
            refused = (
                'alpha="auto" is searched by squared error and for all targets at once; give a '
                "sequence of alphas"
            )
    else:
        form = "a Cholesky factorisation per alpha"
        work = [
            *kernel_matrix_work(task, n),
            *during("path", factorisation_work(task, n, path_length(task))),
            *_once_more(task, n),
        ]
    numbers = n * n + cholesky_workspace(n) + 2.0 * m * m + 3.0 * TILE * m
    return after_width_search(task, "cholesky", work, numbers, form, refused, searched_form)


def _once_more(task: Task, n: int) -> list[Work]:
    """The best λ again, which a round number of flops leaves out; or those of all targets."""
    again = min(path_length(task), task.t) if task.per_target else 1
    factor = Work("cholesky", again * n**3 / 3, n, task.bits, stage="coefficients")
    inverse = Work("inverse", again * n**3 / 3, n, task.bits, stage="leave-one-out values")
    solved = counted(task, "product", (again - 1) * 2.0 * n * n * task.t, task.t)
    return [factor, *during("coefficients", [solved]), inverse]


def _search(task: Task) -> list[Work]:
    """For the best λ, after that of the width if there is one, which has come close to it."""
    n = task.n
    if width_search_work(task):
        return [
            *kernel_matrix_work(task, n),
            *during("path", factorisation_work(task, n, SEARCH_STEPS[1])),
        ]
    single, double = SEARCH_STEPS if task.itemsize == 8 else (0, sum(SEARCH_STEPS))
    start = subset_size(n)
    small = [
        counted(task, "eigh", 9.0 * start**3, start),
        *path_work(task, start, start, in_flops=False),
    ]
    return [
        *kernel_matrix_work(task, n),
        *kernel_matrix_work(task, n, times=float(single > 0)),  # in float32 there is only one
        *during("search in float32", factorisation_work(task, n, single, 32)),
        *during("path", factorisation_work(task, n, double)),
        *during("start of the search", small),
    ]


def subset_size(n: int) -> int:
    """Rows on which a bracketed search looks for its start."""
    return min(n, 1000, max(256, n // 5))
