"""The diagonal form for many features: only the diagonal of A is kept."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

from ..arrays import Array
from .learners import Learners, State


class DiagonalLearners(Learners):
    """A is replaced by its diagonal: O(stored numbers of x) for a margin and for an update.

    Every feature has a rate of its own, as in AdaGrad. This is an approximation, exact where the
    features of learned rows do not overlap. Memory: 2d numbers for every column.
    """

    form = "diagonal"

    def __init__(self, features: int, columns: int, a: float, *, shared: bool) -> None:
        super().__init__(features, columns, a, shared=shared)
        self._V = np.zeros((features, columns))
        self._D = np.full((features, self.groups), a)  # the diagonal of A
        self._W = np.zeros((features, columns))

    def _row(self, i: int) -> tuple[Array | slice, Array]:
        return self.sparse_row(i) if issparse(self._X) else (slice(None), self._X[i])

    def margins(self, i: int) -> Array:
        places, values = self._row(i)
        return values @ self._W[places]

    def spreads(self, i: int) -> Array:
        places, values = self._row(i)
        return np.square(values) @ (1.0 / self._D[places])

    def learn(self, i: int, group: int, y: Array) -> None:
        places, values = self._row(i)
        if self.shared:
            self._V[places] += np.outer(values, y)
            self._D[places, 0] += np.square(values)
            self._W[places] = self._V[places] / self._D[places]
            return
        v, D = self._V[:, group], self._D[:, group]
        v[places] += values * y[0]
        D[places] += np.square(values)
        self._W[places, group] = v[places] / D[places]

    def weights(self) -> Array:
        return self._W

    def block_margins(self, weights: Array) -> Array:
        return np.asarray(self._X @ weights)

    def log_determinants(self) -> Array:
        return np.log(self._D / self.a).sum(axis=0)

    def energies(self, values: Array, u: Array) -> Array:
        return np.square(u) @ (self._D - self.a)

    def add_column(self, like: int | None, sign: float) -> None:
        self.columns += 1
        fresh = np.zeros((self.features, 1))
        new = [fresh if like is None else sign * M[:, [like]] for M in (self._V, self._W)]
        self._V, self._W = np.hstack([self._V, new[0]]), np.hstack([self._W, new[1]])
        if not self.shared:
            D = np.full((self.features, 1), self.a) if like is None else self._D[:, [like]]
            self._D = np.hstack([self._D, D])

    def negate(self, column: int) -> None:
        self._V[:, column] *= -1.0
        self._W[:, column] *= -1.0

    def state(self) -> State:
        return {"V": self._V, "diagonal": self._D}

    def restore(self, state: State) -> None:
        self._V, self._D = state["V"].copy(), state["diagonal"].copy()
        self._W = self._V / self._D
