"""The walk from rows to a chosen model: kernel or features, factorisation, λ, coefficients."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array
from ..errors import IllConditionedWarning, ScaleError, SingularSystemError
from ..fitting.alpha_search import search
from ..fitting.center_width_search import choose_thin_width
from ..fitting.problem import WORTH_A_WARNING, Problem
from ..fitting.width_search import Step
from ..kernels.widths import free_width
from ..models import Hyperplane, KernelExpansion
from ..selection import Path, choose_automatically, evaluate, lowest_alpha
from ..solvers import (
    CentredRows,
    CholeskyFactor,
    Factor,
    GramFactor,
    KrylovFactor,
    Limits,
    PcgFactor,
    RectangleFactor,
    SpectralFactor,
    SvdFactor,
    SymmetricSystem,
)
from . import thin
from .validation import in_memory
from .width import choose_width

# `auto` takes a form that squares the features' condition only while that costs at most this.
_AUTO_TOLERANCE = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-3}


@dataclass
class Outcome:
    """What a fit found: λ per target (t,), the model, the factorisation, and the path if any.

    ``steps`` are the looks of a search for the kernel width.
    """

    alphas: Array
    model: KernelExpansion | Hyperplane
    factor: Factor
    path: Path | None
    steps: list[Step]


def solve(problem: Problem) -> Outcome:
    """Factor, choose λ, and build the model."""
    if problem.selector is not None:
        return _solve_with_centers(problem)
    found = choose_width(problem) if free_width(problem.kernel) else None
    searched = problem.plan.solver == "cholesky" and isinstance(problem.alpha, str)
    factor, path = search(problem, found) if searched else _factor_and_choose(problem)
    return _finish(problem, factor, path, [] if found is None else found.steps)


def _solve_with_centers(problem: Problem) -> Outcome:
    """The same where coefficients belong to centers."""
    searching = free_width(problem.kernel) != ""
    steps = choose_thin_width(problem, choose_width) if searching else []
    centers = thin.choose_centers(problem)
    factor = thin.build(problem, centers)
    return _finish(problem, factor, _choose(problem, factor), steps, centers)


def _finish(
    problem: Problem,
    factor: Factor,
    path: Path | None,
    steps: list[Step],
    centers: thin.Centers | None = None,
) -> Outcome:
    """The coefficients, and what has to be said about them."""
    t = problem.Y.shape[1]
    if path is None:
        alphas = np.full(t, float(problem.alpha))
    else:
        alphas = np.broadcast_to(path.alphas[path.best()], (t,)).copy()
    with problem.stage("coefficients"):
        model = _model(problem, factor, alphas, centers)
        report_conditioning(factor, alphas)
        report_dropped(factor, alphas)
        report_convergence(factor, alphas, problem.tolerance, path)
    return Outcome(alphas, model, factor, path, steps)


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
            path = choose_automatically(problem.objective, factor)
        else:
            path = evaluate(problem.objective, factor, alpha)
        for value, score in zip(path.alphas, path.reported.mean(axis=0), strict=True):
            problem.progress.step(f"alpha = {value:.3g}", float(score))
        return path


def _build(problem: Problem) -> Factor:
    """The factorisation the plan names, or a better conditioned one if it was free to choose."""
    solver = problem.plan.solver
    if solver == "krylov":
        return _iterate(problem)
    if solver != "gram" or not _tall(problem):
        problem.X = in_memory(problem.X)
    if problem.linear and (solver == "svd" or (solver == "gram" and _tall(problem))):
        with problem.stage("factorisation"):
            rows = CentredRows.of(problem.X, problem.weighting())
            factor: Factor = (SvdFactor if solver == "svd" else GramFactor)(rows, problem.Y)
    else:
        with problem.stage("kernel matrix"):
            system = problem.system()
        factor = _factor_system(problem, system)
    if problem.linear and problem.requested == "auto" and problem.plan.solver != "svd":
        estimate = factor.error_estimate(_least_alpha(problem, factor))
        reason = (
            f"the condition of the features, squared, would cost {estimate:.1g} of relative error"
        )
        if estimate > _AUTO_TOLERANCE[problem.X.dtype] and _switch(problem, "svd", reason):
            return _build(problem)
    return factor


def _iterate(problem: Problem) -> KrylovFactor:
    """The Krylov sequence of the targets; at one given λ all of it, else as far as λ will ask."""
    plan, alpha = problem.plan, problem.alpha
    with problem.stage("factorisation"):
        budget = plan.memory_limit - plan.chosen.needed
        limits = Limits(problem.tolerance, problem.most_iterations, budget, problem.watch)
        rows = CentredRows.of(problem.X, problem.weighting())
        seed = int(problem.rng.randint(2**31 - 1))
        least = np.inf if isinstance(alpha, str) else float(np.min(alpha))
        factor = KrylovFactor(rows, problem.Y, limits, seed, least)
        if isinstance(alpha, float):
            factor.reach(np.array([alpha]))
    return factor


def _tall(problem: Problem) -> bool:
    return problem.X.shape[0] > problem.X.shape[1]


def _factor_system(problem: Problem, system: SymmetricSystem) -> Factor:
    solver = problem.plan.solver
    alpha = problem.alpha
    if solver == "cholesky" and problem.requested == "auto" and not isinstance(alpha, str):
        why = "alpha is too small for a Cholesky factorisation to be trusted"
        safe = cholesky_is_safe(system, float(np.min(alpha)))
        if not safe and _switch(problem, "spectral", why):
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


def cholesky_is_safe(system: SymmetricSystem, alpha: float) -> bool:
    """Whether λ is well above the rounding of the matrix."""
    rounding = 16.0 * float(np.finfo(system.matrix.dtype).eps) * system.norm
    return alpha / system.unit / system.weighting.unit >= rounding


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
    if factor.error_estimate(0.0) > WORTH_A_WARNING:
        msg = (
            "alpha=0 asks for an unregularised fit, and the system is singular in "
            f"{factor.targets.dtype.name}: rows or features depend on each other. Use an alpha "
            'above zero, or, for kernel="linear" with more rows than features, solver="svd"'
        )
        raise SingularSystemError(msg)


def report_conditioning(factor: Factor, alphas: Array) -> None:
    """Warn where rounding may have changed the result by more than a per cent."""
    estimate = factor.error_estimate(float(alphas.min()))  # the worst
    if estimate > WORTH_A_WARNING:
        warnings.warn(
            f"the system at alpha = {alphas.min():.3g} is ill-conditioned: rounding in "
            f"{factor.targets.dtype.name} may change the result by a relative "
            f"{min(estimate, 1.0):.1g}. Use a larger alpha"
            + (", or float64 rows" if factor.targets.dtype == np.float32 else ""),
            IllConditionedWarning,
            stacklevel=2,
        )


def report_dropped(factor: Factor, alphas: Array) -> None:
    """Warn where centers are missing that would have counted."""
    least = float(alphas.min())
    if factor.dropped_centers.size and factor.lost_energy > least:
        dropped = factor.dropped_centers.size
        warnings.warn(
            f"{dropped:,} centers were dropped: {factor.targets.dtype.name} cannot tell them from "
            f"combinations of the others, and at alpha = {least:.3g} they may have counted. Use "
            "float64 rows, a larger alpha or a narrower kernel",
            IllConditionedWarning,
            stacklevel=2,
        )


def report_convergence(factor: Factor, alphas: Array, tolerance: float, path: Path | None) -> None:
    """Warn where an iteration ended before the residual was as small as it should be."""
    if isinstance(factor, PcgFactor):
        _report_pcg(factor, tolerance)
    if not isinstance(factor, KrylovFactor):
        return
    remedy = "Raise max_iter or tol, or use larger alphas"
    # what is lost by rounding is reported as that
    reachable = max(tolerance, 10.0 * factor.error_estimate(float(alphas.min())))
    if factor.residual > reachable:
        warnings.warn(
            f"krylov stopped after {factor.iterations} iterations at a relative residual of "
            f"{factor.residual:.2g}; tol={tolerance:.2g} was asked for. {remedy}"
            + (", or float64 rows" if factor.targets.dtype == np.float32 else ""),
            ConvergenceWarning,
            stacklevel=2,
        )
    elif factor.shortfall and path is not None and not factor.exhausted:
        warnings.warn(
            f"krylov stopped in a fold at a relative residual of {factor.shortfall:.2g}; "
            f"tol={tolerance:.2g} was asked for. {remedy}",
            ConvergenceWarning,
            stacklevel=2,
        )
    elif path is not None and factor.exhausted:
        residuals = factor.residuals(path.alphas)
        if (residuals > tolerance).any():
            warnings.warn(
                f"krylov stopped after {factor.iterations} iterations: of {path.alphas.size} "
                f"alphas that were compared the smallest {np.count_nonzero(residuals > tolerance)} "
                f"have a relative residual of up to {residuals.max():.2g}; tol={tolerance:.2g} was "
                f"asked for. {remedy}",
                ConvergenceWarning,
                stacklevel=2,
            )


def _report_pcg(factor: PcgFactor, tolerance: float) -> None:
    worst = max(factor.residual, factor.shortfall)
    if worst > tolerance:
        warnings.warn(
            f"pcg stopped after {factor.iterations} iterations at a relative residual of "
            f"{worst:.2g}; tol={tolerance:.2g} was asked for. Raise max_iter or tol, or use larger "
            "alphas" + (", or float64 rows" if factor.targets.dtype == np.float32 else ""),
            ConvergenceWarning,
            stacklevel=2,
        )


def _model(
    problem: Problem, factor: Factor, alphas: Array, chosen: thin.Centers | None
) -> KernelExpansion | Hyperplane:
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
    if isinstance(factor, RectangleFactor | PcgFactor):
        basis = factor.centers
        assert chosen is not None
        numbers = chosen.numbers[basis.kept]
        return KernelExpansion(problem.kernel, basis.points, numbers, coefficients, intercepts)
    # a copy: the model must not change when the user's array does
    centers = None if problem.given else problem.X.copy()
    return KernelExpansion(problem.kernel, centers, problem.kept, coefficients, intercepts)
