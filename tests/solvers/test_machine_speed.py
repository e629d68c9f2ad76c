"""The speed of a machine: laws through what was measured, and multiples of them.

No test looks at how long anything really takes: clocks are made up.
"""

from itertools import cycle

import pytest

from squareone.planning import machine_speed
from squareone.planning.machine_speed import (
    KINDS,
    PROBES,
    Machine,
    Rate,
    Work,
    measure,
    this_machine,
)

# A power of two: adding it to a clock rounds nothing.
TICK = 2.0**-10
NAMES = {f"{kind}-{bits}" for kind in KINDS for bits in (32, 64)}


class Clock:
    """A clock that stands still unless a probe moves it."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(machine_speed, "_clock", clock)
    return clock


@pytest.fixture
def probes(monkeypatch, clock):
    """Probes that say they took ``seconds(size)`` for its size; returns the sizes that ran."""

    def use(seconds):
        ran = []

        def probe(size):
            def run(ready):
                assert ready == "ready"
                ran.append(size)
                clock.now += seconds(size)

            return lambda: "ready", run, float(size)

        small = {name: (probe, sizes) for name, (_, sizes) in PROBES.items()}
        monkeypatch.setattr(machine_speed, "PROBES", small)
        machine_speed._measured.cache_clear()
        return ran

    yield use
    machine_speed._measured.cache_clear()


# --- rates ---


def test_a_rate_goes_through_both_measurements():
    rate = Rate.through((10.0, 5.0), (100.0, 20.0))
    assert rate.at(10.0) == pytest.approx(5.0)
    assert rate.at(100.0) == pytest.approx(20.0)
    assert 5.0 < rate.at(30.0) < 20.0
    assert rate.at(1.0) < 5.0


def test_a_rate_is_not_extrapolated_far():
    rate = Rate.through((10.0, 5.0), (100.0, 20.0))
    assert 20.0 < rate.at(1e6) < 30.0
    steep = Rate.through((10.0, 1.0), (100.0, 1000.0))  # in proportion to the size, no more
    assert steep.at(10.0) == pytest.approx(100.0)


@pytest.mark.parametrize("seen", [[(10.0, 5.0)], [(10.0, 9.0), (100.0, 5.0)]])
def test_a_rate_that_does_not_grow_is_constant(seen):
    rate = Rate.through(*seen)
    assert rate.at(1.0) == rate.at(1e9) == 5.0


def test_a_rate_changes_between_its_sizes_only():
    rate = Rate(8.0, 16.0, 1.0, smallest=4.0, largest=8.0)
    assert [rate.at(size) for size in (0.0, 4.0, 6.0, 8.0, 100.0)] == [2.0, 2.0, 3.0, 4.0, 4.0]


def test_seconds_are_summed_by_kind_and_precision():
    machine = Machine({"cholesky-64": Rate(10.0), "cholesky-32": Rate(20.0)})
    work = [Work("cholesky", 100.0, 5, 64), Work("cholesky", 100.0, 5, 32)]
    assert machine.seconds(work) == pytest.approx(15.0)
    assert machine.seconds([]) == 0.0


def test_every_kind_is_a_multiple_of_what_is_measured():
    measured = {name: Rate(8.0, 16.0, 1.0) for name in PROBES}
    machine = Machine.of(measured)
    assert set(machine.rates) == NAMES
    for kind, multiple in KINDS.items():
        size = min(max(16.0, multiple.sizes[0]), multiple.sizes[1])
        double = measured[multiple.of].at(size) * multiple.times
        assert machine.rates[f"{kind}-64"].at(16.0) == pytest.approx(double)
        assert machine.rates[f"{kind}-32"].at(16.0) == pytest.approx(double * multiple.single)


# --- measuring ---


@pytest.mark.parametrize("name", PROBES)
def test_every_probe_runs(name):
    make, sizes = PROBES[name]
    prepare, run, amount = make(sizes[0])
    run(prepare())
    run(prepare())  # what is destroyed is made again
    assert amount > 0


def test_rates_are_amounts_over_seconds(probes):
    ran = probes(lambda size: TICK)
    found = measure()
    assert set(found.rates) == NAMES
    for size in (512, 1536):
        assert found.rates["cholesky-64"].at(size) == pytest.approx(size / TICK)
    assert len(ran) == 4 * sum(len(sizes) for _, sizes in PROBES.values())


def test_the_best_of_all_measurements_counts(probes):
    times = cycle([4 * TICK, TICK])
    probes(lambda size: next(times))
    assert measure().rates["eigh-64"].at(640) == pytest.approx(640 / TICK)


def test_on_a_slow_machine_every_probe_runs_once(probes):
    ran = probes(lambda size: 0.5)
    measure()
    assert ran == [size for _, sizes in PROBES.values() for size in sizes]


def test_it_is_measured_once(probes):
    ran = probes(lambda size: TICK)
    first = this_machine()
    once = len(ran)
    assert this_machine() is first
    assert len(ran) == once


def test_another_number_of_threads_is_measured_by_itself(probes, monkeypatch):
    probes(lambda size: TICK)
    monkeypatch.setattr(machine_speed, "thread_budget", lambda: 1)
    one = this_machine()
    monkeypatch.setattr(machine_speed, "thread_budget", lambda: 7)
    ran = probes(lambda size: 1e-4)
    seven = this_machine()
    assert one != seven
    assert ran
