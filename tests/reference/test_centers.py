"""Rectangle, Nyström and subset of the reference, against other formulas and fifty digits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from tests.reference import brute_force, centers, fifty_digits_centers, left_out_models
from tests.reference.shared import (
    LAM,
    N_ROWS,
    N_TARGETS,
    TIGHT,
    gaussian,
    without_a_row,
)

ROWS = np.array([8, 1, 5, 10, 4])  # of the centers, in no order
EVERY_ROW = np.random.default_rng(0).permutation(N_ROWS)

with_and_without_intercept = pytest.mark.parametrize(
    "intercept", [False, True], ids=["no intercept", "intercept"]
)


def _matrices(X, Z):
    return gaussian(X, Z), gaussian(Z)


def _augmented(K_nm, K_mm, lam, weights, intercept):
    """Return the rows (√w K_nm, √w) and the inverse of M; the constant is the last column."""
    rows = np.sqrt(weights)[:, np.newaxis] * K_nm
    penalty = lam * K_mm
    if intercept:
        rows = np.hstack([rows, np.sqrt(weights)[:, np.newaxis]])
        penalty = np.pad(penalty, (0, 1))
    return rows, np.linalg.inv(rows.T @ rows + penalty)


# --- all points as centers ---


@with_and_without_intercept
def test_all_rows_as_centers_are_the_full_problem(data, intercept):
    X, Y, weights, X_new = data
    K, K_new = gaussian(X), gaussian(X_new, X)
    K_nm, K_mm = _matrices(X, X[EVERY_ROW])
    problem = (Y, LAM, weights, intercept)
    C, b = brute_force.fit(K, *problem)
    rectangle = centers.fit_rectangle(K_nm, K_mm, *problem)
    assert_allclose(rectangle[0], C[EVERY_ROW], rtol=1e-7, atol=1e-9)
    assert_allclose(rectangle[1], b, **TIGHT)
    assert_allclose(
        centers.predict(K_new, *centers.fit_nystrom(K_nm, K_mm, *problem)),
        brute_force.predict(K_new, C, b),
        **TIGHT,
    )
    subset = centers.fit_subset(EVERY_ROW, K, *problem)
    assert_allclose(subset[0], C[EVERY_ROW], **TIGHT)
    assert_allclose(
        centers.rectangle_hat_matrix(K_nm, K_mm, LAM, weights, intercept),
        brute_force.hat_matrix(K, LAM, weights, intercept),
        **TIGHT,
    )
    assert_allclose(
        centers.rectangle_gcv(K_nm, K_mm, *problem), brute_force.gcv(K, *problem), **TIGHT
    )
    assert centers.explained_trace(K_nm, K_mm, np.diag(K)) == pytest.approx(1.0, rel=1e-12)


@with_and_without_intercept
def test_left_out_rows_take_their_centers_with_them(data, intercept):
    """With every row a center, leaving a row out leaves it out of the full problem."""
    X, Y, weights, X_new = data
    K, K_new = gaussian(X), gaussian(X_new, X)
    K_nm, K_mm = _matrices(X, X[EVERY_ROW])
    problem = (Y, LAM, weights, intercept)
    values = centers.rectangle_leave_one_out_values(EVERY_ROW, K_nm, K_mm, *problem)
    assert_allclose(values, brute_force.leave_one_out_values(K, *problem), **TIGHT)
    assert_allclose(
        centers.mean_square_left_out(values, Y, weights),
        brute_force.loo_mean_square_error(K, *problem),
        **TIGHT,
    )
    without = centers.rectangle_leave_one_out_predictions(
        EVERY_ROW, K_nm, K_mm, K_new[:, EVERY_ROW], *problem
    )
    assert_allclose(without, left_out_models.leave_one_out_predictions(K, K_new, *problem), **TIGHT)
    found = centers.rectangle_jackknife_plus(
        EVERY_ROW, K_nm, K_mm, K_new[:, EVERY_ROW], Y, LAM, 0.7, weights, intercept
    )
    expected = left_out_models.intervals(K, K_new, Y, LAM, 0.7, weights, intercept)["jackknife+"]
    assert_allclose(found, expected, **TIGHT)
    folds = [np.arange(0, 5), np.arange(5, 12)]
    splits = [(folds[1], folds[0]), (folds[0], folds[1])]
    expected = brute_force.leave_fold_out_values(K, *problem, folds)
    for values in (
        centers.rectangle_split_values(splits, EVERY_ROW, K_nm, K_mm, *problem),
        centers.nystrom_split_values(splits, EVERY_ROW, K, K_nm, K_mm, *problem),
    ):
        assert_allclose(np.concatenate(values), expected, **TIGHT)


# --- definitions against other formulas ---


@with_and_without_intercept
def test_the_rectangle_is_the_minimiser(data, intercept):
    """A general-purpose minimiser finds nothing better, and the same function."""
    X, Y, weights, X_new = data
    K_nm, K_mm = _matrices(X, X[ROWS])
    y = Y[:, 0]

    def objective(parameters):
        c, b = parameters[:-1], parameters[-1] if intercept else 0.0
        residuals = y - K_nm @ c - b
        value = weights @ residuals**2 + LAM * c @ K_mm @ c
        gradient = -2 * K_nm.T @ (weights * residuals) + 2 * LAM * K_mm @ c
        return value, np.append(gradient, -2 * weights @ residuals if intercept else 0.0)

    C, b = centers.fit_rectangle(K_nm, K_mm, Y[:, :1], LAM, weights, intercept)
    start = np.zeros(len(ROWS) + 1)
    best = minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-9})
    assert objective(np.append(C, b))[0] <= best.fun * (1 + 1e-12)
    found = gaussian(X_new, X[ROWS]) @ best.x[:-1] + best.x[-1]
    expected = centers.predict(gaussian(X_new, X[ROWS]), C, b)[:, 0]
    assert_allclose(found, expected, rtol=1e-6)


@with_and_without_intercept
@pytest.mark.parametrize("of_rows", [True, False])
def test_the_rectangle_is_the_full_problem_of_the_approximate_kernel(data, intercept, of_rows):
    """At the rows both functions have the values of the fit with K̃; only in between they differ."""
    X, Y, weights, X_new = data
    Z = X[ROWS] if of_rows else X_new
    K_nm, K_mm = _matrices(X, Z)
    C, b = centers.fit_nystrom(K_nm, K_mm, Y, LAM, weights, intercept)
    fitted = centers.rectangle_values(K_nm, K_mm, K_nm, Y, LAM, weights, intercept)
    assert_allclose(fitted, centers.nystrom_matrix(K_nm, K_mm) @ C + b, **TIGHT)
    recovered = centers.coefficients_from_fitted_values(K_nm, K_mm, Y, fitted, LAM, weights)
    rectangle = centers.fit_rectangle(K_nm, K_mm, Y, LAM, weights, intercept)
    assert_allclose(recovered, rectangle[0], rtol=1e-8)
    assert_allclose(recovered, np.linalg.solve(K_mm, K_nm.T @ C), rtol=1e-8)
    assert_allclose(C, weights[:, np.newaxis] * (Y - fitted) / LAM, **TIGHT)


@with_and_without_intercept
def test_leave_one_out_in_closed_form(data, intercept):
    X, Y, weights, _ = data
    K_nm, K_mm = _matrices(X, X[ROWS])
    rows, M_inverse = _augmented(K_nm, K_mm, LAM, weights, intercept)
    root = np.sqrt(weights)[:, np.newaxis]
    coefficients = M_inverse @ rows.T @ (root * Y)
    s = 1.0 - np.einsum("ij,jk,ik->i", rows, M_inverse, rows)
    errors = (root * Y - rows @ coefficients) / s[:, np.newaxis]
    for j, i in enumerate(ROWS):
        g = (M_inverse @ rows[i])[j]
        c = coefficients[j] - g * errors[i]
        errors[i] += g / s[i] * c / (M_inverse[j, j] + g**2 / s[i])
    values = centers.rectangle_leave_one_out_values(ROWS, K_nm, K_mm, Y, LAM, weights, intercept)
    assert_allclose(Y - values, errors / root, **TIGHT)


@with_and_without_intercept
@pytest.mark.parametrize(
    "removed", [[0, 1, 2, 3], [8, 0, 10], [1, 5, 8, 4, 10], [0, 2]], ids=["one", "two", "all", "no"]
)
def test_folds_in_closed_form(data, intercept, removed):
    X, Y, weights, _ = data
    K_nm, K_mm = _matrices(X, X[ROWS])
    rows, M_inverse = _augmented(K_nm, K_mm, LAM, weights, intercept)
    root = np.sqrt(weights)[:, np.newaxis]
    coefficients = M_inverse @ rows.T @ (root * Y)
    gone = [j for j, row in enumerate(ROWS) if row in removed]
    T = rows[removed] @ M_inverse
    S = np.eye(len(removed)) - T @ rows[removed].T
    errors = np.linalg.solve(S, (root * Y - rows @ coefficients)[removed])
    T_gone = T[:, gone]
    middle = M_inverse[np.ix_(gone, gone)] + T_gone.T @ np.linalg.solve(S, T_gone)
    right = coefficients[gone] - T_gone.T @ errors
    errors += np.linalg.solve(S, T_gone @ np.linalg.solve(middle, right))
    train = np.setdiff1d(np.arange(N_ROWS), removed)
    (values,) = centers.rectangle_split_values(
        [(train, np.array(removed))], ROWS, K_nm, K_mm, Y, LAM, weights, intercept
    )
    assert_allclose(Y[removed] - values, errors / root[removed], **TIGHT)


@with_and_without_intercept
def test_fixed_centers_leave_one_out_is_residual_over_complement(data, intercept):
    """For centers that are no rows, and for rows that are no centers."""
    X, Y, weights, X_new = data
    for Z, rows_of_centers in [(X_new, np.full(len(X_new), centers.NO_ROW)), (X[ROWS], ROWS)]:
        K_nm, K_mm = _matrices(X, Z)
        problem = (Y, LAM, weights, intercept)
        H = centers.rectangle_hat_matrix(K_nm, K_mm, LAM, weights, intercept)
        errors = (Y - H @ Y) / (1 - np.diag(H))[:, np.newaxis]
        values = centers.rectangle_leave_one_out_values(rows_of_centers, K_nm, K_mm, *problem)
        others = np.setdiff1d(np.arange(N_ROWS), rows_of_centers)
        assert_allclose((Y - values)[others], errors[others], **TIGHT)
        if len(others) < N_ROWS:
            assert np.abs((Y - values)[ROWS] / errors[ROWS] - 1).max() > 1e-3


def test_leave_one_out_is_the_split_of_one_row(data):
    X, Y, weights, _ = data
    K_nm, K_mm = _matrices(X, X[ROWS])
    problem = (Y, LAM, weights, True)
    every = np.arange(N_ROWS)
    splits = [(np.delete(every, i), np.array([i])) for i in every]
    by_splits = np.concatenate(centers.rectangle_split_values(splits, ROWS, K_nm, K_mm, *problem))
    values = centers.rectangle_leave_one_out_values(ROWS, K_nm, K_mm, *problem)
    assert_allclose(values, by_splits, **TIGHT)
    assert_allclose(
        centers.mean_square_of_splits(splits, by_splits[:, np.newaxis], Y, weights),
        centers.mean_square_left_out(values, Y, weights),
        **TIGHT,
    )


# --- edges ---


@with_and_without_intercept
def test_rows_of_weight_zero_are_not_there(data, intercept):
    X, Y, weights, X_new = data
    kept, zero, Y_holed = without_a_row(X, Y, weights)
    places = np.array([np.flatnonzero(kept == row)[0] for row in ROWS])
    K_nm, K_mm = _matrices(X, X[ROWS])
    K_new_m = gaussian(X_new, X[ROWS])
    with_zero = (Y_holed, LAM, zero, intercept)
    without = (Y[kept], LAM, weights[kept], intercept)
    assert_allclose(
        centers.rectangle_values(K_nm, K_mm, K_new_m, *with_zero),
        centers.rectangle_values(K_nm[kept], K_mm, K_new_m, *without),
        **TIGHT,
    )
    values = centers.rectangle_leave_one_out_values(ROWS, K_nm, K_mm, *with_zero)
    expected = centers.rectangle_leave_one_out_values(places, K_nm[kept], K_mm, *without)
    assert_allclose(values[kept], expected, **TIGHT)
    assert_allclose(
        values[[3]], centers.rectangle_values(K_nm[kept], K_mm, K_nm[[3]], *without), **TIGHT
    )
    assert_allclose(
        centers.mean_square_left_out(values, Y_holed, zero),
        centers.mean_square_left_out(expected, Y[kept], weights[kept]),
        **TIGHT,
    )
    assert_allclose(
        centers.rectangle_gcv(K_nm, K_mm, *with_zero),
        centers.rectangle_gcv(K_nm[kept], K_mm, *without),
        **TIGHT,
    )
    C, b = centers.fit_nystrom(K_nm, K_mm, *with_zero)
    expected, b_expected = centers.fit_nystrom(K_nm[kept], K_mm, *without)
    assert_allclose(C[kept], expected, **TIGHT)
    assert_allclose(b, b_expected, **TIGHT)
    assert np.all(C[3] == 0.0)


def test_without_centers_there_is_the_mean(data):
    X, Y, weights, _ = data
    nothing = (np.zeros((N_ROWS, 0)), np.zeros((0, 0)))
    C, b = centers.fit_rectangle(*nothing, Y, LAM, weights, True)
    assert C.shape == (0, N_TARGETS)
    assert_allclose(b, np.average(Y, axis=0, weights=weights), **TIGHT)
    assert np.all(centers.fit_rectangle(*nothing, Y, LAM, weights, False)[1] == 0.0)
    # the only center is a row: without it nothing is left to expand in
    K_nm, K_mm = _matrices(X, X[[4]])
    values = centers.rectangle_leave_one_out_values(
        np.array([4]), K_nm, K_mm, Y, LAM, weights, True
    )
    others = np.delete(np.arange(N_ROWS), 4)
    assert_allclose(values[4], np.average(Y[others], axis=0, weights=weights[others]), **TIGHT)


@with_and_without_intercept
def test_a_repeated_center_adds_nothing_until_its_row_is_left_out(data, intercept):
    X, Y, weights, X_new = data
    X[3] = X[5]  # 5 is a center
    problem = (Y, LAM, weights, intercept)
    once, twice = ROWS, np.append(ROWS, 3)
    K_new = gaussian(X_new, X)
    functions = [
        centers.rectangle_values(*_matrices(X, X[rows]), K_new[:, rows], *problem)
        for rows in (once, twice)
    ]
    assert_allclose(*functions, rtol=1e-7)
    one, other = (
        centers.rectangle_leave_one_out_values(rows, *_matrices(X, X[rows]), *problem)
        for rows in (once, twice)
    )
    assert_allclose(one[0], other[0], rtol=1e-7)
    assert np.abs(one[5] - other[5]).max() > 1e-4
    without = np.delete(np.arange(N_ROWS), 5)
    replaced = np.where(ROWS == 5, 3, ROWS)
    expected = centers.rectangle_values(
        gaussian(X[without], X[replaced]),
        gaussian(X[replaced]),
        gaussian(X[[5]], X[replaced]),
        Y[without],
        LAM,
        weights[without],
        intercept,
    )
    assert_allclose(other[[5]], expected, rtol=1e-7)


# --- fifty digits ---


@with_and_without_intercept
@pytest.mark.parametrize("lam", [1e-6, 1e-2])
def test_fifty_digits(intercept, lam):
    """Centers close together: K_mm has a condition above 1e12."""
    rng = np.random.default_rng(5)
    X = np.sort(rng.uniform(size=(16, 1)), axis=0)
    Y = np.sin(6 * X) + 0.1 * rng.standard_normal((16, 1))
    weights, X_new = rng.uniform(0.5, 2.0, 16), np.array([[0.05], [0.4], [0.8]])
    rows = np.arange(0, 16, 2)
    K = brute_force.kernel_matrix("gaussian", X, X, sigma=1.0)
    K_nm, K_mm = K[:, rows], K[np.ix_(rows, rows)]
    K_new = brute_force.kernel_matrix("gaussian", X_new, X, sigma=1.0)
    assert np.linalg.cond(K_mm) > 1e12
    problem = (Y, lam, weights, intercept)
    exact = (Y[:, 0], weights, 1.0, lam, intercept)
    rounding = 1e3 * np.finfo(float).eps / lam
    found = centers.rectangle_values(K_nm, K_mm, K_new[:, rows], *problem)[:, 0]
    expected = fifty_digits_centers.rectangle_values(X, X[rows], X_new, *exact)
    assert_allclose(found, expected, rtol=rounding)
    found = centers.rectangle_leave_one_out_values(rows, K_nm, K_mm, *problem)[:, 0]
    expected = fifty_digits_centers.rectangle_leave_one_out_values(X, rows, *exact)
    assert_allclose(found, expected, rtol=rounding)
    found = centers.predict(K_new, *centers.fit_nystrom(K_nm, K_mm, *problem))[:, 0]
    expected = fifty_digits_centers.nystrom_values(X, X[rows], X_new, *exact)
    assert_allclose(found, expected, rtol=100 * rounding)
