"""What has to be solved, as far as its cost goes, and one way to do it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .calibration import Work
from .contract import HELD_NUMBERS, PATH_BLOCK, PATH_COLUMNS

#: The stages of a fit, by the names under which their seconds are counted, in their order.
STAGES = (
    "search for the width",
    "choice of centers",
    "start of the search",
    "kernel matrix",
    "search in float32",
    "factorisation",
    "path",
    "coefficients",
    "leave-one-out values",
)


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
    width_search : bool
        Whether the width of the kernel is searched as well.
    stored : int
        Numbers that the rows consist of; n·d where they are dense, or where it is left at zero.
    sparse : bool
        Whether zeros are not stored.
    folds : int
        How many folds are left out, one after the other; none for other criteria.
    likelihood : bool
        Whether the criterion needs determinants.
    unregularised : bool
        Whether a λ of zero is among those given.
    occupied : int
        Features that are not zero in all rows; all of them where it is left at zero.
    kept : bool
        Whether the rows have to be kept, for what is asked later.
    centers : int
        Points that carry coefficients; zero for all rows.
    sampled : int
        Rows over which the leave-one-out error is taken; zero for all of them.
    streamed : bool
        Whether rows are read block by block, and never held.
    without_rows : bool
        Whether the criterion leaves no rows out.
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
    width_search: bool = False
    stored: int = 0
    sparse: bool = False
    folds: int = 0
    likelihood: bool = False
    unregularised: bool = False
    occupied: int = 0
    kept: bool = True
    centers: int = 0
    sampled: int = 0
    streamed: bool = False
    without_rows: bool = False

    @property
    def numbers(self) -> int:
        """Numbers that the rows consist of."""
        return self.stored if self.sparse else self.n * self.d

    @property
    def row_bytes(self) -> float:
        """Bytes of a copy of the rows: with a number goes the index of its feature."""
        return self.numbers * (self.itemsize + 4.0 * self.sparse)

    @property
    def bits(self) -> int:
        """The precision of the rows."""
        return 8 * self.itemsize


@dataclass(frozen=True)
class Candidate:
    """One way to do it. ``refused`` says why it cannot be taken; empty where it can.

    ``work`` is all that takes time, by kind of operation and stage; what it says to count adds up
    to the ``flops``. With fewer ``bytes``, but with the ``least``, it can be done more slowly.
    """

    solver: str
    work: tuple[Work, ...]
    bytes: float
    form: str
    refused: str = ""
    least: float = 0.0

    @property
    def needed(self) -> float:
        """Bytes without which it cannot be done."""
        return self.least or self.bytes

    @property
    def flops(self) -> float:
        """Operations; those in float32 count half where the rows are in float64."""
        return sum(w.flops for w in self.work)


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
