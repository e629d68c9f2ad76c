"""The base of RLSRegressor and RLSClassifier: parameters, fit, and what a fit can be asked."""

from __future__ import annotations

import os
from abc import abstractmethod
from contextlib import nullcontext
from copy import copy
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.base import is_classifier
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ..arrays import Array, alone
from ..centers import Selector
from ..devices import HOST, Place, place_or_host
from ..fitting import coefficients, diagnostics
from ..fitting.feature_scales import trial_rows, warn_of_scales
from ..fitting.part_states import of_plan, plan_from
from ..fitting.procedure import fit, plan_of
from ..fitting.progress import fit_progress
from ..fitting.request import FitRequest, KernelSearch
from ..fitting.result import FitResult, without_computing
from ..fitting.travelling_record import TravellingRecord
from ..kernels import Gaussian, Kernel
from ..kernels.names import BY_NAME
from ..models import Hyperplane
from ..persistence import Fields, refuse
from ..planning import Plan, Task
from ..solvers.registry import SOLVERS
from ..targets import Labels, Responses
from ..threads import one_core
from .array_libraries import as_numpy_array, follow_rows_of_fit, follows_rows, kind_of
from .fit_request import CRITERIA, checked_request, copy_for_plan
from .fitted_attributes import FromResult
from .fitted_estimator import FittedEstimator, set_callbacks

# Flops of each thread that take more than a second everywhere: progress is shown from the start.
_LENGTHY = 1.5e11

# Rows of a kernel matrix up to which a second core is no gain.
_SMALL_ROWS = 2000


def _is_small(task: Task) -> bool:
    """Whether a fit gains nothing from a second core."""
    side = min(task.n, task.d) if task.linear else task.n
    return task.n * side <= _SMALL_ROWS**2 and not task.streamed


class RegularisedLeastSquares(FittedEstimator):
    """The common part of the estimators; not for use by itself."""

    set_callbacks = set_callbacks

    #: Rows of the chunks of a collection of Dask that was fitted to.
    _chunk_lengths: tuple[int, ...] | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions({"auto", *BY_NAME}), Kernel],
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left"), "array-like"],
        "solver": [StrOptions({"auto", *SOLVERS})],
        "centers": [
            None,
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            Selector,
            "array-like",
            "sparse matrix",
        ],
        "criterion": [StrOptions(set(CRITERIA))],
        "cv": [
            None,
            Interval(Integral, 2, None, closed="left"),
            HasMethods(["split"]),
            "cv_object",
        ],
        "scoring": [None, str, callable],
        "fit_intercept": ["boolean"],
        "alpha_per_target": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "memory_limit": [None, str, Interval(Real, 0, None, closed="neither")],
        "device": [None, str],
        "keep_factor": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [None, Interval(Integral, 1, None, closed="left")],
        "loo_rows": [StrOptions({"auto"}), None, Interval(Integral, 2, None, closed="left")],
        "time_limit": [None, Interval(Real, 0, None, closed="neither")],
        "checkpoint": [None, str, os.PathLike],
    }

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        alpha: Any = "auto",
        *,
        solver: str = "auto",
        centers: Any = None,
        criterion: str = "loo",
        cv: Any = None,
        scoring: Any = None,
        fit_intercept: bool = True,
        alpha_per_target: bool = False,
        validation_fraction: float = 0.1,
        memory_limit: float | str | None = None,
        device: str | None = None,
        keep_factor: bool = True,
        random_state: Any = None,
        verbose: int = 0,
        tol: float = 1e-4,
        max_iter: int | None = None,
        loo_rows: int | str | None = "auto",
        time_limit: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.solver = solver
        self.centers = centers
        self.criterion = criterion
        self.cv = cv
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.alpha_per_target = alpha_per_target
        self.validation_fraction = validation_fraction
        self.memory_limit = memory_limit
        self.device = device
        self.keep_factor = keep_factor
        self.random_state = random_state
        self.verbose = verbose
        self.tol = tol
        self.max_iter = max_iter
        self.loo_rows = loo_rows
        self.time_limit = time_limit
        self.checkpoint = checkpoint

    # --- what a subclass says ---

    @abstractmethod
    def _read_targets(self, X: Array, y: Any) -> tuple[Array, Responses | Labels, Array]:
        """y checked, the coding, and its columns (n, t)."""

    def _check_targets(self, targets: Any, t: int, weights: Array | None) -> None:
        """Refuse parameters that do not fit the targets in ``t`` columns, before any work."""

    @abstractmethod
    def _class_weights(self, y: Array, weights: Array | None) -> Array | None:
        """Weights (k,) of the classes, by which those of rows (n,) are multiplied; None if none."""

    def _more_of_request(self) -> dict[str, Any]:
        """What a subclass asks for beside the common parameters, by the names of the request."""
        return {}

    # --- fit ---

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit, and choose λ and, where it is ``"auto"``, the kernel's width.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (n, d)
            Rows; for a precomputed kernel its matrix (n, n). A :class:`~squareone.rows.Stream`, or
            a memory-mapped array, is read block by block where the solver allows; a Dask array or
            data frame is, by tasks on its scheduler.
        y : array-like of shape (n,) or (n, t)
            Targets; for a classifier classes, or an indicator matrix of several labels per row.
        sample_weight : array-like of shape (n,) or float, optional
            Weights at or above zero.
        groups : array-like of shape (n,), optional
            For a ``cv`` that splits by groups.

        Returns
        -------
        self
        """
        self._forget()
        try:
            request = self._request(X, y, sample_weight, groups)
            plan = plan_of(request)
            kind = kind_of(X)
            if kind is not None:
                self._array_kind = kind
            self._look_at_scales(request, plan)
            lengthy = plan.chosen.flops > _LENGTHY * plan.task.threads
            cores = one_core() if _is_small(plan.task) else nullcontext()
            progress_of_fit = fit_progress(self, X, y, sample_weight, lengthy=lengthy)
            with cores, request.place.active(), progress_of_fit as progress:
                result, plan = fit(request, plan, progress)
                self._remember(request, result, plan)
                result.forget_checkpoint()
        except BaseException:  # an interrupt too: never half fitted
            self._forget()
            raise
        return self

    def _look_at_scales(self, request: FitRequest, plan: Plan) -> None:
        """Warn where the units of features hide some of them from the kernel."""
        tried = trial_rows(plan.chosen.flops)
        warn_of_scales(self, [request.kernel], request.X, request.columns, request.kept, tried)

    def _request(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> FitRequest:
        """Everything that came, checked; nothing large is allocated."""
        return checked_request(self, X, y, sample_weight, groups)

    def _kernel_search(self) -> KernelSearch | None:
        """The kernels to choose among; None where ``kernel`` says all by itself."""
        return KernelSearch.asked(self.kernel)

    def plan(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Plan:
        """Which solver a fit would use, what each one costs, and why: ``print`` it.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (n, d)
        y : array-like of shape (n,) or (n, t)
        sample_weight : array-like of shape (n,), optional
        groups : array-like of shape (n,), optional

        Returns
        -------
        Plan
            With the candidates' flops and bytes, the choice and the reason.

        Notes
        -----
        **Cost**: the checks of the input; nothing is factored.
        """
        return plan_of(copy_for_plan(self)._request(X, y, sample_weight, groups))

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__sigma`` reaches into a kernel object.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        self
        """
        kernel = params.get("kernel", self.kernel)
        nested = [name for name in params if name.startswith("kernel__")]
        if nested and isinstance(kernel, str):
            inner = nested[0].removeprefix("kernel__")
            known = BY_NAME.get(kernel, Gaussian)
            advice = f"kernel={known.__name__}({inner}=...), from squareone.kernels"
            if inner not in known._get_param_names():
                advice = f"from squareone.kernels; {known._advice(inner, params[nested[0]], {})}"
            msg = (
                f"cannot set {nested[0]}: kernel={kernel!r} is a name and has no parameters of its "
                f"own. Pass a kernel object, {advice}"
            )
            raise ValueError(msg)
        return super().set_params(**params)

    # --- what was learned ---

    def _remember(self, request: FitRequest, record: FitResult, plan: Plan) -> None:
        lengths = getattr(request.X, "chunk_lengths", None)
        self.__dict__.pop("_chunk_lengths", None)
        if lengths is not None:
            self._chunk_lengths = lengths
        self._show(record, plan)

    def _show(self, record: FitResult, plan: Plan) -> None:
        """Set the attributes that show what is recorded."""
        self._record, targets = record, record.targets
        follow = partial(follow_rows_of_fit, self)
        self.kernel_ = record.sample.kernel
        if record.learned is not None:
            self.rounds_ = record.learned.rounds
        self.plan_ = plan
        self.n_iter_, self.residual_ = record.iterations, record.residual
        self.alpha_ = follow(record.alphas.copy()) if record.per_target else float(record.alphas[0])
        model = record.model
        if not isinstance(model, Hyperplane):
            self.center_indices_ = follow(model.indices)
            if model.centers is not None:
                self.centers_ = follow(model.centers)
        if record.sample.few_centers:
            self.dropped_centers_ = follow(record.dropped_centers)
        if isinstance(targets, Labels):
            self.classes_ = targets.classes
            if targets.code is not None:
                self.code_ = follow(targets.code.matrix)

    def _recorded(self) -> FitResult:
        return super()._recorded()

    def _travelling(self, question: str, args: tuple[Any, ...], named: dict[str, Any]) -> Self:
        """A copy that answers a question about new rows elsewhere, and has little beside."""
        own = copy(self)
        own._record = TravellingRecord.of(self._recorded())
        return own

    def _place(self) -> Place:
        found = getattr(self, "_record", None)
        return HOST if found is None else place_or_host(found.device)

    def _forget(self) -> None:
        super()._forget()
        if hasattr(self, "_array_kind"):
            del self._array_kind

    def __getstate__(self) -> dict[str, Any]:
        """With NumPy's arrays: a model goes where the library of its rows is not."""
        state = super().__getstate__()
        kind = state.pop("_array_kind", None)
        if kind is None:
            return state
        return {
            name: as_numpy_array(value, kind) if name.endswith("_") else value
            for name, value in state.items()
        }

    def __dir__(self) -> list[str]:
        # scikit-learn lists what it can read, and a notebook shows all that is listed: neither may
        # begin to compute what nobody asked for
        with without_computing():
            return list(super().__dir__())

    coef_: FromResult[Array] = FromResult(
        coefficients.of_hyperplane,
        """Coefficients of the hyperplane, with the linear kernel: (d,) or (t, d).

        For a classifier (1, d), (k, d) or (labels, d). What is assigned, or written into it, counts
        in predictions, files and exports; what was computed by the fit, leave-one-out values and
        probabilities' calibration for instance, stays that of the fit.
        """,
        coefficients.assign_hyperplane,
        like_rows=True,
    )
    dual_coef_: FromResult[Array] = FromResult(
        coefficients.of_expansion,
        "Coefficients of the kernel expansion: (m,) or (m, t). Assigning counts.",
        coefficients.assign_expansion,
        like_rows=True,
    )
    intercept_: FromResult[float | Array] = FromResult(
        coefficients.of_constants,
        "b: a number, or (t,); (1,), (k,) or (labels,) for a classifier. Assigning counts.",
        coefficients.assign_constants,
        like_rows=True,
    )
    path_: FromResult[dict[str, Array]] = FromResult(
        FitResult.path,
        """Every λ looked at: ``alpha`` ascending, ``score``, ``effective_dof`` and ``bits``.

        Where the width was searched, the looks of that search come first, with their ``sigma`` and
        ``rows``.
        """,
    )
    best_score_: FromResult[float | Array] = FromResult(
        FitResult.best_score,
        "Score of the chosen λ by the criterion; greater is better. One per target if λ is.",
    )
    effective_dof_: FromResult[float | Array] = FromResult(
        FitResult.degrees_of_freedom,
        "Trace of the hat matrix at the chosen λ. One per target if λ is.",
    )
    explained_trace_: FromResult[float] = FromResult(
        FitResult.explained_trace,
        """The share of the trace of the kernel matrix that the centers explain.

        Only with centers: tr(K̃)/tr(K) with K̃ = K_nm K_mm⁺ K_mn, over the rows of the fit.
        """,
    )
    loo_residuals_: FromResult[Array] = FromResult(
        lambda record: record.targets.residuals(diagnostics.residuals(record)),
        "Targets less :attr:`loo_predictions_`; for classifiers those are columns of ±1.",
        like_rows=True,
    )
    leverages_: FromResult[Array] = FromResult(
        diagnostics.leverages,
        """How much each row's fitted value follows its own target; one column per target if λ is.

        Their sum is :attr:`effective_dof_`; a row of weight zero has none.
        """,
        like_rows=True,
    )
    gacv_: FromResult[float | Array] = FromResult(
        lambda record: alone(diagnostics.gacv(record)),
        """Generalised approximate cross-validation, a mean square; one per target for several.

        The leave-one-out error with every leverage replaced by their mean.
        """,
    )

    @property
    def loo_predictions_(self) -> Array:
        """Prediction (decision values for classifiers) at each row of the fit without that row.

        A lazy Dask array after a fit to a collection of Dask.
        """
        record = self._recorded()
        if self._chunk_lengths is not None:
            from .lazy_predictions import left_out  # imported late: Dask is an extra

            return left_out(record, self._chunk_lengths)
        return follow_rows_of_fit(self, record.targets.shaped(record.leave_one_out_values))

    @follows_rows
    def influence(self, X: Any) -> Array:
        """How predictions at the rows of ``X`` would change if a training row were left out.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).

        Returns
        -------
        array of shape (m, n) or (m, n, t)
            Entry (j, i): the prediction (decision value) at row j of the fit without training row
            i, less the present one. Without any fit, and exact where leave-one-out values are.

        Notes
        -----
        **Cost**: 2n²m flops with ``cholesky`` and twice that with ``spectral``, n·m·d with
        features; memory for the result and one block.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from squareone import RLSRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> RLSRegressor().fit(X[:300], y[:300]).influence(X[300:302]).shape
        (2, 300)
        """
        return diagnostics.influence(self._recorded(), self._rows(X))

    def suspicious_rows(self, n: int | None = None) -> Array:
        """Training rows whose targets the other rows believe least: look for mistakes there first.

        Rows are ordered by their leave-one-out values: for classes by how much these prefer another
        class to that of the row, for labels by the worst of them, for numbers by the leave-one-out
        error relative to what the model expects of it.

        Parameters
        ----------
        n : int, optional
            How many; all rows of positive weight where it is not given.

        Returns
        -------
        array of shape (n,)
            Positions of rows (``X.iloc[...]`` of a frame), the most suspicious first.

        Notes
        -----
        **Cost**: sorting n numbers, beyond the leave-one-out values and leverages.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import RLSClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> y[30] = 2  # a mistake
        >>> int(RLSClassifier().fit(X, y).suspicious_rows(1)[0])
        30
        """
        return diagnostics.suspicious_rows(self._recorded(), n)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = not self._takes_tables
        return tags

    # --- files ---

    def _fitted_state(self) -> dict[str, Any]:
        """What a file keeps of a fit; for a subclass to add to, and to :meth:`_restore`."""
        return {
            **self._features_state(),
            "plan": of_plan(self.plan_),
            "record": self._recorded().state(),
        }

    def _restore(self, found: Fields) -> None:
        """Set what :meth:`_fitted_state` gave, from a file."""
        record = FitResult.from_state(found.inner("record"))
        if isinstance(record.targets, Labels) != is_classifier(self):
            refuse(found.where, "classes belong to a classifier, numbers to a regressor")
        self._show(record, plan_from(found.inner("plan")))
        self._restore_features(found, record.n_features)
