"""The problem of a fit: its rows, targets, kernel and plan at a stage of the procedure.

Nothing in it is changed: a stage that finds a width or takes another solver returns a new one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import Array, power_of_two
from ..centers import Selector
from ..centers.chosen_centers import draw_rows
from ..devices import active_place
from ..kernels import Kernel, Linear, Precomputed
from ..kernels.base import check_range
from ..kernels.precomputed import copy_symmetric
from ..kernels.tiles import kernel_matrix
from ..kernels.widths import free_width, term_of
from ..persistence.checkpoint import Checkpoint
from ..planning import Plan
from ..rows import rows_of
from ..rows.checks import in_memory
from ..rows.stream_views import kept_rows
from ..selection import LeaveOneOut, Objective, choose_automatically
from ..solvers import (
    CenterBasis,
    CentredRows,
    DualFeatures,
    Limits,
    RectangleFactor,
    SymmetricSystem,
    Weighting,
)
from ..solvers.few_centers.center_basis import LEAST_BLOCK
from ..solvers.registry import SOLVERS, Solver
from .progress import Progress, readable_time
from .request import FitRequest

# Rows and centers of the λ that iterations begin with.
_FIRST_ROWS, _FIRST_CENTERS = 20_000, 1000


@dataclass(frozen=True)
class Sample:
    """What the linear system of a fit is made of.

    Attributes
    ----------
    X : array (n, d) or CSR matrix
        Rows of positive weight, or the kernel matrix between them (n, n).
    Y : array (n, t)
        Target columns, of magnitude one.
    weights : array (n,) or None
    intercept : bool
    kernel : Kernel
        With numbers for parameters.
    few_centers : bool
        Whether coefficients belong to centers, not to all rows or to features.
    """

    X: Any
    Y: Array
    weights: Array | None
    intercept: bool
    kernel: Kernel
    few_centers: bool = field(default=False, kw_only=True)

    @property
    def given(self) -> bool:
        """Whether X is a kernel matrix."""
        return isinstance(self.kernel, Precomputed)

    @property
    def linear(self) -> bool:
        """Whether the model is a hyperplane."""
        return isinstance(self.kernel, Linear) and not self.few_centers

    def weighting(self) -> Weighting:
        """Weights and intercept."""
        return Weighting.of(self.X.shape[0], self.weights, self.intercept, self.X.dtype)

    def system(self, dtype: np.dtype | None = None, K: Any = None) -> SymmetricSystem:
        """The kernel matrix made ready, in another precision if asked.

        ``K`` (n, n) is that matrix where it is there already: it is taken over.
        """
        dtype = dtype or self.X.dtype
        X, Y = self.X, self.Y
        weighting = Weighting.of(X.shape[0], self.weights, self.intercept, dtype)
        exact = self.weighting()
        if dtype != X.dtype:  # centred first: rounding would be that of the offset
            Y = (Y - exact.mean(Y)).astype(dtype)
        if self.linear:
            return DualFeatures.of(CentredRows.of(X, exact), Y, weighting)
        unit = 1.0
        if self.given:
            unit = 1.0 if dtype == X.dtype else power_of_two(np.diagonal(X))
            K = active_place().taken(copy_symmetric(X, dtype, unit))
        elif K is None:
            check_range(self.kernel, X)
            unit = 1.0 if dtype == X.dtype else power_of_two(self.kernel.diagonal(X))
            K = kernel_matrix(self.kernel, X, both_triangles=False, dtype=dtype, unit=unit)
        return SymmetricSystem.prepare(K, Y, weighting, unit)


@dataclass(frozen=True)
class Aside:
    """Rows ``rest`` (m,) of ``X`` (n, d) that a fit to the others sets aside.

    ``order`` (k,) puts them, after the rows of weight zero, into the order of the user's.
    """

    X: Any
    rest: Array
    order: Array


@dataclass(frozen=True)
class Centers:
    """The points that carry coefficients.

    Attributes
    ----------
    points : array (m, d) or CSR matrix
    rows : array (m,)
        Which rows of the fit they are; −1 for those that are none.
    numbers : array (m,)
        Which of the user's rows; a row of weight zero has a number, too.
    """

    points: Any
    rows: Array
    numbers: Array


@dataclass(frozen=True)
class Problem(Sample):
    """Everything a fit needs, validated.

    Attributes
    ----------
    request : FitRequest
    unit : float
        What the targets were divided by.
    objective : Objective
    plan : Plan
    free : bool
        Whether another solver may be taken than the plan's, where its conditioning is better.
    kept : array (n,)
        Which of the user's rows these are: those of positive weight.
    dropped : array or CSR matrix
        The other rows (m, d), or their kernel values (m, n).
    dropped_columns : array (m, t)
        Their targets.
    searched_width : str
        The name of the parameter that was ``"auto"``.
    selector : Selector or None
        What chooses the centers, with random numbers of its own; None where all rows are.
    centers : Centers or None
        Those that were chosen.
    scored : array (s,) or None
        Random rows that are left out in place of all, where all would take too long.
    aside : Aside or None
        Further rows that the fit does not see.
    keeper : Checkpoint or None
        Keeps a long fit on its way.
    progress : Progress
    stages : dict
        Seconds spent in each stage so far.
    """

    request: FitRequest
    unit: float
    objective: Objective
    plan: Plan
    free: bool
    kept: Array
    dropped: Any
    dropped_columns: Array
    searched_width: str = ""
    selector: Selector | None = None
    centers: Centers | None = None
    scored: Array | None = None
    aside: Aside | None = None
    keeper: Checkpoint | None = None
    progress: Progress = field(default_factory=Progress.silent)
    stages: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, request: FitRequest, plan: Plan, progress: Progress) -> Problem:
        """Rows of weight zero set aside, the kernel's parameters made numbers, y given a unit."""
        X, columns, weights, kept = request.X, request.columns, request.weights, request.kept
        solver, criterion, scored = SOLVERS[plan.solver], request.criterion, None
        if plan.task.sampled:
            # where a metric was learned, rows that it has not seen
            pool = np.arange(kept.size)
            if request.pool is not None and 2 * request.pool.size <= kept.size:
                pool = np.setdiff1d(pool, request.pool)
            scored = pool[draw_rows(pool.size, min(plan.task.sampled, pool.size), request.rng)]
            criterion = LeaveOneOut(scored) if isinstance(criterion, LeaveOneOut) else criterion
        if not solver.reads_blocks:
            X = in_memory(X)
        dropped, dropped_columns = X[:0], columns[:0]
        if weights is not None and kept.size < X.shape[0]:
            without = np.flatnonzero(weights == 0)
            dropped = X[np.ix_(without, kept)] if request.given else X[without]
            X = kept_rows(X, kept, request.given)
            dropped_columns = columns[without]
            columns, weights = columns[kept], weights[kept]
        unit = power_of_two(columns)
        Y = np.ascontiguousarray(columns / columns.dtype.type(unit))
        return cls(
            X=X,
            Y=Y,
            weights=weights,
            intercept=request.intercept,
            kernel=request.kernel.resolve(X, request.rng),
            few_centers=plan.task.centers > 0 and not solver.handed_on,
            request=request,
            unit=unit,
            objective=Objective(
                criterion.in_units(unit), Y, unit, request.scorer, request.per_target
            ),
            plan=plan,
            free=request.solver == "auto",
            kept=kept,
            dropped=dropped,
            dropped_columns=dropped_columns,
            searched_width=free_width(request.kernel),
            selector=request.selector(plan),
            scored=scored,
            progress=progress,
        )

    @property
    def solver(self) -> Solver:
        """The solver of the plan."""
        return SOLVERS[self.plan.solver]

    @property
    def alpha(self) -> float | Array | str:
        """λ as it was asked for."""
        return self.request.alpha

    @property
    def rng(self) -> np.random.RandomState:
        """Random numbers of the fit."""
        return self.request.rng

    @property
    def n_rows(self) -> int:
        """All the user's rows."""
        return self.X.shape[0] + self.dropped.shape[0]

    # --- what stages have found ---

    def with_kernel(self, kernel: Kernel) -> Problem:
        """The same with a kernel whose width was chosen."""
        return replace(self, kernel=kernel)

    def with_solver(self, name: str, why: str) -> Problem | None:
        """The same with another solver, if that is free to choose and fits in memory."""
        candidate = next((c for c in self.plan.candidates if c.solver == name), None)
        if not self.free or candidate is None or candidate.refused:
            return None
        reason = f"{self.plan.solver} was tried first, but {why}"
        return replace(self, plan=replace(self.plan, solver=name, reason=reason))

    def in_memory(self) -> Problem:
        """The same with rows that are all held."""
        return replace(self, X=in_memory(self.X))

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

    # --- what solvers are built from ---

    @property
    def center_rows(self) -> Array:
        """Which rows the centers are."""
        assert self.centers is not None
        return self.centers.rows

    def center_basis(self, *, compact: bool = False) -> CenterBasis:
        """The centers, with blocks of kernel values that have a part of what the plan leaves."""
        assert self.centers is not None
        basis = CenterBasis(self.kernel, self.centers.points, self.X.dtype, compact=compact)
        left, place = self.plan.memory_limit - self.plan.chosen.needed, active_place()
        basis.block_bytes = float(np.clip(left / place.blocks_held, LEAST_BLOCK, place.block_bytes))
        return basis

    def limits(self, budget: float | None = None) -> Limits:
        """Of iterations."""
        if budget is None:
            budget = self.plan.memory_limit - self.plan.chosen.needed
        request = self.request
        return Limits(request.tolerance, request.most_iterations, budget, self.watch)

    def first_alpha(self) -> float | None:
        """The best λ of fewer rows and centers, where λ is searched for.

        With the loss of all rows it hardly depends on them.
        """
        if not isinstance(self.alpha, str):
            return None
        part = self.subset(self.random_rows(_FIRST_ROWS))
        own = part.random_rows(_FIRST_CENTERS)
        path = choose_automatically(part.objective, part.rectangle(part.kernel, own))
        return float(path.alphas[path.best()[0]])

    def rectangle(self, kernel: Kernel, own: Array) -> RectangleFactor:
        """A rectangle whose centers are the rows ``own`` (m,)."""
        basis = CenterBasis(kernel, self.X[own], self.X.dtype)
        return RectangleFactor(basis, rows_of(self.X), self.Y, self.weighting(), own)

    def random_seed(self) -> int:
        """Of the random numbers of a solver."""
        return int(self.rng.randint(2**31 - 1))

    def random_rows(self, size: int) -> Array:
        """Row numbers, ascending, drawn without replacement; all of them if there are no more."""
        n = self.X.shape[0]
        return np.arange(n) if size >= n else np.sort(self.rng.choice(n, size, replace=False))

    # --- what results need ---

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

    # --- progress ---

    @contextmanager
    def stage(self, name: str, steps: int | None = None) -> Iterator[None]:
        """Count the seconds spent inside towards a stage of the plan, and show how far it is."""
        start = time.perf_counter()
        try:
            with self.progress.stage(name, steps):
                yield
        finally:
            spent = time.perf_counter() - start
            self.stages[name] = self.stages.get(name, 0.0) + spent

    def watch(self, iterations: int, residual: float) -> None:
        """Show an iteration, and how long the others may take."""
        left, tolerance = "", self.request.tolerance
        if 0 < residual < 1 and iterations > 1 and residual > tolerance:
            share = np.log(tolerance) / np.log(residual)  # residuals fall by a constant factor
            left = f", about {readable_time(self.progress.spent() * (share - 1.0))} left"
        self.progress.step(f"iteration {iterations}, relative residual {residual:.2g}{left}")

    def watch_rows(self, rows: int) -> None:
        """Show how many rows have been seen, how fast, and how long the rest will take."""
        n, spent = self.X.shape[0], self.progress.spent()
        rate = rows / max(spent, 1e-9)
        left = "" if rows == n else f", about {readable_time((n - rows) / rate)} left"
        self.progress.step(f"{rows:,} of {n:,} rows, {rate:,.3g} rows/s{left}")


def geometric_mean(widths: Any) -> float:
    """Of one width, or of one for every feature."""
    return float(widths) if np.ndim(widths) == 0 else float(np.exp(np.mean(np.log(widths))))
