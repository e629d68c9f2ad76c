"""How fast this machine is: measured once, kept in a file, and used for the seconds a plan shows.

Nothing else depends on it. A solver is chosen by flops and bytes, so that the same call makes the
same choice everywhere; only then are the flops of each kind divided by the rate of that kind.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from threadpoolctl import threadpool_info

from ..threads import thread_budget
from .speed_probes import PROBES

# Changes with what is measured and how: files of another format are measured again.
_FORMAT = 3
# Seconds after which nothing is measured again, and processes that may try to find a calm moment.
_ENOUGH = 2.0
_TRIES = 4
# Two measurements agree if neither is below this share of the other.
_AGREE = 0.8
# How far a rate may be extrapolated beyond the one at the larger of two sizes.
_HEADROOM = 1.4


@dataclass(frozen=True)
class Work:
    """An amount of one kind of operation, as part of what a solver does.

    Attributes
    ----------
    kind : str
        A key of ``PROBES``.
    amount : float
        Flops, numbers or bytes, as the kind says; what takes the time.
    size : float
        What the rate grows with: the side of a matrix, or the inner side of a product.
    bits : int
        The precision it is done in, 32 or 64.
    flops : float
        What it adds to the operations the plan counts and chooses by: zero for what is no
        arithmetic, half for single precision where the rows are in double.
    stage : str
        The stage of a fit in which it is done.
    """

    kind: str
    amount: float
    size: float
    bits: int
    flops: float = 0.0
    stage: str = ""


@dataclass(frozen=True)
class Rate:
    """Amounts per second, as seen at ``size``; at another size they go with a power of it.

    Larger problems are faster, until something else is the limit: what was seen at the larger
    size is not exceeded by much.
    """

    seen: float
    size: float = 1.0
    power: float = 0.0

    def at(self, size: float) -> float:
        """The rate at a size above zero."""
        return self.seen * min(_HEADROOM, (size / self.size) ** self.power)

    @classmethod
    def through(cls, *seen: tuple[float, float]) -> Rate:
        """From one (size, rate), which is then constant, or two with ascending sizes."""
        (small, slow), (large, fast) = seen[0], seen[-1]
        if fast <= slow:
            return cls(fast)
        power = math.log(fast / slow) / math.log(large / small)
        return cls(fast, large, min(power, 1.0))  # in proportion to the size, at the most


@dataclass(frozen=True)
class Machine:
    """The rates of one machine, by kind and bits: ``"cholesky-64"``."""

    rates: dict[str, Rate]

    def seconds(self, work: Iterable[Work]) -> float:
        """Seconds that ``work`` is expected to take, one after the other."""
        return sum(w.amount / self.rates[f"{w.kind}-{w.bits}"].at(max(w.size, 1.0)) for w in work)


_TYPES = {32: np.float32, 64: np.float64}


# --- measuring ----------------------------------------------------------------------------------


@dataclass
class Measurements:
    """The best rate seen of each kind and precision, by size; and whether to believe it.

    ``calm`` says that nearly all of them were seen twice. ``tries`` counts the processes that had
    a go: a measurement that was disturbed is repeated by the next ones, but not for ever.
    """

    best: dict[str, dict[int, float]]
    calm: bool = False
    tries: int = 0

    @property
    def final(self) -> bool:
        """Whether measuring again would be a waste of time."""
        return self.calm or self.tries >= _TRIES

    def machine(self) -> Machine:
        """The laws through what was seen."""
        return Machine({name: Rate.through(*rates.items()) for name, rates in self.best.items()})


def measure(before: Measurements | None = None) -> Measurements:
    """Measure every rate, and keep the better of what was seen ``before`` and now.

    Whatever else the machine does makes it slower, never faster: so the best counts, and it is
    believed when it was nearly reached twice. The smaller sizes are always measured; the larger
    ones, and what is in doubt once more, as long as there is time.

    Cost: a second or two; some sixty megabytes.
    """
    end = _clock() + _ENOUGH
    best = {name: dict(rates) for name, rates in before.best.items()} if before else {}
    jobs = [
        (kind, bits, sizes[i])
        for i in (0, 1)
        for kind, (_, sizes) in PROBES.items()
        for bits in _TYPES
        if i < len(sizes)
    ]
    doubtful = jobs
    while True:
        doubtful = [
            (kind, bits, size)
            for kind, bits, size in doubtful
            if not _settle(kind, bits, size, best.setdefault(f"{kind}-{bits}", {}), end)
        ]
        if not doubtful or _clock() > end:
            break
    calm = len(doubtful) <= 0.1 * len(jobs)
    return Measurements(best, calm, 1 + (before.tries if before else 0))


def _settle(kind: str, bits: int, size: int, rates: dict[int, float], end: float) -> bool:
    """Put the best rate seen into ``rates``; whether one of at most three runs confirmed it.

    The first run is often slow: libraries allocate buffers and wake threads in it.
    """
    if rates and _clock() > end:
        return False
    prepare, run, amount = PROBES[kind][0](size, _TYPES[bits])
    for _ in range(3):
        ready = prepare()
        start = _clock()
        run(ready)
        rate = amount / max(_clock() - start, 1e-9)
        known = rates.get(size, 0.0)
        rates[size] = max(rate, known)
        if _AGREE * rate < known < rate / _AGREE:
            return True
        if _clock() > end:
            break
    return False


def _clock() -> float:
    return time.perf_counter()


# --- keeping ------------------------------------------------------------------------------------

_known: dict[str, Machine] = {}


def this_machine() -> Machine:
    """The rates of this machine with the threads it may use now.

    Cost: microseconds; in a process's first call those of reading a file, and on a machine's
    first call those of :func:`measure`.
    """
    key = {**_surroundings(), "threads": thread_budget()}
    name = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
    if name not in _known:
        file = _folder() / f"speed-{name}.json"
        kept = _read(file, key)
        if kept is None or not kept.final:
            kept = measure(kept)
            _write(file, key, kept)
        _known[name] = kept.machine()
    return _known[name]


@lru_cache
def _surroundings() -> dict[str, Any]:
    """What decides about speed, as far as it stays the same while a process runs."""
    named = ("internal_api", "version", "architecture", "threading_layer")
    blas = [lib for lib in threadpool_info() if lib["user_api"] == "blas"]
    return {
        "format": _FORMAT,
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "blas": sorted(" ".join(str(lib.get(name)) for name in named) for lib in blas),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return f"{platform.machine()} {next(models, '') or platform.processor()}"


def _folder() -> Path:
    """Where files are kept that can be made again."""
    if named := os.environ.get("SQUAREONE_CACHE"):
        return Path(named)
    above = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(above) / "squareone"


def _read(file: Path, key: dict[str, Any]) -> Measurements | None:
    """What is in the file; None where it is not there, or not what was written for this key."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        best = {
            f"{kind}-{bits}": _rates(found["best"][f"{kind}-{bits}"], sizes)
            for kind, (_, sizes) in PROBES.items()
            for bits in _TYPES
        }
        kept = Measurements(best, bool(found["calm"]), int(found["tries"]))
        return kept if found["key"] == key else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _rates(found: dict[str, float], sizes: tuple[int, ...]) -> dict[int, float]:
    rates = {size: float(found[str(size)]) for size in sizes if str(size) in found}
    if sizes[0] not in rates or not all(math.isfinite(r) and r > 0 for r in rates.values()):
        msg = f"rates {found} are not those at {sizes}"
        raise ValueError(msg)
    return rates


def _write(file: Path, key: dict[str, Any], kept: Measurements) -> None:
    """At once or not at all: another process may be reading, or writing the same."""
    text = json.dumps({"key": key, **asdict(kept)}, indent=1)
    with suppress(OSError):  # a folder that cannot be written to: the next process measures again
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=file.parent) as aside:
            written = Path(aside) / file.name
            written.write_text(text, encoding="utf-8")
            written.replace(file)
