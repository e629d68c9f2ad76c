"""The plan: what is chosen and why, from shapes alone."""

import numpy as np
import pytest

from squareone import RLSClassifier, RLSRegressor
from squareone.errors import IllConditionedWarning, MemoryLimitError
from squareone.solvers import Task, make_plan
from squareone.solvers.memory import free_memory, memory_limit, readable

GIB = 2.0**30


def task(n, d=10, t=1, *, linear=False, given=False, alphas="auto", smooth=True, itemsize=8):
    return Task(n, d, t, itemsize, linear, given, alphas, smooth)


@pytest.mark.parametrize(
    ("wanted", "solver"),
    [
        (task(500), "spectral"),  # the whole path costs nothing worth saving
        (task(5000), "cholesky"),  # a search costs less
        (task(5000, smooth=False), "spectral"),  # but follows smooth criteria only
        (task(5000, alphas=1), "cholesky"),
        (task(5000, alphas=50), "spectral"),
        (task(5000, alphas=3), "cholesky"),
        (task(100, alphas=1), "cholesky"),
        (task(1000, linear=True), "svd"),  # the most accurate while it is cheap
        (task(1_000_000, linear=True), "gram"),
        (task(1_000_000, linear=True, alphas=50), "gram"),
        (task(200, d=100_000, linear=True), "gram"),
        (task(3000, d=100_000, linear=True, alphas=1), "cholesky"),
    ],
)
def test_choice(wanted, solver):
    assert make_plan(wanted, "auto", 100 * GIB).solver == solver


def test_memory_decides_where_it_must():
    assert make_plan(task(20_000, smooth=False), "auto", 20 * GIB).solver == "spectral"
    assert make_plan(task(20_000, alphas=50), "auto", 5 * GIB).solver == "cholesky"
    with pytest.raises(
        MemoryLimitError, match=r"needs 8.95 GiB; .* What fits: solver=\"cholesky\""
    ):
        make_plan(task(20_000, alphas=50), "spectral", 5 * GIB)
    with pytest.raises(MemoryLimitError, match=r"What fits: at most about 1[23],... rows"):
        make_plan(task(40_000, alphas=1), "auto", 1.3 * GIB)


def test_the_rows_that_are_said_to_fit_do():
    with pytest.raises(MemoryLimitError, match="at most about") as refusal:
        make_plan(task(40_000, alphas=1), "auto", 1.3 * GIB)
    rows = int(str(refusal.value).split("at most about ")[1].split(" rows")[0].replace(",", ""))
    make_plan(task(rows, alphas=1), "auto", 1.3 * GIB)


def test_single_precision_is_named_where_it_would_fit():
    with pytest.raises(MemoryLimitError, match=r"float32 rows; at most about 1[23],... rows"):
        make_plan(task(15_000, alphas=1), "auto", 1.3 * GIB)
    with pytest.raises(MemoryLimitError, match="What fits: nothing of use with this solver, or"):
        make_plan(task(15_000, alphas=1), "auto", 500.0)


def test_eigenproblems_beyond_lapack_are_not_planned():
    assert make_plan(task(40_000, alphas=50), "auto", 1000 * GIB).solver == "cholesky"
    with pytest.raises(ValueError, match="LAPACK stops at 32,766 rows"):
        make_plan(task(40_000, alphas=50), "spectral", 1000 * GIB)


def test_a_plan_can_be_read():
    text = str(make_plan(task(5000, t=3), "auto", 8 * GIB))
    assert "5,000 rows, 10 features, kernel, 3 target columns, float64" in text
    assert "cholesky" in text
    assert "<- chosen" in text
    assert "why: the fewest flops" in text
    assert "a precomputed kernel" in str(make_plan(task(50, given=True), "auto", 8 * GIB))


def test_plan_before_and_after_a_fit():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 3)), rng.standard_normal(80)
    model = RLSRegressor(alpha=1.0)
    before = model.plan(X, y)
    assert not hasattr(model, "n_features_in_")  # planning fits nothing
    assert before.stages == {}
    after = model.fit(X, y).plan_
    assert (before.solver, before.candidates) == (after.solver, after.candidates)
    assert set(after.stages) >= {"kernel matrix", "factorisation", "coefficients"}
    assert "spent: " in str(after)
    labels = rng.integers(0, 4, 80)
    assert RLSClassifier().plan(X, labels).task.t == 4


def test_tiny_alpha_goes_from_cholesky_to_spectral():
    X = np.repeat(np.random.default_rng(0).standard_normal((20, 2)), 2, axis=0)
    y = np.arange(40.0)
    with pytest.warns(IllConditionedWarning, match="ill-conditioned"):
        model = RLSRegressor(alpha=1e-18).fit(X, y)
    assert model.plan_.solver == "spectral"
    assert "too small for a Cholesky" in model.plan_.reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2GiB", 2 * GIB), ("500MB", 5e8), ("1.5 kib", 1536), ("100", 100), ("3B", 3), (1e6, 1e6)],
)
def test_memory_limits_as_text(text, expected):
    assert memory_limit(text) == expected


@pytest.mark.parametrize("text", ["", "many", "-1GiB", "0", 0, -5, "1PB", True])
def test_memory_limits_that_make_no_sense(text):
    with pytest.raises(ValueError, match="memory_limit="):
        memory_limit(text)


def test_free_memory_is_what_is_free():
    assert 0 < free_memory() < 2.0**50
    assert memory_limit(None) > 0
    assert readable(1.5 * GIB) == "1.5 GiB"
    assert readable(2.0**45) == "32 TiB"
