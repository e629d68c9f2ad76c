"""Engines of a stream: incremental least squares, a comparison of ridges, and what makes one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array
from ..kernels import Kernel
from ..models import Hyperplane, KernelExpansion
from .dual import DualLearners
from .learners import Learners, State
from .rollback import Restorable

#: What ``alpha="auto"`` chooses among; of equal ones the first, which is the largest.
AUTO_RIDGES = (100.0, 10.0, 1.0, 0.1, 0.01)


class Engine(Restorable, ABC):
    """What a stream goes through: rows with their targets in, margins before they were seen out."""

    @property
    @abstractmethod
    def rounds(self) -> int:
        """Rows that were seen."""

    @property
    @abstractmethod
    def learners(self) -> Learners:
        """Those to predict with."""

    @property
    def columns(self) -> int:
        """Targets of a row."""
        return self.learners.columns

    @abstractmethod
    def learn(self, X: Any, Y: Array, weights: Array | None = None) -> Array:
        """Margins (b, t) of rows ``X`` (b, d), each predicted before its ``Y`` (b, t) was seen.

        ``weights`` (b,) are above zero.
        """

    def weights(self) -> Array:
        """To predict with: (d, t), or (points, t)."""
        return self.learners.weights()

    def model(self, kernel: Kernel, *, intercept: bool) -> Any:
        """What predicts; ``kernel`` is without the constant that an ``intercept`` is."""
        W, learners = self.weights(), self.learners
        t = W.shape[1]
        if isinstance(learners, DualLearners) and not learners.by_feature:
            intercepts = W.sum(axis=0) if intercept else np.zeros(t)
            points = learners.points
            rounds = np.array(points.rounds, int)
            return KernelExpansion(kernel, points.matrix().copy(), rounds, W, intercepts)
        return Hyperplane(W[:-1], W[-1]) if intercept else Hyperplane(W, np.zeros(t))

    @abstractmethod
    def add_class(self) -> Any:
        """One more class: a column that has never been right."""

    @abstractmethod
    def add_features(self, at: int, count: int) -> None:
        """So many features more, before that at place ``at``: they were zero in all rows so far."""

    def rounding(self) -> float:
        """About how much rounding may change what was learned, relatively."""
        return self.learners.rounding()

    @abstractmethod
    def state(self) -> State:
        """All there is."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Go on from what :meth:`state` gave."""


class ComparableEngine(Engine):
    """An engine that may stand beside others of its kind, and is compared with them."""

    @abstractmethod
    def learn_with_losses(self, X: Any, Y: Array, weights: Array | None) -> tuple[Array, Array]:
        """Margins (b, t), and the losses of each row (b, s), each column in its own unit."""

    def learn(self, X: Any, Y: Array, weights: Array | None = None) -> Array:
        return self.learn_with_losses(X, Y, weights)[0]

    @property
    @abstractmethod
    def losses(self) -> Array:
        """Sums over all rounds (s,): the less the better."""

    @property
    def compared(self) -> slice:
        """Columns of the losses that count."""
        return slice(None)

    @property
    def forgetting(self) -> float:
        """What losses so far are multiplied by with every row."""
        return 1.0

    @abstractmethod
    def add_class(self) -> list[int]:
        """One more class; for every column of the losses, which one it was before."""


class LearnersEngine(Engine):
    """An engine with learners of its own, which counts the rows it has seen."""

    def __init__(self, learners: Learners) -> None:
        self._learners = learners
        self._rounds = 0

    def parts(self) -> tuple[Restorable, ...]:
        return (self._learners,)

    @property
    def learners(self) -> Learners:
        return self._learners

    @property
    def rounds(self) -> int:
        return self._rounds

    def add_features(self, at: int, count: int) -> None:
        self._learners.add_features(at, count)


class RidgeComparison(Engine):
    """Several ridges in one pass; the one that has lost least so far counts.

    Losses are compared as shares of what all have lost, added up over their columns, so that it
    does not matter in which unit a column is. Of equal ones the first counts.

    **Cost**: that of all of them.

    Parameters
    ----------
    contenders : list of ComparableEngine
    late : bool
        Whether the i-th row counts i² in the comparison: the first rows, of which little can be
        known, say little about which ridge is best now.
    """

    def __init__(self, contenders: list[ComparableEngine], *, late: bool = False) -> None:
        self.contenders, self.late = contenders, late
        self._lost = np.array([each.losses for each in contenders])  # (k, s)

    def parts(self) -> tuple[Restorable, ...]:
        return tuple(self.contenders)

    @property
    def best(self) -> Any:
        """The contender that has lost least so far."""
        if len(self.contenders) == 1:
            return self.contenders[0]
        return self.contenders[int(self.shares().argmin())]

    def shares(self) -> Array:
        """What each has lost of what all have (k,), a mean over columns: the least counts."""
        return _shares(self._lost[:, self.contenders[0].compared]).mean(axis=-1)

    @property
    def learners(self) -> Learners:
        return self.best.learners

    @property
    def columns(self) -> int:
        return self.contenders[0].columns

    @property
    def rounds(self) -> int:
        return self.contenders[0].rounds

    def learn(self, X: Any, Y: Array, weights: Array | None = None) -> Array:
        first = self.contenders[0]
        if len(self.contenders) == 1:
            return first.learn(X, Y, weights)
        b, counts = Y.shape[0], np.ones(Y.shape[0])
        if self.late:
            counts = np.square(np.arange(first.rounds + 1.0, first.rounds + b + 1.0))
        told = [each.learn_with_losses(X, Y, weights) for each in self.contenders]
        losses = np.array([each for _, each in told]) * counts[:, None]  # (k, b, s)
        before = np.empty((b, *self._lost.shape))
        lost = self._lost
        for i in range(b):
            before[i] = lost
            lost = first.forgetting * lost + losses[:, i]
        self._lost = lost
        every = np.array([margins for margins, _ in told])  # (k, b, t)
        leading = _shares(before[:, :, first.compared]).mean(axis=-1).argmin(axis=1)
        return every[leading, np.arange(b)]

    def weights(self) -> Array:
        return self.best.weights()

    def add_class(self) -> None:
        for each in self.contenders:
            columns = each.add_class()
        self._lost = self._lost[:, columns]

    def add_features(self, at: int, count: int) -> None:
        for each in self.contenders:
            each.add_features(at, count)

    def rounding(self) -> float:
        return self.best.rounding()

    def state(self) -> State:
        return {"contenders": [each.state() for each in self.contenders], "lost": self._lost}

    def restore(self, state: State) -> None:
        for each, learned in zip(self.contenders, state["contenders"], strict=True):
            each.restore(learned)
        self._lost = state["lost"].copy()


def _shares(losses: Array) -> Array:
    """Losses (…, k, s) over what all k have lost; equal ones where that is nothing."""
    whole = losses.sum(axis=-2, keepdims=True)
    equal = np.full_like(losses, 1.0 / losses.shape[-2])
    return np.divide(losses, whole, out=equal, where=whole > 0)


class IncrementalEngine(LearnersEngine, ComparableEngine):
    """Incremental regularised least squares: every row is learned by all columns.

    Parameters
    ----------
    learners : Learners
        With a shared A. Where classes may be added the first column is that of a target of one for
        every row: a class that was never there has the opposite.
    spare : bool
        Whether it has that column.
    forgetting : float
        μ of the learners.

    Attributes
    ----------
    weight : float
        Rows, by their weights, in the sums of squares; earlier ones are forgotten as rows are.
    """

    def __init__(self, learners: Learners, *, spare: bool = False, forgetting: float = 1.0) -> None:
        super().__init__(learners)
        self._spare, self._forgetting = int(spare), forgetting
        self._squares = np.zeros(learners.columns)
        self.weight = 0.0

    @property
    def losses(self) -> Array:
        """Sums of squared errors before a row was learned, with that of the first column."""
        return self._squares

    def mean_squares(self) -> Array:
        """Of the errors before each row was learned (t,)."""
        squares = self._squares[self.compared]
        return squares / self.weight if self.weight > 0 else squares

    @property
    def compared(self) -> slice:
        return slice(self._spare, None)

    @property
    def columns(self) -> int:
        return self._learners.columns - self._spare

    @property
    def forgetting(self) -> float:
        return self._forgetting

    def learn_with_losses(self, X: Any, Y: Array, weights: Array | None) -> tuple[Array, Array]:
        learners = self._learners
        learners.block(X, weights)
        if self._spare:
            Y = np.hstack([np.ones((Y.shape[0], 1)), Y])
        errors = learners.learn_rows(Y)
        learners.release()
        squares, b, mu = np.square(errors), Y.shape[0], self._forgetting
        w = np.ones(b) if weights is None else weights
        if weights is not None:
            squares *= weights[:, None]
        if mu == 1.0:
            self._squares = self._squares + squares.sum(axis=0)
            self.weight += float(w.sum())
        else:
            faded = mu ** np.arange(b - 1, -1, -1.0)
            self._squares = mu**b * self._squares + faded @ squares
            self.weight = mu**b * self.weight + float(faded @ w)
        self._rounds += b
        return (Y - errors)[:, self._spare :], squares

    def weights(self) -> Array:
        return self._learners.weights()[:, self._spare :]

    def add_class(self) -> list[int]:
        learners, spare = self._learners, self._spare
        columns = list(range(learners.columns))
        if learners.columns == 1 + spare:
            learners.negate(spare)
            learners.add_column(spare, -1.0)
            columns.append(spare)
        learners.add_column(0, -1.0)
        columns.append(0)
        self._squares = self._squares[columns]
        return columns

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


class Method(ABC):
    """How a stream learns, as its parameters say: what makes its engine."""

    #: The only form there is for it; None: any.
    form: str | None = None
    #: Whether something is kept until what was learned is sure to stand.
    settles: ClassVar[bool] = False
    #: Of what it does by chance; None where it does nothing so.
    seed: int | None = None

    @abstractmethod
    def shared(self, targets: Any) -> bool:
        """Whether every learned row counts for all columns."""

    def matrices(self, targets: Any) -> int:
        """How many A there are."""
        return 1 if self.shared(targets) else targets.column_count

    @abstractmethod
    def engine(self, columns: int, targets: Any, learners: Callable[..., Learners]) -> Any:
        """What learns so many columns; ``learners`` makes them from columns, ridge and settings."""


@dataclass(frozen=True)
class IncrementalMethod(Method):
    """Every row is learned by all columns, with one ridge or several.

    Attributes
    ----------
    alphas : array (k,)
    forgetting : float
    new_classes : bool
        Whether classes may come later.
    """

    alphas: Array
    forgetting: float
    new_classes: bool = False

    @property
    def form(self) -> str | None:  # type: ignore[override]
        return "primal" if self.forgetting < 1 else None

    def shared(self, targets: Any) -> bool:
        return True

    def engine(self, columns: int, targets: Any, learners: Callable[..., Learners]) -> Any:
        spare = self.new_classes and not targets.multilabel
        fading = {"forgetting": self.forgetting} if self.forgetting < 1 else {}
        return RidgeComparison(
            [
                IncrementalEngine(
                    learners(columns + spare, float(alpha), **fading),
                    spare=spare,
                    forgetting=self.forgetting,
                )
                for alpha in self.alphas
            ],
            late=True,
        )


def ridges_of(alpha: Any) -> Array:
    """The ridges (k,) that ``alpha`` stands for; what is none is refused."""
    if isinstance(alpha, str) and alpha == "auto":
        return np.array(AUTO_RIDGES)
    try:
        found = np.atleast_1d(np.asarray(alpha, dtype=np.float64)).ravel()
        fits = found.size > 0 and bool((found > 0).all()) and bool(np.isfinite(found).all())
    except (TypeError, ValueError):
        fits = False
    if not fits:
        msg = f'alpha={alpha!r}: finite numbers above zero are expected, one or several, or "auto"'
        raise ValueError(msg)
    return found
