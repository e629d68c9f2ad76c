"""Many rows at once are learned by an expansion in kernels as they are one by one."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_matrix

from squareone.kernels import Gaussian, Linear
from squareone.online import DualLearners, Learners

rng = np.random.default_rng(0)
n, d, t = 400, 8, 3
X = rng.normal(size=(n, d))
X /= np.linalg.norm(X, axis=1, keepdims=True)
Y = np.where(np.sin(3 * X @ rng.normal(size=(d, t))) + 0.3 * rng.normal(size=(n, t)) > 0, 1.0, -1.0)

KERNELS = {"linear": Linear(), "gaussian": Gaussian(0.7)}


def learned(kernel, sizes, *, one_by_one=False, rows=X):
    learners = DualLearners(d, t, 0.5, shared=True, kernel=kernel)
    errors = []
    for part in np.split(np.arange(n), np.cumsum(sizes)):
        learners.block(rows[part])
        learn = Learners.learn_rows if one_by_one else DualLearners.learn_rows
        errors.append(learn(learners, Y[part]))
        learners.release()
    return learners, np.vstack(errors)


@cache
def one_by_one(name):
    return learned(KERNELS[name], [], one_by_one=True)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("sizes", [[], [1], [150, 150], [10, 1, 270]])
@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_are_rows_one_by_one(name, sizes, sparse):
    rows = csr_matrix(X) if sparse else X
    expected, errors = one_by_one(name)
    found, found_errors = learned(KERNELS[name], sizes, rows=rows)
    assert_allclose(found_errors, errors, atol=1e-11)
    assert_allclose(found.weights(), expected.weights(), atol=1e-11)
    assert_allclose(found.log_determinants(), expected.log_determinants(), rtol=1e-12)


def test_they_are_those_of_one_solve():
    kernel = Gaussian(0.7)
    found, _ = learned(kernel, [128] * 3)
    expected = np.linalg.solve(kernel(X) + 0.5 * np.eye(n), Y)
    assert_allclose(found.weights(), expected, atol=1e-12)


def test_a_budget_is_kept():
    learners = DualLearners(d, t, 0.5, shared=True, kernel=Gaussian(0.7), budget=20)
    learners.block(X)
    learners.learn_rows(Y)
    assert learners.state()["groups"][0]["members"].size == 20
