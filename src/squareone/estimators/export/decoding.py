"""Labels and probabilities as nodes, from decision values (n, c)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays import Array
from ...targets import Labels
from .graph import DOUBLE, WHOLE, Tensor

__all__ = ["classes_tensor", "labels", "probabilities"]


# --- labels -------------------------------------------------------------------------------------


def labels(values: Tensor, targets: Labels, threshold: Any = 0.0) -> Tensor:
    """Labels (n,), or an indicator matrix (n, labels), from decision values (n, c)."""
    if targets.multilabel:
        return (values > threshold).cast(WHOLE)
    classes = values.graph.constant(classes_tensor(targets.classes))
    if targets.classes.size == 2:
        return classes.take((values.column(0) > threshold).cast(WHOLE))
    return classes.take(values.argmax())


def classes_tensor(classes: Array) -> Array:
    """The classes (k,) in a type that ONNX has: int64, bool, floating point or text."""
    if classes.dtype.kind == "O":
        kinds = {type(label) for label in classes}
        if kinds == {str}:
            return classes
        classes = np.array(classes.tolist()) if len(kinds) == 1 else classes
    if classes.dtype.kind == "U":
        return classes.astype(object)
    if classes.dtype.kind in "iu" and int(classes[-1]) <= np.iinfo(WHOLE).max:
        return classes.astype(WHOLE)
    if classes.dtype.kind == "b" or classes.dtype in (np.float32, np.float64):
        return classes
    msg = (
        f"classes of type {classes.dtype} cannot be exported, such as {classes[0]!r}: ONNX has "
        "64-bit integers, truth values, floating-point numbers and texts. Fit to one of these"
    )
    raise TypeError(msg)


# --- probabilities ------------------------------------------------------------------------------


def probabilities(values: Tensor, calibration: Any) -> Tensor:
    """Probabilities (n, c), or (n, 2) from the one column of two classes.

    In float64, as in the library, and rounded to the type of the values.
    """
    columns = _COLUMNS.get(type(calibration).__name__)
    if columns is None:
        msg = (
            f"the calibration {type(calibration).__name__} cannot be exported: its formula as ONNX "
            f"nodes is not known. Those that can be are {', '.join(_COLUMNS)}"
        )
        raise TypeError(msg)
    p = columns(values.cast(DOUBLE), calibration)
    if calibration.exclusive:
        total = p.sum_of_rows()
        width = np.ones((1, _width(calibration)))
        p = (p / total).where(total > 0.0, width / width.size)
    p = p.cast(values.dtype)
    return p


def _sigmoid(log_odds: Tensor) -> Tensor:
    """1 / (1 + exp(−z)): onnxruntime's own rounds a small probability to zero."""
    one = log_odds.graph.constant(1.0, log_odds.dtype)
    return one / ((log_odds * -1.0).exp() + 1.0)
