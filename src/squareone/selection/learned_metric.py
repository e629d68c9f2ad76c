"""A metric that is learned in rounds: fit, take the gradients of the fit for the metric, fit again.

Where f depends on few directions, or on features by different amounts, its gradients say so long
before its values are good. With G the average outer product of the gradients at the rows (see
:mod:`squareone.kernels.gradients`), a round is

    M ← (G / λ_max(G))^p ,  M = RRᵀ ,

and for the Laplacian kernel, which has a weight for every feature, w_q ← (g_q / max g)^(p/2), with
g the mean squares of the slopes; at least a thousandth, for a weight of zero would never return.
The next fit, at its own width and λ, is that of the rows XR.

What is left out of a fit at a learned metric has been seen by the metric: its leave-one-out error
falls from round to round although predictions may get worse. How many rounds are good is for rows
to say that no round has seen.

A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, Mechanism for feature learning in neural
networks and backpropagation-free machine learning models, Science 383, 2024.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from ..arrays import Array
from ..kernels import Gaussian, Kernel, Laplacian, Matern
from ..kernels.gradients import average_outer_product, mean_squares

__all__ = ["learn_metric"]

# Weights of features at least.
_LEAST_WEIGHT = 1e-3
# Rows at most at which gradients are taken: they are averages.
_GRADIENT_ROWS = 3000

#: From a kernel, rows (n, d) and columns (n, t) to the kernel with a width and coefficients (n, t).
Fit = Callable[[Kernel, Array, Array], tuple[Kernel, Array]]


def learn_metric(
    X: Array,
    Y: Array,
    kernel: Kernel,
    fit: Fit,
    *,
    power: float = 1.0,
    rounds: int = 3,
    rng: np.random.RandomState | None = None,
    sample_weight: Array | None = None,
) -> list[Array]:
    """The metric after each of some rounds.

    Parameters
    ----------
    X : array (n, d)
        Rows, dense.
    Y : array (n, t)
        Targets. They are standardised, so that each column counts alike; constant ones do not.
    kernel : Gaussian, Matern or Laplacian
        With the parameters of the first fit; its metric, where it has one, is where rounds begin.
    fit : callable
        ``fit(kernel, X, Y)`` chooses σ and λ at the metric of the kernel, and returns the kernel
        with its width a number and the coefficients (n, t) of the rows.
    power : float, default=1.0
        p, above zero: 1 or ½.
    rounds : int, default=3
        At least one.
    rng : RandomState, optional
        Draws the rows at which gradients are taken, where there are more than 3,000.
    sample_weight : array (n,), optional
        How many rows each row counts as, in the average of gradients and in the standard deviation
        of targets; ``fit`` has to know them by itself.

    Returns
    -------
    list of array
        For each round R (d, r) with orthogonal columns, the longest first and of length one; those
        that rounding cannot tell from zero are left out. With the Laplacian, weights (d,).

    Notes
    -----
    **Cost** of a round: one call of ``fit``, gradients at k = min(n, 3000) rows, k·n·d·t
    multiplications, and an eigendecomposition of (d, d).

    Examples
    --------
    Of twenty directions one counts:

    >>> import numpy as np
    >>> from squareone import RLSRegressor
    >>> from squareone.kernels import Gaussian
    >>> from squareone.selection.learned_metric import learn_metric
    >>> def by_leave_one_out(kernel, X, Y):
    ...     model = RLSRegressor(kernel).fit(X, Y)
    ...     return model.kernel_, model.dual_coef_
    >>> rng = np.random.default_rng(0)
    >>> X, u = rng.standard_normal((200, 20)), np.full(20, np.sqrt(1 / 20))
    >>> first, second = learn_metric(
    ...     X, np.tanh(2 * X @ u)[:, None], Gaussian(), by_leave_one_out, rounds=2
    ... )
    >>> print(f"{abs(first[:, 0] @ u):.3f} → {abs(second[:, 0] @ u):.3f}")
    0.994 → 1.000
    """
    _check(kernel, power, rounds)
    Y = _standardised(Y, sample_weight)
    present, metrics = kernel, []
    for _ in range(rounds):
        fitted, coefficients = fit(present, X, Y)
        some = _some_rows(X.shape[0], rng)
        weights = None if sample_weight is None else np.asarray(sample_weight)[some]
        metric = metric_of(fitted, X[some], X, coefficients, power, weights)
        metrics.append(metric)
        present = clone(kernel).set_params(metric=metric)
    return metrics


def metric_of(
    kernel: Kernel,
    X: Array,
    centers: Array,
    coefficients: Array,
    power: float,
    weights: Array | None = None,
) -> Array:
    """The metric of the gradients of Σ_j c_j k(x, x_j) at rows ``X`` (k, d): (d, r) or (d,).

    ``weights`` (k,) say how many rows each of them counts as.

    Where the function is flat no direction is better than another: the metric is that of the
    kernel, or all ones where it has none.
    """
    if isinstance(kernel, Laplacian):
        squares = mean_squares(kernel, X, centers, coefficients, weights)
        if not squares.any():
            return _as_it_is(kernel, X)
        return np.maximum((squares / squares.max()) ** (power / 2.0), _LEAST_WEIGHT)
    outer = average_outer_product(kernel, X, centers, coefficients, weights)
    if not outer.any():
        return _as_it_is(kernel, X)
    values, vectors = np.linalg.eigh(outer)
    values, vectors = values[::-1] / values[-1], vectors[:, ::-1]
    kept = values > values.size * np.finfo(np.float64).eps
    return vectors[:, kept] * values[kept] ** (power / 2.0)


def _as_it_is(kernel: Any, X: Array) -> Array:
    return np.ones(X.shape[1]) if kernel.metric is None else kernel.metric


def _check(kernel: Any, power: float, rounds: int) -> None:
    if type(kernel) not in (Gaussian, Laplacian, Matern):
        msg = f"{kernel}: a metric is learned for a Gaussian, a Matern or a Laplacian by itself"
        raise TypeError(msg)
    if getattr(kernel, "ard", False) or np.ndim(kernel.sigma):
        msg = f"{kernel}: beside a learned metric there is one width for all features"
        raise ValueError(msg)
    if not 0 < power < np.inf:
        msg = f"power={power!r}: a number above zero is expected, 1 or 0.5"
        raise ValueError(msg)
    if rounds < 1:
        msg = f"rounds={rounds!r}: at least one round is expected"
        raise ValueError(msg)


def column_spreads(Y: Array, weights: Array | None) -> Array:
    """Standard deviations (t,) of target columns (n, t), by which each counts alike in a metric.

    One where a column is constant.
    """
    squares = np.square(Y - np.average(Y, axis=0, weights=weights))
    spreads = np.sqrt(np.average(squares, axis=0, weights=weights))
    return np.where(spreads > 0, spreads, 1.0)


def _standardised(Y: Array, weights: Array | None) -> Array:
    """Columns of mean zero and variance one, or zeros."""
    Y = np.asarray(Y, np.float64)
    return (Y - np.average(Y, axis=0, weights=weights)) / column_spreads(Y, weights)


def _some_rows(n: int, rng: np.random.RandomState | None) -> Array:
    """The numbers of the rows at which gradients are taken."""
    if n <= _GRADIENT_ROWS:
        return np.arange(n)
    rng = np.random.RandomState(0) if rng is None else rng
    return np.sort(rng.choice(n, _GRADIENT_ROWS, replace=False))
