"""The greedy fit: one center after the other, with λ re-estimated at every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from .basis import Basis, ValidationRows
from .kernel_columns import Columns
from .largest_residual import Residual
from .model_path import GreedyPath, filtered
from .next_center import Choice, Chooser, State
from .penalty import Fit, Update
from .stopping import best_of, should_stop


@dataclass
class Rule:
    """How far to go and where to come back to.

    Attributes
    ----------
    most : int
        Centers at most.
    criterion : callable
        Least for the best model, of a fit, λ and the number of candidates.
    count : int or None
        The number of centers, where it is given: the criterion then only goes on record.
    condition_limit : float
        For the paper's Q, whose columns have the lengths at which they came.
    unit : float
        By which the targets were divided; criteria are in the units that they had.
    """

    most: int
    criterion: Callable[[Fit, float, int], float]
    count: int | None
    condition_limit: float
    unit: float = 1.0


class Watched:
    """Rows beside the fit, and what is to be learned of them."""

    def __init__(self, rows: ValidationRows, targets: Array, weights: Array | None) -> None:
        self.rows, self._targets = rows, targets
        self._shares = None if weights is None else weights / weights.sum()
        self.errors: list[float] = []

    def note(self, weights: Array) -> float:
        """The mean square error of a model."""
        wrong = np.square(self.rows.values(weights) - self._targets, dtype=np.float64)
        each = wrong.sum(axis=1)
        self.errors.append(float(each.mean() if self._shares is None else self._shares @ each))
        return self.errors[-1]


def greedy_path(
    columns: Columns,
    targets: Array,
    root: Array | None,
    chooser: Chooser,
    update: Update,
    rule: Rule,
    *,
    intercept: bool,
    watched: Watched | None = None,
    validated: bool = False,
    watch: Callable[[int, int], None] = lambda done, most: None,
) -> GreedyPath:
    """Choose centers until the rule says that there are enough.

    Parameters
    ----------
    columns : Columns
    targets : array (n, t)
    root : array (n,) or None
        √w.
    chooser : Chooser
    update : callable
        The next λ from a fit and the last one.
    rule : Rule
    intercept : bool
        Whether a constant is in the model, unpenalised.
    watched : Watched, optional
        Rows that are predicted by every model.
    validated : bool
        Whether the number of centers is that of the least error on these.
    watch : callable
        Told how many centers there are, and how many there can be.

    Notes
    -----
    **Cost**, for m centers and n rows: 2nm² flops to make columns orthogonal, up to four times that
    where they are ill-conditioned, and mnd for the columns; nm numbers.
    """
    run = _Run(columns, targets, root, update, rule.most, intercept)
    run.begin(watched)
    ended = "max_centers"
    values: list[float] = []

    def judge() -> None:
        error = watched.note(run.weights()) if watched is not None else 0.0
        fit = run.fit.in_units(rule.unit)
        if validated:
            values.append(error * rule.unit**2)
        else:
            values.append(rule.criterion(fit, run.penalty, columns.count))

    judge()
    # at rows that repeat functions take one value: these, and the constant, are all there are
    most = columns.distinct - int(intercept)
    while run.centers < rule.most:
        if run.exhausted():
            ended = "exact"
            break
        choice = chooser.next(run.state()) if run.centers < most else None
        if choice is None:
            ended = "candidates"
            break
        if run.condition_with(choice) > rule.condition_limit:
            ended = "condition_limit"
            break
        run.append(choice, watched)
        chooser.learned(run.basis.directions[:, -1], run.projections[-1])
        judge()
        watch(run.centers, rule.most)
        if rule.count is None and should_stop(best_of(np.array(values)), run.centers):
            ended = "criterion"
            break
    best = best_of(np.array(values)) if rule.count is None else min(rule.count, run.centers)
    return run.path(np.array(values), best, ended, chooser.skipped)


class _Run:
    """A fit on its way."""

    def __init__(
        self,
        columns: Columns,
        targets: Array,
        root: Array | None,
        update: Update,
        most: int,
        intercept: bool,
    ) -> None:
        self.columns, self._root, self._update = columns, root, update
        self.free = int(intercept)
        # in float64 whatever the rows are: it is short, and what is small in the end counts
        self.unexplained = targets.astype(np.float64)
        if root is not None:
            self.unexplained *= root[:, None]
        self._scale = float(np.square(self.unexplained).sum())
        self.basis = Basis(columns.n, most + self.free, columns.dtype)
        self._residual = Residual(self.basis, self.unexplained, root)
        self.projections = np.empty((0, targets.shape[1]))
        self.penalty = 0.0
        self.chosen: list[int] = []
        self._repeats: list[int] = []
        self._records: list[tuple[float, ...]] = []
        self.fit = self._fitted()

    @property
    def centers(self) -> int:
        return len(self.chosen)

    def begin(self, watched: Watched | None) -> None:
        """The model without centers."""
        if self.free:
            root = np.ones(self.columns.n) if self._root is None else self._root
            length = self.basis.append(root.astype(self.columns.dtype), np.empty(0))
            self._project()
            if watched is not None:
                watched.rows.constant(length)
        self._record()

    def append(self, choice: Choice, watched: Watched | None) -> None:
        """One more center."""
        length = self.basis.append(choice.rest, choice.within)
        self._project()
        self.chosen.append(choice.candidate)
        self._repeats.append(choice.repeats)
        self.penalty = self._update(self.fit, self.penalty)
        if watched is not None:
            watched.rows.append(choice.candidate, choice.within, length)
        self._record()

    def _project(self) -> None:
        """Move what the new column explains from the residual to its coefficient."""
        q = self.basis.directions[:, -1].astype(np.float64, copy=False)
        z = q @ self.unexplained
        self.unexplained -= q[:, None] * z
        self.projections = np.vstack([self.projections, z])
        self.fit = self._fitted()

    def _fitted(self) -> Fit:
        return Fit(
            self.columns.n,
            self.free,
            np.square(self._lengths()),
            np.square(self.projections[self.free :]).sum(axis=1),
            float(np.square(self.unexplained).sum()),
            self.unexplained.shape[1],
        )

    def _lengths(self) -> Array:
        return np.diagonal(self.basis.triangle)[self.free :]

    def weights(self) -> Array:
        """Of the orthonormal columns: (m + free, t)."""
        lengths = np.diagonal(self.basis.triangle)
        return filtered(lengths, self.projections, self.penalty, self.free)

    def state(self) -> State:
        """For whoever chooses."""
        self._residual.update(self.projections - self.weights())
        return State(self.basis, self._residual, self.unexplained, self.penalty)

    def exhausted(self) -> bool:
        """Whether the residual is nothing but rounding."""
        eps = float(np.finfo(self.columns.dtype).eps)
        return self.fit.unexplained <= (16.0 * eps) ** 2 * self._scale

    def condition_with(self, choice: Choice) -> float:
        """The condition of the paper's Q with one more column."""
        lengths = np.append(self._lengths(), np.linalg.norm(choice.rest))
        return float(lengths.max() / lengths.min())

    def _record(self) -> None:
        fit, lengths = self.fit, self._lengths()
        condition = float(lengths.max() / lengths.min()) if lengths.size else 1.0
        self._records.append(
            (
                self.penalty,
                fit.gcv(self.penalty),
                fit.residual(self.penalty) / self._weight(),
                fit.degrees(self.penalty),
                condition,
            )
        )

    def _weight(self) -> float:
        root = self._root
        return float(self.columns.n if root is None else np.square(root, dtype=np.float64).sum())

    def path(self, values: Array, best: int, ended: str, skipped: int) -> GreedyPath:
        """All there is to remember."""
        penalties, gcv, errors, degrees, conditions = np.array(self._records).T
        return GreedyPath(
            n=self.columns.n,
            candidates=np.array(self.chosen, int),
            triangle=self.basis.triangle.copy(),
            projections=self.projections,
            penalties=penalties,
            gcv=gcv,
            criterion=values,
            errors=errors,
            degrees=degrees,
            conditions=conditions,
            repeats=np.array(self._repeats, int),
            free=self.free,
            best=best,
            ended=ended,
            skipped=skipped,
        )
