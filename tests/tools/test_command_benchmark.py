"""The benchmark of the commands: what it measures, and how that is judged."""

import pytest

from benchmarks import commands
from benchmarks.commands import Case, Measured, measure, row

CASE = Case("a", "fit {table}", seconds=60, gib=2)


@pytest.mark.parametrize(
    ("found", "met"),
    [
        (Measured(59.0, 10.0, 2**31, 999_000), "yes"),
        (Measured(61.0, 10.0, 2**30, 999_000), "no"),
        (Measured(59.0, 10.0, 2**31 + 1, 999_000), "no"),
        (Measured(59.0, 10.0, 2**30, 1_001_000), "no"),
        (None, "not measured: no table"),
    ],
)
def test_all_limits_have_to_be_kept(found, met):
    cells = row(CASE, found)
    assert cells[-1] == met
    assert len(cells) == len(commands.HEADER)


@pytest.mark.thorough
def test_a_command_is_measured(tmp_path):
    def table(folder, shrink):
        path = folder / "t.csv"
        path.write_text("a,y\n" + "".join(f"{i % 7},{i % 7 + i % 3}\n" for i in range(30)))
        return path

    case = Case("fit", "fit {table} -o {model} --target y --quick --kernel linear", table)
    found = measure(case, tmp_path)
    assert found.processor > 0.1
    assert found.peak > 50e6
    assert found.report == (tmp_path / "fit.html").stat().st_size
    assert measure(Case("none", "x", lambda folder, _: folder / "nothing"), tmp_path) is None
