"""Which solver, why, and what it costs: decided from shapes alone, before any work."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ..arrays import LARGEST_EIGENPROBLEM, TILE, longest_part
from ..errors import MemoryLimitError
from .factor import HELD_NUMBERS, PATH_BLOCK, PATH_COLUMNS
from .features import gram_blocks
from .memory import readable

#: λ values a bracketed search factors at, in float32 (twice as fast) and in float64.
SEARCH_STEPS = (7, 1)

# Work below which time does not decide: the whole path (or the most accurate solver) is preferred.
_NEGLIGIBLE = 2.5e10
_NEGLIGIBLE_LINEAR = 1e9


@dataclass(frozen=True)
class Task:
    """What has to be solved, as far as its cost goes.

    Attributes
    ----------
    n, d, t : int
        Rows, features, target columns.
    itemsize : int
        Bytes of a number.
    linear, given : bool
        Whether the kernel is the linear one, or a precomputed matrix.
    alphas : int or "auto"
        How many λ are compared; ``"auto"`` where they are not given.
    smooth : bool
        Whether the criterion is a smooth function of one λ, which a bracketed search can follow.
    fold_work : float
        Multiplications per λ and row of the basis that leaving out the folds takes: Σ|fold|².
    largest_fold : int
        Rows of the largest fold.
    held : bool
        Whether the held-out values themselves are needed, not only their squares: a scorer.
    copied : bool
        Whether the rows have to be copied, because some of them have weight zero.
    threads : int
        Each has a tile of its own.
    """

    n: int
    d: int
    t: int
    itemsize: int
    linear: bool
    given: bool
    alphas: int | str
    smooth: bool
    fold_work: float = 0.0
    largest_fold: int = 0
    held: bool = False
    copied: bool = False
    threads: int = 1


@dataclass(frozen=True)
class Candidate:
    """One way to do it. ``refused`` says why it cannot be taken; empty where it can."""

    solver: str
    flops: float
    bytes: float
    form: str
    refused: str = ""


@dataclass(repr=False)
class Plan:
    """The candidates, the choice and the reason; after a fit, the seconds of every stage.

    ``print(plan)`` shows it as a table. Flops and bytes are counted from the shapes; they depend
    on nothing measured, so the same call always makes the same choice.
    """

    task: Task
    candidates: list[Candidate]
    solver: str
    reason: str
    memory_limit: float
    stages: dict[str, float] = field(default_factory=dict)

    @property
    def chosen(self) -> Candidate:
        """The candidate that was taken."""
        return next(c for c in self.candidates if c.solver == self.solver)

    def time_spent(self) -> str:
        """All seconds of the fit, and those of each stage that took a per cent of them."""
        total = sum(self.stages.values())
        parts = [f"{name} {s:.2g} s" for name, s in self.stages.items() if s >= 0.01 * total]
        return f"{total:.2g} s: {', '.join(parts)}"

    def __repr__(self) -> str:
        task = self.task
        kernel = "linear kernel" if task.linear else "kernel"
        seen = "a precomputed kernel" if task.given else f"{task.d:,} features, {kernel}"
        columns = "1 target column" if task.t == 1 else f"{task.t:,} target columns"
        lines = [
            f"{task.n:,} rows, {seen}, {columns}, float{8 * task.itemsize}, "
            f"memory limit {readable(self.memory_limit)}",
            f"{'solver':<10}{'Gflop':>12}{'memory':>12}  how",
        ]
        for c in self.candidates:
            mark = (
                " <- chosen" if c.solver == self.solver else f" ({c.refused})" if c.refused else ""
            )
            lines.append(
                f"{c.solver:<10}{c.flops / 1e9:>12,.3g}{readable(c.bytes):>12}  {c.form}{mark}"
            )
        lines.append(f"why: {self.reason}")
        if self.stages:
            lines.append(f"spent: {self.time_spent()}")
        return "\n".join(lines)


def make_plan(task: Task, requested: str, memory_limit: float) -> Plan:
    """Choose among the solvers that fit the task and the memory, or refuse, saying what would fit.

    Cost: microseconds.
    """
    candidates = [
        Candidate(c.solver, c.flops, c.bytes, c.form, c.refused or _over(c, memory_limit))
        for c in _candidates(task)
    ]
    if requested != "auto":
        chosen = next(c for c in candidates if c.solver == requested)
        if chosen.refused:
            _refuse(chosen, candidates, task, memory_limit)
        return Plan(task, candidates, requested, "asked for", memory_limit)
    possible = [c for c in candidates if not c.refused]
    if not possible:
        able = [c for c in _candidates(task) if not c.refused] or candidates
        _refuse(min(able, key=lambda c: c.bytes), candidates, task, memory_limit)
    chosen, reason = _choose(task, possible)
    return Plan(task, candidates, chosen.solver, reason, memory_limit)


def _choose(task: Task, possible: list[Candidate]) -> tuple[Candidate, str]:
    if task.linear and task.alphas == "auto" and len(possible) > 1:
        possible = [c for c in possible if c.solver != "cholesky"]  # the path costs no more
    by_name = {c.solver: c for c in possible}
    if task.linear and "svd" in by_name and by_name["svd"].flops <= _NEGLIGIBLE_LINEAR:
        return by_name["svd"], "the most accurate, and its cost is negligible at this size"
    cheapest = min(possible, key=lambda c: c.flops)
    spectral = by_name.get("spectral")
    if (
        not task.linear
        and task.alphas != 1
        and spectral is not None
        and spectral.flops <= _NEGLIGIBLE
    ):
        return spectral, "the whole path at once, and its cost is negligible at this size"
    if task.linear and cheapest.solver != "svd":
        return cheapest, (
            "the fewest flops; the features' condition is checked, and svd taken if it is too high"
        )
    reason = "the fewest flops of those that can do it in this memory"
    if task.alphas == 1 and cheapest.solver == "cholesky" and spectral is not None:
        reason += "; spectral if alpha turns out to be too small for it"
    return cheapest, reason


def _candidates(task: Task) -> list[Candidate]:
    if not task.linear:
        return [_cholesky(task), _spectral(task)]
    return [_gram(task), _svd(task), _cholesky(task), _spectral(task)]


def _path_length(task: Task) -> int:
    return 60 if isinstance(task.alphas, str) else task.alphas


def _cholesky(task: Task) -> Candidate:
    n, d = task.n, task.d
    step = 2 * n**3 / 3 + 2 * task.fold_work * n
    kernel = 0.0 if task.given else float(n * n * d)
    refused = ""
    if task.alphas == 1:
        flops, form = n**3 / 3 + kernel, "one Cholesky factorisation"
    elif task.alphas == "auto":
        single, double = SEARCH_STEPS if task.itemsize == 8 else (0, sum(SEARCH_STEPS))
        flops = (single / 2 + double) * step + 2 * kernel + 9 * subset_size(n) ** 3
        form = "bracketed search, a factorisation per step"
        if not task.smooth:
            refused = (
                'alpha="auto" is searched by squared error and for all targets at once; give a '
                "sequence of alphas"
            )
    else:
        flops, form = _path_length(task) * step + kernel, "a Cholesky factorisation per alpha"
    m = task.largest_fold
    folds = 2.0 * m * m + 3.0 * TILE * m
    return Candidate("cholesky", flops, _kernel_bytes(task, n * n + folds), form, refused)


def subset_size(n: int) -> int:
    """Rows on which a bracketed search looks for its start."""
    return min(n, 1000, max(256, n // 5))


def _spectral(task: Task) -> Candidate:
    n, d = task.n, task.d
    kernel = 0.0 if task.given else float(n * n * d)
    per_alpha = 2.0 * n * n * (task.t + 1) + 2 * task.fold_work * n
    flops = 9 * n**3 + kernel + _path_length(task) * per_alpha
    refused = "" if n <= LARGEST_EIGENPROBLEM else f"LAPACK stops at {LARGEST_EIGENPROBLEM:,} rows"
    m = task.largest_fold
    after = 2.0 * m * n + 2.0 * m * m + _path_numbers(task, n)
    return Candidate(
        "spectral",
        flops,
        _kernel_bytes(task, n * n + max(2.0 * n * n + 6 * n, after)),
        "eigendecomposition, every alpha",
        refused,
    )


def _kernel_bytes(task: Task, numbers: float) -> float:
    """With the rows made ready on both sides and kept, and the tiles of every thread."""
    n = task.n
    rows = (
        n * n * task.copied
        if task.given
        else n * task.d * ((1 if task.linear else 3) + task.copied)
    )
    side = min(n, TILE)
    tiles = min(task.threads, (n // TILE + 1) * (n // TILE + 2) // 2)
    return task.itemsize * (numbers + rows + _columns(task)) + 8.0 * 3 * tiles * side * side


def _columns(task: Task) -> float:
    """Numbers for the targets, in the forms a fit needs, and for held-out values."""
    n, t = task.n, task.t
    if not (task.held or task.largest_fold):
        return 8.0 * n * t
    return 8.0 * n * t + 2.0 * min(max(HELD_NUMBERS, n * t), n * t * _path_length(task))


def _path_numbers(task: Task, k: int) -> float:
    """What a walk along the path holds with k basis vectors: filters, and a block per thread."""
    columns = min(max(PATH_COLUMNS, task.t), task.t * _path_length(task))
    rows = min(task.n, max(64, PATH_BLOCK // max(k, columns)))
    at_once = min(task.threads, -(-task.n // rows))
    return 2.0 * k * columns + 3.0 * at_once * rows * max(k, columns)


def _svd(task: Task) -> Candidate:
    n, d, m = task.n, task.d, task.largest_fold
    small, long = min(n, d), max(n, d)
    flops = (
        6.0 * n * d * small + 20 * small**3 + _path_length(task) * 2.0 * n * small * (task.t + 1)
    )
    form = "QR by row blocks, then SVD" if n > d else "QR of the transposed features, then SVD"
    k = small + 1
    part = longest_part(k)
    kept = long * k * (1 if n > d else 2)
    at_once = 3.0 * min(long, task.threads * part) * k + 3.0 * (1 + long // part) * k * k
    folds = 2.0 * m * k + 4.0 * k * k if n > d else 2.0 * m * n + 2.0 * m * m
    path = _path_numbers(task, small) + (folds if m else 0.0)
    needed = kept + max(at_once, 4.0 * k * k, path) + _columns(task) + n * d * task.copied
    return Candidate("svd", flops, task.itemsize * needed, form)


def _gram(task: Task) -> Candidate:
    n, d, m = task.n, task.d, task.largest_fold
    if n <= d:
        dual = _spectral(task)
        return Candidate("gram", dual.flops, dual.bytes, "eigendecomposition of XXᵀ", dual.refused)
    flops = 3.0 * n * d * d + 9 * d**3 + _path_length(task) * 2.0 * n * d * (task.t + 1)
    refused = (
        "" if d <= LARGEST_EIGENPROBLEM else f"LAPACK stops at {LARGEST_EIGENPROBLEM:,} features"
    )
    block, sums = gram_blocks(n, d)
    summing = (sums + 1.0 + task.threads) * d * d + 3.0 * task.threads * min(n, block) * d
    folds = 3.0 * m * (d + 1) + 6.0 * (d + 1) ** 2 if m else 0.0
    rows = n * d * (task.copied + (task.alphas == 1))  # its own copy, for what is asked later
    path = 2.0 * d * d + _path_numbers(task, d) + folds
    needed = max(summing, 4.0 * d * d, path)
    return Candidate(
        "gram",
        flops,
        8.0 * needed + task.itemsize * (rows + _columns(task)),
        "eigendecomposition of XᵀX, two passes",
        refused,
    )


def _over(candidate: Candidate, limit: float) -> str:
    if candidate.bytes <= limit:
        return ""
    return f"needs {readable(candidate.bytes)}, more than the memory limit"


def _refuse(wanted: Candidate, candidates: list[Candidate], task: Task, limit: float) -> None:
    fitting = [c for c in candidates if not c.refused]
    if wanted.bytes <= limit:
        others = ", ".join(f'"{c.solver}"' for c in fitting) or "none"
        msg = (
            f'solver="{wanted.solver}" cannot do this: {wanted.refused}. Solvers that can: {others}'
        )
        raise ValueError(msg)
    if fitting:
        what = ", ".join(f'solver="{c.solver}" ({readable(c.bytes)})' for c in fitting)
        advice = f"What fits: {what}"
    else:
        advice = f"What fits: {_what_would_fit(wanted, task, limit)}"
    msg = (
        f'solver="{wanted.solver}" on {task.n:,} rows and {task.d:,} features needs '
        f"{readable(wanted.bytes)}; memory_limit is {readable(limit)}. {advice}, or raise "
        "memory_limit"
    )
    raise MemoryLimitError(msg)


def _what_would_fit(wanted: Candidate, task: Task, limit: float) -> str:
    """The largest number of rows this solver could take, found by asking again."""

    def needs(**changes: Any) -> float:
        smaller = replace(task, **changes)
        return next(c.bytes for c in _candidates(smaller) if c.solver == wanted.solver)

    def with_rows(n: int) -> float:
        fold = int(task.largest_fold * n / task.n)
        return needs(n=n, d=n if task.given else task.d, largest_fold=fold)

    few, many = 0, task.n
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if with_rows(middle) <= limit else (few, middle)
    if few < 2:
        return "nothing of use with this solver"
    single = "float32 rows; " if task.itemsize == 8 and needs(itemsize=4) <= limit else ""
    return f"{single}at most about {few:,} rows with this solver"
