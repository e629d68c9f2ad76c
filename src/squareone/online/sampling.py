"""Selective sampling: the engine that asks for labels by a rule, and learns those it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..threads import one_thread
from .engines import LearnersEngine, Method
from .learners import Learners, State
from .query_rules import Accepting, Randomised, Rule, Seen


class Sampler(LearnersEngine):
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
    asked, offered : int
        Labels that were asked for, and that could have been.
    """

    def __init__(self, learners: Learners, rule: Rule, *, exclusive: bool) -> None:
        super().__init__(learners)
        self.rule, self.exclusive = rule, exclusive
        self._open = 0  # rows that were asked about, and have no answer yet
        self.asked, self.offered = 0, 0
        self.labels = np.zeros(1 if exclusive else learners.columns, np.int64)
        self.positives = np.zeros(learners.columns, np.int64)
        self._energies = np.zeros(learners.columns)
        self._log_determinants = np.zeros(learners.columns)
        self._updates = np.zeros(learners.columns, np.int64)

    # --- asking ---

    def query(self, X: Any) -> tuple[Array, Array]:
        """Margins (b, t) of rows ``X`` (b, d), and the labels asked for (b, s), as things stand."""
        margins, asked = self._walk(X, None, None)
        self._open += int(asked.any(axis=1).sum())
        return margins, asked

    def simulate(self, X: Any, Y: Array) -> tuple[Array, Array]:
        """The same, where each answer ``Y`` (b, t) that was asked for is learned at once."""
        return self._walk(X, Y, None)

    def _walk(
        self, X: Any, Y: Array | None, given: Array | None, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Row by row: ask, unless labels were ``given`` (b, s), and learn, where there are any."""
        learners = self._learners
        learners.block(X, weights)
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
        if given is None:
            self.asked, self.offered = self.asked + int(asked.sum()), self.offered + asked.size
        return margins, asked

    def _ask(self, i: int, length: float) -> tuple[Array, Array]:
        p = self._learners.margins(i)
        self._rounds += 1
        if length == 0:  # nothing can be learned from it
            return p, np.zeros(self.labels.size, bool)
        return p, self.rule.asks(self._seen(i, p, length, self._rounds))

    def _seen(self, i: int, p: Array, length: float, number: int) -> Seen:
        """What the rule may look at, of row i of the block with margins ``p`` (t,)."""
        leading = [int(p.argmax())] if self.exclusive else slice(None)
        decisive = self._decisive(p)
        return Seen(
            decisive / length if self.rule.of_unit_rows else decisive,
            lambda: self._spreads(i, leading),
            number,
            self.labels,
            self._rarer(p),
            self._energies[leading],
            self._log_determinants[leading],
            self._updates[leading],
        )

    @property
    def label_rate(self) -> float:
        """The share of the labels that were asked for, of those that could have been."""
        if self.offered == 0:
            msg = "no row was asked about yet: label_rate_ is there after query or fit"
            raise AttributeError(msg)
        return self.asked / self.offered

    def chances(self, X: Any, number: int) -> Array:
        """With which probability each label (b, s) would be asked for; nothing counts as seen.

        Each row of ``X`` (b, d) is taken as that of round ``number``. A rule that looks at margins
        alone sees all rows at once.
        """
        learners = self._learners
        learners.block(X)
        lengths, p = learners.lengths(), learners.block_margins(learners.weights())
        with one_thread():
            if self.rule.by_spreads:
                rows = [
                    self.rule.chance(self._seen(i, p[i], length, number))
                    for i, length in enumerate(lengths)
                ]
                found = np.array(rows).reshape(X.shape[0], self.labels.size)
            else:
                decisive = self._decisive(p) / np.where(lengths > 0, lengths, 1.0)[:, None]
                nothing = np.empty(0)
                seen = Seen(
                    decisive, lambda: nothing, number, self.labels, self._rarer(p), *[nothing] * 3
                )
                found = self.rule.chance(seen)
        learners.drop()
        return np.where(lengths[:, None] > 0, found, 0.0)

    def _decisive(self, p: Array) -> Array:
        """What is compared with the threshold: (s,), or (b, s) for margins of several rows."""
        if not self.exclusive:
            return p
        leading = np.partition(p, -2)[..., -2:]
        return 0.5 * (leading[..., 1:] - leading[..., :1])

    def _rarer(self, p: Array) -> Array:
        """Labels of the rarer outcome: positives or negatives, or of the two leading classes."""
        if not self.exclusive:
            return np.minimum(self.positives, self.labels - self.positives)
        leading = np.argpartition(p, -2)[..., -2:]
        return self.positives[leading].min(axis=-1, keepdims=True)

    def _spreads(self, i: int, leading: Any) -> Array:
        found = self._learners.spreads(i)
        return found if self._learners.shared else found[leading]

    # --- being told ---

    def learn(
        self, X: Any, Y: Array, weights: Array | None = None, given: Array | None = None
    ) -> Array:
        """Labels ``Y`` (b, t) of rows ``X`` (b, d), all of them or where ``given`` (b, s) is true.

        A row with a label is an answer, as long as rows that were asked about have none; beyond
        that it was never asked about, and is seen now.

        Returns
        -------
        array (b, t)
            Margins before they were learned.
        """
        if given is None:
            given = np.ones((Y.shape[0], self.labels.size), bool)
        rows = int(given.any(axis=1).sum())
        answers = min(rows, self._open)
        self._open, self._rounds = self._open - answers, self._rounds + rows - answers
        return self._walk(X, Y, given, weights)[0]

    def _told(self, i: int, y: Array, asked: Array, p: Array) -> None:
        self.labels = self.labels + asked
        known = np.full(y.size, True) if self.exclusive else asked
        self.positives = self.positives + (known & (y > 0))
        if self._learners.shared:
            self._learners.learn(i, 0, y, p)
            return
        wrong = known & (y * p <= 0) if self.rule.on_mistakes else known
        columns = wrong.nonzero()[0]
        if self.rule.on_mistakes and columns.size:
            self._note(i, y, p, columns)
        self._learners.learn_each(i, columns.tolist(), y, p)

    def _note(self, i: int, y: Array, p: Array, columns: Array) -> None:
        """Keep up wᵀAw = vᵀA⁻¹v and ln det(A/a) of the columns that are about to learn a row."""
        weight = self._learners.weight(i)
        r = weight * self._learners.spreads(i)[columns]
        y, p = np.sqrt(weight) * y[columns], np.sqrt(weight) * p[columns]
        energies, logarithms = self._energies.copy(), self._log_determinants.copy()
        energies[columns] += 2.0 * y * p + weight * r - np.square(p + y * r) / (1.0 + r)
        logarithms[columns] += np.log1p(r)
        self._energies, self._log_determinants = energies, logarithms
        self._updates = self._updates + np.isin(np.arange(self._updates.size), columns)

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

    def count_as(self, other: Sampler) -> None:
        """Have seen and asked as much as another one, which has learned the same."""
        self._rounds, self._open = other._rounds, other._open
        self.asked, self.offered = other.asked, other.offered

    def state(self) -> State:
        return {
            "learners": self._learners.state(),
            "rounds": int(self._rounds),
            "open": int(self._open),
            "asked": int(self.asked),
            "offered": int(self.offered),
            "labels": self.labels.copy(),
            "positives": self.positives.copy(),
            "energies": self._energies.copy(),
            "log_determinants": self._log_determinants.copy(),
            "updates": self._updates.copy(),
        }

    def restore(self, state: State) -> None:
        self._learners.restore(state["learners"])
        self._rounds, self._open = int(state["rounds"]), int(state["open"])
        self.asked, self.offered = int(state["asked"]), int(state["offered"])
        self.labels, self.positives = state["labels"].copy(), state["positives"].copy()
        self._energies = state["energies"].copy()
        self._log_determinants = state["log_determinants"].copy()
        self._updates = state["updates"].copy()


@dataclass(frozen=True)
class SamplingMethod(Method):
    """Labels are asked for by a rule, and those that were given are learned.

    Attributes
    ----------
    alpha : float
    rule : Rule
    new_classes : bool
        Whether classes may come later.
    """

    alpha: float
    rule: Rule
    new_classes: bool = False

    @property
    def seed(self) -> int | None:  # type: ignore[override]
        return self.rule.seed if isinstance(self.rule, Randomised) else None

    def seeded(self, seed: int) -> SamplingMethod:
        """The same with another seed of a rule that asks by chance."""
        assert isinstance(self.rule, Randomised)
        return replace(self, rule=Randomised(self.rule.b, seed, with_row=self.rule.with_row))

    def shared(self, targets: Any) -> bool:
        # all classes learn the same rows, and share A unless one may be added
        return not (self.rule.on_mistakes or self.new_classes or targets.multilabel)

    def engine(self, columns: int, targets: Any, learners: Callable[..., Learners]) -> Sampler:
        exclusive = not targets.multilabel and columns > 1
        if exclusive and isinstance(self.rule, Accepting):
            msg = (
                f"Only binary classification is supported: y has {targets.classes.size} classes, "
                "and an item is relevant or not. Give two classes, or an indicator matrix with a "
                "column for every filter"
            )
            raise ValueError(msg)
        return Sampler(learners(columns, self.alpha), self.rule, exclusive=exclusive)


def filter_history(
    relevant: Array, accepted: Array, utility: tuple[float, float]
) -> dict[str, Array]:
    """Sums and rates after each row, of truth values (n, s) in the order of the rows."""
    hits = (relevant & accepted).sum(axis=1).cumsum()
    found, taken = relevant.sum(axis=1).cumsum(), accepted.sum(axis=1).cumsum()
    worth, cost = utility
    return {
        "accepted": taken,
        "relevant": found,
        "hits": hits,
        "precision": hits / np.maximum(1, taken),
        "recall": hits / np.maximum(1, found),
        "f_measure": 2.0 * hits / np.maximum(1, taken + found),
        "utility": worth * hits - cost * (taken - hits),
    }
