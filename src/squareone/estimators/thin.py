"""Fits whose coefficients belong to a few centers: which ones, and the factorisation for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..centers import Given
from ..kernels.base import check_range
from ..kernels.widths import free_width, term_of, with_width
from ..rows import rows_of
from ..selection import Folds, LeaveOneOut, bracketed_minimum, choose_automatically, evaluate
from ..solvers import (
    CenterBasis,
    Factor,
    Limits,
    NystromFactor,
    PcgFactor,
    RectangleFactor,
    make_plan,
)
from ..solvers.center_basis import LEAST_BLOCK, MOST_BLOCK
from ..solvers.center_costs import THIN_WIDTH_CENTERS, THIN_WIDTH_ROWS, THIN_WIDTH_SAMPLE
from ..solvers.costs import WIDTH_ROWS
from .checkpoint import Checkpoint, identity_of
from .looks import Journal, Step
from .problem import Aside, Problem

# Rows and centers of the λ that pcg begins with.
_START_ROWS, _START_CENTERS = 20_000, 1000
_FARTHEST = 12.0 * float(np.log(2.0))


@dataclass(frozen=True)
class Centers:
    """The points that carry coefficients.

    Attributes
    ----------
    points : array (m, d) or CSR matrix
    rows : array (m,)
        Which rows of the fit they are; −1 for those that are none.
    numbers : array (m,)
        Which of the user's rows; a row of weight zero has a number, too.
    """

    points: Any
    rows: Array
    numbers: Array


def choose_centers(problem: Problem) -> Centers:
    """Choose the centers, for the kernel as it is."""
    selector = problem.selector
    assert selector is not None
    with problem.stage("choice of centers"):
        if isinstance(selector, Given):
            return _given(problem, selector)
        rng = np.random.RandomState(problem.centers_seed)
        found = selector._choose(problem.kernel, problem.X, rng)
    nowhere = np.full(found.points.shape[0], -1)
    if found.indices is None:
        return Centers(found.points, nowhere, nowhere)
    return Centers(found.points, found.indices, problem.kept[found.indices])


def _given(problem: Problem, selector: Given) -> Centers:
    """Row numbers are those of all the user's rows."""
    points, numbers = selector.placed(problem.X, problem.n_rows)
    if numbers is None:
        nowhere = np.full(points.shape[0], -1)
        return Centers(points, nowhere, nowhere)
    position = np.full(problem.n_rows, -1)
    position[problem.kept] = np.arange(problem.kept.size)
    rows = position[numbers]
    there = np.flatnonzero(rows >= 0)
    same = rows_of(points[there]).dense() == rows_of(problem.X[rows[there]]).dense()
    if not same.all():
        wrong = int(there[~same.all(axis=1)][0])
        msg = (
            f"Given: point {wrong} is said to be row {numbers[wrong]}, and is not equal to it: "
            "give the indices of the rows that the points are, or none"
        )
        raise ValueError(msg)
    return Centers(points, rows, numbers)


def build(problem: Problem, centers: Centers) -> Factor:
    """The factorisation that the plan names, for the centers that were chosen."""
    solver = problem.plan.solver
    check_range(problem.kernel, problem.X)
    with problem.stage("factorisation"):
        basis = CenterBasis(
            problem.kernel, centers.points, problem.X.dtype, compact=solver == "pcg"
        )
        basis.block_bytes = _block_bytes(problem)
        own = centers.rows[basis.kept]
        keeper = _keeper(problem, basis)
        if solver == "pcg":
            return _iterated(problem, basis, own, keeper)
        rectangle = RectangleFactor(
            basis,
            rows_of(problem.X),
            problem.Y,
            problem.weighting(),
            own,
            problem.watch_rows,
            keeper,
        )
    return NystromFactor(rectangle, problem.Y) if solver == "nystrom" else rectangle


def _block_bytes(problem: Problem) -> float:
    """Of a block of kernel values: a part of what the plan leaves."""
    plan = problem.plan
    left = (plan.memory_limit - plan.chosen.needed) / 4.0
    return float(np.clip(left, LEAST_BLOCK, MOST_BLOCK))


def _keeper(problem: Problem, basis: CenterBasis) -> Checkpoint | None:
    """Where the fit is kept on its way, if it is."""
    if problem.checkpoint is None:
        return None
    identity = identity_of(
        kernel=problem.kernel,
        centers=basis.points,
        columns=problem.Y,
        weights=problem.weights,
        intercept=problem.intercept,
        shape=problem.X.shape,
        rows=rows_of(problem.X).mean(),
        dtype=str(problem.X.dtype),
        solver=problem.plan.solver,
        tolerance=problem.tolerance,
        most=problem.most_iterations,
    )
    problem.keeper = Checkpoint(problem.checkpoint, identity)
    return problem.keeper


def _iterated(
    problem: Problem, basis: CenterBasis, own: Array, keeper: Checkpoint | None
) -> PcgFactor:
    alpha = problem.alpha
    start = _start(problem) if isinstance(alpha, str) else None
    limits = Limits(problem.tolerance, problem.most_iterations, np.inf, problem.watch)
    seed = int(problem.rng.randint(2**31 - 1))
    factor = PcgFactor(
        basis,
        rows_of(problem.X),
        problem.Y,
        problem.weighting(),
        own,
        limits,
        seed,
        start,
        keeper,
    )
    if isinstance(alpha, float):
        factor.solution(alpha)
    return factor


def _start(problem: Problem) -> float:
    """The best λ of fewer rows and centers: with the loss of all rows it hardly depends on them."""
    part, factor = small_rectangle(problem, _START_ROWS, _START_CENTERS)
    path = choose_automatically(part.objective, factor)
    return float(path.alphas[path.best()[0]])


def small_rectangle(problem: Problem, rows: int, centers: int) -> tuple[Problem, RectangleFactor]:
    """The same problem with fewer rows and uniform centers among them."""
    part = problem.subset(problem.random_rows(rows))
    n = part.X.shape[0]
    own = np.sort(part.rng.choice(n, min(centers, n), replace=False))
    basis = CenterBasis(part.kernel, part.X[own], part.X.dtype)
    weighting = part.weighting()
    return part, RectangleFactor(basis, rows_of(part.X), part.Y, weighting, own[basis.kept])


# --- the width ---


def choose_width(problem: Problem, start: Any) -> list[Step]:
    """Choose the width that is ``"auto"`` by rectangles with some rows and centers.

    ``start`` is a search with all rows as centers, for few rows: it is run first.
    """
    name = free_width(problem.kernel)
    few = problem.subset(problem.random_rows(WIDTH_ROWS))
    few.searched_width = name
    few.selector = None
    found = start(few)
    term = term_of(few.kernel, name)
    sigma = term.sigma
    journal = Journal(problem.progress, found.steps)
    m = problem.plan.task.centers or problem.X.shape[0]
    if problem.X.shape[0] > WIDTH_ROWS and np.ndim(sigma) == 0:
        search = _WidthSearch(problem, name, float(sigma), min(m, THIN_WIDTH_CENTERS), journal)
        sigma = search.run()
    problem.kernel = with_width(problem.kernel, name, sigma)
    return journal.steps


class _WidthSearch:
    """One rectangle after the other, on the same rows and centers."""

    def __init__(
        self, problem: Problem, name: str, sigma: float, centers: int, journal: Journal
    ) -> None:
        self._name, self._unit, self._journal = name, sigma, journal
        self._part = problem.subset(problem.random_rows(THIN_WIDTH_ROWS))
        n = self._part.X.shape[0]
        self._own = np.sort(problem.rng.choice(n, min(centers, n), replace=False))
        sample = np.sort(problem.rng.choice(n, min(n, THIN_WIDTH_SAMPLE), replace=False))
        objective = self._part.objective
        if isinstance(objective.criterion, LeaveOneOut):
            objective = objective.with_criterion(LeaveOneOut(sample))
        self._objective = objective

    def run(self) -> float:
        """The best width."""
        problem = self._part
        with problem.stage("search for the width", 8):
            best = 0.5 * bracketed_minimum(
                lambda x: self._error(0.5 * x), 0.0, -2.0 * _FARTHEST, 2.0 * _FARTHEST, worth=5e-3
            )
        return self._unit * float(np.exp(best))

    def _error(self, log_scale: float) -> float:
        part, sigma = self._part, self._unit * float(np.exp(log_scale))
        kernel = with_width(part.kernel, self._name, sigma)
        basis = CenterBasis(kernel, part.X[self._own], part.X.dtype)
        factor = RectangleFactor(
            basis, rows_of(part.X), part.Y, part.weighting(), self._own[basis.kept]
        )
        if isinstance(part.alpha, str):
            path = choose_automatically(self._objective, factor)
        else:
            path = evaluate(self._objective, factor, np.atleast_1d(part.alpha))
        best = path.best()
        step = Step(
            sigma=sigma,
            alpha=float(path.alphas[best[0]]),
            score=float(path.reported[:, best[0]].mean()),
            dof=float(path.dof[best[0]]),
            rows=part.X.shape[0],
            bits=int(path.bits[best[0]]),
        )
        self._journal.steps.append(step)
        self._journal.progress.step(f"sigma = {sigma:.3g}, alpha = {step.alpha:.3g}", step.score)
        return -float(path.scores[np.arange(best.size), best].mean())


def reduced(problem: Problem) -> Problem:
    """For ``subset``: the rows that are centers, all others set aside as if of weight zero.

    A width that is to be chosen with the centers is chosen with these, later: only selectors that
    look at kernel values see it before.
    """
    if free_width(problem.kernel):
        kernel = problem.kernel
        problem.kernel = with_width(kernel, free_width(kernel), "median").resolve(
            problem.X, problem.rng
        )
        centers = choose_centers(problem)
        problem.kernel = kernel
    else:
        centers = choose_centers(problem)
    if (centers.rows < 0).any():
        msg = (
            'solver="subset" fits the rows that are centers, and some of these are no rows: use '
            'solver="rectangle", or give their indices, centers=Given(points, indices=...)'
        )
        raise ValueError(msg)
    own = np.unique(centers.rows)
    if own.size < 2 and not isinstance(problem.alpha, float):
        msg = (
            f'solver="subset" needs at least two rows to choose alpha, and there is {own.size} '
            "center: give a number for alpha, or ask for more centers"
        )
        raise ValueError(msg)
    rest = np.delete(np.arange(problem.X.shape[0]), own)
    columns = problem.Y[rest] * problem.Y.dtype.type(problem.unit)
    without = np.setdiff1d(np.arange(problem.n_rows), problem.kept)  # rows of weight zero
    order = np.argsort(np.concatenate([without, problem.kept[rest]]))
    small = problem.subset(own)
    task = replace(
        problem.plan.task, n=own.size, centers=0, sampled=0, largest_fold=_largest_fold(small)
    )
    plan = make_plan(task, "auto", problem.plan.memory_limit)
    return replace(
        small,
        plan=replace(plan, stages=problem.plan.stages),
        requested="auto",
        selector=None,
        aside=Aside(problem.X, rest, order),
        dropped_columns=np.concatenate([problem.dropped_columns, columns])[order],
    )


def _largest_fold(problem: Problem) -> int:
    criterion = problem.objective.criterion
    return criterion.largest() if isinstance(criterion, Folds) else 0
