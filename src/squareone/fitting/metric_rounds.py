"""Rounds of a learned metric on some rows: width and λ at each metric, and predictions elsewhere.

A chain begins with the plain kernel and learns a metric from its gradients, fits again and learns
the next one. Each of its fits is a plain one at a fixed metric, whose width and λ are chosen by the
criterion of the estimator on the rows of the chain; the search starts where that of the fit before
has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from ..arrays import Array
from ..errors import SingularSystemError
from ..kernels import Kernel
from ..kernels.widths import free_width, term_of, with_width
from ..models import Hyperplane, KernelExpansion
from ..planning import make_plan
from ..selection import Objective, choose_automatically, evaluate, lowest_alpha
from ..selection.learned_metric import metric_of
from ..solvers import CholeskyFactor, Factor, SpectralFactor
from .alpha_search import check_zero
from .problem import Problem
from .progress import Progress
from .width_search import choose_width, choose_width_near

# Rows at most at which gradients are taken: they are averages.
_GRADIENT_ROWS = 2000
# Rows up to which float64 costs nothing worth saving.
_SINGLE_ROWS = 1500
# Rows up to which λ is chosen by an eigendecomposition, beyond which the search's will do.
_ALL_ALPHAS = 400


@dataclass(frozen=True)
class PlainFit:
    """A fit at a fixed metric.

    Attributes
    ----------
    kernel : Kernel
        With its width a number.
    model : KernelExpansion or Hyperplane
        In the units of the problem's targets.
    alpha : float
    log_scale : float
        The logarithm of the width over the median distance.
    """

    kernel: Kernel
    model: KernelExpansion | Hyperplane
    alpha: float
    log_scale: float


def quiet(problem: Problem) -> Problem:
    """The same problem for a fit inside of another: smooth, nothing shown, its seconds its own.

    Its scores are in the unit of its targets, so that a power of two in these changes nothing.
    """
    objective = problem.objective
    return replace(
        problem,
        objective=Objective(objective.criterion, objective.targets, 1.0, None, False),
        progress=Progress.silent(),
        stages={},
    )


def fit_plainly(
    problem: Problem, kernel: Kernel, near: PlainFit | None = None, *, search: bool = True
) -> PlainFit:
    """Choose the width, where it is ``"auto"``, and λ, and solve.

    Parameters
    ----------
    problem : Problem
        See :func:`quiet`.
    kernel : Kernel
    near : PlainFit, optional
        A fit to a similar problem: the search begins at its width and λ.
    search : bool, default=True
        Whether there is a search; otherwise they are those of ``near``.
    """
    problem = replace(problem, kernel=kernel.resolve(problem.X, problem.rng))
    if problem.linear:
        return _by_all_alphas(problem, _factor_of_features(problem), 0.0)
    place, alpha = 0.0, _only_alpha(problem)
    name = free_width(problem.kernel)
    if name and near is not None and not search:
        place = near.log_scale
        unit = term_of(problem.kernel, name).median_distance(problem.X, problem.rng)
        problem = problem.with_kernel(with_width(problem.kernel, name, np.exp(place) * unit))
    elif name:
        if near is None:
            found = choose_width(problem)
        else:
            found = choose_width_near(problem, near.log_scale, near.alpha)
        place, problem = found.log_scale, problem.with_kernel(found.kernel)
        looked_at_all = near is not None or problem.X.shape[0] > _ALL_ALPHAS
        if alpha is None and looked_at_all and np.isfinite(found.log_alpha):
            alpha = _asked_near(problem, float(np.exp(found.log_alpha)))
    if alpha is None and near is not None and not search:
        alpha = near.alpha
    if alpha is None:
        return _by_all_alphas(problem, SpectralFactor(problem.system()), place)
    return _by_one_alpha(problem, alpha, place)


def _only_alpha(problem: Problem) -> float | None:
    """λ where it is one number above zero."""
    asked = problem.alpha
    if isinstance(asked, str) or np.size(asked) > 1 or not np.max(asked) > 0:
        return None
    return float(np.max(asked))


def _asked_near(problem: Problem, alpha: float) -> float | None:
    """λ, or of those to choose from the better one beside it; None where neither can be solved."""
    if isinstance(problem.alpha, str):
        return alpha
    asked = np.sort(np.atleast_1d(problem.alpha))
    above = int(np.searchsorted(asked, alpha))
    beside = np.unique(asked[[max(above - 1, 0), min(above, asked.size - 1)]])
    if beside.size > 1:
        try:
            path = evaluate(
                problem.objective, CholeskyFactor(problem.system(), several=True), beside
            )
        except SingularSystemError:
            return None
        beside = path.alphas[path.best()]
    return float(beside[0])


def _factor_of_features(problem: Problem) -> Factor:
    """By the solver that a fit to these features takes, if it answers for every λ."""
    n, d = problem.X.shape
    task = replace(problem.plan.task, n=n, d=d, linear=True, width_search=False)
    plan = make_plan(task, "auto", problem.plan.memory_limit)
    problem = replace(problem, plan=plan)
    build = problem.solver.build
    if problem.solver.uses_kernel_matrix(n, d) or build is None:
        return SpectralFactor(problem.system())
    return build(problem, None)


def _by_all_alphas(problem: Problem, factor: Factor, place: float) -> PlainFit:
    check_zero(problem, factor)
    if isinstance(problem.alpha, str):
        path = choose_automatically(problem.objective, factor)
        alpha = float(path.alphas[path.cautious()[0]])
    else:
        path = evaluate(problem.objective, factor, np.atleast_1d(problem.alpha))
        alpha = float(path.alphas[path.best()[0]])
    return _solved(problem, factor, alpha, place)


def _by_one_alpha(problem: Problem, alpha: float, place: float) -> PlainFit:
    """By a Cholesky factorisation; of many rows in float32 where that is far from its rounding."""
    single, factor = np.dtype(np.float32), None
    if problem.X.shape[0] > _SINGLE_ROWS:
        factor = CholeskyFactor(problem.system(single), several=True)
        # of a kernel so wide that float32 sees no difference between rows nothing is left
        if not 0.0 < lowest_alpha(factor, single) <= alpha:
            factor = None
    if factor is None:
        factor = CholeskyFactor(problem.system(), several=True)
    try:
        return _solved(problem, factor, alpha, place)
    except SingularSystemError:
        return _by_all_alphas(problem, SpectralFactor(problem.system()), place)


def _solved(problem: Problem, factor: Factor, alpha: float, place: float) -> PlainFit:
    coefficients, intercepts = factor.coefficients(np.full(problem.Y.shape[1], alpha))
    dtype = problem.X.dtype
    coefficients, intercepts = coefficients.astype(dtype), np.asarray(intercepts, np.float64)
    if problem.linear:
        return PlainFit(problem.kernel, Hyperplane(coefficients, intercepts), alpha, place)
    if factor.targets.dtype != dtype:  # they were centred before they were rounded
        intercepts = intercepts + problem.weighting().mean(problem.Y)
    model = KernelExpansion(problem.kernel, problem.X, problem.kept, coefficients, intercepts)
    return PlainFit(problem.kernel, model, alpha, place)


def learned_kernel(problem: Problem, kernel: Kernel, last: PlainFit, power: float) -> Kernel:
    """``kernel`` with the metric of the gradients of ``last``: the beginning of a round.

    Parameters
    ----------
    problem : Problem
        The rows of that fit; see :func:`quiet`.
    kernel : Gaussian, Matern or Laplacian
        Without a metric, as it was for the first fit.
    last : PlainFit
    power : float
        p, see :mod:`~squareone.selection.learned_metric`.

    Notes
    -----
    **Cost**: k·n·(d + t) multiplications for gradients at k = min(n, 2000) rows.
    """
    rows = problem.X[problem.random_rows(_GRADIENT_ROWS)]
    coefficients = last.model.coefficients / _spreads(problem)
    metric = metric_of(last.kernel, rows, problem.X, coefficients, power)
    return clone(kernel).set_params(metric=metric)


def _spreads(problem: Problem) -> Array:
    """Standard deviations (t,) of the target columns: each counts alike in a metric."""
    spreads = np.sqrt(
        np.average(
            np.square(problem.Y - np.average(problem.Y, axis=0, weights=problem.weights)),
            axis=0,
            weights=problem.weights,
        )
    )
    return np.where(spreads > 0, spreads, 1.0)
