"""Groups of rows that workers hold between passes, as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..arrays import Array, blocks
from ..threads import one_core
from .base import rows_of
from .block_sums import ARITY, HELD_SHARE, Start, TreeSum, group_rows, some_of
from .dask_tasks import (
    as_task,
    client,
    failures_named,
    kept,
    later,
    results_in_order,
    threads_together,
    workers,
)

# Tasks in a pass, for each thread, at least: so that none is idle for long at its end.
_TASKS = 3
#: What a task holds: for each group, its blocks with the rows of the run that they are.
Run = list[list[tuple[slice, Any]]]
#: What is held of a block, and of what lies beside it.
Make = Callable[..., Any]


class HeldGroups:
    """All rows, a run of groups with each task, made once and kept where they were made.

    A pass is one task for each run, which gets what is asked and gives a sum or answers: nothing is
    read, checked or transformed again. Runs are nodes of the tree in which sums are added, so that
    the bits are those of a pass over the rows themselves. Each run can be made again from the rows
    if its worker is lost.

    Parameters
    ----------
    rows : StreamedRows
        Read by tasks.
    size : int
        Rows in a block.
    make : callable
        What is held of a block (:class:`Rows`), and of what lies beside it: a block again.
    beside : sequence of array (n, …) or None
    """

    def __init__(
        self,
        rows: Any,
        size: int,
        make: Make,
        beside: Sequence[Array | None] = (),
    ) -> None:
        self.size, self._client, self.n = size, client(), rows.shape[0]
        self._stream = rows.X
        groups = blocks(self.n, group_rows(rows.shape[1], rows.sparse))
        self._level, fewest = 0, _TASKS * threads_together()
        while -(-len(groups) // ARITY ** (self._level + 1)) >= fewest:
            self._level += 1
        runs = [groups[each] for each in blocks(len(groups), ARITY**self._level)]
        self._rows = [slice(run[0].start, run[-1].stop) for run in runs]
        shared = as_task(make)
        tasks = [
            later(
                _made,
                [rows.X._delayed(group) for group in run],
                size,
                shared,
                [some_of(beside, group) for group in run],
            )
            for run in runs
        ]
        self._runs = kept(tasks)

    @classmethod
    def of(
        cls,
        rows: Any,
        size: int,
        held: float,
        budget: float,
        make: Make,
        beside: Sequence[Array | None] = (),
    ) -> HeldGroups | None:
        """Those of rows, if the ``held`` bytes have room; ``budget`` are those of this process."""
        return cls(rows, size, make, beside) if held <= cls.room(budget) else None

    @staticmethod
    def room(budget: float) -> float:
        """Bytes that may be held: here of a budget, on a cluster a share of all its memory."""
        if client() is None:
            return budget
        limits = [limit for _, limit in workers()]
        return HELD_SHARE * sum(limits) if limits and min(limits) > 0.0 else float("inf")

    @property
    def there(self) -> bool:
        """Whether the scheduler that holds them is the one that would be asked."""
        return client() is self._client

    def sum(self, start: Start, beside: Sequence[Array | None]) -> Array:
        """The sum that ``start()`` accumulates over all rows."""
        tree = TreeSum()
        for total in self._asked(_sum_of_run, start, beside):
            tree.add(total.copy(), self._level)
        return tree.total()

    def answers(
        self, ask: Callable[..., Any], beside: Sequence[Array | None]
    ) -> Iterator[tuple[slice, Any]]:
        """What ``ask`` answers of every block, and of what lies beside it, in order."""
        for run, found in zip(self._rows, self._asked(_answers_of_run, ask, beside), strict=True):
            for rows, answer in found:
                yield slice(run.start + rows.start, run.start + rows.stop), answer

    def _asked(
        self, work: Callable[..., Any], what: Any, beside: Sequence[Array | None]
    ) -> Iterator[Any]:
        shared = as_task(what)
        tasks = [
            later(work, shared, run, some_of(beside, rows))
            for run, rows in zip(self._runs, self._rows, strict=True)
        ]
        with failures_named(self._stream):
            yield from results_in_order(tasks, len(tasks))


# --- what the tasks do ---


def itself(block: Any, *beside: Array | None) -> Any:
    """A block as it is read."""
    return block


def _made(
    groups: Sequence[Any], size: int, make: Make, beside: Sequence[Sequence[Array | None]]
) -> Run:
    with one_core():
        start, found = 0, []
        for group, near in zip(groups, beside, strict=True):
            found.append(
                [
                    (
                        slice(start + part.start, start + part.stop),
                        make(block, *some_of(near, part)),
                    )
                    for part, block in rows_of(group).row_blocks(size)
                ]
            )
            start += group.shape[0]
        return found


def _sum_of_run(start: Start, run: Run, beside: Sequence[Array | None]) -> Array:
    with one_core():
        tree, sums = TreeSum(), start()
        for group in run:
            for rows, block in group:
                sums.add(block, *some_of(beside, rows))
            tree.add(sums.take())
        return tree.total()


def _answers_of_run(
    ask: Callable[..., Any], run: Run, beside: Sequence[Array | None]
) -> list[tuple[slice, Any]]:
    with one_core():
        return [
            (rows, ask(block, *some_of(beside, rows))) for group in run for rows, block in group
        ]
