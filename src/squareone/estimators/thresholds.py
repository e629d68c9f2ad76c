"""What decision values have to exceed: nothing, a number, or the best on leave-one-out values."""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from ..arrays import Array
from ..fitting.result import Record
from ..selection.confusion import closed_form
from ..selection.threshold import best_thresholds, cut_scorer
from ..targets import Labels


def is_metric(threshold: Any) -> bool:
    """Whether the threshold is to be chosen."""
    return isinstance(threshold, str) or callable(threshold)


def check_threshold(threshold: Any, labels: Labels, t: int, *, weighted: bool) -> None:
    """Refuse a threshold that makes no sense for ``t`` columns of labels, before any work."""
    if threshold is None:
        return
    if labels.exclusive:
        msg = (
            f"threshold={threshold!r} with {labels.classes.size} classes: a threshold belongs to "
            "two classes or to labels of an indicator matrix; with several classes the largest "
            "value wins"
        )
        raise ValueError(msg)
    if is_metric(threshold):
        cut_scorer(threshold, weighted=weighted)
        return
    try:
        given = np.asarray(threshold, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.array(np.nan)
    right_shape = given.shape in ((), (1,), (t,)) and not isinstance(threshold, bool)
    if not right_shape or not np.isfinite(given).all():
        numbers = "a finite number" if t == 1 else f"a finite number, or {t} for as many labels"
        msg = (
            f"threshold={threshold!r}: {numbers}, the name of a metric such as 'f1', or a function "
            "metric(y_true, y_pred) is expected"
        )
        raise ValueError(msg)


def find_thresholds(threshold: Any, record: Record, labels: Labels, weights: Array | None) -> Array:
    """A threshold per column (t,): none, those given, or the best ones.

    ``weights`` (n,) are the user's, of the rows of the fit.
    """
    t = record.alphas.size
    if threshold is None:
        return np.zeros(t)
    if not is_metric(threshold):
        return np.broadcast_to(np.asarray(threshold, dtype=np.float64), (t,)).copy()
    rows = record.scored_rows
    some = None if weights is None else weights[rows]
    truth = record.sample.Y[rows] > 0
    return best_thresholds(_metric(threshold, labels), record.scored_values, truth, some)


def _metric(metric: Any, labels: Labels) -> Any:
    """The metric to choose by: a function of two classes sees their names."""
    if labels.multilabel or isinstance(metric, str) or closed_form(metric) is not None:
        return metric

    @wraps(metric)
    def of_classes(true: Array, predicted: Array, **more: Any) -> float:
        return metric(labels.classes[true], labels.classes[predicted], **more)

    return of_classes
