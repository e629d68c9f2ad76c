"""Probabilities and thresholds of classifiers, from values of models that have not seen a row.

Methods and attributes for the body of a class whose record has such values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..arrays import Array
from ..fitting.class_probabilities import (
    calibrated,
    calibration_of,
    left_out_probabilities,
    probability_of,
)
from ..persistence import Fields, refuse
from .array_libraries import follows_rows
from .fitted_attributes import FromResult


def _calibrates(estimator: Any) -> bool:
    """Whether there are probabilities; otherwise scikit-learn sees no ``predict_proba``."""
    # the calibration there was at the fit; before it the one that is set
    record = getattr(estimator, "_record", None)
    if (estimator.calibration if record is None else record.calibrated_by) is None:
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
    return _probabilities(self, X)


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
        return np.log(_probabilities(self, X))


def _probabilities(estimator: Any, X: Any) -> Array:
    values = estimator._values(X)
    return calibrated(estimator._recorded(), values)


calibration_ = FromResult(
    calibration_of,
    "The map from decision values to probabilities, fitted to :attr:`loo_decision_values_`.",
)
loo_probabilities_ = FromResult(
    left_out_probabilities,
    "Probabilities of :attr:`loo_decision_values_`, of shape (n, k) or (n, labels).",
)
loo_decision_values_: FromResult[Array] = FromResult(
    lambda record: record.targets.shaped(record.comparable_values),
    """Leave-one-out decision values for comparison among rows: (n,), (n, k) or (n, labels).

    Those of :attr:`loo_predictions_` with an intercept that is fitted to all rows: that of a
    fit without a row leans against the row's class, so that pooled over rows
    ``loo_predictions_`` rank them too badly, and where λ is large the wrong way round. Without
    an intercept they are the same.
    """,
)


def probability_threshold(self: Any) -> float | Array:
    """What the probability of the second class, or of a label, has to exceed.

    It is that of the decision value :attr:`threshold_`; since probabilities increase with
    decision values, both say the same.
    """
    record = self._recorded()
    return probability_of(record, getattr(self, "threshold_", None))


def restore_threshold(estimator: Any, found: Fields) -> None:
    """Set the threshold that a file has, of an estimator whose record is there."""
    labels = estimator._recorded().targets
    if found.given("threshold") == labels.exclusive:
        refuse(found.where, "a threshold belongs to two classes, or to labels")
    if labels.multilabel:
        estimator.threshold_ = found.array("threshold", labels.classes.shape, (np.float64,))
    elif not labels.exclusive:
        estimator.threshold_ = found.number("threshold")
