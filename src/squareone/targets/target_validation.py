"""Targets and weights as they come from the user, checked: numbers, classes, labels."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..arrays import Array
from ..errors import ScaleError, TargetWarning
from ..rows.checks import check_scale, refuse_masked
from .codes import Coding
from .labels import Labels, check_label_types, is_missing

# So many whole numbers, of so few rows each, are probably amounts and not classes.
_MANY_CLASSES, _ROWS_PER_CLASS = 100, 100


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
            [np.nan if is_missing(v) else v for v in array.ravel()], dtype=object
        ).reshape(array.shape)
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        msg = (
            f"y is not numeric ({error}): a regressor needs numbers; for classes use "
            "RLSClassifier or TableClassifier"
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
        check_label_types(np.asarray(y, dtype=object))
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
        check_label_types(y)
    return y


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
    doubt = _doubt_about(y)
    with warnings.catch_warnings():
        if doubt:  # scikit-learn would say less, and twice
            warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
        check_classification_targets(y)
        targets = Labels.of(y).coded(coding, rotated=rotated)
    if doubt:
        warnings.warn(doubt, TargetWarning, stacklevel=2)
    return y, targets, targets.columns(y, X.dtype)


def _doubt_about(y: Array) -> str:
    """What to say of classes (n,) that are probably amounts, or numbers as text; else nothing."""
    if y.ndim != 1:
        return ""
    classes = np.unique(y)
    if y.dtype.kind in "iuf":
        many = classes.size >= _MANY_CLASSES and y.size < _ROWS_PER_CLASS * classes.size
        whole = y.dtype.kind != "f" or bool((classes == np.round(classes)).all())
        if not many or not whole:  # others are refused
            return ""
        return (
            f"y has {classes.size:,} different whole numbers in {y.size:,} rows, and a classifier "
            "takes each for a class of its own: if they are amounts, use a regressor, such as "
            "RLSRegressor; if they are classes, this is all right"
        )
    if _are_numbers(classes):
        some = " and ".join(repr(str(name)) for name in classes[:2])
        return (
            f"y has numbers as text, such as {some}: they are taken for the names of "
            f"{classes.size:,} classes, in the order of text, and predictions are text, too. "
            "Convert y first, y.astype(int) for classes that are numbers, y.astype(float) for "
            "amounts, which a regressor predicts"
        )
    return ""


def _are_numbers(names: Array) -> bool:
    """Whether all of these are texts that can be read as finite numbers."""
    if not all(isinstance(name, str) for name in names):
        return False
    try:
        return bool(np.isfinite(names.astype(np.float64)).all())
    except ValueError:
        return False


# --- weights of rows ---


def check_weights(sample_weight: Any, n: int, dtype: np.dtype) -> Array | None:
    """Weights (n,) at or above zero, not all zero; None where all are one."""
    if sample_weight is None:
        return None
    refuse_masked(sample_weight, "sample_weight")
    if isinstance(sample_weight, Real):
        weights = np.full(n, float(sample_weight))
    else:
        if np.asarray(sample_weight).dtype.kind == "c":
            msg = "sample_weight is complex: finite weights at or above zero are expected"
            raise ValueError(msg)
        try:
            weights = np.asarray(sample_weight, dtype=np.float64)
        except (TypeError, ValueError) as error:
            msg = f"sample_weight must be numbers: {error}"
            raise ValueError(msg) from error
    if weights.ndim != 1:
        msg = f"Sample weights must be 1D array or scalar, got {weights.ndim} dimensions"
        raise ValueError(msg)
    if weights.size != n:
        msg = f"sample_weight.shape == {weights.shape}, expected {(n,)}: one weight per row"
        raise ValueError(msg)
    if not np.isfinite(weights).all():
        what = "NaN" if np.isnan(weights).any() else "infinity"
        msg = f"sample_weight contains {what}: finite weights at or above zero are expected"
        raise ValueError(msg)
    if (weights < 0).any():
        row = int(np.argmin(weights))
        msg = (
            f"Negative values in data passed to `sample_weight`: {weights[row]:.3g} at row {row}. "
            "Weights at or above zero are expected"
        )
        raise ValueError(msg)
    if not (weights > 0).any():
        msg = "Sample weights must contain at least one non-zero number: all weights are zero"
        raise ValueError(msg)
    check_scale(weights, "sample_weight")
    return None if (weights == 1).all() else weights


def check_spread(weights: Array | None, dtype: np.dtype) -> None:
    """Refuse weights so different that the smallest would vanish in this precision."""
    if weights is None:
        return
    least, most = float(weights[weights > 0].min(initial=np.inf)), float(weights.max())
    if np.sqrt(least / most) < np.finfo(dtype).tiny:
        msg = (
            f"weights from {least:.3g} to {most:.3g}: in {dtype.name} the smallest vanish beside "
            "the largest. Set them to zero, or use float64 rows"
        )
        raise ScaleError(msg)


def check_row_weights(sample_weight: Any, X: Any) -> Array | None:
    """Weights (n,) at or above zero, which may all be zero; None where all are one."""
    if sample_weight is None:
        return None
    try:
        zero = not np.any(np.asarray(sample_weight, dtype=np.float64))
    except (TypeError, ValueError):
        zero = False  # refused below
    # checked as others are, for which one has to be above zero
    given = np.asarray(sample_weight, dtype=np.float64) + 1.0 if zero else sample_weight
    weights = check_weights(given, X.shape[0], np.dtype(np.float64))
    return np.zeros(X.shape[0]) if zero else weights


def counting_targets(y: Any, weights: Array | None) -> Any:
    """Targets, with one that counts in place of those of weight zero, which may be anything."""
    if weights is None or weights.all():
        return y
    counts = weights > 0
    first = int(np.argmax(counts))
    if isinstance(y, list | tuple):
        return [each if counts[i] else y[first] for i, each in enumerate(y)]
    y = np.array(y.toarray() if hasattr(y, "toarray") else y)
    y[~counts] = y[first]
    return y


# --- weights of classes ---


def weights_of_classes(class_weight: Any, y: Array, weights: Array | None) -> Array | None:
    """The weight of every class of labels ``y`` (n,), in the order of ``np.unique(y)``: (k,).

    Zero for a class none of whose rows has a positive weight. None where classes have no weights.
    """
    if class_weight is None:
        return None
    if y.ndim == 2:
        msg = (
            "class_weight is not defined for an indicator matrix: each label would need weights "
            "and a factorisation of its own. Fit the labels one by one, or use sample_weight"
        )
        raise ValueError(msg)
    counted = y if weights is None else y[weights > 0]
    classes, there = np.unique(y), np.unique(counted)
    found = np.zeros(classes.size)
    found[np.searchsorted(classes, there)] = _per_class(class_weight, there, counted)
    return found


def with_class_weights(of_classes: Array | None, y: Array, weights: Array | None) -> Array | None:
    """Weights (n,) of rows times those of their classes; refused where one class is left."""
    if of_classes is not None:
        by_row = of_classes[np.searchsorted(np.unique(y), y)]
        weights = by_row if weights is None else by_row * weights
    if weights is not None and y.ndim == 1 and np.unique(y[weights > 0]).size < 2:
        msg = (
            "the rows of positive weight are of one class only: a classifier needs at least "
            "two classes to tell apart"
        )
        raise ValueError(msg)
    return weights


def _per_class(class_weight: Any, classes: Array, y: Array) -> Array:
    """A weight per class (k,), finite and not all zero."""
    expected = "finite weights at or above zero, not all zero, are expected"
    try:
        per_class = compute_class_weight(class_weight, classes=classes, y=y)
    except (TypeError, ValueError) as error:
        msg = f"class_weight={class_weight!r}: {error}; {expected}"
        raise ValueError(msg) from error
    if not np.isfinite(per_class).all() or (per_class < 0).any() or not per_class.any():
        msg = f"class_weight={class_weight!r}: {expected}"
        raise ValueError(msg)
    return per_class
