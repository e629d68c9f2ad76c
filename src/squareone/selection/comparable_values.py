"""Held-out values that can be compared with each other: with one intercept.

With an intercept, the fit without row i knows the mean ȳ₋ᵢ of the other targets, and that lies on
the other side of ȳ than y_i does. Pooled over rows, held-out values therefore lean against their
own targets: where λ is so large that nothing but the mean is left, their order is exactly the
reverse of that of the targets. No value is wrong; but they are values of different functions.

The remedy is an intercept of all rows: that of the function f₋ᵢ, fitted once more to all of them.
Its residuals at the others have mean zero, so that it moves by w_i e_i/Σw, the error at row i times
its share of the weight, and with several rows left out by the sum of these. What comes out,

    f₋ᵢ(x_i) + (w_i/Σw) (y_i − f₋ᵢ(x_i)),

is ȳ in that limit, and f₋ᵢ(x_i) where that is right already. If targets had been dealt to rows at
random, its expectation would be ȳ whatever y_i is: that of any other y_j, and so of f₋ᵢ(x_i), is
ȳ₋ᵢ.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..solvers import Weighting
from .criteria import HeldOut

__all__ = ["comparable_values"]

# Rounding errors of a held-out value, over the square root of the number of rows.
_ROUNDING = 4.0


def comparable_values(held: HeldOut, i: int, targets: Array, weighting: Weighting) -> Array:
    """Values of a fit with an intercept at rows held out, with an intercept of all rows: (m, t).

    A difference from the mean that is no larger than rounding counts as none: where λ is so large
    that nothing else is left, rounding would sort the rows by their targets.

    Parameters
    ----------
    held : HeldOut
        Of m rows, t targets and some values of λ.
    i : int
        Which of these.
    targets : array (n, t)
        Of all rows.
    weighting : Weighting

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.selection import comparable_values
    >>> from squareone.selection.criteria import HeldOut
    >>> from squareone.solvers import Weighting
    >>> y = np.array([[1.0], [1.0], [-1.0]])
    >>> means = np.array([[0.0], [0.0], [1.0]])  # of the other two: large where y is small
    >>> errors = y - means
    >>> held = HeldOut(np.arange(3), errors[:, :, None], lambda i: errors / 3)
    >>> comparable_values(held, 0, y, Weighting.of(3, None, True, y.dtype)).ravel()
    array([0.33, 0.33, 0.33])
    """
    y = targets.astype(np.float64)
    shares = weighting.shares(np.arange(y.shape[0]))
    mean = shares @ y
    unit = np.finfo(held.errors.dtype).eps * float(np.abs(y).max())
    rounding = _ROUNDING * unit * np.sqrt(y.shape[0] * shares.max() / shares[held.rows])
    difference = y[held.rows] - held.errors[:, :, i] + held.shift(i) - mean
    return mean + np.where(np.abs(difference) > rounding[:, None], difference, 0.0)
