"""The standard error of a score, from its definition."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose

from squareone import RLSRegressor
from squareone.kernels import Gaussian
from squareone.selection import LeaveOneOut
from squareone.solvers import CentredRows, KrylovFactor, Limits, Weighting

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2]) + 0.2 * rng.standard_normal((40, 2))
WEIGHTS = rng.uniform(0.2, 2.0, 40)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("solver", ["cholesky", "spectral"])
@pytest.mark.parametrize("cv", [None, 40])
def test_of_a_mean_of_squares(weights, targets, solver, cv):
    model = RLSRegressor(Gaussian(2.0), [0.3], solver=solver, cv=cv)
    model.fit(X, Y[:, :targets], weights)
    w = np.ones(40) if weights is None else weights
    squares = np.mean((Y[:, :targets] - model.loo_predictions_.reshape(40, -1)) ** 2, axis=1)
    mean = np.average(squares, weights=w)
    expected = np.sqrt(np.sum(w**2 * (squares - mean) ** 2)) / w.sum()
    assert_allclose(model.path_["standard_error"], expected, rtol=1e-8)
    assert_allclose(model.path_["score"], -mean, rtol=1e-10)


def test_unknown_without_held_out_rows():
    for settings in ({"criterion": "gcv"}, {"criterion": "marginal_likelihood"}, {"scoring": "r2"}):
        model = RLSRegressor(Gaussian(2.0), [0.3], **settings).fit(X, Y[:, 0])
        assert np.isnan(model.path_["standard_error"]).all()


def test_an_estimate_states_its_error_and_bias_by_the_jackknife():
    """From the scores without each group of probes, by their definition."""
    X = scipy.sparse.random(400, 700, 0.05, format="csr", random_state=0)
    Y = np.random.default_rng(0).standard_normal((400, 2))
    rows = CentredRows.of(X, Weighting.of(400, None, True, np.dtype(float)))
    factor = KrylovFactor(rows, Y, Limits(1e-8, 1000, np.inf), 0)
    alphas = np.array([0.1, 3.0])
    residuals, complements = np.empty((400, 2, 2)), np.empty((400, 2))

    def look(some, r, c):
        residuals[some], complements[some] = r, c

    factor.visit(alphas, look)
    squares = np.square(residuals)
    score = np.mean(squares / complements[:, None] ** 2, axis=0)
    without = np.array(
        [np.mean(squares / c[:, None] ** 2, axis=0) for c in factor.estimates_without(alphas)]
    )
    g = len(without)
    assert g == 4
    measured = LeaveOneOut().measure(factor, alphas)
    assert_allclose(measured.means[:-1], score, rtol=1e-9)
    assert_allclose(measured.bias[:-1], (g - 1) * (without.mean(axis=0) - score), rtol=1e-6)
    over_rows = (squares / complements[:, None] ** 2).std(axis=0) / np.sqrt(400)
    over_probes = np.sqrt((g - 1) * without.var(axis=0))
    assert_allclose(measured.errors[:-1], np.hypot(over_rows, over_probes), rtol=1e-6)
    # what a user sees is minus the square: a square too large is a score too small
    model = RLSRegressor("linear", alphas, solver="krylov", tol=1e-8).fit(X, Y)
    again = LeaveOneOut().measure(model._record._factor, alphas)
    assert_allclose(model.path_["bias"], -again.bias[-1] * model._record.unit**2, rtol=1e-9)
