"""Learners: what every form of learning a stream with the square loss offers, row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..arrays import Array
from ..threads import one_thread
from .rollback import Restorable

#: Numbers and arrays by name, enough to go on from.
State = dict[str, Any]


class Learners(Restorable, ABC):
    """Columns of ±1 or of numbers, each learned by regularised least squares on some of the rows.

    With A = aI + Σωxxᵀ and v = Σωyx over the rows that were learned, ω their weights, the margin of
    x is vᵀA⁻¹x, and its spread is r = xᵀA⁻¹x. Columns are in groups that share A: all of them, if
    every learned row counts for all, or each one by itself. Everything is in float64.

    The row that is asked about is never in A: with it the margin would be divided by 1 + r.

    A new form says what it keeps, and is one line in ``FORMS`` of :mod:`squareone.online.forms`.

    Parameters
    ----------
    features : int
        d.
    columns : int
        t.
    alpha : float
        The ridge a, above zero.
    shared : bool
        Whether all columns are one group.
    """

    def __init__(self, features: int, columns: int, alpha: float, *, shared: bool) -> None:
        self.features, self.columns, self.alpha, self.shared = features, columns, alpha, shared
        self._X: Any = np.empty((0, features))
        self._sparse = False
        self._weights: Array | None = None

    @property
    def by_feature(self) -> bool:
        """Whether there is a weight for every feature, not one for every point."""
        return True

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return 1 if self.shared else self.columns

    def columns_of(self, group: int) -> slice:
        """The columns of a group."""
        return slice(0, self.columns) if self.shared else slice(group, group + 1)

    def block(self, X: Any, weights: Array | None = None) -> None:
        """Rows ``X`` (b, d) to come, float64 and dense or CSR; copied where they are learned.

        ``weights`` (b,) are above zero; None: all are one.
        """
        self._X, self._weights = X, weights
        self._sparse = not isinstance(X, np.ndarray)

    def release(self) -> None:
        """Let go of the block."""
        self._X, self._weights, self._sparse = np.empty((0, self.features)), None, False

    def drop(self) -> None:
        """Let go of a block that was only asked about."""
        self.release()

    def weight(self, i: int) -> float:
        """ω of row i of the block."""
        return 1.0 if self._weights is None else float(self._weights[i])

    def lengths(self) -> Array:
        """|x|, or √k(x, x), of all rows of the block: (b,)."""
        X = self._X
        squares = X.multiply(X).sum(axis=1) if self._sparse else np.square(X).sum(axis=1)
        return np.sqrt(np.asarray(squares).ravel())

    @abstractmethod
    def margins(self, i: int) -> Array:
        """vᵀA⁻¹x of row i of the block, for every column: (t,)."""

    @abstractmethod
    def spreads(self, i: int) -> Array:
        """r = xᵀA⁻¹x of row i of the block, for every group: (g,)."""

    @abstractmethod
    def learn(self, i: int, group: int, y: Array, p: Array | None = None) -> None:
        """Take row i of the block into a group: A += ωxxᵀ and v += ωyx, ``y`` one per column.

        ``p`` are the margins of its columns, if they are known.
        """

    def learn_each(self, i: int, columns: list[int], y: Array, p: Array) -> None:
        """The same for some columns, each a group by itself; ``y`` and ``p`` (t,) are of all."""
        for column in columns:
            own = slice(column, column + 1)
            self.learn(i, column, y[own], p[own])

    def learn_rows(self, Y: Array) -> Array:
        """Learn all rows of the block, one after the other: ``Y`` (b, t), for a shared A.

        Returns
        -------
        array (b, t)
            y less its margin, before it was learned.
        """
        errors = np.empty_like(Y)
        with one_thread():
            for i in range(Y.shape[0]):
                p = self.margins(i)
                errors[i] = Y[i] - p
                self.learn(i, 0, Y[i], p)
        return errors

    @abstractmethod
    def weights(self) -> Array:
        """What margins are linear in: (d, t) or (points, t). Not to be changed, or kept."""

    @abstractmethod
    def block_margins(self, weights: Array) -> Array:
        """Margins (b, s) of all rows of the block, for any ``weights`` (d or points, s)."""

    @abstractmethod
    def log_determinants(self) -> Array:
        """ln det(A/a) of every group: (g,); Σ ln(1 + λᵢ/a) over the eigenvalues of Σωxxᵀ."""

    @abstractmethod
    def energies(self, values: Array, u: Array) -> Array:
        """uᵀ(A − aI)u of every group: (g,).

        ``u`` (d,) is a vector, ``values`` (points,) are uᵀx of the support points, whichever is
        known.
        """

    @abstractmethod
    def add_column(self, like: int | None, sign: float) -> None:
        """One more column: a copy of another one times ``sign``, or one that has learned nothing.

        Where columns share A, ``like`` is never None.
        """

    @abstractmethod
    def negate(self, column: int) -> None:
        """Make a column that of the opposite targets."""

    @abstractmethod
    def add_features(self, at: int, count: int) -> None:
        """So many features more, before that at place ``at``: they were zero in all rows so far."""

    def rounding(self) -> float:
        """About how much rounding may change what was learned, relatively; zero if unknown."""
        return 0.0

    @abstractmethod
    def state(self) -> State:
        """All there is, as arrays and numbers."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Go on from what :meth:`state` gave."""

    def dense_row(self, i: int) -> Array:
        """Row i of the block (d,)."""
        if not self._sparse:
            return self._X[i]
        row = np.zeros(self.features)
        places, values = self.sparse_row(i)
        row[places] = values
        return row

    def sparse_row(self, i: int) -> tuple[Array, Array]:
        """Places and values of row i of the block."""
        X = self._X
        part = slice(X.indptr[i], X.indptr[i + 1])
        return X.indices[part], X.data[part]

    def row(self, i: int) -> tuple[Array | slice, Array]:
        """Places and values of row i of the block, all of them where it is dense."""
        return self.sparse_row(i) if self._sparse else (slice(None), self._X[i])
