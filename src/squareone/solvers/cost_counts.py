"""What each solver would do for a task: operations by kind, and bytes, from shapes alone."""

from __future__ import annotations

from dataclasses import replace

from ..arrays import TILE, cholesky_workspace
from ..decompositions import LARGEST_EIGENPROBLEM, longest_part
from ..rows.base import gram_blocks
from .calibration import Work
from .contract import PATH_COLUMNS
from .krylov.leverage_probes import FEW_ROWS, PROBES
from .task import Candidate, Task, columns_of, counted, during, path_length, path_numbers

#: λ values a bracketed search factors at, in float32 (twice as fast) and in float64.
SEARCH_STEPS = (7, 1)

#: Rows on which a search for the kernel's width begins, in float64: the eigendecompositions it
#: takes there, and the λ along each.
WIDTH_ROWS, WIDTH_EIGENDECOMPOSITIONS, WIDTH_ALPHAS = 1000, 14, 40
#: Beyond so many rows it goes on with a quarter, and with most of them, which is this share: its
#: steps in float32 at each size. With fewer it takes them on all rows.
WIDTH_QUARTER_BEYOND, WIDTH_MOST_BEYOND, WIDTH_SHARE, WIDTH_STEPS = 6000, 2400, 0.7, 5

#: Work n · min(n, d)² (n³ with a kernel) up to which a fit at one λ adds its leave-one-out values.
AT_ONCE = 2e9

#: Steps of a Krylov sequence that are expected: at one λ, and down to the smallest of several.
KRYLOV_STEPS = (25, 60)
# What a product of two sparse rows costs, in multiplications of dense ones per stored number.
_SPARSE_ROW = 4.0

# Pieces in which a path looks for the best λ: a grid, and twice more closely around its best.
_AUTO_VISITS = 3


def exact_candidates(task: Task) -> list[Candidate]:
    """Every way to do it with all rows as centers, in whatever memory."""
    if not task.linear:
        return [_cholesky(task), _spectral(task)]
    return [_gram(task), _svd(task), _cholesky(task), _spectral(task), krylov(task)]


def _scoring(task: Task) -> str:
    """The stage in which λ are scored: for a single one that is left to the end."""
    return "leave-one-out values" if task.alphas == 1 else "path"


def _visits(task: Task) -> int:
    """How often the rows are visited: λ are asked for many at a time, then the best one alone.

    For one given λ that can wait until somebody asks, and does if it takes long.
    """
    side = min(task.n, task.d) if task.linear else task.n
    if isinstance(task.alphas, str):
        return 1 + _AUTO_VISITS
    if task.alphas == 1 and task.n * side * side > AT_ONCE:
        return 0
    return 1 + -(-task.alphas // max(1, PATH_COLUMNS // task.t))


def _cholesky(task: Task) -> Candidate:
    n, m = task.n, task.largest_fold
    refused = ""
    if task.alphas == 1:
        form = "one Cholesky factorisation"
        work = [
            *_kernel(task, n),
            *during("factorisation", [counted(task, "cholesky", n**3 / 3, n)]),
            Work("pass", 1.0 * n * n * task.itemsize, n, task.bits, stage="coefficients"),
        ]
        if _visits(task):
            work.append(Work("inverse", n**3 / 3, n, task.bits, stage="leave-one-out values"))
    elif task.alphas == "auto":
        form = "bracketed search, a factorisation per step"
        work = _search(task)
        if not task.smooth:
            refused = (
                'alpha="auto" is searched by squared error and for all targets at once; give a '
                "sequence of alphas"
            )
    else:
        form = "a Cholesky factorisation per alpha"
        work = [
            *_kernel(task, n),
            *during("path", _steps(task, n, path_length(task))),
            # the best one once more, which the round number of flops leaves out
            Work("cholesky", n**3 / 3, n, task.bits, stage="coefficients"),
            Work("inverse", n**3 / 3, n, task.bits, stage="leave-one-out values"),
        ]
    numbers = n * n + cholesky_workspace(n) + 2.0 * m * m + 3.0 * TILE * m
    return _with_width(task, "cholesky", work, numbers, form, refused)


def _search(task: Task) -> list[Work]:
    """For the best λ, after that of the width if there is one, which has come close to it."""
    n = task.n
    if width_search(task):
        return [*_kernel(task, n), *during("path", _steps(task, n, SEARCH_STEPS[1]))]
    single, double = SEARCH_STEPS if task.itemsize == 8 else (0, sum(SEARCH_STEPS))
    start = subset_size(n)
    small = [
        counted(task, "eigh", 9.0 * start**3, start),
        *_path(task, start, start, in_flops=False),
    ]
    return [
        *_kernel(task, n),
        *_kernel(task, n, times=float(single > 0)),  # in float32 there is only one
        *during("search in float32", _steps(task, n, single, 32)),
        *during("path", _steps(task, n, double)),
        *during("start of the search", small),
    ]


def _steps(task: Task, n: int, count: int, bits: int = 0) -> list[Work]:
    """Factorisations of n rows, each at a λ of its own and with the diagonal of its inverse."""
    bits = bits or task.bits
    return [
        counted(task, "cholesky", count * n**3 / 3, n, bits),
        counted(task, "inverse", count * n**3 / 3, n, bits),
        counted(task, "product", count * 2 * task.fold_work * n, TILE, bits),
        # a copy of the triangle, solutions, sums of squares, often an estimate of the condition
        Work("pass", 4.0 * count * n * n * bits / 8, n, bits),
        Work("call", 4.0 * count, 1, bits),
    ]


def subset_size(n: int) -> int:
    """Rows on which a bracketed search looks for its start."""
    return min(n, 1000, max(256, n // 5))


def _kernel(task: Task, n: int, count: int = 1, *, times: float = 1.0) -> list[Work]:
    """Kernel matrices of n rows, with weights in and the intercept set aside."""
    work = [
        Work("pass", times * count * 2.0 * n * n * task.itemsize, n, task.bits),
        Work("call", times * count * 4.0, 1, task.bits),
    ]
    if not task.given:
        # two sparse rows have to be looked through, whatever they share
        width = task.d if not task.sparse else min(task.d, _SPARSE_ROW * task.stored / task.n)
        flops = float(count * n * n * width)
        work.append(counted(task, "product", flops, width, times=times))
        if not task.linear:
            work.append(Work("evaluation", times * count * n * n / 2, n, task.bits))
    return during("kernel matrix", work)


def _spectral(task: Task) -> Candidate:
    n, m = task.n, task.largest_fold
    folds = counted(task, "product", path_length(task) * 2 * task.fold_work * n, TILE)
    work = [
        *_kernel(task, n),
        *during("factorisation", [counted(task, "eigh", 9.0 * n**3, n)]),
        *_path(task, n, n),
        *during(_scoring(task), [folds]),
    ]
    refused = "" if n <= LARGEST_EIGENPROBLEM else f"LAPACK stops at {LARGEST_EIGENPROBLEM:,} rows"
    after = 2.0 * m * n + 2.0 * m * m + path_numbers(task, n)
    numbers = n * n + max(2.0 * n * n + 6 * n, after)
    return _with_width(task, "spectral", work, numbers, "eigendecomposition, every alpha", refused)


def _path(task: Task, n: int, k: int, *, in_flops: bool = True) -> list[Work]:
    """Every λ with n rows and k basis vectors, and the leave-one-out values of the best one."""
    length, t, visits = path_length(task), task.t, _visits(task)
    flops = length * 2.0 * n * k * (t + 1)
    columns = (t + 1) * length / max(1, visits - 1)
    walk = counted(task, "path", flops, columns, times=float(visits > 0))
    if not in_flops:
        walk = replace(walk, flops=0.0)
    if not visits:
        return during(_scoring(task), [walk])
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
    return [*during(_scoring(task), every), *during("leave-one-out values", best)]


def width_search(task: Task) -> list[Work]:
    """On some rows first, then on more, and on all of them last."""
    if not task.width_search or task.given or (task.linear and not task.centers):
        return []
    n, m = task.n, min(task.n, WIDTH_ROWS)
    count, columns = WIDTH_EIGENDECOMPOSITIONS, WIDTH_ALPHAS * (task.t + 1)
    work = [
        *_kernel(task, m, count),
        counted(task, "eigh", count * 9.0 * m**3, m, 64),
        counted(task, "path", count * 2.0 * m * m * columns, columns, 64),
    ]
    sizes = [n // 4] * (n > WIDTH_QUARTER_BEYOND)
    if n > WIDTH_ROWS:
        sizes.append(int(WIDTH_SHARE * n) if n > WIDTH_MOST_BEYOND else n)
    for size in sizes:
        work += _kernel(task, size, WIDTH_STEPS)
        work += _steps(replace(task, fold_work=0.0), size, WIDTH_STEPS, 32)
    return during("search for the width", work)


def _with_width(
    task: Task, solver: str, work: list[Work], numbers: float, form: str, refused: str
) -> Candidate:
    """A candidate that works with the kernel matrix, after the search for its width if any."""
    most = _kernel_bytes(task, numbers)
    before = width_search(task)
    if before:
        if solver == "cholesky" and task.alphas == "auto":
            form = "search for width and λ, a factorisation per step"
        else:
            form = f"search for the width, then {form}"
        m = min(task.n, WIDTH_ROWS)  # the distances, the matrix, and what its eigenvectors take
        most = max(most, _kernel_bytes(replace(task, n=m, itemsize=8), 4.0 * m * m + 6 * m))
    return Candidate(solver, (*before, *work), most, form, refused)


def _kernel_bytes(task: Task, numbers: float) -> float:
    """With the rows made ready on both sides and kept, and the tiles of every thread."""
    n = task.n
    copies = (1 if task.linear else 3) + task.copied
    rows = n * n * task.itemsize * task.copied if task.given else task.row_bytes * copies
    side = min(n, TILE)
    tiles = min(task.threads, (n // TILE + 1) * (n // TILE + 2) // 2)
    return task.itemsize * (numbers + columns_of(task)) + rows + 8.0 * 3 * tiles * side * side


def _svd(task: Task) -> Candidate:
    n, d, m = task.n, task.d, task.largest_fold
    small, long = min(n, d), max(n, d)
    factorisation = [
        counted(task, "qr", 6.0 * n * d * small, small),
        counted(task, "svd", 20.0 * small**3, small),
        Work("pass", 8.0 * n * d * task.itemsize, n, task.bits),
    ]
    work = (*during("factorisation", factorisation), *_path(task, n, small))
    form = "QR by row blocks, then SVD" if n > d else "QR of the transposed features, then SVD"
    k = small + 1
    part = longest_part(k)
    kept = long * k * (1 if n > d else 2)
    at_once = 3.0 * min(long, task.threads * part) * k + 3.0 * (1 + long // part) * k * k
    folds = 2.0 * m * k + 4.0 * k * k if n > d else 2.0 * m * n + 2.0 * m * m
    path = path_numbers(task, small) + (folds if m else 0.0)
    needed = kept + max(at_once, 4.0 * k * k, path) + columns_of(task) + n * d * task.copied
    dense = "more features than rows: sparse rows would have to be made dense"
    refused = dense if task.sparse and n <= d else ""
    return Candidate("svd", work, task.itemsize * needed, form, refused)


def _gram(task: Task) -> Candidate:
    n, d, m = task.n, task.d, task.largest_fold
    if n <= d:
        return replace(_spectral(task), solver="gram", form="eigendecomposition of XXᵀ")
    visits = _visits(task)
    first, turning, kind = 1.0 * n * d * d, 2.0 * n * d * d, "gram"
    if task.sparse:
        first, turning, kind = 2 * _SPARSE_ROW * task.stored**2 / n, 2.0 * task.stored * d, "sparse"
    factorisation = [counted(task, kind, first, d), counted(task, "eigh", 9.0 * d**3, d, 64)]
    # the second pass is repeated for every visit, of which the last is that of the best λ
    second = counted(task, kind, turning, d, times=max(visits - 1.0, 0.0))
    last = Work(kind, turning * (visits > 0), d, task.bits, stage="leave-one-out values")
    work = (
        *during("factorisation", factorisation),
        *during(_scoring(task), [second]),
        last,
        *_path(task, n, d),
    )
    refused = (
        "" if d <= LARGEST_EIGENPROBLEM else f"LAPACK stops at {LARGEST_EIGENPROBLEM:,} features"
    )
    block, sums = gram_blocks(n, d)
    summing = (sums + 1.0 + task.threads) * d * d + 3.0 * task.threads * min(n, block) * d
    folds = 3.0 * m * (d + 1) + 6.0 * (d + 1) ** 2 if m else 0.0
    # for what is asked later; what is read block by block is read again
    rows = 0.0 if task.streamed else task.row_bytes * (task.copied + task.kept)
    path = 2.0 * d * d + path_numbers(task, d) + folds
    needed = max(summing, 4.0 * d * d, path)
    return Candidate(
        "gram",
        work,
        8.0 * needed + rows + task.itemsize * columns_of(task),
        "eigendecomposition of XᵀX, two passes",
        refused,
    )


def krylov(task: Task) -> Candidate:
    """Conjugate gradients for all λ at once; how many steps they take, only the data know."""
    n, d, t = task.n, task.occupied or task.d, task.t
    alone = task.alphas == 1
    steps = KRYLOV_STEPS[not alone]
    probed = not alone and not task.folds
    sequences = max(1, task.folds + (not alone and task.folds > 0))

    def products(columns: int, count: float) -> list[Work]:
        flops = 4.0 * count * task.numbers * columns
        kind = "sparse" if task.sparse else "product"
        size = float(columns)
        rest = Work("pass", 12.0 * count * min(n, d) * columns * task.itemsize, n, task.bits)
        return [counted(task, kind, flops, size), rest, Work("call", 2.0 * count, 1, task.bits)]

    sequence = products(t, float(steps * sequences))
    if probed:
        sequence += products(PROBES, float(steps))
    work = [
        *during("factorisation" if alone else "path", sequence),
        *during("coefficients", products(t, 1.0)),
    ]
    form = "conjugate gradients" if alone else "conjugate gradients, every alpha"
    if task.folds:
        form += ", once per fold" if task.folds > 1 else ", without the held-out rows first"
    elif probed and n > FEW_ROWS:
        form += f"; leave-one-out estimated by {PROBES} random probes"
    refused = ""
    if task.likelihood:
        refused = "it knows no determinant, and so no likelihood"
    elif task.unregularised:
        refused = "it needs an alpha above zero"
    columns = t + PROBES
    rows = task.row_bytes * (task.folds > 0)
    if not task.streamed:
        rows += task.row_bytes * (task.copied + task.kept)
    least = rows + task.itemsize * (8.0 * (n + d) * max(t, PROBES) + columns_of(task))
    kept = task.row_bytes * task.sparse + task.itemsize * min(n, d) * float(steps * columns)
    return Candidate("krylov", tuple(work), least + kept, form, refused, least)
