"""The best λ by a handful of factorisations: a bracketed search on log λ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# One step of the bracketing: a factor of eight in λ. Finer than this the error curve is a parabola.
_STEP = np.log(8.0)
# The search ends when the parabola through its three best points promises less than this share.
_WORTH = 3e-4
_MOST = 14


def bracketed_minimum(
    function: Callable[[float], float], start: float, low: float, high: float
) -> float:
    """Where ``function`` of log λ is least, going downhill from ``start`` within ``low``, ``high``.

    The point returned is the minimum of the last parabola (or the best point seen): it has not
    itself been evaluated when the parabola promised too little to be worth a factorisation.
    """
    seen: dict[float, float] = {}

    def at(x: float) -> float:
        x = float(np.clip(x, low, high))
        if x not in seen:
            seen[x] = function(x)
        return x

    centre = at(start)
    up, down = at(centre + _STEP), None
    if seen[up] >= seen[centre]:
        down = at(centre - _STEP)
    step = _STEP if down is None else -_STEP
    while len(seen) < _MOST:  # downhill until it goes up again or the end is reached
        best = min(seen, key=seen.__getitem__)
        if min(seen) < best < max(seen) or (len(seen) > 1 and best in (low, high)):
            break
        step *= 1.3
        at(best + step if best == max(seen) else best - abs(step))
    while len(seen) < _MOST:
        best = min(seen, key=seen.__getitem__)
        target, gain = _parabola(seen, best)
        if gain <= _WORTH * abs(seen[best]):
            return target
        at(target)
    return min(seen, key=seen.__getitem__)


def _parabola(seen: dict[float, float], best: float) -> tuple[float, float]:
    """Minimum of the parabola through the best point and its neighbours, and what it promises."""
    below = max((x for x in seen if x < best), default=None)
    above = min((x for x in seen if x > best), default=None)
    if below is None or above is None:
        return best, 0.0
    left, right = best - below, above - best
    slope_left = (seen[best] - seen[below]) / left
    slope_right = (seen[above] - seen[best]) / right
    curvature = (slope_right - slope_left) / (left + right)
    if curvature <= 0:
        return best, 0.0
    slope = (slope_left * right + slope_right * left) / (left + right)
    offset = -0.5 * slope / curvature
    # an even bracket keeps the next parabola honest: never closer than a tenth of a side
    return best + float(np.clip(offset, -0.9 * left, 0.9 * right)), 0.25 * slope**2 / curvature
