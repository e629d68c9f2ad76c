"""The width of a kernel, chosen by fits with some of the rows and centers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace

import numpy as np

from ..kernels import Kernel
from ..kernels.widths import free_width, term_of, with_width
from ..persistence.checkpoint import restore_random, state_of_random
from ..selection import LeaveOneOut, bracketed_minimum, choose_automatically, evaluate
from ..solvers.contract import State
from ..solvers.cost_counts import WIDTH_ROWS
from ..solvers.few_centers.center_costs import (
    CENTER_WIDTH_CENTERS,
    CENTER_WIDTH_ROWS,
    CENTER_WIDTH_SAMPLE,
)
from .problem import Problem
from .width_search import Journal, Step, WidthFound

_FARTHEST = 12.0 * float(np.log(2.0))


def choose_width_with_centers(
    problem: Problem, start: Callable[[Problem], WidthFound]
) -> tuple[Kernel, list[Step]]:
    """The kernel with the width that is ``"auto"`` chosen by fits with some rows and centers.

    ``start`` is a search with all rows as centers, for few rows: it is run first.
    """
    name, keeper = free_width(problem.kernel), problem.keeper
    before = None if keeper is None else keeper.restored("width")
    if before is not None:
        return _restored(problem, name, before)
    few = problem.subset(problem.random_rows(WIDTH_ROWS))
    found = start(replace(few, searched_width=name, selector=None))
    sigma = term_of(found.kernel, name).sigma
    journal = Journal(problem.progress, found.steps)
    m = problem.plan.task.centers or problem.X.shape[0]
    if m < problem.X.shape[0] and np.ndim(sigma) == 0:
        search = _WidthSearch(problem, name, float(sigma), min(m, CENTER_WIDTH_CENTERS), journal)
        sigma = search.run()
    random = state_of_random(problem.rng)
    if keeper is not None and random:
        steps = np.array([astuple(step) for step in journal.steps], dtype=np.float64)
        keeper.keep_now("width", {"sigma": np.asarray(sigma), "steps": steps, **random})
    return with_width(problem.kernel, name, sigma), journal.steps


def _restored(problem: Problem, name: str, state: State) -> tuple[Kernel, list[Step]]:
    """The end of a search that another attempt has made."""
    sigma = state["sigma"]
    kernel = with_width(problem.kernel, name, sigma if sigma.ndim else float(sigma))
    restore_random(problem.rng, state)
    steps = [
        Step(width, alpha, score, dof, int(rows), int(bits))
        for width, alpha, score, dof, rows, bits in state["steps"].tolist()
    ]
    return kernel, steps


class _WidthSearch:
    """One rectangle after the other, on the same rows and centers."""

    def __init__(
        self, problem: Problem, name: str, sigma: float, centers: int, journal: Journal
    ) -> None:
        self._name, self._unit, self._journal = name, sigma, journal
        self._part = problem.subset(problem.random_rows(CENTER_WIDTH_ROWS))
        self._own = self._part.random_rows(centers)
        sample = self._part.random_rows(CENTER_WIDTH_SAMPLE)
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
        factor = part.solver.trial(part.rectangle(kernel, self._own), part.Y)
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
