r"""The rectangle and Nyström fits of a Gaussian kernel in multiple-precision arithmetic.

The problems are those of :mod:`tests.reference.centers`, for one target, solved by their normal
equations,

.. math::
    (A^T W A + \lambda J) (c, b)^T = A^T W y, \quad
    A = [K_{nm}, 1],\ J = \mathrm{diag}(K_{mm}, 0) ,

which is safe with :data:`~tests.reference.fifty_digits.WORKING_DIGITS` digits as long as K_mm is
invertible in those. The points are taken as exact, the kernel is evaluated in multiple precision,
and a result is rounded to float64 once, at the very end.
"""

from __future__ import annotations

import mpmath
import numpy as np
from mpmath import mp

from tests.reference.brute_force import FloatArray, IndexArray
from tests.reference.centers import centers_left
from tests.reference.fifty_digits import WORKING_DIGITS, Multiprecision, _exact


def _gaussian(X: FloatArray, Z: FloatArray, sigma: float) -> Multiprecision:
    """Return the matrix of exp(-|x - z|^2 / (2 sigma^2)); (n, m)."""
    width = 2 * mp.mpf(sigma) ** 2
    K = mp.matrix(len(X), len(Z))
    for i, x in enumerate([_exact(row) for row in X]):
        for j, z in enumerate([_exact(row) for row in Z]):
            K[i, j] = mp.exp(-mp.fsum((a - b) ** 2 for a, b in zip(x, z, strict=True)) / width)
    return K


def _solve_rectangle(
    X: FloatArray,
    Z: FloatArray,
    y: FloatArray,
    w: FloatArray,
    sigma: float,
    lam: float,
    intercept: bool,
) -> tuple[Multiprecision, Multiprecision]:
    """Return c (m, 1) and b."""
    n, m = len(X), len(Z)
    size = m + 1 if intercept else m
    K_nm, K_mm = _gaussian(X, Z, sigma), _gaussian(Z, Z, sigma)
    A, weighted = mp.matrix(n, size), mp.matrix(n, size)
    for i in range(n):
        for j in range(size):
            A[i, j] = K_nm[i, j] if j < m else mp.mpf(1)
            weighted[i, j] = mp.mpf(float(w[i])) * A[i, j]
    M = weighted.T * A
    for i in range(m):
        for j in range(m):
            M[i, j] += mp.mpf(lam) * K_mm[i, j]
    solution = mp.lu_solve(M, weighted.T * mp.matrix(_exact(y)))
    return solution[:m, 0], (solution[m] if intercept else mp.mpf(0))


def rectangle_values(
    X: FloatArray,
    Z: FloatArray,
    X_new: FloatArray,
    y: FloatArray,
    w: FloatArray,
    sigma: float,
    lam: float,
    intercept: bool,
) -> FloatArray:
    """Return the predictions at the new rows; (p,)."""
    with mpmath.workdps(WORKING_DIGITS):
        c, b = _solve_rectangle(X, Z, y, w, sigma, lam, intercept)
        values = _gaussian(X_new, Z, sigma) * c
        return np.array([float(value + b) for value in values])


def rectangle_leave_one_out_values(
    X: FloatArray,
    rows_of_centers: IndexArray,
    y: FloatArray,
    w: FloatArray,
    sigma: float,
    lam: float,
    intercept: bool,
) -> FloatArray:
    """Predict each row by a refit without it and, where it is a center, without that center; (n,).

    All centers are rows.
    """
    values = np.zeros(len(X))
    for i in range(len(X)):
        kept = np.delete(np.arange(len(X)), i)
        Z = X[rows_of_centers[centers_left(rows_of_centers, np.array([i]))]]
        values[i] = rectangle_values(X[kept], Z, X[[i]], y[kept], w[kept], sigma, lam, intercept)[0]
    return values


def nystrom_values(
    X: FloatArray,
    Z: FloatArray,
    X_new: FloatArray,
    y: FloatArray,
    w: FloatArray,
    sigma: float,
    lam: float,
    intercept: bool,
) -> FloatArray:
    r"""Return the predictions at the new rows; (p,).

    The coefficients are :math:`c_i = w_i (y_i - f(x_i)) / \lambda` with f the rectangle's
    function, for :math:`\tilde K c + b` is f at the rows.
    """
    with mpmath.workdps(WORKING_DIGITS):
        c, b = _solve_rectangle(X, Z, y, w, sigma, lam, intercept)
        fitted = _gaussian(X, Z, sigma) * c
        coefficients = mp.matrix(len(X), 1)
        for i in range(len(X)):
            residual = mp.mpf(float(y[i])) - fitted[i] - b
            coefficients[i] = mp.mpf(float(w[i])) * residual / mp.mpf(lam)
        values = _gaussian(X_new, X, sigma) * coefficients
        return np.array([float(value + b) for value in values])
