"""The width of a kernel, chosen by rectangles with some of the rows and centers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..estimators.thin import rectangle_of
from ..kernels.widths import free_width, term_of, with_width
from ..selection import LeaveOneOut, bracketed_minimum, choose_automatically, evaluate
from ..solvers.center_costs import THIN_WIDTH_CENTERS, THIN_WIDTH_ROWS, THIN_WIDTH_SAMPLE
from ..solvers.cost_counts import WIDTH_ROWS
from .problem import Problem
from .width_search import Journal, Step

_FARTHEST = 12.0 * float(np.log(2.0))


def choose_thin_width(problem: Problem, start: Any) -> list[Step]:
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
        self._own = self._part.random_rows(centers)
        sample = self._part.random_rows(THIN_WIDTH_SAMPLE)
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
        factor = rectangle_of(part, kernel, self._own)
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
