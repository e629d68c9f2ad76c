"""The exact form for few features: a square root of A, by rows that are appended to it."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from ..arrays import Array
from ..threads import one_thread
from .learners import Learners, State
from .rollback import Snapshot, inserted
from .square_root import SquareRootFactor, waiting_rows

# Features up to which no BLAS would use a second thread for a row.
_SMALL = 64
# Numbers in the triangles of all groups, and features, up to which this form is worth its memory.
_MOST_NUMBERS, _MOST_FEATURES = 2**25, 2048


def fits_primal(features: int, matrices: int) -> bool:
    """Whether so many triangles of so many features are not too much."""
    return features <= _MOST_FEATURES and matrices * features**2 <= _MOST_NUMBERS


class PrimalLearners(Learners):
    """A triangle L with A = LLᵀ for every group: O(d) for a margin, O(d²) for a learned row.

    Features may be of any size, and of very different ones, and a million updates lose nothing:
    see :class:`~squareone.online.square_root.SquareRootFactor`. Memory: d² + 512d numbers at
    most for every group that has learned a row.

    Parameters
    ----------
    forgetting : float, default=1.0
        μ: before a row is learned all earlier ones are weighted by μ. The ridge fades with them,
        by no more than e or μ¹⁶, and is then restored.
    """

    form = "primal"
    containers = ("_factors",)

    def __init__(
        self, features: int, columns: int, alpha: float, *, shared: bool, forgetting: float = 1.0
    ) -> None:
        super().__init__(features, columns, alpha, shared=shared)
        self.forgetting = forgetting
        self._W = np.zeros((columns, features))
        self._own = False  # whether the weights are in memory that no snapshot has
        self._factors: list[SquareRootFactor | None] = [None] * self.groups

    def snapshot(self, numbers: float) -> Snapshot:
        self._own = False
        return super().snapshot(numbers)

    def rows_that_wait(self, L: Array) -> int:
        """Before they go into a triangle ``L``: fewer than that."""
        first = np.array_equal(L, np.sqrt(self.alpha) * np.eye(self.features))
        return waiting_rows(self.features, self.forgetting, first=first)

    def _factor(self, group: int) -> SquareRootFactor:
        found = self._factors[group]
        if found is None:
            c = self.columns if self.shared else 1
            found = SquareRootFactor(self.features, c, self.alpha, self.forgetting)
        return found

    def margins(self, i: int) -> Array:
        return self._W.dot(self.dense_row(i))

    def spreads(self, i: int) -> Array:
        x = self.dense_row(i)
        empty = None
        found = np.empty(self.groups)
        for group, factor in enumerate(self._factors):
            if factor is None:
                empty = float(x @ x) / self.alpha if empty is None else empty
                found[group] = empty
            else:
                found[group] = factor.spread(x)
        return found

    def learn(self, i: int, group: int, y: Array, p: Array | None = None) -> None:
        x, W = self.dense_row(i), self._W[self.columns_of(group)]
        error = y - (W.dot(x) if p is None else p)
        factor, W = self._factor(group).learned(x, y, error, W, self.weight(i))
        if self.shared:
            self._W = W
        else:
            self._own_weights()[group] = W[0]
        self._factors[group] = factor

    def learn_each(self, i: int, columns: list[int], y: Array, p: Array) -> None:
        x, weight, errors = self.dense_row(i), self.weight(i), y - p
        W, factors = self._own_weights(), self._factors
        for column in columns:
            own = slice(column, column + 1)
            factor = factors[column] or self._factor(column)
            factors[column], W[own] = factor.learned(x, y[own], errors[own], W[own], weight)

    def _own_weights(self) -> Array:
        """The weights, to be changed where they are."""
        if not self._own:
            self._W, self._own = self._W.copy(), True
        return self._W

    def learn_rows(self, Y: Array) -> Array:
        assert self.shared
        X = self._X.toarray() if self._sparse else self._X
        if Y.shape[0] > 1:
            factor, W, errors = self._factor(0).learned_rows(X, Y, self._W, self._weights)
        else:
            x = X[0]
            errors = Y - self._W.dot(x)
            with one_thread() if self.features > _SMALL else nullcontext():
                factor, W = self._factor(0).learned(x, Y[0], errors[0], self._W, self.weight(0))
        self._factors[0], self._W = factor, W
        return errors

    def weights(self) -> Array:
        return self._W.T

    def block_margins(self, weights: Array) -> Array:
        return np.asarray(self._X @ weights)

    def log_determinants(self) -> Array:
        return np.array([0.0 if f is None else f.log_determinant() for f in self._factors])

    def energies(self, values: Array, u: Array) -> Array:
        return np.array([0.0 if f is None else f.energy(u) for f in self._factors])

    def rounding(self) -> float:
        return max((f.rounding for f in self._factors if f is not None), default=0.0)

    def add_column(self, like: int | None, sign: float) -> None:
        row = np.zeros(self.features) if like is None else sign * self._W[like]
        self._W = np.vstack([self._W, row])
        self.columns += 1
        if self.shared:
            assert like is not None
            factor = self._factors[0]
            self._factors[0] = factor and factor.with_column(like, sign)
            return
        other = None if like is None else self._factors[like]
        self._factors.append(other and other.apart(sign))

    def negate(self, column: int) -> None:
        self._W = self._W.copy()
        self._W[column] *= -1.0
        group = 0 if self.shared else column
        factor = self._factors[group]
        self._factors[group] = factor and factor.negated(column if self.shared else 0)

    def add_features(self, at: int, count: int) -> None:
        self.features += count
        self._W = inserted(self._W, at, count, 1)
        self._factors = [f and f.with_features(at, count) for f in self._factors]
        self.release()

    def state(self) -> State:
        return {
            "weights": self._W,
            "groups": [None if factor is None else factor.state() for factor in self._factors],
        }

    def restore(self, state: State) -> None:
        self._W = state["weights"].copy()
        self._factors = [
            each and SquareRootFactor.from_state(each, self.alpha, self.forgetting)
            for each in state["groups"]
        ]
