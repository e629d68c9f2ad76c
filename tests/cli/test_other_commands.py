"""plan, suspects, compare, explain and report."""

import csv
import io
import json
import re

import numpy as np
import pytest

import squareone
from experiments.twins import MODELS, verdict_on_twins
from squareone.report.comparison import Comparison
from squareone.rows.table_reader import read_table

from .conftest import houses, run, text_of

FIT = ["--target", "price", "--drop", "dear", "--quick"]


def test_plan_says_what_it_costs_and_fits_nothing(table):
    done = run("plan", "houses.csv", *FIT)
    assert done.exit_code == 0, done.output
    assert "<- chosen" in done.stdout
    assert "80 rows" in done.stdout
    found = json.loads(run("plan", "houses.csv", *FIT, "--json").stdout)
    assert found["fits"] == 6
    assert [path.name for path in table.parent.iterdir()] == ["houses.csv"]


def test_suspects_finds_a_planted_mistake(table):
    names, rows = houses()
    rows[11][4] = "9999"
    table.write_text(text_of(names, rows))
    done = run("suspects", "houses.csv", *FIT, "--rows", "3")
    assert done.exit_code == 0, done.output
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(found) == 3
    assert found[0]["row"] == "12"
    assert float(found[0]["price"]) == 9999
    assert found[0]["town"] == rows[11][1]
    assert "look at each before it is changed" in done.stderr


def test_suspects_of_classes(table):
    names, rows = houses()
    rows[7][5] = "cheap" if rows[7][5] == "dear" else "dear"
    table.write_text(text_of(names, rows))
    arguments = ["--target", "dear", "--drop", "town", "--quick", "-o", "look.csv"]
    done = run("suspects", "houses.csv", *arguments)
    assert done.exit_code == 0, done.output
    found = read_table("look.csv").table.to_pylist()
    assert found[0]["row"] == 8
    assert found[0]["expected"] != found[0]["dear"]


def test_explain_names_rows_whose_absence_would_change_the_prediction(models):
    done = run("explain", models / "price.squareone", models / "houses.csv", "--data",
               models / "houses.csv", "--row", "5", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    model = squareone.load(models / "price.squareone")
    frame = read_table(models / "houses.csv").table
    row = frame.slice(4, 1)
    assert found["prediction"] == pytest.approx(float(model.predict(row)[0]))
    strongest = found["for"][0]
    change = model.influence(row)[0]
    assert strongest["row"] == int(np.argmin(change)) + 1
    # a fit without that row, at the same kernel and λ
    rest = np.delete(np.arange(80), strongest["row"] - 1)
    rows = model.encoder_.transform(frame)
    again = squareone.RLSRegressor(model.kernel_, alpha=model.alpha_)
    y = frame.column("price").to_numpy()
    without = again.fit(rows[rest], y[rest]).predict(rows[4:5])[0]
    assert found["prediction"] - without == pytest.approx(strongest["moves"], rel=1e-4)


def test_what_is_noted_of_the_training_table_is_noted_once(table):
    names, rows = houses()
    place = names.index("area")
    signed = [[*row[:place], f"${row[place]}", *row[place + 1 :]] for row in rows]
    table.write_text(text_of(names, signed))
    fit = ["fit", "houses.csv", "--target", "price", "--kernel", "linear", "--quick", "--no-report"]
    assert run(*fit).exit_code == 0
    done = run("explain", "houses.squareone", "houses.csv", "--data", "houses.csv", "--row", "3")
    assert done.exit_code == 0, done.output
    assert done.stderr.count("area has numbers with signs") == 1


def test_shares_and_coverages_are_not_rounded_to_all(table, models):
    """Neither in the report nor in ``inspect``, where the verdict says "nearly all"."""
    table.write_text("x,y\n" + "".join(f"{i % 40},{3 * (i % 40) + i % 2}\n" for i in range(80)))
    done = run("fit", "houses.csv", "--target", "y", "--kernel", "linear", "--quick")
    assert done.exit_code == 0, done.output
    assert "nearly all is explained" in done.stderr
    report = (table.parent / "houses.html").read_text()
    assert "<dt>explained</dt><dd>nearly all</dd>" in report
    assert report.count("nearly all is explained") == 2
    assert re.search("explained +nearly all", run("inspect", "houses.squareone").stdout)
    model, new = models / "price.squareone", models / "houses.csv"
    done = run("predict", model, new, "--coverage", "0.999")
    assert "intervals with 99.9% coverage cannot be made of 80 errors" in done.stderr


def test_explain_of_a_hyperplane_and_of_classes(table, models):
    done = run("fit", "houses.csv", "--target", "price", "--drop", "dear", "--kernel", "linear",
               "--quick", "--no-report")  # fmt: skip
    assert done.exit_code == 0, done.output
    done = run("explain", "houses.squareone", "houses.csv", "--data", "houses.csv", "--row", "1")
    assert done.exit_code == 0, done.output
    assert "Training rows that raise the prediction most" in done.stdout
    data = models / "houses.csv"
    done = run("explain", models / "dear.squareone", data, "--data", data, "--row", "2")
    assert done.exit_code == 0, done.output
    assert "the decision for" in done.stdout


def test_another_table_than_the_training_table_is_refused(models, table):
    names, rows = houses()
    table.write_text(text_of(names, rows[::-1]))
    for command in (
        ["explain", models / "price.squareone", "houses.csv", "--data", "houses.csv", "--row", "1"],
        ["report", models / "price.squareone", "--data", "houses.csv"],
    ):
        done = run(*command)
        assert done.exit_code == 1
        assert "not the table that the model was fitted to" in done.stderr


def test_a_row_that_is_not_there(models):
    data = models / "houses.csv"
    done = run("explain", models / "price.squareone", data, "--data", data, "--row", "81")
    assert done.exit_code == 1
    assert "has 80 rows" in done.stderr


def test_report_again(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = models / "houses.csv"
    done = run("report", models / "price.squareone", "--data", data, "--quick")
    assert done.exit_code == 0, done.output
    text = (tmp_path / "price.html").read_text()
    assert "Predicting price" in text
    assert "squareone fit houses.csv --target price --task regression" not in text  # as it was
    assert "squareone fit houses.csv --target price --quick" in text
    assert str(models) not in text


def test_options_are_shown_as_they_were_typed(table):
    arguments = ["--target", "price", "--drop", "dear", "--drop", "garden", "--quick"]
    assert run("fit", "houses.csv", *arguments, "--no-report").exit_code == 0
    done = run("inspect", "houses.squareone")
    for typed in ("--target price", "--quick", "--drop dear --drop garden"):
        assert f" {typed}" in done.stdout
    assert "True" not in done.stdout


# --- comparisons ---


def test_compare_names_settings_and_seconds(table):
    done = run("compare", "houses.csv", *FIT, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    by_name = {row["name"]: row for row in found["models"]}
    assert by_name["guessing"]["verdict"] == "better"
    assert by_name["squareone"]["error"] < 40 < by_name["guessing"]["error"]
    assert all(row["settings"] and row["seconds"] >= 0 for row in found["models"])
    assert run("compare", "houses.csv", *FIT, "--time-column", "year").exit_code == 1


test_compare_names_settings_and_seconds = pytest.mark.slow(test_compare_names_settings_and_seconds)


def comparison_of(gaps, overlap=0.25):
    losses = np.column_stack([np.ones(gaps.size), 1.0 + gaps])
    return Comparison(["a", "b"], ["", ""], losses, None, np.zeros(2), overlap, 100)


def test_the_correction_is_that_of_nadeau_and_bengio():
    gaps = np.array([0.2, 0.1, 0.4, 0.3, 0.0])
    mean, spread, p = comparison_of(gaps).difference(1)
    assert mean == pytest.approx(0.2)
    variance = np.sum((gaps - 0.2) ** 2) / 4
    assert spread == pytest.approx(np.sqrt((1 / 5 + 0.25) * variance))
    from scipy import stats

    assert p == pytest.approx(2 * stats.t.sf(mean / spread, 4))
    # without the correction it would be called different
    assert comparison_of(gaps).verdict(1) == "cannot tell"
    assert comparison_of(gaps, overlap=0.0).verdict(1) == "better"
    assert comparison_of(-gaps, overlap=0.0).verdict(1) == "worse"
    assert comparison_of(np.zeros(5)).verdict(1) == "cannot tell"


@pytest.mark.thorough
def test_a_model_entered_twice_is_rarely_called_different():
    model = MODELS["a tree with random splits, five rows in a leaf"]
    told = sum(verdict_on_twins(model, number) == "cannot tell" for number in range(50))
    assert told >= 45
