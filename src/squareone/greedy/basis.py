"""Orthonormal columns that span those of the chosen centers, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array

# A column that keeps less than this share of its length is orthogonalised once more: what is left
# is orthogonal to working precision divided by it.
_SHORT = 0.1
# Times at most; a column that still shrinks is one of the others, and rounding.
_PASSES = 4


@dataclass
class Ready:
    """Columns that are orthogonal to the first ``done`` of a basis.

    Attributes
    ----------
    rest : array (n, b)
        What is left of them.
    within : array (room, b)
        Coefficients of what was taken off.
    lengths : array (b,)
        Of the columns as they were.
    done : int
    repeats : array (b,)
        How often each was made orthogonal once more, because too little had been left of it.
    """

    rest: Array
    within: Array
    lengths: Array
    done: int
    repeats: Array


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
        """``columns`` (n, b), which are overwritten, less what the basis has of them.

        **Cost**: 4nmb flops for each of one or two passes, all of it in products of matrices.
        """
        b = columns.shape[1]
        lengths = np.linalg.norm(columns, axis=0).astype(np.float64)
        ready = Ready(columns, np.zeros((self.size, b)), lengths, 0, np.zeros(b, int))
        self.advance(ready)
        return ready

    def advance(self, ready: Ready, which: slice = slice(None)) -> None:
        """Take off what the basis has got since, from all columns or some of them."""
        if ready.within.shape[0] < self.size:
            grown = np.zeros((self.size, ready.within.shape[1]))
            grown[: ready.within.shape[0]] = ready.within
            ready.within = grown
        rest = ready.rest[:, which]
        start = ready.done
        for turn in range(_PASSES):
            before = np.linalg.norm(rest, axis=0)
            if start < self.size:
                Q = self._Q[:, start : self.size]
                found = Q.T @ rest
                rest -= Q @ found
                ready.within[start : self.size, which] += found
            after = np.linalg.norm(rest, axis=0)
            start = 0  # what was orthogonal to the first ones may not be beside so little
            short = after < _SHORT * before
            if not short.any() or turn + 1 == _PASSES:
                break
            ready.repeats[which] += short
        if which == slice(None):
            ready.done = self.size

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

    def loss_of_orthogonality(self) -> float:
        """The largest |qᵢᵀqⱼ|, i ≠ j, and |qᵢᵀqᵢ − 1|: nm² flops, for whoever asks."""
        G = self.directions.T @ self.directions
        return float(np.abs(G - np.eye(self.size)).max(initial=0.0))
