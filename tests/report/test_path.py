"""The path as a display: standard errors, widths that differ, and where the axes end."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian
from squareone.report import PathDisplay, path_figure

MEDIAN = Gaussian("median")
ALPHAS = np.geomspace(1e-3, 1e2, 9)
BAND = "± 1 standard error"


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_the_band_is_the_standard_error_of_a_mean_square(classes):
    model = RLSClassifier(MEDIAN, alpha=ALPHAS).fit(*classes)
    display = PathDisplay.from_estimator(model)
    assert_array_equal(display.errors[0], model.path_["standard_error"])
    assert_array_equal(display.values[0], -model.path_["score"])
    (band,) = display.ax_.collections
    assert band.get_label() == BAND
    corners = band.get_paths()[0].vertices[:, 1]
    for end in (-1, 1):
        ends = display.values[0] + end * display.errors[0]
        assert np.isclose(corners[:, None], ends).any(axis=0).all()


def test_the_band_of_a_root_is_that_of_the_square_to_first_order(data):
    X, Y = data
    model = RLSRegressor(MEDIAN, alpha=ALPHAS).fit(X, Y[:, 0])
    display = PathDisplay.from_estimator(model)
    squares = model.loo_residuals_**2
    best = int(np.argmin(display.values[0]))
    by_hand = squares.std() / np.sqrt(squares.size) / 2 / np.sqrt(squares.mean())
    assert display.errors[0, best] == pytest.approx(by_hand)


@pytest.mark.parametrize("how", [{"scoring": "r2"}, {"criterion": "gcv"}])
def test_there_is_no_band_where_no_standard_error_is_known(data, how):
    X, Y = data
    display = PathDisplay.from_estimator(RLSRegressor(MEDIAN, alpha=ALPHAS, **how).fit(X, Y[:, 0]))
    assert np.isnan(display.errors).all()
    assert BAND not in legend(display)


def test_targets_with_a_path_each_have_no_band(data):
    display = PathDisplay.from_estimator(
        RLSRegressor(MEDIAN, alpha=ALPHAS, alpha_per_target=True).fit(*data)
    )
    assert display.values.shape == display.errors.shape == (2, 9)
    assert BAND not in legend(display)
    assert legend(display) == ["target 0", "target 1", "chosen λ"]


def test_a_likelihood_is_shown_as_it_is(data):
    X, Y = data
    model = RLSRegressor(MEDIAN, alpha=ALPHAS, criterion="marginal_likelihood").fit(X, Y[:, 0])
    display = PathDisplay.from_estimator(model)
    assert display.label == "log marginal likelihood"
    assert_array_equal(display.values[0], model.path_["score"])
    assert display.chosen_values == display.values.max()


def test_one_given_alpha_is_a_point_with_an_error_bar(data):
    X, Y = data
    model = RLSRegressor(MEDIAN, alpha=0.5).fit(X, Y[:, 0])
    display = PathDisplay.from_estimator(model)
    assert display.ax_.get_xlim() == pytest.approx((0.05, 5.0))
    assert BAND in legend(display)
    assert display.given


def test_looks_at_other_widths_are_not_joined(data):
    X, Y = data
    model = RLSRegressor(solver="cholesky", random_state=0).fit(X, Y[:, 0])
    display = PathDisplay.from_estimator(model)
    path = model.path_
    near = np.abs(np.log(path["sigma"] / path["sigma"][-1])) <= np.log(1.5)
    assert_array_equal(display.alphas, np.sort(path["alpha"][near & (path["rows"] == 60)]))
    assert not display.joined
    assert not [x for x in display.ax_.lines if x.get_linestyle() == "-" and x.get_label() != "_"]
    assert display.ax_.child_axes == []  # other widths have other degrees of freedom
    assert legend(display)[0] == "looks at widths near the chosen one"


def test_what_is_far_beyond_the_best_leaves_the_figure(data):
    X, Y = data
    model = RLSRegressor(Gaussian(3.0), alpha=np.geomspace(1e-9, 1e3, 20)).fit(X, Y[:, 0])
    display = PathDisplay.from_estimator(model)
    least, most = display.values.min(), display.values.max()
    assert most > 2.5 * least
    assert display.ax_.get_ylim()[1] == pytest.approx(2.5 * least)
    scored = RLSRegressor(Gaussian(3.0), alpha=[1e-9, 1.0], scoring="r2").fit(X, Y[:, 0])
    assert PathDisplay.from_estimator(scored).highest == np.inf


def test_a_short_path_has_numbers_that_do_not_touch(data):
    X, Y = data
    display = PathDisplay.from_estimator(
        RLSRegressor(MEDIAN, alpha=np.geomspace(0.2, 6.0, 7)).fit(X, Y[:, 0])
    )
    display.figure_.canvas.draw()
    boxes = [
        label.get_window_extent()
        for label in display.ax_.get_xticklabels(which="both")
        if label.get_text() and 0.2 <= label.get_position()[0] <= 6.0
    ]
    assert len(boxes) >= 4
    for a, b in pairwise(boxes):
        assert a.x1 < b.x0
    (top,) = display.ax_.child_axes
    assert len(top.get_xticklabels()) == 5


def test_the_function_and_the_display_draw_the_same(data):
    X, Y = data
    model = RLSRegressor(MEDIAN, alpha=ALPHAS).fit(X, Y[:, 0])
    ax, display = path_figure(model), PathDisplay.from_estimator(model)
    for a, b in zip(ax.lines, display.ax_.lines, strict=True):
        assert_allclose(a.get_ydata(), b.get_ydata())
