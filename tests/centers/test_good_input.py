"""What selectors take: types, sizes, few rows, equal rows, sparse rows, rows from elsewhere."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from squareone import threads
from squareone.centers import (
    Given,
    KMeans,
    LeverageScores,
    PivotedCholesky,
    TraceGreedy,
    Uniform,
    selector_from,
)
from squareone.kernels import Gaussian, Laplacian, Linear

from .data import CHOLESKY, COUNTED, KERNEL, OF_ROWS, Streamed, rows, share


@pytest.mark.parametrize("name", OF_ROWS)
def test_rows_are_rows_and_differ(name):
    X = rows()
    chosen = COUNTED[name](30).select(X, KERNEL)
    assert np.unique(chosen.indices).size == 30
    assert_array_equal(chosen.points, X[chosen.indices])


@pytest.mark.parametrize("name", COUNTED)
def test_the_same_seed_the_same_centers(name):
    X = rows()
    select = COUNTED[name](12).select
    first, again, other = (select(X, KERNEL, seed) for seed in (3, 3, 4))
    assert_array_equal(first.points, again.points)
    assert first.explained == again.explained
    assert_array_equal(select(X, KERNEL).points, select(X, KERNEL, 0).points)
    if name != "greedy":
        assert not np.array_equal(first.points, other.points)


@pytest.mark.parametrize("name", OF_ROWS)
def test_tiles_and_threads_change_nothing(name, monkeypatch):
    X = rows(700)
    whole = COUNTED[name](40).select(X, KERNEL).indices
    for module in ("arrays", "kernels.tiles", "centers.kernel_residual", "centers.leverage"):
        monkeypatch.setattr(f"squareone.{module}.TILE", 64)
    assert_array_equal(COUNTED[name](40).select(X, KERNEL).indices, whole)
    monkeypatch.setattr(threads.joblib, "cpu_count", lambda: 2)
    with threadpool_limits(2, user_api="blas"):
        assert_array_equal(COUNTED[name](40).select(X, KERNEL).indices, whole)


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_more_centers_than_rows(name, dtype):
    X = rows(9, dtype=dtype)
    chosen = COUNTED[name](50).select(X, Gaussian(0.3))
    assert chosen.points.shape == (9, 3)
    assert_allclose(chosen.explained, 1.0, rtol=1e-5)


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("n", [1, 2, 6])
def test_few_or_equal_rows(name, n):
    X = np.full((n, 1), 3.0)
    chosen = COUNTED[name](4).select(X, KERNEL)
    expected = 1 if name in (*CHOLESKY, "kmeans") else min(n, 4)
    assert_array_equal(chosen.points, np.full((expected, 1), 3.0))
    assert chosen.explained == pytest.approx(1.0)


@pytest.mark.parametrize("name", OF_ROWS)
def test_rows_that_a_kernel_does_not_see(name):
    chosen = COUNTED[name](4).select(np.zeros((9, 2)), Linear())
    assert chosen.points.shape[0] == (1 if name in CHOLESKY else 4)
    assert chosen.explained == 1.0


@pytest.mark.parametrize("name", CHOLESKY)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(0.1), Laplacian(1.0)], ids=str)
def test_equal_rows_are_taken_once(name, dtype, kernel):
    X = np.repeat(10 * rows(25, 6, dtype), 4, axis=0)
    chosen = COUNTED[name](100).select(X, kernel)
    assert np.unique(chosen.indices // 4).size == chosen.indices.size == 25
    assert chosen.explained == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("name", CHOLESKY)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_more_centers_than_the_rank(name, dtype):
    chosen = COUNTED[name](30).select(rows(200, 5, dtype), Linear())
    assert chosen.indices.size == 5
    assert chosen.explained == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("name", OF_ROWS)
@pytest.mark.parametrize("matrix", [csr_array, csr_matrix])
def test_sparse_rows(name, matrix):
    X = np.where(rows(100, 8) > 0.5, rows(100, 8), 0.0)
    dense = COUNTED[name](15).select(X, KERNEL)
    sparse = COUNTED[name](15).select(matrix(X), KERNEL)
    assert_array_equal(sparse.indices, dense.indices)
    assert_array_equal(sparse.points.toarray(), dense.points)
    assert sparse.explained == pytest.approx(dense.explained)


@pytest.mark.parametrize("name", COUNTED)
def test_read_only_lists_and_other_types(name):
    X = rows(60)
    X.flags.writeable = False
    chosen = COUNTED[name](5).select(X, Gaussian("median"))
    assert chosen.points.flags.writeable
    from_list = COUNTED[name](5).select(X.tolist(), Gaussian("median"))
    assert_array_equal(from_list.points, chosen.points)
    assert COUNTED[name](5).select(np.arange(20).reshape(10, 2), "linear").points.dtype == float


@pytest.mark.parametrize("name", COUNTED)
def test_a_pool(name):
    X = rows(400)
    if name == "uniform":
        return
    source = Streamed(X)
    chosen = COUNTED[name](10, pool=50)._choose(KERNEL, source, np.random.RandomState(1))
    assert chosen.pool == 50
    assert source.fetched == 50
    assert chosen.points.shape == (10, 3)
    if chosen.indices is not None:
        assert_array_equal(chosen.points, X[chosen.indices])
    if name in CHOLESKY:
        assert chosen.explained_rows == 50
        pool = X[np.random.RandomState(1).permutation(400)[:50]]
        assert chosen.explained == pytest.approx(share(KERNEL, pool, chosen.points), rel=0.1)
    assert COUNTED[name](10, pool=5).select(X, KERNEL).points.shape == (5, 3)


@pytest.mark.parametrize("name", COUNTED)
def test_rows_from_elsewhere(name):
    X = rows(400)
    streamed = COUNTED[name](10)._choose(KERNEL, Streamed(X), np.random.RandomState(1))
    at_hand = COUNTED[name](10)._choose(KERNEL, X, np.random.RandomState(1))
    assert_array_equal(streamed.points, at_hand.points)
    assert streamed.explained == at_hand.explained


def test_the_largest_pool(monkeypatch):
    monkeypatch.setattr("squareone.centers.base.LARGEST_FACTOR", 1000)
    X = rows(400)
    assert PivotedCholesky(10).select(X, KERNEL).pool == 100
    assert PivotedCholesky(40).select(X, KERNEL).pool == 80


def test_given_points():
    X = rows()
    points = X[5:8].astype(np.float32)
    chosen = Given(points).select(X, KERNEL)
    assert chosen.points.dtype == np.float64
    assert chosen.indices is None
    assert not np.shares_memory(Given(X).select(X, KERNEL).points, X)
    assert chosen.explained == pytest.approx(share(KERNEL, X, points))
    assert_array_equal(Given(X[:2], indices=[0, 1]).select(X, KERNEL).indices, [0, 1])
    for stored in (csr_array(X[:3]), X[:3]):
        assert_array_equal(Given(stored).select(csr_array(X), KERNEL).points.toarray(), X[:3])
        assert_array_equal(Given(stored).select(X, KERNEL).points, X[:3])
        streamed = Given(stored)._choose(KERNEL, Streamed(X), np.random.RandomState(0))
        assert_array_equal(streamed.points, X[:3])


def test_selectors_are_parameters():
    for selector, text in (
        (Uniform(5), "Uniform(count=5)"),
        (PivotedCholesky(5, "greedy"), "PivotedCholesky(count=5, pivot='greedy')"),
        (TraceGreedy(5, pool=100), "TraceGreedy(count=5, pool=100)"),
        (LeverageScores(5, alpha=0.1), "LeverageScores(alpha=0.1, count=5)"),
        (KMeans(5), "KMeans(count=5)"),
        (Given([[1.0]]), "Given(points=[[1.0]])"),
    ):
        copy = clone(selector)
        assert copy is not selector
        assert copy.get_params() == selector.get_params()
        assert repr(copy) == text
    assert PivotedCholesky(5).set_params(pivot="greedy").pivot == "greedy"


def test_what_centers_may_be():
    X = rows()
    assert repr(selector_from(np.int64(7))) == "Uniform(count=7)"
    selector = KMeans(3)
    assert selector_from(selector) is selector
    for points in (X, X.tolist(), csr_array(X)):
        given = selector_from(points)
        assert isinstance(given, Given)
        assert given.points is points


@pytest.mark.parametrize("name", COUNTED)
def test_no_matrix_of_all_rows_with_all_rows(name):
    X = rows(20_000, 5)
    tracemalloc.start()
    COUNTED[name](50).select(X, Gaussian(2.0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * X.shape[0] * 50 * 8 < 0.02 * X.shape[0] ** 2 * 8
