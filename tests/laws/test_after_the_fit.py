"""Every solver agrees with brute force on what is asked after the fit."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from squareone import RLSRegressor
from squareone.centers import Given
from squareone.errors import ScaleError
from squareone.fitting.intervals import _left_out_rows
from squareone.kernels import Gaussian, Linear
from squareone.solvers.registry import SOLVERS as REGISTRY
from tests.laws.cases import (
    DIRECT,
    KERNELS,
    OF_ALL_ROWS,
    OF_MATRICES,
    SOLVERS,
    make_data,
    reference_kernel,
)
from tests.laws.test_against_refits import rounding, under_all_conditions
from tests.reference import fifty_digits_gaussian_process, gaussian_process, left_out_models

COVERAGE = 0.7
METHODS = ["jackknife+", "jackknife", "minmax"]


def _model(data, kernel, solver, intercept, alpha, **settings):
    model = RLSRegressor(
        KERNELS[kernel][0], alpha, solver=solver, fit_intercept=intercept, **settings
    )
    return model.fit(data.X, data.y, data.weights)


def _kernels(kernel, data):
    return tuple(
        reference_kernel(kernel, left, right)
        for left, right in [(data.X, data.X), (data.X_new, data.X), (data.X_new, data.X_new)]
    )


@under_all_conditions
@pytest.mark.parametrize("targets", [1, 2])
def test_intervals_and_influence(solver, kernel, weighted, intercept, shape, targets):
    data = make_data(*shape, targets=targets, weighted=weighted)
    K, K_new, _ = _kernels(kernel, data)
    for alpha in (0.1, 10.0):
        model = _model(data, kernel, solver, intercept, alpha)
        atol = 10 * rounding(K, alpha) * np.abs(data.Y).max()
        expected = left_out_models.intervals(
            K, K_new, data.Y, alpha, COVERAGE, data.weights, intercept
        )
        for method in METHODS:
            found = model.predict_interval(data.X_new, COVERAGE, method).reshape(5, -1, 2)
            assert_allclose(found[..., 0], expected[method][0], atol=atol)
            assert_allclose(found[..., 1], expected[method][1], atol=atol)
        changes = left_out_models.influence(K, K_new, data.Y, alpha, data.weights, intercept)
        assert_allclose(model.influence(data.X_new).reshape(changes.shape), changes, atol=atol)
        leverages = left_out_models.leverages(K, alpha, data.weights, intercept)
        assert_allclose(model.leverages_, leverages, atol=rounding(K, alpha))


@under_all_conditions
@pytest.mark.parametrize("scale", ["auto", 0.7])
def test_posterior_and_likelihood(solver, kernel, weighted, intercept, shape, scale):
    data = make_data(*shape, targets=2, weighted=weighted)
    K, K_new, K_new_new = _kernels(kernel, data)
    given = None if scale == "auto" else scale**2  # the reference has the variance
    for alpha in (0.1, 10.0):
        model = _model(data, kernel, solver, intercept, alpha, scale=scale)
        mean, covariance = gaussian_process.posterior(
            K, K_new, K_new_new, data.Y, alpha, data.weights, intercept, given
        )
        found, deviation = model.predict(data.X_new, return_std=True)
        size = np.abs(data.Y).max()
        assert_allclose(found, mean, atol=10 * rounding(K, alpha) * size)
        variances = np.einsum("iit->it", covariance)
        largest = np.max(np.diag(K_new_new)) * np.max(model.scale_) ** 2
        assert_allclose(deviation**2, variances, atol=100 * rounding(K, alpha) * largest)
        if not REGISTRY[solver].likelihood:
            with pytest.raises(AttributeError, match="knows no determinant"):
                _ = model.log_marginal_likelihood_
            continue
        likelihood = gaussian_process.log_marginal_likelihood(
            K, data.Y, alpha, data.weights, intercept, given
        )
        assert_allclose(
            model.log_marginal_likelihood_,
            likelihood,
            rtol=100 * rounding(K, alpha),
            atol=100 * rounding(K, alpha),
        )


@under_all_conditions
def test_the_likelihood_as_a_criterion(solver, kernel, weighted, intercept, shape):
    data = make_data(*shape, weighted=weighted)
    K, _, _ = _kernels(kernel, data)
    alphas = [0.1, 1.0, 10.0]
    model = RLSRegressor(
        KERNELS[kernel][0],
        alphas,
        solver=solver,
        fit_intercept=intercept,
        criterion="marginal_likelihood",
    )
    if not REGISTRY[solver].likelihood:
        with pytest.raises(ValueError, match="knows no determinant"):
            model.fit(data.X, data.y, data.weights)
        return
    model.fit(data.X, data.y, data.weights)
    expected = [
        gaussian_process.log_marginal_likelihood(K, data.Y, alpha, data.weights, intercept)[0]
        for alpha in alphas
    ]
    assert_allclose(model.path_["score"], expected, rtol=1e-8, atol=1e-8)
    # a kernel that is constant on these rows makes all of them equal, up to rounding
    equal = np.isclose(expected, np.max(expected), rtol=1e-12, atol=0)
    assert model.alpha_ in np.array(alphas)[equal]
    assert model.best_score_ == pytest.approx(model.log_marginal_likelihood_, rel=1e-9)


@pytest.mark.parametrize("solver", OF_MATRICES)
def test_a_gaussian_process_of_scikit_learn(solver):
    data = make_data(40, 3)
    peer = GaussianProcessRegressor(RBF(1.3), alpha=0.3, optimizer=None).fit(data.X, data.y)
    model = RLSRegressor(Gaussian(1.3), 0.3, solver=solver, fit_intercept=False, scale=1.0)
    model.fit(data.X, data.y)
    mean, deviation = peer.predict(data.X_new, return_std=True)
    found, found_deviation = model.predict(data.X_new, return_std=True)
    assert_allclose(found, mean, rtol=1e-12)
    assert_allclose(found_deviation, deviation, rtol=1e-12)
    assert model.log_marginal_likelihood_ == pytest.approx(
        peer.log_marginal_likelihood_value_, rel=1e-12
    )


def test_fifty_digits():
    """Points close together and a small λ: a condition of 1e8."""
    rng = np.random.default_rng(3)
    X, y, new = np.sort(rng.uniform(size=(8, 1)), axis=0), rng.standard_normal(8), [[0.4]]
    kernel, alpha = Gaussian(1.0), 1e-7
    K, k_new = kernel(X), kernel(np.array(new), X)[0]
    for intercept in (False, True):
        model = RLSRegressor(kernel, alpha, solver="spectral", fit_intercept=intercept, scale=1.0)
        model.fit(X, y)
        exact = fifty_digits_gaussian_process.log_marginal_likelihood(
            K, y, alpha, None, intercept, 1.0
        )
        assert model.log_marginal_likelihood_ == pytest.approx(exact, rel=1e-7)
        variance = fifty_digits_gaussian_process.posterior_variance(
            K, k_new, 1.0, y, alpha, None, intercept, 1.0
        )
        assert model.predict(new, return_std=True)[1][0] ** 2 == pytest.approx(variance, rel=1e-6)


CENTERS = Given(make_data(24, 4).X[[2, 5, 11, 17, 20]], indices=[2, 5, 11, 17, 20])
EVERY_SOLVER = {
    **{solver: {} for solver in SOLVERS},
    **{solver: {"centers": CENTERS, "tol": 1e-10} for solver in OF_ALL_ROWS},
    "rectangle, some rows": {"solver": "rectangle", "centers": CENTERS, "loo_rows": 15},
}


@pytest.mark.parametrize("solver", EVERY_SOLVER)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", ["jackknife+", "minmax", "jackknife"])
def test_intervals_by_some_of_the_rows(solver, weighted, method):
    """The same quantiles over fewer of the models without a row."""
    data = make_data(24, 4, targets=2, weighted=weighted)
    settings = {"solver": solver, **EVERY_SOLVER[solver]}
    kernel = Linear() if SOLVERS.get(solver) else Gaussian(2.0)
    model = RLSRegressor(kernel, 0.3, **settings).fit(data.X, data.Y, data.weights)
    found = model.predict_interval(data.X_new, COVERAGE, method, loo_rows=10)
    asked = _left_out_rows(model._record, 10, cheap=False)
    assert asked.size == 10
    assert (np.diff(asked) > 0).all()
    if model._record.scored is not None:
        assert np.isin(asked, model._record.scored).all()
        assert "leave_one_out_values" not in vars(model._record)  # nobody needs all of them
    rows = model._record.kept[asked]  # some have weight zero
    without = model.predict(data.X_new)[:, None] + model.influence(data.X_new)[:, rows]
    errors = model.loo_residuals_[rows]
    if method == "jackknife+":
        lower, upper = left_out_models.jackknife_plus_interval(without, errors, COVERAGE)
    else:
        rank = int(np.ceil(COVERAGE * 11)) - 1
        wide = np.sort(np.abs(errors), axis=0)[rank]
        middle = model.predict(data.X_new)
        lower, upper = middle - wide, middle + wide
        if method == "minmax":
            lower, upper = without.min(axis=1) - wide, without.max(axis=1) + wide
    assert_allclose(found, np.stack([lower, upper], axis=-1), atol=1e-8)


@pytest.mark.parametrize("rows", [0, 1, True, 2.5, "all"])
def test_how_many_rows_are_left_out_is_checked(rows):
    data = make_data(24, 4)
    model = RLSRegressor(Gaussian(2.0), 0.3).fit(data.X, data.y)
    with pytest.raises(ValueError, match="loo_rows"):
        model.predict_interval(data.X_new, loo_rows=rows)


def test_intervals_of_many_rows_are_by_a_thousand():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4200, 2))
    y = X[:, 0] + rng.standard_normal(4200)
    model = RLSRegressor("linear").fit(X, y)
    few, every = (model.predict_interval(X[:50], loo_rows=rows) for rows in ("auto", None))
    assert_array_equal(few, model.predict_interval(X[:50], loo_rows=1000))
    assert np.abs(few - every).max() < 0.2
    assert np.abs(few - every).max() > 0


@pytest.mark.parametrize("intercept", [False, True])
def test_left_out_values_of_few_rows_are_those_of_all(intercept):
    """By their rows of the inverse, before and after the whole of it is there."""
    data = make_data(90, 3, targets=2, weighted=True)
    model = RLSRegressor(Gaussian(1.0), 0.3, solver="cholesky", fit_intercept=intercept)
    record = model.fit(data.X, data.y, data.weights)._record
    record.__dict__.pop("leave_one_out_values", None)
    record._factor = None  # as after loading
    few = np.array([2, 17, 40, 61])
    values = record.left_out_values_of(few)
    assert "leave_one_out_values" not in vars(record)
    assert_allclose(values, record.leave_one_out_values[record.kept[few]], rtol=1e-9, atol=1e-12)
    assert_array_equal(record.left_out_values_of(few), model.loo_predictions_[record.kept[few]])


@pytest.mark.parametrize("solver", DIRECT)
def test_blocks_of_new_rows_equal_the_whole(solver, monkeypatch):
    data = make_data(24, 4, targets=2)
    kernel = "linear" if SOLVERS[solver] else "gaussian"
    model = _model(data, kernel, solver, True, 0.5)
    rng = np.random.default_rng(5)
    new = rng.standard_normal((150, 4))
    whole = model.predict_interval(new), model.predict(new, return_std=True)[1]
    monkeypatch.setattr("squareone.fitting.diagnostics._BLOCK", 1)
    parts = model.predict_interval(new), model.predict(new, return_std=True)[1]
    for one, other in zip(whole, parts, strict=True):
        assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("solver", OF_MATRICES)
def test_a_lambda_for_every_target(solver):
    data = make_data(20, 3, targets=2)
    both = _model(data, "gaussian", solver, True, [0.1, 1.0, 10.0], alpha_per_target=True)
    intervals = both.predict_interval(data.X_new, COVERAGE)
    deviations = both.predict(data.X_new, return_std=True)[1]
    for j in range(2):
        one = RLSRegressor(KERNELS["gaussian"][0], float(both.alpha_[j])).fit(data.X, data.Y[:, j])
        assert_allclose(intervals[:, j], one.predict_interval(data.X_new, COVERAGE), rtol=1e-10)
        assert_allclose(deviations[:, j], one.predict(data.X_new, return_std=True)[1], rtol=1e-9)
        assert_allclose(both.leverages_[:, j], one.leverages_, rtol=1e-9)
        assert both.log_marginal_likelihood_[j] == pytest.approx(
            one.log_marginal_likelihood_, rel=1e-9
        )


def test_precomputed_equals_the_kernel():
    data = make_data(15, 3, weighted=True)
    kernel = KERNELS["gaussian"][0]
    plain = RLSRegressor(kernel, 0.5).fit(data.X, data.y, data.weights)
    given = RLSRegressor("precomputed", 0.5).fit(kernel(data.X), data.y, data.weights)
    K_new = kernel(data.X_new, data.X)
    assert_allclose(
        given.predict_interval(K_new, COVERAGE),
        plain.predict_interval(data.X_new, COVERAGE),
        rtol=1e-10,
    )
    assert given.log_marginal_likelihood_ == pytest.approx(plain.log_marginal_likelihood_)
    with pytest.raises(ValueError, match="precomputed kernel does not have"):
        given.predict(K_new, return_std=True)


@pytest.mark.parametrize("size", [1e-150, 1e150])
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_extreme_units(size, kernel):
    """Everything is in the units of y; at the other end of the range too."""
    data = make_data(24, 4)
    kernel = KERNELS[kernel][0]
    one = RLSRegressor(kernel, 0.5).fit(data.X, data.y)
    other = RLSRegressor(kernel, 0.5).fit(data.X, data.y * size)
    assert_allclose(
        other.predict_interval(data.X_new) / size, one.predict_interval(data.X_new), rtol=1e-10
    )
    assert_allclose(
        other.predict(data.X_new, return_std=True)[1] / size,
        one.predict(data.X_new, return_std=True)[1],
        rtol=1e-10,
    )
    assert other.log_marginal_likelihood_ == pytest.approx(
        one.log_marginal_likelihood_ - 23 * np.log(size), rel=1e-10
    )


@pytest.mark.parametrize("solver", DIRECT)
@pytest.mark.parametrize("intercept", [False, True])
def test_float32_within_its_rounding(solver, intercept):
    data = make_data(24, 4)
    kernel = KERNELS["linear" if SOLVERS[solver] else "gaussian"][0]
    exact = RLSRegressor(kernel, 0.5, solver=solver, fit_intercept=intercept)
    exact.fit(data.X, data.y)
    single = RLSRegressor(kernel, 0.5, solver=solver, fit_intercept=intercept)
    single.fit(data.X.astype(np.float32), data.y.astype(np.float32))
    new = data.X_new.astype(np.float32)
    found = single.predict_interval(new)
    assert found.dtype == np.float32
    assert_allclose(found, exact.predict_interval(data.X_new), atol=2e-4)
    deviations = single.predict(new, return_std=True)[1]
    assert_allclose(deviations, exact.predict(data.X_new, return_std=True)[1], rtol=1e-2)
    assert single.log_marginal_likelihood_ == pytest.approx(
        exact.log_marginal_likelihood_, rel=1e-3
    )


@pytest.mark.parametrize(("alpha", "weight"), [(1.0, 1e-40), (1e35, 1.0), (1.0, 1e-150)])
def test_noise_far_above_the_kernel(alpha, weight):
    """Beyond a λ where the matrix no longer counts, cholesky factors a smaller one."""
    data = make_data(30, 3)
    found = []
    for solver in OF_MATRICES:
        model = RLSRegressor(Gaussian(1.0), alpha, solver=solver)
        model.fit(data.X, data.y, np.full(30, weight))
        deviation = model.predict(data.X_new, return_std=True)[1]
        found.append((deviation, model.scale_, model.log_marginal_likelihood_))
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            assert_allclose(another, one, rtol=1e-8)


def test_no_posterior_without_noise():
    data = make_data(24, 4)
    model = RLSRegressor("linear", 0.0, solver="svd").fit(data.X, data.y)
    assert np.isfinite(model.predict_interval(data.X_new)).all()
    for ask in (
        lambda: model.scale_,
        lambda: model.predict(data.X_new, return_std=True),
        lambda: model.predict_interval(data.X_new, method="gaussian"),
    ):
        with pytest.raises(ValueError, match="alpha = 0"):
            ask()


def test_one_row_says_nothing_of_noise():
    model = RLSRegressor(Gaussian(1.0), 0.1).fit([[1.0]], [2.0])
    for name in ("scale_", "log_marginal_likelihood_", "leverages_"):
        assert not hasattr(model, name)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_scales_out_of_all_proportion(scale):
    data = make_data(24, 4)
    model = RLSRegressor(Gaussian(1.0), 0.1, scale=scale).fit(data.X, data.y)
    assert not np.isnan(model.log_marginal_likelihood_)


def test_interpolation_has_a_gacv():
    data = make_data(24, 4)
    model = RLSRegressor(Gaussian(0.3), 0.0, solver="spectral").fit(data.X, data.y)
    assert 0 < model.gacv_ < np.inf


def test_weights_that_vanish_in_float32_are_refused():
    data = make_data(24, 4)
    weights = np.ones(24)
    weights[:3] = 1e-100
    RLSRegressor().fit(data.X, data.y, weights)
    with pytest.raises(ScaleError, match="float64 rows"):
        RLSRegressor().fit(data.X.astype(np.float32), data.y, weights)


def test_answers_to_several_threads():
    """Each question may turn the factorisation into another one: they have to wait."""
    data = make_data(300, 3, targets=4)
    model = RLSRegressor(
        Gaussian(1.0), [0.01, 0.1, 1.0, 10.0], solver="cholesky", alpha_per_target=True
    ).fit(data.X, data.Y)
    model._record.alphas = np.array([0.01, 0.1, 1.0, 10.0])
    expected = model.predict_interval(data.X)
    with ThreadPoolExecutor(6) as pool:
        for found in pool.map(lambda _: model.predict_interval(data.X), range(12)):
            assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::squareone.errors.IllConditionedWarning")
def test_a_fit_by_spectral_is_made_again_by_spectral():
    data = make_data(24, 3)
    X, y = np.vstack([data.X, data.X]), np.concatenate([data.y, data.y + 0.01])
    model = RLSRegressor(Gaussian(3.0), 1e-15).fit(X, y)
    assert model.plan_.solver == "spectral"
    again = pickle.loads(pickle.dumps(model)).predict_interval(data.X_new)
    assert_allclose(again, model.predict_interval(data.X_new), rtol=1e-3)


@pytest.mark.parametrize("n", [4, 19, 29, 40, 99])
def test_the_largest_coverage_there_is(n):
    """n/(n + 1), however a computer rounds it."""
    rng = np.random.default_rng(n)
    X, y = rng.standard_normal((n, 1)), rng.standard_normal(n)
    model = RLSRegressor(Gaussian(1.0), 1.0).fit(X, y)
    found = model.predict_interval(X, n / (n + 1), "jackknife")
    errors = np.abs(y - model.loo_predictions_)
    assert_allclose(np.ptp(found, axis=-1), 2.0 * errors.max(), rtol=1e-9)
    with pytest.raises(ValueError, match="needs at least"):
        model.predict_interval(X, (n + 0.5) / (n + 1), "jackknife")
