"""The slope of an error over log λ, and the λ that follows from it."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from squareone import RLSRegressor
from squareone.fitting import alpha_search as search
from squareone.kernels import Gaussian
from squareone.selection import (
    Folds,
    GeneralisedCrossValidation,
    LeaveOneOut,
    log_slope,
)
from squareone.selection.criteria import Fold
from squareone.solvers import CholeskyFactor, SymmetricSystem, Weighting

N = 400


def _data():
    rng = np.random.RandomState(0)
    X = rng.uniform(-2.0, 2.0, size=(N, 3))
    Y = np.column_stack([np.sin(2.0 * X[:, 0]) + X[:, 1], np.abs(X[:, 2])])
    return X, Y + 0.3 * rng.standard_normal(Y.shape), rng.uniform(0.1, 2.0, N)


def _factor(*, weighted, intercept):
    X, Y, weights = _data()
    weighting = Weighting.of(N, weights if weighted else None, intercept, X.dtype)
    system = SymmetricSystem.prepare(Gaussian(sigma=1.0)(X), Y, weighting)
    return CholeskyFactor(system, several=True)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("criterion", [LeaveOneOut(), GeneralisedCrossValidation()])
def test_slope_agrees_with_differences(criterion, intercept, weighted):
    factor = _factor(weighted=weighted, intercept=intercept)
    for alpha in (0.01, 0.3, 10.0, 1e3):
        below, above = (
            np.log(criterion.mean_squares(factor, np.array([alpha * np.exp(step)])).mean())
            for step in (-1e-4, 1e-4)
        )
        # 16 probes of a trace over 400 rows
        assert log_slope(criterion, factor, alpha) == pytest.approx(
            (above - below) / 2e-4, abs=0.05
        )


def test_the_trace_is_exact_on_average(monkeypatch):
    """With many probes the estimate is the trace."""
    from squareone.selection import alpha_slope as slope

    factor = _factor(weighted=True, intercept=True)
    factor.factor(0.3)
    weights = np.linspace(0.1, 1.0, N)
    inverse = factor.inverse_times(np.eye(N))
    exact = float(weights @ np.diagonal(inverse @ inverse))
    monkeypatch.setattr(slope, "_PROBES", 4000)
    shrunk, trace = slope._shrunk_and_trace(factor, weights)
    assert trace == pytest.approx(exact, rel=0.01)
    np.testing.assert_allclose(shrunk, inverse @ factor.solutions, rtol=1e-9, atol=1e-12)


def test_inverse_without_the_constant_direction():
    factor = _factor(weighted=True, intercept=True)
    factor.factor(0.3)
    u = factor.weighting.direction
    np.testing.assert_allclose(factor.inverse_times(u[:, None]), 0.0, atol=1e-12)
    np.testing.assert_allclose(
        factor.inverse_times(factor.targets), factor.solutions, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        np.diagonal(factor.inverse_times(np.eye(N))), factor.complements(), rtol=1e-9
    )


def test_no_slope_for_folds():
    folds = Folds([Fold(np.arange(10), np.ones(10, bool))])
    assert log_slope(folds, _factor(weighted=False, intercept=True), 1.0) is None


@pytest.mark.parametrize("start", [-6.0, 5.0])
def test_newton_steps_find_the_best_alpha(start):
    """From far off, with a curvature that is not that of this problem."""

    problem = SimpleNamespace(objective=SimpleNamespace(criterion=LeaveOneOut()))
    factor = _factor(weighted=False, intercept=True)
    seen = {}

    def error(log_alpha):
        value = LeaveOneOut().mean_squares(factor, np.array([np.exp(log_alpha)])).mean()
        seen[log_alpha] = value
        return value

    grid = np.exp(np.linspace(-8.0, 8.0, 161))
    least = min(LeaveOneOut().mean_squares(factor, np.array([alpha])).mean() for alpha in grid)
    error(start)
    search._follow_slope(problem, factor, error, start, 0.1)
    assert min(seen.values()) < 1.02 * least
    assert len(seen) <= 6


@pytest.mark.thorough
@pytest.mark.parametrize(
    "settings", [{}, {"criterion": "gcv"}, {"cv": 3}, {"criterion": "holdout"}]
)
def test_extrapolated_alpha_is_searched_on_all_rows(settings, monkeypatch):
    """Wherever the search for the width leaves λ, the fit ends near the best one of its width."""
    from squareone.fitting import procedure as walk

    chosen = walk.choose_width

    def misled(problem):
        found = chosen(problem)
        return replace(found, log_alpha=found.log_alpha + 2.5, error=np.inf, curvature=0.1)

    monkeypatch.setattr(walk, "choose_width", misled)
    X, Y, _ = _data()
    model = RLSRegressor(solver="cholesky", **settings).fit(X, Y)
    monkeypatch.undo()
    at = Gaussian(sigma=model.kernel_.sigma)
    grid = RLSRegressor(at, np.geomspace(1e-3, 1e3, 61), solver="spectral", **settings).fit(X, Y)
    assert -model.best_score_ <= 1.02 * -grid.best_score_
