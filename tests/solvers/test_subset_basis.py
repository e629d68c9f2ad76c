"""Many centers of which a subset is factored: the same fits as where all are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from squareone import RLSRegressor
from squareone.kernels import Gaussian
from squareone.rows import rows_of
from squareone.solvers import CenterBasis
from squareone.solvers.few_centers import pcg
from squareone.solvers.few_centers.subset_basis import SubsetBasis
from tests.reference import brute_force

rng = np.random.default_rng(0)
n, d, m = 600, 3, 60
X = rng.standard_normal((n, d))
new = rng.standard_normal((9, d))
y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
weights = rng.uniform(0.5, 2.0, n)


@pytest.fixture
def subset(monkeypatch):
    """From 30 centers on, 20 are factored."""
    monkeypatch.setattr(pcg, "MOST_FACTORED", 30)
    monkeypatch.setattr(pcg, "FACTORED", 20)


def fit(**more):
    settings = {"solver": "pcg", "centers": m, "random_state": 0, "tol": 1e-10, **more}
    return RLSRegressor(Gaussian(1.0), **settings)


def bases():
    points = X[:m]
    return SubsetBasis(Gaussian(1.0), points, np.dtype(float), 20, 0), points


def test_features_are_inner_products_in_their_own_metric():
    basis, points = bases()
    K = brute_force.kernel_matrix("gaussian", points, points, sigma=1.0)
    G = basis.metric_times(np.eye(m))
    assert_allclose(G, G.T, atol=1e-12)
    # functions Σ c_j k(·, z_j): c = backward(a) has the length aᵀGa = cᵀKc, and the values Ka
    a = rng.standard_normal((m, 2))
    c = basis.backward(a)
    assert_allclose(np.einsum("ij,ij->j", a, G @ a), np.einsum("ij,ij->j", c, K @ c), rtol=1e-9)
    assert_allclose(basis.forward(K @ c), G @ a, atol=1e-9)
    assert_allclose(np.diagonal(G)[basis.subset], 1.0, atol=1e-9)
    assert_allclose(np.diagonal(G)[basis.others], 1.0, atol=1e-6)


def test_values_divided_and_explained():
    basis, points = bases()
    K = brute_force.kernel_matrix("gaussian", new, points, sigma=1.0)
    assert_allclose(basis.divided(rows_of(new), None, None), basis.forward(K.T).T, atol=1e-10)
    few = CenterBasis(Gaussian(1.0), points[basis.subset], np.dtype(float))
    assert_allclose(basis.explained(rows_of(new)), few.explained(rows_of(new)), atol=1e-10)


def test_fewer_centers_stay():
    basis, points = bases()
    fewer = basis.restricted(np.arange(0, m, 2))
    assert_allclose(fewer.asked, points[::2])
    assert fewer.few.size == 20


@pytest.mark.usefixtures("subset")
@pytest.mark.parametrize("w", [None, weights], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "none"])
def test_a_fit_is_that_of_the_rectangle(w, intercept):
    settings = {"alpha": 0.1, "fit_intercept": intercept}
    model = fit(**settings).fit(X, y, w)
    exact = fit(**settings, solver="rectangle").fit(X, y, w)
    assert "preconditioned by 20 of the centers" in repr(model.plan_)
    assert_allclose(model.predict(new), exact.predict(new), atol=1e-7)
    assert_allclose(
        model.predict(new, return_std=True)[1], exact.predict(new, return_std=True)[1], rtol=0.3
    )


@pytest.mark.usefixtures("subset")
def test_a_search_ends_where_that_of_all_centers_does(monkeypatch):
    found = fit(alpha=np.logspace(-3, 2, 11)).fit(X, y)
    monkeypatch.setattr(pcg, "MOST_FACTORED", m)
    expected = fit(alpha=np.logspace(-3, 2, 11)).fit(X, y)
    assert_allclose(np.log10(found.alpha_), np.log10(expected.alpha_), atol=0.51)
    assert_allclose(found.best_score_, expected.best_score_, rtol=0.1)


@pytest.mark.usefixtures("subset")
def test_few_steps_are_enough():
    model = fit(alpha=0.1, tol=1e-6).fit(X, y)
    assert model.n_iter_ < 60


@pytest.mark.usefixtures("subset")
def test_equal_centers():
    Z = np.vstack([X[:100]] * 3)
    t = np.tile(y[:100], 3)
    model = fit(alpha=0.1, centers=150).fit(Z, t)
    exact = fit(alpha=0.1, centers=150, solver="rectangle").fit(Z, t)
    assert_allclose(model.predict(new), exact.predict(new), atol=1e-5)
