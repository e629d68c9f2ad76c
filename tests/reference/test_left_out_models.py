"""Left-out models and intervals of the reference, checked against other software and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut

from tests.reference import (
    brute_force,
    left_out_models,
)
from tests.reference.shared import (
    LAM,
    N_NEW,
    N_ROWS,
    N_TARGETS,
    SIGMA,
    TIGHT,
    closed_form,
    gaussian,
    without_a_row,
)

# --- Leave-one-out models --------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out_predictions_agree_with_scikit_learn_ridge(data, weighted, intercept):
    X, Y, weights, X_new = data
    w = weights if weighted else None
    K = brute_force.kernel_matrix("linear", X, X)
    K_new = brute_force.kernel_matrix("linear", X_new, X)
    primal = left_out_models.primal_leave_one_out_predictions(X, X_new, Y, LAM, w, intercept)
    dual = left_out_models.leave_one_out_predictions(K, K_new, Y, LAM, w, intercept)
    assert primal.shape == dual.shape == (N_NEW, N_ROWS, N_TARGETS)
    for kept, left_out in LeaveOneOut().split(X):
        other = Ridge(alpha=LAM, fit_intercept=intercept, solver="cholesky")
        other.fit(X[kept], Y[kept], sample_weight=None if w is None else w[kept])
        assert_allclose(primal[:, left_out[0]], other.predict(X_new), **TIGHT)
        assert_allclose(dual[:, left_out[0]], other.predict(X_new), **TIGHT)


def test_leave_one_out_predictions_agree_with_scikit_learn_kernel_ridge(data):
    X, Y, weights, X_new = data
    values = left_out_models.leave_one_out_predictions(
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
    values = left_out_models.leave_one_out_predictions(K, K, Y, LAM, weights, intercept)
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
    values = left_out_models.leave_one_out_predictions(K, K_new, Y, LAM, weights, intercept)
    assert_allclose(values, expected, **TIGHT)
    change = left_out_models.influence(K, K_new, Y, LAM, weights, intercept)
    assert_allclose(change, -a[:, :, np.newaxis] * errors, **TIGHT)


def test_leave_one_out_predictions_of_two_rows_by_hand():
    # With K = I and lam = 1 a row of target y predicts k(z, x) y / 2 when it is alone.
    K, Y = np.eye(2), np.array([[4.0], [6.0]])
    K_new = np.array([[1.0, 0.5]])
    values = left_out_models.leave_one_out_predictions(K, K_new, Y, 1.0, None, intercept=False)
    assert_allclose(values[0, :, 0], [0.5 * 3.0, 1.0 * 2.0], rtol=1e-15)
    change = left_out_models.influence(K, K_new, Y, 1.0, None, intercept=False)
    assert_allclose(change[0, :, 0], [-2.0, -1.5], rtol=1e-15)
    # With an intercept a row that is alone predicts its own target.
    values = left_out_models.leave_one_out_predictions(K, K_new, Y, 1.0, None, intercept=True)
    assert_allclose(values[0, :, 0], [6.0, 4.0], rtol=1e-15)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_row_of_weight_zero_has_no_influence(data, intercept):
    X, Y, weights, X_new = data
    kept, zero, Y_holed = without_a_row(X, Y, weights)
    K, K_new = gaussian(X), gaussian(X_new, X)
    change = left_out_models.influence(K, K_new, Y_holed, LAM, zero, intercept)
    shorter = left_out_models.influence(
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
        left_out_models.primal_influence(X, X_new, Y, LAM, weights, intercept),
        left_out_models.influence(K, K_new, Y, LAM, weights, intercept),
        **TIGHT,
    )
    leverages = left_out_models.leverages(K, LAM, weights, intercept)
    assert leverages[7] == 0.0
    assert_allclose(
        leverages, left_out_models.primal_leverages(X, LAM, weights, intercept), **TIGHT
    )
    hat_matrix = brute_force.hat_matrix(K, LAM, weights, intercept)
    assert_allclose(leverages, np.diag(hat_matrix), **TIGHT)


@pytest.mark.parametrize("intercept", [False, True])
def test_leverages_are_the_slopes_of_scikit_learn_fitted_values(data, intercept):
    X, Y, weights, _ = data
    leverages = left_out_models.primal_leverages(X, LAM, weights, intercept)
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
            upper = left_out_models.order_of_the_upper_end(percent / 100, n_rows)
            lower = left_out_models.order_of_the_lower_end(percent / 100, n_rows)
            assert upper == -(-percent * (n_rows + 1) // 100)
            assert lower == (100 - percent) * (n_rows + 1) // 100
            assert lower + upper == n_rows + 1


def test_orders_where_float64_arithmetic_would_miss():
    assert math.floor((1 - 0.9) * 10) == 0
    assert left_out_models.order_of_the_lower_end(0.9, 9) == 1
    assert math.ceil(0.55 * 100) == 56
    assert left_out_models.order_of_the_upper_end(0.55, 99) == 55
    assert left_out_models.order_of_the_upper_end(np.float64(0.9), 9) == 9


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.1, 1.1])
def test_coverage_must_be_a_probability(coverage):
    with pytest.raises(ValueError, match="between 0 and 1"):
        left_out_models.order_of_the_upper_end(coverage, 9)
    with pytest.raises(ValueError, match="between 0 and 1"):
        left_out_models.order_of_the_lower_end(coverage, 9)


def test_smallest_values_by_hand():
    values = np.array([[3.0, 1.0, 2.0], [-1.0, 5.0, 0.0]])
    assert_array_equal(left_out_models.smallest(values, 0), [-np.inf, -np.inf])
    assert_array_equal(left_out_models.smallest(values, 1), [1.0, -1.0])
    assert_array_equal(left_out_models.smallest(values, 3), [3.0, 5.0])
    assert_array_equal(left_out_models.smallest(values, 4), [np.inf, np.inf])


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
    results = left_out_models.intervals(K, K_new, Y, LAM, coverage, weights, intercept=True)
    primal = left_out_models.primal_intervals(
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
    results = left_out_models.primal_intervals(X, X_new, Y, LAM, coverage, weights, intercept=True)
    for method, ends in expected.items():
        assert_allclose(results[method][0][:, 0], ends[0], **TIGHT)
        assert_allclose(results[method][1][:, 0], ends[1], **TIGHT)


@pytest.mark.parametrize("intercept", [False, True])
def test_kernel_and_primal_intervals_agree_and_skip_rows_of_weight_zero(data, intercept):
    X, Y, weights, X_new = data
    kept, zero, Y_holed = without_a_row(X, Y, weights)
    K = brute_force.kernel_matrix("linear", X, X)
    K_new = brute_force.kernel_matrix("linear", X_new, X)
    by_kernel = left_out_models.intervals(K, K_new, Y_holed, LAM, 0.75, zero, intercept)
    by_features = left_out_models.primal_intervals(
        X[kept], X_new, Y[kept], LAM, 0.75, weights[kept], intercept
    )
    for method, ends in by_kernel.items():
        assert ends[0].shape == (N_NEW, N_TARGETS)
        assert_allclose(ends, by_features[method], **TIGHT)
        assert np.all(np.isfinite(ends))
