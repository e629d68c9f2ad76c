"""Intervals for new rows from the leave-one-out models, none of which is ever fitted.

Without row i the prediction at x is f(x) − a_i(x)e_i, with the leave-one-out error e_i of that row
and the sensitivity a_i(x) = df(x)/dy_i. Barber, Candès, Ramdas & Tibshirani (2021) turn these n
predictions and n errors into intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ..arrays import Array, blocks
from ..threads import for_each

__all__ = [
    "METHODS",
    "jackknife",
    "jackknife_minmax",
    "jackknife_plus",
    "rank_of",
    "width_of",
]

#: Names of the intervals; the last is that of the posterior of a Gaussian process.
METHODS = ("jackknife+", "jackknife", "minmax", "adaptive", "gaussian")

# New rows in one piece of work.
_ROWS = 64


def rank_of(coverage: float, n: int) -> int:
    """⌈coverage · (n + 1)⌉, by the decimal number that was written: 0.9 · 10 is 9.

    Refused where it is n + 1: no finite interval has that coverage then.
    """
    share = Fraction(repr(float(coverage)))
    wanted = share * (n + 1)
    whole = round(wanted)
    # n/(n + 1), as a computer divides, may be a little more than it is
    rank = whole if abs(wanted - whole) <= (n + 1) * 2.0**-52 else int(-(-wanted // 1))
    if rank > n:
        needed = int(-(-share // (1 - share)))
        msg = (
            f"coverage={coverage} needs at least {needed} rows of positive weight, got {n}: with "
            "fewer, no finite interval is sure to cover that much. Use a smaller coverage, or "
            'method="gaussian"'
        )
        raise ValueError(msg)
    return rank


def width_of(errors: Array, rank: int) -> float:
    """The ``rank``-th smallest |e| of errors (n,)."""
    return np.partition(np.abs(errors), rank - 1)[rank - 1]


def jackknife(values: Array, widths: Array | float) -> Array:
    """f(x) ± the width there: predictions (m,) → (m, 2).

    The width is that of the errors, or, where s(x) is the size that errors are expected to have at
    x, s(x) times that of the ratios |e|/s.
    """
    return np.column_stack([values - widths, values + widths])


def jackknife_plus(values: Array, moves: Array, errors: Array, rank: int) -> Array:
    """From the order statistics of f_{−i}(x) − |e_i| and f_{−i}(x) + |e_i| → (m, 2).

    The upper end is the ``rank``-th smallest of the latter, the lower end the ``rank``-th largest
    of the former.

    Parameters
    ----------
    values : array (m,)
        f(x).
    moves : array (m, n)
        f(x) − f_{−i}(x).
    errors : array (n,)
        Leave-one-out errors y_i − f_{−i}(x_i).
    rank : int
    """
    size = np.abs(errors)
    n = errors.size

    def ends(moved: Array) -> tuple[Array, Array]:
        low, high = moved - size, moved
        high += size
        low.partition(n - rank, axis=1)
        high.partition(rank - 1, axis=1)
        return low[:, n - rank], high[:, rank - 1]

    return _by_rows(values, moves, ends)


def jackknife_minmax(values: Array, moves: Array, errors: Array, rank: int) -> Array:
    """The least and the greatest f_{−i}(x), ± the ``rank``-th smallest |e| → (m, 2)."""
    width = width_of(errors, rank)
    return _by_rows(
        values,
        moves,
        lambda moved: (moved.min(axis=1) - width, moved.max(axis=1) + width),
    )


def _by_rows(
    values: Array,
    moves: Array,
    ends: Callable[[Array], tuple[Array, Array]],
) -> Array:
    """Both ends from f_{−i}(x) (b, n) for a few new rows at a time, on all cores."""
    result = np.empty((values.size, 2), values.dtype)

    def some(rows: slice) -> None:
        moved = values[rows, None] - moves[rows]
        result[rows, 0], result[rows, 1] = ends(moved)

    for_each(some, blocks(values.size, _ROWS))
    return result
