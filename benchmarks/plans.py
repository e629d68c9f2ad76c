"""Are the seconds a plan expects those that the fit takes?"""

import gc
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.case import Case, Outcome, Scale
from benchmarks.centers import GRID as GRID_OF_CENTERS
from benchmarks.data import Data, decaying, smooth, tall, wide
from benchmarks.linear import WELL
from benchmarks.solvers import GRID

Fit = tuple[Any, Data]
"""An estimator and what to fit it to."""


def _cholesky(scale: Scale, n: int, dtype: str) -> Fit:
    from squareone import RLSRegressor
    from squareone.kernels import Gaussian

    kernel = Gaussian(sigma=16.0)
    return RLSRegressor(kernel=kernel, alpha=1.0, solver="cholesky"), wide(scale.rows(n), dtype)


def _kernel(scale: Scale, n: int, **parameters: Any) -> Fit:
    from squareone import RLSRegressor
    from squareone.kernels import Gaussian

    data, sigma = smooth(scale.rows(n))
    return RLSRegressor(kernel=Gaussian(sigma=sigma), **parameters), data


def _centers(scale: Scale, n: int, m: int, dtype: str, **parameters: Any) -> Fit:
    from squareone import RLSRegressor
    from squareone.kernels import Gaussian

    model = RLSRegressor(kernel=Gaussian(sigma=4.0), centers=scale.rows(m), **parameters)
    return model, decaying(scale.rows(n), np.dtype(dtype))


def _linear(scale: Scale, solver: str) -> Fit:
    from squareone import RLSRegressor

    model = RLSRegressor(kernel="linear", alpha=WELL, solver=solver)
    return model, tall(scale.rows(100_000))


def _measure(scale: Scale, setup: Callable[[Scale], Fit], repeats: int = 2) -> Outcome:
    """Return how far apart they are: the longer time over the shorter, the median fit's."""
    model, (X, y) = setup(scale)
    expected = model.plan(X, y).expected()  # measures the machine, if nobody has
    seconds = []
    for _ in range(scale.repeats or repeats):
        gc.collect()
        start = time.perf_counter()
        model.fit(X, y)
        seconds.append(time.perf_counter() - start)
        model = clone(model)  # without the factor, whose memory the next fit needs
    measured = float(np.median(seconds))
    ratios = [expected / value for value in seconds]
    ratio = expected / measured
    return Outcome(
        max(ratio, 1 / ratio),
        note=f"expected / measured: {ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f});"
        f" {expected:.2g} s and {measured:.2g} s",
        figures={"seconds": {"expected": [expected], "measured": seconds}},
    )


def _case(name: str, what: str, setup: Callable[[Scale], Fit]) -> Case:
    return Case(
        f"plan-{name}",
        f"seconds the plan expects, {what} (factor between them)",
        "seconds the fit takes",
        2,
        "at most",
        partial(_measure, setup=setup),
    )


CASES: list[Case] = [
    *(
        _case(
            f"cholesky-{n}-{dtype}",
            f"one λ, Cholesky, n = {n:,}, d = 256, {dtype}",
            partial(_cholesky, n=n, dtype=dtype),
        )
        for n in (5_000, 10_000)
        for dtype in ("float64", "float32")
    ),
    _case(
        "spectral-5000",
        "50 λ, kernel, n = 5,000",
        partial(_kernel, n=5_000, alpha=GRID, solver="spectral"),
    ),
    _case(
        "search-5000",
        "best λ by a search, kernel, n = 5,000",
        partial(_kernel, n=5_000, alpha="auto", solver="cholesky"),
    ),
    _case("path-2000", "50 λ, kernel, n = 2,000", partial(_kernel, n=2_000, alpha=GRID)),
    *(
        _case(
            f"linear-{solver}",
            f"50 λ, linear, n = 100,000, d = 100, {solver}",
            partial(_linear, solver=solver),
        )
        for solver in ("gram", "svd")
    ),
    _case(
        "rectangle-gcv",
        "20 λ by GCV, n = 100,000, d = 20, 2,000 centers, float32",
        partial(
            _centers, n=100_000, m=2000, dtype="float32", alpha=GRID_OF_CENTERS, criterion="gcv"
        ),
    ),
    _case(
        "rectangle-loo",
        "20 λ by leave-one-out, n = 100,000, d = 20, 1,000 centers, float64",
        partial(_centers, n=100_000, m=1000, dtype="float64", alpha=GRID_OF_CENTERS),
    ),
    _case(
        "pcg",
        "one λ, n = 100,000, d = 20, 5,000 centers, float32, pcg",
        partial(_centers, n=100_000, m=5000, dtype="float32", alpha=0.1, solver="pcg"),
    ),
]
