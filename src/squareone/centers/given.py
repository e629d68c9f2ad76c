"""Points that the user brings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..kernels import Kernel
from ..kernels.base import checked_rows
from ..rows import rows_of
from .base import Selector
from .chosen_centers import Later, Selection

__all__ = ["Given"]


class Given(Selector):
    """The centers are given.

    Parameters
    ----------
    points : array-like (m, d) or sparse matrix
        Finite; they are brought into the precision of the rows, and stored as these are, dense or
        sparse.
    indices : int array-like (m,) or None, default=None
        Which rows they are, −1 for a point that is no row. None: an estimator takes points that
        are equal to rows for these rows, which costs a pass over them.

    Notes
    -----
    **Cost**: a copy.

    Examples
    --------
    >>> from squareone.centers import Given
    >>> from squareone.kernels import Linear
    >>> chosen = Given([[1.0, 0.0]]).select([[3.0, 0.0], [0.0, 4.0]], Linear())
    >>> chosen.explained
    0.36
    """

    def __init__(self, points: Any, indices: Any = None) -> None:
        self.points = points
        self.indices = indices

    def check_parameters(self) -> None:
        """Whether points fit the rows is seen when they are chosen."""

    def _choose(self, kernel: Kernel, X: Any, rng: np.random.RandomState) -> Selection:
        points, numbers = self.placed(X, X.shape[0])
        later = Later.of(kernel, X, rng)
        return Selection(points, numbers, X.shape[0], later.rows.size, later)

    def placed(self, X: Any, n: int) -> tuple[Any, Array | None]:
        """The points as rows like those of ``X``, and which of ``n`` rows they are."""
        if np.ndim(self.points) != 2 and not hasattr(self.points, "indptr"):
            msg = (
                f"centers of shape {np.shape(self.points)} were given: a number of centers, or "
                f"points (m, {X.shape[1]}) with the features of the rows, is expected"
            )
            raise ValueError(msg)
        points = checked_rows(self.points, X.dtype, "points")
        if points.shape[1] != X.shape[1]:
            msg = (
                f"Given: the points have {points.shape[1]} features and the rows have "
                f"{X.shape[1]}: centers are points in the space of the rows"
            )
            raise ValueError(msg)
        numbers = self._indices(points.shape[0], n)
        # one row shows how all of them are stored, wherever they come from
        return rows_of(points).like(rows_of(X[np.arange(1)])).copy().X, numbers

    def _indices(self, m: int, n: int) -> Array | None:
        if self.indices is None:
            return None
        indices = np.asarray(self.indices)
        whole = indices.shape == (m,) and np.issubdtype(indices.dtype, np.integer)
        if not whole or indices.min() < -1 or indices.max() >= n:
            msg = (
                f"Given: indices of shape {indices.shape} and type {indices.dtype}: a row number "
                f"from 0 to {n - 1}, or -1 for a point that is no row, is expected for each of the "
                f"{m} points, or None"
            )
            raise ValueError(msg)
        rows = indices[indices >= 0]
        if np.unique(rows).size < rows.size:
            msg = f"Given: row {_repeated(indices)} stands twice among the indices: once is enough"
            raise ValueError(msg)
        return indices.astype(np.intp)


def _repeated(indices: Array) -> int:
    values, counts = np.unique(indices[indices >= 0], return_counts=True)
    return int(values[counts > 1][0])
