r"""Bounds on the errors of a classifier, by their definitions, in float64.

The problem, the weights and the total-loss :math:`\lambda` are those of
:mod:`tests.reference.brute_force`; :math:`f_{-i}` is the fit to all rows but i with the same
:math:`\lambda`, and a row of weight zero takes no part.

Shapes: ``n`` rows, ``t`` targets.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tests.reference import brute_force
from tests.reference.brute_force import FloatArray, IndexArray, _rows_in_the_fit, _weights_or_ones

BoolArray = NDArray[np.bool_]


# ---------------------------------------------------------------------------------------------
# Leave-one-out bounds for labels +1 and -1, without intercept: Rifkin, Yeo and Poggio (2003), 7.7
#
# Their lambda multiplies the norm beside the mean loss: lam = n lambda_2003.
# ---------------------------------------------------------------------------------------------


def _check_labels(Y: FloatArray, used: IndexArray) -> None:
    """Raise unless every label in the fit is +1 or -1."""
    if not np.all(np.abs(Y[used]) == 1.0):
        raise ValueError("labels must be +1 or -1")


def leave_one_out_mistakes(
    K: FloatArray, Y: FloatArray, lam: float, weights: FloatArray | None = None
) -> BoolArray:
    r"""Say which rows their own refit does not classify, :math:`y_i f_{-i}(x_i) \le 0`; (n, t).

    A value of zero is a mistake. Rows of weight zero are not in the count: False.
    """
    used = _rows_in_the_fit(weights, K.shape[0])
    _check_labels(Y, used)
    values = brute_force.leave_one_out_values(K, Y, lam, weights, intercept=False)
    mistakes = np.zeros(Y.shape, dtype=np.bool_)
    mistakes[used] = Y[used] * values[used] <= 0
    return mistakes


def possible_mistakes_by_contribution(
    K: FloatArray, Y: FloatArray, lam: float, weights: FloatArray | None = None
) -> BoolArray:
    r"""Say which rows are not classified without their own contribution; (n, t).

    .. math:: y_i \sum_{j \ne i} c_j k(x_i, x_j) \le 0

    Every leave-one-out mistake is among them (first bound of section 7.7).
    """
    used = _rows_in_the_fit(weights, K.shape[0])
    _check_labels(Y, used)
    C, _ = brute_force.fit(K, Y, lam, weights, intercept=False)
    possible = np.zeros(Y.shape, dtype=np.bool_)
    for i in used:
        others = [j for j in used if j != i]
        possible[i] = Y[i] * (K[i, others] @ C[others]) <= 0
    return possible


def possible_mistakes_by_margin(
    K: FloatArray, Y: FloatArray, lam: float, weights: FloatArray | None = None
) -> BoolArray:
    r"""Say which rows have a margin small enough to be leave-one-out mistakes; (n, t).

    .. math:: y_i f(x_i) \le \frac{k(x_i, x_i)}{k(x_i, x_i) + \lambda / w_i}

    The last bound of section 7.7, :math:`\ell\lambda_{2003}` being :math:`\lambda`. In exact
    arithmetic these are the rows of :func:`possible_mistakes_by_contribution`.
    """
    n_rows = K.shape[0]
    w = _weights_or_ones(weights, n_rows)
    used = _rows_in_the_fit(weights, n_rows)
    _check_labels(Y, used)
    C, b = brute_force.fit(K, Y, lam, weights, intercept=False)
    values = brute_force.predict(K, C, b)
    possible = np.zeros(Y.shape, dtype=np.bool_)
    for i in used:
        possible[i] = Y[i] * values[i] <= K[i, i] / (K[i, i] + lam / w[i])
    return possible


def gacv_errors(
    K: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = False,
) -> FloatArray:
    r"""Return the chapter's approximate leave-one-out errors, every leverage being the mean one.

    .. math:: \frac{y_i - f(x_i)}{1 - \mathrm{tr}(H) / n}

    The chapter prints the trace of :math:`(K + \lambda I)^{-1}`; that of the hat matrix
    :math:`H = K (K + \lambda I)^{-1}` is meant. The weighted mean of the squares is GCV.

    Returns
    -------
    (n, t) array
        NaN for rows of weight zero.
    """
    used = _rows_in_the_fit(weights, K.shape[0])
    C, b = brute_force.fit(K, Y, lam, weights, intercept)
    residuals = Y - brute_force.predict(K, C, b)
    spare = 1.0 - brute_force.degrees_of_freedom(K, lam, weights, intercept) / len(used)
    errors = np.full(Y.shape, np.nan)
    errors[used] = residuals[used] / spare
    return errors


# ---------------------------------------------------------------------------------------------
# Stability, for labels +1 and -1, without intercept or weights
#
# The chapter says only that stability is O(1 / (n lambda_2003)), and refers to Bousquet and
# Elisseeff (2002). The constants are those of their Theorems 12 and 22. Their refit without a row
# keeps the factor 1/n before the sum, which is to keep the same lam: it is f_{-i} here.
# ---------------------------------------------------------------------------------------------


def stability_constants(kappa: float, lam: float, n_rows: int) -> tuple[float, float, float]:
    r"""Return the constants :math:`\sigma`, M and :math:`\beta` of the square loss.

    With :math:`\kappa^2 \ge k(x, x)` for every x there can be, the zero function shows that
    :math:`\lambda \|f\|^2 \le n`, so :math:`|f(x)| \le \kappa\sqrt{n/\lambda} = R`. On such values
    the loss :math:`(y - f)^2` is at most M and changes at most :math:`\sigma` times as fast as f:

    .. math:: \sigma = 2 (1 + R), \quad M = (1 + R)^2, \quad
        \beta = \frac{\sigma^2 \kappa^2}{2 n \lambda_{2003}} = \frac{\sigma^2 \kappa^2}{2 \lambda} .

    Removing one row changes no prediction by more than :math:`\sigma\kappa^2 / (2\lambda)`, and no
    loss by more than :math:`\beta` (Theorem 22).

    Returns
    -------
    sigma, largest_loss, beta : float
    """
    largest_value = kappa * math.sqrt(n_rows / lam)
    sigma = 2.0 * (1.0 + largest_value)
    return sigma, (1.0 + largest_value) ** 2, sigma**2 * kappa**2 / (2.0 * lam)


def largest_changes(K: FloatArray, Y: FloatArray, lam: float, kappa: float) -> FloatArray:
    r"""Return a bound on :math:`|f_{-i}(x) - f(x)|` over all x, :math:`\kappa^2 |r_i| / \lambda`.

    Theorem 22 with the slope of the loss at the row itself, :math:`2 |r_i|`, for :math:`\sigma`:
    the optimality conditions of the two fits give, for their difference d,
    :math:`\lambda \|d\|^2 + \sum_{j \ne i} d(x_j)^2 = r_i d(x_i)`, and
    :math:`|d(x)| \le \kappa \|d\|`. Here :math:`r = y - f`, of the full fit.

    Returns
    -------
    (n, t) array
    """
    C, b = brute_force.fit(K, Y, lam, None, intercept=False)
    residuals = Y - brute_force.predict(K, C, b)
    return kappa**2 * np.abs(residuals) / lam


def stability_bounds(
    K: FloatArray, Y: FloatArray, lam: float, kappa: float, delta: float
) -> tuple[FloatArray, FloatArray]:
    r"""Return two upper bounds on the expected square loss :math:`E (y - f(x))^2` of the fit.

    For independent rows of one distribution, :math:`\lambda` and the kernel not chosen on them,
    each holds with probability at least :math:`1 - \delta` (Theorem 12, equations 11 and 12):

    .. math::
        \frac{1}{n} \sum_i r_i^2 + 2\beta + (4 n \beta + M) \sqrt{\frac{\ln (1/\delta)}{2n}} ,
        \qquad
        \frac{1}{n} \sum_i e_i^2 + \beta + (4 n \beta + M) \sqrt{\frac{\ln (1/\delta)}{2n}} .

    As :math:`(y - f)^2 \ge 1` where f has the wrong sign, they bound the error rate as well.

    Returns
    -------
    from_residuals, from_leave_one_out : (t,) arrays
    """
    n_rows = K.shape[0]
    _check_labels(Y, np.arange(n_rows))
    _, largest_loss, beta = stability_constants(kappa, lam, n_rows)
    deviation = (4.0 * n_rows * beta + largest_loss) * math.sqrt(
        math.log(1.0 / delta) / (2.0 * n_rows)
    )
    C, b = brute_force.fit(K, Y, lam, None, intercept=False)
    residuals = Y - brute_force.predict(K, C, b)
    errors = Y - brute_force.leave_one_out_values(K, Y, lam, None, intercept=False)
    return (
        np.mean(residuals**2, axis=0) + 2.0 * beta + deviation,
        np.mean(errors**2, axis=0) + beta + deviation,
    )
