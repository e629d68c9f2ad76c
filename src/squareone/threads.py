"""All cores: work in Python's threads, each with BLAS at one thread.

NumPy's element-wise loops run on one core, and BLAS' own threads know nothing of each other's
work: what is done tile by tile is dealt here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")


class _OneThreadBlas(AbstractContextManager[None]):
    """Holds BLAS at one thread while anybody tiles, and restores it when the last one leaves.

    BLAS limits belong to the process, so two fits in two threads that each saved and restored
    them could leave them at one for good. Counting the holders avoids that.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._libraries: list[Any] | None = None
        self._limits: list[int] = []
        self._lowered = False

    def _blas(self) -> list[Any]:
        if self._libraries is None:
            self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        return self._libraries

    def budget(self) -> int:
        """Threads we may use: the current BLAS limit, capped by the usable cores."""
        with self._lock:
            limits = self._limits if self._holders else self._current()
        return max(1, min(max(limits, default=1), joblib.cpu_count()))

    def _current(self) -> list[int]:
        return [library.num_threads for library in self._blas()]

    def __enter__(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._limits = self._current()
                self._lowered = self._limits.count(1) < len(self._limits)
                if self._lowered:
                    self._set([1] * len(self._limits))
            self._holders += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and self._lowered:
                self._set(self._limits)

    def _set(self, limits: list[int]) -> None:
        # by the libraries themselves: a limiter of threadpoolctl takes as long as ten updates
        for library, limit in zip(self._blas(), limits, strict=True):
            # since threadpoolctl 3.8 the first thread that sets a limit of OpenBLAS is the only one
            # that can; here they take turns, and whoever leaves last need not be the first
            free = getattr(library, "clear_controlling_thread", lambda force: None)
            free(force=True)
            library.set_num_threads(limit)
            free(force=True)

    def after_fork(self) -> None:
        """A child inherits the counts of threads that do not exist in it: start afresh."""
        holders = self._holders
        self._lock = threading.Lock()
        self._holders = 0
        if holders:
            self._set(self._limits)


_one_thread_blas = _OneThreadBlas()
_inside = threading.local()


def _forget_helpers() -> None:
    """A child of a process has none of its threads."""
    _inside.helpers = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_one_thread_blas.after_fork)
    os.register_at_fork(after_in_child=_forget_helpers)


def thread_budget() -> int:
    """Threads this call may use: the current BLAS limit, capped by the usable cores."""
    return 1 if getattr(_inside, "worker", False) else _one_thread_blas.budget()


def one_thread() -> AbstractContextManager[None]:
    """Inside, BLAS has one thread: for many small products, which would wait for the others.

    Where the cores are busy, waking a thread takes a thousand times as long as such a product.
    Cost: a few millionths of a second.
    """
    return _one_thread_blas


@contextmanager
def one_core() -> Iterator[None]:
    """Inside, all work of this thread is done by one core: for small fits.

    They gain nothing from a second one where the machine is idle, and where it is not their threads
    wait for each other, many times as long as the work takes.
    """
    before = getattr(_inside, "worker", False)
    _inside.worker = True
    try:
        with _one_thread_blas:
            yield
    finally:
        _inside.worker = before


@contextmanager
def shared_cores() -> Iterator[None]:
    """Inside, one :func:`for_each` after the other: threads are started once for all of them.

    BLAS is held at one thread.
    """
    workers = thread_budget()
    if workers == 1 or getattr(_inside, "helpers", None) is not None:
        yield
        return
    with _one_thread_blas, ThreadPoolExecutor(workers - 1) as helpers:
        _inside.helpers = helpers
        try:
            yield
        finally:
            _inside.helpers = None


def for_each(function: Callable[[Item], None], items: Iterable[Item]) -> None:
    """Call ``function`` on every item, on all cores, with BLAS at one thread in each.

    NumPy's element-wise loops run on one core but release the interpreter lock, so tiles in
    Python threads use all cores where a whole-matrix expression would not. A single item, or a
    budget of one thread, runs here and now with BLAS as it is. The first exception stops the
    others and is raised; an interrupt does the same.
    """
    work = list(items)
    workers = min(thread_budget(), len(work)) if len(work) > 1 else 1
    if workers <= 1:
        for item in work:
            function(item)
        return

    queue = iter(work)
    lock = threading.Lock()
    failures: list[BaseException] = []

    def serve() -> None:
        _inside.worker = True
        try:
            while not failures:
                with lock:
                    item = next(queue, None)
                if item is None:
                    return
                function(item)
        except BaseException as failure:  # noqa: BLE001 (raised below, in the caller's thread)
            failures.append(failure)
        finally:
            _inside.worker = False

    with shared_cores():
        # where matrices are made, and other settings of this thread, are those of its helpers
        helpers = [_inside.helpers.submit(copy_context().run, serve) for _ in range(workers - 1)]
        try:
            serve()
            wait(helpers)
        except BaseException as failure:  # noqa: BLE001 (an interrupt between items; raised below)
            failures.append(failure)
            wait(helpers)
    if failures:
        raise failures[0]
