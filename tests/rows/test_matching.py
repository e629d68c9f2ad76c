"""Rows that are equal to points, and to each other."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from squareone.rows import rows_of
from squareone.rows.matching import find_rows, first_equal

X = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0], [3.0, 1.0], [2.0, 0.0], [4.0, 4.0]])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_the_first_of_equal_rows(kind):
    assert_array_equal(first_equal(rows_of(kind(X))), [0, 1, 0, 3, 1, 5])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_points_that_are_left_over_are_the_last_row_again(kind):
    points = np.array([[2.0, 0.0], [9.0, 9.0], [2.0, 0.0], [2.0, 0.0], [4.0, 4.0], [4.0, 4.0]])
    assert_array_equal(find_rows(rows_of(kind(points)), rows_of(kind(X))), [1, -1, 4, 4, 5, 5])
