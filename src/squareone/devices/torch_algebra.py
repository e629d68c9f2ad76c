"""What is done with a matrix that is a torch tensor: as in :mod:`squareone.arrays`, by tiles.

As there, of a symmetric matrix the lower triangle is read and its strict upper triangle is left
alone. Vectors and a few columns beside the matrix come, and go, as NumPy's arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.sparse.linalg import LinearOperator, onenormest

from .. import arrays, decompositions
from ..arrays import Array, blocks
from ..errors import SingularSystemError
from .place import Place

#: torch's names of types.
DTYPES = {np.dtype(np.float32): torch.float32, np.dtype(np.float64): torch.float64}

# Columns of a panel on a GPU, and on the processor.
_PANEL, _SMALL_PANEL = 4096, 512
# Columns of a factorisation with pivots that are worked on before the others are.
_PIVOTS, _FEW_PIVOTS = 256, 32

Place.namespaces[torch.Tensor] = torch


def as_tensor(A: Array, device: torch.device) -> torch.Tensor:
    """An array's numbers on a device; on the processor in the same memory."""
    A = np.ascontiguousarray(A)
    if not A.flags.writeable:  # torch warns of these
        A = A.copy()
    return torch.from_numpy(A).to(device)


def _beside(A: torch.Tensor, B: Array) -> torch.Tensor:
    """``B`` where ``A`` is, in its precision."""
    return as_tensor(B, A.device).to(A.dtype)


def _panels(A: torch.Tensor) -> list[slice]:
    return blocks(A.shape[0], _PANEL if A.is_cuda else _SMALL_PANEL)


def _array(A: torch.Tensor) -> Array:
    found: Array = A.cpu().numpy()
    return found


def _write_lower(corner: torch.Tensor, L: torch.Tensor) -> None:
    """Write the lower triangle ``L`` into that of ``corner`` (k, k)."""
    corner.copy_(L + corner.triu(1))


# --- factorisations -----------------------------------------------------------------------------


@arrays.cholesky.register
def _cholesky(A: torch.Tensor) -> None:
    for panel in _panels(A):
        start, stop = panel.start, panel.stop
        corner, beside = A[panel, panel], A[panel, :start]
        updated = corner - beside @ beside.T
        L, info = torch.linalg.cholesky_ex(updated)
        if int(info):
            order = start + int(info)
            msg = f"the leading minor of order {order} is not positive definite"
            raise SingularSystemError(msg)
        _write_lower(corner, L)
        below = A[stop:, panel]
        if below.shape[0]:
            below.addmm_(A[stop:, :start], beside.T, alpha=-1.0)
            below.copy_(torch.linalg.solve_triangular(L.T, below, upper=True, left=False))


@arrays.triangular_inverse.register
def _triangular_inverse(L: torch.Tensor) -> None:
    panels = _panels(L)
    zeros = np.flatnonzero(_array(L.diagonal()) == 0.0)
    if zeros.size:
        msg = f"the triangular factor has a zero at position {zeros[0] + 1}"
        raise SingularSystemError(msg)
    for number in reversed(range(len(panels))):
        panel = panels[number]
        corner, stop = L[panel, panel], panel.stop
        unit = torch.eye(corner.shape[0], dtype=L.dtype, device=L.device)
        inverse = torch.linalg.solve_triangular(corner.tril(), unit, upper=False)
        # below: −(what is there, inverted) L inverse, from the bottom, where nothing else is needed
        for rows in reversed(panels[number + 1 :]):
            part = L[rows, rows].tril() @ L[rows, panel]
            part.addmm_(L[rows, stop : rows.start], L[stop : rows.start, panel])
            L[rows, panel] = -(part @ inverse)
        _write_lower(corner, inverse)


@arrays.cholesky_solve.register
def _cholesky_solve(L: torch.Tensor, B: Array) -> Array:
    half = torch.linalg.solve_triangular(L, _beside(L, B), upper=False)
    return _array(torch.linalg.solve_triangular(L.T, half, upper=True))


@arrays.reciprocal_condition.register
def _reciprocal_condition(L: torch.Tensor, norm: float) -> float:
    n = L.shape[0]

    def solve(x: Array) -> Array:
        return _cholesky_solve(L, x.reshape(n, -1)).astype(np.float64).reshape(x.shape)

    inverse = LinearOperator((n, n), matvec=solve, rmatvec=solve, matmat=solve, rmatmat=solve)
    size = float(norm) * float(onenormest(inverse, t=1))
    return 1.0 / size if np.isfinite(size) and size > 0 else 0.0


@arrays.solve_positive.register
def _solve_positive(S: torch.Tensor, R: Array) -> Array:
    _cholesky(S)
    return _cholesky_solve(S, R)


@decompositions.eigh.register
def _eigh(A: torch.Tensor) -> tuple[Array, torch.Tensor]:
    try:
        values, vectors = torch.linalg.eigh(A, UPLO="L")
    except torch.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(str(error)) from error
    A.copy_(vectors)
    return _array(values), A


@arrays.divide_right.register
def _divide_right(B: torch.Tensor, L: torch.Tensor) -> None:
    if B.numel():
        B.copy_(torch.linalg.solve_triangular(L.T, B, upper=True, left=False))


@arrays.solve_triangular.register
def _solve_triangular(L: torch.Tensor, B: Array) -> Array:
    return _array(torch.linalg.solve_triangular(L, _beside(L, B), upper=False))


@arrays.solve_transposed.register
def _solve_transposed(L: torch.Tensor, B: Array) -> Array:
    return _array(torch.linalg.solve_triangular(L.T, _beside(L, B), upper=True))


@arrays.divide_by_cholesky.register
def _divide_by_cholesky(A: torch.Tensor, L: torch.Tensor) -> None:
    _copy_triangle(A, to_upper=True)
    A.copy_(torch.linalg.solve_triangular(L, A, upper=False))
    _divide_right(A, L)


@arrays.pivoted_cholesky.register
def _pivoted_cholesky(A: torch.Tensor, tolerance: float | None = None) -> tuple[int, Array]:
    """By panels: a column after the other, then what is left of all others at once."""
    n = A.shape[0]
    left = A.diagonal().clone()
    peak = float(left.max()) if n else 0.0
    if not peak > 0:
        return 0, np.arange(n)
    share = n * float(torch.finfo(A.dtype).eps) if tolerance is None else tolerance
    _copy_triangle(A, to_upper=True)
    order: list[int] = []
    size = _PIVOTS if A.is_cuda else _FEW_PIVOTS
    while len(order) < n:
        chosen, factor = _pivoted_panel(A, left, min(size, n - len(order)), share * peak)
        if not chosen:
            break
        others = factor.masked_fill((left < 0)[:, None], 0.0)  # whose columns are the factor's
        A.addmm_(factor, others.T, alpha=-1.0)
        A[:, torch.tensor(chosen, device=A.device)] = factor
        order += chosen
    rank = len(order)
    rest = np.setdiff1d(np.arange(n), order)
    places = np.concatenate([np.array(order, dtype=np.intp), rest])
    there = torch.from_numpy(places).to(A.device)
    for panel in _panels(A):  # no second matrix is needed
        A[:, panel] = A[:, panel].index_select(0, there)
    for panel in _panels(A):
        A[panel] = A[panel].index_select(1, there)
    return rank, places


def _pivoted_panel(
    A: torch.Tensor, left: torch.Tensor, most: int, least: float
) -> tuple[list[int], torch.Tensor]:
    """Which come next, at most so many, and their columns of the factor (n, k).

    ``left`` (n,) is what is left of the diagonal; where a row has been chosen it is below zero.
    """
    chosen: list[int] = []
    factor = torch.zeros((A.shape[0], most), dtype=A.dtype, device=A.device)
    for k in range(most):
        value, own = (found.item() for found in left.max(dim=0))
        if value <= least:
            break
        column = A[:, own] - factor[:, :k] @ factor[own, :k]
        column[left < 0] = 0.0  # those that came before
        column /= value**0.5
        column[own] = value**0.5
        factor[:, k] = column
        before = left < 0
        left.sub_(torch.square(column)).clamp_(min=0.0).masked_fill_(before, -1.0)
        left[own] = -1.0
        chosen.append(own)
    return chosen, factor[:, : len(chosen)]


# --- products -----------------------------------------------------------------------------------


@arrays.times.register
def _times(A: torch.Tensor, B: Array) -> Array:
    return _array(A @ _beside(A, B))


@arrays.by_rows.register
def _by_rows(A: torch.Tensor, B: Array) -> Array:
    return _array(A @ _beside(A, B))


@arrays.transposed_times.register
def _transposed_times(A: torch.Tensor, B: Array) -> Array:
    return _array(A.T @ _beside(A, B))


@arrays.squares_times.register
def _squares_times(A: torch.Tensor, F: Array) -> Array:
    return _array(torch.square(A) @ _beside(A, F))


@arrays.weighted_product.register
def _weighted_product(A: torch.Tensor, factors: Array, B: torch.Tensor) -> torch.Tensor:
    return (A * _beside(A, factors)) @ B.T


@arrays.triangular_product.register
def _triangular_product(L: torch.Tensor, B: Array, *, in_place: bool = False) -> Array:
    return _array(_lower_times(L, _beside(L, B)))


def _lower_times(L: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    result = torch.empty_like(B)
    for rows in _panels(L):
        part = L[rows, rows].tril() @ B[rows]
        result[rows] = part.addmm_(L[rows, : rows.start], B[: rows.start])
    return result


@arrays.inverse_product.register
def _inverse_product(inverse: torch.Tensor, B: Array, *, in_place: bool = False) -> Array:
    half = _lower_times(inverse, _beside(inverse, B))
    result = torch.empty_like(half)
    for rows in _panels(inverse):
        part = inverse[rows, rows].tril().T @ half[rows]
        result[rows] = part.addmm_(inverse[rows.stop :, rows].T, half[rows.stop :])
    return _array(result)


@arrays.symmetric_product.register
def _symmetric_product(A: torch.Tensor, v: Array) -> Array:
    x = _beside(A, v)
    result = torch.zeros_like(x)
    for rows in _panels(A):
        corner, beside = A[rows, rows], A[rows, : rows.start]
        result[rows] += (corner.tril() + corner.tril(-1).T) @ x[rows] + beside @ x[: rows.start]
        result[: rows.start] += beside.T @ x[rows]
    return _array(result)


@arrays.gram_of_columns.register
def _gram_of_columns(L: torch.Tensor, columns: Array) -> torch.Tensor:
    places = as_tensor(columns, L.device)
    gram = torch.zeros((columns.size, columns.size), dtype=L.dtype, device=L.device)
    for rows in _panels(L):
        part = L[rows].index_select(1, places)
        numbers = torch.arange(rows.start, rows.stop, device=L.device)
        part.masked_fill_(numbers[:, None] < places, 0.0)  # above the diagonal
        gram.addmm_(part.T, part)
    return gram


@arrays.add_gram.register
def _add_gram(total: torch.Tensor, A: torch.Tensor) -> None:
    for rows in _panels(total):
        part = total[rows, : rows.stop]
        if A.dtype == total.dtype:
            part.addmm_(A[:, rows].T, A[:, : rows.stop])
        else:
            part += A[:, rows].T @ A[:, : rows.stop]


@arrays.subtract_outer.register
def _subtract_outer(S: torch.Tensor, x: Array, factor: float) -> None:
    along = _beside(S, x)
    S.addmm_(along[:, None], along[None, :], alpha=-factor)


# --- passes over an n x n matrix ----------------------------------------------------------------


@arrays.diagonal.register
def _diagonal(A: torch.Tensor) -> Array:
    return _array(A.diagonal()).copy()


@arrays.set_diagonal.register
def _set_diagonal(A: torch.Tensor, values: Any) -> None:
    if np.ndim(values):
        A.diagonal().copy_(_beside(A, values))
    else:
        A.diagonal().fill_(float(values))


@arrays.copy_triangle.register
def _copy_triangle(A: torch.Tensor, *, to_upper: bool) -> None:
    for rows in _panels(A):
        corner, start = A[rows, rows], rows.start
        if to_upper:
            corner.copy_(corner.tril() + corner.tril(-1).T)
            A[:start, rows] = A[rows, :start].T
        else:
            corner.copy_(corner.triu() + corner.triu(1).T)
            A[rows, :start] = A[:start, rows].T


@arrays.transposed_copy.register
def _transposed_copy(A: torch.Tensor) -> torch.Tensor:
    return A.T.contiguous()


@arrays.lower_copy.register
def _lower_copy(A: torch.Tensor, dtype: np.dtype) -> torch.Tensor:
    return A.to(DTYPES[np.dtype(dtype)], copy=True).contiguous()


@arrays.lower_less_outer.register
def _lower_less_outer(A: torch.Tensor, x: Array, y: Array, dtype: np.dtype) -> torch.Tensor:
    found = torch.empty(A.shape, dtype=DTYPES[np.dtype(dtype)], device=A.device)
    first, second = _beside(A, x), _beside(A, y)
    for rows in _panels(A):
        here = slice(0, rows.stop)
        found[rows, here] = A[rows, here] - torch.outer(first[rows], second[here])
    return found


@arrays.in_precision.register
def _in_precision(A: torch.Tensor, dtype: np.dtype) -> torch.Tensor:
    return A.to(DTYPES[np.dtype(dtype)])


@arrays.clear_upper.register
def _clear_upper(A: torch.Tensor) -> None:
    for rows in _panels(A):
        A[rows, rows].tril_()
        A[rows, rows.stop :] = 0.0


@arrays.scale_symmetric.register
def _scale_symmetric(A: torch.Tensor, divisor: float, root: Array | None) -> None:
    for rows in _panels(A):
        part = A[rows, : rows.stop]
        if divisor != 1.0:
            part /= divisor
        if root is not None:
            along = _beside(A, root[: rows.stop])
            part *= along[rows.start :, None]
            part *= along


@arrays.add_symmetric_outer.register
def _add_symmetric_outer(A: torch.Tensor, u: Array, z: Array) -> None:
    first, second = _beside(A, u), _beside(A, z)
    for rows in _panels(A):
        left = torch.stack([first[rows], second[rows]], 1)
        right = torch.stack([second[: rows.stop], first[: rows.stop]])
        A[rows, : rows.stop].addmm_(left, right)


@arrays.row_square_sums.register
def _row_square_sums(A: torch.Tensor) -> Array:
    return _array(_square_sums(A.T))


@arrays.column_square_sums.register
def _column_square_sums(L: torch.Tensor) -> Array:
    sums = torch.zeros(L.shape[0], dtype=torch.float64, device=L.device)
    for rows in _panels(L):
        sums[: rows.start] += _square_sums(L[rows, : rows.start])
        sums[rows] += _square_sums(L[rows, rows].tril())
    return _array(sums)


def _square_sums(tile: torch.Tensor) -> torch.Tensor:
    """Of every column, in float64."""
    return torch.linalg.vector_norm(tile, dim=0, dtype=torch.float64) ** 2


@arrays.frobenius_norm.register
def _frobenius_norm(A: torch.Tensor) -> float:
    total = 0.0
    for rows in _panels(A):
        corner = A[rows, rows]
        total += float(_square_sums(corner.diagonal()[:, None]).sum())
        total += 2.0 * float(_square_sums(corner.tril(-1)).sum())
        total += 2.0 * float(_square_sums(A[rows, : rows.start]).sum())
    return float(np.sqrt(total))
