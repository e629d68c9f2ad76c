"""The reference itself, checked against other software, exact fractions and hand results."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath import mp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import Matern
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.metrics import pairwise
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_predict

from tests.reference import brute_force, fifty_digits

N_ROWS, N_FEATURES, N_TARGETS = 14, 3, 2
LAM = 0.7
TIGHT = {"rtol": 1e-9, "atol": 1e-11}


@pytest.fixture
def data():
    rng = np.random.default_rng(20240229)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    Y = rng.normal(size=(N_ROWS, N_TARGETS)) + 3.0
    weights = rng.uniform(0.2, 3.0, size=N_ROWS)
    return X, Y, weights


def gaussian(X, Z=None, sigma=1.3):
    return brute_force.kernel_matrix("gaussian", X, X if Z is None else Z, sigma=sigma)


# --- Kernels ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "params", "other"),
    [
        ("linear", {}, pairwise.linear_kernel),
        (
            "polynomial",
            {"gamma": 0.4, "coef0": 1.5, "degree": 3},
            lambda X, Z: pairwise.polynomial_kernel(X, Z, gamma=0.4, coef0=1.5, degree=3),
        ),
        (
            "gaussian",
            {"sigma": 1.7},
            lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=1 / (2 * 1.7**2)),
        ),
        (
            "laplacian",
            {"sigma": 1.7},
            lambda X, Z: pairwise.laplacian_kernel(X, Z, gamma=1 / 1.7),
        ),
        ("matern", {"sigma": 1.7, "nu": 0.5}, Matern(length_scale=1.7, nu=0.5)),
        ("matern", {"sigma": 1.7, "nu": 1.5}, Matern(length_scale=1.7, nu=1.5)),
        ("matern", {"sigma": 1.7, "nu": 2.5}, Matern(length_scale=1.7, nu=2.5)),
        ("constant", {"value": 2.5}, lambda X, Z: np.full((len(X), len(Z)), 2.5)),
    ],
)
def test_kernels_agree_with_scikit_learn(data, name, params, other):
    X, Z = data[0], np.random.default_rng(1).normal(size=(5, N_FEATURES))
    K = brute_force.kernel_matrix(name, X, Z, **params)
    assert K.shape == (N_ROWS, 5)
    assert_allclose(K, other(X, Z), rtol=1e-12, atol=1e-13)


def test_matern_rejects_other_smoothness(data):
    with pytest.raises(ValueError, match="nu"):
        brute_force.kernel_matrix("matern", data[0], data[0], sigma=1.0, nu=3.5)


# --- Fits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_fit_agrees_with_scikit_learn_kernel_ridge(data, weighted):
    X, Y, weights = data
    w = weights if weighted else None
    K = gaussian(X)
    other = KernelRidge(alpha=LAM, kernel="precomputed").fit(K, Y, sample_weight=w)
    C, b = brute_force.fit(K, Y, LAM, w, intercept=False)
    assert_allclose(C, other.dual_coef_, **TIGHT)
    assert_array_equal(b, np.zeros(N_TARGETS))
    Z = np.random.default_rng(2).normal(size=(4, N_FEATURES))
    K_new = gaussian(Z, X)
    assert_allclose(brute_force.predict(K_new, C, b), other.predict(K_new), **TIGHT)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_linear_fits_agree_with_scikit_learn_ridge(data, weighted, intercept):
    X, Y, weights = data
    w = weights if weighted else None
    other = Ridge(alpha=LAM, fit_intercept=intercept, solver="cholesky")
    other.fit(X, Y, sample_weight=w)

    coef, b = brute_force.primal_fit(X, Y, LAM, w, intercept)
    assert_allclose(coef, other.coef_, **TIGHT)
    assert_allclose(b, other.intercept_ * np.ones(N_TARGETS), **TIGHT)

    K = brute_force.kernel_matrix("linear", X, X)
    C, b_dual = brute_force.fit(K, Y, LAM, w, intercept)
    assert_allclose((X.T @ C).T, coef, **TIGHT)
    assert_allclose(b_dual, b, **TIGHT)


@pytest.mark.parametrize("intercept", [False, True])
def test_no_nearby_function_has_a_smaller_objective(data, intercept):
    X, Y, w = data
    K = gaussian(X)
    y = Y[:, :1]
    C, b = brute_force.fit(K, y, LAM, w, intercept)

    def objective(c, constant):
        residual = y[:, 0] - K @ c - constant
        return np.sum(w * residual**2) + LAM * c @ K @ c

    best = objective(C[:, 0], b[0])
    rng = np.random.default_rng(3)
    for _ in range(50):
        step = 1e-3 * rng.normal(size=N_ROWS)
        shift = 1e-3 * rng.normal() if intercept else 0.0
        assert objective(C[:, 0] + step, b[0] + shift) > best


@pytest.mark.parametrize("intercept", [False, True])
def test_weight_zero_is_absence_and_weight_two_is_repetition(data, intercept):
    X, Y, _ = data
    w = np.ones(N_ROWS)
    w[3], w[8] = 0.0, 2.0
    Y = Y.copy()
    Y[3] = np.nan  # never looked at
    kept = np.array([i for i in range(N_ROWS) if i != 3] + [8])
    C, b = brute_force.fit(gaussian(X), Y, LAM, w, intercept)
    C_long, b_long = brute_force.fit(gaussian(X[kept]), Y[kept], LAM, None, intercept)
    assert_array_equal(C[3], 0.0)
    assert_allclose(b, b_long, **TIGHT)
    Z = np.random.default_rng(4).normal(size=(6, N_FEATURES))
    assert_allclose(
        brute_force.predict(gaussian(Z, X), C, b),
        brute_force.predict(gaussian(Z, X[kept]), C_long, b_long),
        **TIGHT,
    )


def test_negative_weights_are_rejected(data):
    X, Y, weights = data
    with pytest.raises(ValueError, match="non-negative"):
        brute_force.fit(gaussian(X), Y, LAM, -weights)


def test_leaving_out_the_only_row():
    K, y = np.array([[2.0]]), np.array([[5.0]])
    assert_array_equal(brute_force.leave_one_out_values(K, y, LAM, None, False), [[0.0]])
    assert_array_equal(brute_force.leave_one_out_values(K, y, LAM, None, True), [[np.nan]])
    assert_array_equal(brute_force.primal_leave_one_out_values(K, y, LAM, None, False), [[0.0]])
    assert_array_equal(brute_force.primal_leave_one_out_values(K, y, LAM, None, True), [[np.nan]])


# --- Hat matrix, degrees of freedom, GCV -----------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
def test_hat_matrix_takes_targets_to_fitted_values(data, intercept):
    X, Y, weights = data
    weights = weights.copy()
    weights[5] = 0.0
    K = gaussian(X)
    H = brute_force.hat_matrix(K, LAM, weights, intercept)
    C, b = brute_force.fit(K, Y, LAM, weights, intercept)
    assert_allclose(H @ Y, brute_force.predict(K, C, b), **TIGHT)
    assert_array_equal(H[:, 5], 0.0)
    if intercept:
        assert_allclose(H.sum(axis=1), 1.0, **TIGHT)


@pytest.mark.parametrize("intercept", [False, True])
def test_degrees_of_freedom_agree_with_the_singular_value_formula(data, intercept):
    X = data[0]
    K = brute_force.kernel_matrix("linear", X, X)
    s = np.linalg.svd(X - X.mean(axis=0) if intercept else X, compute_uv=False)
    expected = np.sum(s**2 / (s**2 + LAM)) + (1.0 if intercept else 0.0)
    assert_allclose(brute_force.degrees_of_freedom(K, LAM, None, intercept), expected, **TIGHT)


def test_gcv_and_leave_one_out_of_the_weighted_mean_by_hand():
    # With a zero kernel the fit is the weighted mean and tr H = 1; the last row is not used.
    K = np.zeros((4, 4))
    y = np.array([[1.0], [2.0], [6.0], [100.0]])
    w = np.array([1.0, 2.0, 1.0, 0.0])
    mean = 11.0 / 4.0
    sum_of_squares = (1 - mean) ** 2 + 2 * (2 - mean) ** 2 + (6 - mean) ** 2
    assert_allclose(brute_force.degrees_of_freedom(K, LAM, w, True), 1.0, rtol=1e-14)
    assert_allclose(
        brute_force.gcv(K, y, LAM, w, True), [sum_of_squares / 4 / (2 / 3) ** 2], rtol=1e-14
    )
    left_out = np.array([[10 / 3], [7 / 2], [5 / 3], [11 / 4]])
    assert_allclose(brute_force.leave_one_out_values(K, y, LAM, w, True), left_out, rtol=1e-14)
    mean_square = ((7 / 3) ** 2 + 2 * (3 / 2) ** 2 + (13 / 3) ** 2) / 4
    assert_allclose(
        brute_force.loo_mean_square_error(K, y, LAM, w, True), [mean_square], rtol=1e-14
    )


# --- Leaving rows out ------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out_agrees_with_scikit_learn_ridge(data, weighted, intercept):
    X, Y, weights = data
    w = weights if weighted else None
    other = cross_val_predict(
        Ridge(alpha=LAM, fit_intercept=intercept, solver="cholesky"),
        X,
        Y,
        cv=LeaveOneOut(),
        params={"sample_weight": w} if weighted else None,
    )
    K = brute_force.kernel_matrix("linear", X, X)
    values = brute_force.leave_one_out_values(K, Y, LAM, w, intercept)
    assert_allclose(values, other, **TIGHT)
    assert_allclose(
        brute_force.primal_leave_one_out_values(X, Y, LAM, w, intercept), other, **TIGHT
    )
    assert_allclose(
        brute_force.loo_mean_square_error(K, Y, LAM, w, intercept),
        np.average((Y - other) ** 2, axis=0, weights=w),
        **TIGHT,
    )


def test_leave_one_out_agrees_with_scikit_learn_kernel_ridge(data):
    X, Y, weights = data
    other = cross_val_predict(
        KernelRidge(alpha=LAM, kernel="laplacian", gamma=1 / 1.1),
        X,
        Y,
        cv=LeaveOneOut(),
        params={"sample_weight": weights},
    )
    K = brute_force.kernel_matrix("laplacian", X, X, sigma=1.1)
    assert_allclose(brute_force.leave_one_out_values(K, Y, LAM, weights, False), other, **TIGHT)


def test_leave_one_out_agrees_with_scikit_learn_closed_form(data):
    X, Y, _ = data
    other = RidgeCV(alphas=[LAM], store_cv_results=True).fit(X, Y).cv_results_[:, :, 0]
    values = brute_force.primal_leave_one_out_values(X, Y, LAM, None, True)
    assert_allclose((Y - values) ** 2, other, **TIGHT)


def test_leave_fold_out_agrees_with_scikit_learn(data):
    X, Y, weights = data
    splitter = KFold(4, shuffle=True, random_state=0)
    folds = [test for _, test in splitter.split(X)]
    K = brute_force.kernel_matrix("linear", X, X)
    params = {"sample_weight": weights}

    other = cross_val_predict(Ridge(alpha=LAM, solver="cholesky"), X, Y, cv=splitter, params=params)
    for values in (
        brute_force.leave_fold_out_values(K, Y, LAM, weights, True, folds),
        brute_force.primal_leave_fold_out_values(X, Y, LAM, weights, True, folds),
    ):
        assert_allclose(values, other, **TIGHT)

    other = cross_val_predict(
        KernelRidge(alpha=LAM, kernel="rbf", gamma=1 / (2 * 1.3**2)),
        X,
        Y,
        cv=splitter,
        params=params,
    )
    values = brute_force.leave_fold_out_values(gaussian(X), Y, LAM, weights, False, folds)
    assert_allclose(values, other, **TIGHT)


@pytest.mark.parametrize("intercept", [False, True])
def test_folds_of_one_row_are_leave_one_out_and_untested_rows_are_nan(data, intercept):
    X, Y, weights = data
    weights = weights.copy()
    weights[2] = 0.0
    folds = [np.array([i]) for i in range(N_ROWS - 1)]
    K = gaussian(X)
    by_folds = brute_force.leave_fold_out_values(K, Y, LAM, weights, intercept, folds)
    by_rows = brute_force.leave_one_out_values(K, Y, LAM, weights, intercept)
    assert_allclose(by_folds[:-1], by_rows[:-1], **TIGHT)
    assert np.all(np.isnan(by_folds[-1]))

    by_folds = brute_force.primal_leave_fold_out_values(X, Y, LAM, weights, intercept, folds)
    by_rows = brute_force.primal_leave_one_out_values(X, Y, LAM, weights, intercept)
    assert_allclose(by_folds[:-1], by_rows[:-1], **TIGHT)
    assert np.all(np.isnan(by_folds[-1]))


def test_overlapping_folds_are_rejected(data):
    X, Y, _ = data
    folds = [np.array([0, 1]), np.array([1, 2])]
    with pytest.raises(ValueError, match="more than one fold"):
        brute_force.leave_fold_out_values(gaussian(X), Y, LAM, None, True, folds)


# --- Multiple precision ----------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [3, 20])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_multiple_precision_agrees_with_float64_when_well_conditioned(
    n_features, weighted, intercept
):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(12, n_features))
    Y = rng.normal(size=(12, 1)) + 1.0
    w = rng.uniform(0.5, 2.0, size=12) if weighted else None
    if w is not None:
        w[4] = 0.0
    coef, b = fifty_digits.ridge_coefficients(X, Y[:, 0], LAM, w, intercept)
    coef64, b64 = brute_force.primal_fit(X, Y, LAM, w, intercept)
    assert_allclose(coef, coef64[0], rtol=1e-11, atol=1e-12)
    assert_allclose(b, b64[0], rtol=1e-11, atol=1e-12)

    errors = fifty_digits.ridge_leave_one_out(X, Y[:, 0], LAM, w, intercept)
    values = brute_force.primal_leave_one_out_values(X, Y, LAM, w, intercept)
    assert_allclose(errors, (Y - values)[:, 0], rtol=1e-11, atol=1e-12)


def solve_with_fractions(matrix, right_hand_side):
    """Solve a square system by Gauss-Jordan elimination on exact fractions."""
    rows = [[*row, value] for row, value in zip(matrix, right_hand_side, strict=True)]
    size = len(rows)
    for k in range(size):
        pivot = next(i for i in range(k, size) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(size):
            if i != k:
                factor = rows[i][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[size] for row in rows]


def ridge_with_fractions(X, y, lam, weights, intercept):
    """Solve the normal equations of ridge regression without any rounding at all."""
    Z = [[Fraction(v) for v in row] + ([Fraction(1)] if intercept else []) for row in X.tolist()]
    w = [Fraction(v) for v in weights.tolist()]
    targets = [Fraction(v) for v in y.tolist()]
    n_rows, size = len(Z), len(Z[0])
    normal = [
        [sum(w[i] * Z[i][j] * Z[i][k] for i in range(n_rows)) for k in range(size)]
        for j in range(size)
    ]
    for j in range(X.shape[1]):
        normal[j][j] += Fraction(lam)
    moments = [sum(w[i] * Z[i][j] * targets[i] for i in range(n_rows)) for j in range(size)]
    solution = solve_with_fractions(normal, moments)
    return (solution[:-1], solution[-1]) if intercept else (solution, Fraction(0))


@pytest.mark.parametrize(("n", "d"), [(9, 5), (4, 6)])
@pytest.mark.parametrize("intercept", [False, True])
def test_multiple_precision_agrees_with_exact_fractions_on_hilbert(n, d, intercept):
    X = fifty_digits.hilbert_design(n, d)
    rng = np.random.default_rng(6)
    y, w = rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)
    lam = 1e-14
    coef, b = fifty_digits.ridge_coefficients(X, y, lam, w, intercept)
    exact_coef, exact_b = ridge_with_fractions(X, y, lam, w, intercept)
    assert_array_equal(coef, [float(a) for a in exact_coef])
    assert b == float(exact_b)

    exact_errors = []
    for i in range(n):
        kept = [j for j in range(n) if j != i]
        a, b_without = ridge_with_fractions(X[kept], y[kept], lam, w[kept], intercept)
        value = b_without + sum(a_k * Fraction(x_k) for a_k, x_k in zip(a, X[i], strict=True))
        exact_errors.append(float(Fraction(y[i]) - value))
    # Equal to the last bit: both are the exact error rounded once.
    assert_array_equal(fifty_digits.ridge_leave_one_out(X, y, lam, w, intercept), exact_errors)


@pytest.mark.parametrize("lam", [0.0, 1e-20, 1e-6])
@pytest.mark.parametrize("intercept", [False, True])
def test_normal_equations_hold_to_fifty_digits_on_hilbert(lam, intercept):
    n, d = 30, 8
    X = fifty_digits.hilbert_design(n, d)
    rng = np.random.default_rng(7)
    y, w = rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)
    coef, b = fifty_digits.ridge_coefficients_unrounded(X, y, lam, w, intercept)
    with mpmath.workdps(fifty_digits.WORKING_DIGITS):
        residuals = [
            mp.mpf(y[i]) - b - mp.fsum(mp.mpf(X[i, j]) * coef[j] for j in range(d))
            for i in range(n)
        ]
        gradient = [
            mp.fsum(mp.mpf(w[i]) * mp.mpf(X[i, j]) * residuals[i] for i in range(n))
            - mp.mpf(lam) * coef[j]
            for j in range(d)
        ]
        if intercept:
            gradient.append(mp.fsum(mp.mpf(w[i]) * residuals[i] for i in range(n)))
        scale = 1 + max(abs(a) for a in coef)
        assert max(abs(g) for g in gradient) < scale * mp.mpf(10) ** -50


def test_leave_one_out_on_hilbert_is_exact_where_the_answer_is_known():
    # Without regularisation a target in the span of the columns is reproduced by every refit.
    # Doubling is exact in float64, so the target is in the span to the last bit.
    n, d = 30, 8
    X = fifty_digits.hilbert_design(n, d)
    errors = fifty_digits.ridge_leave_one_out(X, 2.0 * X[:, 3], 0.0)
    assert np.max(np.abs(errors)) < 1e-50


def test_working_precision_is_left_as_it_was():
    before = mp.dps
    fifty_digits.ridge_leave_one_out(np.eye(3), np.ones(3), 1.0)
    assert mp.dps == before


def test_hilbert_design_entries():
    assert_array_equal(
        fifty_digits.hilbert_design(2, 3), [[1, 1 / 2, 1 / 3], [1 / 2, 1 / 3, 1 / 4]]
    )
