"""Kernels with a metric: the plain kernel of rows in other coordinates."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix, random_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from squareone import IncrementalRLSRegressor, OROLSRegressor, RLSClassifier, RLSRegressor, load
from squareone.errors import FileFormatError, ScaleError
from squareone.fitting.part_states import check_kernel
from squareone.kernels import Gaussian, Laplacian, Linear, Matern
from squareone.kernels.names import other_kernels
from squareone.kernels.tiles import kernel_columns, kernel_product
from squareone.kernels.widths import WidthFamily
from tests.rows.data import peak_of

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((40, 4)) + 5, rng.standard_normal((17, 4)) + 5
R = rng.standard_normal((4, 2))
w = np.array([0.5, 2.0, 0.0, 1.0])
y = np.sin(2 * X @ R[:, 0]) + 0.3 * rng.standard_normal(40)

# kernels with a metric, the plain ones, and rows in the coordinates of those
CASES = {
    "gaussian": (Gaussian(2.0, metric=R), Gaussian(2.0), R),
    "gaussian, one direction": (Gaussian(2.0, metric=R[:, :1]), Gaussian(2.0), R[:, :1]),
    "gaussian, more directions": (Gaussian(3.0, metric=R @ R.T), Gaussian(3.0), R @ R.T),
    "gaussian, weights": (Gaussian(2.0, metric=w), Gaussian(2.0), np.diag(w)),
    "matern 1/2": (Matern(2.0, 0.5, metric=R), Matern(2.0, 0.5), R),
    "matern 3/2": (Matern(2.0, 1.5, metric=R), Matern(2.0, 1.5), R),
    "matern 5/2": (Matern(2.0, 2.5, metric=R), Matern(2.0, 2.5), R),
    "matern, weights": (Matern(2.0, metric=w), Matern(2.0), np.diag(w)),
    "laplacian": (Laplacian(2.0, metric=w), Laplacian(2.0), np.diag(w)),
    "list": (Gaussian(2.0, metric=R.tolist()), Gaussian(2.0), R),
    "integers": (Laplacian(2.0, metric=[1, 0, 2, 3]), Laplacian(2.0), np.diag([1.0, 0, 2, 3])),
}
each_case = pytest.mark.parametrize(("kernel", "plain", "A"), CASES.values(), ids=CASES)
each_dtype = pytest.mark.parametrize("dtype", [np.float64, np.float32])
KINDS = [Gaussian, Matern, Laplacian]


@pytest.fixture(params=[7, 512], ids=["small tiles", "one tile"])
def _tiles(request, monkeypatch):
    monkeypatch.setattr("squareone.arrays.TILE", request.param)
    monkeypatch.setattr("squareone.kernels.tiles.TILE", request.param)


# --- values ---


@pytest.mark.usefixtures("_tiles")
@each_case
@each_dtype
@pytest.mark.parametrize("kind", [np.asarray, csr_array, csr_matrix])
def test_the_plain_kernel_of_other_coordinates(kernel, plain, A, dtype, kind):
    rows, others = kind(X.astype(dtype)), kind(Y.astype(dtype))
    # Matérn 1/2 takes the root of what rounding leaves, and sparse rows are not centred
    tolerance = 1e-12 if dtype == np.float64 else 2e-4 if kind is np.asarray else 2e-3
    K, rectangle = kernel(rows), kernel(rows, others)
    assert K.dtype == rectangle.dtype == dtype
    assert_allclose(K, plain(X @ A), rtol=0, atol=tolerance)
    assert_allclose(rectangle, plain(X @ A, Y @ A), rtol=0, atol=tolerance)
    assert_allclose(kernel(rows, Y), rectangle, rtol=0, atol=tolerance)
    assert_array_equal(K, K.T)
    ready = kernel.resolve(rows, None)
    assert_array_equal(ready.diagonal(rows), np.ones(40, dtype))
    C = rng.standard_normal((17, 3)).astype(dtype)
    expected = plain(X @ A, Y @ A) @ C
    assert_allclose(kernel_product(ready, rows, others, C), expected, rtol=0, atol=50 * tolerance)
    assert_allclose(kernel_columns(ready, rows)(others), rectangle, rtol=0, atol=tolerance)


@each_case
def test_sums_and_products(kernel, plain, A):
    whole = 0.5 * kernel + kernel * Linear() + Gaussian(1.0)
    K = plain(X @ A)
    assert_allclose(whole(X), 0.5 * K + K * (X @ X.T) + Gaussian(1.0)(X), rtol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_metric_nothing_changes(kind):
    """To the last bit; and ones for every feature are the plain kernel."""
    assert_array_equal(kind(2.0, metric=None)(X, Y), kind(2.0)(X, Y))
    assert_array_equal(kind(2.0, metric=np.ones(4))(X, Y), kind(2.0)(X, Y))
    assert str(kind(2.0)) == str(kind(2.0, metric=None))
    assert "metric" not in str(kind(2.0)) + repr(kind(2.0))


@pytest.mark.parametrize("kind", [Gaussian, Matern])
def test_only_distances_count(kind):
    """A rotation changes nothing, and σR is as good as a width of one over σ."""
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    assert_allclose(kind(2.0, metric=turn)(X), kind(2.0)(X), rtol=1e-12)
    assert_allclose(kind(2.0, metric=3.0 * R)(X), kind(2.0 / 3.0, metric=R)(X), rtol=1e-12)


@each_dtype
@pytest.mark.parametrize("kernel", [Gaussian(1.7, metric=R), Laplacian(1.7, metric=w)], ids=str)
def test_rows_far_from_zero_keep_their_digits(kernel, dtype):
    far = (X + 1e6).astype(dtype)
    eps = np.finfo(dtype).eps
    assert_allclose(kernel(far), kernel(far - dtype(1e6)), rtol=100 * eps, atol=20 * eps)


def test_a_direction_that_does_not_count():
    free = np.array([R[1, 0], -R[0, 0], 0.0, 0.0])  # orthogonal to the only direction
    one = Gaussian(1.0, metric=R[:, :1])
    assert_allclose(one(X, X + 3.0 * free), one(X), atol=1e-12)


# --- widths ---


@each_case
def test_the_median_is_that_of_distances_in_the_metric(kernel, plain, A):
    found = clone(kernel).set_params(sigma="median").resolve(X, np.random.RandomState(0))
    expected = clone(plain).set_params(sigma="median").resolve(X @ A, np.random.RandomState(0))
    assert found.sigma == pytest.approx(expected.sigma, rel=1e-12)
    assert_array_equal(found.metric, kernel.metric)
    median = clone(kernel).set_params(sigma="median")
    sparse = median.resolve(csr_array(X), np.random.RandomState(0))
    assert sparse.sigma == pytest.approx(expected.sigma, rel=1e-9)


@each_case
def test_one_set_of_distances_serves_every_width(kernel, plain, A):
    free = clone(kernel).set_params(sigma="auto").resolve(X, None)
    family = WidthFamily(free, "sigma", X, 2.0)
    lower = np.tril_indices(40)
    for scale in (0.5, 1.0, 3.0):
        expected = clone(plain).set_params(sigma=2.0 * scale)(X @ A)
        assert_allclose(family.matrix(scale)[lower], expected[lower], atol=1e-7)


@each_case
@pytest.mark.parametrize("solver", ["cholesky", "spectral"])
def test_a_fit_is_that_of_the_other_coordinates(kernel, plain, A, solver):
    """The width is searched in them, too, as far as rounding lets two searches end alike."""
    free, other = (clone(k).set_params(sigma="auto") for k in (kernel, plain))
    ours = RLSRegressor(free, [0.03, 0.3], solver=solver).fit(X, y)
    theirs = RLSRegressor(other, [0.03, 0.3], solver=solver).fit(X @ A, y)
    assert ours.kernel_.sigma == pytest.approx(theirs.kernel_.sigma, rel=1e-4)
    assert ours.alpha_ == theirs.alpha_
    assert_allclose(ours.predict(Y), theirs.predict(Y @ A), rtol=1e-4, atol=1e-4)
    assert_allclose(ours.loo_predictions_, theirs.loo_predictions_, rtol=1e-4, atol=1e-4)


@each_case
def test_centers_greedy_fits_and_streams(kernel, plain, A):
    for solver in ("rectangle", "nystrom", "pcg"):
        how = {"alpha": 0.1, "centers": 10, "solver": solver}
        ours = RLSRegressor(kernel, **how).fit(X, y)
        theirs = RLSRegressor(plain, **how).fit(X @ A, y)
        assert_allclose(ours.predict(Y), theirs.predict(Y @ A), rtol=1e-5, atol=1e-6)
    greedy = OROLSRegressor(kernel, max_centers=5, random_state=0).fit(X, y)
    other = OROLSRegressor(plain, max_centers=5, random_state=0).fit(X @ A, y)
    assert_allclose(greedy.predict(Y), other.predict(Y @ A), rtol=1e-5, atol=1e-6)
    stream = IncrementalRLSRegressor(kernel, alpha=0.1).partial_fit(X[:20], y[:20])
    stream.partial_fit(X[20:], y[20:])
    other = IncrementalRLSRegressor(plain, alpha=0.1).partial_fit(X @ A, y)
    assert_allclose(stream.predict(Y), other.predict(Y @ A), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(metric=R), Laplacian(metric=w)], ids=str)
@pytest.mark.parametrize("estimator", [OROLSRegressor, IncrementalRLSRegressor])
def test_files_of_greedy_fits_and_streams(estimator, kernel, tmp_path):
    model = estimator(kernel).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    assert_array_equal(load(tmp_path / "model.safetensors").predict(Y), model.predict(Y))


@pytest.mark.parametrize("metric", [R[:3], w[:3]])
def test_a_file_with_a_metric_of_other_features(metric):
    with pytest.raises(FileFormatError, match=r"metric has shape \(3,.*there are 4 features"):
        check_kernel(Matern(1.0, metric=metric) + 1.0, 4, "kernel")


def test_a_feature_that_a_stream_has_not_had_has_no_place_in_a_metric():
    kernel = Gaussian(1.0, metric=R[:2])
    stream = IncrementalRLSRegressor(kernel, alpha=0.1, new_features="add").start(["a", "b"])
    stream.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    with pytest.raises(ValueError, match=r"array of shape \(2, 2\).*for another feature"):
        stream.learn_one({"a": 1.0, "b": 2.0, "c": 3.0}, 1.0)


def test_a_metric_answers_for_units():
    """No advice to standardise features, nor to look for a width for each."""
    units = np.array([1.0, 1.0, 1e4, 1.0])
    model = RLSRegressor(Gaussian(metric=1.0 / units)).fit(X * units, y)  # a warning is an error
    assert np.isfinite(model.predict(Y * units)).all()
    assert "Gaussian(ard=True)" not in other_kernels(Gaussian(metric=R), relevance=True)
    assert "Gaussian(ard=True)" in other_kernels(Gaussian(), relevance=True)


# --- a parameter ---


@each_case
def test_manners_of_a_parameter(kernel, plain, A):
    copy = clone(kernel)
    assert copy.metric is not kernel.metric
    assert_array_equal(copy(X), kernel(X))
    assert_array_equal(pickle.loads(pickle.dumps(kernel))(X), kernel(X))
    assert kernel.get_params()["metric"] is kernel.metric
    assert_array_equal(clone(plain).set_params(metric=kernel.metric)(X), kernel(X))
    assert clone(kernel).set_params(metric=None).metric is None
    nested = (kernel + 1.0).set_params(first__metric=None)
    assert nested.first.metric is None


def test_a_search_over_metrics():
    search = GridSearchCV(RLSRegressor(Gaussian(2.0)), {"kernel__metric": [None, R, w]}, cv=3)
    search.fit(X, y)
    assert search.best_params_["kernel__metric"] is not None


def test_fit_leaves_the_users_metric_alone():
    mine = np.asfortranarray(R.astype(np.float32))
    model = RLSRegressor(Gaussian(metric=mine), alpha=0.1).fit(X, y)
    assert model.kernel.metric is mine
    assert_array_equal(model.kernel_.metric, mine)
    before = model.predict(Y)
    mine[...] = 0.0
    assert_array_equal(model.predict(Y), before)


def test_a_large_metric_is_not_printed_in_full():
    large = Gaussian(2.0, metric=rng.standard_normal((200, 30)))
    assert str(large) == "Gaussian(metric=array of shape (200, 30), sigma=2)"
    assert str(Laplacian(2.0, metric=np.arange(9.0))).startswith("Laplacian(metric=[0, 1, 2, 3, 4")
    assert len(str(Gaussian(2.0, metric=large.metric.tolist()))) < 120
    for shown in (large, large + Linear(), RLSClassifier(large)):
        assert len(repr(shown)) < 1200


BAD = {
    "text": (Gaussian(1.0, metric="mahalanobis"), "array of shape .d, r.*'mahalanobis'"),
    "number": (Gaussian(1.0, metric=2.0), r"array of shape \(d, r\).*got one of shape \(\)"),
    "three axes": (Gaussian(1.0, metric=np.ones((4, 2, 2))), r"got one of shape \(4, 2, 2\)"),
    "ragged": (Gaussian(1.0, metric=[[1.0], [1.0, 2.0]]), r"array of shape \(d, r\)"),
    "objects": (Gaussian(1.0, metric=np.full((4, 2), None)), "array of shape .* of object"),
    "complex": (Matern(1.0, metric=np.ones((4, 2)) * 1j), "of complex128"),
    "truth values": (Gaussian(1.0, metric=np.ones((4, 2), bool)), "of bool"),
    "no columns": (Gaussian(1.0, metric=np.ones((4, 0))), r"shape \(4, 0\).* at least one column"),
    "nothing": (Laplacian(1.0, metric=[]), r"got one of shape \(0,\)"),
    "NaN": (Gaussian(1.0, metric=np.full((4, 2), np.nan)), "NaN or infinity"),
    "infinity": (Laplacian(1.0, metric=[1.0, np.inf, 1.0, 1.0]), "NaN or infinity"),
    "zeros": (Gaussian(1.0, metric=np.zeros((4, 2))), "all zero: every row would be alike"),
    "no weight": (Laplacian(1.0, metric=np.zeros(4)), "all zero: every row would be alike"),
    "negative": (Laplacian(1.0, metric=-w), "a weight is below zero"),
    "negative weights": (Gaussian(1.0, metric=-w), "a weight is below zero"),
    "directions of L1": (
        Laplacian(1.0, metric=R),
        r"Laplacian\(metric=\.\.\.\): a weight for every feature, an array of shape \(d,\)",
    ),
    "features": (Gaussian(1.0, metric=R[:3]), r"metric of shape \(3, 2\).*X of shape \(40, 4\)"),
    "weights": (Laplacian(1.0, metric=w[:3]), r"metric of shape \(3,\).*X of shape \(40, 4\)"),
    "in a sum": (Linear() + Matern(1.0, metric=R[:3]), r"shape \(3, 2\).*shape \(40, 4\)"),
    "widths": (Gaussian([1.0] * 4, metric=R), "one width.*metric"),
    "relevance": (Gaussian(ard=True, metric=R), r"ard=True.*metric"),
}


@pytest.mark.parametrize(("kernel", "message"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_what_is_no_metric_is_refused(kernel, message, kind):
    with pytest.raises(ValueError, match=message):
        kernel(kind(X))
    with pytest.raises(ValueError, match=message):
        RLSRegressor(kernel).fit(kind(X), y)


@each_dtype
def test_rows_out_of_range_are_refused(dtype):
    far = dtype(np.finfo(dtype).max ** 0.4)
    for kernel in (Gaussian(1.0, metric=far * R), Laplacian(1.0, metric=far * w)):
        with pytest.raises(ScaleError, match=f"overflows {np.dtype(dtype).name}"):
            kernel((X * far).astype(dtype))
    with pytest.raises(ScaleError, match="overflows float32"):  # the metric itself
        Gaussian(1e30, metric=1e39 * R)((X * 1e-20).astype(np.float32))


# --- memory ---


@pytest.mark.thorough
def test_few_directions_of_many_features():
    """Rows become dense in r coordinates, in memory for those, once and not for every tile."""
    n, d = 1500, 20_000
    rows = random_array((n, d), density=1e-3, format="csr", random_state=0)
    few = Gaussian(1.0, metric=np.ones((d, 3)))
    assert peak_of(lambda: few(rows)) < 1.5 * 8 * n * n
    wide = rng.standard_normal((2000, 300))
    low = Gaussian(1.0, metric=rng.standard_normal((300, 2)))
    assert peak_of(lambda: low(wide, wide[:10])) < 0.6 * wide.nbytes


def test_rows_are_projected_once(monkeypatch):
    monkeypatch.setattr("squareone.arrays.TILE", 7)
    monkeypatch.setattr("squareone.kernels.tiles.TILE", 7)
    calls = []
    kernel = Gaussian(2.0, metric=R)
    before = Gaussian.in_metric
    monkeypatch.setattr(Gaussian, "in_metric", lambda *a: calls.append(1) or before(*a))
    kernel(X)
    assert len(calls) == 2  # on the left and on the right
