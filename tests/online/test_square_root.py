"""The square root of A against fifty digits: features of any size, weights, forgetting."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone.arrays import append_rows, triangle_condition
from squareone.errors import ScaleError
from squareone.online.square_root import SquareRootFactor, ridge_period, waiting_rows
from tests.reference.fifty_digits import ridge_coefficients

rng = np.random.default_rng(0)
n, d = 150, 5
plain = rng.standard_normal((n, d))
stamps = 1.7e12 + np.cumsum(rng.integers(0, 2000, size=n))
ROWS = {
    "plain": plain,
    "1e-7": 1e-7 * plain,
    "1e7": 1e7 * plain,
    "1e12": 1e12 * plain,
    "1e100": 1e100 * plain,
    "far from zero": 1e7 + plain,
    "of all sizes": plain * np.geomspace(1e-8, 1e8, d),
    "time stamps": np.column_stack(
        [stamps, stamps + rng.integers(0, 10**5, size=n), plain[:, :2], np.ones(n)]
    ),
    "a constant stamp": np.column_stack([np.full(n, 1.7e12), plain[:, :3], np.ones(n)]),
    "coincident": 1e7 * np.repeat(plain[:10], n // 10, axis=0),
    "zeros": np.where(np.arange(n)[:, None] % 3 == 0, 0.0, plain),
}
weights = rng.uniform(0.1, 3.0, n)
every_kind = pytest.mark.parametrize("name", ROWS)
SHARES = {"one by one": [1] * n, "at once": [n], "mixed": [1, 2, 40, 1, 1, 60, 3, 42]}
every_share = pytest.mark.parametrize("share", SHARES.values(), ids=SHARES)


def targets(X):
    return np.column_stack([X[:, 2] / np.abs(X[:, 2]).max(), plain[:, 0]]) + 0.1 * plain[:, 3:]


def learned(X, Y, alpha, share, *, weights=None, forgetting=1.0):
    """Factor, weights (c, d) and errors (n, c) after all rows."""
    factor = SquareRootFactor(X.shape[1], Y.shape[1], alpha, forgetting)
    W, errors, start = np.zeros((Y.shape[1], X.shape[1])), np.empty_like(Y), 0
    for size in share:
        part = slice(start, start + size)
        if size == 1:
            errors[start] = Y[start] - W @ X[start]
            weight = 1.0 if weights is None else float(weights[start])
            factor, W = factor.learned(X[start], Y[start], errors[start], W, weight)
        else:
            each = None if weights is None else weights[part]
            factor, W, errors[part] = factor.learned_rows(X[part], Y[part], W, each)
        start += size
    return factor, W, errors


def exact(X, Y, alpha, weights=None):
    return np.array([ridge_coefficients(X, y, alpha, weights)[0] for y in Y.T])


@every_share
@every_kind
@pytest.mark.parametrize("alpha", [1.0, 1e-6])
def test_weights_are_those_of_all_rows(name, share, alpha):
    X = ROWS[name]
    Y = targets(X)
    _, W, _ = learned(X, Y, alpha, share)
    expected = exact(X, Y, alpha)
    # as values at the rows: weights of features that nearly depend on each other are not known
    scale = np.abs(X) @ np.abs(expected.T) + 1.0
    assert (np.abs(X @ W.T - X @ expected.T) <= 1e-8 * scale).all()


@every_share
@pytest.mark.parametrize("name", ["plain", "1e7", "1e12", "of all sizes", "coincident"])
def test_weights_have_their_digits(name, share):
    X = ROWS[name]
    Y = targets(X)
    _, W, _ = learned(X, Y, 0.3, share, weights=weights)
    expected = exact(X, Y, 0.3, weights)
    assert_allclose(W, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


# Of rows that coincide a direction is known, and what is predicted in others hangs on the last
# digit of each: it is that of rows which are nearly the same.
@pytest.mark.parametrize("name", [name for name in ROWS if name != "coincident"])
def test_errors_are_those_before_each_row(name):
    X = ROWS[name]
    Y = targets(X)
    _, _, whole = learned(X, Y, 1.0, [n], weights=weights)
    _, _, single = learned(X, Y, 1.0, [1] * n, weights=weights)
    assert_allclose(whole, single, atol=2e-7)
    for i in (1, 7, 40, 149):
        W = exact(X[:i], Y[:i], 1.0, weights[:i])
        scale = np.abs(X[i]) @ np.abs(W.T) + 1.0
        assert (np.abs(single[i] - Y[i] + W @ X[i]) <= 1e-7 * scale).all()


@every_share
@pytest.mark.parametrize("forgetting", [1e-4, 0.01, 0.3, 0.9, 0.999])
def test_forgetting_is_a_weighted_fit(forgetting, share):
    Y = targets(plain)
    _, W, _ = learned(plain, Y, 2.0, share, forgetting=forgetting, weights=weights)
    faded = weights * forgetting ** np.arange(n - 1, -1, -1.0)
    since = n % ridge_period(forgetting)
    # what fades below 10⁻³⁰⁰ is not there
    expected = exact(plain, Y, 2.0 * forgetting**since, np.where(faded > 1e-300, faded, 0.0))
    tolerance = 1e-6 if forgetting < 0.1 else 1e-10
    assert_allclose(W, expected, rtol=tolerance, atol=tolerance)


def test_errors_of_rows_that_coincide():
    X = ROWS["coincident"]
    Y = targets(X)
    for share in ([1] * n, [n]):
        _, _, errors = learned(X, Y, 1.0, share)
        for i in (1, 14, 16, 46, 76, 149):  # after the first of each
            W = exact(X[:i], Y[:i], 1.0)
            assert_allclose(errors[i], Y[i] - W @ X[i], atol=1e-8)


def test_the_ridge_is_restored_in_its_time():
    assert ridge_period(1.0) == 0
    assert ridge_period(0.5) == ridge_period(0.9) == 16
    assert ridge_period(0.99) == 99 or ridge_period(0.99) == 100
    assert ridge_period(0.99999) == 1024
    zeros = np.zeros((16, 3))
    factor, _, _ = learned(zeros[:15], zeros[:15, :1], 4.0, [15], forgetting=0.5)
    assert_allclose(np.square(np.diagonal(factor.merged().L)), 4.0 * 0.5**15)
    factor, _, _ = learned(zeros, zeros[:, :1], 4.0, [16], forgetting=0.5)
    assert_allclose(np.square(np.diagonal(factor.merged().L)), 4.0)


@every_kind
def test_spreads_and_determinants(name):
    X = ROWS[name]
    unit = np.abs(X).max(axis=0)
    factor, _, _ = learned(X, targets(X), 1.0, SHARES["mixed"], weights=weights)
    A = np.eye(d) / np.outer(unit, unit) + ((X / unit) * weights[:, None]).T @ (X / unit)
    if np.linalg.cond(A) > 1e10:
        pytest.skip("A itself has no digits left to compare with")
    x = X[3] / unit
    assert_allclose(factor.spread(X[3]), x @ np.linalg.solve(A, x), rtol=1e-6)
    expected = np.linalg.slogdet(A)[1] + 2.0 * np.log(unit).sum()
    assert_allclose(factor.log_determinant(), expected, rtol=1e-9, atol=1e-12)
    u = rng.standard_normal(d) / unit
    expected = float(weights @ np.square(X @ u))
    # the ridge's part is taken off
    assert_allclose(factor.energy(u), expected, rtol=1e-6, atol=1e-12 * float(u @ u))


def test_spreads_with_forgetting_are_those_of_what_is_left():
    factor, _, _ = learned(plain[:21], targets(plain)[:21], 2.0, [1] * 21, forgetting=0.9)
    faded = 0.9 ** np.arange(20, -1, -1.0)
    A = 2.0 * 0.9 ** (21 - 16) * np.eye(d) + (plain[:21] * faded[:, None]).T @ plain[:21]
    x = plain[30]
    assert_allclose(factor.spread(x), x @ np.linalg.solve(A, x), rtol=1e-10)


# --- one factor after the other ---


def test_an_earlier_factor_goes_on_as_if_nothing_had_been_learned():
    Y = targets(plain)
    factor, W, _ = learned(plain[:40], Y[:40], 0.5, [1] * 40)
    before = factor.state()
    later, V = factor, W
    for i in range(40, 140):  # over several merges
        later, V = later.learned(plain[i], Y[i], Y[i] - V @ plain[i], V)
    for name, value in factor.state().items():
        assert_array_equal(value, before[name])
    again, U = factor, W
    for i in range(40, 140):
        again, U = again.learned(plain[i], Y[i], Y[i] - U @ plain[i], U)
    assert_array_equal(U, V)


@pytest.mark.parametrize("copied", [deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_go_on_alike_and_have_no_other_memory(copied):
    Y = targets(plain)
    factor, W, _ = learned(plain[:37], Y[:37], 0.5, [1] * 37)
    twin = copied(factor)
    restored = SquareRootFactor.from_state(factor.state(), 0.5, 1.0)
    found = []
    for each in (factor, twin, restored):
        for i in range(37, 90):
            each, _ = each.learned(plain[i], Y[i], Y[i], W)
        found.append(each.solution())
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])
    fresh = SquareRootFactor(200, 1, 1.0)
    assert len(pickle.dumps(fresh)) < 1.1 * 8 * 200 * 201


def test_memory_that_may_not_be_written_is_copied():
    Y = targets(plain)
    factor, W, _ = learned(plain[:37], Y[:37], 0.5, [1] * 37)
    expected, _ = factor.learned(plain[40], Y[40], Y[40], W)
    frozen = deepcopy(factor)
    for value in vars(frozen).values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    found, _ = frozen.learned(plain[40], Y[40], Y[40], W)
    assert_array_equal(found.solution(), expected.solution())


def test_other_columns_and_other_features():
    Y = targets(plain)
    factor, W, _ = learned(plain, Y, 0.5, [1] * n)
    assert_allclose(factor.with_column(1, -1.0).solution()[2], -W[1], rtol=1e-12)
    assert_allclose(factor.negated(0).solution(), W * [[-1.0], [1.0]], rtol=1e-12)
    apart = factor.apart(-1.0)
    assert_allclose(apart.solution(), -W, rtol=1e-12)
    wider = np.insert(plain, [2, 2], 0.0, axis=1)
    grown = factor.with_features(2, 2)
    assert_allclose(grown.solution(), np.insert(W, [2, 2], 0.0, axis=1), atol=1e-13)
    more = rng.standard_normal((30, d + 2))
    V = np.insert(W, [2, 2], 0.0, axis=1)
    _, found, _ = grown.learned_rows(more, Y[:30], V)
    expected = exact(np.vstack([wider, more]), np.vstack([Y, Y[:30]]), 0.5)
    assert_allclose(found, expected, atol=1e-12)


# --- digits ---


def test_it_says_when_digits_are_lost():
    same = np.column_stack([stamps, stamps, plain[:, 0]])
    for X, lost in ((plain, False), (1e12 * plain, False), (ROWS["time stamps"], False)):
        factor, _, _ = learned(X, targets(plain), 1.0, [n])
        assert (factor.rounding > 1e-2) == lost
    factor, _, _ = learned(same, targets(plain), 1e-6, [n])
    assert factor.rounding > 1e-2


def test_rows_beyond_the_range_are_refused():
    factor = SquareRootFactor(2, 1, 1.0)
    with pytest.raises(ScaleError, match="leave the range of float64"):
        factor.learned(np.array([1e160, 1.0]), np.ones(1), np.ones(1), np.zeros((1, 2)), 1e300)


@pytest.mark.parametrize("features", [1, 5, 64, 200, 1000])
def test_rows_that_wait_are_few(features):
    assert 16 <= waiting_rows(features, 1.0) <= 128
    assert waiting_rows(features, 1.0) <= waiting_rows(features, 1.0, first=True) <= 256
    assert waiting_rows(features, 0.001) == 1


def test_rows_are_appended_without_squares():
    L = np.tril(rng.standard_normal((4, 4))) + 4 * np.eye(4)
    T, X, Y = (rng.standard_normal(shape) for shape in ((4, 2), (9, 4), (9, 2)))
    found, turned = append_rows(L, T, X, Y)
    assert_allclose(found @ found.T, L @ L.T + X.T @ X, rtol=1e-13)
    assert_allclose(found @ turned, L @ T + X.T @ Y, rtol=1e-12)
    found, turned = append_rows(L, T, 2 * np.eye(4), np.zeros((4, 2)), triangular=True)
    assert_allclose(found @ found.T, L @ L.T + 4 * np.eye(4), rtol=1e-13)
    assert_allclose(found @ turned, L @ T, rtol=1e-12)
    scaled = np.diag([1.0, 1e9, 1e-9, 1e3]) @ L
    assert_allclose(triangle_condition(scaled), triangle_condition(L), rtol=1e-9)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("after", [0, 1, 29, 30, 31, 49, 60])
def test_the_first_rows_wait_longer_and_files_go_on_from_there(after, columns):
    features, alpha = 40, 0.3
    X = np.random.default_rng(1).standard_normal((60, features))
    Y = np.random.default_rng(2).standard_normal((60, columns))
    first = waiting_rows(features, 1.0, first=True)
    assert waiting_rows(features, 1.0) < first < 60
    factor, W, _ = learned(X[:after], Y[:after], alpha, [1] * after)
    assert (factor.unit is None) == (after >= first)
    assert factor.waiting < factor.room
    again = SquareRootFactor.from_state(deepcopy(factor.state()), alpha, 1.0)
    assert (again.unit, again.room, again.waiting) == (factor.unit, factor.room, factor.waiting)
    same = W.copy()
    for x, y in zip(X[after:], Y[after:], strict=True):
        factor, W = factor.learned(x, y, y - W @ x, W)
        again, same = again.learned(x, y, y - same @ x, same)
    assert_array_equal(same, W)
    expected = np.linalg.solve(X.T @ X + alpha * np.eye(features), X.T @ Y).T
    assert_allclose(W, expected, atol=1e-11)
