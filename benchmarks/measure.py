"""The two ways of measuring: seconds, interleaved; bytes, in a fresh process."""

import gc
import multiprocessing
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone


@dataclass(frozen=True)
class Contestant:
    """Work to be timed, and what must be ready before its clock starts.

    Parameters
    ----------
    run : callable
        Timed; called with what ``prepare`` returned.
    prepare : callable
        Not timed; returns the tuple of arguments of ``run``.
    summary : callable
        Not timed; takes what ``run`` returned and returns the few numbers worth keeping of it.
    """

    run: Callable[..., Any]
    prepare: Callable[[], tuple[Any, ...]] = tuple
    summary: Callable[[Any], Any] = lambda _: None


def fitting(estimator: Any, X: NDArray, y: NDArray, *keep: str) -> Contestant:
    """Return the fit of a fresh clone, of which only the attributes named in keep survive.

    A clone, because a fitted estimator that stays alive may hold an n × n factor, and the next
    contestant would then have to be given memory that nobody has used yet.
    """
    return Contestant(
        lambda unfitted: unfitted.fit(X, y),
        lambda: (clone(estimator),),
        lambda fitted: {name: getattr(fitted, name) for name in keep},
    )


@dataclass
class Timing:
    """Seconds of one contestant, a value per repeat, and the summary of its last repeat."""

    seconds: list[float] = field(default_factory=list)
    summary: Any = None

    @property
    def median(self) -> float:
        """The median number of seconds."""
        return float(np.median(self.seconds))


@dataclass(frozen=True)
class Interleaved:
    """The timings of one contest."""

    ours: Timing
    yardstick: Timing
    peers: dict[str, Timing]

    def ratios(self) -> list[float]:
        """Ours over the yardstick, repeat by repeat."""
        pairs = zip(self.ours.seconds, self.yardstick.seconds, strict=True)
        return [ours / yardstick for ours, yardstick in pairs]


def interleaved(
    ours: Contestant,
    yardstick: Contestant,
    repeats: int,
    peers: Mapping[str, Contestant] | None = None,
) -> Interleaved:
    """Time the contestants in turns (A B A B …), after one round that does not count.

    Turns let a machine that slows down slow all of them. Each result is released before the next
    clock starts: the first touch of new memory can cost more than the work, so whoever runs beside
    another's large result looks slow. Summaries must therefore be small.
    """
    peers = peers or {}
    turns = [(Timing(), contestant) for contestant in (ours, yardstick, *peers.values())]
    for round_number in range(repeats + 1):
        for timing, contestant in turns:
            arguments = contestant.prepare()
            gc.collect()
            start = time.perf_counter()
            result = contestant.run(*arguments)
            elapsed = time.perf_counter() - start
            if round_number > 0:
                timing.seconds.append(elapsed)
            timing.summary = contestant.summary(result)
            del result, arguments
    first, second, *others = [timing for timing, _ in turns]
    return Interleaved(first, second, dict(zip(peers, others, strict=True)))


def peak_memory(setup: Callable[[], Callable[[], object]]) -> int:
    """Return the bytes by which an action raises the resident memory of a fresh process.

    Parameters
    ----------
    setup : callable
        Picklable (a module's function, or a ``functools.partial`` of one). Runs in the fresh
        process; imports, creates the data, warms up, and returns the action to be measured.

    Notes
    -----
    Linux only. The high-water mark is read from ``/proc/self/status`` and reset after ``setup``:
    ``getrusage`` would start from the peak of the *parent*, which a process inherits when it is
    started, and could not forget the peak of ``setup``.
    """
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as pool:
        return pool.submit(_rise, setup).result()


def _rise(setup: Callable[[], Callable[[], object]]) -> int:
    action = setup()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM to what is resident now
    before = _high_water_mark()
    result = action()
    after = _high_water_mark()
    del result
    return after - before


#: Does the work, calls what it is given, and then returns figures by name, such as a test error.
Alone = Callable[[Callable[[], None]], dict[str, float]]


def run_alone(setup: Callable[[], Alone]) -> dict[str, float]:
    """Return the figures of work in a fresh process, done once, with its ``seconds`` and ``GiB``.

    For what takes too long to be repeated; ``setup`` is as in :func:`peak_memory`. Time and memory
    are those until the work says that it is done.
    """
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as pool:
        return pool.submit(_alone, setup).result()


def _alone(setup: Callable[[], Alone]) -> dict[str, float]:
    work = setup()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before, start, figures = _high_water_mark(), time.perf_counter(), {}

    def done() -> None:
        figures["seconds"] = time.perf_counter() - start
        figures["GiB"] = (_high_water_mark() - before) / 2**30

    return work(done) | figures


def _high_water_mark() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status has no VmHWM line; memory cases need Linux")
