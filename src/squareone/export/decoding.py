"""Labels and probabilities as nodes, from decision values (n, c)."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ..arrays import Array
from ..models.probabilities import Calibration, Isotonic, Linear, Platt, Temperature
from ..targets import Labels
from .graph import DOUBLE, WHOLE, Tensor

__all__ = ["beside_complement", "labels", "probabilities"]


# --- labels -------------------------------------------------------------------------------------


def labels(values: Tensor, targets: Labels, threshold: Any = 0.0) -> Tensor:
    """Labels (n,), or an indicator matrix (n, labels), from decision values (n, c)."""
    if np.any(threshold):  # thresholds are in float64
        values = values.cast(DOUBLE)
    if targets.multilabel:
        return (values > threshold).cast(WHOLE)
    classes = values.graph.constant(_classes_of_onnx(targets.classes))
    if targets.classes.size == 2:
        return classes.take((values.column(0) > threshold).cast(WHOLE))
    return classes.take(values.argmax())


def _classes_of_onnx(classes: Array) -> Array:
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


def probabilities(values: Tensor, calibration: Calibration) -> Tensor:
    """Probabilities (n, c) from decision values (n, c).

    In float64, as in the library, and rounded to the type of the values.
    """
    columns = _COLUMNS.get(type(calibration))
    if columns is None:
        names = ", ".join(known.__name__ for known in _COLUMNS)
        msg = (
            f"the calibration {type(calibration).__name__} cannot be exported: its formula as ONNX "
            f"nodes is not known. Those that can be are {names}"
        )
        raise TypeError(msg)
    p = columns(values.cast(DOUBLE), calibration)
    if calibration.exclusive:
        total = p.sum_of_rows()
        # all equally probable where all are impossible; their sum is then their number
        nobody = (total > 0.0).cast(DOUBLE) * -1.0 + 1.0
        p = p + nobody
        p = p / p.sum_of_rows()
    p = p.cast(values.dtype)
    if isinstance(calibration, Temperature) and calibration.agrees:
        return _untied(p, values, calibration)
    return p


def beside_complement(p: Tensor) -> Tensor:
    """[1 − p, p] (n, 2) from the one column (n, 1) of two classes."""
    return (p * -1.0 + 1.0).beside(p)


def _untied(p: Tensor, values: Tensor, calibration: Temperature) -> Tensor:
    """Probabilities that rounding has made equal, and their values are not, one digit apart.

    So that the most probable class is the predicted one, where classes have no weights.
    """
    eps = float(np.finfo(p.dtype).eps)
    if not calibration.exclusive:
        above = p.graph.constant(0.5 + 0.5 * eps, p.dtype)
        return above.where((values > 0.0) & ~(p > 0.5), p)
    winner, favourite = values.argmax(), p.argmax()
    level = p.at(favourite)
    # the next number above: 3/4 ε is between 3/4 and 3/2 of the last digit
    above = level + level * (0.75 * eps)
    rounded = ~winner.equals(favourite).upright()
    return above.where(values.equals(values.at(winner)) & rounded, p)


def _sigmoid(log_odds: Tensor) -> Tensor:
    """1 / (1 + exp(−z)): an operator of that name may round small probabilities to zero."""
    one = log_odds.graph.constant(1.0, log_odds.dtype)
    return one / ((log_odds * -1.0).exp() + 1.0)


def _temperature(values: Tensor, calibration: Temperature) -> Tensor:
    if not calibration.exclusive:
        return _platt(values, calibration)
    f = values - calibration.centres
    z = (f - f.at(f.argmax())) * calibration.slopes + calibration.offsets
    return (z - z.at(z.argmax())).exp()


def _platt(values: Tensor, calibration: Platt | Isotonic | Temperature) -> Tensor:
    log_odds = (values - calibration.centres) * calibration.slopes + calibration.offsets
    return _sigmoid(log_odds)


def _isotonic(values: Tensor, calibration: Isotonic) -> Tensor:
    columns = [
        _interpolated(values.columns([j]), *curve) for j, curve in enumerate(calibration.curves())
    ]
    steps = reduce(Tensor.beside, columns)
    rows = calibration.rows
    return (steps * rows + _platt(values, calibration)) / (rows + 1.0)


def _interpolated(values: Tensor, knots: Array, levels: Array) -> Tensor:
    """Linear between the knots (k,) and constant beyond, at values (n, 1) → (n, 1).

    The number of knots at or below a value says which piece it is on. Memory: n·k.
    """
    graph = values.graph
    piece = (values >= knots[None, :]).cast(WHOLE).sum_of_rows()
    slopes = np.concatenate([[0.0], np.diff(levels) / np.diff(knots), [0.0]])
    starts = np.concatenate([knots[:1], knots])
    heights = np.concatenate([levels[:1], levels])
    start, height, slope = (
        graph.constant(table, DOUBLE).take(piece) for table in (starts, heights, slopes)
    )
    return (values - start) * slope + height


def _linear(values: Tensor, calibration: Linear) -> Tensor:
    rows, offsets = float(calibration.rows[0]), calibration.offsets
    beyond = (values.abs() - rows / (rows + 2.0)).maximum(0.0)
    one = values.graph.constant(1.0, DOUBLE)
    tail = one / ((beyond + 1.0) * (rows + 2.0))
    ends = (one - tail).where(values > 0.0, tail)
    p = ends.where(beyond > 0.0, (values + 1.0) / 2.0)
    if not offsets.any():
        return p
    if calibration.exclusive:
        return p * np.exp(offsets - offsets.max())
    return p / (p + (one - p) * np.exp(-offsets))


_COLUMNS: dict[type[Calibration], Callable[[Tensor, Any], Tensor]] = {
    Isotonic: _isotonic,
    Linear: _linear,
    Platt: _platt,
    Temperature: _temperature,
}
