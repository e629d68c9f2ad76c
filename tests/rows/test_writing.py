"""Blocks written to files: what is read back is what was written, or nothing is."""

import numpy as np
import pandas
import pytest
from numpy.testing import assert_array_equal

from squareone.rows import BlockWriter, open_rows

pytest.importorskip("pyarrow")

n = 30
VALUES = {
    "numbers": np.random.default_rng(0).standard_normal(n),
    "float32": np.random.default_rng(0).standard_normal((n, 3)).astype(np.float32),
    "integers": np.arange(n) ** 2,
    "texts": np.array(["oak", 'a "tree"', "elm, or\nso"] * 10),
    "objects": np.array(["oak", "elm", "ash"] * 10, dtype=object),
}


def write(path, values, size=7, rows=n):
    columns = [f"y{i}" for i in range(values.shape[1])] if values.ndim == 2 else ["y"]
    with BlockWriter(path, columns, rows) as file:
        for start in range(0, len(values), size):
            file.write(values[start : start + size])


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("kind", ["npy", "csv", "parquet"])
def test_read_back(values, kind, tmp_path):
    path = tmp_path / f"out.{kind}"
    path.write_text("what was there before")
    if kind == "npy":
        if values.dtype.kind in "UO":
            with pytest.raises(ValueError, match=r"write texts to a \.csv or \.parquet file"):
                write(path, values)
            assert path.read_text() == "what was there before"
            return
        write(path, values)
        found = np.load(path)
        assert found.dtype == values.dtype
        assert_array_equal(found, values)
    else:
        write(path, values)
        reader = {"csv": pandas.read_csv, "parquet": pandas.read_parquet}[kind]
        found = reader(path)
        assert list(found.columns) == (["y0", "y1", "y2"] if values.ndim == 2 else ["y"])
        if values.dtype == np.float32:
            found = found.astype(np.float32)
        assert_array_equal(found.to_numpy().reshape(values.shape), values)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("kind", ["npy", "csv", "parquet"])
def test_whatever_goes_wrong_leaves_the_old_file(kind, tmp_path):
    path = tmp_path / f"out.{kind}"
    path.write_text("what was there before")
    values = np.ones(10)
    with pytest.raises(ValueError, match="10 rows were written where 12 were announced"):
        write(path, values, rows=12)
    with pytest.raises(ValueError, match="more than the 8 rows"):
        write(path, values, rows=8)
    with pytest.raises(ValueError, match=r"shape \(10, 2\) was given: rows of 1 columns"):
        BlockWriter(path, ["y"], 10).write(np.ones((10, 2)))

    def interrupted():
        with BlockWriter(path, ["y"], 10) as file:
            file.write(np.ones(5))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    def mixed():
        with BlockWriter(path, ["y"], 10) as file:
            file.write(np.ones(5))
            file.write(np.array(["a"] * 5))

    with pytest.raises(ValueError, match="follows others"):
        mixed()
    assert path.read_text() == "what was there before"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_names_of_files(tmp_path):
    with pytest.raises(ValueError, match=r"ends in \.npy, \.csv, \.parquet is expected"):
        BlockWriter(tmp_path / "out.xls", ["y"], 1)
    with pytest.raises(FileNotFoundError, match="does not exist: make it first"):
        write(tmp_path / "none" / "out.npy", np.ones(3), rows=3)


@pytest.mark.parametrize("kind", ["npy", "csv", "parquet"])
def test_rows_again(kind, tmp_path):
    values = VALUES["float32"].astype(np.float64)
    write(tmp_path / f"out.{kind}", values)
    assert_array_equal(open_rows(tmp_path / f"out.{kind}")[:], values)
