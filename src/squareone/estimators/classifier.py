"""RLSClassifier."""

from __future__ import annotations

from functools import wraps
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from ..arrays import Array
from ..files import Fields, refuse
from ..kernels import Kernel
from ..models.probabilities import CALIBRATIONS, Calibration, fit_calibration
from ..selection.bounds import stability_bound
from ..selection.confusion import closed_form
from ..selection.threshold import best_thresholds, cut_scorer
from ..targets import Labels
from . import hindsight
from .base import RegularisedLeastSquares
from .problem import Problem, Request
from .record import Record
from .target_validation import check_labels


def _calibrates(estimator: RLSClassifier) -> bool:
    """Whether there are probabilities; otherwise scikit-learn sees no ``predict_proba``."""
    if estimator._calibrated_by() is None:
        msg = "predict_proba needs a calibration: calibration=None was set. Fit again with one"
        raise AttributeError(msg)
    return True


class RLSClassifier(ClassifierMixin, RegularisedLeastSquares):
    """Regularised least-squares classification (RLSC): all classes and every λ at once.

    Classes become columns of ±1 (one column for two classes, one against all for more, one per
    label for an indicator matrix), which are fitted together as in :class:`RLSRegressor`; the
    largest value wins.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        A name or an object of :mod:`squareone.kernels`; see :class:`RLSRegressor`. Its width is
        chosen together with λ unless it is given.
    alpha : float, sequence of float or "auto", default="auto"
        λ, a grid to choose it from, or ``"auto"``; see :class:`RLSRegressor`.
    solver : {"auto", "cholesky", "spectral", "svd", "gram"}, default="auto"
        See :class:`RLSRegressor`.
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
        starts with, and the held-out part. None means 0: the same fit every time.
    verbose : int, default=0
        1: how far a fit is that takes more than a second; 2: also every λ and width looked at.
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

    Attributes
    ----------
    classes_ : array of shape (k,)
        The classes, sorted; 0 … labels − 1 for an indicator matrix.
    alpha_, kernel_, path_, best_score_, effective_dof_, dual_coef_, centers_, center_indices_, \
coef_, intercept_, plan_, n_features_in_, feature_names_in_
        As in :class:`RLSRegressor`.
    loo_predictions_ : array of shape (n,), (n, k) or (n, labels)
        The decision values at each row of the fit without that row:
        ``classes_[loo_predictions_.argmax(axis=1)]`` are its leave-one-out labels (for two classes
        ``classes_[(loo_predictions_ > 0).astype(int)]``).
    loo_residuals_, leverages_, gacv_
        As in :class:`RLSRegressor`, on the columns of ±1.
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
        class_weight: dict[Any, float] | str | None = None,
        calibration: str | None = "temperature",
        threshold: Any = None,
    ) -> None:
        super().__init__(
            kernel,
            alpha,
            solver=solver,
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
        )
        self.class_weight = class_weight
        self.calibration = calibration
        self.threshold = threshold

    def decision_function(self, X: Any) -> Array:
        """Decision values: above zero means the second class, or the label; the largest class wins.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).

        Returns
        -------
        array of shape (m,), (m, k) or (m, labels)
        """
        values = self._values(X)
        return self._record.targets.shaped(values)

    def predict(self, X: Any) -> Array:
        """Predict classes, or an indicator matrix.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).

        Returns
        -------
        array of shape (m,) or (m, labels)
        """
        return self._decode(self._values(X))

    def _decode(self, values: Array) -> Array:
        if hasattr(self, "threshold_"):
            values = values - np.asarray(self.threshold_, dtype=values.dtype)
        return self._record.targets.decode(values)

    @available_if(_calibrates)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, or of each label, calibrated on the leave-one-out values.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).

        Returns
        -------
        array of shape (m, k) or (m, labels)
            One column per class in the order of ``classes_``, each row summing to one; for an
            indicator matrix the probability of each label.

        Notes
        -----
        **Cost**: that of a prediction; the calibration is fitted at the first call, in some passes
        over n·k leave-one-out values, unless these have to be computed first.

        With ``"temperature"`` the largest probability is that of the predicted class (unless a
        threshold was asked for). Class weights and sample weights of the fit are those of the
        calibration: the probabilities are those of the weighted rows.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import RLSClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> RLSClassifier().fit(X, y).predict_proba(X[:1]).round(2)
        array([[0.99, 0.  , 0.  ]])
        """
        return self._probabilities(self._values(X))

    @available_if(_calibrates)
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m, k) or (m, labels)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def calibration_(self) -> Calibration:
        """The map from decision values to probabilities, fitted to the leave-one-out values."""
        record, method = self._recorded(), self._calibrated_by()
        if method is None:
            msg = "calibration=None: there are no probabilities. Fit again with a calibration"
            raise AttributeError(msg)
        if record.calibration is None:
            record.calibration = fit_calibration(
                method,
                record.leave_one_out_values[record.kept],
                record.sample.Y > 0,
                record.sample.weights,
                exclusive=self._labels().exclusive,
            )
        return record.calibration

    def _calibrated_by(self) -> str | None:
        """The calibration there was at the fit; before it the one that is set."""
        fitted = getattr(self, "_record", None)
        return self.calibration if fitted is None else fitted.calibrated_by

    @property
    def loo_probabilities_(self) -> Array:
        """Probabilities at each row of the fit without that row, of shape (n, k) or (n, labels)."""
        return self._probabilities(self._recorded().leave_one_out_values)

    def _probabilities(self, values: Array) -> Array:
        return self._labels().probabilities(self.calibration_.probabilities(values))

    def _labels(self) -> Labels:
        labels = self._recorded().targets
        assert isinstance(labels, Labels)
        return labels

    @property
    def loo_error_bound_(self) -> float | Array:
        """Share of rows that may be misclassified when left out; one per label for several.

        At least the leave-one-out error rate (Rifkin, Yeo & Poggio 2003, section 7.7), from the
        fitted values alone. Without an intercept only: with one it does not hold.
        """
        record = self._recorded()
        if record.sample.intercept:
            msg = (
                "loo_error_bound_ holds only without an intercept: fit with fit_intercept=False "
                "for it, or take the exact leave-one-out errors, which loo_predictions_ gives"
            )
            raise AttributeError(msg)
        rows = hindsight.may_err(record)
        # several classes: a row is right if all its columns are
        multilabel = self._labels().multilabel
        return rows.mean(axis=0) if multilabel else float(rows.any(axis=1).mean())

    def stability_bound(self, delta: float = 0.05, kappa: float | None = None) -> float | Array:
        """Bound the error rate on unseen rows by algorithmic stability.

        Parameters
        ----------
        delta : float, default=0.05
            The bound holds with probability 1 − δ over the draw of independent rows.
        kappa : float, optional
            √k(x, x) at most, for every x there can be; by default the largest of the training rows.

        Returns
        -------
        float or array of shape (k,)
            A bound on the expected square loss, which is at least the error rate; for several
            classes or labels one for each column. Far above one unless λ is much larger than √n
            times k(x, x).

        Notes
        -----
        Bousquet & Elisseeff (2002), theorems 12 and 22. For σ and λ not chosen on the rows, without
        an intercept or weights; otherwise it is refused.

        **Cost**: n·k operations beyond the leave-one-out values.
        """
        record = self._recorded()
        if not isinstance(delta, Real) or not 0 < delta < 1:
            msg = f"delta={delta!r}: a number between 0 and 1, such as 0.05, is expected"
            raise ValueError(msg)
        if record.sample.intercept or record.sample.weights is not None:
            msg = (
                "stability_bound holds without an intercept and without weights only: fit with "
                "fit_intercept=False, and no sample_weight or class_weight"
            )
            raise ValueError(msg)
        if not record.alphas.min() > 0:
            msg = "stability_bound needs an alpha above zero"
            raise ValueError(msg)
        if record.steps or np.ndim(self.alpha) > 0 or isinstance(self.alpha, str):
            msg = (
                "stability_bound needs a width and an alpha that were not chosen on these rows: "
                "fit with numbers for both, found on other rows"
            )
            raise ValueError(msg)
        if kappa is None:
            kappa = float(np.sqrt(record.diagonal.max()))
        elif not isinstance(kappa, Real) or not 0 < kappa < np.inf:
            msg = f"kappa={kappa!r}: a number above zero, the square root of k(x, x), is expected"
            raise ValueError(msg)
        found = stability_bound(hindsight.residuals(record), record.alphas, kappa, delta)
        return float(found[0]) if found.size == 1 else found

    def _remember(self, request: Request, problem: Problem, record: Record) -> None:
        super()._remember(request, problem, record)
        record.calibrated_by = self.calibration
        labels = self._labels()
        if labels.exclusive:
            return
        weights = request.user_weights
        thresholds = self._thresholds(
            record, None if weights is None else weights[record.kept], len(record.alphas)
        )
        self.threshold_ = thresholds if labels.multilabel else float(thresholds[0])

    def _needs_left_out(self, problem: Problem) -> bool:
        if isinstance(self.threshold, str) or callable(self.threshold):
            return True
        # a kernel model keeps its rows and can be calibrated later
        return self.calibration is not None and (problem.linear or problem.given)

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
        """Refuse a threshold that makes no sense, before any work."""
        if self.threshold is None:
            return
        if targets.exclusive:
            msg = (
                f"threshold={self.threshold!r} with {targets.classes.size} classes: a threshold "
                "belongs to two classes or to labels of an indicator matrix; with several "
                "classes the largest value wins"
            )
            raise ValueError(msg)
        if isinstance(self.threshold, str) or callable(self.threshold):
            cut_scorer(self.threshold, weighted=weights is not None)
            return
        try:
            given = np.asarray(self.threshold, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.array(np.nan)
        right_shape = given.shape in ((), (1,), (t,)) and not isinstance(self.threshold, bool)
        if not right_shape or not np.isfinite(given).all():
            numbers = "a finite number" if t == 1 else f"a finite number, or {t} for as many labels"
            msg = (
                f"threshold={self.threshold!r}: {numbers}, the name of a metric such as 'f1', or "
                "a function metric(y_true, y_pred) is expected"
            )
            raise ValueError(msg)

    def _metric(self) -> Any:
        """The metric to choose a threshold by: a function of two classes sees their names."""
        metric, labels = self.threshold, self._labels()
        if labels.multilabel or isinstance(metric, str) or closed_form(metric) is not None:
            return metric

        @wraps(metric)
        def of_classes(true: Array, predicted: Array, **more: Any) -> float:
            return metric(labels.classes[true], labels.classes[predicted], **more)

        return of_classes

    def _thresholds(self, record: Record, weights: Array | None, t: int) -> Array:
        """A threshold per column (t,): none, those given, or the best ones."""
        if self.threshold is None:
            return np.zeros(t)
        if isinstance(self.threshold, str) or callable(self.threshold):
            return best_thresholds(
                self._metric(),
                record.leave_one_out_values[record.kept],
                record.sample.Y > 0,
                weights,
            )
        given = np.asarray(self.threshold, dtype=np.float64)
        return np.broadcast_to(given, (t,)).copy()

    def _read_targets(self, X: Array, y: Any) -> tuple[Array, Labels, Array]:
        y = check_labels(y, X)
        check_classification_targets(y)
        targets = Labels.of(y)
        return y, targets, targets.columns(y, X.dtype)

    def _row_weights(self, y: Array, weights: Array | None) -> Array | None:
        weights = self._with_class_weight(y, weights)
        if weights is not None and y.ndim == 1 and np.unique(y[weights > 0]).size < 2:
            msg = (
                "the rows of positive weight are of one class only: a classifier needs at least "
                "two classes to tell apart"
            )
            raise ValueError(msg)
        return weights

    def _with_class_weight(self, y: Array, weights: Array | None) -> Array | None:
        if self.class_weight is None:
            return weights
        if y.ndim == 2:
            msg = (
                "class_weight is not defined for an indicator matrix: each label would need "
                "weights and a factorisation of its own. Fit the labels one by one, or use "
                "sample_weight"
            )
            raise ValueError(msg)
        counted = y if weights is None else y[weights > 0]
        classes = np.unique(counted)
        per_class = self._weights_of(classes, counted)
        by_class = np.zeros(y.shape[0])
        for label, weight in zip(classes, per_class, strict=True):
            by_class[y == label] = weight
        return by_class if weights is None else by_class * weights

    def _weights_of(self, classes: Array, y: Array) -> Array:
        """A weight per class (k,), finite and not all zero."""
        expected = "finite weights at or above zero, not all zero, are expected"
        try:
            per_class = compute_class_weight(self.class_weight, classes=classes, y=y)
        except (TypeError, ValueError) as error:
            msg = f"class_weight={self.class_weight!r}: {error}; {expected}"
            raise ValueError(msg) from error
        if not np.isfinite(per_class).all() or (per_class < 0).any() or not per_class.any():
            msg = f"class_weight={self.class_weight!r}: {expected}"
            raise ValueError(msg)
        return per_class

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
