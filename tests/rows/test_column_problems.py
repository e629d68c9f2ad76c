"""Columns that are no features yet: what they hold, and all of them at once."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

from squareone import IncrementalRLSRegressor, OROLSRegressor, RLSClassifier, RLSRegressor
from squareone.rows import GeneratedRows, open_rows
from squareone.rows.column_problems import column_problems, problem_of

n = 40
DAYS = pd.date_range("2020-01-01", periods=n)
y = np.sin(np.arange(n))

KINDS = {
    "words": (["oak", "elm"] * 20, "words", "'oak', 'elm'"),
    "many words": ([f"w{i % 7}" for i in range(n)], "words", "'w0' and 6 others"),
    "words and gaps": (["oak", None, "elm", np.nan] * 10, "words", "'oak', 'elm'; 20 missing"),
    "words and numbers": (["oak", 1.0, "elm", 2.0, "fir"] * 8, "words", "'oak' and 4 others"),
    "yes and no": (["yes", "no"] * 20, "words", "'yes', 'no'"),
    "codes": (["A1", "B2", "A1", "C3"] * 10, "words", "'A1', 'B2', 'C3'"),
    "category": (pd.Series(["oak", "elm"] * 20, dtype="category"), "words", "'oak', 'elm'"),
    "string dtype": (pd.Series(["oak", pd.NA] * 20, dtype="string"), "words", "'oak'; 20 missing"),
    "bytes": ([b"oak"] * n, "words", "'oak'"),
    "few different words": (["oak", "elm", "fir"], "words", "'oak', 'elm', 'fir'"),
    "datetime64": (DAYS, "dates", "'2020-01-01"),
    "with a zone": (DAYS.tz_localize("UTC"), "dates", "'2020-01-01 00:00:00+00:…'"),
    "periods": (DAYS.to_period("M"), "dates", "'2020-01'"),
    "python dates": ([datetime.date(2020, 1, 1)] * n, "dates", "'2020-01-01'"),
    "dates and gaps": ([datetime.date(2020, 1, 1), None] * 20, "dates", "20 missing"),
    "texts of dates": (DAYS.strftime("%Y-%m-%d %H:%M"), "dates", "'2020-01-01 00:00'"),
    "German dates": (DAYS.strftime("%d.%m.%Y"), "dates", "'01.01.2020'"),
    "American dates": (DAYS.strftime("%m/%d/%y"), "dates", "'01/01/20'"),
    "timedelta64": (DAYS - DAYS[0], "durations", ""),
    "identifiers": ([f"C{i:05d}" for i in range(n)], "an identifier", "'C00000'"),
    "names": ([f"Braund, Mr. Owen {i}" for i in range(n)], "an identifier", "'Braund"),
    "sentences": (
        [f"this was a really good thing, no. {i}" for i in range(n)],
        "texts",
        "'this was a really good …'",
    ),
    "a question mark": (
        ["?", "?", *(str(i) for i in range(n - 2))],
        "numbers with something else",
        "'?' in 2 of 40",
    ),
    "blanks and gaps": (
        [" ", None, "n/a", *range(n - 3)],
        "numbers with something else",
        "' ', 'n/a' in 2 of 40; 1 missing",
    ),
    "money": ([f"${1000 + i:,}.50" for i in range(n)], "numbers written as text", "'$1,000.50'"),
    "decimal comma": ([f"{i},5" for i in range(n)], "numbers written as text", "'0,5'"),
    "per cent": ([f"{i} %" for i in range(n)], "numbers written as text", "'0 %'"),
    "lists": ([[1, 2]] * n, "objects", ""),
    "dictionaries": ([{"a": 1}] * n, "objects", "not 'dict'"),
    "gaps": ([1.0, np.nan] * 20, "gaps in rows", "20 of 40"),
    "only gaps": ([None] * n, "gaps in rows", "40 of 40"),
    "Int64": (pd.array([1, None] * 20, dtype="Int64"), "gaps in rows", "20 of 40"),
    "boolean": (pd.array([True, None] * 20, dtype="boolean"), "gaps in rows", "20 of 40"),
    "infinite": ([1.0, np.inf, -np.inf, 2.0] * 10, "infinite in rows", "20 of 40"),
    "too large": ([10**400] * n, "infinite in rows", "too large for float64"),
}


def column(values):
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array if not hasattr(values, "dtype") else np.asarray(values)


@pytest.mark.parametrize(("values", "kind", "detail"), KINDS.values(), ids=KINDS)
def test_what_a_column_holds(values, kind, detail):
    problem = problem_of("x", column(values))
    assert problem.kind.startswith(kind)
    assert detail in problem.detail


@pytest.mark.parametrize(
    "values",
    [
        np.arange(n),
        np.ones(n, bool),
        ["1.5", "2", "-3e4"],
        [Decimal("1.5"), 2],
        [True, 1.0],
        pd.array([1, 2], dtype="Int64"),
        pd.Series([1, 2], dtype="category"),
    ],
    ids=str,
)
def test_columns_of_numbers(values):
    assert problem_of("x", column(values)) is None


def test_what_stands_behind_many_numbers_is_found():
    values = column([str(i) for i in range(20_000)])
    values[15_000] = "?"
    assert problem_of("x", values).detail == "'?' in 1 of 20,000"


MESSY = pd.DataFrame(
    {
        "ok": np.arange(n, dtype=float),
        "id": [f"C{i}" for i in range(n)],
        "when": DAYS,
        "city": ["Rome", "Oslo"] * 20,
        "age": np.where(np.arange(n) % 8 == 0, np.nan, 30.0),
        "fuel": ["gas", None] * 20,
        "weight": np.where(np.arange(n) % 4 == 0, np.nan, 30.0),
    }
)
FRAMES = {
    "pandas": MESSY,
    "polars": pl.from_pandas(MESSY),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize(
    "model", [RLSRegressor(), RLSClassifier(), OROLSRegressor(), IncrementalRLSRegressor()], ids=str
)
def test_all_columns_come_at_once(frame, model):
    target = y > 0 if isinstance(model, RLSClassifier) else y
    with pytest.raises((TypeError, ValueError)) as refusal:
        model.fit(frame, target)
    headline, *lines = str(refusal.value).splitlines()
    assert headline == "column 'id' of X is not numeric, and 5 other columns need a change, too:"
    words, dates, identifiers, gaps, remedy = lines
    assert words.startswith("- words: 'city' ('Rome', 'Oslo'), 'fuel' ('gas'; 20 missing). Encode")
    assert "OneHotEncoder" in words
    assert dates.startswith("- dates: 'when' ('2020-01-01")
    assert "Convert it" in dates
    assert identifiers.startswith("- an identifier, different in nearly every row: 'id' ('C0')")
    assert "Leave it out" in identifiers
    assert gaps.startswith("- gaps in rows: 'age' (5 of 40), 'weight' (10 of 40)")
    assert "SimpleImputer" in gaps
    assert "ColumnTransformer" in remedy


def test_columns_of_arrays_are_numbered():
    with pytest.raises(ValueError, match="column 1 of X is not numeric, and 5 other") as refusal:
        RLSRegressor().fit(MESSY.to_numpy(), y)
    assert "- gaps in rows: 4 (5 of 40), 6 (10 of 40)." in str(refusal.value)
    with pytest.raises(ValueError, match="column 1 of X is not numeric, and 5 other"):
        RLSRegressor().fit(MESSY.to_numpy().tolist(), y)


def test_many_columns_are_counted():
    wide = pd.DataFrame({f"c{j}": ["a", "b"] * 20 for j in range(25)})
    with pytest.raises(ValueError, match=r"'c9' \('a', 'b'\) and 15 others\. Encode them"):
        RLSRegressor().fit(wide, y)


GAPS = MESSY[["ok", "age", "weight"]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (GAPS, r"Input X contains NaN:\n- gaps in rows: 'age' \(5 of 40\), 'weight' \(10 of 40\)"),
        (GAPS[["ok", "age"]], r"Input X contains NaN in column 'age' \(5 of 40 rows\)\. Fill"),
        (GAPS.to_numpy(), r"Input X contains NaN:\n- gaps in rows: 1 \(5 of 40\), 2 \(10 of 40\)"),
        (csr_array(GAPS.to_numpy()), r"contains NaN:\n- gaps in rows: 1 \(5 of 40\), 2 \(10"),
        (GAPS[["ok"]] / 0.0, r"contains NaN in column 'ok' \(1 of 40"),
        (1.0 / GAPS[["ok"]], r"Input X contains infinity in column 'ok' \(1 of 40 rows\)"),
        (1.0 / GAPS, r"Input X contains NaN and infinity:\n- gaps.*'age'.*\n- infinite.*'ok'"),
    ],
)
def test_gaps_name_their_columns(rows, message):
    if isinstance(rows, pd.DataFrame) and rows.shape[1] == 1:
        rows = rows.replace(np.inf, 0.0) if "NaN" in message else rows
    with pytest.raises(ValueError, match=message):
        RLSRegressor().fit(rows, y)


def test_predict_names_columns_too():
    model = RLSRegressor("linear").fit(GAPS[["ok", "age"]].fillna(0.0), y)
    with pytest.raises(ValueError, match="contains NaN in column 'age'"):
        model.predict(GAPS[["ok", "age"]])
    with pytest.raises(ValueError, match="unseen at fit time"):  # names come first
        model.predict(MESSY[["ok", "city"]])


@pytest.mark.parametrize(
    "rows",
    [
        DAYS.to_numpy()[:, None],
        (DAYS - DAYS[0]).to_numpy()[:, None],
        pd.DataFrame({"a": DAYS, "b": DAYS}),
        pl.DataFrame({"a": DAYS.to_pydatetime().tolist()}),
    ],
    ids=["datetime64", "timedelta64", "pandas", "polars"],
)
def test_dates_alone_are_not_numbers_of_some_unit(rows):
    with pytest.raises(TypeError, match="is not numeric"):
        RLSRegressor().fit(rows, y)


def test_a_kernel_matrix_has_no_columns_to_fill():
    K = np.eye(n)
    K[3, 4] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN") as refusal:
        RLSRegressor("precomputed").fit(K, y)
    assert "gaps in rows" not in str(refusal.value)


def test_nothing_is_found_in_good_rows():
    assert column_problems(MESSY[["ok"]]) == []
    assert column_problems(csr_array(np.eye(3))) == []


# --- files ---


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_files_name_all_columns_at_once(suffix, tmp_path):
    path = tmp_path / f"messy{suffix}"
    if suffix == ".csv":
        MESSY.to_csv(path, index=False)
    else:
        getattr(MESSY, f"to_{suffix[1:]}")(path)
    with pytest.raises(ValueError, match=rf"column 'id' of '{path.name}' is not num") as refusal:
        open_rows(path, "ok")
    headline, words, dates, identifiers, remedy = str(refusal.value).splitlines()
    assert headline.endswith("is not numeric, and 3 other columns need a change, too:")
    assert "'city' ('Rome', 'Oslo'), 'fuel' ('gas'; 20 missing)" in words
    assert "'when' ('2020-01-01" in dates
    assert "'id'" in identifiers
    assert "transformer= takes" in remedy


def test_numbers_that_a_file_has_as_text(tmp_path):
    path = tmp_path / "text.parquet"
    pd.DataFrame({"a": ["1.5", "2.5"], "b": [1.0, 2.0]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"'a' of 'text.parquet' is not numeric \(numbers written"):
        open_rows(path)


def test_gaps_of_a_block_come_together():
    names = ["ok", "age", "weight"]
    rows = GeneratedRows(lambda: [GAPS.to_numpy()], (n, 3), feature_names=names)
    message = r"row 0, column 'age' .*SimpleImputer\. .* so are columns 'weight' \(10 of 40\)"
    with pytest.raises(ValueError, match=message):
        rows[:]
    rows = GeneratedRows(lambda: [GAPS.to_numpy()], (n, 3))
    with pytest.raises(ValueError, match=r"column 1 of .* so are columns 2 \(10 of 40\)"):
        rows[:]
