"""Rows and models that the tests of few centers share."""

import numpy as np
import pytest

from squareone import RLSClassifier, RLSRegressor
from squareone import centers as selectors
from squareone.kernels import Gaussian

rng = np.random.default_rng(0)
n, d, m = 90, 3, 15
X = rng.normal(size=(n, d))
new = rng.normal(size=(7, d))
y = X @ [1.0, -2.0, 3.0] + np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)
two = np.where(y > 0, "yes", "no")
three = np.array(["low", "middle", "high"])[np.digitize(y, [-2.0, 2.0])]
indicators = np.column_stack([y > 0, X[:, 0] > 0, X[:, 1] > 0.5]).astype(int)
several = np.column_stack([y, np.cos(X[:, 1])])
weights = rng.uniform(0.5, 2.0, n)
weights[[3, 40]] = 0.0
NAMES = ["length", "width", "age"]

SOLVERS = ["rectangle", "pcg", "nystrom", "subset"]
SELECTORS = [
    selectors.Uniform(m),
    selectors.PivotedCholesky(m),
    selectors.PivotedCholesky(m, pivot="greedy"),
    selectors.TraceGreedy(m),
    selectors.LeverageScores(m),
    selectors.KMeans(m),
    selectors.Given(X[4 : m + 4], indices=np.arange(4, m + 4)),
]
every_solver = pytest.mark.parametrize("solver", SOLVERS)
every_selector = pytest.mark.parametrize("selector", SELECTORS, ids=lambda s: repr(s)[:30])


def settings(solver, **more):
    given = {"kernel": Gaussian(1.5), "alpha": 0.1, "solver": solver, "centers": m}
    return {**given, "random_state": 0, "tol": 1e-8, **more}


def regressor(solver="rectangle", **more):
    return RLSRegressor(**settings(solver, **more))


def classifier(solver="rectangle", **more):
    return RLSClassifier(**settings(solver, **more))
