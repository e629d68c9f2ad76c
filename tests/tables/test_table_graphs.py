"""Estimators of tables as ONNX graphs: a column is an input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from squareone import RLSRegressor, TableClassifier, TableRegressor, to_onnx
from squareone.export.graph import Graph
from squareone.kernels import Gaussian, Laplacian
from squareone.tables import TableEncoder
from squareone.tables.graph_inputs import _interpolated
from tests.estimators.data import refused

pd = pytest.importorskip("pandas")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

rng = np.random.default_rng(0)
n = 80
flats = pd.DataFrame(
    {
        "size": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(30, 200, n)),
        "rooms": rng.integers(1, 6, n),
        "town": rng.choice(["Bari", "Pisa", "Rome", None], n),
        "street": [f"s{k}" for k in rng.integers(0, 35, n)],
        "garden": rng.choice(["yes", "no"], n),
        "state": pd.Categorical(
            rng.choice(["old", "fair", "new"], n), ["old", "fair", "new"], ordered=True
        ),
        "lift": rng.random(n) < 0.5,
        "cellar": pd.array(rng.choice([True, False, None], n), dtype="boolean"),
        "pool": rng.choice([1.0, np.nan], n),
        "country": "IT",
        "flat_id": rng.permutation(n),
    }
)
flats.loc[:1, "town"] = ["Lucca", "Lecce"]  # rare
in_rome = np.where(flats["town"] == "Rome", 2.0, 1.0)
rent = flats["size"].fillna(100) * in_rome + 30.0 * flats["lift"]
dear = np.where(rent > rent.median(), "dear", "cheap")
WORDS = ["town", "street", "garden", "state"]


def inputs_of(frame, dtype):
    """As the guide says."""
    found = {}
    for name in frame.columns.drop(["country", "flat_id"]):
        column = frame[name]
        if name in WORDS:
            found[name] = column.astype(object).where(column.notna(), "").to_numpy(dtype=object)
        else:
            found[name] = column.astype("Float64").to_numpy(dtype, na_value=np.nan)
    return found


def run(path, frame, dtype=np.float64):
    session = onnxruntime.InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs_of(frame, dtype)), strict=True))


def later():
    """New rows: unknown levels, gaps where there were none, numbers beyond those of the fit."""
    frame = flats.sample(40, random_state=1).reset_index(drop=True)
    frame["size"] = frame["size"] * 1.7 - 20
    frame["rooms"] = frame["rooms"].astype(float)
    frame.loc[0, ["town", "street", "garden"]] = ["Siena", "s99", "maybe"]
    frame.loc[1, "rooms"] = np.nan
    frame.loc[2, ["town", "street", "garden"]] = [None, " ", None]
    return frame


@pytest.mark.parametrize(
    ("kernel", "scaling"),
    [
        ("linear", "standard"),
        (Gaussian(2.0), "quantile"),
        (Gaussian(2.0), "pieces"),
        pytest.param(Laplacian(3.0) + Gaussian(2.0), "quantile", marks=pytest.mark.thorough),
        pytest.param("linear", "quantile", marks=pytest.mark.thorough),
    ],
    ids=str,
)
def test_a_regressor(kernel, scaling, tmp_path):
    encoder = TableEncoder(scaling=scaling)
    model = TableRegressor(kernel, 0.1, encoder=encoder).fit(flats, rent)
    model.to_onnx(tmp_path / "model.onnx")
    for frame in (flats, later()):
        found = run(tmp_path / "model.onnx", frame)["prediction"]
        assert_allclose(found, model.predict(frame), rtol=1e-9, atol=1e-9)


def test_a_classifier(tmp_path):
    model = TableClassifier(Gaussian(2.0), 0.1, encoder=TableEncoder()).fit(flats, dear)
    model.to_onnx(tmp_path / "model.onnx")
    found = run(tmp_path / "model.onnx", later())
    assert_array_equal(found["label"], model.predict(later()))
    assert_allclose(found["decision_function"], model.decision_function(later()), atol=1e-9)
    assert_allclose(found["probabilities"], model.predict_proba(later()), atol=1e-9)


def test_in_single_precision(tmp_path):
    model = TableRegressor(Gaussian(2.0), 1.0, encoder=TableEncoder()).fit(flats, rent)
    model.to_onnx(tmp_path / "model.onnx", dtype=np.float32)
    found = run(tmp_path / "model.onnx", later(), np.float32)["prediction"]
    assert found.dtype == np.float32
    assert_allclose(found, model.predict(later()), rtol=1e-3)
    encoder = TableEncoder(dtype=np.float32)
    model = TableRegressor(Gaussian(2.0), 1.0, encoder=encoder).fit(flats, rent)
    model.to_onnx(tmp_path / "model.onnx")
    assert_allclose(
        run(tmp_path / "model.onnx", later(), np.float32)["prediction"],
        model.predict(later()),
        rtol=1e-3,
    )


def test_a_table_without_names(tmp_path):
    X = flats[["size", "town"]].to_numpy(dtype=object)
    model = TableRegressor(Gaussian(2.0), 1.0, encoder=TableEncoder()).fit(X, rent)
    model.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    names = [each.name for each in session.get_inputs()]
    assert names == ["x0", "x1"]
    words = np.array([v if isinstance(v, str) else "" for v in X[:, 1]], dtype=object)
    (found,) = session.run(None, {"x0": X[:, 0].astype(float), "x1": words})
    assert_allclose(found, model.predict(X), rtol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_linear_between_knots(count):
    knots = np.sort(rng.normal(size=count))
    scores = np.sort(rng.normal(size=count))
    x = np.concatenate([[-9.0, 9.0], knots, (knots[1:] + knots[:-1]) / 2])[:, None]
    graph = Graph("test")
    rows = graph.input("x", np.dtype(np.float64), ("rows", 1))
    graph.output("y", _interpolated(rows, knots, scores), ("rows", 1))
    opset = onnx.helper.make_opsetid("", 17)
    made = onnx.helper.make_model(graph.proto(), opset_imports=[opset], ir_version=8)
    (found,) = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    assert_allclose(found[:, 0], np.interp(x[:, 0], knots, scores), rtol=1e-12)


@pytest.mark.parametrize(
    ("column", "encoder", "fragments"),
    [
        ({"listed": pd.date_range("2024-01-01", periods=n)}, {}, ["'listed' has dates"]),
        ({}, {"many_levels": "hash"}, ["'street' has words that are hashed"]),
    ],
)
def test_what_is_refused(column, encoder, fragments, tmp_path):
    X = flats.assign(**column)
    model = TableRegressor(Gaussian(2.0), 1.0, encoder=TableEncoder(**encoder)).fit(X, rent)
    with refused(TypeError, *fragments, "RLSRegressor", "model.encoder_.transform(X)"):
        model.to_onnx(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_names_that_a_graph_has_itself(tmp_path):
    X = flats.rename(columns={"size": "prediction"})
    model = TableRegressor(Gaussian(2.0), 1.0, encoder=TableEncoder()).fit(X, rent)
    with refused(TypeError, "column 'prediction' would be an input", "call the column"):
        model.to_onnx(tmp_path / "model.onnx")
    numbers = flats[["size", "rooms"]].fillna(0.0)
    pipeline = make_pipeline(StandardScaler(), TableRegressor(Gaussian(2.0), 1.0))
    pipeline.fit(numbers, rent)
    with refused(TypeError, "the step StandardScaler before a TableRegressor"):
        to_onnx(pipeline, tmp_path / "model.onnx")


def test_what_to_export_instead(tmp_path):
    """As the error says."""
    X = flats.assign(listed=pd.date_range("2024-01-01", periods=n))
    model = TableRegressor(Gaussian(2.0), 1.0, encoder=TableEncoder()).fit(X, rent)
    rows = model.encoder_.transform(X)
    plain = RLSRegressor(kernel=model.kernel_, alpha=model.alpha_).fit(rows, rent)
    plain.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, {"X": rows})
    assert_allclose(found, plain.predict(rows), rtol=1e-5)
    assert np.corrcoef(found, model.predict(X))[0, 1] > 0.95
