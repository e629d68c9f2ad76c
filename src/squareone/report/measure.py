"""What the score of a fitted estimator is called, and the number a reader wants to see for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..estimators.base import RegularisedLeastSquares

_CRITERIA = {
    "loo": "leave-one-out",
    "gcv": "generalised cross-validation",
    "holdout": "hold-out",
}
ROOT_MEAN_SQUARE = "root mean square error"


def fitted(estimator: Any, function: str) -> RegularisedLeastSquares:
    """The fitted estimator of this library, at the end of a pipeline or search if need be."""
    inner = estimator
    while hasattr(inner, "best_estimator_") or hasattr(inner, "steps"):
        inner = getattr(inner, "best_estimator_", None) or inner.steps[-1][1]
    if not isinstance(inner, RegularisedLeastSquares):
        msg = (
            f"{function} reports on a fitted RLSRegressor or RLSClassifier, alone or at the end of "
            f"a pipeline or search, got {type(estimator).__name__}"
        )
        raise TypeError(msg)
    check_is_fitted(inner)
    return inner


def criterion_name(estimator: RegularisedLeastSquares) -> str:
    """How rows were held out: "leave-one-out", "cross-validation" and so on."""
    return _CRITERIA[estimator.criterion] if estimator.cv is None else "cross-validation"


def was_given(estimator: RegularisedLeastSquares) -> bool:
    """Whether λ is the one number the user gave."""
    return np.ndim(estimator.alpha) == 0 and not isinstance(estimator.alpha, str)


def measure_name(estimator: RegularisedLeastSquares) -> str:
    """What :func:`shown` gives: "leave-one-out root mean square error", "leave-one-out roc_auc"."""
    if estimator.scoring is not None:
        measure = _scorer_name(estimator.scoring)
    elif is_classifier(estimator):
        measure = "mean square error"
    else:
        measure = ROOT_MEAN_SQUARE
    return f"{criterion_name(estimator)} {measure}"


def shown(estimator: RegularisedLeastSquares, score: float | Array) -> Array:
    """The number for a reader: a scorer's score as it is, and otherwise the error behind it.

    Without a scorer the score is minus a mean square. A regressor shows its root, in the units of
    the targets; a classifier the mean square itself, on columns of ±1.
    """
    scores = np.asarray(score, dtype=np.float64)
    if estimator.scoring is not None:
        return scores
    return -scores if is_classifier(estimator) else np.sqrt(-scores)


def _scorer_name(scoring: Any) -> str:
    if isinstance(scoring, str):
        return scoring
    function = getattr(scoring, "_score_func", scoring)
    return str(getattr(function, "__name__", type(function).__name__))
