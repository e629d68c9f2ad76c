"""A bracketed search: the minimum over log λ or log σ by a handful of evaluations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# One step of the bracketing: a factor of four in λ.
_STEP = np.log(4.0)
# One step of a scan for other valleys: a factor of twenty.
_SCAN = np.log(20.0)
# Sides of a bracket up to this are short enough for the error curve to be a parabola between them.
_SHORT = np.log(2.1)
#: Evaluations at most.
MOST_STEPS = 16


def bracketed_minimum(
    function: Callable[[float], float],
    start: float,
    low: float,
    high: float,
    *,
    scan: int = 0,
    worth: float = 1e-4,
) -> float:
    """Where ``function`` of log λ is least, going downhill from ``start`` within ``low``, ``high``.

    The point returned is the minimum of the last parabola (or the best point seen): it has not
    itself been evaluated when the parabola promised too little to be worth a factorisation.
    ``scan`` points to either side of the start, far apart, are looked at first. The search ends
    when the parabola through its three best points promises less than a share ``worth``.
    """
    seen: dict[float, float] = {}

    def at(x: float) -> float:
        x = float(np.clip(x, low, high))
        if x not in seen:
            seen[x] = function(x)
        return x

    for i in range(-scan, scan + 1):
        at(start + i * _SCAN)
    centre = min(seen, key=seen.__getitem__) if seen else at(start)
    up, down = at(centre + _STEP), None
    if seen[up] >= seen[centre]:
        down = at(centre - _STEP)
    step = _STEP if down is None else -_STEP
    while len(seen) < MOST_STEPS:  # downhill until it goes up again or the end is reached
        best = min(seen, key=seen.__getitem__)
        if min(seen) < best < max(seen) or (len(seen) > 1 and best in (low, high)):
            break
        step *= 1.6
        at(best + step if best == max(seen) else best - abs(step))
    while len(seen) < MOST_STEPS:
        best = min(seen, key=seen.__getitem__)
        gap = _wide_side(seen, best)
        if gap is not None:  # too far apart for a parabola to mean anything
            at(gap)
            continue
        target, gain = _parabola(seen, best, worth)
        if gain <= worth:
            return target
        at(target)
    return min(seen, key=seen.__getitem__)


def _neighbours(seen: dict[float, float], best: float) -> tuple[float | None, float | None]:
    below = max((x for x in seen if x < best), default=None)
    above = min((x for x in seen if x > best), default=None)
    return below, above


def _wide_side(seen: dict[float, float], best: float) -> float | None:
    """The middle of a side of the bracket that is too long, of two such sides the lower one."""
    long = [x for x in _neighbours(seen, best) if x is not None and abs(best - x) > _SHORT]
    return 0.5 * (best + min(long, key=seen.__getitem__)) if long else None


def _parabola(seen: dict[float, float], best: float, worth: float) -> tuple[float, float]:
    """Minimum of the parabola through the best point and its neighbours, and the share it saves."""
    below, above = _neighbours(seen, best)
    unit = abs(seen[best])  # relative values: squares of the user's may leave the range
    if below is None or above is None or not 0 < unit < np.inf:
        return best, 0.0
    left, right = best - below, above - best
    slope_left = (seen[best] - seen[below]) / unit / left
    slope_right = (seen[above] - seen[best]) / unit / right
    curvature = (slope_right - slope_left) / (left + right)
    if curvature <= 0:
        return best, 0.0
    slope = (slope_left * right + slope_right * left) / (left + right)
    offset = -0.5 * slope / curvature
    gain = 0.25 * slope**2 / curvature
    # Towards the longer side go at least a quarter of it: else an uneven bracket stays uneven and
    # its parabola creeps.
    least = 0.25 * (right if offset > 0 else left)
    if least > 0.25 * min(left, right) and gain > worth:
        offset = np.copysign(max(abs(offset), least), offset)
    return best + float(np.clip(offset, -0.9 * left, 0.9 * right)), gain
