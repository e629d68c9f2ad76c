"""What a fit needs on each worker of a cluster, counted beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import MemoryLimitError
from ..rows.block_sums import HELD_SHARE, group_rows
from ..solvers.contract import Task
from ..solvers.few_centers.center_basis import MOST_BLOCK, block_rows
from ..solvers.registry import SOLVERS
from .available_memory import readable
from .plan import Plan


def worker_bytes(task: Task, solver: str, threads: int, chunk: float) -> float:
    """Bytes on a worker of so many threads, with chunks of rows of ``chunk`` bytes.

    A sum for each thread, and two more while they are added; and for each thread the chunks in
    which a group lies, one of them twice while it becomes an array, and one that is read ahead; a
    copy of a block of rows, and its kernel values.
    """
    sums = 8.0 * SOLVERS[solver].sum_numbers(task) * (threads + 2)
    rows = min(task.n, group_rows(task.d, task.sparse))
    whole = task.itemsize * (2.0 * task.stored if task.sparse else float(task.n) * task.d)
    group, block = whole * rows / max(task.n, 1), 0.0
    chunks = chunk * min(1.0 + np.ceil(group / chunk), whole / chunk) if chunk else 0.0
    if SOLVERS[solver].with_centers:
        held = min(rows, block_rows(task.centers, task.itemsize, MOST_BLOCK))
        block = float(held) * (task.centers + task.t + 1) * task.itemsize
        group *= held / rows
    return sums + threads * (chunks + 2.0 * chunk + group + block)


def on_workers(plan: Plan, workers: Sequence[tuple[int, float]], chunk: float) -> Plan:
    """The plan with what it needs on the workers: threads and bytes of each.

    One that has too little memory is an error, which says what would fit. A worker that names no
    limit is taken to have enough. What may be kept between passes is counted where it has room, in
    equal shares.
    """
    if not workers:
        return plan
    task, solver = plan.task, plan.solver
    needs = [worker_bytes(task, solver, threads, chunk) for threads, _ in workers]
    for need, (threads, limit) in zip(needs, workers, strict=True):
        if limit and need > limit:
            raise MemoryLimitError(_refusal(task, solver, threads, limit, chunk, need))
    held, limits = SOLVERS[solver].held_bytes(task), [limit for _, limit in workers]
    if held <= HELD_SHARE * sum(limits) or not min(limits):
        needs = [need + held / len(workers) for need in needs]
    total = sum(threads for threads, _ in workers)
    several = len(workers) > 1
    text = (
        f"{len(workers)} worker{'s' * several} of Dask with {total} thread{'s' * (total > 1)}"
        f"{' together' * several}, at most {readable(max(needs))} on each"
    )
    return replace(plan, reason=f"{plan.reason}; {text}")


def _refusal(task: Task, solver: str, threads: int, limit: float, chunk: float, need: float) -> str:
    """What came, what is allowed, and what would fit."""

    def fits(threads: int, centers: int) -> bool:
        asked = replace(task, centers=centers)
        return worker_bytes(asked, solver, threads, chunk) <= limit

    what = f" with {task.centers:,} centers" if task.centers else ""
    remedies = []
    fewer = next((each for each in range(threads - 1, 0, -1) if fits(each, task.centers)), 0)
    if fewer:
        remedies.append(f"workers with {fewer} thread{'s' * (fewer > 1)}")
    few, many = 0, task.centers
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if fits(threads, middle) else (few, middle)
    if few:
        remedies.append(f"centers={few:_}")
    if chunk > limit / (4.0 * threads):
        remedies.append("smaller chunks of X")
    remedies.append("workers with more memory")
    return (
        f'solver="{solver}"{what} needs {readable(need)} on a worker with {threads} '
        f"thread{'s' * (threads > 1)}, whose memory limit is {readable(limit)}. What fits: "
        f"{', or '.join(remedies)}"
    )
