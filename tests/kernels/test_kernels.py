"""Kernels: their formulas, their tiles, and their manners as scikit-learn parameters."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import pairwise
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from squareone import RLSRegressor, kernels
from squareone.kernels import (
    Constant,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Product,
    Sum,
)
from squareone.kernels.tiles import kernel_product
from tests.laws.cases import KERNELS, reference_kernel

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((30, 4)) + 5, rng.standard_normal((17, 4)) + 5


@pytest.fixture(params=[7, 512], ids=["small tiles", "one tile"])
def _tiles(request, monkeypatch):
    monkeypatch.setattr("squareone.arrays.TILE", request.param)
    monkeypatch.setattr("squareone.kernels.tiles.TILE", request.param)


@pytest.mark.usefixtures("_tiles")
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_formula(name, dtype):
    kernel = KERNELS[name][0]
    K = kernel(X.astype(dtype))
    rectangle = kernel(X.astype(dtype), Y.astype(dtype))
    assert K.dtype == rectangle.dtype == dtype
    tolerance = 1e-12 if dtype == np.float64 else 3e-4
    assert_allclose(K, reference_kernel(name, X, X), rtol=tolerance, atol=1e-15)
    assert_allclose(rectangle, reference_kernel(name, X, Y), rtol=tolerance, atol=1e-15)
    assert_array_equal(K, K.T)
    assert_allclose(kernel.resolve(X, None).diagonal(X), np.diag(reference_kernel(name, X, X)))


@pytest.mark.usefixtures("_tiles")
@pytest.mark.parametrize("name", KERNELS)
def test_product_without_the_matrix(name):
    C = rng.standard_normal((17, 3))
    expected = reference_kernel(name, X, Y) @ C
    kernel = KERNELS[name][0].resolve(Y, None)
    assert_allclose(kernel_product(kernel, X, Y, C), expected, rtol=1e-11)


@pytest.mark.parametrize(
    "kernel", [Gaussian(1e-3), Matern(1e-3, 0.5), Matern(1e-3, 2.5), Laplacian(1e-3)], ids=str
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_row_is_at_distance_zero_from_itself(kernel, dtype):
    """Far off centre and with a tiny width, where rounding would show."""
    rows = (rng.standard_normal((600, 3)) + 1e4).astype(dtype)
    assert_array_equal(np.diag(kernel(rows)), 1.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 3.0, 30.0, 3e3])
def test_equal_rows_are_alike_to_rounding(spread, dtype):
    """Far from the mean what rounding leaves of a distance is large; it must not exceed one."""
    some = (spread * rng.standard_normal((200, 8))).astype(dtype)
    K = Gaussian(1.0)(some, some[:50].copy())
    excess = K.max() - 1.0
    farthest = np.square(some - some.mean(axis=0)).sum(axis=1).max()
    if farthest > 64.0:
        assert excess <= 0.0
    assert excess <= 64.0 * np.finfo(dtype).eps
    if spread <= 3.0:
        # squares are added and subtracted: their rounding is what is left
        assert_allclose(np.diagonal(K), 1.0, rtol=(4.0 + farthest) * np.finfo(dtype).eps)


@pytest.mark.parametrize("kernel", [Gaussian(1.7), Laplacian(1.7), Matern(1.7)], ids=str)
def test_distances_are_taken_from_centred_rows(kernel):
    """Rows far from the origin keep their digits, those that the offset has left them."""
    assert_allclose(kernel(X + 1e6), kernel(X), rtol=1e-8)
    far = (X + 1e6).astype(np.float32)
    assert_allclose(kernel(far), kernel(far - np.float32(1e6)), rtol=1e-5)


def test_no_temporary_beyond_the_result():
    tracemalloc = pytest.importorskip("tracemalloc")
    rows = rng.standard_normal((2000, 5))
    tracemalloc.start()
    K = (Gaussian(1.0) + Linear() * Polynomial(3))(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.6 * K.nbytes  # the result, rows prepared, and a few tiles of 2 MiB


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 7, 8])
def test_integer_powers(degree):
    expected = pairwise.polynomial_kernel(X, Y, degree=degree, gamma=0.3, coef0=2.0)
    assert_allclose(Polynomial(degree, 0.3, 2.0)(X, Y), expected, rtol=1e-12)


def test_numbers_join_as_constants():
    K = (2.0 * Gaussian(1.0) + 1.0)(X)
    assert_allclose(K, 2.0 * pairwise.rbf_kernel(X, gamma=0.5) + 1.0)
    assert_allclose((1.0 + Gaussian(1.0) * 2.0)(X), K)
    with pytest.raises(TypeError, match="a kernel or a number, got 'a'"):
        Gaussian() + "a"


def test_median_width():
    distances = pairwise.euclidean_distances(X)[np.triu_indices(30, 1)]
    sigma = Gaussian("median").resolve(X, np.random.RandomState(0)).sigma
    assert_allclose(sigma, np.median(distances))
    l1 = pairwise.manhattan_distances(X)[np.triu_indices(30, 1)]
    assert_allclose(Laplacian("median").resolve(X, np.random.RandomState(0)).sigma, np.median(l1))
    same = np.ones((5, 2))
    assert Gaussian("median").resolve(same, np.random.RandomState(0)).sigma == 1.0
    mostly = np.vstack([np.zeros((20, 1)), [[3.0]]])  # more equal rows than different ones
    assert Gaussian("median").resolve(mostly, np.random.RandomState(0)).sigma == 3.0
    assert Polynomial().resolve(X, np.random.RandomState(0)).gamma == 0.25


def test_parameters_are_scikit_learns():
    kernel = Gaussian(2.0) + Constant(1.0) * Linear()
    assert kernel.get_params()["first__sigma"] == 2.0
    kernel.set_params(first__sigma=3.0, second__first__value=4.0)
    copy = clone(kernel)
    assert copy.first.sigma == 3.0
    assert copy.second.first.value == 4.0
    assert copy.first is not kernel.first
    assert_array_equal(pickle.loads(pickle.dumps(kernel))(X), kernel(X))
    assert "Gaussian(sigma=3.0)" in repr(kernel)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Gaussian(0.0), r"Gaussian\(sigma=0.0\): sigma must be a finite number above zero"),
        (Gaussian(-1.0), "above zero"),
        (Gaussian(np.nan), "above zero"),
        (Gaussian(np.inf), "above zero"),
        (Gaussian("wide"), 'above zero, "auto" or "median"'),
        (Gaussian(True), "above zero"),
        (Matern(1.0, nu=1.0), "nu must be 0.5, 1.5 or 2.5"),
        (Polynomial(0), "degree must be an integer of at least one"),
        (Polynomial(2.5), "degree must be an integer"),
        (Polynomial(2, gamma=0.0), "gamma must be a finite number above zero"),
        (Polynomial(2, coef0=-1.0), "coef0 must be a finite number at or above zero"),
        (Constant(-1.0), "value must be a finite number at or above zero"),
        (Gaussian(1.0) + Gaussian(-1.0), "sigma must be"),
    ],
    ids=str,
)
def test_parameters_out_of_range(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(X)


def test_terms_must_be_kernels():
    with pytest.raises(TypeError, match=r"Sum\(second='a'\): a kernel is expected"):
        Sum(Gaussian(), "a")(X)
    with pytest.raises(TypeError, match="no formula"):
        Product(Gaussian(), Precomputed())(X)


def test_rows_with_other_features():
    with pytest.raises(ValueError, match="X has 4 features and Y has 3"):
        Gaussian(1.0)(X, Y[:, :3])


def test_every_kernel_has_a_law():
    """A kernel that is public stands in the list the laws run over."""
    listed = {type(kernel).__name__ for kernel, _ in KERNELS.values()}
    listed |= {"Constant", "Sum", "Product", "Precomputed", "Kernel"}
    assert listed >= set(kernels.__all__)


# --- the cosine ---


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_the_cosine_is_that_of_scikit_learn(kind, dtype):
    rows = np.where(rng.random((40, 5)) < 0.6, rng.standard_normal((40, 5)), 0.0).astype(dtype)
    rows[3] = 0.0
    others = rows[::3] * dtype(7)
    tolerance = 20 * np.finfo(dtype).eps
    assert_allclose(Cosine()(kind(rows)), pairwise.cosine_similarity(rows), atol=tolerance)
    found = Cosine()(kind(rows), kind(others))
    assert_allclose(found, pairwise.cosine_similarity(rows, others), atol=tolerance)
    assert found.dtype == dtype


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_a_row_of_zeros_is_like_nothing(kind):
    """Between other rows it stays a kernel: no eigenvalue is below zero."""
    rows = np.vstack([np.zeros(3), np.eye(3), -np.eye(3)])
    K = Cosine()(kind(rows))
    assert_array_equal(K[0], 0.0)
    assert_array_equal(np.diag(K)[1:], 1.0)
    assert np.linalg.eigvalsh(K).min() > -1e-12
    assert_array_equal(Cosine().diagonal(kind(rows)), np.diag(K))


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_the_length_of_rows_does_not_matter(kind, scale):
    """Also where squares leave the range of the type."""
    rows = rng.standard_normal((20, 4))
    assert_allclose(Cosine()(kind(rows * scale)), Cosine()(rows), rtol=1e-12, atol=1e-14)
    assert_array_equal(Cosine().diagonal(kind(rows * scale)), 1.0)


@pytest.mark.parametrize("solver", ["cholesky", "spectral", "auto"])
def test_a_cosine_model_is_a_linear_one_of_rows_of_unit_length(solver):
    rows, target = rng.standard_normal((60, 4)) + 0.5, rng.standard_normal(60)
    rows[5] = 0.0
    ours = RLSRegressor("cosine", 0.3, solver=solver).fit(rows, target)
    other = make_pipeline(Normalizer(), RLSRegressor("linear", 0.3)).fit(rows, target)
    assert_allclose(ours.predict(rows), other.predict(rows), rtol=1e-8, atol=1e-10)
    assert_allclose(ours.predict(5 * rows), ours.predict(rows), rtol=1e-9, atol=1e-12)
    assert_allclose(ours.loo_predictions_, other[-1].loo_predictions_, rtol=1e-7, atol=1e-9)
    few = RLSRegressor("cosine", 0.3, centers=10).fit(csr_array(rows), target)
    assert np.isfinite(few.predict(rows)).all()
