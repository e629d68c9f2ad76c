"""Questions to rows as tasks of Dask, on whatever scheduler the user has."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import reduce
from typing import Any

import dask.config
import joblib
import numpy as np
from dask.base import compute, get_scheduler, persist
from dask.delayed import delayed

from ..arrays import Array, block_lengths, blocks
from ..threads import one_core
from .base import rows_of
from .block_sums import (
    ARITY,
    Keeper,
    Start,
    SumOnTheWay,
    Watcher,
    added,
    group_rows,
    some_of,
)

_log = logging.getLogger("squareone")

# Sums that come to the client one by one: of so many nodes of the tree, or fewer.
_NODES = 16
# Results that are asked for together, and may wait for the client: for each thread, and at least.
_AHEAD, _LEAST_AHEAD = 2, 8
# Seconds after which it is looked whether workers were lost.
_LOOK = 1.0


def later(function: Callable[..., Any], *arguments: Any) -> Any:
    """A call as a task; arguments that are tasks are its inputs."""
    return delayed(function, pure=False)(*arguments)


def as_task(value: Any) -> Any:
    """A value that many tasks need, sent once: part of the graph, so that it can be made again."""
    return later(_same, value)


def _same(value: Any) -> Any:
    return value


# --- what the tasks do ---


def sum_of_group(start: Start, rows: Any, size: int, beside: Sequence[Array | None]) -> Array:
    """The sum over a stream in memory, by one thread."""
    with one_core():
        sums = start()
        for part, block in rows_of(rows).row_blocks(size):
            sums.add(block, *some_of(beside, part))
        return sums.take()


def _answers_of_group(
    ask: Callable[..., Any], rows: Any, size: int, beside: Sequence[Array | None]
) -> list[Any]:
    with one_core():
        blocks = rows_of(rows).row_blocks(size)
        return [ask(block, *some_of(beside, part)) for part, block in blocks]


# --- what is asked ---


def sum_by_tasks(
    rows: Any,
    start: Start,
    beside: Sequence[Array | None],
    *,
    size: int,
    watch: Watcher | None,
    keeper: Keeper | None,
) -> Array:
    """What :func:`~squareone.rows.block_sums.sum_over_blocks` gives, to the bit.

    A task for each group, and one to add it to those before it in its node of the tree.
    """
    n, within = rows.shape[0], group_rows(rows.shape[1], rows.sparse)
    so_far = SumOnTheWay.restored(keeper)
    if so_far.rows == n:
        return so_far.tree.total()
    so_far.rows, so_far.begun = so_far.rows - so_far.rows % within, None  # it is begun again
    first, shared = so_far.rows // within, as_task(start)
    groups = blocks(n, within)
    totals = [
        later(sum_of_group, shared, rows.X._delayed(group), size, some_of(beside, group))
        for group in groups[first:]
    ]
    nodes = _nodes(totals, first)
    with failures_named(rows.X):
        results = results_in_order([task for task, _, _ in nodes], len(nodes))
        for (_, level, last), total in zip(nodes, results, strict=True):
            so_far.tree.add(np.require(total, requirements="W"), level)
            so_far.rows = min(n, last * within)
            if keeper is not None:
                keeper.keep("sums", so_far.state)
            if watch is not None:
                watch(so_far.rows)
    return so_far.tree.total()


def _nodes(totals: list[Any], first: int) -> list[tuple[Any, int, int]]:
    """Nodes of the tree over groups ``first`` and later: a task, its level, and where it ends."""
    most, last = 0, first + len(totals)
    while -(-last // ARITY**most) > _NODES:
        most += 1
    found, here = [], first
    while here < last:
        level = max(each for each in range(most + 1) if here % ARITY**each == 0)
        end = min(here + ARITY**level, last)
        found.append((_node(totals[here - first : end - first]), level, end))
        here = end
    return found


def _node(totals: list[Any]) -> Any:
    """A sum is added as soon as those before it are, so that few of them wait for others."""
    while len(totals) > 1:
        totals = [reduce(_two_added, totals[part]) for part in blocks(len(totals), ARITY)]
    return totals[0]


def _two_added(one: Any, other: Any) -> Any:
    return later(added, [one, other])


def answers_of_tasks(
    rows: Any, ask: Callable[..., Any], beside: Sequence[Array | None], size: int
) -> Iterator[tuple[slice, Any]]:
    """What ``ask`` answers of every block, and of what lies beside it, in order."""
    n, within = rows.shape[0], group_rows(rows.shape[1], rows.sparse)
    tasks = [task for _, task in tasks_of_groups(rows, ask, beside, size)]
    start, lengths = 0, block_lengths(size, within)
    with failures_named(rows.X):
        for answers in results_in_order(tasks):
            for answer in answers:
                part = slice(start, min(start + next(lengths), n))
                yield part, answer
                start = part.stop


def tasks_of_groups(
    rows: Any, ask: Callable[..., Any], beside: Sequence[Array | None], size: int
) -> list[tuple[slice, Any]]:
    """Groups of rows, and a task for each: a list of what ``ask`` answers of its blocks."""
    shared = as_task(ask)
    return [
        (group, later(_answers_of_group, shared, rows.X._delayed(group), size, near))
        for group in blocks(rows.shape[0], group_rows(rows.shape[1], rows.sparse))
        for near in [some_of(beside, group)]
    ]


# --- the scheduler ---


def client() -> Any:
    """The user's ``distributed.Client``, where that is the scheduler; else None."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    found = getattr(get_scheduler(), "__self__", None)
    return found if isinstance(found, distributed.Client) else None


def kept(tasks: Sequence[Any]) -> list[Any]:
    """Tasks whose results stay where they are made, until nobody knows them any more."""
    return list(persist(*tasks))


def threads_together() -> int:
    """Threads of all workers, or of this machine."""
    there = workers()
    return max(1, sum(threads for threads, _ in there) if there else joblib.cpu_count())


def results_in_order(tasks: Sequence[Any], ahead: int | None = None) -> Iterator[Any]:
    """Results of tasks, one after the other; not many more wait in memory than are asked for.

    Whatever ends this, no task goes on: an error of one of them is raised here.
    """
    cluster = client()
    if cluster is None:
        for part in blocks(len(tasks), ahead or _LEAST_AHEAD):
            yield from compute(*tasks[part])
        return
    watched = _WatchedWorkers(cluster)
    parts = blocks(len(tasks), ahead or max(_LEAST_AHEAD, _AHEAD * watched.threads))
    waiting: list[Any] = []
    try:
        with watched:
            for i, part in enumerate(parts):
                if i == 0:
                    waiting = _submitted(cluster, tasks[part])
                more = i + 1 < len(parts)
                following = _submitted(cluster, tasks[parts[i + 1]]) if more else []
                present, waiting = waiting, [*waiting, *following]
                for future in present:
                    yield future.result()
                    waiting.remove(future)
                    future.release()
    finally:
        if waiting and cluster.status == "running":
            cluster.cancel(waiting)


class _WatchedWorkers(AbstractContextManager["_WatchedWorkers"]):
    """The workers of a cluster while results are waited for: losses are logged as they are seen.

    A thread looks at them. (Waiting for a result with a time limit, again and again, is no way:
    now and then ``distributed`` loses a result whose limit runs out as it comes.)
    """

    def __init__(self, cluster: Any) -> None:
        self._cluster, self._known = cluster, _workers(cluster)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="squareone-workers", daemon=True)

    @property
    def threads(self) -> int:
        return sum(int(each["nthreads"]) for each in self._known.values())

    def __enter__(self) -> _WatchedWorkers:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._over.wait(_LOOK):
            self._look()

    def _look(self) -> None:
        """Log which workers are gone since the last look, and if none is left."""
        if self._cluster.status != "running":
            return
        there = _workers(self._cluster)
        lost = self._known.keys() - there.keys()
        for each in sorted(lost):
            _log.warning("worker %s was lost; its tasks are left to others", each)
        if lost and not there:
            _log.warning(
                "no workers are left, and the work waits for new ones: start some for the same "
                "scheduler, or interrupt it"
            )
        self._known = there


@contextmanager
def failures_named(stream: Any) -> Iterator[None]:
    """A note to an error, where it was raised while a chunk of the user's was computed."""
    try:
        yield
    except Exception as error:
        stream._name_failure(error)
        raise


def first_that_fails(tasks: Sequence[Any]) -> int | None:
    """The number of the first task that ends in an error, as far as can be said."""
    cluster = client()
    for part in blocks(len(tasks), _LEAST_AHEAD):
        if cluster is None:
            for i in range(part.start, part.stop):
                try:
                    compute(tasks[i])
                except Exception:  # noqa: BLE001 whatever the user's graph raises
                    return i
            continue
        futures = _submitted(cluster, tasks[part])
        for i, future in enumerate(futures, start=part.start):
            if future.exception() is not None:
                cluster.cancel(futures)
                return i
    return None


def _submitted(cluster: Any, tasks: Sequence[Any]) -> list[Any]:
    """Futures of tasks, in whose graph are targets and centers: it may be large without a word."""
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        return cluster.compute(list(tasks))


def workers() -> list[tuple[int, float]]:
    """Threads and bytes of each worker of the user's cluster; empty where that is no cluster."""
    cluster = client()
    known = {} if cluster is None else _workers(cluster)
    return [(int(each["nthreads"]), float(each["memory_limit"] or 0)) for each in known.values()]


def _workers(cluster: Any) -> dict[str, Any]:
    """What the scheduler knows of its workers, by their addresses."""
    return dict(cluster.scheduler_info(n_workers=-1)["workers"])
