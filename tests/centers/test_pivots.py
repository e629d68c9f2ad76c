"""Pivots: those of the sequential algorithms, and their distribution."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chi2

from squareone.centers import (
    LeverageScores,
    PivotedCholesky,
    TraceGreedy,
    leverage,
    pivoted_cholesky,
)
from squareone.kernels import Gaussian, Laplacian, Linear

from .data import KERNEL, residual, rows


def greedy_pivots(K, count):
    R, pivots = K.copy(), []
    for _ in range(count):
        p = int(np.argmax(np.diag(R)))
        pivots.append(p)
        R -= np.outer(R[:, p], R[p]) / R[p, p]
    return pivots


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Gaussian(1.5), Laplacian(1.0)], ids=str)
def test_greedy_pivots_are_those_of_a_plain_loop(kernel):
    X = rows(700)
    chosen = PivotedCholesky(60, "greedy").select(X, kernel)
    assert chosen.indices.tolist() == greedy_pivots(kernel(X), 60)
    assert_array_equal(chosen.points, X[chosen.indices])


@pytest.mark.parametrize("pivot", ["random", "greedy"])
def test_the_share_is_that_of_the_residual(pivot):
    X = rows(300)
    chosen = PivotedCholesky(40, pivot).select(X, KERNEL)
    K = KERNEL(X)
    left = np.trace(residual(K, chosen.indices))
    assert 1 - chosen.explained == pytest.approx(left / np.trace(K), rel=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("first", [1, 2, 32])
def test_random_pivots_are_distributed_as_drawn_one_by_one(first, monkeypatch):
    """All ordered triples of five rows, with probabilities computed by the definition."""
    monkeypatch.setattr(pivoted_cholesky, "_FIRST", first)
    monkeypatch.setattr(pivoted_cholesky, "_FEWEST", first)
    monkeypatch.setattr(pivoted_cholesky, "_MOST", first)
    X = np.array([[0.0, 1.0], [0.3, 1.0], [1.0, 0.5], [2.0, -1.0], [2.1, -1.2]])
    kernel = Gaussian(1.0) + 0.3 * Linear()
    K = kernel(X)
    expected = {}
    for triple in permutations(range(5), 3):
        probability, R = 1.0, K
        for k, p in enumerate(triple):
            probability *= R[p, p] / np.trace(R)
            R = residual(K, triple[: k + 1])
        expected[triple] = probability
    assert sum(expected.values()) == pytest.approx(1.0)

    rng, draws = np.random.RandomState(0), 3000
    selector = PivotedCholesky(3)
    seen = Counter(tuple(selector._choose(kernel, X, rng).indices) for _ in range(draws))
    assert set(seen) <= set(expected)
    counts = np.array([[seen[triple], draws * expected[triple]] for triple in expected])
    rare = counts[:, 1] < 5  # together they make one more cell
    counts = np.vstack([counts[~rare], counts[rare].sum(axis=0)])
    statistic = ((counts[:, 0] - counts[:, 1]) ** 2 / counts[:, 1]).sum()
    assert statistic < chi2.ppf(0.999, len(counts) - 1)


def test_a_choice_begins_with_the_smaller_choice():
    X = rows(300)
    for selector in (PivotedCholesky, lambda count: PivotedCholesky(count, "greedy"), TraceGreedy):
        few, many = (selector(count).select(X, KERNEL).indices for count in (10, 30))
        assert_array_equal(few, many[:10])


def test_trace_greedy_takes_the_best_of_all_where_all_are_candidates():
    X = rows(60)
    K = KERNEL(X)
    expected = []
    for _ in range(12):
        R = residual(K, expected)
        gains = np.square(R).sum(axis=0) / np.maximum(np.diag(R), 1e-9)
        gains[expected] = 0.0
        expected.append(int(np.argmax(gains)))
    chosen = TraceGreedy(12, candidates=60).select(X, KERNEL)
    assert chosen.indices.tolist() == expected


def test_trace_greedy_explains_more_than_the_pivots():
    X = rows(500)
    best = TraceGreedy(30).select(X, KERNEL).explained
    for pivot in ("random", "greedy"):
        assert PivotedCholesky(30, pivot).select(X, KERNEL).explained < best


def test_leverage_scores_are_exact_with_every_row_in_the_pilot():
    X = rows(120)
    K, alpha = KERNEL(X), 0.3
    expected = np.diag(K @ np.linalg.inv(K + alpha * np.eye(120)))
    for size, tolerance in ((120, 1e-10), (60, 0.02)):
        pilot = leverage._pilot(KERNEL, X, size, np.random.RandomState(0))
        scores = LeverageScores(10, alpha=alpha)._scores(pilot, 10, 1.0)
        assert np.abs(scores - expected).mean() < tolerance
        assert scores.max() <= 1 / (1 + alpha)
        in_half = LeverageScores(10, alpha=2 * alpha)._scores(pilot, 10, 0.5)
        assert_array_equal(in_half, scores)
        assert LeverageScores(10)._scores(pilot, 10, 1.0).sum() == pytest.approx(5.0, rel=1e-3)


def test_rows_of_high_leverage_are_drawn():
    X = np.concatenate([np.zeros((200, 1)), [[50.0], [60.0], [70.0]]])
    drawn = [LeverageScores(8).select(X, KERNEL, seed).indices for seed in range(20)]
    assert np.mean([np.isin([200, 201, 202], indices).mean() for indices in drawn]) > 0.9
