"""Every solver agrees with brute force: predictions, leave-one-out, folds, GCV, traces."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold, ShuffleSplit, TimeSeriesSplit

from squareone import RLSRegressor
from tests.laws.cases import KERNELS, SHAPES, make_data, reference_kernel, solver_kernel_pairs
from tests.reference import brute_force

ALPHAS = [1e-2, 1.0, 30.0]

everywhere = [
    pytest.mark.parametrize(("solver", "kernel"), solver_kernel_pairs()),
    pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"]),
    pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"]),
    pytest.mark.parametrize("shape", SHAPES, ids=str),
]


def under_all_conditions(test):
    for mark in everywhere:
        test = mark(test)
    return test


def rounding(K, alpha):
    """Relative tolerance: the condition of the system times eps, with room for the constant."""
    return 1e3 * np.finfo(float).eps * (1 + np.linalg.norm(K, 2) / alpha) + 1e-12


@under_all_conditions
@pytest.mark.parametrize("targets", [1, 3])
def test_one_alpha(solver, kernel, weighted, intercept, shape, targets):
    data = make_data(*shape, targets=targets, weighted=weighted)
    K = reference_kernel(kernel, data.X, data.X)
    for alpha in ALPHAS:
        model = RLSRegressor(KERNELS[kernel][0], alpha, solver=solver, fit_intercept=intercept).fit(
            data.X, data.y, data.weights
        )
        C, b = brute_force.fit(K, data.Y, alpha, data.weights, intercept)
        K_new = reference_kernel(kernel, data.X_new, data.X)
        scale = np.abs(data.Y).max()
        tolerance = rounding(K, alpha) * scale
        expected = brute_force.predict(K_new, C, b)
        assert_allclose(model.predict(data.X_new).reshape(5, -1), expected, atol=tolerance)
        loo = brute_force.leave_one_out_values(K, data.Y, alpha, data.weights, intercept)
        assert_allclose(model.loo_predictions_.reshape(loo.shape), loo, atol=tolerance)
        dof = brute_force.degrees_of_freedom(K, alpha, data.weights, intercept)
        assert_allclose(model.effective_dof_, dof, atol=rounding(K, alpha) * shape[0])
        mse = brute_force.loo_mean_square_error(K, data.Y, alpha, data.weights, intercept)
        assert_allclose(-model.best_score_, mse.mean(), rtol=10 * rounding(K, alpha))
        if kernel != "linear":
            kept = model.center_indices_
            assert_allclose(
                model.dual_coef_.reshape(kept.size, -1), C[kept], atol=tolerance / alpha
            )
        assert_allclose(model.intercept_, b if targets > 1 else b[0], atol=10 * tolerance)


@under_all_conditions
def test_folds_are_refits(solver, kernel, weighted, intercept, shape):
    data = make_data(*shape, weighted=weighted)
    K = reference_kernel(kernel, data.X, data.X)
    splits = [(train, test) for train, test in KFold(3).split(data.X)]
    model = RLSRegressor(
        KERNELS[kernel][0], ALPHAS, solver=solver, fit_intercept=intercept, cv=splits
    ).fit(data.X, data.y, data.weights)
    w = np.ones(shape[0]) if data.weights is None else data.weights
    for alpha, score in zip(model.path_["alpha"], model.path_["score"], strict=True):
        values = brute_force.leave_fold_out_values(
            K, data.Y, alpha, data.weights, intercept, [test for _, test in splits]
        )
        expected = (w[:, None] * (data.Y - values) ** 2).sum() / w.sum()
        assert_allclose(-score, expected, rtol=1e2 * rounding(K, alpha))


@pytest.mark.parametrize(("solver", "kernel"), solver_kernel_pairs())
@pytest.mark.parametrize(
    "cv",
    [TimeSeriesSplit(3), ShuffleSplit(4, test_size=0.3, random_state=0)],
    ids=["time", "shuffle"],
)
def test_splits_that_do_not_partition(solver, kernel, cv):
    """Training rows may leave out more than the test rows, and test rows may come twice."""
    data = make_data(24, 4)
    K = reference_kernel(kernel, data.X, data.X)
    model = RLSRegressor(KERNELS[kernel][0], [0.1, 1.0], solver=solver, cv=cv).fit(data.X, data.y)
    squares = []
    for train, test in cv.split(data.X):
        C, b = brute_force.fit(K[np.ix_(train, train)], data.Y[train], 0.1, None, True)
        squares.append((data.Y[test] - K[np.ix_(test, train)] @ C - b) ** 2)
    assert_allclose(-model.path_["score"][0], np.concatenate(squares).mean(), rtol=1e-8)


@under_all_conditions
def test_gcv_by_its_definition(solver, kernel, weighted, intercept, shape):
    data = make_data(*shape, targets=2, weighted=weighted)
    K = reference_kernel(kernel, data.X, data.X)
    model = RLSRegressor(
        KERNELS[kernel][0], ALPHAS, solver=solver, fit_intercept=intercept, criterion="gcv"
    ).fit(data.X, data.Y, data.weights)
    for alpha, score in zip(model.path_["alpha"], model.path_["score"], strict=True):
        expected = brute_force.gcv(K, data.Y, alpha, data.weights, intercept).mean()
        assert_allclose(-score, expected, rtol=1e2 * rounding(K, alpha))


@pytest.mark.parametrize(("solver", "kernel"), solver_kernel_pairs())
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_holdout_is_one_refit(solver, kernel, weighted):
    """The held-out part is one fold; its rows follow from random_state."""
    data = make_data(24, 4, weighted=weighted)
    K = reference_kernel(kernel, data.X, data.X)
    model = RLSRegressor(
        KERNELS[kernel][0],
        [0.1, 1.0],
        solver=solver,
        criterion="holdout",
        validation_fraction=0.25,
        random_state=3,
    ).fit(data.X, data.y, data.weights)
    rng = np.random.RandomState(3)
    ((_, test),) = ShuffleSplit(1, test_size=0.25, random_state=rng).split(data.X)
    values = brute_force.leave_fold_out_values(K, data.Y, 0.1, data.weights, True, [test])[test]
    w = np.ones(24) if data.weights is None else data.weights
    expected = (w[test, None] * (data.Y[test] - values) ** 2).sum() / w[test].sum()
    assert_allclose(-model.path_["score"][0], expected, rtol=1e-8)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("solver", ["auto", "cholesky", "spectral"])
def test_precomputed_equals_its_kernel(solver, weighted, intercept):
    data = make_data(20, 3, targets=2, weighted=weighted)
    gaussian = KERNELS["gaussian"][0]
    K, K_new = gaussian(data.X), gaussian(data.X_new, data.X)
    given = RLSRegressor("precomputed", [0.1, 1.0], solver=solver, fit_intercept=intercept)
    given.fit(K, data.Y, data.weights)
    direct = RLSRegressor(gaussian, [0.1, 1.0], solver=solver, fit_intercept=intercept)
    direct.fit(data.X, data.Y, data.weights)
    assert_allclose(given.predict(K_new), direct.predict(data.X_new), rtol=1e-9)
    assert_allclose(given.loo_predictions_, direct.loo_predictions_, rtol=1e-9)
    assert given.alpha_ == direct.alpha_
