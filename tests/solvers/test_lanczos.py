"""Shifted systems from one Krylov sequence: every λ, every column, kept or made again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from squareone.solvers.krylov.lanczos import LanczosSequence

SHIFTS = np.array([0.01, 0.3, 20.0])


def unwatched(steps, residual):
    pass


def make(m=40, c=3, *, rank=None, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((m, rank or m))
    A = (root @ root.T / m).astype(dtype)
    return A, rng.standard_normal((m, c)).astype(dtype)


def sequence(A, B, keep=1000):
    return LanczosSequence(lambda V: A @ V, B, keep)


def solutions(A, B):
    """(m, c, L) by a dense solver."""
    m = A.shape[0]
    return np.stack([np.linalg.solve(A + s * np.eye(m), B) for s in SHIFTS], axis=2)


def reached(lanczos, tolerance=1e-12):
    residual = lanczos.extend(SHIFTS.min(), tolerance, 500, unwatched)
    assert residual <= tolerance
    return lanczos


def test_all_shifts_from_one_sequence():
    A, B = make()
    lanczos = reached(sequence(A, B))
    found = lanczos.combined(lanczos.weights(SHIFTS))
    assert_allclose(found, solutions(A, B), atol=1e-9)


@pytest.mark.parametrize("keep", [2, 3, 7, 20])
def test_vectors_that_are_not_kept_are_made_again(keep):
    A, B = make()
    lanczos = reached(sequence(A, B, keep))
    assert lanczos.steps > 20
    found = lanczos.combined(lanczos.weights(SHIFTS))
    assert_allclose(found, solutions(A, B), atol=1e-9)


def test_residuals_are_those_of_the_solutions():
    A, B = make()
    lanczos = sequence(A, B)
    for _ in range(5):
        lanczos.advance()
        found = lanczos.combined(lanczos.weights(SHIFTS))
        left = B[:, :, None] - (np.einsum("ij,jcl->icl", A, found) + SHIFTS * found)
        expected = np.linalg.norm(left, axis=0) / np.linalg.norm(B, axis=0)[:, None]
        assert_allclose(lanczos.residuals(SHIFTS), expected, rtol=1e-8)


def test_larger_shifts_are_at_least_as_good():
    A, B = make()
    lanczos = sequence(A, B)
    for _ in range(8):
        lanczos.advance()
        assert (np.diff(lanczos.residuals(SHIFTS), axis=1) < 0).all()


def test_it_is_continued_for_a_smaller_shift():
    A, B = make()
    lanczos = sequence(A, B)
    lanczos.extend(20.0, 1e-8, 500, unwatched)
    few = lanczos.steps
    lanczos.extend(0.01, 1e-8, 500, unwatched)
    assert lanczos.steps > few
    straight = sequence(A, B)
    straight.extend(0.01, 1e-8, 500, unwatched)
    assert straight.steps == lanczos.steps


def test_it_is_conjugate_gradients():
    """After j steps the solution is that of j steps of conjugate gradients, written out here."""
    A, B = make(c=1)
    shift, b = 0.3, B[:, 0]
    system = A + shift * np.eye(len(b))
    x, r = np.zeros_like(b), b.copy()
    p = r.copy()
    lanczos = sequence(A, B)
    for _ in range(6):
        step = r @ r / (p @ system @ p)
        x = x + step * p
        new = r - step * (system @ p)
        p = new + (new @ new) / (r @ r) * p
        r = new
        lanczos.advance()
        found = lanczos.combined(lanczos.weights(np.array([shift])))[:, 0, 0]
        assert_allclose(found, x, rtol=1e-9)


def test_energies():
    A, B = make()
    lanczos = reached(sequence(A, B))
    expected = np.einsum("ic,icl->cl", B, solutions(A, B))
    assert_allclose(lanczos.energies(SHIFTS), expected, rtol=1e-10)


def test_the_largest_eigenvalue():
    A, B = make()
    lanczos = reached(sequence(A, B))
    assert lanczos.largest == pytest.approx(np.linalg.eigvalsh(A)[-1], rel=1e-6)


@pytest.mark.parametrize("rank", [1, 2, 5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_exhausted_space(rank, dtype):
    """The space of a matrix of rank r has r + 1 dimensions: more steps change nothing."""
    A, B = make(rank=rank, dtype=dtype)
    lanczos = sequence(A, B)
    for _ in range(rank + 6):
        lanczos.advance()
    found = lanczos.combined(lanczos.weights(SHIFTS))
    assert np.isfinite(found).all()
    tolerance = 1e-9 if dtype == np.float64 else 2e-3
    assert_allclose(found, solutions(A.astype(float), B.astype(float)), rtol=tolerance, atol=1e-3)


def test_a_right_hand_side_of_zeros():
    A, B = make()
    B[:, 1] = 0.0
    lanczos = reached(sequence(A, B))
    found = lanczos.combined(lanczos.weights(SHIFTS))
    assert not found[:, 1].any()
    assert_allclose(found, solutions(A, B), atol=1e-9)


def test_a_matrix_of_zeros():
    _, B = make()
    lanczos = sequence(np.zeros((40, 40)), B)
    assert lanczos.extend(1.0, 1e-12, 500, unwatched) == 0.0
    assert lanczos.steps == 1
    assert lanczos.largest == 0.0
    found = lanczos.combined(lanczos.weights(SHIFTS))
    assert_allclose(found, B[:, :, None] / SHIFTS, rtol=1e-12)


def test_steps_stop_at_the_limit_and_are_watched():
    A, B = make()
    seen = []
    residual = sequence(A, B).extend(1e-6, 1e-14, 7, lambda *step: seen.append(step))
    assert [steps for steps, _ in seen] == list(range(1, 8))
    assert residual == seen[-1][1] > 1e-14


def test_single_precision():
    A, B = make(dtype=np.float32)
    lanczos = sequence(A, B)
    lanczos.extend(0.3, 1e-5, 200, unwatched)
    found = lanczos.combined(lanczos.weights(SHIFTS[1:]))
    assert found.dtype == np.float32
    expected = solutions(A.astype(float), B.astype(float))[:, :, 1:]
    assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())
