"""The second reference, checked against other software, hand results, identities and fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import null_space
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import LeaveOneOut

from tests.reference import after_the_fit, brute_force, fifty_digits_gaussian_process
from tests.reference.fifty_digits import hilbert_design

N_ROWS, N_FEATURES, N_TARGETS, N_NEW = 12, 3, 2, 5
LAM = 0.7
SIGMA = 1.3
TIGHT = {"rtol": 1e-9, "atol": 1e-11}


@pytest.fixture
def data():
    rng = np.random.default_rng(20240301)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    Y = rng.normal(size=(N_ROWS, N_TARGETS)) + 3.0
    weights = rng.uniform(0.2, 3.0, size=N_ROWS)
    X_new = rng.normal(size=(N_NEW, N_FEATURES))
    return X, Y, weights, X_new


def gaussian(X, Z=None):
    return brute_force.kernel_matrix("gaussian", X, X if Z is None else Z, sigma=SIGMA)


def closed_form(K, lam, weights, intercept):
    """Return the matrix P of the coefficients, c = P y, and the vector u of b = u'y."""
    G_inverse = np.linalg.inv(K + lam * np.diag(1.0 / weights))
    if not intercept:
        return G_inverse, np.zeros(len(K))
    sums = G_inverse.sum(axis=0)
    return G_inverse - np.outer(sums, sums) / sums.sum(), sums / sums.sum()


def without_a_row(X, Y, weights):
    """Return the data with the fourth row of weight zero and of no target, and without it."""
    kept = np.delete(np.arange(len(X)), 3)
    zero, Y_holed = weights.copy(), Y.copy()
    zero[3], Y_holed[3] = 0.0, np.nan
    return kept, zero, Y_holed


# --- Leave-one-out models --------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out_predictions_agree_with_scikit_learn_ridge(data, weighted, intercept):
    X, Y, weights, X_new = data
    w = weights if weighted else None
    K = brute_force.kernel_matrix("linear", X, X)
    K_new = brute_force.kernel_matrix("linear", X_new, X)
    primal = after_the_fit.primal_leave_one_out_predictions(X, X_new, Y, LAM, w, intercept)
    dual = after_the_fit.leave_one_out_predictions(K, K_new, Y, LAM, w, intercept)
    assert primal.shape == dual.shape == (N_NEW, N_ROWS, N_TARGETS)
    for kept, left_out in LeaveOneOut().split(X):
        other = Ridge(alpha=LAM, fit_intercept=intercept, solver="cholesky")
        other.fit(X[kept], Y[kept], sample_weight=None if w is None else w[kept])
        assert_allclose(primal[:, left_out[0]], other.predict(X_new), **TIGHT)
        assert_allclose(dual[:, left_out[0]], other.predict(X_new), **TIGHT)


def test_leave_one_out_predictions_agree_with_scikit_learn_kernel_ridge(data):
    X, Y, weights, X_new = data
    values = after_the_fit.leave_one_out_predictions(
        gaussian(X), gaussian(X_new, X), Y, LAM, weights, intercept=False
    )
    for kept, left_out in LeaveOneOut().split(X):
        other = KernelRidge(alpha=LAM, kernel="rbf", gamma=1 / (2 * SIGMA**2))
        other.fit(X[kept], Y[kept], sample_weight=weights[kept])
        assert_allclose(values[:, left_out[0]], other.predict(X_new), **TIGHT)


@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out_predictions_at_the_rows_are_the_leave_one_out_values(data, intercept):
    X, Y, weights, _ = data
    K = gaussian(X)
    values = after_the_fit.leave_one_out_predictions(K, K, Y, LAM, weights, intercept)
    own = brute_force.leave_one_out_values(K, Y, LAM, weights, intercept)
    assert_allclose(values[np.arange(N_ROWS), np.arange(N_ROWS)], own, **TIGHT)


@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out_predictions_have_a_closed_form(data, intercept):
    X, Y, weights, X_new = data
    K, K_new = gaussian(X), gaussian(X_new, X)
    P, u = closed_form(K, LAM, weights, intercept)
    errors = P @ Y / np.diag(P)[:, np.newaxis]
    a = K_new @ P + u  # (m, n)
    predictions = a @ Y
    expected = predictions[:, np.newaxis] - a[:, :, np.newaxis] * errors
    values = after_the_fit.leave_one_out_predictions(K, K_new, Y, LAM, weights, intercept)
    assert_allclose(values, expected, **TIGHT)
    change = after_the_fit.influence(K, K_new, Y, LAM, weights, intercept)
    assert_allclose(change, -a[:, :, np.newaxis] * errors, **TIGHT)


def test_leave_one_out_predictions_of_two_rows_by_hand():
    # With K = I and lam = 1 a row of target y predicts k(z, x) y / 2 when it is alone.
    K, Y = np.eye(2), np.array([[4.0], [6.0]])
    K_new = np.array([[1.0, 0.5]])
    values = after_the_fit.leave_one_out_predictions(K, K_new, Y, 1.0, None, intercept=False)
    assert_allclose(values[0, :, 0], [0.5 * 3.0, 1.0 * 2.0], rtol=1e-15)
    change = after_the_fit.influence(K, K_new, Y, 1.0, None, intercept=False)
    assert_allclose(change[0, :, 0], [-2.0, -1.5], rtol=1e-15)
    # With an intercept a row that is alone predicts its own target.
    values = after_the_fit.leave_one_out_predictions(K, K_new, Y, 1.0, None, intercept=True)
    assert_allclose(values[0, :, 0], [6.0, 4.0], rtol=1e-15)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_row_of_weight_zero_has_no_influence(data, intercept):
    X, Y, weights, X_new = data
    kept, zero, Y_holed = without_a_row(X, Y, weights)
    K, K_new = gaussian(X), gaussian(X_new, X)
    change = after_the_fit.influence(K, K_new, Y_holed, LAM, zero, intercept)
    shorter = after_the_fit.influence(
        K[np.ix_(kept, kept)], K_new[:, kept], Y[kept], LAM, weights[kept], intercept
    )
    assert_allclose(change[:, 3], 0.0, atol=1e-12)
    assert_allclose(change[:, kept], shorter, **TIGHT)


@pytest.mark.parametrize("intercept", [False, True])
def test_primal_and_dual_influence_and_leverages_agree(data, intercept):
    X, Y, weights, X_new = data
    weights = weights.copy()
    weights[7] = 0.0
    K = brute_force.kernel_matrix("linear", X, X)
    K_new = brute_force.kernel_matrix("linear", X_new, X)
    assert_allclose(
        after_the_fit.primal_influence(X, X_new, Y, LAM, weights, intercept),
        after_the_fit.influence(K, K_new, Y, LAM, weights, intercept),
        **TIGHT,
    )
    leverages = after_the_fit.leverages(K, LAM, weights, intercept)
    assert leverages[7] == 0.0
    assert_allclose(leverages, after_the_fit.primal_leverages(X, LAM, weights, intercept), **TIGHT)
    hat_matrix = brute_force.hat_matrix(K, LAM, weights, intercept)
    assert_allclose(leverages, np.diag(hat_matrix), **TIGHT)


@pytest.mark.parametrize("intercept", [False, True])
def test_leverages_are_the_slopes_of_scikit_learn_fitted_values(data, intercept):
    X, Y, weights, _ = data
    leverages = after_the_fit.primal_leverages(X, LAM, weights, intercept)
    other = Ridge(alpha=LAM, fit_intercept=intercept, solver="cholesky")
    for i in range(N_ROWS):
        raised = Y.copy()
        raised[i] += 1.0
        before = other.fit(X, Y, sample_weight=weights).predict(X)[i]
        after = other.fit(X, raised, sample_weight=weights).predict(X)[i]
        assert_allclose(after - before, leverages[i], rtol=1e-9)


# --- Intervals -------------------------------------------------------------------------------


def test_orders_are_those_of_exact_percentages():
    for percent in range(1, 100):
        for n_rows in range(1, 201):
            upper = after_the_fit.order_of_the_upper_end(percent / 100, n_rows)
            lower = after_the_fit.order_of_the_lower_end(percent / 100, n_rows)
            assert upper == -(-percent * (n_rows + 1) // 100)
            assert lower == (100 - percent) * (n_rows + 1) // 100
            assert lower + upper == n_rows + 1


def test_orders_where_float64_arithmetic_would_miss():
    assert math.floor((1 - 0.9) * 10) == 0
    assert after_the_fit.order_of_the_lower_end(0.9, 9) == 1
    assert math.ceil(0.55 * 100) == 56
    assert after_the_fit.order_of_the_upper_end(0.55, 99) == 55
    assert after_the_fit.order_of_the_upper_end(np.float64(0.9), 9) == 9


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.1, 1.1])
def test_coverage_must_be_a_probability(coverage):
    with pytest.raises(ValueError, match="between 0 and 1"):
        after_the_fit.order_of_the_upper_end(coverage, 9)
    with pytest.raises(ValueError, match="between 0 and 1"):
        after_the_fit.order_of_the_lower_end(coverage, 9)


def test_smallest_values_by_hand():
    values = np.array([[3.0, 1.0, 2.0], [-1.0, 5.0, 0.0]])
    assert_array_equal(after_the_fit.smallest(values, 0), [-np.inf, -np.inf])
    assert_array_equal(after_the_fit.smallest(values, 1), [1.0, -1.0])
    assert_array_equal(after_the_fit.smallest(values, 3), [3.0, 5.0])
    assert_array_equal(after_the_fit.smallest(values, 4), [np.inf, np.inf])


MEAN_MODEL = {
    # coverage: the ends of the intervals around the mean of 1, 2 and 6.
    0.5: {"jackknife+": (1.0, 6.0), "jackknife": (0.0, 6.0), "minmax": (-1.5, 7.0)},
    0.75: {"jackknife+": (-3.0, 7.0), "jackknife": (-1.5, 7.5), "minmax": (-3.0, 8.5)},
    0.8: dict.fromkeys(["jackknife+", "jackknife", "minmax"], (-np.inf, np.inf)),
}


@pytest.mark.parametrize("coverage", list(MEAN_MODEL))
def test_intervals_of_the_mean_of_three_by_hand(coverage):
    # Without features the fit is the mean. The targets 1, 2, 6 leave means 4, 3.5, 1.5 and
    # errors -3, -1.5, 4.5: f - |e| is 1, 2, -3 and f + |e| is 7, 5, 6. The fourth row has no
    # weight, and the weights of the others are equal.
    K, K_new = np.zeros((4, 4)), np.zeros((1, 4))
    Y = np.array([[1.0], [2.0], [6.0], [np.nan]])
    weights = np.array([2.0, 2.0, 2.0, 0.0])
    results = after_the_fit.intervals(K, K_new, Y, LAM, coverage, weights, intercept=True)
    primal = after_the_fit.primal_intervals(
        np.zeros((4, 1)), np.zeros((1, 1)), Y, LAM, coverage, weights, intercept=True
    )
    for method, (lower, upper) in MEAN_MODEL[coverage].items():
        for ends in (results[method], primal[method]):
            assert_allclose(ends[0], [[lower]], rtol=1e-12, atol=1e-12)
            assert_allclose(ends[1], [[upper]], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_intervals_agree_with_numpy_quantiles_of_scikit_learn_refits(data, coverage):
    X, Y, weights, X_new = data
    y = Y[:, 0]
    model = Ridge(alpha=LAM, solver="cholesky")
    without, sizes = [], []
    for kept, left_out in LeaveOneOut().split(X):
        model.fit(X[kept], y[kept], sample_weight=weights[kept])
        without.append(model.predict(X_new))
        sizes.append(abs(y[left_out] - model.predict(X[left_out]))[0])
    without, sizes = np.array(without), np.array(sizes)[:, np.newaxis]
    # The ceil((1 - alpha)(n + 1))-th smallest is the quantile of level (1 - alpha)(n + 1) / n,
    # and (1 - alpha) 13 is not a whole number for these, so rounding does not matter.
    level = coverage * (1 + 1 / N_ROWS)
    q = np.quantile(sizes, level, method="inverted_cdf")
    center = model.fit(X, y, sample_weight=weights).predict(X_new)
    upper = np.quantile(without + sizes, level, axis=0, method="inverted_cdf")
    lower = -np.quantile(sizes - without, level, axis=0, method="inverted_cdf")
    expected = {
        "jackknife+": (lower, upper),
        "jackknife": (center - q, center + q),
        "minmax": (without.min(axis=0) - q, without.max(axis=0) + q),
    }
    results = after_the_fit.primal_intervals(X, X_new, Y, LAM, coverage, weights, intercept=True)
    for method, ends in expected.items():
        assert_allclose(results[method][0][:, 0], ends[0], **TIGHT)
        assert_allclose(results[method][1][:, 0], ends[1], **TIGHT)


@pytest.mark.parametrize("intercept", [False, True])
def test_kernel_and_primal_intervals_agree_and_skip_rows_of_weight_zero(data, intercept):
    X, Y, weights, X_new = data
    kept, zero, Y_holed = without_a_row(X, Y, weights)
    K = brute_force.kernel_matrix("linear", X, X)
    K_new = brute_force.kernel_matrix("linear", X_new, X)
    by_kernel = after_the_fit.intervals(K, K_new, Y_holed, LAM, 0.75, zero, intercept)
    by_features = after_the_fit.primal_intervals(
        X[kept], X_new, Y[kept], LAM, 0.75, weights[kept], intercept
    )
    for method, ends in by_kernel.items():
        assert ends[0].shape == (N_NEW, N_TARGETS)
        assert_allclose(ends, by_features[method], **TIGHT)
        assert np.all(np.isfinite(ends))


# --- The Gaussian process --------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 2.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian_process_agrees_with_scikit_learn(data, weighted, scale):
    X, Y, weights, X_new = data
    w = weights if weighted else np.ones(N_ROWS)
    other = GaussianProcessRegressor(
        kernel=ConstantKernel(scale) * RBF(SIGMA), alpha=scale * LAM / w, optimizer=None
    ).fit(X, Y)
    mean, covariance = after_the_fit.posterior(
        gaussian(X),
        gaussian(X_new, X),
        gaussian(X_new),
        Y,
        LAM,
        weights if weighted else None,
        intercept=False,
        scale=scale,
    )
    assert covariance.shape == (N_NEW, N_NEW, N_TARGETS)
    assert_allclose(mean, other.predict(X_new), **TIGHT)
    assert_allclose(covariance, other.predict(X_new, return_cov=True)[1], **TIGHT)
    deviations = np.sqrt(np.diagonal(covariance).T)
    assert_allclose(deviations, other.predict(X_new, return_std=True)[1], **TIGHT)
    likelihood = after_the_fit.log_marginal_likelihood(
        gaussian(X), Y, LAM, w, intercept=False, scale=scale
    )
    assert_allclose(likelihood.sum(), other.log_marginal_likelihood_value_, rtol=1e-11)


@pytest.mark.parametrize("scale", [None, 2.5])
@pytest.mark.parametrize("intercept", [False, True])
def test_posterior_has_a_closed_form_and_its_mean_is_the_fit(data, intercept, scale):
    X, Y, weights, X_new = data
    K, K_new, K_new_new = gaussian(X), gaussian(X_new, X), gaussian(X_new)
    mean, covariance = after_the_fit.posterior(
        K, K_new, K_new_new, Y, LAM, weights, intercept, scale
    )
    C, b = brute_force.fit(K, Y, LAM, weights, intercept)
    assert_allclose(mean, brute_force.predict(K_new, C, b), **TIGHT)

    G_inverse = np.linalg.inv(K + LAM * np.diag(1.0 / weights))
    expected = K_new_new - K_new @ G_inverse @ K_new.T
    if intercept:
        short = 1.0 - K_new @ G_inverse.sum(axis=0)
        expected += np.outer(short, short) / G_inverse.sum()
    squares = np.sum(Y * C, axis=0)
    s2 = squares / (N_ROWS - intercept) if scale is None else np.full(N_TARGETS, scale)
    assert_allclose(covariance, expected[:, :, np.newaxis] * s2, **TIGHT)


def test_flat_prior_is_the_limit_of_wide_priors(data):
    X, Y, weights, X_new = data
    matrices = gaussian(X), gaussian(X_new, X), gaussian(X_new)
    flat = after_the_fit.posterior(*matrices, Y, LAM, weights, intercept=True, scale=1.0)
    wide = [
        after_the_fit.posterior_with_prior_on_intercept(
            *matrices, Y, LAM, prior_variance=variance, weights=weights
        )
        for variance in (500.0, 1000.0, 2000.0)
    ]
    for k in range(2):
        # The terms in 1/v and 1/v^2 leave one after the other.
        first, second, third = (result[k] for result in wide)
        once = 2.0 * second - first, 2.0 * third - second
        twice = (4.0 * once[1] - once[0]) / 3.0
        assert np.max(np.abs(third - flat[k])) > 1e-5
        assert_allclose(twice, flat[k], rtol=0, atol=1e-8)


def test_flat_prior_agrees_with_scikit_learn_and_a_wide_constant_kernel(data):
    X, Y, weights, X_new = data
    mean, covariance = after_the_fit.posterior(
        gaussian(X), gaussian(X_new, X), gaussian(X_new), Y, LAM, weights, True, scale=1.0
    )
    other = GaussianProcessRegressor(
        kernel=RBF(SIGMA) + ConstantKernel(1e6), alpha=LAM / weights, optimizer=None
    ).fit(X, Y)
    other_mean, other_covariance = other.predict(X_new, return_cov=True)
    assert_allclose(mean, other_mean, atol=1e-5)
    assert_allclose(covariance, other_covariance, atol=1e-5)


def test_posterior_of_one_row_by_hand():
    K, k, k_new, Y = np.array([[2.0]]), np.array([[1.0]]), np.array([[3.0]]), np.array([[5.0]])
    mean, covariance = after_the_fit.posterior(K, k, k_new, Y, 0.5, None, False, scale=1.0)
    assert_allclose(mean, [[5.0 / 2.5]], rtol=1e-15)
    assert_allclose(covariance, [[[3.0 - 1.0 / 2.5]]], rtol=1e-15)
    # One row says no more of g(z) + b than y plus g(z) - g(x), which has variance 3 - 2 + 2,
    # and the noise.
    mean, covariance = after_the_fit.posterior(K, k, k_new, Y, 0.5, None, True, scale=1.0)
    assert_allclose(mean, [[5.0]], rtol=1e-15)
    assert_allclose(covariance, [[[3.5]]], rtol=1e-15)


def test_posterior_of_the_mean_is_its_standard_error():
    # Without features, b is the weighted mean and its variance is the textbook one.
    Y = np.array([[1.0], [2.0], [6.0], [np.nan]])
    zero = np.zeros((4, 4))
    arguments = zero, zero[:1], zero[:1, :1], Y, LAM
    mean, variance = after_the_fit.posterior(*arguments, np.array([1.0, 1.0, 1.0, 0.0]))
    assert_allclose(mean, [[3.0]], rtol=1e-14)
    assert_allclose(variance, [[[(4.0 + 1.0 + 9.0) / 2 / 3]]], rtol=1e-14)
    mean, variance = after_the_fit.posterior(*arguments, np.array([1.0, 2.0, 1.0, 0.0]))
    squares = 1.75**2 + 2 * 0.75**2 + 3.25**2
    assert_allclose(mean, [[11.0 / 4.0]], rtol=1e-14)
    assert_allclose(variance, [[[squares / 2 / 4]]], rtol=1e-14)


def test_posterior_with_vanishing_penalty_is_least_squares(data):
    # With a linear kernel and noise of variance one, the textbook covariance.
    X, Y, _, X_new = data
    lam = 1e-7
    K = brute_force.kernel_matrix("linear", X, X)
    K_new = brute_force.kernel_matrix("linear", X_new, X)
    mean, covariance = after_the_fit.posterior(
        K, K_new, brute_force.kernel_matrix("linear", X_new, X_new), Y, lam, None, True, 1.0 / lam
    )
    assert_allclose(mean, LinearRegression().fit(X, Y).predict(X_new), rtol=1e-5)
    design, design_new = (np.column_stack([Z, np.ones(len(Z))]) for Z in (X, X_new))
    expected = design_new @ np.linalg.inv(design.T @ design) @ design_new.T
    assert_allclose(covariance[:, :, 0], expected, atol=1e-5)


@pytest.mark.parametrize("intercept", [False, True])
def test_log_marginal_likelihood_has_a_closed_form(data, intercept):
    X, Y, weights, _ = data
    K = gaussian(X)
    G = K + LAM * np.diag(1.0 / weights)
    log_determinant = np.linalg.slogdet(G)[1]
    n_free = N_ROWS
    if intercept:
        log_determinant += math.log(np.linalg.inv(G).sum()) - math.log(N_ROWS)
        n_free -= 1
    squares = np.sum(Y * brute_force.fit(K, Y, LAM, weights, intercept)[0], axis=0)
    given = -0.5 * (n_free * math.log(2 * math.pi * 2.5) + log_determinant + squares / 2.5)
    profiled = -0.5 * (n_free * (np.log(2 * math.pi * squares / n_free) + 1) + log_determinant)
    for scale, expected in ((2.5, given), (None, profiled)):
        likelihood = after_the_fit.log_marginal_likelihood(K, Y, LAM, weights, intercept, scale)
        assert likelihood.shape == (N_TARGETS,)
        assert_allclose(likelihood, expected, rtol=1e-11)


def test_log_marginal_likelihood_of_contrasts_is_the_same_in_another_basis(data):
    X, Y, weights, _ = data
    U = null_space(np.ones((1, N_ROWS)))
    G = gaussian(X) + LAM * np.diag(1.0 / weights)
    expected = [
        multivariate_normal.logpdf(U.T @ y, mean=np.zeros(N_ROWS - 1), cov=1.7 * U.T @ G @ U)
        for y in Y.T
    ]
    likelihood = after_the_fit.log_marginal_likelihood(gaussian(X), Y, LAM, weights, True, 1.7)
    assert_allclose(likelihood, expected, rtol=1e-11)


def test_log_marginal_likelihood_with_intercept_is_the_limit_of_wide_priors(data):
    # The density of all n targets is that of the contrasts times that of sum(y) / sqrt(n) given
    # them, whose variance tends to n v.
    X, Y, weights, _ = data
    variance = 1e7
    flat = after_the_fit.log_marginal_likelihood(gaussian(X), Y, LAM, weights, True, scale=1.0)
    wide = after_the_fit.log_marginal_likelihood(
        gaussian(X) + variance, Y, LAM, weights, intercept=False, scale=1.0
    )
    assert_allclose(wide + 0.5 * math.log(2 * math.pi * N_ROWS * variance), flat, atol=1e-5)


def test_log_marginal_likelihood_of_two_rows_by_hand():
    # G = [[3, 1], [1, 3]]: the sum has variance 8 and the difference variance 4.
    K, Y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [5.0]])
    contrast = -0.5 * (math.log(2 * math.pi * 2.0) + 8.0 / 2.0)
    likelihood = after_the_fit.log_marginal_likelihood(K, Y, 1.0, None, True, scale=1.0)
    assert_allclose(likelihood, [contrast], rtol=1e-14)
    total = -0.5 * (math.log(2 * math.pi * 4.0) + 18.0 / 4.0)
    likelihood = after_the_fit.log_marginal_likelihood(K, Y, 1.0, None, False, scale=1.0)
    assert_allclose(likelihood, [contrast + total], rtol=1e-14)


@pytest.mark.parametrize("intercept", [False, True])
def test_estimated_scale_is_the_most_likely_one(data, intercept):
    X, Y, weights, _ = data
    kept, zero, Y_holed = without_a_row(X, Y, weights)
    K = gaussian(X)
    best = after_the_fit.log_marginal_likelihood(K, Y_holed, LAM, zero, intercept)
    scales = after_the_fit.estimated_scale(K, Y_holed, LAM, zero, intercept)
    for k in range(N_TARGETS):
        for factor in (0.98, 1.02):
            other = after_the_fit.log_marginal_likelihood(
                K, Y_holed, LAM, zero, intercept, factor * scales[k]
            )
            assert other[k] < best[k]
    shorter = K[np.ix_(kept, kept)], Y[kept], LAM, weights[kept], intercept
    assert_allclose(after_the_fit.log_marginal_likelihood(*shorter), best, rtol=1e-12)
    assert_allclose(after_the_fit.estimated_scale(*shorter), scales, rtol=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_posterior_skips_rows_of_weight_zero(data, intercept):
    X, Y, weights, X_new = data
    kept, zero, Y_holed = without_a_row(X, Y, weights)
    # The first row goes too: the contrasts are taken from the first one that is left.
    kept, zero[0] = kept[1:], 0.0
    K, K_new, K_new_new = gaussian(X), gaussian(X_new, X), gaussian(X_new)
    longer = after_the_fit.posterior(K, K_new, K_new_new, Y_holed, LAM, zero, intercept)
    shorter = after_the_fit.posterior(
        K[np.ix_(kept, kept)], K_new[:, kept], K_new_new, Y[kept], LAM, weights[kept], intercept
    )
    for one, other in zip(longer, shorter, strict=True):
        assert_allclose(one, other, **TIGHT)


# --- Multiple precision ----------------------------------------------------------------------


@pytest.mark.parametrize("scale", [None, 2.5])
@pytest.mark.parametrize("intercept", [False, True])
def test_multiple_precision_agrees_with_float64_when_well_conditioned(data, intercept, scale):
    X, Y, weights, X_new = data
    _, zero, Y_holed = without_a_row(X, Y, weights)
    K, K_new = gaussian(X), gaussian(X_new, X)
    _, covariance = after_the_fit.posterior(
        K, K_new, gaussian(X_new), Y_holed, LAM, zero, intercept, scale
    )
    y = Y_holed[:, 0]
    variances = [
        fifty_digits_gaussian_process.posterior_variance(
            K, k_new, 1.0, y, LAM, zero, intercept, scale
        )
        for k_new in K_new
    ]
    assert_allclose(np.diagonal(covariance)[0], variances, rtol=1e-11)
    likelihood = after_the_fit.log_marginal_likelihood(K, Y_holed, LAM, zero, intercept, scale)
    expected = fifty_digits_gaussian_process.log_marginal_likelihood(
        K, y, LAM, zero, intercept, scale
    )
    assert_allclose(likelihood[0], expected, rtol=1e-11)


def eliminate_with_fractions(matrix):
    """Return the inverse and the determinant of a positive definite matrix, without rounding."""
    size = len(matrix)
    rows = [[*row, *(Fraction(int(i == j)) for j in range(size))] for i, row in enumerate(matrix)]
    determinant = Fraction(1)
    for k in range(size):
        determinant *= rows[k][k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(size):
            if i != k:
                factor = rows[i][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[size:] for row in rows], determinant


def contrasts_with_fractions(K, k, k_new, y, lam, weights):
    """Return the variance of g(z) + b and the density's exact parts, by contrasts y_j - y_1."""
    n = len(y)
    G = [[Fraction(K[i, j]) for j in range(n)] for i in range(n)]
    for i in range(n):
        G[i][i] += Fraction(lam) / Fraction(weights[i])
    k, y = [Fraction(v) for v in k], [Fraction(v) for v in y]
    rest = range(1, n)
    C_vv = [[G[i][j] - G[i][0] - G[0][j] + G[0][0] for j in rest] for i in rest]
    C_uv = [k[j] - k[0] - G[0][j] + G[0][0] for j in rest]
    inverse, determinant = eliminate_with_fractions(C_vv)

    def form(u, v):
        return sum(a * inverse[i][j] * b for i, a in enumerate(u) for j, b in enumerate(v))

    variance = Fraction(k_new) - 2 * k[0] + G[0][0] - form(C_uv, C_uv)
    v = [y[j] - y[0] for j in rest]
    # The contrasts y_j - y_1 are the orthonormal ones times a matrix of determinant sqrt(n).
    return variance, form(v, v), determinant / n


def test_multiple_precision_agrees_with_exact_fractions_on_hilbert():
    n, lam, k_new = 8, 1e-14, 1.0 / 19.0
    K, k = hilbert_design(n, n), hilbert_design(n, n + 1)[:, n]
    rng = np.random.default_rng(8)
    y, weights = rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)
    variance, square, determinant = contrasts_with_fractions(K, k, k_new, y, lam, weights)
    values = fifty_digits_gaussian_process.posterior_variance(
        K, k, k_new, y, lam, weights, intercept=True, scale=1.0
    )
    assert values == float(variance)
    s2 = square / (n - 1)
    values = fifty_digits_gaussian_process.posterior_variance(K, k, k_new, y, lam, weights)
    assert values == float(variance * s2)
    with mp.workdps(60):
        logarithm = mp.log(mp.mpf(determinant.numerator) / determinant.denominator)
        log_scale = mp.log(2 * mp.pi * mp.mpf(s2.numerator) / s2.denominator)
        expected = float(-((n - 1) * (log_scale + 1) + logarithm) / 2)
    assert fifty_digits_gaussian_process.log_marginal_likelihood(K, y, lam, weights) == expected


@pytest.mark.parametrize("intercept", [False, True])
def test_float64_holds_what_the_condition_allows_on_hilbert(intercept):
    n, lam = 10, 1e-9
    K, K_new = hilbert_design(n, n), hilbert_design(n, n + 1)[:, n:].T
    K_new_new = np.array([[1.0 / (2 * n + 1)]])
    Y = np.random.default_rng(9).normal(size=(n, 1))
    allowed = 10 * np.finfo(float).eps * np.linalg.norm(K, 2) / lam
    assert allowed < 1e-5
    _, covariance = after_the_fit.posterior(K, K_new, K_new_new, Y, lam, None, intercept, scale=1.0)
    expected = fifty_digits_gaussian_process.posterior_variance(
        K, K_new[0], K_new_new[0, 0], Y[:, 0], lam, None, intercept, scale=1.0
    )
    assert_allclose(covariance, expected, rtol=0, atol=allowed * K_new_new[0, 0])
    likelihood = after_the_fit.log_marginal_likelihood(K, Y, lam, None, intercept)
    expected = fifty_digits_gaussian_process.log_marginal_likelihood(
        K, Y[:, 0], lam, None, intercept
    )
    assert_allclose(likelihood, expected, rtol=0, atol=n * allowed)


# --- Bounds for classification ---------------------------------------------------------------


def labels(rng, n_rows, n_targets):
    return np.where(rng.normal(size=(n_rows, n_targets)) > 0, 1.0, -1.0)


@pytest.mark.parametrize("lam", [1e-3, 0.1, 10.0])
def test_every_leave_one_out_mistake_is_a_possible_one(lam):
    rng = np.random.default_rng(10)
    n_mistakes = n_possible = 0
    for _ in range(20):
        K, Y = gaussian(rng.normal(size=(N_ROWS, 2))), labels(rng, N_ROWS, 3)
        weights = rng.uniform(0.2, 3.0, size=N_ROWS)
        weights[5] = 0.0
        Y[5] = np.nan
        mistakes = after_the_fit.leave_one_out_mistakes(K, Y, lam, weights)
        possible = after_the_fit.possible_mistakes_by_margin(K, Y, lam, weights)
        assert np.all(possible[mistakes])
        assert_array_equal(
            possible, after_the_fit.possible_mistakes_by_contribution(K, Y, lam, weights)
        )
        assert not np.any(possible[5])
        n_mistakes += mistakes.sum()
        n_possible += possible.sum()
    assert 0 < n_mistakes < n_possible


def test_mistakes_agree_with_scikit_learn_refits(data):
    X = data[0]
    Y = labels(np.random.default_rng(11), N_ROWS, 1)
    mistakes = after_the_fit.leave_one_out_mistakes(gaussian(X), Y, LAM)
    for kept, left_out in LeaveOneOut().split(X):
        other = KernelRidge(alpha=LAM, kernel="rbf", gamma=1 / (2 * SIGMA**2))
        value = other.fit(X[kept], Y[kept]).predict(X[left_out])
        assert mistakes[left_out[0], 0] == (Y[left_out[0]] * value <= 0)


def test_bounds_of_two_rows_by_hand():
    # K = [[3, 1], [1, 3]], lam = 1: for labels 1, 1 the values are 4/5, above 3/4, and each row
    # has the other's 1/5 left. For labels 1, -1 they are 2/3, and it has -1/3 left.
    K = np.array([[3.0, 1.0], [1.0, 3.0]])
    Y = np.array([[1.0, 1.0], [1.0, -1.0]])
    expected = [[False, True], [False, True]]
    assert_array_equal(after_the_fit.possible_mistakes_by_margin(K, Y, 1.0), expected)
    assert_array_equal(after_the_fit.possible_mistakes_by_contribution(K, Y, 1.0), expected)
    assert_array_equal(after_the_fit.leave_one_out_mistakes(K, Y, 1.0), expected)
    # A row that is zero to the kernel can only be predicted by zero, which is a mistake.
    zero, one = np.zeros((1, 1)), np.ones((1, 1))
    assert after_the_fit.possible_mistakes_by_margin(zero, one, 1.0)
    assert after_the_fit.possible_mistakes_by_contribution(zero, one, 1.0)
    assert after_the_fit.leave_one_out_mistakes(zero, one, 1.0)


def test_labels_are_checked(data):
    X, Y, _, _ = data
    with pytest.raises(ValueError, match="labels"):
        after_the_fit.possible_mistakes_by_margin(gaussian(X), Y, LAM)


@pytest.mark.parametrize("intercept", [False, True])
def test_gacv_errors_have_gcv_as_their_mean_square(data, intercept):
    X, Y, weights, _ = data
    _, zero, Y_holed = without_a_row(X, Y, weights)
    K = gaussian(X)
    errors = after_the_fit.gacv_errors(K, Y_holed, LAM, zero, intercept)
    used = np.flatnonzero(zero > 0)
    assert np.all(np.isnan(errors[3]))
    mean_squares = np.average(errors[used] ** 2, axis=0, weights=zero[used])
    assert_allclose(mean_squares, brute_force.gcv(K, Y_holed, LAM, zero, intercept), **TIGHT)


def test_gacv_is_exact_when_all_leverages_are_equal():
    # A kernel that looks the same from every row: points evenly spaced on a circle.
    angles = 2 * np.pi * np.arange(9) / 9
    K = gaussian(np.column_stack([np.cos(angles), np.sin(angles)]))
    Y = np.random.default_rng(12).normal(size=(9, 2))
    errors = Y - brute_force.leave_one_out_values(K, Y, LAM, None, intercept=False)
    assert_allclose(after_the_fit.gacv_errors(K, Y, LAM), errors, **TIGHT)


# --- Stability -------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.1, 1.0, 30.0])
def test_no_removal_changes_more_than_stability_allows(lam):
    rng = np.random.default_rng(13)
    for _ in range(10):
        X, X_new = rng.normal(size=(N_ROWS, 2)), rng.normal(size=(40, 2))
        K, K_new, Y = gaussian(X), gaussian(X_new, X), labels(rng, N_ROWS, 2)
        kappa = 1.0
        sigma, largest_loss, beta = after_the_fit.stability_constants(kappa, lam, N_ROWS)
        C, b = brute_force.fit(K, Y, lam, None, intercept=False)
        values = brute_force.predict(K_new, C, b)[:, np.newaxis]
        without = after_the_fit.leave_one_out_predictions(K, K_new, Y, lam, None, False)

        changes = np.abs(without - values).max(axis=0)
        allowed = after_the_fit.largest_changes(K, Y, lam, kappa)
        assert np.all(changes <= allowed)
        assert np.all(allowed <= sigma * kappa**2 / (2 * lam))
        for label in (-1.0, 1.0):
            losses = (label - without) ** 2
            assert np.all(losses <= largest_loss)
            assert np.all(np.abs(losses - (label - values) ** 2) <= beta)


def test_largest_change_is_reached_by_a_row_alone():
    K, Y, lam = np.array([[4.0]]), np.array([[1.0]]), 0.5
    change = after_the_fit.influence(K, K, Y, lam, None, intercept=False)
    assert_allclose(
        np.abs(change[:, :, 0]), after_the_fit.largest_changes(K, Y, lam, kappa=2.0), rtol=1e-14
    )


def test_stability_constants_by_hand():
    # kappa = 1, lambda_2003 = 1/4 and n = 100, so lam = 25 and |f| is at most 2.
    sigma, largest_loss, beta = after_the_fit.stability_constants(1.0, 25.0, 100)
    assert (sigma, largest_loss) == (6.0, 9.0)
    assert_allclose(beta, 36.0 / (2 * 0.25 * 100), rtol=1e-15)


def test_stability_bounds_by_hand():
    # K = 0: nothing is learnt, every residual and every leave-one-out error is the label.
    K, Y = np.zeros((8, 8)), labels(np.random.default_rng(14), 8, 1)
    # kappa = 1 and lam = 8 make |f| at most 1: sigma = 4, M = 4 and beta = 1.
    deviation = (4 * 8 * 1.0 + 4.0) * math.sqrt(math.log(1 / 0.05) / 16)
    by_residuals, by_errors = after_the_fit.stability_bounds(K, Y, 8.0, kappa=1.0, delta=0.05)
    assert_allclose(by_residuals, [1.0 + 2.0 + deviation], rtol=1e-14)
    assert_allclose(by_errors, [1.0 + 1.0 + deviation], rtol=1e-14)
