"""Sums over groups of rows: their order is that of the tree, and nothing else counts."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone.arrays import block_lengths
from squareone.rows import GeneratedRows, block_sums, rows_of
from squareone.rows.block_sums import AddedUp, TreeSum, added, group_rows

rng = np.random.default_rng(0)


@pytest.fixture
def small_groups(monkeypatch):
    monkeypatch.setattr(block_sums, "_MOST_ROWS", 16)
    monkeypatch.setattr(block_sums, "_FEWEST_ROWS", 4)


def tree_of(parts):
    """As a student would: nodes of eight, level by level."""
    while len(parts) > 1:
        parts = [added(parts[i : i + 8]) for i in range(0, len(parts), 8)]
    return parts[0]


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 63, 64, 65, 100, 513])
def test_the_tree_is_that_of_all_sums_at_once(count):
    parts = list(rng.standard_normal((count, 3)) * 10.0 ** rng.integers(-8, 8, (count, 3)))
    tree = TreeSum()
    for i, part in enumerate(parts):
        tree.add(part.copy())
        if i % 5 == 0:  # interrupted
            tree = TreeSum.from_state(tree.state())
    assert_array_equal(tree.total(), tree_of(parts))


@pytest.mark.parametrize("count", [3, 8, 70, 128])
def test_nodes_may_come_in_place_of_groups(count):
    parts = list(rng.standard_normal((count, 3)) * 10.0 ** rng.integers(-8, 8, (count, 3)))
    tree = TreeSum()
    for i in range(0, count, 8):
        tree.add(tree_of(parts[i : i + 8]).copy(), level=1)
    assert_array_equal(tree.total(), tree_of(parts))


def test_a_node_changes_none_of_its_parts():
    parts = [np.ones(3), np.full(3, 2.0)]
    assert_array_equal(added(parts), np.full(3, 3.0))
    assert_array_equal(parts[0], np.ones(3))


@pytest.mark.parametrize(("size", "within"), [(4, 16), (5, 16), (16, 16), (40, 16), (1, 3)])
def test_no_block_lies_in_two_groups(size, within):
    lengths = block_lengths(size, within)
    ends = np.cumsum([next(lengths) for _ in range(50)])
    assert np.diff(ends).max() <= min(size, within)
    assert set(range(within, int(ends[-1]), within)) <= set(ends.tolist())


@pytest.mark.parametrize("d", [1, 7, 100, 129, 3000, 10**7])
def test_groups_depend_on_the_features_alone(d):
    rows = group_rows(d, sparse=False)
    assert 1024 <= rows <= 65_536
    assert rows & (rows - 1) == 0
    assert rows * d <= 8_388_608 or rows == 1024


def weighted(block, w):
    return w @ block.X


@pytest.mark.parametrize("size", [1, 5, 16, 100])
def test_arrays_and_streams_have_the_same_sums(size, small_groups):
    X, w = rng.standard_normal((203, 4)) * 1e6, rng.uniform(size=203)
    start = partial(AddedUp, weighted)
    kinds = [X, GeneratedRows(lambda: iter(np.array_split(X, 9)), X.shape)]
    found = [rows_of(rows).sum_over_blocks(start, (w,), size=size) for rows in kinds]
    assert_allclose(found[0], w @ X, rtol=1e-12)
    assert_array_equal(found[0], found[1])


class Kept:
    """Keeps every state, and restores the one with so many rows."""

    def __init__(self, states=None, rows=0):
        self.states, self._rows = {} if states is None else states, rows

    def restored(self, stage):
        assert stage == "sums"
        return self.states.get(self._rows)

    def keep(self, stage, state):
        made = state()
        self.states[int(made["rows"])] = made


def test_sums_go_on_from_every_state(small_groups):
    X = rng.standard_normal((203, 4)) * 1e6
    start, kept = partial(AddedUp, lambda block: block.X.sum(axis=0)), Kept()
    expected = rows_of(X).sum_over_blocks(start, size=5, keeper=kept)
    assert len(kept.states) > 50
    for rows in kept.states:
        keeper = Kept(kept.states.copy(), rows)
        assert_array_equal(rows_of(X).sum_over_blocks(start, size=5, keeper=keeper), expected)
        # another size of blocks: other roundings
        other = Kept(kept.states.copy(), rows)
        found = rows_of(X).sum_over_blocks(start, size=7, keeper=other)
        assert_allclose(found, X.sum(axis=0), rtol=1e-11)
