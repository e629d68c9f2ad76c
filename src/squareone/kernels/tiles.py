"""Kernel matrices by cache-sized tiles on all cores, and products that never store them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import TILE, Array, blocks, set_diagonal
from ..devices import HOST, CenterValues, active_place
from ..rows import rows_of

if TYPE_CHECKING:
    from ..devices import Place
    from .base import Kernel


def origin_of(X: Any) -> Array:
    """The mean row (d,): distances from centred rows lose fewer digits. Zero for sparse rows."""
    rows = rows_of(X)
    return rows.origin(rows.mean()).astype(X.dtype)


def _stored_alike(X: Any, Y: Any) -> Iterator[tuple[slice, Any]]:
    """The rows of ``X`` (n, d), stored as those of ``Y`` are: all at once, or block by block.

    Where one is dense and the other sparse, a block of rows of ``X`` at a time is made like ``Y``.
    """
    rows, others = rows_of(X), rows_of(Y)
    n = X.shape[0]
    for part in [slice(0, n)] if rows.sparse == others.sparse else blocks(n, TILE):
        yield part, rows[part].like(others).X


def kernel_matrix(
    kernel: Kernel,
    X: Any,
    *,
    both_triangles: bool,
    dtype: np.dtype | None = None,
    unit: float = 1.0,
) -> Any:
    """k / unit between all rows of ``X`` (n, d) → (n, n), of which the lower triangle is computed.

    The diagonal is :meth:`Kernel.diagonal`, so a row is at distance exactly zero from itself. In
    another ``dtype`` than that of the rows every tile is computed in theirs and rounded once. The
    matrix is made in the active place; with ``both_triangles`` always in the machine's memory.

    Cost: n²d/2 multiplications, fewer if ``X`` is sparse, and n²/2 evaluations; no temporary beyond
    prepared rows and a tile per core.
    """
    n, place = X.shape[0], HOST if both_triangles else active_place()
    dtype = np.dtype(dtype or X.dtype)
    origin, rows_here = origin_of(X), place.taken(X)
    left, right = kernel.left(rows_here, origin), kernel.right(rows_here, origin)
    diagonal = kernel.diagonal(X)
    K = place.empty((n, n), dtype)
    diagonal = (diagonal / diagonal.dtype.type(unit)).astype(dtype)

    def fill(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        out = K[rows, columns]
        if dtype == X.dtype and unit == 1.0:
            kernel.fill(left[rows], right[columns], out)
        else:
            exact = place.empty(tuple(out.shape), X.dtype)
            kernel.fill(left[rows], right[columns], exact)
            exact *= 1.0 / unit
            out[...] = exact
        if rows == columns:
            if both_triangles:  # the two halves of a product tile may differ in the last bit
                upper = np.triu_indices(out.shape[0], 1)
                out[upper] = out.T[upper]
            set_diagonal(out, diagonal[rows])
        elif both_triangles:
            K[columns, rows] = out.T

    place.for_each(fill, place.lower_tiles(n))
    return K


def lower_triangle(kernel: Kernel, X: Any, fill: Callable[[Any, Any, Any], None]) -> Any:
    """What ``fill`` writes between all rows of ``X`` (n, d), prepared by ``kernel``: (n, n)."""
    n, place = X.shape[0], active_place()
    origin, rows = origin_of(X), place.taken(X)
    left, right = kernel.left(rows, origin), kernel.right(rows, origin)
    result = place.empty((n, n), X.dtype)
    place.for_each(
        lambda tile: fill(left[tile[0]], right[tile[1]], result[tile]), place.lower_tiles(n)
    )
    return result


def kernel_rectangle(kernel: Kernel, X: Any, Y: Any) -> Array:
    """k between the rows of ``X`` (n, d) and ``Y`` (m, d) → (n, m), each dense or sparse.

    Cost: n·m·d multiplications, fewer if ``Y`` is sparse.
    """
    origin, place = origin_of(Y), active_place()
    dtype, X, Y = X.dtype, place.taken(X), place.taken(Y)
    right = kernel.right(Y, origin)
    K = place.empty((X.shape[0], Y.shape[0]), dtype)
    for part, rows in _stored_alike(X, Y):
        _fill_rectangle(kernel, kernel.left(rows, origin), right, K[part], place)
    return place.fetched(K)


def kernel_columns(kernel: Kernel, X: Any) -> Callable[[Any], Array]:
    """k between rows ``X`` (n, d), prepared once, and any ``Y`` (m, d) stored alike → (n, m).

    For few rows at a time: to prepare those of ``X`` takes longer than to evaluate a few columns.

    Cost: n·m·d multiplications for every call; the prepared rows stay in memory, about as many
    numbers as ``X`` has.
    """
    origin = origin_of(X)
    left = kernel.left(X, origin)

    def columns(Y: Any) -> Array:
        K = np.empty((X.shape[0], Y.shape[0]), X.dtype)
        _fill_rectangle(kernel, left, kernel.right(Y, origin), K, HOST)
        return K

    return columns


def _fill_rectangle(kernel: Kernel, left: Any, right: Any, K: Any, place: Place) -> None:
    """Write k between prepared rows into ``K`` (n, m), tile by tile."""

    def fill(tile: tuple[slice, slice]) -> None:
        kernel.fill(left[tile[0]], right[tile[1]], K[tile])

    sides = blocks(K.shape[0], place.tile), blocks(K.shape[1], place.tile)
    place.for_each(fill, [(i, j) for i in sides[0] for j in sides[1]])


def kernel_product(kernel: Kernel, X: Any, Y: Any, C: Array) -> Array:
    """``K(X, Y) @ C`` for ``C`` (m, t) → (n, t), one tile of K at a time; rows dense or sparse.

    Partial sums over the tiles are added in float64: it costs nothing, and coefficients of
    either sign cancel.

    Cost: n·m·(d + t) multiplications; memory for a tile and a block of rows per core, whatever n
    and m are.
    """
    n, t, place, dtype = X.shape[0], C.shape[1], active_place(), X.dtype
    origin = origin_of(Y)
    there = place.products(CenterValues(kernel, Y, origin, dtype)) if t else None
    if there is not None:
        return place.fetched(there.times(place.taken(X), place.taken(C))).astype(dtype)
    queries, centers = rows_of(X), rows_of(Y)
    right = kernel.right(Y, origin)
    columns = blocks(Y.shape[0], TILE)
    result = np.empty((n, t), dtype)

    def rows_of_result(rows: slice) -> None:
        left = kernel.left(queries[rows].like(centers).X, origin)
        tile = np.empty((rows.stop - rows.start) * TILE, dtype)
        total = np.zeros((rows.stop - rows.start, t))
        for block in columns:
            width = block.stop - block.start
            out = tile[: total.shape[0] * width].reshape(total.shape[0], width)
            kernel.fill(left, right[block], out)
            total += out @ C[block]
        result[rows] = total

    place.for_each(rows_of_result, blocks(n, TILE))
    return result
