"""The speed of a machine: laws through what was measured, and the file it is kept in.

No test looks at how long anything really takes: clocks are made up.
"""

import json
from itertools import cycle

import numpy as np
import pytest

from squareone.solvers import calibration
from squareone.solvers.calibration import (
    Machine,
    Measurements,
    Rate,
    Work,
    measure,
    this_machine,
)
from squareone.solvers.speed_probes import PROBES

# A power of two: adding it to a clock rounds nothing.
TICK = 2.0**-10
NAMES = {f"{kind}-{bits}" for kind in PROBES for bits in (32, 64)}


class Clock:
    """A clock that stands still unless a probe moves it."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(calibration, "_clock", clock)
    return clock


@pytest.fixture
def probes(monkeypatch, clock):
    """Probes that say they took ``seconds(size)`` for size²; returns the sizes that ran."""

    def use(seconds):
        ran = []

        def probe(size, dtype):
            def run(ready):
                assert ready is dtype
                ran.append(size)
                clock.now += seconds(size)

            return lambda: dtype, run, float(size**2)

        small = {kind: (probe, sizes) for kind, (_, sizes) in PROBES.items()}
        monkeypatch.setattr(calibration, "PROBES", small)
        return ran

    return use


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty place for the file, and a process that has not asked yet."""
    monkeypatch.setenv("SQUAREONE_CACHE", str(tmp_path / "speed"))
    monkeypatch.setattr(calibration, "_known", {})
    return tmp_path / "speed"


def forget(monkeypatch):
    monkeypatch.setattr(calibration, "_known", {})


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


def test_seconds_are_summed_by_kind_and_precision():
    machine = Machine({"cholesky-64": Rate(10.0), "cholesky-32": Rate(20.0)})
    work = [Work("cholesky", 100.0, 5, 64), Work("cholesky", 100.0, 5, 32)]
    assert machine.seconds(work) == pytest.approx(15.0)
    assert machine.seconds([]) == 0.0


# --- measuring ---


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", PROBES)
def test_every_probe_runs(kind, dtype):
    make, sizes = PROBES[kind]
    prepare, run, amount = make(sizes[0], dtype)
    run(prepare())
    run(prepare())  # what is destroyed is made again
    assert amount > 0


def test_rates_are_amounts_over_seconds(probes):
    ran = probes(lambda size: TICK)
    found = measure()
    assert set(found.best) == NAMES
    assert found.calm
    assert found.best["cholesky-64"] == {n: n**2 / TICK for n in (512, 1536)}
    assert found.machine().rates["call-32"] == Rate(4.0 / TICK)
    jobs = sum(len(sizes) for _, sizes in PROBES.values())
    assert len(ran) == jobs * 2 * 2  # two precisions, and two runs that agree


def test_the_best_of_all_measurements_counts(probes):
    times = cycle([4 * TICK, TICK])
    probes(lambda size: next(times))
    found = measure()
    assert found.best["eigh-64"] == {n: n**2 / TICK for n in (256, 640)}


def test_a_slow_machine_is_measured_at_small_sizes_only(probes):
    ran = probes(lambda size: 0.5)
    found = measure()
    assert set(found.best) == NAMES
    assert max(len(rates) for rates in found.best.values()) == 1
    assert len(ran) == len(NAMES) + 2  # only the first two had time for a second run
    assert not found.calm


def test_a_disturbed_machine_is_not_believed_until_it_is_calm(probes):
    wild = np.random.default_rng(0)
    probes(lambda size: 10.0 ** wild.uniform(-4, -1))
    found = measure()
    assert not found.calm
    assert (found.tries, found.final) == (1, False)
    probes(lambda size: 1e-5)
    calm = measure(found)
    assert calm.calm
    assert calm.final
    before, after = found.best["eigh-64"], calm.best["eigh-64"]
    assert all(after[n] >= before.get(n, 0.0) for n in (256, 640))


def test_nobody_tries_for_ever(probes):
    wild = np.random.default_rng(0)
    probes(lambda size: 10.0 ** wild.uniform(-4, -1))
    found = None
    for _ in range(4):
        found = measure(found)
    assert found.final


# --- keeping ---


def never(before=None):
    raise AssertionError("measured, although the file has it")


def test_it_is_measured_once_and_then_read(folder, probes, monkeypatch):
    probes(lambda size: TICK)
    first = this_machine()
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setattr(calibration, "measure", never)
    assert this_machine() is first
    forget(monkeypatch)  # another process
    assert this_machine() == first


def test_another_number_of_threads_has_a_file_of_its_own(folder, probes, monkeypatch):
    probes(lambda size: TICK)
    monkeypatch.setattr(calibration, "thread_budget", lambda: 1)
    one = this_machine()
    monkeypatch.setattr(calibration, "thread_budget", lambda: 7)
    probes(lambda size: 1e-4)
    seven = this_machine()
    assert one != seven
    assert len(list(folder.iterdir())) == 2
    monkeypatch.setattr(calibration, "measure", never)
    monkeypatch.setattr(calibration, "thread_budget", lambda: 1)
    assert this_machine() == one


@pytest.mark.parametrize("key", ["format", "cpu", "cores", "numpy", "scipy", "blas", "threads"])
def test_what_decides_about_speed_is_in_the_file(folder, probes, key):
    probes(lambda size: TICK)
    this_machine()
    (file,) = folder.iterdir()
    assert key in json.loads(file.read_text())["key"]


def _without(name):
    def change(kept):
        del kept[name]

    return change


def _set(*path_and_value):
    *path, last, value = path_and_value

    def change(kept):
        for name in path:
            kept = kept[name]
        kept[last] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _without("best"),
        _without("key"),
        _without("calm"),
        _set("key", "cpu", "of another machine"),
        _set("best", "cholesky-64", {}),
        _set("best", "cholesky-64", {"512": -1.0}),
        _set("best", "cholesky-64", {"512": float("nan")}),
        _set("best", "cholesky-64", {"512": "fast"}),
        _set("best", "cholesky-64", [1, 2]),
        _set("best", {}),
        _set("tries", None),
    ],
)
def test_a_file_that_is_not_right_is_replaced(folder, probes, monkeypatch, change):
    probes(lambda size: TICK)
    good = this_machine()
    (file,) = folder.iterdir()
    text = file.read_text()
    kept = json.loads(text)
    change(kept)
    file.write_text(json.dumps(kept))
    forget(monkeypatch)
    assert this_machine() == good
    assert file.read_text() == text


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff\xfe\x00", b'"text"', b"null"])
def test_a_file_of_something_else_is_replaced(folder, probes, monkeypatch, content):
    probes(lambda size: TICK)
    good = this_machine()
    (file,) = folder.iterdir()
    text = file.read_text()
    file.write_bytes(content)
    forget(monkeypatch)
    assert this_machine() == good
    assert file.read_text() == text


def test_a_folder_that_cannot_be_written_is_no_error(folder, probes, monkeypatch):
    ran = probes(lambda size: TICK)
    folder.write_text("a file where the folder should be")
    first = this_machine()
    assert this_machine() is first  # in this process it is known
    once = len(ran)
    forget(monkeypatch)
    assert this_machine() == first
    assert len(ran) == 2 * once


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(folder, probes, monkeypatch):
    def refuse(self, target):
        raise PermissionError(target)

    probes(lambda size: TICK)
    monkeypatch.setattr("pathlib.Path.replace", refuse)
    this_machine()
    assert list(folder.iterdir()) == []


def test_a_disturbed_measurement_is_improved_by_the_next_process(folder, probes, monkeypatch):
    wild = np.random.default_rng(0)
    probes(lambda size: 10.0 ** wild.uniform(-4, -1))
    this_machine()
    (file,) = folder.iterdir()
    assert not json.loads(file.read_text())["calm"]
    forget(monkeypatch)
    probes(lambda size: 1e-5)
    this_machine()
    kept = json.loads(file.read_text())
    assert kept["calm"]
    assert kept["tries"] == 2
    forget(monkeypatch)
    monkeypatch.setattr(calibration, "measure", never)
    this_machine()


def test_where_the_file_is_kept(monkeypatch, tmp_path):
    monkeypatch.delenv("SQUAREONE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert calibration._folder() == tmp_path / ".cache" / "squareone"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert calibration._folder() == tmp_path / "xdg" / "squareone"
    monkeypatch.setenv("SQUAREONE_CACHE", str(tmp_path / "mine"))
    assert calibration._folder() == tmp_path / "mine"


def test_measurements_without_the_larger_size_are_a_constant_rate():
    found = Measurements({"cholesky-64": {512: 3.0}})
    assert found.machine().rates["cholesky-64"] == Rate(3.0)
