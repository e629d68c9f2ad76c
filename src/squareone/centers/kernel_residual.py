"""What is left of a kernel matrix after some of its rows: K − FFᵀ, never formed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import TILE, Array, blocks, triangular_inverse
from ..kernels import Kernel
from ..kernels.tiles import origin_of
from ..threads import for_each

__all__ = ["Corner", "Residual"]


class Residual:
    """K − FFᵀ for k between the rows of ``X`` (n, d) and a factor F (n, m) that grows by columns.

    After rows p were taken, FFᵀ = K_np K_pp⁺ K_pn, and what is left is the kernel matrix of the
    rows less their projections on the span of those.

    Attributes
    ----------
    F : array (n, count)
        Of which ``size`` columns are filled.
    whole : array (n,) of float64
        The diagonal of K.
    diagonal : array (n,) of float64
        Of the residual: exactly zero for rows that were taken, and for all that depend on them to
        working precision.
    floor : float
        What counts as zero there: the rounding of ``count`` steps, or what was seen of that of the
        kernel.

    Notes
    -----
    **Cost**: n·m·(d + m/2) multiplications for m columns, all in products of blocks on all cores;
    n·count numbers, and the prepared rows.
    """

    def __init__(self, kernel: Kernel, X: Any, count: int) -> None:
        self.X = X
        self._kernel = kernel
        self._origin = origin_of(X)
        self._left = kernel.left(X, self._origin)
        self.whole = kernel.diagonal(X).astype(np.float64)
        self.F = np.empty((X.shape[0], count), X.dtype)
        self.size = 0
        eps = float(np.finfo(X.dtype).eps)
        self.floor = (8 + count) * eps * float(self.whole.max(initial=0.0))
        self.diagonal = self.whole.copy()
        self._drop_zeros()

    @property
    def explained(self) -> float:
        """The share of the trace of K that is in FFᵀ; one where there is no trace."""
        total = float(self.whole.sum())
        return 1.0 - float(self.diagonal.sum()) / total if total > 0 else 1.0

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left."""
        return not self.diagonal.any()

    def _drop_zeros(self) -> None:
        self.diagonal[self.diagonal <= self.floor] = 0.0

    def _notice(self, rows: Array, evaluated: Array) -> None:
        """Raise the floor to how far the diagonal (b,), evaluated as of any rows, is off.

        A row that equals another one differs from it by no more, so that it is never taken.
        """
        off = float(np.abs(evaluated - self.diagonal[rows]).max(initial=0.0))
        self.floor = max(self.floor, 4.0 * off)
        self._drop_zeros()

    def _right(self, rows: Array) -> tuple[Any, Array]:
        """Rows (b,) as the second argument of k, and their part of F (b, size)."""
        return self._kernel.right(self.X[rows], self._origin), self.F[rows, : self.size]

    def _tile(self, block: slice, right: tuple[Any, Array], out: Array) -> None:
        self._kernel.fill(self._left[block], right[0], out)
        out -= self.F[block, : self.size] @ right[1].T

    def corner(self, rows: Array) -> Array:
        """The residual between rows (b,) and themselves, in float64: (b, b)."""
        right = self._right(rows)
        values = np.empty((rows.size, rows.size), self.X.dtype)
        self._kernel.fill(self._kernel.left(self.X[rows], self._origin), right[0], values)
        H = values.astype(np.float64)
        H -= right[1] @ right[1].T
        self._notice(rows, np.diagonal(H))
        np.fill_diagonal(H, self.diagonal[rows])
        return H

    def columns(self, rows: Array) -> tuple[Array, Array]:
        """Columns (n, b) of the residual at rows (b,), and the sums of their squares (b,)."""
        right = self._right(rows)
        G = np.empty((self.X.shape[0], rows.size), self.X.dtype)
        parts = blocks(G.shape[0], TILE)
        sums = np.empty((len(parts), rows.size))

        def fill(i: int) -> None:
            tile = G[parts[i]]
            self._tile(parts[i], right, tile)
            np.einsum("ij,ij->j", tile, tile, out=sums[i], dtype=np.float64)

        for_each(fill, range(len(parts)))
        self._notice(rows, G[rows, np.arange(rows.size)])
        return G, sums.sum(axis=0)

    def extend(self, rows: Array, L: Array) -> None:
        """Take rows (b,), between which the residual is LLᵀ with a lower triangle ``L`` (b, b)."""
        right = self._right(rows)
        inverse = np.tril(L)
        triangular_inverse(inverse)
        # a product in place of a triangular solve, which would hold the interpreter lock
        inverse = inverse.T.astype(self.X.dtype)
        new = slice(self.size, self.size + rows.size)

        def fill(block: slice) -> None:
            tile = np.empty((block.stop - block.start, rows.size), self.X.dtype)
            self._tile(block, right, tile)
            self._write(block, new, tile @ inverse)

        for_each(fill, blocks(self.X.shape[0], TILE))
        self._took(rows)

    def take(self, row: int, column: Array) -> None:
        """Take one row, whose ``column`` (n,) of the residual is known."""
        scaled = column / np.sqrt(self.diagonal[row])
        new = slice(self.size, self.size + 1)
        self._write(slice(0, column.size), new, scaled.astype(self.X.dtype)[:, None])
        self._took(np.array([row]))

    def _write(self, block: slice, new: slice, values: Array) -> None:
        self.F[block, new] = values
        self.diagonal[block] -= np.einsum("ij,ij->i", values, values, dtype=np.float64)

    def _took(self, rows: Array) -> None:
        self.size += rows.size
        self.diagonal[rows] = 0.0
        self._drop_zeros()


class Corner:
    """The residual ``H`` (b, b) between a few rows, factored pivot by pivot as rows are accepted.

    Attributes
    ----------
    diagonal : array (b,)
        What is left of the diagonal after the rows accepted so far.
    accepted : list of int
        Their positions, in order.

    Notes
    -----
    **Cost**: b·m²/2 multiplications for m rows accepted.
    """

    def __init__(self, H: Array, most: int) -> None:
        self._H = H
        self._R = np.empty((H.shape[0], min(most, H.shape[0])))
        self.diagonal = np.diagonal(H).copy()
        self.accepted: list[int] = []

    @property
    def full(self) -> bool:
        """Whether as many were accepted as may be."""
        return len(self.accepted) == self._R.shape[1]

    @property
    def factor(self) -> Array:
        """The lower triangle (m, m) of the residual between the accepted rows."""
        return np.tril(self._R[self.accepted, : len(self.accepted)])

    def accept(self, j: int) -> None:
        """Take the row at position ``j``."""
        m = len(self.accepted)
        column = self._H[:, j] - self._R[:, :m] @ self._R[j, :m]
        column /= np.sqrt(self.diagonal[j])
        column[j] = np.sqrt(self.diagonal[j])
        self._R[:, m] = column
        self.diagonal -= column * column
        self.diagonal[j] = 0.0
        self.accepted.append(j)
