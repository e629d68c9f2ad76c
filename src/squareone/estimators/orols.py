"""What OROLSRegressor and OROLSClassifier share: their parameters, and the walk of a fit."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, power_of_two
from ..errors import MemoryLimitError
from ..fitting.progress import Progress
from ..greedy import (
    CHOOSERS,
    CRITERIA,
    UPDATES,
    GreedyPath,
)
from ..greedy.fit_task import GreedyTask, some_rows
from ..greedy.fitted_models import GreedyRecord, rows_at
from ..greedy.parameter_search import Look, check_values, choose
from ..kernels import Kernel, Precomputed
from ..kernels.names import BY_NAME, kernel_from
from ..kernels.widths import free_width
from ..persistence import Fields, refuse
from ..planning.memory import memory_limit as bytes_allowed
from ..planning.memory import readable
from ..targets import Labels, Responses
from .callbacks import CallbackSupport, fit_progress
from .fit_data import read
from .fitted_estimator import IntoFiles

# Parameters that may be numbers.
_NUMBERS = ("max_centers", "candidates", "stopping", "lambda_update", "epsilon", "condition_limit")
# Columns of the kernel matrix that are there beside those of the basis (those that wait, those on
# their way, a few numbers of every row), and columns for every target.
_BESIDE, _FOR_TARGETS = 116, 3
# Columns of the kernel matrix that several models may share, at most.
_SHARED_BYTES = 512 * 2**20


class OrthogonalLeastSquares(CallbackSupport, IntoFiles):
    """The common part of the greedy estimators; not for use by itself."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(BY_NAME)), Kernel, list, tuple],
        "max_centers": [None, Interval(Integral, 1, None, closed="left")],
        "candidates": [None, Interval(Integral, 1, None, closed="left")],
        "stopping": [
            StrOptions({*CRITERIA, "validation"}),
            Interval(Integral, 1, None, closed="left"),
        ],
        "lambda_update": [StrOptions(set(UPDATES)), Interval(Real, 0, None, closed="left")],
        "selection": [StrOptions(set(CHOOSERS))],
        "epsilon": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "condition_limit": [None, Interval(Real, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "shared_centers": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "memory_limit": [None, str, Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        max_centers: int | None = None,
        candidates: int | None = None,
        stopping: str | int = "gcv",
        lambda_update: str | float = "gcv",
        selection: str = "residual",
        epsilon: float | str = "auto",
        condition_limit: float | None = None,
        fit_intercept: bool = True,
        shared_centers: bool = False,
        validation_fraction: float = 0.1,
        memory_limit: float | str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.max_centers = max_centers
        self.candidates = candidates
        self.stopping = stopping
        self.lambda_update = lambda_update
        self.selection = selection
        self.epsilon = epsilon
        self.condition_limit = condition_limit
        self.fit_intercept = fit_intercept
        self.shared_centers = shared_centers
        self.validation_fraction = validation_fraction
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.verbose = verbose

    # --- what a subclass says ---

    @abstractmethod
    def _read_targets(self, X: Any, y: Any) -> tuple[Array, Responses | Labels, Array]:
        """y checked, the coding, and its columns (n, t)."""

    def _check_targets(self, targets: Any, t: int, weights: Array | None) -> None:
        """Refuse parameters that do not fit the targets; all of these do."""

    @abstractmethod
    def _row_weights(self, y: Array, weights: Array | None) -> Array | None:
        """Weights (n,) of the fit, from the user's weights and classes."""

    # --- fit ---

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose centers one after the other, with λ re-estimated at every step.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (n, d)
            Rows; for a precomputed kernel its matrix (n, n).
        y : array-like of shape (n,) or (n, t)
            Targets; for a classifier classes, or an indicator matrix of several labels per row.
        sample_weight : array-like of shape (n,) or float, optional
            Weights at or above zero; a row of weight zero leaves the fit.

        Returns
        -------
        self
        """
        self._forget()
        try:
            with fit_progress(self, X, y, sample_weight) as progress:
                self._fit(X, y, sample_weight, progress)
        except BaseException:  # an interrupt too: never half fitted
            self._forget()
            raise
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, progress: Progress) -> None:
        if not get_config()["skip_parameter_validation"]:
            self._validate_params()
            self._refuse_truths()
        kernels = self._kernels()
        given = isinstance(kernels[0], Precomputed)
        came = read(self, X, y, sample_weight, given=given)
        X, targets, columns, weights = came.X, came.targets, came.columns, came.weights
        kept = came.kept
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        if kept.size < X.shape[0]:
            X = X[np.ix_(kept, kept)] if given else some_rows(X, kept)
        unit = power_of_two(columns)
        task = GreedyTask(
            self,
            kernels,
            None if given else X,
            [X] if given else None,
            columns[kept] / columns.dtype.type(unit),
            None if weights is None else weights[kept],
            rng,
            unit,
        )
        self._check_memory(task)
        kernels, epsilon, looks = choose(task, self._groups, progress)
        if not given:
            check_values(kernels, X)
        task.kernels = kernels
        groups = self._groups(np.arange(columns.shape[1]))
        paths = self._paths(task, groups, epsilon, progress)
        self._learn(task, targets, groups, paths, kept, unit, epsilon, looks)

    def _groups(self, columns: Array) -> list[Array]:
        """Which target columns have centers in common."""
        return [columns] if self.shared_centers else list(columns[:, None])

    def _refuse_truths(self) -> None:
        """True is a number to Python, and none to the user."""
        for name in _NUMBERS:
            if isinstance(getattr(self, name), bool | np.bool_):
                msg = f"{name}={getattr(self, name)!r}: a number is expected, not a truth value"
                raise ValueError(msg)

    def _kernels(self) -> list[Kernel]:
        """The kernels, checked."""
        several = isinstance(self.kernel, list | tuple)
        kernels = [kernel_from(kernel) for kernel in (self.kernel if several else [self.kernel])]
        if not kernels:
            msg = "kernel is an empty list: at least one kernel is expected"
            raise ValueError(msg)
        for kernel in kernels:
            if not isinstance(kernel, Kernel):
                msg = f"kernel={self.kernel!r}: names or kernels are expected, got {kernel!r}"
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

    def _check_memory(self, task: GreedyTask) -> None:
        """Refuse what does not fit, before anything is allocated."""
        limit = bytes_allowed(self.memory_limit)
        most, needed = task.most(), _needed(task)
        if needed > limit:
            # the largest m with 24m² + bm at most what is left, less a little for rounding
            b = float(task.n) * task.dtype.itemsize
            below = max(0.0, limit - _beside(task))
            fits = int(0.99 * 2.0 * below / (b + np.sqrt(b * b + 96.0 * below)))
            advice = f"set max_centers={fits:,} or fewer" if fits else "not even one would fit"
            msg = (
                f"{most:,} centers of {task.n:,} rows need {readable(needed)}, and "
                f"{readable(limit)} are there: {advice}"
            )
            raise MemoryLimitError(msg)

    def _paths(
        self, task: GreedyTask, groups: list[Array], epsilon: float, progress: Progress
    ) -> list[GreedyPath]:
        spare = 0.5 * (bytes_allowed(self.memory_limit) - _needed(task))
        shared = min(spare, _SHARED_BYTES) if len(groups) > 1 else 0.0
        columns = task.columns_for(epsilon, shared)
        split = self._split(task) if self.stopping == "validation" else None
        paths = []
        for number, group in enumerate(groups):
            name = "centers" if len(groups) == 1 else f"centers of model {number + 1}"
            with progress.stage(name, task.most()):
                count = None
                if split is not None:
                    inside, outside = split
                    part = task.part(inside)
                    some = part.columns_for(epsilon)
                    watched = task.watched(part, some, outside, inside, group)
                    count = part.run(
                        some, part.columns[:, group], watched=watched, validated=True
                    ).best
                paths.append(
                    task.run(columns, task.columns[:, group], count=count, progress=progress)
                )
        return paths

    def _split(self, task: GreedyTask) -> tuple[Array, Array]:
        held = max(1, round(self.validation_fraction * task.n))
        if task.n < 2:
            msg = (
                f'stopping="validation" needs at least two rows, got n_samples = {task.n}: use '
                'stopping="gcv"'
            )
            raise ValueError(msg)
        order = task.rng.permutation(task.n)
        held = min(held, task.n - 1)
        return np.sort(order[held:]), np.sort(order[:held])

    def _learn(
        self,
        task: GreedyTask,
        targets: Responses | Labels,
        groups: list[Array],
        paths: list[GreedyPath],
        kept: Array,
        unit: float,
        epsilon: float,
        looks: list[Look],
    ) -> None:
        known = np.unique(np.concatenate([path.candidates for path in paths]))
        points = None if task.X is None else rows_at(task.X, known % task.n)
        if points is not None and isinstance(points, np.ndarray):
            points = points.copy()  # the model does not change with the user's rows
        self.epsilon_ = epsilon
        self.search_ = {
            "sigma": np.array([look.sigma for look in looks]),
            "epsilon": np.array([look.epsilon for look in looks]),
            "error": np.array([look.error for look in looks]) * unit**2,
        }
        self._show(
            GreedyRecord(
                task.kernels,
                targets,
                groups,
                paths,
                [path.best for path in paths],
                known,
                points,
                kept,
                unit,
                task.dtype,
                self.n_features_in_,
            )
        )

    # --- what was learned ---

    def _show(self, record: GreedyRecord) -> None:
        self._record, targets = record, record.targets
        single = len(record.paths) == 1
        self.kernel_ = record.kernels[0] if len(record.kernels) == 1 else list(record.kernels)
        self.center_indices_ = record.numbers[record.chosen % record.numbers.size]
        self.center_kernels_ = record.chosen // record.numbers.size
        if record.points is not None:
            self.centers_ = record.centers()
        self.dual_coef_ = targets.coefficients(record.coefficients)
        self.intercept_ = targets.coefficients(record.intercepts[None, :])[0]
        penalties = np.array(
            [path.penalties[m] for path, m in zip(record.paths, record.counts, strict=True)]
        )
        self.lambda_ = float(penalties[0]) if single else penalties
        self.n_centers_ = record.counts[0] if single else np.array(record.counts)
        ended = [path.ended for path in record.paths]
        self.stopped_by_ = ended[0] if single else ended
        if isinstance(targets, Labels):
            self.classes_ = targets.classes
            if targets.code is not None:
                self.code_ = targets.code.matrix

    @property
    def path_(self) -> dict[str, Array]:
        """Every model on the path (on all paths, one after the other), as a dict of 1-D arrays.

        ``model``: which path; ``centers``: how many; ``center``: the row that was added (−1 for the
        constant); ``kernel``: its kernel; ``lambda``; ``gcv``; ``criterion``, which was minimised;
        ``training_error``: the mean square; ``effective_dof``; ``condition`` of the columns;
        ``reorthogonalised``: how often the column had to be made orthogonal once more.
        """
        return self._recorded().table()

    def at(self, m: int) -> Self:
        """The model with the first m centers (of each path), fitted already.

        Parameters
        ----------
        m : int
            Up to the longest path; paths that are shorter give all of theirs.

        Returns
        -------
        estimator
            A copy with the same paths.

        Notes
        -----
        **Cost**: a triangular solve with m² numbers for each target.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from squareone import OROLSRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = OROLSRegressor(stopping=10).fit(X, y)
        >>> model.at(4).n_centers_, model.n_centers_
        (4, 10)
        """
        record = self._recorded()
        longest = max(path.longest for path in record.paths)
        if not isinstance(m, Integral) or isinstance(m, bool) or not 0 <= m <= longest:
            msg = f"m={m!r}: a number of centers from 0 to {longest}, the longest path, is expected"
            raise ValueError(msg)
        found = copy(self)
        counts = [min(int(m), path.longest) for path in record.paths]
        found._show(record.followed(counts))
        return found

    def _recorded(self) -> GreedyRecord:
        return super()._recorded()

    # --- files ---

    def _fitted_state(self) -> dict[str, Any]:
        return {
            **self._features_state(),
            "epsilon": float(self.epsilon_),
            "search": dict(self.search_),
            "record": self._recorded().state(),
        }

    def _restore(self, found: Fields) -> None:
        record = GreedyRecord.from_state(found.inner("record"))
        if isinstance(record.targets, Labels) != is_classifier(self):
            refuse(found.where, "classes belong to a classifier, numbers to a regressor")
        self.epsilon_ = found.number("epsilon")
        if self.epsilon_ < 0:
            refuse(found.where, f"epsilon is at or above zero, got {self.epsilon_}")
        with found.inner("search") as looks:
            sizes = (None,)
            self.search_ = {
                name: looks.array(name, sizes, (np.float64,), finite=False)
                for name in ("sigma", "epsilon", "error")
            }
        self._restore_features(found, record.n_features)
        self._show(record)


def _needed(task: GreedyTask) -> float:
    """Bytes: the orthogonal columns, some that are on their way, and triangles."""
    most = task.most()
    return float(task.n) * most * task.dtype.itemsize + _beside(task) + 24.0 * most * most


def _beside(task: GreedyTask) -> float:
    """Bytes that do not depend on the number of centers."""
    columns = _BESIDE + _FOR_TARGETS * task.columns.shape[1]
    return float(task.n) * columns * task.dtype.itemsize
