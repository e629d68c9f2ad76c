r"""Leave-one-out models at new rows, and intervals made of them, by real refits, in float64.

The problem, the weights, the intercept and the total-loss :math:`\lambda` are those of
:mod:`tests.reference.brute_force`. Here :math:`f` includes the intercept b, :math:`f_{-i}` is the
fit to all rows but i with the same :math:`\lambda`, :math:`e_i = y_i - f_{-i}(x_i)`, and a row of
weight zero takes no part: it does not count in n, and leaving it out changes nothing.

Shapes: ``n`` rows, ``d`` features, ``t`` targets, ``m`` new rows.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tests.reference import brute_force
from tests.reference.brute_force import FloatArray, _rows_in_the_fit, _weights_or_ones

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


def adaptive_interval(
    K: FloatArray,
    K_new: FloatArray,
    Y: FloatArray,
    lam: float,
    size_lams: FloatArray,
    coverage: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> tuple[FloatArray, FloatArray]:
    r"""Return f(z) ± q s(z), by n refits to the targets and n to the sizes of their errors.

    The fourth root of :math:`|e_i|` over its mean is fitted as a further target column, with a
    :math:`\lambda` of its own: g. Then :math:`s = g^4`, where g is at least the fourth root of a
    fiftieth and at most the greatest value fitted to, and q is the
    :math:`\lceil(1-\alpha)(n+1)\rceil`-th smallest :math:`|e_i| / s_{-i}(x_i)`.

    Parameters
    ----------
    size_lams : (t,) array
        The :math:`\lambda` of g for every target.

    Returns
    -------
    lower, upper : (m, t) arrays
    """
    used = _rows_in_the_fit(weights, K.shape[0])
    C, b = brute_force.fit(K, Y, lam, weights, intercept)
    predictions = brute_force.predict(K_new, C, b)
    sizes = np.abs(Y - brute_force.leave_one_out_values(K, Y, lam, weights, intercept))
    half = np.empty_like(predictions)
    for j, size_lam in enumerate(size_lams):
        relative = sizes[:, j] / sizes[used, j].mean()
        roots = relative[:, np.newaxis] ** 0.25
        C, b = brute_force.fit(K, roots, size_lam, weights, intercept)
        new = brute_force.predict(K_new, C, b)[:, 0]
        left_out = brute_force.leave_one_out_values(K, roots, size_lam, weights, intercept)[:, 0]
        low, high = 0.02**0.25, roots[used].max()
        ratios = relative[used] / np.clip(left_out[used], low, high) ** 4
        q = smallest(ratios, order_of_the_upper_end(coverage, used.size))
        half[:, j] = q * sizes[used, j].mean() * np.clip(new, low, high) ** 4
    return predictions - half, predictions + half
