"""Gradients of kernel expansions, against central differences of sums written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from squareone import RLSRegressor, kernels
from squareone.kernels import (
    Constant,
    Cosine,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
)
from squareone.kernels.gradients import average_outer_product, gradients, mean_squares
from tests.reference.brute_force import kernel_matrix
from tests.rows.data import peak_of

rng = np.random.default_rng(3)
R = rng.standard_normal((3, 2))
w = np.array([0.4, 2.0, 1.3])
WIDTHS = np.array([0.7, 2.0, 1.1])


def term(name, **params):
    return lambda X, Z: kernel_matrix(name, X, Z, **params)


# kernels and their matrices by loops
CASES = {
    "gaussian": (Gaussian(1.5), term("gaussian", sigma=1.5)),
    "gaussian, metric": (Gaussian(1.5, metric=R), term("gaussian", sigma=1.5, metric=R)),
    "gaussian, weights": (Gaussian(1.5, metric=w), term("gaussian", sigma=1.5, metric=w)),
    "gaussian, widths": (Gaussian(WIDTHS), term("gaussian", sigma=1.0, metric=1 / WIDTHS)),
    "laplacian": (Laplacian(1.5), term("laplacian", sigma=1.5)),
    "laplacian, weights": (Laplacian(1.5, metric=w), term("laplacian", sigma=1.5, metric=w)),
    "linear": (Linear(), term("linear")),
    "cosine": (Cosine(), term("cosine")),
    "polynomial": (Polynomial(3, 0.5, 0.7), term("polynomial", degree=3, gamma=0.5, coef0=0.7)),
    "degree one": (Polynomial(1, 0.5), term("polynomial", degree=1, gamma=0.5, coef0=1.0)),
    "constant": (Constant(2.0), term("constant", value=2.0)),
    **{
        f"matern {nu}{', metric' * (metric is not None)}": (
            Matern(1.5, nu, metric=metric),
            term("matern", sigma=1.5, nu=nu, metric=metric),
        )
        for nu in (0.5, 1.5, 2.5)
        for metric in (None, R)
    },
}


def both(first, second, join):
    (one, one_by_loops), (other, other_by_loops) = CASES[first], CASES[second]
    return join(one, other), lambda X, Z: join(one_by_loops(X, Z), other_by_loops(X, Z))


CASES["sum"] = both("gaussian, metric", "linear", lambda a, b: a + b)
CASES["sum of kinks"] = both("matern 0.5, metric", "laplacian, weights", lambda a, b: a + b)
CASES["product"] = both("matern 1.5", "polynomial", lambda a, b: a * b)
CASES["kinks times a number"] = both("constant", "laplacian", lambda a, b: a * b)
CASES["nested"] = both("sum", "matern 2.5", lambda a, b: a * b + b)
each_case = pytest.mark.parametrize(("kernel", "by_loops"), CASES.values(), ids=CASES)


def test_every_kernel_with_a_formula_is_among_these():
    public = {getattr(kernels, name) for name in kernels.__all__}
    assert public - {type(kernel) for kernel, _ in CASES.values()} == {Kernel, Precomputed}


def by_differences(by_loops, X, centers, C, h=1e-5):
    """(t, k, d)"""
    slopes = []
    for step in h * np.eye(X.shape[1]):
        above, below = (by_loops(X + side * step, centers) @ C for side in (1, -1))
        slopes.append((above - below) / (2.0 * h))
    return np.array(slopes).transpose(2, 1, 0)


@pytest.fixture(params=[2, 512], ids=["small tiles", "one tile"])
def _tiles(request, monkeypatch):
    monkeypatch.setattr("squareone.kernels.gradients.TILE", request.param)


centers = rng.standard_normal((9, 3))
# among the rows are centers, one of them twice, and one that shares a number with a center
rows = np.vstack([rng.standard_normal((4, 3)), centers[:2], centers[:1]])
rows[0, 1] = centers[5, 1]
centers[7] = centers[0]
C = rng.standard_normal((9, 2))


@pytest.mark.usefixtures("_tiles")
@each_case
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_against_differences(kernel, by_loops, offset):
    """Rows that are centers included: there a kink has no slope, and neither have differences."""
    X, Z = rows + offset, centers + offset
    expected = by_differences(by_loops, X, Z, C)
    found = gradients(kernel, X, Z, C)
    assert_allclose(found, expected, rtol=1e-6, atol=3e-8 * np.abs(expected).max())
    outer = np.einsum("tki,tkj->ij", expected, expected) / 7
    tolerance = 1e-6 * np.abs(outer).max()
    assert_allclose(average_outer_product(kernel, X, Z, C), outer, rtol=0, atol=tolerance)
    assert_allclose(mean_squares(kernel, X, Z, C), np.diag(outer), rtol=0, atol=tolerance)


ONE = [
    *(Matern(1.0, nu) for nu in (0.5, 1.5, 2.5)),
    Gaussian(1.0, metric=[2.0]),
    Matern(1.0, 0.5, metric=[[1.0, 2.0]]),
    Laplacian(1.0, metric=[2.0]),
]


@pytest.mark.parametrize("kernel", ONE, ids=str)
def test_one_feature(kernel):
    X, Z = rows[:, :1], centers[:, :1]

    def by_loops(X, Z):
        r = np.abs(X - Z.T)
        if isinstance(kernel, Laplacian):
            return np.exp(-2.0 * r)
        s = r * np.sqrt({(1,): 4.0, (1, 2): 5.0}.get(np.shape(kernel.metric), 1.0))
        if isinstance(kernel, Gaussian):
            return np.exp(-0.5 * s**2)
        s = s * np.sqrt(2 * kernel.nu)
        return np.exp(-s) * {0.5: 1.0, 1.5: 1.0 + s, 2.5: 1.0 + s + s**2 / 3}[kernel.nu]

    ready = kernel.resolve(Z, None)
    expected = by_differences(by_loops, X, Z, C)
    assert_allclose(gradients(ready, X, Z, C), expected, rtol=1e-6, atol=1e-7)
    found = average_outer_product(ready, X, Z, C)
    assert found.shape == (1, 1)
    assert_allclose(found[0], mean_squares(ready, X, Z, C), rtol=1e-12)


@each_case
def test_single_precision_rows(kernel, by_loops):
    """Everything is computed in float64: coefficients of either sign cancel."""
    single = [array.astype(np.float32) for array in (rows, centers, C)]
    double = [array.astype(np.float64) for array in single]
    for function in (gradients, average_outer_product, mean_squares):
        found = function(kernel, *single)
        assert found.dtype == np.float64
        assert_array_equal(found, function(kernel, *double))


@pytest.mark.parametrize("kernel", [Matern(2.0, 0.5), Laplacian(2.0), Gaussian(2.0)], ids=str)
def test_rows_that_are_repeated_far_from_zero(kernel):
    """What rounding leaves of a distance of zero is not a direction."""
    far = np.repeat(rows + 1e4, 3, axis=0)
    near = np.repeat((rows + 1e4) - 1e4, 3, axis=0)
    some = rng.standard_normal((21, 1))
    expected = gradients(kernel, near, near, some)
    assert_allclose(gradients(kernel, far, far, some), expected, atol=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(1.5, metric=R), Matern(1.5, 2.5, metric=R)], ids=str)
def test_there_is_no_slope_where_the_metric_has_no_direction(kernel):
    free = np.cross(R[:, 0], R[:, 1])
    outer = average_outer_product(kernel, rows, centers, C)
    assert_allclose(outer @ free, 0.0, atol=1e-12)
    assert np.linalg.matrix_rank(outer, tol=1e-10) == 2
    assert_array_equal(outer, outer.T)


def test_a_linear_model_has_one_gradient():
    X, y = rng.standard_normal((50, 3)), rng.standard_normal(50)
    model = RLSRegressor("linear", 0.1).fit(X, y)
    dual = (y - model.predict(X))[:, None] / 0.1
    found = average_outer_product(Linear(), rows, X, dual)
    assert_allclose(found, np.outer(model.coef_, model.coef_), rtol=1e-9)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(1.0)], ids=str)
@pytest.mark.parametrize("function", [average_outer_product, mean_squares])
def test_memory(kernel, function):
    """Nothing of rows times centers times features: that would be 480 MB."""
    X = np.random.default_rng(0).standard_normal((1000, 40))
    some = np.ones((1500, 2))
    Z = np.resize(X, (1500, 40))
    assert peak_of(lambda: function(kernel, X, Z, some)) < 60e6


class Own(Kernel):
    """Somebody else's, with a formula that only its author knows."""

    def check_parameters(self):
        return


BAD = {
    "auto": (Gaussian(), rows, centers, C, ValueError, 'sigma="auto"'),
    "own": (Own(), rows, centers, C, TypeError, "Own has no gradient.*Gaussian, Laplacian"),
    "in a sum": (Own() + Linear(), rows, centers, C, TypeError, "Own has no gradient"),
    "matrix": (Precomputed(), rows, centers, C, TypeError, "Precomputed has no gradient"),
    "sparse": (Linear(), csr_array(rows), centers, C, TypeError, "sparse.*dense"),
    "features": (Linear(), rows[:, :2], centers, C, ValueError, "2 features.*centers.* 3"),
    "coefficients": (Linear(), rows, centers, C[:4], ValueError, r"\(4, 2\).*9 centers"),
    "a vector": (Linear(), rows, centers, C[:, 0], ValueError, r"\(9,\).*9 centers"),
    "metric": (Gaussian(1.0, metric=R[:2]), rows, centers, C, ValueError, r"\(2, 2\).*\(9, 3\)"),
}


@pytest.mark.parametrize(("kernel", "X", "Z", "c", "error", "message"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("function", [gradients, average_outer_product, mean_squares])
def test_bad_input(function, kernel, X, Z, c, error, message):
    with pytest.raises(error, match=message):
        function(kernel, X, Z, c)
