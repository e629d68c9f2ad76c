"""What learns from a stream with the square loss, row by row: margins, spreads and updates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..arrays import Array
from ..threads import one_thread

#: Numbers and arrays by name, enough to go on from.
State = dict[str, Any]


class Learners(ABC):
    """Columns of ±1 or of numbers, each learned by regularised least squares on some of the rows.

    With A = aI + Σxxᵀ and v = Σyx over the rows that were learned, the margin of x is vᵀA⁻¹x, and
    its spread is r = xᵀA⁻¹x. Columns are in groups that share A: all of them, if every learned row
    counts for all, or each one by itself. Everything is in float64.

    The row that is asked about is never in A: with it the margin would be divided by 1 + r.

    A new form says what it keeps, and is one line in ``FORMS`` of :mod:`squareone.online`.

    Parameters
    ----------
    features : int
        d.
    columns : int
        t.
    a : float
        The ridge, above zero.
    shared : bool
        Whether all columns are one group.
    """

    def __init__(self, features: int, columns: int, a: float, *, shared: bool) -> None:
        self.features, self.columns, self.a, self.shared = features, columns, a, shared
        self._X: Any = np.empty((0, features))

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return 1 if self.shared else self.columns

    def columns_of(self, group: int) -> slice:
        """The columns of a group."""
        return slice(0, self.columns) if self.shared else slice(group, group + 1)

    def block(self, X: Any) -> None:
        """Rows ``X`` (b, d) to come, float64 and dense or CSR; copied where they are learned."""
        self._X = X

    def release(self) -> None:
        """Let go of the block."""
        self._X = np.empty((0, self.features))

    def lengths(self) -> Array:
        """|x|, or √k(x, x), of all rows of the block: (b,)."""
        X = self._X
        squares = X.multiply(X).sum(axis=1) if issparse(X) else np.square(X).sum(axis=1)
        return np.sqrt(np.asarray(squares).ravel())

    @abstractmethod
    def margins(self, i: int) -> Array:
        """vᵀA⁻¹x of row i of the block, for every column: (t,)."""

    @abstractmethod
    def spreads(self, i: int) -> Array:
        """r = xᵀA⁻¹x of row i of the block, for every group: (g,)."""

    @abstractmethod
    def learn(self, i: int, group: int, y: Array) -> None:
        """Take row i of the block into a group: A += xxᵀ and v += yx, ``y`` one per column."""

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
                errors[i] = Y[i] - self.margins(i)
                self.learn(i, 0, Y[i])
        return errors

    @abstractmethod
    def weights(self) -> Array:
        """What margins are linear in: (d, t) or (points, t). Not to be changed, or kept."""

    @abstractmethod
    def block_margins(self, weights: Array) -> Array:
        """Margins (b, s) of all rows of the block, for any ``weights`` (d or points, s)."""

    @abstractmethod
    def log_determinants(self) -> Array:
        """ln det(A/a) of every group: (g,); Σ ln(1 + λᵢ/a) over the eigenvalues of Σxxᵀ."""

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
    def state(self) -> State:
        """All there is, as arrays and numbers."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Go on from what :meth:`state` gave."""

    def dense_row(self, i: int) -> Array:
        """Row i of the block (d,)."""
        if not issparse(self._X):
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
