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

# Columns that are made orthogonal together: the largest residuals of now are among those of the
# next steps, and a product with a block of columns takes hardly longer than with one.
_POOL = 16
# Columns that are kept until their points have the largest residual: nearly all do in the end.
_PREFETCHED = 80
# Kernel values that are looked at together.
_BLOCK = 4_194_304
# Points that are drawn together, and how many become centers before others are drawn: an eighth of
# the centers there are, for the first ones decide most and cost least, and at most half of them.
_DRAWN, _SHARE_OF_CENTERS, _SHARE_OF_DRAWN = 64, 1 / 8, 1 / 2


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
        So many random candidates at a time; None means all, or what the rule has found good.
    rng : RandomState
    """

    def __init__(self, columns: Columns, subset: int | None, rng: np.random.RandomState) -> None:
        self.columns = columns
        self.open = np.ones(columns.count, bool)
        self.skipped = 0
        self._subset, self._rng = subset, rng
        # a column that keeps less of its length is a sum of others, and rounding
        self._least = 16.0 * float(np.sqrt(columns.n) * np.finfo(columns.dtype).eps)

    @classmethod
    def room(cls, subset: int | None, kernels: int) -> int:
        """Columns that there are at most beside those of the basis."""
        return _PREFETCHED + 2 * _POOL

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

    def _close(self, candidate: int) -> None:
        """Take a candidate, with all that are equal to it, out of the choice.

        Another center at the same place is no other function: only ε tells their columns apart, and
        its coefficient would be the noise of a row divided by ε.
        """
        kernel, point = divmod(candidate, self.columns.n)
        places = self.columns.places
        equal = np.flatnonzero(places == places[point])
        self.open[kernel * self.columns.n + equal] = False

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
        self._close(int(numbers[j]))
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


class PrefetchedColumns:
    """Columns of points that are likely to become centers, with the numbers of their candidates.

    They are orthogonal to the basis as it was. What was taken off them is not lost: they only have
    to follow the basis from there.

    Parameters
    ----------
    room : int
        Columns at most; those of one point are held even if there are more.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._held: dict[int, tuple[Array, Ready]] = {}

    def __contains__(self, point: int) -> bool:
        return point in self._held

    def points(self) -> Array:
        """Whose columns there are."""
        return np.fromiter(self._held, int, len(self._held))

    def put(self, point: int, numbers: Array, ready: Ready) -> None:
        """Hold the columns of a point: candidates ``numbers`` (b,)."""
        self._held[point] = numbers, ready

    def take(self, point: int) -> tuple[Array, Ready]:
        """The columns of a point, which are held no longer."""
        return self._held.pop(point)

    def make_room(self, more: int, sizes: Array) -> None:
        """Drop columns until there is room for ``more``: those of least ``sizes`` (n,) first."""
        points = self.points()
        excess = more + sum(numbers.size for numbers, _ in self._held.values()) - self._room
        for point in points[np.argsort(sizes[points])].tolist():
            if excess <= 0:
                return
            excess -= self._held.pop(point)[0].size


class LargestResidual(Chooser):
    """The point with the largest residual, and the kernel that gains most there.

    **Cost**: 4nm flops for the column of a step, most of them in products for several of them;
    columns that wait, n numbers each.
    """

    def __init__(self, columns: Columns, subset: int | None, rng: np.random.RandomState) -> None:
        super().__init__(columns, subset, rng)
        self._kernels = len(columns.kernels)
        together = min(_POOL, _PREFETCHED) // self._kernels
        self._together = 1 if subset is not None else max(1, together)
        self._prefetched = PrefetchedColumns(_PREFETCHED)

    def next(self, state: State) -> Choice | None:
        """See :class:`Chooser`."""
        n = self.columns.n
        while self.open.any():
            points: Array = np.any(self.open.reshape(-1, n), axis=0)
            if self._subset is not None:
                points = np.isin(np.arange(n), self._drawn() % n)
            point = state.residual.largest(points)
            if point not in self._prefetched:
                self._prepare(state, point, points)
            numbers, ready = self._prefetched.take(point)
            state.basis.advance(ready)
            found = self._best_of(state, ready, numbers)
            others = np.flatnonzero(self.open[numbers])
            if others.size:
                self._prefetched.put(point, numbers[others], ready.part(others))
            if found is not None:
                return found
        return None

    def _prepare(self, state: State, point: int, points: Array) -> None:
        """Make the columns of a point orthogonal, with those that are likely to come next."""
        n, sizes = self.columns.n, state.residual.sizes
        scores = np.where(points, sizes, -1.0)
        scores[self._prefetched.points()] = -1.0
        scores[point] = np.inf
        most = min(self._together, int(np.count_nonzero(scores >= 0)))
        largest = np.argpartition(-scores, most - 1)[:most]
        numbers = (largest[:, None] + n * np.arange(self._kernels)).ravel()
        numbers = numbers[self.open[numbers]]
        self._prefetched.make_room(numbers.size, sizes)
        ready = state.basis.prepare(self.columns.of(numbers))
        for each in largest.tolist():
            own = np.flatnonzero(numbers % n == each)
            self._prefetched.put(each, numbers[own], ready.part(own))


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


class SampledGain(Chooser):
    """Of some points, drawn by their squared errors, the one that reduces the loss most.

    A point is drawn with a probability that is proportional to its squared error, weighted: where
    the fit is bad a center is likely to help, and a single bad row is not likely to be drawn. The
    columns of those drawn are made orthogonal together, and their gains kept up to date while
    the best of them become centers; then others are drawn. Where there are no more points than are
    drawn, this is :class:`LargestGain`.

    **Cost**: for the points that are drawn, about two for every center in the end, 4nm flops in
    products of matrices each; n numbers for every column that is there, and 2n flops in a step.
    """

    def __init__(self, columns: Columns, subset: int | None, rng: np.random.RandomState) -> None:
        super().__init__(columns, subset, rng)
        self._points = _points_of(subset, len(columns.kernels))
        self._numbers = np.empty(0, int)
        most = min(columns.n, self._points) * len(columns.kernels)
        self._room = np.empty((columns.n, most), columns.dtype, order="F")
        self._rest = self._room[:, :0]
        self._ready: Ready | None = None
        self._alone: dict[int, Ready] = {}
        self._products, self._squares = np.empty((0, 0)), np.empty(0)
        self._steps = 0  # until others are drawn

    @classmethod
    def room(cls, subset: int | None, kernels: int) -> int:
        """See :class:`Chooser`: those drawn, and what is taken off them or evaluated for them."""
        drawn = _points_of(subset, kernels) * kernels
        return drawn + max(drawn, 2 * _POOL)

    def next(self, state: State) -> Choice | None:
        """See :class:`Chooser`."""
        while self.open.any():
            if self._steps == 0 or not self.open[self._numbers].any():
                self._draw(state)
            best = self._likely(state)
            ready = self._of(best)
            if ready.done < state.basis.size:
                state.basis.advance(ready)
                self._measure(state, slice(best, best + 1))
                if self._likely(state) != best:  # by rounding
                    continue
            found = self._best_of(state, ready, self._numbers[[best]])
            if found is not None:
                self._steps -= 1
                return found
        return None

    def _draw(self, state: State) -> None:
        """Draw points, and make their columns orthogonal to the basis."""
        n = self.columns.n
        points = np.flatnonzero(np.any(self.open.reshape(-1, n), axis=0))
        if points.size > self._points:
            errors = state.residual.squared()[points]
            waits = np.full(points.size, np.inf)  # the first to come are those drawn
            with np.errstate(over="ignore"):
                np.divide(
                    self._rng.standard_exponential(points.size), errors, waits, where=errors > 0
                )
            points = np.sort(points[np.argpartition(waits, self._points - 1)[: self._points]])
        numbers = (points[:, None] + n * np.arange(len(self.columns.kernels))).ravel()
        self._numbers = numbers[self.open[numbers]]
        self._rest = self._room[:, : self._numbers.size]
        for part in blocks(self._numbers.size, _POOL):
            self._rest[:, part] = self.columns.of(self._numbers[part])
        self._ready, self._alone = state.basis.prepare(self._rest), {}
        self._products = np.empty((self._numbers.size, state.unexplained.shape[1]))
        self._squares = np.empty(self._numbers.size)
        self._measure(state, slice(None))
        most = int(min(_SHARE_OF_CENTERS * state.basis.size, _SHARE_OF_DRAWN * points.size))
        self._steps = max(1, most)

    def _of(self, j: int) -> Ready:
        """One of the columns, as far as it has followed the basis."""
        assert self._ready is not None
        if j not in self._alone:
            self._alone[j] = self._ready.column(j)
        return self._alone[j]

    def _measure(self, state: State, which: slice) -> None:
        """Products and lengths of columns as they are."""
        rest = self._rest[:, which].T.astype(np.float64, copy=False)
        self._products[which] = rest @ state.unexplained
        self._squares[which] = np.einsum("ij,ij->i", rest, rest)

    def _likely(self, state: State) -> int:
        """The best of those drawn by what was kept up to date."""
        gains = gain(self._products, np.maximum(self._squares, 0.0), state.penalty)
        gains[~self.open[self._numbers]] = -1.0
        return int(np.argmax(gains))

    def learned(self, q: Array, projection: Array) -> None:
        """Take off what the new column has of those drawn."""
        if self._steps:
            within = (q @ self._rest).astype(np.float64)
            self._squares -= np.square(within)
            self._products -= np.outer(within, projection)


def _points_of(subset: int | None, kernels: int) -> int:
    """How many points are drawn, of candidates that are points and kernels."""
    return max(1, (_DRAWN if subset is None else subset) // kernels)


#: Rules by name.
CHOOSERS: dict[str, type[Chooser]] = {
    "sampled": SampledGain,
    "residual": LargestResidual,
    "greedy": LargestGain,
}
