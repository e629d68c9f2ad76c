"""A folder of Parquet files as one stream of rows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from squareone import RLSRegressor
from squareone.kernels import Gaussian
from squareone.rows import ParquetFolderRows, open_rows

pytest.importorskip("pyarrow")
rng = np.random.default_rng(0)
table = pd.DataFrame(rng.standard_normal((500, 3)), columns=list("abc")).assign(
    y=rng.standard_normal(500)
)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "rows.parquet"
    path.mkdir()
    for number, part in enumerate(np.array_split(np.arange(500), 4)):
        table.iloc[part].to_parquet(path / f"part{number}.parquet", row_group_size=60)
    (path / "_SUCCESS").write_text("")
    (path / "notes.txt").write_text("not read")
    return path


def test_all_files_are_read_by_name(folder):
    rows, y = open_rows(folder, "y")
    assert isinstance(rows, ParquetFolderRows)
    assert rows.feature_names == ["a", "b", "c"]
    assert_array_equal(rows[:], table[["a", "b", "c"]])
    assert_array_equal(y, table["y"])
    assert_array_equal(rows[[3, 499, 128]], table[["a", "b", "c"]].iloc[[3, 499, 128]])
    again = np.concatenate([block for _, block in rows.blocks(77)])
    assert_array_equal(again, table[["a", "b", "c"]])


def test_a_fit_is_that_of_one_file(folder, tmp_path):
    table.to_parquet(tmp_path / "all.parquet")
    settings = {"kernel": Gaussian(1.0), "alpha": 0.1, "centers": 20, "solver": "rectangle"}
    models = [
        RLSRegressor(**settings).fit(*open_rows(path, "y"))
        for path in (folder, tmp_path / "all.parquet")
    ]
    assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)


def test_partitions_by_a_column_are_refused(folder):
    (folder / "year=2024").mkdir()
    with pytest.raises(ValueError, match=r"partitions by a column \('year=2024'\).*read_parquet"):
        open_rows(folder)


def test_a_folder_without_rows(tmp_path):
    with pytest.raises(IsADirectoryError, match="without a Parquet file"):
        open_rows(tmp_path)


def test_files_have_the_same_columns(folder):
    table[:9].rename(columns={"b": "other"}).to_parquet(folder / "part9.parquet")
    with pytest.raises(ValueError, match=r"'b' is missing in 'part9.parquet'"):
        open_rows(folder)
    table[:9].assign(b="x").to_parquet(folder / "part9.parquet")
    with pytest.raises(ValueError, match=r"'b' is of type (large_)?string in 'part9.parquet'"):
        open_rows(folder)


def test_what_was_changed_is_noticed(folder):
    rows = open_rows(folder, columns=["a", "b"])
    table[:9].to_parquet(folder / "part9.parquet")
    with pytest.raises(ValueError, match="other files than it had"):
        rows[:]
    (folder / "part9.parquet").unlink()
    table[:9].to_parquet(folder / "part1.parquet")
    with pytest.raises(ValueError, match="expected"):
        rows[:]
