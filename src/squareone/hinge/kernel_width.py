"""The width of the kernel, chosen with λ by left-out values: on few rows first, then on more."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from ..errors import ScaleError, SingularSystemError
from ..fitting.progress import Progress
from ..kernels import Kernel
from ..kernels.widths import with_width
from .alpha_choice import AlphaSearch, Look
from .svm_task import ScaledSystem, SVMTask

# Rows of the two searches.
_FEW, _MORE = 700, 2000
# Octaves around the median distance, and where there may be more of them.
_OCTAVES, _FARTHEST = (-2.0, -1.0, 0.0), 7.0
_HALF = 0.5
# C times the mean k(x, x) on few rows.
_LEVELS = (0.25, 2.0, 16.0, 128.0)
# Around the best of these on more rows.
_AROUND = (0.25, 1.0, 4.0)


@dataclass(frozen=True)
class WidthLook:
    """A width, the rows it was tried on, and the best λ there."""

    sigma: float
    rows: int
    look: Look


def choose_width(
    task: SVMTask, name: str, rng: np.random.RandomState, progress: Progress
) -> tuple[Kernel, list[WidthLook]]:
    """The kernel with its width ``name`` set.

    **Cost**: some 30 fits to at most 700 rows, and some ten to at most 2,000.
    """
    unit = with_width(task.kernel, name, "median").resolve(task.X, rng).get_params()[name]
    few = task.part(_some_rows(task, _FEW, rng))
    looks: dict[float, WidthLook] = {}

    def at(octave: float) -> WidthLook:
        if octave not in looks:
            looks[octave] = _tried(few, name, unit * 2.0**octave, _LEVELS, progress)
        return looks[octave]

    for octave in _OCTAVES:
        at(octave)
    while True:
        best = max(looks, key=lambda octave: looks[octave].look.rank)
        beyond = best - 1.0 if best == min(looks) else best + 1.0
        if beyond in looks or abs(beyond) > _FARTHEST:
            break
        at(beyond)
    for octave in (best - _HALF, best + _HALF):
        at(octave)
    tried = list(looks.values())
    best = max(looks, key=lambda octave: looks[octave].look.rank)
    if task.n > few.n:
        more = task.part(_some_rows(task, _MORE, rng))
        top = looks[best].look.alpha
        levels = [0.5 * factor / top for factor in _AROUND]
        again = {
            octave: _tried(more, name, unit * 2.0**octave, levels, progress, absolute=True)
            for octave in (best, best - _HALF)
        }
        if again[best - _HALF].look.rank > again[best].look.rank:
            again[best - 2 * _HALF] = _tried(
                more, name, unit * 2.0 ** (best - 2 * _HALF), levels, progress, absolute=True
            )
        else:
            again[best + _HALF] = _tried(
                more, name, unit * 2.0 ** (best + _HALF), levels, progress, absolute=True
            )
        tried += again.values()
        best = max(again, key=lambda octave: again[octave].look.rank)
    return with_width(task.kernel, name, float(unit * 2.0**best)), tried


def _tried(
    task: SVMTask,
    name: str,
    sigma: float,
    levels: Array | tuple[float, ...] | list[float],
    progress: Progress,
    *,
    absolute: bool = False,
) -> WidthLook:
    """The best of a few λ at a width; ``levels`` are C, or C times the mean k(x, x)."""
    kernel = with_width(task.kernel, name, float(sigma))
    try:
        scaled = ScaledSystem.of(replace(task, kernel=kernel))
    except (ScaleError, SingularSystemError):
        return WidthLook(float(sigma), task.n, Look(np.nan, [], None, -np.inf, np.inf, 1.0))
    level = 1.0 if absolute else scaled.level * scaled.unit
    alphas = task.alphas
    if alphas is None:
        alphas = np.array([level / (2.0 * c) for c in levels])
    elif alphas.size > len(levels):
        alphas = np.sort(alphas)[np.linspace(0, alphas.size - 1, len(levels)).astype(int)]
    search = AlphaSearch(scaled, task, Progress.silent())
    with search.progress.stage("width"), search.cores():
        for alpha in np.sort(alphas)[::-1]:
            search.look(float(alpha))
    best = search.best()
    progress.step(f"sigma = {sigma:.3g}, alpha = {best.alpha:.3g}, {task.n:,} rows", best.score)
    return WidthLook(float(sigma), task.n, replace(best, solutions=[]))


def _some_rows(task: SVMTask, most: int, rng: np.random.RandomState) -> Array:
    """Random rows, of every class as many as its share and two at least."""
    if task.n <= most:
        return np.arange(task.n)
    order = rng.permutation(task.n)
    if task.targets.multilabel:
        return np.sort(order[:most])
    classes = task.targets.class_numbers(task.Y)[order]
    kept = np.zeros(task.n, bool)
    for label in np.unique(classes):
        own = np.flatnonzero(classes == label)
        kept[own[: max(2, round(most * own.size / task.n))]] = True
    return np.sort(order[kept])
