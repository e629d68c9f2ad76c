"""What a fit has to solve, and the kernel matrix made ready for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import Array, power_of_two
from ..kernels import Kernel, Linear, Precomputed
from ..kernels.base import check_range
from ..kernels.precomputed import copy_symmetric
from ..kernels.tiles import kernel_matrix
from ..kernels.widths import free_width, term_of
from ..selection import Objective
from ..selection.criteria import Criterion
from ..selection.objective import HeldOutScorer
from ..solvers import CentredRows, DualFeatures, Plan, SymmetricSystem, Weighting
from ..targets import Labels, Responses
from .progress import Progress

# An expected relative error above this is reported, and refused at λ = 0.
WORTH_A_WARNING = 1e-2


@dataclass
class Request:
    """What the user asked for, checked, over all the user's rows; see :class:`Problem`."""

    X: Array
    targets: Responses | Labels
    columns: Array
    weights: Array | None
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


@dataclass
class Problem:
    """Everything a fit needs, validated.

    Attributes
    ----------
    X : array (n, d)
        Rows of positive weight, or the kernel matrix between them (n, n).
    Y : array (n, t)
        Target columns, in units of ``unit``.
    weights : array (n,) or None
    kernel : Kernel
        With numbers for parameters.
    alpha : float, array or "auto"
    objective : Objective
    plan : Plan
        Its solver may be changed for a better conditioned one where ``requested`` is ``"auto"``.
    kept : array (n,)
        Which of the user's rows these are: those of positive weight.
    dropped : array
        The other rows (m, d), or their kernel values (m, n).
    """

    X: Array
    Y: Array
    unit: float
    weights: Array | None
    intercept: bool
    kernel: Kernel
    alpha: float | Array | str
    objective: Objective
    plan: Plan
    requested: str
    kept: Array
    dropped: Array
    rng: np.random.RandomState
    searched_width: str = ""  # the name of the parameter that was "auto"
    progress: Progress = field(default_factory=Progress.silent)

    @classmethod
    def of(cls, request: Request, progress: Progress) -> Problem:
        """Rows of weight zero set aside, the kernel's parameters made numbers, y given a unit."""
        X, columns, weights, kept = request.X, request.columns, request.weights, request.kept
        dropped = X[:0]
        if weights is not None and kept.size < X.shape[0]:
            without = np.flatnonzero(weights == 0)
            given = isinstance(request.kernel, Precomputed)
            dropped = X[np.ix_(without, kept)] if given else X[without]
            X = X[np.ix_(kept, kept)] if given else X[kept]
            columns, weights = columns[kept], weights[kept]
        unit = power_of_two(columns)
        Y = np.ascontiguousarray(columns / columns.dtype.type(unit))
        return cls(
            X=X,
            Y=Y,
            unit=unit,
            weights=weights,
            intercept=request.intercept,
            kernel=request.kernel.resolve(X, request.rng),
            alpha=request.alpha,
            objective=Objective(request.criterion, Y, unit, request.scorer, request.per_target),
            plan=request.plan,
            requested=request.solver,
            kept=kept,
            dropped=dropped,
            rng=request.rng,
            searched_width=free_width(request.kernel),
            progress=progress,
        )

    @property
    def given(self) -> bool:
        """Whether X is a kernel matrix."""
        return isinstance(self.kernel, Precomputed)

    @property
    def linear(self) -> bool:
        """Whether the model is a hyperplane."""
        return isinstance(self.kernel, Linear)

    def width(self) -> float:
        """The width that was chosen; NaN where none was, the geometric mean of several."""
        if not self.searched_width:
            return np.nan
        return geometric_mean(term_of(self.kernel, self.searched_width).sigma)

    def weighting(self) -> Weighting:
        """Weights and intercept."""
        return Weighting.of(self.X.shape[0], self.weights, self.intercept, self.X.dtype)

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

    def subset(self, rows: Array) -> Problem:
        """The same problem for ``rows`` (m,) only."""
        return replace(
            self,
            X=self.X[np.ix_(rows, rows)] if self.given else self.X[rows],
            Y=self.Y[rows],
            weights=None if self.weights is None else self.weights[rows],
            objective=self.objective.restricted(rows),
            kept=self.kept[rows],
        )

    def random_rows(self, size: int) -> Array:
        """Row numbers, ascending, drawn without replacement; all of them if there are no more."""
        n = self.X.shape[0]
        return np.arange(n) if size >= n else np.sort(self.rng.choice(n, size, replace=False))

    def system(self, dtype: np.dtype | None = None, K: Array | None = None) -> SymmetricSystem:
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
            K = copy_symmetric(X, dtype, unit)
        elif K is None:
            check_range(self.kernel, X)
            unit = 1.0 if dtype == X.dtype else power_of_two(self.kernel.diagonal(X))
            K = kernel_matrix(self.kernel, X, both_triangles=False, dtype=dtype, unit=unit)
        return SymmetricSystem.prepare(K, Y, weighting, unit)


def geometric_mean(widths: Any) -> float:
    """Of one width, or of one for every feature."""
    return float(np.exp(np.mean(np.log(widths))))
