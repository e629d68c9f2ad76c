"""Targets as they come from the user: numbers, classes, or several labels per row."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..arrays import Array
from ..estimators.class_weights import with_class_weight
from ..estimators.validation import check_scale, refuse_masked
from . import Coding, Labels


def check_responses(y: Any, X: Array) -> Array:
    """Regression targets (n,) or (n, t), finite, in the precision of the rows."""
    _check_given(y)
    if hasattr(y, "toarray"):
        msg = "y is sparse: a dense array of numbers is expected, y.toarray()"
        raise ValueError(msg)
    y = _as_numbers(y)
    if y.ndim not in (1, 2):
        msg = f"y has {y.ndim} dimensions and shape {y.shape}: (n,) or (n, targets) is expected"
        raise ValueError(msg)
    if y.ndim == 2 and y.shape[1] == 0:
        msg = f"y has no column: its shape is {y.shape}"
        raise ValueError(msg)
    check_consistent_length(X, y)
    check_scale(y, "y", X.dtype)
    return y.astype(X.dtype, copy=False)


def _as_numbers(y: Any) -> Array:
    array = np.asarray(y)
    if array.dtype.kind == "c":
        msg = f"Complex data not supported\ny is complex:\n{array}\n"
        raise ValueError(msg)
    if array.dtype.kind == "O":  # pandas' NA is no number: let it be found as missing
        array = np.array(
            [np.nan if _is_missing(v) else v for v in array.ravel()], dtype=object
        ).reshape(array.shape)
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        msg = (
            f"y is not numeric ({error}): a regressor needs numbers; for classes use RLSClassifier"
        )
        raise ValueError(msg) from error
    _check_finite(array)
    return array


def check_labels(y: Any, X: Array) -> Array:
    """Class labels (n,) or an indicator matrix (n, labels)."""
    _check_given(y)
    if hasattr(y, "toarray"):
        y = y.toarray()
    if not hasattr(y, "dtype"):  # a list: NumPy would turn mixed labels into text
        _check_label_types(np.asarray(y, dtype=object))
    y = np.asarray(y)
    if y.ndim not in (1, 2) or (y.ndim == 2 and y.shape[1] == 0):
        msg = f"y has shape {y.shape}: labels (n,) or an indicator matrix (n, labels) is expected"
        raise ValueError(msg)
    if y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    if y.dtype.kind in "fc":
        _check_finite(y)
    if y.dtype.kind == "O":
        _check_label_types(y)
    return y


def _check_label_types(y: Array) -> None:
    kinds = {type(label).__name__ for label in y.ravel()}
    missing = [i for i, label in enumerate(y.ravel()) if _is_missing(label)]
    if missing:
        label, row = y.ravel()[missing[0]], missing[0]
        msg = f"y contains a missing label ({label!r}, row {row}): drop or fill such rows"
        raise ValueError(msg)
    if len(kinds) > 1 and kinds & {"str", "bytes"}:
        msg = (
            f"y mixes labels of types {', '.join(sorted(kinds))}, which have no common order: "
            "convert them to one type, for instance str"
        )
        raise ValueError(msg)


def _is_missing(label: Any) -> bool:
    """None, NaN (unequal to itself) or pandas' NA (of which nothing is said to be true)."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True


def _check_given(y: Any) -> None:
    if y is None:
        msg = "requires y to be passed, but the target y is None"
        raise ValueError(msg)
    refuse_masked(y, "y")


def _check_finite(y: Array) -> None:
    if np.isfinite(y).all():
        return
    what = "NaN" if np.isnan(y).any() else "infinity or a value too large for dtype('float64')"
    msg = f"Input y contains {what}. Drop or fill such rows"
    raise ValueError(msg)


def coded_labels(y: Any, X: Array, coding: Coding, *, rotated: bool) -> tuple[Array, Labels, Array]:
    """y checked, its classes in a coding, and their columns (n, t)."""
    y = check_labels(y, X)
    check_classification_targets(y)
    targets = Labels.of(y).coded(coding, rotated=rotated)
    return y, targets, targets.columns(y, X.dtype)


def weights_of_classes(class_weight: Any, y: Array, weights: Array | None) -> Array | None:
    """Weights (n,) of rows times those of their classes; refused where one class is left."""
    weights = with_class_weight(class_weight, y, weights)
    if weights is not None and y.ndim == 1 and np.unique(y[weights > 0]).size < 2:
        msg = (
            "the rows of positive weight are of one class only: a classifier needs at least "
            "two classes to tell apart"
        )
        raise ValueError(msg)
    return weights
