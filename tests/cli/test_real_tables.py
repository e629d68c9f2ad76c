"""Tables as people have them, through the commands without help; ``make test-tables`` runs all."""

import csv
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from .conftest import run

DATA = Path(os.environ.get("SQUAREONE_DATA", "nowhere")) / "tables"
#: Small ones of each kind; one of them is in every run of the tests.
FEW = (
    "horse_colic",
    *(
        pytest.param(name, marks=pytest.mark.thorough)
        for name in ("mpg", "auto_imports", "car_prices", "soybean")
    ),
)
ALL = tuple(sorted(path.name.partition(".")[0] for path in DATA.glob("*.csv.gz")))

# Rows of a table in a comparison, which is fifteen fits of each of five models.
COMPARED = 500
# Tables whose quick intervals are known to be too narrow: the width of the fit to all rows ends in
# another valley of the error than those of the folds, whose errors the intervals are made of.
NARROW = {"taxis"}

pytestmark = pytest.mark.skipif(not ALL, reason="SQUAREONE_DATA has no tables")


def some_rows(path, most, into):
    """The table, with rows at random, at most so many, as they are written in it."""
    with gzip.open(path, "rt", newline="") as file:
        names, *rows = csv.reader(file)
    if len(rows) <= most:
        return path
    kept = np.sort(np.random.default_rng(0).permutation(len(rows))[:most])
    with open(into, "w", newline="") as file:
        csv.writer(file).writerows([names, *(rows[i] for i in kept)])
    return into


def through_all_commands(name, folder, *, comparing):
    """fit, predict and suspects of all rows, and compare of some; what fit said."""
    table = DATA / f"{name}.csv.gz"
    common = ["--target", "target", "--quick"]
    done = run("fit", table, *common, "-o", folder / "m.squareone", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (folder / "m.html").stat().st_size < 1_000_000
    out = folder / "out.parquet"
    done = run("predict", folder / "m.squareone", table, "-o", out, "--columns", "target")
    assert done.exit_code == 0, done.output
    from squareone.rows.table_reader import read_table

    made = read_table(out).table
    assert made.num_rows == found["table"]["rows"]
    truth = made.column("target").to_numpy()
    if found["task"] == "classification":
        truth = np.where(truth, "true", "false") if truth.dtype.kind == "b" else truth
        wrong = np.mean(made.column("prediction").to_numpy() != truth)
        assert wrong <= found["measured"]["error"]  # of rows that the model has seen
    else:
        inside = (made.column("low").to_numpy() <= truth) & (
            truth <= made.column("high").to_numpy()
        )
        assert (inside.mean() > 0.85) == (name not in NARROW)
    done = run("suspects", table, *common, "--rows", "5", "-o", folder / "look.csv")
    assert done.exit_code == 0, done.output
    assert read_table(folder / "look.csv").table.num_rows == 5
    if comparing:
        some = some_rows(table, COMPARED, folder / "some.csv")
        done = run("compare", some, *common, "--json")
        assert done.exit_code == 0, done.output
        own, *rivals = json.loads(done.stdout)["models"]
        assert [each["name"] for each in rivals] == [
            "guessing", "linear", "forest", "boosted trees",
        ]  # fmt: skip
        assert own["loss"] < rivals[0]["loss"]
        assert all(each["verdict"] in ("better", "worse", "cannot tell") for each in rivals)
    return found


@pytest.mark.parametrize("name", FEW)
def test_a_small_table_goes_through(name, tmp_path):
    found = through_all_commands(name, tmp_path, comparing=False)
    assert found["measured"]["explained"] > 0.2


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_every_table_goes_through(name, tmp_path):
    found = through_all_commands(name, tmp_path, comparing=True)
    assert found["measured"]["explained"] > 0
    assert "SQ001" not in [check["code"] for check in found["checks"]]


@pytest.mark.slow
def test_leaks_are_found_and_rarely_seen_where_there_are_none():
    """Nine in ten of the planted leaks, and at most one table under false suspicion."""
    from experiments.table_leaks import leaks_of

    found, suspected = [], {}
    for name in ALL:
        _, leaks, named = leaks_of(name)
        found += leaks.values()
        suspected |= {name: named} if named else {}
    assert np.mean(found) >= 0.9, found
    assert len(suspected) <= 1, suspected
