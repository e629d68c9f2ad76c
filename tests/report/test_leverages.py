"""Leverages, and the numbers of the rows that nobody believes."""

import numpy as np
import pytest
from matplotlib.text import Text
from numpy.testing import assert_allclose, assert_array_equal

from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian
from squareone.report import LeverageDisplay

KERNEL = Gaussian(sigma=2.0)


def numbers(display):
    return [int(text.get_text()) for text in display.ax_.texts]


def test_errors_over_leverages_with_the_worst_rows_by_number(data):
    X, Y = data
    y = Y[:, 0].copy()
    y[17] += 50.0
    model = RLSRegressor(KERNEL, alpha=0.3).fit(X, y)
    display = LeverageDisplay.from_estimator(model, n_suspicious=5)
    assert_array_equal(display.leverages, model.leverages_)
    assert_array_equal(display.errors, np.abs(model.loo_residuals_))
    assert numbers(display) == model.suspicious_rows(5).tolist()
    assert numbers(display)[0] == 17
    mean = model.effective_dof_ / 60
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"mean leverage {mean:.2g}" in texts


def test_numbers_do_not_cover_each_other(data):
    X, Y = data
    X = np.repeat(X[:15], 4, axis=0) + 1e-3 * np.arange(60)[:, None]  # in fours, almost equal
    display = LeverageDisplay.from_estimator(
        RLSRegressor(KERNEL, alpha=0.3).fit(X, Y[:, 0]), n_suspicious=12
    )
    display.figure_.canvas.draw()
    # of the text alone: an annotation's own box has its line in it
    boxes = [Text.get_window_extent(text) for text in display.ax_.texts]
    for i, a in enumerate(boxes):
        assert not any(a.overlaps(b) for b in boxes[:i])


def test_classes_are_compared_by_the_preference_for_another(classes):
    X, y = classes
    model = RLSClassifier(KERNEL, random_state=0).fit(X, y)
    display = LeverageDisplay.from_estimator(model)
    values = model.loo_predictions_
    own = values[np.arange(60), np.searchsorted(model.classes_, y)]
    other = np.where(y[:, None] == model.classes_, -np.inf, values).max(axis=1)
    assert_allclose(display.errors, other - own)
    assert "another class" in display.label


@pytest.mark.parametrize("per_target", [False, True])
def test_several_targets_are_compared_by_the_usual_error(data, per_target):
    model = RLSRegressor(KERNEL, alpha_per_target=per_target).fit(*data)
    display = LeverageDisplay.from_estimator(model)
    assert display.leverages.sum() == pytest.approx(np.mean(model.effective_dof_))
    assert "over the usual one" in display.label
    assert numbers(display) == np.argsort(-display.errors, kind="stable")[:8].tolist()


def test_rows_of_weight_zero_are_left_out(data):
    X, Y = data
    weights = np.ones(60)
    weights[::7] = 0
    model = RLSRegressor(KERNEL, alpha=0.3).fit(X, Y[:, 0], sample_weight=weights)
    display = LeverageDisplay.from_estimator(model)
    assert_array_equal(np.isnan(display.errors), weights == 0)
    assert not set(numbers(display)) & set(range(0, 60, 7))


def test_few_rows_have_few_numbers(data):
    X, Y = data
    display = LeverageDisplay.from_estimator(RLSRegressor(KERNEL, alpha=0.3).fit(X[:4], Y[:4, 0]))
    assert sorted(numbers(display)) == [0, 1, 2, 3]
