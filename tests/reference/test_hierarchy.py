"""The reference for labels in a forest, on a forest that can be worked out by hand."""

import pytest

from tests.reference import hierarchy

# 0 has 1 and 2 below it, 2 has 3; 4 is a root by itself
FOREST = [None, 0, 0, 2, None]


def test_above():
    assert hierarchy.ancestors(FOREST, 3) == [2, 0]
    assert hierarchy.ancestors(FOREST, 4) == []


def test_closed():
    assert hierarchy.closed(FOREST, [0, 0, 0, 1, 0]) == [True, 0, True, True, 0]
    assert hierarchy.contradicts(FOREST, [1, 0, 0, 1, 0])
    assert not hierarchy.contradicts(FOREST, [1, 0, 1, 0, 1])


def test_costs_are_shared():
    assert [hierarchy.shared_cost(FOREST, i) for i in range(5)] == [0.5, 0.25, 0.25, 0.25, 0.5]


@pytest.mark.parametrize(
    ("true", "predicted", "expected"),
    [
        ([1, 0, 1, 1, 0], [1, 0, 1, 1, 0], 0),
        ([1, 0, 1, 1, 0], [0, 0, 0, 0, 0], 1),  # the root; below it nothing counts
        ([1, 0, 1, 1, 0], [1, 1, 0, 0, 0], 2 + 4),
        ([1, 0, 1, 1, 0], [1, 1, 1, 0, 1], 2 + 8 + 16),
        ([0, 0, 0, 0, 1], [1, 1, 1, 1, 0], 1 + 16),
    ],
)
def test_first_mistakes(true, predicted, expected):
    assert hierarchy.h_loss(FOREST, true, predicted, [1, 2, 4, 8, 16]) == expected


def test_nothing_below_a_negative():
    assert hierarchy.top_down(FOREST, [1, -1, 0, 5, 2]) == [True, False, False, False, True]
