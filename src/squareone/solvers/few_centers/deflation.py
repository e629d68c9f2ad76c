"""Deflation: directions in which kernel values are large, summed apart from the rest.

Rounding in a sum of products is relative to its largest part, and where the kernel matrix between
the centers is ill-conditioned the small ones count. With Q (r, q) orthonormal, spanning the largest
eigenvectors of that matrix, k = (k − QQᵀk) + Q(Qᵀk): features (k − QQᵀk, Qᵀk) have the same sums,
and in these large and small parts meet only in a few columns.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, blocks, lower_tiles, symmetric_of
from ...threads import for_each
from .center_basis import CenterBasis
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
        Lower triangular; in the precision in which rows are computed.
    condition : float
        That of LLᵀ.

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

    def __init__(self, L: Array, condition: float) -> None:
        r, dtype = L.shape[0], L.dtype
        q = min(max(r // _SHARE, _FEWEST), r)
        V = np.random.RandomState(0).standard_normal((r, q)).astype(dtype)
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

    def divided(self, sums: FeatureSums, basis: CenterBasis, dtype: np.dtype) -> FeatureSums:
        """Sums of L⁻¹k from those of the split features (r + q of them); the matrix in ``dtype``.

        Large and small parts are divided by L each for itself, and meet only then, when they are
        of one size: L⁻¹k = L⁻¹(k − QQᵀk) + (L⁻¹Q)(Qᵀk). Only the small ones' matrix is large, and
        that one has been rounded already.
        """
        r, q = self.vectors.shape
        rest = FeatureSums(
            sums.gram[:r, :r],
            sums.first[:r],
            np.hstack([sums.cross[:r], sums.gram[r:, :r].T, self.vectors]),  # Q as it was used
            sums.targets,
            sums.total,
        ).divided(basis, dtype)
        t = sums.cross.shape[1]
        cross, beside, Q = np.hsplit(rest.cross, [t, t + q])
        beside = beside + 0.5 * Q @ symmetric_of(sums.gram[r:, r:])
        # one product for both, which are the transpose of each other
        left = np.hstack([Q, beside]).astype(dtype)
        right = np.hstack([beside, Q]).T.astype(dtype)

        def join(tile: tuple[slice, slice]) -> None:
            rows, columns = tile
            rest.gram[tile] += left[rows] @ right[:, columns]

        for_each(join, lower_tiles(r))
        return FeatureSums(
            rest.gram,
            rest.first + Q @ sums.first[r:],
            cross + Q @ sums.cross[r:],
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
