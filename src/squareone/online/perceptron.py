"""A second-order perceptron under way: what it has learned, and what it got wrong."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .hypotheses import Hypotheses
from .learners import Learners, State


def wrong_share(margins: Array, targets: Array, *, exclusive: bool) -> Array:
    """The loss of margins (…, t) for targets (…, t) of ±1: 0 or 1, or the share of wrong labels.

    ``exclusive`` says that the largest column wins. A margin of zero is wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.online import wrong_share
    >>> margins, targets = np.array([[0.3, -0.1]]), np.array([[1.0, 1.0]])
    >>> wrong_share(margins, targets, exclusive=False)
    array([0.5])
    """
    if exclusive:
        right = np.argmax(margins, axis=-1) == np.argmax(targets, axis=-1)
        return 1.0 - right
    return np.mean(margins * targets <= 0, axis=-1)


class Run:
    """Learners, each of which learns the rows that it gets wrong.

    Parameters
    ----------
    learners : Learners
        With a group for every column.
    hypotheses : Hypotheses
    exclusive : bool
        Whether the columns are classes of which the largest wins.

    Attributes
    ----------
    rounds : int
    loss : float
        The sum over all rounds, as :func:`wrong_share`.
    updates : array (t,)
        Rows that each column has learned.
    """

    def __init__(self, learners: Learners, hypotheses: Hypotheses, *, exclusive: bool) -> None:
        self.learners, self.hypotheses, self.exclusive = learners, hypotheses, exclusive
        self.rounds = 0
        self.loss = 0.0
        self.updates = np.zeros(learners.columns, np.int64)

    def step(self, i: int, y: Array) -> Array:
        """Predict row i of the block, then see ``y`` (t,) of ±1; return the margins (t,)."""
        learners = self.learners
        p = learners.margins(i)
        self.rounds += 1
        wrong = (y * p <= 0).nonzero()[0]
        if self.exclusive:
            self.loss += float(p.argmax() != y.argmax())
        else:
            self.loss += wrong.size / p.size
        if wrong.size:
            self.hypotheses.before(learners, self.rounds)
            for column in wrong.tolist():
                learners.learn(i, column, y[column : column + 1])
            self.updates[wrong] += 1
            self.hypotheses.after(learners, self.rounds, i)
        return p

    def end_of_block(self, Y: Array) -> None:
        """All rows of the block, with targets ``Y`` (b, t), were seen."""
        self.hypotheses.end_of_block(self.learners, Y, self._losses)
        self.learners.release()

    def _losses(self, margins: Array, targets: Array) -> Array:
        return wrong_share(margins, targets, exclusive=self.exclusive)

    def weights(self) -> Array:
        """To predict with."""
        return self.hypotheses.chosen(self.learners, self.rounds)

    def state(self) -> State:
        """All there is."""
        return {
            "learners": self.learners.state(),
            "hypotheses": self.hypotheses.state(),
            "rounds": int(self.rounds),
            "loss": float(self.loss),
            "updates": self.updates.copy(),
        }

    def restore(self, state: State) -> None:
        """Go on from there."""
        self.learners.restore(state["learners"])
        self.hypotheses.restore(state["hypotheses"])
        self.rounds, self.loss = int(state["rounds"]), float(state["loss"])
        self.updates = state["updates"].copy()
