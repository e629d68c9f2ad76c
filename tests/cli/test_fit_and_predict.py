"""From a table to a model, to predictions, and to what is said of them."""

import csv
import gzip
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import squareone
from squareone.report.outer_errors import interval_ends
from squareone.tables.table_model import TableModel

from .conftest import houses, run, text_of


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_fit_writes_a_model_into_the_current_folder(table):
    done = run("fit", "houses.csv", "--target", "price", "--drop", "dear", "--quick")
    assert done.exit_code == 0, done.output
    model = TableModel.load("houses.squareone")
    assert model.target == "price"
    assert model.task == "regression"
    assert model.source["rows"] == 80
    assert model.needed == ["area", "town", "year", "garden"]
    assert "optimistic: the choice was made by this number" in done.stderr
    assert "contains rows of houses.csv" in done.stderr
    assert "houses.squareone and houses.html" in done.stderr
    report = (table.parent / "houses.html").read_text()
    assert "Predicting price" in report
    assert model.source["sha256"] in report
    assert str(table.parent) not in report
    assert done.stdout == ""


def test_a_model_of_the_command_line_is_loaded_in_python(models):
    assert isinstance(squareone.load(models / "price.squareone"), squareone.TableRegressor)
    squareone.load(models / "price.squareone").save(models / "plain")
    with pytest.raises(ValueError, match="without a table's schema"):
        TableModel.load(models / "plain")


@pytest.mark.slow
def test_the_error_is_of_rows_that_nothing_has_seen(table):
    done = run("fit", "houses.csv", "--target", "price", "--drop", "dear", "--kernel", "gaussian",
               "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["report"] == "houses.html"
    measured = found["measured"]
    assert found["schema"] == 1
    assert not measured["optimistic"]
    assert measured["rows"] == 80
    assert 8 * 0.8 < measured["error"] < measured["guessing"] / 3
    assert measured["boosted_trees"] > measured["error"]
    assert "five folds" in measured["how"]
    # intervals: of as many errors as there are rows, of new rows of the same kind
    new = text_of(*houses(400, seed=1))
    rows = rows_of(run("predict", "houses.squareone", "-", "--columns", "price", stdin=new).stdout)
    inside = [float(r["low"]) <= float(r["price"]) <= float(r["high"]) for r in rows]
    assert 0.8 < np.mean(inside) <= 0.99


def test_with_groups_all_is_chosen_without_the_others_of_the_group(table):
    """Six rows of a thing that is all but the same: to know five of them is to know the sixth."""
    rng = np.random.default_rng(0)
    thing = np.repeat(np.arange(40), 6)
    seen, own = rng.standard_normal((40, 4)), rng.standard_normal(40)
    X = seen[thing] + 0.01 * rng.standard_normal((240, 4))
    y = X[:, 0] + own[thing] + 0.1 * rng.standard_normal(240)
    rows = [
        [*(f"{v:.4f}" for v in x), f"t{g}", f"{v:.4f}"] for x, g, v in zip(X, thing, y, strict=True)
    ]
    table.write_text(text_of(["a", "b", "c", "d", "thing", "y"], rows))
    errors = []
    for more in (["--drop", "thing"], ["--groups", "thing"]):
        arguments = ["--target", "y", "--quick", "--no-report", "--force", "--json", *more]
        done = run("fit", "houses.csv", *arguments)
        assert done.exit_code == 0, done.output
        errors.append(json.loads(done.stdout)["measured"]["error"])
    assert errors[0] < 0.3  # by heart
    assert 0.9 < errors[1] < 1.5  # the standard deviation of what only the thing itself says is 1
    assert run("predict", "houses.squareone", "houses.csv").exit_code == 0


@pytest.mark.parametrize("quick", [["--quick"], pytest.param([], marks=pytest.mark.thorough)])
def test_what_weights_are_for_is_said(table, quick):
    """They teach; errors are of rows, each of which counts once."""
    common = ["fit", "houses.csv", "--target", "price", "--kernel", "linear", "--json", *quick]
    done = run(*common, "--weights", "year")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["measured"]["how"].endswith("each row counts once")
    assert "in these figures each row counts once" in (table.parent / "houses.html").read_text()
    done = run(*common, "--no-report", "--force")
    assert "counts once" not in json.loads(done.stdout)["measured"]["how"]


@pytest.mark.parametrize("command", ["fit", "suspects", "plan"])
def test_columns_that_are_not_used_are_told_once_in_words_of_the_command(table, command):
    """Also with -q; what a Python user would do about them is of no help here."""
    names, rows = houses()
    counted = [[str(i), *row, ""] for i, row in enumerate(rows)]
    table.write_text(text_of(["count", *names, "nothing"], counted))
    done = run(command, "houses.csv", "--target", "price", "--kernel", "linear", "--quick", "-q")
    assert done.exit_code == 0, done.output
    told = 0 if command == "plan" else 1
    assert done.stderr.count("not used: count (identifier: ") == told
    assert done.stderr.count("not used: nothing (empty: ") == told
    assert "of X" not in done.stderr
    assert "drop_identifiers" not in done.stderr


def test_a_class_of_one_row_cannot_be_judged(table):
    """Its fold is predicted from one class only, and the other folds are without it."""
    rows = "".join(f"{(7 * i) % 40 + 0.5},{'b' if i == 5 else 'a'}\n" for i in range(40))
    table.write_text(f"x,y\n{rows}")
    done = run("fit", "houses.csv", "--target", "y", "--kernel", "linear", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert "a in 39 rows, b in 1 row\n" in done.stderr
    assert "too few of the others to tell" in found["verdict"]
    assert "worse than" not in found["verdict"]
    assert "1 of the 5 left out, without which there is one class only" in found["measured"]["how"]
    assert found["measured"]["rows"] == 32
    assert not any("y_true" in note for note in found["notes"])
    assert "ROC curve" not in (table.parent / "houses.html").read_text()


def test_predictions_are_those_of_the_model_in_order(models):
    import pyarrow.csv

    done = run("predict", models / "price.squareone", models / "houses.csv", "--columns", "town")
    assert done.exit_code == 0, done.output
    rows = rows_of(done.stdout)
    frame = pyarrow.csv.read_csv(models / "houses.csv")
    expected = squareone.load(models / "price.squareone").predict(frame)
    assert [row["town"] for row in rows] == frame.column("town").to_pylist()
    np.testing.assert_array_equal([float(row["prediction"]) for row in rows], expected)
    widths = [float(row["high"]) - float(row["low"]) for row in rows]
    np.testing.assert_allclose(widths, widths[0])


def test_probabilities_of_classes(models):
    done = run("predict", models / "dear.squareone", models / "houses.csv")
    rows = rows_of(done.stdout)
    assert set(rows[0]) == {"prediction", "probability of cheap", "probability of dear"}
    for row in rows:
        more_likely = float(row["probability of dear"]) > 0.5
        assert row["prediction"] == ("dear" if more_likely else "cheap")


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".arrow"])
def test_all_formats_give_the_same_predictions(models, tmp_path, ending):
    import pyarrow
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    plain = run("predict", models / "price.squareone", models / "houses.csv").stdout
    frame = arrow_csv.read_csv(models / "houses.csv")
    path = tmp_path / f"rows{ending}"
    if ending == ".parquet":
        parquet.write_table(frame, path)
    elif ending == ".arrow":
        with pyarrow.ipc.new_file(str(path), frame.schema) as writer:
            writer.write_table(frame)
    else:
        path.write_text(text_of(*houses(), delimiter="\t" if ending == ".tsv" else ","))
    assert run("predict", models / "price.squareone", path).stdout == plain
    output = tmp_path / f"out{ending}"
    assert run("predict", models / "price.squareone", path, "-o", output).exit_code == 0
    from squareone.rows.table_reader import read_table

    made = read_table(output).table.column("prediction").to_numpy()
    np.testing.assert_allclose(made, [float(r["prediction"]) for r in rows_of(plain)], rtol=1e-12)


def test_other_ways_to_write_the_same_table(models, tmp_path):
    names, rows = houses()
    plain = run("predict", models / "price.squareone", models / "houses.csv").stdout
    commas = [[cell.replace(".", ",") for cell in row] for row in rows]
    ways = {
        "german.csv": text_of(names, commas, ";").encode("utf-16"),
        "marked.csv": b"\xef\xbb\xbf" + text_of(names, rows).encode(),
        "dos.csv": text_of(names, rows).replace("\n", "\r\n").encode(),
        "blank.csv": b"\n\n" + text_of(names, rows).encode(),
        "packed.csv.gz": gzip.compress(text_of(names, rows).encode()),
        "no_suffix": text_of(names, rows, "|").encode(),
        "backwards.csv": text_of(names[::-1], [row[::-1] for row in rows]).encode(),
    }
    for name, content in ways.items():
        path = tmp_path / name
        path.write_bytes(content)
        done = run("predict", models / "price.squareone", path)
        assert done.stdout == plain, (name, done.stderr)


def test_a_table_that_is_left_on_the_disk_gives_the_same(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("squareone.cli.table_problem._PARTS", 1e12)
    arguments = ["--target", "price", "--drop", "dear", "--quick", "--no-report", "-v"]
    done = run("fit", models / "houses.csv", *arguments)
    assert done.exit_code == 0, done.output
    assert "the table is left on the disk" in done.stderr
    found = [
        run("predict", model, models / "houses.csv").stdout
        for model in ("houses.squareone", models / "price.squareone")
    ]
    assert found[0] == found[1]
    monkeypatch.undo()
    assert run("predict", models / "price.squareone", models / "houses.csv").stdout == found[0]


def test_what_is_new_is_counted(models, tmp_path):
    names, rows = houses(40, seed=2)
    rows[3][1] = rows[4][1] = "Lima"
    rows[5][0] = ""
    path = tmp_path / "new.csv"
    path.write_text(text_of(names, rows))
    done = run("predict", models / "price.squareone", path)
    assert done.exit_code == 0, done.output
    assert "town: 2 rows with levels that no training row had" in done.stderr
    assert "area: 1 row with gaps" in done.stderr


def test_tables_unlike_the_training_rows_are_noted(models, tmp_path):
    names, rows = houses(60, seed=3)
    moved = [[str(float(row[0]) + 100), *row[1:]] for row in rows]
    path = tmp_path / "new.csv"
    path.write_text(text_of(names, moved))
    assert "area is not as it was" in run("predict", models / "price.squareone", path).stderr
    silenced = run("predict", models / "price.squareone", path, "--ignore", "SQ005")
    assert silenced.exit_code == 0, silenced.output
    assert "is not as it was" not in silenced.stderr
    assert run("predict", models / "price.squareone", path, "--ignore", "SQ9").exit_code == 1
    path.write_text(text_of(names, rows))
    assert "is not as it was" not in run("predict", models / "price.squareone", path).stderr


def test_a_missing_column_is_named_with_the_nearest(models, tmp_path):
    names, rows = houses()
    path = tmp_path / "new.csv"
    path.write_text(text_of(["aera", *names[1:]], rows))
    done = run("predict", models / "price.squareone", path)
    assert done.exit_code == 1
    assert "'area' (is 'aera' meant?)" in done.stderr
    assert done.stdout == ""


def test_a_word_among_numbers_is_named_with_its_line(models, tmp_path):
    names, rows = houses()
    rows[6][2] = "unknown!"
    path = tmp_path / "new.csv"
    path.write_text(text_of(names, rows))
    done = run("predict", models / "price.squareone", path)
    assert done.exit_code == 1
    assert "new.csv, line 8, row 7, column 'year': 'unknown!'" in done.stderr


def test_inspect_one_and_two(models):
    one = run("inspect", models / "price.squareone")
    assert "price (regression)" in one.stdout
    assert "contains training rows" in one.stdout
    two = run("inspect", models / "price.squareone", models / "dear.squareone")
    assert "dear (classification)" in two.stdout
    assert "price (regression)" in two.stdout
    found = json.loads(run("inspect", models / "dear.squareone", "--json").stdout)
    assert found["models"][0]["classes"] == ["cheap", "dear"]


def test_existing_files_are_kept(table):
    (table.parent / "houses.squareone").write_text("precious")
    done = run("fit", "houses.csv", "--target", "price", "--quick")
    assert done.exit_code == 1
    assert "exists" in done.stderr
    assert "--force" in done.stderr
    assert (table.parent / "houses.squareone").read_text() == "precious"
    assert run("predict", "houses.csv", "houses.csv", "-o", "houses.csv", "--force").exit_code == 1
    assert (
        "read by this command"
        in run("fit", "houses.csv", "--target", "price", "-o", "houses.csv", "--force").stderr
    )


def test_no_file_is_written_over_by_another(table, models):
    """Who takes -o for the report would have it in place of the model."""
    fit = ["fit", "houses.csv", "--target", "price", "--quick"]
    for names in (["-o", "m.html"], ["-o", "m", "--report", "./m"]):
        done = run(*fit, *names)
        assert done.exit_code == 1
        assert "would be written twice" in done.stderr
        assert [path.name for path in table.parent.iterdir()] == ["houses.csv"]
    before = table.read_bytes()
    again = ["--intervals", "jackknife+", "--data", table, "-o", table, "--force"]
    done = run("predict", models / "price.squareone", models / "houses.csv.gz", *again)
    assert done.exit_code == 1
    assert "is read by this command" in done.stderr
    assert table.read_bytes() == before


def test_what_is_no_file_is_not_replaced(models, tmp_path):
    """Such as /dev/null, for which a file would stand from then on."""
    pipe = tmp_path / "out.csv"
    os.mkfifo(pipe)
    model, new = models / "price.squareone", models / "houses.csv"
    for force in ([], ["--force"]):
        done = run("predict", model, new, "-o", pipe, *force)
        assert done.exit_code == 1
        assert "is a device or a pipe" in done.stderr
    assert pipe.is_fifo()


def test_a_failure_leaves_no_file(table, monkeypatch):
    def broken(*_, **__):
        raise OSError(28, "No space left on device", "houses.squareone")

    monkeypatch.setattr("squareone.tables.table_model.save_with_facts", broken)
    done = run("fit", "houses.csv", "--target", "price", "--drop", "dear", "--quick")
    assert done.exit_code == 1
    assert "No space left on device" in done.stderr
    assert [path.name for path in table.parent.iterdir()] == ["houses.csv"]


def test_a_broken_pipe_is_quiet(models):
    code = "from squareone.cli.commands import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "predict", models / "price.squareone", models / "houses.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ,
    ) as process:
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait() == 1
    assert b"Traceback" not in said
    assert b"error" not in said


def test_interval_ends_leave_out_as_many_on_each_side():
    errors = np.arange(1.0, 100.0)  # 99 of them
    assert interval_ends(errors, 0.9) == (5.0, 95.0)
    assert interval_ends(errors, 0.98) == (1.0, 99.0)
    assert interval_ends(errors, 0.99) is None


def test_the_report_shows_the_command_without_folders(table):
    """Names of columns are no folders, and what follows -o at once is the name of a file."""
    import html

    (table.parent / "deep").mkdir()
    names, rows = houses()
    names[names.index("price")], names[names.index("area")] = "price/m2", "lat/lon"
    table.write_text(text_of(names, rows))
    columns = ["--target", "price/m2", "--drop=lat/lon", "--drop", "dear"]
    files = ["-odeep/m.squareone", f"--report={table.parent}/deep/my report.html"]
    done = run("fit", table, *columns, *files, "--quick")
    assert done.exit_code == 0, done.output
    text = html.unescape((table.parent / "deep" / "my report.html").read_text())
    expected = (
        "squareone fit houses.csv --target price/m2 --drop lat/lon --drop dear --quick "
        "--output m.squareone --report 'my report.html'"
    )
    assert expected in text
    assert "deep" not in text
