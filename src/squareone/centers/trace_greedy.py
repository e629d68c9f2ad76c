"""Rows that reduce the trace of what is left most, each the best of a few at random."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..kernels import Kernel
from ..threads import shared_cores
from .base import PooledSelector, check_count
from .chosen_centers import Pool, draw_rows
from .kernel_residual import Residual

__all__ = ["TraceGreedy"]


class TraceGreedy(PooledSelector):
    """Each center the one of some random rows that explains most of what is left.

    With R the residual of the kernel matrix after the centers so far, a row p would reduce its
    trace by ‖R_p‖² / R_pp. That is computed for ``candidates`` random rows, and the best is taken:
    out of 59 it is among the best twentieth of all rows with a probability of 95 %.

    Fewer than ``count`` are chosen where nothing is left to working precision, and never a row
    that depends on those before it. There is always one center.

    Parameters
    ----------
    count : int
        Centers at most.
    candidates : int, default=59
        Random rows looked at for each.
    pool : int or None, default=None
        Random rows to choose among, over which the trace is taken as well. None: all of them, up
        to 2²⁶ / count (2·count if that is more), so that the factor takes at most 512 MiB.

    Notes
    -----
    The centers are in the order in which they were taken: the first m of them are a choice of m.

    **Cost**: c·n·m·(d + m/2) multiplications for m centers and c candidates in a pool of n rows,
    one matrix product for each center: c times that of :class:`PivotedCholesky`. n·(m + c) numbers.

    References
    ----------
    Smola & Schölkopf, Sparse greedy matrix approximation for machine learning, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from squareone.centers import TraceGreedy
    >>> from squareone.kernels import Gaussian
    >>> X, _ = load_diabetes(return_X_y=True)
    >>> round(TraceGreedy(50).select(X, Gaussian(0.2)).explained, 3)
    0.978
    """

    def __init__(self, count: int, candidates: int = 59, pool: int | None = None) -> None:
        self.count = count
        self.candidates = candidates
        self.pool = pool

    def check_parameters(self) -> None:
        super().check_parameters()
        check_count(self, "candidates")

    def _pick(
        self, kernel: Kernel, pool: Pool, count: int, rng: np.random.RandomState
    ) -> tuple[Array, float | None]:
        residual = Residual(kernel, pool.rows, count)
        taken: list[int] = []
        with shared_cores():
            while len(taken) < count and not residual.exhausted:
                left = np.flatnonzero(residual.diagonal)
                rows = left[draw_rows(left.size, int(self.candidates), rng)]
                columns, squares = residual.columns(rows)
                here = residual.diagonal[rows]
                gains = np.divide(squares, here, out=np.zeros_like(here), where=here > 0)
                best = int(np.argmax(gains))
                if gains[best] > 0:  # if not, what was left is within the rounding of the kernel
                    residual.take(int(rows[best]), columns[:, best])
                    taken.append(int(rows[best]))
        return np.array(taken or [0]), residual.explained
