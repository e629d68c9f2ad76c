"""Choosers propose the best candidate, none twice, and none that depends on the others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone.greedy import CHOOSERS, CRITERIA, Columns, Rule, fixed, greedy_path
from squareone.greedy.next_center import SampledGain, gain
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


# --- some points, drawn by their squared errors ---


class Recorded(SampledGain):
    """Remembers what it was shown, what it had drawn then, and what it took."""

    def __init__(self, *given):
        super().__init__(*given)
        self.steps = []

    def next(self, state):
        there = self.open.copy()
        found = super().next(state)
        drawn = self._numbers[there[self._numbers]]
        Q, u = state.basis.directions.copy(), state.unexplained.copy()
        self.steps.append((drawn, found.candidate, Q, u, state.penalty))
        return found


def recorded(kernels, rows, targets, *, subset, most, root=None, seed=0, epsilon=0.1, penalty=0.1):
    columns = Columns(kernels, rows, root, epsilon)
    chooser = Recorded(columns, subset, np.random.RandomState(seed))
    rule = Rule(most, CRITERIA["gcv"], most, 1e12)
    greedy_path(columns, targets, root, chooser, fixed(penalty), rule, intercept=True)
    return columns, chooser.steps


@pytest.mark.parametrize("kernels", [[Gaussian(1.0)], [Gaussian(1.0), Laplacian(2.0)]])
@pytest.mark.parametrize("penalty", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_of_those_drawn_the_one_that_gains_most_is_chosen(kernels, penalty, weighted):
    """By gains from columns that are made orthogonal afresh, for all that are drawn."""
    rows = rng.normal(size=(200, 3))
    targets = np.sin(2 * rows[:, :2]) + 0.1 * rng.normal(size=(200, 2))
    root = np.sqrt(rng.uniform(0.2, 3.0, 200)) if weighted else None
    how = {"subset": 12, "most": 60, "root": root, "penalty": penalty}
    columns, steps = recorded(kernels, rows, targets, **how)
    for drawn, chosen, Q, u, lam in steps:
        rest = columns.of(drawn)
        for _ in range(2):
            rest = rest - Q @ (Q.T @ rest)
        gains = ((rest.T @ u) ** 2).sum(axis=1) / (lam + (rest**2).sum(axis=0))
        assert gains[drawn == chosen] >= (1 - 1e-8) * gains.max()


def test_others_are_drawn_after_an_eighth_of_the_centers_and_half_of_those_drawn():
    rows = rng.normal(size=(300, 3))
    _, steps = recorded([Gaussian(1.0)], rows, rows[:, :1], subset=16, most=120)
    begins = [m for m, step in enumerate(steps) if step[0].size == 16]
    columns = np.array(begins) + 1  # the constant is one, too
    taken = np.diff([*begins, 120])
    assert_array_equal(taken[:-1], np.clip(columns // 8, 1, 8)[:-1])
    assert taken.max() == 8


@pytest.mark.thorough
@pytest.mark.parametrize("weighted", [False, True])
def test_points_are_drawn_by_their_squared_errors(weighted):
    """The first of 4,000 runs, against its probabilities: six standard deviations at most."""
    runs = 4000
    root = np.sqrt(rng.uniform(0.2, 3.0, n)) if weighted else np.ones(n)
    mean = (root**2 @ Y) / (root**2).sum()
    expected = ((root[:, None] * (Y - mean)) ** 2).sum(axis=1)
    expected /= expected.sum()
    counts = np.zeros(n)
    for seed in range(runs):
        how = {"subset": 1, "most": 1, "seed": seed, "root": root if weighted else None}
        counts[recorded([Gaussian(1.0)], X, Y, **how)[1][0][1]] += 1
    deviations = np.sqrt(runs * expected * (1 - expected))
    assert (np.abs(counts - runs * expected) <= 6 * deviations).all()
    assert (np.abs(counts - runs / n) > 6 * deviations).any()  # which drawing evenly would not pass


def test_points_without_error_are_drawn_last():
    rows = rng.normal(size=(40, 3))
    targets = np.zeros((40, 1))
    targets[:5, 0] = [1e-160, 1.0, -1.0, 1e-3, 2.0]  # the first has a square of nothing
    columns = Columns([Gaussian(1.0)], rows, None, 0.1)
    chooser = Recorded(columns, 4, np.random.RandomState(0))
    rule = Rule(1, CRITERIA["gcv"], 1, 1e12)
    greedy_path(columns, targets, None, chooser, fixed(0.1), rule, intercept=False)
    assert_array_equal(chooser.steps[0][0], [1, 2, 3, 4])
