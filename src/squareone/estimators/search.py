"""The best λ of a kernel fit by a bracketed search over Cholesky factorisations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import SingularSystemError
from ..selection import (
    LeaveOneOut,
    Objective,
    Path,
    bracketed_minimum,
    choose_automatically,
    evaluate,
    lowest_alpha,
)
from ..solvers import CholeskyFactor, Factor, SpectralFactor
from ..solvers.plan import subset_size
from .problem import Problem

# In float32 the search stays this many rounding errors of the kernel matrix above zero.
_SINGLE_MARGIN = 16.0


def search(problem: Problem) -> tuple[Factor, Path | None]:
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
        system = problem.system()
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
            error(bracketed_minimum(error, start, low, high, scan=_scan(problem)))
    return factor, Path.merge(parts)


def _start(problem: Problem) -> float:
    n = problem.X.shape[0]
    size = subset_size(n)
    rows = np.sort(problem.rng.choice(n, size, replace=False))
    factor = SpectralFactor(problem.system(rows=rows))
    objective = Objective(LeaveOneOut(), problem.Y[rows], 1.0, None, False)
    path = choose_automatically(objective, factor)
    scores = path.scores[0]
    good = scores >= scores.max() - 0.005 * abs(scores.max())  # of a plateau its upper end
    return float(np.log(path.alphas[good].max()))


def _search_in_single(problem: Problem, start: float, parts: list[Path]) -> tuple[float, bool]:
    """Go downhill in float32 as far as that is safe; where it ended, and whether inside."""
    with problem.stage("kernel matrix"):
        system = problem.system(np.dtype(np.float32))
    with problem.stage("search in float32"):
        factor = CholeskyFactor(system, several=True)
        if factor.largest == 0:
            return start, False
        low = float(np.log(_SINGLE_MARGIN * float(np.finfo(np.float32).eps) * factor.largest))
        high = float(np.log(1e6 * factor.largest))

        def error(log_alpha: float) -> float:
            try:
                parts.append(evaluate(problem.objective, factor, np.array([np.exp(log_alpha)])))
            except SingularSystemError:
                return np.inf
            return -float(parts[-1].scores[0, 0])

        if start <= low:
            return start, False
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
    if found > -single.scores[0, best] * 1.002:
        error(float(np.log(single.alphas[best])))
