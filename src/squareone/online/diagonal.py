"""The diagonal form for many features: only the diagonal of A is kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from .learners import Learners, State
from .rollback import Snapshot, inserted, writable


class DiagonalLearners(Learners):
    """A is replaced by its diagonal: O(stored numbers of x) for a margin and for an update.

    Every feature has a rate of its own, as in AdaGrad. This is an approximation, exact where the
    features of learned rows do not overlap. Memory: 2d numbers for every column.
    """

    form = "diagonal"
    containers = ("_overwritten",)

    def __init__(self, features: int, columns: int, alpha: float, *, shared: bool) -> None:
        super().__init__(features, columns, alpha, shared=shared)
        self._V = np.zeros((features, columns))
        self._D = np.full((features, self.groups), alpha)  # the diagonal of A
        self._W = np.zeros((features, columns))
        # places, columns and what stood there in V, D and W, of what was learned since the last
        # snapshot, as long as that has these very arrays
        self._overwritten: list[tuple[Any, Any, Array, Array]] = []
        self._noted = False

    def margins(self, i: int) -> Array:
        places, values = self.row(i)
        return values @ self._W[places]

    def spreads(self, i: int) -> Array:
        places, values = self.row(i)
        return np.square(values) @ (1.0 / self._D[places])

    def learn(self, i: int, group: int, y: Array, p: Array | None = None) -> None:
        places = self.row(i)[0]
        own = slice(group, group + 1)
        self._learn(i, (places, self.columns_of(group)), (places, own), y)

    def learn_each(self, i: int, columns: list[int], y: Array, p: Array) -> None:
        places = self.row(i)[0]
        where = (places if isinstance(places, slice) else places[:, None], columns)
        self._learn(i, where, where, y[columns])

    def _learn(self, i: int, where: Any, groups: Any, y: Array) -> None:
        """Row i, at these places of V and W, and of D."""
        V, D = self._V[where], self._D[groups]
        if self._noted:
            old = (each if each.base is None else each.copy() for each in (V, D))
            self._overwritten.append((where, groups, *old))
        values, weight = self.row(i)[1], self.weight(i)
        V = V + (weight * values)[:, None] * y
        D = D + (weight * np.square(values))[:, None]
        self._V[where], self._D[groups] = V, D
        self._W[where] = V / D

    def weights(self) -> Array:
        return self._W

    def block_margins(self, weights: Array) -> Array:
        return np.asarray(self._X @ weights)

    def log_determinants(self) -> Array:
        return np.log(self._D / self.alpha).sum(axis=0)

    def energies(self, values: Array, u: Array) -> Array:
        return np.square(u) @ (self._D - self.alpha)

    def add_column(self, like: int | None, sign: float) -> None:
        self.columns += 1
        fresh = np.zeros((self.features, 1))
        new = [fresh if like is None else sign * M[:, [like]] for M in (self._V, self._W)]
        self._V, self._W = np.hstack([self._V, new[0]]), np.hstack([self._W, new[1]])
        if not self.shared:
            D = np.full((self.features, 1), self.alpha) if like is None else self._D[:, [like]]
            self._D = np.hstack([self._D, D])
        self._noted = False

    def negate(self, column: int) -> None:
        self._V, self._W = self._V.copy(), self._W.copy()
        self._V[:, column] *= -1.0
        self._W[:, column] *= -1.0
        self._noted = False

    def add_features(self, at: int, count: int) -> None:
        self.features += count
        self._V, self._W = (inserted(M, at, count, 0) for M in (self._V, self._W))
        self._D = np.insert(self._D, [at] * count, self.alpha, axis=0)
        self._noted = False
        self.release()

    def snapshot(self, numbers: float) -> Snapshot:
        """Copies, or a list of what is overwritten: whichever is less.

        A row has few of a million features, and their numbers are changed where they lie.
        """
        self._V, self._D, self._W = (writable(M) for M in (self._V, self._D, self._W))
        self._overwritten, self._noted = [], numbers < self.features
        held, parts = super().snapshot(numbers)
        if not self._noted:
            held.update({name: held[name].copy() for name in ("_V", "_D", "_W")})
        return held, parts

    def settle(self) -> None:
        self._overwritten, self._noted = [], False

    def roll_back(self, snapshot: Snapshot) -> None:
        overwritten = self._overwritten
        super().roll_back(snapshot)
        for where, groups, V, D in reversed(overwritten):
            self._V[where], self._D[groups] = V, D
            self._W[where] = V / D

    def state(self) -> State:
        return {"V": self._V, "diagonal": self._D}

    def restore(self, state: State) -> None:
        self._V, self._D = state["V"].copy(), state["diagonal"].copy()
        self._W = self._V / self._D
