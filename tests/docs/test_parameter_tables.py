"""The docstring of every estimator has the parameters of its constructor, and no others."""

import inspect

import pytest

import squareone

pytest.importorskip("numpydoc")
pytest.importorskip("sphinx")
from docs._ext.parameter_tables import estimators, parameters


@pytest.mark.parametrize("name", estimators())
def test_every_parameter_is_told(name):
    groups = parameters(getattr(squareone, name))
    told = [each for names, _, text in groups for each in names if text]
    assert sorted(told) == sorted(inspect.signature(getattr(squareone, name)).parameters)


def test_one_that_is_not_told_is_found():
    class Estimator:
        """One.

        Parameters
        ----------
        a : int
            Told.
        """

        def __init__(self, a, b):
            pass

    with pytest.raises(ValueError, match=r"\{'b'\}"):
        parameters(Estimator)
