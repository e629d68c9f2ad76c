"""Rows by a partial Cholesky factorisation of the kernel matrix, pivots at random or greedily."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..kernels import Kernel
from ..threads import shared_cores
from .base import PooledSelector
from .chosen_centers import Pool
from .kernel_residual import Corner, Residual

__all__ = ["PivotedCholesky"]

# Rows proposed at a time: at first, at least and at most.
_FIRST, _FEWEST, _MOST = 32, 8, 256


class PivotedCholesky(PooledSelector):
    """Rows that the rows before them explain least, by partial Cholesky factorisation.

    Each center takes its share out of the kernel matrix, K ← K − k kᵀ / k_pp. What is left on the
    diagonal is the squared distance of every row, as k sees it, from the span of the centers. The
    next center is

    - ``pivot="random"``: a row drawn with probability proportional to it (randomly pivoted
      Cholesky). Both dense regions and remote rows get their part, and the explained share is in
      expectation close to the best possible for so many centers;
    - ``pivot="greedy"``: the row where it is largest. With a Gaussian kernel these are outliers
      first.

    Fewer than ``count`` are chosen where nothing is left to working precision, and never a row
    that depends on those before it, such as one that is equal. There is always one center.

    Parameters
    ----------
    count : int
        Centers at most.
    pivot : {"random", "greedy"}, default="random"
        How the next one is found.
    pool : int or None, default=None
        Random rows to choose among. None: all of them, up to 2²⁶ / count (2·count if that is
        more), so that the factor takes at most 512 MiB.

    Notes
    -----
    The centers are in the order in which they were taken: the first m of them are a choice of m.

    Pivots are found in blocks, and are those of the sequential algorithm. At random: proposals are
    drawn from the diagonal at the start of a block, and each is accepted with probability what is
    left of its diagonal over what it was then; accepted ones have exactly the sequential
    distribution. Greedily: the diagonal only ever decreases, so that the largest among the rows
    that were largest at the start is the largest of all while it exceeds what others had then.

    **Cost**: n·m·(d + m/2) multiplications for m centers in a pool of n rows, nearly all in matrix
    products; n·m numbers.

    References
    ----------
    Chen, Epperly, Tropp & Webber, Randomly pivoted Cholesky, 2022, algorithm 2.1.
    Epperly, Tropp & Webber, Embrace rejection, 2024, algorithm 2.1.
    Fine & Scheinberg, Efficient SVM training using low-rank kernel representations, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from squareone.centers import PivotedCholesky, Uniform
    >>> from squareone.kernels import Gaussian
    >>> X, _ = load_diabetes(return_X_y=True)
    >>> round(PivotedCholesky(50).select(X, Gaussian(0.2)).explained, 3)
    0.971
    >>> round(Uniform(50).select(X, Gaussian(0.2)).explained, 3)
    0.969
    """

    def __init__(self, count: int, pivot: str = "random", pool: int | None = None) -> None:
        self.count = count
        self.pivot = pivot
        self.pool = pool

    def check_parameters(self) -> None:
        super().check_parameters()
        if not (isinstance(self.pivot, str) and self.pivot in ("random", "greedy")):
            msg = f'PivotedCholesky(pivot={self.pivot!r}): pivot must be "random" or "greedy"'
            raise ValueError(msg)

    def _pick(
        self, kernel: Kernel, pool: Pool, count: int, rng: np.random.RandomState
    ) -> tuple[Array, float | None]:
        residual = Residual(kernel, pool.rows, count)
        taken: list[int] = []
        width = _FIRST
        with shared_cores():
            while len(taken) < count and not residual.exhausted:
                if self.pivot == "random":
                    rows, corner = _random_block(residual, width, count - len(taken), rng)
                else:
                    rows, corner = _greedy_block(residual, width, count - len(taken))
                width = min(_MOST, max(_FEWEST, 4 * len(corner.accepted)))
                if corner.accepted:
                    chosen = rows[corner.accepted]
                    residual.extend(chosen, corner.factor)
                    taken.extend(chosen.tolist())
        return np.array(taken or [0]), residual.explained


def _random_block(
    residual: Residual, width: int, most: int, rng: np.random.RandomState
) -> tuple[Array, Corner]:
    """Rows proposed from the diagonal (width,), of which some are accepted in their order."""
    heights = np.cumsum(residual.diagonal)
    drawn = np.searchsorted(heights, rng.random_sample(width) * heights[-1], side="right")
    # rounding may draw the very end, behind the last row that has anything left
    rows = np.minimum(drawn, np.flatnonzero(residual.diagonal)[-1])
    corner = Corner(residual.corner(rows), most)
    thresholds = rng.random_sample(width) * corner.diagonal
    for j in range(width):
        if corner.full:
            break
        if corner.diagonal[j] > max(thresholds[j], residual.floor):
            corner.accept(j)
            corner.diagonal[rows == rows[j]] = 0.0
    return rows, corner


def _greedy_block(residual: Residual, width: int, most: int) -> tuple[Array, Corner]:
    """The rows with the largest diagonal (width,), accepted while nobody else can have a larger."""
    diagonal = residual.diagonal
    n = diagonal.size
    outside = 0.0
    rows = np.arange(n)
    if n > width:
        parted = np.partition(diagonal, [n - width - 1, n - width])
        outside, least = parted[n - width - 1], parted[n - width]
        above, level = np.flatnonzero(diagonal > least), np.flatnonzero(diagonal == least)
        rows = np.sort(np.concatenate([above, level[: width - above.size]]))
    corner = Corner(residual.corner(rows), most)
    while not corner.full:
        j = int(np.argmax(corner.diagonal))
        if corner.diagonal[j] < outside or corner.diagonal[j] <= residual.floor:
            break
        corner.accept(j)
    return rows, corner
