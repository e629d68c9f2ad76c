"""A fitted classifier's leave-one-out values as columns: one class, or label, against the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from ..arrays import Array
from ..estimators.base import RegularisedLeastSquares
from .measure import fitted


class Column(NamedTuple):
    """The class or label, whether each row has it (n,), and the value it was given (n,).

    ``threshold`` is what a decision value has to exceed; None for more than two classes.
    """

    name: str
    truth: Array
    values: Array
    threshold: float | None = None


def fitted_classifier(estimator: Any, function: str) -> RegularisedLeastSquares:
    """As :func:`~squareone.report.measure.fitted`, and refuse what is no classifier."""
    inner = fitted(estimator, function)
    if not is_classifier(inner):
        msg = f"{function} is for classifiers, got {type(inner).__name__}: use LeaveOneOutDisplay"
        raise TypeError(msg)
    return inner


def one_against_rest(
    inner: RegularisedLeastSquares, values: Array, classes: Sequence[Any] | None
) -> list[Column]:
    """One column for two classes, the second; one for each of more classes, or labels.

    Parameters
    ----------
    inner : RLSClassifier
    values : array (n,) or (n, k)
        Of the rows of the fit: decision values, or probabilities.
    classes : sequence or None
        Those wanted; None for all.
    """
    # columns of ±1, up to rounding
    truths = np.asarray(inner.loo_predictions_) + inner.loo_residuals_ > 0
    known = inner.classes_.tolist()
    what = "label" if getattr(inner._record.targets, "multilabel", False) else "class"
    thresholds = np.atleast_1d(getattr(inner, "threshold_", [None] * len(known)))
    if truths.ndim == 1:
        truths = np.column_stack([~truths, truths])
        thresholds = np.array([-thresholds[0], thresholds[0]])
        values = np.column_stack([-values, values]) if values.ndim == 1 else values
        wanted = known[1:] if classes is None else list(classes)
    else:
        wanted = known if classes is None else list(classes)
    strange = [name for name in wanted if name not in known]
    if strange or not wanted:
        msg = f"classes={classes!r}: some of the classes of the fit, {known!r}, are expected"
        raise ValueError(msg)
    places = [known.index(name) for name in wanted]
    return [Column(f"{what} {known[j]}", truths[:, j], values[:, j], thresholds[j]) for j in places]
