"""Which point comes next: where the residual is largest, or where most is gained."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, blocks
from .basis import Basis, Ready
from .kernel_columns import Columns
from .largest_residual import Residual
from .prefetched_columns import Waiting

# Columns that are made orthogonal together: the largest residuals of now are among those of the
# next steps, and a product with a block of columns takes hardly longer than with one.
_POOL = 16
# Columns that may wait until their points have the largest residual: nearly all do in the end.
_WAITING = 80
# Kernel values that are looked at together.
_BLOCK = 4_194_304


@dataclass
class State:
    """Where a fit stands, for whoever chooses the next center.

    Attributes
    ----------
    basis : Basis
    residual : Residual
        Of the regularised fit, not scaled by weights.
    unexplained : array (n, t)
        Of the unregularised one, scaled: orthogonal to the basis.
    penalty : float
        λ.
    """

    basis: Basis
    residual: Residual
    unexplained: Array
    penalty: float


@dataclass
class Choice:
    """A center: its candidate number, and its column less what the basis has of it."""

    candidate: int
    rest: Array
    within: Array
    repeats: int


class Chooser(ABC):
    """Proposes centers, none twice, and none whose column depends on those of the others.

    Parameters
    ----------
    columns : Columns
    subset : int or None
        So many random candidates at every step; None means all.
    rng : RandomState
    """

    def __init__(self, columns: Columns, subset: int | None, rng: np.random.RandomState) -> None:
        self.columns = columns
        self.open = np.ones(columns.count, bool)
        self.skipped = 0
        self._subset, self._rng = subset, rng
        # a column that keeps less of its length is a sum of others, and rounding
        self._least = 16.0 * float(np.sqrt(columns.n) * np.finfo(columns.dtype).eps)

    @abstractmethod
    def next(self, state: State) -> Choice | None:
        """The next center; None where no candidate is left."""

    def learned(self, q: Array, projection: Array) -> None:  # noqa: B027
        """Told of the column (n,) that was appended, and of its product with the targets (t,)."""

    def _drawn(self) -> Array:
        """The open candidates, or some random ones of them."""
        there = np.flatnonzero(self.open)
        if self._subset is None or self._subset >= there.size:
            return there
        return np.sort(self._rng.choice(there, self._subset, replace=False))

    def _best_of(self, state: State, ready: Ready, numbers: Array) -> Choice | None:
        """The one of some columns that reduces the regularised loss most."""
        squares = np.square(np.linalg.norm(ready.rest, axis=0).astype(np.float64))
        short = squares <= np.square(self._least * ready.lengths)
        if short.any():
            self.open[numbers[short]] = False
            self.skipped += int(short.sum())
        if short.all():
            return None
        products = ready.rest.T.astype(np.float64, copy=False) @ state.unexplained
        gains = np.where(short, -1.0, gain(products, squares, state.penalty))
        j = int(np.argmax(gains))
        self.open[numbers[j]] = False
        return Choice(
            candidate=int(numbers[j]),
            rest=ready.rest[:, j],
            within=ready.within[:, j],
            repeats=int(ready.repeats[j]),
        )


def gain(products: Array, squares: Array, penalty: float) -> Array:
    """By how much a column reduces the regularised loss: Σ_t (yᵀq)²/(λ + qᵀq), for (c, t), (c,)."""
    below = penalty + squares
    above = np.square(products).sum(axis=1)
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


class LargestResidual(Chooser):
    """The point with the largest residual, and the kernel that gains most there.

    **Cost**: 4nm flops for the column of a step, most of them in products for several of them;
    columns that wait, n numbers each.
    """

    def __init__(self, columns: Columns, subset: int | None, rng: np.random.RandomState) -> None:
        super().__init__(columns, subset, rng)
        self._kernels = len(columns.kernels)
        together = min(_POOL, _WAITING) // self._kernels
        self._together = 1 if subset is not None else max(1, together)
        self._waiting = Waiting(_WAITING)

    def next(self, state: State) -> Choice | None:
        """See :class:`Chooser`."""
        n = self.columns.n
        while self.open.any():
            points: Array = np.any(self.open.reshape(-1, n), axis=0)
            if self._subset is not None:
                points = np.isin(np.arange(n), self._drawn() % n)
            point = state.residual.largest(points)
            if point not in self._waiting:
                self._prepare(state, point, points)
            numbers, ready = self._waiting.take(point)
            state.basis.advance(ready)
            found = self._best_of(state, ready, numbers)
            others = np.flatnonzero(self.open[numbers])
            if others.size:
                self._waiting.put(point, numbers[others], ready.part(others))
            if found is not None:
                return found
        return None

    def _prepare(self, state: State, point: int, points: Array) -> None:
        """Make the columns of a point orthogonal, with those that are likely to come next."""
        n, sizes = self.columns.n, state.residual.sizes
        scores = np.where(points, sizes, -1.0)
        scores[self._waiting.points()] = -1.0
        scores[point] = np.inf
        most = min(self._together, int(np.count_nonzero(scores >= 0)))
        largest = np.argpartition(-scores, most - 1)[:most]
        numbers = (largest[:, None] + n * np.arange(self._kernels)).ravel()
        numbers = numbers[self.open[numbers]]
        self._waiting.make_room(numbers.size, sizes)
        ready = state.basis.prepare(self.columns.of(numbers))
        for each in largest.tolist():
            own = np.flatnonzero(numbers % n == each)
            self._waiting.put(each, numbers[own], ready.part(own))


class LargestGain(Chooser):
    """The candidate, point and kernel, that reduces the regularised loss most.

    For all candidates, products and lengths are kept up to date: every step evaluates all their
    columns once more, n·d multiplications each, and keeps none. Random ones are made orthogonal to
    the basis at every step.
    """

    def __init__(self, columns: Columns, subset: int | None, rng: np.random.RandomState) -> None:
        super().__init__(columns, subset, rng)
        self._products: Array | None = None
        self._squares = self._lengths = np.empty(0)

    def next(self, state: State) -> Choice | None:
        """See :class:`Chooser`."""
        if self._subset is None and self._products is None:
            self._begin(state)
        while self.open.any():
            numbers = self._drawn() if self._subset else self._likely(state)
            if numbers.size == 0:
                return None
            ready = state.basis.prepare(self.columns.of(numbers))
            found = self._best_of(state, ready, numbers)
            if found is not None:
                return found
        return None

    def _likely(self, state: State) -> Array:
        """The best of all candidates by what was kept up to date."""
        assert self._products is not None
        doubtful = self._squares <= 32.0 * np.finfo(self.columns.dtype).eps * self._lengths
        gains = gain(self._products, np.maximum(self._squares, 0.0), state.penalty)
        gains[doubtful | ~self.open] = -1.0
        best = int(np.argmax(gains))
        return np.array([best]) if gains[best] >= 0 else np.empty(0, int)

    def _begin(self, state: State) -> None:
        count, t = self.columns.count, state.unexplained.shape[1]
        self._products, self._squares = np.empty((count, t)), np.empty(count)
        for part, K in self._walk():
            self._products[part] = K.T.astype(np.float64) @ state.unexplained
            self._squares[part] = np.square(K, dtype=np.float64).sum(axis=0)
        self._lengths = self._squares.copy()
        for j in range(state.basis.size):
            self.learned(state.basis.directions[:, j], np.zeros(t))

    def learned(self, q: Array, projection: Array) -> None:
        """Take off what the new column has of every candidate's."""
        if self._products is None:
            return
        for part, K in self._walk():
            within = (q @ K).astype(np.float64)
            self._squares[part] -= np.square(within)
            self._products[part] -= np.outer(within, projection)

    def _walk(self) -> Iterator[tuple[slice, Array]]:
        for part in blocks(self.columns.count, max(1, _BLOCK // self.columns.n)):
            yield part, self.columns.of(np.arange(part.start, part.stop))


#: Rules by name.
CHOOSERS: dict[str, type[Chooser]] = {"residual": LargestResidual, "greedy": LargestGain}
