"""Choosers propose the best candidate, none twice, and none that depends on the others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone.greedy import CHOOSERS, CRITERIA, Columns, Rule, fixed, greedy_path
from squareone.greedy.next_center import gain
from squareone.kernels import Gaussian, Laplacian, Linear

rng = np.random.default_rng(0)
n = 20
X = rng.normal(size=(n, 3))
Y = np.sin(X[:, :2]) + 0.1 * rng.normal(size=(n, 2))
every_chooser = pytest.mark.parametrize("name", CHOOSERS)
every_subset = pytest.mark.parametrize("subset", [None, 1, 4, n])


def path_of(name, kernels, *, subset=None, most=n, epsilon=0.1, rows=X, limit=1e12, **more):
    columns = Columns(kernels, rows, None, epsilon)
    chooser = CHOOSERS[name](columns, subset, np.random.RandomState(0))
    rule = Rule(most, CRITERIA["gcv"], most, limit)
    path = greedy_path(columns, Y, None, chooser, fixed(0.1), rule, intercept=True, **more)
    return path, chooser


@every_chooser
@every_subset
@pytest.mark.parametrize("kernels", [[Gaussian(1.0)], [Gaussian(1.0), Laplacian(2.0)]])
def test_no_candidate_is_chosen_twice(name, subset, kernels):
    path, chooser = path_of(name, kernels, subset=subset)
    assert len(np.unique(path.candidates)) == path.longest
    assert not chooser.open[path.candidates].any()
    assert path.longest >= n - 1


@every_chooser
@every_subset
def test_columns_that_depend_on_others_are_left_out(name, subset):
    """Five different rows have five columns, of which the constant is one."""
    rows = np.vstack([X[:5]] * 4)
    path, _ = path_of(name, [Gaussian(1.0)], subset=subset, rows=rows, epsilon=0.0)
    assert path.ended == "candidates"
    assert len(np.unique(path.candidates % 5)) == path.longest == 4


@every_chooser
def test_a_linear_kernel_has_as_many_columns_as_features(name):
    path, _ = path_of(name, [Linear()], epsilon=0.0)
    assert path.longest == 3
    assert path.ended == "candidates"


@every_chooser
def test_what_is_watched_is_told(name):
    told = []
    path, _ = path_of(name, [Gaussian(1.0)], most=4, watch=lambda *given: told.append(given))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert path.ended == "max_centers"


@every_chooser
def test_a_path_without_centers(name):
    path, _ = path_of(name, [Gaussian(1.0)], most=0)
    assert path.longest == path.best == 0
    coefficients, intercepts = path.coefficients(0)
    assert coefficients.shape == (0, 2)
    assert_allclose(intercepts, Y.mean(axis=0))


def test_gains_by_their_definition():
    products, squares = rng.normal(size=(5, 2)), rng.uniform(0.1, 1.0, 5)
    expected = [(a**2 + b**2) / (0.3 + s) for (a, b), s in zip(products, squares, strict=True)]
    assert_allclose(gain(products, squares, 0.3), expected)
    assert_array_equal(gain(products, np.zeros(5), 0.0), 0.0)


def test_the_best_of_a_random_few_is_chosen():
    """With one candidate a step it is that one, whatever it gains."""
    residual, _ = path_of("residual", [Gaussian(1.0)], subset=1, most=8)
    greedy, _ = path_of("greedy", [Gaussian(1.0)], subset=1, most=8)
    assert_array_equal(residual.candidates, greedy.candidates)
