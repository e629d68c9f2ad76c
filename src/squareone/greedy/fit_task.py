"""One greedy fit, as the parameters of an estimator ask for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from ..arrays import Array
from ..estimators import validation
from ..fitting.progress import Progress
from ..kernels import Kernel
from ..kernels.tiles import kernel_matrix
from ..rows import SomeRows, Stream
from . import (
    CHOOSERS,
    CRITERIA,
    UPDATES,
    Columns,
    Follower,
    GreedyPath,
    Rule,
    Watched,
    fixed,
    greedy_path,
)
from .fitted_models import rows_at

#: Centers at most, where nothing is said: so many times the square root of the rows, and a share.
MOST_BY_ROOT, MOST_SHARE = 6.0, 0.5


@dataclass
class GreedyTask:
    """Rows (or kernel matrices), targets and rules of a fit; parts of it for a search.

    Attributes
    ----------
    estimator : OROLSRegressor or OROLSClassifier
        Has the parameters.
    kernels : list of Kernel
    X : array (n, d), CSR matrix, Stream or None
    matrices : list of array (n, n) or None
        In place of X.
    columns : array (n, t)
        Targets, in units of ``unit``.
    weights : array (n,) or None
    rng : RandomState
    unit : float
    """

    estimator: Any
    kernels: list[Kernel]
    X: Any
    matrices: list[Array] | None
    columns: Array
    weights: Array | None
    rng: np.random.RandomState
    unit: float

    @property
    def n(self) -> int:
        """Rows."""
        return self.columns.shape[0]

    @property
    def dtype(self) -> np.dtype:
        """In which columns are computed."""
        return self.columns.dtype

    def root(self) -> Array | None:
        """√w."""
        return None if self.weights is None else np.sqrt(self.weights).astype(self.dtype)

    def most(self) -> int:
        """Centers at most."""
        asked = self.estimator.max_centers
        if asked is None:
            limit = int(min(MOST_SHARE * self.n, MOST_BY_ROOT * np.sqrt(self.n)))
            stopping = self.estimator.stopping
            asked = stopping if isinstance(stopping, Integral) else max(1, limit)
        return min(int(asked), self.n * len(self.kernels))

    def part(self, rows: Array) -> GreedyTask:
        """The same for some rows."""
        return replace(
            self,
            X=None if self.X is None else some_rows(self.X, rows),
            matrices=self._matrices(rows, rows),
            columns=self.columns[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    def _matrices(self, rows: Array, columns: Array) -> list[Array] | None:
        return None if self.matrices is None else [K[np.ix_(rows, columns)] for K in self.matrices]

    def evaluated(self) -> GreedyTask:
        """The same with kernel matrices in place of rows, for few of these."""
        if self.matrices is not None:
            return self
        X = validation.in_memory(self.X)
        matrices = [kernel_matrix(kernel, X, both_triangles=True) for kernel in self.kernels]
        return replace(self, X=None, matrices=matrices)

    def columns_for(self, epsilon: float, kept_bytes: float = 0.0) -> Columns:
        """Columns of the kernel matrix."""
        return Columns(
            self.kernels,
            self.X,
            self.root(),
            epsilon,
            matrices=self.matrices,
            kept_bytes=kept_bytes,
        )

    def run(
        self,
        columns: Columns,
        targets: Array,
        *,
        count: int | None = None,
        watched: Watched | None = None,
        validated: bool = False,
        progress: Progress | None = None,
    ) -> GreedyPath:
        """One path."""
        estimator = self.estimator
        update = estimator.lambda_update
        limit = estimator.condition_limit
        if limit is None:
            limit = 1.0 / float(np.sqrt(np.finfo(self.dtype).eps))
        stopping = estimator.stopping
        most = self.most() if count is None else count
        if isinstance(stopping, Integral):
            count = min(int(stopping), most)
        criterion = CRITERIA.get(str(stopping), CRITERIA["gcv"])
        rule = Rule(most, criterion, count, float(limit), self.unit)
        chooser = CHOOSERS[estimator.selection](columns, estimator.candidates, self.rng)

        def watch(done: int, most: int) -> None:
            if progress is not None:
                progress.step(f"{done:,} of at most {most:,} centers")

        return greedy_path(
            columns,
            targets,
            self.root(),
            chooser,
            UPDATES[update] if isinstance(update, str) else fixed(float(update)),
            rule,
            intercept=estimator.fit_intercept,
            watched=watched,
            validated=validated,
            watch=watch,
        )

    def watched(
        self, fitted: GreedyTask, columns: Columns, rows: Array, inside: Array, group: Array
    ) -> Watched:
        """Rows beside the fit of others, to some of the target columns."""
        room = fitted.most() + int(self.estimator.fit_intercept)
        values = self._matrices(rows, inside)
        follower = Follower(columns, rows_at(self.X, rows) if values is None else values, room)
        weights = None if self.weights is None else self.weights[rows]
        return Watched(follower, self.columns[np.ix_(rows, group)], weights)


def some_rows(X: Any, rows: Array) -> Any:
    """Some rows of an array, a CSR matrix or a stream, which stays one."""
    return SomeRows(X, rows) if isinstance(X, Stream) else X[rows]
