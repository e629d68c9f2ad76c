"""What RLSRegressor and RLSClassifier share: the walk of a fit and what can be asked afterwards."""

from __future__ import annotations

import os
from abc import abstractmethod
from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, thread_budget
from ..files import Fields, refuse
from ..kernels import BY_NAME, Gaussian, Kernel, Linear
from ..kernels.widths import free_width
from ..models import Hyperplane
from ..selection import (
    Folds,
    GeneralisedCrossValidation,
    LeaveOneOut,
    MarginalLikelihood,
    folds_from_splits,
)
from ..selection.criteria import Criterion
from ..solvers import Plan, Task, make_plan
from ..solvers.memory import memory_limit as bytes_allowed
from ..targets import Labels, Responses
from . import hindsight, state, validation
from .callbacks import CallbackSupport, fit_progress
from .problem import Problem, Request
from .record import Record, at_rest
from .scoring import held_out_scorer
from .walk import solve

# Flops of each thread that take more than a second everywhere: progress is shown from the start.
_LENGTHY = 1.5e11

CRITERIA = ("loo", "gcv", "holdout", "marginal_likelihood")
SOLVERS = ("auto", "cholesky", "gram", "spectral", "svd")


class RegularisedLeastSquares(CallbackSupport, BaseEstimator):
    """The common part of the estimators; not for use by itself."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(BY_NAME)), Kernel],
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left"), "array-like"],
        "solver": [StrOptions(set(SOLVERS))],
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
        "keep_factor": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        alpha: Any = "auto",
        *,
        solver: str = "auto",
        criterion: str = "loo",
        cv: Any = None,
        scoring: Any = None,
        fit_intercept: bool = True,
        alpha_per_target: bool = False,
        validation_fraction: float = 0.1,
        memory_limit: float | str | None = None,
        keep_factor: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.solver = solver
        self.criterion = criterion
        self.cv = cv
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.alpha_per_target = alpha_per_target
        self.validation_fraction = validation_fraction
        self.memory_limit = memory_limit
        self.keep_factor = keep_factor
        self.random_state = random_state
        self.verbose = verbose

    # --- what a subclass says ---

    @abstractmethod
    def _read_targets(self, X: Array, y: Any) -> tuple[Array, Responses | Labels, Array]:
        """y checked, the coding, and its columns (n, t)."""

    @abstractmethod
    def _row_weights(self, y: Array, weights: Array | None) -> Array | None:
        """Weights (n,) of the fit, from the user's weights and classes."""

    def _needs_left_out(self, problem: Problem) -> bool:
        """Whether leave-one-out values are needed in any case, and could not be had later."""
        return False

    def _fixed_scale(self) -> float | None:
        """The scale of the Gaussian process, where it is given."""
        return None

    # --- fit ---

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit, and choose λ and, where it is ``"auto"``, the kernel's width.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows; for a precomputed kernel its matrix (n, n).
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
            request = self._read(X, y, sample_weight, groups)
            plan = request.plan
            lengthy = plan.chosen.flops > _LENGTHY * plan.task.threads
            with fit_progress(self, X, y, sample_weight, lengthy=lengthy) as progress:
                problem = Problem.of(request, progress)
                outcome = solve(problem)
                record = Record(
                    problem,
                    outcome,
                    request.targets,
                    keep_factor=self.keep_factor,
                    memory_limit=self.memory_limit,
                    at_once=self._needs_left_out(problem),
                )
                self._remember(request, problem, record)
        except BaseException:  # an interrupt too: never half fitted
            self._forget()
            raise
        return self

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") or name == "_record"]:
            delattr(self, name)

    def _read(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Request:
        """Everything that came, checked, and the plan; nothing large is allocated."""
        if not get_config()["skip_parameter_validation"]:
            self._validate_params()
        alpha = validation.check_alpha(self.alpha)
        kernel = validation.kernel_from(self.kernel)
        kernel.check_parameters()
        searched = free_width(kernel) != ""
        self._check_consistency(kernel, groups)
        X = validation.check_rows(self, X, reset=True)
        given = validation.is_precomputed(kernel)
        if given:
            validation.check_square(X)
        validation.check_scale(X, "the kernel matrix" if given else "X")
        y, targets, columns = self._read_targets(X, y)
        user_weights = validation.check_weights(sample_weight, X.shape[0], X.dtype)
        weights = self._row_weights(y, user_weights)
        kept = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        criterion = self._criterion(X, y, targets, kept, groups, rng, alpha)
        per_target = self.alpha_per_target and columns.shape[1] > 1
        scorer = held_out_scorer(
            self.scoring,
            y[kept],
            targets,
            None if user_weights is None else user_weights[kept],
            per_target=per_target,
        )
        folds = criterion if isinstance(criterion, Folds) else None
        task = Task(
            n=kept.size,
            d=kept.size if given else X.shape[1],
            t=columns.shape[1],
            itemsize=X.dtype.itemsize,
            linear=isinstance(kernel, Linear),
            given=given,
            alphas="auto" if isinstance(alpha, str) else int(np.size(alpha)),
            smooth=scorer is None and not per_target,
            fold_work=folds.work() if folds else 0.0,
            largest_fold=folds.largest() if folds else 0,
            held=scorer is not None,
            copied=kept.size < X.shape[0],
            threads=thread_budget(),
            width_search=searched,
        )
        plan = make_plan(task, self.solver, bytes_allowed(self.memory_limit))
        return Request(
            X=X,
            targets=targets,
            columns=columns,
            weights=weights,
            user_weights=user_weights,
            kept=kept,
            kernel=kernel,
            alpha=alpha,
            criterion=criterion,
            scorer=scorer,
            per_target=per_target,
            intercept=self.fit_intercept,
            solver=self.solver,
            plan=plan,
            rng=rng,
        )

    def _check_consistency(self, kernel: Kernel, groups: Any) -> None:
        """Refuse parameters that do not fit together, before any work."""
        if self.solver in ("svd", "gram") and not isinstance(kernel, Linear):
            msg = (
                f'solver="{self.solver}" works with features and needs kernel="linear", got '
                f'{kernel!r}. Use "cholesky", "spectral" or "auto"'
            )
            raise ValueError(msg)
        without_rows = self.criterion in ("gcv", "marginal_likelihood")
        if self.scoring is not None and self.cv is None and without_rows:
            msg = (
                f'criterion="{self.criterion}" holds no rows out, so there is nothing for '
                f'scoring={self.scoring!r} to score: use criterion="loo", "holdout" or cv'
            )
            raise ValueError(msg)
        if self.cv is not None and self.criterion != "loo":
            msg = (
                f"cv={self.cv!r} and criterion={self.criterion!r} both say how alpha is chosen: "
                "set one of them"
            )
            raise ValueError(msg)
        if groups is not None and self.cv is None:
            msg = "groups were given, but cv is None: pass a splitter such as GroupKFold() as cv"
            raise ValueError(msg)

    def _criterion(
        self,
        X: Array,
        y: Array,
        targets: Responses | Labels,
        kept: Array,
        groups: Any,
        rng: np.random.RandomState,
        alpha: float | Array | str,
    ) -> Criterion:
        if self.cv is None and self.criterion != "holdout":
            if kept.size < 2 and not isinstance(alpha, float):
                msg = (
                    f"criterion={self.criterion!r} needs at least two rows of positive weight to "
                    f"choose alpha, got n_samples = {kept.size}: give a number for alpha"
                )
                raise ValueError(msg)
            if self.criterion == "marginal_likelihood":
                return MarginalLikelihood(self._fixed_scale())
            return LeaveOneOut() if self.criterion == "loo" else GeneralisedCrossValidation()
        from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv

        n = X.shape[0]
        classes = isinstance(targets, Labels) and not targets.multilabel
        if self.cv is None:
            splitter = StratifiedShuffleSplit if classes else ShuffleSplit
            cv = splitter(1, test_size=self.validation_fraction, random_state=rng)
            return Folds(folds_from_splits(cv.split(X, y), kept, n), "holdout")
        cv = check_cv(self.cv, y, classifier=classes)
        if groups is not None:
            groups = np.asarray(groups)
        return Folds(folds_from_splits(cv.split(X, y, groups), kept, n))

    def plan(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Plan:
        """Which solver a fit would use, what each one costs, and why: ``print`` it.

        Parameters
        ----------
        X : array-like of shape (n, d)
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
        if hasattr(self.cv, "__next__"):
            msg = "cv is a generator, which plan would use up: pass list(cv)"
            raise ValueError(msg)
        parameters = self.get_params(deep=False)
        parameters["random_state"] = deepcopy(self.random_state)  # a fit draws the same numbers
        return type(self)(**parameters)._read(X, y, sample_weight, groups).plan

    def _remember(self, request: Request, problem: Problem, record: Record) -> None:
        self._show(record, problem.plan)

    def _show(self, record: Record, plan: Plan) -> None:
        """Set the attributes that show what is recorded."""
        self._record, targets = record, record.targets
        self.kernel_ = record.sample.kernel
        self.plan_ = plan
        self.alpha_ = record.alphas if record.per_target else float(record.alphas[0])
        model = record.model
        self.intercept_ = targets.shaped(model.intercepts[None, :])[0]
        if isinstance(model, Hyperplane):
            self.coef_ = targets.shaped(model.coefficients).T
        else:
            self.dual_coef_ = targets.shaped(model.coefficients)
            self.center_indices_ = model.indices
            if model.centers is not None:
                self.centers_ = model.centers
        if isinstance(targets, Labels):
            self.classes_ = targets.classes

    # --- files ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file, for :func:`squareone.load`.

        Parameters
        ----------
        path : str or PathLike
            A safetensors file, such as ``"model.safetensors"``; an older one is replaced once the
            new one is complete.

        Notes
        -----
        **Cost**: that of writing the centers, the coefficients and a few numbers per row; never
        the n² of the factorisation.
        """
        from .saving import save

        save(self, path)

    def _fitted_state(self) -> dict[str, Any]:
        """What a file keeps of a fit; for a subclass to add to, and to :meth:`_restore`."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "n_features_in": self.n_features_in_,
            "feature_names_in": None if names is None else names.tolist(),
            "plan": state.of_plan(self.plan_),
            "record": self._recorded().state(),
        }

    def _restore(self, found: Fields) -> None:
        """Set what :meth:`_fitted_state` gave, from a file."""
        record = Record.from_state(found.inner("record"))
        if isinstance(record.targets, Labels) != is_classifier(self):
            refuse(found.where, "classes belong to a classifier, numbers to a regressor")
        self._show(record, state.plan_from(found.inner("plan")))
        self.n_features_in_ = found.take("n_features_in", int)
        if self.n_features_in_ != record.n_features:
            refuse(found.where, f"{record.n_features} features are not {self.n_features_in_}")
        if found.given("feature_names_in"):
            names = found.take("feature_names_in", list)
            texts = all(isinstance(name, str) for name in names)
            if not texts or not len(set(names)) == len(names) == record.n_features:
                refuse(found.where, f"{len(names)} names of {record.n_features} features")
            self.feature_names_in_ = np.array(names, dtype=object)

    # --- after the fit ---

    def _recorded(self) -> Record:
        check_is_fitted(self)
        return self._record

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_record")

    def __dir__(self) -> list[str]:
        # scikit-learn lists what it can read, and a notebook shows all that is listed: neither may
        # begin to compute what nobody asked for
        with at_rest():
            return list(super().__dir__())

    @property
    def path_(self) -> dict[str, Array]:
        """Every λ looked at: ``alpha`` ascending, ``score``, ``effective_dof`` and ``bits``.

        Where the width was searched, the looks of that search come first, with their ``sigma`` and
        ``rows``.
        """
        return self._recorded().path("path_")

    @property
    def best_score_(self) -> float | Array:
        """Score of the chosen λ by the criterion; greater is better. One per target if λ is."""
        return self._recorded().best_score("best_score_")

    @property
    def loo_predictions_(self) -> Array:
        """Prediction (decision values for classifiers) at each row of the fit without that row."""
        record = self._recorded()
        return record.targets.shaped(record.leave_one_out_values)

    @property
    def effective_dof_(self) -> float | Array:
        """Trace of the hat matrix at the chosen λ. One per target if λ is."""
        return self._recorded().degrees_of_freedom("effective_dof_")

    @property
    def loo_residuals_(self) -> Array:
        """Targets less :attr:`loo_predictions_`; for classifiers those are columns of ±1."""
        record = self._recorded()
        return record.targets.shaped(hindsight.residuals(record))

    @property
    def leverages_(self) -> Array:
        """How much each row's fitted value follows its own target; one column per target if λ is.

        Their sum is :attr:`effective_dof_`; a row of weight zero has none.
        """
        record = self._recorded()
        found = hindsight.leverages(record)
        return found if record.per_target else found[:, 0]

    @property
    def gacv_(self) -> float | Array:
        """Generalised approximate cross-validation, a mean square; one per target for several.

        The leave-one-out error with every leverage replaced by their mean.
        """
        found = hindsight.gacv(self._recorded())
        return float(found[0]) if found.size == 1 else found

    def influence(self, X: Any) -> Array:
        """How predictions at the rows of ``X`` would change if a training row were left out.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).

        Returns
        -------
        array of shape (m, n) or (m, n, t)
            Entry (j, i): the prediction (decision value) at row j of the fit without training row
            i, less the present one. Exact, and without any fit.

        Notes
        -----
        **Cost**: 2n²m flops with ``cholesky`` and twice that with ``spectral``, n·m·d with
        features; memory for the result and one block.
        """
        record = self._recorded()
        change = hindsight.influence(record, self._rows(X))
        return change[:, :, 0] if change.shape[2] == 1 else change

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
            Row numbers, the most suspicious first.
        """
        record = self._recorded()
        order = record.kept[np.argsort(-hindsight.suspicion(record), kind="stable")]
        if n is None:
            return order
        if not isinstance(n, Integral) or isinstance(n, bool) or not 0 < n <= order.size:
            msg = f"n={n!r}: a number of rows from 1 to {order.size} is expected, or None for all"
            raise ValueError(msg)
        return order[:n]

    def to_onnx(
        self, path: str | os.PathLike[str], *, dtype: Any = None, opset: int | None = None
    ) -> None:
        """Write an ONNX file that predicts as this estimator does: :func:`squareone.to_onnx`.

        Parameters
        ----------
        path : str or path-like
            The file; one that is there is replaced.
        dtype : {numpy.float64, numpy.float32}, optional
            Of the rows and of the computation; by default that of the model.
        opset : int, optional
            The version of ONNX's operators; by default 17.

        Raises
        ------
        ExportError
            Where the graph, run by onnxruntime, differs from the estimator by more than rounding.
        """
        from .export import to_onnx  # imported late: it needs more than a fit does

        to_onnx(self, path, dtype=dtype, opset=opset)

    def _rows(self, X: Any) -> Array:
        """New rows, checked, in the precision of the model."""
        record = self._recorded()
        if validation.is_precomputed(self.kernel_):
            validation.check_kernel_values(X, self.n_features_in_)
        X = validation.check_rows(self, X, reset=False)
        return X.astype(record.model.dtype, copy=False)

    def _values(self, X: Any) -> Array:
        """f at the rows of X → (n, t)."""
        record = self._recorded()
        return record.model.values(self._rows(X))

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
            known = BY_NAME.get(kernel, Gaussian).__name__
            msg = (
                f"cannot set {nested[0]}: kernel={kernel!r} is a name and has no parameters of its "
                f"own. Pass a kernel object, kernel={known}({inner}=...), from squareone.kernels"
            )
            raise ValueError(msg)
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = validation.is_precomputed(self.kernel)
        return tags
