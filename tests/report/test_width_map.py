"""The map of a search for the width, against the path it was drawn from."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian
from squareone.report import WidthMapDisplay
from squareone.report.width_map import _excess


def looks(display):
    """What is drawn for each number of rows; the path comes before."""
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    _, *found = [points for points in display.ax_.collections if len(points.get_offsets())]
    return dict(zip(names[:-1], found, strict=True))


def test_every_look_is_a_point_and_the_best_is_marked(data):
    X, Y = data
    model = RLSRegressor(random_state=0).fit(X, Y[:, 0])
    display = WidthMapDisplay.from_estimator(model)
    assert display.chosen == pytest.approx((model.kernel_.sigma, model.alpha_))
    path = model.path_
    assert_array_equal(display.sigmas, path["sigma"])
    assert_array_equal(display.is_path, path["sigma"] == path["sigma"][-1])
    points = looks(display)["looks on 60 rows"]
    assert_array_equal(points.get_offsets()[:, 0], path["sigma"][~display.is_path])
    (mark,) = [line for line in display.ax_.lines if line.get_marker() == "D"]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == display.chosen


def test_looks_are_compared_with_the_best_on_as_many_rows():
    scores, rows = np.array([-4.0, -2.0, -3.0, -1.0]), np.array([10, 10, 20, 20])
    assert_array_equal(_excess(scores, rows, relative=True), [1.0, 0.0, 2.0, 0.0])
    assert_array_equal(_excess(scores, rows, relative=False), [2.0, 0.0, 2.0, 0.0])
    assert_array_equal(_excess(np.array([0.0, -1.0]), rows[:2], relative=True), [0.0, 1.0])


def test_numbers_of_rows_have_forms_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1300, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=1300)
    display = WidthMapDisplay.from_estimator(RLSRegressor(random_state=0).fit(X, y))
    found = looks(display)
    assert list(found) == [f"looks on {rows} rows" for rows in ("400", "800", "1,300")]
    forms = [points.get_paths()[0].vertices.tolist() for points in found.values()]
    assert forms[0] != forms[1] != forms[2]
    handles = display.ax_.get_legend().legend_handles
    assert {handle.get_markerfacecolor() for handle in handles[:-1]} == {"white"}


def test_looks_far_away_stand_at_the_edge(data):
    X, Y = data
    model = RLSRegressor(random_state=0).fit(X, Y[:, 0])
    display = WidthMapDisplay.from_estimator(model)
    display.alphas[~display.is_path] = [1e30, 1e-30, *[model.alpha_] * (sum(~display.is_path) - 2)]
    display.plot()
    low, high = display.ax_.get_ylim()
    assert 1e-8 < low / model.alpha_ < high / model.alpha_ < 1e8
    assert sorted(text.get_text() for text in display.ax_.texts) == ["↑", "↓"]
    ends = looks(display)["looks on 60 rows"].get_offsets()[:, 1]
    assert low < ends.min() < ends.max() < high


@pytest.mark.parametrize(
    ("how", "label"),
    [
        ({}, "mean square error above the best"),
        ({"scoring": "r2"}, "r2 below the best"),
        ({"criterion": "marginal_likelihood"}, "log marginal likelihood below the best"),
    ],
)
def test_colours_say_what_they_measure(data, how, label):
    X, Y = data
    display = WidthMapDisplay.from_estimator(RLSRegressor(random_state=0, **how).fit(X, Y[:, 0]))
    assert display.figure_.axes[1].get_ylabel() == label
    assert display.excess.min() == 0
    assert display.relative == (how == {})


def test_a_given_alpha_and_a_scorer(classes):
    model = RLSClassifier(alpha=0.5, scoring="accuracy", random_state=0).fit(*classes)
    display = WidthMapDisplay.from_estimator(model)
    assert display.given
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts[-1].startswith("chosen σ: σ = ")


def test_a_width_for_each_feature_and_a_lambda_for_each_target(data):
    X, Y = data
    model = RLSRegressor(Gaussian(ard=True), random_state=0).fit(X, Y[:, 0])
    widths = WidthMapDisplay.from_estimator(model).chosen[0]
    assert widths == pytest.approx(np.exp(np.mean(np.log(model.kernel_.sigma))))
    model = RLSRegressor(alpha_per_target=True, random_state=0).fit(X, Y)
    chosen = WidthMapDisplay.from_estimator(model).chosen[1]
    assert chosen == pytest.approx(np.sqrt(np.prod(model.alpha_)))


def test_without_a_search_there_is_nothing_to_draw(data):
    X, Y = data
    with pytest.raises(ValueError, match=r"there was none: .*Gaussian\(sigma=2.0\).* sigma=\"auto"):
        WidthMapDisplay.from_estimator(RLSRegressor(Gaussian(2.0)).fit(X, Y[:, 0]))
