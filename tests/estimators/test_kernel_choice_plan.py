"""What a plan says of the choice of a kernel: its stages, its work and its memory."""

import numpy as np
import pytest

from squareone import RLSClassifier, RLSRegressor, TableRegressor
from squareone.errors import MemoryLimitError
from squareone.fitting import kernel_choice_cost
from squareone.kernels import Gaussian, Laplacian
from squareone.planning import plan
from squareone.planning.machine_speed import KINDS, Machine, Rate
from squareone.solvers.exact import cholesky as exact
from tests.solvers.test_memory import peak_of

STAGES = ["choice of the kernel", "folds for the error", "metric"]


def made(n, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.3 * rng.standard_normal(n)


def work_of(of, stages=STAGES):
    """Amounts by kind and bits of the stages that are the choice."""
    found = {}
    for w in of.chosen.work:
        if w.stage in stages:
            key = w.kind, w.bits
            found[key] = found.get(key, 0.0) + w.amount
    return found


def test_the_choice_comes_first_and_stays_in_the_plan_of_the_fit():
    X, y = made(60)
    model = RLSRegressor(Gaussian(metric="learned"))
    before = model.plan(X, y)
    assert list(before.expected_stages())[:3] == STAGES
    fitted = model.fit(X, y).plan_
    assert set(STAGES) < set(fitted.stages)
    assert work_of(fitted) == work_of(before)
    assert all(stage in str(fitted) for stage in STAGES)


@pytest.mark.parametrize("kernel", ["gaussian", "linear", Gaussian(1.0)])
def test_where_nothing_is_chosen_nothing_is_counted(kernel):
    assert not work_of(RLSRegressor(kernel).plan(*made(60)))


def test_it_costs_no_more_for_more_rows():
    small, large = (
        work_of(RLSRegressor("auto", centers=100).plan(*made(n))) for n in (6_000, 60_000)
    )
    assert small.keys() == large.keys()
    for key, amount in small.items():
        assert large[key] == pytest.approx(amount)


def test_it_costs_more_with_more_to_choose_among():
    X, y = made(500)
    alone = RLSRegressor(Laplacian(metric="learned")).plan(X, y)
    several = RLSRegressor("auto").plan(X, y)
    table = TableRegressor().plan(X, y)  # two scalings
    fold = RLSRegressor("auto", cv=3).plan(X, y)  # folds that cannot be drawn again
    flops = [sum(work_of(each).values()) for each in (alone, several, table)]
    assert flops[0] < flops[1] < flops[2]
    assert sum(work_of(fold).values()) < flops[1]
    assert len(several.chosen.work) < 150  # it goes into files
    assert several.solver == RLSRegressor("gaussian").plan(X, y).solver


def test_a_linear_kernel_for_a_table_needs_no_square_of_the_rows():
    X, y = made(20_000)
    linear = TableRegressor("linear", memory_limit="64MiB").plan(X, y)
    assert linear.task.linear
    assert linear.chosen.bytes < 8.0 * 4000**2
    given = TableRegressor(Gaussian(1.0), alpha=1.0).plan(*made(500))
    searched = TableRegressor("gaussian").plan(*made(500))
    assert ("eigh", 64) not in work_of(given)
    assert ("eigh", 64) in work_of(searched)


@pytest.mark.thorough
@pytest.mark.parametrize(("n", "d"), [(700, 4), (700, 30)])
def test_factorisations_are_counted(n, d, monkeypatch):
    """What LAPACK factors, added up, against what was counted: rounds are for the rows to say."""
    done = {32: 0.0, 64: 0.0}
    original = exact.cholesky

    def counting(A):
        done[8 * A.dtype.itemsize] += A.shape[0] ** 3 / 3
        original(A)

    monkeypatch.setattr(exact, "cholesky", counting)
    X, y = made(n, d)
    model = RLSRegressor("auto", random_state=0)
    counted = work_of(model.plan(X, y))
    model.fit(X, y)
    counted = counted["cholesky", 32] + 2.0 * counted.get(("cholesky", 64), 0.0)
    assert counted / 2.5 < done[32] + 2.0 * done[64] < 2.5 * counted


@pytest.mark.thorough
@pytest.mark.costly
@pytest.mark.parametrize(("n", "d"), [(300, 4), (800, 4), (800, 100)])
def test_memory_is_counted(n, d):
    X, y = made(n, d)
    model = RLSRegressor(Gaussian(metric="learned"))
    assert peak_of(model, X, y) < model.plan_.chosen.bytes


@pytest.mark.thorough
def test_memory_with_centers_is_counted():
    X, y = made(1200, 10)
    model = RLSRegressor(Laplacian(metric="learned"), centers=50)
    assert peak_of(model, X, y) < model.plan_.chosen.bytes


def test_centers_are_not_called_faster_where_the_choice_takes_the_time(monkeypatch):
    rates = {f"{kind}-{bits}": Rate(1e9) for kind in KINDS for bits in (32, 64)}
    monkeypatch.setattr(plan, "this_machine", lambda: Machine(rates))
    model, (X, y) = RLSRegressor("auto", memory_limit="1TiB"), made(40_000)
    assert "faster: centers" in str(model.plan(X, y))
    monkeypatch.setattr(kernel_choice_cost, "_ROUNDS", 1e6)
    assert "faster: centers" not in str(model.plan(X, y))


def test_too_little_memory_is_refused_with_advice():
    X, y = made(3000)
    with pytest.raises(MemoryLimitError, match=r'choice of the kernel.*kernel="gaussian"'):
        RLSClassifier("auto", centers=20, memory_limit="20MiB").plan(X, y > 0)
    RLSClassifier("gaussian", centers=20, memory_limit="20MiB").plan(X, y > 0)


def test_a_choice_of_one_chain_is_one_of_two_powers(monkeypatch):
    """Without rounds nothing of a metric is counted."""
    monkeypatch.setattr(kernel_choice_cost, "_ROUNDS", 0.0)
    stages = RLSRegressor("auto").plan(*made(500)).expected_stages()
    assert "metric" not in stages
