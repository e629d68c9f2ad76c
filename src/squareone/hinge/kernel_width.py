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
# The relative gap of its solutions: widths differ by more.
_LOOK_TOLERANCE = 1e-2
# C times the mean k(x, x) on few rows, and around the best of these at other widths.
_LEVELS, _AROUND = (0.25, 2.0, 16.0, 128.0), (1.0 / 3.0, 1.0, 3.0)


@dataclass(frozen=True)
class WidthLook:
    """A width, the rows it was tried on, and the best λ there."""

    sigma: float
    rows: int
    look: Look


def choose_width(
    task: SVMTask, name: str, rng: np.random.RandomState, progress: Progress
) -> tuple[Kernel, list[WidthLook]]:
    """The kernel with its width ``name`` set, by the soft error of left-out values.

    The number of errors of few rows is too coarse, and the mean loss, most of which is of rows that
    are no errors, prefers widths that are too large. The last look is the best one.

    **Cost**: some 20 fits to at most 700 rows, and two or three to at most 2,000.
    """
    task = replace(task, tolerance=max(task.tolerance, _LOOK_TOLERANCE))
    unit = with_width(task.kernel, name, "median").resolve(task.X, rng).get_params()[name]
    few = task.part(_some_rows(task, _FEW, rng))
    looks: dict[float, WidthLook] = {}

    def at(octave: float, alphas: Array | None) -> None:
        if octave not in looks:
            looks[octave] = _tried(few, name, unit * 2.0**octave, alphas, progress)

    for octave in _OCTAVES:
        at(octave, None)
    while True:
        best = min(looks, key=lambda octave: looks[octave].look.soft_error)
        beyond = best - 1.0 if best == min(looks) else best + 1.0
        if beyond in looks or abs(beyond) > _FARTHEST:
            break
        at(beyond, None)
    near = looks[best].look.alpha
    if np.isfinite(near):
        for octave in (best - _HALF, best + _HALF):
            at(octave, near / np.array(_AROUND))
    best = min(looks, key=lambda octave: looks[octave].look.soft_error)
    tried = list(looks.values())
    near = looks[best].look.alpha
    if task.n > few.n and np.isfinite(near):
        # the best width only shrinks as rows are added
        more = task.part(_some_rows(task, _MORE, rng))
        again = [_tried(more, name, unit * 2.0**best, np.array([near]), progress)]
        while best > -_FARTHEST:
            sigma = unit * 2.0 ** (best - _HALF)
            smaller = _tried(more, name, sigma, np.array([near]), progress)
            if smaller.look.soft_error >= again[-1].look.soft_error:
                again.insert(0, smaller)
                break
            again.append(smaller)
            best -= _HALF
        return with_width(task.kernel, name, again[-1].sigma), tried + again
    tried.append(tried.pop(list(looks).index(best)))
    return with_width(task.kernel, name, tried[-1].sigma), tried


def _tried(
    task: SVMTask, name: str, sigma: float, alphas: Array | None, progress: Progress
) -> WidthLook:
    """The best of a few λ at a width; None for some far apart. A worse one ends it."""
    kernel = with_width(task.kernel, name, float(sigma))
    try:
        scaled = ScaledSystem.of(replace(task, kernel=kernel))
    except (ScaleError, SingularSystemError):
        return WidthLook(float(sigma), task.n, Look(np.nan, [], None, -np.inf))
    if alphas is None:
        alphas = scaled.level * scaled.unit / (2.0 * np.array(_LEVELS))
    if task.alphas is not None:  # as near to these as may be, or spread over all of them
        allowed = np.sort(task.alphas)
        few = allowed[np.linspace(0, allowed.size - 1, len(_LEVELS)).astype(int)]
        alphas = np.unique(few)
    search = AlphaSearch(scaled, task, Progress.silent())
    best: Look | None = None
    with search.progress.stage("width"), search.cores():
        for alpha in np.sort(alphas)[::-1]:
            look = search.look(float(alpha))
            if best is not None and look.soft_error >= best.soft_error:
                break
            best = look
    assert best is not None
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
