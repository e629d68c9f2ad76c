"""Features in different units in a stream with a kernel of distances: said once, or refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

import squareone
from squareone import (
    HierarchicalClassifier,
    IncrementalRLSClassifier,
    IncrementalRLSRegressor,
    SecondOrderPerceptron,
    SelectiveSamplingClassifier,
)
from squareone.errors import ScaleWarning
from squareone.kernels import Gaussian, Linear
from tests.estimators.data import refused

rng = np.random.default_rng(0)
n = 260
UNIT = rng.normal(size=(n, 4))
MIXED = UNIT * [1.0, 0.5, 1.0, 1000.0]
y = np.sin(2 * UNIT[:, 0]) + 0.1 * rng.normal(size=n)
classes = (y > 0).astype(int)


def said(learn):
    """The warnings that are about scales; any other is an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", ScaleWarning)
        learn()
    return [str(warning.message) for warning in caught]


def in_parts(model, X, target, size):
    for start in range(0, len(X), size):
        part = slice(start, start + size)
        if size > 1:
            model.partial_fit(X[part], target[part])
        else:
            model.learn_one(X[start], target[start])
    return model


def asked(model, X, target):
    return model.partial_fit(X[:20], target[:20]), model.query(X[20:])


WAYS = {
    "at once": lambda model, X, y: model.partial_fit(X, y),
    "fit": lambda model, X, y: model.fit(X, y),
    "two epochs": lambda model, X, y: model.set_params(epochs=2).fit(X, y),
    "small parts": lambda model, X, y: in_parts(model, X, y, 30),
    "one by one": lambda model, X, y: in_parts(model.start(), X, y, 1),
    "sparse": lambda model, X, y: model.partial_fit(csr_array(X), y),
}


@pytest.mark.parametrize("kernel", ["gaussian", Gaussian(300.0), Linear() + Gaussian(300.0)])
@pytest.mark.parametrize("way", WAYS)
def test_different_units_are_said_once(kernel, way):
    model = IncrementalRLSRegressor(kernel)
    (message,) = said(lambda: WAYS[way](model, MIXED, y))
    assert message.startswith("the features have very different units: a Gaussian kernel")
    assert "sees column 3 (spread " in message
    assert "but hardly column 1 (spread 0." in message
    assert "in the first " in message
    assert "StandardScaler" in message
    assert ("sigma=[...]" in message) == (way != "sparse")
    assert not said(lambda: model.partial_fit(MIXED, y))
    assert not said(lambda: WAYS[way](IncrementalRLSRegressor(kernel), UNIT, y))


@pytest.mark.parametrize(
    "model",
    [
        IncrementalRLSClassifier("gaussian"),
        SecondOrderPerceptron("laplacian"),
        SecondOrderPerceptron(Gaussian(300.0), budget=20),
        HierarchicalClassifier("gaussian", taxonomy={"a": [0], "b": [1]}),
        HierarchicalClassifier(Gaussian(300.0), taxonomy={"a": [0], "b": [1]}),
        SelectiveSamplingClassifier(kernel="gaussian"),
        SelectiveSamplingClassifier(kernel=Gaussian(300.0)),
    ],
    ids=str,
)
def test_every_stream_of_distances(model):
    X = pd.DataFrame(MIXED, columns=["age", "height", "weight", "income"])
    (message,) = said(lambda: model.fit(X, classes))
    assert "sees 'income' (spread " in message


def test_rows_that_are_asked_about_count():
    model = SelectiveSamplingClassifier(kernel="gaussian")
    assert len(said(lambda: asked(model, MIXED, classes))) == 1


@pytest.mark.parametrize(
    "kernel", ["linear", "poly", Gaussian(np.array([1.0, 1.0, 1.0, 1000.0]))], ids=str
)
def test_others_are_not_warned_of(kernel):
    assert not said(lambda: IncrementalRLSRegressor(kernel, alpha=1e9).partial_fit(MIXED, y))


@pytest.mark.parametrize("kernel", ["gaussian", Gaussian(300.0)])
@pytest.mark.parametrize("size", [1, 30])
def test_as_an_error_it_leaves_the_stream_as_it_was(kernel, size, tmp_path):
    model = in_parts(IncrementalRLSRegressor(kernel).start(), MIXED[:90], y[:90], size)
    squareone.save(model, tmp_path / "before")
    rest = slice(90, 90 + max(size, 10))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        with refused(ScaleWarning, "different units"):
            in_parts(model, MIXED[rest], y[rest], size)
    assert model.n_rounds_ == (99 if size == 1 else 90)
    if size > 1:
        squareone.save(model, tmp_path / "after")
        assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
    done = model.n_rounds_
    assert len(said(lambda: in_parts(model, MIXED[done:], y[done:], size))) == 1
    same = IncrementalRLSRegressor(kernel).start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        in_parts(same, MIXED[:90], y[:90], size)
        in_parts(same, MIXED[90:done], y[90:done], size)
        in_parts(same, MIXED[done:], y[done:], size)
    assert_array_equal(model.predict(MIXED), same.predict(MIXED))


def test_nothing_was_begun_where_the_first_call_fails():
    model = IncrementalRLSRegressor("gaussian")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        with refused(ScaleWarning, "different units"):
            model.fit(MIXED, y)
    assert not hasattr(model, "_record")


@pytest.mark.parametrize("kernel", ["gaussian", Gaussian(300.0)])
@pytest.mark.parametrize("at", [60, 150])
def test_a_stream_from_a_file_says_it_once(kernel, at, tmp_path):
    model = IncrementalRLSRegressor(kernel)
    before = said(lambda: model.partial_fit(MIXED[:at], y[:at]))
    squareone.save(model, tmp_path / "model")
    again = squareone.load(tmp_path / "model")
    after = said(lambda: again.partial_fit(MIXED[at:], y[at:]))
    assert (len(before), len(after)) == ((0, 1) if at == 60 else (1, 0))
