"""What is wrong with a file or a generator is said, with the place and the remedy."""

import importlib
import re
import subprocess
import sys

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from squareone import RLSRegressor
from squareone.rows import ArrayRows, GeneratedRows, open_rows
from tests.rows.made import some_rows
from tests.rows.streams import DENSE, STREAMS, Sliced

n, d = 40, 4


def read(stream):
    for _ in stream.blocks(7):
        pass


# --- values ---


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=str)
@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)
def test_values_that_are_not_finite(make, value, tmp_path):
    X = some_rows(n, d)
    X[23, 2] = value
    stream = make(X, tmp_path)
    name = "2" if stream.feature_names is None else "'x2'"
    kind = "missing or NaN" if np.isnan(value) else "infinite"
    said = f"row 23, column {name} of .* is {kind}: .*SimpleImputer"
    with pytest.raises(ValueError, match=said):
        read(stream)
    with pytest.raises(ValueError, match=said):
        stream[[30, 23]]


def test_large_numbers_are_finite(tmp_path):
    X = np.full((4, 2), 3e38, np.float32)
    assert DENSE["npy"](X, tmp_path)[:].max() == np.float32(3e38)


def test_columns_of_text(tmp_path):
    table = pandas.DataFrame({"size": [1.0, 2.0], "kind": ["oak", "elm"]})
    table.to_parquet(tmp_path / "t.parquet")
    table.to_feather(tmp_path / "t.feather")
    table.to_csv(tmp_path / "t.csv", index=False)
    for name in ("t.parquet", "t.feather", "t.csv"):
        with pytest.raises(ValueError, match=rf"column 'kind' of '{name}' is not numeric .*Encode"):
            open_rows(tmp_path / name)
        assert open_rows(tmp_path / name, columns=["size"]).shape == (2, 1)


def test_columns_of_times(tmp_path):
    times = pandas.DataFrame({"when": pandas.to_datetime(["2024-01-01", "2024-01-02"])})
    times.to_parquet(tmp_path / "t.parquet")
    times.to_csv(tmp_path / "t.csv", index=False)
    for name in ("t.parquet", "t.csv"):
        with pytest.raises(ValueError, match=r"column 'when' .* is not numeric"):
            open_rows(tmp_path / name)


def test_text_below_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("squareone.rows.table_files._BYTES", 64)
    lines = [f"{i},{i}.5" for i in range(100)]
    (tmp_path / "late.csv").write_text("\n".join(["a,b", *lines, "7,oops"]) + "\n")
    stream = open_rows(tmp_path / "late.csv")
    with pytest.raises(ValueError, match=r"'late.csv' cannot be read .*oops.*Numbers are expected"):
        read(stream)
    (tmp_path / "mixed.csv").write_text("\n".join(["a,b", *lines, "7.25,1e3"]) + "\n")
    assert open_rows(tmp_path / "mixed.csv")[[100]].tolist() == [[7.25, 1000.0]]


def test_text_in_arrays(tmp_path):
    with pytest.raises(ValueError, match="is not numeric"):
        ArrayRows(np.array([["a", "b"]]))
    np.save(tmp_path / "o.npy", np.array([["a", 1.0]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"'o.npy' cannot be mapped"):
        open_rows(tmp_path / "o.npy")
    blocks = {
        "texts": np.array([["a", "b"]]),
        "objects": np.array([[1.0, "b"]], dtype=object),
        "complex": np.array([[1j, 2.0]]),
    }
    for block in blocks.values():
        with pytest.raises(ValueError, match="is not numeric"):
            read(GeneratedRows(lambda block=block: [block], (1, 2)))
    with pytest.raises(ValueError, match="masked array"):
        read(GeneratedRows(lambda: [np.ma.masked_equal(np.ones((1, 2)), 1.0)], (1, 2)))


INTEGERS = {
    "int8": (np.int8, np.float64),
    "int64": (np.int64, np.float64),
    "bool": (np.bool_, np.float64),
    "float16": (np.float16, np.float32),
}


@pytest.mark.parametrize(("given", "expected"), INTEGERS.values(), ids=INTEGERS)
@pytest.mark.parametrize("kind", ["npy", "parquet", "arrow"])
def test_other_types(kind, given, expected, tmp_path):
    X = np.array([[0, 1, 1], [1, 0, 1]]).astype(given)
    stream = DENSE[kind](X, tmp_path)
    assert stream.dtype == expected
    assert stream[:].tolist() == X.astype(float).tolist()
    with pytest.raises(ValueError, match="float32 or float64 is expected"):
        ArrayRows(X, dtype="int32")


def test_nullable_columns(tmp_path):
    table = pandas.DataFrame({"a": pandas.array([1, None], "Int64"), "b": [True, False]})
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"row 1, column 'a' of 't.parquet' is missing"):
        read(open_rows(tmp_path / "t.parquet"))
    table = pandas.DataFrame({"b": pandas.array([True, None], "boolean")})
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"row 1, column 'b' of 't.parquet' is missing"):
        read(open_rows(tmp_path / "t.parquet"))


# --- lengths ---


@pytest.mark.parametrize("other", [n - 9, n + 9], ids=["shorter", "longer"])
@pytest.mark.parametrize("kind", ["npy", "parquet", "feather", "arrow", "csv", "tsv", "svmlight"])
def test_a_file_that_changed(kind, other, tmp_path):
    stream = STREAMS[kind](some_rows(n, d), tmp_path)
    STREAMS[kind](some_rows(other, d), tmp_path)
    with pytest.raises(ValueError, match=r"(?s)40.*open it again"):
        read(stream)
    with pytest.raises(ValueError, match="open it again"):
        stream[[n - 1]]


def test_a_dataset_that_grew():
    dataset = Sliced(some_rows(n, d))
    stream = ArrayRows(dataset)
    dataset.shape = (n + 1, d)
    with pytest.raises(ValueError, match="gave 41 rows where 40 were expected"):
        read(stream)


def test_a_file_that_is_gone(tmp_path):
    stream = DENSE["csv"](some_rows(n, d), tmp_path)
    (tmp_path / "rows.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no file .*rows\.csv"):
        read(stream)


def test_generators_of_another_length():
    for rows, found in ((35, "35"), (45, "at least 45")):
        stream = GeneratedRows(lambda rows=rows: [np.ones((5, 2))] * (rows // 5), (n, 2))
        with pytest.raises(ValueError, match=f"gave {found} rows where 40 were expected"):
            read(stream)
    with pytest.raises(ValueError, match="gave rows of 3 features where 2 were expected"):
        read(GeneratedRows(lambda: [np.ones((n, 3))], (n, 2)))
    with pytest.raises(TypeError, match="gave a sparse matrix where an array was expected"):
        read(GeneratedRows(lambda: [csr_array((n, 2))], (n, 2)))
    with pytest.raises(ValueError, match=r"has shape \(2,\): rows of features"):
        read(GeneratedRows(lambda: [np.ones(2)], (1, 2)))


def test_generators_that_can_be_used_once():
    def blocks():
        yield np.ones((n, 2))

    with pytest.raises(TypeError, match=r"can be read once only.*give the function that makes it"):
        GeneratedRows(blocks(), (n, 2))
    with pytest.raises(TypeError, match="a function that gives an iterator"):
        GeneratedRows([np.ones((n, 2))], (n, 2))
    once = blocks()
    stream = GeneratedRows(lambda: once, (n, 2))
    read(stream)
    with pytest.raises(ValueError, match="gave the same iterator again"):
        read(stream)


@pytest.mark.parametrize("kind", ["npy", "parquet", "feather", "csv", "svmlight", "generated"])
def test_no_rows(kind, tmp_path):
    with pytest.raises(ValueError, match="has no rows: at least one row is expected"):
        STREAMS[kind](np.empty((0, d)), tmp_path)


def test_empty_files(tmp_path):
    for name, said in {
        "e.csv": "has no rows",
        "e.svm": "has no rows",
        "e.parquet": "is no Parquet file",
        "e.arrow": "is no Arrow IPC file",
        "e.npy": "cannot be mapped|No data left",
    }.items():
        (tmp_path / name).touch()
        with pytest.raises((ValueError, EOFError), match=said):
            open_rows(tmp_path / name)


# --- names ---


def test_names_of_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        open_rows(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        open_rows(tmp_path / "folder.csv")
    with pytest.raises(ValueError, match=r"'rows.xls' cannot be opened: .*\.parquet"):
        open_rows(tmp_path / "rows.xls")


MEANT = {
    "Price": "price",
    "prize": "price",
    "house_age": "House Age",
    "HOUSEAGE": "House Age",
    "rooms ": " rooms",
    "xyz": None,
}


@pytest.mark.parametrize("name", MEANT)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_nearest_name_is_named(name, suffix, tmp_path):
    """Before anything is said of columns that are texts."""
    table = pandas.DataFrame({"price": [1.0], "House Age": [2.0], " rooms": [3.0], "kind": ["oak"]})
    path = tmp_path / f"houses{suffix}"
    table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    meant = "" if MEANT[name] is None else f" (is {MEANT[name]!r} meant?)"
    said = f"'houses{suffix}' has no column {name!r}{meant}: its columns are 'price', 'House Age'"
    for ask in ({"target": name}, {"columns": ["price", name]}):
        with pytest.raises(ValueError, match=re.escape(said)):
            open_rows(path, **ask)


def test_several_names_that_are_missing(tmp_path):
    path = DENSE["csv"](some_rows(n, d), tmp_path).path
    with pytest.raises(ValueError, match=r"no columns 'X0' \(is 'x0' meant\?\), 'age': its"):
        open_rows(path, columns=["X0", "x1", "age"])


@pytest.mark.parametrize("sign", [";", "|", "\t"])
def test_other_signs_between_names(sign, tmp_path):
    (tmp_path / "other.csv").write_text(f"a{sign}b\n1{sign}2\n")
    said = rf"first line of 'other.csv' is .*{re.escape(f'sep={sign!r}')}"
    with pytest.raises(ValueError, match=said):
        open_rows(tmp_path / "other.csv")


def test_text_that_is_not_in_utf8(tmp_path):
    (tmp_path / "latin.csv").write_bytes("size,kind\n1.0,K\xf6ln\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"'latin.csv' cannot be read .*UTF-8 is expected"):
        open_rows(tmp_path / "latin.csv")


def test_a_transformer_that_has_seen_the_target(tmp_path):
    table = pandas.DataFrame({"size": [1.0, 2.0], "y": [1.0, 2.0]})
    table.to_csv(tmp_path / "t.csv", index=False)
    scaler = StandardScaler().fit(table)
    with pytest.raises(ValueError, match="'y' is among the features of the data frame that the tr"):
        open_rows(tmp_path / "t.csv", "y", transformer=scaler)


@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)
def test_steps_of_a_pipeline_say_what_to_do(make, tmp_path):
    """A stream does not become an array in passing."""
    stream = make(some_rows(n, d), tmp_path)
    said = r"is read block by block.*transformer=steps.*X\[:\] is an array"
    with pytest.raises(TypeError, match=said):
        make_pipeline(StandardScaler(), RLSRegressor("linear")).fit(stream, np.arange(n))
    with pytest.raises(TypeError, match=said):
        np.asarray(stream)


def test_names_of_columns(tmp_path):
    for kind in ("parquet", "feather", "csv"):
        path = DENSE[kind](some_rows(n, d), tmp_path).path
        with pytest.raises(ValueError, match="has no column 'y': its columns are 'x0', 'x1'"):
            open_rows(path, "y")
        with pytest.raises(ValueError, match="has no column 'age'"):
            open_rows(path, columns=["x0", "age"])
        with pytest.raises(ValueError, match="several columns named x0"):
            open_rows(path, columns=["x0", "x0"])
        with pytest.raises(ValueError, match="target 'x0' is among the features"):
            open_rows(path, "x0", columns=["x0", "x1"])
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    with pytest.raises(ValueError, match=r"'twice.csv' has several columns named a"):
        open_rows(tmp_path / "twice.csv")
    (tmp_path / "nameless.csv").write_text("1,2\n3,4\n")
    with pytest.raises(ValueError, match=r"first line of 'nameless.csv' has numbers \(1, 2\)"):
        open_rows(tmp_path / "nameless.csv")


def test_names_of_features():
    for make in (
        lambda: ArrayRows(np.ones((3, 2)), feature_names=["a"]),
        lambda: GeneratedRows(list, (3, 2), feature_names=["a"]),
    ):
        with pytest.raises(ValueError, match="1 names were given for 2 features"):
            make()


def test_arguments_without_a_meaning(tmp_path):
    stream = DENSE["npy"](some_rows(n, d), tmp_path)
    path = tmp_path / "rows.npy"
    with pytest.raises(ValueError, match=r"n_features has no meaning for \.npy"):
        open_rows(path, n_features=3)
    with pytest.raises(ValueError, match="column 4 was asked for: there are 4"):
        open_rows(path, 4)
    with pytest.raises(ValueError, match="among the features"):
        open_rows(path, 1, columns=[0, 1])
    with pytest.raises(ValueError, match="blocks of at least one row"):
        next(stream.blocks(0))
    svm = STREAMS["svmlight"](some_rows(n, d), tmp_path).path
    with pytest.raises(ValueError, match="target=True gives them"):
        open_rows(svm, "y")
    with pytest.raises(ValueError, match=r"n_features=2: 'rows.svm' has 4 features"):
        open_rows(svm, n_features=2)


def test_broken_lines(tmp_path):
    (tmp_path / "b.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(ValueError, match=r"'b.csv' cannot be read .*As many values"):
        open_rows(tmp_path / "b.csv")
    (tmp_path / "b.svm").write_text("1 1:2\n1 oops\n")
    with pytest.raises(ValueError, match=r"'b.svm' cannot be read .*Lines such as"):
        open_rows(tmp_path / "b.svm")


def test_without_the_extra(tmp_path, monkeypatch):
    path = DENSE["parquet"](some_rows(n, d), tmp_path).path
    found = importlib.import_module

    def missing(name, *rest):
        if name.startswith("pyarrow"):
            raise ModuleNotFoundError(name=name)
        return found(name, *rest)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ImportError, match=r'needs pyarrow, .*pip install "squareone\[files\]"'):
        open_rows(path)


def test_importing_squareone_imports_no_file_format():
    code = (
        "import sys, squareone.rows; print({'pyarrow.parquet', 'pyarrow.csv'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
