"""The procedure of a fit: from a request to its plan, and over centers, width and λ to a result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import ScaleError
from ..kernels.base import check_range
from ..kernels.widths import free_width
from ..models import Hyperplane, KernelExpansion
from ..persistence.checkpoint import Checkpoint, identity_of, state_of_random
from ..planning import Plan, plan_after
from ..rows import rows_of
from ..selection import Folds, Path, choose_automatically, evaluate, lowest_alpha
from ..solvers import Factor
from .alpha_search import search
from .center_choice import center_rows_only, choose_centers
from .center_width_search import choose_width_with_centers
from .kernel_choice_cost import choice_cost
from .learned_kernel import with_chosen_kernel
from .problem import Problem
from .progress import Progress
from .request import FitRequest
from .result import FitResult, Solution
from .status_warnings import refuse_singular, warn_of_status
from .width_search import Step, WidthFound, choose_width

# `auto` takes a form that squares the features' condition only while that costs at most this.
_AUTO_TOLERANCE = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-3}
# Where leverages are differences, `auto` takes another form beyond this relative error.
_DIFFERENCE_TOLERANCE = 1e-4


def plan_of(request: FitRequest) -> Plan:
    """The plan of a fit, with the choice of its kernel if there is one. Cost: microseconds."""
    plan = request.plan()
    return plan if request.search is None else plan_after(choice_cost(request, plan), plan)


def fit(request: FitRequest, plan: Plan, progress: Progress) -> tuple[FitResult, Plan]:
    """Choose centers, width and λ, and solve: the result, and the plan with the seconds spent.

    The plan names the solver that was taken in the end.
    """
    learned, seconds = None, dict[str, float]()
    if request.search is not None:
        several, before = len(request.search.kernels) > 1, choice_cost(request, request.plan())
        request, learned, seconds = with_chosen_kernel(request, progress, _solve)
        plan = plan_after(before, request.plan())
        if several:
            plan = replace(plan, untried=())
    problem = Problem.of(request, plan, progress)
    if problem.solver.handed_on:
        solution = _solve(center_rows_only(problem))
        # solved by another solver, for fewer rows
        solution = replace(solution, problem=replace(solution.problem, plan=plan))
    else:
        solution = _solve(problem)
    result = FitResult(solution, learned)  # has a stage of its own
    return result, replace(solution.problem.plan, stages={**seconds, **problem.stages})


def _solve(problem: Problem) -> Solution:
    """Factor, choose λ, and build the model."""
    if problem.selector is not None:
        return _solve_with_centers(problem)
    found = None
    if free_width(problem.kernel):
        found = choose_width(problem)
        problem = problem.with_kernel(found.kernel)
    elif problem.request.near_alpha is not None and isinstance(problem.alpha, str):
        found = WidthFound.beside(problem.kernel, problem.request.near_alpha)
    if isinstance(problem.alpha, str) and not problem.solver.every_alpha:
        factor, path = search(problem, found)
    else:
        problem, factor, path = _factor_and_choose(problem)
    return _finish(problem, factor, path, [] if found is None else found.steps)


def _solve_with_centers(problem: Problem) -> Solution:
    """The same where coefficients belong to centers."""
    problem = _with_checkpoint(problem)
    steps: list[Step] = []
    if free_width(problem.kernel):
        kernel, steps = choose_width_with_centers(problem, choose_width)
        problem = problem.with_kernel(kernel)
    problem = replace(problem, centers=choose_centers(problem))
    check_range(problem.kernel, problem.X)
    factor = _built(problem)
    return _finish(problem, factor, _choose(problem, factor), steps)


def _with_checkpoint(problem: Problem) -> Problem:
    """With the file in which the fit is kept on its way, if there is to be one.

    It belongs to this fit by the rows (their mean), the targets and all that is asked for; what is
    chosen on the way, the width and the centers, follows from these.
    """
    request = problem.request
    if request.checkpoint is None:
        return problem
    searched: dict[str, Any] = {}
    if free_width(problem.kernel):  # what else the width depends on
        criterion = problem.objective.criterion
        folds = criterion.folds if isinstance(criterion, Folds) else []
        searched = {
            "alpha": problem.alpha,
            "criterion": criterion.name,
            "folds": np.concatenate([[], *(np.append(f.removed, f.removed.size) for f in folds)]),
            "scorer": problem.objective.scorer is not None,
            **state_of_random(problem.rng),
        }
    identity = identity_of(
        kernel=problem.kernel,
        selector=problem.selector,
        centers_seed=request.centers_seed,
        columns=problem.Y,
        weights=problem.weights,
        intercept=problem.intercept,
        shape=problem.X.shape,
        rows=rows_of(problem.X).mean(),
        dtype=str(problem.X.dtype),
        solver=problem.plan.solver,
        tolerance=request.tolerance,
        most=request.most_iterations,
        **searched,
    )
    return replace(problem, keeper=Checkpoint(request.checkpoint, identity))


def _built(problem: Problem) -> Factor:
    """The factorisation by the solver of the plan, of rows, features or centers."""
    build = problem.solver.build
    assert build is not None
    with problem.stage("factorisation"):
        return build(problem, None)


def _factor_and_choose(problem: Problem) -> tuple[Problem, Factor, Path | None]:
    problem, factor = _factored(problem)
    path = _choose(problem, factor)
    solver = problem.solver
    if path is not None and solver.leverages_by_difference:
        why = f"leverages near one lost digits in {solver.name}"
        better = problem.with_solver(solver.more_accurate, why)
        lost = factor.error_estimate(float(path.alphas[0])) > _DIFFERENCE_TOLERANCE
        if lost and better is not None:
            problem, factor = _factored(better)
            path = _choose(problem, factor)
    return problem, factor, path


def _factored(problem: Problem) -> tuple[Problem, Factor]:
    """By the solver of the plan, or by a better conditioned one where that is free to choose."""
    solver, (n, d) = problem.solver, problem.X.shape
    if not solver.uses_kernel_matrix(n, d):
        problem = problem if solver.reads_blocks else problem.in_memory()
        factor = _built(problem)
    else:
        problem, factor = _factored_matrix(problem.in_memory())
    accurate = problem.solver.more_accurate
    if problem.linear and accurate:
        estimate = factor.error_estimate(_least_alpha(problem, factor))
        why = f"the condition of the features, squared, would cost {estimate:.1g} of relative error"
        better = problem.with_solver(accurate, why)
        if better is not None and estimate > _AUTO_TOLERANCE[problem.X.dtype]:
            return _factored(better)
    return problem, factor


def _factored_matrix(problem: Problem) -> tuple[Problem, Factor]:
    with problem.stage("kernel matrix"):
        system = problem.system()
    solver, alpha = problem.solver, problem.alpha
    if solver.is_safe is not None and not isinstance(alpha, str):
        why = f"alpha is too small for a {solver.name.capitalize()} factorisation to be trusted"
        better = problem.with_solver(solver.for_small_alpha, why)
        if better is not None and not solver.is_safe(system, float(np.min(alpha))):
            problem = better
    build = problem.solver.build
    assert build is not None
    with problem.stage("factorisation"):
        return problem, build(problem, system)


def _choose(problem: Problem, factor: Factor) -> Path | None:
    """The path, or None where one λ is given."""
    alpha = problem.alpha
    refuse_singular(problem, factor)
    if isinstance(alpha, float):
        return None
    with problem.stage("path"):
        if isinstance(alpha, str):
            path = choose_automatically(problem.objective, factor)
        else:
            path = evaluate(problem.objective, factor, alpha)
        for value, score in zip(path.alphas, path.reported.mean(axis=0), strict=True):
            problem.progress.step(f"alpha = {value:.3g}", float(score))
        return path


def _least_alpha(problem: Problem, factor: Factor) -> float:
    if isinstance(problem.alpha, str):
        return lowest_alpha(factor)
    return float(np.min(problem.alpha))


def _finish(problem: Problem, factor: Factor, path: Path | None, steps: list[Step]) -> Solution:
    """The coefficients, and what has to be said about them."""
    t = problem.Y.shape[1]
    if path is None:
        alphas = np.full(t, float(problem.alpha))
    else:
        # who gives λ to choose from wants the best of them
        path = path.decided(path.cautious() if isinstance(problem.alpha, str) else path.best())
        alphas = np.broadcast_to(path.alphas[path.chosen], (t,)).copy()
    tolerance = problem.request.tolerance
    with problem.stage("coefficients"):
        model = _model(problem, factor, alphas)
        status = factor.status(alphas, tolerance, None if path is None else path.alphas)
        warn_of_status(status, float(alphas.min()), tolerance, factor.targets.dtype)
    return Solution(problem, factor, model, alphas, path, steps)


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
    basis = factor.coefficient_points
    if basis is not None:
        assert problem.centers is not None
        numbers = problem.centers.numbers[basis.kept]
        return KernelExpansion(problem.kernel, basis.points, numbers, coefficients, intercepts)
    # a copy: the model must not change when the user's array does
    centers = None if problem.given else problem.X.copy()
    return KernelExpansion(problem.kernel, centers, problem.kept, coefficients, intercepts)
