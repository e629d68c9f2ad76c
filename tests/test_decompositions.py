"""Decompositions into orthogonal factors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from squareone import decompositions
from squareone.decompositions import BlockedQR, Tridiagonal


def symmetric(n, dtype=np.float64):
    A = np.random.default_rng(0).standard_normal((n, n))
    return (A @ A.T + np.eye(n)).astype(dtype)


@pytest.mark.parametrize("shape", [(5, 5), (40, 3), (3000, 100), (130, 60)])
def test_blocked_qr(shape):
    rng = np.random.default_rng(0)
    A = rng.standard_normal(shape)
    A[:, -1] = A[:, 0]  # whatever the rank
    qr = BlockedQR(lambda rows: A[rows].copy(), *shape, A.dtype)
    R = qr.R.copy()
    Q = qr.rotated(np.eye(shape[1]))
    assert_allclose(Q.T @ Q, np.eye(shape[1]), atol=1e-13)
    assert_allclose(Q @ R, A, atol=1e-11)


@pytest.fixture(params=["tridiagonal", "dense"])
def form(request, monkeypatch):
    """Versions of SciPy without divide and conquer for tridiagonal matrices have dense vectors."""
    if request.param == "dense":
        monkeypatch.setattr(decompositions, "_TRIDIAGONAL", False)
    elif not decompositions._TRIDIAGONAL:
        pytest.skip("this SciPy has dense vectors only")
    return Tridiagonal


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [0, 1, 2, 60])
def test_eigenvectors_as_a_product(n, dtype, form):
    A = symmetric(n, dtype)
    found = form(np.tril(A))  # what is above the diagonal is not read
    assert_allclose(found.values, np.linalg.eigvalsh(A), rtol=1e3 * np.finfo(dtype).eps)
    B = np.random.default_rng(1).standard_normal((n, 2))
    there, back = found.times(B), found.turned(found.reduced(B))
    assert there.dtype == back.dtype == dtype
    V, close = found.dense(), 1e2 * np.finfo(dtype).eps
    assert_allclose(V.T @ V, np.eye(n), atol=close)
    assert_allclose((V * found.values) @ V.T, A, atol=close * np.linalg.norm(A))
    assert_allclose(there, V @ B, atol=close)
    assert_allclose(back, V.T @ B, atol=close)
    assert found.times(B[:, :0]).shape == found.reduced(B[:, :0]).shape == (n, 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [0, 1, 2, 60])
@pytest.mark.parametrize("shift", [0.0, 1e-3, 1e6])
def test_systems_need_no_eigenvectors(n, dtype, shift, form):
    A = symmetric(n, dtype)
    found, B = form(np.tril(A)), np.random.default_rng(1).standard_normal((n, 2))
    X = found.expanded(found.solved(shift, found.reduced(B)))
    expected = np.linalg.solve(A + shift * np.eye(n), B)
    assert_allclose(
        X, expected, rtol=0, atol=1e3 * np.finfo(dtype).eps * np.abs(expected).max(initial=1)
    )
    assert "_turn" not in vars(found)


@pytest.mark.parametrize("shift", [0.0, 1.0, 2.0 * (1.0 + 1e-14)])
def test_systems_that_are_not_positive_definite_are_not_solved(shift, form):
    A = symmetric(30)
    A -= (2.0 + np.linalg.eigvalsh(A)[0]) * np.eye(30)  # the smallest value is −2
    found = form(np.tril(A))
    assert found.solved(shift, np.ones((30, 1))) is None
    assert found.solved(2.5, np.ones((30, 1))) is not None
