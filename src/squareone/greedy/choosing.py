"""Which point comes next: where the residual is largest, or where most is gained."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, blocks
from .basis import Basis, Ready
from .columns import Columns

# Points whose columns are made orthogonal together: the largest residuals of now are among those of
# the next steps, and a product with a block of columns takes hardly longer than with one.
_POOL = 16
# Kernel values that are looked at together.
_BLOCK = 4_194_304


@dataclass
class State:
    """Where a fit stands, for whoever chooses the next center.

    Attributes
    ----------
    basis : Basis
    residual : array (n, t)
        Of the regularised fit, not scaled by weights.
    unexplained : array (n, t)
        Of the unregularised one, scaled: orthogonal to the basis.
    penalty : float
        λ.
    """

    basis: Basis
    residual: Array
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

    def _best_of(self, state: State, ready: Ready, which: slice, numbers: Array) -> Choice | None:
        """The one of some columns that reduces the regularised loss most."""
        rest = ready.rest[:, which]
        squares = np.square(np.linalg.norm(rest, axis=0).astype(np.float64))
        short = squares <= np.square(self._least * ready.lengths[which])
        if short.any():
            self.open[numbers[short]] = False
            self.skipped += int(short.sum())
        if short.all():
            return None
        products = rest.T.astype(np.float64) @ state.unexplained
        gains = np.where(short, -1.0, gain(products, squares, state.penalty))
        j = int(np.argmax(gains))
        self.open[numbers[j]] = False
        place = which.start + j
        return Choice(
            int(numbers[j]), rest[:, j], ready.within[:, place], int(ready.repeats[place])
        )


def gain(products: Array, squares: Array, penalty: float) -> Array:
    """By how much a column reduces the regularised loss: Σ_t (yᵀq)²/(λ + qᵀq), for (c, t), (c,)."""
    below = penalty + squares
    above = np.square(products).sum(axis=1)
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


class LargestResidual(Chooser):
    """The point with the largest residual, and the kernel that gains most there.

    **Cost**: with Q in memory, about two passes over it for a step, of which those of several steps
    are done together.
    """

    def __init__(self, columns: Columns, subset: int | None, rng: np.random.RandomState) -> None:
        super().__init__(columns, subset, rng)
        self._kernels = len(columns.kernels)
        self._size = 1 if subset is not None else max(1, _POOL // self._kernels)
        self._pool: Ready | None = None
        self._numbers = np.empty(0, int)  # of the candidates in the pool
        self._order = np.empty(0, int)  # of their points

    def next(self, state: State) -> Choice | None:
        """See :class:`Chooser`."""
        n = self.columns.n
        sizes = np.linalg.norm(state.residual, axis=1)
        while self.open.any():
            points = self.open if self._kernels == 1 else self.open.reshape(-1, n).any(axis=0)
            if self._subset is not None:
                points = np.isin(np.arange(n), self._drawn() % n)
            scores = np.where(points, sizes, -1.0)
            point = int(np.argmax(scores))
            self._require(state, point, scores)
            assert self._pool is not None
            which = self._places(point)
            state.basis.advance(self._pool, which)
            found = self._best_of(state, self._pool, which, self._numbers[which])
            if found is not None:
                return found
        return None

    def _places(self, point: int) -> slice:
        """Where the columns of a point are in the pool; empty if they are not."""
        first = int(np.searchsorted(self._order, point))
        last = first
        while last < self._order.size and self._order[last] == point:
            last += 1
        return slice(first, last)

    def _require(self, state: State, point: int, scores: Array) -> None:
        """See to it that the columns of a point are in the pool, with those likely to come next."""
        n, which = self.columns.n, self._places(point)
        if which.stop > which.start and self.open[self._numbers[which]].all():
            return
        most = min(self._size, int(np.count_nonzero(scores >= 0)))
        largest = np.argpartition(-scores, most - 1)[:most]
        points = np.union1d(largest, [point])  # the candidates of one stand side by side
        numbers = (points[:, None] + n * np.arange(self._kernels)).ravel()
        self._numbers = numbers[self.open[numbers]]
        self._order = self._numbers % n
        self._pool = state.basis.prepare(self.columns.of(self._numbers))


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
            found = self._best_of(state, ready, slice(0, numbers.size), numbers)
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
