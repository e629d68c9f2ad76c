"""Learning from the labels that were asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..threads import one_thread
from .engines import Engine
from .learners import Learners, State
from .query_rules import Rule, Seen


class Sampler(Engine):
    """Learners that ask for labels by a rule, and learn what they are told.

    Classes exclude each other: one label is asked for, that of the row, where half the difference
    between the two largest margins is the margin. Otherwise every column asks for its own.

    Parameters
    ----------
    learners : Learners
    rule : Rule
    exclusive : bool
        Whether the columns are classes of which the largest wins.

    Attributes
    ----------
    labels, positives : array (s,) or, for classes, (1,) and (k,)
        Labels that were given, and those that were positive.
    """

    def __init__(self, learners: Learners, rule: Rule, *, exclusive: bool) -> None:
        self._learners, self.rule, self.exclusive = learners, rule, exclusive
        self._rounds = 0
        self.labels = np.zeros(1 if exclusive else learners.columns, np.int64)
        self.positives = np.zeros(learners.columns, np.int64)
        self._energies = np.zeros(learners.columns)
        self._log_determinants = np.zeros(learners.columns)
        self._updates = np.zeros(learners.columns, np.int64)

    @property
    def learners(self) -> Learners:
        return self._learners

    @property
    def rounds(self) -> int:
        return self._rounds

    # --- asking ---

    def query(self, X: Any) -> tuple[Array, Array]:
        """Margins (b, t) of rows ``X`` (b, d), and the labels asked for (b, s), as things stand."""
        return self._walk(X, None, None)

    def simulate(self, X: Any, Y: Array) -> tuple[Array, Array]:
        """The same, where each answer ``Y`` (b, t) that was asked for is learned at once."""
        return self._walk(X, Y, None)

    def _walk(self, X: Any, Y: Array | None, given: Array | None) -> tuple[Array, Array]:
        """Row by row: ask, unless labels were ``given`` (b, s), and learn, where there are any."""
        learners = self._learners
        learners.block(X)
        b, lengths = X.shape[0], learners.lengths()
        margins, asked = np.empty((b, learners.columns)), np.empty((b, self.labels.size), bool)
        with one_thread():
            for i in range(b):
                if given is None:
                    margins[i], asked[i] = self._ask(i, lengths[i])
                else:
                    margins[i], asked[i] = learners.margins(i), given[i]
                if Y is not None and asked[i].any():
                    self._told(i, Y[i], asked[i], margins[i])
        learners.release()
        return margins, asked

    def _ask(self, i: int, length: float) -> tuple[Array, Array]:
        p = self._learners.margins(i)
        self._rounds += 1
        if length == 0:  # nothing can be learned from it
            return p, np.zeros(self.labels.size, bool)
        leading = [int(p.argmax())] if self.exclusive else slice(None)
        decisive = self._decisive(p)
        seen = Seen(
            decisive / length if self.rule.of_unit_rows else decisive,
            lambda: self._spreads(i, leading),
            self._rounds,
            self.labels,
            self._rarer(p),
            self._energies[leading],
            self._log_determinants[leading],
            self._updates[leading],
        )
        return p, self.rule.asks(seen)

    def _decisive(self, p: Array) -> Array:
        """What is compared with the threshold: (s,)."""
        if not self.exclusive:
            return p
        second, first = np.partition(p, -2)[-2:]
        return np.array([0.5 * (first - second)])

    def _rarer(self, p: Array) -> Array:
        """Labels of the rarer outcome: positives or negatives, or of the two leading classes."""
        if not self.exclusive:
            return np.minimum(self.positives, self.labels - self.positives)
        leading = np.argpartition(p, -2)[-2:]
        return self.positives[leading].min(keepdims=True)

    def _spreads(self, i: int, leading: Any) -> Array:
        found = self._learners.spreads(i)
        return found if self._learners.shared else found[leading]

    # --- being told ---

    def learn(self, X: Any, Y: Array, asked: Array | None = None) -> Array:
        """Labels ``Y`` (b, t) of rows ``X`` (b, d), all of them or where ``asked`` (b, s) is true.

        Returns
        -------
        array (b, t)
            Margins before they were learned.
        """
        if asked is None:
            asked = np.ones((Y.shape[0], self.labels.size), bool)
        return self._walk(X, Y, asked)[0]

    def _told(self, i: int, y: Array, asked: Array, p: Array) -> None:
        self.labels += asked
        known = np.full(y.size, True) if self.exclusive else asked
        self.positives += known & (y > 0)
        if self._learners.shared:
            self._learners.learn(i, 0, y)
            return
        wrong = known & (y * p <= 0) if self.rule.on_mistakes else known
        columns = wrong.nonzero()[0]
        if self.rule.on_mistakes and columns.size:
            self._note(i, y, p, columns)
        for column in columns.tolist():
            self._learners.learn(i, column, y[column : column + 1])

    def _note(self, i: int, y: Array, p: Array, columns: Array) -> None:
        """Keep up wᵀAw = vᵀA⁻¹v and ln det(A/a) of the columns that are about to learn a row."""
        r = self._learners.spreads(i)[columns]
        y, p = y[columns], p[columns]
        self._energies[columns] += 2.0 * y * p + r - np.square(p + y * r) / (1.0 + r)
        self._log_determinants[columns] += np.log1p(r)
        self._updates[columns] += 1

    def add_class(self) -> None:
        learners = self._learners
        if learners.columns == 1:
            learners.negate(0)
            learners.add_column(0, -1.0)
            self.exclusive = True
            given, positive = int(self.labels[0]), int(self.positives[0])
            self.positives = np.array([given - positive, positive])
            self._energies = np.repeat(self._energies, 2)
            self._log_determinants = np.repeat(self._log_determinants, 2)
            self._updates = np.repeat(self._updates, 2)
        learners.add_column(None, 1.0)
        self.positives = np.append(self.positives, 0)
        self._energies = np.append(self._energies, 0.0)
        self._log_determinants = np.append(self._log_determinants, 0.0)
        self._updates = np.append(self._updates, 0)

    def state(self) -> State:
        return {
            "learners": self._learners.state(),
            "rounds": int(self._rounds),
            "labels": self.labels.copy(),
            "positives": self.positives.copy(),
            "energies": self._energies.copy(),
            "log_determinants": self._log_determinants.copy(),
            "updates": self._updates.copy(),
        }

    def restore(self, state: State) -> None:
        self._learners.restore(state["learners"])
        self._rounds = int(state["rounds"])
        self.labels, self.positives = state["labels"].copy(), state["positives"].copy()
        self._energies = state["energies"].copy()
        self._log_determinants = state["log_determinants"].copy()
        self._updates = state["updates"].copy()
