"""Two revisions timed in turns: what is repeated, what is not timed, and the table."""

import json
import os
import sys
from pathlib import Path

import pytest

from benchmarks import revisions

ROOT = Path(__file__).parents[2]
# As much of `benchmarks` as both revisions have.
RUN = """
from benchmarks import case
from pathlib import Path

class Contestant:
    def __init__(self, name, fails=False):
        self.name, self.fails = name, fails
    def prepare(self):
        return (Path("runs.txt"),)
    def run(self, file):
        if self.fails:
            raise ValueError("no such data")
        with file.open("a") as log:
            print(self.name, file=log)

class Case:
    def __init__(self, name, contestant):
        self.name, self.contestant = name, contestant
    def measure(self, scale):
        if self.contestant:
            case.interleaved(self.contestant, None, scale.repeats)

CASES = [
    Case("fit", Contestant("fit")), Case("fit-memory", None), Case("predict", Contestant("", True))
]
"""
CASE = """
from collections import namedtuple
Scale = namedtuple("Scale", "shrink repeats")
"""


def checkout(folder, *, real=False):
    """A folder with an environment, and cases of its own or those of this repository."""
    python = folder / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    if real:
        (folder / "benchmarks").symlink_to(ROOT / "benchmarks")
        return folder
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks/run.py").write_text(RUN)
    (folder / "benchmarks/case.py").write_text(CASE)
    return folder


@pytest.fixture
def sides(tmp_path):
    return checkout(tmp_path / "before"), checkout(tmp_path / "after")


@pytest.mark.parametrize("clock", ["wall", "cpu"])
def test_ours_is_repeated_in_turns_after_one_repeat_that_does_not_count(sides, clock):
    seconds = revisions.measure(*sides, "fit", rounds=3, clock=clock)
    assert [len(seconds[side]) for side in ("before", "after")] == [3, 3]
    assert all(value > 0 for values in seconds.values() for value in values)
    for side in sides:
        assert (side / "runs.txt").read_text().split() == ["fit"] * 4


@pytest.mark.parametrize(("name", "why"), [("fit-memory", "times nothing"), ("predict", "no such")])
def test_what_is_not_timed_says_why(sides, name, why):
    with pytest.raises(revisions.NotTimedError, match=f"{name} in .*{why}"):
        revisions.measure(*sides, name, rounds=1)


def test_a_store_is_added_to(sides, tmp_path, capsys):
    store = tmp_path / "store.json"
    for rounds in ("1", "2"):
        arguments = [*map(str, sides), "--only", "fit", "--rounds", rounds, "--store", str(store)]
        revisions.main(arguments)
    told = capsys.readouterr()
    assert "| `fit` |" in told.out
    assert "fit-memory" in told.err
    assert [len(values) for values in json.loads(store.read_text())["fit"].values()] == [3, 3]


def test_the_table_has_the_median_of_the_ratios_of_turns():
    store = {"fit": {"before": [1.0, 2.0, 10.0], "after": [1.5, 2.0, 12.0]}}
    assert revisions.table(store).splitlines()[2] == "| `fit` | 2 | 2 | 1.20 | 1.00 to 1.50 |"


@pytest.mark.thorough
def test_a_case_of_this_repository_is_timed(tmp_path, monkeypatch):
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    side = checkout(tmp_path / "now", real=True)
    seconds = revisions.measure(side, side, "online-sklearn", rounds=1, shrink=20)
    assert len(seconds["before"]) == len(seconds["after"]) == 1
