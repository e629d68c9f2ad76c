"""PoolLearner: learns the labels so far, and finds the rows of a pool whose label is worth asking.

It walks through a seeded order of the pool again and again, and asks where
:class:`~squareone.SelectiveSamplingClassifier` would; a pass in which it asks nothing is the last.
What it has learned depends on the labels and their order alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..estimators import RLSClassifier
from ..estimators.streaming import SelectiveSamplingClassifier
from .pool_features import BLOCK, PoolFeatures

__all__ = ["Candidate", "Guess", "PoolLearner", "RuleSettings", "StoppingFigures"]

#: Labels between two looks at the fixed rows, and those over which a change is told.
_STEP, _CHANGE = 25, 100
#: Rows of which it is asked whether the rule would ask, and rows whose predictions are compared.
REMAINING_ROWS, FIXED_ROWS = 1_000, 2_000
# Learned rows among which suspicious ones are looked for: their cost grows with the cube.
_SUSPECTS_OF = 3_000
# How often in the time in which t doubles a block is looked at again.
_PER_DOUBLING = 8
# Classes of which something can be learned.
_FEWEST_CLASSES = 2


@dataclass(frozen=True)
class RuleSettings:
    """How the rule asks.

    Attributes
    ----------
    strategy : {"deterministic", "randomized"}
    count : {"labels", "rarer"}
        What N counts: "rarer" goes on asking where a class is rare.
    k, b, alpha : float
        As in :class:`~squareone.SelectiveSamplingClassifier`.
    seed : int
    """

    strategy: str = "deterministic"
    count: str = "labels"
    k: float = 1.0
    b: float = 0.1
    alpha: float = 0.1
    seed: int = 0

    def model(self, kernel: Any) -> SelectiveSamplingClassifier:
        """A classifier that has learned nothing."""
        return SelectiveSamplingClassifier(
            kernel,
            self.alpha,
            strategy=self.strategy,
            k=self.k,
            b=self.b,
            count=self.count,
            form="dual",
        )


@dataclass(frozen=True)
class Candidate:
    """A row that the rule asks about.

    Attributes
    ----------
    place : int
        Of the row in the table.
    chance : float
        The probability with which it was asked: 1 for the deterministic rule.
    walk : int
        Which pass over the pool, from 1 on.
    at : int
        The place in the order of the pool.
    seen : int
        Rows that were looked at before, over all passes.
    labels : int
        Labels that were learned when it was chosen.
    """

    place: int
    chance: float
    walk: int
    at: int
    seen: int
    labels: int


@dataclass(frozen=True)
class Guess:
    """What a model says of a row: the label and its probability."""

    label: str
    probability: float


@dataclass(frozen=True)
class StoppingFigures:
    """How much is left to learn.

    Attributes
    ----------
    labels : int
        That were learned.
    would_ask : float or None
        The share of the remaining rows, or of 1,000 random ones, that would be asked about.
    looked_at : int
        How many these were.
    changed : float or None
        The share of predictions of 2,000 fixed rows that the last 100 labels changed; None before
        so many.
    fixed : int
        How many these were.
    """

    labels: int
    would_ask: float | None
    looked_at: int
    changed: float | None
    fixed: int


class PoolLearner:
    """A model of the labels so far, and a walk through the rows that have none.

    Parameters
    ----------
    features : PoolFeatures
    rule : RuleSettings

    Attributes
    ----------
    walk, at, seen : int
        Where the walk is: the pass, the place in the order, and rows seen over all passes.
    ended : bool
        Whether a whole pass asked nothing.
    """

    def __init__(self, features: PoolFeatures, rule: RuleSettings) -> None:
        self.features, self.rule = features, rule
        self.order = features.order
        self.pairs: list[tuple[int, str]] = []
        self.classes: list[str] = []
        self.settled: set[int] = set()
        self._apart: set[int] = set()  # settled whatever is learned
        self.model: SelectiveSamplingClassifier | None = None
        self.walk, self.at, self.seen = 1, 0, 0
        self.asked_in_walk = 0
        self.ended = False
        self._snapshots: dict[int, Array] = {}
        self._fixed: Any = None
        self._chances: tuple[tuple[int, int, int], Array] | None = None

    # --- learning ---

    def go_to(self, walk: int, at: int, seen: int, asked: int) -> None:
        """Go on with the walk from a place."""
        self.walk, self.at, self.seen, self.asked_in_walk = walk, at, seen, asked
        self.ended = False

    def update(
        self,
        pairs: Sequence[tuple[int, str]],
        classes: Sequence[str],
        settled: Mapping[int, bool] | None = None,
    ) -> None:
        """Know these labels (place, label), in their order, and nothing else.

        Parameters
        ----------
        pairs : sequence of (int, str)
        classes : sequence of str
        settled : dict of int to bool, optional
            Rows that are not to be asked from now on (True), or again (False); others stay as they
            were. Rows with a label that is learned are never asked.
        """
        pairs, classes = list(pairs), list(classes)
        same = self.classes == classes
        begun = len(self.pairs)
        known = pairs[:begun] == self.pairs
        for place, is_settled in (settled or {}).items():
            (self._apart.add if is_settled else self._apart.discard)(place)
            (self.settled.add if is_settled else self.settled.discard)(place)
        if known:
            self.settled.update(place for place, _ in pairs[begun:])
        else:
            self.settled = self._apart | {place for place, _ in pairs}
        if same and known and len(pairs) == begun:
            return
        if self.ended:  # something is new: look again
            self.go_to(self.walk + 1, 0, self.seen, 0)
        self._chances = None
        if not (same and known and self.model is not None):
            self.model, self._snapshots, begun = None, {}, 0
        self.pairs, self.classes = pairs, classes
        if len(classes) < _FEWEST_CLASSES:
            return
        while begun < len(pairs):
            end = min(len(pairs), begun - begun % _STEP + _STEP)
            part = pairs[begun:end]
            X = self.features.rows([place for place, _ in part])
            if self.model is None:
                self.model = self.rule.model(self.features.kernel)
                self.model.start(np.array(classes, dtype=object), X.shape[1])
            self.model.partial_fit(X, np.array([label for _, label in part], dtype=object))
            begun = end
            if not begun % _STEP:
                self._snapshots[begun] = self.predict_fixed()
                self._snapshots.pop(begun - _CHANGE - _STEP, None)

    @property
    def begun(self) -> bool:
        """Whether two classes have a label, from which on predictions mean something."""
        return self.model is not None and len({label for _, label in self.pairs}) > 1

    def predict_fixed(self) -> Array:
        """Predictions of rows that stay the same ones, as texts."""
        assert self.model is not None
        if self._fixed is None:
            rng = np.random.default_rng([self.rule.seed, 1])
            count = min(FIXED_ROWS, self.order.size)
            self._fixed = self.features.rows(rng.choice(self.order, count, replace=False))
        return self.model.predict(self._fixed)

    # --- asking ---

    def candidates(self, wanted: int, blocks: int | None = None) -> list[Candidate]:
        """The next rows that are worth asking; fewer where the walk ends.

        Parameters
        ----------
        wanted : int
        blocks : int, optional
            Blocks of rows that are looked at most; by default as many as it takes.

        Returns
        -------
        list of Candidate

        Notes
        -----
        **Cost**: a margin for every row that is looked at.
        """
        found: list[Candidate] = []
        while len(found) < wanted and not self.ended and blocks != 0:
            if self.at >= self.order.size:
                self._next_walk()
                continue
            number = self.at // BLOCK
            chances = self._block_chances(number)
            draws = self._draws(number)
            stop = min((number + 1) * BLOCK, self.order.size)
            while self.at < stop and len(found) < wanted:
                place, chance = int(self.order[self.at]), float(chances[self.at - number * BLOCK])
                asked = draws[self.at - number * BLOCK] < chance and place not in self.settled
                if asked:
                    n = len(self.pairs)
                    found.append(Candidate(place, chance, self.walk, self.at, self.seen, n))
                    self.asked_in_walk += 1
                self.at += 1
                self.seen += place not in self.settled
            if blocks is not None and self.at >= stop:
                blocks -= 1
        return found

    def _next_walk(self) -> None:
        if self.asked_in_walk == 0:
            self.ended = True
            return
        self.walk, self.at, self.asked_in_walk = self.walk + 1, 0, 0

    def _block_chances(self, number: int) -> Array:
        """With which probability each row of a block is asked, by the present model."""
        # ln t moves slowly: as long as t has grown by less than a tenth, it is taken as it was
        key = self.walk, number, int(_PER_DOUBLING * np.log2(self.seen + 1))
        if self._chances is not None and self._chances[0] == key:
            return self._chances[1]
        if self.begun:
            assert self.model is not None
            found = self.model.query_probability(self.features.block(number), max(self.seen, 1))
        else:  # whatever it is, it is worth asking
            found = np.ones(min(BLOCK, self.order.size - number * BLOCK))
        self._chances = key, found
        return found

    def _draws(self, number: int) -> Array:
        return np.random.default_rng([self.rule.seed, 2, self.walk, number]).random(BLOCK)

    # --- what is known ---

    def guess(self, place: int) -> Guess | None:
        """What the model says of a row; None before two classes have a label."""
        if not self.begun:
            return None
        assert self.model is not None
        shares = self.model.predict_proba(self.features.rows([place]))[0]
        best = int(shares.argmax())
        return Guess(str(self.model.classes_[best]), float(shares[best]))

    def predict(self, places: Sequence[int]) -> list[str] | None:
        """Labels of rows; None before two classes have a label."""
        if not self.begun:
            return None
        assert self.model is not None
        return [str(label) for label in self.model.predict(self.features.rows(places))]

    def figures(self) -> StoppingFigures:
        """How much is left to learn."""
        if not self.begun:
            return StoppingFigures(len(self.pairs), None, 0, None, 0)
        assert self.model is not None
        rng = np.random.default_rng([self.rule.seed, 3, len(self.pairs)])
        left = self.order[~np.isin(self.order, list(self.settled))]
        some = rng.choice(left, min(REMAINING_ROWS, left.size), replace=False)
        asked = None
        if some.size:
            rows = self.features.rows(some)
            asked = float(self.model.query_probability(rows, max(self.seen, 1)).mean())
        last = max(self._snapshots, default=0)
        before, now = self._snapshots.get(last - _CHANGE), self._snapshots.get(last)
        changed = None if before is None or now is None else float((before != now).mean())
        fixed = 0 if now is None else now.size
        return StoppingFigures(len(self.pairs), asked, int(some.size), changed, fixed)

    def suspects(self, count: int) -> list[int]:
        """Learned rows whose labels the others believe least, as places, the worst first.

        Notes
        -----
        **Cost**: a fit to at most 3,000 labels, the last ones, in n³/3 flops for every λ.
        """
        pairs = self.pairs[-_SUSPECTS_OF:]
        labels = [label for _, label in pairs]
        if len(set(labels)) < _FEWEST_CLASSES:
            return []
        places = np.array([place for place, _ in pairs])
        model = RLSClassifier(self.features.kernel, random_state=0)
        model.fit(self.features.rows(places), np.array(labels))
        found = model.suspicious_rows(min(count, places.size))
        return [int(place) for place in places[found]]
