"""What it costs to have the kernel chosen; each fit once, in a process of its own."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from benchmarks.case import Case, Outcome, Scale
from benchmarks.data import decaying, wide
from benchmarks.measure import Alone, run_alone

MILLION, CENTERS, SIGMA = 1_000_000, 1000, 4.0
Runs = dict[str, dict[str, float]]


def _fit(kernel: Any, n: int, d: int, **settings: Any) -> Alone:
    """Fit with a kernel, ``"given"`` being a Gaussian with its width."""
    from squareone import RLSRegressor
    from squareone.kernels import Gaussian

    X, y = decaying(n, d=d) if d < 500 else wide(n, "float64", d=d)
    model = RLSRegressor(Gaussian(SIGMA) if kernel == "given" else kernel, **settings)
    RLSRegressor().fit(X[:300], y[:300])  # libraries allocate their buffers once
    expected = model.plan(X, y).expected()

    def fit(done: Callable[[], None]) -> dict[str, float]:
        chosen = model.fit(X, y).kernel_
        done()
        return {"expected": expected, "L1": float("Laplacian" in repr(chosen))}

    return fit


@cache
def _runs(n: int, d: int, against: str, **settings: Any) -> Runs:
    return {
        kernel: run_alone(partial(_fit, kernel, n, d, **settings)) for kernel in ("auto", against)
    }


def _compare(scale: Scale, what: str, n: int, d: int, against: str, **settings: Any) -> Outcome:
    settings = {name: scale.rows(value) for name, value in settings.items()}
    runs = _runs(scale.rows(n), d, against, **settings)
    auto, other = runs["auto"], runs[against]
    said = [
        f"{auto[what]:.3g} and {other[what]:.3g}",
        f"expected of auto: {auto['expected']:.3g} s, {auto['expected'] / auto['seconds']:.2f}"
        " of what it took",
        "the chosen kernel has L1 distances" * bool(auto["L1"]),
    ]
    return Outcome(auto[what] / other[what], note="; ".join(filter(None, said)), figures=runs)


CASES: list[Case] = [
    *(
        Case(
            f"choice-{d}",
            f'kernel="auto", n = 6,000, d = {d}: seconds',
            "the plain automatic fit",
            15.0,
            "at most",
            partial(_compare, what="seconds", n=6000, d=d, against="gaussian"),
        )
        for d in (10, 100)
    ),
    Case(
        "choice-million",
        'kernel="auto", 1,000,000 × 20 rows, 1,000 centers: seconds',
        "a Gaussian with its width",
        4.0,
        "at most",
        partial(_compare, what="seconds", n=MILLION, d=20, against="given", centers=CENTERS),
    ),
    Case(
        "choice-memory",
        'kernel="auto", n = 10,000, d = 784: peak memory',
        "the plain automatic fit",
        1.5,
        "at most",
        partial(_compare, what="GiB", n=10_000, d=784, against="gaussian"),
    ),
]
