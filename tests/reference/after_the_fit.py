r"""What is asked of a fit once it is made, computed from definitions and real refits, in float64.

The problem, the weights, the intercept and the total-loss :math:`\lambda` are those of
:mod:`tests.reference.brute_force`. Here :math:`f` includes the intercept b, :math:`f_{-i}` is the
fit to all rows but i with the same :math:`\lambda`, :math:`e_i = y_i - f_{-i}(x_i)`, and a row of
weight zero takes no part: it does not count in n, and leaving it out changes nothing.

The Gaussian process is :math:`y_i = g(x_i) + b + \varepsilon_i` with g of covariance
:math:`s^2 k`, independent noise of variance :math:`s^2 \lambda / w_i`, and b either zero or, with
an intercept, of a flat prior. Below, :math:`G = K + \lambda\, \mathrm{diag}(1/w)`.

Shapes: ``n`` rows, ``d`` features, ``t`` targets, ``m`` new rows.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert
from scipy.stats import multivariate_normal

from tests.reference import brute_force
from tests.reference.brute_force import FloatArray, IndexArray, _weights_or_ones

BoolArray = NDArray[np.bool_]


def _rows_in_the_fit(weights: FloatArray | None, n_rows: int) -> IndexArray:
    """Return the indices of the rows of positive weight."""
    return np.flatnonzero(_weights_or_ones(weights, n_rows) > 0)


# ---------------------------------------------------------------------------------------------
# Leave-one-out models at new points, and what one row changes
# ---------------------------------------------------------------------------------------------


def leave_one_out_predictions(
    K: FloatArray,
    K_new: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    r"""Predict every new row by each of the n refits that leave one row out, :math:`f_{-i}(z)`.

    Parameters
    ----------
    K : (n, n) array
    K_new : (m, n) array
        Kernel values between the new rows and the training rows.
    Y : (n, t) array
    lam : float
    weights : (n,) array or None
    intercept : bool

    Returns
    -------
    (m, n, t) array
        Entry [z, i] is :math:`f_{-i}(z)`; the ordinary prediction if row i has weight zero.
    """
    n_rows, n_targets = Y.shape
    w = _weights_or_ones(weights, n_rows)
    values = np.zeros((K_new.shape[0], n_rows, n_targets))
    for i in range(n_rows):
        kept = np.delete(np.arange(n_rows), i)
        C, b = brute_force.fit(K[np.ix_(kept, kept)], Y[kept], lam, w[kept], intercept)
        values[:, i] = brute_force.predict(K_new[:, kept], C, b)
    return values


def primal_leave_one_out_predictions(
    X: FloatArray,
    X_new: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    r"""Predict every new row by each of the n primal refits, :math:`f_{-i}(z) = a^T z + b`.

    Parameters
    ----------
    X : (n, d) array
    X_new : (m, d) array
    Y : (n, t) array
    lam : float
    weights : (n,) array or None
    intercept : bool

    Returns
    -------
    (m, n, t) array
    """
    n_rows, n_targets = Y.shape
    w = _weights_or_ones(weights, n_rows)
    values = np.zeros((X_new.shape[0], n_rows, n_targets))
    for i in range(n_rows):
        kept = np.delete(np.arange(n_rows), i)
        coef, b = brute_force.primal_fit(X[kept], Y[kept], lam, w[kept], intercept)
        values[:, i] = X_new @ coef.T + b
    return values


def influence(
    K: FloatArray,
    K_new: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    r"""Return the change of each prediction when a row is removed, :math:`f_{-i}(z) - f(z)`.

    Returns
    -------
    (m, n, t) array
        Zero for a row of weight zero.
    """
    C, b = brute_force.fit(K, Y, lam, weights, intercept)
    predictions = brute_force.predict(K_new, C, b)
    without = leave_one_out_predictions(K, K_new, Y, lam, weights, intercept)
    return without - predictions[:, np.newaxis, :]


def primal_influence(
    X: FloatArray,
    X_new: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    r"""Return :math:`f_{-i}(z) - f(z)` from primal fits; (m, n, t)."""
    coef, b = brute_force.primal_fit(X, Y, lam, weights, intercept)
    predictions = X_new @ coef.T + b
    without = primal_leave_one_out_predictions(X, X_new, Y, lam, weights, intercept)
    return without - predictions[:, np.newaxis, :]


def leverages(
    K: FloatArray, lam: float, weights: FloatArray | None = None, intercept: bool = True
) -> FloatArray:
    r"""Return :math:`\partial f(x_i) / \partial y_i`, the fit to the unit vector i at row i.

    The fitted values are linear in the targets, so this is the derivative and no approximation.

    Returns
    -------
    (n,) array
        Zero for rows of weight zero.
    """
    C, b = brute_force.fit(K, np.eye(K.shape[0]), lam, weights, intercept)
    return np.diag(brute_force.predict(K, C, b)).copy()


def primal_leverages(
    X: FloatArray, lam: float, weights: FloatArray | None = None, intercept: bool = True
) -> FloatArray:
    r"""Return :math:`\partial f(x_i) / \partial y_i` from primal fits to unit vectors; (n,)."""
    coef, b = brute_force.primal_fit(X, np.eye(X.shape[0]), lam, weights, intercept)
    return np.diag(X @ coef.T + b).copy()


# ---------------------------------------------------------------------------------------------
# Intervals: Barber, Candès, Ramdas and Tibshirani (2021), section 1
# ---------------------------------------------------------------------------------------------


def order_of_the_upper_end(coverage: float, n_rows: int) -> int:
    r"""Return :math:`\lceil (1-\alpha)(n+1) \rceil` with :math:`1-\alpha` the coverage as written.

    The coverage is read as the shortest decimal that rounds to the given float64, so that 0.9
    means nine tenths, and the product is exact. With 99 rows, 0.55 gives 55, where the float64
    product is 55.00000000000001.
    """
    exact = Fraction(str(float(coverage)))
    if not 0 < exact < 1:
        raise ValueError("coverage must be between 0 and 1")
    return math.ceil(exact * (n_rows + 1))


def order_of_the_lower_end(coverage: float, n_rows: int) -> int:
    r"""Return :math:`\lfloor \alpha (n+1) \rfloor`, with the coverage read as for the upper end.

    With nine rows, 0.9 gives 1, where the float64 product is 0.9999999999999998.
    """
    alpha = 1 - Fraction(str(float(coverage)))
    if not 0 < alpha < 1:
        raise ValueError("coverage must be between 0 and 1")
    return math.floor(alpha * (n_rows + 1))


def smallest(values: FloatArray, order: int) -> FloatArray:
    r"""Return the value of the given order along the last axis: 1 is the smallest.

    Order 0 is below all values, :math:`-\infty`; order n + 1 is above them, :math:`+\infty`.

    Parameters
    ----------
    values : (..., n) array
    order : int

    Returns
    -------
    (...) array
    """
    ends = np.full((*values.shape[:-1], 1), np.inf)
    return np.concatenate([-ends, np.sort(values, axis=-1), ends], axis=-1)[..., order]


def jackknife_plus_interval(
    without: FloatArray, errors: FloatArray, coverage: float
) -> tuple[FloatArray, FloatArray]:
    r"""Return the jackknife+ interval.

    The lower end is the :math:`\lfloor\alpha(n+1)\rfloor`-th smallest of
    :math:`f_{-i}(z) - |e_i|`, the upper end the :math:`\lceil(1-\alpha)(n+1)\rceil`-th smallest
    of :math:`f_{-i}(z) + |e_i|`.

    Parameters
    ----------
    without : (m, n, t) array
        The predictions :math:`f_{-i}(z)`, for the rows of positive weight only.
    errors : (n, t) array
        The leave-one-out errors of the same rows.
    coverage : float

    Returns
    -------
    lower, upper : (m, t) arrays
    """
    n_rows = errors.shape[0]
    lows = np.moveaxis(without - np.abs(errors), 1, -1)  # (m, t, n)
    highs = np.moveaxis(without + np.abs(errors), 1, -1)
    return (
        smallest(lows, order_of_the_lower_end(coverage, n_rows)),
        smallest(highs, order_of_the_upper_end(coverage, n_rows)),
    )


def jackknife_interval(
    predictions: FloatArray, errors: FloatArray, coverage: float
) -> tuple[FloatArray, FloatArray]:
    r"""Return f(z) plus and minus the :math:`\lceil(1-\alpha)(n+1)\rceil`-th smallest |e_i|.

    Parameters
    ----------
    predictions : (m, t) array
        The predictions f(z) of the full fit.
    errors : (n, t) array
        For the rows of positive weight only.
    coverage : float

    Returns
    -------
    lower, upper : (m, t) arrays
    """
    half_width = smallest(np.abs(errors).T, order_of_the_upper_end(coverage, errors.shape[0]))
    return predictions - half_width, predictions + half_width


def jackknife_minmax_interval(
    without: FloatArray, errors: FloatArray, coverage: float
) -> tuple[FloatArray, FloatArray]:
    r"""Return :math:`\min_i f_{-i}(z) - q` and :math:`\max_i f_{-i}(z) + q`.

    Here q is the :math:`\lceil(1-\alpha)(n+1)\rceil`-th smallest |e_i|.

    Parameters
    ----------
    without : (m, n, t) array
        For the rows of positive weight only.
    errors : (n, t) array
    coverage : float

    Returns
    -------
    lower, upper : (m, t) arrays
    """
    half_width = smallest(np.abs(errors).T, order_of_the_upper_end(coverage, errors.shape[0]))
    return without.min(axis=1) - half_width, without.max(axis=1) + half_width


def intervals(
    K: FloatArray,
    K_new: FloatArray,
    Y: FloatArray,
    lam: float,
    coverage: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> dict[str, tuple[FloatArray, FloatArray]]:
    r"""Return the three intervals at the new rows, by n refits.

    Every row of positive weight counts once, whatever its weight.

    Returns
    -------
    dict of "jackknife+", "jackknife" and "minmax" to (lower, upper), each (m, t)
    """
    used = _rows_in_the_fit(weights, K.shape[0])
    C, b = brute_force.fit(K, Y, lam, weights, intercept)
    predictions = brute_force.predict(K_new, C, b)
    without = leave_one_out_predictions(K, K_new, Y, lam, weights, intercept)[:, used]
    errors = (Y - brute_force.leave_one_out_values(K, Y, lam, weights, intercept))[used]
    return {
        "jackknife+": jackknife_plus_interval(without, errors, coverage),
        "jackknife": jackknife_interval(predictions, errors, coverage),
        "minmax": jackknife_minmax_interval(without, errors, coverage),
    }


def primal_intervals(
    X: FloatArray,
    X_new: FloatArray,
    Y: FloatArray,
    lam: float,
    coverage: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return the three intervals at the new rows, by n primal refits; see :func:`intervals`."""
    used = _rows_in_the_fit(weights, X.shape[0])
    coef, b = brute_force.primal_fit(X, Y, lam, weights, intercept)
    predictions = X_new @ coef.T + b
    without = primal_leave_one_out_predictions(X, X_new, Y, lam, weights, intercept)[:, used]
    errors = (Y - brute_force.primal_leave_one_out_values(X, Y, lam, weights, intercept))[used]
    return {
        "jackknife+": jackknife_plus_interval(without, errors, coverage),
        "jackknife": jackknife_interval(predictions, errors, coverage),
        "minmax": jackknife_minmax_interval(without, errors, coverage),
    }


# ---------------------------------------------------------------------------------------------
# The Gaussian process
# ---------------------------------------------------------------------------------------------


def estimated_scale(
    K: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    r"""Return :math:`\hat s^2 = y^T c / n`, or :math:`y^T c / (n-1)` with an intercept.

    Here c are the coefficients of the fit and n is the number of rows of positive weight. It
    maximises :func:`log_marginal_likelihood` over :math:`s^2`.

    Returns
    -------
    (t,) array
    """
    used = _rows_in_the_fit(weights, K.shape[0])
    C, _ = brute_force.fit(K, Y, lam, weights, intercept)
    sums: FloatArray = np.sum(Y[used] * C[used], axis=0)
    return sums / (len(used) - 1 if intercept else len(used))


def _scales(
    K: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None,
    intercept: bool,
    scale: float | None,
) -> FloatArray:
    """Return the given scale for every target, or the estimated ones; shape (t,)."""
    if scale is None:
        return estimated_scale(K, Y, lam, weights, intercept)
    return np.full(Y.shape[1], scale)


def _covariance_of_targets(
    K: FloatArray, lam: float, weights: FloatArray | None
) -> tuple[IndexArray, FloatArray]:
    r"""Return the rows in the fit and their :math:`K + \lambda\,\mathrm{diag}(1/w)`."""
    w = _weights_or_ones(weights, K.shape[0])
    used = np.flatnonzero(w > 0)
    return used, K[np.ix_(used, used)] + lam * np.diag(1.0 / w[used])


def posterior(
    K: FloatArray,
    K_new: FloatArray,
    K_new_new: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
    scale: float | None = None,
) -> tuple[FloatArray, FloatArray]:
    r"""Return the mean and covariance of g(z) + b at new rows, given the targets; no noise.

    Two jointly Gaussian vectors u and v of mean zero have :math:`E[u|v] = C_{uv}C_{vv}^{-1}v` and
    :math:`\mathrm{cov}[u|v] = C_{uu} - C_{uv}C_{vv}^{-1}C_{vu}`. Without an intercept u is g at
    the new rows and v the targets. With one, b has to go before the vectors have a distribution:
    u is :math:`g(z) + b - y_1` and v the contrasts :math:`y_j - y_1`, which do not contain b and
    so do not depend on its prior; given those, a flat prior makes :math:`y_1` tell nothing of u.

    Parameters
    ----------
    K : (n, n) array
    K_new : (m, n) array
    K_new_new : (m, m) array
        Kernel matrix of the new rows.
    Y : (n, t) array
    lam : float
    weights : (n,) array or None
    intercept : bool
    scale : float or None
        The variance :math:`s^2`; None for :func:`estimated_scale`, one for each target.

    Returns
    -------
    mean : (m, t) array
    covariance : (m, m, t) array
    """
    used, G = _covariance_of_targets(K, lam, weights)
    K_new_used = K_new[:, used]
    v, C_vv, C_uv, C_uu = Y[used], G, K_new_used, K_new_new
    shift = np.zeros(Y.shape[1])
    if intercept:
        differences = np.hstack([-np.ones((len(used) - 1, 1)), np.eye(len(used) - 1)])
        v = differences @ Y[used]
        C_vv = differences @ G @ differences.T
        # cov(g(z) - g_1 - noise_1, y_j) for all j, then its contrasts.
        C_uv = (K_new_used - G[0]) @ differences.T
        C_uu = K_new_new - K_new_used[:, :1] - K_new_used[:, :1].T + G[0, 0]
        shift = Y[used[0]]

    mean = shift + C_uv @ np.linalg.solve(C_vv, v)
    covariance = C_uu - C_uv @ np.linalg.solve(C_vv, C_uv.T)
    s2 = _scales(K, Y, lam, weights, intercept, scale)
    return mean, covariance[:, :, np.newaxis] * s2


def posterior_with_prior_on_intercept(
    K: FloatArray,
    K_new: FloatArray,
    K_new_new: FloatArray,
    Y: FloatArray,
    lam: float,
    prior_variance: float,
    weights: FloatArray | None = None,
    scale: float = 1.0,
) -> tuple[FloatArray, FloatArray]:
    r"""Return the posterior of g(z) + b when b has the prior :math:`N(0, s^2 v)`.

    The constant v is then part of the kernel. As v grows, this is the flat prior's posterior with
    an error that is a power series in 1/v.

    Returns
    -------
    mean : (m, t) array
    covariance : (m, m, t) array
    """
    return posterior(
        K + prior_variance,
        K_new + prior_variance,
        K_new_new + prior_variance,
        Y,
        lam,
        weights,
        intercept=False,
        scale=scale,
    )


def log_marginal_likelihood(
    K: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
    scale: float | None = None,
) -> FloatArray:
    r"""Return the log density of each target's values, :math:`y \sim N(0, s^2 G)`.

    With an intercept it is the log density of the n - 1 contrasts :math:`U_\perp^T y`, where the
    columns of :math:`U_\perp` are an orthonormal basis of the vectors that sum to zero; which
    basis makes no difference. Constants such as :math:`\log 2\pi` are all there.

    Parameters
    ----------
    K : (n, n) array
    Y : (n, t) array
    lam : float
    weights : (n,) array or None
    intercept : bool
    scale : float or None
        The variance :math:`s^2`; None for :func:`estimated_scale`, the largest value over it.

    Returns
    -------
    (t,) array
    """
    used, G = _covariance_of_targets(K, lam, weights)
    values = Y[used]
    if intercept:
        contrasts = helmert(len(used))  # (n - 1, n), orthonormal rows of sum zero
        values, G = contrasts @ values, contrasts @ G @ contrasts.T
    s2 = _scales(K, Y, lam, weights, intercept, scale)
    return np.array(
        [
            multivariate_normal.logpdf(values[:, k], mean=np.zeros(len(G)), cov=s2[k] * G)
            for k in range(Y.shape[1])
        ]
    )


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
