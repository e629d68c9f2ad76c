"""What a notebook shows of an estimator: scikit-learn's HTML, and nothing is computed for it."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian, Linear
from squareone.solvers import Factor

X = np.random.default_rng(0).standard_normal((40, 3))
LAZY = {
    "path_",
    "best_score_",
    "effective_dof_",
    "loo_predictions_",
    "loo_residuals_",
    "leverages_",
}


@pytest.fixture
def nothing_at_once(monkeypatch):
    """As with many rows: for one given λ everything waits until it is asked for."""
    monkeypatch.setattr("squareone.fitting.result._negligible", lambda problem: False)


@pytest.fixture(params=["alone", "in a pipeline"])
def wrapped(request):
    if request.param == "alone":
        return lambda model: model
    return lambda model: make_pipeline(StandardScaler(), model)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (RLSRegressor(Gaussian("median") + 0.5 * Linear()), X[:, 0]),
        (RLSRegressor("linear", alpha=1.0), X[:, :2]),
        (RLSClassifier(), X[:, 0] > 0),
    ],
)
def test_estimators_are_shown_fitted_and_not(model, y, wrapped):
    model = wrapped(clone(model))
    name = type(model[-1] if hasattr(model, "steps") else model).__name__
    assert "Not fitted" in model._repr_html_()
    html = model.fit(X, y)._repr_html_()
    assert name in html
    assert "Not fitted" not in html


def test_no_page_of_scikit_learn_is_linked_for_an_estimator_it_does_not_have():
    assert "href=" not in RLSRegressor()._repr_html_()


def test_one_row_is_enough_to_be_shown():
    assert "alpha" in RLSRegressor("linear", alpha=1.0).fit(X[:1], X[:1, 0])._repr_html_()


def test_nothing_is_computed_for_a_list_of_names(nothing_at_once, monkeypatch):
    model = RLSRegressor(Gaussian(2.0), alpha=1.0).fit(X, X[:, 0])

    def refuse(*_):
        pytest.fail("something was computed")

    with monkeypatch.context() as context:
        context.setattr(Factor, "visit", refuse)
        context.setattr("squareone.fitting.result.CholeskyFactor", refuse)
        for shown in (model, pickle.loads(pickle.dumps(model))):
            names = dir(shown)
            assert "alpha_" in names
            shown._repr_html_()
    assert model.loo_predictions_.shape == (40,)  # asked for, it is there


@pytest.mark.skipif(
    "__dir__" not in vars(BaseEstimator), reason="this scikit-learn lists all names, and reads none"
)
def test_what_is_there_is_listed(nothing_at_once):
    model = RLSRegressor(Gaussian(2.0), alpha=1.0).fit(X, X[:, 0])
    assert not LAZY & set(dir(model))
    _ = model.loo_predictions_, model.best_score_
    assert set(dir(model)) >= LAZY - {"leverages_"}
    _ = model.leverages_
    assert set(dir(model)) >= LAZY
    chosen = RLSRegressor(Gaussian(2.0)).fit(X, X[:, 0])
    assert set(dir(chosen)) >= LAZY - {"leverages_"}
