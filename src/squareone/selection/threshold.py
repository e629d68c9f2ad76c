"""Thresholds on decision values: those given, checked, and the best on leave-one-out values.

A threshold matters only through the rows above it: between neighbouring values all thresholds
predict the same. There are at most n + 1 different cuts, and every one of them is looked at.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from ..arrays import Array
from ..targets import Labels
from .confusion import closed_form, is_of_positives

# Scores that differ by less than this share are equal: sums of weights are rounded.
_ROUNDING = 64 * np.finfo(np.float64).eps
# An F below this says that the positives are not found.
_FOUND = 0.1


@dataclass(frozen=True)
class Cuts:
    """All ways to cut one column in two, from "all rows are above" to "none is".

    Attributes
    ----------
    thresholds : array (m + 1,) of float64
        One for each cut, ascending; a row is predicted positive if its value exceeds it.
    counts : array (4, m + 1)
        True positives, false positives, false negatives and true negatives, weighted.
    values, truth : array (n,)
    """

    thresholds: Array
    counts: Array
    values: Array
    truth: Array


#: Scores (m + 1,) of all cuts, greater is better.
CutScorer = Callable[[Cuts], Array]
_EXPECTED = (
    "the name of a scikit-learn scorer of predictions, such as 'f1', or a function of true and "
    "predicted labels is expected"
)
# The four kinds of rows, in the order of the counts.
_TRUE = np.array([1, 0, 1, 0])
_PREDICTED = np.array([1, 1, 0, 0])


def is_metric(threshold: Any) -> bool:
    """Whether the threshold is to be chosen."""
    return isinstance(threshold, str) or callable(threshold)


def check_threshold(threshold: Any, labels: Labels, t: int, *, weighted: bool) -> None:
    """Refuse a threshold that makes no sense for ``t`` columns of labels, before any work."""
    if threshold is None:
        return
    if labels.exclusive:
        msg = (
            f"Only binary classification is supported with threshold={threshold!r}, and y has "
            f"{labels.classes.size} classes: a threshold belongs to two classes or to labels of an "
            "indicator matrix; with several classes the largest value wins"
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


def metric_of_classes(metric: Any, labels: Labels) -> Any:
    """The metric to choose by: a function of two classes sees their names."""
    if labels.multilabel or isinstance(metric, str) or closed_form(metric) is not None:
        return metric

    @wraps(metric)
    def of_classes(true: Array, predicted: Array, **more: Any) -> float:
        return metric(labels.classes[true], labels.classes[predicted], **more)

    return of_classes


def best_thresholds(
    metric: Any, values: Array, truth: Array, weights: Array | None = None
) -> Array:
    """The best threshold of every column: a row is predicted positive if its value exceeds it.

    A threshold is the midpoint between two neighbouring values, or just beyond all of them. Zero
    stands for the cut it makes, and of equally good thresholds the one nearest zero is taken: a
    metric that cannot tell cuts apart leaves it at zero. So does a label that is not found at all:
    where no cut has an F (or Jaccard's index) of a tenth, the best one would say yes to nearly all
    rows for the sake of one (Yang 2001, who calls such a limit fbr).

    Parameters
    ----------
    metric : str or callable
        See :func:`cut_scorer`.
    values : array (n, c)
        Leave-one-out decision values.
    truth : array (n, c) of bool
    weights : array (n,) or None

    Returns
    -------
    array (c,) of float64
        Each is also a number in the precision of ``values``.

    Notes
    -----
    **Cost**: O(n log n) per column for a metric in closed form; otherwise n + 1 calls of it per
    column, on four rows if it takes ``sample_weight`` and on n rows if not: with a function of
    scikit-learn about a millisecond each.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.selection import best_thresholds
    >>> values = np.array([[-0.9], [-0.6], [-0.4], [0.2]])
    >>> truth = np.array([[False], [False], [True], [True]])
    >>> best_thresholds("f1", values, truth).item()
    -0.5
    """
    score = cut_scorer(metric, weighted=weights is not None)
    w = np.ones(values.shape[0]) if weights is None else weights.astype(np.float64)
    kept = w > 0.0
    columns = zip(values[kept].T, truth[kept].T, strict=True)
    cuts = (_all_cuts(f, t, w[kept]) for f, t in columns)
    least = _FOUND if is_of_positives(metric) else -np.inf
    return np.array([_best(score(column), column.thresholds, least) for column in cuts])


def cut_scorer(metric: Any, *, weighted: bool) -> CutScorer:
    """The scores of cuts by a metric, refused if it does not score predictions.

    Parameters
    ----------
    metric : str, scorer or callable
        The name of a scikit-learn scorer of predictions, such as ``"f1"`` or
        ``"balanced_accuracy"``, such a scorer, or a function of the true and the predicted labels
        (n,), 0 or 1, and perhaps of ``sample_weight``; greater is better. One that takes weights is
        shown four rows: a true and a predicted label, with the weight of all such rows.
    weighted : bool
        Whether rows have weights, which the metric must then take.
    """
    formula = closed_form(metric)
    if formula is not None:
        return lambda cuts: formula(*cuts.counts)
    function = _function(metric)
    if _takes_weights(function):
        return lambda cuts: _scores_of_counts(metric, function, cuts)
    if weighted:
        msg = (
            f"the threshold metric {metric!r} takes no sample_weight, so the weights of this fit "
            "would be ignored: choose a metric that does"
        )
        raise ValueError(msg)
    return lambda cuts: _scores_of_rows(metric, function, cuts)


def _function(metric: Any) -> Callable[..., Any]:
    """The function of true and predicted labels behind a name, a scorer or itself."""
    scorer = _named(metric) if isinstance(metric, str) else metric
    if not callable(scorer):
        raise ValueError(f"the threshold metric {metric!r} is no function: {_EXPECTED}")
    if not hasattr(scorer, "_score_func"):
        return scorer
    wanted = scorer._response_method
    if wanted != "predict":
        needs = wanted if isinstance(wanted, str) else " or ".join(wanted)
        msg = (
            f"the threshold metric {metric!r} scores {needs}, which no threshold changes: "
            f"{_EXPECTED}"
        )
        raise ValueError(msg)

    @wraps(scorer._score_func)  # so that its arguments can be seen
    def signed(*labels: Array, **weights: Array) -> Any:
        return scorer._sign * scorer._score_func(*labels, **weights, **scorer._kwargs)

    return signed


def _named(name: str) -> Any:
    from sklearn.metrics import get_scorer  # imported late: it would slow `import squareone`

    try:
        return get_scorer(name)
    except ValueError as error:
        raise ValueError(f"the threshold metric {name!r} is unknown: {_EXPECTED}") from error


def _takes_weights(function: Callable[..., Any]) -> bool:
    try:
        return "sample_weight" in inspect.signature(function).parameters
    except ValueError:  # compiled functions may not say what they take
        return False


def _scores_of_counts(metric: Any, function: Callable[..., Any], cuts: Cuts) -> Array:
    """Scores of a metric that takes weights: all rows of a kind are one row."""

    def score(counts: Array) -> Any:
        there = counts > 0.0  # a metric may ask which labels occur
        return function(_TRUE[there], _PREDICTED[there], sample_weight=counts[there])

    return _finite_scores(metric, score, cuts.counts.T)


def _scores_of_rows(metric: Any, function: Callable[..., Any], cuts: Cuts) -> Array:
    """Scores of a metric that takes no weights."""
    truth = cuts.truth.astype(int)

    def score(threshold: float) -> Any:
        return function(truth, (cuts.values > threshold).astype(int))

    return _finite_scores(metric, score, cuts.thresholds)


def _finite_scores(metric: Any, score: Callable[[Any], Any], cuts: Array) -> Array:
    scores = []
    with warnings.catch_warnings():
        # Some metrics are undefined where no row is positive; scikit-learn's zero is taken.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        for cut in cuts:
            try:
                result = score(cut)
            except (TypeError, ValueError) as error:
                msg = f"the threshold metric {metric!r} failed on predicted labels: {error}"
                raise ValueError(msg) from error
            if not np.isscalar(result) or not np.isfinite(result):
                msg = (
                    f"the threshold metric {metric!r} returned {result!r}: a finite number is "
                    "expected for every threshold, also where all rows or none are positive"
                )
                raise ValueError(msg)
            scores.append(result)
    return np.array(scores, np.float64)


def _all_cuts(values: Array, truth: Array, weights: Array) -> Cuts:
    order = np.argsort(values)
    f, positive, w = values[order], truth[order], weights[order]
    below = np.concatenate([[0], np.flatnonzero(f[1:] > f[:-1]) + 1, [f.size]])  # rows (m + 1,)
    fn, tp = _sums(np.where(positive, w, 0.0), below)
    tn, fp = _sums(np.where(positive, 0.0, w), below)
    thresholds = _midpoints(f[below[:-1]]).astype(np.float64)
    return Cuts(thresholds, np.stack([tp, fp, fn, tn]), values, truth)


def _sums(x: Array, below: Array) -> tuple[Array, Array]:
    """Sums below and above each cut, each by itself: those of no rows are then exactly zero."""
    up = np.concatenate([[0.0], np.cumsum(x)])
    down = np.concatenate([[0.0], np.cumsum(x[::-1])])[::-1]
    return up[below], down[below]


def _midpoints(distinct: Array) -> Array:
    """A threshold (m + 1,) for each gap between values (m,), ascending, and beyond both ends."""
    outer = np.array([np.inf], distinct.dtype)
    low, high = np.concatenate([-outer, distinct]), np.concatenate([distinct, outer])
    middle = low.copy()  # nothing lies above the last value
    middle[0] = np.nextafter(distinct[0], low[0])
    middle[1:-1] += distinct[1:] / 2 - distinct[:-1] / 2
    # The midpoint of two neighbouring numbers may be the upper one, which must exceed it.
    middle = np.where(middle < high, middle, low)
    return np.where((low <= 0) & (high > 0), 0, middle)


def _best(scores: Array, thresholds: Array, least: float) -> float:
    if scores.max() < least:
        return 0.0
    equal = scores >= scores.max() - _ROUNDING * np.abs(scores).max()
    candidates = thresholds[equal]
    return float(candidates[np.argmin(np.abs(candidates))])
