"""RLSClassifier."""

from __future__ import annotations

import os
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ..arrays import Array
from ..fitting.problem import Problem, Request
from ..fitting.result import Record
from ..kernels import Kernel
from ..models.probabilities import CALIBRATIONS
from ..persistence import Fields, refuse
from ..targets import CODINGS, Coding, Labels
from .base import RegularisedLeastSquares
from .bounded import Bounded
from .mixins import Classifying
from .thresholds import check_threshold, find_thresholds, is_metric


class RLSClassifier(Classifying, Bounded, RegularisedLeastSquares):
    """Regularised least-squares classification (RLSC): all classes and every λ at once.

    Classes become columns of ±1 (one column for two classes, one against all or a code for more,
    one per label for an indicator matrix), which are fitted together as in :class:`RLSRegressor`;
    the largest value wins.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        A name or an object of :mod:`squareone.kernels`; see :class:`RLSRegressor`. Its width is
        chosen together with λ unless it is given.
    alpha : float, sequence of float or "auto", default="auto"
        λ, a grid to choose it from, or ``"auto"``; see :class:`RLSRegressor`.
    solver : str, default="auto"
        ``"auto"``, ``"cholesky"``, ``"spectral"``, ``"svd"``, ``"gram"``, ``"krylov"``,
        ``"rectangle"``, ``"pcg"``, ``"nystrom"`` or ``"subset"``; see :class:`RLSRegressor`.
    centers : int, "auto", array-like of shape (m, d), Selector or None, default=None
        The points that carry coefficients; None means all rows. See :class:`RLSRegressor`.
    criterion : {"loo", "gcv", "holdout", "marginal_likelihood"}, default="loo"
        How the width and λ are chosen, see :class:`RLSRegressor`; the held-out part is stratified.
    cv : int, splitter, iterable of splits or None, default=None
        Choose by exact cross-validation, in closed form; an integer means stratified folds.
    scoring : str, callable or None, default=None
        A scikit-learn scorer for the pooled held-out decision values (``"accuracy"``,
        ``"roc_auc"``); None means minus the mean squared error on the ±1 columns. A width is chosen
        by it on at most 1,000 rows.
    fit_intercept : bool, default=True
        Whether to fit an unpenalised intercept.
    alpha_per_target : bool, default=False
        Choose a λ for every column by itself.
    validation_fraction : float, default=0.1
        Share of the rows held out by ``criterion="holdout"``.
    memory_limit : int, str or None, default=None
        Bytes, or a text such as ``"2GiB"``; by default what the machine has free.
    keep_factor : bool, default=True
        Keep the factorisation for what is asked later.
    random_state : int, RandomState instance or None, default=None
        For the rows behind the median distance, those a search for the width or a bracketed search
        starts with, the held-out part, centers, the rows of ``loo_rows``, and random probes. None
        means 0: the same fit every time.
    verbose : int, default=0
        1: how far a fit is that takes more than a second; 2: also every λ and width looked at.
    tol : float, default=1e-4
        The relative residual at which ``"krylov"`` and ``"pcg"`` stop; other solvers have none.
    max_iter : int or None, default=None
        Their iterations at most, with a warning; None means 1,000.
    loo_rows : int, "auto" or None, default="auto"
        With centers: the random rows of the leave-one-out error, and of the calibration.
    time_limit : float or None, default=None
        Seconds that ``centers="auto"`` may spend.
    checkpoint : str, PathLike or None, default=None
        A file from which an interrupted fit with centers goes on.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied into ``sample_weight``; not for an indicator matrix, where
        each label would need weights, and a factorisation, of its own.
    calibration : {"temperature", "platt", "isotonic", "linear"} or None, default="temperature"
        How :meth:`predict_proba` makes probabilities of decision values, fitted to the
        leave-one-out values: a logistic function (softmax for several classes) of the values times
        a number; a logistic function of an affine function of each; an increasing function; or
        (1 + f)/2. None: no probabilities.
    threshold : str, callable, float, array of shape (labels,) or None, default=None
        For two classes, or each label of an indicator matrix: decision values above it mean yes.
        None means zero. The name of a metric (``"f1"``, ``"balanced_accuracy"``, any scikit-learn
        scorer of labels), of which the second of ``classes_`` is the positive class, or a function
        ``metric(y_true, y_pred)`` of classes, greater is better: the threshold that is best on the
        leave-one-out values. ``sample_weight`` counts in it, ``class_weight`` does not.
    coding : {"one_vs_all", "one_vs_one", "bch"} or Coding, default="one_vs_all"
        How more than two classes become columns, and back again: see :mod:`squareone.targets`.
        ``"bch"`` is ``BCH(63)``. All codings cost the same. Not for an indicator matrix; two
        classes have one column in any coding.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The classes, sorted; 0 … labels − 1 for an indicator matrix.
    alpha_, kernel_, path_, best_score_, effective_dof_, dual_coef_, centers_, center_indices_, \
dropped_centers_, explained_trace_, coef_, intercept_, n_iter_, residual_, plan_, \
n_features_in_, feature_names_in_
        As in :class:`RLSRegressor`; coefficients are those of the decision values, or where a
        coding counts signs those of its columns.
    code_ : array of shape (k, columns)
        The targets of each class, where there is a coding other than one against all.
    loo_predictions_ : array of shape (n,), (n, k) or (n, labels)
        The decision values at each row of the fit without that row:
        ``classes_[loo_predictions_.argmax(axis=1)]`` are its leave-one-out labels (for two classes
        ``classes_[(loo_predictions_ > 0).astype(int)]``).
    loo_residuals_, leverages_, gacv_
        As in :class:`RLSRegressor`, on the columns of ±1 (those of the code, where there is one).
    loo_probabilities_ : array of shape (n, k) or (n, labels)
        Probabilities at each row of the fit without that row.
    threshold_ : float or array of shape (labels,)
        What decision values have to exceed; not for more than two classes.
    calibration_ : Calibration
        The map from decision values to probabilities.
    loo_error_bound_ : float or array of shape (labels,)
        A bound on the leave-one-out error rate, without an intercept only.

    See Also
    --------
    RLSRegressor : The same for numbers; cost and conventions are told there.

    Notes
    -----
    **Cost**: that of :class:`RLSRegressor` with k target columns; the factorisation is shared.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from squareone import RLSClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RLSClassifier().fit(X, y)
    >>> int((model.loo_predictions_.argmax(axis=1) != y).sum())  # leave-one-out errors
    7
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RegularisedLeastSquares._parameter_constraints,
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "calibration": [None, StrOptions(set(CALIBRATIONS))],
        "threshold": [None, str, callable, Real, "array-like"],
        "coding": [StrOptions(set(CODINGS)), Coding],
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
        keep_factor: bool = True,
        random_state: Any = None,
        verbose: int = 0,
        tol: float = 1e-4,
        max_iter: int | None = None,
        loo_rows: int | str | None = "auto",
        time_limit: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        class_weight: dict[Any, float] | str | None = None,
        calibration: str | None = "temperature",
        threshold: Any = None,
        coding: str | Coding = "one_vs_all",
    ) -> None:
        super().__init__(
            kernel,
            alpha,
            solver=solver,
            centers=centers,
            criterion=criterion,
            cv=cv,
            scoring=scoring,
            fit_intercept=fit_intercept,
            alpha_per_target=alpha_per_target,
            validation_fraction=validation_fraction,
            memory_limit=memory_limit,
            keep_factor=keep_factor,
            random_state=random_state,
            verbose=verbose,
            tol=tol,
            max_iter=max_iter,
            loo_rows=loo_rows,
            time_limit=time_limit,
            checkpoint=checkpoint,
        )
        self.class_weight = class_weight
        self.calibration = calibration
        self.threshold = threshold
        self.coding = coding

    def _decode(self, values: Array) -> Array:
        if hasattr(self, "threshold_"):
            values = values - np.asarray(self.threshold_, dtype=values.dtype)
        return super()._decode(values)

    def _remember(self, request: Request, problem: Problem, record: Record) -> None:
        super()._remember(request, problem, record)
        record.calibrated_by = self.calibration
        labels = self._labels()
        if labels.exclusive:
            return
        weights = request.user_weights
        weights = None if weights is None else weights[record.kept]
        thresholds = find_thresholds(self.threshold, record, labels, weights)
        self.threshold_ = thresholds if labels.multilabel else float(thresholds[0])

    def _needs_left_out(self, problem: Problem) -> bool:
        if is_metric(self.threshold):
            return True
        if self.calibration is None:
            return False
        if problem.plan.solver in ("krylov", "pcg"):  # probes cost as much as the fit: they wait
            return not self.keep_factor
        # a kernel model of all rows keeps them, and can be calibrated later
        return problem.linear or problem.given or problem.thin

    def _fitted_state(self) -> dict[str, Any]:
        return {**super()._fitted_state(), "threshold": getattr(self, "threshold_", None)}

    def _restore(self, found: Fields) -> None:
        super()._restore(found)
        labels = self._labels()
        if found.given("threshold") == labels.exclusive:
            refuse(found.where, "a threshold belongs to two classes, or to labels")
        if labels.exclusive:
            return
        if labels.multilabel:
            self.threshold_ = found.array("threshold", labels.classes.shape, (np.float64,))
        else:
            self.threshold_ = found.number("threshold")

    def _check_targets(self, targets: Labels, t: int, weights: Array | None) -> None:
        check_threshold(self.threshold, targets, t, weighted=weights is not None)

    def _rotated(self) -> bool:
        return not self.alpha_per_target
