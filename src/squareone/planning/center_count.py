"""How many centers ``centers="auto"`` is, and how many fit in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..solvers.contract import Candidate, Task
from ..solvers.registry import SOLVERS, USUAL_WITH_CENTERS, exact_candidates

#: Flops that centers="auto" spends at most: some tens of seconds on a few cores.
AUTO_FLOPS = 2e12
# Fewer centers than this are not worth choosing.
_FEWEST = 100


def fitting_centers(task: Task, solver: str, fits: Callable[[Candidate], bool]) -> int:
    """The most centers with which a solver ``fits``, of at most n; zero where not even a few do."""

    def candidate(m: int) -> Candidate:
        return SOLVERS[solver].cost(replace(task, centers=m))

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
    found = fitting_centers(task, USUAL_WITH_CENTERS, fits)
    rounded = 10 ** max(0, len(str(found)) - 2)  # two digits say enough
    return max(min(_FEWEST, task.n), found // rounded * rounded)
