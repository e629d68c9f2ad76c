"""Probabilities and thresholds of a fit, from values of models that have not seen a row.

A record is a :class:`~squareone.fitting.result.FitResult`, or that of a support vector machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..models.probabilities import Calibration, fit_calibration
from ..selection.threshold import best_thresholds, is_metric, metric_of_classes


def calibration_of(record: Any) -> Calibration:
    """The map from decision values to probabilities; fitted when first asked for."""
    if record.calibrated_by is None:
        msg = "calibration=None: there are no probabilities. Fit again with a calibration"
        raise AttributeError(msg)
    if record.calibration is None:
        labels, rows = record.targets, record.scored_rows
        weights = record.user_weights
        record.calibration = fit_calibration(
            record.calibrated_by,
            labels.decisions(record.comparable_scored_values),
            labels.truth(record.sample.Y[rows]),
            None if weights is None else weights[rows],
            exclusive=labels.exclusive,
            class_weighted=record.class_weights is not None,
        )
    return record.calibration


def calibrated(record: Any, values: Array) -> Array:
    """Probabilities (m, k) or (m, labels) of the solved columns (m, t)."""
    labels = record.targets
    return labels.probabilities(calibration_of(record).probabilities(labels.decisions(values)))


def left_out_probabilities(record: Any) -> Array:
    """Those of the values of rows that were left out, (n, k) or (n, labels)."""
    return calibrated(record, record.comparable_values)


def probability_of(record: Any, threshold: Any) -> float | Array:
    """What the probability of the second class, or of each label, has to exceed."""
    labels = record.targets
    if labels.exclusive:
        msg = (
            f"probability_threshold_ belongs to two classes or to labels, and there are "
            f"{labels.classes.size} classes, of which the largest value wins"
        )
        raise AttributeError(msg)
    found = calibration_of(record).probabilities(np.atleast_1d(threshold)[None, :])[0]
    return found if labels.multilabel else float(found[0])


def chosen_threshold(record: Any, asked: Any, weights: Array | None) -> float | Array:
    """What decision values have to exceed: zero, what was given, or what is best by a metric.

    ``asked`` is the parameter, and ``weights`` (n,) are the user's.
    """
    labels = record.targets
    if is_metric(asked):
        rows = record.scored_rows
        # in the precision of the model, so that a threshold is, too
        values = record.comparable_scored_values.astype(record.sample.Y.dtype)
        some = None if weights is None else weights[rows]
        metric = metric_of_classes(asked, labels)
        found = best_thresholds(metric, values, record.sample.Y[rows] > 0, some)
    else:
        given = 0.0 if asked is None else asked
        found = np.broadcast_to(np.asarray(given, np.float64), record.alphas.shape).copy()
    return found if labels.multilabel else float(found[0])
