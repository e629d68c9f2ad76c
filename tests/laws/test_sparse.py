"""Sparse rows give what the same dense rows give: every linear solver, weights, centring, codes."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose

from squareone import RLSClassifier, RLSRegressor
from squareone.targets import BCH, OneVsOne
from tests.laws.cases import SOLVERS

# what the others are compared with, on dense rows
REFERENCE = "svd"
OTHERS = [name for name in SOLVERS if name != REFERENCE]
SHAPES = [(24, 6), (9, 9), (8, 30), (12, 1), (9, 200), (30, 90)]  # the last two mostly empty


def make(n, d, *, targets=2, weighted=False, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.4, rng.standard_normal((n, d)) + 1.0, 0.0).astype(dtype)
    X[3] = 0.0  # a row without a word
    if d > 80:
        X[:, rng.random(d) < 0.8] = 0.0
    if d > 2:
        X[:, d // 2] = 0.0  # a word in no row
        X[:, 0] = 2.5  # one in all of them
    Y = (X @ rng.standard_normal((d, targets)) + rng.standard_normal((n, targets))).astype(dtype)
    weights = None
    if weighted:
        weights = rng.uniform(0.2, 3.0, n)
        weights[1] = 0.0
    new = np.where(rng.random((5, d)) < 0.4, rng.standard_normal((5, d)), 0.0).astype(dtype)
    return X, Y, weights, new


def pair(estimator, X, y, weights):
    """Fitted to dense rows by an exact solver, and to sparse rows as it is."""
    parameters = estimator.get_params(deep=False)
    dense = type(estimator)(**{**parameters, "solver": REFERENCE}).fit(X, y, weights)
    return dense, estimator.fit(scipy.sparse.csr_matrix(X), y, weights)


@pytest.mark.parametrize("solver", OTHERS)
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_everything_a_regressor_says(solver, weighted, intercept, shape):
    X, Y, weights, new = make(*shape, weighted=weighted)
    sparse_new = scipy.sparse.csr_matrix(new)
    estimator = RLSRegressor("linear", [0.1, 1.0, 10.0], solver=solver, fit_intercept=intercept)
    dense, sparse = pair(estimator, X, Y, weights)
    assert sparse.plan_.solver == solver
    assert sparse.alpha_ == dense.alpha_
    for name in ("coef_", "intercept_", "loo_predictions_", "leverages_", "effective_dof_"):
        assert_allclose(getattr(sparse, name), getattr(dense, name), atol=1e-8, err_msg=name)
    assert_allclose(sparse.path_["score"], dense.path_["score"], rtol=1e-8)
    assert_allclose(sparse.predict(sparse_new), dense.predict(new), atol=1e-8)
    assert_allclose(sparse.predict(new), dense.predict(new), atol=1e-8)
    for method in ("jackknife+", "gaussian"):
        a, b = (m.predict_interval(Z, 0.7, method) for m, Z in ((sparse, sparse_new), (dense, new)))
        assert_allclose(a, b, atol=1e-6, err_msg=method)
    assert_allclose(sparse.influence(sparse_new), dense.influence(new), atol=1e-8)


@pytest.mark.parametrize("solver", OTHERS)
@pytest.mark.parametrize("settings", [{"cv": 3}, {"criterion": "holdout"}, {"criterion": "gcv"}])
def test_other_criteria(solver, settings):
    X, Y, weights, _ = make(24, 40, weighted=True)
    estimator = RLSRegressor("linear", [0.1, 1.0, 10.0], solver=solver, **settings)
    dense, sparse = pair(estimator, X, Y, weights)
    assert_allclose(sparse.path_["score"], dense.path_["score"], rtol=1e-8)
    assert sparse.alpha_ == dense.alpha_
    assert_allclose(sparse.effective_dof_, dense.effective_dof_, rtol=1e-8)


@pytest.mark.parametrize("solver", OTHERS)
@pytest.mark.parametrize("coding", ["one_vs_all", BCH(15), BCH(15, "hamming"), OneVsOne()])
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
def test_classes(solver, coding, intercept):
    X, _, weights, new = make(40, 60, weighted=True)
    y = np.arange(40) % 5
    estimator = RLSClassifier(
        "linear", [0.1, 1.0, 10.0], solver=solver, coding=coding, fit_intercept=intercept
    )
    dense, sparse = pair(estimator, X, y, weights)
    sparse_new = scipy.sparse.csr_matrix(new)
    assert_allclose(sparse.decision_function(sparse_new), dense.decision_function(new), atol=1e-8)
    assert_allclose(sparse.predict_proba(sparse_new), dense.predict_proba(new), atol=1e-6)
    assert_allclose(sparse.loo_predictions_, dense.loo_predictions_, atol=1e-8)


@pytest.mark.parametrize("solver", OTHERS)
def test_single_precision(solver):
    X, Y, weights, new = make(30, 50, weighted=True, dtype=np.float32)
    double = RLSRegressor("linear", 1.0, solver=REFERENCE).fit(X.astype(float), Y, weights)
    single = RLSRegressor("linear", 1.0, solver=solver, tol=1e-6)
    single.fit(scipy.sparse.csr_matrix(X), Y, weights)
    assert single.coef_.dtype == np.float32
    assert single.predict(scipy.sparse.csr_matrix(new)).dtype == np.float32
    tolerance = 30 * np.finfo(np.float32).eps * np.linalg.norm(X, 2) ** 2
    assert_allclose(single.predict(new), double.predict(new), atol=tolerance)
    assert_allclose(single.loo_predictions_, double.loo_predictions_, atol=tolerance)


@pytest.mark.parametrize("solver", OTHERS)
@pytest.mark.parametrize("scale", [1e-120, 1e-3, 1e120])
def test_units(solver, scale):
    X, Y, weights, _ = make(24, 40, weighted=True)
    unit = 2.0 ** np.round(np.log2(scale))
    a, b = (
        RLSRegressor("linear", 0.5 * u * u, solver=solver).fit(
            scipy.sparse.csr_matrix(X * u), Y, weights
        )
        for u in (1.0, unit)
    )
    assert_allclose(b.coef_ * unit, a.coef_, rtol=1e-7, atol=1e-10)
    assert_allclose(b.loo_predictions_, a.loo_predictions_, rtol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("stored", ["dense", "sparse"])
@pytest.mark.parametrize("alpha", [1.0, [0.5, 1.0]], ids=["one alpha", "several"])
@pytest.mark.parametrize("shape", [(24, 6), (12, 30)], ids=str)
def test_what_is_asked_later_does_not_depend_on_the_users_rows(solver, stored, alpha, shape):
    if solver == REFERENCE and stored == "sparse" and shape[0] <= shape[1]:
        pytest.skip("wide sparse rows are refused")
    X, Y, _, new = make(*shape)
    rows = X.copy() if stored == "dense" else scipy.sparse.csr_matrix(X)
    model, expected = (
        RLSRegressor("linear", alpha, solver=solver).fit(Z, Y) for Z in (rows, rows.copy())
    )
    if stored == "dense":
        rows[:] = 7.0
    else:
        rows.data[:], rows.indices[:] = 7.0, 0
    for ask in (
        lambda m: m.leverages_,
        lambda m: m.loo_predictions_,
        lambda m: m.influence(new),
        lambda m: m.predict(new, return_std=True)[1],
    ):
        assert_allclose(ask(model), ask(expected), rtol=1e-9, atol=1e-12)
