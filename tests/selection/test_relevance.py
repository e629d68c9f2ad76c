"""Widths of features: the error by refits, the gradient by differences, and where descents end."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1

from squareone import RLSRegressor
from squareone.errors import SingularSystemError
from squareone.kernels import Gaussian
from squareone.selection import relevance
from squareone.selection.relevance import error_and_gradient, feature_widths
from squareone.solvers.exact.weighting import Weighting
from tests.reference import brute_force


def make_rows(m=30, d=4, targets=1, seed=0):
    """Rows off centre; the first feature acts by a sine, the second by a cosine, others not."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 2.0, (m, d)) + 3.0
    Y = np.sin(3.0 * X[:, :1]) * np.arange(1, targets + 1) + np.cos(X[:, 1 % d])[:, None]
    return X, Y + 0.1 * rng.standard_normal((m, targets)) + 4.0


def weights_of(m, weighted, seed=1):
    return np.random.default_rng(seed).uniform(0.2, 3.0, m) if weighted else None


def error_by_refits(X, Y, weights, intercept, widths, alpha):
    K = brute_force.kernel_matrix("gaussian", X / widths, X / widths, sigma=1.0)
    return brute_force.loo_mean_square_error(K, Y, alpha, weights, intercept).mean()


CASES = pytest.mark.parametrize(
    ("targets", "weighted", "intercept"),
    [(t, w, b) for t in (1, 3) for w in (False, True) for b in (False, True)],
)


# --- the error and its gradient -----------------------------------------------------------------


@CASES
def test_the_error_is_that_of_refits(targets, weighted, intercept):
    X, Y = make_rows(targets=targets)
    weights = weights_of(30, weighted)
    widths = np.array([0.7, 1.5, 2.0, 4.0])
    found = feature_widths(X, Y, weights, intercept, widths, 0.1)
    start = error_by_refits(X, Y, weights, intercept, widths, 0.1)
    end = error_by_refits(X, Y, weights, intercept, found.widths, found.alpha)
    assert_allclose(found.start_error, start, rtol=1e-9)
    assert_allclose(found.error, end, rtol=1e-6)
    assert found.error < 0.9 * found.start_error


@CASES
@pytest.mark.parametrize("alpha", [1e-4, 0.1, 30.0])
def test_the_gradient_is_that_of_differences(targets, weighted, intercept, alpha):
    X, Y = make_rows(targets=targets)
    weighting = Weighting.of(30, weights_of(30, weighted), intercept, np.dtype(np.float64))
    point = np.log([0.7, 1.5, 2.0, 4.0, alpha])

    def at(point):
        return error_and_gradient(X / np.exp(point[:-1]), Y, weighting, np.exp(point[-1]))

    _, by_widths, by_alpha = at(point)
    step = 1e-5
    differences = [(at(point + h)[0] - at(point - h)[0]) / (2 * step) for h in step * np.eye(5)]
    gradient = np.append(by_widths, by_alpha)
    assert_allclose(gradient, differences, rtol=1e-6, atol=1e-7 * np.abs(gradient).max())


def test_the_gradient_at_narrow_widths_keeps_its_digits():
    """Rows far apart in units of the width: the differences that count are small ones."""
    X, Y = make_rows(m=60, d=1)
    weighting = Weighting.of(60, None, True, np.dtype(np.float64))
    step = 1e-5
    widths = 0.01 * np.exp([step, -step])
    up, down = (error_and_gradient(X / width, Y, weighting, 0.1) for width in widths)
    _, by_widths, _ = error_and_gradient(X / 0.01, Y, weighting, 0.1)
    assert_allclose(by_widths, (up[0] - down[0]) / (2 * step), rtol=1e-6)


def test_at_the_end_of_an_unrestrained_descent_the_gradient_vanishes():
    X, Y = make_rows(m=60, d=2)
    found = feature_widths(X, Y, None, True, 1.0, 0.1, restraint=0.0, most_steps=200)
    weighting = Weighting.of(60, None, True, np.dtype(np.float64))
    error, by_widths, by_alpha = error_and_gradient(X / found.widths, Y, weighting, found.alpha)
    assert_allclose(error, found.error, rtol=1e-9)
    assert np.abs(np.append(by_widths, by_alpha)).max() < 0.02 * error


def test_the_descent_knows_the_slope_of_its_restraint():
    def bowl(point):
        return float(2.0 + point @ point), 2.0 * point

    descent = relevance._Descent(bowl, np.zeros(4), 0.7)
    point, step = np.array([0.3, -0.2, 0.9, 0.4]), 1e-6
    value, gradient = descent(point)
    apart = point[:3] - point[:3].mean()
    assert_allclose(value, np.log((2.0 + point @ point) / 2.0) + 0.7 * apart @ apart)
    differences = [
        (descent(point + h)[0] - descent(point - h)[0]) / (2 * step) for h in step * np.eye(4)
    ]
    assert_allclose(gradient, differences, rtol=1e-6)


# --- which features matter ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_features_of_no_use_get_wide(seed):
    """Friedman's function: curved in 0, 1, 2, linear in 3, 4, and blind to the other five."""
    X, y = make_friedman1(300, noise=1.0, random_state=seed)
    plain = feature_widths(X, y[:, None], None, True, 1.0, 0.1, restraint=0.0)
    assert np.median(plain.widths[5:]) > 30.0 * np.median(plain.widths[:3])
    held = feature_widths(X, y[:, None], None, True, 1.0, 0.1)
    assert np.median(held.widths[5:]) > 3.0 * np.median(held.widths[:3])
    assert plain.error < held.error < 0.5 * held.start_error
    assert np.ptp(np.log(held.widths)) < np.ptp(np.log(plain.widths))


def test_rows_that_took_no_part_are_predicted_better():
    X, y = make_friedman1(1000, noise=1.0, random_state=0)
    train, test = slice(0, 300), slice(300, None)
    found = feature_widths(X[train], y[train, None], None, True, 1.0, 0.01)

    def test_error(widths, alpha):
        rows = X / widths
        K = np.exp(-0.5 * ((rows[:, None] - rows[None, train]) ** 2).sum(-1))
        C, b = brute_force.fit(K[train], y[train, None], alpha)
        return np.mean((y[test, None] - brute_force.predict(K[test], C, b)) ** 2)

    assert test_error(found.widths, found.alpha) < 0.7 * test_error(np.ones(10), 0.01)


def test_restraint_without_end_leaves_one_factor_for_all_widths():
    X, Y = make_rows(m=60)
    found = feature_widths(X, Y, None, True, [1.0, 2.0, 3.0, 4.0], 0.1, restraint=1e9)
    ratios = found.widths / [1.0, 2.0, 3.0, 4.0]
    assert_allclose(ratios, ratios[0], rtol=1e-3)
    assert found.error < found.start_error


# --- the ends of the range ----------------------------------------------------------------------


def test_a_constant_feature_keeps_its_width_and_changes_nothing():
    X, Y = make_rows()
    with_constant = np.column_stack([X[:, :2], np.full(30, 1e7 / 3.0), X[:, 2:]])
    start = np.array([1.0, 1.0, 0.125, 1.0, 1.0])
    found = feature_widths(with_constant, Y, None, True, start, 0.1)
    without = feature_widths(X, Y, None, True, 1.0, 0.1)
    assert found.widths[2] == 0.125
    assert_allclose(np.delete(found.widths, 2), without.widths, rtol=1e-4)
    assert_allclose(found.error, without.error, rtol=1e-6)


def test_where_all_features_are_constant_only_alpha_is_left():
    Y = np.random.default_rng(0).standard_normal((20, 1))
    found = feature_widths(np.ones((20, 3)), Y, None, True, 2.0, 0.1)
    assert_array_equal(found.widths, [2.0, 2.0, 2.0])
    mean_of_others = (Y.sum() - Y) / 19
    assert_allclose(found.error, np.mean((Y - mean_of_others) ** 2), rtol=1e-9)


def test_one_feature_is_a_search_for_the_common_width():
    X, Y = make_rows(m=80, d=1)
    found = feature_widths(X, Y, None, True, 3.0, 1.0)
    assert found.widths.shape == (1,)
    weighting = Weighting.of(80, None, True, np.dtype(np.float64))
    grid = [
        error_and_gradient(X / sigma, Y, weighting, alpha)[0]
        for sigma in np.geomspace(0.1, 10.0, 15)
        for alpha in np.geomspace(1e-6, 10.0, 15)
    ]
    assert found.error < 1.01 * min(grid)


@pytest.mark.parametrize("sigma", [1e-3, 0.1, 10.0, 1e3])
@pytest.mark.parametrize("alpha", [0.0, 1e-13, 1.0, 1e6])
def test_never_worse_than_the_start(sigma, alpha):
    X, Y = make_rows()
    for steps in (0, 1, 30):
        found = feature_widths(X, Y, None, True, sigma, alpha, most_steps=steps)
        assert found.error <= found.start_error < np.inf
        assert found.steps <= steps
        assert found.alpha > 0.0
        assert (np.abs(np.log(found.widths / sigma)) <= np.log(1e3) * (1 + 1e-12)).all()


def test_features_in_other_units():
    X, Y = make_rows(m=60)
    units = np.array([1e-6, 1.0, 1e4, 3.0])
    plain = feature_widths(X, Y, None, True, 1.0, 0.1)
    other = feature_widths(X * units, Y, None, True, units, 0.1)
    assert_allclose(other.widths / units, plain.widths, rtol=1e-3)
    assert_allclose(other.error, plain.error, rtol=1e-6)


def test_targets_and_weights_in_other_units():
    X, Y = make_rows(m=60)
    weights = weights_of(60, True)
    plain = feature_widths(X, Y, weights, True, 1.0, 0.1)
    other = feature_widths(X, Y * 1e8 + 1e10, weights * 1e-30, True, 1.0, 1e-31)
    assert_allclose(other.widths, plain.widths, rtol=1e-3)
    assert_allclose(other.alpha, plain.alpha * 1e-30, rtol=1e-2)
    assert_allclose(other.error, plain.error * 1e16, rtol=1e-5)


def test_the_same_input_gives_the_same_result():
    X, Y = make_rows()
    first, second = (feature_widths(X, Y, None, True, 1.0, 0.1) for _ in range(2))
    assert_array_equal(first.widths, second.widths)
    assert first.alpha == second.alpha


def test_the_input_is_left_alone_and_the_result_is_frozen():
    X, Y = make_rows()
    sigma, weights = np.ones(4), np.ones(30)
    copies = [A.copy() for A in (X, Y, sigma, weights)]
    found = feature_widths(X, Y, weights, True, sigma, 0.1)
    for given, copy in zip((X, Y, sigma, weights), copies, strict=True):
        assert_array_equal(given, copy)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.alpha = 1.0


# --- several valleys ---------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_fit_finds_the_valley_that_another_start_finds(seed):
    """The best common width is that of a polynomial here, a bad place to begin at."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (400, 8))
    y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 / 2 + X[:, 2] / 5 + 0.2 * rng.standard_normal(400)
    model = RLSRegressor(Gaussian(ard=True)).fit(X, y)
    there = feature_widths(X, y[:, None], None, True, 2.0, 1e-2)
    assert -model.best_score_ < 1.05 * there.error


def test_units_of_features_do_not_count():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * rng.standard_normal(200)
    units = np.array([1e4, 1.0, 1e-3, 30.0])
    plain, scaled = (RLSRegressor(Gaussian(ard=True)).fit(rows, y) for rows in (X, X * units))
    assert -scaled.best_score_ < -1.1 * plain.best_score_


# --- bad conditioning ---------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
def test_rows_given_twice(intercept):
    """The copy predicts a row without noise: the descent goes to small λ and has to survive it."""
    X, Y = make_rows()
    found = feature_widths(np.tile(X, (2, 1)), np.tile(Y, (2, 1)), None, intercept, 50.0, 0.0)
    assert 0.0 <= found.error <= found.start_error < np.inf
    assert np.isfinite(found.widths).all()


def test_rows_given_twice_with_other_targets():
    X, Y = make_rows()
    doubled, noisy = np.tile(X, (2, 1)), np.vstack([Y, Y[::-1]])
    found = feature_widths(doubled, noisy, None, True, 5.0, 1e-3)
    by_refits = error_by_refits(doubled, noisy, None, True, found.widths, found.alpha)
    assert_allclose(found.error, by_refits, rtol=1e-5)


def test_targets_that_are_constant_leave_nothing_to_do():
    X, _ = make_rows()
    found = feature_widths(X, np.full((30, 1), 3.0), None, True, 1.0, 0.1)
    assert found.error == found.start_error == 0.0
    assert found.steps == 0
    assert_array_equal(found.widths, np.ones(4))


def test_targets_without_noise_come_to_rest():
    X, _ = make_rows(m=40, d=1)
    found = feature_widths(X, np.sin(X), None, True, 1.0, 0.1, most_steps=200)
    assert found.error < 1e-6 * found.start_error
    assert found.steps < 200


def test_a_single_row_has_no_error_with_an_intercept():
    found = feature_widths(np.ones((1, 2)), np.ones((1, 1)), None, True, 1.0, 0.1)
    assert found.error == np.inf
    assert_array_equal(found.widths, [1.0, 1.0])


@pytest.mark.parametrize("outcome", ["raise", "nan"])
def test_where_the_factorisation_fails_the_descent_turns_back(monkeypatch, outcome):
    X, Y = make_rows(m=60)
    failures = []

    def fragile(Z, Y, weighting, alpha):
        if alpha < 0.08:
            failures.append(alpha)
            if outcome == "raise":
                raise SingularSystemError
            return np.nan, np.zeros(Z.shape[1]), 0.0
        return error_and_gradient(Z, Y, weighting, alpha)

    assert feature_widths(X, Y, None, True, 1.0, 0.1).alpha < 0.08  # where it would go
    monkeypatch.setattr(relevance, "error_and_gradient", fragile)
    found = feature_widths(X, Y, None, True, 1.0, 0.1)
    assert failures
    assert found.alpha >= 0.08
    assert found.error < found.start_error
