"""Fits whose coefficients belong to a few centers: which ones, and the factorisation for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..centers import Given
from ..fitting.problem import Problem
from ..kernels import Kernel
from ..kernels.base import check_range
from ..persistence.checkpoint import Checkpoint, identity_of
from ..rows import rows_of
from ..selection import choose_automatically
from ..solvers import (
    CenterBasis,
    Factor,
    Limits,
    NystromFactor,
    PcgFactor,
    RectangleFactor,
)
from ..solvers.few_centers.center_basis import LEAST_BLOCK, MOST_BLOCK

# Rows and centers of the λ that pcg begins with.
_START_ROWS, _START_CENTERS = 20_000, 1000


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
    if found.indices is None:
        return _points(found.points)
    return Centers(found.points, found.indices, problem.kept[found.indices])


def _points(points: Any) -> Centers:
    """Centers that are no rows."""
    nowhere = np.full(points.shape[0], -1)
    return Centers(points, nowhere, nowhere)


def _given(problem: Problem, selector: Given) -> Centers:
    """Row numbers are those of all the user's rows."""
    points, numbers = selector.placed(problem.X, problem.n_rows)
    if numbers is None:
        return _points(points)
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
    part = problem.subset(problem.random_rows(_START_ROWS))
    own = part.random_rows(_START_CENTERS)
    path = choose_automatically(part.objective, rectangle_of(part, part.kernel, own))
    return float(path.alphas[path.best()[0]])


def rectangle_of(problem: Problem, kernel: Kernel, own: Array) -> RectangleFactor:
    """A rectangle whose centers are the rows ``own`` (m,)."""
    basis = CenterBasis(kernel, problem.X[own], problem.X.dtype)
    rows, weighting = rows_of(problem.X), problem.weighting()
    return RectangleFactor(basis, rows, problem.Y, weighting, own[basis.kept])
