"""Bounds against their definitions and against the errors they bound."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone.selection.error_bounds import may_err_by_margin, stability_bound
from tests.laws.cases import reference_kernel
from tests.reference import bounds, brute_force


def _labels(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    Y = np.sign(X @ rng.standard_normal((3, 2)) + 0.8 * rng.standard_normal((n, 2)))
    return X, Y, rng.uniform(0.2, 3.0, n)


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial", "linear"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1e-3, 0.3, 5.0])
def test_it_is_the_reference_and_holds(kernel, weighted, alpha):
    for seed in range(5):
        X, Y, weights = _labels(seed=seed)
        w = weights if weighted else None
        K = reference_kernel(kernel, X, X)
        C, _ = brute_force.fit(K, Y, alpha, w, False)
        F, diagonal = K @ C, np.diag(K)
        penalties = alpha / (weights if weighted else np.ones(len(X)))[:, None] * np.ones_like(Y)
        found = may_err_by_margin(Y, Y - F, diagonal, penalties)
        expected = bounds.possible_mistakes_by_contribution(K, Y, alpha, w)
        assert_array_equal(found, expected)
        mistakes = bounds.leave_one_out_mistakes(K, Y, alpha, w)
        assert not (mistakes & ~found).any()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1e-3, 0.3, 5.0])
@pytest.mark.parametrize("threshold", [-2.5, -1.0, -0.7, 0.4, 1.0, 1.3])
def test_with_a_threshold_it_holds_for_refits(threshold, weighted, alpha):
    """Also where a threshold is beyond the labels themselves."""
    for seed in range(10):
        X, Y, weights = _labels(seed=seed)
        w = weights if weighted else None
        K = reference_kernel("gaussian", X, X)
        C, _ = brute_force.fit(K, Y, alpha, w, False)
        penalties = alpha / (weights if weighted else np.ones(len(X)))[:, None] * np.ones_like(Y)
        thresholds = np.array([threshold, 0.5 * threshold])
        possible = may_err_by_margin(Y, Y - K @ C, np.diag(K), penalties, thresholds)
        values = brute_force.leave_one_out_values(K, Y, alpha, w, False)
        mistakes = (values > thresholds) != (Y > 0)
        assert not (mistakes & ~possible).any()


@pytest.mark.parametrize("alpha", [0.3, 50.0])
def test_stability_is_the_reference(alpha):
    X, Y, _ = _labels()
    K = reference_kernel("gaussian", X, X)
    values = brute_force.leave_one_out_values(K, Y, alpha, None, False)
    found = stability_bound(Y - values, np.full(2, alpha), 1.0, 0.05)
    _, expected = bounds.stability_bounds(K, Y, alpha, 1.0, 0.05)
    assert_allclose(found, expected, rtol=1e-10)


def test_stability_tells_something_for_many_rows_and_a_large_penalty():
    errors = np.full((1_000_000, 1), 0.1)
    by_hand = 0.01 + 8e-6 + 36.0 * np.sqrt(np.log(20.0) / 2e6)
    assert_allclose(stability_bound(errors, np.array([1e6]), 1.0, 0.05), by_hand)
    assert by_hand < 0.1
