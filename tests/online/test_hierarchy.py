"""Every node of a forest is regularised least squares on the rows of its parent."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from squareone.kernels import Linear
from squareone.online import (
    DualLearners,
    Hierarchy,
    PrimalLearners,
    Taxonomy,
    descend,
    top_down,
)
from tests.online.forests import as_parents, random_forest
from tests.reference import hierarchy

n, d, a = 60, 5, 0.3
seeds = pytest.mark.parametrize("seed", range(6))


def primal(columns):
    return PrimalLearners(d, columns, a, shared=True)


def dual(columns):
    return DualLearners(d, columns, a, shared=True, kernel=Linear())


def drawn(seed, k=9):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, k)
    taxonomy = Taxonomy.of(as_parents(forest))
    X = rng.normal(size=(n, d))
    Y = top_down(X @ rng.normal(size=(d, k)) + 0.5, taxonomy)
    return forest, taxonomy, X, Y


def node_by_node(forest, X, Y):
    """Margins of every node before a row is learned, and its weights after the last one."""
    k = len(forest)
    A, v = [a * np.eye(d) for _ in range(k)], np.zeros((k, d))
    margins = np.zeros((n, k))
    for i, (x, row) in enumerate(zip(X, Y, strict=True)):
        for node in range(k):
            margins[i, node] = v[node] @ np.linalg.solve(A[node], x)
        for node, above in enumerate(forest):
            if above is None or row[above]:
                A[node] += np.outer(x, x)
                v[node] += x if row[node] else -x
    return margins, np.array([np.linalg.solve(A[node], v[node]) for node in range(k)])


def weights(found):
    W = np.zeros((len(found.taxonomy), d))
    for family in found.families:
        learned = family.learners.weights()
        if isinstance(family.learners, DualLearners):
            learned = family.learners.points.matrix().T @ learned
        W[family.children] = learned.T
    return W


@seeds
@pytest.mark.parametrize("make", [primal, dual])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("size", [1, 7, n])
def test_nodes_learn_below_true_parents(seed, make, sparse, size):
    forest, taxonomy, X, Y = drawn(seed)
    margins, expected = node_by_node(forest, X, Y)
    found = Hierarchy(taxonomy, make)
    losses = [
        found.learn(csr_matrix(X[part]) if sparse else X[part], Y[part])
        for part in np.array_split(np.arange(n), n // size)
    ]
    assert_allclose(weights(found), expected, atol=1e-11)
    expected_losses = [
        hierarchy.h_loss(forest, row, hierarchy.top_down(forest, values), np.ones(len(forest)))
        for row, values in zip(Y, margins, strict=True)
    ]
    assert_array_equal(np.concatenate(losses), expected_losses)
    assert found.rounds == n
    assert found.loss == sum(expected_losses)
    assert found.mistakes == np.count_nonzero(expected_losses)


@pytest.mark.parametrize("make", [primal, dual])
def test_it_goes_on_from_its_state(make):
    _, taxonomy, X, Y = drawn(0)
    whole, first, second = (Hierarchy(taxonomy, make) for _ in range(3))
    whole.learn(X[:20], Y[:20])
    first.learn(X[:20], Y[:20])
    second.restore(first.state())
    for found in (whole, second):
        found.learn(X[20:], Y[20:])
    assert_array_equal(weights(second), weights(whole))
    assert (second.rounds, second.loss, second.mistakes) == (n, whole.loss, whole.mistakes)


def test_rows_are_copied():
    _, taxonomy, X, Y = drawn(1)
    for make in (primal, dual):
        kept, found = Hierarchy(taxonomy, make), Hierarchy(taxonomy, make)
        mine = X.copy()
        kept.learn(X, Y)
        found.learn(mine, Y)
        mine[:] = 7.0
        assert_array_equal(weights(found), weights(kept))


@seeds
def test_predictions_come_from_the_top(seed):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, 12)
    margins = rng.normal(size=(50, 12))
    margins[:5] = 0.0  # which is not above zero
    found = top_down(margins, Taxonomy.of(as_parents(forest)))
    assert_array_equal(found, [hierarchy.top_down(forest, row) for row in margins])


def one_way_down(forest, margins, ends):
    at = None
    while below := [node for node, above in enumerate(forest) if above == at]:
        best = max(below, key=lambda node: margins[node])
        if at is not None and ends[at] and margins[best] <= 0:
            break
        at = best
    return at


@seeds
def test_one_label_is_the_best_way_down(seed):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, 12)
    ends = rng.random(12) < 0.5
    margins = rng.normal(size=(50, 12))
    found = descend(margins, Taxonomy.of(as_parents(forest)), ends)
    assert_array_equal(found, [one_way_down(forest, row, ends) for row in margins])
