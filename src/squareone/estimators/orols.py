"""The base of OROLSRegressor and OROLSClassifier: parameters, fit, and what was learned."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array
from ..fitting.feature_scales import warn_of_scales
from ..fitting.progress import fit_progress
from ..greedy import CHOOSERS, CRITERIA, UPDATES
from ..greedy.fit_task import GreedyRequest, GreedyTask, checked_kernels
from ..greedy.fitted_models import GreedyRecord
from ..greedy.orols_fit import fit_greedy
from ..greedy.parameter_search import SPARSE_TRIED, sparse_trial
from ..kernels import Kernel, Precomputed
from ..kernels.names import BY_NAME
from ..persistence import Fields, refuse
from ..targets import Labels, Responses
from .fitted_attributes import FromResult, ReadOnly
from .fitted_estimator import FittedEstimator, set_callbacks
from .validation import read

# Parameters that may be numbers.
_NUMBERS = ("max_centers", "candidates", "stopping", "lambda_update", "epsilon", "condition_limit")

_ASKED = fields(GreedyRequest)


class OrthogonalLeastSquares(FittedEstimator):
    """The common part of the greedy estimators; not for use by itself."""

    set_callbacks = set_callbacks

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
        selection: str = "sampled",
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
    def _class_weights(self, y: Array, weights: Array | None) -> Array | None:
        """Weights (k,) of the classes, by which those of rows (n,) are multiplied; None if none."""

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
        if not get_config()["skip_parameter_validation"]:  # before ``verbose`` is used
            self._validate_params()
            self._refuse_truths()
        self._forget()
        try:
            with fit_progress(self, X, y, sample_weight) as progress:
                kernels = checked_kernels(self.kernel)
                given = isinstance(kernels[0], Precomputed)
                data = read(self, X, y, sample_weight, given=given)
                warn_of_scales(
                    self,
                    kernels,
                    data.X,
                    data.columns,
                    data.kept,
                    SPARSE_TRIED,
                    relevance=False,
                    trial=sparse_trial(self),
                )
                task = GreedyTask.of(
                    self._request(),
                    kernels,
                    data.X,
                    data.columns,
                    data.weights,
                    data.targets,
                    data.kept,
                )
                record, self.epsilon_, self.search_ = fit_greedy(task, data.kept, progress)
                self._show(record)
        except BaseException:  # an interrupt too: never half fitted
            self._forget()
            raise
        return self

    def _request(self) -> GreedyRequest:
        """The parameters of the fit, which have been checked."""
        return GreedyRequest(**{field.name: getattr(self, field.name) for field in _ASKED})

    def _refuse_truths(self) -> None:
        """True is a number to Python, and none to the user."""
        for name in _NUMBERS:
            if isinstance(getattr(self, name), bool | np.bool_):
                msg = f"{name}={getattr(self, name)!r}: a number is expected, not a truth value"
                raise ValueError(msg)

    # --- what was learned ---

    def _show(self, record: GreedyRecord) -> None:
        self._record, targets = record, record.targets
        single = len(record.paths) == 1
        self.kernel_ = record.kernels[0] if len(record.kernels) == 1 else list(record.kernels)
        self.center_indices_ = record.numbers[record.chosen % record.numbers.size]
        self.center_kernels_ = record.chosen // record.numbers.size
        if record.points is not None:
            self.centers_ = record.centers()
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

    dual_coef_: FromResult[Array] = ReadOnly(
        lambda record: record.targets.coefficients(record.coefficients),
        "Coefficients of the centers: (m,) or (m, t).",
    )
    intercept_: FromResult[float | Array] = ReadOnly(
        lambda record: record.shown_intercepts,
        "The constant: a number, or (t,); (1,), (k,) or (labels,) for a classifier.",
    )
    path_: FromResult[dict[str, Array]] = FromResult(
        GreedyRecord.table,
        """Every model on the path (on all paths, one after the other), as a dict of 1-D arrays.

        ``model``: which path; ``centers``: how many; ``center``: the row that was added (−1 for the
        constant); ``kernel``: its kernel; ``lambda``; ``gcv``; ``criterion``, which was minimised;
        ``training_error``: the mean square; ``effective_dof``; ``condition`` of the columns;
        ``reorthogonalised``: how often the column had to be made orthogonal once more.
        """,
    )

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
                for name in ("sigma", "epsilon", "error", "wrong")
            }
        self._restore_features(found, record.n_features)
        self._show(record)
