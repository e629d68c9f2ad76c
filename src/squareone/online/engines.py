"""Ways to learn from a block of rows: on mistakes, for several ridges at once, or on every row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..arrays import Array
from ..threads import one_thread
from .learners import Learners, State
from .perceptron import Run


class Engine(ABC):
    """What a stream goes through: rows with their targets in, margins before they were seen out."""

    @property
    @abstractmethod
    def rounds(self) -> int:
        """Rows that were seen."""

    @property
    @abstractmethod
    def learners(self) -> Learners:
        """Those to predict with."""

    @abstractmethod
    def learn(self, X: Any, Y: Array) -> Array:
        """Margins (b, t) of rows ``X`` (b, d), each predicted before its ``Y`` (b, t) was seen."""

    def weights(self) -> Array:
        """To predict with: (d, t), or (points, t)."""
        return self.learners.weights()

    @abstractmethod
    def add_class(self) -> None:
        """One more class: a column that has never been right."""

    @abstractmethod
    def state(self) -> State:
        """All there is."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Go on from what :meth:`state` gave."""


class SideBySide(Engine):
    """Second-order perceptrons with several ridges in one pass; the one that erred least counts."""

    def __init__(self, runs: list[Run]) -> None:
        self.runs = runs

    @property
    def best(self) -> Run:
        """The run of the least loss so far; the first of several."""
        return min(self.runs, key=lambda run: run.loss)

    @property
    def learners(self) -> Learners:
        return self.best.learners

    @property
    def rounds(self) -> int:
        return self.runs[0].rounds

    def learn(self, X: Any, Y: Array) -> Array:
        margins = np.empty_like(Y)
        for run in self.runs:
            run.learners.block(X)
        single = len(self.runs) == 1
        with one_thread():
            for i in range(Y.shape[0]):
                best = self.runs[0] if single else self.best
                for run in self.runs:
                    p = run.step(i, Y[i])
                    if run is best:
                        margins[i] = p
        for run in self.runs:
            run.end_of_block(Y)
        return margins

    def weights(self) -> Array:
        return self.best.weights()

    def add_class(self) -> None:
        for run in self.runs:
            if run.learners.columns == 1:  # of two classes: the second has the column
                run.learners.negate(0)
                run.learners.add_column(0, -1.0)
                run.hypotheses.split()
                run.updates = np.repeat(run.updates, 2)
                run.exclusive = True
            run.learners.add_column(None, 1.0)
            run.updates = np.append(run.updates, 0)

    def state(self) -> State:
        return {"runs": [run.state() for run in self.runs]}

    def restore(self, state: State) -> None:
        for run, each in zip(self.runs, state["runs"], strict=True):
            run.restore(each)


class Always(Engine):
    """Incremental regularised least squares: every row is learned by all columns.

    Parameters
    ----------
    learners : Learners
        With a shared A. Where classes may be added the first column is that of a target of one for
        every row: a class that was never there has the opposite.
    spare : bool
        Whether it has that column.

    Attributes
    ----------
    squares : array (t,)
        Sums of the squared errors before a row was learned; earlier ones are forgotten as rows are.
    weight : float
        Rows in these sums.
    """

    def __init__(self, learners: Learners, *, spare: bool = False, forgetting: float = 1.0) -> None:
        self._learners, self._spare, self._forgetting = learners, int(spare), forgetting
        self._rounds = 0
        self._squares = np.zeros(learners.columns)
        self.weight = 0.0

    @property
    def squares(self) -> Array:
        """Of the columns that are targets."""
        return self._squares[self._spare :]

    @property
    def learners(self) -> Learners:
        return self._learners

    @property
    def rounds(self) -> int:
        return self._rounds

    def learn(self, X: Any, Y: Array) -> Array:
        learners = self._learners
        learners.block(X)
        if self._spare:
            Y = np.hstack([np.ones((Y.shape[0], 1)), Y])
        errors = learners.learn_rows(Y)
        learners.release()
        margins = (Y - errors)[:, self._spare :]
        b, mu = Y.shape[0], self._forgetting
        faded = mu ** np.arange(b - 1, -1, -1.0)
        self._squares = mu**b * self._squares + faded @ np.square(errors)
        self.weight = mu**b * self.weight + float(faded.sum())
        self._rounds += b
        return margins

    def weights(self) -> Array:
        return self._learners.weights()[:, self._spare :]

    def add_class(self) -> None:
        learners, spare = self._learners, self._spare
        if learners.columns == 1 + spare:
            learners.negate(spare)
            learners.add_column(spare, -1.0)
            self._squares = np.append(self._squares, self._squares[spare])
        learners.add_column(0, -1.0)
        self._squares = np.append(self._squares, self._squares[0])

    def state(self) -> State:
        return {
            "learners": self._learners.state(),
            "rounds": int(self._rounds),
            "squares": self._squares.copy(),
            "weight": float(self.weight),
        }

    def restore(self, state: State) -> None:
        self._learners.restore(state["learners"])
        self._rounds, self.weight = int(state["rounds"]), float(state["weight"])
        self._squares = state["squares"].copy()
