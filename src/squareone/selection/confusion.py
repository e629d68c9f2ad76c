"""Scores of predicted labels from the four counts of a confusion matrix, for many at once.

Each takes true positives, false positives, false negatives and true negatives, arrays of one shape,
and has the name and the value of scikit-learn's scorer. Nothing over nothing is zero, as there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array

__all__ = ["CLOSED_FORMS", "closed_form", "is_of_positives"]

#: Of true positives, false positives, false negatives and true negatives.
Formula = Callable[[Array, Array, Array, Array], Array]


def _accuracy(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return _ratio(tp + tn, tp + fp + fn + tn)


def _balanced_accuracy(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    classes = ((tp + fn > 0).astype(int)) + (fp + tn > 0)  # a class without rows has no say
    return (_ratio(tp, tp + fn) + _ratio(tn, fp + tn)) / classes


def _f1(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return _ratio(2.0 * tp, 2.0 * tp + fp + fn)


def _f1_macro(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    classes = (tp + fp + fn > 0).astype(int) + (fp + fn + tn > 0)
    return (_f1(tp, fp, fn, tn) + _f1(tn, fn, fp, tp)) / classes


def _f1_weighted(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    of_both = (tp + fn) * _f1(tp, fp, fn, tn) + (fp + tn) * _f1(tn, fn, fp, tp)
    return _ratio(of_both, tp + fp + fn + tn)


def _jaccard(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return _ratio(tp, tp + fp + fn)


def _matthews_corrcoef(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    total = tp + fp + fn + tn
    tp, fp, fn, tn = (count / total for count in (tp, fp, fn, tn))  # products of sums of weights
    norm = np.sqrt((tp + fp) * (fn + tn)) * np.sqrt((tp + fn) * (fp + tn))
    return _ratio(tp * tn - fp * fn, norm)


def _precision(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return _ratio(tp, tp + fp)


def _recall(tp: Array, fp: Array, fn: Array, tn: Array) -> Array:
    return _ratio(tp, tp + fn)


def _ratio(over: Array, under: Array) -> Array:
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0.0)


#: Formulas by the name of the scorer.
CLOSED_FORMS: dict[str, Formula] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "f1": _f1,
    "f1_macro": _f1_macro,
    "f1_weighted": _f1_weighted,
    "jaccard": _jaccard,
    "matthews_corrcoef": _matthews_corrcoef,
    "precision": _precision,
    "recall": _recall,
}

# scikit-learn's functions of the same values.
_OF_FUNCTIONS = {
    "accuracy_score": _accuracy,
    "balanced_accuracy_score": _balanced_accuracy,
    "f1_score": _f1,
    "jaccard_score": _jaccard,
    "matthews_corrcoef": _matthews_corrcoef,
    "precision_score": _precision,
    "recall_score": _recall,
}


def is_of_positives(metric: Any) -> bool:
    """Whether a metric is near zero wherever a rare label is not found: F, or Jaccard's index."""
    name = metric if isinstance(metric, str) else getattr(_function_of(metric), "__name__", "")
    known = closed_form(metric) is not None
    return known and name in ("f1", "f1_score", "fbeta_score", "jaccard", "jaccard_score")


def _function_of(metric: Any) -> Any:
    return getattr(metric, "_score_func", metric)


def closed_form(metric: Any) -> Formula | None:
    """The formula of a name, a scikit-learn function or a scorer made of one; None if unknown."""
    if isinstance(metric, str):
        return CLOSED_FORMS.get(metric)
    function = _function_of(metric)
    settings = getattr(metric, "_kwargs", {})
    own = str(getattr(function, "__module__", "")).startswith("sklearn.metrics")
    if not own or getattr(metric, "_sign", 1) != 1:
        return None
    if function.__name__ == "fbeta_score" and set(settings) == {"beta"}:
        square = float(settings["beta"]) ** 2
        return lambda tp, fp, fn, tn: _ratio(
            (1.0 + square) * tp, (1.0 + square) * tp + square * fn + fp
        )
    return None if settings else _OF_FUNCTIONS.get(function.__name__)
