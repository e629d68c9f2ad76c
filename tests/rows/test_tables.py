"""Columns of tables, what a transformer makes of them, and targets."""

import pickle

import numpy as np
import pandas
import pytest
from numpy.testing import assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from squareone.rows import CSVRows, SVMLightRows, open_rows, save_rows
from tests.rows.made import in_memory, some_rows

pytest.importorskip("pyarrow")

n = 60
NAMES = ["trees.parquet", "trees.feather", "trees.csv", "trees.tsv.gz"]


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "height": rng.random(n),
            "kind": rng.choice(["oak", "elm", "ash, or so", 'a "tree"'], n),
            "age": rng.integers(1, 200, n),
            "sick": rng.random(n) < 0.5,
            "value": rng.standard_normal(n),
        }
    )


@pytest.fixture(params=NAMES)
def path(request, table, tmp_path):
    path = tmp_path / request.param
    if path.suffix == ".parquet":
        table.to_parquet(path, row_group_size=13)
    elif path.suffix == ".feather":
        table.to_feather(path, chunksize=13)
    else:
        table.to_csv(path, index=False, sep="\t" if ".tsv" in path.suffixes else ",")
    return path


# --- columns ---


def test_columns_in_the_order_asked_for(path, table):
    stream = open_rows(path, columns=["age", "sick", "height"])
    assert stream.feature_names == ["age", "sick", "height"]
    assert stream.dtype == np.float64
    expected = table[["age", "sick", "height"]].to_numpy(np.float64)
    assert_array_equal(stream[:], expected)
    assert_array_equal(stream[[50, 3]], expected[[50, 3]])


def test_in_single_precision(path, table):
    stream = open_rows(path, columns=["age", "height"], dtype="float32")
    assert stream.dtype == np.float32
    assert_array_equal(stream[:], table[["age", "height"]].to_numpy(np.float32))


def test_the_common_type_of_columns(tmp_path):
    table = pandas.DataFrame({"a": np.float32([1, 2]), "b": [True, False], "c": np.int8([1, 2])})
    table.to_parquet(tmp_path / "t.parquet")
    assert open_rows(tmp_path / "t.parquet").dtype == np.float32
    table.assign(d=[1, 2]).to_parquet(tmp_path / "t.parquet")
    assert open_rows(tmp_path / "t.parquet").dtype == np.float64


def test_an_index_is_no_feature(tmp_path, table):
    some = table[table["age"] > 50][["height", "age"]]
    assert not isinstance(some.index, pandas.RangeIndex)
    for name in ("t.parquet", "t2.parquet"):
        some.to_parquet(tmp_path / name)
        some.index.name = "tree"
        assert open_rows(tmp_path / name).feature_names == ["height", "age"]
        stream, _ = open_rows(tmp_path / name, "age")
        assert_array_equal(stream[:], some[["height"]])


# --- targets ---


def test_targets(path, table):
    stream, y = open_rows(path, "value", columns=["height", "age"])
    assert_array_equal(y, table["value"])
    assert stream.feature_names == ["height", "age"]
    stream, y = open_rows(path, "kind")
    assert stream.feature_names == ["height", "age", "sick", "value"]
    assert y.dtype.kind == "U"
    assert_array_equal(y, table["kind"].to_numpy(str))
    _, y = open_rows(path, "age", columns=["height"])
    assert y.dtype == np.int64
    assert_array_equal(y, table["age"])
    _, y = open_rows(path, ["height", "value"], columns=["age"])
    assert_array_equal(y, table[["height", "value"]])


def test_truth_values_as_targets(path, table):
    _, y = open_rows(path, "sick", columns=["height"])
    assert_array_equal(y, table["sick"])


def test_missing_targets(path, table):
    table.loc[17, "value"] = np.nan
    if path.suffix == ".parquet":
        table.to_parquet(path)
        with pytest.raises(ValueError, match=r"row 17 of the target 'value' in 'trees.parquet'"):
            open_rows(path, "value", columns=["age"])


def test_integers_before_numbers(tmp_path):
    lines = [f"{i},{i}" for i in range(50)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *lines, "50,0.5"]) + "\n")
    _, y = open_rows(tmp_path / "t.csv", "y")
    assert y.dtype == np.float64
    assert_array_equal(y, [*range(50), 0.5])


def test_targets_of_arrays(tmp_path):
    X = some_rows(20, 4)
    np.save(tmp_path / "t.npy", X)
    stream, y = open_rows(tmp_path / "t.npy", -1)
    assert_array_equal(stream[:], X[:, :3])
    assert_array_equal(y, X[:, 3])
    stream, y = open_rows(tmp_path / "t.npy", [1, 2], dtype="float32")
    assert_array_equal(stream[:], X[:, [0, 3]].astype(np.float32))
    assert_array_equal(y, X[:, [1, 2]])


def test_lines_of_any_form(tmp_path):
    """Quotes with line ends in them, empty lines, and other line ends."""
    (tmp_path / "q.csv").write_bytes(b'x,y\r\n1,"a\nb"\r\n\r\n2,c\r\n')
    stream, y = open_rows(tmp_path / "q.csv", "y")
    assert_array_equal(stream[:], [[1.0], [2.0]])
    assert_array_equal(y, ["a\nb", "c"])


def test_a_known_number_of_rows(tmp_path):
    (tmp_path / "t.csv").write_text("x\n1\n2\n3\n")
    assert CSVRows(tmp_path / "t.csv", n_rows=3).shape == (3, 1)
    with pytest.raises(ValueError, match="gave 3 rows where 4 were expected"):
        list(CSVRows(tmp_path / "t.csv", n_rows=4).blocks(2))


# --- transformers ---


def encoder(**options):
    return make_column_transformer(
        (OneHotEncoder(**options), ["kind"]), (StandardScaler(), ["height", "age"])
    )


@pytest.mark.thorough
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_encoded_columns(path, table, sparse):
    made = encoder(sparse_output=sparse)
    made.set_params(sparse_threshold=float(sparse))
    made.fit(table)
    expected = in_memory(made.transform(table))
    made.fit(table.drop(columns="value"))  # what it was fitted on is read
    stream, y = open_rows(path, "value", transformer=made)
    assert stream.sparse == sparse
    assert stream.feature_names == list(made.get_feature_names_out())
    assert_array_equal(y, table["value"])
    for size in (1, 7, n):
        for rows, block in stream.blocks(size):
            np.testing.assert_allclose(in_memory(block), expected[rows], rtol=1e-14)
    again = pickle.loads(pickle.dumps(stream))
    np.testing.assert_allclose(in_memory(again[[40, 2]]), expected[[40, 2]], rtol=1e-14)
    if not sparse:
        kept = save_rows(stream, path.with_suffix(".npy"))
        np.testing.assert_allclose(kept[:], expected, rtol=1e-14)
        assert kept.feature_names == stream.feature_names


def test_transformers_that_are_not_fitted(path):
    for made in (encoder(), make_pipeline(encoder(), StandardScaler())):
        with pytest.raises(NotFittedError, match=r"is not fitted.*fit it first, on a data frame"):
            open_rows(path, transformer=made)
    with pytest.raises(TypeError, match="a fitted scikit-learn transformer is expected"):
        open_rows(path, transformer="onehot")


def test_transformers_that_need_no_fit(path, table):
    made = FunctionTransformer(lambda frame: frame[["age"]].to_numpy() ** 2)
    stream = open_rows(path, columns=["age"], transformer=made)
    assert_array_equal(stream[:], table[["age"]].to_numpy() ** 2.0)
    assert stream.feature_names is None
    words = FunctionTransformer(lambda f: HashingVectorizer(n_features=64).transform(f["kind"]))
    stream = open_rows(path, columns=["kind"], transformer=words)
    assert stream.sparse
    expected = HashingVectorizer(n_features=64).transform(table["kind"]).toarray()
    assert_array_equal(in_memory(stream[:]), expected)


def test_a_target_that_the_transformer_was_fitted_on(path, table):
    made = encoder().fit(table)
    with pytest.raises(ValueError, match="'age' is among the features"):
        open_rows(path, "age", transformer=made)


def test_categories_that_were_not_seen(path, table):
    made = encoder().fit(table[table["kind"] != "oak"])
    with pytest.raises(ValueError, match=r"(?i)unknown categor"):
        list(open_rows(path, transformer=made).blocks(20))


# --- svmlight ---


@pytest.mark.parametrize("first", [0, 1], ids=["from 0", "from 1"])
@pytest.mark.parametrize("packed", ["", ".gz", ".bz2"])
def test_as_scikit_learn_reads_it(first, packed, tmp_path):
    import bz2
    import gzip

    X, y = some_rows(n, 6), np.arange(n) % 5 - 2.0
    opened = {"": open, ".gz": gzip.open, ".bz2": bz2.open}[packed]
    with opened(tmp_path / f"t.svm{packed}", "wb") as file:
        dump_svmlight_file(X, y, file, zero_based=not first, comment="a comment")
    stream, labels = open_rows(tmp_path / f"t.svm{packed}", True)
    known, known_labels = load_svmlight_file(str(tmp_path / f"t.svm{packed}"))
    assert stream.shape == known.shape
    assert_array_equal(in_memory(stream[:]), known.toarray())
    assert_array_equal(labels, known_labels)
    assert_array_equal(labels, y)


def test_more_features_than_the_file_has(tmp_path):
    (tmp_path / "t.svm").write_text("1 2:0.5\n\n# nothing\n-1\n")
    stream = SVMLightRows(tmp_path / "t.svm", n_features=4, dtype="float32")
    assert stream.dtype == np.float32
    assert_array_equal(in_memory(stream[:]), [[0, 0.5, 0, 0], [0, 0, 0, 0]])
