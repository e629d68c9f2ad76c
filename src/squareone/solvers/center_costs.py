"""What the solvers with centers would do for a task, and how many centers would fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .calibration import Work
from .cost_counts import WIDTH_ROWS, exact_candidates, width_search
from .few_centers.center_basis import LEAST_BLOCK, MOST_BLOCK, block_rows
from .few_centers.pcg import ITERATIONS, PRECONDITIONED_BY
from .few_centers.pcg_leverages import PROBES
from .few_centers.rectangle import KEPT_BYTES, LARGE
from .speed_probes import STRIP_FEATURES
from .task import Candidate, Task, columns_of, counted, during, path_length, path_numbers

#: Solvers whose coefficients belong to centers.
CENTER_SOLVERS = ("rectangle", "pcg", "nystrom", "subset")
#: Rows and centers of the search for a width, the rows of its leave-one-out error, and its looks.
THIN_WIDTH_ROWS, THIN_WIDTH_CENTERS, THIN_WIDTH_SAMPLE, LOOKS = 20_000, 1000, 4000, 7
#: Flops that centers="auto" spends at most: some tens of seconds on a few cores.
AUTO_FLOPS = 2e12
# Fewer centers than this are not worth choosing.
_FEWEST = 100
# Directions that are summed apart, about.
_APART = 16
# λ at which pcg solves: a first look and its neighbours.
PCG_ALPHAS = 4


def center_candidates(task: Task) -> list[Candidate]:
    """All of them, with ``task.centers`` centers, or with all rows as centers."""
    return [_rectangle(task), _pcg(task), _nystrom(task), _subset(task)]


def _size(task: Task) -> int:
    return min(task.centers or task.n, task.n)


def _values(task: Task, n: float, m: float) -> list[Work]:
    """Kernel values between n rows and m centers."""
    width = task.d if not task.sparse else min(task.d, 4.0 * task.stored / task.n)
    few = min(width, STRIP_FEATURES)
    return [
        Work("strips", n * m, STRIP_FEATURES, task.bits, 2.0 * n * m * few),
        counted(task, "product", 2.0 * n * m * (width - few), width),
    ]


def _apart(task: Task, n: float, m: float) -> list[Work]:
    """Directions summed apart, as most rectangles in float32 need."""
    return [counted(task, "thin", 4.0 * n * m * _APART, _APART)] if task.bits == 32 else []


def _between_centers(task: Task, m: int) -> list[Work]:
    return [*_values(task, m, m / 2), counted(task, "cholesky", m**3 / 3, m, 64)]


def _rectangle(task: Task) -> Candidate:
    n, m = task.n, _size(task)
    bits = 32 if task.bits == 32 and m > LARGE else 64
    without_vectors = not (task.likelihood or _leverages_at_once(task))
    factorisation = [
        *_between_centers(task, m),
        *_values(task, n, m),
        *_apart(task, n, m),
        counted(task, "sums", 1.0 * n * m * m, m),
        counted(task, "sums", 2.0 * m**3, m, bits),
        counted(task, "eigh", (4.0 if without_vectors else 9.0) * m**3, m, bits),
    ]
    work = [
        *_search(task),
        *during("choice of centers", _choice(task, m)),
        *during("factorisation", factorisation),
        *during("path", _scores(task, m)),
        *during("leave-one-out values", _afterwards(task, m)),
    ]
    form = f"{m:,} centers, one pass over the rows, every alpha"
    if task.alphas != 1 and task.sampled:
        form += f"; leave-one-out over {task.sampled:,} random rows"
    square = 8.0 * m * m
    sample = min(float((task.sampled or n) * m * task.itemsize), float(KEPT_BYTES))
    folds = 4.0 * square if task.largest_fold else 0.0
    most = 6.0 * square + folds + sample
    return _sized(task, "rectangle", work, most, m, form, _in_full(task))


def _search(task: Task) -> list[Work]:
    """For the width: on few rows exactly, then rectangles of some rows and centers."""
    few = width_search(replace(task, n=min(task.n, WIDTH_ROWS), centers=0, fold_work=0.0))
    if not few or task.n <= WIDTH_ROWS:
        return few
    n, m = min(task.n, THIN_WIDTH_ROWS), min(_size(task), THIN_WIDTH_CENTERS)
    s = min(n, THIN_WIDTH_SAMPLE)
    one = [
        *_between_centers(task, m),
        *_values(task, n + s, m),
        counted(task, "sums", 1.0 * n * m * m + 2.0 * s * m * m + 3.0 * m**3, m),
        counted(task, "eigh", 9.0 * m**3, m, 64),
    ]
    looks = [replace(w, amount=LOOKS * w.amount, flops=LOOKS * w.flops) for w in one]
    return [*few, *during("search for the width", looks)]


def _choice(task: Task, m: int) -> list[Work]:
    return [Work("pass", 2.0 * m * task.d * task.itemsize, 512, task.bits)]


def _scores(task: Task, m: int) -> list[Work]:
    """Every λ, over the rows that are left out or the folds."""
    length, t = path_length(task), task.t
    if task.alphas == 1:
        return []
    if task.folds:
        fold = [
            counted(task, "sums", 2.0 * task.n * m * m, m),
            *_values(task, task.n, m),
            counted(task, "eigh", 9.0 * task.folds * m**3, m, 64),
        ]
        return [*fold, counted(task, "path", 2.0 * length * task.n * m * t, length * t)]
    if task.without_rows:
        return [Work("call", 4.0, 1, task.bits)]
    s = task.sampled or task.n
    return [
        *_values(task, s, m),
        counted(task, "sums", 2.0 * s * m * m, m),
        counted(task, "path", 2.0 * length * s * m * (t + 1), length * (t + 1)),
        Work("errors", 1.0 * length * s * t, s, task.bits),
    ]


def _leverages_at_once(task: Task) -> bool:
    """Whether a fit visits rows that are left out: for its scores, or because they are few."""
    return task.alphas != 1 and (not task.sampled or not (task.without_rows or task.folds))


def _afterwards(task: Task, m: int) -> list[Work]:
    """Values that are left out at the best λ, where scores have not needed them."""
    if not _leverages_at_once(task) or not (task.without_rows or task.folds):
        return []
    return [*_values(task, task.n, m), counted(task, "sums", 2.0 * task.n * m * m, m)]


def _held(task: Task, m: int, block_bytes: float) -> float:
    """Bytes of blocks, targets, the path, and the rows that are kept for later."""
    rows = min(task.n, block_rows(m, task.itemsize, block_bytes))
    block = task.itemsize * rows * (2.0 * m + 3.0 * task.d)
    kept = 0.0 if task.streamed else task.row_bytes * (task.copied + task.kept)
    return block + kept + task.itemsize * (columns_of(task) + path_numbers(task, m))


def _sized(
    task: Task, solver: str, work: list[Work], most: float, m: int, form: str, refused: str
) -> Candidate:
    """With large blocks of rows, or where memory is short with small ones."""
    large, small = (most + _held(task, m, size) for size in (MOST_BLOCK, LEAST_BLOCK))
    return Candidate(solver, tuple(work), large, form, refused, least=small)


def _in_full(task: Task) -> str:
    return "centers need rows, not a kernel matrix" if task.given else ""


def _pcg(task: Task) -> Candidate:
    n, m = task.n, _size(task)
    alone = task.alphas == 1
    solves = 1 if alone else PCG_ALPHAS + 1
    columns = task.t + (0 if alone or task.folds else PROBES)
    passes = ITERATIONS * (1.0 + 0.5 * (solves - 1)) + 2.0 * solves
    s = min(n, PRECONDITIONED_BY * m)
    once = [
        *_between_centers(task, m),
        *_values(task, s, m),
        counted(task, "sums", 2.0 * s * m * m, m),
    ]
    each = [
        *_values(task, n * passes, m),
        counted(task, "thin", 4.0 * passes * n * m * columns, columns),
        counted(task, "cholesky", solves * m**3 / 3, m),
    ]
    work = [
        *_search(task),
        *during("choice of centers", _choice(task, m)),
        *during("factorisation", once if not alone else [*once, *each]),
        *during("path", [] if alone else each),
    ]
    form = f"{m:,} centers, conjugate gradients, a pass over the rows each"
    if not alone and not task.folds:
        form += f"; leave-one-out estimated over {task.sampled or n:,} rows"
    refused = _in_full(task)
    if task.likelihood or (task.without_rows and not alone):
        refused = "it knows no determinant and no trace: use leave-one-out, hold-out or folds"
    elif task.unregularised:
        refused = "it needs an alpha above zero"
    # the kernel matrix in float64, then its factor as the rows are, and two in float32
    square = m * m * max(8.0 + task.itemsize, task.itemsize + 4.0 + 4.0 * (task.itemsize == 8))
    vectors = 8.0 * 8 * (m + n / 4) * columns
    return _sized(task, "pcg", work, square + vectors, m, form, refused)


def _nystrom(task: Task) -> Candidate:
    """As the rectangle; kernel values between all rows and those that are left out or held out."""
    rectangle, m = _rectangle(task), _size(task)
    left = task.largest_fold if task.folds else (task.sampled or task.n)
    between = [] if task.alphas == 1 else _values(task, float(left), task.n)
    if between and not task.folds:
        between.append(counted(task, "sums", 2.0 * left * task.n * m, m))
    vectors = counted(task, "eigh", 5.0 * m**3, m, 64)  # also where the rectangle needs none
    work = [
        *rectangle.work,
        *during("factorisation", [] if _leverages_at_once(task) else [vectors]),
        *during("path", between),
        *during("coefficients", _values(task, task.n, m)),
    ]
    refused = rectangle.refused
    if task.unregularised:
        refused = "it needs an alpha above zero"
    elif task.alphas != 1 and task.without_rows:
        refused = (
            "this criterion is that of the approximate kernel, and nystrom predicts with the true "
            'one: choose alpha by criterion="loo", "holdout" or cv'
        )
    more = task.row_bytes * (1.0 + (task.folds > 0)) + 8.0 * left * (m + task.t)
    form = f"{m:,} centers for the matrix, all rows for predictions"
    if task.alphas != 1 and task.sampled:
        form += f"; leave-one-out over {task.sampled:,} random rows"
    folds = 1 + (task.folds > 0)
    large, small = (folds * size + more for size in (rectangle.bytes, rectangle.least))
    return Candidate("nystrom", tuple(work), large, form, refused, least=small)


def _subset(task: Task) -> Candidate:
    """The exact solution of the center rows alone."""
    m = _size(task)
    small = replace(
        task,
        n=m,
        stored=int(task.stored * m / task.n),
        centers=0,
        sampled=0,
        largest_fold=int(task.largest_fold * m / task.n),
        fold_work=task.fold_work * (m / task.n) ** 2,
    )
    exact = min(exact_candidates(small), key=lambda c: c.flops)
    work = (*during("choice of centers", _choice(task, m)), *exact.work)
    rest = task.itemsize * 8.0 * task.n * task.t
    form = f"{m:,} rows only, exactly"
    return Candidate("subset", work, exact.bytes + rest, form, exact.refused or _in_full(task))


# --- how many centers ---


def fitting_centers(task: Task, solver: str, fits: Callable[[Candidate], bool]) -> int:
    """The most centers with which a solver ``fits``, of at most n; zero where not even a few do."""

    def candidate(m: int) -> Candidate:
        return next(c for c in center_candidates(replace(task, centers=m)) if c.solver == solver)

    few, many = 0, task.n
    if fits(candidate(many)):
        return many
    while many - few > max(1, few // 50):
        middle = (few + many) // 2
        few, many = (middle, many) if fits(candidate(middle)) else (few, middle)
    return few


def automatic_centers(
    task: Task, limit: float, seconds: Callable[[Candidate], float] | None, most: float | None
) -> int:
    """How many centers ``centers="auto"`` is: zero for all rows, exactly.

    Those that fit in memory and take at most ``AUTO_FLOPS``, or ``most`` seconds where a time is
    given; an exact fit wherever that does.
    """

    def fits(candidate: Candidate) -> bool:
        if candidate.refused or candidate.needed > limit:
            return False
        if seconds is not None and most is not None:
            return seconds(candidate) <= most
        searching = sum(w.flops for w in candidate.work if w.stage == "search for the width")
        return candidate.flops - searching <= AUTO_FLOPS

    if any(fits(c) for c in exact_candidates(replace(task, centers=0))):
        return 0
    found = fitting_centers(task, "rectangle", fits)
    rounded = 10 ** max(0, len(str(found)) - 2)  # two digits say enough
    return max(min(_FEWEST, task.n), found // rounded * rounded)
