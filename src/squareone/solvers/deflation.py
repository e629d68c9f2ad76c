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

# Directions that may be summed apart: a share of all, or this many; and products that find them.
_SHARE, _FEWEST, _PRODUCTS = 60, 32, 2
# More directions have to save more than this much of what is amplified: each is a column.
_WORTH = 1.25
# Columns of kernel values from which they are taken off at a time.
_COLUMNS = 2048


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
        values, turn = np.linalg.eigh(half.T @ half)
        values, turn = values[::-1], turn[:, ::-1]
        shares = np.maximum(values, 0.0) / max(float(values[0]), np.finfo(np.float64).tiny)
        count, self.amplified = _fewest(shares, condition)
        self.vectors = np.ascontiguousarray((V @ turn)[:, :count].astype(dtype))
        self._transposed = np.ascontiguousarray(self.vectors.T)

    @property
    def size(self) -> int:
        """q."""
        return self.vectors.shape[1]

    def along(self, k: Array) -> Array:
        """Qᵀk (q,) for kernel values ``k`` (r,)."""
        return k @ self.vectors

    def within(self, k: Array) -> Array:
        """QQᵀk (r,): what is apart of kernel values ``k`` (r,)."""
        return self.vectors @ self.along(k)

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
        left, right = np.hstack([Q, beside.T]), np.vstack([beside, Q.T])  # one product for both

        def join(tile: tuple[slice, slice]) -> None:
            rows, columns = tile
            np.add(sums.gram[tile], left[rows] @ right[:, columns], out=gram[tile])

        for_each(join, lower_tiles(r))
        return FeatureSums(
            gram,
            down(sums.first),
            down(sums.cross),
            sums.targets,
            sums.total,
        )


def _fewest(shares: Array, condition: float) -> tuple[int, float]:
    """How many directions of the largest ``shares`` (q,) are worth it, and what is amplified then.

    Rounding grows by 1/s among directions of shares down to s, and by condition · s' where these
    meet the rest, of shares up to s'. Of the share after the last it is known that it is no larger.
    """
    rest = np.append(shares[1:], shares[-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        amplified = np.maximum(1.0 / shares, condition * rest)
    count = int(np.argmax(amplified <= _WORTH * amplified.min())) + 1
    return count, float(amplified[count - 1])


def _symmetric(A: Array) -> Array:
    """A matrix from its lower triangle."""
    return np.tril(A) + np.tril(A, -1).T
