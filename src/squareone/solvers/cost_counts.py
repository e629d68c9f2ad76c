"""Counts of operations and bytes that several solvers share, from shapes alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..arrays import TILE
from .contract import HELD_NUMBERS, PATH_BLOCK, PATH_COLUMNS, Candidate, Task, Work

#: Rows on which a search for the kernel's width begins, in float64: the eigendecompositions it
#: takes there, and the λ along each.
WIDTH_ROWS, WIDTH_EIGENDECOMPOSITIONS, WIDTH_ALPHAS = 800, 14, 40
#: Its steps in float32 at each of the sizes that follow.
WIDTH_STEPS = 5
# Up to so many rows these are all; a third of more, and a third of that where it is many, but not
# fewer than so many.
_WIDTH_ALL, _WIDTH_NINTH, _WIDTH_FEWEST = 4000, 1500, 2000

#: Work n · min(n, d)² (n³ with a kernel) up to which a fit at one λ adds its leave-one-out values.
AT_ONCE = 2e9

# What a product of two sparse rows costs, in multiplications of dense ones per stored number.
SPARSE_ROW = 4.0

# Pieces in which a path looks for the best λ: a grid, and twice more closely around its best.
_AUTO_VISITS = 3


def path_length(task: Task) -> int:
    """How many λ are looked at."""
    return 60 if isinstance(task.alphas, str) else task.alphas


def counted(
    task: Task, kind: str, flops: float, size: float, bits: int = 0, *, times: float = 1.0
) -> Work:
    """Flops, in the precision of the rows or in another: in half of it they count half.

    ``times`` is how often that takes its time, where the plan's count is a round number.
    """
    bits = bits or task.bits
    return Work(kind, times * flops, size, bits, flops * min(1.0, bits / task.bits))


def during(stage: str, work: Iterable[Work]) -> list[Work]:
    """The same, in a stage of the fit."""
    return [replace(w, stage=stage) for w in work]


def columns_of(task: Task) -> float:
    """Numbers for the targets, in the forms a fit needs, and for held-out values."""
    n, t = task.n, task.t
    if not (task.held or task.largest_fold):
        return 8.0 * n * t
    return 8.0 * n * t + 2.0 * min(max(HELD_NUMBERS, n * t), n * t * path_length(task))


def path_numbers(task: Task, k: int) -> float:
    """What a walk along the path holds with k basis vectors: filters, and a block per thread."""
    columns = min(max(PATH_COLUMNS, task.t), task.t * path_length(task))
    rows = min(task.n, max(64, PATH_BLOCK // max(k, columns)))
    at_once = min(task.threads, -(-task.n // rows))
    return 2.0 * k * columns + 3.0 * at_once * rows * max(k, columns)


def scoring_stage(task: Task) -> str:
    """The stage in which λ are scored: for a single one that is left to the end."""
    return "leave-one-out values" if task.alphas == 1 else "path"


def row_visits(task: Task) -> int:
    """How often the rows are visited: λ are asked for many at a time, then the best one alone.

    For one given λ that can wait until somebody asks, and does if it takes long.
    """
    side = min(task.n, task.d) if task.linear else task.n
    if isinstance(task.alphas, str):
        return 1 + _AUTO_VISITS
    if task.alphas == 1 and task.n * side * side > AT_ONCE:
        return 0
    return 1 + -(-task.alphas // max(1, PATH_COLUMNS // task.t))


def factorisation_work(task: Task, n: int, count: int, bits: int = 0) -> list[Work]:
    """Factorisations of n rows, each at a λ of its own and with the diagonal of its inverse."""
    bits = bits or task.bits
    return [
        counted(task, "cholesky", count * n**3 / 3, n, bits),
        counted(task, "inverse", count * n**3 / 3, n, bits),
        counted(task, "product", count * 2 * task.fold_work * n, TILE, bits),
        counted(task, "product", count * 2.0 * n * n * task.t, task.t, bits),
        # a copy of the triangle, solutions, sums of squares, often an estimate of the condition
        Work("pass", 4.0 * count * n * n * bits / 8, n, bits),
        Work("call", 4.0 * count, 1, bits),
    ]


def kernel_matrix_work(task: Task, n: int, count: int = 1, *, times: float = 1.0) -> list[Work]:
    """Kernel matrices of n rows, with weights in and the intercept set aside."""
    work = [
        Work("pass", times * count * 2.0 * n * n * task.itemsize, n, task.bits),
        Work("call", times * count * 4.0, 1, task.bits),
    ]
    if not task.given:
        # two sparse rows have to be looked through, whatever they share
        width = task.d if not task.sparse else min(task.d, SPARSE_ROW * task.stored / task.n)
        flops = float(count * n * n * width)
        work.append(counted(task, "product", flops, width, times=times))
        if not task.linear:
            work.append(Work("evaluation", times * count * n * n / 2, n, task.bits))
    return during("kernel matrix", work)


def path_work(task: Task, n: int, k: int, *, in_flops: bool = True) -> list[Work]:
    """Every λ with n rows and k basis vectors, and the leave-one-out values of the best one."""
    length, t, visits = path_length(task), task.t, row_visits(task)
    flops = length * 2.0 * n * k * (t + 1)
    columns = (t + 1) * length / max(1, visits - 1)
    walk = counted(task, "path", flops, columns, times=float(visits > 0))
    if not in_flops:
        walk = replace(walk, flops=0.0)
    if not visits:
        return during(scoring_stage(task), [walk])
    every = [
        walk,
        Work("errors", 1.0 * length * n * t, n, task.bits),
        Work("call", 3.0 + visits, 1, task.bits),
    ]
    best = [
        Work("path", 2.0 * n * k * (t + 1), t + 1, task.bits),
        Work("errors", 1.0 * n * t, n, task.bits),
        Work("call", 1.0, 1, task.bits),
    ]
    return [*during(scoring_stage(task), every), *during("leave-one-out values", best)]


def width_sizes(n: int) -> list[int]:
    """Rows on which a search for the width goes on, after the first hundreds: all of few."""
    if n <= WIDTH_ROWS:
        return []
    if n <= _WIDTH_ALL:
        return [n]
    return [n // 9] * (n // 9 >= _WIDTH_NINTH) + [max(n // 3, _WIDTH_FEWEST)]


def width_search_work(task: Task) -> list[Work]:
    """On some rows first, then on more."""
    if not task.width_search or task.given or (task.linear and not task.centers):
        return []
    n, m = task.n, min(task.n, WIDTH_ROWS)
    count, columns = WIDTH_EIGENDECOMPOSITIONS, WIDTH_ALPHAS * (task.t + 1)
    work = [
        *kernel_matrix_work(task, m, count),
        counted(task, "eigh", count * 9.0 * m**3, m, 64),
        counted(task, "path", count * 2.0 * m * m * columns, columns, 64),
    ]
    for size in width_sizes(n):
        work += kernel_matrix_work(task, size, WIDTH_STEPS)
        work += factorisation_work(replace(task, fold_work=0.0), size, WIDTH_STEPS, 32)
    return during("search for the width", work)


def after_width_search(
    task: Task,
    solver: str,
    work: list[Work],
    numbers: float,
    form: str,
    refused: str,
    searched_form: str = "",
) -> Candidate:
    """A candidate that works with the kernel matrix, after the search for its width if any.

    ``searched_form`` says what it does where one search finds the width and more.
    """
    most = kernel_bytes(task, numbers)
    before = width_search_work(task)
    if before:
        form = searched_form or f"search for the width, then {form}"
        m = min(task.n, WIDTH_ROWS)  # the distances, the matrix, and what its eigenvectors take
        most = max(most, kernel_bytes(replace(task, n=m, itemsize=8), 4.0 * m * m + 6 * m))
    return Candidate(solver, (*before, *work), most, form, refused)


def kernel_bytes(task: Task, numbers: float) -> float:
    """With the rows made ready on both sides and kept, and the tiles of every thread."""
    n = task.n
    copies = (1 if task.linear else 3) + task.copied
    rows = n * n * task.itemsize * task.copied if task.given else task.row_bytes * copies
    side = min(n, TILE)
    tiles = min(task.threads, (n // TILE + 1) * (n // TILE + 2) // 2)
    return task.itemsize * (numbers + columns_of(task)) + rows + 8.0 * 3 * tiles * side * side
