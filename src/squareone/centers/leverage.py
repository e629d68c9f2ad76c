"""Rows at random, in proportion to their ridge leverage scores."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from ..arrays import TILE, Array, blocks, pivoted_cholesky
from ..decompositions import eigh
from ..kernels import Kernel
from ..rows import rows_of
from ..threads import for_each
from .base import PooledSelector
from .chosen_centers import Pool, draw_rows
from .kernel_residual import Residual

__all__ = ["LeverageScores"]

# Rows of the pilot at most: scores are weights of a draw, and more would change few of them.
_PILOT = 512


class LeverageScores(PooledSelector):
    """Rows drawn with probability proportional to their approximate ridge leverage scores.

    The score of a row is [K(K + αI)⁻¹]_ii: the leverage it would have in a fit with λ = α. It is
    estimated with a pilot of p uniform rows, K ≈ FFᵀ + diag(r) with FFᵀ what the pilot explains
    and r what it leaves on the diagonal::

        score_i = F_i (FᵀF + αI)⁻¹ F_iᵀ + r_i / (r_i + α)

    or k_ii / (k_ii + α) where that is less, since no score exceeds it. Rows are drawn one after the
    other without replacement.

    Parameters
    ----------
    count : int
        Centers; all rows where there are no more.
    alpha : float or None, default=None
        The λ of the fit that the centers are for, above zero. None: the one for which the sum of
        these over all rows is count/2: about two centers for each degree of freedom.
    pool : int or None, default=None
        Random rows to choose among. None: all of them, up to 2²⁶ / count (2·count if that is
        more). In a part of the rows, α is taken in proportion.

    Notes
    -----
    The pilot has ``count`` rows, 512 at most. Of rows that are equal several may be drawn. The
    centers are in the order of the rows.

    **Cost**: n·p·(d + 3p) multiplications in a pool of n rows; n·p numbers.

    References
    ----------
    Alaoui & Mahoney, Fast randomized kernel ridge regression with statistical guarantees, 2015.
    Musco & Musco, Recursive sampling for the Nyström method, 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from squareone.centers import LeverageScores
    >>> from squareone.kernels import Gaussian
    >>> X, _ = load_diabetes(return_X_y=True)
    >>> round(LeverageScores(50).select(X, Gaussian(0.2)).explained, 3)
    0.968
    """

    def __init__(self, count: int, alpha: float | None = None, pool: int | None = None) -> None:
        self.count = count
        self.alpha = alpha
        self.pool = pool

    def check_parameters(self) -> None:
        super().check_parameters()
        number = isinstance(self.alpha, Real) and not isinstance(self.alpha, bool)
        if self.alpha is None or (number and np.isfinite(self.alpha) and self.alpha > 0):
            return
        msg = f"LeverageScores(alpha={self.alpha!r}): alpha must be a finite number above zero"
        raise ValueError(msg)

    def _pick(
        self, kernel: Kernel, pool: Pool, count: int, rng: np.random.RandomState
    ) -> tuple[Array, float | None]:
        if count == pool.size:
            return np.arange(count), None
        pilot = _pilot(kernel, pool.rows, min(count, _PILOT), rng)
        scores = self._scores(pilot, count, pool.size / pool.total)
        # the first to ring of n clocks with these rates, and the next, …: successive draws
        with np.errstate(divide="ignore"):
            rings = rng.standard_exponential(pool.size) / scores
        return np.sort(np.argsort(rings, kind="stable")[:count]), None

    def _scores(self, pilot: Residual, count: int, part: float) -> Array:
        """Estimated scores (n,) of the rows of a pool that is a ``part`` of all."""
        F, left = pilot.F[:, : pilot.size], pilot.diagonal
        squares, V = eigh((F.T @ F).astype(np.float64))
        squares = np.maximum(squares, 0.0)
        if self.alpha is None:
            alpha = _alpha_for(count / 2.0, squares, left)
        else:
            alpha = part * float(self.alpha)
        whitening = (V / np.sqrt(squares + alpha)).astype(F.dtype)
        scores = left / (left + alpha)

        def add(rows: slice) -> None:
            scores[rows] += rows_of(F[rows] @ whitening).squares()

        for_each(add, blocks(F.shape[0], TILE))
        return np.minimum(scores, pilot.whole / (pilot.whole + alpha))


def _pilot(kernel: Kernel, X: Any, size: int, rng: np.random.RandomState) -> Residual:
    """What uniform rows leave of the kernel matrix."""
    residual = Residual(kernel, X, size)
    rows = draw_rows(X.shape[0], size, rng)
    L = residual.corner(rows)
    peak = float(np.diagonal(L).max())
    rank, order = pivoted_cholesky(L, residual.floor / (peak or 1.0))
    if rank:
        residual.extend(rows[order[:rank]], L[:rank, :rank])
    return residual


def _alpha_for(degrees: float, squares: Array, left: Array) -> float:
    """The α at which scores add up to ``degrees``, by bisection of its logarithm.

    Where they cannot, an α so small that it changes no score.
    """
    top = float(squares.sum() + left.sum()) or 1.0
    low, high = np.log(top) - 40.0, np.log(top) + 40.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        alpha = np.exp(middle)
        total = (squares / (squares + alpha)).sum() + (left / (left + alpha)).sum()
        low, high = (middle, high) if total > degrees else (low, middle)
    return float(np.exp(high))
