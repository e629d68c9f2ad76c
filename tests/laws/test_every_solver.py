"""The laws over the registry: a solver that is entered there is held to all of them.

With all rows as centers every solver has the exact solution, so one reference serves them all. What
a solver is said to be unable to do has to be refused, and what it is said to do has to work.
"""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.model_selection import KFold

from squareone import RLSRegressor, load
from squareone.errors import CheckpointError
from squareone.rows import GeneratedRows
from squareone.solvers.registry import SOLVERS, names
from tests.laws.cases import KERNELS, make_data, reference_kernel
from tests.reference import brute_force

ALPHAS = [1e-2, 1.0, 30.0]
N, D = 24, 4
# Rows up to which solvers that estimate leverages solve for them.
EXACT_LEVERAGES = [name for name, solver in SOLVERS.items() if not solver.estimates(N)]

every_solver = pytest.mark.parametrize("solver", SOLVERS)
weighted_or_not = pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
with_and_without_intercept = pytest.mark.parametrize(
    "intercept", [False, True], ids=["no intercept", "intercept"]
)


def kernel_of(solver):
    return "linear" if SOLVERS[solver].needs_linear else "gaussian"


def regressor(solver, alpha, **settings):
    return RLSRegressor(KERNELS[kernel_of(solver)][0], alpha, solver=solver, **settings)


def tolerance(K, alpha):
    """The condition of the system times eps, with room for the constant."""
    return 1e4 * np.finfo(float).eps * (1 + np.linalg.norm(K, 2) / alpha) + 1e-11


@every_solver
@weighted_or_not
@with_and_without_intercept
@pytest.mark.parametrize("alpha", ALPHAS)
def test_predictions_are_the_reference(solver, weighted, intercept, alpha):
    data = make_data(N, D, targets=2, weighted=weighted)
    K = reference_kernel(kernel_of(solver), data.X, data.X)
    C, b = brute_force.fit(K, data.Y, alpha, data.weights, intercept)
    expected = brute_force.predict(reference_kernel(kernel_of(solver), data.X_new, data.X), C, b)
    model = regressor(solver, alpha, fit_intercept=intercept).fit(data.X, data.Y, data.weights)
    atol = tolerance(K, alpha) * np.abs(data.Y).max()
    assert_allclose(model.predict(data.X_new), expected, atol=atol)


@pytest.mark.parametrize("solver", EXACT_LEVERAGES)
@weighted_or_not
@with_and_without_intercept
def test_leave_one_out_is_n_refits(solver, weighted, intercept):
    data = make_data(N, D, targets=2, weighted=weighted)
    K = reference_kernel(kernel_of(solver), data.X, data.X)
    model = regressor(solver, 1.0, fit_intercept=intercept).fit(data.X, data.Y, data.weights)
    expected = brute_force.leave_one_out_values(K, data.Y, 1.0, data.weights, intercept)
    assert_allclose(model.loo_predictions_, expected, atol=tolerance(K, 1.0) * 10)
    dof = brute_force.degrees_of_freedom(K, 1.0, data.weights, intercept)
    assert_allclose(model.effective_dof_, dof, atol=tolerance(K, 1.0) * N)


@every_solver
@weighted_or_not
def test_folds_are_refits(solver, weighted):
    data = make_data(N, D, weighted=weighted)
    K = reference_kernel(kernel_of(solver), data.X, data.X)
    splits = list(KFold(3).split(data.X))
    model = regressor(solver, ALPHAS, cv=splits).fit(data.X, data.y, data.weights)
    w = np.ones(N) if data.weights is None else data.weights
    for alpha, score in zip(model.path_["alpha"], model.path_["score"], strict=True):
        values = brute_force.leave_fold_out_values(
            K, data.Y, alpha, data.weights, True, [test for _, test in splits]
        )
        expected = (w[:, None] * (data.Y - values) ** 2).sum() / w.sum()
        assert_allclose(-score, expected, rtol=1e2 * tolerance(K, alpha))


@every_solver
def test_path_equals_separate_fits(solver):
    data = make_data(N, D, targets=2, weighted=True)
    path = regressor(solver, ALPHAS, cv=4).fit(data.X, data.Y, data.weights)
    for alpha, score in zip(path.path_["alpha"], path.path_["score"], strict=True):
        alone = regressor(solver, alpha, cv=4).fit(data.X, data.Y, data.weights)
        assert_allclose(alone.best_score_, score, rtol=1e-7)
    again = regressor(solver, path.alpha_).fit(data.X, data.Y, data.weights)
    assert_allclose(path.predict(data.X_new), again.predict(data.X_new), rtol=1e-8)


@every_solver
def test_row_order_does_not_matter(solver):
    data = make_data(N, D, weighted=True)
    order = np.random.default_rng(1).permutation(N)
    a = regressor(solver, 0.5).fit(data.X, data.y, data.weights)
    b = regressor(solver, 0.5).fit(data.X[order], data.y[order], data.weights[order])
    assert_allclose(a.predict(data.X_new), b.predict(data.X_new), rtol=1e-8)


@every_solver
def test_a_weight_of_two_is_a_repeated_row(solver):
    data = make_data(N, D)
    weights = np.ones(N)
    weights[[3, 7]] = 2.0, 3.0
    rows = np.repeat(np.arange(N), weights.astype(int))
    a = regressor(solver, 0.5).fit(data.X, data.y, weights)
    b = regressor(solver, 0.5).fit(data.X[rows], data.y[rows])
    assert_allclose(a.predict(data.X_new), b.predict(data.X_new), rtol=1e-8)


@every_solver
def test_targets_are_solved_as_if_alone(solver):
    data = make_data(N, D, targets=3)
    together = regressor(solver, 0.5).fit(data.X, data.Y).predict(data.X_new)
    for i in range(3):
        alone = regressor(solver, 0.5).fit(data.X, data.Y[:, i]).predict(data.X_new)
        assert_allclose(together[:, i], alone, rtol=1e-8)


@every_solver
def test_sparse_rows_equal_dense_rows(solver):
    data = make_data(N, D)
    X, X_new = np.maximum(data.X, 0.0), np.maximum(data.X_new, 0.0)
    dense = regressor(solver, 0.5).fit(X, data.y).predict(X_new)
    sparse = regressor(solver, 0.5).fit(csr_array(X), data.y).predict(csr_array(X_new))
    assert_allclose(sparse, dense, rtol=1e-8)


@every_solver
def test_blocks_equal_whole(solver):
    """Rows that are read block by block, or held where the solver has to."""
    data = make_data(60, 3)
    whole = regressor(solver, 0.5).fit(data.X, data.y).predict(data.X)

    def blocks():
        yield from (data.X[start : start + 7] for start in range(0, 60, 7))

    read = regressor(solver, 0.5).fit(GeneratedRows(blocks, (60, 3)), data.y)
    assert_allclose(read.predict(data.X), whole, rtol=1e-8)


@every_solver
def test_float32_within_its_own_rounding(solver):
    data = make_data(40, D, targets=2, weighted=True)
    double = regressor(solver, 1.0).fit(data.X, data.Y, data.weights)
    single = regressor(solver, 1.0).fit(data.X.astype(np.float32), data.Y, data.weights)
    predicted = single.predict(data.X_new.astype(np.float32))
    assert predicted.dtype == np.float32
    K = KERNELS[kernel_of(solver)][0](data.X)
    atol = 100 * np.finfo(np.float32).eps * np.linalg.norm(K, 2)
    assert_allclose(predicted, double.predict(data.X_new), atol=atol)


@every_solver
def test_a_saved_model_predicts_the_same(solver, tmp_path):
    data = make_data(N, D)
    model = regressor(solver, 0.5).fit(data.X, data.y)
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict(data.X_new), model.predict(data.X_new))


# --- what the registry says of a solver is so ---


@every_solver
def test_the_likelihood_is_known_or_refused(solver):
    data = make_data(N, D)
    model = regressor(solver, ALPHAS, criterion="marginal_likelihood")
    if SOLVERS[solver].likelihood:
        assert np.isfinite(model.fit(data.X, data.y).best_score_)
    else:
        with pytest.raises(ValueError, match=solver):
            model.fit(data.X, data.y)


@every_solver
def test_the_posterior_is_known_or_refused(solver):
    data = make_data(N, D)
    model = regressor(solver, 0.5).fit(data.X, data.y)
    if SOLVERS[solver].posterior:
        assert (model.predict(data.X_new, return_std=True)[1] > 0).all()
    else:
        with pytest.raises(AttributeError, match="posterior"):
            model.predict(data.X_new, return_std=True)


@every_solver
def test_alpha_zero_is_solved_for_or_refused(solver):
    data = make_data(N, D)
    kernel = "linear" if SOLVERS[solver].needs_linear else KERNELS["laplacian"][0]
    # of all rows as centers, one function too many beside an intercept
    centers = 6 if SOLVERS[solver].with_centers else None
    model = RLSRegressor(kernel, 0.0, solver=solver, centers=centers)
    if SOLVERS[solver].alpha_zero:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.isfinite(model.fit(data.X, data.y).predict(data.X_new)).all()
    else:
        with pytest.raises(ValueError, match="alpha above zero"):
            model.fit(data.X, data.y)


@every_solver
def test_checkpoints_are_kept_or_refused(solver, tmp_path):
    data = make_data(N, D)
    path = tmp_path / "fit.npz"
    path.write_bytes(b"no checkpoint")
    model = regressor(solver, 0.5, checkpoint=path)
    if SOLVERS[solver].checkpoints:
        with pytest.raises(CheckpointError, match="no checkpoint"):
            model.fit(data.X, data.y)
    else:
        with pytest.raises(ValueError, match="checkpoint is for"):
            model.fit(data.X, data.y)


def test_every_name_is_an_option_and_a_candidate():
    """A parameter, a row of the plan, and a name in messages; no other list."""
    data = make_data(N, D)
    for solver in SOLVERS:
        assert regressor(solver, 0.5).plan(data.X, data.y).solver == solver
    with pytest.raises(ValueError, match="solver") as refusal:
        regressor("cholesky", 0.5).set_params(solver="qr").fit(data.X, data.y)
    for name in SOLVERS:
        assert name in str(refusal.value)
    with pytest.raises(ValueError, match="centers") as refusal:
        regressor("cholesky", 0.5, centers=3).fit(data.X, data.y)
    for name in names(lambda solver: solver.with_centers):
        assert f'"{name}"' in str(refusal.value)
