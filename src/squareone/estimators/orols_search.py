"""The width of the kernel and ε for greedy fits, by cross-validation of all that a fit does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..kernels import Kernel
from ..kernels.widths import free_width, term_of, with_width
from ..rows import rows_of

#: Rows that are looked at, at most, and folds of few and of many rows.
SEARCH_ROWS, FOLDS = 2000, (5, 3)
#: Target columns that are looked at, where each has centers of its own.
SEARCH_COLUMNS = 3
_FEW = 1000
# Rows that are read at a time.
_ROWS = 65_536
#: ε, in units of the mean k(x, x): the first is where the search for the width begins.
SHIFTS = (1e-2, 1e-1, 1e-3)
# Widths are multiples of the median distance by powers of this, and the search begins there.
_STEP, _START, _LOWEST, _HIGHEST = np.sqrt(2.0), -2, -12, 10


@dataclass(frozen=True)
class Look:
    """One pair that was tried: ``sigma`` (NaN where it is given), ``epsilon`` and the error."""

    sigma: float
    epsilon: float
    error: float


#: The mean square error on held-out rows of fits with a kernel and ε.
Judge = Callable[[Kernel, float], float]


def search(
    kernel: Kernel, shifts: tuple[float, ...], X: Any, rng: np.random.RandomState, judge: Judge
) -> tuple[Kernel, float, list[Look]]:
    """The best width, if the kernel has one to be chosen, and ε of ``shifts``.

    The width goes downhill by half octaves at the first ε, then ε is chosen there, and if it is
    another one the width goes downhill once more.
    """
    name = free_width(kernel)
    looks: list[Look] = []
    seen: dict[tuple[int, float], float] = {}
    kernels: dict[int, Kernel] = {}
    if name:
        median = with_width(kernel, name, "median").resolve(X, rng)
        unit = float(term_of(median, name).sigma)

    def at(step: int) -> Kernel:
        if step not in kernels:
            kernels[step] = with_width(median, name, unit * _STEP**step) if name else kernel
        return kernels[step]

    def error(step: int, epsilon: float) -> float:
        if not _LOWEST <= step <= _HIGHEST:
            return np.inf
        if (step, epsilon) not in seen:
            seen[step, epsilon] = judge(at(step), epsilon)
            sigma = unit * _STEP**step if name else np.nan
            looks.append(Look(sigma, epsilon, seen[step, epsilon]))
        return seen[step, epsilon]

    def downhill(here: int, epsilon: float) -> int:
        while name:
            around = [here - 1, here, here + 1]
            lowest = min(around, key=lambda step: error(step, epsilon))
            if lowest == here:
                break
            here = lowest
        return here

    step = downhill(_START if name else 0, shifts[0])
    epsilon = min(shifts, key=lambda shift: error(step, shift))
    step = downhill(step, epsilon)
    return at(step), epsilon, looks


def folds_of(n: int, rng: np.random.RandomState) -> list[tuple[Array, Array]]:
    """Rows to fit and rows to judge by, for each fold of at most :data:`SEARCH_ROWS` rows."""
    rows = rng.permutation(n)[:SEARCH_ROWS]
    count = min(FOLDS[rows.size > _FEW], rows.size)
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
