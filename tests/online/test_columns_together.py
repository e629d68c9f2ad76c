"""Columns that learn a row together are what each would be by itself."""

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix

from squareone.online.diagonal import DiagonalLearners
from squareone.online.primal import PrimalLearners

rng = np.random.default_rng(0)
X = rng.standard_normal((30, 12)) * (rng.random((30, 12)) < 0.4)
Y = np.where(rng.random((30, 4)) < 0.5, 1.0, -1.0)


@pytest.mark.parametrize("weights", [None, rng.uniform(0.1, 3.0, 30)], ids=["ones", "weighted"])
@pytest.mark.parametrize("rows", [X, csr_matrix(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", [PrimalLearners, DiagonalLearners])
def test_columns_learn_a_row_together_as_one_by_one(kind, rows, weights):
    together, alone = (kind(12, 4, 0.5, shared=False) for _ in range(2))
    for learners in (together, alone):
        learners.block(rows, weights)
    for i in range(30):
        columns, p = [[0, 2], [1], [0, 1, 2, 3], []][i % 4], together.margins(i)
        together.learn_each(i, columns, Y[i], p)
        for column in columns:
            own = slice(column, column + 1)
            alone.learn(i, column, Y[i, own], p[own])
    assert_array_equal(together.weights(), alone.weights())


@pytest.mark.parametrize("numbers", [3, 1000])
@pytest.mark.parametrize("rows", [X, csr_matrix(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", [PrimalLearners, DiagonalLearners])
def test_what_columns_learned_together_is_taken_back(kind, rows, numbers):
    learners = kind(12, 4, 0.5, shared=False)
    learners.block(rows)
    learners.learn_each(0, [0, 1, 3], Y[0], learners.margins(0))
    before, kept = learners.snapshot(numbers), deepcopy(learners.weights())
    learners.block(rows)
    for i in (1, 2):
        learners.learn_each(i, [1, 2, 3], Y[i], learners.margins(i))
        learners.learn(i, 0, Y[i, :1])
    assert (learners.weights() != kept).any()
    learners.roll_back(before)
    assert_array_equal(learners.weights(), kept)
    again = kind(12, 4, 0.5, shared=False)
    again.block(rows)
    again.learn_each(0, [0, 1, 3], Y[0], again.margins(0))
    for each in (learners, again):
        each.block(rows)
        each.learn_each(3, [0, 1, 2], Y[3], each.margins(3))
    assert_array_equal(learners.weights(), again.weights())
