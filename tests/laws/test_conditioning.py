"""Ill-conditioned designs against fifty digits, and λ from 1e-12 to 1e12."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from squareone import RLSRegressor
from squareone.errors import IllConditionedWarning
from squareone.kernels import Gaussian
from squareone.solvers.registry import SOLVERS
from tests.laws.cases import make_data
from tests.reference import brute_force, fifty_digits

ALPHAS = [1e-12, 1e-8, 1e-4, 1.0]


def hilbert(n=30, d=8):
    X = fifty_digits.hilbert_design(n, d)
    y = np.sin(np.arange(n)) + X @ np.ones(d)
    return X, y


@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("shape", [(30, 8), (12, 20), (10, 10)], ids=str)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_hilbert_designs(shape, alpha, intercept):
    """svd loses digits with the condition, the others with its square: each within its bound."""
    X, y = hilbert(*shape)
    exact = fifty_digits.ridge_leave_one_out(X, y, alpha, intercept=intercept)
    norm = np.linalg.norm(X, 2)
    eps = np.finfo(float).eps
    bounds = {
        "svd": min(1e-7, 100 * eps * (1 + norm / np.sqrt(alpha))),
        "gram": 100 * eps * (1 + norm**2 / alpha),
        "spectral": 100 * eps * (1 + norm**2 / alpha),
    }
    for solver, bound in bounds.items():
        with warnings.catch_warnings():
            if solver != "svd":  # at 1e-12 the others say that they are lost
                warnings.simplefilter("ignore", IllConditionedWarning)
            model = RLSRegressor("linear", alpha, solver=solver, fit_intercept=intercept).fit(X, y)
            error = np.abs((y - model.loo_predictions_) - exact).max() / np.abs(exact).max()
        assert error <= bound, solver
    model = RLSRegressor("linear", alpha, fit_intercept=intercept).fit(X, y)
    assert model.plan_.solver == "svd"


def test_hilbert_coefficients():
    X, y = hilbert()
    exact, b = fifty_digits.ridge_coefficients(X, y, 1e-12, intercept=True)
    model = RLSRegressor("linear", 1e-12).fit(X, y)
    assert_allclose(model.coef_, exact, rtol=1e-7)
    assert_allclose(model.intercept_, b, rtol=1e-7)


def test_hilbert_with_weights():
    X, y = hilbert()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    exact = fifty_digits.ridge_leave_one_out(X, y, 1e-12, weights, intercept=True)
    model = RLSRegressor("linear", 1e-12).fit(X, y, weights)
    assert np.abs((y - model.loo_predictions_) - exact).max() <= 1e-7 * np.abs(exact).max()


def test_right_where_a_subtraction_is_not():
    """The bound above is not for free: forming 1 − h by subtraction loses every digit here."""
    X, y = hilbert()
    exact = np.mean(fifty_digits.ridge_leave_one_out(X, y, 1e-12) ** 2)
    ours = -RLSRegressor("linear", 1e-12, fit_intercept=False).fit(X, y).best_score_
    H = X @ np.linalg.solve(X.T @ X + 1e-12 * np.eye(8), X.T)
    textbook = np.mean(((y - H @ y) / (1 - np.diag(H))) ** 2)
    assert abs(ours / exact - 1) < 1e-7 < 1e-5 < abs(textbook / exact - 1)


@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
def test_large_gram_is_taken_only_where_it_is_accurate(intercept, monkeypatch):
    monkeypatch.setitem(SOLVERS, "svd", replace(SOLVERS["svd"], preferred=None))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    y = X.sum(axis=1) + rng.standard_normal(200)
    well = RLSRegressor("linear", [1e-12, 1.0], fit_intercept=intercept).fit(X, y)
    assert well.plan_.solver == "gram"
    ill = RLSRegressor("linear", [1e-12, 1.0], fit_intercept=intercept)
    ill.fit(X * np.geomspace(1, 1e-7, 5), y)
    assert ill.plan_.solver == "svd"
    assert "condition" in ill.plan_.reason
    # large alphas make the same features harmless
    assert (
        RLSRegressor("linear", [1.0, 10.0]).fit(X * np.geomspace(1, 1e-7, 5), y).plan_.solver
        == "gram"
    )


def test_a_row_of_leverage_one_sends_gram_to_svd(monkeypatch):
    monkeypatch.setitem(SOLVERS, "svd", replace(SOLVERS["svd"], preferred=None))
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((50, 3)), np.zeros(50)])
    X[7, 3] = 1.0  # a feature that only this row has
    y = rng.standard_normal(50)
    model = RLSRegressor("linear", [1e-11, 1e-10]).fit(X, y)
    assert model.plan_.solver == "svd"
    assert "leverage" in model.plan_.reason
    exact = fifty_digits.ridge_leave_one_out(X, y, model.alpha_, intercept=True)
    others = np.arange(50) != 7
    assert_allclose((y - model.loo_predictions_)[others], exact[others], rtol=1e-9)
    # its own 1 - h is about alpha, known to eps: that is what can be had
    assert_allclose(y[7] - model.loo_predictions_[7], exact[7], rtol=100 * 2.2e-16 / model.alpha_)


@pytest.mark.parametrize("alpha", [1e-12, 1e-6, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("solver", ["cholesky", "spectral"])
def test_kernel_alphas_over_24_decades(solver, alpha):
    """A narrow kernel is well conditioned: no cancellation at either end."""
    data = make_data(30, 3)
    K = brute_force.kernel_matrix("gaussian", data.X, data.X, sigma=0.3)
    for intercept in (True, False):
        model = RLSRegressor(Gaussian(0.3), alpha, solver=solver, fit_intercept=intercept)
        model.fit(data.X, data.y)
        exact = brute_force.leave_one_out_values(K, data.Y, alpha, None, intercept)[:, 0]
        assert_allclose(data.y - model.loo_predictions_, data.y - exact, rtol=1e-8)


def test_large_alpha_is_the_mean_and_small_alpha_interpolates():
    data = make_data(20, 3, weighted=True)
    w = data.weights
    mean = np.average(data.y, weights=w)
    assert_allclose(
        RLSRegressor(alpha=1e14).fit(data.X, data.y, w).predict(data.X_new), mean, rtol=1e-9
    )
    exact = RLSRegressor(Gaussian(0.3), 1e-13).fit(data.X, data.y, w)
    assert_allclose(exact.predict(data.X)[w > 0], data.y[w > 0], rtol=1e-8)


def test_alpha_zero_interpolates_and_still_knows_its_leave_one_out_error():
    data = make_data(15, 3)
    K = brute_force.kernel_matrix("gaussian", data.X, data.X, sigma=0.5)
    for solver in ("auto", "cholesky", "spectral"):
        model = RLSRegressor(Gaussian(0.5), 0.0, solver=solver).fit(data.X, data.y)
        exact = brute_force.leave_one_out_values(K, data.Y, 0.0, None, True)[:, 0]
        assert_allclose(model.predict(data.X), data.y, rtol=1e-8)
        assert_allclose(model.loo_predictions_, exact, rtol=1e-7)
