"""Slopes and offsets that turn decision values into log-odds.

Both fits minimise a log loss that is convex. Where the values separate the classes, its minimum for
labels of 0 and 1 lies at infinite slopes: certainty, from finitely many rows. The labels are
therefore smoothed, as by rows that were not seen; the smoothing fades as rows become more, and does
not depend on the scale of the values.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array

__all__ = ["log_odds_line", "number_of_rows", "softmax_line", "softmax_slope"]

# The flattest slope, over the distance between values: probabilities of values that tell nothing,
# or the wrong thing, are equal to three decimals, and still in the order of the values.
_FLATTEST = 1e-3
# Of Newton's method: it takes about ten.
_MOST_STEPS = 100
_RIDGE = 1e-12
# Where Newton's step promises less than this share of the loss, the minimum is so near that it
# doubles the correct digits, though the loss hardly shows it: it is taken, and is the last.
_SETTLED = 1e-13


def softmax_slope(values: Array, truth: Array, weights: Array) -> float:
    """The a > 0 whose softmax(a·f) has the least log loss.

    Labels are smoothed as if one more row had been seen whose class was drawn at random: with
    ε = 1/(1 + N), N the number of rows, a row counts 1 − ε + ε/k for its class and ε/k for each of
    the others.

    Since the loss is convex, its slope in a,

        g(a) = Σ_i w_i Σ_j d_ij (t_ij − p_ij),   d_ij = max_l f_il − f_ij ≥ 0,

    increases. With p_ij ≤ 1/(1 + exp(a d_ij)) and x/(1 + exp x) < 0.28 it is positive for
    a ≥ 0.28 k(k − 1)Σw / (ε Σ_i w_i Σ_j d_ij), which bounds the search.

    Parameters
    ----------
    values : array (n, k) of float64
    truth : array (n, k) of bool
        The class of each row.
    weights : array (n,)

    Notes
    -----
    **Cost**: nk exponentials in each of some ten evaluations.
    """
    from scipy.optimize import brentq  # imported late: it would slow `import squareone`

    k = values.shape[1]
    behind = values.max(axis=1, keepdims=True) - values
    unit = _mean(behind.mean(axis=1), weights) * k / (k - 1)
    if unit == 0.0:  # all values of a row are equal: so are the probabilities, whatever the slope
        return 1.0
    behind /= unit
    shares = weights / weights.sum()
    epsilon, smoothed = _smoothed(truth, weights)

    def slope_of_loss(log_slope: float) -> float:
        with np.errstate(over="ignore"):  # a share that is infinitely small is zero
            p = np.exp(-np.exp(log_slope) * behind)
        p /= p.sum(axis=1, keepdims=True)
        return float(shares @ np.sum(behind * (smoothed - p), axis=1))

    low, high = np.log(_FLATTEST), np.log(k / epsilon)
    best = low if slope_of_loss(low) >= 0.0 else brentq(slope_of_loss, low, high)
    return _per(unit, np.exp(best))


def _smoothed(truth: Array, weights: Array) -> tuple[float, Array]:
    """ε, and labels (n, k) as if one more row had been seen whose class was drawn at random."""
    epsilon = 1.0 / (1.0 + number_of_rows(weights))
    return epsilon, np.where(truth, 1.0 - epsilon, 0.0) + epsilon / truth.shape[1]


def softmax_line(
    values: Array, truth: Array, weights: Array, *, slope: float | None = None
) -> tuple[float, Array, Array]:
    """The a > 0 and b whose softmax(a·(f − c) + b) has the least log loss, as (a, c, b).

    Labels are smoothed as in :func:`softmax_slope`. At the least loss the mean probability of every
    class is its share of the smoothed rows.

    Parameters
    ----------
    values : array (n, k) of float64
        With column means c.
    truth : array (n, k) of bool
    weights : array (n,)
    slope : float or None
        a, where it is given.

    Notes
    -----
    **Cost**: nk exponentials in each of some dozens of evaluations.
    """
    from scipy.optimize import minimize  # imported late: it would slow `import squareone`
    from scipy.special import logsumexp

    shares = weights / weights.sum()
    centres = shares @ values
    x = values - centres
    unit = float(np.sqrt(shares @ np.square(x).mean(axis=1))) or 1.0
    x /= unit
    _, t = _smoothed(truth, weights)

    def loss(line: Array) -> tuple[float, Array]:
        z = line[0] * x + line[1:]
        log_p = z - logsumexp(z, axis=1, keepdims=True)
        missing = shares[:, None] * (np.exp(log_p) - t)
        gradient = np.concatenate([[np.sum(missing * x)], missing.sum(axis=0)])
        return -float(shares @ np.sum(t * log_p, axis=1)), gradient

    given = None if slope is None else slope * unit
    start = np.concatenate([[1.0 if given is None else given], np.log(shares @ t)])
    least, most = (_FLATTEST, None) if given is None else (given, given)
    bounds = [(least, most), *[(None, None)] * values.shape[1]]
    options = {"maxiter": 1000, "maxfun": 5000, "ftol": 1e-16, "gtol": 1e-10}
    line = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return _per(unit, line[0]), centres, line[1:]


def log_odds_line(values: Array, truth: Array, weights: Array) -> tuple[float, float, float]:
    """The a > 0 and b whose 1/(1 + exp(−a·(f − c) − b)) has the least log loss, as (a, c, b).

    Labels are smoothed as in [1]_: with N₊ and N₋ rows on both sides, a row counts
    (N₊ + 1)/(N₊ + 2) if it is positive and 1/(N₋ + 2) if not. Newton's method, with steps halved
    until the loss decreases enough [2]_. A side without rows is no exception. Where the best slope
    is next to zero, or below, the flattest is taken, with the offset that is best for it.

    Parameters
    ----------
    values : array (n,) of float64
        With mean c.
    truth : array (n,) of bool
    weights : array (n,)

    Notes
    -----
    **Cost**: 2n exponentials in each of some ten steps.

    References
    ----------
    .. [1] Platt, "Probabilistic outputs for support vector machines and comparisons to regularized
       likelihood methods", 1999.
    .. [2] Lin, Lin & Weng, "A note on Platt's probabilistic outputs for support vector machines",
       Machine Learning 68, 2007.
    """
    positive, negative = number_of_rows(weights[truth]), number_of_rows(weights[~truth])
    t = np.where(truth, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))
    x, centre, unit = _standardised(values, weights)
    one = np.ones((1, x.size))
    offset = np.log((positive + 1.0) / (negative + 1.0))
    slope, offset = _least_log_loss(np.vstack([x, one]), 0.0 * x, t, weights, [0.0, offset])
    if slope < _FLATTEST:
        slope = _FLATTEST
        (offset,) = _least_log_loss(one, slope * x, t, weights, [offset])
    return _per(unit, slope), centre, float(offset)


def _least_log_loss(design: Array, z: Array, t: Array, weights: Array, start: list[float]) -> Array:
    """The v (p,) for which vᵀ·``design`` + z (n,) are the best log-odds of labels ``t`` (n,)."""
    from scipy.special import expit  # imported late: it would slow `import squareone`

    def loss(v: Array) -> float:
        odds = v @ design + z
        return float(weights @ (t * np.logaddexp(0.0, -odds) + (1 - t) * np.logaddexp(0.0, odds)))

    v = np.array(start)
    here = loss(v)
    for _ in range(_MOST_STEPS):
        p = expit(v @ design + z)
        gradient = design @ (weights * (p - t))
        hessian = (design * (weights * p * (1.0 - p))) @ design.T
        # The ridge is for where the loss is straight: equal values, or rows that are certain.
        curvature = np.diag(hessian)
        ridge = np.where(curvature > 0.0, _RIDGE * curvature, 1.0)
        step = -np.linalg.solve(hessian + np.diag(ridge), gradient)
        promise = -float(gradient @ step)
        if promise <= _SETTLED * here:
            return v + step
        while (there := loss(v + step)) > here - 1e-4 * promise:
            step, promise = step / 2.0, promise / 2.0
        v, here = v + step, there
    return v


def _standardised(values: Array, weights: Array) -> tuple[Array, float, float]:
    """Values with mean 0 and mean square 1, or all 0, and the mean and the unit they had."""
    lowest = float(values.min())
    x = values - lowest  # first, so that equal values become zero, not rounding errors
    largest = float(x.max()) or 1.0
    x /= largest  # before squares, which would overflow or vanish
    mean = _mean(x, weights)
    x -= mean
    spread = np.sqrt(_mean(x * x, weights)) or 1.0
    return x / spread, lowest + mean * largest, float(spread * largest)


def number_of_rows(weights: Array) -> float:
    """Σw, since a row of weight two is two rows, but no less than (Σw)²/Σw².

    The latter is how many rows of equal weight would know as much; it does not change with the unit
    of the weights. Without it, weights that sum to one would say that there is a single row.
    """
    if weights.size == 0:
        return 0.0
    total = float(weights.sum())
    shares = weights / total
    return max(total, 1.0 / float(shares @ shares))


def _mean(x: Array, weights: Array) -> float:
    return float(weights @ x / weights.sum())


def _per(unit: float, x: float) -> float:
    """x/unit; the largest number where that would be infinite."""
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        return float(np.clip(np.float64(x) / unit, -largest, largest))
