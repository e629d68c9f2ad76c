"""The path of solutions, and λ chosen on it by values of models that have not seen the row."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from ..fitting.progress import Progress
from ..models import KernelExpansion
from ..threads import for_each, one_core, shared_cores
from .certificates import ColumnProblem
from .column_solution import ColumnSolution, solve_column, start_from, start_from_few
from .kernel_systems import KernelSystem, MatrixSystem
from .left_out_values import estimated_values, left_out_values
from .svm_task import Fold, ScaledSystem, SVMTask

# Where λ is looked for: C times the mean k(x, x), at first, and from step to step.
_FIRST, _LAST, _FACTOR = 1.0 / 16.0, 1024.0, 4.0
# Values beyond these ends, while the best is at one.
_FARTHER = 4
# Rows up to which a second core is no gain.
_SMALL_ROWS = 1500
# What a row has to be right by to be no part of an error.
_SOFT = 0.5
# How far the hinge is rounded off at first where a λ is solved again, more exactly.
_AGAIN = 0.04
#: The gap of solutions from which exact leave-one-out values are taken.
EXACT = 1e-10


@dataclass(frozen=True)
class LeftOut:
    """Values of models that have not seen their rows.

    Attributes
    ----------
    rows : array (r,)
        Which rows of the fit; with overlapping folds a row may be there more than once.
    values : array (r, t)
    how : {"estimated", "exact", "folds"}
    radius : array (r, t) or None
        Of exact values: how far they may be off at most, NaN where nothing is known.
    """

    rows: Array
    values: Array
    how: str
    radius: Array | None = None


@dataclass(frozen=True)
class Look:
    """One λ: the solutions (one per column), and how good they are on rows that they have not seen.

    Attributes
    ----------
    alpha : float
    solutions : list of ColumnSolution
    left_out : LeftOut or None
    score : float
        Minus the share of errors, or what the scorer says; greater is better.
    loss : float
        The mean loss of the left-out values.
    error : float
        The share of errors.
    soft_error : float
        The same where a row near the boundary is a part of one.
    """

    alpha: float
    solutions: list[ColumnSolution]
    left_out: LeftOut | None = None
    score: float = np.nan
    loss: float = np.nan
    error: float = np.nan
    soft_error: float = np.inf

    @property
    def rank(self) -> tuple[float, float]:
        """What is compared: the score, and the loss between equal ones."""
        return self.score, -self.loss

    @property
    def settled(self) -> bool:
        """Whether no row is at its upper bound, so that a smaller λ changes nothing."""
        return all(
            not solution.problem.squared and not solution.sets()[1].any()
            for solution in self.solutions
        )


class ColumnPaths:
    """Solutions of all columns at one λ after the other, each from the nearest one."""

    def __init__(self, scaled: ScaledSystem, task: SVMTask) -> None:
        self.scaled, self.task = scaled, task
        self._signs, self._weights = task.signs, task.column_weights
        self._had: dict[float, list[ColumnSolution]] = {}

    def at(
        self,
        alpha: float,
        tolerance: float,
        visit: Callable[[int, ColumnSolution], None] | None = None,
    ) -> list[ColumnSolution]:
        """The solutions at λ, to a relative gap of ``tolerance``. Columns share the cores.

        ``visit`` is called for every column, while its last system is still there.
        """
        near = sorted(self._had, key=lambda had: (had < alpha, abs(np.log(had / alpha))))[:2]
        found: dict[int, ColumnSolution] = {}

        def solve(j: int) -> None:
            problem = ColumnProblem(
                np.ascontiguousarray(self._signs[:, j]),
                np.ascontiguousarray(self._weights[:, j]),
                alpha / self.scaled.unit,
                self.task.squared,
                self.task.free_intercept,
            )
            system = self.scaled.system
            if near:
                start = start_from(system, problem, *(self._had[had][j] for had in near))
                share = _AGAIN if near[0] == alpha else 1.0
            else:
                start, share = start_from_few(system, problem)
            solution = solve_column(system, problem, start, tolerance, share)
            if visit is not None:
                visit(j, solution)
            found[j] = replace(solution, block=None)

        columns = range(self._signs.shape[1])
        for_each(solve, columns)
        self._had[alpha] = [found[j] for j in columns]
        return self._had[alpha]


class FoldPaths:
    """Solutions without the rows of a fold, and their values there."""

    def __init__(self, scaled: ScaledSystem, task: SVMTask, fold: Fold) -> None:
        self.rows = fold.rows
        self._own: KernelExpansion | None = None
        self._rest, self._whole = fold.rest, scaled.system
        if fold.kernel is None:
            part, own = _rows_of(task, fold.rest), scaled.part(fold.rest)
        else:
            part = replace(task.part(fold.rest), kernel=fold.kernel)
            own = ScaledSystem.of(part)
            nothing = np.zeros((part.n, 0))
            self._own = KernelExpansion(fold.kernel, part.X, fold.rest, nothing, np.zeros(0))
            self._new = task.X[fold.rows].astype(np.float64, copy=False)
        self._scaled, self._paths = own, ColumnPaths(own, part)

    def values(self, alpha: float, tolerance: float) -> Array:
        """Values (r, t) at the rows of the fold, of solutions to a gap of ``tolerance``."""
        points = [each.point for each in self._paths.at(alpha, tolerance)]
        C = np.stack([point.coefficients for point in points], axis=1)
        b = np.array([point.intercept for point in points])
        if self._own is None:
            return _cross(self._whole, self.rows, self._rest, C) + b
        C = C / self._scaled.unit
        if self._scaled.constant:
            b = b + C.sum(axis=0)
        if self._scaled.origin is not None:
            b = self._scaled.hyperplane(self._own.centers, C, b, C.dtype)[1]
        return replace(self._own, coefficients=C, intercepts=b).values(self._new)


def _fold_values(folds: list[FoldPaths], alpha: float, tolerance: float) -> LeftOut:
    values = np.concatenate([fold.values(alpha, tolerance) for fold in folds])
    return LeftOut(np.concatenate([fold.rows for fold in folds]), values, "folds")


class AlphaSearch:
    """Looks at one λ after the other."""

    def __init__(self, scaled: ScaledSystem, task: SVMTask, progress: Progress) -> None:
        self.scaled, self.task, self.progress = scaled, task, progress
        self.paths = ColumnPaths(scaled, task)
        self.looks: list[Look] = []
        self._folds = [FoldPaths(scaled, task, fold) for fold in task.folds or []]

    def look(self, alpha: float, *, scored: bool = True) -> Look:
        """Solve at λ, and score."""
        values = np.empty(self.task.Y.shape)

        def estimate(j: int, solution: ColumnSolution) -> None:
            values[:, j] = estimated_values(self.scaled.system, solution, solution.block)

        visit = estimate if scored and not self._folds else None
        found = Look(alpha, self.paths.at(alpha, self.task.tolerance, visit))
        if visit is not None:
            seen = self.task.seen
            found = self.scored(found, LeftOut(seen, values[seen], "estimated"))
        elif scored:
            found = self.scored(found, self.held_out(found, self.task.tolerance))
        self.looks.append(found)
        self.progress.step(f"alpha = {alpha:.3g}", None if np.isnan(found.score) else found.score)
        return found

    def held_out(self, look: Look, tolerance: float) -> LeftOut:
        """Values of folds, to a gap of ``tolerance``."""
        return _fold_values(self._folds, look.alpha, tolerance)

    def by_spare_folds(self, look: Look) -> Look:
        """With values of folds at this λ only, one fold after the other."""
        assert self.task.spare_folds is not None
        found = [
            _fold_values([FoldPaths(self.scaled, self.task, fold)], look.alpha, self.task.tolerance)
            for fold in self.task.spare_folds()
        ]
        left_out = LeftOut(
            np.concatenate([each.rows for each in found]),
            np.concatenate([each.values for each in found]),
            "folds",
        )
        return self._in_place(self.scored(look, left_out))

    def accurate(self, look: Look) -> Look:
        """With solutions that are exact but for rounding."""
        solutions = self.paths.at(look.alpha, min(EXACT, self.task.tolerance))
        return self._in_place(replace(look, solutions=solutions))

    def _in_place(self, look: Look) -> Look:
        self.looks = [look if each.alpha == look.alpha else each for each in self.looks]
        return look

    def exact(self, look: Look) -> Look:
        """With exact leave-one-out values, of solutions that are exact."""
        solutions = self.accurate(look).solutions
        found = [left_out_values(self.scaled.system, solution) for solution in solutions]
        values = np.stack([each.values for each in found], axis=1)
        radius = np.stack([each.radius for each in found], axis=1)
        seen = self.task.seen
        left_out = LeftOut(seen, values[seen], "exact", radius)
        self.progress.step(f"leave-one-out, alpha = {look.alpha:.3g}")
        return self._in_place(self.scored(replace(look, solutions=solutions), left_out))

    def scored(self, look: Look, left_out: LeftOut) -> Look:
        """With scores of these values."""
        task, rows = self.task, left_out.rows
        Y, w = task.Y[rows], task.weights
        weights = np.ones(rows.size) if w is None else w[rows].astype(np.float64)
        total = float(weights.sum())
        error = float(weights @ errors(left_out.values, Y, task)) / total
        soft = float(weights @ soft_errors(left_out.values, Y, task)) / total
        slack = np.maximum(1.0 - Y * left_out.values, 0.0)
        slack = np.where(Y != 0, slack * slack if task.squared else slack, 0.0)
        loss = float(weights @ slack.mean(axis=1)) / total
        score = -error
        if task.scorer is not None:
            score = task.scorer(rows, left_out.values, lambda: left_out.values, None)
        return replace(
            look, left_out=left_out, score=score, loss=loss, error=error, soft_error=soft
        )

    def best(self) -> Look:
        """The best of all looks; of equal ones the one of the largest λ."""
        return max(self.looks, key=lambda look: (*look.rank, look.alpha))

    def cores(self) -> AbstractContextManager[None]:
        """How the cores are shared: by columns, or all for one column; few rows have one core."""
        if self.task.n <= _SMALL_ROWS:
            return one_core()
        return shared_cores() if self.task.Y.shape[1] > 1 else nullcontext()

    def choose(self, near: float | None = None) -> Look:
        """Look at a grid, or around for the best λ: from ``near``, where that is known."""
        alphas = self.task.alphas
        with self.cores():
            if alphas is not None:
                chosen = alphas.size > 1
                for alpha in np.sort(alphas)[::-1]:
                    self.look(float(alpha), scored=chosen)
                return self.best() if chosen else self.looks[0]
            return self._search(near)

    def _search(self, near: float | None) -> Look:
        if near is not None:
            for factor in (_FACTOR, 1.0, 1.0 / _FACTOR):
                self.look(near * factor)
        else:
            top = self.scaled.level * self.scaled.unit / 2.0
            bound = _FIRST
            while bound <= _LAST:
                if self.look(top / bound).settled:
                    break
                bound *= _FACTOR
        for _ in range(_FARTHER):
            alphas = [look.alpha for look in self.looks]
            best = self.best()
            if best.alpha == max(alphas):
                self.look(best.alpha * _FACTOR)
            elif best.alpha == min(alphas) and not best.settled:
                self.look(best.alpha / _FACTOR)
            else:
                break
        middle = self.best().alpha
        for factor in (np.sqrt(_FACTOR), 1.0 / np.sqrt(_FACTOR)):
            self.look(middle * factor)
        return self.best()

    def neighbours(self, look: Look) -> list[Look]:
        """The looks at the nearest λ on either side."""
        above = [each for each in self.looks if each.alpha > look.alpha]
        below = [each for each in self.looks if each.alpha < look.alpha]
        found = [min(above, key=lambda each: each.alpha)] if above else []
        return found + ([max(below, key=lambda each: each.alpha)] if below else [])


def errors(values: Array, Y: Array, task: SVMTask) -> Array:
    """Whether rows are wrong (n,): their class, or the share of their labels."""
    targets = task.targets
    if targets.exclusive:
        return (targets.decisions(values).argmax(axis=1) != targets.class_numbers(Y)).astype(float)
    return ((values > 0) != (Y > 0)).mean(axis=1)


def soft_errors(values: Array, Y: Array, task: SVMTask) -> Array:
    """Errors (n,) that go from one to zero between −½ and ½ of what a row is right by.

    Of few rows hardly any is an error; many more are near the boundary.
    """
    targets = task.targets
    if targets.exclusive:
        decisions, own = targets.decisions(values), targets.truth(Y)
        others = np.where(own, -np.inf, decisions).max(axis=1)
        margins = 0.5 * (np.where(own, decisions, 0.0).sum(axis=1) - others)[:, None]
    else:
        margins = Y * values
    return np.clip(0.5 - margins / (2.0 * _SOFT), 0.0, 1.0).mean(axis=1)


def _rows_of(task: SVMTask, rows: Array) -> SVMTask:
    """Columns and weights of some rows; X is not needed where there is a system."""
    w, u = task.weights, task.user_weights
    return replace(
        task,
        Y=task.Y[rows],
        weights=None if w is None else w[rows],
        user_weights=None if u is None else u[rows],
    )


def _cross(system: KernelSystem, rows: Array, rest: Array, C: Array) -> Array:
    """Values (r, t) at ``rows`` of coefficients (s, t) of the rows ``rest``."""
    if isinstance(system, MatrixSystem):
        return system.K[np.ix_(rows, rest)] @ C
    full = np.zeros((system.n, C.shape[1]))
    full[rest] = C
    return np.stack([system.product(c) for c in full.T], axis=1)[rows]
