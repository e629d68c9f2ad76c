"""Orthonormal columns that span those of the chosen centers, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import Array
from ..kernels.tiles import kernel_rectangle
from ..rows import rows_of
from .kernel_columns import Columns

# A direction is taken off a column once more where less than this share of the column is left in
# the end: what is left is orthogonal to it to working precision divided by the share.
_SHORT = 0.2
# Times at most; a column that still shrinks is one of the others, and rounding.
_PASSES = 4
# The first directions, which are taken off before the next ones, so many again, and so on by
# doubling: they have most of a column, and only they have to be taken off once more.
_FIRST = 32


@dataclass
class Ready:
    """Columns that are orthogonal to the first ``done`` of a basis.

    Attributes
    ----------
    rest : array (n, b)
        What is left of them, in Fortran order.
    within : array (done, b)
        Coefficients of what was taken off.
    met : array (done, b)
        Lengths of what there was when a direction was last taken off.
    lengths : array (b,)
        Of the columns as they were.
    repeats : array (b,)
        How often each was made orthogonal once more, because too little had been left of it.
    """

    rest: Array
    within: Array
    met: Array
    lengths: Array
    repeats: Array

    @property
    def done(self) -> int:
        """How many directions they are orthogonal to."""
        return self.within.shape[0]

    def part(self, which: Array) -> Ready:
        """Some of the columns, copied."""
        return Ready(
            rest=self.rest.T[which].T,
            within=self.within[:, which],
            met=self.met[:, which],
            lengths=self.lengths[which],
            repeats=self.repeats[which],
        )

    def column(self, j: int) -> Ready:
        """One of the columns, not copied."""
        only = slice(j, j + 1)
        return Ready(
            rest=self.rest[:, only],
            within=self.within[:, only],
            met=self.met[:, only],
            lengths=self.lengths[only],
            repeats=self.repeats[only],
        )


class Basis:
    """An orthonormal Q (n, m) and the upper triangular R with K_m = QR.

    In the words of the paper, whose columns are not of unit length: its Q is QS and its U is
    S⁻¹R, with S the diagonal of R.

    Memory: n numbers for every column there is; there is room for ``room`` of them.
    """

    def __init__(self, n: int, room: int, dtype: np.dtype) -> None:
        self.n = n
        self.size = 0
        # of which the machine gives what is written to
        self._Q = np.empty((n, room), dtype, order="F")
        self._R = np.zeros((room, room))

    @property
    def directions(self) -> Array:
        """Q (n, m)."""
        return self._Q[:, : self.size]

    @property
    def triangle(self) -> Array:
        """R (m, m), in float64."""
        return self._R[: self.size, : self.size]

    def prepare(self, columns: Array) -> Ready:
        """``columns`` (n, b) in Fortran order, overwritten, less what the basis has of them.

        **Cost**: 4nmb flops in products of matrices, and as many for those of the m directions that
        have to be taken off twice.
        """
        b = columns.shape[1]
        ready = Ready(
            rest=columns,
            within=np.zeros((0, b)),
            met=np.zeros((0, b)),
            lengths=_lengths(columns),
            repeats=np.zeros(b, int),
        )
        self.advance(ready)
        return ready

    def advance(self, ready: Ready) -> None:
        """Take off what the basis has got since. **Cost**: 4nb flops for a direction."""
        start, more = ready.done, np.zeros((self.size - ready.done, ready.lengths.size))
        ready.within, ready.met = np.vstack([ready.within, more]), np.vstack([ready.met, more])
        left = self._take_off(ready, start, self.size)
        for _ in range(_PASSES - 1):
            # what was orthogonal to the first ones may not be beside so little
            short = _SHORT * ready.met > left
            if not short.any():
                break
            ready.repeats += short.any(axis=0)
            left = self._take_off(ready, 0, 1 + int(np.flatnonzero(short.any(axis=1))[-1]))

    def _take_off(self, ready: Ready, start: int, stop: int) -> Array:
        """Take off the directions from ``start`` to ``stop``; the lengths (b,) that are left."""
        squares = []
        for piece in _pieces(start, stop):
            Q = self._Q[:, piece]
            found = Q.T @ ready.rest
            rest = ready.rest.T  # a product by rows, as they are stored, is twice as fast
            rest -= found.T @ Q.T
            ready.within[piece] += found
            squares.append(np.square(found, dtype=np.float64).sum(axis=0))
        left = _lengths(ready.rest)
        # Pythagoras: no pass over the columns for every piece
        met = np.square(left)
        for piece, gone in zip(_pieces(start, stop)[::-1], squares[::-1], strict=True):
            met = met + gone
            ready.met[piece] = np.sqrt(met)
        return left

    def append(self, rest: Array, within: Array) -> float:
        """Add a column that is orthogonal to the others, and return its length."""
        m = self.size
        length = float(np.linalg.norm(rest))
        np.divide(rest, rest.dtype.type(length), out=self._Q[:, m])
        self._R[:m, m] = within
        self._R[m, m] = length
        self.size = m + 1
        return length

    def combined(self, weights: Array) -> Array:
        """Q times ``weights`` (m, t) → (n, t). Cost: 2nmt flops."""
        return self.directions @ weights.astype(self._Q.dtype, copy=False)


def _lengths(columns: Array) -> Array:
    """Of ``columns`` (n, b) in Fortran order: (b,), in float64."""
    rows = columns.T
    # a scalar product of BLAS each, in one call: a norm apiece takes a third of a small fit
    squares = np.matmul(rows[:, None, :], rows[:, :, None])[:, 0, 0]
    return np.sqrt(squares, dtype=np.float64)


def _pieces(start: int, stop: int) -> list[slice]:
    """``start`` to ``stop``, cut at the first directions, twice as many, and so on."""
    edges, edge = [start], _FIRST
    while edge < stop:
        if edge > start:
            edges.append(edge)
        edge *= 2
    return [slice(a, b) for a, b in pairwise([*edges, stop]) if a < b]


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
