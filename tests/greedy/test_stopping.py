"""Criteria are what they are called, and a path ends where its best model was long ago."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from squareone.greedy import CRITERIA, UPDATES, Fit, fixed
from squareone.greedy.stopping import CHARGE, MORE, TIMES, best_of, should_stop

rng = np.random.default_rng(0)
n, m = 50, 6
FIT = Fit(n, 1, rng.uniform(0.1, 9.0, m), rng.uniform(0.1, 9.0, m), 7.0)
every_penalty = pytest.mark.parametrize("lam", [0.0, 0.2, 100.0])


def degrees(lam):
    return 1 + sum(s / (lam + s) for s in FIT.squares)


def residual(lam):
    """‖y‖² less what is explained, 2f − f² of every z²."""
    total = 7.0 + FIT.power.sum()
    filters = FIT.squares / (lam + FIT.squares)
    return total - sum((2 * f - f**2) * z for f, z in zip(filters, FIT.power, strict=True))


@every_penalty
def test_numbers_of_a_fit(lam):
    assert_allclose(FIT.degrees(lam), degrees(lam))
    assert_allclose(FIT.residual(lam), residual(lam))
    assert_allclose(FIT.gcv(lam), n * residual(lam) / (n - degrees(lam)) ** 2)


@every_penalty
def test_a_chosen_center_counts_for_more(lam):
    expected = n * residual(lam) / (n - degrees(lam) - CHARGE * m) ** 2
    assert_allclose(CRITERIA["gcv"](FIT, lam, n), expected)


@every_penalty
def test_bayesian_information(lam):
    expected = n * math.log(residual(lam) / n) + degrees(lam) * math.log(n)
    assert_allclose(CRITERIA["bic"](FIT, lam, n), expected)


@every_penalty
@pytest.mark.parametrize("candidates", [50, 150])
def test_description_length(lam, candidates):
    expected = CRITERIA["bic"](FIT, lam, candidates) + 2 * math.log(math.comb(candidates, m))
    assert_allclose(CRITERIA["mdl"](FIT, lam, candidates), expected)


def test_no_degrees_left_are_infinitely_bad():
    full = Fit(4, 1, np.ones(3), np.ones(3), 0.0)
    assert full.gcv(0.0) == np.inf
    assert full.gcv(0.1) < np.inf
    assert CRITERIA["gcv"](Fit(4, 1, np.ones(2), np.ones(2), 1.0), 0.0, 4) == np.inf


@pytest.mark.parametrize("name", CRITERIA)
def test_a_fit_without_residual_has_a_number(name):
    perfect = Fit(n, 1, np.ones(2), np.ones(2), 0.0)
    assert np.isfinite(CRITERIA[name](perfect, 0.0, n))


def test_the_first_of_equals_is_the_best():
    assert best_of(np.array([3.0, 1.0, 1.0, 2.0])) == 1
    assert best_of(np.array([np.inf, np.inf])) == 0


def test_the_best_was_should_stop():
    assert not should_stop(0, MORE - 1)
    assert should_stop(0, MORE)
    assert not should_stop(10, int(10 * TIMES + MORE) - 1)
    assert should_stop(10, int(10 * TIMES + MORE))


@pytest.mark.parametrize("name", UPDATES)
@every_penalty
def test_penalties_stay_below_the_largest_square(name, lam):
    assert 0 < UPDATES[name](FIT, lam) <= FIT.squares.max()
    noise = Fit(n, 1, FIT.squares, np.zeros(m), 7.0)
    assert UPDATES[name](noise, lam) == FIT.squares.max()
    exact = Fit(n, 1, FIT.squares, FIT.power, 0.0)
    assert UPDATES[name](exact, 0.0) == 0.0
    tiny = Fit(n, 1, FIT.squares, np.full(m, 1e-300), 7.0)
    assert UPDATES[name](tiny, lam) == FIT.squares.max()


@pytest.mark.parametrize("name", UPDATES)
def test_updates_do_not_know_units(name):
    scaled = Fit(n, 1, FIT.squares, 2.0**40 * FIT.power, 2.0**40 * FIT.unexplained)
    assert UPDATES[name](scaled, 0.3) == UPDATES[name](FIT, 0.3)
    longer = Fit(n, 1, 2.0**20 * FIT.squares, FIT.power, FIT.unexplained)
    assert UPDATES[name](longer, 2.0**20 * 0.3) == 2.0**20 * UPDATES[name](FIT, 0.3)


def test_a_fixed_penalty_stays():
    assert fixed(0.3)(FIT, 7.0) == 0.3
