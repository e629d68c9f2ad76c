"""Leverages, residuals, influence and suspicious rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, make_multilabel_classification

from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian
from tests.estimators.data import X, refused, two, y


def test_residuals_and_leverages_of_all_rows():
    weights = np.ones(len(y))
    weights[[3, 8]] = 0.0
    model = RLSRegressor(Gaussian(2.0), 1.0).fit(X, y, weights)
    assert_allclose(model.loo_residuals_, y - model.loo_predictions_)
    assert model.leverages_.shape == y.shape
    assert_array_equal(model.leverages_[[3, 8]], 0.0)
    assert model.leverages_.sum() == pytest.approx(model.effective_dof_)
    fitted = y - (1.0 - model.leverages_) * model.loo_residuals_
    assert_allclose(fitted[weights > 0], model.predict(X)[weights > 0], rtol=1e-9)


def test_shapes_with_several_targets():
    both = np.column_stack([y, -2.0 * y])
    model = RLSRegressor(Gaussian(2.0), 1.0).fit(X, both)
    assert model.loo_residuals_.shape == both.shape
    assert model.leverages_.shape == y.shape
    assert model.influence(X[:4]).shape == (4, len(y), 2)
    assert RLSClassifier(Gaussian(2.0), 1.0).fit(X, two).influence(X[:4]).shape == (4, len(y))


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_wrong_numbers_come_first(kernel):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, 3))
    targets = np.sin(rows[:, 0]) + rows[:, 1] + 0.1 * rng.standard_normal(300)
    wrong = rng.choice(300, 6, replace=False)
    targets[wrong] += rng.choice([-4.0, 4.0], 6)
    model = RLSRegressor(kernel).fit(rows, targets)
    assert set(model.suspicious_rows(6)) == set(wrong)
    everything = model.suspicious_rows()
    assert sorted(everything) == list(range(300))
    assert_array_equal(everything[:6], model.suspicious_rows(6))


def test_numbers_are_compared_with_what_the_model_expects():
    """A row far from all others has a large error, and the model knew that it would."""
    rng = np.random.default_rng(1)
    rows = np.vstack([rng.uniform(-1.0, 1.0, (60, 1)), [[6.0]]])
    targets = rows[:, 0] ** 3 / 50 + 0.05 * rng.standard_normal(61)
    targets[10] += 1.0
    model = RLSRegressor(Gaussian(1.0), 0.01).fit(rows, targets)
    assert np.abs(model.loo_residuals_).argmax() == 60
    assert model.suspicious_rows(1)[0] == 10


def test_flipped_digits_come_first():
    rows, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    flipped = rng.choice(len(labels), 36, replace=False)
    labels[flipped] = (labels[flipped] + rng.integers(1, 10, 36)) % 10
    model = RLSClassifier(Gaussian("median")).fit(rows, labels)
    assert np.isin(flipped, model.suspicious_rows(72)).mean() >= 0.9


def test_flipped_labels_of_an_indicator_matrix():
    rows, labels = make_multilabel_classification(
        300, n_features=8, n_classes=3, length=200, random_state=0
    )
    flipped = np.array([5, 50, 150, 250])
    labels[flipped, [0, 1, 2, 0]] = 1 - labels[flipped, [0, 1, 2, 0]]
    first = RLSClassifier().fit(rows, labels).suspicious_rows(60)
    assert np.isin(flipped, first).mean() >= 0.5


def test_rows_of_weight_zero_are_not_suspects():
    weights = np.ones(len(y))
    weights[7] = 0.0
    model = RLSRegressor().fit(X, y, weights)
    assert 7 not in model.suspicious_rows()
    assert_array_equal(model.influence(X[:3])[:, 7], 0.0)


@pytest.mark.parametrize("n", [0, -1, 2.5, True, 10**9, "3"])
def test_impossible_numbers_of_rows(n):
    with refused(ValueError, "number of rows from 1 to"):
        RLSRegressor().fit(X, y).suspicious_rows(n)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"coverage": 1.0}, ["coverage=1.0", "between 0 and 1"]),
        ({"coverage": "0.9"}, ["coverage='0.9'"]),
        ({"method": "bootstrap"}, ["method='bootstrap'", "'jackknife+'"]),
        ({"coverage": 0.9999}, ["at least 9999 rows", "smaller coverage"]),
    ],
)
def test_impossible_intervals(settings, words):
    with refused(ValueError, *words):
        RLSRegressor().fit(X, y).predict_interval(X, **settings)


def test_the_gaussian_interval_is_the_posterior_with_noise():
    model = RLSRegressor(Gaussian(2.0), 0.5, scale=3.0).fit(X, y)
    mean, deviation = model.predict(X[:6], return_std=True)
    low, high = model.predict_interval(X[:6], 0.95, "gaussian").T
    wide = 1.959963984540054 * np.sqrt(deviation**2 + 0.5 * 9.0)
    assert_allclose(low, mean - wide, rtol=1e-12)
    assert_allclose(high, mean + wide, rtol=1e-12)
    assert model.scale_ == 3.0
