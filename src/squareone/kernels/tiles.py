"""Kernel matrices by cache-sized tiles on all cores, and products that never store them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import TILE, Array, blocks, for_each, lower_tiles

if TYPE_CHECKING:
    from .base import Kernel


def origin_of(X: Array) -> Array:
    """The mean row: distances from centred rows lose fewer digits. Summed in float64."""
    return X.mean(axis=0, dtype=np.float64).astype(X.dtype)


def kernel_matrix(
    kernel: Kernel,
    X: Array,
    *,
    both_triangles: bool,
    dtype: np.dtype | None = None,
    unit: float = 1.0,
) -> Array:
    """k / unit between all rows of ``X`` (n, d) → (n, n), of which the lower triangle is computed.

    The diagonal is :meth:`Kernel.diagonal`, so a row is at distance exactly zero from itself. In
    another ``dtype`` than that of the rows every tile is computed in theirs and rounded once.

    Cost: n²d/2 multiplications and n²/2 evaluations; no temporary beyond a tile per core.
    """
    n = X.shape[0]
    origin = origin_of(X)
    left, right = kernel.left(X, origin), kernel.right(X, origin)
    diagonal = kernel.diagonal(X)
    K = np.empty((n, n), dtype or X.dtype)
    diagonal = (diagonal / diagonal.dtype.type(unit)).astype(K.dtype)

    def fill(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        out = K[rows, columns]
        if K.dtype == X.dtype and unit == 1.0:
            kernel.fill(left[rows], right[columns], out)
        else:
            exact = np.empty(out.shape, X.dtype)
            kernel.fill(left[rows], right[columns], exact)
            np.multiply(exact, 1.0 / unit, out=out, casting="same_kind")
        if rows == columns:
            if both_triangles:  # the two halves of a product tile may differ in the last bit
                upper = np.triu_indices(out.shape[0], 1)
                out[upper] = out.T[upper]
            np.fill_diagonal(out, diagonal[rows])
        elif both_triangles:
            K[columns, rows] = out.T

    for_each(fill, lower_tiles(n))
    return K


def lower_triangle(kernel: Kernel, X: Array, fill: Callable[[Any, Any, Array], None]) -> Array:
    """What ``fill`` writes between all rows of ``X`` (n, d), prepared by ``kernel``: (n, n)."""
    origin = origin_of(X)
    left, right = kernel.left(X, origin), kernel.right(X, origin)
    result = np.empty((X.shape[0], X.shape[0]), X.dtype)
    for_each(
        lambda tile: fill(left[tile[0]], right[tile[1]], result[tile]), lower_tiles(X.shape[0])
    )
    return result


def kernel_rectangle(kernel: Kernel, X: Array, Y: Array) -> Array:
    """k between the rows of ``X`` (n, d) and ``Y`` (m, d) → (n, m). Cost: n·m·d multiplications."""
    origin = origin_of(Y)
    left, right = kernel.left(X, origin), kernel.right(Y, origin)
    K = np.empty((X.shape[0], Y.shape[0]), X.dtype)
    tiles = [(i, j) for i in blocks(X.shape[0], TILE) for j in blocks(Y.shape[0], TILE)]
    for_each(lambda tile: kernel.fill(left[tile[0]], right[tile[1]], K[tile]), tiles)
    return K


def kernel_product(kernel: Kernel, X: Array, Y: Array, C: Array) -> Array:
    """``K(X, Y) @ C`` for ``C`` (m, t) → (n, t), one tile of K at a time.

    Partial sums over the tiles are added in float64: it costs nothing, and coefficients of
    either sign cancel.

    Cost: n·m·(d + t) multiplications; memory for a tile per core, whatever n and m are.
    """
    n, t = X.shape[0], C.shape[1]
    origin = origin_of(Y)
    right = kernel.right(Y, origin)
    columns = blocks(Y.shape[0], TILE)
    result = np.empty((n, t), X.dtype)

    def rows_of_result(rows: slice) -> None:
        left = kernel.left(X[rows], origin)
        tile = np.empty((rows.stop - rows.start) * TILE, X.dtype)
        total = np.zeros((rows.stop - rows.start, t))
        for block in columns:
            width = block.stop - block.start
            out = tile[: total.shape[0] * width].reshape(total.shape[0], width)
            kernel.fill(left, right[block], out)
            total += out @ C[block]
        result[rows] = total

    for_each(rows_of_result, blocks(n, TILE))
    return result
