"""Predictions from files and generators, and into files."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian
from squareone.rows import GeneratedRows, open_rows
from tests.estimators.data import refused
from tests.estimators.stream_cases import SOLVERS, X, d, m, n, regressor, two, y
from tests.rows.streams import STREAMS

pytestmark = [
    pytest.mark.filterwarnings("ignore::squareone.errors.EstimateWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]


# --- predictions ---


@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)
@pytest.mark.parametrize("solver", ["rectangle", "gram", "spectral"])
def test_every_kind_of_prediction(make, solver, tmp_path):
    stream = make(X, tmp_path)
    rows = stream[:]
    model = regressor(solver, alpha=0.1).fit(X, y)
    for method in ("predict", "predict_interval"):
        values = getattr(model, method)(stream)
        assert_allclose(values, getattr(model, method)(rows), rtol=1e-10, atol=1e-10)
    settings = {"kernel": Gaussian(1.0), **SOLVERS[solver], "alpha": 0.1}
    classifier = RLSClassifier(**settings).fit(X, two)
    for method in ("predict", "predict_proba", "decision_function"):
        values = getattr(classifier, method)(stream)
        assert_allclose(values, getattr(classifier, method)(rows), rtol=1e-10, atol=1e-10)


def read(path):
    """What was written, (n,) or (n, k), and the names of its columns."""
    if path.suffix == ".npy":
        return np.load(path), None
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    values = table.to_numpy()
    return values[:, 0] if values.shape[1] == 1 else values, list(table.columns)


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".parquet"])
@pytest.mark.parametrize("given", ["stream", "path", "array", "sparse"])
def test_predictions_into_files(suffix, given, tmp_path, monkeypatch):
    monkeypatch.setattr("squareone.export.prediction_file._FILE_ROWS", 32)
    stream = STREAMS["npy"](X, tmp_path)
    rows = {"stream": stream, "path": tmp_path / "rows.npy", "array": X, "sparse": csr_array(X)}
    path = tmp_path / f"out{suffix}"
    model = regressor("rectangle", alpha=0.1).fit(X, y)
    model.predict_file(rows[given], path)
    values, names = read(path)
    assert_allclose(values, model.predict(X), rtol=1e-9)
    assert names in (None, ["prediction"])
    model.predict_file(rows[given], path, method="predict_interval")
    values, names = read(path)
    assert_allclose(values, model.predict_interval(X), rtol=1e-9)
    assert names in (None, ["lower", "upper"])


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".parquet"])
@pytest.mark.parametrize("kind", ["parquet", "svmlight", "generated"])
def test_classes_into_files(suffix, kind, tmp_path):
    stream = STREAMS[kind](X, tmp_path)
    labels = np.array(["elm", "oak", "yew"])[np.digitize(y, [0.5, 1.5])]
    model = RLSClassifier(Gaussian(1.0), 0.1, solver="pcg", centers=m, tol=1e-8).fit(stream, labels)
    path = tmp_path / f"out{suffix}"
    for method in ("predict_proba", "decision_function"):
        model.predict_file(stream, path, method=method)
        values, names = read(path)
        assert_allclose(values, getattr(model, method)(stream), rtol=1e-9, atol=1e-12)
        assert names in (None, [f"{method}_{name}" for name in ("elm", "oak", "yew")])
    if suffix != ".npy":  # which has numbers only
        model.predict_file(stream, path)
        assert_array_equal(read(path)[0], model.predict(stream))


def test_several_targets_into_files(tmp_path):
    model = regressor("rectangle", alpha=0.1).fit(X, np.column_stack([y, X[:, 0]]))
    model.predict_file(X, tmp_path / "out.csv")
    values, names = read(tmp_path / "out.csv")
    assert names == ["predict_0", "predict_1"]
    assert_allclose(values, model.predict(X), rtol=1e-9)


def test_intervals_of_several_targets_into_files(tmp_path):
    model = regressor("rectangle", alpha=0.1).fit(X, np.column_stack([y, X[:, 0]]))
    model.predict_file(X, tmp_path / "out.csv", method="predict_interval")
    assert read(tmp_path / "out.csv")[0].shape == (n, 4)


FRAME = pd.DataFrame(X, columns=list("abcd"))
OTHERS = FRAME.assign(kind="oak", e=1.0)[["d", "kind", "b", "e", "a", "c"]]


@pytest.fixture
def named(tmp_path):
    """A model that was fitted to columns of a file."""
    FRAME.to_parquet(tmp_path / "rows.parquet")
    return regressor("rectangle", alpha=0.1).fit(open_rows(tmp_path / "rows.parquet"), y)


@pytest.mark.filterwarnings("error:X does not have valid feature names")
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
@pytest.mark.parametrize(
    "rows", [FRAME, FRAME[list("dcba")], OTHERS], ids=["same", "turned", "more"]
)
def test_columns_of_a_file_are_found_by_their_names(named, rows, suffix, tmp_path):
    """In any order, and among others, which may be texts: those are not looked at."""
    path = tmp_path / f"new{suffix}"
    if suffix == ".csv":
        rows.to_csv(path, index=False)
    else:
        getattr(rows, f"to_{suffix[1:]}")(path)
    named.predict_file(path, tmp_path / "out.npy")
    assert_allclose(np.load(tmp_path / "out.npy"), named.predict(FRAME))


@pytest.mark.filterwarnings("error:X does not have valid feature names")
@pytest.mark.parametrize("given", ["stream", "sparse stream", "pandas", "polars"])
def test_columns_of_rows_are_found_by_their_names(named, given, tmp_path, monkeypatch):
    monkeypatch.setattr("squareone.export.prediction_file._FILE_ROWS", 32)
    some = OTHERS.drop(columns="kind")
    names, numbers = list(some), some.to_numpy()
    rows = {
        "stream": GeneratedRows(lambda: [numbers], numbers.shape, feature_names=names),
        "sparse stream": GeneratedRows(
            lambda: [csr_array(numbers)], numbers.shape, sparse=True, feature_names=names
        ),
        "pandas": OTHERS,
        "polars": pl.from_pandas(OTHERS),
    }
    named.predict_file(rows[given], tmp_path / "out.npy")
    assert_allclose(np.load(tmp_path / "out.npy"), named.predict(FRAME))


def test_columns_that_are_missing_are_named(named, tmp_path):
    path = tmp_path / "new.csv"
    FRAME.rename(columns={"a": "A ", "c": "weight"}).to_csv(path, index=False)
    with refused(ValueError, "'new.csv' has no columns 'a' (is 'A ' meant?), 'c': its columns are"):
        named.predict_file(path, tmp_path / "out.npy")
    with refused(ValueError, "X has no column 'b': its columns are 'a', 'c', 'd'"):
        named.predict_file(FRAME[list("acd")], tmp_path / "out.npy")
    pd.DataFrame({"x": [1.0], "z": [2.0]}).to_csv(path, index=False)
    with refused(ValueError, "no columns 'a', 'b', 'c', 'd'", "open_rows(path, transformer=...)"):
        named.predict_file(path, tmp_path / "out.npy")
    assert not (tmp_path / "out.npy").exists()


def test_predict_itself_compares_names(named, tmp_path):
    turned = FRAME[list("dcba")]
    turned.to_parquet(tmp_path / "turned.parquet")
    for rows in (turned, open_rows(tmp_path / "turned.parquet")):
        with refused(ValueError, "feature names", "order"):
            named.predict(rows)


def test_a_model_without_names(tmp_path):
    """A file with as many columns is taken as it is; with others somebody has to choose."""
    model = regressor("rectangle", alpha=0.1).fit(X, y)
    FRAME.to_csv(tmp_path / "same.csv", index=False)
    model.predict_file(tmp_path / "same.csv", tmp_path / "out.npy")
    assert_allclose(np.load(tmp_path / "out.npy"), model.predict(X))
    FRAME.assign(y=y).to_csv(tmp_path / "more.csv", index=False)
    with refused(ValueError, "['a', 'b', 'c', 'd', 'y']", "4 features without names", "columns="):
        model.predict_file(tmp_path / "more.csv", tmp_path / "out.npy")


def test_what_cannot_be_written(tmp_path):
    model = regressor("rectangle", alpha=0.1).fit(X, y)
    with refused(ValueError, "method='score'", '"predict"'):
        model.predict_file(X, tmp_path / "out.npy", method="score")
    with refused(ValueError, "method='predict_proba'", '"predict"', '"predict_interval"'):
        model.predict_file(X, tmp_path / "out.npy", method="predict_proba")
    with refused(ValueError, ".npy", ".csv", ".parquet"):
        model.predict_file(X, tmp_path / "out.txt")
    with pytest.raises(FileNotFoundError):
        model.predict_file(tmp_path / "nothing.npy", tmp_path / "out.npy")
    assert list(tmp_path.iterdir()) == []


def test_a_file_appears_when_it_is_complete(tmp_path, monkeypatch):
    monkeypatch.setattr("squareone.export.prediction_file._FILE_ROWS", 32)
    model = regressor("rectangle", alpha=0.1).fit(X, y)
    (tmp_path / "out.csv").write_text("before\n")
    rows = X.copy()
    rows[100, 2] = np.nan
    with refused(ValueError, "row 100", "column 2"):
        model.predict_file(GeneratedRows(lambda: iter([rows]), (n, d)), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "before\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


@pytest.mark.parametrize("opened", [False, True])
def test_predictions_do_not_replace_their_rows(tmp_path, opened):
    path = tmp_path / "rows.csv"
    rng = np.random.default_rng(0)
    table = rng.standard_normal((20, 2))
    np.savetxt(path, table, delimiter=",", header="a,b", comments="")
    before = path.read_bytes()
    model = RLSRegressor("linear").fit(table, table[:, 0])
    with pytest.raises(ValueError, match="give another file"):
        model.predict_file(open_rows(path) if opened else path, path)
    assert path.read_bytes() == before
