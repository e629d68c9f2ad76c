"""The standard error of a score, from its definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from squareone import RLSRegressor
from squareone.kernels import Gaussian

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
