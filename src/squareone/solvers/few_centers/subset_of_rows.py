"""``subset``: the exact fit of the rows that are centers, by whichever exact solver is cheapest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..contract import Candidate, Task
from ..cost_counts import during
from .center_costs import center_choice_work, center_number, needs_rows


def subset_cost(task: Task, exact: Callable[[Task], list[Candidate]]) -> Candidate:
    """The exact solution of the center rows alone."""
    m = center_number(task)
    small = replace(
        task,
        n=m,
        stored=int(task.stored * m / task.n),
        centers=0,
        sampled=0,
        largest_fold=int(task.largest_fold * m / task.n),
        fold_work=task.fold_work * (m / task.n) ** 2,
    )
    best = min(exact(small), key=lambda c: c.flops)
    work = (*during("choice of centers", center_choice_work(task, m)), *best.work)
    rest = task.itemsize * 8.0 * task.n * task.t
    form = f"{m:,} rows only, exactly"
    return Candidate("subset", work, best.bytes + rest, form, best.refused or needs_rows(task))
