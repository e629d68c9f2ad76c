"""Threads that are started, shared and given back."""

import multiprocessing
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV
from threadpoolctl import ThreadpoolController, threadpool_limits

from squareone import RLSRegressor, arrays, threads
from squareone.estimators import base
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


@pytest.mark.usefixtures("two_threads")
def test_for_each_uses_threads_and_gives_blas_back():
    before = blas_threads()
    meeting = threading.Barrier(2, timeout=10)
    during = []

    def work(item):
        meeting.wait()  # passes only if two items run at the same time
        during.append(blas_threads())

    threads.for_each(work, range(4))
    assert all(limit == 1 for limits in during for limit in limits)
    assert blas_threads() == before


@pytest.mark.parametrize("last", ["the first", "another"])
def test_any_thread_may_hold_blas_at_one(last, monkeypatch):
    """Not only the first that did, as threadpoolctl has it; and any may be the last to leave."""
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    before = blas_threads()
    threads._one_thread_blas._set([2] * len(BLAS.lib_controllers))
    try:
        assert set(blas_threads()) == {2}
        inside, leave, found = threading.Event(), threading.Event(), []

        def hold():
            with threads.one_core():
                found.extend(blas_threads())
                inside.set()
                leave.wait(10)

        other = threading.Thread(target=hold)
        with threads.one_thread():
            other.start()
            inside.wait(10)
            if last == "the first":
                leave.set()
                other.join()
        leave.set()
        other.join()
        assert set(found) == {1}
        assert set(blas_threads()) == {2}
        alone = threading.Thread(target=hold)
        alone.start()
        alone.join()
        assert set(found) == {1}
        assert set(blas_threads()) == {2}
    finally:
        threads._one_thread_blas._set(before)


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
        threads.for_each(work, range(10_000))
    assert len(done) < 10_000
    assert blas_threads() == before


def test_a_budget_of_one_thread_is_kept():
    with threadpool_limits(1, user_api="blas"):
        assert threads.thread_budget() == 1
        here = []
        threads.for_each(lambda item: here.append(threading.get_ident()), range(5))
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
        (RLSRegressor(Gaussian(1.0), 0.1).fit(X, y).predict(X), threads._one_thread_blas._holders)
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

    threads.for_each(fork, range(2))
    predicted, holders = queue.get(timeout=60)
    children[0].join(timeout=60)
    assert_allclose(predicted, expected, rtol=1e-10)
    assert holders == 0


@pytest.mark.thorough
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


def test_threads_are_started_once_where_cores_are_shared():
    names = []

    def note(_):
        names.append(threading.current_thread().name)
        time.sleep(0.005)

    with threadpool_limits(2, user_api="blas"):
        with threads.shared_cores():
            for _ in range(4):
                threads.for_each(note, range(6))
            with threads.shared_cores():  # inside another it changes nothing
                threads.for_each(note, range(6))
        assert len(set(names)) == min(2, joblib.cpu_count())
        with pytest.raises(ZeroDivisionError), threads.shared_cores():
            threads.for_each(lambda i: 1 / i, range(6))
        threads.for_each(note, range(6))
    assert threads._inside.helpers is None


@pytest.mark.usefixtures("two_threads")
def test_one_core_is_one_thread_everywhere():
    before = blas_threads()
    with threads.one_core():
        assert threads.thread_budget() == 1
        assert set(blas_threads()) == {1}
        here = []
        threads.for_each(lambda _: here.append(threading.get_ident()), range(4))
        assert set(here) == {threading.get_ident()}
        with threads.one_core():
            pass
        assert threads.thread_budget() == 1
    assert threads.thread_budget() == 2
    assert blas_threads() == before
    with pytest.raises(ValueError, match="stop"), threads.one_core():
        raise ValueError("stop")
    assert threads.thread_budget() == 2


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("n", "kernel", "cores"), [(300, "gaussian", 1), (5000, "linear", 2)])
def test_a_small_fit_takes_one_core(n, kernel, cores, monkeypatch):
    seen = []
    solve = base.fit

    def looking(*request):
        seen.append(threads.thread_budget())
        return solve(*request)

    monkeypatch.setattr(base, "fit", looking)
    monkeypatch.setattr(base, "_SMALL_ROWS", 300)
    X = np.random.default_rng(0).standard_normal((n, 20))
    RLSRegressor(kernel, 1.0).fit(X, X[:, 0])
    assert seen == [cores]


def test_helpers_have_the_settings_of_their_caller(monkeypatch):
    monkeypatch.setattr(threads, "thread_budget", lambda: 4)
    setting = ContextVar("setting", default="none")
    together = threading.Barrier(4, timeout=20.0)
    found = []

    def look(number):
        together.wait()  # every one on a thread of its own
        found.append(setting.get())

    token = setting.set("the caller's")
    try:
        threads.for_each(look, range(4))
    finally:
        setting.reset(token)
    assert found == ["the caller's"] * 4
