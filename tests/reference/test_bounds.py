"""Bounds of the reference, checked against other software and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import LeaveOneOut

from tests.reference import (
    bounds,
    brute_force,
    left_out_models,
)
from tests.reference.shared import (
    LAM,
    N_ROWS,
    SIGMA,
    TIGHT,
    gaussian,
    without_a_row,
)

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
        mistakes = bounds.leave_one_out_mistakes(K, Y, lam, weights)
        possible = bounds.possible_mistakes_by_margin(K, Y, lam, weights)
        assert np.all(possible[mistakes])
        assert_array_equal(possible, bounds.possible_mistakes_by_contribution(K, Y, lam, weights))
        assert not np.any(possible[5])
        n_mistakes += mistakes.sum()
        n_possible += possible.sum()
    assert 0 < n_mistakes < n_possible


def test_mistakes_agree_with_scikit_learn_refits(data):
    X = data[0]
    Y = labels(np.random.default_rng(11), N_ROWS, 1)
    mistakes = bounds.leave_one_out_mistakes(gaussian(X), Y, LAM)
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
    assert_array_equal(bounds.possible_mistakes_by_margin(K, Y, 1.0), expected)
    assert_array_equal(bounds.possible_mistakes_by_contribution(K, Y, 1.0), expected)
    assert_array_equal(bounds.leave_one_out_mistakes(K, Y, 1.0), expected)
    # A row that is zero to the kernel can only be predicted by zero, which is a mistake.
    zero, one = np.zeros((1, 1)), np.ones((1, 1))
    assert bounds.possible_mistakes_by_margin(zero, one, 1.0)
    assert bounds.possible_mistakes_by_contribution(zero, one, 1.0)
    assert bounds.leave_one_out_mistakes(zero, one, 1.0)


def test_labels_are_checked(data):
    X, Y, _, _ = data
    with pytest.raises(ValueError, match="labels"):
        bounds.possible_mistakes_by_margin(gaussian(X), Y, LAM)


@pytest.mark.parametrize("intercept", [False, True])
def test_gacv_errors_have_gcv_as_their_mean_square(data, intercept):
    X, Y, weights, _ = data
    _, zero, Y_holed = without_a_row(X, Y, weights)
    K = gaussian(X)
    errors = bounds.gacv_errors(K, Y_holed, LAM, zero, intercept)
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
    assert_allclose(bounds.gacv_errors(K, Y, LAM), errors, **TIGHT)


# --- Stability -------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.1, 1.0, 30.0])
def test_no_removal_changes_more_than_stability_allows(lam):
    rng = np.random.default_rng(13)
    for _ in range(10):
        X, X_new = rng.normal(size=(N_ROWS, 2)), rng.normal(size=(40, 2))
        K, K_new, Y = gaussian(X), gaussian(X_new, X), labels(rng, N_ROWS, 2)
        kappa = 1.0
        sigma, largest_loss, beta = bounds.stability_constants(kappa, lam, N_ROWS)
        C, b = brute_force.fit(K, Y, lam, None, intercept=False)
        values = brute_force.predict(K_new, C, b)[:, np.newaxis]
        without = left_out_models.leave_one_out_predictions(K, K_new, Y, lam, None, False)

        changes = np.abs(without - values).max(axis=0)
        allowed = bounds.largest_changes(K, Y, lam, kappa)
        assert np.all(changes <= allowed)
        assert np.all(allowed <= sigma * kappa**2 / (2 * lam))
        for label in (-1.0, 1.0):
            losses = (label - without) ** 2
            assert np.all(losses <= largest_loss)
            assert np.all(np.abs(losses - (label - values) ** 2) <= beta)


def test_largest_change_is_reached_by_a_row_alone():
    K, Y, lam = np.array([[4.0]]), np.array([[1.0]]), 0.5
    change = left_out_models.influence(K, K, Y, lam, None, intercept=False)
    assert_allclose(
        np.abs(change[:, :, 0]), bounds.largest_changes(K, Y, lam, kappa=2.0), rtol=1e-14
    )


def test_stability_constants_by_hand():
    # kappa = 1, lambda_2003 = 1/4 and n = 100, so lam = 25 and |f| is at most 2.
    sigma, largest_loss, beta = bounds.stability_constants(1.0, 25.0, 100)
    assert (sigma, largest_loss) == (6.0, 9.0)
    assert_allclose(beta, 36.0 / (2 * 0.25 * 100), rtol=1e-15)


def test_stability_bounds_by_hand():
    # K = 0: nothing is learnt, every residual and every leave-one-out error is the label.
    K, Y = np.zeros((8, 8)), labels(np.random.default_rng(14), 8, 1)
    # kappa = 1 and lam = 8 make |f| at most 1: sigma = 4, M = 4 and beta = 1.
    deviation = (4 * 8 * 1.0 + 4.0) * math.sqrt(math.log(1 / 0.05) / 16)
    by_residuals, by_errors = bounds.stability_bounds(K, Y, 8.0, kappa=1.0, delta=0.05)
    assert_allclose(by_residuals, [1.0 + 2.0 + deviation], rtol=1e-14)
    assert_allclose(by_errors, [1.0 + 1.0 + deviation], rtol=1e-14)
