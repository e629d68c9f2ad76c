"""Encoders fitted to the partitions of a Dask data frame: what the same rows in memory teach."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone import TableClassifier, TableRegressor
from squareone.tables import TableEncoder, counted_columns, table_fit

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")

rng = np.random.default_rng(5)
n = 600
towns = np.array([f"town {i}" for i in range(60)])
table = pd.DataFrame(
    {
        "size": rng.lognormal(size=n),
        "rooms": rng.integers(1, 9, n),
        "open": rng.uniform(size=n) < 0.4,
        "kind": pd.Categorical(rng.choice(["elm", "oak", "yew"], n, p=[0.6, 0.395, 0.005])),
        "town": towns[rng.integers(0, 60, n)],
        "written": [f"{v:.1f}" for v in rng.normal(size=n)],
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
        "number": np.arange(n),
        "name": [f"row {i}" for i in range(n)],
        "same": 3.0,
        "nothing": np.nan,
    }
)
table.loc[rng.choice(n, 40, replace=False), "size"] = np.nan
table.loc[rng.choice(n, 40, replace=False), "town"] = None
y = rng.normal(size=n) + (table["kind"] == "oak")
weights = rng.uniform(0.5, 2.0, n)
weights[[3, 77, 500]] = 0.0
pytestmark = [
    pytest.mark.filterwarnings("ignore::squareone.errors.EmptyColumnWarning"),
    pytest.mark.filterwarnings("ignore::squareone.errors.IdentifierWarning"),
]


def partitions(count=7):
    """Each knows its own categories alone; one is empty."""
    parts = np.array_split(np.arange(n), count)
    frames = [
        table.iloc[part].assign(kind=table["kind"].iloc[part].astype(str).astype("category"))
        for part in parts
    ]
    frames.insert(2, frames[0][:0])
    return dd.concat([dd.from_pandas(each, npartitions=1) for each in frames])


@pytest.mark.parametrize(
    ("scaling", "w", "target"),
    [
        ("standard", weights, y),
        ("quantile", None, None),
        ("pieces", weights, None),
        pytest.param("standard", None, y, marks=pytest.mark.thorough),
        pytest.param("quantile", weights, y, marks=pytest.mark.thorough),
    ],
    ids=[
        "standard, weighted",
        "quantile, no y",
        "pieces, weighted",
        "standard",
        "quantile, weighted",
    ],
)
def test_partitions_teach_what_the_table_teaches(scaling, w, target):
    known = table.assign(kind=table["kind"].astype(str).astype("category"))
    expected = TableEncoder(scaling=scaling, random_state=0)
    outputs = expected.fit_transform(known, target, w)
    found = TableEncoder(scaling=scaling, random_state=0)
    lazy = found.fit_transform(partitions(), None if target is None else da.from_array(target), w)
    assert isinstance(lazy, da.Array)
    assert found.columns_ == expected.columns_
    assert found.dropped_ == expected.dropped_
    assert_allclose(lazy.compute(), outputs, rtol=1e-9, atol=1e-12)
    again = TableEncoder(scaling=scaling, random_state=0).fit(partitions(), target, w)
    assert_allclose(again.transform(known), expected.transform(known), rtol=1e-9, atol=1e-12)


def test_arrays_have_no_names():
    numbers = table[["rooms", "open"]].to_numpy().astype(float)
    found = TableEncoder().fit(da.from_array(numbers, chunks=(90, 1)))
    expected = TableEncoder().fit(numbers)
    assert found.columns_ == expected.columns_
    assert not hasattr(found, "feature_names_in_")


def test_the_bits_are_those_of_the_partitions(monkeypatch):
    """Whatever computes them: here so few values are kept that all are summaries."""
    monkeypatch.setattr(counted_columns, "MOST_VALUES", 64)
    monkeypatch.setattr(counted_columns, "POINTS", 32)
    found = []
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            encoder = TableEncoder(random_state=0)
            found.append(encoder.fit_transform(partitions(), y).compute())
    assert_array_equal(*found)


@pytest.mark.parametrize("shape", ["normal", "heavy", "ties", "sorted"])
def test_quantiles_are_right_to_the_error_that_is_stated(shape, monkeypatch):
    from squareone.tables.columns import Column
    from squareone.tables.counted_columns import CountedColumn

    monkeypatch.setattr(counted_columns, "MOST_VALUES", 200)
    monkeypatch.setattr(counted_columns, "POINTS", 100)
    draw = np.random.default_rng(0)
    values = {
        "normal": draw.normal(size=20_480),
        "heavy": draw.standard_cauchy(20_480),
        "ties": np.where(draw.uniform(size=20_480) < 0.3, 0.0, draw.normal(size=20_480)),
        "sorted": np.sort(draw.normal(size=20_480)),
    }[shape]
    nodes = [
        CountedColumn.of(Column("a", "numbers", part), None) for part in values.reshape(64, -1)
    ]
    levels = 1  # of merges: the parts themselves, and nodes of eight
    while len(nodes) > 1:
        merged = []
        for start in range(0, len(nodes), 8):
            first, *others = nodes[start : start + 8]
            merged.append(first.plus(*others))
        nodes, levels = merged, levels + 1
    (found,) = nodes
    assert found.rows.size <= 200
    assert found.rows.sum() == 20_480
    assert found.column.values[[0, -1]].tolist() == [values.min(), values.max()]
    assert found.moments.mean == pytest.approx(values.mean(), rel=1e-9, abs=1e-12)
    assert found.moments.sd == pytest.approx(values.std(), rel=1e-9)
    ordered = np.sort(values)
    ends = np.cumsum(found.rows)
    above = np.searchsorted(ordered, found.column.values, side="right")
    below = np.searchsorted(ordered, found.column.values, side="left")
    away = np.maximum(np.maximum(below - ends, (ends - found.rows) - above), 0)
    assert away.max() <= levels / 100 * 20_480
    assert found.different == pytest.approx(np.unique(values).size, rel=0.1)


def test_many_texts_are_the_commonest(monkeypatch):
    monkeypatch.setattr(counted_columns, "MOST_VALUES", 40)
    draw = np.random.default_rng(0)
    often = draw.uniform(size=n) < 0.5
    words = np.where(
        often,
        [f"often {number}" for number in draw.integers(0, 9, n)],
        [f"seldom {number}" for number in draw.integers(0, 99, n)],
    )
    many = pd.DataFrame({"word": words, "x": draw.normal(size=n)})
    encoder = TableEncoder(max_levels=5).fit(dd.from_pandas(many, npartitions=6), y)
    (word, _) = encoder._encoded
    assert {f"often {i}" for i in range(9)} <= set(word.parts[0].levels)
    assert len(word.parts[0].levels) <= 40
    assert "about" in word.why


def test_identifiers_of_many_rows(monkeypatch):
    monkeypatch.setattr(counted_columns, "MOST_VALUES", 100)
    monkeypatch.setattr(counted_columns, "POINTS", 50)
    draw = np.random.default_rng(0)
    many = pd.DataFrame(
        {
            "order": draw.permutation(5000),
            "name": [f"row {i}" for i in draw.permutation(5000)],
            "count": draw.integers(0, 400, 5000),
        }
    )
    encoder = TableEncoder().fit(dd.from_pandas(many, npartitions=6))
    assert [column.kind for column in encoder.columns_] == ["identifier", "identifier", "number"]


def test_what_does_not_mix():
    zoned = pd.DataFrame({"t": pd.to_datetime(["2024-01-01", "2024-05-01"]), "x": [1.0, 2.0]})
    other = zoned.assign(t=["word", "another"])
    rows = dd.from_delayed(
        [dask.delayed(zoned), dask.delayed(other)], meta=zoned[:0], verify_meta=False
    )
    with pytest.raises(TypeError, match="column 't' holds times in some partitions and words in"):
        TableEncoder().fit(rows)


def test_numbers_in_one_partition_and_words_in_another_are_words():
    numbers = pd.DataFrame({"a": [1.0, 2.0, 1.0, 2.0], "x": [1.0, 2.0, 5.0, 3.0]})
    words = numbers.assign(a=["1", "many", "1", "many"])
    rows = dd.from_delayed(
        [dask.delayed(numbers), dask.delayed(words)], meta=numbers[:0], verify_meta=False
    )
    encoder = TableEncoder(rare=1).fit(rows)
    assert encoder._encoded[0].parts[0].levels == ("1", "2", "many")


# --- estimators ---

used = table[["size", "rooms", "kind", "town"]]
target = np.log(table["size"].fillna(1.0)) + (table["kind"] == "oak")


def parts_of(frame):
    return dd.from_pandas(frame, npartitions=7)


def test_few_rows_are_the_table_in_memory():
    expected = TableRegressor("linear").fit(used, target, weights)
    found = TableRegressor("linear").fit(parts_of(used), target, da.from_array(weights))
    assert_array_equal(found.coef_, expected.coef_)
    assert_array_equal(found.predict(parts_of(used)).compute(), expected.predict(used))


@pytest.fixture
def many_rows(monkeypatch):
    """A pool of fewer rows than the table has."""
    monkeypatch.setattr(table_fit, "_STREAMED_ROWS", 100)
    monkeypatch.setattr(table_fit, "POOL_ROWS", 300)


@pytest.mark.thorough
def test_many_rows_stay_in_their_partitions(many_rows):
    in_memory = TableRegressor("linear").fit(used, target)
    model = TableRegressor("linear").fit(parts_of(used), da.from_array(target.to_numpy()))
    assert model.feature_names_in_.tolist() == list(used)
    assert_allclose(model.predict(used), in_memory.predict(used), atol=0.4)
    assert np.corrcoef(model.predict(used), target)[0, 1] > 0.9
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            again = TableRegressor("linear").fit(parts_of(used), target)
        assert_array_equal(again.coef_, model.coef_)


@pytest.mark.thorough
def test_classes_of_many_rows(many_rows):
    words = np.where(target > 0.5, "high", "low")
    model = TableClassifier("gaussian", centers=30).fit(parts_of(used), words)
    assert (model.predict(parts_of(used)).compute() == words).mean() > 0.85
    assert model.feature_importances_.shape == (4,)
