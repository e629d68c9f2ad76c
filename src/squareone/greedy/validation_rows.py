"""Validation rows of a greedy fit: held out, and predicted by every model on its path."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..kernels.tiles import kernel_rectangle
from ..rows import rows_of
from .kernel_columns import Columns


class ValidationRows:
    """Values of the orthonormal columns at other rows, by the recurrence that made them.

    Parameters
    ----------
    columns : Columns
        Of the rows that take part.
    X : array (v, d), CSR matrix, or list of array (v, n)
        The others, or where there are matrices their kernel values with those.
    room : int
        Columns at most.

    Notes
    -----
    **Cost**: 2vm flops and v·d multiplications for a column; vm numbers.
    """

    def __init__(self, columns: Columns, X: Any, room: int) -> None:
        self._columns, self._X = columns, X
        rows = X.shape[0] if columns.matrices is None else X[0].shape[0]
        self._Q = np.empty((rows, room), columns.dtype, order="F")
        self._size = 0

    def constant(self, length: float) -> None:
        """The column of ones, which had this length."""
        self._Q[:, 0] = 1.0 / length
        self._size = 1

    def append(self, candidate: int, within: Array, length: float) -> None:
        """The column that was appended to the basis."""
        m, point = self._size, candidate % self._columns.n
        number = candidate // self._columns.n
        if self._columns.matrices is None:
            center = rows_of(self._columns.X)[np.array([point])].X
            column = kernel_rectangle(self._columns.kernels[number], self._X, center)[:, 0]
        else:
            column = self._X[number][:, point].copy()
        column -= self._Q[:, :m] @ within.astype(column.dtype)
        self._Q[:, m] = column / column.dtype.type(length)
        self._size = m + 1

    def values(self, weights: Array) -> Array:
        """Predictions (v, t) of the model with ``weights`` (m, t) on the first m columns."""
        return self._Q[:, : weights.shape[0]] @ weights.astype(self._Q.dtype)
