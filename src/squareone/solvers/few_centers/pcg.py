"""``pcg``: the rectangle's system by preconditioned conjugate gradients: nothing n x m is held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...arrays import Array, blocks
from ...rows import Rows, rows_of
from ...rows.block_sums import Keeper
from ..contract import (
    Candidate,
    Factor,
    Forgetful,
    Functions,
    SolverInput,
    State,
    Task,
    Unconverged,
    Visitor,
)
from ..cost_counts import counted, during
from ..exact.symmetric_system import SymmetricSystem
from ..exact.weighting import Weighting
from ..krylov.normal_equations import Limits, unwatched
from .center_basis import CenterBasis
from .center_costs import (
    between_centers_work,
    center_choice_work,
    center_number,
    center_width_search_work,
    kernel_values_work,
    needs_rows,
    sized_candidate,
)
from .center_removal import CenterRemoval, CenterRows, moves_by_column
from .conjugate_gradients import Progress, conjugate_gradients
from .normal_passes import NormalPasses
from .pcg_leverages import PROBES, PcgLeverages
from .preconditioner import Preconditioner
from .rectangle import CenterFactor

#: Rows of the preconditioner, in multiples of the centers; steps that are expected at one λ.
PRECONDITIONED_BY, ITERATIONS = 4, 10
# Rows over which degrees of freedom are estimated where nobody has asked about others.
_DOF_ROWS = 2048
# Rows over which the explained share of the trace is taken.
_TRACE_ROWS = 10_000


class PcgFactor(CenterFactor):
    """(Z̃ᵀZ̃ + λ)a = Z̃ᵀỹ with z(x) = L⁻¹k(x): the same solution as ``rectangle`` has.

    Every step is one pass over the rows, whose kernel values are made, used and forgotten. Each λ
    is solved for by itself, beginning with the solution of the nearest one.

    Leverages are estimated from those that the preconditioner gives to each row, and from their
    sum, which random probes show.

    **Cost**: a pass is nr(d + 2t) multiplications; the preconditioner r²(4d + 8r) and r² numbers
    once, r³/3 per λ; r² numbers for the factor of the kernel matrix between the centers.

    Parameters
    ----------
    basis : CenterBasis
    rows : Rows
    Y : array (n, t)
    weighting : Weighting
        Its weights may be zero for rows that are left out.
    center_rows : array (m,)
        Which of the rows each center asked for is; −1 for one that is no row.
    limits : Limits
    seed : int
    start : float or None
        A λ that a smaller model found to be good.
    keeper : Keeper, optional
        Keeps solutions on the way, and gives back those of an earlier attempt.
    """

    many_at_once = False

    def __init__(
        self,
        basis: CenterBasis,
        rows: Rows,
        Y: Array,
        weighting: Weighting,
        center_rows: Array,
        limits: Limits,
        seed: int,
        start: float | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        self.centers = basis
        self.rows = rows
        self.weighting = weighting
        self.limits = limits
        self.targets, self.means = weighting.targets(Y)
        self._Y = Y
        self._seed = seed
        self.center_rows = CenterRows(basis, center_rows)
        self.start = start
        shift = None if weighting.direction is None else basis.typical_values()
        self._passes = NormalPasses(basis, rows, weighting, shift)
        self._preconditioner = self._prepared(shift)
        self._right = self._passes.transposed(self.targets)
        self.alpha_units = (basis.unit, weighting.unit)
        self._top = self._preconditioner.largest()
        self.largest = self.rounded = self.in_user_units(self._top)
        self._conditions: dict[float, float] = {}
        self.iterations, self.residual, self.shortfall = 0, np.nan, 0.0
        self._keeper = keeper or Forgetful()
        self._solutions: dict[float, Array] = {}
        self._earlier = self._restored()
        self._leverages = PcgLeverages(self._passes, self._preconditioner, self._members, seed)
        self._dof: dict[float, float] = {}
        self._without: dict[bytes, PcgFactor] = {}

    @classmethod
    def build(cls, problem: SolverInput, system: SymmetricSystem | None) -> PcgFactor:
        """For the centers of a fit; one λ that is given is solved for at once."""
        basis, start = problem.center_basis(compact=True), problem.first_alpha()
        factor = cls(
            basis,
            rows_of(problem.X),
            problem.Y,
            problem.weighting(),
            problem.center_rows,
            problem.limits(np.inf),
            problem.random_seed(),
            start,
            problem.keeper,
        )
        if isinstance(problem.alpha, float):
            factor.solution(problem.alpha)
        return factor

    def _prepared(self, shift: Array | None) -> Preconditioner:
        """From random rows of positive weight."""
        root = self.weighting.root
        there = np.arange(self.n) if root is None else np.flatnonzero(root)
        size = min(there.size, max(PRECONDITIONED_BY * self.centers.size, 256))
        rng = np.random.RandomState(self._seed)
        chosen = self._members = np.sort(rng.choice(there, size, replace=False))
        some = None if root is None else root[chosen]
        part = float(size) if some is None else float(np.square(some, dtype=np.float64).sum())
        share = 1.0 if size == there.size else self.weighting.total_root**2 / part
        intercept = self.weighting.direction is not None
        return Preconditioner(self.centers, self.rows[chosen], some, share, intercept, shift)

    # --- solving ---

    def _restored(self) -> dict[float, Array]:
        """Solutions that an earlier attempt had found."""
        state = dict(self._keeper.restored("solutions") or {})
        self.iterations = int(state.pop("steps", np.array(0)))
        return {float(name): values.copy() for name, values in state.items()}

    def _state(self) -> State:
        """The solutions so far, and the steps they took."""
        solutions = {repr(alpha): a for alpha, a in self._solutions.items()}
        return {**solutions, "steps": np.array(self.iterations)}

    def _keep(self, alpha: float, progress: Progress) -> None:
        self._keeper.keep("solving", lambda: {**progress.state(), "alpha": np.array(alpha)})

    def _before(self, alpha: float) -> Progress | None:
        """How far an earlier attempt had come at this λ."""
        state = self._keeper.restored("solving")
        if state is None or float(state["alpha"]) != alpha:
            return None
        return Progress.from_state(state)

    def solve(
        self,
        alpha: float,
        right: Array,
        tolerance: float,
        start: Array | None,
        *,
        kept: bool = False,
    ) -> tuple[Array, float, int]:
        """(Z̃ᵀZ̃ + λ)⁻¹ times columns (r, c), the relative residual, and the steps it took."""
        shift = float(self.scaled(alpha))
        solution, residuals, steps = conjugate_gradients(
            lambda A: self._passes.normal(A) + shift * A,
            lambda B: self._preconditioner.solve(shift, B),
            right,
            tolerance,
            self.limits.most,
            start,
            self.limits.watch,
            self._before(alpha) if kept else None,
            partial(self._keep, alpha) if kept else lambda progress: None,
        )
        return solution, float(residuals.max(initial=0.0)), steps

    def _found_earlier(self, alpha: float) -> bool:
        """Take the solution of an earlier attempt, and see what it leaves: one pass."""
        found = self._earlier.pop(alpha, None)
        if found is None:
            return False
        left = self._right - self._passes.normal(found) - float(self.scaled(alpha)) * found
        whole = np.linalg.norm(self._right, axis=0)
        shares = np.linalg.norm(left, axis=0) / np.where(whole > 0, whole, 1.0)
        self.residual = float(shares.max(initial=0.0))
        self.shortfall = max(self.shortfall, self.residual)
        self._solutions[alpha] = found
        return True

    def solution(self, alpha: float) -> Array:
        """a (r, t) at λ."""
        if alpha not in self._solutions and not self._found_earlier(alpha):
            start = None
            if self._solutions:
                nearest = min(self._solutions, key=lambda other: abs(np.log(other / alpha)))
                start = self._solutions[nearest]
            found, self.residual, steps = self.solve(
                alpha, self._right, self.limits.tolerance, start, kept=True
            )
            self.iterations += steps
            self.shortfall = max(self.shortfall, self.residual)
            self._solutions[alpha] = found
            self._keeper.keep("solutions", self._state)
        return self._solutions[alpha]

    @property
    def costs_again(self) -> bool:
        """Whether every λ has to be solved for."""
        return True

    @property
    def estimated(self) -> bool:
        """Whether leverages are estimated."""
        return True

    @property
    def leverages_at_hand(self) -> bool:
        """Whether probes have been made."""
        return bool(self._dof)

    # --- residuals and leverages ---

    def visit(self, alphas: Array, visitor: Visitor, sample: Array | None = None) -> None:
        """One λ at a time: see :meth:`chunks`."""
        (alpha,) = (float(alpha) for alpha in alphas)
        a = self.solution(alpha)
        asked = np.arange(self.n) if sample is None else sample
        factor = self._factor(alpha, asked)
        shift, total = float(self.scaled(alpha)), 0.0
        for piece in blocks(asked.size, self.centers.block_rows()):
            rows = asked[piece]
            Z = self._passes.features(rows)
            residuals = (self.targets[rows] - Z @ a.astype(Z.dtype))[:, :, None]
            complements = self._leverages.complements(rows, Z, shift, factor)
            total += float(complements.sum())
            visitor(rows, residuals, complements[:, None])
        self._dof[alpha] = self.n * (1.0 - total / asked.size)

    def _factor(self, alpha: float, asked: Array) -> float:
        """By what the preconditioner's leverages of the rows asked about are off, on average."""
        self._asked = asked

        def solve(right: Array, tolerance: float, start: Array) -> Array:
            return self.solve(alpha, right, tolerance, start)[0]

        return self._leverages.factor(asked, float(self.scaled(alpha)), solve)

    def left_out(
        self, alphas: Array, rows: slice | Array, residuals: Array, complements: Array
    ) -> Array:
        """A row that is a center takes it along, as far as the preconditioner knows."""
        errors = super().left_out(alphas, rows, residuals, complements)
        assert not isinstance(rows, slice)
        places, own = self.center_rows.among(rows)
        if own.size:
            removal = self._removal(float(alphas[0]), rows[places], own, complements[places])
            errors[places] += removal.further_errors(errors[places])
        return errors

    def _removal(self, alpha: float, rows: Array, own: Array, complements: Array) -> CenterRemoval:
        """What goes with the centers ``own`` (p,) of some rows (p,), beside these."""
        return self._leverages.removal(
            rows,
            self.center_rows.directions(own),
            float(self.scaled(alpha)),
            self._factor(alpha, self._asked),
            self.solution(alpha),
            complements,
        )

    def degrees_of_freedom(self, alphas: Array) -> Array:
        """An estimate, from the rows that were asked about last, or some random ones."""
        for alpha in alphas:
            if float(alpha) not in self._dof:
                rng = np.random.RandomState(self._seed)
                size = min(self.n, _DOF_ROWS)
                sample = np.sort(rng.choice(self.n, size, replace=False))
                self.visit(np.array([alpha]), lambda rows, left, complements: None, sample)
        return np.array([self._dof[float(alpha)] for alpha in alphas])

    def errors_without(self, alphas: Array, removed: Array) -> Array:
        """By a solution of its own, without the centers that are among the rows removed."""
        key = removed.tobytes()
        if key not in self._without:
            self._without[key] = self._fit_without(removed)
        rest = self._without[key]
        errors = np.empty((removed.size, self._Y.shape[1], alphas.size), self.targets.dtype)
        root = self.weighting.root
        for i, alpha in enumerate(alphas):
            C, intercepts = rest.coefficients(np.full(self._Y.shape[1], alpha))
            C = C * C.dtype.type(rest.centers.unit)
            for piece in blocks(removed.size, self.centers.block_rows()):
                rows = removed[piece]
                values = rest.centers.values(self.rows[rows]) @ C + intercepts
                errors[piece, :, i] = self._Y[rows] - values
        self.shortfall = max(self.shortfall, rest.shortfall)
        return errors if root is None else errors * root[removed, None, None]

    def _fit_without(self, removed: Array) -> PcgFactor:
        """The same rows, with weight zero for those removed: they are passed over."""
        basis, rows = self.centers, self.center_rows.asked
        stay = self.center_rows.staying(removed)
        if stay.size < rows.size:
            basis = CenterBasis(basis.kernel, basis.asked[stay], basis.dtype, compact=True)
        weighting = self.weighting.without(removed)
        return PcgFactor(basis, self.rows, self._Y, weighting, rows[stay], self.limits, self._seed)

    @property
    def explained_trace(self) -> float:
        """The share of Σ k(x, x) that the centers explain, over at most 10,000 random rows."""
        size = min(self.n, _TRACE_ROWS)
        sample = np.sort(np.random.RandomState(self._seed).choice(self.n, size, replace=False))
        explained, whole = 0.0, 0.0
        for piece in blocks(size, self.centers.block_rows()):
            block = self.rows[sample[piece]]
            explained += float(self.centers.explained(block).sum())
            whole += float(self.centers.kernel.diagonal(block.X).sum(dtype=np.float64))
        return min(explained / whole, 1.0) if whole > 0 else 1.0

    # --- the model, and new rows ---

    def coefficients(self, alphas: Array) -> tuple[Array, Array]:
        A = np.column_stack([self.solution(float(alpha))[:, j] for j, alpha in enumerate(alphas)])
        return self._expansion(A, self.means)

    def _expansion(self, A: Array, means: Array) -> Functions:
        """Coefficients of the centers and intercepts, from those of z̃ (r, t)."""
        C = self._passes.coefficients(A)
        intercepts = np.zeros(C.shape[1])
        if self.weighting.direction is not None:
            intercepts = means - self._passes.mean() @ C
        return C / C.dtype.type(self.centers.unit), intercepts

    def settle(self) -> None:
        self.limits = replace(self.limits, watch=unwatched)
        self.rows = self._passes.rows = self.rows.copy()
        self._without.clear()
        self._keeper = Forgetful()

    def error_estimate(self, alpha: float) -> float:
        """By the condition of the preconditioner. Cost: r³/3 where it is not that of this λ."""
        scaled = float(self.scaled(alpha))
        if scaled == 0.0:
            return np.inf
        if alpha not in self._conditions:
            smallest = max(scaled, self._preconditioner.smallest(scaled))
            self._conditions[alpha] = 1.0 + self._top / smallest
        return float(np.finfo(self.targets.dtype).eps) * self._conditions[alpha]

    def _unconverged(
        self, alphas: Array, tolerance: float, compared: Array | None
    ) -> Unconverged | None:
        worst = max(self.residual, self.shortfall)
        return Unconverged("pcg", self.iterations, worst) if worst > tolerance else None

    def energies(self, alphas: Array) -> Array:
        squares = np.square(self.targets, dtype=np.float64).sum(axis=0)
        found = np.empty((squares.size, alphas.size))
        for i, alpha in enumerate(alphas):
            explained = np.einsum("ij,ij->j", self._right, self.solution(float(alpha)))
            found[:, i] = np.maximum(squares - explained, 0.0) / self.scaled(alpha)
        return found / self.centers.unit

    def log_determinants(self, alphas: Array) -> Array:
        msg = 'pcg knows no determinant, and so no likelihood: use solver="rectangle"'
        raise AttributeError(msg)

    def sensitivities(self, alpha: float, queries: Any, some: Array | None = None) -> Array:
        return self._sensitivities(self._solved_view(alpha, queries), some)

    def _solved_view(self, alpha: float, queries: Any) -> Array:
        """(Z̃ᵀZ̃ + λ)⁻¹z̃(x) of new rows (r, m)."""
        view = self._passes.features_of(rows_of(queries)).T
        return self.solve(alpha, view.astype(np.float64), self.limits.tolerance, None)[0]

    def _sensitivities(self, solved: Array, some: Array | None) -> Array:
        asked = np.arange(self.n) if some is None else some
        found = np.empty((asked.size, solved.shape[1]), self.targets.dtype)
        for piece in blocks(asked.size, self.centers.block_rows()):
            found[piece] = self._passes.features(asked[piece]) @ solved.astype(found.dtype)
        return self._with_mean(found, some)

    def moves(
        self, alpha: float, queries: Any, errors: Array, unit: float, some: Array | None = None
    ) -> Callable[[int], Array]:
        """Where a row is a center, more changes than its target's share."""
        asked = np.arange(self.n) if some is None else some
        solved = self._solved_view(alpha, queries)
        sensitivities = self._sensitivities(solved, some)
        places, own = self.center_rows.among(asked)
        reach = self.center_rows.directions(own).T @ solved
        further = self._moves_of_centers(alpha, asked[places], own, reach, sensitivities[places])
        return moves_by_column(sensitivities, errors, places, further * unit)

    def sensitivity_functions(self, alpha: float, some: Array) -> Functions:
        """**Cost**: that of a fit to q targets."""
        of_rows = self.weighting.scale(np.array(self._passes.features(some)), some)
        return self._functions(alpha, of_rows.T, self._shares_of_mean(some))

    def reach_functions(self, alpha: float, own: Array) -> Functions:
        return self._functions(alpha, self.center_rows.directions(own), np.zeros(own.size))

    def _functions(self, alpha: float, right: Array, offsets: Array) -> Functions:
        """z̃(x)ᵀ(Z̃ᵀZ̃ + λ)⁻¹ times columns (r, q), and ``offsets`` (q,)."""
        right = right.astype(np.float64)
        return self._expansion(self.solve(alpha, right, self.limits.tolerance, None)[0], offsets)

    def _moves_of_centers(
        self, alpha: float, rows: Array, own: Array, reach: Array, sensitivities: Array
    ) -> Array:
        alphas, t = np.array([alpha]), self.targets.shape[1]
        found = np.empty((rows.size, reach.shape[1], t), self.targets.dtype)
        places = np.full(self.n, -1)
        places[rows] = np.arange(rows.size)

        def store(some: slice | Array, residuals: Array, complements: Array) -> None:
            at = places[some]
            fixed = Factor.left_out(self, alphas, some, residuals, complements)
            removal = self._removal(alpha, rows[at], own[at], complements)
            root = None if self.weighting.root is None else self.weighting.root[rows[at]]
            found[at] = removal.moves(reach[at], sensitivities[at], fixed, root)

        if rows.size:
            self.visit(alphas, store, rows)
        return found

    def variances(self, alpha: float, queries: Any, prior: Array) -> Array:
        """That of f in the space of the centers, and all that they cannot explain of k(x, x)."""
        unseen = np.maximum(prior - self.centers.explained(rows_of(queries)), 0.0)
        view = self._passes.features_of(rows_of(queries)).T
        seen = np.einsum("ij,ij->j", view, self._solved_view(alpha, queries))
        return unseen + alpha / self.weighting.unit * seen + self._variance_of_mean(alpha)


# λ at which it solves: a first look and its neighbours.
_ALPHAS = 4


def pcg_cost(task: Task) -> Candidate:
    """Passes over the rows for every λ, after the preconditioner."""
    n, m = task.n, center_number(task)
    alone = task.alphas == 1
    solves = 1 if alone else _ALPHAS + 1
    columns = task.t + (0 if alone or task.folds else PROBES)
    passes = ITERATIONS * (1.0 + 0.5 * (solves - 1)) + 2.0 * solves
    s = min(n, PRECONDITIONED_BY * m)
    once = [
        *between_centers_work(task, m),
        *kernel_values_work(task, s, m),
        counted(task, "sums", 2.0 * s * m * m, m),
    ]
    each = [
        *kernel_values_work(task, n * passes, m),
        counted(task, "thin", 4.0 * passes * n * m * columns, columns),
        counted(task, "cholesky", solves * m**3 / 3, m),
    ]
    work = [
        *center_width_search_work(task),
        *during("choice of centers", center_choice_work(task, m)),
        *during("factorisation", once if not alone else [*once, *each]),
        *during("path", [] if alone else each),
    ]
    form = f"{m:,} centers, conjugate gradients, a pass over the rows each"
    if task.device:
        form += " by blocks of kernel values"
    if not alone and not task.folds:
        form += f"; leave-one-out estimated over {task.sampled or n:,} rows"
    refused = needs_rows(task)
    if task.likelihood or (task.without_rows and not alone):
        refused = "it knows no determinant and no trace: use leave-one-out, hold-out or folds"
    elif task.unregularised:
        refused = "it needs an alpha above zero"
    # the kernel matrix in float64, then its factor as the rows are, and two in float32
    square = m * m * max(8.0 + task.itemsize, task.itemsize + 4.0 + 4.0 * (task.itemsize == 8))
    vectors = 8.0 * 8 * (m + n / 4) * columns
    return sized_candidate(task, "pcg", work, square + vectors, m, form, refused)
