"""Products with kernel values that are made and forgotten, and rows that arrive by blocks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone.devices import CenterValues
from squareone.kernels import Gaussian, Laplacian, Linear, Matern
from squareone.rows import rows_of
from tests.reference import brute_force

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch")

EPS = float(np.finfo(np.float32).eps)
rng = np.random.default_rng(0)


def exactly(kernel, X, C):
    """Kernel values by direct differences of the rows that are given, in float64."""
    X, C = X.astype(np.float64), C.astype(np.float64)
    norm = 1 if isinstance(kernel, Laplacian) else 2
    D = np.array([np.linalg.norm(C - x, ord=norm, axis=1) for x in X]) / kernel.sigma
    if isinstance(kernel, Gaussian):
        return np.exp(-0.5 * D**2)
    if isinstance(kernel, Laplacian):
        return np.exp(-D)
    s = np.sqrt(2.0 * kernel.nu) * D
    return np.exp(-s) * {0.5: 1.0, 1.5: 1.0 + s, 2.5: 1.0 + s + s * s / 3.0}[kernel.nu]


def given(kernel, X, C, **more):
    origin = C.mean(axis=0, dtype=np.float64).astype(C.dtype)
    return CenterValues(kernel, C, origin, C.dtype, **more)


@pytest.mark.parametrize("d", [1, 3, 200])
@pytest.mark.parametrize("width", [1e-3, 0.1, 1.0, 1e3])
@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize(
    "kernel", [Gaussian, Laplacian, *(lambda s, nu=nu: Matern(s, nu=nu) for nu in (0.5, 1.5, 2.5))]
)
def test_single_precision_is_as_good_as_float32_can_be(strict_place, kernel, offset, width, d):
    """Up to 4·eps·r² times the kernel's steepness, or 1e-4 where float64 takes over before."""
    kernel = kernel(width * np.sqrt(d))
    X = (rng.standard_normal((60, d)) + offset).astype(np.float32)
    C = np.vstack([X[:20], (rng.standard_normal((25, d)) + offset).astype(np.float32)])
    V = rng.standard_normal((45, 3)).astype(np.float32)
    values = given(kernel, X, C)
    products = strict_place.products(values)
    found = strict_place.fetched(products.times(strict_place.taken(X), strict_place.taken(V)))
    K = exactly(kernel, X, C)
    norm = 1 if isinstance(kernel, Laplacian) else 2
    farthest = np.linalg.norm(np.vstack([X, C]) - values.origin, ord=norm, axis=1).max()
    bound = 4.0 * EPS * max(kernel.steepness, 1.0) * (farthest / kernel.sigma) ** 2
    if isinstance(kernel, Laplacian):
        bound = 4.0 * EPS * farthest / kernel.sigma
    allowed = max(1e-6, bound if isinstance(kernel, Laplacian) else min(1e-4, bound))
    assert (np.abs(found - K @ V) <= allowed * (K @ np.abs(V)) + 1e-30).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("block_bytes", [1.0, 2000.0, 1e9])
def test_every_product_by_blocks_of_any_size(strict_place, dtype, block_bytes):
    X, C = (rng.standard_normal((size, 3)).astype(dtype) for size in (70, 30))
    V, U, w = (rng.standard_normal(shape) for shape in ((30, 2), (70, 2), 70))
    shift = rng.standard_normal(30)
    unit = 0.25
    K = exactly(Gaussian(1.0), X, C) / unit - shift
    values = given(Gaussian(1.0), X, C, unit=unit, shift=shift, block_bytes=block_bytes)
    products, taken = strict_place.products(values), strict_place.taken
    tolerance = 1e-11 if dtype == np.float64 else 1e-3
    for found, expected in (
        (products.times(taken(X), taken(V)), K @ V),
        (products.transposed_times(taken(X), taken(U)), K.T @ U),
        (products.normal(taken(X), None, taken(V)), K.T @ (K @ V)),
        (products.normal(taken(X), taken(w), taken(V)), K.T @ (w[:, None] * (K @ V))),
    ):
        assert_allclose(strict_place.fetched(found), expected, atol=tolerance)
    again = strict_place.fetched(products.normal(taken(X), taken(w), taken(V)))
    assert_array_equal(again, strict_place.fetched(products.normal(taken(X), taken(w), taken(V))))


@pytest.mark.parametrize("stay", [True, False])
@pytest.mark.parametrize("root", [None, rng.uniform(0.5, 2.0, 2000)], ids=["equal", "weighted"])
def test_sums_over_rows_that_arrive_by_blocks(strict_place, monkeypatch, stay, root):
    X, C = rng.standard_normal((2000, 3)), rng.standard_normal((20, 3))
    U, V = rng.standard_normal((2000, 2)), rng.standard_normal((20, 2))
    monkeypatch.setattr(type(strict_place), "free_memory", lambda self: 1e9 if stay else None)
    sums = strict_place.sums(given(Gaussian(1.0), X, C), rows_of(X), root)
    K = brute_force.kernel_matrix("gaussian", X, C, sigma=1.0)
    K = K if root is None else root[:, None] * K
    for _ in range(2):  # the second pass has what the first has kept
        assert_allclose(sums.transposed(U), K.T @ U, atol=1e-10)
        assert_allclose(sums.twice(V), K.T @ (K @ V), atol=1e-10)


def test_kernels_without_distances(strict_place):
    X, C = (rng.standard_normal((size, 3)).astype(np.float32) for size in (7, 5))
    V = np.ones((5, 1), np.float32)
    products = strict_place.products(CenterValues(Linear(), C, np.zeros(3, np.float32), C.dtype))
    found = products.times(strict_place.taken(X), strict_place.taken(V))
    assert_allclose(strict_place.fetched(found), X @ C.T @ V, atol=1e-5)
