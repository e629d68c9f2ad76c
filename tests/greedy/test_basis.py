"""A basis is orthonormal and gives its columns back, in whatever order they are prepared."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone.greedy.basis import Basis

rng = np.random.default_rng(0)
n = 40


def appended(columns, dtype=np.float64):
    """A basis of these columns, each prepared by itself."""
    basis = Basis(n, columns.shape[1], np.dtype(dtype))
    for column in columns.T:
        ready = basis.prepare(np.asfortranarray(column[:, None], dtype=dtype))
        basis.append(ready.rest[:, 0], ready.within[:, 0])
    return basis


def loss_of_orthogonality(basis):
    """The largest |qᵢᵀqⱼ|, i ≠ j, and |qᵢᵀqᵢ − 1|."""
    G = basis.directions.T @ basis.directions
    return float(np.abs(G - np.eye(basis.size)).max(initial=0.0))


def nearly_dependent(count, distance):
    """Columns that differ from the first by a little."""
    return rng.normal(size=(n, 1)) + distance * rng.normal(size=(n, count))


def test_an_empty_basis_takes_nothing_off():
    basis = Basis(n, 3, np.dtype(float))
    columns = rng.normal(size=(n, 2))
    ready = basis.prepare(np.asfortranarray(columns))
    assert_array_equal(ready.rest, columns)
    assert ready.within.shape == (0, 2)
    assert basis.directions.shape == (n, 0)
    assert basis.triangle.shape == (0, 0)
    assert loss_of_orthogonality(basis) == 0.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("distance", [1.0, 1e-3, 1e-5])
def test_columns_are_a_product(dtype, distance):
    columns = nearly_dependent(12, distance).astype(dtype)
    basis, eps = appended(columns, dtype), np.finfo(dtype).eps
    assert basis.size == 12
    assert basis.directions.dtype == dtype
    assert loss_of_orthogonality(basis) <= 20 * eps
    G = basis.directions.astype(float).T @ basis.directions - np.eye(12)
    assert np.abs(G).max() <= 20 * eps
    assert_allclose(basis.directions.astype(float) @ basis.triangle, columns, atol=100 * eps)
    assert_array_equal(basis.triangle, np.triu(basis.triangle))


def test_the_triangle_is_that_of_a_factorisation():
    columns = rng.normal(size=(n, 8))
    R = np.linalg.qr(columns)[1]
    assert_allclose(appended(columns).triangle, np.sign(np.diag(R))[:, None] * R, atol=1e-12)


@pytest.mark.parametrize("distance", [1.0, 1e-4])
def test_columns_that_wait_are_brought_up_to_date(distance):
    columns = nearly_dependent(10, distance)
    expected = appended(columns)
    basis = Basis(n, 10, np.dtype(float))
    ready = basis.prepare(np.asfortranarray(columns))
    for j in range(10):
        own = ready.part(np.array([j]))
        basis.advance(own)
        basis.append(own.rest[:, 0], own.within[:, 0])
    assert loss_of_orthogonality(basis) <= 1e-13
    assert_allclose(basis.directions @ basis.triangle, columns, atol=1e-12)
    assert_allclose(basis.triangle, expected.triangle, atol=1e-10)


def test_some_columns_are_brought_up_to_date_and_then_all():
    first, waiting = rng.normal(size=(n, 4)), rng.normal(size=(n, 6))
    basis = Basis(n, 4, np.dtype(float))
    ready = basis.prepare(np.asfortranarray(waiting))
    expected = waiting - first @ np.linalg.lstsq(first, waiting, rcond=None)[0]
    for j, column in enumerate(first.T):
        own = basis.prepare(np.asfortranarray(column[:, None]))
        basis.append(own.rest[:, 0], own.within[:, 0])
        basis.advance(ready.part(np.arange(j, j + 2)))  # a copy: the others stay behind
        if j == 1:
            basis.advance(ready)
            assert ready.done == 2
    basis.advance(ready)
    assert ready.done == 4
    assert_allclose(ready.rest, expected, atol=1e-13)
    assert_allclose(basis.directions @ ready.within + ready.rest, waiting, atol=1e-13)
    assert_allclose(ready.lengths, np.linalg.norm(waiting, axis=0))


@pytest.mark.parametrize("first", [1, 4, 100])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sigma", [1.0, 5.0])
def test_directions_that_have_most_of_a_column_are_taken_off_again(
    first, dtype, sigma, monkeypatch
):
    """However they are cut in pieces, the columns are orthogonal, and give themselves back."""
    monkeypatch.setattr("squareone.greedy.basis._FIRST", first)
    x = np.linspace(-3, 3, n)
    columns = np.exp(-np.square(x[:, None] - x[::3]) / (2 * sigma**2)) + 1e-2 * np.eye(n)[:, ::3]
    basis, eps = appended(columns.astype(dtype), dtype), np.finfo(dtype).eps
    assert loss_of_orthogonality(basis) <= 20 * eps
    assert_allclose(basis.directions.astype(float) @ basis.triangle, columns, atol=100 * eps)
    ready = basis.prepare(np.asfortranarray(columns[:, :2] + np.eye(n)[:, 1:3], dtype=dtype))
    assert (np.linalg.norm(ready.rest, axis=0) >= 0.1 * ready.met).all()


def test_a_column_of_which_little_is_left_is_made_orthogonal_again():
    columns = nearly_dependent(2, 1e-6)
    basis = appended(columns[:, :1])
    ready = basis.prepare(np.asfortranarray(columns[:, 1:]))
    assert ready.repeats[0] >= 1
    assert abs(basis.directions[:, 0] @ ready.rest[:, 0]) <= 1e-15 * np.linalg.norm(ready.rest)
    ready = basis.prepare(np.asfortranarray(rng.normal(size=(n, 1))))
    assert ready.repeats[0] == 0


def test_a_column_of_the_span_leaves_rounding():
    columns = rng.normal(size=(n, 5))
    basis = appended(columns)
    ready = basis.prepare(np.asfortranarray(columns @ rng.normal(size=(5, 3))))
    assert np.linalg.norm(ready.rest, axis=0).max() <= 1e-14 * ready.lengths.max()


def test_combinations_of_directions():
    basis = appended(rng.normal(size=(n, 5)))
    weights = rng.normal(size=(5, 2))
    assert_allclose(basis.combined(weights), basis.directions @ weights)
