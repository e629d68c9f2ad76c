"""What a benchmark is: a named ratio, and the value it should reach."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.measure import Contestant, Interleaved, interleaved

Direction = Literal["at most", "at least"]


@dataclass(frozen=True)
class Scale:
    """How large and how often: full size by default, divided by ``shrink`` in a quick run."""

    shrink: int = 1
    repeats: int | None = None
    """Overrides the number of repeats of every case."""

    def rows(self, n: int) -> int:
        """Return the number of rows to use where the case asks for n."""
        return n // self.shrink


@dataclass(frozen=True)
class Outcome:
    """What a case measured."""

    ratio: float
    spread: tuple[float, float] | None = None
    """Smallest and largest ratio of a single repeat."""
    note: str = ""
    figures: dict[str, Any] = field(default_factory=dict)
    """Everything measured, for the JSON file."""


@dataclass(frozen=True)
class Case:
    """A ratio to measure.

    Parameters
    ----------
    name : str
        Short; what ``--only`` matches.
    what, against : str
        The work, and the yardstick it is divided by.
    target : float or None
        None for a ratio reported without a value to reach.
    direction : {"at most", "at least"}
        "at most": ours over the yardstick. "at least": times faster than the yardstick.
    measure : callable
        Does it, at a scale.
    """

    name: str
    what: str
    against: str
    target: float | None
    direction: Direction
    measure: Callable[[Scale], Outcome]

    def met(self, outcome: Outcome) -> bool | None:
        """Say whether the outcome reaches the target; None without a target."""
        if self.target is None:
            return None
        if self.direction == "at most":
            return outcome.ratio <= self.target
        return outcome.ratio >= self.target


@dataclass(frozen=True)
class Contest:
    """Who is timed in a case, and what to say about their results."""

    ours: Contestant
    yardstick: Contestant
    peers: dict[str, Contestant] = field(default_factory=dict)
    remark: Callable[[Interleaved], str] = lambda _: ""


def timed(
    name: str,
    setup: Callable[[Scale], Contest],
    *,
    what: str,
    against: str,
    target: float | None,
    direction: Direction = "at most",
    repeats: int = 5,
) -> Case:
    """Make a case out of a contest: the ratio is that of the median times."""

    def measure(scale: Scale) -> Outcome:
        contest = setup(scale)
        times = interleaved(
            contest.ours, contest.yardstick, scale.repeats or repeats, contest.peers
        )
        return _outcome(times, direction, contest.remark(times))

    return Case(name, what, against, target, direction, measure)


def _outcome(times: Interleaved, direction: Direction, remark: str) -> Outcome:
    yardstick = times.yardstick.median
    ratio, single = times.ours.median / yardstick, times.ratios()
    if direction == "at least":
        ratio, single = 1 / ratio, [1 / value for value in single]
    beside = [f"{name}: {timing.median / yardstick:.2f}" for name, timing in times.peers.items()]
    seconds = {"ours": times.ours, "yardstick": times.yardstick, **times.peers}
    return Outcome(
        ratio,
        (min(single), max(single)),
        "; ".join(filter(None, [*beside, remark])),
        {"seconds": {name: timing.seconds for name, timing in seconds.items()}},
    )
