"""Coefficients of what a stream has learned, as scikit-learn has those of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..kernels import Linear
from ..models import Hyperplane
from .stream_learner import StreamLearner
from .stream_targets import NumberTargets


def of_features(record: StreamLearner) -> Array:
    """Weights (d,) or (t, d) of the features, for the linear kernel; of two classes (1, d)."""
    if isinstance(record.model, Hyperplane):
        W = record.model.coefficients
    elif isinstance(record.kernel, Linear):
        W = np.asarray(record.model.centers.T @ record.model.coefficients)
    else:
        msg = f"coef_ is for the linear kernel, and this is {record.kernel}: see dual_coef_"
        raise AttributeError(msg)
    return _by_column(W) if isinstance(record.targets, NumberTargets) else W.T.copy()


def of_nodes(record: StreamLearner) -> Array:
    """Weights (k, d) of every node of a taxonomy, for the linear kernel."""
    if not isinstance(record.kernel, Linear):
        kernel = record.settings.parameters["kernel"]
        msg = f"coef_ is for the linear kernel, and kernel={kernel!r}"
        raise AttributeError(msg)
    found = np.empty((len(record.targets.taxonomy), record.n_features))
    for columns, model in record.model.parts:
        found[columns] = model.coefficients.T
    return found


def of_points(record: StreamLearner) -> Array:
    """Weights (m,) or (t, m) of the support points, for the dual form."""
    learners = record.dual_learners("dual_coef_")
    if not learners.by_feature:
        return _by_column(record.model.coefficients)
    return _by_column(learners.coefficients()[:, -record.columns :])


def of_constants(record: StreamLearner) -> Any:
    """The weight of the constant feature: a number, or (t,); of two classes (1,)."""
    values = record.model.intercepts
    alone = values.size == 1 and isinstance(record.targets, NumberTargets)
    return float(values[0]) if alone else values


def _by_column(W: Array) -> Array:
    return W[:, 0].copy() if W.shape[1] == 1 else W.T.copy()
