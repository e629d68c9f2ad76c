"""What a fit leaves behind: the model, and the answers that are computed when first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array
from ..selection import LeaveOneOut, Path, evaluate
from ..solvers import Factor, GramFactor
from ..solvers.costs import AT_ONCE
from ..targets import Labels, Responses
from .problem import Problem
from .walk import Outcome, report_conditioning


class Record:
    """The outcome of a fit.

    Where λ was chosen, or where it costs next to nothing, the score and the leave-one-out values
    are computed at once; for one given λ and many rows on first access, from the kept
    factorisation. That is dropped with ``keep_factor=False`` and never pickled.
    """

    def __init__(
        self, problem: Problem, outcome: Outcome, targets: Responses | Labels, *, keep_factor: bool
    ) -> None:
        self.targets = targets
        self.model = outcome.model
        self.alphas = outcome.alphas
        self._objective = problem.objective
        self._kept = problem.kept
        self._dropped_values = outcome.model.values(problem.dropped)
        self._walked = outcome.path
        self._steps = outcome.steps
        self._width = problem.width()
        self._factor: Factor | None = outcome.factor
        now = outcome.path is not None or _negligible(problem)
        if now and self._kept.size > 1:
            with problem.stage("leave-one-out values"):
                _ = self._path(""), self.leave_one_out_values
        elif isinstance(outcome.factor, GramFactor) and keep_factor:
            outcome.factor.own_rows()
        if not keep_factor:
            self._factor = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_factor": None}

    def _kept_factor(self, name: str) -> Factor:
        if self._factor is None:
            msg = (
                f"{name} was not computed while the factorisation was there (keep_factor=False, or "
                "the estimator was copied or pickled): fit again with keep_factor=True and read "
                "it then"
            )
            raise AttributeError(msg)
        return self._factor

    def _check_rows(self) -> None:
        if self._kept.size < 2:
            msg = "one row of positive weight: there is nothing left when it is left out"
            raise AttributeError(msg)

    def _path(self, name: str) -> Path:
        """The path; for a given λ its one point, computed now, for the attribute ``name``."""
        if self._walked is None:
            self._check_rows()
            factor = self._kept_factor(name)
            self._walked = evaluate(self._objective, factor, self.alphas[:1])
            report_conditioning(factor, self.alphas)
        return self._walked

    def path(self, name: str) -> dict[str, Array]:
        """One array per column, ``alpha`` ascending."""
        path = self._path(name)
        columns = {"alpha": path.alphas, "score": path.scores.mean(axis=0)}
        if self._objective.per_target:
            columns |= {f"score_{i}": row for i, row in enumerate(path.scores)}
        columns |= {"effective_dof": path.dof, "bits": path.bits}
        if self._steps:
            return self._with_steps(columns)
        return {name: values.copy() for name, values in columns.items()}

    def _with_steps(self, columns: dict[str, Array]) -> dict[str, Array]:
        """The looks of the search for the width first, with the columns that only they need."""
        last = self._walked.alphas.size if self._walked is not None else 0
        steps = {
            "alpha": [step.alpha for step in self._steps],
            "score": [step.score for step in self._steps],
            "effective_dof": [step.dof for step in self._steps],
            "bits": [step.bits for step in self._steps],
            "sigma": [step.sigma for step in self._steps],
            "rows": [step.rows for step in self._steps],
        }
        columns |= {
            "sigma": np.full(last, self._width),
            "rows": np.full(last, self._kept.size),
        }
        nothing = np.full(len(self._steps), np.nan)  # a score per target was not computed
        return {
            name: np.concatenate([steps.get(name, nothing), values])
            for name, values in columns.items()
        }

    def _at_best(self, path: Path, values: Array) -> float | Array:
        """``values`` (c, L) at the chosen λ: a number, or (t,) with one λ per target."""
        best = path.best()
        chosen = values[np.arange(best.size) % values.shape[0], best]
        return chosen if self._objective.per_target else float(chosen[0])

    def best_score(self, name: str) -> float | Array:
        """Score of the chosen λ; one per target if λ is."""
        path = self._path(name)
        return self._at_best(path, path.scores)

    def degrees_of_freedom(self, name: str) -> float | Array:
        """Trace of the hat matrix at the chosen λ; one per target if λ is."""
        path = self._path(name)
        return self._at_best(path, path.dof[None, :])

    @cached_property
    def leave_one_out_values(self) -> Array:
        """(n, t) over all the user's rows; a row of weight zero has its plain prediction."""
        self._check_rows()
        factor = self._kept_factor("loo_predictions_")
        n = self._kept.size + self._dropped_values.shape[0]
        Y, unit = self._objective.targets, self._objective.unit
        values = np.empty((n, Y.shape[1]), Y.dtype)
        dropped = np.ones(n, bool)
        dropped[self._kept] = False
        values[dropped] = self._dropped_values
        for alpha in np.unique(self.alphas):
            columns = np.flatnonzero(self.alphas == alpha)
            _, errors = LeaveOneOut().held_out(factor, np.array([alpha]))
            values[np.ix_(self._kept, columns)] = (Y - errors[:, :, 0])[:, columns] * unit
        report_conditioning(factor, self.alphas)
        values.flags.writeable = False
        return values


def _negligible(problem: Problem) -> bool:
    """Whether the leave-one-out values of one λ cost too little to wait until somebody asks."""
    n, d = problem.X.shape
    side = min(n, d) if problem.linear else n
    return n * side * side <= AT_ONCE
