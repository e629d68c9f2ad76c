"""Error bounds: what the fit alone says about errors on unseen rows.

The leave-one-out bound is that of Rifkin, Yeo & Poggio (2003, section 7.7), for labels ±1 and no
intercept: row i can only be misclassified by the fit without it if y_i(f(x_i) − c_i K_ii) ≤ 0.
Since c_i = w_i(y_i − f(x_i))/λ, that is the same as y_i f(x_i) ≤ K_ii/(K_ii + λ/w_i), or for the
residual r_i = y_i − f(x_i) as y_i r_i ≥ s_i = (λ/w_i)/(K_ii + λ/w_i).

With a threshold θ in place of zero: the fit without row i has y_i(f₋ᵢ(x_i) − θ) ≤ 0 where
y_i r_i ≥ (1 − y_i θ)(1 − h_i). Of 1 − h_i no more is known than s_i ≤ 1 − h_i ≤ 1, so that such a
row has y_i r_i ≥ (1 − y_i θ)s_i, or y_i r_i ≥ 1 − y_i θ where that is below zero.

The stability bound is that of Bousquet & Elisseeff (2002, theorems 12 and 22).
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array

__all__ = ["may_err_by_margin", "stability_bound"]


def may_err_by_margin(
    Y: Array, R: Array, diagonal: Array, penalties: Array, thresholds: Array | float = 0.0
) -> Array:
    """Rows that may be misclassified when left out: y f ≤ k(x, x)/(k(x, x) + λ/w).

    As yr ≥ (λ/w) / (k(x, x) + λ/w), with r = y − f: at small λ both sides of the former are one to
    all digits.

    Parameters
    ----------
    Y, R : array (n, t)
        Labels ±1 and residuals.
    diagonal : array (n,)
        k(x, x).
    penalties : array (n, t)
        λ/w.
    thresholds : float or array (t,)
        What values have to exceed to be positive.

    Returns
    -------
    array of bool (n, t)
    """
    total = diagonal[:, None].astype(np.float64) + penalties
    share = np.divide(penalties, total, out=np.ones_like(total), where=total > 0)
    least = 1.0 - Y * thresholds
    return np.where(least > 0.0, least * share, least) <= Y * R


def stability_bound(errors: Array, alpha: Array, kappa: float, delta: float) -> Array:
    r"""A bound on the expected square loss, and so on the error rate, of labels ±1 → (t,).

    With probability 1 − δ over n independent rows, for σ and λ not chosen on them and no
    intercept, the risk is at most

    .. math:: R_\text{loo} + \beta + (4n\beta + M)\sqrt{\ln(1/\delta)/2n}

    with the mean square leave-one-out error :math:`R_\text{loo}`, :math:`\beta = 2\kappa^2
    (1+R)^2/\lambda`, :math:`M = (1 + R)^2` and :math:`R = \kappa\sqrt{n/\lambda}`, the largest
    value f can take (from λ‖f‖² ≤ n).

    Parameters
    ----------
    errors : array (n, t)
        Leave-one-out errors.
    alpha : array (t,)
    kappa : float
        √k(x, x) at most, for every x there can be.
    delta : float
    """
    n = errors.shape[0]
    largest = np.square(1.0 + kappa * np.sqrt(n / alpha))
    beta = 2.0 * kappa**2 * largest / alpha
    left_out = np.mean(np.square(errors, dtype=np.float64), axis=0)
    return left_out + beta + (4.0 * n * beta + largest) * np.sqrt(np.log(1.0 / delta) / (2.0 * n))
