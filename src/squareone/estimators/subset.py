"""Solver ``subset``: a fit of the rows that are centers, and of no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..fitting.problem import Aside, Problem
from ..kernels.widths import free_width, with_width
from ..selection import Folds
from ..solvers import make_plan
from .thin import choose_centers


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
