"""The hypotheses of a run, and which of them to predict with: the last, their average, the best."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array
from .learners import Learners, State
from .mistake_bounds import penalised_risks
from .rollback import Restorable, grown, inserted

#: The loss of margins (…, t), for targets (…, t): between 0 and 1.
Loss = Callable[[Array, Array], Array]


class Hypotheses(Restorable):
    """What is remembered of the hypotheses a run goes through: nothing, the last one is there."""

    def before(self, learners: Learners, rounds: int) -> None:
        """The hypothesis is about to change, in this round."""

    def after(self, learners: Learners, rounds: int, i: int) -> None:
        """It has changed, by row i of the block."""

    def end_of_block(self, learners: Learners, Y: Array, loss: Loss) -> None:
        """All rows of the block were seen; ``Y`` (b, t)."""

    def split(self) -> None:
        """The only column became two: that of the opposite targets, and itself."""

    def add_features(self, at: int, count: int) -> None:
        """Weights of so many features more, at a place: they were zero."""

    def chosen(self, learners: Learners, rounds: int) -> Array:
        """Weights to predict with."""
        return learners.weights()

    def state(self) -> State:
        """All there is."""
        return {}

    def restore(self, state: State) -> None:
        """Go on from there."""


class Average(Hypotheses):
    """The mean over all rounds of the weights that were used in them. Cost: dt for a change."""

    def __init__(self) -> None:
        self._total = np.zeros((0, 0))
        self._since = 0

    def before(self, learners: Learners, rounds: int) -> None:
        W = learners.weights()
        total = grown(self._total, W.shape).copy()
        total[: W.shape[0], : W.shape[1]] += (rounds - self._since) * W
        self._total, self._since = total, rounds

    def split(self) -> None:
        self._total = np.hstack([-self._total[:, :1], self._total[:, :1]])

    def add_features(self, at: int, count: int) -> None:
        if self._total.size:
            self._total = inserted(self._total, at, count, 0)

    def chosen(self, learners: Learners, rounds: int) -> Array:
        W = learners.weights()
        total = grown(self._total, W.shape)[: W.shape[0], : W.shape[1]]
        return (total + (rounds - self._since) * W) / max(1, rounds)

    def state(self) -> State:
        return {"total": self._total, "since": int(self._since)}

    def restore(self, state: State) -> None:
        self._total, self._since = state["total"].copy(), int(state["since"])


class Penalised(Hypotheses):
    """All of them, each with its losses on the rounds after it was made.

    **Cost**: the margins of every hypothesis for every row; dt numbers for each hypothesis.
    """

    containers = ("made", "_weights", "_rows")

    def __init__(self, delta: float) -> None:
        self.delta = delta
        self.made: list[int] = [0]  # rounds there had been
        self.losses = np.zeros(1)
        self._weights: list[Array] = []
        self._rows: list[int] = []  # of the block, by which they were made; −1: before it

    def before(self, learners: Learners, rounds: int) -> None:
        if not self._weights:
            self._weights.append(np.zeros_like(learners.weights()))
            self._rows.append(-1)

    def after(self, learners: Learners, rounds: int, i: int) -> None:
        self.made.append(rounds)
        self._weights.append(learners.weights().copy())
        self._rows.append(i)
        self.losses = np.append(self.losses, 0.0)

    def end_of_block(self, learners: Learners, Y: Array, loss: Loss) -> None:
        if not self._weights:
            self.before(learners, 0)
        later = np.arange(Y.shape[0])[:, None] > np.array(self._rows)
        t, losses = Y.shape[1], self.losses.copy()
        for k, W in enumerate(self._weights):
            if later[:, k].any():
                margins = np.zeros((Y.shape[0], t))
                found = learners.block_margins(W)
                margins[:, : found.shape[1]] = found
                losses[k] += float(loss(margins, Y)[later[:, k]].sum())
        self.losses, self._rows = losses, [-1] * len(self._rows)

    def split(self) -> None:
        self._weights = [np.hstack([-W, W]) for W in self._weights]

    def add_features(self, at: int, count: int) -> None:
        self._weights = [inserted(W, at, count, 0) for W in self._weights]

    def risks(self, rounds: int) -> Array:
        """The penalised risk estimate of every hypothesis."""
        return penalised_risks(self.losses, np.array(self.made), rounds, self.delta)

    def chosen(self, learners: Learners, rounds: int) -> Array:
        W = learners.weights()
        if not self._weights:
            return W
        best = self._weights[int(np.argmin(self.risks(rounds)))]
        found = np.zeros_like(W)
        found[: best.shape[0], : best.shape[1]] = best
        return found

    def state(self) -> State:
        return {
            "made": np.array(self.made, np.int64),
            "losses": self.losses,
            "weights": list(self._weights),
        }

    def restore(self, state: State) -> None:
        self.made, self.losses = state["made"].tolist(), state["losses"].copy()
        self._weights = [W.copy() for W in state["weights"]]
        self._rows = [-1] * len(self._weights)
