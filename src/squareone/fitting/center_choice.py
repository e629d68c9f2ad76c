"""The choice of the centers of a fit, and the fit of these rows alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..centers import Given
from ..devices import HOST
from ..kernels.widths import free_width, with_width
from ..planning import make_plan
from ..rows import rows_of
from ..rows.matching import find_rows
from ..selection import Folds
from ..solvers.registry import USUAL_WITH_CENTERS
from .problem import Aside, Centers, Problem


def choose_centers(problem: Problem) -> Centers:
    """Choose the centers, for the kernel as it is."""
    selector = problem.selector
    assert selector is not None
    with problem.stage("choice of centers"):
        if isinstance(selector, Given):
            return _given(problem, selector)
        rng = np.random.RandomState(problem.request.centers_seed)
        with HOST.active():  # rows are looked at one by one
            found = selector._choose(problem.kernel, problem.X, rng)
    if found.indices is None:
        return _points(found.points)
    return Centers(found.points, found.indices, problem.kept[found.indices])


def _points(points: Any) -> Centers:
    """Centers that are no rows."""
    nowhere = np.full(points.shape[0], -1)
    return Centers(points, nowhere, nowhere)


def _given(problem: Problem, selector: Given) -> Centers:
    """Row numbers are those of all the user's rows; one of weight zero is no center."""
    points, numbers = selector.placed(problem.X, problem.n_rows)
    if numbers is None:
        numbers = _rows_that_are(problem, points)
    position = np.full(problem.n_rows + 1, -1)  # the last for points that are no rows
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
    stay = (rows >= 0) | (numbers < 0)
    if not stay.any():
        msg = (
            f"Given: all {numbers.size:,} points are rows of weight zero, which take no part in a "
            "fit and are no centers: give points that are other rows, or none"
        )
        raise ValueError(msg)
    return Centers(points if stay.all() else points[stay], rows[stay], numbers[stay])


def _rows_that_are(problem: Problem, points: Any) -> Array:
    """Numbers (m,) of the user's rows that points are equal to: rows of the fit come first."""
    found = find_rows(rows_of(points), rows_of(problem.X))
    numbers = np.where(found >= 0, problem.kept[found], -1)
    others = np.flatnonzero(found < 0)
    if others.size and problem.dropped.shape[0]:
        without = np.setdiff1d(np.arange(problem.n_rows), problem.kept)
        found = find_rows(rows_of(points[others]), rows_of(problem.dropped))
        numbers[others] = np.where(found >= 0, without[found], -1)
    return numbers


def center_rows_only(problem: Problem) -> Problem:
    """The rows that are centers, all others set aside as if of weight zero, for an exact solver.

    A width that is to be chosen with the centers is chosen with these, later: only selectors that
    look at kernel values see it before.
    """
    kernel = problem.kernel
    if free_width(kernel):
        kernel = with_width(kernel, free_width(kernel), "median").resolve(problem.X, problem.rng)
    centers, name = choose_centers(problem.with_kernel(kernel)), problem.plan.solver
    no_rows = centers.rows < 0
    if no_rows.any():
        msg = (
            f'solver="{name}" fits the rows that are centers, and {np.count_nonzero(no_rows):,} of '
            f'{no_rows.size:,} centers are equal to no row: use solver="{USUAL_WITH_CENTERS}", or '
            "give rows"
        )
        raise ValueError(msg)
    own = np.unique(centers.rows)
    if own.size < 2 and not isinstance(problem.alpha, float):
        msg = (
            f'solver="{name}" needs at least two rows to choose alpha, and there is {own.size} '
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
        plan=plan,
        free=True,
        selector=None,
        aside=Aside(problem.X, rest, order),
        dropped_columns=np.concatenate([problem.dropped_columns, columns])[order],
    )


def _largest_fold(problem: Problem) -> int:
    criterion = problem.objective.criterion
    return criterion.largest() if isinstance(criterion, Folds) else 0
