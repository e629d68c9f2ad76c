"""The data of a fit as they come from the user, checked: rows, targets, weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..rows.checks import check_scale
from ..targets import Labels, Responses
from ..targets.target_validation import with_class_weights
from . import validation


@dataclass(frozen=True)
class FitData:
    """Rows, targets and weights of a fit.

    Attributes
    ----------
    X : array (n, d), CSR matrix, Stream, or kernel matrix (n, n)
    y : array (n,) or (n, t)
    targets : Responses or Labels
    columns : array (n, t)
        y as numbers.
    user_weights, weights : array (n,) or None
        As they were given, and of the fit, in which classes may have weights, too.
    class_weights : array (k,) or None
        Those of the classes.
    kept : array
        Numbers of the rows of positive weight.
    """

    X: Any
    y: Array
    targets: Responses | Labels
    columns: Array
    user_weights: Array | None
    weights: Array | None
    class_weights: Array | None
    kept: Array


def read(estimator: Any, X: Any, y: Any, sample_weight: Any, *, given: bool) -> FitData:
    """Check all of it; ``given`` says that X is a kernel matrix."""
    X = validation.check_rows(estimator, X, reset=True, sparse=not given)
    if given:
        validation.check_square(X)
    check_scale(X, "the kernel matrix" if given else "X")
    y, targets, columns = estimator._read_targets(X, y)
    user_weights = validation.check_weights(sample_weight, X.shape[0], X.dtype)
    estimator._check_targets(targets, columns.shape[1], user_weights)
    class_weights = estimator._class_weights(y, user_weights)
    weights = user_weights
    if isinstance(targets, Labels):
        weights = with_class_weights(class_weights, y, user_weights)
    validation.check_spread(weights, X.dtype)
    kept = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
    return FitData(X, y, targets, columns, user_weights, weights, class_weights, kept)
