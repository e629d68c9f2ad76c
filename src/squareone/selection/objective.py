"""A criterion or a scorer as one function of λ, greater is better."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..solvers import Factor
from .comparable_values import comparable_values
from .criteria import Criterion, Folds, HeldOut

# The share of a standard error by which scores have to differ.
_TIE = 1e-3

#: Score of held-out values: rows (m,), values (m, t), what gives those that can be compared with
#: each other (m, t), target column or None for all → a number.
HeldOutScorer = Callable[[Array, Array, Callable[[], Array], int | None], float]


class Scores(NamedTuple):
    """Rows (c, L): what is compared, its standard error (NaN where unknown), and its bias.

    ``tie`` is by how much scores may differ and be taken for equal; ``reported`` is what is shown.
    ``squares`` (q, L) are what some of the rows add to the scores, if it is known and these are of
    all targets together; see :class:`~squareone.selection.criteria.Measured`.
    """

    compared: Array
    errors: Array
    bias: Array
    tie: Array
    reported: Array
    squares: Array


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

            def inner(
                held: Array, values: Array, comparable: Callable[[], Array], column: int | None
            ) -> float:
                return scorer(rows[held], values, comparable, column)

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
    def knows_interpolation(self) -> bool:
        """Whether the score means something where a fit passes through nearly all targets."""
        return self.criterion.knows_interpolation

    @property
    def holds_values(self) -> bool:
        """Whether the held-out values of all rows are stored on the way to a score."""
        return self.scorer is not None or isinstance(self.criterion, Folds)

    def __call__(self, factor: Factor, alphas: Array) -> Scores:
        """Scores for ``alphas`` (L,), with c = 1 or one row per target."""
        if self.scorer is not None:
            scores = self._held_out_scores(factor, alphas)
            unknown, none = np.full_like(scores, np.nan), np.zeros_like(scores)
            return Scores(scores, unknown, none, none, scores, none[:0])
        measured = self.criterion.measure(factor, alphas)
        rows = slice(None, -1) if self.per_target else slice(-1, None)
        means, errors = measured.means[rows], measured.errors[rows]
        square = self.unit * self.unit
        bias = np.zeros_like(means) if measured.bias is None else -measured.bias[rows] * square
        return Scores(
            -means * square,
            errors * square,
            bias,
            _TIE * self.criterion.spread(measured, factor)[rows] * square,
            self.criterion.reported(means, factor, self.unit),
            means[:0] if measured.squares is None or self.per_target else measured.squares * square,
        )

    def _held_out_scores(self, factor: Factor, alphas: Array) -> Array:
        assert self.scorer is not None
        held = self.criterion.held_out(factor, alphas)
        columns = range(self.targets.shape[1]) if self.per_target else [None]
        scores = np.empty((len(columns), alphas.size))
        for i in range(alphas.size):
            values = (self.targets[held.rows] - held.errors[:, :, i]) * self.unit
            comparable = partial(self._comparable, held, i, factor)
            for place, column in enumerate(columns):
                scores[place, i] = self.scorer(held.rows, values, comparable, column)
        return scores

    def _comparable(self, held: HeldOut, i: int, factor: Factor) -> Array:
        """Values (m, t) of the i-th λ that can be compared with each other."""
        if factor.weighting.direction is None:  # there is no intercept
            return (self.targets[held.rows] - held.errors[:, :, i]) * self.unit
        return comparable_values(held, i, self.targets, factor.weighting) * self.unit
