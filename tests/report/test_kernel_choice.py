"""The figure of a choice among kernels, and what other figures say of a learned metric."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone import RLSClassifier, RLSRegressor, TableRegressor
from squareone.kernels import Gaussian
from squareone.report import KernelChoiceDisplay, PathDisplay, summary


def data(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    return X, np.sin(2.0 * (X[:, 0] - X[:, 1])) + 0.1 * rng.standard_normal(n)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.mark.parametrize(
    "kernel",
    [pytest.param("auto", marks=pytest.mark.thorough), Gaussian(metric="learned")],
    ids=str,
)
def test_lines_are_the_trials_of_the_last_stage(kernel):
    X, y = data()
    model = RLSRegressor(kernel).fit(X, y)
    display = KernelChoiceDisplay.from_estimator(model)
    path = model.path_
    honest, stage = path["honest"], path["stage"]
    last = honest & (stage == stage[honest].max())
    drawn = np.unique(np.concatenate(display.errors))
    assert_allclose(drawn, np.unique(np.sqrt(-path["score"][last])))
    for rounds in display.rounds:
        assert_array_equal(rounds, np.arange(rounds.size))
    line, point = display.chosen
    assert display.rounds[line][point] == model.rounds_
    chosen = path["chosen"].astype(bool)
    assert display.errors[line][point] == np.sqrt(-path["score"][chosen][0])
    assert display.reported == pytest.approx(np.sqrt(-model.best_score_))
    labels = display.ax_.get_legend_handles_labels()[1]
    assert {"chosen", "reported, of other folds", *display.names} == set(labels)


def test_scalings_of_a_table_are_named():
    X, y = data()
    display = KernelChoiceDisplay.from_estimator(TableRegressor("linear").fit(X, y))
    assert all(name.endswith((", standard", ", quantile")) for name in display.names)
    assert display.names[0].startswith("Linear")


@pytest.mark.thorough
def test_a_scorer_has_no_standard_error():
    X, y = data()
    model = RLSClassifier(Gaussian(metric="learned"), scoring="accuracy").fit(X, y > 0)
    display = KernelChoiceDisplay.from_estimator(model)
    assert all(np.isnan(spread).all() for spread in display.standard_errors)
    assert display.label == "accuracy"


def test_a_kernel_that_was_given_has_no_choice_to_draw():
    with pytest.raises(ValueError, match=r'metric="learned"'):
        KernelChoiceDisplay.from_estimator(RLSRegressor().fit(*data()))


@pytest.mark.thorough
def test_what_is_said_of_the_error():
    """By folds where it is reported, and by leave-one-out at the metric along λ."""
    X, y = data()
    model = RLSRegressor(Gaussian(metric="learned")).fit(X, y)
    text = summary(model)
    assert "cross-validation root mean square error" in text
    assert f"{model.rounds_} round" in text
    display = PathDisplay.from_estimator(model)
    assert display.label == "leave-one-out root mean square error\nat the final metric"
    here = np.isclose(display.alphas, model.alpha_)
    assert_allclose(display.chosen_values, display.values[:, here][:, 0])
