"""Intervals whose width depends on the row, and bounds of targets."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

import squareone
from squareone import RLSRegressor
from squareone.centers import Given
from squareone.errors import FileFormatError, MemoryLimitError
from squareone.fitting.error_scale import MOST_CENTERS
from squareone.kernels import Gaussian
from squareone.rows import GeneratedRows
from squareone.solvers.registry import SOLVERS
from tests.laws.cases import KERNELS, make_data, reference_kernel
from tests.laws.test_against_refits import under_all_conditions
from tests.reference import brute_force, left_out_models

COVERAGE = 0.7
ADAPTIVE = {"coverage": COVERAGE, "method": "adaptive"}


def noisy(n, seed=0):
    """Noise that grows thirtyfold with the first of two features: rows, targets, deviations."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    deviations = np.exp(1.7 * X[:, 0])
    return X, 3.0 * np.sin(2.0 * X[:, 1]) + deviations * rng.standard_normal(n), deviations


def by_tenths(order, inside):
    """Shares covered in each tenth of the rows, in this order."""
    return np.array([part.mean() for part in np.array_split(inside[np.argsort(order)], 10)])


# --- against refits ---


@under_all_conditions
@pytest.mark.parametrize("targets", [1, 2])
def test_refits_of_one_more_column(solver, kernel, weighted, intercept, shape, targets):
    data = make_data(*shape, targets=targets, weighted=weighted)
    K = reference_kernel(kernel, data.X, data.X)
    K_new = reference_kernel(kernel, data.X_new, data.X)
    model = RLSRegressor(
        KERNELS[kernel][0], 0.3, solver=solver, fit_intercept=intercept, tol=1e-12
    ).fit(data.X, data.y, data.weights)
    found = model.predict_interval(data.X_new, **ADAPTIVE).reshape(5, -1, 2)
    alphas = model._record.error_scale.alphas
    assert alphas.shape == (targets,)
    lower, upper = left_out_models.adaptive_interval(
        K, K_new, data.Y, 0.3, alphas, COVERAGE, data.weights, intercept
    )
    condition = 1.0 + np.linalg.norm(K, 2) / alphas.min()
    rtol = max(1e-7, 1e4 * np.finfo(float).eps * condition)
    width = (upper - lower).max()
    assert_allclose(found[..., 0], lower, atol=rtol * width)
    assert_allclose(found[..., 1], upper, atol=rtol * width)


@pytest.mark.parametrize("weighted", [False, True])
def test_its_lambda_has_the_least_left_out_error(weighted):
    data = make_data(40, 2, weighted=weighted)
    model = RLSRegressor(Gaussian(2.0), 0.3).fit(data.X, data.y, data.weights)
    (chosen,) = model._record.error_scale.alphas
    K, kept = Gaussian(2.0)(data.X), model._record.kept
    sizes = np.abs(model.loo_residuals_)[:, None]
    roots = (sizes / sizes[kept].mean()) ** 0.25

    def error(alpha):
        values = brute_force.leave_one_out_values(K, roots, alpha, data.weights, True)
        return np.average(
            (roots - values)[kept, 0] ** 2,
            weights=None if data.weights is None else data.weights[kept],
        )

    grid = chosen * np.array([0.1, 0.5, 1.0, 2.0, 10.0])
    assert error(chosen) <= min(map(error, grid)) * (1 + 1e-3)


# --- every solver and way to be asked ---


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_solvers_agree(weighted, intercept):
    data = make_data(60, 3, targets=2, weighted=weighted)
    found = {}
    for kernel, solver in [
        *[("linear", solver) for solver in ("svd", "gram", "spectral", "cholesky", "krylov")],
        *[("gaussian", solver) for solver in ("spectral", "cholesky")],
    ]:
        model = RLSRegressor(
            KERNELS[kernel][0], 0.3, solver=solver, fit_intercept=intercept, tol=1e-12
        )
        model.fit(data.X, data.Y, data.weights)
        found[kernel, solver] = model.predict_interval(data.X_new, **ADAPTIVE)
    for (kernel, solver), intervals in found.items():
        expected = found[kernel, "spectral"]
        # where other λ cost more, another one of nearly the same error may be taken
        rtol = 0.05 if solver == "krylov" else 1e-6
        assert_allclose(intervals, expected, atol=rtol * np.ptp(expected), err_msg=solver)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(60, 4), (40, 70)], ids=str)
@pytest.mark.parametrize("solver", ["svd", "gram", "spectral", "cholesky", "krylov"])
def test_features_of_some_rows(solver, shape, sparse, weighted):
    """The factorisation of these rows, as if the others had never been."""
    if sparse and solver == "svd" and shape[0] < shape[1]:
        pytest.skip("it takes no sparse rows of so many features")
    data = make_data(*shape, targets=2, weighted=weighted)
    X, some = data.X + 3.0, np.arange(1, shape[0], 3)
    if sparse:  # of features that no row has, or none of these rows
        X[np.abs(data.X) < 0.5] = 0.0
        X[:, 1], X[some, 2] = 0.0, 0.0
        X = csr_array(X)
    weights = None if data.weights is None else data.weights + 0.5
    settings = {"kernel": "linear", "alpha": 0.3, "solver": solver, "tol": 1e-12}
    model = RLSRegressor(**settings).fit(X, data.Y, weights)
    with model._record.answering("") as factor:
        found = factor.of_some_rows(data.Y[some], some, 1000)
    alone = RLSRegressor(**settings).fit(
        X[some], data.Y[some], None if weights is None else weights[some]
    )
    alphas = np.full(2, 0.3)
    coefficients, intercepts = found.coefficients(alphas)
    assert_allclose(coefficients, alone.coef_.T, rtol=1e-7, atol=1e-9)
    assert_allclose(intercepts, alone.intercept_, rtol=1e-7, atol=1e-9)
    errors = found.weighting.unscale(found.left_out_by_target(alphas))
    rtol = 1e-5 if solver == "krylov" else 1e-7
    assert_allclose(errors, alone.loo_residuals_, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_every_solver_can(solver):
    X, y, _ = noisy(100)
    settings = {"centers": 20} if solver.with_centers else {}
    kernel = "linear" if solver.needs_linear else Gaussian(1.0)
    model = RLSRegressor(kernel, 0.3, solver=solver.name, **settings).fit(X, y)
    low, high = model.predict_interval(X, COVERAGE, "adaptive").T
    rows = model._record.kept  # of "subset" only the centers
    assert ((low <= y) & (y <= high))[rows].mean() > COVERAGE - 0.1
    assert np.ptp(high - low) > 0


@pytest.mark.parametrize("solver", ["rectangle", "nystrom", "pcg"])
@pytest.mark.parametrize("weighted", [False, True])
def test_centers_that_are_all_rows(solver, weighted):
    """The size is that of the fit without centers, of the errors that this solver has."""
    data = make_data(50, 2, weighted=weighted)
    every = np.arange(50) if data.weights is None else np.flatnonzero(data.weights)
    centers = Given(data.X[every], indices=every)
    few = RLSRegressor(Gaussian(1.0), 0.3, solver=solver, centers=centers, tol=1e-12)
    few.fit(data.X, data.y, data.weights)
    exact = RLSRegressor(Gaussian(1.0), 0.3).fit(data.X, data.y, data.weights)
    rtol = 0.15 if solver == "pcg" else 1e-5  # its leverages are estimates
    expected = exact.predict_interval(data.X_new, **ADAPTIVE)
    found = few.predict_interval(data.X_new, **ADAPTIVE)
    assert_allclose(found, expected, atol=rtol * np.ptp(expected))


@pytest.mark.parametrize("solver", ["rectangle", "nystrom", "pcg"])
def test_only_scored_rows_are_read(solver):
    X, y, _ = noisy(300)
    model = RLSRegressor(Gaussian(1.0), 0.3, solver=solver, centers=30, loo_rows=120)
    model.fit(X, y)
    record = model._record
    for method in ("adaptive", "jackknife"):
        found = model.predict_interval(X[:5], method=method)
        assert_array_equal(found, model.predict_interval(X[:5], method=method, loo_rows=None))
        assert np.isfinite(found).all()
    assert record.error_scale.left_out.shape == (120, 1)
    assert "leave_one_out_values" not in vars(record)
    # who replaces them is believed
    del record.scored_values
    record.scored_values = record.columns[record.kept[record.scored]] - 7.0
    record._error_scale = None
    low, high = model.predict_interval(X[:5], method="adaptive").T
    assert_allclose(high - low, 14.0, rtol=1e-5)
    low, high = model.predict_interval(X[:5], method="jackknife").T
    assert_allclose(high - low, 14.0, rtol=1e-12)


def test_scored_rows_of_a_kernel_of_all_rows():
    """As a fit has them whose kernel was learned from the other rows."""
    X, y, _ = noisy(200)
    model = RLSRegressor(Gaussian(1.0), 0.3).fit(X, y)
    record = model._record
    del record.scored_values
    record.scored = np.arange(50, 150)
    found = model.predict_interval(X[:5], **ADAPTIVE)
    assert record.error_scale.left_out.shape == (100, 1)
    alone = RLSRegressor(Gaussian(1.0), record.error_scale.alphas[0])
    sizes = np.abs(model.loo_residuals_[50:150])
    alone.fit(X[50:150], (sizes / sizes.mean()) ** 0.25)
    ratios = sizes / (sizes.mean() * alone.loo_predictions_**4)
    wide = np.sort(ratios)[70] * sizes.mean() * alone.predict(X[:5]) ** 4
    assert_allclose(found[:, 1] - model.predict(X[:5]), wide, rtol=1e-6)


@pytest.mark.parametrize("rows", [50, None])
def test_the_quantile_is_over_the_rows_asked_for(rows):
    X, y, _ = noisy(200)
    model = RLSRegressor(Gaussian(1.0), 0.3).fit(X, y)
    every = model.predict_interval(X[:5], **ADAPTIVE)
    found = model.predict_interval(X[:5], **ADAPTIVE, loo_rows=rows)
    ratio = np.ptp(found, axis=1) / np.ptp(every, axis=1)
    assert_allclose(ratio, ratio[0])  # the size is learned from all of them
    assert (ratio[0] == 1.0) == (rows is None)


def test_more_rows_than_centers():
    X, y, deviations = noisy(MOST_CENTERS + 300)
    models = [
        RLSRegressor(Gaussian(1.0), 1.0, solver=solver).fit(X, y)
        for solver in ("cholesky", "spectral")
    ]
    found = [model.predict_interval(X, method="adaptive") for model in models]
    assert_allclose(found[0], found[1], rtol=1e-6)
    assert models[0]._record.error_scale.model.centers.shape[0] <= MOST_CENTERS
    widths = np.ptp(found[0], axis=1)
    assert np.corrcoef(np.log(widths), np.log(deviations))[0, 1] > 0.9


@pytest.mark.parametrize("alpha", [0.3, "auto"])
@pytest.mark.parametrize("solver", ["cholesky", "spectral"])
def test_a_precomputed_kernel(solver, alpha):
    data = make_data(40, 3, weighted=True)
    kernel = Gaussian(2.0)
    plain = RLSRegressor(kernel, alpha, solver=solver).fit(data.X, data.y, data.weights)
    given = RLSRegressor("precomputed", alpha, solver=solver)
    given.fit(kernel(data.X), data.y, data.weights)
    # the factorisation is still there for what is asked afterwards
    before = given.predict_interval(kernel(data.X_new, data.X))
    found = given.predict_interval(kernel(data.X_new, data.X), **ADAPTIVE)
    expected = plain.predict_interval(data.X_new, **ADAPTIVE)
    assert_allclose(found, expected, atol=1e-7 * np.ptp(expected))
    assert_array_equal(given.predict_interval(kernel(data.X_new, data.X)), before)


def test_a_precomputed_kernel_needs_memory():
    K = Gaussian(1.0)(noisy(200)[0])
    model = RLSRegressor("precomputed", 0.3, solver="cholesky").fit(K, noisy(200)[1])
    model._record.memory_limit = 1000
    with pytest.raises(MemoryLimitError, match="adaptive"):
        model.predict_interval(K, **ADAPTIVE)


def test_the_left_out_values_of_all_rows_are_needed_without_rows():
    X, y, _ = noisy(60)
    X = X @ X.T
    model = RLSRegressor("precomputed", 0.3).fit(X, y)
    del model._record.scored_values
    model._record.scored = np.arange(30)
    with pytest.raises(ValueError, match="30 of 60 rows"):
        model.predict_interval(X, **ADAPTIVE)


@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": "linear", "solver": "gram"},
        {"kernel": "linear", "solver": "krylov", "tol": 1e-10},
        {"kernel": Gaussian(1.0), "solver": "rectangle", "centers": 20},
        {"kernel": Gaussian(1.0), "solver": "pcg", "centers": 20, "loo_rows": 60},
        {"kernel": Gaussian(1.0), "solver": "cholesky"},
    ],
    ids=lambda settings: settings["solver"],
)
def test_streams(settings):
    X, y, _ = noisy(150)

    def blocks():
        for start in range(0, 150, 40):
            yield X[start : start + 40]

    stream = GeneratedRows(blocks, X.shape, X.dtype)
    settings = {"alpha": 0.3, "random_state": 0, **settings}
    found = RLSRegressor(**settings).fit(stream, y).predict_interval(stream, **ADAPTIVE)
    expected = RLSRegressor(**settings).fit(X, y).predict_interval(X, **ADAPTIVE)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_several_targets_are_one_at_a_time():
    data = make_data(40, 2, targets=2)
    both = RLSRegressor(Gaussian(1.0), [0.1, 1.0, 10.0], alpha_per_target=True)
    both.fit(data.X, data.Y)
    found = both.predict_interval(data.X_new, **ADAPTIVE)
    assert found.shape == (5, 2, 2)
    for j, alpha in enumerate(both.alpha_):
        one = RLSRegressor(Gaussian(1.0), alpha, solver="spectral").fit(data.X, data.Y[:, j])
        assert_allclose(found[:, j], one.predict_interval(data.X_new, **ADAPTIVE), rtol=1e-8)


def test_units_and_rows_of_weight_zero():
    data = make_data(40, 2, weighted=True)
    model = RLSRegressor(Gaussian(1.0), 0.3).fit(data.X, data.y, data.weights)
    found = model.predict_interval(data.X_new, **ADAPTIVE)
    kept = np.flatnonzero(data.weights)
    alone = RLSRegressor(Gaussian(1.0), 0.3).fit(data.X[kept], data.y[kept], data.weights[kept])
    assert_allclose(alone.predict_interval(data.X_new, **ADAPTIVE), found, rtol=1e-10)
    large = RLSRegressor(Gaussian(1.0), 0.3).fit(data.X, 1e9 * data.y, data.weights)
    assert_allclose(large.predict_interval(data.X_new, **ADAPTIVE), 1e9 * found, rtol=1e-8)


def test_float32():
    X, y, _ = noisy(300)
    double = RLSRegressor(Gaussian(1.0), 0.3).fit(X, y)
    single = RLSRegressor(Gaussian(1.0), 0.3).fit(X.astype(np.float32), y.astype(np.float32))
    found = single.predict_interval(X.astype(np.float32), **ADAPTIVE)
    assert found.dtype == np.float32
    expected = double.predict_interval(X, **ADAPTIVE)
    assert_allclose(found, expected, atol=0.02 * np.ptp(expected))


def test_targets_that_are_met_exactly():
    X = np.linspace(0.0, 1.0, 30)[:, None]
    model = RLSRegressor("linear", 1.0).fit(X, np.full(30, 2.0))
    assert_allclose(model.predict_interval(X, method="adaptive"), 2.0)


def test_far_from_all_rows():
    """A hyperplane goes to infinity, or below zero; the size stays between two errors."""
    X, y, _ = noisy(200)
    model = RLSRegressor("linear").fit(X, y)
    widths = np.ptp(model.predict_interval([[-1e6, 0.0], [1e6, 0.0]], method="adaptive"), axis=1)
    scale = model._record.error_scale
    assert_allclose(widths[1] / widths[0], scale.largest[0] / (0.02 * scale.typical[0]))


def test_a_left_out_value_that_is_no_number():
    X = np.arange(5.0)[:, None]
    model = RLSRegressor(Gaussian(1.0), 1.0).fit(X, X[:, 0])
    values = model._record.leave_one_out_values.copy()
    values[3] = np.nan
    model._record.leave_one_out_values = values
    del model._record.scored_values
    with pytest.raises(ValueError, match="1 of 5 are not finite, that of row 3"):
        model.predict_interval(X, 0.5, "adaptive")


# --- what is seen ---


@pytest.mark.parametrize(
    ("kernel", "off"),
    [(Gaussian(sigma=1.0), 0.06), ("linear", 0.14)],  # a hyperplane cannot follow the noise
    ids=["gaussian", "linear"],
)
def test_wide_and_narrow_intervals_cover_alike(kernel, off):
    X, y, _ = noisy(1500)
    new, truth, deviations = noisy(6000, seed=1)
    model = RLSRegressor(kernel).fit(X, y)
    low, high = model.predict_interval(new, 0.9, "adaptive").T
    inside, widths = (low <= truth) & (truth <= high), high - low
    assert inside.mean() == pytest.approx(0.9, abs=0.02)
    assert np.corrcoef(np.log(widths), np.log(deviations))[0, 1] > 0.9
    adaptive = by_tenths(widths, inside)
    assert np.abs(adaptive - 0.9).max() < off
    low, high = model.predict_interval(new, 0.9, "jackknife").T
    constant = by_tenths(widths, (low <= truth) & (truth <= high))
    assert constant.min() < 0.6
    assert constant.max() > 0.99
    assert widths.mean() < (high - low).mean()


def test_noise_that_is_the_same_everywhere():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (800, 2))
    y = np.sin(3.0 * X[:, 0]) + rng.standard_normal(800)
    model = RLSRegressor(Gaussian(1.0)).fit(X, y)
    widths, constant = (
        np.ptp(model.predict_interval(X, 0.9, method), axis=1)
        for method in ("adaptive", "jackknife")
    )
    assert widths.mean() == pytest.approx(constant.mean(), rel=0.05)
    assert widths.std() < 0.25 * widths.mean()


# --- once per fit, and what lasts ---


def test_it_is_learned_once(monkeypatch):
    X, y, _ = noisy(200)
    model = RLSRegressor(Gaussian(1.0), 0.3).fit(X, y)
    calls = []
    learn = squareone.fitting.result.learn_error_scale
    monkeypatch.setattr(
        squareone.fitting.result, "learn_error_scale", lambda r: calls.append(r) or learn(r)
    )
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: model.predict_interval(X, **ADAPTIVE), range(8)))
    assert len(calls) == 1
    for each in found:
        assert_array_equal(each, found[0])


ANY_MODEL = {
    "gaussian": {"kernel": Gaussian(1.0)},
    "linear": {"kernel": "linear"},
    "centers": {"kernel": Gaussian(1.0), "centers": 30},
    "nystrom": {"kernel": Gaussian(1.0), "centers": 30, "solver": "nystrom"},
    "some rows": {"kernel": Gaussian(1.0), "centers": 30, "loo_rows": 100},
}


@pytest.mark.parametrize("settings", ANY_MODEL.values(), ids=ANY_MODEL)
def test_it_goes_into_files(settings, tmp_path):
    X, y, _ = noisy(200)
    model = RLSRegressor(alpha=0.3, **settings).fit(X, y)
    expected = model.predict_interval(X, **ADAPTIVE)
    model.save(tmp_path / "model.safetensors")
    loaded = squareone.load(tmp_path / "model.safetensors")
    for again in (loaded, pickle.loads(pickle.dumps(model)), pickle.loads(pickle.dumps(loaded))):
        assert_array_equal(again.predict_interval(X, **ADAPTIVE), expected)
        assert set(vars(again._record)) == set(vars(pickle.loads(pickle.dumps(model))._record))


def test_it_goes_into_files_of_precomputed_kernels(tmp_path):
    X, y, _ = noisy(60)
    K = Gaussian(1.0)(X)
    model = RLSRegressor("precomputed", 0.3).fit(K, y)
    expected = model.predict_interval(K, **ADAPTIVE)
    model.save(tmp_path / "model.safetensors")
    loaded = squareone.load(tmp_path / "model.safetensors")
    assert_array_equal(loaded.predict_interval(K, **ADAPTIVE), expected)


def test_after_loading():
    """A model that has its rows learns it then, another one says that these are gone."""
    X, y, _ = noisy(200)
    model = RLSRegressor(Gaussian(1.0), 0.3).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    expected = model.predict_interval(X, **ADAPTIVE)
    assert_allclose(again.predict_interval(X, **ADAPTIVE), expected, rtol=1e-6)
    for settings in (ANY_MODEL["linear"], ANY_MODEL["centers"]):
        again = pickle.loads(pickle.dumps(RLSRegressor(alpha=0.3, **settings).fit(X, y)))
        with pytest.raises(AttributeError, match=r"adaptive.*factorisation, which is gone"):
            again.predict_interval(X, **ADAPTIVE)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("coefficients", np.zeros((3, 1))),
        ("intercepts", np.zeros(2)),
        ("left_out", np.zeros((3, 1))),
        ("typical", np.zeros(1)),
        ("largest", np.full(1, -1.0)),
        ("centers", np.zeros((200, 7))),
    ],
)
def test_a_file_with_another_one_is_refused(field, value, tmp_path, monkeypatch):
    X, y, _ = noisy(200)
    model = RLSRegressor(Gaussian(1.0), 0.3).fit(X, y)
    model.predict_interval(X, **ADAPTIVE)
    module = squareone.fitting.result_state
    given = module.of_error_scale
    monkeypatch.setattr(module, "of_error_scale", lambda scale: {**given(scale), field: value})
    model.save(tmp_path / "model.safetensors")
    with pytest.raises(FileFormatError, match="error_scale"):
        squareone.load(tmp_path / "model.safetensors")


# --- bounds ---


@pytest.mark.parametrize("method", ["jackknife+", "jackknife", "minmax", "adaptive", "gaussian"])
def test_bounds_move_ends_and_nothing_else(method):
    data = make_data(40, 2, targets=2)
    model = RLSRegressor(Gaussian(1.0), 0.3).fit(data.X, data.Y)
    free = model.predict_interval(data.X_new, COVERAGE, method)
    low, high = float(data.Y.min()), float(data.Y.max())
    for bounds in [(low, None), (None, high), (low, high), [low, high], (None, None)]:
        found = model.predict_interval(data.X_new, COVERAGE, method, bounds=bounds)
        ends = [-np.inf if bounds[0] is None else low, np.inf if bounds[1] is None else high]
        assert_array_equal(found, np.clip(free, *ends))


def test_intervals_beyond_the_bounds():
    model = RLSRegressor("linear", 1e-6).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.1, 2.0, 3.0])
    found = model.predict_interval([[-100.0], [100.0]], 0.5, "jackknife", bounds=(0, 3))
    assert_array_equal(found, [[0.0, 0.0], [3.0, 3.0]])


def test_bounds_in_single_precision():
    """0.3 in float32 is above 0.3, and a target of 0.3 is not outside."""
    X = np.linspace(0.0, 1.0, 20, dtype=np.float32)[:, None]
    y = np.where(np.arange(20) % 2, 0.1, 0.3).astype(np.float32)
    model = RLSRegressor("linear", 1.0).fit(X, y)
    found = model.predict_interval(X, bounds=(0.1, 0.3))
    assert found.dtype == np.float32
    assert (found[:, 0] <= 0.1).all()
    assert (found[:, 1] >= 0.3).all()
    model.predict_interval(X, bounds=(-1e300, 1e300))


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ((1.0, 1.0), "below the second"),
        ((2.0, 1.0), "below the second"),
        ((np.nan, None), "below the second"),
        ((None, np.nan), "below the second"),
        (("a", 1.0), "a pair"),
        ((1.0,), "a pair"),
        (3.0, "a pair"),
        ((4.0, None), "of the 40 targets.* lie outside, that of row"),
        ((None, 4.0), "of the 40 targets.* lie outside, that of row"),
    ],
)
def test_bad_bounds(bounds, said):
    data = make_data(40, 2)
    model = RLSRegressor(Gaussian(1.0), 0.3).fit(data.X, data.y)
    with pytest.raises(ValueError, match=said):
        model.predict_interval(data.X_new, bounds=bounds)


def test_which_targets_are_outside():
    X, y = np.arange(12.0)[:, None], np.arange(12.0)
    weights = np.ones(12)
    weights[0] = 0.0  # such a row does not count
    model = RLSRegressor("linear", 1.0).fit(X, y, weights)
    model.predict_interval(X, 0.5, bounds=(1, None))
    with pytest.raises(ValueError, match=r"3 of the 11 targets .* row 1, 1, for one"):
        model.predict_interval(X, 0.5, bounds=(4, None))
