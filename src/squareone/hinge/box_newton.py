"""Newton's method on changing sets, for both hinge losses: every step is a least-squares system.

With signs yᵢ = ±1 and bounds Cᵢ the problem is ::

    minimise ½‖f‖² + Σ hᵢ(yᵢ(f(xᵢ) + b)),    −hᵢ'(m) = clip(āᵢ + (1 − m)/μᵢ, 0, Cᵢ)

which is the squared hinge loss for ā = 0, μ = λ/w, C = ∞, and a step of the proximal method for the
hinge loss for C = w/(2λ) and any μ, ā. The solution is f = Σ βⱼk(xⱼ, ·), yᵢβᵢ = −hᵢ'. Rows with
yᵢβᵢ strictly inside of its bounds are free; for given sets they solve
(K_MM + diag μ)β_M = y_M + μ(yā)_M − K_MU β_U − b, regularised least squares on few rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from .kernel_systems import FreeRows, KernelSystem

# A step is taken whole where it leaves so little of the slope behind.
_SLOPE_LEFT = 0.1
_SEARCH_STEPS = 60
# A share of the sum of all coefficients that is rounding.
_BALANCED = 1e-12
# Steps of refinement of a system at most, and what is left of a margin where none is needed.
_REFINEMENTS, _SOLVED = 6, 1e-12


@dataclass(frozen=True)
class BoxProblem:
    """One column of such a problem.

    Attributes
    ----------
    signs : array (n,)
        ±1.
    upper : array (n,)
        C: at or above zero, infinite for none; zero takes the row out.
    ridge : array (n,)
        μ, above zero.
    anchor : array (n,)
        ā, between zero and C.
    intercept : bool
        Whether there is a b, which is not penalised: then Σβ = 0.
    """

    signs: Array
    upper: Array
    ridge: Array
    anchor: Array
    intercept: bool

    def sizes(self, values: Array) -> Array:
        """ā + (1 − yf)/μ for ``values`` f + b (n,): yβ, before it is clipped."""
        return self.anchor + (1.0 - self.signs * values) / self.ridge

    def clipped(self, sizes: Array) -> Array:
        """Sizes (n,) between zero and C."""
        return np.minimum(np.maximum(sizes, 0.0), self.upper)

    def best_intercept(self, values: Array) -> float:
        """b where Σ yᵢ clip(…) vanishes for ``values`` f (n,); the middle where that is a stretch.

        Cost: some passes over the rows.
        """
        used = self.upper > 0
        edges = self.signs * (1.0 + self.ridge * self.anchor) - values
        positive, negative = edges[used & (self.signs > 0)], edges[used & (self.signs < 0)]
        high = float(positive.max()) if positive.size else None
        low = float(negative.min()) if negative.size else None
        if high is None or low is None:  # one class alone: as far as it needs
            return next((edge for edge in (high, low) if edge is not None), 0.0)
        if low >= high:
            return 0.5 * (low + high)

        def balance(b: float) -> tuple[float, float]:
            sizes = self.sizes(values + b)
            free = (sizes > 0) & (sizes < self.upper)
            slope = float((1.0 / self.ridge[free]).sum())
            return float(self.signs @ self.clipped(sizes)), slope

        b = 0.5 * (low + high)
        for _ in range(200):
            rest, slope = balance(b)
            if rest == 0.0:
                return b
            low, high = (b, high) if rest > 0 else (low, b)
            following = b + rest / slope if slope > 0 else low
            if not low < following < high:
                following = 0.5 * (low + high)
            if following in (low, high, b):
                return following
            b = following
        return b


@dataclass(frozen=True)
class BoxPoint:
    """β (n,), f = Kβ (n,) and b."""

    coefficients: Array
    values: Array
    intercept: float = 0.0


@dataclass(frozen=True)
class NewtonResult:
    """Where it ended after so many ``systems``, and the last of these: None where no row was free.

    ``solved`` says whether nothing, or less than the tolerance, is left to be won.
    """

    point: BoxPoint
    systems: int
    solved: bool
    block: FreeRows | None


def newton(
    system: KernelSystem,
    problem: BoxProblem,
    start: BoxPoint,
    tolerance: float,
    most: int = 400,
    first: tuple[Array, Array] | None = None,
    enough: Callable[[BoxPoint], bool] | None = None,
) -> NewtonResult:
    """Minimise from ``start``, until the sets repeat or a step promises less than ``tolerance``.

    ``first`` are the sets (free and full) of the first step, where better ones are known than what
    the conditions at ``start`` say: a smaller μ makes nearly all rows change their set there.
    ``enough`` ends it earlier, at a point for which it is true.

    **Cost**: a step |M|³/3 + 2n|M| flops, and 2n for each row that changes its set.
    """
    point, block = start, None
    for step in range(1, most + 1):
        b = point.intercept
        sizes = problem.sizes(point.values + b)
        guess = first if step == 1 else None
        free, full = guess or _sets(problem, sizes)
        block = None  # given back before another one is made
        following, block = _system_solved(system, problem, point, free, full)
        sizes_after = problem.sizes(following.values + following.intercept)
        free_after, full_after = _sets(problem, sizes_after)
        if np.array_equal(free, free_after) and np.array_equal(full, full_after):
            return NewtonResult(following, step, True, block)
        slope, share = _line_search(problem, point, following, sizes, sizes_after)
        if guess and slope >= 0.0:
            continue  # that leads nowhere
        if share > 0.0:
            point = following if share == 1.0 else _between(point, following, share)
        if -slope <= tolerance or (enough is not None and enough(point)):
            return NewtonResult(point, step, True, block)
    return NewtonResult(point, most, False, block)


def _sets(problem: BoxProblem, sizes: Array) -> tuple[Array, Array]:
    """Which rows are free, and which at their upper bound."""
    full = sizes >= problem.upper
    return (sizes > 0) & ~full, full


def _system_solved(
    system: KernelSystem, problem: BoxProblem, point: BoxPoint, free: Array, full: Array
) -> tuple[BoxPoint, FreeRows | None]:
    """The minimum where the sets are what they are, and the system of its free rows."""
    target = np.zeros_like(point.coefficients)
    target[full] = (problem.signs * problem.upper)[full]
    values = point.values
    if (
        problem.intercept
        and not free.any()
        and abs(target.sum()) > _BALANCED * np.abs(target).sum()
    ):
        # all at a bound, which do not add up to zero: the intercept moves until some are free
        return BoxPoint(point.coefficients, values, problem.best_intercept(values)), None
    change = target - point.coefficients
    change[free] = 0.0
    if change.any():
        values = values + system.product(change)
    rows = np.flatnonzero(free)
    b, block = point.intercept, None
    if rows.size:
        shifts, signs = problem.ridge[rows], problem.signs[rows]
        block = system.free_rows(rows, shifts)
        before = point.coefficients[rows]
        rest = signs * (1.0 + shifts * problem.anchor[rows]) - values[rows] - shifts * before
        total = -float(target.sum()) - float(before.sum())
        moved, b, change_of_values = _refined(block, rest, shifts, b, problem, total)
        target[rows] = before + moved
        values = values + change_of_values
    elif problem.intercept:
        b = problem.best_intercept(values)
    return BoxPoint(target, values, b), block


def _refined(
    block: FreeRows,
    rest: Array,
    shifts: Array,
    b: float,
    problem: BoxProblem,
    total: float,
) -> tuple[Array, float, Array]:
    """The change (k,) of the free coefficients, b, and the change (n,) of the values.

    Where the shifts are small beside K the first solution is the difference of two that are larger
    by far, so that steps of refinement follow as long as they help.
    """
    intercept = problem.intercept

    def left_by(b: float, moved: Array) -> Array:
        return rest - b - block.product(moved) - shifts * moved

    moved, b = _moved(block, rest, b, intercept, total)
    left = left_by(b, moved)
    for _ in range(_REFINEMENTS):
        size, unbalanced = float(np.abs(left).max()), total - float(moved.sum())
        balanced = not intercept or abs(unbalanced) <= _BALANCED * float(np.abs(moved).sum())
        if (size <= _SOLVED and balanced) or not np.isfinite(size):
            break
        more, shift_of_b = _moved(block, left, 0.0, intercept, unbalanced)
        again, b_again = moved + more, b + shift_of_b
        left = left_by(b_again, again)
        if balanced and not float(np.abs(left).max()) < size:
            break
        moved, b = again, b_again
    return moved, b, block.spread(moved)


def _moved(
    block: FreeRows, rest: Array, b: float, intercept: bool, total: float
) -> tuple[Array, float]:
    """The change of the free coefficients, which has to sum to ``total`` if there is a b."""
    if not intercept:
        return block.solve(rest - b), b
    both = block.solve(np.stack([rest, np.ones_like(rest)], axis=1))
    b = float((both[:, 0].sum() - total) / both[:, 1].sum())
    return both[:, 0] - b * both[:, 1], b


def _line_search(
    problem: BoxProblem, point: BoxPoint, following: BoxPoint, sizes: Array, after: Array
) -> tuple[float, float]:
    """The slope at the start of the step, and the share of the step to take.

    The slope along the step ascends, so that its zero is between any two of opposite signs.
    """
    D = following.coefficients - point.coefficients
    DF = following.values - point.values
    seen = problem.signs * (DF + (following.intercept - point.intercept))
    turn, bend, way = float(point.coefficients @ DF), float(D @ DF), after - sizes

    def slope(t: float) -> float:
        return turn + t * bend - float(problem.clipped(sizes + t * way) @ seen)

    first, last = slope(0.0), slope(1.0)
    if first >= 0.0:  # nothing is left to be won, but for rounding
        return first, 0.0
    if last <= _SLOPE_LEFT * abs(first):
        return first, 1.0
    low, high, below, above = 0.0, 1.0, first, last
    t = 1.0
    for _ in range(_SEARCH_STEPS):
        t = low - (high - low) * below / (above - below)
        t = min(max(t, low + 0.05 * (high - low)), high - 0.05 * (high - low))
        found = slope(t)
        if abs(found) <= _SLOPE_LEFT * abs(first):
            break
        if found < 0:
            low, below = t, found
        else:
            high, above = t, found
    return first, t


def _between(point: BoxPoint, following: BoxPoint, share: float) -> BoxPoint:
    rest = 1.0 - share
    return BoxPoint(
        rest * point.coefficients + share * following.coefficients,
        rest * point.values + share * following.values,
        rest * point.intercept + share * following.intercept,
    )
