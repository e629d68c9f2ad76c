r"""Linear ridge regression in multiple-precision arithmetic, for ill-conditioned problems.

The problem is to minimise, over a and b,

.. math:: \sum_i w_i (y_i - a^T x_i - b)^2 + \lambda \|a\|^2 ,

with b unpenalised and present only if ``intercept=True``. The float64 inputs are taken as exact
numbers; every operation is done with :data:`WORKING_DIGITS` decimal digits, so that at least
fifty digits of each result are right as long as the condition number of the linear system solved
is below 1e50; results are rounded to float64 only at the very end.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
from mpmath import mp
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
# An mpmath number; the library carries no type annotations of its own.
Multiprecision = Any

WORKING_DIGITS = 100


def hilbert_design(n: int, d: int) -> FloatArray:
    """Return the notoriously ill-conditioned matrix 1 / (i + j + 1), from i = j = 0; (n, d)."""
    return np.array([[1.0 / (i + j + 1) for j in range(d)] for i in range(n)])


def _exact(values: FloatArray) -> list[Multiprecision]:
    """Convert float64 numbers to multiple precision without any rounding."""
    return [mp.mpf(float(value)) for value in values]


def _solve_primal(
    rows: list[list[Multiprecision]],
    y: list[Multiprecision],
    w: list[Multiprecision],
    lam: Multiprecision,
    n_features: int,
    intercept: bool,
) -> tuple[list[Multiprecision], Multiprecision]:
    """Solve (Z'WZ + lam J) (a, b) = Z'Wy, with Z = [X, 1] and J = diag(1, ..., 1, 0)."""
    extended = [[*row, mp.mpf(1)] if intercept else row for row in rows]
    size = n_features + 1 if intercept else n_features
    weighted_columns = [
        [w_i * z[j] for w_i, z in zip(w, extended, strict=True)] for j in range(size)
    ]
    columns = [[z[j] for z in extended] for j in range(size)]
    normal = mp.matrix(size, size)
    right_hand_side = mp.matrix(size, 1)
    for j in range(size):
        for k in range(size):
            normal[j, k] = mp.fdot(weighted_columns[j], columns[k])
        right_hand_side[j] = mp.fdot(weighted_columns[j], y)
    for j in range(n_features):
        normal[j, j] += lam
    solution = mp.lu_solve(normal, right_hand_side)
    return [solution[j] for j in range(n_features)], (
        solution[n_features] if intercept else mp.mpf(0)
    )


def _solve_dual(
    rows: list[list[Multiprecision]],
    y: list[Multiprecision],
    w: list[Multiprecision],
    lam: Multiprecision,
    n_features: int,
    intercept: bool,
) -> tuple[list[Multiprecision], Multiprecision]:
    """Solve (XX' + lam W^-1) c + 1 b = y, 1'c = 0, and return a = X'c with b."""
    n_rows = len(rows)
    size = n_rows + 1 if intercept else n_rows
    system = mp.matrix(size, size)
    right_hand_side = mp.matrix(size, 1)
    for i in range(n_rows):
        for j in range(n_rows):
            system[i, j] = mp.fdot(rows[i], rows[j])
        system[i, i] += lam / w[i]
        right_hand_side[i] = y[i]
        if intercept:
            system[i, n_rows] = mp.mpf(1)
            system[n_rows, i] = mp.mpf(1)
    solution = mp.lu_solve(system, right_hand_side)
    c = [solution[i] for i in range(n_rows)]
    a = [mp.fdot(c, [row[k] for row in rows]) for k in range(n_features)]
    return a, (solution[n_rows] if intercept else mp.mpf(0))


def _fit(
    rows: list[list[Multiprecision]],
    y: list[Multiprecision],
    w: list[Multiprecision],
    lam: Multiprecision,
    n_features: int,
    intercept: bool,
) -> tuple[list[Multiprecision], Multiprecision]:
    """Fit on the rows of positive weight, by the smaller of the two linear systems."""
    used = [i for i in range(len(rows)) if w[i] > 0]
    if not used:
        # The penalty alone makes the coefficients zero, and leaves the intercept undefined.
        return [mp.mpf(0)] * n_features, mp.nan if intercept else mp.mpf(0)
    solve = _solve_dual if n_features > len(used) else _solve_primal
    return solve(
        [rows[i] for i in used],
        [y[i] for i in used],
        [w[i] for i in used],
        lam,
        n_features,
        intercept,
    )


def _exact_problem(
    X: FloatArray, y: FloatArray, lam: float, weights: FloatArray | None
) -> tuple[list[list[Multiprecision]], list[Multiprecision], list[Multiprecision], Multiprecision]:
    """Return the rows of X, the targets, the weights and lambda in multiple precision."""
    n_rows = X.shape[0]
    w = np.ones(n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
    if y.shape != (n_rows,) or w.shape != (n_rows,):
        raise ValueError("y and weights must have shape (n,)")
    if not np.all(w >= 0):
        raise ValueError("weights must be non-negative")
    return [_exact(row) for row in X], _exact(y), _exact(w), mp.mpf(float(lam))


def ridge_coefficients_unrounded(
    X: FloatArray,
    y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = False,
) -> tuple[list[Multiprecision], Multiprecision]:
    """Return the minimiser (a, b) as multiple-precision numbers: a list of d, and one number."""
    with mpmath.workdps(WORKING_DIGITS):
        rows, targets, w, lam_exact = _exact_problem(X, y, lam, weights)
        return _fit(rows, targets, w, lam_exact, X.shape[1], intercept)


def ridge_coefficients(
    X: FloatArray,
    y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = False,
) -> tuple[FloatArray, float]:
    r"""Return the minimiser (a, b), rounded to float64 after a multiple-precision solve.

    .. math:: (Z^T W Z + \lambda J) (a, b)^T = Z^T W y, \quad Z = [X, 1],\ J = diag(1,...,1,0)

    Parameters
    ----------
    X : (n, d) array
    y : (n,) array
    lam : float
    weights : (n,) array or None
    intercept : bool

    Returns
    -------
    coef : (d,) array
    b : float
        Zero if ``intercept`` is False.
    """
    coef, b = ridge_coefficients_unrounded(X, y, lam, weights, intercept)
    return np.array([float(a) for a in coef]), float(b)


def ridge_leave_one_out(
    X: FloatArray,
    y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = False,
) -> FloatArray:
    r"""Return the errors :math:`e_i = y_i - f_{-i}(x_i)` of n multiple-precision refits.

    For a row of weight zero the refit without it is the full fit.

    Parameters
    ----------
    X : (n, d) array
    y : (n,) array
    lam : float
    weights : (n,) array or None
    intercept : bool

    Returns
    -------
    (n,) array
        Each entry is rounded to float64 once, after the subtraction.
    """
    n_rows, n_features = X.shape
    errors = np.zeros(n_rows)
    with mpmath.workdps(WORKING_DIGITS):
        rows, targets, w, lam_exact = _exact_problem(X, y, lam, weights)
        for i in range(n_rows):
            coef, b = _fit(
                rows[:i] + rows[i + 1 :],
                targets[:i] + targets[i + 1 :],
                w[:i] + w[i + 1 :],
                lam_exact,
                n_features,
                intercept,
            )
            errors[i] = float(targets[i] - mp.fdot(coef, rows[i]) - b)
    return errors
