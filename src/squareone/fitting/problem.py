"""What a fit has to solve."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import Array, power_of_two
from ..centers import Selector
from ..estimators.sample import Sample
from ..estimators.validation import in_memory
from ..kernels import Kernel, Precomputed
from ..kernels.widths import free_width, term_of
from ..persistence.checkpoint import Checkpoint
from ..rows import SomeRows, Stream
from ..selection import Objective
from ..selection.criteria import Criterion
from ..selection.objective import HeldOutScorer
from ..solvers import Plan
from ..targets import Labels, Responses
from .progress import Progress, readable_time

#: Solvers that read their rows block by block; others need all of them in memory.
STREAMED = ("gram", "krylov", "pcg", "rectangle", "subset")
# An expected relative error above this is reported, and refused at λ = 0.
WORTH_A_WARNING = 1e-2


@dataclass
class Request:
    """What the user asked for, checked, over all the user's rows; see :class:`Problem`."""

    X: Any
    targets: Responses | Labels
    columns: Array
    weights: Array | None
    user_weights: Array | None
    kept: Array
    kernel: Kernel
    alpha: float | Array | str
    criterion: Criterion
    scorer: HeldOutScorer | None
    per_target: bool
    intercept: bool
    solver: str
    plan: Plan
    rng: np.random.RandomState
    tolerance: float
    most_iterations: int
    selector: Selector | None
    centers_seed: int
    scored: Array | None
    checkpoint: str | os.PathLike[str] | None


@dataclass(frozen=True)
class Aside:
    """Rows ``rest`` (m,) of ``X`` (n, d) that a fit to the others sets aside.

    ``order`` (k,) puts them, after the rows of weight zero, into the order of the user's.
    """

    X: Any
    rest: Array
    order: Array


@dataclass
class Problem(Sample):
    """Everything a fit needs, validated.

    Attributes
    ----------
    unit : float
        What the targets were divided by.
    alpha : float, array or "auto"
    objective : Objective
    plan : Plan
        Its solver may be changed for a better conditioned one where ``requested`` is ``"auto"``.
    kept : array (n,)
        Which of the user's rows these are: those of positive weight.
    dropped : array or CSR matrix
        The other rows (m, d), or their kernel values (m, n).
    dropped_columns : array (m, t)
        Their targets.
    selector : Selector or None
        What chooses the centers, with random numbers of its own (``centers_seed``); None where all
        rows are.
    scored : array (s,) or None
        Random rows that are left out in place of all, where all would be dear.
    aside : Aside or None
        Further rows that the fit does not see.
    checkpoint : str, PathLike or None
        A file in which a long fit is kept on its way, by the ``keeper``.
    """

    unit: float
    alpha: float | Array | str
    objective: Objective
    plan: Plan
    requested: str
    kept: Array
    dropped: Any
    dropped_columns: Array
    rng: np.random.RandomState
    tolerance: float
    most_iterations: int
    searched_width: str = ""  # the name of the parameter that was "auto"
    selector: Selector | None = None
    centers_seed: int = 0
    scored: Array | None = None
    aside: Aside | None = None
    checkpoint: str | os.PathLike[str] | None = None
    keeper: Checkpoint | None = None
    progress: Progress = field(default_factory=Progress.silent)

    @classmethod
    def of(cls, request: Request, progress: Progress) -> Problem:
        """Rows of weight zero set aside, the kernel's parameters made numbers, y given a unit."""
        X, columns, weights, kept = request.X, request.columns, request.weights, request.kept
        if request.plan.solver not in STREAMED:
            X = in_memory(X)
        dropped, dropped_columns = X[:0], columns[:0]
        if weights is not None and kept.size < X.shape[0]:
            without = np.flatnonzero(weights == 0)
            given = isinstance(request.kernel, Precomputed)
            dropped = X[np.ix_(without, kept)] if given else X[without]
            X = X[np.ix_(kept, kept)] if given else _some(X, kept)
            dropped_columns = columns[without]
            columns, weights = columns[kept], weights[kept]
        unit = power_of_two(columns)
        Y = np.ascontiguousarray(columns / columns.dtype.type(unit))
        criterion = request.criterion.in_units(unit)
        return cls(
            X=X,
            Y=Y,
            unit=unit,
            weights=weights,
            intercept=request.intercept,
            kernel=request.kernel.resolve(X, request.rng),
            alpha=request.alpha,
            objective=Objective(criterion, Y, unit, request.scorer, request.per_target),
            plan=request.plan,
            requested=request.solver,
            kept=kept,
            dropped=dropped,
            dropped_columns=dropped_columns,
            rng=request.rng,
            tolerance=request.tolerance,
            most_iterations=request.most_iterations,
            searched_width=free_width(request.kernel),
            progress=progress,
            selector=request.selector,
            centers_seed=request.centers_seed,
            scored=request.scored,
            checkpoint=request.checkpoint,
            thin=request.plan.task.centers > 0 and request.plan.solver != "subset",
        )

    @property
    def n_rows(self) -> int:
        """All the user's rows."""
        return self.X.shape[0] + self.dropped.shape[0]

    def values_aside(self, model: Any) -> Array:
        """Predictions (m, t) at rows of weight zero, and at others the fit did not see."""
        values = model.values(self.dropped)
        if self.aside is None:
            return values
        others = model.values(self.aside.X)[self.aside.rest]
        return np.concatenate([values, others])[self.aside.order]

    def width(self) -> float:
        """The width that was chosen; NaN where none was, the geometric mean of several."""
        if not self.searched_width:
            return np.nan
        return geometric_mean(term_of(self.kernel, self.searched_width).sigma)

    @contextmanager
    def stage(self, name: str, steps: int | None = None) -> Iterator[None]:
        """Count the seconds spent inside towards a stage of the plan, and show how far it is."""
        start = time.perf_counter()
        try:
            with self.progress.stage(name, steps):
                yield
        finally:
            spent = time.perf_counter() - start
            self.plan.stages[name] = self.plan.stages.get(name, 0.0) + spent

    def watch(self, iterations: int, residual: float) -> None:
        """Show an iteration to who waits, and how long the others may take."""
        left = ""
        if 0 < residual < 1 and iterations > 1 and residual > self.tolerance:
            share = np.log(self.tolerance) / np.log(residual)  # residuals fall by a constant factor
            left = f", about {readable_time(self.progress.spent() * (share - 1.0))} left"
        self.progress.step(f"iteration {iterations}, relative residual {residual:.2g}{left}")

    def watch_rows(self, rows: int) -> None:
        """Show how many rows have been seen, how fast, and how long the rest will take."""
        n, spent = self.X.shape[0], self.progress.spent()
        rate = rows / max(spent, 1e-9)
        left = "" if rows == n else f", about {readable_time((n - rows) / rate)} left"
        self.progress.step(f"{rows:,} of {n:,} rows, {rate:,.3g} rows/s{left}")

    def subset(self, rows: Array) -> Problem:
        """The same problem for ``rows`` (m,) only."""
        return replace(
            self,
            X=self.X[np.ix_(rows, rows)] if self.given else self.X[rows],
            Y=self.Y[rows],
            weights=None if self.weights is None else self.weights[rows],
            objective=self.objective.restricted(rows),
            kept=self.kept[rows],
            scored=None,
        )

    def random_rows(self, size: int) -> Array:
        """Row numbers, ascending, drawn without replacement; all of them if there are no more."""
        n = self.X.shape[0]
        return np.arange(n) if size >= n else np.sort(self.rng.choice(n, size, replace=False))


def _some(X: Any, rows: Array) -> Any:
    return SomeRows(X, rows) if isinstance(X, Stream) else X[rows]


def geometric_mean(widths: Any) -> float:
    """Of one width, or of one for every feature."""
    return float(np.exp(np.mean(np.log(widths))))
