"""Identities between fits: path and single fits, primal and dual, order, scale, blocks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from squareone import RLSClassifier, RLSRegressor, arrays
from squareone.kernels import Gaussian, Linear
from tests.laws.cases import DIRECT, KERNELS, SHAPES, make_data, solver_kernel_pairs

GRID = np.geomspace(1e-3, 1e3, 7)


@pytest.mark.parametrize(("solver", "kernel"), solver_kernel_pairs())
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
def test_path_equals_separate_fits(solver, kernel, intercept):
    data = make_data(20, 4, targets=2, weighted=True)

    def fit(alpha):
        model = RLSRegressor(KERNELS[kernel][0], alpha, solver=solver, fit_intercept=intercept)
        return model.fit(data.X, data.Y, data.weights)

    path = fit(GRID).path_
    separate = [fit(alpha) for alpha in GRID]
    assert_allclose(path["alpha"], GRID)
    assert_allclose(path["score"], [model.best_score_ for model in separate], rtol=1e-8)
    assert_allclose(path["effective_dof"], [m.effective_dof_ for m in separate], atol=1e-8)
    chosen = fit(GRID)
    again = fit(chosen.alpha_)
    assert_allclose(chosen.predict(data.X_new), again.predict(data.X_new), rtol=1e-9)
    assert_allclose(chosen.loo_predictions_, again.loo_predictions_, rtol=1e-8)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
def test_primal_equals_dual(shape, weighted, intercept):
    data = make_data(*shape, targets=2, weighted=weighted)
    models = [
        RLSRegressor("linear", [0.1, 1.0], solver=solver, fit_intercept=intercept).fit(
            data.X, data.Y, data.weights
        )
        for solver in DIRECT
    ]
    # the linear kernel as a sum with nothing: an expansion over the rows instead of a hyperplane
    expansion = RLSRegressor(Linear() + 0.0, [0.1, 1.0], fit_intercept=intercept)
    expansion.fit(data.X, data.Y, data.weights)
    for model in models:
        assert_allclose(model.coef_, models[0].coef_, atol=1e-9)
        assert_allclose(model.intercept_, models[0].intercept_, atol=1e-9)
        assert_allclose(model.predict(data.X_new), expansion.predict(data.X_new), atol=1e-8)
        assert_allclose(model.loo_predictions_, expansion.loo_predictions_, atol=1e-8)
        assert_allclose(model.path_["score"], expansion.path_["score"], rtol=1e-8)


@pytest.mark.parametrize(("solver", "kernel"), solver_kernel_pairs())
def test_row_order_does_not_matter(solver, kernel):
    data = make_data(20, 4, weighted=True)
    order = np.random.default_rng(1).permutation(20)
    a = RLSRegressor(KERNELS[kernel][0], GRID, solver=solver).fit(data.X, data.y, data.weights)
    b = RLSRegressor(KERNELS[kernel][0], GRID, solver=solver).fit(
        data.X[order], data.y[order], data.weights[order]
    )
    assert_allclose(a.predict(data.X_new), b.predict(data.X_new), rtol=1e-8)
    assert_allclose(a.loo_predictions_[order], b.loo_predictions_, rtol=1e-8)


@pytest.mark.parametrize(("solver", "kernel"), solver_kernel_pairs())
def test_a_weight_of_two_is_a_repeated_row_for_the_fit(solver, kernel):
    data = make_data(15, 4)
    weights = np.ones(15)
    weights[[3, 7]] = 2.0, 3.0
    rows = np.repeat(np.arange(15), weights.astype(int))
    a = RLSRegressor(KERNELS[kernel][0], 0.5, solver=solver).fit(data.X, data.y, weights)
    b = RLSRegressor(KERNELS[kernel][0], 0.5, solver=solver).fit(data.X[rows], data.y[rows])
    assert_allclose(a.predict(data.X_new), b.predict(data.X_new), rtol=1e-9)


@pytest.mark.parametrize(("solver", "kernel"), solver_kernel_pairs())
def test_scaling_weights_and_alpha_together_changes_nothing(solver, kernel):
    data = make_data(15, 4, weighted=True)
    for criterion in ("loo", "gcv", "holdout"):
        how = {"solver": solver, "criterion": criterion}
        a = RLSRegressor(KERNELS[kernel][0], 0.5, **how).fit(data.X, data.y, data.weights)
        b = RLSRegressor(KERNELS[kernel][0], 3.5, **how).fit(data.X, data.y, 7 * data.weights)
        assert_allclose(a.predict(data.X_new), b.predict(data.X_new), rtol=1e-9)
        assert_allclose(a.loo_predictions_, b.loo_predictions_, rtol=1e-9)
        assert_allclose(a.best_score_, b.best_score_, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e-3, 1e3, 1e150])
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_units_of_x_and_y(kernel, scale):
    """alpha="auto" and the median width follow the units; a power of two changes no bit."""
    data = make_data(30, 3)
    unit = 2.0 ** np.round(np.log2(scale))
    a = RLSRegressor(kernel).fit(data.X, data.y)
    b = RLSRegressor(kernel).fit(data.X * unit, data.y * unit)
    assert_allclose(b.predict(data.X_new * unit) / unit, a.predict(data.X_new), rtol=1e-9)
    assert_allclose(b.loo_predictions_ / unit, a.loo_predictions_, rtol=1e-9)


@pytest.mark.parametrize(("solver", "kernel"), solver_kernel_pairs())
def test_targets_are_solved_as_if_alone(solver, kernel):
    data = make_data(20, 4, targets=3)
    together = RLSRegressor(KERNELS[kernel][0], GRID, solver=solver, alpha_per_target=True)
    together.fit(data.X, data.Y)
    for i in range(3):
        alone = RLSRegressor(KERNELS[kernel][0], GRID, solver=solver).fit(data.X, data.Y[:, i])
        assert together.alpha_[i] == alone.alpha_
        assert_allclose(together.predict(data.X_new)[:, i], alone.predict(data.X_new), rtol=1e-9)
        assert_allclose(together.loo_predictions_[:, i], alone.loo_predictions_, rtol=1e-9)
        assert_allclose(together.path_[f"score_{i}"], alone.path_["score"], rtol=1e-9)


@pytest.mark.parametrize(("solver", "kernel"), solver_kernel_pairs())
def test_blocks_equal_whole(solver, kernel, monkeypatch):
    """Small tiles and blocks give what one block gives."""
    data = make_data(60, 3, targets=2, weighted=True)

    def fit():
        model = RLSRegressor(KERNELS[kernel][0], GRID, solver=solver, cv=4)
        model.fit(data.X, data.Y, data.weights)
        return model.predict(np.repeat(data.X, 3, axis=0)), model.path_["score"]

    whole = fit()
    monkeypatch.setattr(arrays, "TILE", 7)
    monkeypatch.setattr("squareone.kernels.tiles.TILE", 7)
    monkeypatch.setattr("squareone.rows.base.BLOCK", 16)
    monkeypatch.setattr("squareone.solvers.contract.PATH_BLOCK", 16)
    monkeypatch.setattr("squareone.solvers.basis_factor.PATH_BLOCK", 16)
    blocks = arrays.blocks
    # every caller asks for rows per block: give it fewer
    modules = ("arrays", "rows.base", "solvers.contract", "solvers.basis_factor", "kernels.tiles")
    for module in modules:
        monkeypatch.setattr(f"squareone.{module}.blocks", lambda n, size: blocks(n, min(size, 11)))
    for a, b in zip(whole, fit(), strict=True):
        assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize(("solver", "kernel"), solver_kernel_pairs())
def test_float32_within_its_own_rounding(solver, kernel):
    data = make_data(40, 4, targets=2, weighted=True)
    double = RLSRegressor(KERNELS[kernel][0], 1.0, solver=solver)
    double.fit(data.X, data.Y, data.weights)
    single = RLSRegressor(KERNELS[kernel][0], 1.0, solver=solver)
    single.fit(data.X.astype(np.float32), data.Y, data.weights)
    predicted = single.predict(data.X_new.astype(np.float32))
    assert predicted.dtype == np.float32
    assert single.loo_predictions_.dtype == np.float32
    K = KERNELS[kernel][0](data.X)
    tolerance = 30 * np.finfo(np.float32).eps * np.linalg.norm(K, 2)
    assert_allclose(predicted, double.predict(data.X_new), atol=tolerance)
    assert_allclose(single.loo_predictions_, double.loo_predictions_, atol=tolerance)


def test_one_against_all_is_one_classifier_per_class():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 4, 60)
    model = RLSClassifier(Gaussian(1.0), 0.1).fit(X, y)
    for i in range(4):
        binary = RLSClassifier(Gaussian(1.0), 0.1).fit(X, y == i)
        assert_allclose(model.decision_function(X)[:, i], binary.decision_function(X), rtol=1e-9)
        assert_allclose(model.loo_predictions_[:, i], binary.loo_predictions_, rtol=1e-9)
