"""Intervals as they are drawn, against those that were computed."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from squareone import RLSRegressor
from squareone.kernels import Gaussian
from squareone.report import IntervalDisplay

KERNEL = Gaussian(sigma=2.0)


@pytest.fixture
def model(data):
    return RLSRegressor(KERNEL, alpha=0.3).fit(data[0], data[1][:, 0])


def test_rows_are_sorted_by_their_prediction(model, data):
    X, Y = data
    display = IntervalDisplay.from_estimator(model, X, Y[:, 0], coverage=0.8, method="jackknife")
    order = np.argsort(model.predict(X))
    ends = model.predict_interval(X, 0.8, "jackknife")
    assert_array_equal(display.predictions, model.predict(X)[order])
    assert_array_equal(display.targets, Y[order, 0])
    assert_array_equal(np.column_stack([display.low, display.high]), ends[order])
    assert_array_equal(display.positions, np.arange(1, 61))
    inside = display.covered()
    assert_array_equal(inside, (ends[order, 0] <= Y[order, 0]) & (Y[order, 0] <= ends[order, 1]))
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "80 % interval, jackknife" in texts
    assert f"target inside: {inside.sum()} of 60, {100 * inside.mean():.0f} %" in texts
    lines = {line.get_marker(): line for line in display.ax_.lines}
    assert_array_equal(lines["x"].get_ydata(), display.targets[~inside])


def test_targets_are_not_needed(model, data):
    display = IntervalDisplay.from_estimator(model, data[0])
    assert display.targets is None
    assert display.ax_.get_ylabel() == "prediction"
    with pytest.raises(ValueError, match="no targets: pass y"):
        display.covered()


def test_a_feature_by_number_or_name(data):
    X, Y = data
    frame = pd.DataFrame(X, columns=["one", "two", "three"])
    model = RLSRegressor(KERNEL, alpha=0.3).fit(frame, Y[:, 0])
    for feature in (1, "two"):
        display = IntervalDisplay.from_estimator(model, frame, feature=feature)
        assert_array_equal(display.positions, np.sort(X[:, 1]))
        assert_array_equal(display.predictions, model.predict(frame)[np.argsort(X[:, 1])])
        assert display.ax_.get_xlabel() == "two"
        assert not display.joined
    for wrong in ("four", 3, -1):
        with pytest.raises(ValueError, match=r"feature=.* a column of X"):
            IntervalDisplay.from_estimator(model, frame, feature=wrong)


def test_features_without_names(model, data):
    display = IntervalDisplay.from_estimator(model, data[0], feature=2)
    assert display.ax_.get_xlabel() == "feature 2"
    with pytest.raises(ValueError, match="none: X has no column names"):
        IntervalDisplay.from_estimator(model, data[0], feature="two")


def test_the_only_feature_is_the_axis(data):
    X, Y = data
    model = RLSRegressor(KERNEL, alpha=0.3).fit(X[:, :1], Y[:, 0])
    display = IntervalDisplay.from_estimator(model, X[:, :1].tolist(), Y[:, 0])
    assert_array_equal(display.positions, np.sort(X[:, 0]))
    assert display.joined
    assert display.ax_.get_xlabel() == "x"


def test_a_feature_is_shown_as_it_came_and_not_as_a_pipeline_made_it(data):
    X, Y = data
    model = make_pipeline(StandardScaler(), RLSRegressor(KERNEL, alpha=0.3)).fit(X, Y[:, 0])
    display = IntervalDisplay.from_estimator(model, X, feature=0)
    assert_array_equal(display.positions, np.sort(X[:, 0]))
    assert_allclose(display.predictions, model.predict(X)[np.argsort(X[:, 0])])


def test_one_of_several_targets(data):
    X, Y = data
    model = RLSRegressor(KERNEL, alpha=0.3).fit(X, Y)
    display = IntervalDisplay.from_estimator(model, X, Y, target=1)
    order = np.argsort(model.predict(X)[:, 1])
    assert_array_equal(display.targets, Y[order, 1])
    assert_array_equal(display.high, model.predict_interval(X)[order, 1, 1])
    with pytest.raises(ValueError, match="one target at a time"):
        IntervalDisplay.from_estimator(model, X, Y)


def test_targets_of_another_length_are_refused(model, data):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        IntervalDisplay.from_estimator(model, data[0], data[1][:-1, 0])
    assert plt.get_fignums() == []
