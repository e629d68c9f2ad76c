"""The one seam to the numerical libraries: factorisations, products and size guards.

Everything here works in place where it can. A symmetric matrix is a C-ordered array whose
**lower** triangle is read; its strict upper triangle is never looked at and, except where an
eigenproblem is solved, never written. LAPACK sees the transposed, Fortran-ordered view of the same
memory. Decompositions into orthogonal factors are in :mod:`~squareone.decompositions`.

A function that is dispatched by its first argument does the same to matrices that are not NumPy's
arrays; :mod:`squareone.devices` says how.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.linalg import get_lapack_funcs
from scipy.linalg.blas import ddot as _ddot
from scipy.linalg.blas import dtrsv as _dtrsv
from scipy.linalg.lapack import dgecon as _dgecon
from scipy.linalg.lapack import dtpmqrt as _dtpmqrt
from scipy.linalg.lapack import dtpqrt as _dtpqrt

from .errors import SingularSystemError
from .threads import for_each, shared_cores, thread_budget

Array = np.ndarray

# Side of the square tiles in which n x n matrices are visited: two of them (a tile and what it is
# made from) stay in a second-level cache, and matrix products are still at full speed.
TILE = 512

# Numbers of which rows are no multiple.
_STRIDE = 128

# Side of the largest tiles of a product.
_WIDEST = 1024

# Side below which a factorisation runs on one thread.
SMALL = 512

# Beyond this the parallel potrf of OpenBLAS may overrun its buffers and crash the process (seen at
# n = 16,000 in float64 and 28,000 in float32, version 0.3.31).
LARGEST_POTRF = 10_000
# Columns of a panel there.
_PANEL = 1024

# Reflections that are applied together.
_REFLECTORS = 16

# The loop of SciPy's sparse products, which is not in its documentation.
_csr_matvecs = getattr(getattr(scipy.sparse, "_sparsetools", None), "csr_matvecs", None)


def blocks(n: int, size: int) -> list[slice]:
    """Split ``range(n)`` into slices of at most ``size``."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def block_lengths(size: int, within: int) -> Iterator[int]:
    """Lengths of blocks of at most ``size`` rows, none of which lies in two groups: no end."""
    whole, rest = divmod(within, min(size, within))
    lengths = [min(size, within)] * whole + [rest] * (rest > 0)
    while True:
        yield from lengths


def alone(values: Array) -> float | Array:
    """The number of an array (1,); of a longer one (t,) a copy."""
    return float(values[0]) if values.size == 1 else values.copy()


def lower_tiles(n: int, size: int = TILE) -> list[tuple[slice, slice]]:
    """Tiles covering the lower triangle, those on the diagonal last.

    These cover their own strict upper corners too, but symmetry can halve their work: cores end
    together if the smaller pieces come last.
    """
    sides = blocks(n, size)
    below = [(rows, columns) for i, rows in enumerate(sides) for columns in sides[:i]]
    return [*reversed(below), *((rows, rows) for rows in sides)]


def room_for(rows: int, width: int, dtype: np.dtype) -> Array:
    """Memory for numbers (rows, width), of which one follows the other in a row.

    Rows of a multiple of so many numbers are slow to walk through, because they share the lines of
    a cache: these are one apart.
    """
    spare = 1 if width % _STRIDE == 0 else 0
    return np.empty((rows, width + spare), dtype)[:, :width]


# --- factorisations -----------------------------------------------------------------------------


@singledispatch
def cholesky(A: Array) -> None:
    """Overwrite the lower triangle of ``A`` (n, n) by L with A = LLᵀ.

    Cost: n³/3 flops; no memory, or, beyond 10,000 rows, that of 2,048 columns.
    """
    if A.shape[0] > LARGEST_POTRF:
        _cholesky_by_panels(A)
        return
    (potrf,) = get_lapack_funcs(("potrf",), (A,))
    _, info = potrf(A.T, lower=0, clean=0, overwrite_a=1)
    if info > 0:
        msg = f"the leading minor of order {info} is not positive definite"
        raise SingularSystemError(msg)


def cholesky_workspace(n: int) -> int:
    """Numbers that :func:`cholesky` needs beside a matrix (n, n)."""
    return 2 * _PANEL * n if n > LARGEST_POTRF else 0


def _cholesky_by_panels(A: Array) -> None:
    """The same by panels of columns, each brought up to date by one matrix product."""
    n = A.shape[0]
    for columns in blocks(n, _PANEL):
        k, stop = columns.start, columns.stop
        panel = A[k:, columns].copy()
        panel -= A[k:, :k] @ A[columns, :k].T
        corner, rest = panel[: stop - k], panel[stop - k :]
        try:
            cholesky(corner)
        except SingularSystemError as failure:
            order = int(str(failure).split("order ")[1].split(" ")[0])
            msg = f"the leading minor of order {k + order} is not positive definite"
            raise SingularSystemError(msg) from None
        below = np.tril_indices(stop - k)
        A[columns, columns][below] = corner[below]
        if rest.size:
            divide_right(rest, corner)
            A[stop:, columns] = rest


@singledispatch
def divide_right(B: Array, L: Array) -> None:
    """Overwrite ``B`` (t, n) by B L⁻ᵀ for a lower triangle ``L`` (n, n).

    Cost: n²t flops; no memory if ``B`` is in one piece.
    """
    if B.size and not B.flags.c_contiguous:
        piece = np.ascontiguousarray(B)
        divide_right(piece, L)
        B[...] = piece
    elif B.size:
        (trsm,) = scipy.linalg.get_blas_funcs(("trsm",), (L, B))
        trsm(1.0, L.T, B.T, lower=0, trans_a=1, overwrite_b=1)


@singledispatch
def pivoted_cholesky(A: Array, tolerance: float | None = None) -> tuple[int, Array]:
    """Overwrite the lower triangle of ``A`` (n, n) by L with A[p][:, p] = LLᵀ, as far as it goes.

    The largest diagonal that is left comes next, until it is at most ``tolerance`` times the
    largest of all; by default n times the machine epsilon. Columns of L from the rank on mean
    nothing.

    Returns
    -------
    rank : int
    p : int array (n,)

    Notes
    -----
    Cost: nr² − 2r³/3 flops for rank r; no memory.
    """
    n = A.shape[0]
    peak = float(np.diagonal(A).max(initial=0.0))
    if not peak > 0:  # not every LAPACK numbers the rows of these
        return 0, np.arange(n)
    share = n * float(np.finfo(A.dtype).eps) if tolerance is None else tolerance
    (pstrf,) = get_lapack_funcs(("pstrf",), (A,))
    with calm_blas(n):
        _, order, rank, _ = pstrf(A.T, tol=share * peak, lower=0, overwrite_a=1)
    return int(rank), order.astype(np.intp) - 1


@singledispatch
def cholesky_solve(L: Array, B: Array) -> Array:
    """Solve LLᵀ X = B for ``B`` (n, t). Cost: 2n²t flops."""
    if B.size == 0:
        return B.copy()
    (potrs,) = get_lapack_funcs(("potrs",), (L, B))
    X, _ = potrs(L.T, B, lower=0)
    return np.ascontiguousarray(X)


@singledispatch
def add_gram(total: Array, A: Array) -> None:
    """Add AᵀA for ``A`` (n, k) to the lower triangle of ``total`` (k, k), on all cores.

    Each tile is computed in the precision of ``A`` and added in that of ``total``. What is above
    the diagonal is changed, too, in tiles on it.

    Cost: nk² flops; a tile per core.
    """

    def add(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        total[tile] += A[:, rows].T @ A[:, columns]

    k = total.shape[0]
    if k == 0:
        return
    # as large as shares the work out evenly: two cores have one tile below the diagonal, and two on
    # it, which are half the work
    for_each(add, lower_tiles(k, min(_WIDEST, -(-k // max(2, thread_budget())))))


@singledispatch
def solve_transposed(L: Array, B: Array) -> Array:
    """L⁻ᵀB for ``B`` (k, t), reading the lower triangle of ``L`` (k, k). Cost: k²t flops."""
    if B.size == 0:
        return B.copy()
    (trsm,) = scipy.linalg.get_blas_funcs(("trsm",), (L, B))
    return np.ascontiguousarray(trsm(1.0, L.T, B, lower=0))


@singledispatch
def solve_triangular(L: Array, B: Array) -> Array:
    """L⁻¹B for ``B`` (k, t), reading the lower triangle of ``L`` (k, k). Cost: k²t flops."""
    if B.size == 0:
        return B.copy()
    (trsm,) = scipy.linalg.get_blas_funcs(("trsm",), (L, B))
    return np.ascontiguousarray(trsm(1.0, L.T, B, lower=0, trans_a=1))


def forward_vector(L: Array, x: Array) -> Array:
    """L⁻¹x for a vector, reading the lower triangle of ``L`` (k, k): float64. Cost: k² flops.

    For one row after the other: :func:`solve_triangular` looks for its function longer than this.
    """
    return _dtrsv(L.T, x, lower=0, trans=1)


def backward_vector(L: Array, x: Array) -> Array:
    """L⁻ᵀx for a vector, reading the lower triangle of ``L`` (k, k): float64. Cost: k² flops."""
    return _dtrsv(L.T, x, lower=0)


def square_length(x: Array) -> float:
    """|x|² of a vector, float64; infinite, without a warning, where it is out of range."""
    return _ddot(x, x) if x.size else 0.0


def append_rows(
    L: Array, T: Array, X: Array, Y: Array, *, triangular: bool = False
) -> tuple[Array, Array]:
    """The factor of LLᵀ + XᵀX, and its right-hand side, without squaring any number.

    A = LLᵀ stands for rows Lᵀ with targets ``T``. Householder reflections turn them and more rows
    into as many again: with an orthogonal Q, Q(Lᵀ; X) = (L'ᵀ; 0) and Q(T; Y) = (T'; …). Numbers on
    the diagonal may have either sign. The rounding is that of the columns of X, each in its own
    unit: where sums of squares keep no digit, half of them are kept.

    Parameters
    ----------
    L : array (k, k)
        Lower triangle, zero above; float64, as all others.
    T : array (k, c)
    X : array (b, k)
    Y : array (b, c)
    triangular : bool
        Whether X is (k, k) and zero below its diagonal: a third of the work.

    Returns
    -------
    L : array (k, k)
    T : array (k, c)

    Notes
    -----
    Cost: 2bk² + 4bkc flops; copies of what is given.
    """
    k = L.shape[0]
    corner = k if triangular else 0
    R, V, tau, _ = _dtpqrt(corner, min(_REFLECTORS, k), L.T, X)
    if not T.shape[1]:
        return R.T, T
    T, _, _ = _dtpmqrt(corner, V, tau, T, Y, side="L", trans="T")
    return R.T, np.ascontiguousarray(T)


def append_row(L: Array, T: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """The same for one row ``x`` (k,) with targets ``y`` (c,), by rotations.

    Each row keeps its own digits: beside one of 10¹² a ridge of one does, too, which reflections
    would round to 10⁻⁴.

    Cost: 6k² flops in k steps.
    """
    R, T, x, y = L.T.copy(), T.copy(), x.copy(), y.copy()  # row by row
    for j in range(x.size):
        if x[j] == 0.0:
            continue
        length = np.hypot(R[j, j], x[j])
        c, s = R[j, j] / length, x[j] / length
        R[j, j:], x[j:] = c * R[j, j:] + s * x[j:], c * x[j:] - s * R[j, j:]
        R[j, j] = length
        T[j], y = c * T[j] + s * y, c * y - s * T[j]
    return np.ascontiguousarray(R.T), T


def triangle_condition(L: Array) -> float:
    """Estimate 1 / cond₁ of a lower triangle ``L`` (k, k) whose rows are brought to unit length.

    That is of Lᵀ with columns in units of their own. Cost: a few k² flops.
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", L, L))
    R = np.tril(L / np.where(lengths > 0, lengths, 1.0)[:, None]).T
    # R = I·R is its own LU decomposition; `trcon` is not in the SciPy of 1.12.
    rcond, _ = _dgecon(R, np.abs(R).sum(axis=0).max(initial=0.0), norm="1")
    return float(rcond)


@singledispatch
def divide_by_cholesky(A: Array, L: Array) -> None:
    """Overwrite the lower triangle of ``A`` (k, k) by that of L⁻¹AL⁻ᵀ. Cost: k³ flops."""
    if A.size == 0:
        return
    (sygst,) = get_lapack_funcs(("sygst",), (A,))
    sygst(A.T, L.T, itype=1, lower=0, overwrite_a=1)


@singledispatch
def triangular_inverse(L: Array) -> None:
    """Overwrite the lower triangle of ``L`` (n, n) by its inverse. Cost: n³/3 flops, no memory."""
    (trtri,) = get_lapack_funcs(("trtri",), (L,))
    _, info = trtri(L.T, lower=0, overwrite_c=1)
    if info > 0:
        msg = f"the triangular factor has a zero at position {info}"
        raise SingularSystemError(msg)


@singledispatch
def triangular_product(L: Array, B: Array, *, in_place: bool = False) -> Array:
    """``L @ B`` for ``B`` (n, t), reading the lower triangle of ``L`` (n, n). Cost: n²t flops.

    ``in_place`` says that ``B`` may be lost; if it is stored by columns no memory is needed.
    """
    (trmm,) = scipy.linalg.get_blas_funcs(("trmm",), (L, B))
    return trmm(1.0, L.T, B, lower=0, trans_a=1, overwrite_b=in_place)


@singledispatch
def inverse_product(inverse: Array, B: Array, *, in_place: bool = False) -> Array:
    """(LLᵀ)⁻¹ B for ``B`` (n, t) from L⁻¹, a lower triangle (n, n). Cost: 2n²t flops."""
    (trmm,) = scipy.linalg.get_blas_funcs(("trmm",), (inverse, B))
    half = triangular_product(inverse, B, in_place=in_place)
    return trmm(1.0, inverse.T, half, lower=0, overwrite_b=1)


def product(A: Array, B: Array) -> Array:
    """``A @ B`` for ``A`` (m, n) and ``B`` (n, t), by the library of the factorisations.

    NumPy may have another BLAS. Its threads go on spinning for some hundredths of a second after a
    product, and whatever LAPACK does next has to share the cores with them.
    """
    (gemm,) = scipy.linalg.get_blas_funcs(("gemm",), (A, B))
    return gemm(1.0, A.T, B, trans_a=1)


@singledispatch
def times(A: Array, B: Array) -> Array:
    """``A @ B`` for ``A`` (m, n) and ``B`` (n, t). Cost: 2mnt flops."""
    return A @ B


@singledispatch
def by_rows(A: Array, B: Array) -> Array:
    """The same (m, t), stored by columns: what belongs to a column of ``B`` stands together."""
    return (B.T @ A.T).T


@singledispatch
def transposed_times(A: Array, B: Array) -> Array:
    """``A.T @ B`` for ``A`` (m, n) and ``B`` (m, t). Cost: 2mnt flops."""
    return A.T @ B


@singledispatch
def squares_times(A: Array, F: Array) -> Array:
    """A² F (m, t), with the squares of all numbers of ``A`` (m, n). Cost: 2mnt flops."""
    return np.square(A) @ F


@singledispatch
def weighted_product(A: Array, factors: Array, B: Array) -> Array:
    """A diag(factors) Bᵀ (m, q), where ``A`` (m, n) and ``B`` (q, n) are. Cost: 2mnq flops."""
    return (A * factors) @ B.T


@singledispatch
def gram_of_columns(L: Array, columns: Array) -> Array:
    """AᵀA (m, m) for some ``columns`` (m,) of the lower triangle of ``L`` (n, n): 2nm² flops."""
    block = np.zeros((columns.size, columns.size), L.dtype)
    for rows in blocks(L.shape[0], TILE):
        part = L[rows, columns]
        part[np.arange(rows.start, rows.stop)[:, None] < columns] = 0.0  # above the diagonal
        block += part.T @ part
    return block


@singledispatch
def subtract_outer(S: Array, x: Array, factor: float) -> None:
    """Take factor·xxᵀ off ``S`` (m, m), for ``x`` (m,). Cost: 2m² flops."""
    S -= np.outer(x, x) * S.dtype.type(factor)


def sparse_product(A: Any, B: Array, out: Array) -> None:
    """Write ``A @ B`` into ``out`` (m, t), for a CSR matrix ``A`` (m, n) and ``B`` (n, t).

    SciPy's product fills an array of its own, which would have to be copied: its compiled loop
    itself, where it is found under its name, adds to the one it is given.
    """
    if _csr_matvecs is None or not A.data.dtype == B.dtype == out.dtype:
        out[...] = A @ B
        return
    out[...] = 0.0
    flat, inner = out.reshape(-1), B.reshape(-1)
    _csr_matvecs(*A.shape, B.shape[1], A.indptr, A.indices, A.data, inner, flat)


def add_rank_one(A: Array, x: Array, y: Array) -> Array:
    """A + xyᵀ for ``A`` (n, m) by columns, in place, ``x`` (n,) and ``y`` (m,). Cost: 2nm flops."""
    (ger,) = scipy.linalg.get_blas_funcs(("ger",), (A,))
    return ger(1.0, x, y, a=A, overwrite_a=1)


def positive_inverse(L: Array) -> None:
    """Overwrite the lower triangle of ``L`` (n, n) by that of (LLᵀ)⁻¹. Cost: 2n³/3 flops."""
    (potri,) = get_lapack_funcs(("potri",), (L,))
    _, info = potri(L.T, lower=0, overwrite_c=1)
    if info > 0:
        msg = f"the triangular factor has a zero at position {info}"
        raise SingularSystemError(msg)


@singledispatch
def reciprocal_condition(L: Array, norm: float) -> float:
    """Estimate 1 / cond₁ of LLᵀ, whose 1-norm is ``norm``. Cost: a few n² flops."""
    (pocon,) = get_lapack_funcs(("pocon",), (L,))
    rcond, _ = pocon(L.T, norm, uplo="U")
    return float(rcond)


@singledispatch
def symmetric_product(A: Array, v: Array) -> Array:
    """``A @ v`` for ``v`` (n,), reading the lower triangle of ``A`` only. Cost: 2n² flops."""
    (symv,) = scipy.linalg.get_blas_funcs(("symv",), (A, v))
    return symv(1.0, A.T, v, lower=0)


def upper_product(A: Array, diagonal: Array, v: Array) -> Array:
    """``A @ v`` for ``v`` (n,), reading the triangle above the diagonal, and ``diagonal`` (n,).

    For a matrix of which a factor has taken the place of the lower triangle. Cost: 2n² flops.
    """
    if v.size == 0:
        return v.copy()
    (symv,) = scipy.linalg.get_blas_funcs(("symv",), (A, v))
    return symv(1.0, A.T, v, lower=1) + (diagonal - np.diagonal(A)) * v


@contextmanager
def calm_blas(n: int) -> Iterator[None]:
    """One thread for a small factorisation: waking the others takes longer than the work."""
    if n > SMALL:
        yield
        return
    with shared_cores():
        yield


@singledispatch
def solve_positive(S: Array, R: Array) -> Array:
    """``S⁻¹ R`` for a small positive definite ``S`` (m, m), destroyed, and ``R`` (m, t)."""
    with calm_blas(S.shape[0]):
        cholesky(S)
        return cholesky_solve(S, R)


def power_of_two(values: Array) -> float:
    """The power of two nearest the largest magnitude: a unit that rounds nothing. One for zeros."""
    return unit_near(float(max(abs(values.max(initial=0.0)), abs(values.min(initial=0.0)))))


def unit_near(peak: float) -> float:
    """The power of two nearest a magnitude; one for zero."""
    return 2.0 ** float(np.round(np.log2(peak))) if peak > 0 else 1.0


# --- passes over an n x n matrix ----------------------------------------------------------------


@singledispatch
def copy_triangle(A: Array, *, to_upper: bool) -> None:
    """Copy one strict triangle of ``A`` (n, n) onto the other, transposed."""

    def copy(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        if rows == columns:
            corner = A[rows, rows]
            below = np.tril_indices(corner.shape[0], -1)
            if to_upper:
                corner.T[below] = corner[below]
            else:
                corner[below] = corner.T[below]
        elif to_upper:
            A[columns, rows] = A[rows, columns].T
        else:
            A[rows, columns] = A[columns, rows].T

    for_each(copy, lower_tiles(A.shape[0]))


@singledispatch
def diagonal(A: Array) -> Array:
    """The diagonal of ``A`` (n, n): a copy (n,)."""
    return np.diagonal(A).copy()


@singledispatch
def set_diagonal(A: Array, values: Array | float) -> None:
    """Write the diagonal of ``A`` (n, n): (n,), or the same number everywhere."""
    np.fill_diagonal(A, values)


@singledispatch
def transposed_copy(A: Array) -> Array:
    """The transpose of ``A`` (n, n), in memory of its own."""
    return np.array(A.T, order="C")


@singledispatch
def scale_symmetric(A: Array, divisor: float, root: Array | None) -> None:
    """Divide the lower triangle of ``A`` (n, n), and multiply it by root rootᵀ, (n,), if given."""

    def scale(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        out = A[tile]
        if divisor != 1.0:
            out /= A.dtype.type(divisor)
        if root is not None:
            out *= root[rows, None]
            out *= root[columns]

    for_each(scale, lower_tiles(A.shape[0]))


@singledispatch
def add_symmetric_outer(A: Array, u: Array, z: Array) -> None:
    """A ← A + uzᵀ + zuᵀ on the lower triangle of ``A`` (n, n), for ``u`` and ``z`` (n,)."""

    def add(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        left = np.column_stack([u[rows], z[rows]])
        A[tile] += left @ np.vstack([z[columns], u[columns]])

    for_each(add, lower_tiles(A.shape[0]))


def symmetric_of(A: Array) -> Array:
    """A small symmetric matrix (n, n) from the lower triangle of ``A``."""
    return np.tril(A) + np.tril(A, -1).T


@singledispatch
def lower_copy(A: Array, dtype: np.dtype) -> Array:
    """A matrix in one piece, in ``dtype``, with the lower triangle of ``A`` (n, n)."""
    copy = np.zeros(A.shape, dtype)

    def fill(tile: tuple[slice, slice]) -> None:
        copy[tile] = A[tile]

    for_each(fill, lower_tiles(A.shape[0]))
    return copy


@singledispatch
def in_precision(A: Array, dtype: np.dtype) -> Array:
    """The numbers of ``A`` in ``dtype``: ``A`` itself where that is its own."""
    return A.astype(dtype, copy=False)


@singledispatch
def lower_less_outer(A: Array, x: Array, y: Array, dtype: np.dtype) -> Array:
    """The lower triangle of A − xyᵀ (n, n), rounded to ``dtype``; above it means nothing."""
    found = np.empty(A.shape, dtype)

    def fill(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        found[tile] = A[tile] - np.outer(x[rows], y[columns])

    for_each(fill, lower_tiles(x.size))
    return found


@singledispatch
def clear_upper(A: Array) -> None:
    """Set the strict upper triangle of ``A`` (n, n) to zero."""
    for rows in blocks(A.shape[0], TILE):
        corner = A[rows, rows]
        corner[np.triu_indices(corner.shape[0], 1)] = 0.0
        A[rows, rows.stop :] = 0.0


@singledispatch
def row_square_sums(A: Array) -> Array:
    """Σ_j A_ij² of every row (n,), in float64."""
    return np.square(A, dtype=np.float64).sum(axis=1)


@singledispatch
def column_square_sums(L: Array) -> Array:
    """Sum over k ≥ i of ``L[k, i]²``, in float64, for a lower triangular ``L`` (n, n) → (n,)."""
    n = L.shape[0]
    sums = np.zeros(n)
    sides = blocks(n, TILE)

    def add(columns: slice) -> None:
        for rows in blocks(n, TILE):
            if rows.stop <= columns.start:
                continue
            tile = L[rows, columns]
            if rows == columns:
                tile = np.tril(tile)
            sums[columns] += np.einsum("ij,ij->j", tile, tile, dtype=np.float64)

    for_each(add, sides)
    return sums


@singledispatch
def frobenius_norm(A: Array) -> float:
    """Frobenius norm of a symmetric matrix from its lower triangle."""
    totals: list[float] = []

    def add(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        values = A[rows, columns]
        if rows == columns:
            values = np.tril(values, -1)
            totals.append(float(np.sum(np.square(np.diagonal(A[rows, rows]), dtype=np.float64))))
        totals.append(2.0 * float(np.einsum("ij,ij->", values, values, dtype=np.float64)))

    for_each(add, lower_tiles(A.shape[0]))
    return float(np.sqrt(sum(sorted(totals))))  # sorted: the same bits whichever core came first
