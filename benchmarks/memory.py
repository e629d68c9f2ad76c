"""Peak memory of fit and predict, in units of the numbers a full kernel matrix holds."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge

from benchmarks.case import Case, Outcome, Scale
from benchmarks.data import wide
from benchmarks.measure import peak_memory
from benchmarks.predict import OUTPUTS, TEST_ROWS, TRAINING_ROWS


def _squareone() -> Any:
    from squareone import RLSRegressor
    from squareone.kernels import Gaussian

    kernel = Gaussian(sigma=16.0)
    return RLSRegressor(kernel=kernel, alpha=1.0, solver="cholesky")


def _kernel_ridge() -> KernelRidge:
    return KernelRidge(kernel="rbf", gamma=1 / (2 * 16.0**2), alpha=1.0)


def _fit(make: Callable[[], Any], n: int) -> Callable[[], object]:
    X, y = wide(n, np.float64)
    make().fit(X[:200], y[:200]).predict(X[:200])  # libraries allocate their buffers once
    return lambda: make().fit(X, y)


def _predict(make: Callable[[], Any], n: int, n_test: int) -> Callable[[], object]:
    X, y = wide(n + n_test, np.float64, outputs=OUTPUTS)
    model = make().fit(X[:n], y[:n])
    model.predict(X[:200])
    return lambda: model.predict(X[n:])


def _compare(setup: Callable[..., Callable[[], object]], numbers: int) -> Outcome:
    """Measure ours and KernelRidge, in float64 numbers per entry of the kernel matrix."""
    ours, peer = (
        peak_memory(partial(setup, make)) / (8 * numbers) for make in (_squareone, _kernel_ridge)
    )
    figures = {"kernel_matrices": {"ours": ours, "KernelRidge": peer}}
    return Outcome(ours, note=f"KernelRidge: {peer:.2f}", figures=figures)


def _measure_fit(scale: Scale) -> Outcome:
    n = scale.rows(10_000)
    return _compare(partial(_fit, n=n), n * n)


def _measure_predict(scale: Scale) -> Outcome:
    n, n_test = scale.rows(TRAINING_ROWS), scale.rows(TEST_ROWS)
    return _compare(partial(_predict, n=n, n_test=n_test), n * n_test)


CASES: list[Case] = [
    Case(
        "memory-fit",
        "peak memory of a kernel fit at one λ, Cholesky, n = 10,000, float64",
        "n² numbers",
        1.3,
        "at most",
        _measure_fit,
    ),
    Case(
        "memory-predict",
        "peak memory of predict, 10,000 points, 7,291 training rows, 10 outputs, float64",
        "10,000 × 7,291 numbers",
        None,
        "at most",
        _measure_predict,
    ),
]
