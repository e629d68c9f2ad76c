"""A kernel matrix that the user brings."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ..arrays import Array, lower_tiles
from ..threads import for_each
from .base import Kernel

__all__ = ["Precomputed", "check_kernel_values", "check_square", "copy_symmetric"]


class Precomputed(Kernel):
    """The kernel is given: X is the matrix k(x_i, x_j) (n, n) in fit, (m, n) in predict.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone import RLSRegressor
    >>> from squareone.kernels import Gaussian, Precomputed
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0])
    >>> model = RLSRegressor(Precomputed(), alpha=0.1).fit(Gaussian(1.0)(X), y)
    >>> model.predict(Gaussian(1.0)([[1.0]], X)).round(3)
    array([0.802])
    """

    has_formula = False
    fills_anywhere = True

    def check_parameters(self) -> None:
        return

    def _no_rows(self) -> NoReturn:
        msg = (
            "a precomputed kernel has no formula to evaluate on rows: give the estimator the "
            "kernel matrix as X"
        )
        raise TypeError(msg)

    def left(self, X: Any, origin: Array) -> NoReturn:
        self._no_rows()

    def right(self, Y: Any, origin: Array) -> NoReturn:
        self._no_rows()

    def fill(self, left: Any, right: Any, out: Array) -> None:
        self._no_rows()

    def diagonal(self, X: Any) -> Array:
        self._no_rows()


def copy_symmetric(K: Array, dtype: Any, unit: float = 1.0) -> Array:
    """The lower triangle of (K + Kᵀ)/2/unit (n, n) in ``dtype``; refused if the halves disagree.

    A difference of 1e-8 (float32: 1e-4) of the largest entry is rounding; more is a mistake.
    """
    n = K.shape[0]
    copy = np.empty((n, n), dtype)
    share = 1e-8 if K.dtype == np.float64 else 1e-4
    worst: list[tuple[float, int, int]] = []
    peaks: list[float] = []

    def average(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        below, above = K[rows, columns], K[columns, rows].T
        both = np.empty(below.shape, K.dtype)
        np.subtract(below, above, out=both)
        np.abs(both, out=both)
        i, j = np.unravel_index(int(np.argmax(both)), both.shape)
        worst.append((float(both[i, j]), rows.start + int(i), columns.start + int(j)))
        peaks.append(float(max(abs(below.max()), abs(below.min()))))
        np.add(below, above, out=both)
        np.multiply(both, 0.5 / unit, out=copy[rows, columns], casting="same_kind")

    for_each(average, lower_tiles(n))
    difference, i, j = max(worst)
    if difference > share * max(peaks):
        msg = (
            f"the precomputed kernel matrix is not symmetric: entries ({i}, {j}) = {K[i, j]:.6g} "
            f"and ({j}, {i}) = {K[j, i]:.6g} differ by {difference:.3g}. A kernel matrix between "
            "the training rows and themselves is expected"
        )
        raise ValueError(msg)
    return copy


def check_square(K: Array) -> None:
    """A precomputed kernel matrix between the training rows is square."""
    if K.shape[0] != K.shape[1]:
        msg = (
            f"the precomputed kernel matrix has shape {K.shape}: a square one, k between all "
            "training rows, is expected in fit"
        )
        raise ValueError(msg)


def check_kernel_values(K: Any, n: int) -> None:
    """Kernel values at predict have a column per training row."""
    shape = np.shape(K)
    if len(shape) == 2 and shape[1] != n:
        msg = (
            f"X has {shape[1]} columns: with a precomputed kernel its values with the {n} training "
            f"rows, (m, {n}), are expected"
        )
        raise ValueError(msg)
