"""The bytes of a plan: a fit allocates no more than was counted, and not much less."""

import gc
import tracemalloc

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from squareone import RLSRegressor
from squareone.kernels import Gaussian, Matern
from squareone.planning import available_memory as memory
from squareone.planning.available_memory import readable

GRID = np.geomspace(1e-2, 1e2, 6)
HOW = {
    "one": {"alpha": 1.0},
    "grid": {"alpha": GRID},
    "auto": {},
    "folds": {"alpha": GRID, "cv": 5},
    "holdout": {"alpha": GRID, "criterion": "holdout", "validation_fraction": 0.5},
    "scorer": {"alpha": GRID, "scoring": "r2"},
}


def peak_of(model, X, y, weights=None):
    gc.collect()
    tracemalloc.start()
    try:
        with threadpool_limits(2):
            model.fit(X, y, weights)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.thorough
@pytest.mark.costly
@pytest.mark.parametrize("t", [1, 12])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(
    ("kernel", "solver", "n", "d"),
    [
        (Gaussian(3.0), "cholesky", 900, 8),
        (Gaussian(3.0), "spectral", 900, 8),
        ("linear", "svd", 20_000, 12),
        ("linear", "svd", 1200, 200),
        ("linear", "svd", 150, 2000),
        ("linear", "gram", 20_000, 12),
        ("linear", "gram", 1200, 200),
        ("linear", "gram", 150, 2000),
    ],
)
def test_a_fit_stays_within_its_plan(kernel, solver, n, d, how, t):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, d)), rng.standard_normal((n, t))
    model = RLSRegressor(kernel, solver=solver, **HOW[how])
    peak = peak_of(model, X, y)
    assert 0.2 * model.plan_.chosen.bytes < peak < model.plan_.chosen.bytes


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["one", "auto"])
def test_given_kernels_rows_of_weight_zero_and_sums_are_counted(how):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((900, 3)), rng.standard_normal(900)
    weights = rng.uniform(0.5, 1.0, 900)
    weights[:200] = 0.0
    for kernel, rows in (
        ("precomputed", Gaussian(1.0)(X)),
        (Matern(1.0, nu=2.5) + Gaussian("median"), X),
    ):
        model = RLSRegressor(kernel, solver="cholesky", **HOW[how])
        assert peak_of(model, rows, y, weights) < model.plan_.chosen.bytes


@pytest.mark.thorough
@pytest.mark.costly
@pytest.mark.parametrize("n", [300, 1300])
@pytest.mark.parametrize("solver", ["cholesky", "spectral"])
def test_a_search_for_the_width_is_counted(n, solver):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, 3)), rng.standard_normal(n)
    model = RLSRegressor(solver=solver)
    assert peak_of(model, X, y) < model.plan_.chosen.bytes


def test_memory_that_the_kernel_would_give_back_is_free(tmp_path, monkeypatch):
    """A control group counts the page cache as used; what is inactive of it can be had."""
    for name, text in {
        "memory.max": "1000000",
        "memory.current": "900000",
        "memory.stat": "anon 300000\ninactive_file 500000\nactive_file 100000\n",
    }.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(memory, "_CGROUPS", [(tmp_path, "memory.max", "memory.current")])
    assert memory.free_memory() == 600_000
    (tmp_path / "memory.stat").unlink()
    assert memory.free_memory() == 100_000


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (3, "3 B"),
        (1000, "1,000 B"),
        (1023, "1,023 B"),
        (2048, "2 KiB"),
        (1023 * 2**20, "1,023 MiB"),
    ],
)
def test_bytes_are_readable(number, text):
    assert readable(number) == text
