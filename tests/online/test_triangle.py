"""A triangle that grows is the one that was there at once."""

import numpy as np
import pytest

from squareone.online.triangle import GrowingTriangle


@pytest.mark.parametrize("sizes", [[1] * 9, [5, 300, 1, 256, 2], [600], [0, 3]])
def test_solves_and_copies_are_those_of_the_whole(sizes):
    rng = np.random.default_rng(0)
    m = sum(sizes)
    L = np.tril(rng.standard_normal((m, m))) / np.sqrt(m) + 3.0 * np.eye(m)
    grown = GrowingTriangle()
    start = 0
    for size in sizes:
        part = slice(start, start + size)
        above = rng.standard_normal((size, size))  # which nobody reads
        grown.extend(L[part, :start], L[part, part] + np.triu(above, 1))
        start += size
    assert grown.size == m
    assert np.array_equal(grown.dense(), L)
    assert np.array_equal(grown.diagonal(), np.diagonal(L))
    B = rng.standard_normal((m, 2))
    before = B.copy()
    np.testing.assert_allclose(grown.solve(B), np.linalg.solve(L, B), atol=1e-12)
    np.testing.assert_allclose(grown.solve_transposed(B), np.linalg.solve(L.T, B), atol=1e-12)
    assert np.array_equal(B, before)
    again = GrowingTriangle.of(grown.dense())
    assert np.array_equal(again.solve(B), grown.solve(B))


def test_nothing_is_a_triangle():
    empty = GrowingTriangle()
    assert empty.solve(np.empty((0, 3))).shape == (0, 3)
    assert empty.dense().shape == (0, 0)
    assert empty.diagonal().size == 0
