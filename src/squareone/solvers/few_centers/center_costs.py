"""Counts of operations and bytes that the solvers with centers share."""

from __future__ import annotations

from dataclasses import replace

from ..contract import Candidate, Task, Work
from ..cost_counts import (
    WIDTH_ROWS,
    columns_of,
    counted,
    during,
    path_length,
    path_numbers,
    width_search_work,
)
from .center_basis import LEAST_BLOCK, MOST_BLOCK, block_rows

#: Rows and centers of the search for a width, the rows of its leave-one-out error, and its looks.
CENTER_WIDTH_ROWS, CENTER_WIDTH_CENTERS, CENTER_WIDTH_SAMPLE = 20_000, 1000, 4000
_LOOKS = 7
# Directions that are summed apart, about.
_APART = 16
#: Features up to which kernel values cost the same whatever their number.
STRIP_FEATURES = 16


def center_number(task: Task) -> int:
    """Centers there are: those asked for, or all rows."""
    return min(task.centers or task.n, task.n)


def kernel_values_work(task: Task, n: float, m: float) -> list[Work]:
    """Kernel values between n rows and m centers."""
    width = task.d if not task.sparse else min(task.d, 4.0 * task.stored / task.n)
    few = min(width, STRIP_FEATURES)
    return [
        Work("strips", n * m, STRIP_FEATURES, task.bits, 2.0 * n * m * few),
        counted(task, "product", 2.0 * n * m * (width - few), width),
    ]


def separate_sums_work(task: Task, n: float, m: float) -> list[Work]:
    """Directions summed apart, as most rectangles in float32 need."""
    return [counted(task, "thin", 4.0 * n * m * _APART, _APART)] if task.bits == 32 else []


def between_centers_work(task: Task, m: int) -> list[Work]:
    """The kernel matrix between the centers, and its factor."""
    return [*kernel_values_work(task, m, m / 2), counted(task, "cholesky", m**3 / 3, m, 64)]


def center_width_search_work(task: Task) -> list[Work]:
    """For the width: on few rows exactly, then rectangles of some rows and centers."""
    few = width_search_work(replace(task, n=min(task.n, WIDTH_ROWS), centers=0, fold_work=0.0))
    if not few or center_number(task) >= task.n:
        return few
    n, m = min(task.n, CENTER_WIDTH_ROWS), min(center_number(task), CENTER_WIDTH_CENTERS)
    s = min(n, CENTER_WIDTH_SAMPLE)
    one = [
        *between_centers_work(task, m),
        *kernel_values_work(task, n + s, m),
        counted(task, "sums", 1.0 * n * m * m + 2.0 * s * m * m + 3.0 * m**3, m),
        counted(task, "eigh", 9.0 * m**3, m, 64),
    ]
    looks = [replace(w, amount=_LOOKS * w.amount, flops=_LOOKS * w.flops) for w in one]
    return [*few, *during("search for the width", looks)]


def center_choice_work(task: Task, m: int) -> list[Work]:
    """Rows that are drawn and copied."""
    return [Work("pass", 2.0 * m * task.d * task.itemsize, 512, task.bits)]


def scores_work(task: Task, m: int) -> list[Work]:
    """Every λ, over the rows that are left out or the folds."""
    length, t = path_length(task), task.t
    if task.alphas == 1:
        return []
    if task.folds:
        fold = [
            counted(task, "sums", 2.0 * task.n * m * m, m),
            *kernel_values_work(task, task.n, m),
            counted(task, "eigh", 9.0 * task.folds * m**3, m, 64),
        ]
        return [*fold, counted(task, "path", 2.0 * length * task.n * m * t, length * t)]
    if task.without_rows:
        return [Work("call", 4.0, 1, task.bits)]
    s = task.sampled or task.n
    return [
        *kernel_values_work(task, s, m),
        counted(task, "sums", 2.0 * s * m * m, m),
        counted(task, "path", 2.0 * length * s * m * (t + 1), length * (t + 1)),
        Work("errors", 1.0 * length * s * t, s, task.bits),
    ]


def leverages_at_once(task: Task) -> bool:
    """Whether a fit visits rows that are left out: for its scores, or because they are few."""
    return task.alphas != 1 and (not task.sampled or not (task.without_rows or task.folds))


def leave_one_out_work(task: Task, m: int) -> list[Work]:
    """Values that are left out at the best λ, where scores have not needed them."""
    if not leverages_at_once(task) or not (task.without_rows or task.folds):
        return []
    return [*kernel_values_work(task, task.n, m), counted(task, "sums", 2.0 * task.n * m * m, m)]


def _held(task: Task, m: int, block_bytes: float) -> float:
    """Bytes of blocks, targets, the path, and the rows that are kept for later."""
    rows = min(task.n, block_rows(m, task.itemsize, block_bytes))
    block = task.itemsize * rows * (2.0 * m + 3.0 * task.d)
    kept = 0.0 if task.streamed else task.row_bytes * (task.copied + task.kept)
    return block + kept + task.itemsize * (columns_of(task) + path_numbers(task, m))


def sized_candidate(
    task: Task, solver: str, work: list[Work], most: float, m: int, form: str, refused: str
) -> Candidate:
    """With large blocks of rows, or where memory is short with small ones."""
    large, small = (most + _held(task, m, size) for size in (MOST_BLOCK, LEAST_BLOCK))
    return Candidate(solver, tuple(work), large, form, refused, least=small)


def needs_rows(task: Task) -> str:
    """Why it cannot be done with a kernel matrix; empty where there are rows."""
    return "centers need rows, not a kernel matrix" if task.given else ""
