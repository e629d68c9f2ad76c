"""Rows and models that the tests of streams share."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone import RLSRegressor
from squareone import centers as selectors
from squareone.kernels import Gaussian
from squareone.solvers.registry import names
from tests.rows.made import in_memory, some_rows

rng = np.random.default_rng(1)
n, d, m = 120, 4, 20
X = some_rows(n, d)
new = some_rows(150, d)[n:]
y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
two = y > np.median(y)
weights = rng.uniform(0.5, 2.0, n)
weights[[3, 50, 119]] = 0.0

SOLVERS = {
    "rectangle": {"solver": "rectangle", "centers": m},
    "pcg": {"solver": "pcg", "centers": m, "tol": 1e-8},
    "nystrom": {"solver": "nystrom", "centers": m},
    "subset": {"solver": "subset", "centers": m},
    "gram": {"solver": "gram", "kernel": "linear"},
    "krylov": {"solver": "krylov", "kernel": "linear", "tol": 1e-8},
    "svd": {"solver": "svd", "kernel": "linear"},
    "cholesky": {"solver": "cholesky"},
    "spectral": {"solver": "spectral"},
}
WITH_CENTERS = names(lambda solver: solver.with_centers)
SELECTORS = [
    selectors.Uniform(m),
    selectors.PivotedCholesky(m),
    selectors.PivotedCholesky(m, pool=40),
    selectors.TraceGreedy(m),
    selectors.LeverageScores(m),
    selectors.KMeans(m),
]
SOME_KINDS = ["npy", "parquet", "svmlight", "generated"]
every_solver = pytest.mark.parametrize("solver", SOLVERS)
every_solver_with_centers = pytest.mark.parametrize("solver", WITH_CENTERS)
weighted_or_not = pytest.mark.parametrize("w", [None, weights], ids=["unweighted", "weighted"])


def regressor(solver, **more):
    return RLSRegressor(**{"kernel": Gaussian(1.0), **SOLVERS[solver], **more})


def assert_same_fit(found, expected):
    assert found.plan_.solver == expected.plan_.solver
    assert_allclose(found.alpha_, expected.alpha_, rtol=1e-9)
    assert_allclose(found.predict(new), expected.predict(new), rtol=1e-9, atol=1e-9)
    assert_allclose(found.loo_predictions_, expected.loo_predictions_, rtol=1e-8, atol=1e-8)
    assert_allclose(found.best_score_, expected.best_score_, rtol=1e-8)
    if hasattr(expected, "centers_"):
        assert_array_equal(in_memory(found.centers_), in_memory(expected.centers_))
        assert_array_equal(found.center_indices_, expected.center_indices_)
