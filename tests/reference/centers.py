r"""Fits with few centers, computed from their definitions, in float64.

The rows are :math:`x_1, \ldots, x_n`, the centers :math:`z_1, \ldots, z_m`; a center may be a row
or any other point. The weights, the unpenalised intercept b and the total-loss :math:`\lambda` are
those of :mod:`tests.reference.brute_force`. Three functions are fitted:

- rectangle: the minimiser of :math:`\sum_i w_i (y_i - f(x_i))^2 + \lambda c^T K_{mm} c` over
  :math:`f = \sum_j c_j k(z_j, \cdot) + b`;
- Nyström: the full problem with :math:`\tilde K = K_{nm} K_{mm}^+ K_{mn}` in place of K, and its n
  coefficients used with the true kernel, :math:`f = \sum_i c_i k(x_i, \cdot) + b`;
- subset: the full problem on the rows that are centers, and no others.

Leaving rows out means a refit without them *and* without the centers that are among them: such a
center would not have been there without its row. A center that is no row stays. Which row a center
is, is a number, not a comparison of points: a row equal to a center is another row.

Nothing here is meant to be fast. Shapes: ``n`` rows, ``m`` centers, ``t`` targets, ``p`` new rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.reference import brute_force, left_out_models
from tests.reference.brute_force import (
    FloatArray,
    IndexArray,
    _rows_in_the_fit,
    _rows_outside,
    _weights_or_ones,
)

#: Training rows and test rows.
Split = tuple[IndexArray, IndexArray]

NO_ROW = -1


def centers_left(rows_of_centers: IndexArray, removed: IndexArray) -> IndexArray:
    """Return the positions of the centers that are none of the ``removed`` rows."""
    gone = set(removed.tolist())
    return np.array([j for j, row in enumerate(rows_of_centers) if row not in gone], dtype=np.intp)


def _eigenpairs(K_mm: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues (r,) of K_mm above its rounding, and their eigenvectors (m, r)."""
    if K_mm.shape[0] == 0:
        return np.zeros(0), np.zeros((0, 0))
    values, vectors = np.linalg.eigh(K_mm)
    kept = values > K_mm.shape[0] * np.finfo(np.float64).eps * values.max()
    return values[kept], vectors[:, kept]


# ---------------------------------------------------------------------------------------------
# Rectangle
# ---------------------------------------------------------------------------------------------


def fit_rectangle(
    K_nm: FloatArray,
    K_mm: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> tuple[FloatArray, FloatArray]:
    r"""Fit the rectangle as an ordinary least squares problem with rank(K_mm) more rows.

    With the eigenpairs :math:`K_{mm} = V S V^T` and :math:`c = V S^{-1/2} g` the penalty is
    :math:`\lambda \|g\|^2`:

    .. math::
        \min_{g, b} \left\|
        \begin{pmatrix} \sqrt{W} K_{nm} V S^{-1/2} & \sqrt{w} \\ \sqrt{\lambda} I & 0 \end{pmatrix}
        \begin{pmatrix} g \\ b \end{pmatrix}
        - \begin{pmatrix} \sqrt{W} y \\ 0 \end{pmatrix} \right\|^2 .

    Where K_mm is singular, f is the same for every minimiser, and c is the one in its range.

    Parameters
    ----------
    K_nm : (n, m) array
        Kernel values between the rows and the centers.
    K_mm : (m, m) array
        Kernel values between the centers.
    Y : (n, t) array
        Targets; those of rows of weight zero are never looked at.
    lam : float
    weights : (n,) array or None
    intercept : bool

    Returns
    -------
    C : (m, t) array
    b : (t,) array
        Zeros if ``intercept`` is False, NaN if no row is left to determine them.
    """
    n_targets = Y.shape[1]
    used = _rows_in_the_fit(weights, Y.shape[0])
    if len(used) == 0:
        # The penalty alone makes c zero; any b is then a minimiser, so b is undefined.
        none = np.zeros((K_mm.shape[0], n_targets))
        return none, np.full(n_targets, np.nan if intercept else 0.0)

    values, vectors = _eigenpairs(K_mm)
    to_coefficients = vectors / np.sqrt(values)  # c = to_coefficients g
    rank = len(values)
    root_w = np.sqrt(_weights_or_ones(weights, Y.shape[0])[used])[:, np.newaxis]
    data_rows = root_w * (K_nm[used] @ to_coefficients)
    penalty_rows = np.sqrt(lam) * np.eye(rank)
    if intercept:
        data_rows = np.hstack([data_rows, root_w])
        penalty_rows = np.hstack([penalty_rows, np.zeros((rank, 1))])
    design = np.vstack([data_rows, penalty_rows])
    right_hand_side = np.vstack([root_w * Y[used], np.zeros((rank, n_targets))])
    if design.shape[1] == 0:
        return np.zeros((K_mm.shape[0], n_targets)), np.zeros(n_targets)

    solution = np.linalg.lstsq(design, right_hand_side, rcond=None)[0]
    b = solution[rank] if intercept else np.zeros(n_targets)
    return to_coefficients @ solution[:rank], b


def predict(K_new: FloatArray, C: FloatArray, b: FloatArray) -> FloatArray:
    """Evaluate f from the kernel values of new rows with the points it is expanded in; (p, t)."""
    return K_new @ C + b


def rectangle_values(
    K_nm: FloatArray,
    K_mm: FloatArray,
    K_new_m: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    """Return the rectangle's predictions at new rows, from ``K_new_m`` (p, m); (p, t)."""
    return predict(K_new_m, *fit_rectangle(K_nm, K_mm, Y, lam, weights, intercept))


def rectangle_hat_matrix(
    K_nm: FloatArray,
    K_mm: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    r"""Return H of :math:`\hat y = H y` with the centers held fixed; column j is the fit to e_j.

    Returns
    -------
    (n, n) array
    """
    unit_vectors = np.eye(K_nm.shape[0])
    return rectangle_values(K_nm, K_mm, K_nm, unit_vectors, lam, weights, intercept)


def rectangle_gcv(
    K_nm: FloatArray,
    K_mm: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    r"""Return :math:`(\sum_i w_i r_i^2 / \sum_i w_i) / (1 - \mathrm{tr}\, H / n)^2` of each target.

    Here n counts the rows of positive weight.

    Returns
    -------
    (t,) array
    """
    used = _rows_in_the_fit(weights, Y.shape[0])
    w = _weights_or_ones(weights, Y.shape[0])[used]
    residuals = (Y - rectangle_values(K_nm, K_mm, K_nm, Y, lam, weights, intercept))[used]
    H = rectangle_hat_matrix(K_nm, K_mm, lam, weights, intercept)
    mean_square: FloatArray = np.average(residuals**2, axis=0, weights=w)
    return mean_square / (1.0 - np.trace(H) / len(used)) ** 2


def rectangle_without(
    removed: IndexArray,
    rows_of_centers: IndexArray,
    K_nm: FloatArray,
    K_mm: FloatArray,
    K_new_m: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    """Refit without the ``removed`` rows and the centers among them, and predict at new rows.

    Returns
    -------
    (p, t) array
    """
    kept = _rows_outside(np.asarray(removed), Y.shape[0])
    left = centers_left(rows_of_centers, np.asarray(removed))
    w = _weights_or_ones(weights, Y.shape[0])
    C, b = fit_rectangle(
        K_nm[np.ix_(kept, left)], K_mm[np.ix_(left, left)], Y[kept], lam, w[kept], intercept
    )
    return predict(K_new_m[:, left], C, b)


def rectangle_leave_one_out_values(
    rows_of_centers: IndexArray,
    K_nm: FloatArray,
    K_mm: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    """Predict each row by a refit without it and, where it is a center, without that center.

    A row of weight zero gets the ordinary prediction of the full fit.

    Parameters
    ----------
    rows_of_centers : (m,) integer array
        The row that each center is, ``NO_ROW`` for one that is none.

    Returns
    -------
    (n, t) array
    """
    values = rectangle_values(K_nm, K_mm, K_nm, Y, lam, weights, intercept)
    for i in _rows_in_the_fit(weights, Y.shape[0]):
        values[i] = rectangle_without(
            np.array([i]), rows_of_centers, K_nm, K_mm, K_nm[[i]], Y, lam, weights, intercept
        )[0]
    return values


def rectangle_leave_one_out_predictions(
    rows_of_centers: IndexArray,
    K_nm: FloatArray,
    K_mm: FloatArray,
    K_new_m: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    r"""Predict every new row by each of the refits of :func:`rectangle_leave_one_out_values`.

    Returns
    -------
    (p, used, t) array
        Entry [z, i] is :math:`f_{-i}(z)`, i over the rows of positive weight only.
    """
    used = _rows_in_the_fit(weights, Y.shape[0])
    without = [
        rectangle_without(
            np.array([i]), rows_of_centers, K_nm, K_mm, K_new_m, Y, lam, weights, intercept
        )
        for i in used
    ]
    return np.stack(without, axis=1)


def rectangle_jackknife_plus(
    rows_of_centers: IndexArray,
    K_nm: FloatArray,
    K_mm: FloatArray,
    K_new_m: FloatArray,
    Y: FloatArray,
    lam: float,
    coverage: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Return both ends (p, t) of the jackknife+ interval of the refits without a row."""
    used = _rows_in_the_fit(weights, Y.shape[0])
    problem = (Y, lam, weights, intercept)
    without = rectangle_leave_one_out_predictions(rows_of_centers, K_nm, K_mm, K_new_m, *problem)
    values = rectangle_leave_one_out_values(rows_of_centers, K_nm, K_mm, *problem)
    return left_out_models.jackknife_plus_interval(without, (Y - values)[used], coverage)


def rectangle_split_values(
    splits: Sequence[Split],
    rows_of_centers: IndexArray,
    K_nm: FloatArray,
    K_mm: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> list[FloatArray]:
    """Predict the test rows of each split by a fit to its training rows; one (test, t) each.

    Every row that is not a training row is removed, with the center that it is.
    """
    n_rows = Y.shape[0]
    return [
        rectangle_without(
            _rows_outside(train, n_rows),
            rows_of_centers,
            K_nm,
            K_mm,
            K_nm[test],
            Y,
            lam,
            weights,
            intercept,
        )
        for train, test in splits
    ]


def coefficients_from_fitted_values(
    K_nm: FloatArray,
    K_mm: FloatArray,
    Y: FloatArray,
    fitted: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
) -> FloatArray:
    r"""Recover the rectangle's coefficients from f at the rows; (m, t).

    Equation (7.7) of Rifkin, Yeo & Poggio (2003) is
    :math:`c_m = K_{mm}^{-1} K_{mn} u / \lambda_{2003}`. There
    :math:`u_i = (y_i - f(x_i)) / n` and :math:`\lambda = n \lambda_{2003}`, so that
    :math:`u / \lambda_{2003} = W(y - f) / \lambda`.
    """
    w = _weights_or_ones(weights, Y.shape[0])[:, np.newaxis]
    return np.linalg.solve(K_mm, K_nm.T @ (w * (Y - fitted))) / lam


# ---------------------------------------------------------------------------------------------
# Nyström
# ---------------------------------------------------------------------------------------------


def nystrom_matrix(K_nm: FloatArray, K_mm: FloatArray) -> FloatArray:
    r"""Return :math:`\tilde K = K_{nm} K_{mm}^+ K_{mn}`; (n, n)."""
    values, vectors = _eigenpairs(K_mm)
    projected = K_nm @ vectors
    return (projected / values) @ projected.T


def explained_trace(K_nm: FloatArray, K_mm: FloatArray, diagonal: FloatArray) -> float:
    r"""Return :math:`\mathrm{tr}\, \tilde K / \mathrm{tr}\, K` from the ``diagonal`` of K, (n,)."""
    return float(np.trace(nystrom_matrix(K_nm, K_mm)) / np.sum(diagonal))


def fit_nystrom(
    K_nm: FloatArray,
    K_mm: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> tuple[FloatArray, FloatArray]:
    r"""Solve :math:`(\tilde K + \lambda W^{-1}) c + b 1 = y`, :math:`1^T c = 0`.

    Returns
    -------
    C : (n, t) array
        One coefficient for every row, zero for rows of weight zero.
    b : (t,) array
    """
    return brute_force.fit(nystrom_matrix(K_nm, K_mm), Y, lam, weights, intercept)


def nystrom_without(
    removed: IndexArray,
    rows_of_centers: IndexArray,
    K_nm: FloatArray,
    K_mm: FloatArray,
    K_new: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    """Refit without the ``removed`` rows and the centers among them, and predict at new rows.

    Parameters
    ----------
    K_new : (p, n) array
        Values of the true kernel between the new rows and all n rows.

    Returns
    -------
    (p, t) array
    """
    kept = _rows_outside(np.asarray(removed), Y.shape[0])
    left = centers_left(rows_of_centers, np.asarray(removed))
    w = _weights_or_ones(weights, Y.shape[0])
    C, b = fit_nystrom(
        K_nm[np.ix_(kept, left)], K_mm[np.ix_(left, left)], Y[kept], lam, w[kept], intercept
    )
    return predict(K_new[:, kept], C, b)


def nystrom_split_values(
    splits: Sequence[Split],
    rows_of_centers: IndexArray,
    K: FloatArray,
    K_nm: FloatArray,
    K_mm: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> list[FloatArray]:
    """Predict the test rows of each split by a fit to its training rows; one (test, t) each."""
    n_rows = Y.shape[0]
    return [
        nystrom_without(
            _rows_outside(train, n_rows),
            rows_of_centers,
            K_nm,
            K_mm,
            K[test],
            Y,
            lam,
            weights,
            intercept,
        )
        for train, test in splits
    ]


# ---------------------------------------------------------------------------------------------
# Subset
# ---------------------------------------------------------------------------------------------


def fit_subset(
    rows_of_centers: IndexArray,
    K: FloatArray,
    Y: FloatArray,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Fit to the rows that are centers alone, from K (n, n): coefficients (m, t) and b (t,)."""
    some = np.asarray(rows_of_centers)
    w = _weights_or_ones(weights, Y.shape[0])[some]
    return brute_force.fit(K[np.ix_(some, some)], Y[some], lam, w, intercept)


# ---------------------------------------------------------------------------------------------
# Scores
# ---------------------------------------------------------------------------------------------


def mean_square_of_splits(
    splits: Sequence[Split],
    values: Sequence[FloatArray],
    Y: FloatArray,
    weights: FloatArray | None = None,
) -> FloatArray:
    r"""Return :math:`\sum w e^2 / \sum w` over the test rows of all splits; (t,)."""
    w = _weights_or_ones(weights, Y.shape[0])
    tested = np.concatenate([test for _, test in splits])
    tested_and_weighted = w[tested] > 0
    rows = tested[tested_and_weighted]
    errors = Y[rows] - np.concatenate(values)[tested_and_weighted]
    mean: FloatArray = np.average(errors**2, axis=0, weights=w[rows])
    return mean


def mean_square_left_out(
    values: FloatArray, Y: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    r"""Return :math:`\sum_i w_i e_i^2 / \sum_i w_i` over the rows of positive weight; (t,)."""
    used = _rows_in_the_fit(weights, Y.shape[0])
    return mean_square_of_splits([(used, used)], [values[used]], Y, weights)
