"""Decompositions into orthogonal factors: eigenvalues, singular values, QR by blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, singledispatch
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import get_lapack_funcs

from .arrays import Array, blocks, calm_blas, copy_triangle, times, transposed_times
from .threads import for_each

# Whether SciPy has the eigenvectors of tridiagonal matrices by divide and conquer.
_TRIDIAGONAL = hasattr(scipy.linalg.lapack, "dstevd")

# LAPACK's syevd asks for 1 + 6n + 2n² numbers of workspace and counts them in 32 bits.
LARGEST_EIGENPROBLEM = 32_766


@singledispatch
def eigh(A: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors (columns) of a symmetric matrix, which is destroyed.

    The divide-and-conquer driver: the default one is ten times slower in float32. It is faster by
    a sixth on what is the upper triangle here, so that is filled first.

    Cost: about 9n³ flops; the eigenvectors take the memory of ``A``, and 2n² numbers more are
    needed on the way.
    """
    n = A.shape[0]
    if n <= 1:  # not every LAPACK takes these
        return A.ravel().copy(), np.ones_like(A)
    copy_triangle(A, to_upper=True)
    with calm_blas(n):
        values, vectors = scipy.linalg.eigh(
            A.T, lower=True, overwrite_a=True, check_finite=False, driver="evd"
        )
    return values, vectors


class Tridiagonal:
    """A symmetric matrix QTQᵀ with a tridiagonal T = WSWᵀ.

    Eigenvalues, and systems with any multiple of the identity added, need no W; what is asked of
    eigenvectors QW is mostly a product with a few vectors, and multiplying the two takes a third of
    the time of :func:`eigh`. So W is computed when it is first asked for, and QW when all of it is.

    Cost: about 4n³/3 flops, half of them at the speed of memory, and up to 3n³ for W; a product
    with ``B`` (n, t) costs 2n²t flops for each of Q and W, the dense matrix 2n³, a system 8nt.
    Q takes the memory of ``A``, W as much; n² numbers more are needed on the way to W.

    Parameters
    ----------
    A : array (n, n)
        Symmetric, and destroyed: what is below the diagonal is read.

    Attributes
    ----------
    values : array (n,)
        Eigenvalues, ascending: those of T in float64, as T was rounded.
    """

    def __init__(self, A: Array) -> None:
        n = A.shape[0]
        self._dense: Any = None
        if n <= 1 or not _TRIDIAGONAL or not isinstance(A, np.ndarray):
            values, self._dense = eigh(A)
            self._dtype = values.dtype
            self.values = self._diagonal = values.astype(np.float64)
            self._beside = np.zeros(max(n - 1, 0))
            return
        self._dtype = A.dtype
        copy_triangle(A, to_upper=True)
        sytrd, size = get_lapack_funcs(("sytrd", "sytrd_lwork"), (A,))
        with calm_blas(n):
            work, _ = size(n, lower=1)
            C, diagonal, beside, self._factors, _ = sytrd(
                A.T, lower=1, lwork=int(work), overwrite_a=1
            )
        self._diagonal, self._beside = diagonal.astype(np.float64), beside.astype(np.float64)
        self.values, info = scipy.linalg.lapack.dsterf(self._diagonal, self._beside)
        _check_convergence(info)
        # The reflectors are below the diagonal, as a QR factorisation would leave them one row
        # further up: LAPACK reads them from the second number on. No copy.
        self._reflectors = C.reshape(-1, order="F")[1 : 1 + n * (n - 1)].reshape(
            n, n - 1, order="F"
        )

    @cached_property
    def _turn(self) -> Array:
        """W (n, n)."""
        (stevd,) = get_lapack_funcs(("stevd",), (np.empty(0, self._dtype),))
        with calm_blas(self.values.size):
            _, W, info = stevd(self._diagonal, self._beside)
        _check_convergence(info)
        return W

    # --- between vectors and those along Q, in which the matrix is T ---

    def reduced(self, B: Array) -> Array:
        """QᵀB for ``B`` (n, t), in the precision of the matrix."""
        return self._reflected(B.astype(self._dtype), transposed=True)

    def expanded(self, B: Array) -> Array:
        """QB for ``B`` (n, t), in the precision of the matrix."""
        return self._reflected(B.astype(self._dtype), transposed=False)

    def solved(self, shift: float, B: Array) -> Array | None:
        """(T + shift)⁻¹B for ``B`` (n, t), in float64; None where that is not positive definite."""
        least = float(self.values[0]) + shift if self.values.size else 1.0
        if not least > 1e-12 * float(np.abs(self.values).max(initial=shift)):
            return None
        diagonal = self._diagonal + shift
        if diagonal.size <= 1:
            return B / diagonal[:, None]
        *_, X, info = scipy.linalg.lapack.dptsv(diagonal, self._beside, B.astype(np.float64))
        return None if info else X

    # --- eigenvectors ---

    def turned(self, B: Array) -> Array:
        """WᵀB for ``B`` (n, t), in the precision of the matrix: from along Q to along QW."""
        return self._turned(B, transposed=True)

    def times(self, B: Array) -> Array:
        """QWB for ``B`` (n, t), in the precision of the matrix."""
        return self._reflected(self._turned(B, transposed=False), transposed=False)

    def dense(self) -> Array:
        """QW (n, n), in the memory of W. From now on T is diagonal, and Q this."""
        if self._dense is None:
            W = self._turn
            del self._turn  # which is overwritten
            self._dense = self._reflected(W, transposed=False)
            self._diagonal, self._beside = self.values, np.zeros_like(self._beside)
            del self._reflectors, self._factors
        return self._dense

    def _turned(self, B: Array, *, transposed: bool) -> Array:
        """WB or WᵀB, by the library of the factorisations: see ``arrays.product``."""
        if self._dense is not None or not B.size:
            return B.astype(self._dtype)
        (gemm,) = scipy.linalg.get_blas_funcs(("gemm",), (self._turn,))
        return gemm(1.0, self._turn, B, trans_a=transposed)

    def _reflected(self, B: Array, *, transposed: bool) -> Array:
        """Overwrite ``B`` (n, t) by QB or QᵀB. The first row stays as it is."""
        if self._dense is not None:
            return transposed_times(self._dense, B) if transposed else times(self._dense, B)
        if B.size:
            (ormqr,) = get_lapack_funcs(("ormqr",), (B,))
            given = "L", "T" if transposed else "N", self._reflectors, self._factors
            rest = np.array(B[1:], order="F")
            with calm_blas(B.shape[0]):
                _, size, _ = ormqr(*given, rest, -1, overwrite_c=1)
                B[1:] = ormqr(*given, rest, int(size[0]), overwrite_c=1)[0]
        return B


def _check_convergence(info: int) -> None:
    if info > 0:
        msg = "the eigenvalues of a tridiagonal matrix did not converge"
        raise np.linalg.LinAlgError(msg)


def svd(A: Array) -> tuple[Array, Array, Array]:
    """Thin singular value decomposition ``A = U diag(s) Vt``; A is destroyed."""
    if min(A.shape) == 0:
        m, n = A.shape
        return np.empty((m, 0), A.dtype), np.empty(0, A.dtype), np.empty((0, n), A.dtype)
    with calm_blas(min(A.shape)):
        return scipy.linalg.svd(A, full_matrices=False, overwrite_a=True, check_finite=False)


class BlockedQR:
    """Thin QR of a tall matrix (n, k), n ≥ k, given by row blocks: ``block(rows)`` → (b, k).

    Each block is factored on its own core; the stacked triangles are factored again, in the same
    way. ``R`` (k, k) is there at once; Q is orthonormal to working precision whatever the rank,
    and is formed by :meth:`rotated`.

    Cost: about 6nk² flops with Q; n·k numbers and one block per core.
    """

    def __init__(self, block: Callable[[slice], Array], n: int, k: int, dtype: Any) -> None:
        self._parts = _row_parts(n, k)
        self._k = k
        if len(self._parts) == 1:
            with calm_blas(k):
                self._Q, self.R = np.linalg.qr(block(slice(0, n)))
            return
        self._Q = np.empty((n, k), dtype)
        triangles = np.empty((len(self._parts) * k, k), dtype)

        def factor(i: int) -> None:
            rows = self._parts[i]
            self._Q[rows], triangles[i * k : (i + 1) * k] = np.linalg.qr(block(rows))

        for_each(factor, range(len(self._parts)))
        self._top = BlockedQR(lambda rows: triangles[rows], triangles.shape[0], k, dtype)
        self.R = self._top.R

    def rotated(self, M: Array) -> Array:
        """``Q @ M`` for ``M`` (k, k): an array (n, k), in the memory of Q, which is given up."""
        k = self._k
        turns = M if len(self._parts) == 1 else self._top.rotated(M)

        def rotate(i: int) -> None:
            rows = self._parts[i]
            self._Q[rows] = self._Q[rows] @ turns[i * k : (i + 1) * k]

        for_each(rotate, range(len(self._parts)))
        return self._Q


def longest_part(k: int) -> int:
    """Rows of a block of k columns in a blocked QR; the last block may be longer by k."""
    return max(4 * k, 131_072 // max(k, 1), 1)


def _row_parts(n: int, k: int) -> list[slice]:
    """Blocks of rows, none of them shorter than k."""
    parts = blocks(n, longest_part(k))
    if len(parts) > 1 and parts[-1].stop - parts[-1].start < k:
        parts[-2:] = [slice(parts[-2].start, n)]
    return parts
