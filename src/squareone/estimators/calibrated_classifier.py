"""Probabilities and thresholds of classifiers, from values of models that have not seen a row.

Methods and properties for the body of a class whose record has such values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..arrays import Array
from ..models.probabilities import Calibration, fit_calibration
from ..selection.threshold import best_thresholds, is_metric, metric_of_classes
from ..targets import Labels
from .array_libraries import follows_rows
from .mixins import ClassificationMixin


def _calibrates(estimator: Any) -> bool:
    """Whether there are probabilities; otherwise scikit-learn sees no ``predict_proba``."""
    if estimator._calibrated_by() is None:
        msg = "predict_proba needs a calibration: calibration=None was set. Fit again with one"
        raise AttributeError(msg)
    return True


@available_if(_calibrates)
@follows_rows
def predict_proba(self: Any, X: Any) -> Array:
    """Probabilities of the classes, or of each label, calibrated on the leave-one-out values.

    Parameters
    ----------
    X : array-like, sparse matrix or Stream of shape (m, d)
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

    Probabilities increase strictly with the decision value, for two classes and for labels:
    what ranks rows, such as the area under a ROC curve, is the same by either. They are
    float64, also for float32 rows.

    They are those of the rows as they are frequent: ``sample_weight`` counts, ``class_weight``
    does not. With ``"temperature"``, and without ``class_weight`` or ``threshold``, the largest
    probability is that of the predicted class.

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
@follows_rows
def predict_log_proba(self: Any, X: Any) -> Array:
    """Logarithms of :meth:`predict_proba`.

    Parameters
    ----------
    X : array-like, sparse matrix or Stream of shape (m, d)
        Rows; for a precomputed kernel its values with the training rows (m, n).

    Returns
    -------
    array of shape (m, k) or (m, labels)
        Minus infinity where a calibration gives zero.

    Notes
    -----
    **Cost**: that of :meth:`predict_proba`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from squareone import RLSClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RLSClassifier().fit(X, y).predict_log_proba(X[:2]).shape
    (2, 3)
    """
    with np.errstate(divide="ignore"):
        return np.log(self._probabilities(self._values(X)))


def calibration(self: Any) -> Calibration:
    """The map from decision values to probabilities, fitted to :attr:`loo_decision_values_`."""
    record, method = self._recorded(), self._calibrated_by()
    if method is None:
        msg = "calibration=None: there are no probabilities. Fit again with a calibration"
        raise AttributeError(msg)
    if record.calibration is None:
        labels, rows = self._labels(), record.scored_rows
        weights = record.user_weights
        record.calibration = fit_calibration(
            method,
            labels.decisions(record.comparable_scored_values),
            labels.truth(record.sample.Y[rows]),
            None if weights is None else weights[rows],
            exclusive=labels.exclusive,
            class_weighted=record.class_weights is not None,
        )
    return record.calibration


def calibrated_by(self: Any) -> str | None:
    """The calibration there was at the fit; before it the one that is set."""
    fitted = getattr(self, "_record", None)
    return self.calibration if fitted is None else fitted.calibrated_by


def loo_probabilities(self: Any) -> Array:
    """Probabilities of :attr:`loo_decision_values_`, of shape (n, k) or (n, labels)."""
    return self._probabilities(self._recorded().comparable_values)


def loo_decision_values(self: Any) -> Array:
    """Leave-one-out decision values for comparison among rows: (n,), (n, k) or (n, labels).

    Those of :attr:`loo_predictions_` with an intercept that is fitted to all rows: that of a
    fit without a row leans against the row's class, so that pooled over rows
    ``loo_predictions_`` rank them too badly, and where λ is large the wrong way round. Without
    an intercept they are the same.
    """
    record = self._recorded()
    return record.targets.shaped(record.comparable_values)


def probabilities(self: Any, values: Array) -> Array:
    """Of the solved columns (m, t), calibrated."""
    labels = self._labels()
    return labels.probabilities(self.calibration_.probabilities(labels.decisions(values)))


def labels(self: Any) -> Labels:
    """What the columns stand for."""
    found = self._recorded().targets
    assert isinstance(found, Labels)
    return found


def probability_threshold(self: Any) -> float | Array:
    """What the probability of the second class, or of a label, has to exceed.

    It is that of the decision value :attr:`threshold_`; since probabilities increase with
    decision values, both say the same.
    """
    labels = self._labels()
    if labels.exclusive:
        msg = (
            f"probability_threshold_ belongs to two classes or to labels, and there are "
            f"{labels.classes.size} classes, of which the largest value wins"
        )
        raise AttributeError(msg)
    found = self.calibration_.probabilities(np.atleast_1d(self.threshold_)[None, :])[0]
    return found if labels.multilabel else float(found[0])


def decode(self: Any, values: Array) -> Array:
    """Classes of the solved columns (m, t), above the thresholds where there are any."""
    if hasattr(self, "threshold_"):
        values = values - np.asarray(self.threshold_, dtype=values.dtype)
    return ClassificationMixin._decode(self, values)


def thresholds(self: Any, record: Any, weights: Array | None) -> Array:
    """One for each column (t,): zero, those given, or the best ones by the user's weights."""
    if not is_metric(self.threshold):
        given = 0.0 if self.threshold is None else self.threshold
        return np.broadcast_to(np.asarray(given, np.float64), record.alphas.shape).copy()
    rows = record.scored_rows
    # in the precision of the model, so that a threshold is, too
    values = record.comparable_scored_values.astype(record.sample.Y.dtype)
    metric = metric_of_classes(self.threshold, self._labels())
    some = None if weights is None else weights[rows]
    return best_thresholds(metric, values, record.sample.Y[rows] > 0, some)
