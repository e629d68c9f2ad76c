"""The walk from rows to a chosen model: kernel or features, factorisation, λ, coefficients."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from ..errors import IllConditionedWarning, ScaleError, SingularSystemError
from ..kernels import Kernel, Linear, Precomputed
from ..kernels.base import check_range
from ..kernels.precomputed import copy_symmetric
from ..kernels.tiles import kernel_matrix
from ..models import Hyperplane, KernelExpansion
from ..selection import (
    LeaveOneOut,
    Objective,
    Path,
    bracketed_minimum,
    choose_automatically,
    evaluate,
    lowest_alpha,
)
from ..solvers import (
    CentredRows,
    CholeskyFactor,
    DualFeatures,
    Factor,
    GramFactor,
    Plan,
    SpectralFactor,
    SvdFactor,
    SymmetricSystem,
    Weighting,
)
from ..solvers.plan import subset_size

# `auto` takes a form that squares the features' condition only while that costs at most this.
_AUTO_TOLERANCE = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-3}
# An expected relative error above this is reported.
_WORTH_A_WARNING = 1e-2
# In float32 the search stays this many rounding errors of the kernel matrix above zero.
_SINGLE_MARGIN = 16.0


@dataclass
class Problem:
    """Everything a fit needs, validated.

    Attributes
    ----------
    X : array (n, d)
        Rows of positive weight, or the kernel matrix between them (n, n).
    Y : array (n, t)
        Target columns, in units of ``unit``.
    weights : array (n,) or None
    kernel : Kernel
        With numbers for parameters.
    alpha : float, array or "auto"
    objective : Objective
    plan : Plan
        Its solver may be changed for a better conditioned one where ``requested`` is ``"auto"``.
    kept : array (n,)
        Which of the user's rows these are: those of positive weight.
    dropped : array
        The other rows (m, d), or their kernel values (m, n).
    """

    X: Array
    Y: Array
    unit: float
    weights: Array | None
    intercept: bool
    kernel: Kernel
    alpha: float | Array | str
    objective: Objective
    plan: Plan
    requested: str
    kept: Array
    dropped: Array
    rng: np.random.RandomState

    @property
    def given(self) -> bool:
        """Whether X is a kernel matrix."""
        return isinstance(self.kernel, Precomputed)

    @property
    def linear(self) -> bool:
        """Whether the model is a hyperplane."""
        return isinstance(self.kernel, Linear)

    def weighting(self, dtype: np.dtype | None = None) -> Weighting:
        """Weights and intercept, in a precision."""
        return Weighting.of(self.X.shape[0], self.weights, self.intercept, dtype or self.X.dtype)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the seconds spent inside towards a stage of the plan."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.plan.stages[name] = self.plan.stages.get(name, 0.0) + spent


@dataclass
class Outcome:
    """What a fit found: λ per target (t,), the model, the factorisation, and the path if any."""

    alphas: Array
    model: KernelExpansion | Hyperplane
    factor: Factor
    path: Path | None


def solve(problem: Problem) -> Outcome:
    """Factor, choose λ, and build the model."""
    searched = problem.plan.solver == "cholesky" and isinstance(problem.alpha, str)
    factor, path = _search(problem) if searched else _factor_and_choose(problem)
    t = problem.Y.shape[1]
    if path is None:
        alphas = np.full(t, float(problem.alpha))
    else:
        alphas = np.broadcast_to(path.alphas[path.best()], (t,)).copy()
    with problem.stage("coefficients"):
        model = _model(problem, factor, alphas)
        _report_conditioning(factor, alphas)
    return Outcome(alphas, model, factor, path)


def _factor_and_choose(problem: Problem) -> tuple[Factor, Path | None]:
    factor = _build(problem)
    path = _choose(problem, factor)
    if problem.requested == "auto" and problem.plan.solver == "gram" and path is not None:
        estimate = factor.error_estimate(float(path.alphas[0]))
        if estimate > 1e-4 and _switch(problem, "svd", "leverages near one lost digits in gram"):
            factor = _build(problem)
            path = _choose(problem, factor)
    return factor, path


def _choose(problem: Problem, factor: Factor) -> Path | None:
    """The path, or None where one λ is given."""
    alpha = problem.alpha
    _check_zero(factor, alpha)
    if isinstance(alpha, float):
        return None
    with problem.stage("path"):
        if isinstance(alpha, str):
            return choose_automatically(problem.objective, factor)
        return evaluate(problem.objective, factor, alpha)


def _build(problem: Problem) -> Factor:
    """The factorisation the plan names, or a better conditioned one if it was free to choose."""
    solver = problem.plan.solver
    if problem.linear and (solver == "svd" or (solver == "gram" and _tall(problem))):
        with problem.stage("factorisation"):
            rows = CentredRows.of(problem.X, problem.weighting())
            factor: Factor = (SvdFactor if solver == "svd" else GramFactor)(rows, problem.Y)
    else:
        with problem.stage("kernel matrix"):
            system = _system(problem)
        factor = _factor_system(problem, system)
    if problem.linear and problem.requested == "auto" and problem.plan.solver != "svd":
        estimate = factor.error_estimate(_least_alpha(problem, factor))
        reason = (
            f"the condition of the features, squared, would cost {estimate:.1g} of relative error"
        )
        if estimate > _AUTO_TOLERANCE[problem.X.dtype] and _switch(problem, "svd", reason):
            return _build(problem)
    return factor


def _tall(problem: Problem) -> bool:
    return problem.X.shape[0] > problem.X.shape[1]


def _factor_system(problem: Problem, system: SymmetricSystem) -> Factor:
    solver = problem.plan.solver
    alpha = problem.alpha
    if solver == "cholesky" and isinstance(alpha, float) and problem.requested == "auto":
        rounding = 4.0 * system.targets.shape[0] * float(np.finfo(problem.X.dtype).eps)
        if alpha / system.unit < rounding * system.norm and _switch(
            problem, "spectral", "alpha is too small for a Cholesky factorisation to be trusted"
        ):
            solver = "spectral"
    with problem.stage("factorisation"):
        if solver == "cholesky":
            factor = CholeskyFactor(
                system, several=not isinstance(alpha, float), given=problem.given
            )
            if isinstance(alpha, float):
                factor.factor(alpha)
            return factor
        return SpectralFactor(system, given=problem.given)


def _system(
    problem: Problem, dtype: np.dtype | None = None, rows: Array | None = None
) -> SymmetricSystem:
    """The kernel matrix made ready, in another precision or for some rows only if asked."""
    dtype = dtype or problem.X.dtype
    X, Y, weights = problem.X, problem.Y, problem.weights
    if rows is not None:
        X = X[np.ix_(rows, rows)] if problem.given else X[rows]
        Y, weights = Y[rows], None if weights is None else weights[rows]
    X, Y = X.astype(dtype, copy=False), Y.astype(dtype, copy=False)
    weighting = Weighting.of(X.shape[0], weights, problem.intercept, dtype)
    if problem.linear:
        return DualFeatures.of(CentredRows.of(X, weighting), Y)
    if problem.given:
        K = copy_symmetric(X)
    else:
        check_range(problem.kernel, X)
        K = kernel_matrix(problem.kernel, X, both_triangles=False)
    return SymmetricSystem.prepare(K, Y, weighting)


def _switch(problem: Problem, solver: str, why: str) -> bool:
    """Change the plan's solver, if that one fits in memory."""
    candidate = next((c for c in problem.plan.candidates if c.solver == solver), None)
    if candidate is None or candidate.refused:
        return False
    problem.plan = replace(
        problem.plan, solver=solver, reason=f"{problem.plan.solver} was tried first, but {why}"
    )
    return True


def _least_alpha(problem: Problem, factor: Factor) -> float:
    if isinstance(problem.alpha, str):
        return lowest_alpha(factor)
    return float(np.min(problem.alpha))


def _check_zero(factor: Factor, alpha: float | Array | str) -> None:
    if isinstance(alpha, str) or np.all(np.asarray(alpha) > 0):
        return
    if factor.error_estimate(0.0) > _WORTH_A_WARNING:
        msg = (
            "alpha=0 asks for an unregularised fit, and the system is singular in "
            f"{factor.targets.dtype.name}: the rows or features depend on each other, or there are "
            "more rows than features in a kernel matrix of features. Use an alpha above zero; for "
            'kernel="linear" solver="svd" solves what can be solved'
        )
        raise SingularSystemError(msg)


def _report_conditioning(factor: Factor, alphas: Array) -> None:
    estimate = max(factor.error_estimate(float(alpha)) for alpha in np.unique(alphas))
    if estimate > _WORTH_A_WARNING:
        warnings.warn(
            f"the system at alpha = {alphas.min():.3g} is ill-conditioned: rounding in "
            f"{factor.targets.dtype.name} may change the result by a relative "
            f"{min(estimate, 1.0):.1g}. Use a larger alpha"
            + (", or float64 rows" if factor.targets.dtype == np.float32 else ""),
            IllConditionedWarning,
            stacklevel=2,
        )


def _model(problem: Problem, factor: Factor, alphas: Array) -> KernelExpansion | Hyperplane:
    coefficients, intercepts = factor.coefficients(alphas)
    coefficients = coefficients * coefficients.dtype.type(problem.unit)
    intercepts = np.asarray(intercepts, dtype=np.float64) * problem.unit
    if not (np.isfinite(coefficients).all() and np.isfinite(intercepts).all()):
        msg = (
            "the coefficients overflow: rescale X and y, or use a larger alpha "
            f"(alpha = {alphas.min():.3g})"
        )
        raise ScaleError(msg)
    if problem.linear:
        return Hyperplane(coefficients, intercepts)
    # a copy: the model must not change when the user's array does
    centers = None if problem.given else problem.X.copy()
    return KernelExpansion(problem.kernel, centers, problem.kept, coefficients, intercepts)


# --- the bracketed search -----------------------------------------------------------------------


def _search(problem: Problem) -> tuple[Factor, Path | None]:
    """The best λ by a handful of Cholesky factorisations, most of them in float32.

    It starts where an eigendecomposition of a few random rows has its best λ: with the total-loss
    λ that hardly depends on the number of rows.
    """
    with problem.stage("start of the search"):
        start = _start(problem)
    parts: list[Path] = []
    if problem.X.dtype == np.float64:
        start, settled = _search_in_single(problem, start, parts)
    else:
        settled = False
    with problem.stage("kernel matrix"):
        system = _system(problem)
    with problem.stage("path"):
        factor = CholeskyFactor(system, several=True, given=problem.given)

        def error(log_alpha: float) -> float:
            parts.append(evaluate(problem.objective, factor, np.array([np.exp(log_alpha)])))
            return -float(parts[-1].scores[0, 0])

        if factor.largest == 0:  # the kernel sees no difference between the rows
            error(0.0)
        elif settled:
            _confirm(error, start, parts)
        else:
            low, high = np.log(lowest_alpha(factor)), np.log(1e6 * factor.largest)
            error(bracketed_minimum(error, start, low, high))
    return factor, Path.merge(parts)


def _start(problem: Problem) -> float:
    n = problem.X.shape[0]
    size = subset_size(n)
    rows = np.sort(problem.rng.choice(n, size, replace=False))
    factor = SpectralFactor(_system(problem, rows=rows))
    objective = Objective(LeaveOneOut(), problem.Y[rows], 1.0, None, False)
    path = choose_automatically(objective, factor)
    scores = path.scores[0]
    good = scores >= scores.max() - 0.005 * abs(scores.max())  # of a plateau its upper end
    return float(np.log(path.alphas[good].max()))


def _search_in_single(problem: Problem, start: float, parts: list[Path]) -> tuple[float, bool]:
    """Go downhill in float32 as far as that is safe; where it ended, and whether inside."""
    with problem.stage("kernel matrix"):
        system = _system(problem, np.dtype(np.float32))
    with problem.stage("search in float32"):
        factor = CholeskyFactor(system, several=True)
        if factor.largest == 0:
            return start, False
        low = float(np.log(_SINGLE_MARGIN * np.finfo(np.float32).eps * factor.largest))
        high = float(np.log(1e6 * factor.largest))

        def error(log_alpha: float) -> float:
            try:
                parts.append(evaluate(problem.objective, factor, np.array([np.exp(log_alpha)])))
            except SingularSystemError:
                return np.inf
            return -float(parts[-1].scores[0, 0])

        if start <= low:
            return start, False
        end = bracketed_minimum(error, start, low, high)
    return end, end > low


def _confirm(error: Callable[[float], float], start: float, parts: list[Path]) -> None:
    """Score the λ that float32 found in float64; if that disappoints, the best one seen too."""
    single = Path.merge(parts) if parts else None
    found = error(start)
    if single is None:
        return
    best = int(single.best()[0])
    if found > -single.scores[0, best] * 1.002:
        error(float(np.log(single.alphas[best])))
