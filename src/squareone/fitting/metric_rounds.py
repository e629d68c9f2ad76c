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

from ..errors import SingularSystemError
from ..kernels import Kernel, Laplacian
from ..kernels.widths import free_width, term_of, with_width
from ..models import Hyperplane, KernelExpansion
from ..planning import make_plan
from ..selection import Objective, choose_automatically, evaluate, lowest_alpha
from ..selection.learned_metric import column_spreads, metric_of
from ..solvers import CholeskyFactor, Factor, SpectralFactor
from .alpha_search import search_in_single
from .problem import Problem
from .progress import Progress
from .status_warnings import refuse_singular
from .width_search import DRIFT, choose_width, choose_width_near

#: Rows at most at which gradients are taken: they are averages.
GRADIENT_ROWS = 2000
#: With a weight for every feature: few numbers, each a sum over rows and centers by itself.
SLOPE_ROWS = 1000
#: Rows at most on which a width is searched that is not the final one.
SEARCH_ROWS = 2400
# Rows up to which float64 costs nothing worth saving.
_SINGLE_ROWS = 1500
# Rows up to which λ is chosen by an eigendecomposition, the largest that is about as good: of few
# rows the search may end anywhere on a flat curve. Beyond them the search's will do.
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
        enough = problem.X.shape[0] > _ALL_ALPHAS
        if alpha is None and enough and np.isfinite(found.log_alpha):
            alpha = _asked_near(problem, float(np.exp(found.log_alpha)))
    if alpha is None and near is not None and not search:
        alpha = near.alpha
    if alpha is None:
        return _by_all_alphas(problem, SpectralFactor(problem.system()), place)
    return _by_one_alpha(problem, alpha, place)


def at_width(problem: Problem, kernel: Kernel, near: PlainFit, n: int) -> Kernel:
    """``kernel`` with the width of a fit to some rows, as it is to be expected of ``n`` rows.

    Widths are compared by the median distances between the rows of ``problem`` and of that fit.
    """
    assert isinstance(near.model, KernelExpansion)
    kernel = kernel.resolve(problem.X, problem.rng)
    name = free_width(kernel)
    if not name:
        return kernel
    unit = term_of(kernel, name).median_distance(problem.X, problem.rng)
    drift = DRIFT * np.log(n / near.model.coefficients.shape[0])
    return with_width(kernel, name, np.exp(near.log_scale + drift) * unit)


def fit_with_widths(
    problem: Problem, kernel: Kernel, alpha: float, *, search: bool = True
) -> PlainFit:
    """Solve for a kernel whose widths are numbers, with λ near ``alpha``, or that itself."""
    problem = replace(problem, kernel=kernel)
    only = _only_alpha(problem)
    if only is None and not search:
        only = alpha
    if only is None:
        end, inside = search_in_single(problem, float(np.log(alpha)), [])
        only = _asked_near(problem, float(np.exp(end))) if inside else None
    if only is None:
        return _by_all_alphas(problem, SpectralFactor(problem.system()), 0.0)
    return _by_one_alpha(problem, only, 0.0)


def fit_by_a_part(problem: Problem, kernel: Kernel, near: PlainFit | float) -> PlainFit:
    """Choose width and λ on a part of many rows, and solve for all of them.

    ``near`` is a fit to a similar problem; of a kernel whose widths are numbers its λ.

    **Cost**: with a part of half of the rows about that of two factorisations.
    """
    few = problem.random_rows(SEARCH_ROWS)
    n = problem.X.shape[0]
    if isinstance(near, PlainFit):
        if few.size == n or isinstance(near.model, Hyperplane):
            return fit_plainly(problem, kernel, near)
        found = fit_plainly(problem.subset(few), kernel, near)
        kernel = at_width(problem, kernel, found, n)
    else:
        found = fit_with_widths(problem.subset(few), kernel, near)
    return fit_with_widths(problem, kernel, found.alpha, search=False)


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
    refuse_singular(problem, factor)
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
    most = SLOPE_ROWS if isinstance(kernel, Laplacian) else GRADIENT_ROWS
    some = problem.random_rows(most)
    weights = None if problem.weights is None else problem.weights[some]
    coefficients = last.model.coefficients / column_spreads(problem.Y, problem.weights)
    metric = metric_of(last.kernel, problem.X[some], problem.X, coefficients, power, weights)
    return clone(kernel).set_params(metric=metric)
