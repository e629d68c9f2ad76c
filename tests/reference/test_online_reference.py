"""The references for learning from a stream keep their own laws, and the bounds hold."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.reference import brute_force, online

A = 0.5


def noisy_stream(seed, n=40, d=3, noise=0.2):
    """Rows and labels of a plane, some flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) / np.arange(1, d + 1)
    y = np.where(X @ np.ones(d) > 0, 1.0, -1.0)
    return X, np.where(rng.random(n) < noise, -y, y)


# ---------------------------------------------------------------------------------------------
# Margins
# ---------------------------------------------------------------------------------------------


def test_two_rounds_by_hand():
    X, y = np.array([[1.0, 0.0], [1.0, 1.0], [2.0, 0.0]]), np.array([1.0, -1.0, 1.0])
    run = online.second_order_perceptron(X, y, a=1.0)
    # A = diag(2, 1), v = (1, 0); then A = [[3, 1], [1, 2]], v = (0, -1), A⁻¹v = (1, -3)/5
    assert_allclose(run.margins, [0.0, 0.5, 0.4], rtol=1e-14)
    assert_allclose(run.spreads, [1.0, 1.5, 4 * 0.4], rtol=1e-14)
    assert_allclose(run.hypotheses, [[0, 0], [0.5, 0], [0.2, -0.6], [0.2, -0.6]], atol=1e-15)
    assert_array_equal(run.mistakes, [True, True, False])


def test_dual_equals_primal():
    X, y = noisy_stream(0)
    run = online.second_order_perceptron(X, y, A)
    margins, spreads, coefficients = online.second_order_perceptron_dual(X @ X.T, y, A)
    assert_allclose(margins, run.margins, atol=1e-12)
    assert_allclose(spreads, run.spreads, rtol=1e-10)
    assert_allclose(np.array(coefficients) @ X, run.hypotheses, atol=1e-12)
    assert 5 < run.mistakes.sum() < 30


def test_current_row_in_the_matrix_divides_the_margin():
    X, y = noisy_stream(1)
    run = online.second_order_perceptron(X, y, A)
    for i in (3, 20, 39):
        S, labels = X[:i][run.learned[:i]], y[:i][run.learned[:i]]
        with_x = A * np.eye(3) + S.T @ S + np.outer(X[i], X[i])
        margin = np.linalg.solve(with_x, S.T @ labels) @ X[i]
        assert margin == pytest.approx(run.margins[i] / (1 + run.spreads[i]), rel=1e-12)


@pytest.mark.parametrize("fades", [False, True])
def test_incremental_rls_is_a_weighted_refit(fades):
    X, y = noisy_stream(2, n=12)
    solutions, residuals = online.incremental_rls(X, y[:, None], A, 0.9, penalty_fades=fades)
    weights = 0.9 ** np.arange(11, -1, -1.0)
    lam = A * 0.9**12 if fades else A
    C, _ = brute_force.fit(X @ X.T, y[:, None], lam, weights, intercept=False)
    assert_allclose(solutions[12], X.T @ C, rtol=1e-9)
    assert_allclose(residuals[0], y[:1])
    assert_allclose(residuals[-1, 0], y[-1] - X[-1] @ solutions[11, :, 0])


def test_nothing_forgotten_is_learning_every_row():
    X, y = noisy_stream(3)
    every = online.stream(X, y, A, online.always, online.always)
    solutions, residuals = online.incremental_rls(X, y[:, None], A)
    assert_allclose(solutions[:, :, 0], every.hypotheses, atol=1e-12)
    assert_allclose(residuals[:, 0], y - every.margins, atol=1e-12)


# ---------------------------------------------------------------------------------------------
# Asking
# ---------------------------------------------------------------------------------------------


def test_randomised_rule_in_both_forms():
    for p, r in [(0.0, 1.0), (0.3, 0.2), (-2.0, 5.0)]:
        expected = 0.1 / (0.1 + (abs(p) + p**2 / 2) / (1 + r))
        assert online.asking_probability(p, r, 0.1) == pytest.approx(expected, rel=1e-14)


def test_randomised_sampler_between_all_labels_and_none():
    X, y = noisy_stream(4)
    asks_all = online.randomised_sampling(X, y, A, 1.0, np.full(len(y), -1.0))
    assert_array_equal(asks_all.margins, online.second_order_perceptron(X, y, A).margins)
    asks_none = online.randomised_sampling(X, y, A, 1.0, np.ones(len(y)))
    assert not asks_none.asked.any()
    assert asks_none.mistakes.all()  # every margin is zero


def test_deterministic_rule_by_hand():
    X, y = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), np.ones(5)
    run = online.deterministic_sampling(X, y, a=0.1, k=0.5)
    # after two labels p = 1/1.1 = 0.91 along the axes; √(0.5 ln 3 / 2) = 0.52, √(0.5 ln 4 / 2) =
    # 0.59; a row of zeros has no margin, and is not asked about
    assert_allclose(run.margins, [0.0, 0.0, 1 / 1.1, 1 / 1.1, 0.0], rtol=1e-14)
    assert_array_equal(run.asked, [True, True, False, False, False])
    larger = online.deterministic_sampling(X, y, a=0.1, k=1.6)
    # √(1.6 ln 3 / 2) = 0.94; then p = 2/2.1 = 0.95 and √(1.6 ln 4 / 3) = 0.86
    assert larger.margins[3] == pytest.approx(2 / 2.1, rel=1e-14)
    assert_array_equal(larger.asked, [True, True, True, False, False])


def test_counting_positives_keeps_on_asking():
    X, _ = noisy_stream(5)
    X, y = X + 1.0, -np.ones(len(X))
    all_labels = online.deterministic_sampling(X, y, A, 0.5)
    positives = online.deterministic_sampling(X, y, A, 0.5, count_positives=True)
    assert np.count_nonzero(all_labels.asked[20:]) <= 1
    assert positives.asked[20:].all()  # no positive was seen: the threshold grows with t


def test_filter_sees_only_what_it_accepts():
    X, y = noisy_stream(6, n=60, noise=0.0)
    run = online.filtering(X, y, A, k=0.5)
    assert run.asked[0]
    assert_array_equal(run.asked, run.learned)
    assert 0.3 < run.asked.mean() < 1.0
    rejected = ~run.asked
    assert np.all(run.margins[rejected] < 0)
    assert np.mean(y[rejected] < 0) > 0.9


# ---------------------------------------------------------------------------------------------
# Bounds. Rows are on the circle, labels those of its upper half but for a share η: the risk of w is
# η + (1 - 2η) times its angle with the axis, in halves of the circle, and 1 for w = 0.
# ---------------------------------------------------------------------------------------------

FLIPPED = 0.1


def on_the_circle(seed, n):
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0, 2 * math.pi, n)
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    y = np.where(X[:, 1] > 0, 1.0, -1.0)
    return X, np.where(rng.random(n) < FLIPPED, -y, y)


def risks(hypotheses):
    angle = np.arctan2(np.abs(hypotheses[:, 0]), hypotheses[:, 1]) / math.pi
    return np.where(hypotheses.any(axis=1), FLIPPED + (1 - 2 * FLIPPED) * angle, 1.0)


def test_risk_bounds_are_violated_no_more_often_than_they_may():
    n, runs, delta = 60, 60, 0.5
    typical = chosen = more_than_mistakes = 0
    for seed in range(runs):
        X, y = on_the_circle(seed, n)
        run = online.second_order_perceptron(X, y, 1.0)
        M = int(run.mistakes.sum())
        risk = risks(run.hypotheses)[:-1]
        best = int(np.argmin(online.penalised_errors(X, y, run.hypotheses, delta)))
        typical += risk.mean() > online.typical_risk_bound(M, n, delta)
        chosen += risk[best] > online.chosen_risk_bound(M, n, delta)
        more_than_mistakes += risk.mean() > M / n
    assert typical <= delta * runs
    assert chosen <= delta * runs
    assert more_than_mistakes > 0.25 * runs  # so the rest of the bound is needed


def test_penalised_choice_by_hand():
    X, y = np.array([[1.0], [1.0], [-1.0]]), np.array([1.0, 1.0, -1.0])
    hypotheses = np.array([[0.0], [-1.0], [1.0], [1.0]])
    found = online.penalised_errors(X, y, hypotheses, delta=0.1)
    penalty = math.log(120)
    expected = [1 + math.sqrt(penalty / 6), 1 + math.sqrt(penalty / 4), math.sqrt(penalty / 2)]
    assert_allclose(found, expected, rtol=1e-14)
    assert int(np.argmin(found)) == 2


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("a", [0.01, 1.0, 10.0])
def test_mistakes_keep_their_bound_for_all_u(seed, a):
    X, y = noisy_stream(seed, n=60, noise=0.1 * (seed % 2))
    run = online.second_order_perceptron(X, y, a)
    rng = np.random.default_rng(seed)
    for gamma in (0.1, 1.0, 5.0):
        for u in [np.ones(3), *rng.normal(size=(20, 3))]:
            found = online.terms(X, y, run.learned, u, gamma, a)
            assert run.mistakes.sum() <= online.mistake_bound(found, gamma)


def test_mistake_bound_by_hand():
    # the rows of one axis, all of one label: one mistake, in the first round
    X, y = np.tile([[2.0, 0.0]], (3, 1)), np.ones(3)
    run = online.second_order_perceptron(X, y, 1.0)
    found = online.terms(X, y, run.learned, np.array([1.0, 0.0]), 2.0, 1.0)
    assert found == online.Terms(0.0, 1.0, 4.0, math.log(5.0))
    assert online.mistake_bound(found, 2.0) == pytest.approx(math.sqrt(5 * math.log(5)) / 2)
    assert run.mistakes.sum() == 1


@pytest.mark.parametrize("b", [0.1, 1.0])
def test_expected_mistakes_of_the_randomised_sampler_keep_their_bound(b):
    X, y = noisy_stream(7, n=60, noise=0.05)
    rng = np.random.default_rng(0)
    runs = [online.randomised_sampling(X, y, 1.0, b, rng.random(60)) for _ in range(60)]
    mistakes = [run.mistakes.sum() for run in runs]
    assert min(run.asked.sum() for run in runs) < 60
    for gamma in (0.3, 1.0, 3.0):
        for scale in (0.5, 1.0, 2.0):
            u = scale * np.ones(3)
            found = [online.terms(X, y, run.learned, u, gamma, 1.0) for run in runs]
            assert np.mean(mistakes) <= online.expected_mistake_bound(found, gamma, b)


# ---------------------------------------------------------------------------------------------
# Hierarchies
# ---------------------------------------------------------------------------------------------

PARENTS = np.array([-1, 0, 0, -1, 1])


def test_nodes_learn_below_true_parents_and_predict_below_positive_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    Y = X > -0.3
    for node in (1, 2, 4):
        Y[:, node] &= Y[:, PARENTS[node]]
    margins, predicted = online.hierarchical_rls(X, Y, PARENTS, A)
    below = Y[:-1, 0] & Y[:-1, 1]
    w, _ = online.solution(X[:-1][below], np.where(Y[:-1][below, 4], 1.0, -1.0), A)
    assert margins[-1, 4] == pytest.approx(w @ X[-1], rel=1e-12)
    for node in (1, 2, 4):
        assert not np.any(predicted[:, node] & ~predicted[:, PARENTS[node]])
    losses = online.hierarchical_losses(Y, predicted, PARENTS)
    assert np.all(losses["zero-one"] <= losses["h"])
    assert np.all(losses["h"] <= losses["symmetric difference"])
    assert losses["h"][20:].mean() < losses["h"][:20].mean()


def test_hierarchical_losses_by_hand():
    true = np.array([[1, 1, 0, 0, 1], [1, 1, 0, 0, 1], [0, 0, 0, 1, 0]], dtype=bool)
    predicted = np.array([[0, 0, 0, 0, 0], [1, 0, 1, 1, 0], [0, 0, 0, 1, 0]], dtype=bool)
    losses = online.hierarchical_losses(true, predicted, PARENTS)
    assert_array_equal(losses["h"], [1.0, 3.0, 0.0])
    assert_array_equal(losses["zero-one"], [1.0, 1.0, 0.0])
    assert_array_equal(losses["symmetric difference"], [3.0, 4.0, 0.0])
