"""The explained share against its definition."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from squareone.centers import Given, Uniform, explained_trace
from squareone.kernels import Constant, Gaussian, Linear
from tests.laws.cases import KERNELS

from .data import COUNTED, KERNEL, Streamed, rows, share


@pytest.mark.parametrize("name", KERNELS)
def test_definition(name):
    kernel, X, points = KERNELS[name][0], rows(), rows(90)[80:]
    kernel = kernel.resolve(X, np.random.RandomState(0))
    assert_allclose(explained_trace(kernel, X, points), share(kernel, X, points), rtol=1e-10)


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_of_every_selector(name, dtype):
    X = rows(dtype=dtype)
    chosen = COUNTED[name](20).select(X, KERNEL)
    assert chosen.points.shape == (20, 3)
    assert chosen.points.dtype == dtype
    assert chosen.explained_rows == chosen.pool == 80
    expected = share(KERNEL, X, chosen.points)
    assert_allclose(chosen.explained, expected, rtol=1e-10 if dtype == np.float64 else 1e-4)


def test_blocks(monkeypatch):
    X, points = rows(1500), rows(9)
    whole = explained_trace(KERNEL, X, points)
    monkeypatch.setattr("squareone.centers.explained._RECTANGLE", 1)
    assert_allclose(explained_trace(KERNEL, X, points), whole, rtol=1e-13)
    assert_allclose(explained_trace(KERNEL, csr_array(X), csr_array(points)), whole, rtol=1e-11)


def test_points_that_depend_on_each_other():
    X, points = rows(), np.repeat(rows(9), 3, axis=0)
    assert_allclose(explained_trace(KERNEL, X, points), share(KERNEL, X, rows(9)), rtol=1e-10)
    # of any number of points a linear kernel sees no more than d
    assert_allclose(explained_trace(Linear(), X, X), 1.0)


def test_limits():
    X = rows()
    assert explained_trace(Gaussian(1e-3), X, X[:8]) == pytest.approx(8 / 80)
    assert explained_trace(Constant(2.0), X, X[:1]) == pytest.approx(1.0)
    assert explained_trace(Linear(), np.zeros((4, 2)), X[:3, :2]) == 1.0
    assert explained_trace(Linear(), X, np.zeros((2, 3))) == 0.0


def test_a_width_that_is_not_chosen_is_refused():
    with pytest.raises(ValueError, match="which an estimator chooses"):
        explained_trace(Gaussian(), rows(), rows(4))


def test_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr("squareone.centers.chosen_centers._SAMPLE", 500)
    X = rows(2000)
    source = Streamed(X)
    chosen = Uniform(10)._choose(KERNEL, source, np.random.RandomState(0))
    assert source.fetched == 10  # and nothing before somebody asks
    assert chosen.explained_rows == 500
    assert_allclose(chosen.explained, explained_trace(KERNEL, X, chosen.points), rtol=0.05)
    assert source.fetched == 510
    assert chosen.explained == chosen.explained
    assert source.fetched == 510


def test_a_pickled_selection_leaves_the_rows_behind():
    X = rows(3000)
    chosen = Given(X[:5]).select(X, KERNEL)
    text = pickle.dumps(chosen)
    assert len(text) < 2000
    again = pickle.loads(text)
    assert again.explained == chosen.explained == pytest.approx(share(KERNEL, X, X[:5]))
    assert repr(again) == "<Selection of 5 centers among 3000 rows>"
