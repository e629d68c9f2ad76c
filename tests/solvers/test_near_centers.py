"""Centers that nearly coincide: moved apart so far that rounding leaves what they say together."""

import warnings

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from squareone import RLSRegressor
from squareone.centers import Given
from squareone.kernels import Gaussian, Laplacian, Linear
from squareone.solvers import CenterBasis
from squareone.solvers.few_centers.near_centers import moved_apart

rng = np.random.default_rng(0)
POINTS = rng.normal(size=(30, 3))
STEP = np.array([0.6, 0.0, 0.8])
WIDTH = 0.3


def with_twin(apart, kernel=None):
    """POINTS, the fifth of which has a twin; moved apart."""
    twin = POINTS[4] + apart * STEP
    return moved_apart(kernel or Gaussian(WIDTH), np.vstack([POINTS, twin]))


@pytest.mark.parametrize("apart", [1e-12, 1e-10, 1e-8, 3e-8, 1e-7, 1e-6])
def test_a_twin_stands_at_a_distance_that_has_digits(apart):
    found = with_twin(apart)
    assert_array_equal(found[:30], POINTS)
    away = found[30] - POINTS[4]
    assert np.linalg.norm(away) == pytest.approx(1e-5 * WIDTH, rel=1e-3)
    assert_allclose(away / np.linalg.norm(away), STEP, atol=1e-15 / apart)
    assert CenterBasis(Gaussian(WIDTH), found, np.dtype(float)).dropped.size == 0


@pytest.mark.parametrize("apart", [0.0, 1e-15, 1e-5, 1e-3])
def test_equal_points_and_points_that_are_far_enough_stay(apart):
    points = np.vstack([POINTS, POINTS[4] + apart * STEP])
    assert moved_apart(Gaussian(WIDTH), points) is points or apart == 1e-15
    assert_array_equal(with_twin(apart), points)


def test_points_are_not_changed_and_equal_ones_stay_equal():
    points = np.vstack([POINTS, POINTS[4] + 1e-9 * STEP, POINTS[4] + 1e-9 * STEP])
    before = points.copy()
    found = moved_apart(Gaussian(WIDTH), points)
    assert_array_equal(points, before)
    assert_array_equal(found[30], found[31])
    assert (found[30] != points[30]).any()


def test_a_cluster_keeps_its_shape():
    corner = 1e-9 * np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    found = moved_apart(Gaussian(WIDTH), np.vstack([POINTS, POINTS[4] + corner[1:]]))
    away = found[30:] - POINTS[4]
    assert_allclose(away, away[0, 0] * corner[1:] / 1e-9, atol=1e-6 * away[0, 0])
    assert np.linalg.norm(away[1]) == pytest.approx(1e-5 * WIDTH, rel=1e-3)
    assert CenterBasis(Gaussian(WIDTH), found, np.dtype(float)).dropped.size == 0


def test_a_wide_kernel_moves_nothing_far():
    found = with_twin(1e-8, Gaussian(1e6))
    assert np.linalg.norm(found[30] - POINTS[4]) < 2e-5 * np.linalg.norm(POINTS.std(axis=0))


def test_a_kernel_with_a_kink_tells_them_anyway():
    """What it has left goes with the distance itself, so that little has to be moved."""
    assert_array_equal(
        with_twin(1e-9, Laplacian(WIDTH)), np.vstack([POINTS, POINTS[4] + 1e-9 * STEP])
    )


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_any_unit(scale):
    points = scale * np.vstack([POINTS, POINTS[4] + 1e-9 * STEP])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = moved_apart(Gaussian(WIDTH * scale), points)
    assert_allclose(found / scale, with_twin(1e-9), atol=1e-12)


def test_others_stay():
    points = np.vstack([POINTS, POINTS[4] + 1e-9 * STEP])
    sparse = csr_matrix(points)
    assert moved_apart(Gaussian(WIDTH), sparse) is sparse
    zeros = np.zeros((3, 2))
    assert moved_apart(Linear(), zeros) is zeros
    near_zero = np.array([[0.0, 0.0], [1e-9, 0.0], [1.0, 1.0]])
    assert_array_equal(moved_apart(Linear(), near_zero), near_zero)
    assert moved_apart(Gaussian(WIDTH), points[:1]).shape == (1, 3)


# --- fifty digits ---

X = rng.normal(size=(24, 2))
y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=24)
LAMBDA = 1e-3


def exact(X, rows, chosen, new):
    """At row ``new``, of the fit to ``rows`` with an intercept and centers ``chosen``."""
    points = [[mpmath.mpf(float(value)) for value in row] for row in X]

    def k(i, j):
        square = sum((a - b) ** 2 for a, b in zip(points[i], points[j], strict=True))
        return mpmath.exp(-square / (2 * mpmath.mpf(WIDTH) ** 2))

    m = len(chosen)
    K = mpmath.matrix(len(rows), m + 1)
    for i, row in enumerate(rows):
        K[i, 0] = 1
        for j, center in enumerate(chosen):
            K[i, j + 1] = k(row, center)
    system = K.T * K
    for i, first in enumerate(chosen):
        for j, second in enumerate(chosen):
            system[i + 1, j + 1] += mpmath.mpf(LAMBDA) * k(first, second)
    c = mpmath.lu_solve(system, K.T * mpmath.matrix([mpmath.mpf(float(y[i])) for i in rows]))
    return float(c[0] + sum(c[j + 1] * k(new, center) for j, center in enumerate(chosen)))


@pytest.mark.parametrize("apart", [1e-10, 1e-8, 3e-8, 1e-7])
def test_fits_and_leave_one_out_have_their_digits(apart):
    some = X.copy()
    some[12:] = some[:12] + apart * rng.normal(size=(12, 2))
    chosen = [0, 1, 2, 3, 4, 12, 13, 14]
    model = RLSRegressor(
        Gaussian(WIDTH), LAMBDA, centers=Given(some[chosen], indices=chosen), solver="rectangle"
    ).fit(some, y)
    assert model.dropped_centers_.size == 0
    everyone = list(range(24))
    with mpmath.workdps(50):
        for i in (1, 4, 13):
            expected = exact(some, everyone, chosen, i)
            assert model.predict(some[[i]])[0] == pytest.approx(expected, abs=1e-4)
            rest = [j for j in everyone if j != i]
            expected = exact(some, rest, [j for j in chosen if j != i], i)
            assert model.loo_predictions_[i] == pytest.approx(expected, abs=1e-3)
