"""Columns are those of the kernel matrix with ε at the own row, scaled by the weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from squareone.greedy import Columns, ValidationRows
from squareone.greedy.basis import Basis
from squareone.kernels import Gaussian, Laplacian
from squareone.rows import ArrayRows

rng = np.random.default_rng(0)
n = 20
X = rng.normal(size=(n, 3))
new = rng.normal(size=(6, 3))
root = np.sqrt(rng.uniform(0.3, 2.0, n))
KERNELS = [Gaussian(1.0), Laplacian(2.0)]
SOME = np.array([3, 27, 0, 39, 12])


def expected(candidates, epsilon, root=None):
    w = np.ones(n) if root is None else root**2
    found = []
    for candidate in candidates:
        point = candidate % n
        column = KERNELS[candidate // n](X, X[point][None, :])[:, 0]
        column[point] += epsilon / w[point]
        found.append(np.sqrt(w) * column)
    return np.column_stack(found)


@pytest.mark.parametrize(
    "given", [X, csr_array(X), ArrayRows(X)], ids=["dense", "sparse", "stream"]
)
@pytest.mark.parametrize("w", [None, root], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("kept", [0.0, 2 * 8 * n, 1e9])
def test_columns_of_points_and_kernels(given, w, epsilon, kept):
    columns = Columns(KERNELS, given, w, epsilon, kept_bytes=kept)
    assert columns.count == 2 * n
    for candidates in (SOME, SOME[::-1], SOME[:1]):
        found = columns.of(candidates)
        assert_allclose(found, expected(candidates, epsilon, w), atol=1e-12)
        assert found.flags.f_contiguous
        found[:] = 0.0  # what is kept does not change with it


@pytest.mark.parametrize("w", [None, root], ids=["unweighted", "weighted"])
def test_columns_of_matrices(w):
    matrices = [kernel(X, X) for kernel in KERNELS]
    before = [K.copy() for K in matrices]
    columns = Columns(KERNELS, None, w, 0.3, matrices=matrices)
    assert_allclose(columns.of(SOME), expected(SOME, 0.3, w), atol=1e-12)
    for K, was in zip(matrices, before, strict=True):
        assert_array_equal(K, was)


@pytest.mark.parametrize("number", [0, 2, 100])
def test_no_more_columns_are_kept_than_there_is_room(number):
    columns = Columns(KERNELS, X, None, 0.0, kept_bytes=number * 8 * n)
    columns.of(np.arange(7))
    assert len(columns._kept) == min(number, 7)


def test_columns_have_the_type_of_the_rows():
    columns = Columns(KERNELS, X.astype(np.float32), root.astype(np.float32), 0.1)
    found = columns.of(SOME)
    assert found.dtype == np.float32
    assert_allclose(found, expected(SOME, 0.1, root), rtol=1e-5)


@pytest.mark.parametrize("w", [None, root], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("of_matrices", [False, True])
def test_other_rows_follow(w, of_matrices):
    """Their columns have the same triangle, and neither weights nor ε."""
    matrices = [kernel(X, X) for kernel in KERNELS] if of_matrices else None
    columns = Columns(KERNELS, None if of_matrices else X, w, 0.3, matrices=matrices)
    others = [kernel(new, X) for kernel in KERNELS] if of_matrices else new
    basis, others_seen = Basis(n, 6, np.dtype(float)), ValidationRows(columns, others, 6)
    others_seen.constant(basis.append(np.ones(n) if w is None else w.copy(), np.empty(0)))
    for candidate in SOME:
        ready = basis.prepare(columns.of(np.array([candidate])))
        length = basis.append(ready.rest[:, 0], ready.within[:, 0])
        others_seen.append(int(candidate), ready.within[:, 0], length)
    weights = rng.normal(size=(6, 2))
    solved = np.linalg.solve(basis.triangle, weights)
    plain = [KERNELS[j // n](new, X[j % n][None, :])[:, 0] for j in SOME]
    expected = np.column_stack([np.ones(6), *plain]) @ solved
    assert_allclose(others_seen.values(weights), expected, atol=1e-10)
