"""Losses are their definitions, on random forests and on what can be seen at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone.online import Taxonomy, h_loss, symmetric_difference_loss, zero_one_loss
from squareone.online.hierarchical_losses import node_costs
from tests.estimators.data import refused
from tests.online.forests import as_parents, random_forest, random_rows
from tests.reference import hierarchy

seeds = pytest.mark.parametrize("seed", range(12))


def drawn(seed, n=40):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 15))
    forest = random_forest(rng, k)
    return rng, forest, Taxonomy.of(as_parents(forest)), *(random_rows(rng, n, k) for _ in range(2))


@seeds
@pytest.mark.parametrize("costs", ["uniform", "shared", "own"])
def test_h_loss_is_its_definition(seed, costs):
    rng, forest, taxonomy, true, predicted = drawn(seed)
    k = len(forest)
    expected_costs = {
        "uniform": np.ones(k),
        "shared": [hierarchy.shared_cost(forest, node) for node in range(k)],
        "own": rng.uniform(0, 3, k),
    }[costs]
    found = h_loss(true, predicted, taxonomy, costs=expected_costs if costs == "own" else costs)
    expected = [
        hierarchy.h_loss(forest, *rows, expected_costs)
        for rows in zip(true, predicted, strict=True)
    ]
    assert_allclose(found, expected, rtol=1e-13)


@seeds
def test_losses_are_ordered(seed):
    _, _, taxonomy, true, predicted = drawn(seed)
    true, predicted = taxonomy.closure(true), taxonomy.closure(predicted)
    whole, first = zero_one_loss(true, predicted), h_loss(true, predicted, taxonomy)
    assert (whole <= first).all()  # a set that is wrong has a first mistake
    assert (first <= symmetric_difference_loss(true, predicted)).all()
    shared = h_loss(true, predicted, taxonomy, costs="shared")
    assert ((shared > 0) == (whole > 0)).all()
    assert (shared <= 1 + 1e-12).all()


@seeds
def test_simple_losses_are_their_definitions(seed):
    _, _, _, true, predicted = drawn(seed)
    pairs = [
        (set(np.flatnonzero(a)), set(np.flatnonzero(b)))
        for a, b in zip(true, predicted, strict=True)
    ]
    assert_array_equal(zero_one_loss(true, predicted), [a != b for a, b in pairs])
    assert_array_equal(symmetric_difference_loss(true, predicted), [len(a ^ b) for a, b in pairs])


def test_without_a_hierarchy_the_h_loss_is_the_symmetric_difference():
    rng = np.random.default_rng(0)
    true, predicted = random_rows(rng, 30, 6), random_rows(rng, 30, 6)
    flat = Taxonomy.of(dict.fromkeys(range(6)))
    found = h_loss(true, predicted, flat)
    assert_array_equal(found, symmetric_difference_loss(true, predicted))


def test_a_mistake_hides_what_is_below_it():
    chain = Taxonomy.of([("a", "b", "c", "d")])
    true = np.ones((5, 4), dtype=int)
    predicted = np.tril(np.ones((5, 4), dtype=int), -1)  # ever more of the path
    assert_array_equal(h_loss(true, predicted, chain), [1, 1, 1, 1, 0])
    assert_array_equal(symmetric_difference_loss(true, predicted), [4, 3, 2, 1, 0])


def test_ones_truth_values_and_lists_are_the_same():
    forest = {"a": ["b"]}
    expected = h_loss([[1, 0], [0, 0]], [[1, 1], [1, 0]], forest)
    assert_array_equal(expected, [1, 1])
    found = h_loss(np.array([[True, False], [False, False]]), [[2.0, 1.0], [0.5, 0.0]], forest)
    assert_array_equal(found, expected)


@pytest.mark.parametrize("loss", [zero_one_loss, symmetric_difference_loss])
def test_rows_that_do_not_match_are_refused(loss):
    with refused(ValueError, "two indicators (n, nodes)", "(2, 2) and (2, 3)"):
        loss(np.ones((2, 2)), np.ones((2, 3)))
    with refused(ValueError, "two indicators (n, nodes)", "(2,) and (2,)"):
        loss(np.ones(2), np.ones(2))


def test_another_forest_is_refused():
    with refused(ValueError, "2 columns", "3 nodes"):
        h_loss(np.ones((1, 2)), np.ones((1, 2)), {"a": ["b", "c"]})


@pytest.mark.parametrize("costs", ["equal", [1.0], [1.0, -1.0], [1.0, np.nan]])
def test_bad_costs_are_refused(costs):
    with refused(
        ValueError, "costs", "2 n" if isinstance(costs, list) else '"shared" or 2 numbers'
    ):
        node_costs(Taxonomy.of({"a": ["b"]}), costs)
