r"""The Gaussian process behind a fit, by conditioning, in float64.

The problem, the weights and the total-loss :math:`\lambda` are those of
:mod:`tests.reference.brute_force`; a row of weight zero takes no part and does not count in n. The
process is :math:`y_i = g(x_i) + b + \varepsilon_i` with g of covariance :math:`s^2 k`, independent
noise of variance :math:`s^2 \lambda / w_i`, and b either zero or, with an intercept, of a flat
prior. Below, :math:`G = K + \lambda\, \mathrm{diag}(1/w)`.

Shapes: ``n`` rows, ``t`` targets, ``m`` new rows.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import helmert
from scipy.stats import multivariate_normal

from tests.reference import brute_force
from tests.reference.brute_force import FloatArray, IndexArray, _rows_in_the_fit, _weights_or_ones

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
