"""Columns of numbers with a few cells that are none: gaps by another name, or words to look at."""

import csv
import io
import json

import numpy as np
import pytest

from squareone.tables.table_model import TableModel

from .conftest import houses, run, text_of

NAMES, ROWS = houses()
FIT = ["--target", "price", "--drop", "dear", "--kernel", "linear", "--no-report"]


def with_cells(column, cells, rows=ROWS):
    place = NAMES.index(column)
    found = [list(row) for row in rows]
    for row, cell in cells.items():
        found[row][place] = cell
    return found


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_usual_marks_of_gaps_are_gaps_and_counted(table, quick):
    cells = {3: "?", 9: "?", 20: "-", 40: "None", 41: "."}
    table.write_text(text_of(NAMES, with_cells("area", cells)))
    done = run("fit", "houses.csv", *FIT, *(["--quick"] if quick else []), "--json")
    assert done.exit_code == 0, done.output
    said = "area has numbers, and '?' in 2 rows, '-' in 1 row, 'None' in 1 row, '.' in 1 row"
    assert f"{said}: taken as gaps" in done.stderr
    (column,) = (c for c in json.loads(done.stdout)["columns"] if c["name"] == "area")
    assert column["kind"] == "number"
    # the same table with empty cells gives the same model
    plain = TableModel.load("houses.squareone")
    table.write_text(text_of(NAMES, with_cells("area", dict.fromkeys(cells, ""))))
    done = run("fit", "houses.csv", *FIT, *(["--quick"] if quick else []), "--force")
    assert done.exit_code == 0, done.output
    again = TableModel.load("houses.squareone")
    np.testing.assert_array_equal(plain.means, again.means)
    np.testing.assert_array_equal(plain.measured.errors, again.measured.errors)


def test_marks_of_gaps_in_new_rows(models, tmp_path):
    found = []
    for mark in ("?", ""):
        path = tmp_path / "new.csv"
        path.write_text(text_of(NAMES, with_cells("area", {3: mark})))
        done = run("predict", models / "price.squareone", path)
        assert done.exit_code == 0, done.output
        assert ("area has numbers, and '?' in 1 row" in done.stderr) == (mark == "?")
        found.append(done.stdout)
    assert found[0] == found[1]


def test_marks_of_gaps_among_decimal_commas(table):
    rows = [[cell.replace(".", ",") for cell in row] for row in with_cells("area", {5: "?"})]
    table.write_text(text_of(NAMES, rows, ";"))
    done = run("fit", "houses.csv", *FIT, "--quick", "--json")
    assert done.exit_code == 0, done.output
    kinds = {c["name"]: c["kind"] for c in json.loads(done.stdout)["columns"]}
    assert kinds["area"] == "number"
    done = run("predict", "houses.squareone", "houses.csv")
    assert done.exit_code == 0, done.output


def test_a_table_on_the_disk_has_the_same_gaps(table, monkeypatch):
    table.write_text(text_of(NAMES, with_cells("area", {3: "?", 60: "-"})))
    arguments = ["fit", "houses.csv", *FIT, "--quick", "--json", "--force"]
    plain = json.loads(run(*arguments).stdout)
    monkeypatch.setattr("squareone.cli.table_problem._PARTS", 1e12)
    done = run(*arguments, "-v")
    assert "the table is left on the disk" in done.stderr
    assert json.loads(done.stdout)["measured"] == plain["measured"]


# Each would come upon the cell in a fold, with the number of a row in it.
COMMANDS = {
    "fit": ["fit", "houses.csv", *FIT],
    "fit --quick": ["fit", "houses.csv", *FIT, "--quick"],
    "suspects": ["suspects", "houses.csv", *FIT[:-1], "--quick"],
    "compare": ["compare", "houses.csv", *FIT[:-1], "--quick"],
    "plan": ["plan", "houses.csv", *FIT[:-1]],
}


@pytest.mark.parametrize("cell", ["unknown", "1e305"])
@pytest.mark.parametrize("command", COMMANDS)
def test_other_cells_are_refused_by_line_before_any_work(table, command, cell):
    """An empty target before it, and a cell of two lines: rows and lines are those of the file."""
    rows = with_cells("area", {66: cell})
    rows[2][NAMES.index("price")] = ""
    rows[4][NAMES.index("town")] = '"Rome\nnorth"'
    table.write_text(text_of(NAMES, rows))
    done = run(*COMMANDS[command])
    assert done.exit_code == 1
    shown = cell if cell == "unknown" else "1e+305"
    assert f"houses.csv, line 69, row 67, column 'area': {shown!r}" in done.stderr
    if cell == "unknown":
        assert "--words area" in done.stderr
        assert "this is no number, and 99 % of the column are" in done.stderr
    assert [path.name for path in table.parent.iterdir()] == ["houses.csv"]


@pytest.mark.parametrize("command", ["explain", "report"])
def test_rows_of_a_table_that_is_not_the_training_table(models, tmp_path, command):
    path = tmp_path / "houses.csv"
    path.write_text(text_of(NAMES, with_cells("area", {66: "unknown"})))
    model = models / "price.squareone"
    arguments = {
        "explain": ["explain", model, path, "--row", "1", "--data", models / "houses.csv"],
        "report": ["report", model, "--data", path],
    }
    done = run(*arguments[command])
    assert done.exit_code == 1
    assert "houses.csv, line 68, row 67, column 'area': 'unknown'" in done.stderr


@pytest.mark.thorough
def test_a_column_can_be_said_to_be_words(table):
    rows = with_cells("area", {66: "unknown"})
    for row in rows:
        row[2] = str(1950 + 10 * (int(row[2]) % 5))
    table.write_text(text_of(NAMES, rows))
    arguments = [*FIT, "--quick", "--json", "--words", "area", "--words", "year"]
    done = run("fit", "houses.csv", *arguments)
    assert done.exit_code == 0, done.output
    kinds = {c["name"]: c["kind"] for c in json.loads(done.stdout)["columns"]}
    assert kinds["year"] == "words"
    assert kinds["area"] in ("words", "identifier")
    done = run("predict", "houses.squareone", "houses.csv", "--columns", "area")
    assert done.exit_code == 0, done.output
    assert list(csv.DictReader(io.StringIO(done.stdout)))[66]["area"] == "unknown"
    for command in (
        ["explain", "houses.squareone", "houses.csv", "--row", "67", "--data", "houses.csv"],
        ["report", "houses.squareone", "--data", "houses.csv", "--quick"],
    ):
        done = run(*command)
        assert done.exit_code == 0, done.output
    assert "--words area --words year" in (table.parent / "houses.html").read_text()
    done = run("fit", "houses.csv", *FIT, "--words", "aera", "--force")
    assert "'area' meant?" in done.stderr


def test_numbers_said_to_be_words_stay_so_on_the_disk(table, monkeypatch):
    rows = [[*row[:2], str(1950 + 10 * (int(row[2]) % 5)), *row[3:]] for row in ROWS]
    table.write_text(text_of(NAMES, rows))
    monkeypatch.setattr("squareone.cli.table_problem._PARTS", 1e12)
    done = run("fit", "houses.csv", *FIT, "--quick", "--json", "--words", "year")
    assert done.exit_code == 0, done.output
    kinds = {c["name"]: c["kind"] for c in json.loads(done.stdout)["columns"]}
    assert kinds["year"] == "words"


@pytest.mark.thorough
def test_a_column_that_is_half_words_is_words_in_every_fold(table):
    """A fold without the word would take the column as numbers, and fail at that row."""
    cells = {row: "1" if row % 2 else "2" for row in range(len(ROWS))} | {33: "many"}
    table.write_text(text_of(NAMES, with_cells("area", cells)))
    done = run("fit", "houses.csv", *FIT, "--json")
    assert done.exit_code == 0, done.output
    kinds = {c["name"]: c["kind"] for c in json.loads(done.stdout)["columns"]}
    assert kinds["area"] == "words"


def test_times_of_which_one_has_a_zone_are_refused_by_line(table):
    cells = {row: f"2024-01-{1 + row % 28:02d}T10:00" for row in range(len(ROWS))}
    cells[50] += "Z"
    table.write_text(text_of(NAMES, with_cells("year", cells)))
    done = run("fit", "houses.csv", *FIT)
    assert done.exit_code == 1
    assert "line 52, row 51, column 'year': '2024-01-23T10:00Z'" in done.stderr
    assert "time zone" in done.stderr


SIGNS = {
    "dollars": (lambda v: f'"${1000 * v:,.2f}"', "'$40,500.00' is read as 40500"),
    "euros": (lambda v: f"{v:.1f} €", "'40.5 €' is read as 40.5"),
    "per cent": (lambda v: f"{v:.1f}%", "'40.5%' is read as 40.5"),
    "thousands": (lambda v: f'"{1000 * v:,.0f}"', "'40,500' is read as 40500"),
    "Swiss thousands": (
        lambda v: f"{1000 * v:,.0f}".replace(",", "’"),
        "'40’500' is read as 40500",
    ),
}


@pytest.mark.parametrize("how", SIGNS)
def test_numbers_with_signs_are_numbers_and_it_is_said(table, how):
    """As text they would be left out as an identifier, since each is another one."""
    write, said = SIGNS[how]
    rows = with_cells("area", {i: write(float(row[0])) for i, row in enumerate(ROWS)})
    rows[0][0] = write(40.5)
    rows[7][0] = ""
    table.write_text(text_of(NAMES, rows))
    done = run("fit", "houses.csv", *FIT, "--quick", "--json")
    assert done.exit_code == 0, done.output
    assert f"area has numbers with signs: {said}" in done.stderr
    (column,) = (c for c in json.loads(done.stdout)["columns"] if c["name"] == "area")
    assert column["kind"] == "number"
    assert column["importance"] > 0.3
    done = run("predict", "houses.squareone", "houses.csv")
    assert done.exit_code == 0, done.output
    assert said in done.stderr


def test_a_target_with_signs_and_marks_of_gaps(table):
    place = NAMES.index("price")
    rows = [[*row[:place], f'"€{1000 * float(row[place]):,.0f}"', row[5]] for row in ROWS]
    rows[5][place] = "?"
    table.write_text(text_of(NAMES, rows))
    done = run("fit", "houses.csv", *FIT, "--quick", "--json")
    assert done.exit_code == 0, done.output
    assert "price has numbers, and '?' in 1 row: taken as gaps" in done.stderr
    assert "price has numbers with signs" in done.stderr
    assert "1 row without a value of price left out (row 6)" in done.stderr
    assert json.loads(done.stdout)["measured"]["guessing"] > 50_000


@pytest.mark.parametrize(
    "cells",
    [
        {0: "50%", 1: "0.5"},
        {0: "$5", 1: "€5"},
        {0: "02139"},
        {0: "1,23,4"},
    ],
    ids=["shares", "currencies", "codes", "no thousands"],
)
def test_numbers_of_which_nobody_knows_what_is_meant_stay_words(table, cells):
    rows = with_cells("area", {i: f'"{cells.get(i % 3, f"{i % 5}7")}"' for i in range(len(ROWS))})
    table.write_text(text_of(NAMES, rows))
    done = run("fit", "houses.csv", *FIT, "--quick", "--json")
    assert done.exit_code == 0, done.output
    (column,) = (c for c in json.loads(done.stdout)["columns"] if c["name"] == "area")
    assert column["kind"] == "words"
    assert "is read as" not in done.stderr


@pytest.mark.parametrize(
    "date", ["{d:02d}/03/{y}", "{d}.3.{y}", "{d} Mar {y}", "March {d}, {y}", "{y}-03", "{y}/03"]
)
def test_dates_of_other_formats_are_told(table, date):
    cells = {i: f'"{date.format(d=1 + i % 28, y=1950 + i)}"' for i in range(len(ROWS))}
    cells[4] = "1954-03-05"
    table.write_text(text_of(NAMES, with_cells("year", cells)))
    done = run("fit", "houses.csv", *FIT, "--quick")
    assert done.exit_code == 0, done.output
    shown = date.format(d=1, y=1950)
    assert f"year looks like dates, and is taken as words: {shown!r}" in done.stderr
    assert "2024-12-31" in done.stderr
