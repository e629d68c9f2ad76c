"""Columns wait in the room there is; those of the least residuals make room."""

import numpy as np
from numpy.testing import assert_array_equal

from squareone.greedy.basis import Basis
from squareone.greedy.next_center import PrefetchedColumns

n = 10
rng = np.random.default_rng(0)


def ready(count):
    return Basis(n, 1, np.dtype(float)).prepare(np.asfortranarray(rng.normal(size=(n, count))))


def test_what_is_put_is_taken_once():
    prefetched, columns = PrefetchedColumns(4), ready(2)
    prefetched.put(7, np.array([7, 17]), columns)
    assert 7 in prefetched
    numbers, found = prefetched.take(7)
    assert_array_equal(numbers, [7, 17])
    assert found is columns
    assert 7 not in prefetched
    assert prefetched.points().size == 0


def test_the_least_make_room():
    prefetched, sizes = PrefetchedColumns(5), np.arange(n)[::-1]
    for point in (2, 8, 5):
        prefetched.put(point, np.array([point]), ready(1))
    prefetched.make_room(2, sizes)
    assert sorted(prefetched.points()) == [2, 5, 8]
    prefetched.make_room(4, sizes)
    assert prefetched.points().tolist() == [2]
    prefetched.make_room(100, sizes)
    assert prefetched.points().size == 0
