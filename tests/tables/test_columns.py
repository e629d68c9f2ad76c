"""Tables as they come: the same from every library, and every oddity refused or taken."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from squareone.rows import open_rows
from squareone.tables import TableEncoder
from tests.estimators.data import refused

pa = pytest.importorskip("pyarrow")

n = 24
rng = np.random.default_rng(0)
UTC = dt.UTC
values = {
    "whole": rng.integers(0, 9, n).tolist(),
    "gaps": [None if k % 5 == 0 else k * 0.5 for k in range(n)],
    "yes": [k % 3 == 0 for k in range(n)],
    "perhaps": [None if k % 7 == 0 else k % 3 == 0 for k in range(n)],
    "word": [None if k % 6 == 0 else "äbc✓"[k % 4] for k in range(n)],
    "many": [f"level {k % 9}" for k in range(n)],
    "text": [str(k / 4) for k in range(n)],
    "day": [dt.date(2020, 1, 1) + dt.timedelta(days=11 * k) for k in range(n)],
    "time": [dt.datetime(2020, 1, 1, k % 5, tzinfo=UTC) + dt.timedelta(days=k) for k in range(n)],
    "since": [None if k == 3 else dt.datetime(2020, 1, 1 + k) for k in range(n)],
    "length": [dt.timedelta(minutes=k * k) for k in range(n)],
    "price": [Decimal(f"{k}.125") for k in range(n)],
}
lists = [list(row) for row in zip(*values.values(), strict=True)]
y = rng.normal(size=n)


def as_pandas():
    return pd.DataFrame({name: pd.Series(column) for name, column in values.items()})


def as_extended():
    """pandas' own types with pandas.NA."""
    kinds = {"whole": "Int64", "gaps": "Float64", "perhaps": "boolean", "word": "string"}
    return as_pandas().astype(kinds)


def as_categories():
    return as_pandas().astype({"word": "category", "many": "category"})


TABLES = {
    "pandas": as_pandas,
    "extended": as_extended,
    "categories": as_categories,
    "objects": lambda: as_pandas().astype(object),
    "arrow in pandas": lambda: pa.table(values).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.DataFrame(values),
    "polars categories": lambda: pl.DataFrame(values).with_columns(
        pl.col("word").cast(pl.Categorical), pl.col("many").cast(pl.Enum([*set(values["many"])]))
    ),
    "arrow": lambda: pa.table(values),
    "dictionaries": lambda: pa.table(
        {**values, "word": pa.array(values["word"]).dictionary_encode()}
    ),
    "batch": lambda: pa.RecordBatch.from_pydict(values),
    "chunks": lambda: pa.concat_tables([pa.table(values).slice(0, 7), pa.table(values).slice(7)]),
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_library_gives_the_same(kind):
    encoder = TableEncoder(max_levels=8, random_state=0)
    expected = encoder.fit_transform(lists, y)
    reasons = [(column.kind, column.why) for column in encoder.columns_]
    later = encoder.transform(lists)
    with pytest.warns(UserWarning, match="has feature names"):
        assert_array_equal(encoder.transform(TABLES[kind]()), later)
    assert_array_equal(encoder.fit_transform(TABLES[kind](), y), expected)
    assert list(encoder.feature_names_in_) == list(values)
    found = [(column.kind, column.why) for column in encoder.columns_]
    told = {(k, w.removeprefix("categories, ")) for k, w in found}
    assert told == set(reasons)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert_array_equal(encoder.transform(lists), later)


def test_ordered_categories_of_arrow():
    order = ["low", "high", "top"]
    frame = pd.DataFrame({"x": pd.Categorical(["low", "top", "high", None] * 3, order, True)})
    expected = TableEncoder().fit(frame)
    found = TableEncoder().fit(pa.Table.from_pandas(frame))
    assert found.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    assert_array_equal(found.transform(frame), expected.transform(frame))


def test_categories_stay_words():
    frame = pd.DataFrame({"x": pd.Categorical([1, 2, 3, 1, 2, 3])})
    assert TableEncoder(rare=1).fit(frame).get_feature_names_out().tolist() == [
        "x=1",
        "x=2",
        "x=3",
    ]
    unused = frame["x"].cat.add_categories([4]).to_frame()
    assert TableEncoder(rare=1).fit_transform(unused).shape == (6, 3)
    edges = pd.DataFrame({"x": pd.cut(np.arange(20.0), 4)})
    assert TableEncoder().fit(edges).get_feature_names_out()[-1] == "x:order"
    sparse = pd.DataFrame({"x": pd.arrays.SparseArray([0.0, 1.0, 3.0])})
    assert_array_equal(
        TableEncoder().fit_transform(sparse), TableEncoder().fit_transform([[0.0], [1.0], [3.0]])
    )


@pytest.mark.parametrize(
    "array",
    [
        np.array([["1.5", "a"], ["2.5", "b"], ["7", "a"]]),
        np.array([["1.5", "a"], ["2.5", "b"], ["7", "a"]], dtype=object),
        np.array([[b"1.5", b"a"], [b"2.5", b"b"], [b"7", b"a"]]),
        [[1.5, "a"], [2.5, "b"], [7, "a"]],
        [(1.5, b"a"), (2.5, "b"), (np.float32(7), "a")],
        [np.array(["1.5", "a"]), np.array(["2.5", "b"]), np.array(["7", "a"])],
    ],
    ids=["text", "objects", "bytes", "lists", "tuples", "arrays"],
)
def test_arrays_and_lists(array):
    expected = TableEncoder().fit_transform(pd.DataFrame({"a": [1.5, 2.5, 7], "b": list("aba")}))
    assert_array_equal(TableEncoder().fit_transform(array), expected)


@pytest.mark.parametrize("dtype", ["f4", ">f8", "i1", "u8", "?", "M8[s]", "M8[ns]", "m8[ms]", "f2"])
def test_types_of_arrays(dtype):
    one = 1000 if dtype == "M8[ns]" else 1  # microseconds are kept
    array = (np.array([[0, 1], [1, 0], [1, 1], [0, 1]]) * one).astype(dtype)
    array.flags.writeable = False
    before = array.copy()
    for layout in (array, np.asfortranarray(array), array[::-1]):
        assert np.isfinite(TableEncoder().fit_transform(layout)).all()
    assert_array_equal(array, before)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_units_of_times(unit):
    times = np.array(["2020-01-01T10:00", "1959-02-01T22:30", "NaT"], "M8[us]")
    array = times.astype(f"M8[{unit}]").reshape(-1, 1)
    expected = TableEncoder().fit_transform(times.reshape(-1, 1))
    assert_array_equal(TableEncoder().fit_transform(array), expected)
    assert_array_equal(TableEncoder().fit_transform(pd.DataFrame(array).rename(str)), expected)


def test_zones():
    """The same instants are the same numbers, whatever zone they are written in."""
    rows = pd.DataFrame({"t": pd.Series(values["time"])})
    encoder = TableEncoder().fit(rows)
    expected = encoder.transform(rows)
    elsewhere = rows["t"].dt.tz_convert("America/New_York").to_frame()
    assert_array_equal(encoder.transform(elsewhere), expected)
    assert_array_equal(encoder.transform(pl.DataFrame(elsewhere)), expected)
    texts = pd.DataFrame({"t": [when.isoformat() for when in elsewhere["t"]]})
    assert_array_equal(encoder.transform(texts), expected)
    with refused(ValueError, "'t' had times with a time zone", "row 0 is without"):
        encoder.transform(rows["t"].dt.tz_localize(None).to_frame())
    mixed = [[dt.datetime(2020, 1, 1)], [None], [dt.datetime(2020, 1, 1, tzinfo=UTC)]]
    with refused(ValueError, "'x0'", "in row 2 has a time zone"):
        TableEncoder().fit(mixed)
    with refused(ValueError, "'x0'", "in row 1 has no time zone"):
        TableEncoder().fit([["2020-01-01T10:00+01:00"], ["2020-01-01T10:00"], ["2020-01-02"]])


REFUSED = {
    "a dictionary": ([[1.0], [{"a": 1}]], TypeError, ["'x0' holds {'a': 1} of type dict in row 1"]),
    "a date among words": ([["a"], [dt.date(2020, 1, 1)]], TypeError, ["'x0'", "row 1"]),
    "a date among numbers": ([[1.5], [dt.date(2020, 1, 1)]], TypeError, ["'x0'", "row 1"]),
    "complex": (np.ones((2, 2)) * 1j, ValueError, ["Complex data not supported"]),
    "no UTF-8": ([[b"a"], [b"\xff"]], ValueError, ["'x0'", "row 1", "UTF-8"]),
    "infinite": ([[1.0, 2.0], [3.0, -np.inf]], ValueError, ["'x1' holds -inf in row 1"]),
    "infinite text": ([["1.0"], ["inf"]], ValueError, ["'x0' holds inf in row 1"]),
    "sparse": (csr_array(np.eye(3)), TypeError, ["sparse", "toarray"]),
    "masked": (np.ma.masked_equal(np.eye(3), 0), ValueError, ["masked"]),
    "one-dimensional": (np.arange(3.0), ValueError, ["Reshape your data"]),
    "a series": (pd.Series([1.0, 2.0]), ValueError, ["to_frame()"]),
    "a cube": (np.ones((2, 2, 2)), ValueError, ["got 3D array"]),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, ["equal length", "[1, 2]"]),
    "text": ("data.csv", TypeError, ["got str"]),
    "lazy": (pl.LazyFrame({"a": [1, 2]}), TypeError, ["collect()"]),
    "no rows": (pd.DataFrame({"a": []}), ValueError, ["0 sample(s) (shape=(0, 1))"]),
    "no columns": (np.ones((3, 0)), ValueError, ["0 feature(s) (shape=(3, 0))"]),
    "the same name": (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, ["several", "'a'"]),
    "1 and '1'": (pd.DataFrame([[1, 2]], columns=[1, "1"]), ValueError, ["several", "'1'"]),
    "names of arrow": (
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]),
        ValueError,
        ["several", "'a'"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    X, error, message = REFUSED[case]
    with refused(error, *message):
        TableEncoder().fit(X)


def test_rows_of_a_file_are_refused(tmp_path):
    np.save(tmp_path / "rows.npy", np.eye(4))
    with refused(TypeError, "read block by block"):
        TableEncoder().fit(open_rows(tmp_path / "rows.npy"))


def test_names():
    frame = pd.DataFrame(
        {0: [1.0, 2.0, 4.0], ("a", "b"): list("xyx"), "ü =€\n": [True, False, True]}
    )
    encoder = TableEncoder().fit(frame)
    names = ["0", "('a', 'b')=y", "ü =€\n"]
    assert encoder.get_feature_names_out().tolist() == names
    assert_array_equal(encoder.transform(frame[frame.columns[::-1]]), encoder.transform(frame))
    assert encoder.set_output(transform="polars").transform(frame).columns == names
    # a level and a column of the same name
    twice = pd.DataFrame({"a": list("xyz") * 3, "a=x": np.arange(9.0) ** 2})
    encoder = TableEncoder().fit(twice)
    assert encoder.get_feature_names_out().tolist() == ["a=x", "a=y", "a=z", "a=x'"]
    assert encoder.output_columns_.tolist() == ["a", "a", "a", "a=x"]
    named = TableEncoder().fit(frame.to_numpy(dtype=object)).get_feature_names_out(["u", "v", "w"])
    assert named.tolist() == ["u", "v=y", "w"]


def test_many_levels():
    levels = [f"level {k}" for k in range(100_000)] * 2
    frame = pd.DataFrame({"x": levels})
    encoder = TableEncoder(random_state=0)
    found = encoder.fit_transform(frame, np.arange(200_000) % 7 / 3)
    assert found.shape == (200_000, 1)
    assert TableEncoder(n_hash=4).fit_transform(frame).shape == (200_000, 4)


def test_letters_of_all_kinds():
    levels = ["a", "a\0", "ä", "\ud800", "'; drop", "𝔸", "\N{ZERO WIDTH SPACE}"]
    encoder = TableEncoder(rare=1).fit([[level] for level in levels])
    assert encoder.transform([[level] for level in levels]).shape == (7, 7)
    assert encoder.unseen([["a\0\0"], ["A"]]) == {"x0": (2, 0)}


def test_one_row_at_a_time():
    encoder = TableEncoder(max_levels=8, random_state=0).fit(lists, y)
    single = np.vstack([encoder.transform([row]) for row in lists])
    assert_array_equal(single, encoder.transform(lists))
    assert_array_equal(encoder.transform([[None] * len(values)]).shape, (1, single.shape[1]))
