"""How fast this machine is: four rates, measured once in a process, for the seconds a plan shows.

Matrix products, Cholesky factorisations, eigenvalues and kernel values are measured, in double
precision. All other work takes a known multiple of these rates: :data:`KINDS`. A solver is chosen
by flops and bytes, so that the same call makes the same choice everywhere; only then are the
amounts of each kind divided by the rate of that kind.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import Array, cholesky
from ..decompositions import eigh
from ..kernels import Gaussian, Linear
from ..kernels.tiles import kernel_matrix
from ..solvers.contract import Work
from ..threads import thread_budget

# How far a rate may be extrapolated beyond the one at the larger of two sizes.
_HEADROOM = 1.4
# Runs of a probe, of which the fastest counts, and seconds after which there are no more of them.
_RUNS, _ENOUGH = 4, 0.15


@dataclass(frozen=True)
class Rate:
    """Amounts per second, as seen at ``size``; at another size they go with a power of it.

    Larger problems are faster, until something else is the limit: what was seen at the larger
    size is not exceeded by much, and beyond ``smallest`` and ``largest`` nothing changes.
    """

    seen: float
    size: float = 1.0
    power: float = 0.0
    smallest: float = 1.0
    largest: float = math.inf

    def at(self, size: float) -> float:
        """The rate at a size."""
        size = min(max(size, self.smallest), self.largest)
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
class Multiple:
    """The rate of a kind of work as a multiple of a measured one, in double precision.

    Attributes
    ----------
    of : str
        What is measured: a key of :data:`PROBES`.
    times : float
        How many times as fast.
    single : float
        How many times as fast as that in single precision.
    sizes : pair of float
        Between these sizes the rate follows that of the probe.
    """

    of: str
    times: float = 1.0
    single: float = 1.9
    sizes: tuple[float, float] = (1.0, math.inf)


#: All kinds of work. The multiples were measured with OpenBLAS on one core and on two, where they
#: varied by a factor of about 1.5.
KINDS: dict[str, Multiple] = {
    "product": Multiple("product"),  # flops of tiles; size: features
    "cholesky": Multiple("cholesky"),  # flops; size: rows
    "eigh": Multiple("eigh"),  # flops; size: rows
    "evaluation": Multiple("evaluation", single=1.7),  # entries of half a kernel matrix
    "inverse": Multiple("cholesky"),  # flops, of a triangle; size: rows
    "svd": Multiple("eigh", 1.4, 1.6),  # flops, of a square matrix; size: its side
    "qr": Multiple("product", 0.7, 1.2),  # flops, with Q rotated; size: columns
    "gram": Multiple("product", 0.8, 1.6),  # flops of a Gram matrix and a rotation; size: features
    "sums": Multiple("product", 0.9),  # flops of large products; size: the smaller side
    # flops of products with sparse rows, bound by memory; size: columns
    "sparse": Multiple("product", 0.6, 1.3, (1.0, 32.0)),
    # flops of a basis times filters, a product with a long inner side; size: columns at once
    "path": Multiple("product", 2.0, sizes=(1.0, 64.0)),
    # flops of kernel values times a few columns, and back, out of the cache; size: columns
    "thin": Multiple("product", 5.0, sizes=(4.0, 16.0)),
    "strips": Multiple("evaluation", 1.3, 1.6),  # kernel values of rows with centers
    "errors": Multiple("evaluation", 2.5, 1.0),  # residuals divided, squared and summed
    # differences of features of pairs of rows, added up: in double precision always
    "city block": Multiple("evaluation", 5.0, 1.0),
    # bytes of a symmetric matrix read and written: equally many numbers in either precision
    "pass": Multiple("evaluation", 12.0, 0.5),
    # pieces of work for which threads are started: some thousands per second everywhere
    "call": Multiple("evaluation", 1.5e-5, 1.0),
}


@dataclass(frozen=True)
class Machine:
    """The rates of one machine, by kind and bits: ``"cholesky-64"``."""

    rates: dict[str, Rate]

    @classmethod
    def of(cls, measured: dict[str, Rate]) -> Machine:
        """From the rates of the probes in double precision."""
        rates = {}
        for kind, multiple in KINDS.items():
            seen, (smallest, largest) = measured[multiple.of], multiple.sizes
            for bits, times in ((64, multiple.times), (32, multiple.times * multiple.single)):
                rates[f"{kind}-{bits}"] = replace(
                    seen, seen=seen.seen * times, smallest=smallest, largest=largest
                )
        return cls(rates)

    def seconds(self, work: Iterable[Work]) -> float:
        """Seconds that ``work`` is expected to take, one after the other."""
        return sum(w.amount / self.rates[f"{w.kind}-{w.bits}"].at(w.size) for w in work)


# --- measuring ----------------------------------------------------------------------------------

# A probe makes, for a size, what has to be ready, the work, and its amount. The clock runs during
# the work only.
Probe = tuple[Callable[[], Any], Callable[[Any], object], float]


def _rows(n: int, d: int) -> Array:
    return np.random.default_rng(0).random((n, d)) - 0.5


def _product(d: int) -> Probe:
    n, kernel = 1536, Linear()
    X = _rows(n, d)
    return lambda: X, lambda X: kernel_matrix(kernel, X, both_triangles=False), float(n * n * d)


def _cholesky(n: int) -> Probe:
    return lambda: np.full((n, n), 0.5 / n) + 2 * np.eye(n), cholesky, n**3 / 3


def _eigh(n: int) -> Probe:
    # a kernel matrix: divide and conquer is faster where eigenvalues are close to each other
    K = kernel_matrix(Gaussian(sigma=2.0), _rows(n, 20), both_triangles=False)
    return K.copy, eigh, 9.0 * n**3


def _evaluation(n: int) -> Probe:
    X, kernel = _rows(n, 2), Gaussian(sigma=0.5)
    return lambda: X, lambda X: kernel_matrix(kernel, X, both_triangles=False), n * n / 2


#: What is measured, and at which sizes: one where the rate does not depend on it, else two.
PROBES: dict[str, tuple[Callable[[int], Probe], tuple[int, ...]]] = {
    "product": (_product, (16, 256)),
    "cholesky": (_cholesky, (512, 1536)),
    "eigh": (_eigh, (256, 640)),
    "evaluation": (_evaluation, (1536,)),
}


def measure() -> Machine:
    """Measure the rate of every probe.

    Whatever else the machine does makes it slower, never faster: so the best of some runs counts.

    Cost: some tenths of a second; some sixty megabytes.
    """
    return Machine.of(
        {
            name: Rate.through(*((float(size), _fastest(*probe(size))) for size in sizes))
            for name, (probe, sizes) in PROBES.items()
        }
    )


def _fastest(prepare: Callable[[], Any], run: Callable[[Any], object], amount: float) -> float:
    """The best rate of some runs; the first is often slow, as buffers and threads are made."""
    least, spent = math.inf, 0.0
    for _ in range(_RUNS):
        ready = prepare()
        start = _clock()
        run(ready)
        seconds = _clock() - start
        spent += seconds
        least = min(least, seconds)
        if spent > _ENOUGH:
            break
    return amount / max(least, 1e-9)


def _clock() -> float:
    return time.perf_counter()


def this_machine() -> Machine:
    """The rates of this machine with the threads it may use now.

    Cost: microseconds; in a process's first call, with so many threads, those of :func:`measure`.
    """
    return _measured(thread_budget())


@lru_cache
def _measured(threads: int) -> Machine:
    return measure()
