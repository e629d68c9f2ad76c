"""A criterion or a scorer as one function of λ, greater is better."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..solvers import Factor
from .criteria import Criterion, Folds

#: Score of held-out values: rows (m,), values (m, t), target column or None for all → a number.
HeldOutScorer = Callable[[Array, Array, int | None], float]


class Scores(NamedTuple):
    """What is compared, its standard error (NaN where unknown), its bias, what is shown: (c, L)."""

    compared: Array
    errors: Array
    bias: Array
    reported: Array


class Objective:
    """The score of each λ, in the user's units.

    Parameters
    ----------
    criterion : Criterion
    targets : array (n, t)
        Targets of the rows in the fit, in units of ``unit``.
    unit : float
        What the targets were divided by.
    scorer : callable or None
        None: minus the mean square of the held-out errors.
    per_target : bool
        Whether each target column has its own λ, and so its own scores.
    """

    def __init__(
        self,
        criterion: Criterion,
        targets: Array,
        unit: float,
        scorer: HeldOutScorer | None,
        per_target: bool,
    ) -> None:
        self.criterion = criterion
        self.targets = targets
        self.unit = unit
        self.scorer = scorer
        self.per_target = per_target

    def restricted(self, rows: Array) -> Objective:
        """The same for a fit on ``rows`` (m,) only."""
        scorer = self.scorer
        inner: HeldOutScorer | None = None
        if scorer is not None:

            def inner(held: Array, values: Array, column: int | None) -> float:
                return scorer(rows[held], values, column)

        return Objective(
            self.criterion.restricted(rows), self.targets[rows], self.unit, inner, self.per_target
        )

    def with_criterion(self, criterion: Criterion) -> Objective:
        """The same by another criterion."""
        return Objective(criterion, self.targets, self.unit, self.scorer, self.per_target)

    @property
    def smooth(self) -> bool:
        """Whether a search may follow it: a smooth function of a single λ."""
        return self.scorer is None and not self.per_target

    @property
    def holds_values(self) -> bool:
        """Whether the held-out values of all rows are stored on the way to a score."""
        return self.scorer is not None or isinstance(self.criterion, Folds)

    def __call__(self, factor: Factor, alphas: Array) -> Scores:
        """Scores for ``alphas`` (L,), with c = 1 or one row per target."""
        if self.scorer is not None:
            scores = self._held_out_scores(factor, alphas)
            return Scores(scores, np.full_like(scores, np.nan), np.zeros_like(scores), scores)
        measured = self.criterion.measure(factor, alphas)
        rows = slice(None, -1) if self.per_target else slice(-1, None)
        means, errors = measured.means[rows], measured.errors[rows]
        square = self.unit * self.unit
        bias = np.zeros_like(means) if measured.bias is None else -measured.bias[rows] * square
        return Scores(
            -means * square,
            errors * square,
            bias,
            self.criterion.reported(means, factor, self.unit),
        )

    def _held_out_scores(self, factor: Factor, alphas: Array) -> Array:
        assert self.scorer is not None
        rows, errors = self.criterion.held_out(factor, alphas)
        values = (self.targets[rows, :, None] - errors) * self.unit
        columns = range(values.shape[1]) if self.per_target else [None]
        return np.array(
            [
                [self.scorer(rows, values[:, :, i], column) for i in range(alphas.size)]
                for column in columns
            ]
        )
