"""What the score of a fitted estimator is called, and the number a reader wants to see for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..estimators.base import RegularisedLeastSquares
from ..estimators.orols import OrthogonalLeastSquares
from ..estimators.svm_classifier import SVMClassifier

_LIKELIHOOD = "marginal_likelihood"
_CRITERIA = {
    "loo": "leave-one-out",
    "gcv": "generalised cross-validation",
    "holdout": "hold-out",
    _LIKELIHOOD: "marginal likelihood",
}
ROOT_MEAN_SQUARE = "root mean square error"


def is_greedy(estimator: Any) -> bool:
    """Whether a greedy estimator is at the end of a pipeline or search, or by itself."""
    return isinstance(_last_step(estimator, None)[0], OrthogonalLeastSquares)


def fitted(estimator: Any, function: str) -> RegularisedLeastSquares:
    """The fitted estimator of this library, at the end of a pipeline or search if need be."""
    return fitted_with_rows(estimator, None, function)[0]


def fitted_with_rows(estimator: Any, X: Any, function: str) -> tuple[RegularisedLeastSquares, Any]:
    """The same, and rows ``X`` as they reach it through the steps before."""
    inner, X = _last_step(estimator, X)
    if not isinstance(inner, RegularisedLeastSquares):
        msg = (
            f"{function} reports on a fitted RLSRegressor or RLSClassifier, alone or at the end of "
            f"a pipeline or search, got {type(estimator).__name__}"
        )
        raise TypeError(msg)
    check_is_fitted(inner)
    return inner, X


def fitted_greedy(estimator: Any, function: str) -> OrthogonalLeastSquares:
    """The fitted greedy estimator, at the end of a pipeline or search if need be."""
    inner, _ = _last_step(estimator, None)
    if not isinstance(inner, OrthogonalLeastSquares):
        msg = (
            f"{function} reports on a fitted OROLSRegressor or OROLSClassifier, alone or at the "
            f"end of a pipeline or search, got {type(estimator).__name__}"
        )
        raise TypeError(msg)
    check_is_fitted(inner)
    return inner


def fitted_svm(estimator: Any, function: str) -> SVMClassifier:
    """The fitted support vector machine, at the end of a pipeline or search if need be."""
    inner, _ = _last_step(estimator, None)
    if not isinstance(inner, SVMClassifier):
        msg = (
            f"{function} reports on a fitted SVMClassifier, alone or at the end of a pipeline or "
            f"search, got {type(estimator).__name__}"
        )
        raise TypeError(msg)
    check_is_fitted(inner)
    return inner


def _last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """What is at the end of pipelines and searches, and rows as they reach it."""
    inner = estimator
    while hasattr(inner, "best_estimator_") or hasattr(inner, "steps"):
        if hasattr(inner, "best_estimator_"):
            inner = inner.best_estimator_
            continue
        if X is not None and len(inner.steps) > 1:
            X = inner[:-1].transform(X)
        inner = inner.steps[-1][1]
    return inner, X


def check_regressor(estimator: RegularisedLeastSquares, function: str, instead: str) -> None:
    """Refuse a classifier, and say what there is ``instead``."""
    if is_classifier(estimator):
        msg = f"{function} is for regressors, got {type(estimator).__name__}: {instead}"
        raise TypeError(msg)


def column_of(values: Array, target: int | None, function: str) -> int:
    """Which column of ``values`` (n,) or (n, t) to show: the only one, or ``target``."""
    t = 1 if values.ndim == 1 else values.shape[1]
    if target is None and t == 1:
        return 0
    if not isinstance(target, int | np.integer) or not 0 <= target < t:
        msg = (
            f"{function} shows one target at a time: target={target!r}, and a number from 0 to "
            f"{t - 1} is expected"
        )
        raise ValueError(msg)
    return int(target)


def criterion_name(estimator: RegularisedLeastSquares) -> str:
    """How rows were held out: "leave-one-out", "cross-validation" and so on."""
    if estimator.cv is not None:
        return "cross-validation"
    estimated = estimator.plan_.estimated and estimator.criterion in ("loo", "gcv")
    return ("estimated " if estimated else "") + _CRITERIA[estimator.criterion]


def was_given(estimator: RegularisedLeastSquares) -> bool:
    """Whether λ is the one number the user gave."""
    return np.ndim(estimator.alpha) == 0 and not isinstance(estimator.alpha, str)


def is_an_error(estimator: RegularisedLeastSquares) -> bool:
    """Whether the score is minus a mean square, and no scorer's and no likelihood."""
    likelihood = estimator.criterion == _LIKELIHOOD and estimator.cv is None
    return estimator.scoring is None and not likelihood


def score_name(estimator: RegularisedLeastSquares) -> str:
    """What :func:`shown` gives: "root mean square error", "roc_auc" and so on."""
    if estimator.scoring is not None:
        return _scorer_name(estimator.scoring)
    if not is_an_error(estimator):
        return f"log {_CRITERIA[_LIKELIHOOD]}"
    return "mean square error" if is_classifier(estimator) else ROOT_MEAN_SQUARE


def measure_name(estimator: RegularisedLeastSquares) -> str:
    """The same, and how rows were held out: "leave-one-out root mean square error".

    Where a metric was learned, the score is of folds that have learned it anew.
    """
    name = score_name(estimator)
    if estimator._recorded().learned is not None:
        return f"cross-validation {name}"
    return _by_criterion(estimator)


def path_measure_name(estimator: RegularisedLeastSquares) -> str:
    """The same of the scores along λ, which are at a learned metric where there is one."""
    learned = estimator._recorded().learned is not None
    return _by_criterion(estimator) + "\nat the final metric" * learned


def values_left_out(estimator: RegularisedLeastSquares) -> Array:
    """Predictions (n,) or (n, t) of rows by models that have learned nothing from them.

    Leave-one-out predictions, or of the rows that a metric was learned from those of folds.
    """
    record = estimator._recorded()
    return record.targets.shaped(record.unseen_values)


def left_out_by(estimator: RegularisedLeastSquares) -> str:
    """What these are called: "leave-one-out", or "cross-validation" where a metric was learned."""
    learned = estimator._recorded().learned is not None
    return "cross-validation" if learned else "leave-one-out"


def _by_criterion(estimator: RegularisedLeastSquares) -> str:
    name = score_name(estimator)
    held_out = estimator.scoring is not None or is_an_error(estimator)
    return f"{criterion_name(estimator)} {name}" if held_out else name


def shown(estimator: RegularisedLeastSquares, score: float | Array) -> Array:
    """The number for a reader: a scorer's score as it is, and otherwise the error behind it.

    Without a scorer the score is minus a mean square, or a log likelihood, which is shown as it is.
    Of a mean square a regressor shows the root, in the units of the targets; a classifier the mean
    square itself, on columns of ±1.
    """
    scores = np.asarray(score, dtype=np.float64)
    if not is_an_error(estimator):
        return scores
    return -scores if is_classifier(estimator) else np.sqrt(-scores)


def shown_error(estimator: RegularisedLeastSquares, score: Array, error: Array) -> Array:
    """The standard error of what is shown, from that of the score: of a root, to first order."""
    if not is_an_error(estimator) or is_classifier(estimator):
        return error
    root = shown(estimator, score)
    return np.divide(error, 2.0 * root, out=np.full_like(root, np.nan), where=root > 0)


def _scorer_name(scoring: Any) -> str:
    if isinstance(scoring, str):
        return scoring
    function = getattr(scoring, "_score_func", scoring)
    return str(getattr(function, "__name__", type(function).__name__))
