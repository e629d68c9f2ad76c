"""The reference for orthogonal least squares keeps its own laws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.reference import orols

rng = np.random.default_rng(0)
n = 14
X = rng.normal(size=(n, 2))
K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
Y = np.sin(X @ [[1.0, 2.0], [2.0, -1.0]]) + 0.2 * rng.normal(size=(n, 2)) + 1.0
weights = rng.uniform(0.5, 2.0, n)
weights[5] = 0.0
chosen = [3, 8, 0, 11]

weighted_or_not = pytest.mark.parametrize("w", [None, weights], ids=["unweighted", "weighted"])
with_and_without_intercept = pytest.mark.parametrize("intercept", [False, True])


@weighted_or_not
@with_and_without_intercept
def test_columns_are_orthogonal_and_add_up(w, intercept):
    fit = orols.design(K, Y, chosen, 0.1, w, intercept)
    Q, U = fit.orthogonal
    assert_allclose(Q @ U, fit.columns, atol=1e-14)
    G = Q.T @ Q
    assert_allclose(G - np.diag(np.diag(G)), 0.0, atol=1e-14)


@weighted_or_not
@with_and_without_intercept
def test_without_penalty_it_is_least_squares(w, intercept):
    fit = orols.design(K, Y, chosen, 0.0, w, intercept)
    expected = np.linalg.lstsq(fit.columns, fit.Y, rcond=None)[0]
    assert_allclose(fit.weights(0.0), expected, atol=1e-11)
    assert_allclose(fit.residuals(0.0), fit.Y - fit.columns @ expected, atol=1e-12)


@with_and_without_intercept
def test_weights_minimise_the_penalised_loss(intercept):
    fit = orols.design(K, Y, chosen, 0.1, weights, intercept)
    Q, U = fit.orthogonal
    at = U @ fit.weights(0.3)
    value = np.sum((fit.Y - Q @ at) ** 2) + np.sum(fit.penalties(0.3)[:, None] * at**2)
    assert value == pytest.approx(orols.penalised_loss(fit, 0.3), rel=1e-12)


@weighted_or_not
@with_and_without_intercept
def test_gains_are_reductions_of_the_penalised_loss(w, intercept):
    found = orols.gains(K, Y, chosen, 0.1, 0.3, w, intercept)
    before = orols.penalised_loss(orols.design(K, Y, chosen, 0.1, w, intercept), 0.3)
    for j in range(n):
        if found[j] < 0:
            assert j in chosen or j == 5
            continue
        after = orols.penalised_loss(orols.design(K, Y, [*chosen, j], 0.1, w, intercept), 0.3)
        assert found[j] == pytest.approx(before - after, rel=1e-9)


@with_and_without_intercept
def test_the_formula_settles_where_the_slope_is_zero(intercept):
    fit = orols.design(K, Y, chosen, 0.0, None, intercept)
    lam = 0.0
    for _ in range(2000):
        lam = orols.lam_by_gcv(fit, lam, n)
    assert 0 < lam < max(np.diag(fit.orthogonal[0].T @ fit.orthogonal[0])[int(intercept) :])
    assert orols.gcv_slope(fit, lam, n) == pytest.approx(0.0, abs=1e-7)
