"""A column is taken for the same in every part of a table, whichever rows a part has."""

import numpy as np
import pytest

from squareone.report.comparison import Rival, compare
from squareone.report.outer_errors import outer_errors
from squareone.tables import TableEncoder, TableRegressor
from squareone.tables.columns import columns_of
from squareone.tables.encoded_rows import rows_of_table
from squareone.tables.settled_table import SettledTable, settled

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

rng = np.random.default_rng(0)
n = 60
x = rng.standard_normal(n)
y = x + 0.1 * rng.standard_normal(n)
# a number in all rows but one, a date in all but one, a code whose zeros one row has alone
DATA = {
    "x": x.tolist(),
    "odd": [str(k % 4) for k in range(n - 1)] + ["many"],
    "day": [f"2024-03-{1 + k % 9:02d}" for k in range(n - 1)] + ["later"],
    "code": [str(10115 + k % 3) for k in range(n - 1)] + ["02139"],
    "town": ["Rome" if k % 2 else "Bari" for k in range(n)],
}
KINDS = {
    "pandas": pd.DataFrame(DATA),
    "polars": pl.DataFrame(DATA),
    "arrow": pa.table(DATA),
    "list": [list(row) for row in zip(*DATA.values(), strict=True)],
    "array": np.array([list(row) for row in zip(*DATA.values(), strict=True)], dtype=object),
}
CHEAP = {"kernel": "linear", "encoder": TableEncoder(rare=1, random_state=0)}


@pytest.mark.parametrize("kind", KINDS)
def test_parts_have_the_contents_of_the_whole(kind):
    X = settled(KINDS[kind], "the test")
    assert isinstance(X, SettledTable)
    assert X.settled_words == {1, 2, 3}
    part = rows_of_table(X, np.arange(20))
    assert len(part) == 20
    encoder = TableEncoder(rare=1).fit(part)
    assert [column.kind for column in encoder.columns_] == ["number", *["words"] * 4]
    assert "leading zeros" not in encoder.columns_[3].why  # this part has none
    rest = encoder.transform(rows_of_table(X, np.arange(20, n)))
    assert rest.shape[0] == n - 20


@pytest.mark.parametrize("kind", KINDS)
def test_words_among_numbers_do_not_stop_a_fit(kind):
    model = TableRegressor(**CHEAP).fit(KINDS[kind], y)
    assert model.score(KINDS[kind], y) > 0.5


def test_words_among_numbers_do_not_stop_what_is_measured():
    found = outer_errors(TableRegressor(**CHEAP), KINDS["pandas"], y, "regression")
    assert found.explained > 0.5
    models = [Rival("mine", "", TableRegressor(**CHEAP), True)]
    found = compare(models, KINDS["arrow"], y, "regression", repeats=1)
    assert np.isfinite(found.losses).all()


def test_objects_of_different_types():
    mixed = [*range(10), True, "many"] * 5
    X = settled([[value, 1.0] for value in mixed], "the test")
    part = rows_of_table(X, np.arange(10))
    assert columns_of(part, "the test").column(0, "x0").levels == tuple("0123456789")
    assert columns_of(part, "the test").column(1, "x1").content == "numbers"


@pytest.mark.parametrize(
    "column",
    [["1.5", "2.5"], ["a", "b"], [1, 2], ["2024-01-01", "2024-02-01"], [None, "a"]],
    ids=str,
)
def test_columns_that_are_alike_in_every_part_are_left_as_they_are(column):
    X = pd.DataFrame({"a": column})
    assert settled(X, "the test") is X
    declared = pd.DataFrame({"a": pd.Categorical(["1", "many"])})
    assert settled(declared, "the test") is declared
    assert settled(np.eye(3), "the test").shape == (3, 3)
