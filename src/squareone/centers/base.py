"""What every selector can do: be a parameter, and choose centers among rows."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..arrays import Array
from ..kernels import Kernel
from ..kernels.base import check_range, checked_rows
from ..kernels.names import kernel_from
from .chosen_centers import Later, Pool, Selection

__all__ = ["PooledSelector", "Selector"]

# Numbers of a factor (rows, centers) that is kept while centers are chosen: 512 MiB of float64.
LARGEST_FACTOR = 67_108_864


class Selector(BaseEstimator):
    """A way of choosing the centers of a kernel model.

    A selector is a small value, as kernels are: its constructor stores its parameters and does
    nothing else, so that ``clone``, ``get_params`` and a search over them work. A new one says how
    it chooses (:meth:`_choose`), or, where it chooses among rows, which ones
    (:meth:`PooledSelector._pick`).
    """

    @abstractmethod
    def check_parameters(self) -> None:
        """Raise if a parameter is out of its range, saying what came and what was expected."""

    @abstractmethod
    def _choose(self, kernel: Kernel, X: Any, rng: np.random.RandomState) -> Selection:
        """Choose for a kernel whose parameters are numbers and rows that were looked at.

        ``X`` (n, d) is an array, a CSR matrix, or anything with ``shape`` and ``dtype`` that gives
        rows for an ascending array of their numbers, and nothing else.
        """

    def select(self, X: Any, kernel: Kernel | str, random_state: Any = None) -> Selection:
        """Choose centers for rows ``X``.

        Parameters
        ----------
        X : array-like (n, d) or sparse matrix
            Rows.
        kernel : Kernel or str
            A kernel object or its name. A width of ``"median"`` is taken from ``X``; one of
            ``"auto"`` is for estimators and refused here.
        random_state : int, RandomState instance or None, default=None
            None means 0: the same centers every time.

        Returns
        -------
        Selection
        """
        self.check_parameters()
        kernel = kernel_from(kernel)
        if not kernel.has_formula:
            msg = f"{kernel} has no formula to evaluate on rows: centers need a kernel that has one"
            raise TypeError(msg)
        X = checked_rows(X, [np.float64, np.float32], "X")
        rng = check_random_state(0 if random_state is None else random_state)
        kernel = kernel.resolve(X, rng)
        kernel.check_chosen()
        check_range(kernel, X)
        return self._choose(kernel, X, rng)


class PooledSelector(Selector):
    """A selector that chooses rows out of a pool of random ones, or out of all."""

    count: int
    pool: int | None

    def check_parameters(self) -> None:
        check_count(self, "count")
        if self.pool is not None:
            check_count(self, "pool")

    @abstractmethod
    def _pick(
        self, kernel: Kernel, pool: Pool, count: int, rng: np.random.RandomState
    ) -> tuple[Array, float | None]:
        """At most ``count`` rows of a pool of no fewer, and the share they explain, if it is known.

        Rows are positions (m,) in the pool, in any order.
        """

    def _choose(self, kernel: Kernel, X: Any, rng: np.random.RandomState) -> Selection:
        self.check_parameters()
        pool = Pool.of(X, pool_size(self.count, self.pool), rng)
        picked, share = self._pick(kernel, pool, min(int(self.count), pool.size), rng)
        points, indices = pool.rows[picked], pool.numbers[picked]
        if share is not None:
            return Selection(points, indices, pool.size, pool.size, share)
        later = Later.of(kernel, X, rng)
        return Selection(points, indices, pool.size, later.rows.size, later)


def pool_size(count: int, pool: int | None) -> int:
    """Rows to choose among: as asked, or as many as a factor of 512 MiB has, at least 2·count."""
    return int(pool) if pool is not None else int(max(LARGEST_FACTOR // count, 2 * count))


def check_count(selector: Selector, name: str) -> None:
    """Refuse a parameter that is not an integer above zero."""
    value = getattr(selector, name)
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1:
        return
    msg = f"{type(selector).__name__}({name}={value!r}): {name} must be an integer above zero"
    raise ValueError(msg)
