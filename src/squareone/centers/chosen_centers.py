"""Chosen centers: the points, and the rows that they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.random import sample_without_replacement

from ..arrays import Array
from ..kernels import Kernel
from .explained import share_of_trace

# Rows over which the explained share is estimated: its error is below a hundredth of itself.
_SAMPLE = 10_000


@dataclass(frozen=True)
class Later:
    """The explained share of points over some rows of ``X``, for when somebody asks."""

    kernel: Kernel
    X: Any
    rows: Array

    @classmethod
    def of(cls, kernel: Kernel, X: Any, rng: np.random.RandomState) -> Later:
        """Over all rows, or 10,000 random ones."""
        return cls(kernel, X, draw_rows(X.shape[0], _SAMPLE, rng))

    def share(self, points: Any) -> float:
        return share_of_trace(self.kernel, rows_at(self.X, self.rows), points)


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """Points that were chosen as centers, and how much they explain.

    Attributes
    ----------
    points : array (m, d) or CSR matrix
        The centers, in the precision of the rows.
    indices : int array (m,) or None
        Which rows they are; None where they are not rows.
    pool : int
        Number of rows among which they were chosen.
    explained_rows : int
        Number of rows over which ``explained`` is taken.

    Notes
    -----
    Selectors that do not meet ``explained`` on their way leave it for later: it is computed when it
    is first asked for, from the rows that were given, which therefore should not change before.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.centers import Uniform
    >>> from squareone.kernels import Gaussian
    >>> X = np.linspace(0.0, 1.0, 100)[:, None]
    >>> chosen = Uniform(5).select(X, Gaussian(0.5), random_state=0)
    >>> chosen.indices
    array([ 2, 26, 55, 75, 86])
    >>> round(chosen.explained, 4)
    1.0
    """

    points: Any
    indices: Array | None
    pool: int
    explained_rows: int
    _share: float | Later = field(default=1.0)

    @property
    def explained(self) -> float:
        """tr(K̃) / tr(K) over ``explained_rows`` rows, with K̃ = K_nm K_mm⁺ K_mn."""
        if isinstance(self._share, Later):
            object.__setattr__(self, "_share", self._share.share(self.points))
        assert not isinstance(self._share, Later)
        return self._share

    def __repr__(self) -> str:
        return f"<Selection of {self.points.shape[0]} centers among {self.pool} rows>"

    def __getstate__(self) -> dict[str, Any]:
        """The share in place of the rows that it would be computed from."""
        return {**self.__dict__, "_share": self.explained}


@dataclass(frozen=True)
class Pool:
    """Rows to choose among: their ``numbers`` (p,), ascending, out of ``total``, and themselves."""

    rows: Any
    numbers: Array
    total: int

    @classmethod
    def of(cls, X: Any, size: int, rng: np.random.RandomState) -> Pool:
        """``size`` random rows of ``X``, or all of them if there are no more."""
        numbers = draw_rows(X.shape[0], size, rng)
        return cls(rows_at(X, numbers), numbers, X.shape[0])

    @property
    def size(self) -> int:
        """How many there are."""
        return self.numbers.size


def draw_rows(n: int, size: int, rng: np.random.RandomState) -> Array:
    """Numbers of ``size`` rows out of ``n``, ascending: all of them if there are no more."""
    if size >= n:
        return np.arange(n)
    return np.sort(sample_without_replacement(n, size, random_state=rng)).astype(np.intp)


def rows_at(X: Any, numbers: Array) -> Any:
    """The rows of ``X`` with these numbers, ascending, in memory; ``X`` itself if it is all that.

    ``X`` is an array, a CSR matrix, or anything that gives rows for an array of their numbers.
    """
    in_memory = isinstance(X, np.ndarray) or hasattr(X, "indptr")
    return X if in_memory and numbers.size == X.shape[0] else X[numbers]
