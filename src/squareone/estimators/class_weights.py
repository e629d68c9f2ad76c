"""Weights of classes as weights of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from ..arrays import Array


def with_class_weight(class_weight: Any, y: Array, weights: Array | None) -> Array | None:
    """Weights (n,) of rows times those of their classes, for labels ``y`` (n,)."""
    if class_weight is None:
        return weights
    if y.ndim == 2:
        msg = (
            "class_weight is not defined for an indicator matrix: each label would need weights "
            "and a factorisation of its own. Fit the labels one by one, or use sample_weight"
        )
        raise ValueError(msg)
    counted = y if weights is None else y[weights > 0]
    classes = np.unique(counted)
    by_class = np.zeros(y.shape[0])
    for label, weight in zip(classes, _per_class(class_weight, classes, counted), strict=True):
        by_class[y == label] = weight
    return by_class if weights is None else by_class * weights


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
