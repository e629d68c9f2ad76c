"""What solvers with centers are expected to cost, and how many centers there is room for."""

import re
from dataclasses import replace

import numpy as np
import pytest

from squareone import RLSClassifier, RLSRegressor
from squareone.errors import MemoryLimitError
from squareone.kernels import Gaussian
from squareone.planning import Task, make_plan, plan
from squareone.planning.center_count import AUTO_FLOPS, automatic_centers, fitting_centers
from squareone.planning.machine_speed import KINDS, Machine, Rate
from squareone.planning.plan import choose_centers
from squareone.solvers.registry import center_candidates, names

CENTER_SOLVERS = names(lambda solver: solver.with_centers)

MIB, GIB = 2.0**20, 2.0**30
KEPT = ["rectangle", "pcg"]


def task(n, d=10, t=1, *, alphas="auto", itemsize=8, **more):
    return Task(n, d, t, itemsize, False, False, alphas, True, **more)


def candidate(solver, of):
    return next(c for c in center_candidates(of) if c.solver == solver)


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """One that does a billion of everything in a second."""
    rates = {f"{kind}-{bits}": Rate(1e9) for kind in KINDS for bits in (32, 64)}
    monkeypatch.setattr(plan, "this_machine", lambda: Machine(rates))


# --- growth ---


@pytest.mark.parametrize("solver", CENTER_SOLVERS)
@pytest.mark.parametrize("alphas", [1, 20, "auto"])
def test_more_of_anything_costs_no_less(solver, alphas):
    base = task(20_000, alphas=alphas, centers=500)
    before = candidate(solver, base)
    for change in ({"n": 40_000}, {"centers": 1000}, {"d": 20}, {"t": 3}):
        after = candidate(solver, replace(base, **change))
        assert after.flops >= before.flops, change
        assert after.needed >= before.needed, change
    assert candidate(solver, replace(base, itemsize=4)).needed < before.needed


@pytest.mark.parametrize("solver", ["rectangle", "pcg"])
def test_flops_grow_with_the_rows(solver):
    """In proportion, where these are many beside the centers."""
    few, many = (candidate(solver, task(n, alphas=1, centers=200)) for n in (10**6, 2 * 10**6))
    assert many.flops / few.flops == pytest.approx(2.0, rel=0.02)


def test_flops_of_the_rectangle_grow_with_the_square_of_the_centers():
    flops = [
        candidate("rectangle", task(10**7, d=2, alphas=1, centers=m)).flops for m in (1000, 2000)
    ]
    assert flops[1] / flops[0] == pytest.approx(4.0, rel=0.05)
    flops = [candidate("pcg", task(10**8, d=2, alphas=1, centers=m)).flops for m in (1000, 2000)]
    assert flops[1] / flops[0] == pytest.approx(2.0, rel=0.05)


def test_eigenvectors_and_left_out_values_where_a_fit_computes_them():
    """GCV, and one λ, need neither, unless rows are so few that all are left out at once."""
    few, many, m = {"n": 10_000}, {"n": 10**6, "sampled": 5000}, 200

    def counts(solver, rows, **more):
        found = candidate(solver, task(centers=m, **rows, **more))
        flops = sum(w.flops for w in found.work if w.kind == "eigh" and w.stage == "factorisation")
        return flops / m**3, any(w.stage == "leave-one-out values" for w in found.work)

    for rows in (few, many):
        assert counts("rectangle", rows, alphas=20) == (9.0, False)
        assert counts("rectangle", rows, alphas=1) == (4.0, False)
        assert counts("rectangle", rows, alphas=20, without_rows=True, likelihood=True)[0] == 9.0
        for alphas, gcv in ((1, False), (20, False), (20, True)):
            assert counts("nystrom", rows, alphas=alphas, without_rows=gcv)[0] == 9.0
    assert counts("rectangle", many, alphas=20, without_rows=True) == (4.0, False)
    assert counts("rectangle", few, alphas=20, without_rows=True) == (9.0, True)


def test_bytes_grow_with_the_square_of_the_centers():
    for solver in KEPT:
        needed = [
            candidate(solver, task(50_000, d=2, alphas=1, centers=m)).needed
            for m in (20_000, 40_000)
        ]
        assert needed[1] / needed[0] == pytest.approx(4.0, rel=0.1)


def test_bytes_do_not_grow_with_the_rows_of_a_stream():
    """But for targets and vectors."""
    for solver in KEPT:
        few, many = (
            candidate(solver, task(n, d=100, alphas=1, centers=100, streamed=True, copied=True))
            for n in (10**6, 10**7)
        )
        assert many.needed - few.needed < 0.5 * 9e6 * 100 * 8


def test_the_rectangle_costs_at_least_its_products():
    of = task(10**6, d=20, alphas=1, centers=1000)
    assert candidate("rectangle", of).flops >= 10**6 * 1000 * (2 * 20 + 1000)
    assert candidate("rectangle", of).needed >= 8 * 1000**2


def test_pcg_is_for_many_centers():
    """Fewer flops than with the square of the centers, once there are enough of them."""
    few, many = task(10**7, centers=100, sampled=4000), task(10**7, centers=10_000, sampled=4000)
    assert make_plan(few, "auto", 1e15).solver == "rectangle"
    assert make_plan(many, "auto", 1e15).solver == "pcg"
    assert "flops" in make_plan(many, "auto", 1e15).reason


# --- nothing unasked ---


@pytest.mark.parametrize("n", [100, 5000, 12_000, 30_000])
@pytest.mark.parametrize("alphas", [1, 20, "auto"])
def test_approximations_are_not_taken_unasked(n, alphas):
    found = make_plan(task(n, alphas=alphas), "auto", 1e15)
    assert found.solver in ("cholesky", "spectral")
    for shown in found.candidates:
        if shown.solver in CENTER_SOLVERS:
            assert "not taken unless it is asked for: centers=" in shown.refused


@pytest.mark.parametrize("limit", [50 * MIB, GIB])
def test_not_even_where_nothing_else_fits(limit):
    with pytest.raises(MemoryLimitError, match=r"centers=[\d_]+ \(an approximation"):
        make_plan(task(100_000), "auto", limit)


def test_centers_make_it_asked_for():
    found = make_plan(task(100_000, centers=300, sampled=10_000), "auto", GIB)
    assert found.solver == "rectangle"
    assert {c.solver for c in found.candidates} == {"rectangle", "pcg"}


@pytest.mark.parametrize("solver", CENTER_SOLVERS)
def test_a_solver_by_name_has_all_rows_as_centers(solver):
    found = make_plan(task(300), solver, GIB)
    assert (found.solver, found.task.centers, found.reason) == (solver, 300, "asked for")


# --- what fits ---


def proposed(refusal):
    return int(re.search(r"centers=([\d_]+)", str(refusal.value)).group(1))


@pytest.mark.parametrize("alphas", [1, 20, "auto"])
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("limit", [150 * MIB, 400 * MIB, 2 * GIB])
def test_the_centers_that_are_proposed_fit(limit, streamed, alphas):
    of = task(200_000, d=8, itemsize=4, alphas=alphas, streamed=streamed, copied=streamed)
    with pytest.raises(MemoryLimitError) as refusal:
        make_plan(of, "auto", limit)
    m = proposed(refusal)
    assert 0 < m < 200_000
    sampled = {"sampled": 10_000}  # as the estimators say for so many rows
    assert make_plan(replace(of, centers=m, **sampled), "auto", limit).chosen.needed <= limit


@pytest.mark.parametrize("solver", ["rectangle", "pcg", "subset", "nystrom"])
def test_a_solver_says_how_many_centers_it_can_have(solver):
    of, limit = task(200_000, alphas=1, itemsize=4, centers=100_000), GIB
    with pytest.raises(MemoryLimitError, match=rf'solver="{solver}"') as refusal:
        make_plan(of, solver, limit)
    if "solver=" not in str(refusal.value).split("What fits")[1]:
        m = proposed(refusal)
        assert make_plan(replace(of, centers=m), solver, limit).solver == solver
        with pytest.raises(MemoryLimitError):
            make_plan(replace(of, centers=int(1.1 * m)), solver, limit)


def test_fits_with_what_was_proposed():
    """Of real estimators, not of counts alone."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 3)).astype(np.float32)
    y = np.sin(X[:, 0])
    for estimator, target in ((RLSRegressor, y), (RLSClassifier, y > 0)):
        model = estimator(Gaussian(1.0), 1.0, memory_limit="120MiB")
        with pytest.raises(MemoryLimitError, match="centers=") as refusal:
            model.fit(X, target)
        m = proposed(refusal)
        planned = model.set_params(centers=m).plan(X, target)
        assert planned.solver in CENTER_SOLVERS
        assert planned.task.centers == m
        model.set_params(centers=min(m, 100)).fit(X, target)
        assert model.plan_.task.centers == min(m, 100)


@pytest.mark.parametrize("solver", CENTER_SOLVERS)
def test_fitting_centers_is_about_the_largest_number(solver):
    of = task(100_000, alphas=1, itemsize=4)
    m = fitting_centers(of, solver, lambda c: c.needed <= GIB)
    assert candidate(solver, replace(of, centers=m)).needed <= GIB
    assert candidate(solver, replace(of, centers=int(1.05 * m) + 2)).needed > GIB
    assert fitting_centers(of, solver, lambda c: True) == 100_000
    assert fitting_centers(of, solver, lambda c: False) == 0


# --- centers="auto" ---


def test_automatic_centers_are_all_rows_where_that_is_cheap():
    for n in (2, 100, 2000):
        assert automatic_centers(task(n), 100 * GIB, None, None) == 0


def test_automatic_centers_are_within_bounds():
    for n in (50_000, 10**6, 10**7):
        of = task(n, sampled=10_000)
        m = automatic_centers(of, 100 * GIB, None, None)
        assert 100 <= m < n
        assert candidate("rectangle", replace(of, centers=m)).flops <= AUTO_FLOPS or m == 100
        assert len(str(m).rstrip("0")) <= 2


def test_memory_bounds_automatic_centers():
    of = task(10**6, d=10, itemsize=4, sampled=10_000, streamed=True)
    found = [automatic_centers(of, limit, None, None) for limit in (GIB / 6, GIB / 5, 100 * GIB)]
    assert found == sorted(found)
    assert found[0] < found[2]
    for m, limit in zip(found[:2], (GIB / 6, GIB / 5), strict=True):
        assert candidate("rectangle", replace(of, centers=m)).needed <= limit


def test_time_bounds_automatic_centers():
    """On a machine that does a billion of everything in a second."""
    of = task(10**6, sampled=10_000)
    found = [choose_centers(of, 100 * GIB, seconds) for seconds in (60.0, 600.0, 6000.0)]
    assert found[0] < found[1] < found[2]
    assert choose_centers(task(500), 100 * GIB, 1e6) == 0
    assert choose_centers(task(5000), 100 * GIB, 1e-9) == 100  # no fewer than that


def test_the_machine_is_not_measured_without_a_time_limit(monkeypatch):
    monkeypatch.setattr(plan, "this_machine", lambda: pytest.fail("the machine was measured"))
    assert choose_centers(task(10**6, sampled=10_000), 100 * GIB, None) > 0


# --- plans in words ---


@pytest.mark.parametrize("solver", CENTER_SOLVERS)
def test_a_plan_says_how_many_centers(solver):
    text = str(make_plan(task(50_000, centers=1234, sampled=10_000), solver, 100 * GIB))
    assert "1,234" in text
    assert "asked for" in text
    if solver in ("rectangle", "nystrom"):
        assert "leave-one-out over 10,000 random rows" in text
    if solver == "pcg":
        assert "leave-one-out estimated over 10,000 rows" in text


def test_a_plan_for_many_rows_shows_what_centers_would_cost():
    text = str(make_plan(task(20_000), "auto", 100 * GIB))
    assert "centers=" in text
    assert "asked for" in text
    assert "centers=" not in str(make_plan(task(5000), "auto", 100 * GIB))
