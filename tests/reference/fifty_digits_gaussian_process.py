r"""The Gaussian process in multiple-precision arithmetic, for ill-conditioned problems.

The model is that of :mod:`tests.reference.after_the_fit`, with
:math:`G = K + \lambda\,\mathrm{diag}(1/w)`. The formulas are the closed ones, where the float64
reference uses contrasts. The float64 inputs are taken as exact numbers and results are rounded to
float64 at the very end; see :mod:`tests.reference.fifty_digits`.
"""

from __future__ import annotations

import mpmath
import numpy as np
from mpmath import mp

from tests.reference.fifty_digits import WORKING_DIGITS, FloatArray, Multiprecision


def _inverse_covariance(
    K: FloatArray, y: FloatArray, lam: float, weights: FloatArray | None
) -> tuple[list[int], Multiprecision, Multiprecision, Multiprecision]:
    """Return the rows in the fit, their G, its inverse, and their targets."""
    w = np.ones(len(y)) if weights is None else weights
    used = np.flatnonzero(w > 0).tolist()
    G = mp.matrix(K[np.ix_(used, used)].tolist())
    for position, i in enumerate(used):
        G[position, position] += mp.mpf(float(lam)) / mp.mpf(float(w[i]))
    return used, G, G**-1, mp.matrix(y[used].tolist())


def _scale(
    inverse: Multiprecision, targets: Multiprecision, intercept: bool, scale: float | None
) -> tuple[Multiprecision, Multiprecision]:
    """Return s^2, and y'c with c the coefficients of the fit."""
    n_used = len(targets)
    square = (targets.T * inverse * targets)[0]
    if intercept:
        sums = inverse * mp.ones(n_used, 1)
        square -= (targets.T * sums)[0] ** 2 / mp.fsum(sums)
    if scale is not None:
        return mp.mpf(float(scale)), square
    return square / (n_used - 1 if intercept else n_used), square


def posterior_variance(
    K: FloatArray,
    k_new: FloatArray,
    k_new_new: float,
    y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
    scale: float | None = None,
) -> float:
    r"""Return the variance of g(z) + b at one new row z.

    .. math::
        s^2 \left( k(z,z) - k^T G^{-1} k + \frac{(1 - 1^T G^{-1} k)^2}{1^T G^{-1} 1} \right) ,

    the last term with an intercept only.

    Parameters
    ----------
    K : (n, n) array
    k_new : (n,) array
    k_new_new : float
    y : (n,) array
    lam : float
    weights : (n,) array or None
    intercept : bool
    scale : float or None
        The variance :math:`s^2`; None for the estimated one.
    """
    with mpmath.workdps(WORKING_DIGITS):
        used, _, inverse, targets = _inverse_covariance(K, y, lam, weights)
        k = mp.matrix(k_new[used].tolist())
        variance = mp.mpf(float(k_new_new)) - (k.T * inverse * k)[0]
        if intercept:
            sums = inverse * mp.ones(len(used), 1)
            variance += (1 - (sums.T * k)[0]) ** 2 / mp.fsum(sums)
        return float(_scale(inverse, targets, intercept, scale)[0] * variance)


def log_marginal_likelihood(
    K: FloatArray,
    y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
    scale: float | None = None,
) -> float:
    r"""Return the log density of the targets, or of their contrasts with an intercept.

    With q = n, or n - 1 with an intercept, and c the coefficients of the fit,

    .. math:: -\tfrac12 \left( q \log (2 \pi s^2) + \log D + y^T c / s^2 \right) ,

    where D is :math:`\det G`, or :math:`\det G \cdot 1^T G^{-1} 1 / n` with an intercept.

    Parameters
    ----------
    K : (n, n) array
    y : (n,) array
    lam : float
    weights : (n,) array or None
    intercept : bool
    scale : float or None
        The variance :math:`s^2`; None for the estimated one.
    """
    with mpmath.workdps(WORKING_DIGITS):
        used, G, inverse, targets = _inverse_covariance(K, y, lam, weights)
        s2, square = _scale(inverse, targets, intercept, scale)
        size, determinant = len(used), mp.det(G)
        if intercept:
            size -= 1
            determinant *= mp.fsum(inverse) / len(used)
        return float(-(size * mp.log(2 * mp.pi * s2) + mp.log(determinant) + square / s2) / 2)
