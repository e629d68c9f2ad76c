"""The largest residual is that of all of them, though few are computed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from squareone.greedy.basis import Basis
from squareone.greedy.largest_residual import Residual

n, m = 300, 12


@pytest.mark.parametrize("few", [0, 3, 1000])
@pytest.mark.parametrize("change", [0.0, 1e-3, 0.3, 10.0])
@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_largest_residual_of_every_step(few, change, targets, weighted, monkeypatch):
    monkeypatch.setattr("squareone.greedy.largest_residual._FEW", few)
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(n, m)))[0]
    root = np.sqrt(rng.uniform(0.2, 3.0, n)) if weighted else None
    unexplained = rng.normal(size=(n, targets))
    basis = Basis(n, m, np.dtype(float))
    residual = Residual(basis, unexplained, root)
    missing = rng.normal(size=(m, targets))
    for j in range(m):
        basis.append(Q[:, j], np.zeros(j))
        unexplained -= 0.1 * Q[:, j : j + 1]  # in place, as a fit does
        missing += change * rng.normal(size=(m, targets))
        residual.update(missing[: j + 1].copy())
        points = rng.random(n) < 0.7
        expected = np.linalg.norm(unexplained + Q[:, : j + 1] @ missing[: j + 1], axis=1)
        expected /= 1.0 if root is None else root
        point = residual.largest(points)
        assert point == np.argmax(np.where(points, expected, -1.0))
        assert_allclose(residual.sizes[point], expected[point], rtol=1e-12)


def test_the_first_of_equals_is_the_largest():
    basis = Basis(6, 1, np.dtype(float))
    residual = Residual(basis, np.array([[1.0], [-2.0], [0.5], [2.0], [2.0], [1.0]]), None)
    assert residual.largest(np.ones(6, bool)) == 1
    assert residual.largest(np.array([True, False, True, False, True, True])) == 4


@pytest.mark.parametrize("weighted", [False, True])
def test_squared_residuals_of_all_rows(weighted):
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.normal(size=(n, m)))[0]
    root = np.sqrt(rng.uniform(0.2, 3.0, n)) if weighted else None
    unexplained, missing = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
    basis = Basis(n, m, np.dtype(float))
    residual = Residual(basis, unexplained, root)
    for j in range(m):
        basis.append(Q[:, j], np.zeros(j))
    residual.update(missing)
    assert_allclose(residual.squared(), ((unexplained + Q @ missing) ** 2).sum(axis=1))
