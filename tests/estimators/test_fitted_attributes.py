"""Attributes that the result of a fit answers: documented, not there before a fit, not assigned."""

import inspect

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from squareone import OROLSRegressor, RLSClassifier, RLSRegressor, SecondOrderPerceptron
from squareone.estimators.fitted_attributes import FromResult, ReadOnly
from tests.estimators.test_structure import ESTIMATORS

ANSWERS = [
    (kind, name)
    for kind in ESTIMATORS
    for name in dir(kind)
    if isinstance(inspect.getattr_static(kind, name), FromResult)
]


def ids(value):
    return value if isinstance(value, str) else value.__name__


def test_most_estimators_have_some():
    assert {kind for kind, _ in ANSWERS} == set(ESTIMATORS)


@pytest.mark.parametrize(("kind", "name"), ANSWERS, ids=ids)
def test_it_is_documented_in_the_reference(kind, name):
    attribute = getattr(kind, name)
    assert inspect.isdatadescriptor(attribute)  # what Sphinx takes for an attribute of the class
    doc = inspect.getdoc(attribute)
    assert doc
    assert doc != inspect.getdoc(type(attribute))
    assert doc.splitlines()[0].endswith((".", ":"))
    assert name.endswith("_")


@pytest.mark.parametrize(("kind", "name"), ANSWERS, ids=ids)
def test_it_is_not_there_before_a_fit(kind, name):
    assert not hasattr(kind(), name)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(kind(), name)


def fitted(kind):
    X, y = load_iris(return_X_y=True)
    return kind().fit(X, y)


def test_what_nothing_would_follow_is_not_assigned():
    model = fitted(RLSRegressor)
    message = "property 'path_' of 'RLSRegressor' object has no setter"
    with pytest.raises(AttributeError, match=message):
        model.path_ = {}


def test_what_predictions_follow_is_assigned():
    model, (X, _) = fitted(RLSRegressor), load_iris(return_X_y=True)
    before = model.predict(X)
    model.intercept_ = model.intercept_ + 1.0
    np.testing.assert_allclose(model.predict(X), before + 1.0)


@pytest.mark.parametrize("kind", [OROLSRegressor, SecondOrderPerceptron])
def test_what_is_read_only_cannot_be_written(kind):
    model = fitted(kind)
    name = "dual_coef_" if kind is OROLSRegressor else "coef_"
    assert isinstance(inspect.getattr_static(kind, name), ReadOnly)
    with pytest.raises(ValueError, match="read-only"):
        getattr(model, name)[0] = 0.0
    with pytest.raises(AttributeError, match=f"{name} of {kind.__name__} follows from what"):
        setattr(model, name, 0.0)


def test_what_cannot_be_answered_is_not_there():
    assert not hasattr(fitted(RLSClassifier), "coef_")
    assert hasattr(fitted(RLSClassifier), "dual_coef_")
