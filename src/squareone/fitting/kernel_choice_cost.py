"""What the choice of a kernel costs, from shapes alone: seconds and memory for a plan.

How many rounds of a metric are worth their time is for the rows to say, and so is which kernels go
on: what is counted is a chain of the length that was usual on tables, and of each stage the dearest
kernels that may come so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..arrays import TILE
from ..errors import MemoryLimitError
from ..kernels import Kernel, Laplacian, Linear
from ..kernels.gradients import GRADIENT_NUMBERS
from ..kernels.widths import free_width
from ..planning import Plan, Preliminaries, make_plan
from ..planning.available_memory import readable
from ..selection import Folds
from ..solvers.contract import PRELIMINARIES, Candidate, Task, Work
from ..solvers.cost_counts import (
    WIDTH_ROWS,
    WIDTH_STEPS,
    counted,
    during,
    factorisation_work,
    kernel_bytes,
    width_search_work,
)
from .kernel_choice import (
    FEW_ROWS,
    FOLDS,
    FRESH_FOLDS,
    METRIC_ROWS,
    POOL_ROWS,
    POWERS,
    Stage,
    stages_of,
)
from .metric_rounds import GRADIENT_ROWS, SEARCH_ROWS, SLOPE_ROWS
from .request import FitRequest, KernelSearch

# Rounds of a chain, the last of which does not help: between one and six were seen.
_ROUNDS = 2.2
# What a fit, however small, does beside its numbers: pieces of work of a fraction of a millisecond.
_CALLS = 15.0
# Metrics that are kept on the way; bytes of trials, fits and the like.
_METRICS, _OBJECTS = 12, 1e6
# Evaluations that a gradient takes for a pair of rows, and one along every feature for each.
_SLOPE_EVALUATIONS, _FEATURE_EVALUATIONS = 2.5, 0.9


def choice_cost(request: FitRequest, plan: Plan) -> Preliminaries:
    """Work and bytes of the choice, for a fit with ``plan`` once the kernel is known.

    Refused where the choice needs more memory than there may be.
    """
    search, p = request.search, min(plan.task.n, POOL_ROWS)
    assert search is not None
    task = replace(
        plan.task,
        n=p,
        fold_work=0.0,
        largest_fold=0,
        folds=0,
        centers=0,
        sampled=0,
        streamed=False,
        linear=False,
        width_search=True,
    )
    folds = request.criterion
    given = isinstance(folds, Folds) and folds.name == "cv"
    with_centers = _with_centers(plan, p) if plan.task.centers else None
    learns = search.learned and any(not isinstance(kernel, Linear) for kernel in search.kernels)
    nothing = len(search.kernels) * search.ways == 1 and not learns
    stages = stages_of(p, given_folds=given, no_choice=nothing)
    most = _bytes(task, search.kernels, stages, plan.task.n)
    cost = Preliminaries(
        tuple(_work(task, search, stages, with_centers)),
        max(most, with_centers.bytes if with_centers else 0.0),
    )
    if cost.bytes > plan.memory_limit:
        msg = (
            f"the choice of the kernel, among {p:,} rows of {task.d:,} features, needs "
            f"{readable(cost.bytes)}; memory_limit is {readable(plan.memory_limit)}. Name a "
            'kernel without a learned metric, such as kernel="gaussian", or raise memory_limit'
        )
        raise MemoryLimitError(msg)
    return cost


def _with_centers(plan: Plan, p: int) -> Candidate:
    """The fit of a fold of the pool where only some points are centers."""
    n = int(0.8 * p)
    task = replace(plan.task, n=n, centers=min(plan.task.centers, n), sampled=0, streamed=False)
    return make_plan(task, plan.solver, plan.memory_limit).chosen


def _work(
    task: Task, search: KernelSearch, stages: list[Stage], with_centers: Candidate | None
) -> list[Work]:
    """Of the stages, of the folds for the error, and of the metric."""
    kernels = search.kernels
    learned = search.learned and any(not isinstance(kernel, Linear) for kernel in kernels)
    rounds = _ROUNDS if learned else 0.0
    choice: list[Work] = []
    chains = list(kernels) * search.ways
    for number, stage in enumerate(stages):
        # the dearest come last
        chains = chains if stage.chains is None else chains[-stage.chains :]
        if number == 1 and learned:
            chains = [kernel for kernel in chains for _ in POWERS]
        for kernel in chains:
            choice += _chain(task, kernel, stage, rounds, first=number == 0)
    best = kernels[-2:]  # their sum may be chosen
    if len(best) > 1:
        choice += _times(_fit(task, best[-1], _kept_of(stages[-1])), 2.0 * FOLDS)
    part = min(METRIC_ROWS, task.n)
    fresh: list[Work] = []
    metric: list[Work] = []
    for kernel in best:
        fresh += _rounds(task, kernel, part, rounds, FRESH_FOLDS)
        if with_centers is None:
            fresh += _near(task, kernel, int(0.8 * task.n), FRESH_FOLDS)
        metric += _rounds(task, kernel, part, rounds, 1)
    if with_centers is not None:
        fresh += _times(with_centers.work, FRESH_FOLDS)
    parts = zip(PRELIMINARIES, (choice, fresh, metric), strict=True)
    return _gathered(w for stage, work in parts for w in during(stage, work))


def _gathered(work: Iterable[Work]) -> list[Work]:
    """The same in few pieces, for a plan goes into files."""
    found: dict[tuple[str, str, float, int], Work] = {}
    for w in work:
        key = w.stage, w.kind, w.size, w.bits
        before = found.get(key)
        if before is not None:
            w = replace(w, amount=before.amount + w.amount, flops=before.flops + w.flops)
        found[key] = w
    return list(found.values())


def _times(work: Iterable[Work], count: float) -> list[Work]:
    several = [replace(w, amount=count * w.amount, flops=count * w.flops) for w in work]
    return several if count else []


def _chain(task: Task, kernel: Kernel, stage: Stage, rounds: float, *, first: bool) -> list[Work]:
    """All folds of a chain in a stage: width and λ are searched in one of them."""
    train = _kept_of(stage)
    folds = FOLDS * stage.repeats
    trials = 1.0 + (0.0 if isinstance(kernel, Linear) else rounds)
    work = _times(_fit(task, kernel, train), trials * folds)
    if not isinstance(kernel, Linear):
        # later stages know width and λ of the rounds before the best one
        searched = trials if first else 0.5 * trials
        work += _times(_looks(task, kernel, train), searched * stage.repeats)
        work += _times(_slopes(task, kernel, train), (trials - 1.0) * folds)
        if first:
            free = free_width(kernel) != ""
            work += width_search_work(replace(task, n=train, width_search=free))
    # predictions for the rows of the folds
    return [*work, *_times(_values(task, kernel, 0.5 * train * train), trials * folds)]


def _rounds(task: Task, kernel: Kernel, rows: int, rounds: float, times: int) -> list[Work]:
    """The rounds of a metric at widths and λ that are known."""
    if isinstance(kernel, Linear):
        return []
    return _times([*_fit(task, kernel, rows), *_slopes(task, kernel, rows)], rounds * times)


def _near(task: Task, kernel: Kernel, rows: int, times: int) -> list[Work]:
    """A fit whose width and λ are looked for on a part of the rows."""
    if isinstance(kernel, Linear):
        return _times(_fit(task, kernel, rows), times)
    part = min(rows, SEARCH_ROWS)
    return _times([*_looks(task, kernel, part), *_fit(task, kernel, rows)], times)


def _fit(task: Task, kernel: Kernel, n: int) -> list[Work]:
    """A kernel matrix and its factor; of a linear kernel an eigendecomposition of features."""
    calls = Work("call", _CALLS, 1, task.bits)
    if isinstance(kernel, Linear):
        side = min(n, task.d)
        return [
            counted(task, "gram", 2.0 * n * task.d * side, task.d),
            counted(task, "eigh", 9.0 * side**3, side),
            calls,
        ]
    return [
        *_values(task, kernel, 0.5 * n * n),
        counted(task, "cholesky", n**3 / 3, n, 32),
        Work("pass", 2.0 * n * n * task.itemsize, n, task.bits),
        calls,
    ]


def _looks(task: Task, kernel: Kernel, n: int) -> list[Work]:
    """A search near the end of another one: few rows have all λ at each width."""
    if not free_width(kernel) and task.alphas == 1:
        return []
    if n <= FEW_ROWS:
        values = _values(task, kernel, 0.5 * n * n)
        one = [*values, counted(task, "eigh", 9.0 * n**3, n), Work("call", _CALLS, 1, task.bits)]
        return _times(one, 2.0)
    evaluations = Work("evaluation", 0.5 * n * n, n, task.bits)
    one = [evaluations, *factorisation_work(task, n, 1, 32), Work("call", _CALLS, 1, task.bits)]
    return _times(one, WIDTH_STEPS)


def _values(task: Task, kernel: Kernel, count: float) -> list[Work]:
    """Kernel values of pairs of rows."""
    work = [Work("evaluation", count, task.n, task.bits)]
    if isinstance(kernel, Laplacian):
        return [*work, Work("city block", count * task.d, task.d, 64)]
    return [*work, counted(task, "product", 2.0 * count * task.d, task.d)]


def _slopes(task: Task, kernel: Kernel, n: int) -> list[Work]:
    """Gradients of all target columns at some rows."""
    t, d = task.t, task.d
    if isinstance(kernel, Laplacian):
        pairs = float(min(n, SLOPE_ROWS) * n)
        along = Work("evaluation", pairs * d * t * _FEATURE_EVALUATIONS, n, 64)
        return [along, *_values(task, kernel, pairs)]
    rows = min(n, GRADIENT_ROWS)
    pairs = float(rows * n)
    return [
        Work("evaluation", pairs * _SLOPE_EVALUATIONS, n, 64),
        counted(task, "product", 2.0 * pairs * d * (1 + t), d, 64),
        counted(task, "product", 2.0 * rows * t * d * d, d, 64),
        counted(task, "eigh", 9.0 * d**3, d, 64),
    ]


def _bytes(task: Task, kernels: Sequence[Kernel], stages: list[Stage], n: int) -> float:
    """At most, with ``n`` rows to be fitted later: a search's matrices, or those of the folds."""
    p, d = task.n, task.d
    train = max(2, int(p * (1.0 - 1.0 / FRESH_FOLDS)))
    searched = max(_kept_of(stages[-1]), min(train, SEARCH_ROWS))
    few = min(train, WIDTH_ROWS)
    # distances and a matrix in half of their precision; a matrix; eigenvectors and what they take
    numbers = max(1.5 * searched**2, float(train**2), 4.5 * few**2)
    matrices = kernel_bytes(replace(task, n=train), numbers)
    if all(isinstance(kernel, Linear) for kernel in kernels):
        alone = replace(task, n=train, linear=True, width_search=False)
        matrices = make_plan(alone, "auto", np.inf).chosen.bytes
    # of the pool and of the folds, those kept with models, and, for gradients, in float64
    rows = 8.0 * d * (p * (n > p) + (FOLDS + 4) * p)
    metrics = 8.0 * _METRICS * min(d, p) * d
    block = min(GRADIENT_NUMBERS, train * task.t * max(d, TILE))
    blocks = 8.0 * 3 * task.threads * block
    return matrices + rows + metrics + blocks + _OBJECTS


def _kept_of(stage: Stage) -> int:
    """Training rows of its folds."""
    return max(2, int(stage.rows * (1.0 - 1.0 / FOLDS)))
