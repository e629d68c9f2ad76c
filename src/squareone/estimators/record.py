"""What a fit leaves behind: the model, and the answers that are computed when first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array
from ..selection import LeaveOneOut, Path, evaluate
from ..solvers import Factor
from ..targets import Labels, Responses
from .problem import Problem
from .walk import Outcome, report_conditioning


class Record:
    """The outcome of a fit.

    Where λ was chosen, the leave-one-out values are there already; for one given λ they cost a
    triangular inverse and are computed from the kept factorisation on first access. The
    factorisation is dropped with ``keep_factor=False`` and never pickled.
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
        self._factor: Factor | None = outcome.factor
        if outcome.path is not None:
            with problem.stage("leave-one-out values"):
                _ = self.leave_one_out_values
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

    def _path(self, name: str) -> Path:
        """The path; for a given λ its one point, computed now, for the attribute ``name``."""
        if self._walked is None:
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
        return columns | {"effective_dof": path.dof, "bits": path.bits}

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
        return values
