"""The Gaussian process of the reference, checked against other software and by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LinearRegression

from tests.reference import (
    brute_force,
    fifty_digits_gaussian_process,
    gaussian_process,
)
from tests.reference.fifty_digits import hilbert_design
from tests.reference.shared import (
    LAM,
    N_NEW,
    N_ROWS,
    N_TARGETS,
    SIGMA,
    TIGHT,
    gaussian,
    without_a_row,
)

# --- The Gaussian process --------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 2.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian_process_agrees_with_scikit_learn(data, weighted, scale):
    X, Y, weights, X_new = data
    w = weights if weighted else np.ones(N_ROWS)
    other = GaussianProcessRegressor(
        kernel=ConstantKernel(scale) * RBF(SIGMA), alpha=scale * LAM / w, optimizer=None
    ).fit(X, Y)
    mean, covariance = gaussian_process.posterior(
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
    likelihood = gaussian_process.log_marginal_likelihood(
        gaussian(X), Y, LAM, w, intercept=False, scale=scale
    )
    assert_allclose(likelihood.sum(), other.log_marginal_likelihood_value_, rtol=1e-11)


@pytest.mark.parametrize("scale", [None, 2.5])
@pytest.mark.parametrize("intercept", [False, True])
def test_posterior_has_a_closed_form_and_its_mean_is_the_fit(data, intercept, scale):
    X, Y, weights, X_new = data
    K, K_new, K_new_new = gaussian(X), gaussian(X_new, X), gaussian(X_new)
    mean, covariance = gaussian_process.posterior(
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
    flat = gaussian_process.posterior(*matrices, Y, LAM, weights, intercept=True, scale=1.0)
    wide = [
        gaussian_process.posterior_with_prior_on_intercept(
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
    mean, covariance = gaussian_process.posterior(
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
    mean, covariance = gaussian_process.posterior(K, k, k_new, Y, 0.5, None, False, scale=1.0)
    assert_allclose(mean, [[5.0 / 2.5]], rtol=1e-15)
    assert_allclose(covariance, [[[3.0 - 1.0 / 2.5]]], rtol=1e-15)
    # One row says no more of g(z) + b than y plus g(z) - g(x), which has variance 3 - 2 + 2,
    # and the noise.
    mean, covariance = gaussian_process.posterior(K, k, k_new, Y, 0.5, None, True, scale=1.0)
    assert_allclose(mean, [[5.0]], rtol=1e-15)
    assert_allclose(covariance, [[[3.5]]], rtol=1e-15)


def test_posterior_of_the_mean_is_its_standard_error():
    # Without features, b is the weighted mean and its variance is the textbook one.
    Y = np.array([[1.0], [2.0], [6.0], [np.nan]])
    zero = np.zeros((4, 4))
    arguments = zero, zero[:1], zero[:1, :1], Y, LAM
    mean, variance = gaussian_process.posterior(*arguments, np.array([1.0, 1.0, 1.0, 0.0]))
    assert_allclose(mean, [[3.0]], rtol=1e-14)
    assert_allclose(variance, [[[(4.0 + 1.0 + 9.0) / 2 / 3]]], rtol=1e-14)
    mean, variance = gaussian_process.posterior(*arguments, np.array([1.0, 2.0, 1.0, 0.0]))
    squares = 1.75**2 + 2 * 0.75**2 + 3.25**2
    assert_allclose(mean, [[11.0 / 4.0]], rtol=1e-14)
    assert_allclose(variance, [[[squares / 2 / 4]]], rtol=1e-14)


def test_posterior_with_vanishing_penalty_is_least_squares(data):
    # With a linear kernel and noise of variance one, the textbook covariance.
    X, Y, _, X_new = data
    lam = 1e-7
    K = brute_force.kernel_matrix("linear", X, X)
    K_new = brute_force.kernel_matrix("linear", X_new, X)
    mean, covariance = gaussian_process.posterior(
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
        likelihood = gaussian_process.log_marginal_likelihood(K, Y, LAM, weights, intercept, scale)
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
    likelihood = gaussian_process.log_marginal_likelihood(gaussian(X), Y, LAM, weights, True, 1.7)
    assert_allclose(likelihood, expected, rtol=1e-11)


def test_log_marginal_likelihood_with_intercept_is_the_limit_of_wide_priors(data):
    # The density of all n targets is that of the contrasts times that of sum(y) / sqrt(n) given
    # them, whose variance tends to n v.
    X, Y, weights, _ = data
    variance = 1e7
    flat = gaussian_process.log_marginal_likelihood(gaussian(X), Y, LAM, weights, True, scale=1.0)
    wide = gaussian_process.log_marginal_likelihood(
        gaussian(X) + variance, Y, LAM, weights, intercept=False, scale=1.0
    )
    assert_allclose(wide + 0.5 * math.log(2 * math.pi * N_ROWS * variance), flat, atol=1e-5)


def test_log_marginal_likelihood_of_two_rows_by_hand():
    # G = [[3, 1], [1, 3]]: the sum has variance 8 and the difference variance 4.
    K, Y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [5.0]])
    contrast = -0.5 * (math.log(2 * math.pi * 2.0) + 8.0 / 2.0)
    likelihood = gaussian_process.log_marginal_likelihood(K, Y, 1.0, None, True, scale=1.0)
    assert_allclose(likelihood, [contrast], rtol=1e-14)
    total = -0.5 * (math.log(2 * math.pi * 4.0) + 18.0 / 4.0)
    likelihood = gaussian_process.log_marginal_likelihood(K, Y, 1.0, None, False, scale=1.0)
    assert_allclose(likelihood, [contrast + total], rtol=1e-14)


@pytest.mark.parametrize("intercept", [False, True])
def test_estimated_scale_is_the_most_likely_one(data, intercept):
    X, Y, weights, _ = data
    kept, zero, Y_holed = without_a_row(X, Y, weights)
    K = gaussian(X)
    best = gaussian_process.log_marginal_likelihood(K, Y_holed, LAM, zero, intercept)
    scales = gaussian_process.estimated_scale(K, Y_holed, LAM, zero, intercept)
    for k in range(N_TARGETS):
        for factor in (0.98, 1.02):
            other = gaussian_process.log_marginal_likelihood(
                K, Y_holed, LAM, zero, intercept, factor * scales[k]
            )
            assert other[k] < best[k]
    shorter = K[np.ix_(kept, kept)], Y[kept], LAM, weights[kept], intercept
    assert_allclose(gaussian_process.log_marginal_likelihood(*shorter), best, rtol=1e-12)
    assert_allclose(gaussian_process.estimated_scale(*shorter), scales, rtol=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_posterior_skips_rows_of_weight_zero(data, intercept):
    X, Y, weights, X_new = data
    kept, zero, Y_holed = without_a_row(X, Y, weights)
    # The first row goes too: the contrasts are taken from the first one that is left.
    kept, zero[0] = kept[1:], 0.0
    K, K_new, K_new_new = gaussian(X), gaussian(X_new, X), gaussian(X_new)
    longer = gaussian_process.posterior(K, K_new, K_new_new, Y_holed, LAM, zero, intercept)
    shorter = gaussian_process.posterior(
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
    _, covariance = gaussian_process.posterior(
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
    likelihood = gaussian_process.log_marginal_likelihood(K, Y_holed, LAM, zero, intercept, scale)
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
    _, covariance = gaussian_process.posterior(
        K, K_new, K_new_new, Y, lam, None, intercept, scale=1.0
    )
    expected = fifty_digits_gaussian_process.posterior_variance(
        K, K_new[0], K_new_new[0, 0], Y[:, 0], lam, None, intercept, scale=1.0
    )
    assert_allclose(covariance, expected, rtol=0, atol=allowed * K_new_new[0, 0])
    likelihood = gaussian_process.log_marginal_likelihood(K, Y, lam, None, intercept)
    expected = fifty_digits_gaussian_process.log_marginal_likelihood(
        K, Y[:, 0], lam, None, intercept
    )
    assert_allclose(likelihood, expected, rtol=0, atol=n * allowed)
