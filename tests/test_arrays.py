"""The seam: factorisations in place, and threads that are given back."""

import multiprocessing
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV
from threadpoolctl import ThreadpoolController, threadpool_limits

from squareone import RLSRegressor, arrays
from squareone.errors import SingularSystemError
from squareone.kernels import Gaussian

BLAS = ThreadpoolController().select(user_api="blas")


def blas_threads():
    return [lib.num_threads for lib in BLAS.lib_controllers]


@pytest.fixture
def two_threads(monkeypatch):
    """A budget of two threads, whatever the environment of the tests allows."""
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    with threadpool_limits(2, user_api="blas"):
        yield


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(arrays, "TILE", 16)
    monkeypatch.setattr("squareone.kernels.tiles.TILE", 16)


def symmetric(n=60, dtype=np.float64):
    A = np.random.default_rng(0).standard_normal((n, n))
    return (A @ A.T + np.eye(n)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cholesky_reads_and_writes_the_lower_triangle_only(dtype):
    A = symmetric(dtype=dtype)
    B = A.copy()
    above = np.triu_indices(60, 1)
    B[above] = 7.0
    arrays.cholesky(B)
    assert (B[above] == 7.0).all()
    L = np.tril(B)
    assert_allclose(L @ L.T, A, rtol=0, atol=1e4 * np.finfo(dtype).eps)
    assert_allclose(arrays.cholesky_solve(B, A[:, :2].copy()), np.eye(60)[:, :2], atol=1e-3)
    arrays.triangular_inverse(B)
    assert (B[above] == 7.0).all()
    inverse = np.linalg.inv(A.astype(np.float64))
    assert_allclose(arrays.column_square_sums(B), np.diag(inverse), rtol=1e-3)


def test_cholesky_of_an_indefinite_matrix_is_refused():
    with pytest.raises(SingularSystemError, match="leading minor of order 2"):
        arrays.cholesky(np.array([[1.0, 0.0], [2.0, 1.0]]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "rank"), [(1, 1), (60, 60), (300, 20)])
def test_pivoted_cholesky_goes_as_far_as_the_rank(n, rank, dtype):
    B = np.random.default_rng(0).standard_normal((n, rank)).astype(dtype)
    A = B @ B.T
    L = A.copy()
    above = np.triu_indices(n, 1)
    L[above] = 7.0
    found, order = arrays.pivoted_cholesky(L)
    assert found == rank
    assert (L[above] == 7.0).all()
    assert sorted(order) == list(range(n))
    assert order[0] == np.argmax(np.diag(A))
    left = np.tril(L)[:, :rank]
    assert_allclose(left @ left.T, A[order][:, order], atol=1e4 * np.finfo(dtype).eps)
    divided = A[:, order[:rank]].copy()
    arrays.divide_right(divided, np.ascontiguousarray(L[:rank, :rank]))
    assert_allclose(np.square(divided).sum(axis=1), np.diag(A), rtol=1e-2)


def test_pivoted_cholesky_of_little():
    for n in (0, 1, 3):
        rank, order = arrays.pivoted_cholesky(np.zeros((n, n)))
        assert rank == 0
        assert order.tolist() == list(range(n))
    A = np.diag([1.0, 4.0, 1e-3])
    rank, order = arrays.pivoted_cholesky(A, 1e-2)
    assert (rank, order.tolist()) == (2, [1, 0, 2])


@pytest.mark.parametrize("tile", [7, 512])
def test_passes_over_triangles(tile, monkeypatch):
    monkeypatch.setattr(arrays, "TILE", tile)
    A = symmetric(40)
    lower = np.tril(A)
    assert_allclose(arrays.frobenius_norm(lower.copy()), np.linalg.norm(A))
    v = np.arange(40.0)
    assert_allclose(arrays.symmetric_product(lower.copy(), v), A @ v)
    both = lower.copy()
    arrays.copy_triangle(both, to_upper=True)
    assert_allclose(both, A)
    both = np.triu(A)
    arrays.copy_triangle(both, to_upper=False)
    assert_allclose(both, A)
    assert_allclose(arrays.column_square_sums(lower), np.square(lower).sum(axis=0))


@pytest.mark.parametrize("shape", [(5, 5), (40, 3), (3000, 100), (130, 60)])
def test_blocked_qr(shape):
    rng = np.random.default_rng(0)
    A = rng.standard_normal(shape)
    A[:, -1] = A[:, 0]  # whatever the rank
    qr = arrays.BlockedQR(lambda rows: A[rows].copy(), *shape, A.dtype)
    R = qr.R.copy()
    Q = qr.rotated(np.eye(shape[1]))
    assert_allclose(Q.T @ Q, np.eye(shape[1]), atol=1e-13)
    assert_allclose(Q @ R, A, atol=1e-11)


def test_tiles_cover_the_lower_triangle_once(monkeypatch):
    monkeypatch.setattr(arrays, "TILE", 7)
    seen = np.zeros((40, 40), int)
    for tile in arrays.lower_tiles(40):
        seen[tile] += 1
    assert (seen[np.tril_indices(40)] == 1).all()


@pytest.mark.usefixtures("two_threads")
def test_for_each_uses_threads_and_gives_blas_back():
    before = blas_threads()
    meeting = threading.Barrier(2, timeout=10)
    during = []

    def work(item):
        meeting.wait()  # passes only if two items run at the same time
        during.append(blas_threads())

    arrays.for_each(work, range(4))
    assert all(limit == 1 for limits in during for limit in limits)
    assert blas_threads() == before


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_failure_stops_the_others_and_gives_blas_back(failure):
    before = blas_threads()
    done = []

    def work(item):
        if item == 3:
            raise failure("item 3")
        done.append(item)

    with pytest.raises(failure, match="item 3"):
        arrays.for_each(work, range(10_000))
    assert len(done) < 10_000
    assert blas_threads() == before


def test_a_budget_of_one_thread_is_kept():
    with threadpool_limits(1, user_api="blas"):
        assert arrays.thread_budget() == 1
        here = []
        arrays.for_each(lambda item: here.append(threading.get_ident()), range(5))
    assert set(here) == {threading.get_ident()}


@pytest.mark.usefixtures("two_threads", "small_tiles")
def test_concurrent_fits_leave_blas_as_it_was():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((150, 3)), rng.standard_normal(150)
    before = blas_threads()
    alone = RLSRegressor(Gaussian(1.0), 0.1).fit(X, y).predict(X)
    with ThreadPoolExecutor(6) as pool:
        fits = [
            pool.submit(lambda: RLSRegressor(Gaussian(1.0), 0.1).fit(X, y).predict(X))
            for _ in range(24)
        ]
        for fit in fits:
            assert_allclose(fit.result(), alone, rtol=1e-10)
    assert blas_threads() == before


def _fit_in_child(queue, X, y):
    queue.put(
        (RLSRegressor(Gaussian(1.0), 0.1).fit(X, y).predict(X), arrays._one_thread_blas._holders)
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.usefixtures("two_threads", "small_tiles")
def test_a_fork_in_the_middle_of_a_tile_starts_afresh():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), rng.standard_normal(50)
    expected = RLSRegressor(Gaussian(1.0), 0.1).fit(X, y).predict(X)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = []

    def fork(item):
        if item == 0:
            child = context.Process(target=_fit_in_child, args=(queue, X, y))
            child.start()
            children.append(child)

    arrays.for_each(fork, range(2))
    predicted, holders = queue.get(timeout=60)
    children[0].join(timeout=60)
    assert_allclose(predicted, expected, rtol=1e-10)
    assert holders == 0


@pytest.mark.usefixtures("two_threads")
def test_a_parallel_grid_search_gives_what_a_serial_one_gives():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 3)), rng.standard_normal(80)
    grid = {"kernel__sigma": [0.5, 1.0, 2.0]}
    serial = GridSearchCV(RLSRegressor(Gaussian(1.0)), grid, cv=3).fit(X, y)
    for backend in ("loky", "threading"):
        with joblib.parallel_backend(backend, n_jobs=2):
            parallel = GridSearchCV(RLSRegressor(Gaussian(1.0)), grid, cv=3, n_jobs=2).fit(X, y)
        assert_allclose(
            parallel.cv_results_["mean_test_score"],
            serial.cv_results_["mean_test_score"],
            rtol=1e-8,
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [30, 47])
def test_cholesky_by_panels(n, dtype, monkeypatch):
    """What is used where LAPACK's own routine cannot be trusted with the size."""
    rng = np.random.default_rng(0)
    B = rng.standard_normal((n, n + 5))
    A = (B @ B.T).astype(dtype)
    above = np.triu(rng.standard_normal((n, n)), 1).astype(dtype)
    whole, panels = np.tril(A) + above, np.tril(A) + above
    arrays.cholesky(whole)
    monkeypatch.setattr(arrays, "LARGEST_POTRF", 10)
    monkeypatch.setattr(arrays, "_PANEL", 9)
    arrays.cholesky(panels)
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    assert_allclose(np.tril(panels), np.tril(whole), rtol=tolerance, atol=tolerance)
    assert (np.triu(panels, 1) == above).all()
    A[25, 25] = -1.0
    with pytest.raises(SingularSystemError, match="leading minor of order 26 is not"):
        arrays.cholesky(A)


def test_threads_are_started_once_where_cores_are_shared():
    names = []

    def note(_):
        names.append(threading.current_thread().name)
        time.sleep(0.005)

    with threadpool_limits(2, user_api="blas"):
        with arrays.shared_cores():
            for _ in range(4):
                arrays.for_each(note, range(6))
            with arrays.shared_cores():  # inside another it changes nothing
                arrays.for_each(note, range(6))
        assert len(set(names)) == min(2, joblib.cpu_count())
        with pytest.raises(ZeroDivisionError), arrays.shared_cores():
            arrays.for_each(lambda i: 1 / i, range(6))
        arrays.for_each(note, range(6))
    assert arrays._inside.helpers is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loop", ["SciPy's own", None])
def test_sparse_product(dtype, loop, monkeypatch):
    """Into a view of a larger array, whatever was there before; also without the hidden loop."""
    if loop is None:
        monkeypatch.setattr(arrays, "_csr_matvecs", None)
    else:
        assert arrays._csr_matvecs is not None
    rng = np.random.default_rng(0)
    A = scipy.sparse.random(9, 7, 0.4, format="csr", dtype=dtype, random_state=0)
    B = rng.standard_normal((7, 3)).astype(dtype)
    out = np.full((20, 3), np.nan, dtype)
    arrays.sparse_product(A, B, out[4:13])
    assert_allclose(out[4:13], A.toarray() @ B, rtol=1e-5)
    assert np.isnan(out[:4]).all()
    assert np.isnan(out[13:]).all()
    mixed = np.empty((9, 3))
    arrays.sparse_product(A.astype(np.float32), B.astype(np.float64), mixed)
    assert_allclose(mixed, A.toarray() @ B, rtol=1e-5)
