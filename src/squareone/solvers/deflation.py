"""Directions in which kernel values are large, summed apart from the rest.

Rounding in a sum of products is relative to its largest part, and where the kernel matrix between
the centers is ill-conditioned the small ones count. With Q (r, q) orthonormal, spanning the largest
eigenvectors of that matrix, k = (k − QQᵀk) + Q(Qᵀk): features (k − QQᵀk, Qᵀk) have the same sums,
and in these large and small parts meet only in a few columns.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array, blocks, lower_tiles
from ..threads import for_each
from .feature_sums import FeatureSums

# Rows of a multiple of so many numbers are slow to walk through.
_STRIDE = 128
# Directions that are summed apart: a share of all, or this many; and products that find them.
_SHARE, _FEWEST, _PRODUCTS = 60, 32, 2
# Columns of kernel values from which they are taken off at a time.
_COLUMNS = 256


class Deflation:
    """An orthonormal Q (r, q) for the matrix LLᵀ, and how much is left of its condition.

    Parameters
    ----------
    L : array (r, r)
        Lower triangular.
    condition : float
        That of LLᵀ.
    dtype : dtype
        In which rows are computed.

    Attributes
    ----------
    vectors : array (r, q)
    amplified : float
        By how much the rounding of a sum can grow when it is divided by L on both sides: within
        the directions that are apart, or where these meet the rest.

    Notes
    -----
    **Cost**: 16r²q flops; for every row 4rq more.
    """

    def __init__(self, L: Array, condition: float, dtype: np.dtype) -> None:
        r = L.shape[0]
        q = min(max(r // _SHARE, _FEWEST), r)
        V = np.random.RandomState(0).standard_normal((r, q)).astype(dtype)
        L = L.astype(dtype, copy=False)  # directions need not be exact
        for _ in range(_PRODUCTS):
            V, _ = np.linalg.qr(L @ (L.T @ V))
        half = (L.T @ V).astype(np.float64)
        values, turn = np.linalg.eigh(half.T @ half)  # ascending
        shares = np.maximum(values, 0.0) / max(float(values[-1]), np.finfo(np.float64).tiny)
        # those beyond the square root would lose as much among themselves as the rest does
        apart = shares * np.sqrt(condition) >= 1.0
        least = float(shares[apart].min(initial=1.0))
        self.amplified = max(1.0 / least, condition * least)
        if (r + np.count_nonzero(apart)) % _STRIDE == 0:  # rows that far apart share a cache line
            apart[np.argmax(apart)] = False
        self.vectors = np.ascontiguousarray((V @ turn)[:, apart].astype(dtype))
        self._transposed = np.ascontiguousarray(self.vectors.T)

    @property
    def size(self) -> int:
        """q."""
        return self.vectors.shape[1]

    def split(self, K: Array, apart: Array) -> None:
        """Overwrite kernel values (b, r) by what is left of them, and ``apart`` (b, q) by Qᵀk."""
        np.matmul(K, self.vectors, out=apart)
        for columns in blocks(K.shape[1], _COLUMNS):  # what is taken off stays in the cache
            K[:, columns] -= apart @ self._transposed[:, columns]

    def joined(self, sums: FeatureSums) -> FeatureSums:
        """Sums of k from those of the split features (r + q of them)."""
        r = self.vectors.shape[0]
        Q = self.vectors.astype(np.float64)  # as it was used

        def down(A: Array) -> Array:
            return A[:r] + Q @ A[r:]

        gram = np.empty((r, r))
        beside = sums.gram[r:, :r] + 0.5 * _symmetric(sums.gram[r:, r:]) @ Q.T

        def join(tile: tuple[slice, slice]) -> None:
            rows, columns = tile
            gram[tile] = sums.gram[tile] + Q[rows] @ beside[:, columns]
            gram[tile] += beside[:, rows].T @ Q[columns].T

        for_each(join, lower_tiles(r))
        return FeatureSums(
            gram,
            down(sums.first),
            down(sums.cross),
            sums.targets,
            sums.total,
        )


def _symmetric(A: Array) -> Array:
    """A matrix from its lower triangle."""
    return np.tril(A) + np.tril(A, -1).T
