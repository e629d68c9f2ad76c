"""Sums of kernel values: plain, with large directions apart, and divided first."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from squareone.kernels import Gaussian
from squareone.rows import rows_of
from squareone.solvers import CenterBasis, RectangleFactor, Weighting
from squareone.solvers.few_centers import rectangle
from squareone.solvers.few_centers.deflation import Deflation
from squareone.solvers.few_centers.feature_sums import FeatureSums, JointSums

rng = np.random.default_rng(0)
X = rng.standard_normal((3000, 6)) + 2.0
Y = np.sin(X[:, :2]) + 0.1 * rng.standard_normal((3000, 2))
weights = rng.uniform(0.2, 2.0, 3000)
rows = np.sort(rng.choice(3000, 150, replace=False))
X_new = rng.standard_normal((50, 6)) + 2.0


def fitted(sigma, dtype, monkeypatch, *, sums, large=1024):
    """Predictions of fits at three λ, and the way in which rows were summed."""
    dtype = np.dtype(dtype)
    monkeypatch.setattr(rectangle, "LARGE", large)
    monkeypatch.setattr(rectangle, "_SAFE_SUMS", {dtype: np.inf if sums == "plain" else -1.0})
    monkeypatch.setattr(rectangle, "_SAFE_APART", np.inf if sums == "apart" else -1.0)
    monkeypatch.setattr(rectangle, "_NEGLIGIBLE", 0.0)
    kernel = Gaussian(sigma)
    basis = CenterBasis(kernel, X[rows].astype(dtype), dtype)
    assert basis.dropped.size == 0
    weighting = Weighting.of(3000, weights, True, dtype)
    factor = RectangleFactor(basis, rows_of(X.astype(dtype)), Y.astype(dtype), weighting, rows)
    values = []
    for share in (1e-1, 1e-3, 1e-5):
        C, intercepts = factor.coefficients(np.full(2, share * factor.largest))
        values.append(kernel(X_new, X[rows]) @ C.astype(np.float64) + intercepts)
    return np.array(values), factor


@pytest.mark.parametrize("sigma", [1.0, 2.0, 3.0])
def test_plain_sums_are_as_good_as_they_promise(sigma, monkeypatch):
    exact, factor = fitted(sigma, np.float64, monkeypatch, sums="divided")
    assert factor._divided_first
    found, factor = fitted(sigma, np.float64, monkeypatch, sums="plain")
    assert not factor._divided_first
    promised = 10.0 * np.finfo(float).eps * (factor._amplified + 1e5)  # λ is 1e-5 of the largest
    assert promised < 1e-4
    assert_allclose(found, exact, rtol=promised, atol=promised)


@pytest.mark.parametrize("large", [1024, 0], ids=["float64", "float32"])
def test_large_directions_apart_save_digits_in_float32(large, monkeypatch):
    """Whatever the precision of matrices among the centers."""
    exact, _ = fitted(1.5, np.float64, monkeypatch, sums="divided")
    errors = {
        sums: np.abs(fitted(1.5, np.float32, monkeypatch, sums=sums, large=large)[0] - exact).max()
        for sums in ("plain", "apart", "divided")
    }
    assert errors["apart"] < 0.1 * errors["plain"]
    assert errors["apart"] < 5.0 * errors["divided"]


@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_split_features_have_the_same_sums(precision):
    basis = CenterBasis(Gaussian(3.0), X[rows[:12]], np.dtype(float))
    L, r, precision = basis.factor, basis.size, np.dtype(precision)
    apart = Deflation(L, basis.condition)
    assert 0 < apart.size < r == 12
    assert_allclose(apart.vectors.T @ apart.vectors, np.eye(apart.size), atol=1e-12)
    K, T = basis.values(rows_of(X[:300])), Y[:300]
    divided, whole = FeatureSums.zero(r, 2), FeatureSums.zero(r, 2)
    divided.add(np.linalg.solve(L, K.T).T, T, None)
    whole.add(K, T, None)
    split = np.empty((300, r + apart.size))
    split[:, :r] = K
    apart.split(split[:, :r], split[:, r:])
    parts = FeatureSums.zero(r + apart.size, 2)
    parts.add(split, T, None)
    close = 30.0 * np.finfo(precision).eps * apart.amplified
    assert close < 1e-2
    for found in (apart.divided(parts, basis, precision), whole.divided(basis, precision)):
        assert found.gram.dtype == precision
        scale = np.abs(divided.gram).max()
        assert_allclose(np.tril(found.gram), np.tril(divided.gram), rtol=0, atol=close * scale)
        assert_allclose(found.first, divided.first, rtol=0, atol=1e-10 * scale)
        assert_allclose(found.cross, divided.cross, rtol=0, atol=1e-10 * scale)
        assert_allclose(found.targets, divided.targets, rtol=0, atol=1e-10 * scale)
        assert found.total == 300.0


def test_sums_can_be_taken_apart_again():
    Z, T, root = rng.standard_normal((30, 5)), rng.standard_normal((30, 2)), rng.uniform(1, 2, 30)
    whole, some, rest = (FeatureSums.zero(5, 2) for _ in range(3))
    whole.add(Z, T, root)
    some.add(Z[:10], T[:10], root[:10])
    rest.add(Z[10:], T[10:], root[10:])
    left = whole.without(some)
    for name in ("gram", "first", "cross", "targets", "total"):
        assert_allclose(getattr(left, name), getattr(rest, name), atol=1e-12)


def test_directions_that_save_little_stay_with_the_rest():
    """Three large ones, of which the last two are alike, and then a plateau."""
    values = np.r_[1.0, 0.05, 0.05, np.full(40, 0.005), np.full(20, 1e-4)]
    basis, _ = np.linalg.qr(rng.standard_normal((values.size, values.size)))
    L = np.linalg.cholesky((basis * values) @ basis.T)
    apart = Deflation(L, 1e4)
    assert apart.size == 3
    assert apart.amplified == pytest.approx(1e4 * 0.005, rel=0.2)
    large = basis[:, :3]
    assert_allclose(apart.within(large[:, 1]), large[:, 1], atol=1e-2)
    assert_allclose(apart.vectors @ apart.along(large[:, 1]), apart.within(large[:, 1]))


def test_a_shift_within_the_directions_apart_changes_nothing(monkeypatch):
    """Sums of shifted features centred again are those of features that are not shifted."""
    _, factor = fitted(1.5, np.float32, monkeypatch, sums="apart")
    _, reference = fitted(1.5, np.float64, monkeypatch, sums="divided")
    assert factor._apart is not None
    assert_allclose(factor._apart.within(factor._shift), factor._shift, atol=1e-6)
    assert np.linalg.norm(factor._shift) > 0.5 * np.linalg.norm(reference._shift)
    assert_allclose(factor._mean, reference._mean, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("root", [None, np.sqrt(weights[:300])], ids=["unweighted", "weighted"])
def test_joint_sums_are_the_sums(root):
    Z, targets = X[:300], Y[:300]
    expected = FeatureSums.zero(6, 2)
    expected.add(Z, targets, root)
    joint = JointSums(6, 2)
    rows = np.empty((300, 9))
    rows[:, :6] = Z
    for part in (slice(0, 100), slice(100, 300)):
        joint.beside(rows, targets, root, part)
        joint.add(rows[part])
        joint = JointSums(6, 2, joint.matrix)  # and goes on from there
    found = joint.apart()
    assert_allclose(np.tril(found.gram), np.tril(expected.gram), rtol=1e-12)
    for name in ("first", "cross", "targets", "total"):
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)
    assert found.cross.flags.c_contiguous
