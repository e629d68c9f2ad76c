"""Calibrations: minima of their losses, agreement with predictions, extremes, and state."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression

from squareone.models import CALIBRATIONS, fit_calibration, from_state

EXCLUSIVE = pytest.mark.parametrize("exclusive", [False, True])
METHODS = pytest.mark.parametrize("method", CALIBRATIONS)
SCALES = pytest.mark.parametrize("scale", [1e-150, 1e-10, 1e10, 1e150])
TRIALS = 200


def sample(rng, n, c, exclusive, noise=1.0):
    """Noisy values (n, c) around ±1, and what is true of each row (n, c)."""
    truth = np.arange(c) == rng.integers(c, size=n)[:, None]
    if not exclusive:
        truth = rng.random((n, c)) < 0.4
    return np.where(truth, 1.0, -1.0) + noise * rng.standard_normal((n, c)), truth


def least(loss):
    """The positive number of least loss, by a search in its logarithm that knows no derivative."""
    return np.exp(minimize_scalar(lambda x: loss(np.exp(x)), (-1.0, 1.0), tol=1e-14).x)


def entropy(p, t, weights):
    """Minus Σ w t log p over rows and columns, from log p."""
    return -float(weights @ (t * p).sum(axis=1))


@pytest.mark.parametrize("weighted", [False, True])
def test_temperature_minimises_the_log_loss(weighted):
    rng = np.random.default_rng(0)
    values, truth = sample(rng, 80, 4, exclusive=True)
    weights = rng.uniform(1.0, 3.0, 80) if weighted else np.ones(80)
    epsilon = 1 / (1 + weights.sum())
    t = (1 - epsilon) * truth + epsilon / 4
    expected = least(lambda a: entropy(log_softmax(a * values, axis=1), t, weights))
    fitted = fit_calibration("temperature", values, truth, weights, exclusive=True)
    assert_allclose(fitted.slopes, [expected], rtol=1e-6)
    assert_allclose(fitted.probabilities(values), softmax(fitted.slopes * values, axis=1), 1e-14)


def test_temperature_of_each_label_minimises_its_own_log_loss():
    rng = np.random.default_rng(1)
    values, truth = sample(rng, 60, 3, exclusive=False)
    fitted = fit_calibration("temperature", values, truth, exclusive=False)
    epsilon = 1 / 61
    t = (1 - epsilon) * truth + epsilon / 2
    for j in range(3):

        def loss(a, f=values[:, j], t=t[:, j]):
            return -float(t @ log_expit(a * f) + (1 - t) @ log_expit(-a * f))

        assert_allclose(fitted.slopes[j], least(loss), rtol=1e-6)
    assert_allclose(fitted.probabilities(values), expit(fitted.slopes * values), rtol=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("noise", [0.1, 1.0, 10.0])
def test_platt_is_stationary_and_agrees_with_scikit_learn(noise, weighted):
    rng = np.random.default_rng(2)
    values, truth = sample(rng, 150, 1, exclusive=False, noise=noise)
    weights = rng.uniform(1.0, 3.0, 150) if weighted else np.ones(150)
    fitted = fit_calibration("platt", values, truth, weights, exclusive=False)
    p = fitted.probabilities(values)[:, 0]
    theirs = _SigmoidCalibration().fit(values[:, 0], truth[:, 0], weights)
    assert_allclose(p, theirs.predict(values[:, 0]), atol=2e-4)  # it stops at a gradient of 1e-6
    positive = weights @ truth[:, 0]
    negative = weights.sum() - positive
    t = np.where(truth[:, 0], (positive + 1) / (positive + 2), 1 / (negative + 2))
    assert_allclose(weights @ (p - t), 0.0, atol=1e-9)
    assert_allclose((weights * (p - t)) @ values[:, 0], 0.0, atol=1e-9)


def test_platt_where_newton_steps_too_far():
    """A heavy and a light row: after some steps the light one is certain, and wrongly so."""
    values, weights = np.array([[-5.1], [2.6]]), np.array([900.0, 392_300.0])
    truth = np.array([[False], [True]])
    p = fit_calibration("platt", values, truth, weights, exclusive=False).probabilities(values)
    assert_allclose(p[:, 0], [1 / 902, 392_301 / 392_302], rtol=1e-9)


@pytest.mark.parametrize("value", [False, True])
def test_platt_without_rows_on_one_side(value):
    """All labels are smoothed to the same number: about that is the probability of every value."""
    values = np.random.default_rng(3).standard_normal((20, 1))
    truth = np.full((20, 1), value)
    fitted = fit_calibration("platt", values, truth, exclusive=False)
    expected = 21 / 22 if value else 1 / 22
    p = fitted.probabilities(np.sort(values, axis=0))
    assert_allclose(p, expected, rtol=3e-3)
    assert_allclose(p.mean(), expected, rtol=1e-6)
    assert (np.diff(p, axis=0) > 0).all()


@EXCLUSIVE
def test_isotonic_agrees_with_scikit_learn(exclusive):
    rng = np.random.default_rng(4)
    values, truth = sample(rng, 120, 3, exclusive)
    weights = rng.uniform(0.0, 2.0, 120)
    new = 3 * rng.standard_normal((50, 3))
    fitted = fit_calibration("isotonic", values, truth, weights, exclusive=exclusive)
    expected = np.empty((50, 3))
    for j in range(3):
        theirs = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
        expected[:, j] = theirs.fit(values[:, j], truth[:, j], weights).predict(new[:, j])
    rows = weights.sum()
    smooth = fit_calibration("platt", values, truth, weights, exclusive=False).probabilities(new)
    expected = (rows * expected + smooth) / (rows + 1)  # one row beside all others
    if exclusive:
        expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(fitted.probabilities(new), expected, rtol=1e-12, atol=1e-15)


def test_linear_is_the_line_and_never_certain():
    values = np.array([[-3.0, -1.0, 0.0], [0.5, 1.0, 7.0], [-0.6, -2.0, -5.0]])
    truth = np.eye(3, dtype=bool)
    labels = fit_calibration("linear", values, truth, exclusive=False)
    # three rows: Laplace's rule says 4/5, which is where the line turns, at f = 3/5
    tails = [[1 / 3.4, 1 / 1.4, 0], [0, 1 / 1.4, 1 / 7.4], [0, 1 / 2.4, 1 / 5.4]]
    tails = np.array(tails) / 5
    expected = np.where(values > 0.6, 1 - tails, tails)
    for at, p in {(0, 2): 0.5, (1, 0): 0.75, (2, 0): 0.2}.items():
        expected[at] = p
    assert_allclose(labels.probabilities(values), expected, rtol=1e-15)
    classes = fit_calibration("linear", values, truth, exclusive=True)
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(classes.probabilities(values), expected, rtol=1e-15)


# --- the order of the values ---


@METHODS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lean", [1.0, 0.0, -1.0])
def test_probabilities_increase_strictly_with_the_values(method, lean, dtype):
    """Whether values tell the truth, nothing, or the opposite; also far from those of the fit."""
    rng = np.random.default_rng(20)
    for n in (2, 5, 40, 400):
        truth = rng.random((n, 1)) < 0.3
        values = (lean * np.where(truth, 1.0, -1.0) + rng.standard_normal((n, 1))).astype(dtype)
        fitted = fit_calibration(method, values, truth, exclusive=False)
        new = np.sort(np.concatenate([values[:, 0], np.linspace(-4, 4, 300)])).astype(dtype)
        p = fitted.probabilities(np.unique(new)[:, None])[:, 0]
        assert (np.diff(p) > 0).all()


@METHODS
def test_values_that_hardly_differ_keep_their_order(method):
    """Those of a fit with a large λ: next to the mean, which is far from zero."""
    rng = np.random.default_rng(21)
    truth = rng.random((200, 1)) < 0.2
    values = -0.6 + 1e-10 * (rng.standard_normal((200, 1)) + truth)
    fitted = fit_calibration(method, values, truth, exclusive=False)
    p = fitted.probabilities(np.sort(values, axis=0))
    assert (np.diff(p, axis=0) > 0).all()


def test_platt_against_the_truth_has_the_best_offset():
    """The slope is as flat as may be, and the offset the one of least loss beside it."""
    rng = np.random.default_rng(22)
    values, truth = sample(rng, 80, 1, exclusive=False)
    fitted = fit_calibration("platt", -values, truth, exclusive=False)
    positive = np.count_nonzero(truth)
    t = np.where(truth, (positive + 1) / (positive + 2), 1 / (80 - positive + 2))
    assert_allclose(np.sum(fitted.probabilities(-values) - t), 0.0, atol=1e-9)
    assert_allclose(fitted.slopes * np.std(values), 1e-3)


# --- classes of different weight ---


@METHODS
@EXCLUSIVE
@pytest.mark.parametrize("shift", [-1.5, 1.5])
def test_where_classes_had_weights_mean_probabilities_are_shares(method, exclusive, shift):
    """Weights move the values of some classes; probabilities follow the rows."""
    rng = np.random.default_rng(23)
    k = 3 if exclusive else 1
    truth = rng.choice(3, 300, p=[0.7, 0.2, 0.1])[:, None] == np.arange(k)
    values = np.where(truth, 0.5, -0.5) + 0.4 * rng.standard_normal((300, k))
    values[:, -1] += shift
    weights = rng.uniform(0.5, 2.0, 300)
    fitted = fit_calibration(
        method, values, truth, weights, exclusive=exclusive, class_weighted=True
    )
    p = fitted.probabilities(values)
    shares = weights @ truth / weights.sum()
    assert_allclose(weights @ p / weights.sum(), shares, atol=0.02 if exclusive else 0.005)
    plain = fit_calibration(method, values, truth, weights, exclusive=exclusive)
    if method in ("temperature", "linear"):
        off = np.abs(weights @ plain.probabilities(values) / weights.sum() - shares).max()
        assert off > 0.03  # without an offset they do not
        losses = []
        for each in (fitted, plain):
            q = each.probabilities(values)
            losses.append(entropy(np.log(q), truth, weights))
            if not exclusive:
                losses[-1] += entropy(np.log(1 - q), ~truth, weights)
        assert losses[0] < losses[1]
    else:
        assert_array_equal(p, plain.probabilities(values))


@EXCLUSIVE
def test_temperature_of_weighted_classes_minimises_the_log_loss(exclusive):
    rng = np.random.default_rng(24)
    values, truth = sample(rng, 80, 3 if exclusive else 1, exclusive)
    values[:, 0] -= 2.0
    fitted = fit_calibration("temperature", values, truth, exclusive=exclusive, class_weighted=True)
    if exclusive:
        t = (1 - 1 / 81) * truth + 1 / 81 / 3

        def loss(line):
            z = line[0] * values + [0.0, *line[1:]]
            return entropy(log_softmax(z, axis=1), t, np.ones(80))

        best = minimize(loss, [1.0, 0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9})
        z = best.x[0] * values + [0.0, *best.x[1:]]
        assert_allclose(fitted.probabilities(values), softmax(z, axis=1), atol=1e-4)
        return
    platt = fit_calibration("platt", values, truth, exclusive=False)
    assert_allclose(fitted.probabilities(values), platt.probabilities(values), rtol=1e-9)


@METHODS
def test_weighted_classes_whose_values_hardly_differ(method):
    """Those of a fit with a large λ: the order of a column is kept, and the shares are met."""
    rng = np.random.default_rng(25)
    truth = rng.choice(3, 200, p=[0.7, 0.2, 0.1])[:, None] == np.arange(3)
    values = np.array([-0.3, -0.4, -0.5]) + 1e-10 * rng.standard_normal((200, 3))
    fitted = fit_calibration(method, values, truth, exclusive=True, class_weighted=True)
    p = fitted.probabilities(values)
    assert_allclose(p.mean(axis=0), truth.mean(axis=0), atol=0.02)


@METHODS
def test_a_class_without_rows(method):
    rng = np.random.default_rng(26)
    values, truth = sample(rng, 60, 3, exclusive=True)
    some = ~truth[:, 0]
    fitted = fit_calibration(method, values[some], truth[some], exclusive=True, class_weighted=True)
    p = fitted.probabilities(values[some])
    assert np.isfinite(p).all()
    assert 0 < p[:, 0].mean() < 0.1


@METHODS
@EXCLUSIVE
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_are_probabilities(method, exclusive, dtype):
    rng = np.random.default_rng(5)
    for _ in range(TRIALS // 10):
        n, c = rng.integers(2, 30), rng.integers(3, 6) if exclusive else rng.integers(1, 4)
        values, truth = sample(rng, n, c, exclusive, noise=rng.choice([0.1, 1.0, 10.0]))
        values = values.astype(dtype)
        values.flags.writeable = truth.flags.writeable = False
        fitted = fit_calibration(method, values, truth, exclusive=exclusive)
        new = (rng.standard_normal((40, c)) * 10.0 ** rng.integers(-3, 30)).astype(dtype)
        new.flags.writeable = False
        p = fitted.probabilities(new)
        assert p.shape == new.shape
        assert p.dtype == np.float64
        assert ((p >= 0) & (p <= 1)).all()
        if exclusive:
            assert_allclose(p.sum(axis=1), 1.0, rtol=1e-14)


def nearly_tied(rng, m, c, dtype):
    """Values of few different sizes, equal or neighbouring numbers, some zero or tiny."""
    values = rng.choice([-1.0, -0.3, 0.0, 1e-30, 0.3, 1.0], (m, c)).astype(dtype)
    up = np.nextafter(values, dtype(2))
    return np.where(rng.random((m, c)) < 0.5, values, up)


@EXCLUSIVE
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_temperature_agrees_with_predictions(exclusive, dtype):
    rng = np.random.default_rng(6)
    ties = 0
    for _ in range(TRIALS):
        c = rng.integers(3, 6) if exclusive else rng.integers(1, 4)
        values, truth = sample(rng, 20, c, exclusive, noise=rng.choice([0.1, 1.0, 100.0]))
        fitted = fit_calibration("temperature", values.astype(dtype), truth, exclusive=exclusive)
        new = nearly_tied(rng, 50, c, dtype)
        p = fitted.probabilities(new)
        if exclusive:
            assert_array_equal(p.argmax(axis=1), new.argmax(axis=1))
        else:
            assert_array_equal(p > 0.5, new > 0)
            assert_array_equal(1 - p < p, new > 0)
        order = np.argsort(new, axis=int(exclusive), kind="stable")
        ranked = np.take_along_axis(p, order, axis=int(exclusive))
        assert (np.diff(ranked, axis=int(exclusive)) >= 0).all()
        raw = fitted._columns(new.astype(np.float64))
        ties += (
            (raw.argmax(axis=1) != new.argmax(axis=1)).any() if exclusive else (raw == 0.5).any()
        )
    assert ties > 0  # the trials contain what rounding would have decided otherwise


@METHODS
@EXCLUSIVE
def test_weights_are_repetitions(method, exclusive):
    rng = np.random.default_rng(7)
    values, truth = sample(rng, 40, 3, exclusive)
    weights = rng.integers(0, 4, 40)
    rows = np.repeat(np.arange(40), weights)
    weighted = fit_calibration(method, values, truth, weights, exclusive=exclusive)
    repeated = fit_calibration(method, values[rows], truth[rows], exclusive=exclusive)
    new = rng.standard_normal((30, 3))
    # The slope is found to 2e-12.
    assert_allclose(weighted.probabilities(new), repeated.probabilities(new), rtol=1e-10)


@METHODS
def test_weights_in_a_small_unit(method):
    """Weights that sum to one do not say that there is a single row."""
    rng = np.random.default_rng(8)
    values, truth = sample(rng, 400, 3, exclusive=True, noise=0.2)
    share = np.full(400, 1 / 400)
    in_shares = fit_calibration(method, values, truth, share, exclusive=True)
    plain = fit_calibration(method, values, truth, exclusive=True)
    new = rng.standard_normal((30, 3))
    assert_allclose(in_shares.probabilities(new), plain.probabilities(new), rtol=1e-9)


@pytest.mark.parametrize("method", ["temperature", "platt"])
@pytest.mark.parametrize("n", [10, 1000])
def test_separable_values_are_not_certain(method, n):
    """Every row is right: as likely to be wrong as Laplace's rule says, within a factor of two."""
    truth = np.arange(n)[:, None] % 2 == 0
    values = np.where(truth, 1.0, -1.0)
    p = fit_calibration(method, values, truth, exclusive=False).probabilities(values)
    wrong = np.where(truth, 1 - p, p)
    expected = 1 / (2 * (n + 1)) if method == "temperature" else 1 / (n / 2 + 2)
    assert_allclose(wrong, expected, rtol=1e-9)


def test_separable_classes_are_not_certain():
    truth = np.eye(5, dtype=bool)[np.arange(50) % 5]
    values = np.where(truth, 1.0, -1.0)
    p = fit_calibration("temperature", values, truth, exclusive=True).probabilities(values)
    assert_allclose(p[truth], 1 - (1 / 51) * 4 / 5, rtol=1e-9)


@EXCLUSIVE
def test_useless_values_keep_their_order(exclusive):
    """Values that are wrong more often than right would want a negative slope."""
    rng = np.random.default_rng(9)
    values, truth = sample(rng, 50, 3, exclusive)
    fitted = fit_calibration("temperature", -values, truth, exclusive=exclusive)
    p = fitted.probabilities(-values)
    assert_allclose(p, 1 / 3 if exclusive else 0.5, atol=2e-3)
    assert (fitted.slopes > 0).all()
    if exclusive:
        assert_array_equal(p.argmax(axis=1), (-values).argmax(axis=1))
    else:
        assert_array_equal(p > 0.5, -values > 0)


@pytest.mark.parametrize("value", [0.0, 0.3, -0.3])
@METHODS
@EXCLUSIVE
def test_equal_values(method, value, exclusive):
    truth = np.eye(3, dtype=bool)[[0, 1, 2, 0]]
    values, weights = np.full((4, 3), value), np.array([0.1, 0.7, 1.3, 0.3])
    fitted = fit_calibration(method, values, truth, weights, exclusive=exclusive)
    p = fitted.probabilities(values)
    assert (np.ptp(p, axis=0) == 0).all()
    if exclusive and method in ("temperature", "linear"):
        assert_allclose(p, 1 / 3, rtol=1e-15)
    if method == "isotonic" and not exclusive:  # the share of each, and one more row
        smooth = fit_calibration("platt", values, truth, weights, exclusive=False)
        rows = weights.sum() ** 2 / (weights @ weights)
        shares = weights @ truth / weights.sum()
        expected = (rows * shares + smooth.probabilities(values)[0]) / (rows + 1)
        assert_allclose(p[0], expected, rtol=1e-12)


@METHODS
@EXCLUSIVE
def test_a_class_with_one_row(method, exclusive):
    rng = np.random.default_rng(10)
    truth = np.eye(3, dtype=bool)[[0] * 10 + [1] * 10 + [2]]
    values = np.where(truth, 1.0, -1.0) + 0.5 * rng.standard_normal((21, 3))
    p = fit_calibration(method, values, truth, exclusive=exclusive).probabilities(values)
    assert np.isfinite(p).all()
    assert p[-1, 2] > p[:-1, 2].mean()


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic"])
@EXCLUSIVE
@SCALES
def test_the_unit_of_the_values_does_not_matter(method, exclusive, scale):
    rng = np.random.default_rng(11)
    values, truth = sample(rng, 60, 3, exclusive)
    new = rng.standard_normal((40, 3))
    plain = fit_calibration(method, values, truth, exclusive=exclusive)
    scaled = fit_calibration(method, values * scale, truth, exclusive=exclusive)
    p = scaled.probabilities(new * scale)
    assert_allclose(p, plain.probabilities(new), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic", "linear"])
@EXCLUSIVE
def test_far_from_the_values_of_the_fit(method, exclusive):
    """No overflow, and nothing that is not a number, at values of another scale."""
    rng = np.random.default_rng(12)
    values, truth = sample(rng, 60, 3, exclusive)
    fitted = fit_calibration(method, values * 1e-150, truth, exclusive=exclusive)
    new = np.array([[1e300, -1e300, 0.0], [-1e300, -1e300, -1e300], [1e-300, 0.0, -1e-300]])
    p = fitted.probabilities(new)
    assert ((p >= 0) & (p <= 1)).all()
    if method == "temperature":
        assert_allclose(p[0], [1, 0, 0] if exclusive else [1, 0, 0.5])


def test_slopes_of_the_smallest_numbers_are_finite():
    values = np.array([[5e-324], [-5e-324], [5e-324]])
    truth = np.array([[True], [False], [True]])
    for method in CALIBRATIONS:
        fitted = fit_calibration(method, values, truth, exclusive=False)
        assert all(np.isfinite(array).all() for array in fitted.state().values())
        assert np.isfinite(fitted.probabilities(values)).all()


@METHODS
@EXCLUSIVE
def test_state_says_everything(method, exclusive, tmp_path):
    rng = np.random.default_rng(13)
    values, truth = sample(rng, 30, 3, exclusive)
    fitted = fit_calibration(method, values, truth, exclusive=exclusive)
    np.savez(tmp_path / "state.npz", **fitted.state())
    with np.load(tmp_path / "state.npz", allow_pickle=False) as archive:
        again = from_state(method, dict(archive), exclusive=exclusive)
    assert type(again) is CALIBRATIONS[method]
    new = rng.standard_normal((20, 3))
    assert_array_equal(again.probabilities(new), fitted.probabilities(new))


def test_refusals():
    values, truth = np.ones((2, 1)), np.array([[True], [False]])
    with pytest.raises(ValueError, match="calibration 'beta' is unknown: one of temperature, "):
        fit_calibration("beta", values, truth, exclusive=False)
    with pytest.raises(ValueError, match="calibration 'beta' is unknown"):
        from_state("beta", {}, exclusive=False)
    arrays = r"has the arrays \['slopes', 'centres', 'offsets'\], but \['slopes'"
    with pytest.raises(ValueError, match=arrays):
        from_state("platt", {"slopes": np.ones(1)}, exclusive=False)
