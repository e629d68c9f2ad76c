"""A run compared with a fixed classifier: the terms of bounds on its mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...kernels import Linear
from ...kernels.tiles import kernel_product
from ...online import DualLearners, Learners
from ...rows import rows_of
from ...targets.target_validation import check_labels
from .. import validation


@dataclass(frozen=True)
class Comparison:
    """Terms of the bounds.

    Attributes
    ----------
    margins : array (n,)
        y uᵀx in all rounds.
    energy : float
        a|u|² + uᵀSSᵀu, S the rows that the column has learned.
    log_determinant : float
        Σ ln(1 + λᵢ/a).
    """

    margins: Array
    energy: float
    log_determinant: float


def compared(estimator: Any, learners: Learners, X: Any, y: Any, u: Any, column: int) -> Comparison:
    """A column of a stream with ``u`` (d,), or Σ uᵢk(xᵢ, ·) over its rows ``X`` (n, d)."""
    record = estimator._recorded()
    if record.form in ("diagonal", "sketch") or estimator.budget is not None:
        msg = "the bound is for the exact forms, primal and dual, without a budget"
        raise ValueError(msg)
    X = validation.check_rows(estimator, X, reset=False, sparse=True)
    targets = record.targets.columns(check_labels(y, X), np.dtype(float))
    if not 0 <= column < targets.shape[1]:
        msg = f"column={column}: one of 0 to {targets.shape[1] - 1} is expected"
        raise ValueError(msg)
    if X.shape[0] != record.engine.rounds:
        msg = (
            f"X has {X.shape[0]} rows, and {record.engine.rounds} were seen: all of them are "
            "expected, in any order"
        )
        raise ValueError(msg)
    rows, u = estimator._as_learned(X), np.asarray(u, dtype=np.float64)
    values = _values(record, learners, rows, rows, u)
    norm = float(u @ u if isinstance(record.kernel, Linear) else u @ values)
    at_points = np.empty(0)
    if isinstance(learners, DualLearners) and learners.points.count:
        # not among those of X: they were learned in another order if they were shuffled
        at_points = _values(record, learners, learners.points.matrix(), rows, u)
    energy = learners.a * norm + float(learners.energies(at_points, u)[column])
    found = float(learners.log_determinants()[column])
    return Comparison(targets[:, column] * values, energy, found)


def _values(record: Any, learners: Learners, X: Any, rows: Any, u: Array) -> Array:
    """uᵀx of rows as they were learned (m, d), or Σ uᵢk(xᵢ, ·) over ``rows`` (n, d): (m,)."""
    d = record.n_features + record.intercept
    if isinstance(record.kernel, Linear):
        if u.shape != (d,):
            msg = f"u has shape {u.shape}: ({d},) is expected for the linear kernel"
            raise ValueError(msg)
        constant = u[-1] if X.shape[1] < d else 0.0  # the dual form has it in its kernel
        return np.asarray(X @ u[: X.shape[1]]).ravel() + constant
    if u.shape != (rows.shape[0],):
        msg = f"u has shape {u.shape}: ({rows.shape[0]},) is expected, one weight per row of X"
        raise ValueError(msg)
    assert isinstance(learners, DualLearners)
    X, rows = (rows_of(each).astype(np.dtype(float)).X for each in (X, rows))
    return kernel_product(learners.kernel, X, rows, u[:, None])[:, 0]
