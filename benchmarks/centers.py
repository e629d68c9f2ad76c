"""Kernel models with a few centers, for more rows than a kernel matrix has room for.

What takes minutes is run once, each contestant in a process of its own.
"""

import importlib.util
import os
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from benchmarks.case import Case, Contest, Outcome, Scale, timed
from benchmarks.data import decaying
from benchmarks.measure import Alone, Contestant, run_alone

MILLION, TEST_ROWS, SIGMA = 1_000_000, 20_000, 4.0
GRID = np.geomspace(1e-4, 1e2, 20)


def _ours(n: int, m: int, dtype: str, **settings: Any) -> Alone:
    """Fit our estimator with m centers."""
    from squareone import RLSRegressor
    from squareone.kernels import Gaussian

    X, y = decaying(n + TEST_ROWS, np.dtype(dtype))
    make = partial(RLSRegressor, Gaussian(SIGMA), keep_factor=False, **settings)
    make(centers=50).fit(X[:2000], y[:2000])

    def fit(done: Callable[[], None]) -> dict[str, float]:
        model = make(centers=m).fit(X[:n], y[:n])
        done()
        error = _root_mean_square(model.predict(X[n:]) - y[n:])
        return {"test error": error, "alpha": model.alpha_}

    return fit


def _nystroem(n: int, m: int) -> Alone:
    """Fit scikit-learn's Nystroem and Ridge with one α."""
    X, y = decaying(n + TEST_ROWS)
    model = make_pipeline(
        Nystroem(gamma=1 / (2 * SIGMA**2), n_components=m, random_state=0), Ridge(alpha=0.01)
    )

    def fit(done: Callable[[], None]) -> dict[str, float]:
        model.fit(X[:n], y[:n])
        done()
        return {"test error": _root_mean_square(model.predict(X[n:]) - y[n:])}

    return fit


def _root_mean_square(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(errors, dtype=np.float64))))


def _said(figures: dict[str, dict[str, float]]) -> str:
    """Say all figures."""
    return "; ".join(
        f"{name}: " + ", ".join(f"{what} {value:.4g}" for what, value in each.items())
        for name, each in figures.items()
    )


def _compared(what: str, figures: dict[str, dict[str, float]]) -> Outcome:
    """Return the ratio of the first to the second."""
    first, second = list(figures.values())[:2]
    return Outcome(first[what] / second[what], note=_said(figures), figures=figures)


@cache
def _million_runs(n: int, m: int) -> dict[str, dict[str, float]]:
    return {
        "ours": run_alone(partial(_ours, n, m, "float64", alpha=GRID)),
        "Nystroem": run_alone(partial(_nystroem, n, m)),
    }


def _million(scale: Scale, what: str) -> Outcome:
    """Compare one million rows, 1,000 centers and 20 λ with one α."""
    return _compared(what, _million_runs(scale.rows(MILLION), scale.rows(1000)))


def _iterations(scale: Scale) -> Outcome:
    """Compare 10,000 centers by iterations with 2,000 by a factorisation, which chooses λ."""
    n, m = scale.rows(MILLION), scale.rows(10_000)
    grid = GRID[GRID >= 0.01]  # smaller ones are lost in the rounding of float32
    rectangle = run_alone(partial(_ours, n, scale.rows(2000), "float32", alpha=grid))
    settings = {"solver": "pcg", "alpha": rectangle["alpha"], "memory_limit": "2GiB"}
    pcg = run_alone(partial(_ours, n, m, "float32", **settings))
    return _compared("test error", {"pcg": pcg, "rectangle": rectangle})


def _products(scale: Scale) -> Contest:
    """Compare a fit with its products alone: 2nmd + nm² flops at the rate of a large product."""
    from squareone import RLSRegressor
    from squareone.kernels import Gaussian

    n, m = scale.rows(100_000), scale.rows(2000)
    X, y = decaying(n, np.float32)
    settings = {"alpha": GRID, "criterion": "gcv", "centers": m, "keep_factor": False}
    make = partial(RLSRegressor, Gaussian(SIGMA), **settings)
    A = np.random.default_rng(0).standard_normal((m, m)).astype(np.float32)
    flops = 2.0 * n * m * X.shape[1] + 1.0 * n * m * m
    times = max(1, round(flops / (2.0 * m**3)))

    def products() -> None:
        for _ in range(times):
            A @ A

    return Contest(Contestant(lambda: make().fit(X, y)), Contestant(products))


def _falkon(n: int, m: int) -> Alone:
    """Fit Falkon on the CPU, with its default of 20 iterations."""
    import falkon
    import torch

    X, y = decaying(n + TEST_ROWS)
    rows, targets = torch.from_numpy(X), torch.from_numpy(y[:, None])
    options = falkon.FalkonOptions(use_cpu=True, keops_active="no")
    kernel = falkon.kernels.GaussianKernel(SIGMA, opt=options)
    model = falkon.Falkon(kernel, penalty=1e-8, M=m, options=options)

    def fit(done: Callable[[], None]) -> dict[str, float]:
        model.fit(rows[:n], targets[:n])
        done()
        predicted = model.predict(rows[n:]).numpy()[:, 0]
        return {"test error": _root_mean_square(predicted - y[n:])}

    return fit


def _against_falkon(scale: Scale) -> Outcome:
    n, m = scale.rows(100_000), scale.rows(2000)
    ours = run_alone(partial(_ours, n, m, "float64", alpha=GRID))
    return _compared("seconds", {"ours": ours, "Falkon": run_alone(partial(_falkon, n, m))})


# --- MNIST and California housing ---


def _file(name: str) -> Path:
    return Path(os.environ.get("SQUAREONE_DATA", "")) / f"{name}.npz"


def _digits(n: int) -> tuple[np.ndarray, ...]:
    with np.load(_file("mnist")) as found:
        X, X_test = (found[name].astype(np.float32) / 255 for name in ("X_train", "X_test"))
        return X[:n], found["y_train"][:n], X_test, found["y_test"]


def _scored(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    start = time.perf_counter()
    wrong = float(np.mean(model.predict(X) != y))
    return {"test error": wrong, "seconds to predict": time.perf_counter() - start}


def _digits_by_centers(n: int, m: int) -> Alone:
    from squareone import RLSClassifier
    from squareone.kernels import Gaussian

    X, y, X_test, y_test = _digits(n)
    make = partial(RLSClassifier, Gaussian(5.0), keep_factor=False)
    make(centers=50).fit(X[:500], y[:500])

    def fit(done: Callable[[], None]) -> dict[str, float]:
        model = make(centers=m).fit(X, y)
        done()
        return _scored(model, X_test, y_test)

    return fit


def _digits_by_svc(n: int) -> Alone:
    X, y, X_test, y_test = _digits(n)

    def fit(done: Callable[[], None]) -> dict[str, float]:
        model = SVC(C=10, gamma="scale").fit(X, y)
        done()
        return _scored(model, X_test, y_test)

    return fit


@cache
def _digit_runs(n: int, m: int) -> dict[str, dict[str, float]]:
    ours = run_alone(partial(_digits_by_centers, n, m))
    return {"ours": ours, "SVC": run_alone(partial(_digits_by_svc, n))}


def _mnist(scale: Scale, what: str) -> Outcome:
    return _compared(what, _digit_runs(scale.rows(60_000), scale.rows(10_000)))


def _mnist_error(scale: Scale) -> Outcome:
    runs = _digit_runs(scale.rows(60_000), scale.rows(10_000))
    return Outcome(100 * runs["ours"]["test error"], note=_said(runs), figures=runs)


def _housing(kind: str) -> Alone:
    with np.load(_file("california_housing")) as found:
        X, y = found["X"], found["y"]
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0)

    def fit(done: Callable[[], None]) -> dict[str, float]:
        model = _housing_model(kind).fit(X, y)
        done()
        return {"RMSE": _root_mean_square(model.predict(X_test) - y_test)}

    return fit


def _housing_model(kind: str) -> Any:
    from squareone import RLSRegressor

    if kind == "trees":
        return HistGradientBoostingRegressor(random_state=0)
    if kind == "SVR":
        grid = {"C": [1.0, 10.0], "gamma": [0.1, 0.3, 1.0]}
        search = GridSearchCV(SVR(), grid, cv=3, n_jobs=2)
        # its C and ε are in the units of y
        scaled = TransformedTargetRegressor(search, transformer=StandardScaler())
        return make_pipeline(StandardScaler(), scaled)
    return make_pipeline(StandardScaler(), RLSRegressor(centers="auto"))


def _california(scale: Scale) -> Outcome:
    runs = {kind: run_alone(partial(_housing, kind)) for kind in ("ours", "trees", "SVR")}
    return _compared("RMSE", runs)


CASES: list[Case] = [
    Case(
        "centers-million-time",
        "1,000,000 × 20 rows, 1,000 centers, the best of 20 λ by leave-one-out: seconds",
        "scikit-learn's Nystroem(1000) and Ridge, one α",
        0.5,
        "at most",
        partial(_million, what="seconds"),
    ),
    Case(
        "centers-million-memory",
        "the same: peak memory",
        "the same",
        0.08,
        "at most",
        partial(_million, what="GiB"),
    ),
    Case(
        "centers-million-error",
        "the same: test error",
        "the same",
        1.0,
        "at most",
        partial(_million, what="test error"),
    ),
    timed(
        "centers-products",
        _products,
        what="100,000 × 20 rows in float32, 2,000 centers, the best of 20 λ by GCV",
        against="its products alone, 2nmd + nm² flops at the rate of a large product",
        target=1.6,
        repeats=7,
    ),
    Case(
        "centers-pcg",
        "1,000,000 × 20 rows in float32, 10,000 centers by pcg, 2 GiB, the same λ: test error",
        "2,000 centers by rectangle, which chooses λ",
        1.0,
        "at most",
        _iterations,
    ),
]
if importlib.util.find_spec("falkon"):
    CASES.append(
        Case(
            "centers-falkon",
            "100,000 × 20 rows in float64, 2,000 centers, the best of 20 λ: seconds",
            "Falkon on the CPU, one λ, 20 iterations",
            None,
            "at most",
            _against_falkon,
        )
    )
if _file("mnist").is_file():
    CASES += [
        Case(
            "centers-mnist-time",
            "MNIST, 60,000 rows, 10,000 centers, λ chosen: seconds to train",
            'SVC(C=10, gamma="scale")',
            1.0,
            "at most",
            partial(_mnist, what="seconds"),
        ),
        Case(
            "centers-mnist-predict",
            "the same: seconds to predict 10,000 rows",
            "the same",
            0.5,
            "at most",
            partial(_mnist, what="seconds to predict"),
        ),
        Case(
            "centers-mnist-error",
            "the same: test error in per cent",
            "one per cent",
            1.8,
            "at most",
            _mnist_error,
        ),
    ]
if _file("california_housing").is_file():
    CASES.append(
        Case(
            "centers-california",
            'California housing, scaled, RLSRegressor(centers="auto"): RMSE',
            "HistGradientBoostingRegressor; a tuned SVR beside it",
            None,
            "at most",
            _california,
        )
    )
