"""Centroids of clusters of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..kernels import Kernel
from .base import Selector, check_count, pool_size
from .chosen_centers import Later, Pool, Selection

__all__ = ["KMeans"]


class KMeans(Selector):
    """Centroids of clusters, by scikit-learn's ``MiniBatchKMeans``.

    They follow the density of the rows in Euclidean distance, whatever the kernel is, and are not
    rows themselves: ``indices`` is None. Dense rows only, since means of sparse rows are dense.

    Parameters
    ----------
    count : int
        Centers; fewer where fewer rows differ.
    pool : int or None, default=None
        Random rows to choose among. None: all of them, up to 2²⁶ / count (2·count if that is more).

    Notes
    -----
    **Cost**: some 10 to 100 passes over batches of rows, n·m·d multiplications for a pass over n.

    References
    ----------
    Zhang, Tsang & Kwok, Improved Nyström low-rank approximation and error analysis, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.centers import KMeans
    >>> X = np.array([[0.0], [0.0], [1.0], [1.0]])
    >>> np.sort(KMeans(2).select(X, "linear").points, axis=0)
    array([[0.],
           [1.]])
    """

    def __init__(self, count: int, pool: int | None = None) -> None:
        self.count = count
        self.pool = pool

    def check_parameters(self) -> None:
        check_count(self, "count")
        if self.pool is not None:
            check_count(self, "pool")

    def _choose(self, kernel: Kernel, X: Any, rng: np.random.RandomState) -> Selection:
        self.check_parameters()
        pool = Pool.of(X, pool_size(self.count, self.pool), rng)
        if hasattr(pool.rows, "indptr"):
            msg = (
                "KMeans: X is sparse, and means of sparse rows are dense. Use Uniform or "
                "PivotedCholesky, which choose rows, or make X dense"
            )
            raise TypeError(msg)
        points = np.unique(self._centroids(pool, rng), axis=0)
        later = Later.of(kernel, X, rng)
        return Selection(
            points.astype(X.dtype, copy=False), None, pool.size, later.rows.size, later
        )

    def _centroids(self, pool: Pool, rng: np.random.RandomState) -> Array:
        """Centroids (count, d), some of which may be the same; the rows, where they are enough."""
        count = int(self.count)
        if count >= pool.size:
            return pool.rows
        from sklearn.cluster import MiniBatchKMeans  # imported late: it would slow the import

        batch, seed = max(1024, 2 * count), rng.randint(2**31 - 1)
        clusters = MiniBatchKMeans(count, batch_size=batch, n_init=1, random_state=seed)
        return clusters.fit(pool.rows).cluster_centers_
