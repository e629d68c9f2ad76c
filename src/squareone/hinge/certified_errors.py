"""Leave-one-out errors that are certain, in spite of what the solutions are off by."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .svm_record import SVMRecord


def _wrong(record: SVMRecord, values: Array, rows: Array) -> Array:
    """Whether rows are errors (r,), or the share of their labels."""
    labels, Y = record.targets, record.Y[rows]
    if labels.exclusive:
        wins = labels.decisions(values).argmax(axis=1)
        return (wins != labels.class_numbers(Y)).astype(float)
    return ((values > 0) != (Y > 0)).mean(axis=1)


def _share(record: SVMRecord, rows: Array, wrong: Array) -> float:
    """Of errors (r,) among these rows, by the user's weights; one rounding where there are none."""
    w = record.user_weights
    weights = np.ones(rows.size) if w is None else w[rows].astype(np.float64)
    return float(weights @ wrong) / float(weights.sum())


def error_share(record: SVMRecord) -> float:
    """The share of errors among the rows that were left out."""
    rows = record.scored_rows
    return _share(record, rows, _wrong(record, record.comparable_scored_values, rows))


def error_interval(record: SVMRecord) -> tuple[float, float, Array]:
    """The least and the greatest share of errors, and the rows that are undecided.

    A value v with radius r is anywhere in v ± r: a column has the sign of v where |v| > r, and a
    class wins where its least value is above the greatest of all others.
    """
    rows, values = record.scored_rows, record.comparable_scored_values
    radius = record.radius
    if record.left_out_by != "exact" or radius is None or np.isnan(radius).any():
        msg = (
            "errors are certain for leave-one-out values without an intercept that is not "
            'penalised: fit with criterion="loo", cv=None and fit_intercept="penalised"'
        )
        raise AttributeError(msg)
    labels, Y, radius = record.targets, record.Y[rows], radius[rows]
    if labels.code is not None:
        msg = "errors are certain for classes one against all, not for a code: use that coding"
        raise AttributeError(msg)
    if labels.exclusive:
        own = labels.truth(Y)
        least = np.where(own, values - radius, np.inf).min(axis=1)
        most = np.where(own, values + radius, -np.inf).max(axis=1)
        others_most = np.where(own, -np.inf, values + radius).max(axis=1)
        others_least = np.where(own, -np.inf, values - radius).max(axis=1)
        right, wrong = (least > others_most)[:, None], (most < others_least)[:, None]
    else:
        seen = Y * values
        right, wrong = seen > radius, seen < -radius
    low = _share(record, rows, wrong.mean(axis=1))
    # summed as the share itself, so that rounding does not put it outside
    high = _share(record, rows, (~right).mean(axis=1))
    return low, high, rows[~(right | wrong).all(axis=1)]
