"""The second-order perceptron: the engine that learns the rows it got wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..threads import one_thread
from .engines import ComparableEngine, LearnersEngine, Method, RidgeComparison
from .hypotheses import Average, Hypotheses, Penalised
from .learners import Learners, State
from .rollback import Restorable


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


class PerceptronEngine(LearnersEngine, ComparableEngine):
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
    loss : float
        The sum over all rounds, as :func:`wrong_share`.
    updates : array (t,)
        Rows that each column has learned.
    """

    def __init__(self, learners: Learners, hypotheses: Hypotheses, *, exclusive: bool) -> None:
        super().__init__(learners)
        self.hypotheses, self.exclusive = hypotheses, exclusive
        self.loss = 0.0
        self.updates = np.zeros(learners.columns, np.int64)

    def parts(self) -> tuple[Restorable, ...]:
        if type(self.hypotheses) is Hypotheses:  # which has nothing
            return super().parts()
        return (*super().parts(), self.hypotheses)

    @property
    def losses(self) -> Array:
        return np.array([self.loss])

    def learn_with_losses(self, X: Any, Y: Array, weights: Array | None) -> tuple[Array, Array]:
        self._learners.block(X, weights)
        margins, losses = np.empty_like(Y), np.empty((Y.shape[0], 1))
        with one_thread():
            for i in range(Y.shape[0]):
                margins[i], losses[i] = self._step(i, Y[i])
        self.hypotheses.end_of_block(self._learners, Y, self._loss_of)
        self._learners.release()
        return margins, losses

    def _step(self, i: int, y: Array) -> tuple[Array, float]:
        """Predict row i of the block, then see ``y`` (t,) of ±1: the margins (t,) and the loss."""
        learners = self._learners
        p = learners.margins(i)
        self._rounds += 1
        mistaken = y * p <= 0
        wrong = mistaken.nonzero()[0]
        loss = float(p.argmax() != y.argmax()) if self.exclusive else wrong.size / p.size
        self.loss += loss
        if wrong.size:
            self.hypotheses.before(learners, self._rounds)
            learners.learn_each(i, wrong.tolist(), y, p)
            self.updates = self.updates + mistaken
            self.hypotheses.after(learners, self._rounds, i)
        return p, loss

    def _loss_of(self, margins: Array, targets: Array) -> Array:
        return wrong_share(margins, targets, exclusive=self.exclusive)

    def weights(self) -> Array:
        """To predict with."""
        return self.hypotheses.chosen(self._learners, self._rounds)

    def add_class(self) -> list[int]:
        if self._learners.columns == 1:  # of two classes: the second has the column
            self._learners.negate(0)
            self._learners.add_column(0, -1.0)
            self.hypotheses.split()
            self.updates = np.repeat(self.updates, 2)
            self.exclusive = True
        self._learners.add_column(None, 1.0)
        self.updates = np.append(self.updates, 0)
        return [0]

    def add_features(self, at: int, count: int) -> None:
        if self._learners.by_feature:
            self.hypotheses.add_features(at, count)
        super().add_features(at, count)

    def state(self) -> State:
        """All there is."""
        return {
            "learners": self._learners.state(),
            "hypotheses": self.hypotheses.state(),
            "rounds": int(self._rounds),
            "loss": float(self.loss),
            "updates": self.updates.copy(),
        }

    def restore(self, state: State) -> None:
        """Go on from there."""
        self._learners.restore(state["learners"])
        self.hypotheses.restore(state["hypotheses"])
        self._rounds, self.loss = int(state["rounds"]), float(state["loss"])
        self.updates = state["updates"].copy()


@dataclass(frozen=True)
class PerceptronMethod(Method):
    """Each column learns the rows that it got wrong, with one ridge or several.

    Attributes
    ----------
    alphas : array (k,)
    hypothesis : {"last", "average", "penalised"}
    delta : float
        Of the penalised risk estimate.
    """

    alphas: Array
    hypothesis: str
    delta: float

    def shared(self, targets: Any) -> bool:
        return False

    def engine(self, columns: int, targets: Any, learners: Callable[..., Learners]) -> Any:
        exclusive = not targets.multilabel and columns > 1
        return RidgeComparison(
            [
                PerceptronEngine(
                    learners(columns, float(alpha)), self._hypotheses(), exclusive=exclusive
                )
                for alpha in self.alphas
            ]
        )

    def _hypotheses(self) -> Hypotheses:
        if self.hypothesis == "average":
            return Average()
        return Penalised(self.delta) if self.hypothesis == "penalised" else Hypotheses()
