"""How much of a kernel matrix a few points explain."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import TILE, Array, blocks, divide_right, pivoted_cholesky
from ..kernels import Kernel
from ..kernels.base import checked_rows
from ..kernels.tiles import kernel_matrix, kernel_rectangle
from ..rows import rows_of

# Numbers of the rectangle of kernel values that are there at a time: 32 MiB of float64.
_RECTANGLE = 4_194_304


def explained_trace(kernel: Kernel, X: Any, points: Any) -> float:
    """The share tr(K̃) / tr(K) of the trace of a kernel matrix that some points explain.

    K (n, n) is k between the rows, and K̃ = K_nm K_mm⁺ K_mn the best approximation by functions
    of the form Σ_j c_j k(·, z_j): tr(K − K̃) is the sum of the squared distances of the rows,
    as k sees them, from the span of the points.

    Parameters
    ----------
    kernel : Kernel
        With a number for every parameter.
    X : array-like (n, d) or sparse matrix
        Rows.
    points : array-like (m, d) or sparse matrix
        They may depend on each other: K_mm is factored with pivots, as far as its rank.

    Returns
    -------
    float
        Between zero and one; one where tr(K) is zero.

    Notes
    -----
    **Cost**: n·m·(d + m) + m³/3 multiplications; memory for m² numbers and 32 MiB.

    Examples
    --------
    >>> from squareone.centers import explained_trace
    >>> from squareone.kernels import Linear
    >>> explained_trace(Linear(), [[3.0, 0.0], [0.0, 4.0]], [[1.0, 0.0]])
    0.36
    """
    kernel.check_chosen()
    X = checked_rows(X, [np.float64, np.float32], "X")
    return share_of_trace(kernel, X, checked_rows(points, X.dtype, "points"))


def share_of_trace(kernel: Kernel, X: Any, points: Any) -> float:
    """The same for rows and points that were looked at already."""
    total = float(kernel.diagonal(X).sum(dtype=np.float64))
    if not total > 0:
        return 1.0
    L = kernel_matrix(kernel, points, both_triangles=False)
    rank, order = pivoted_cholesky(L)
    independent = points[order[:rank]]
    factor = np.ascontiguousarray(L[:rank, :rank])
    rows = rows_of(X)

    def part(block: slice) -> float:
        B: Array = kernel_rectangle(kernel, rows[block].X, independent)
        divide_right(B, factor)
        return float(np.einsum("ij,ij->", B, B, dtype=np.float64))

    height = max(TILE, _RECTANGLE // max(rank, 1))
    explained = sum(part(block) for block in blocks(X.shape[0], height)) if rank else 0.0
    return min(1.0, explained / total)
