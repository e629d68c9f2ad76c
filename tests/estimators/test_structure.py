"""Estimators stay small: few bases, and few methods that this library defines."""

from types import FunctionType

import pytest
from sklearn.base import BaseEstimator

import squareone
from squareone.estimators.streaming.base import Streaming

# Methods, and properties, of an estimator and all its bases; attributes that the result of a fit
# answers (FromResult) are a line in a table, and no methods.
MOST_METHODS, MOST_BASES = 50, 5

found = (getattr(squareone, name) for name in squareone.__all__)
ESTIMATORS = [each for each in found if isinstance(each, type) and issubclass(each, BaseEstimator)]
STREAMS = [kind for kind in ESTIMATORS if issubclass(kind, Streaming)]


def own_classes(kind):
    """The classes of this library that an estimator is made of, itself first."""
    return [each for each in kind.__mro__ if each.__module__.partition(".")[0] == "squareone"]


def own_methods(kind):
    """Names of methods and properties that these define."""
    # what scikit-learn's available_if makes of a method is a descriptor of its own
    kinds = (FunctionType, property, classmethod, staticmethod)
    return {
        name
        for each in own_classes(kind)
        for name, value in vars(each).items()
        if isinstance(value, kinds) or hasattr(value, "check")
    }


def test_all_estimators_are_looked_at():
    assert len(ESTIMATORS) == 13
    assert len(STREAMS) == 6


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_estimator_has_few_methods(kind):
    assert len(own_methods(kind)) <= MOST_METHODS


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_estimator_has_few_bases(kind):
    assert len(own_classes(kind)) - 1 <= MOST_BASES


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_methods_are_found_in_all_bases(kind):
    assert {"__init__", "fit", "predict", "save", "set_params"} <= own_methods(kind)
