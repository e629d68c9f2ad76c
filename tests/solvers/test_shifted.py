"""Systems with A + λ: with and without eigenvectors they are the same."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from squareone import decompositions
from squareone.solvers.few_centers.rectangle import ShiftedSystems

rng = np.random.default_rng(0)
G = rng.standard_normal((40, 3))
Q, _ = np.linalg.qr(rng.standard_normal((40, 40)))
SHIFTS = np.array([1e-6, 1e-2, 10.0])


def matrix(values):
    return (Q * values) @ Q.T


def reference(A, shifts):
    """Solutions (r, t, L) and what they explain (t, L), by dense systems."""
    X = np.stack([np.linalg.solve(A + shift * np.eye(40), G) for shift in shifts], axis=2)
    explained = 2.0 * np.einsum("rt,rtl->tl", G, X) - np.einsum("rtl,rs,stl->tl", X, A, X)
    return X, explained


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("tridiagonal", [decompositions._TRIDIAGONAL, False])
def test_systems_and_what_they_explain(vectors, tridiagonal, monkeypatch):
    monkeypatch.setattr(decompositions, "_TRIDIAGONAL", tridiagonal)
    values = np.geomspace(1e-3, 1e2, 40)
    A = matrix(values)
    X, explained = reference(A, SHIFTS)
    systems = ShiftedSystems(np.tril(A), G)
    if vectors:
        assert_allclose(np.square(systems.projections).sum(), np.square(G).sum())
    for i, shift in enumerate(SHIFTS):
        assert_allclose(systems.solutions(np.full(3, shift)), X[:, :, i], rtol=1e-8)
    assert_allclose(systems.solutions(SHIFTS), X[:, [0, 1, 2], [0, 1, 2]], rtol=1e-8)
    assert_allclose(systems.explained(SHIFTS), explained, rtol=1e-8)
    assert ("projections" in vars(systems)) == vectors
    assert_allclose(systems.squares, values, rtol=1e-8)
    V = systems.vectors()
    assert_allclose((V * systems.squares) @ V.T, A, atol=1e-10)
    assert_allclose(V.T @ G, systems.projections, atol=1e-10)
    assert_allclose(systems.explained(SHIFTS), explained, rtol=1e-8)  # needs no vectors


@pytest.mark.parametrize("share", [0.1, 1.0, 1.0001, 1.05, 2.0, 10.0, 100.0, 2e3, 1e6])
def test_values_below_zero_count_as_zero(share):
    """By how much they are below it is rounding; a λ no larger must not see it."""
    values = np.r_[-1e-7, np.geomspace(1e-2, 1.0, 39)]
    shifts = np.array([share * 1e-7])
    X, explained = reference(matrix(np.maximum(values, 0.0)), shifts)
    systems = ShiftedSystems(np.tril(matrix(values)), G)
    assert systems.squares[0] == 0.0
    assert_allclose(systems.explained(shifts), explained, rtol=5e-3)
    assert_allclose(systems.solutions(np.full(3, shifts[0])), X[:, :, 0], rtol=5e-3, atol=1e-3)
    assert ("projections" in vars(systems)) == (share < 1e3)


def test_vectors_stay_until_they_are_released():
    A = matrix(np.geomspace(1e-3, 1e2, 40))
    systems = ShiftedSystems(np.tril(A), G)
    V = systems.vectors()
    assert systems.vectors() is V  # somebody was interrupted, and asks again
    expected = np.linalg.solve(A + np.eye(40), G)
    assert_allclose(systems.solutions(np.ones(3)), expected, rtol=1e-8)
    systems.release()
    with pytest.raises(AssertionError, match="released"):
        systems.solutions(np.ones(3))
