"""Tables as people send them: each is refused in words that say where and what to do."""

import gzip
import re
import sys

import numpy as np
import pytest

from .conftest import houses, run, text_of

NAMES, ROWS = houses()
GOOD = text_of(NAMES, ROWS)


def changed(row, column, value):
    rows = [list(each) for each in ROWS]
    rows[row][NAMES.index(column)] = value
    return text_of(NAMES, rows)


def without(column):
    place = NAMES.index(column)
    return text_of([n for n in NAMES if n != column], [r[:place] + r[place + 1 :] for r in ROWS])


def with_lines(extra, at):
    lines = GOOD.splitlines()
    return "\n".join([*lines[:at], extra, *lines[at:]]) + "\n"


WIDE = ",".join(["price", *(f"c{j}" for j in range(9))])
CASES = {
    "empty": (b"", ["empty"]),
    "blank lines only": (b"\n\n\n", ["empty"]),
    "header only": ("price,area\n", ["no rows"]),
    "one column": ("price\n" + "1\n2\n3\n" * 5, ["no column to learn from"]),
    "three rows": ("price,area\n1,2\n2,3\n4,5\n", ["3 rows with a target", "At least 10"]),
    "two header lines": (with_lines("m2,,a.d.,,EUR,", 1), ["line 2", "--header-lines 2"]),
    "a row too short": (with_lines("1,Rome", 5), ["line 6", "2 values where there are 6"]),
    "a delimiter at the ends of lines": (
        GOOD.replace("\n", ",\n").replace(",\n", "\n", 1),
        ["line 2", "7 values", "delete the delimiter at the end of lines"],
    ),
    "a comment above the names": ("# of 2024\n" + GOOD, ["line 2", "delete those above"]),
    "a row too long": (with_lines("1,Rome,3,4,5,6,7,8", 7), ["line 8", "8 values"]),
    "target missing": (without("price"), ["no column 'price'"]),
    "target misspelt": (GOOD.replace("price", "prize", 1), ["'prize' meant?"]),
    "target empty": (
        text_of(NAMES, [[*row[:4], "", row[5]] for row in ROWS]),
        ["no row has a value"],
    ),
    "target constant": (
        text_of(NAMES, [[*row[:4], "7", row[5]] for row in ROWS]),
        ["same value", "'7.0'"],
    ),
    "target with a word": (changed(4, "price", "call us"), ["line 6", "'call us'", "number"]),
    "target infinite": (changed(4, "price", "inf"), ["line 6", "finite"]),
    "column infinite": (changed(4, "area", "-inf"), ["line 6", "'area'", "finite"]),
    "column beyond floats": (changed(9, "area", "1e400"), ["line 11", "finite"]),
    "names twice": (GOOD.replace("garden", "town", 1), ["'town'", "2 columns"]),
    "a binary file": (bytes(range(256)) * 20, ["binary file"]),
    "an Excel workbook": (b"PK\x03\x04" + b"x" * 100, ["Excel workbook", "export"]),
    "a picture": (b"\x89PNG\r\n\x1a\n\x00\x00\x00", ["binary file"]),
    "a damaged Parquet file": (b"PAR1" + b"x" * 100, ["damaged Parquet"]),
    "a damaged Arrow file": (b"ARROW1" + b"x" * 100, ["damaged Arrow"]),
    "gzip cut off": (gzip.compress(GOOD.encode() * 9)[:-400], ["decompressed"]),
    "zstd that is none": (b"\x28\xb5\x2f\xfd" + b"x" * 100, ["decompressed"]),
    "UTF-16 without a mark": (GOOD.encode("utf-16-le"), ["--encoding utf-16-le"]),
    "constant columns": (
        "price,a,b\n" + "".join(f"{i},1,x\n" for i in range(20)),
        ["no column to encode", "constant"],
    ),
    "an identifier and nothing else": (
        "price,id\n" + "".join(f"{i * i},x{i}\n" for i in range(20)),
        ["identifier"],
    ),
    "a target of names": (
        "price,a\n" + "".join(f"name {i},{i % 7}\n" for i in range(50)),
        ["too many for classes"],
    ),
    "HTML": ("<!doctype html>\n<html><body>price</body></html>\n", ["no column 'price'"]),
    "JSON": ('{"price": 1,\n "area": 2}\n', ["line 2", "1 value where"]),
    "an unclosed quotation mark": (with_lines('"1,Rome,3,4,5,6', 5), ["houses.csv"]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_bad_table_is_refused_in_words(table, name):
    content, words = CASES[name]
    table.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run("fit", "houses.csv", "--target", "price", "--quick")
    assert done.exit_code == 1, done.output
    assert "Traceback" not in done.output
    assert "should not have happened" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert done.stdout == ""
    assert [path.name for path in table.parent.iterdir()] == ["houses.csv"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "price", "--drop", "gardn"], "'garden' meant?"),
        (["--target", "price", "--weights", "town"], "weight at or above zero"),
        (["--target", "price", "--time-column", "town"], "dates or numbers"),
        (["--target", "price", "--groups", "price"], "is the target"),
        (["--target", "town", "--task", "regression"], "not a number"),
        (["--target", "price", "--encoding", "klingon"], "not known"),
        (["--target", "price", "-o", "nowhere/m.squareone"], "does not exist"),
        (["--target", "price", "-o", "."], "is a directory"),
        (["--target", "price", "--memory", "1KiB"], "memory_limit is 1 KiB"),
        (["--target", "price", "--device", "abacus"], "device"),
        (["--target", "price", "--centers", "81"], "--centers 81: the table has 80 rows"),
        (["--target", "price", "--memory", "much"], "memory_limit"),
        (["--target", "price", "--ignore", "SQ999"], "codes of checks are SQ001"),
    ],
)
def test_bad_options_are_refused_in_words(table, arguments, words):
    done = run("fit", "houses.csv", "--quick", *arguments)
    assert done.exit_code in (1, 2), done.output
    assert words in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "houses.csv"],
        ["fit", "houses.csv", "--target", "price", "--seed", "-1"],
        ["fit", "houses.csv", "--target", "price", "--report", "r.html", "--no-report"],
        ["fit", "houses.csv", "--target", "price", "--centers", "many"],
        ["fit", "houses.csv", "--target", "price", "--delimiter", ";;"],
        ["predict", "nothing.squareone", "houses.csv"],
        ["guess", "houses.csv"],
        ["fit", "-", "--target", "price"],
        ["predict", "houses.csv", "houses.csv", "--json"],
    ],
)
def test_usage_errors_are_of_code_2(table, arguments):
    done = run(*arguments)
    assert done.exit_code == 2
    assert "Usage:" in done.stderr


def test_a_file_that_is_not_there(table):
    done = run("fit", "house.csv", "--target", "price")
    assert done.exit_code == 1
    assert "no such file" in done.stderr
    assert "'houses.csv' meant?" in done.stderr


def test_a_file_that_is_no_model(table):
    done = run("predict", "houses.csv", "houses.csv")
    assert done.exit_code == 1
    assert "not a safetensors file" in done.stderr


def test_standard_input_needs_a_name(table):
    done = run("fit", "-", "--target", "price", stdin=GOOD)
    assert done.exit_code == 2
    assert "-o NAME.squareone" in done.stderr


def test_nothing_a_terminal_obeys_is_shown(table):
    names = ["\x1b[31mprice", "\x07area", "town\x00"]
    table.write_text(text_of(names, [row[:3] for row in ROWS]).replace("\x00", ""))
    done = run("fit", "houses.csv", "--target", "price")
    assert done.exit_code == 1
    assert "\x1b" not in done.output
    assert "\x07" not in done.output


def test_a_traceback_only_where_it_is_asked_for(table):
    table.write_text("")
    assert "Traceback" not in run("fit", "houses.csv", "--target", "price").output
    assert isinstance(
        run("--debug", "fit", "houses.csv", "--target", "price").exception, ValueError
    )


def test_what_is_missing_is_named_with_the_command(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = run("fit", "houses.csv", "--target", "price")
    assert done.exit_code == 1
    assert 'pip install "squareone[cli]"' in done.stderr


def test_errors_of_the_library_are_shown_as_they_are(table, monkeypatch):
    from squareone.errors import SingularSystemError

    def singular(*_, **__):
        raise SingularSystemError("use a larger alpha")

    monkeypatch.setattr("squareone.tables.TableRegressor.fit", singular)
    done = run("fit", "houses.csv", "--target", "price", "--quick")
    assert done.exit_code == 1
    assert "error: use a larger alpha" in done.stderr


@pytest.mark.parametrize("size", ["some", pytest.param("ten thousand", marks=pytest.mark.thorough)])
def test_many_columns_are_no_error(table, size):
    rng = np.random.default_rng(0)
    columns = 60 if size == "some" else 10_000
    numbers = rng.standard_normal((60, columns))
    rows = [[*(f"{x:.3f}" for x in row), f"level {i % 35}"] for i, row in enumerate(numbers)]
    table.write_text(text_of([*(f"c{j}" for j in range(columns)), "word"], rows))
    done = run("fit", "houses.csv", "--target", "c0", "--quick", "--kernel", "linear")
    assert done.exit_code == 0, done.output
    assert re.search("no better than|worse than|too few rows", done.stderr)  # it is noise
    text = (table.parent / "houses.html").read_text()
    assert len(text.encode()) < 1_000_000
    if columns > 1000:
        assert "columns, each with less, are left out here" in text


@pytest.mark.parametrize(
    "levels", [300, pytest.param(100_000, marks=pytest.mark.thorough)], ids=str
)
def test_many_levels_are_no_error(table, levels):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(levels)
    word = rng.permutation(levels) // 2 * 2  # each level twice, so that it is no identifier
    rows = [[f"level {w}", f"{v:.3f}", f"{v + 0.1:.3f}"] for w, v in zip(word, x, strict=True)]
    table.write_text(text_of(["word", "x", "y"], rows))
    arguments = ["--quick", "--no-report", "--centers", "20", "--kernel", "gaussian"]
    done = run("fit", "houses.csv", "--target", "y", *arguments)
    assert done.exit_code == 0, done.output
    done = run("predict", "houses.squareone", "houses.csv", "-o", "out.csv")
    assert done.exit_code == 0, done.output
