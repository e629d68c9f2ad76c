"""The best λ of a kernel fit by a bracketed search over Cholesky factorisations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import SingularSystemError
from ..rows import rows_of
from ..selection import (
    LeaveOneOut,
    Objective,
    Path,
    bracketed_minimum,
    choose_automatically,
    evaluate,
    has_slope,
    log_slope,
    lowest_alpha,
)
from ..selection.alpha_grid import SINGLE_MARGIN
from ..selection.bracketed_search import MOST_STEPS
from ..solvers import CholeskyFactor, Factor, SpectralFactor
from ..solvers.exact.cholesky import subset_size
from .problem import Problem
from .status_warnings import WORTH_A_WARNING
from .width_search import WidthFound

# An error in float64 up to this many times the one in float32 is what was promised.
_AS_GOOD = 1.002
# The share of the error that another λ has to promise; Newton steps at most, and how far in log λ.
_WORTH_A_FACTORISATION, _MOST_NEWTON, _FARTHEST_STEP = 0.01, 8, 1.5


def check_zero(problem: Problem, factor: Factor) -> None:
    """Refuse λ = 0 where the system is singular."""
    alpha = problem.alpha
    if isinstance(alpha, str) or np.all(np.asarray(alpha) > 0):
        return
    if factor.error_estimate(0.0) > WORTH_A_WARNING:
        why, instead = "rows depend on each other, as equal rows do", ""
        if problem.linear and problem.solver.needs_linear:
            why = "features depend on each other, as equal features do"
            instead = ", or drop the features that others determine"
        elif problem.linear and problem.X.shape[0] > problem.X.shape[1]:
            why = "there are more rows than features"
            instead = f', or use solver="{problem.solver.more_accurate}"'
            if _features_depend(problem):  # which no solver can tell apart
                why = "features depend on each other, as equal features do"
                instead = ", or drop the features that others determine"
        msg = (
            "alpha=0 asks for an unregularised fit, and the system is singular in "
            f"{factor.targets.dtype.name}: {why}. Use an alpha above zero, such as "
            f"{lowest_alpha(factor):.1g}{instead}"
        )
        raise SingularSystemError(msg)


def _features_depend(problem: Problem) -> bool:
    """Whether the condition of the features, centred for an intercept, is beyond their type."""
    X = rows_of(problem.X).dense().astype(np.float64)
    if problem.intercept:
        X = X - X.mean(axis=0)
    sizes = np.linalg.svd(X, compute_uv=False)
    return bool(sizes[-1] * WORTH_A_WARNING <= np.finfo(problem.X.dtype).eps * sizes[0])


def search(problem: Problem, found: WidthFound | None = None) -> tuple[Factor, Path | None]:
    """The best λ by a handful of Cholesky factorisations, most of them in float32.

    It starts where an eigendecomposition of a few random rows has its best λ: with the total-loss
    λ that hardly depends on the number of rows. A search for the width has ended beside a λ of
    its own: where it looked at all rows that only has to be confirmed; where it was extrapolated to
    them, the slope of the error there says whether another λ is worth a factorisation.
    """
    parts: list[Path] = []
    followed = found is not None and not _needs_search(problem, found)
    if found is not None:
        start, settled = found.log_alpha, followed
    else:
        with problem.stage("start of the search"):
            start, settled = _start(problem), False
    if not followed and problem.X.dtype == np.float64:
        start, settled = search_in_single(problem, start, parts)
    with problem.stage("kernel matrix"):
        system = problem.system()
    with problem.stage("path", None if settled else MOST_STEPS):
        factor = CholeskyFactor(system, several=True, given=problem.given)
        error = _error(problem, factor, parts)

        def downhill(start: float) -> None:
            low, high = np.log(lowest_alpha(factor)), np.log(1e6 * factor.largest)
            error(bracketed_minimum(error, start, low, high, scan=_scan(problem)))

        if factor.largest == 0:  # the kernel sees no difference between the rows
            error(0.0)
        elif not settled:
            downhill(start)
        elif found is None or not followed:
            _confirm(error, start, parts)
        else:
            start = max(start, float(np.log(lowest_alpha(factor))))
            if not error(start) <= found.error * _AS_GOOD:
                downhill(start)
            elif found.curvature is not None:
                _follow_slope(problem, factor, error, start, found.curvature)
        if not any(part.bits[0] == 8 * problem.X.dtype.itemsize for part in parts):
            parts.append(evaluate(problem.objective, factor, np.array([factor.largest])))
    return factor, Path.merge(parts)


def _needs_search(problem: Problem, found: WidthFound) -> bool:
    """Whether λ was extrapolated, by a criterion whose slope is not known."""
    return found.curvature is not None and not has_slope(problem.objective.criterion)


def _follow_slope(
    problem: Problem,
    factor: CholeskyFactor,
    error: Callable[[float], float],
    log_alpha: float,
    curvature: float,
) -> None:
    """Newton steps on log λ while they promise enough, from a point where the error was seen."""
    low, high = float(np.log(lowest_alpha(factor))), float(np.log(1e6 * factor.largest))
    step = before = 0.0
    for _ in range(_MOST_NEWTON):
        slope = log_slope(problem.objective.criterion, factor, float(np.exp(log_alpha)))
        assert slope is not None  # only criteria that have one are followed
        if step:
            curvature = max((slope - before) / step, 0.25 * curvature)
        step = float(np.clip(-slope / curvature, -_FARTHEST_STEP, _FARTHEST_STEP))
        step = float(np.clip(log_alpha + step, low, high)) - log_alpha
        promise = -(slope * step + 0.5 * curvature * step**2)
        if promise <= _WORTH_A_FACTORISATION:
            return
        log_alpha += step
        before = slope
        if error(log_alpha) == np.inf:
            return


def _error(problem: Problem, factor: Factor, parts: list[Path]) -> Callable[[float], float]:
    """The error as a function of log λ; each look is added to ``parts`` and shown to who waits."""

    def at(log_alpha: float) -> float:
        try:
            path = evaluate(problem.objective, factor, np.array([np.exp(log_alpha)]))
        except SingularSystemError:
            return np.inf
        parts.append(path)
        problem.progress.step(f"alpha = {path.alphas[0]:.3g}", float(path.reported[0, 0]))
        return -float(path.scores[0, 0])

    return at


def _start(problem: Problem) -> float:
    part = problem.subset(problem.random_rows(subset_size(problem.X.shape[0])))
    objective = Objective(LeaveOneOut(), part.Y, 1.0, None, False)
    path = choose_automatically(objective, SpectralFactor(part.system()))
    scores = path.scores[0]
    good = scores >= scores.max() - 0.005 * abs(scores.max())  # of a plateau its upper end
    return float(np.log(path.alphas[good].max()))


def search_in_single(problem: Problem, start: float, parts: list[Path]) -> tuple[float, bool]:
    """Go downhill in float32 as far as that is safe; where it ended, and whether inside."""
    with problem.stage("kernel matrix"):
        system = problem.system(np.dtype(np.float32))
    with problem.stage("search in float32", MOST_STEPS):
        factor = CholeskyFactor(system, several=True)
        if factor.largest == 0:
            return start, False
        low = float(np.log(lowest_alpha(factor, margin=SINGLE_MARGIN)))
        high = float(np.log(1e6 * factor.largest))
        if start <= low:
            return start, False
        error = _error(problem, factor, parts)
        end = bracketed_minimum(error, start, low, high, scan=_scan(problem))
    return end, end > low


def _scan(problem: Problem) -> int:
    """How far to look around the start: it is the best λ by leave-one-out, others may disagree."""
    return 0 if isinstance(problem.objective.criterion, LeaveOneOut) else 2


def _confirm(error: Callable[[float], float], start: float, parts: list[Path]) -> None:
    """Score the λ that float32 found in float64; if that disappoints, the best one seen too."""
    single = Path.merge(parts) if parts else None
    found = error(start)
    if single is None:
        return
    best = int(single.best()[0])
    if found > -single.scores[0, best] * _AS_GOOD:
        error(float(np.log(single.alphas[best])))
