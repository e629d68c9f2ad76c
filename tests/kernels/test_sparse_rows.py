"""Kernels of sparse rows are those of the same rows, dense; nothing of their size is made."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix

from squareone.errors import ScaleError
from squareone.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, Precomputed
from squareone.kernels.tiles import kernel_matrix, kernel_product, kernel_rectangle
from squareone.kernels.widths import WidthFamily
from tests.laws.cases import KERNELS, reference_kernel
from tests.rows.data import CONTAINERS, peak_of, repeated, wide_rows

rng = np.random.default_rng(0)


def some_rows(n, d=6):
    """More zeros than not; a row and a column of zeros."""
    rows = np.where(rng.random((n, d)) < 0.4, rng.standard_normal((n, d)), 0.0)
    rows[2] = 0.0
    rows[:, 3] = 0.0
    return rows


X, Y = some_rows(30), some_rows(17)
MORE = {
    "widths": Gaussian(np.linspace(0.5, 2.0, 6)),
    "matern 1/2": Matern(2.0, nu=0.5),
    "matern 3/2": Matern(2.0, nu=1.5),
    "product": 0.5 * Linear() * Gaussian(2.0),
    "nested": (Laplacian(2.0) + 1.0) * Polynomial(2) + Matern("median"),
}
ALL = {name: kernel for name, (kernel, _) in KERNELS.items()} | MORE
SIDES = {
    "both sparse": (csr_array, csr_array),
    "matrices": (csr_matrix, csr_matrix),
    "matrix and array": (csr_matrix, csr_array),
    "rows sparse": (csr_array, np.asarray),
    "centers sparse": (np.asarray, csr_array),
}
TOLERANCE = {np.float64: 1e-13, np.float32: 2e-5}
# The distance of two rows that agree is the root of what rounding leaves of |z|²: 3e-4 at |z| < 1.
ROOT_OF_ROUNDING = {np.float64: 3e-8, np.float32: 3e-4}


@pytest.fixture(params=[7, 512], ids=["small tiles", "one tile"])
def _tiles(request, monkeypatch):
    monkeypatch.setattr("squareone.arrays.TILE", request.param)
    monkeypatch.setattr("squareone.kernels.tiles.TILE", request.param)


# --- values ---


@pytest.mark.usefixtures("_tiles")
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_formula(name, dtype):
    kernel = KERNELS[name][0]
    K = kernel(csr_array(X, dtype=dtype))
    assert K.dtype == dtype
    assert_allclose(K, reference_kernel(name, X, X), rtol=0, atol=TOLERANCE[dtype])
    assert_array_equal(K, K.T)


@pytest.mark.usefixtures("_tiles")
@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("kernel", ALL.values(), ids=ALL)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_as_dense(kernel, dtype, sides):
    """Both or one side sparse."""
    left, right = SIDES[sides]
    rows, centers = left(X.astype(dtype)), right(Y.astype(dtype))
    rough = isinstance(kernel, Matern) and kernel.nu == 0.5
    tolerance = (ROOT_OF_ROUNDING if rough else TOLERANCE)[dtype]
    found = kernel(rows, centers)
    assert found.dtype == dtype
    assert_allclose(found, kernel(X, Y), rtol=0, atol=tolerance)
    assert_allclose(kernel(rows), kernel(X), rtol=0, atol=tolerance)
    ready = kernel.resolve(Y, np.random.RandomState(0))
    C = np.random.default_rng(1).standard_normal((17, 3)).astype(dtype)
    product = kernel_product(ready, rows, centers, C)
    assert product.dtype == dtype
    assert_allclose(product, kernel_product(ready, X, Y, C), rtol=0, atol=20 * tolerance)


@pytest.mark.parametrize("kernel", ALL.values(), ids=ALL)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_diagonal_and_peak(kernel, dtype):
    dense, sparse = X.astype(dtype), csr_array(X, dtype=dtype)
    ready = kernel.resolve(sparse, np.random.RandomState(0))
    diagonal = ready.diagonal(sparse)
    assert diagonal.dtype == dtype
    assert_allclose(diagonal, ready.diagonal(dense), rtol=1e-6)
    assert_array_equal(np.diag(ready(sparse)), diagonal)
    assert ready.peak(sparse) == pytest.approx(ready.peak(dense), rel=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian, Laplacian, Matern])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [30, 700])  # beyond 512 rows a sample of them
def test_median_width(kernel, dtype, n):
    rows = some_rows(n).astype(dtype)
    widths = [
        kernel("median").resolve(given, np.random.RandomState(0)).sigma
        for given in (rows, csr_array(rows), csr_matrix(rows))
    ]
    assert_allclose(widths, widths[0], rtol=1e-12)
    assert kernel("median").resolve(csr_array((5, 3)), np.random.RandomState(0)).sigma == 1.0


@pytest.mark.parametrize(
    "kernel", [Gaussian(1e-3), Matern(1e-3, 0.5), Matern(1e-3, 2.5), Laplacian(1e-3)], ids=str
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_row_is_at_distance_zero_from_itself(kernel, dtype):
    """With a tiny width, where rounding would show; equal rows are never nearer than that."""
    rows = csr_array(some_rows(600) * 1e3, dtype=dtype)
    K = kernel(rows)
    assert_array_equal(np.diag(K), 1.0)
    twice = kernel(scipy.sparse.vstack([rows[:5], rows[:5]], format="csr"))
    for found in (K, twice):
        assert found.max() == 1.0
        assert found.min() >= 0.0


def test_rows_without_a_number():
    """All of them: distances are zero."""
    nothing = csr_array((4, 3))
    assert_array_equal(Gaussian(1.0)(nothing), 1.0)
    assert_array_equal(Laplacian(1.0)(nothing, nothing), 1.0)
    assert_array_equal(Linear()(nothing), 0.0)
    assert_array_equal(Polynomial(2, coef0=2.0)(nothing), 4.0)


@pytest.mark.parametrize(
    "kernel", [Gaussian(), Laplacian(), Matern(nu=2.5), Gaussian() + 0.5 * Linear()], ids=str
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_width_after_another(kernel, dtype):
    name = "first__sigma" if "+" in str(kernel) else "sigma"
    families = [WidthFamily(kernel, name, rows, 2.0) for rows in (X, csr_array(X, dtype=dtype))]
    for scale in (0.1, 1.0, 30.0):
        dense, sparse = (np.tril(family.matrix(scale)) for family in families)
        assert sparse.dtype == dtype
        assert_allclose(sparse, dense, rtol=0, atol=TOLERANCE[dtype])


# --- what comes ---


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("name", ["gaussian", "laplacian", "polynomial"])
def test_any_sparse_matrix(container, name):
    kernel = KERNELS[name][0]
    given, centers = container(X), container(Y)
    parts = [getattr(given, part, None) for part in ("data", "indices", "indptr")]
    before = [None if part is None else part.copy() for part in parts]
    assert_allclose(kernel(given), kernel(X), atol=1e-14)
    assert_allclose(kernel(given, centers), kernel(X, Y), atol=1e-14)
    for part, copy in zip(parts, before, strict=True):
        assert_array_equal(part, copy)  # the user's


def test_integers_and_truth_values():
    whole = np.round(3 * X)
    for given in (csr_array(whole.astype(int)), csr_array(whole.astype(np.int8))):
        assert_allclose(Gaussian(2.0)(given), Gaussian(2.0)(whole))
    assert_allclose(Linear()(csr_array(X > 0)), Linear()((X > 0).astype(float)))


def with_value(value):
    matrix = csr_array(X)
    matrix.data[4] = value
    return matrix


BAD = {
    "NaN": (with_value(np.nan), None, "Input X contains NaN"),
    "infinity": (with_value(np.inf), None, "Input X contains infinity"),
    "NaN in Y": (csr_array(X), with_value(np.nan), "Input Y contains NaN"),
    "no rows": (csr_array((0, 6)), None, r"0 sample\(s\) \(shape=\(0, 6\)\)"),
    "no features": (csr_array((3, 0)), None, r"0 feature\(s\) \(shape=\(3, 0\)\)"),
    "other features": (csr_array(X), csr_array(Y[:, :3]), "X has 6 features and Y has 3"),
    "other dense features": (csr_array(X), Y[:, :3], "X has 6 features and Y has 3"),
    "complex": (csr_array(X + 1j), None, "Complex data not supported"),
}


@pytest.mark.parametrize(("rows", "others", "message"), BAD.values(), ids=BAD)
def test_bad_rows_are_refused(rows, others, message):
    with pytest.raises(ValueError, match=message):
        Gaussian(1.0)(rows, others)


def test_rows_out_of_range_are_refused():
    with pytest.raises(ScaleError, match="overflows float64"):
        Polynomial(3)(csr_array(X * 1e120))
    with pytest.raises(ScaleError, match="overflows float64"):
        Gaussian(1e-200)(csr_array(X))
    with pytest.raises(ScaleError, match="overflows float64"):  # finite before they are added
        Gaussian(1.0)(repeated(np.where(X == 0, 0.0, 1.7e308)))


def test_a_width_for_every_feature_is_not_searched():
    message = r"ard=True.*sparse matrix of 6 features.*use one width \(ard=False\), or dense rows"
    with pytest.raises(ValueError, match=message):
        Gaussian(ard=True).resolve(csr_array(X), np.random.RandomState(0))
    given = Gaussian(np.linspace(0.5, 2.0, 6), ard=True)  # found on dense rows
    assert_allclose(given(csr_array(X)), given(X), atol=1e-14)
    with pytest.raises(ValueError, match="Gaussian has 2 widths, and X has 6 features"):
        Gaussian([1.0, 2.0])(csr_array(X))


def test_a_precomputed_kernel_has_no_formula_for_sparse_rows_either():
    with pytest.raises(TypeError, match="no formula to evaluate on rows"):
        Precomputed()(csr_array(X))


# --- memory ---

wide = wide_rows(300, 200_000)
WIDE_BYTES = 300 * 200_000 * 8


@pytest.mark.parametrize("name", KERNELS)
def test_sparse_rows_stay_sparse(name):
    kernel = KERNELS[name][0].resolve(wide, None)
    assert peak_of(lambda: kernel(wide)) < 0.05 * WIDE_BYTES
    assert peak_of(lambda: kernel(wide, wide[:50])) < 0.05 * WIDE_BYTES
    C = np.ones((300, 1))
    assert peak_of(lambda: kernel_product(kernel, wide, wide, C)) < 0.05 * WIDE_BYTES


def test_mixed_rows_change_one_block_at_a_time(monkeypatch):
    """512 rows of 2,000 features are 8 MiB, all of them 153."""
    monkeypatch.setattr("squareone.threads.thread_budget", lambda: 1)  # a block for each thread
    rows = wide_rows(10_000, 2_000)
    dense = rows[:4].toarray()
    kernel, C = Gaussian(1.0), np.ones((4, 1))
    rectangle = peak_of(lambda: kernel_rectangle(kernel, rows, dense))
    product = peak_of(lambda: kernel_product(kernel, rows, dense, C))
    assert max(rectangle, product) < 0.35 * 10_000 * 2_000 * 8
    full = np.ones((3_000, 500))  # nothing to leave out: as sparse rows three times as large
    few = csr_array(full[:2])
    for work in (
        lambda: kernel_rectangle(kernel, full, few),
        lambda: kernel_product(kernel, full, few, C[:2]),
    ):
        assert peak_of(work) < 1.5 * full.nbytes


def test_the_triangle_of_many_rows():
    """More rows than a tile has."""
    rows = scipy.sparse.random_array((1_100, 50), density=0.1, format="csr", random_state=1)
    K = kernel_matrix(Gaussian(1.0), rows, both_triangles=True)
    assert_allclose(K, Gaussian(1.0)(rows.toarray()), rtol=1e-13)
