"""A greedy fit from beginning to end: the search for the width and ε, then the paths."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array
from ..errors import MemoryLimitError
from ..fitting.progress import Progress
from ..kernels.widths import free_width, term_of, with_width
from ..planning.available_memory import memory_limit as bytes_allowed
from ..planning.available_memory import readable
from . import CHOOSERS, GreedyPath
from .fit_task import MOST_SHARE, GreedyTask
from .fitted_models import GreedyRecord, rows_at
from .parameter_search import (
    REFINE_ROWS,
    SEARCH_ROWS,
    Look,
    check_values,
    choose,
    share_wrong,
)

# Numbers for every row beside those of columns of the kernel matrix, and for every target.
_FOR_ROWS, _FOR_TARGETS = 18, 3
# The share by which a criterion has to fall over the last tenth of a path to be falling still.
_FALLING = 0.03
# Rows half of which are a limit worth a word, and the share of the criterion that is left then.
_SPEAKING, _LEFT = 50, 1e-4
# Octaves of wider kernels that are tried where centers are fewer than classes.
_OCTAVES = 4
# Columns of the kernel matrix that several models may share, at most.
_SHARED_BYTES = 512 * 2**20


def fit_greedy(
    task: GreedyTask, kept: Array, progress: Progress
) -> tuple[GreedyRecord, float, dict[str, Array]]:
    """The paths, ε, and what the search for it and for the width has tried.

    ``kept`` are the numbers of the user's rows that the task has.
    """
    _check_memory(task)
    name = free_width(task.kernels[0]) if len(task.kernels) == 1 else ""
    kernels, epsilon, looks = choose(task, progress)
    task = replace(task, kernels=kernels)
    if task.X is not None:
        check_values(task.kernels, task.X)
    record = _fitted(task, epsilon, kept, progress)
    if name and task.n > SEARCH_ROWS and task.fewer_than_classes:
        record, epsilon = _best_of_wider(task, name, record, epsilon, progress)
    return record, epsilon, _table(looks, task.unit)


def _best_of_wider(
    task: GreedyTask, name: str, first: GreedyRecord, epsilon: float, progress: Progress
) -> tuple[GreedyRecord, float]:
    """Of models with this kernel and with wider ones the best at the rows, and its ε.

    For fewer centers than classes, none of which has a center of its own: functions that are nearly
    linear often decide best, the search, which fits all columns to some thousand rows, hardly sees
    it, and models differ by where their first centers fell. As long as there are so few, all have
    as many coefficients, and rows enough to be compared by the rows they put into a wrong class.
    """
    kernel, given = task.kernels[0], not isinstance(task.request.epsilon, str)
    sigma = float(term_of(kernel, name).sigma)
    rows = np.sort(task.rng.permutation(task.n)[:REFINE_ROWS])
    points = rows_at(task.X, rows)

    def wrong(record: GreedyRecord) -> float:
        share = share_wrong(task, rows, record.model.values(points) / task.unit)
        width = float(term_of(record.kernels[0], name).sigma)
        progress.step(f"sigma = {width:.3g}, {share:.1%} in a wrong class", -share)
        return share

    with progress.stage("wider kernels", _OCTAVES + 1):
        best, least = (first, epsilon), wrong(first)
        for octave in range(1, _OCTAVES + 1):
            wider = replace(task, kernels=[with_width(kernel, name, sigma * 2.0**octave)])
            # smooths as much: of quadratic functions what there is goes with the fourth power
            shift = epsilon if given else epsilon / 16.0**octave
            record = _fitted(wider, shift, first.numbers, progress)
            share = wrong(record)
            if share < least:
                best, least = (record, shift), share
    return best


def _fitted(task: GreedyTask, epsilon: float, kept: Array, progress: Progress) -> GreedyRecord:
    """The paths of all models, and their points."""
    groups = task.groups(np.arange(task.columns.shape[1]))
    paths = _paths(task, groups, epsilon, progress)
    known = np.unique(np.concatenate([path.candidates for path in paths]))
    points = None if task.X is None else rows_at(task.X, known % task.n)
    if points is not None and isinstance(points, np.ndarray):
        points = points.copy()  # the model does not change with the user's rows
    return GreedyRecord(
        task.kernels,
        task.targets,
        groups,
        paths,
        [path.best for path in paths],
        known,
        points,
        kept,
        task.unit,
        task.dtype,
        task.n_features,
    )


def _table(looks: list[Look], unit: float) -> dict[str, Array]:
    """One array for each figure of the looks; errors in the units of the targets."""
    return {
        "sigma": np.array([look.sigma for look in looks]),
        "epsilon": np.array([look.epsilon for look in looks]),
        "error": np.array([look.error for look in looks]) * unit**2,
        "wrong": np.array([look.wrong for look in looks]),
    }


def _check_memory(task: GreedyTask) -> None:
    """Refuse what does not fit, before anything is allocated."""
    limit = bytes_allowed(task.request.memory_limit)
    most, needed = task.most(), _needed(task)
    if needed > limit:
        # the largest m with 24m² + bm at most what is left, less a little for rounding
        b = float(task.n) * task.dtype.itemsize
        below = max(0.0, limit - _beside(task))
        fits = int(0.99 * 2.0 * below / (b + np.sqrt(b * b + 96.0 * below)))
        advice = f"set max_centers={fits:,} or fewer" if fits else "not even one would fit"
        msg = (
            f"{most:,} centers of {task.n:,} rows need {readable(needed)}, and "
            f"{readable(limit)} are there: {advice}"
        )
        raise MemoryLimitError(msg)


def _paths(
    task: GreedyTask, groups: list[Array], epsilon: float, progress: Progress
) -> list[GreedyPath]:
    spare = 0.5 * (bytes_allowed(task.request.memory_limit) - _needed(task))
    shared = min(spare, _SHARED_BYTES) if len(groups) > 1 else 0.0
    columns = task.columns_for(epsilon, shared)
    split = _split(task) if task.request.stopping == "validation" else None
    task = replace(task, seed=int(task.rng.randint(2**31 - 1)))
    paths, judged = [], []
    for number, group in enumerate(groups):
        name = "centers" if len(groups) == 1 else f"centers of model {number + 1}"
        with progress.stage(name, task.most()):
            count = None
            if split is not None:
                inside, outside = split
                part = task.part(inside)
                some = part.columns_for(epsilon)
                watched = task.watched(part, some, outside, inside, group)
                judged.append(
                    part.run(some, part.columns[:, group], watched=watched, validated=True)
                )
                count = judged[-1].best
            paths.append(task.run(columns, task.columns[:, group], count=count, progress=progress))
    _warn_of_limit(judged or paths, task)
    return paths


def _warn_of_limit(paths: list[GreedyPath], task: GreedyTask) -> None:
    """Say where more centers than the default allows might be better: nobody has chosen it."""
    if task.request.max_centers is not None or isinstance(task.request.stopping, Integral):
        return
    cut_off = [path for path in paths if _cut_off(path, str(task.request.stopping))]
    if cut_off:
        most = max(path.longest for path in cut_off)
        more = min(2 * most, task.n * len(task.kernels))
        which = f"{len(cut_off):,} of {len(paths):,} models" if len(paths) > 1 else "the model"
        warnings.warn(
            f"{which} ended at {most:,} centers, the most that max_centers=None allows for "
            f"{task.n:,} rows, and the criterion was still falling: more might predict better. "
            f"Set max_centers={more:_}, or, to leave it at that, max_centers={most:_}",
            ConvergenceWarning,
            stacklevel=2,
        )


def _split(task: GreedyTask) -> tuple[Array, Array]:
    held = max(1, round(task.request.validation_fraction * task.n))
    if task.n < 2:
        msg = (
            f'stopping="validation" needs at least two rows, got n_samples = {task.n}: use '
            'stopping="gcv"'
        )
        raise ValueError(msg)
    order = task.rng.permutation(task.n)
    held = min(held, task.n - 1)
    return np.sort(order[held:]), np.sort(order[:held])


def _cut_off(path: GreedyPath, stopping: str) -> bool:
    """Whether a path ended at the limit while its models were still getting better.

    The best one is among the last tenth, and in these the criterion fell by as much as a change of
    three per cent in the mean square error. Where the limit is half of the rows, these are no fewer
    than fifty, and there is something left to explain: otherwise what falls is little, or chance.
    There the logarithms of "bic" and "mdl" fall in any case, as what is left goes to zero.
    """
    if path.ended != "max_centers" or 1.1 * path.best < path.longest:
        return False
    errors, half = path.criterion, path.longest >= int(MOST_SHARE * path.n)
    if stopping in ("bic", "mdl"):
        if half:
            return False
        # n·t times the logarithm of a mean square
        errors = np.exp((errors - errors[0]) / (path.n * path.projections.shape[1]))
    start, before, end = errors[0], errors[int(0.9 * path.longest)], errors[path.best]
    if half and (path.n < _SPEAKING or end < _LEFT * start):
        return False
    return bool(end <= (1.0 - _FALLING) * before)


def _needed(task: GreedyTask) -> float:
    """Bytes: the orthogonal columns, some that are on their way, and triangles."""
    most = task.most()
    return float(task.n) * most * task.dtype.itemsize + _beside(task) + 24.0 * most * most


def _beside(task: GreedyTask) -> float:
    """Bytes that do not depend on the number of centers."""
    request, kernels = task.request, len(task.kernels)
    columns = min(
        CHOOSERS[request.selection].room(request.candidates, kernels), 2 * task.n * kernels
    )
    numbers = columns + _FOR_ROWS + _FOR_TARGETS * task.columns.shape[1]
    return float(task.n) * numbers * task.dtype.itemsize
