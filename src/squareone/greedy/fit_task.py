"""The request of a greedy fit, and its task: rows and kernels with the rules of its paths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..arrays import Array, power_of_two
from ..fitting.progress import Progress
from ..kernels import Kernel, Precomputed
from ..kernels.names import kernel_from
from ..kernels.tiles import kernel_matrix
from ..kernels.widths import free_width
from ..rows import rows_of
from ..rows.checks import in_memory
from ..rows.matching import first_equal
from ..rows.stream_views import kept_rows, some_rows
from ..targets import Labels, Responses
from . import (
    CHOOSERS,
    CRITERIA,
    UPDATES,
    Columns,
    GreedyPath,
    Rule,
    ValidationRows,
    Watched,
    fixed,
    greedy_path,
)
from .fitted_models import rows_at

#: Centers at most, where nothing is said: so many times the square root of the rows, and a share.
MOST_BY_ROOT, MOST_OF_FEW, MOST_SHARE = 6.0, 200, 0.5


@dataclass(frozen=True)
class GreedyRequest:
    """What a greedy fit was asked for beside its kernels and data: checked parameters.

    They are those of :class:`~squareone.OROLSRegressor` of the same names.
    """

    max_centers: int | None
    candidates: int | None
    stopping: str | int
    lambda_update: str | float
    selection: str
    epsilon: float | str
    condition_limit: float | None
    fit_intercept: bool
    shared_centers: bool
    validation_fraction: float
    memory_limit: float | str | None
    random_state: Any


def checked_kernels(asked: Any) -> list[Kernel]:
    """The kernels that ``kernel=`` asks for, checked."""
    several = isinstance(asked, list | tuple)
    kernels = [kernel_from(kernel) for kernel in (asked if several else [asked])]
    if not kernels:
        msg = "kernel is an empty list: at least one kernel is expected"
        raise ValueError(msg)
    for kernel in kernels:
        if not isinstance(kernel, Kernel):
            msg = f"kernel={asked!r}: names or kernels are expected, got {kernel!r}"
            raise TypeError(msg)
        kernel.check_parameters()
        if len(kernels) > 1 and not kernel.has_formula:
            msg = "a precomputed kernel is the only one: its matrix is X. Give it by itself"
            raise ValueError(msg)
        name = free_width(kernel)
        if len(kernels) > 1 and name:
            msg = (
                f'{kernel} has {name}="auto", and there are {len(kernels)} kernels: give each '
                'of them a number (or "median"), every step then chooses among them'
            )
            raise ValueError(msg)
        if name and getattr(kernel, "ard", False):
            msg = f"{kernel}: ard=True is for RLSRegressor and RLSClassifier; use ard=False"
            raise ValueError(msg)
    return kernels


@dataclass(frozen=True)
class GreedyTask:
    """Rows (or kernel matrices), targets and rules of a fit; parts of it for a search.

    Attributes
    ----------
    request : GreedyRequest
    kernels : list of Kernel
    X : array (n, d), CSR matrix, Stream or None
    matrices : list of array (n, n) or None
        In place of X.
    columns : array (n, t)
        Targets, in units of ``unit``.
    weights : array (n,) or None
    targets : Responses or Labels
        What the columns stand for.
    rng : RandomState
        For the rows of the search, and those held out.
    unit : float
    places : array (n,)
        The first of the rows that each row is equal to.
    n_features : int
        Of a row; for a precomputed kernel its values with the user's rows.
    seed : int
        For the candidates of a path. It is the same for every one: a target has the centers that
        it would have by itself, and widths are compared by the same draws.
    """

    request: GreedyRequest
    kernels: list[Kernel]
    X: Any
    matrices: list[Array] | None
    columns: Array
    weights: Array | None
    targets: Responses | Labels
    rng: np.random.RandomState
    unit: float
    places: Array
    n_features: int
    seed: int = 0

    @classmethod
    def of(
        cls,
        request: GreedyRequest,
        kernels: list[Kernel],
        X: Any,
        columns: Array,
        weights: Array | None,
        targets: Responses | Labels,
        kept: Array,
    ) -> GreedyTask:
        """Of the rows ``kept`` of X, or of a kernel matrix where that is what X is."""
        given = isinstance(kernels[0], Precomputed)
        seed, n_features = request.random_state, X.shape[1]
        rng = check_random_state(0 if seed is None else seed)
        X = kept_rows(X, kept, given)
        unit = power_of_two(columns)
        return cls(
            request,
            kernels,
            None if given else X,
            [X] if given else None,
            columns[kept] / columns.dtype.type(unit),
            None if weights is None else weights[kept],
            targets,
            rng,
            unit,
            first_equal(rows_of(X)),
            n_features,
        )

    @property
    def n(self) -> int:
        """Rows."""
        return self.columns.shape[0]

    @property
    def dtype(self) -> np.dtype:
        """In which columns are computed."""
        return self.columns.dtype

    @property
    def decided(self) -> bool:
        """Whether one path has all that the class of a row is decided by."""
        classes = isinstance(self.targets, Labels) and self.targets.exclusive
        return classes and self.request.shared_centers

    @property
    def fewer_than_classes(self) -> bool:
        """Whether classes share fewer centers than there are classes."""
        labels = self.targets
        return self.decided and isinstance(labels, Labels) and self.most() < labels.classes.size

    def groups(self, columns: Array) -> list[Array]:
        """Which of some target columns have centers in common."""
        return [columns] if self.request.shared_centers else list(columns[:, None])

    def root(self) -> Array | None:
        """√w."""
        return None if self.weights is None else np.sqrt(self.weights).astype(self.dtype)

    def most(self) -> int:
        """Centers at most."""
        asked = self.request.max_centers
        if asked is None:
            limit = max(MOST_BY_ROOT * np.sqrt(self.n), MOST_OF_FEW)
            limit = int(min(MOST_SHARE * self.n, limit))
            stopping = self.request.stopping
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
            places=_first_among(self.places[rows]),
        )

    def _matrices(self, rows: Array, columns: Array) -> list[Array] | None:
        return None if self.matrices is None else [K[np.ix_(rows, columns)] for K in self.matrices]

    def evaluated(self) -> GreedyTask:
        """The same with kernel matrices in place of rows, for few of these."""
        if self.matrices is not None:
            return self
        X = in_memory(self.X)
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
            places=self.places,
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
        request = self.request
        update = request.lambda_update
        limit = request.condition_limit
        if limit is None:
            limit = 1.0 / float(np.sqrt(np.finfo(self.dtype).eps))
        stopping = request.stopping
        most = self.most() if count is None else count
        if isinstance(stopping, Integral):
            count = min(int(stopping), most)
        criterion = CRITERIA.get(str(stopping), CRITERIA["gcv"])
        rule = Rule(most, criterion, count, float(limit), self.unit)
        rng = np.random.RandomState(self.seed)
        chooser = CHOOSERS[request.selection](columns, request.candidates, rng)

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
            intercept=request.fit_intercept,
            watched=watched,
            validated=validated,
            watch=watch,
        )

    def watched(
        self, fitted: GreedyTask, columns: Columns, rows: Array, inside: Array, group: Array
    ) -> Watched:
        """Rows beside the fit of others, to some of the target columns."""
        room = fitted.most() + int(self.request.fit_intercept)
        values = self._matrices(rows, inside)
        validated_rows = ValidationRows(
            columns, rows_at(self.X, rows) if values is None else values, room
        )
        weights = None if self.weights is None else self.weights[rows]
        return Watched(validated_rows, self.columns[np.ix_(rows, group)], weights)


def _first_among(places: Array) -> Array:
    """The first position (q,) at which each number stands."""
    _, first, which = np.unique(places, return_index=True, return_inverse=True)
    return first[which]
