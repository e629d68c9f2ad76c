"""Centers that depend on others: what goes with them, and when somebody should know."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from squareone import RLSRegressor
from squareone.centers import Given
from squareone.errors import IllConditionedWarning
from squareone.kernels import Gaussian
from squareone.rows import rows_of
from squareone.solvers import CenterBasis, Weighting
from squareone.solvers.few_centers.dropped_centers import lost_energy

rng = np.random.default_rng(0)
X = rng.standard_normal((2000, 3))
y = np.sin(X).sum(axis=1) + 0.1 * rng.standard_normal(2000)
weights = rng.uniform(0.5, 2.0, 2000)
FIRST = Given(X[:100], np.arange(100))
EVERY = ["rectangle", "pcg", "nystrom"]


def fit(solver, alpha, dtype=np.float32, chosen=FIRST, sigma=6.0):
    """The fit, and what was said about centers on the way."""
    model = RLSRegressor(Gaussian(sigma), alpha=alpha, solver=solver, centers=chosen, tol=1e-7)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(X.astype(dtype), y.astype(dtype))
    said = [w for w in said if "centers were dropped" in str(w.message)]
    assert all(issubclass(w.category, IllConditionedWarning) for w in said)
    return model, [str(w.message) for w in said]


@pytest.mark.parametrize("solver", EVERY)
def test_centers_that_would_have_counted(solver):
    model, said = fit(solver, 1e-6)
    assert 0 < model.dropped_centers_.size < 100
    assert said == [
        f"{model.dropped_centers_.size} centers were dropped: float32 cannot tell them from "
        "combinations of the others, and at alpha = 1e-06 they may have counted. Use float64 rows, "
        "a larger alpha or a narrower kernel"
    ]
    exact, said = fit(solver, 1e-6, np.float64)
    assert not said
    assert exact.dropped_centers_.size < model.dropped_centers_.size


@pytest.mark.parametrize("solver", EVERY)
def test_a_large_alpha_leaves_nothing_of_them_anyway(solver):
    model, said = fit(solver, 10.0)
    assert model.dropped_centers_.size > 0
    assert not said
    exact, _ = fit(solver, 10.0, np.float64)
    found, expected = model.predict(X.astype(np.float32)), exact.predict(X)
    assert_allclose(found, expected, atol=1e-2 * np.std(expected))


@pytest.mark.parametrize("solver", EVERY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_centers_are_no_loss(solver, dtype):
    model, said = fit(solver, 1e-6, dtype, Given(np.repeat(X[:20], 3, axis=0)), sigma=1.0)
    assert model.dropped_centers_.size == 40
    assert not said


def test_what_is_lost_is_a_direction_of_the_rows():
    """That of the difference of two centers which float32 takes for one."""
    pair = np.array([[0.0, 0.0, 0.0], [1e-4, 0.0, 0.0]])
    basis = CenterBasis(Gaussian(2.0), pair.astype(np.float32), np.dtype(np.float32))
    assert basis.gone.points.shape == (1, 3)
    weighting = Weighting.of(200, weights[:200], False, np.dtype(float))
    found = lost_energy(basis, rows_of(X[:200]), weighting)  # fewer rows than are looked at
    kernel = Gaussian(2.0)
    both = basis.points.astype(float), basis.gone.points
    values, between = (np.hstack([kernel(A, B) for B in both]) for A in (X[:200], both[0]))
    f = values[:, 1] - values[:, 0] * between[0, 1]
    expected = weights[:200] @ np.square(f) / (1.0 - between[0, 1] ** 2)
    assert found == pytest.approx(expected, rel=1e-4)
    assert expected > 1.0
    alone = CenterBasis(Gaussian(0.1), X[:100].astype(np.float32), np.dtype(np.float32))
    assert lost_energy(alone, rows_of(X), Weighting.of(2000, None, True, X.dtype)) == 0.0


@pytest.mark.parametrize("compact", [False, True])
def test_functions_of_dropped_centers(compact):
    """Orthogonal to those of the others, whatever the precision of the factor that is kept."""
    points = X[:100].astype(np.float32)
    basis = CenterBasis(Gaussian(6.0), points, points.dtype, compact=compact)
    there, gone = basis.points.astype(float), basis.gone
    K, across = Gaussian(6.0)(there), Gaussian(6.0)(there, gone.points)
    assert_allclose(K @ gone.weights, across, atol=1e-9)
    left = 1.0 - np.einsum("ij,ij->j", across, gone.weights)
    assert_allclose(gone.left, left, rtol=1e-3, atol=1e-12)
    assert (np.diff(gone.left) <= 0).all()
    assert 100 * np.finfo(float).eps < gone.left[-1] < gone.left[0] < 100 * np.finfo(np.float32).eps


@pytest.mark.parametrize("solver", ["rectangle", "pcg", "nystrom"])
def test_a_pair_of_centers_whose_difference_is_all_that_matters(solver):
    pair = Given(np.array([[0.0, 0.0, 0.0], [1e-4, 0.0, 0.0]]))
    model, said = fit(solver, 1e-3, np.float32, pair, sigma=3.0)
    assert model.dropped_centers_.size == 1
    assert len(said) == 1


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_unit_of_the_kernel_does_not_matter(factor):
    plain = CenterBasis(Gaussian(6.0), X[:100], np.dtype(np.float32))
    scaled = CenterBasis(factor * Gaussian(6.0), X[:100], np.dtype(np.float32))
    assert plain.dropped.size > 0
    np.testing.assert_array_equal(scaled.dropped, plain.dropped)
    assert scaled.resolution == pytest.approx(factor * plain.resolution / scaled.unit)
