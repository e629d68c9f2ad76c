"""The width of the kernel and ε for greedy fits, by cross-validation of all that a fit does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..arrays import Array
from ..fitting.progress import Progress
from ..kernels import Kernel
from ..kernels.base import check_range
from ..kernels.widths import free_width, term_of, with_width
from ..rows import rows_of
from ..rows.checks import check_scale
from ..targets import Labels, Responses
from .fit_task import GreedyTask

#: Rows that are looked at, at most, and folds of few and of many rows.
SEARCH_ROWS, FOLDS = 2000, (5, 3)
#: Rows, at most, on which narrower widths are tried in the end, and the share that judges them.
REFINE_ROWS, JUDGING = 8000, 0.2
#: Target columns that are looked at, where each has centers of its own.
SEARCH_COLUMNS = 3
#: Half octaves on either side that are to be no better where the search for the width ends: for
#: mean squares, and for decisions, which say it less clearly.
REACH = (1, 2)
# Rows for which there are more folds.
_FEW_ROWS = 1000
# Wrong rows that are added to those there are, so that a few more, by chance, hardly count.
_MORE_WRONG = 200
# Rows that are read at a time.
_ROWS = 65_536
#: ε, in units of the mean k(x, x): the first is where the search for the width begins.
SHIFTS = (1e-2, 1e-1, 1e-3)
# Widths are multiples of the median distance by powers of this, and the search begins there.
_STEP, _START, _LOWEST, _HIGHEST = np.sqrt(2.0), -2, -12, 10


class Judged(NamedTuple):
    """How fits with a kernel and ε did on held-out rows.

    Attributes
    ----------
    error : float
        The mean square.
    wrong : float
        The share of rows in a wrong class; NaN where fits do not decide on one.
    rows : int
        How many there were.
    """

    error: float
    wrong: float
    rows: int

    @property
    def score(self) -> float:
        """What is to be least.

        Mean squares say little about decisions where centers are few: narrow kernels explain some
        rows well and leave the others without a class, wide ones explain none well and most well
        enough. So both count, by their ratios.
        """
        if np.isnan(self.wrong):
            return self.error
        return self.error * (self.wrong + _MORE_WRONG / self.rows)


@dataclass(frozen=True)
class Look:
    """One pair that was tried: ``sigma`` (NaN where it is given) and ``epsilon``; what came of it.

    ``error`` and ``wrong`` are those of :class:`Judged`.
    """

    sigma: float
    epsilon: float
    error: float
    wrong: float


Judge = Callable[[Kernel, float], Judged]


def search(
    median: Kernel, name: str, shifts: tuple[float, ...], judge: Judge, reach: int = 1
) -> tuple[Kernel, float, list[Look]]:
    """The best width ``name`` of a kernel that has the median distance, and ε of ``shifts``.

    The width goes downhill by half octaves at the first ε, until ``reach`` of them on either side
    are no better, then ε is chosen there, and if it is another one the width goes downhill once
    more. Without a name there is no width to choose.
    """
    looks: list[Look] = []
    seen: dict[tuple[int, float], float] = {}
    unit = float(term_of(median, name).sigma) if name else np.nan

    def at(step: int) -> Kernel:
        return with_width(median, name, unit * _STEP**step) if name else median

    def score(step: int, epsilon: float) -> float:
        if not _LOWEST <= step <= _HIGHEST:
            return np.inf
        if (step, epsilon) not in seen:
            found = judge(at(step), epsilon)
            seen[step, epsilon] = found.score
            looks.append(Look(unit * _STEP**step, epsilon, found.error, found.wrong))
        return seen[step, epsilon]

    def downhill(here: int, epsilon: float) -> int:
        while name:
            around = range(here - reach, here + reach + 1)
            lowest = min(around, key=lambda step: score(step, epsilon))
            if lowest == here:
                break
            here = lowest
        return here

    step = downhill(_START if name else 0, shifts[0])
    epsilon = min(shifts, key=lambda shift: score(step, shift))
    step = downhill(step, epsilon)
    return at(step), epsilon, looks


def narrowed(kernel: Kernel, name: str, epsilon: float, judge: Judge) -> tuple[Kernel, list[Look]]:
    """A narrower width, as long as that is better: more centers can do with less smoothing."""
    looks: list[Look] = []

    def look(candidate: Kernel) -> float:
        found = judge(candidate, epsilon)
        sigma = float(term_of(candidate, name).sigma)
        looks.append(Look(sigma, epsilon, found.error, found.wrong))
        return found.score

    here = look(kernel)
    while True:
        sigma = float(term_of(kernel, name).sigma) / _STEP
        candidate = with_width(kernel, name, sigma)
        there = look(candidate)
        if there >= here:
            return kernel, looks
        kernel, here = candidate, there


def split_of(n: int, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Rows to fit and to judge by, of at most :data:`REFINE_ROWS`."""
    rows = rng.permutation(n)[:REFINE_ROWS]
    held = int(JUDGING * rows.size)
    return np.sort(rows[held:]), np.sort(rows[:held])


def folds_of(n: int, rng: np.random.RandomState) -> list[tuple[Array, Array]]:
    """Rows to fit and rows to judge by, for each fold of at most :data:`SEARCH_ROWS` rows."""
    rows = rng.permutation(n)[:SEARCH_ROWS]
    count = min(FOLDS[rows.size > _FEW_ROWS], rows.size)
    if count < 2:
        return []
    parts = np.array_split(rows, count)
    return [
        (np.sort(np.concatenate([other for other in parts if other is not part])), np.sort(part))
        for part in parts
    ]


def mean_diagonal(kernels: list[Kernel], X: Any, matrices: list[Array] | None) -> float:
    """The mean of k(x, x), which ε is measured by."""
    if matrices is not None:
        return float(np.mean([np.diagonal(K).mean(dtype=np.float64) for K in matrices]))
    sums = [
        kernel.diagonal(block.X).sum(dtype=np.float64)
        for kernel in kernels
        for _, block in rows_of(X).row_blocks(_ROWS)
    ]
    return float(sum(sums)) / (X.shape[0] * len(kernels))


def check_values(kernels: list[Kernel], X: Any) -> None:
    """Refuse rows on which a kernel, or the square of a column of it, leaves the range."""
    for kernel in kernels:
        check_range(kernel, X)
        mean = np.array([[mean_diagonal([kernel], X, None)]])
        check_scale(mean, "the kernel", X.dtype)


def choose(task: GreedyTask, progress: Progress) -> tuple[list[Kernel], float, list[Look]]:
    """Kernels with numbers for parameters, and ε: as they are given, or by a search."""
    asked, kernels = task.request.epsilon, task.kernels
    name = free_width(kernels[0]) if len(kernels) == 1 else ""
    if task.X is not None:
        kernels = [
            (with_width(kernel, name, "median") if name else kernel).resolve(task.X, task.rng)
            for kernel in kernels
        ]
        check_values(kernels, task.X)
    if not name and not isinstance(asked, str):
        return kernels, float(asked), []
    shifts: tuple[float, ...]
    if isinstance(asked, str):
        scale = mean_diagonal(kernels, task.X, task.matrices)
        shifts = tuple(shift * scale for shift in SHIFTS)
    else:
        shifts = (asked,)
    folds = folds_of(task.n, task.rng)
    if not folds:
        return kernels, shifts[0], []
    columns = np.arange(task.columns.shape[1])
    if not task.request.shared_centers and columns.size > SEARCH_COLUMNS:
        columns = np.sort(task.rng.choice(columns, SEARCH_COLUMNS, replace=False))

    def judge(folds: list[tuple[Array, Array]], kernel: Kernel, epsilon: float) -> Judged:
        some = [kernel] if name else kernels
        found = held_out(task, some, epsilon, folds, task.groups(columns))
        width = f"sigma = {term_of(kernel, name).sigma:.3g}, " if name else ""
        progress.step(f"{width}epsilon = {epsilon:.3g}", -found.score)
        return found

    with progress.stage("search for the width and epsilon"):
        reach = REACH[task.decided]
        kernel, epsilon, looks = search(kernels[0], name, shifts, partial(judge, folds), reach)
        if name and task.n > SEARCH_ROWS and task.most() > task.part(folds[0][0]).most():
            split = split_of(task.n, task.rng)
            kernel, more = narrowed(kernel, name, epsilon, partial(judge, [split]))
            looks += more
    return ([kernel] if name else kernels), epsilon, looks


def held_out(
    task: GreedyTask,
    kernels: list[Kernel],
    epsilon: float,
    folds: list[tuple[Array, Array]],
    groups: list[Array],
) -> Judged:
    """How fits to groups of target columns do on the rows that each fold holds out."""
    total = weight = 0.0
    wrong = 0.0 if task.decided else np.nan
    some = np.unique(np.concatenate([np.concatenate(fold) for fold in folds]))
    part = replace(task.part(some), kernels=kernels)
    if some.size <= SEARCH_ROWS:
        part = part.evaluated()  # once for all folds
    for inside, outside in folds:
        fitted, judged = np.searchsorted(some, inside), np.searchsorted(some, outside)
        fold = part.part(fitted)
        columns = fold.columns_for(epsilon)
        share = float(outside.size if task.weights is None else task.weights[outside].sum())
        for group in groups:
            watched = part.watched(fold, columns, judged, fitted, group)
            path = fold.run(columns, fold.columns[:, group], watched=watched)
            total += watched.errors[path.best] * share
            if task.decided:
                values = watched.rows.values(path.weights(path.best))
                wrong += share_wrong(part, judged, values) * share
        weight += share
    return Judged(total / weight, wrong / weight, sum(outside.size for _, outside in folds))


def share_wrong(task: GreedyTask, rows: Array, values: Array) -> float:
    """The share of ``rows`` (v,) that ``values`` (v, t) put into a wrong class, with weights."""
    assert isinstance(task.targets, Labels)
    truth = task.targets.truth(task.columns[rows])
    winners = np.argmax(task.targets.decisions(values), axis=1)
    right = truth[np.arange(rows.size), winners]
    return 1.0 - float(
        np.average(right, weights=None if task.weights is None else task.weights[rows])
    )


# --- what other units of features would gain ---

#: Rows of a trial, and its centers at most: a path of them takes milliseconds.
SPARSE_TRIED, _CENTERS = 200, 30


def sparse_trial(estimator: Any) -> Callable[[Kernel, Any, Array], float]:
    """The least mean square held-out error of small fits, over widths, as a function.

    Of a kernel, rows X (n, d) and target columns (n, t). The exact fit is no judge of a sparse one:
    with a λ near nothing it reads a small feature off the last digits of all rows, which a few
    centers cannot.
    """
    most = min(estimator.max_centers or _CENTERS, _CENTERS)
    small = clone(estimator).set_params(max_centers=most, random_state=0, verbose=0)
    if estimator.stopping == "validation":  # which takes rows away from few
        small.set_params(stopping="gcv")

    def least_error(kernel: Kernel, X: Any, columns: Array) -> float:
        own = columns if estimator.shared_centers else columns[:, :SEARCH_COLUMNS]
        small.n_features_in_ = X.shape[1]
        free, everything = with_width(kernel, "sigma", "auto"), np.arange(X.shape[0])
        task = GreedyTask.of(small, [free], X, own, None, Responses(False), everything)
        _, _, looks = choose(task, Progress())
        return min((look.error for look in looks), default=0.0)

    return least_error
