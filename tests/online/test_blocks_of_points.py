"""Many rows at once are learned by an expansion in kernels as they are one by one."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from squareone.errors import SingularSystemError
from squareone.kernels import Gaussian, Linear
from squareone.online import DualLearners, Learners
from tests.estimators.data import refused

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


def test_a_ridge_that_is_lost_in_rounding_is_refused():
    learners = DualLearners(d, t, 1e-18, shared=True, kernel=Gaussian(0.7))
    learners.block(np.repeat(X[:10], 8, axis=0))
    with refused(SingularSystemError, "alpha=1e-18 is lost in rounding", "k(x, x) = 1", "larger"):
        learners.learn_rows(Y[:80])
    assert learners.weights().shape == (0, t)


@pytest.mark.parametrize("order", [(True, False), (False, True)])
def test_sparse_and_dense_rows_may_take_turns(order):
    expected, _ = learned(Linear(), [200])
    learners = DualLearners(d, t, 0.5, shared=True, kernel=Linear())
    for sparse, part in zip(order, (slice(0, 200), slice(200, n)), strict=True):
        learners.block(csr_matrix(X[part]) if sparse else X[part])
        learners.learn_rows(Y[part])
        learners.release()
    assert_allclose(learners.weights(), expected.weights(), atol=1e-12)
    points = learners.points.matrix()
    assert_array_equal(points.toarray() if order[0] else points, X)
    assert learners.points.rounds == list(range(n))


def test_rows_of_the_block_are_copied():
    mine = X.copy()
    learners = DualLearners(d, t, 0.5, shared=True, kernel=Linear())
    learners.block(mine)
    learners.learn_rows(Y)
    learners.release()
    mine[:] = 0.0
    assert_array_equal(learners.points.matrix(), X)
