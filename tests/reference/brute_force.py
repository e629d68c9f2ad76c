r"""Regularised least squares computed from its definition, in float64.

Everywhere the problem is to minimise, over :math:`f = \sum_i c_i k(x_i, \cdot) + b`,

.. math:: \sum_i w_i (y_i - f(x_i))^2 + \lambda \, c^T K c ,

where the intercept ``b`` is unpenalised and present only if ``intercept=True``. The number
:math:`\lambda` multiplies the total loss, not the mean loss, so leaving a row out keeps the same
:math:`\lambda`. A row of weight zero takes no part in the fit and has coefficient zero.

Nothing here is meant to be fast: each leave-out value is a real refit on the remaining rows, and
each hat matrix column is a real fit to a unit vector.

Shapes: ``n`` rows, ``d`` features, ``t`` targets, ``m`` new rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]


def _weights_or_ones(weights: FloatArray | None, n_rows: int) -> FloatArray:
    """Return the weights as a float array, all ones when none are given; shape (n,)."""
    if weights is None:
        return np.ones(n_rows)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError("weights must have shape (n,)")
    if not np.all(weights >= 0):
        raise ValueError("weights must be non-negative")
    return weights


def _rows_in_the_fit(weights: FloatArray | None, n_rows: int) -> IndexArray:
    """Return the indices of the rows of positive weight."""
    return np.flatnonzero(_weights_or_ones(weights, n_rows) > 0)


def _rows_outside(left_out: IndexArray, n_rows: int) -> IndexArray:
    """Return the row indices 0, ..., n-1 that are not in ``left_out``, in order."""
    return np.array([i for i in range(n_rows) if i not in set(left_out.tolist())], dtype=np.intp)


def _check_folds_are_disjoint(folds: Sequence[IndexArray]) -> None:
    """Raise if a row is tested twice, for it would then have no single left-out value."""
    tested = [int(i) for fold in folds for i in fold]
    if len(tested) != len(set(tested)):
        raise ValueError("a row is in more than one fold")


# ---------------------------------------------------------------------------------------------
# Kernel form
# ---------------------------------------------------------------------------------------------


def fit(
    K: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> tuple[FloatArray, FloatArray]:
    r"""Solve the optimality conditions as one dense linear system.

    On the rows of positive weight, with :math:`W = \mathrm{diag}(w)`,

    .. math::
        \begin{pmatrix} K + \lambda W^{-1} & 1 \\ 1^T & 0 \end{pmatrix}
        \begin{pmatrix} c \\ b \end{pmatrix} = \begin{pmatrix} y \\ 0 \end{pmatrix} ;

    without an intercept the last row and column are absent.

    Parameters
    ----------
    K : (n, n) array
        Kernel matrix of the training rows.
    Y : (n, t) array
        Targets; those of rows of weight zero are never looked at.
    lam : float
        Total-loss regularisation.
    weights : (n,) array or None
        Non-negative weights; None means all ones.
    intercept : bool
        Whether the unpenalised constant is present.

    Returns
    -------
    C : (n, t) array
        Coefficients, zero for rows of weight zero.
    b : (t,) array
        Intercepts: zeros if ``intercept`` is False, NaN if no row is left to determine them.
    """
    n_rows, n_targets = Y.shape
    w = _weights_or_ones(weights, n_rows)
    used = np.flatnonzero(w > 0)
    n_used = len(used)

    C = np.zeros((n_rows, n_targets))
    if n_used == 0:
        # The penalty alone makes c zero; any b is then a minimiser, so b is undefined.
        return C, np.full(n_targets, np.nan if intercept else 0.0)

    size = n_used + 1 if intercept else n_used
    system = np.zeros((size, size))
    system[:n_used, :n_used] = K[np.ix_(used, used)] + lam * np.diag(1.0 / w[used])
    right_hand_side = np.zeros((size, n_targets))
    right_hand_side[:n_used] = Y[used]
    if intercept:
        system[:n_used, n_used] = 1.0
        system[n_used, :n_used] = 1.0

    solution = np.linalg.solve(system, right_hand_side)
    C[used] = solution[:n_used]
    b = solution[n_used] if intercept else np.zeros(n_targets)
    return C, b


def predict(K_new: FloatArray, C: FloatArray, b: FloatArray) -> FloatArray:
    r"""Evaluate :math:`f(z) = \sum_i k(z, x_i) c_i + b` at new rows.

    Parameters
    ----------
    K_new : (m, n) array
        Kernel values between the new rows and the training rows.
    C : (n, t) array
    b : (t,) array

    Returns
    -------
    (m, t) array
    """
    return K_new @ C + b


def hat_matrix(
    K: FloatArray, lam: float, weights: FloatArray | None = None, intercept: bool = True
) -> FloatArray:
    r"""Return the matrix H that takes targets to fitted values, :math:`\hat y = H y`.

    Column j is the fit to the unit vector :math:`e_j`, evaluated at all rows; it is zero when
    row j has weight zero.

    Returns
    -------
    (n, n) array
    """
    n_rows = K.shape[0]
    H = np.zeros((n_rows, n_rows))
    for j in range(n_rows):
        unit_vector = np.zeros((n_rows, 1))
        unit_vector[j] = 1.0
        C, b = fit(K, unit_vector, lam, weights, intercept)
        H[:, j] = predict(K, C, b)[:, 0]
    return H


def _refit_without(
    left_out: IndexArray,
    K: FloatArray,
    Y: FloatArray,
    lam: float,
    w: FloatArray,
    intercept: bool,
) -> FloatArray:
    """Fit on the rows not in ``left_out`` and predict at those in it; shape (len(left_out), t)."""
    kept = _rows_outside(left_out, K.shape[0])
    C, b = fit(K[np.ix_(kept, kept)], Y[kept], lam, w[kept], intercept)
    return predict(K[np.ix_(left_out, kept)], C, b)


def leave_one_out_values(
    K: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    r"""Predict each row by a fit that has not seen it, :math:`f_{-i}(x_i)`, with n refits.

    A row of weight zero gets the ordinary prediction of the full fit.

    Returns
    -------
    (n, t) array
    """
    n_rows = K.shape[0]
    w = _weights_or_ones(weights, n_rows)
    C, b = fit(K, Y, lam, w, intercept)
    values = predict(K, C, b)
    for i in np.flatnonzero(w > 0):
        values[i] = _refit_without(np.array([i]), K, Y, lam, w, intercept)[0]
    return values


def leave_fold_out_values(
    K: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None,
    intercept: bool,
    folds: Sequence[IndexArray],
) -> FloatArray:
    r"""Predict the rows of each fold S by a fit on the others, :math:`f_{-S}(x_i),\ i \in S`.

    Parameters
    ----------
    folds : sequence of integer arrays
        The test rows of each fold; no row may be in two folds.

    Returns
    -------
    (n, t) array
        NaN for rows that are in no fold.
    """
    _check_folds_are_disjoint(folds)
    w = _weights_or_ones(weights, K.shape[0])
    values = np.full(Y.shape, np.nan)
    for fold in folds:
        values[fold] = _refit_without(np.asarray(fold), K, Y, lam, w, intercept)
    return values


def degrees_of_freedom(
    K: FloatArray, lam: float, weights: FloatArray | None = None, intercept: bool = True
) -> float:
    r"""Return the trace of the hat matrix, :math:`\mathrm{tr}\, H` (rows of weight zero add 0)."""
    return float(np.trace(hat_matrix(K, lam, weights, intercept)))


def gcv(
    K: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    r"""Return the generalised cross-validation score of each target.

    With n the number of rows of positive weight and residuals :math:`r = y - H y`,

    .. math:: \frac{\sum_i w_i r_i^2}{\sum_i w_i} \Big/ (1 - \mathrm{tr}\, H / n)^2 .

    Returns
    -------
    (t,) array
    """
    w = _weights_or_ones(weights, K.shape[0])
    used = np.flatnonzero(w > 0)
    C, b = fit(K, Y, lam, w, intercept)
    residuals = (Y - predict(K, C, b))[used]
    weighted_sum_of_squares: FloatArray = np.sum(w[used, np.newaxis] * residuals**2, axis=0)
    spare = 1.0 - degrees_of_freedom(K, lam, w, intercept) / len(used)
    score: FloatArray = weighted_sum_of_squares / w.sum() / spare**2
    return score


def loo_mean_square_error(
    K: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    r"""Return the weighted mean of the squared leave-one-out errors of each target.

    With :math:`e_i = y_i - f_{-i}(x_i)`,

    .. math:: \sum_i w_i e_i^2 \,/\, \sum_i w_i .

    Returns
    -------
    (t,) array
    """
    w = _weights_or_ones(weights, K.shape[0])
    used = np.flatnonzero(w > 0)
    errors = (Y - leave_one_out_values(K, Y, lam, w, intercept))[used]
    weighted_sum_of_squares: FloatArray = np.sum(w[used, np.newaxis] * errors**2, axis=0)
    return weighted_sum_of_squares / float(np.sum(w[used]))


# ---------------------------------------------------------------------------------------------
# Primal form (linear kernel)
# ---------------------------------------------------------------------------------------------


def primal_fit(
    X: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> tuple[FloatArray, FloatArray]:
    r"""Fit :math:`f(x) = a^T x + b` as an ordinary least squares problem with d more rows.

    .. math::
        \min_{a, b} \left\|
        \begin{pmatrix} \sqrt{W} X & \sqrt{w} \\ \sqrt{\lambda} I & 0 \end{pmatrix}
        \begin{pmatrix} a \\ b \end{pmatrix}
        - \begin{pmatrix} \sqrt{W} y \\ 0 \end{pmatrix} \right\|^2

    Parameters
    ----------
    X : (n, d) array
    Y : (n, t) array
    lam : float
    weights : (n,) array or None
    intercept : bool

    Returns
    -------
    coef : (t, d) array
    b : (t,) array
        Zeros if ``intercept`` is False, NaN if no row is left to determine them.
    """
    n_rows, n_features = X.shape
    n_targets = Y.shape[1]
    w = _weights_or_ones(weights, n_rows)
    used = np.flatnonzero(w > 0)
    if len(used) == 0:
        # The penalty alone makes the coefficients zero, and leaves the intercept undefined.
        return np.zeros((n_targets, n_features)), np.full(n_targets, np.nan if intercept else 0.0)

    root_w = np.sqrt(w[used])[:, np.newaxis]
    data_rows = root_w * X[used]
    penalty_rows = np.sqrt(lam) * np.eye(n_features)
    if intercept:
        data_rows = np.hstack([data_rows, root_w])
        penalty_rows = np.hstack([penalty_rows, np.zeros((n_features, 1))])
    design = np.vstack([data_rows, penalty_rows])
    right_hand_side = np.vstack([root_w * Y[used], np.zeros((n_features, n_targets))])

    solution = np.linalg.lstsq(design, right_hand_side)[0]
    coef = solution[:n_features].T
    b = solution[n_features] if intercept else np.zeros(n_targets)
    return coef, b


def _primal_refit_without(
    left_out: IndexArray,
    X: FloatArray,
    Y: FloatArray,
    lam: float,
    w: FloatArray,
    intercept: bool,
) -> FloatArray:
    """Fit on the rows not in ``left_out`` and predict at those in it; shape (len(left_out), t)."""
    kept = _rows_outside(left_out, X.shape[0])
    coef, b = primal_fit(X[kept], Y[kept], lam, w[kept], intercept)
    return X[left_out] @ coef.T + b


def primal_leave_one_out_values(
    X: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    r"""Predict each row by a primal fit that has not seen it, :math:`f_{-i}(x_i)`.

    A row of weight zero gets the ordinary prediction of the full fit.

    Returns
    -------
    (n, t) array
    """
    n_rows = X.shape[0]
    w = _weights_or_ones(weights, n_rows)
    coef, b = primal_fit(X, Y, lam, w, intercept)
    values = X @ coef.T + b
    for i in np.flatnonzero(w > 0):
        values[i] = _primal_refit_without(np.array([i]), X, Y, lam, w, intercept)[0]
    return values


def primal_leave_fold_out_values(
    X: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None,
    intercept: bool,
    folds: Sequence[IndexArray],
) -> FloatArray:
    r"""Predict the rows of each fold S by a primal fit on the others, :math:`f_{-S}(x_i)`.

    Returns
    -------
    (n, t) array
        NaN for rows that are in no fold.
    """
    _check_folds_are_disjoint(folds)
    w = _weights_or_ones(weights, X.shape[0])
    values = np.full(Y.shape, np.nan)
    for fold in folds:
        values[fold] = _primal_refit_without(np.asarray(fold), X, Y, lam, w, intercept)
    return values


# ---------------------------------------------------------------------------------------------
# Kernels, one pair of points at a time
# ---------------------------------------------------------------------------------------------


def _inner_product(x: list[float], z: list[float]) -> float:
    """Return the sum of x_k z_k."""
    return math.fsum(x_k * z_k for x_k, z_k in zip(x, z, strict=True))


def _squared_distance(x: list[float], z: list[float]) -> float:
    """Return the sum of (x_k - z_k)^2."""
    return math.fsum((x_k - z_k) ** 2 for x_k, z_k in zip(x, z, strict=True))


def _city_block_distance(x: list[float], z: list[float]) -> float:
    """Return the sum of |x_k - z_k|."""
    return math.fsum(abs(x_k - z_k) for x_k, z_k in zip(x, z, strict=True))


def _linear(x: list[float], z: list[float]) -> float:
    return _inner_product(x, z)


def _cosine(x: list[float], z: list[float]) -> float:
    lengths = math.hypot(*x) * math.hypot(*z)
    return _inner_product(x, z) / lengths if lengths > 0 else 0.0


def _constant(x: list[float], z: list[float], *, value: float) -> float:
    return value


def _polynomial(
    x: list[float], z: list[float], *, gamma: float, coef0: float, degree: int
) -> float:
    return (gamma * _inner_product(x, z) + coef0) ** degree


def _in_metric(x: list[float], metric: FloatArray | None) -> list[float]:
    """Return x R, one column of R at a time, or x_k w_k; x itself without a metric."""
    if metric is None:
        return x
    if metric.ndim == 1:
        return [x_k * w_k for x_k, w_k in zip(x, metric.tolist(), strict=True)]
    return [_inner_product(x, column) for column in metric.T.tolist()]


def _gaussian(
    x: list[float], z: list[float], *, sigma: float, metric: FloatArray | None = None
) -> float:
    x, z = _in_metric(x, metric), _in_metric(z, metric)
    return math.exp(-_squared_distance(x, z) / (2.0 * sigma**2))


def _laplacian(
    x: list[float], z: list[float], *, sigma: float, metric: FloatArray | None = None
) -> float:
    x, z = _in_metric(x, metric), _in_metric(z, metric)
    return math.exp(-_city_block_distance(x, z) / sigma)


def _matern(
    x: list[float], z: list[float], *, sigma: float, nu: float, metric: FloatArray | None = None
) -> float:
    x, z = _in_metric(x, metric), _in_metric(z, metric)
    r = math.sqrt(_squared_distance(x, z)) / sigma
    if nu == 0.5:
        return math.exp(-r)
    if nu == 1.5:
        return (1.0 + math.sqrt(3.0) * r) * math.exp(-math.sqrt(3.0) * r)
    if nu == 2.5:
        return (1.0 + math.sqrt(5.0) * r + 5.0 * r**2 / 3.0) * math.exp(-math.sqrt(5.0) * r)
    raise ValueError("nu must be 0.5, 1.5 or 2.5")


_KERNELS: dict[str, Callable[..., float]] = {
    "linear": _linear,
    "cosine": _cosine,
    "constant": _constant,
    "polynomial": _polynomial,
    "gaussian": _gaussian,
    "laplacian": _laplacian,
    "matern": _matern,
}


def kernel_matrix(name: str, X: FloatArray, Z: FloatArray, **params: Any) -> FloatArray:
    r"""Return the matrix of k(x_i, z_j), entry by entry.

    - ``linear``: :math:`x^T z`
    - ``cosine``: :math:`x^T z / (\|x\|_2 \|z\|_2)`, zero where a length is
    - ``constant`` (value): value
    - ``polynomial`` (gamma, coef0, degree): :math:`(\gamma x^T z + c_0)^{degree}`
    - ``gaussian`` (sigma): :math:`\exp(-\|x-z\|_2^2 / (2 \sigma^2))`
    - ``laplacian`` (sigma): :math:`\exp(-\|x-z\|_1 / \sigma)`
    - ``matern`` (sigma, nu), with :math:`r = \|x-z\|_2 / \sigma`:
      :math:`e^{-r}` for nu = 0.5, :math:`(1 + \sqrt3 r) e^{-\sqrt3 r}` for nu = 1.5,
      :math:`(1 + \sqrt5 r + 5r^2/3) e^{-\sqrt5 r}` for nu = 2.5

    The names in parentheses are the parameters, all of them required. The last three take a
    ``metric`` as well: an array (d, r), for xR and zR in place of x and z, or weights (d,).

    Parameters
    ----------
    name : str
    X : (n, d) array
    Z : (m, d) array
    **params : float or array

    Returns
    -------
    (n, m) array
    """
    kernel = _KERNELS[name]
    rows_of_x = np.asarray(X, dtype=np.float64).tolist()
    rows_of_z = np.asarray(Z, dtype=np.float64).tolist()
    K = np.zeros((len(rows_of_x), len(rows_of_z)))
    for i, x in enumerate(rows_of_x):
        for j, z in enumerate(rows_of_z):
            K[i, j] = kernel(x, z, **params)
    return K
