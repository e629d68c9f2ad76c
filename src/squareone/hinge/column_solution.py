"""The solution of one column at one λ, from where another one ended, with its certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..arrays import Array
from ..errors import SingularSystemError
from .box_newton import BoxPoint, newton
from .certificates import Certificate, ColumnProblem, certify, feasible
from .kernel_systems import FreeRows, KernelSystem

# Width in units of the margin in which the hinge is rounded off at first, and what is left of it
# from step to step of the proximal method.
_ZONE, _SHRINK = 0.5, 0.2
# The share of that where nothing is known, and from a solution of few rows.
_FROM_NOTHING, _FROM_FEW = 0.2, 0.4
# Rows up to which nothing is known, how few are taken of more, to which gap they are solved, and
# how wide their margin is then.
_FEW_ROWS, _ONE_IN, _OF_FEW, _NEAR_MARGIN = 1000, 3, 1e-2, 0.2
# The shift of the free rows is at least this share of the largest k(x, x).
_LEAST_SHIFT = 1e-12
_MOST_STEPS = 60
# λ/w of the squared hinge loss is solved for as it is from this share of the trace of K upwards.
_LEAST_RIDGE = 1e-15
# What a step of the squared hinge loss has to promise, in tolerances of the loss of f = 0.
_WORTH_A_STEP = 1e-2
# From this gap upwards Newton's method stops as soon as it is reached; below it goes on until the
# sets repeat, which in the end they do at once.
_ROUGH = 1e-6
# Times the tolerance that a first look at a gap may be above it.
_NOT_NEARLY = 3.0
# How far, in steps of λ, a solution is continued along a line.
_FARTHEST = 2.0
# Steps without a smaller gap after which rounding is all that is left, in a zone this narrow.
_STALLED = 4
_SMALL_SHARE = 1e-6


@dataclass(frozen=True)
class ColumnSolution:
    """A solution and its certificate; ``systems`` were solved for it.

    ``block`` is the last of these, where all other coefficients are zero: for the estimate of
    left-out values, which has the same one. It is as large as the rows that are free, squared.
    """

    problem: ColumnProblem
    point: BoxPoint
    certificate: Certificate
    systems: int
    block: FreeRows | None = field(default=None, repr=False, compare=False)

    def sets(self) -> tuple[Array, Array]:
        """Which rows (n,) are free, and which at their upper bound, whatever rounding has left.

        Free rows of the hinge loss are on the margin; those of the squared hinge loss inside of it.
        """
        problem, point = self.problem, self.point
        short = 1.0 - problem.signs * (point.values + point.intercept)
        if problem.squared:
            return (short > 0) & (problem.weights > 0), np.zeros(short.size, bool)
        upper = problem.upper
        sizes = problem.signs * point.coefficients + short * upper
        full = (sizes >= upper) & (upper > 0)
        return (sizes > 0) & ~full, full


def solve_column(
    system: KernelSystem,
    problem: ColumnProblem,
    start: BoxPoint,
    tolerance: float,
    share: float = 1.0,
) -> ColumnSolution:
    """Solve to a relative gap of ``tolerance``, or as far as rounding allows.

    Where ``start`` is near, the hinge is rounded off by a ``share`` only of what it is from afar.

    **Cost**: some ten to forty systems of as many rows as are free.
    """
    if problem.squared:
        return _by_newton_steps(system, problem, start, tolerance)
    return _by_proximal_steps(system, problem, start, tolerance, share)


def _by_newton_steps(
    system: KernelSystem, problem: ColumnProblem, start: BoxPoint, tolerance: float
) -> ColumnSolution:
    """The squared hinge loss: until the gap is small enough, or nothing is left to be won.

    Where λ is so small beside K that rounding is larger than what λ adds to it, the least of what
    was found is the solution with a larger one.
    """
    scale = float(problem.weights.sum()) / (2.0 * problem.alpha)
    box, point, total = problem.plain_box(), start, 0
    best: ColumnSolution | None = None
    least = _LEAST_RIDGE * system.n * float(system.diagonal.max(initial=0.0))
    boxes = [box, box]
    if float(problem.ridge.min()) < least:
        # any point is better than one that rounding has made worse than f = 0
        best = _certified(system, problem, BoxPoint(np.zeros(system.n), np.zeros(system.n)), 0)
        boxes.insert(0, problem.box(np.maximum(problem.ridge, least), box.anchor))
    # a gap of 1e-10 leaves values that are off by 1e-5, and the sets, when they repeat, nothing
    worth = _WORTH_A_STEP * tolerance if tolerance >= _ROUGH else 0.0
    for box, share in zip(boxes, (0.0, worth, 0.0)[-len(boxes) :], strict=True):
        try:
            ended = newton(
                system,
                box,
                point,
                max(share, 1e-17) * scale,
                enough=_enough(system, problem, tolerance),
            )
        except SingularSystemError:
            if best is None:
                raise
            continue
        total += ended.systems
        # what many changes have added up to keeps the rounding of the largest of them
        point = replace(ended.point, values=system.product(ended.point.coefficients))
        found = replace(_certified(system, problem, point, total), block=ended.block)
        if best is None or found.certificate.primal <= best.certificate.primal:
            best = found
        if found.certificate.gap <= tolerance:
            break
        del found, ended
        best = replace(best, block=None)
    assert best is not None
    return replace(best, systems=total)


def _certified(
    system: KernelSystem, problem: ColumnProblem, point: BoxPoint, systems: int
) -> ColumnSolution:
    there = feasible(system, problem, point)
    return ColumnSolution(problem, there, certify(problem, there), systems)


def _enough(
    system: KernelSystem, problem: ColumnProblem, tolerance: float
) -> Callable[[BoxPoint], bool] | None:
    """Whether a point has a gap of at most ``tolerance``; None where that is small.

    Cost: some passes over the rows; where it may be so, 2n flops for each one out of its bounds.
    """
    if tolerance < _ROUGH:
        return None
    upper = problem.upper

    def enough(point: BoxPoint) -> bool:
        # with f as it is before coefficients are moved into their bounds: most gaps are far larger
        a = np.minimum(np.maximum(problem.signs * point.coefficients, 0.0), upper)
        rough = certify(problem, replace(point, coefficients=problem.signs * a)).gap
        if rough > _NOT_NEARLY * tolerance:
            return False
        return certify(problem, feasible(system, problem, point)).gap <= tolerance

    return enough


def _by_proximal_steps(
    system: KernelSystem,
    problem: ColumnProblem,
    start: BoxPoint,
    tolerance: float,
    share: float,
) -> ColumnSolution:
    """The hinge loss: its corner rounded off by a term around the last solution, less and less.

    Each step is exact for fixed sets; where K of the free rows is singular, the steps are iterated
    refinement.
    """
    upper = problem.upper
    used = upper > 0
    if not used.any():
        point = BoxPoint(np.zeros(system.n), np.zeros(system.n))
        return ColumnSolution(problem, point, certify(problem, point), 0)
    # for every row in units of its own bound
    widths = _ZONE / np.where(used, upper, upper.max())
    least = _LEAST_SHIFT * float(system.diagonal.max(initial=0.0))
    point, total, since = start, 0, 0
    enough = _enough(system, problem, tolerance)
    best: ColumnSolution | None = None
    scale = float(problem.weights.sum()) / (2.0 * problem.alpha)  # of the objective
    for _ in range(_MOST_STEPS):
        anchor = np.minimum(np.maximum(problem.signs * point.coefficients, 0.0), upper)
        free = (anchor > 0) & (anchor < upper)
        # rows that were free mostly stay so
        first = (free, (anchor >= upper) & ~free) if free.any() else None
        box = problem.box(np.maximum(share * widths, least), anchor)
        try:
            worth = 1e-4 * tolerance * scale
            ended = newton(system, box, point, worth, first=first, enough=enough)
        except SingularSystemError:
            least = 100.0 * max(least, share * float(widths.min()))
            continue
        total += ended.systems
        # what many changes have added up to keeps the rounding of the largest of them
        point = replace(ended.point, values=system.product(ended.point.coefficients))
        # the next step goes on from where this one has ended, and not from what is feasible there
        found = _certified(system, problem, point, total)
        # weights may differ by so much that the optimum is far below what they add up to
        scale = min(scale, found.certificate.primal / (2.0 * problem.alpha))
        since += 1
        if best is None or found.certificate.gap < best.certificate.gap:
            best, since = found, 0
        if found.certificate.gap <= tolerance or (since >= _STALLED and share < _SMALL_SHARE):
            break
        share *= _SHRINK
    if best is None:
        msg = (
            "no shift makes the kernel matrix of the margin rows positive definite: it has large "
            "negative eigenvalues, and is not the matrix of a kernel"
        )
        raise SingularSystemError(msg)
    return ColumnSolution(problem, best.point, best.certificate, total)


def start_from(
    system: KernelSystem,
    problem: ColumnProblem,
    last: ColumnSolution,
    before: ColumnSolution | None = None,
) -> BoxPoint:
    """Where to start at another λ: from the ``last`` solution, the nearest one.

    For the hinge loss rows that were at their bound are at the new one. Solutions of the squared
    hinge loss go on along the line, in log λ, from the one ``before``.

    Cost: at most 2n² flops.
    """
    point = last.point
    if problem.squared:
        return point if before is None else _continued(last, before, problem.alpha)
    full = last.sets()[1]
    change = np.zeros(system.n)
    change[full] = problem.signs[full] * (problem.upper - last.problem.upper)[full]
    if not change.any():
        return point
    values = point.values + system.product(change)
    return BoxPoint(point.coefficients + change, values, point.intercept)


def _continued(last: ColumnSolution, before: ColumnSolution, alpha: float) -> BoxPoint:
    """The line through two solutions at ``alpha``; the last one where that is far."""
    way = np.log(last.problem.alpha / before.problem.alpha)
    t = float(np.log(alpha / last.problem.alpha) / way) if way else 0.0
    if abs(t) > _FARTHEST:
        return last.point
    here, there = last.point, before.point
    return BoxPoint(
        here.coefficients + t * (here.coefficients - there.coefficients),
        here.values + t * (here.values - there.values),
        here.intercept + t * (here.intercept - there.intercept),
    )


def start_from_few(system: KernelSystem, problem: ColumnProblem) -> tuple[BoxPoint, float]:
    """Where to start where nothing is known, and the share of the corner to round off.

    Of many rows a third says for nearly all of them where they belong, and of these a third again.
    For the squared hinge loss it does not: its coefficients are errors of f over λ.

    Cost: less than half of what solving from the start that it gives does; n²/9 numbers.
    """
    n = system.n
    if n <= _FEW_ROWS or problem.squared:
        return BoxPoint(np.zeros(n), np.zeros(n)), _FROM_NOTHING
    rows = np.sort(np.random.RandomState(0).permutation(n)[: n // _ONE_IN])
    few, own = system.part(rows), problem.part(rows)
    start, share = start_from_few(few, own)
    found = solve_column(few, own, start, _OF_FEW, share).point
    spread = np.zeros(n)
    spread[rows] = found.coefficients
    values = system.product(spread) + found.intercept
    upper = problem.upper
    zone = _NEAR_MARGIN / np.where(upper > 0, upper, upper.max(initial=1.0))
    box = problem.box(zone, 0.5 * upper)
    coefficients = problem.signs * box.clipped(box.sizes(values))
    return BoxPoint(coefficients, system.product(coefficients), found.intercept), _FROM_FEW
