"""A metric learned in rounds: fit, take the gradients for the metric, fit again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import KFold

from squareone import RLSRegressor
from squareone.kernels import Gaussian, Laplacian, Linear, Matern
from squareone.kernels.gradients import average_outer_product, mean_squares
from squareone.selection.learned_metric import learn_metric


def by_leave_one_out(kernel, X, Y):
    """σ and λ of the least leave-one-out error, and the coefficients."""
    model = RLSRegressor(kernel).fit(X, Y)
    return model.kernel_, model.dual_coef_.reshape(Y.shape)


def one_direction(n, d, seed, noise=0.1):
    """Targets that depend on one direction at a random angle."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(d)
    u /= np.linalg.norm(u)
    X = rng.standard_normal((n, d))
    return X, np.sin(2.0 * X @ u) + noise * rng.standard_normal(n), u


KINDS = [Gaussian(), Matern(nu=0.5), Matern(nu=1.5), Matern(nu=2.5)]


@pytest.mark.parametrize(
    ("kernel", "power"), [*((kernel, 1.0) for kernel in KINDS), (Gaussian(), 0.5)], ids=str
)
def test_a_rotated_problem(kernel, power):
    """Of twenty directions the one that counts is found, and the error halves."""
    X, y, u = one_direction(300, 20, seed=1)
    X_new = np.random.default_rng(9).standard_normal((2000, 20))
    metrics = learn_metric(X, y[:, None], kernel, by_leave_one_out, power=power, rounds=3)
    assert len(metrics) == 3
    last = metrics[-1]
    assert np.linalg.norm(last[:, 0]) == pytest.approx(1.0)
    assert abs(last[:, 0] @ u) >= 0.99
    errors = []
    for tried in (Gaussian(), clone(kernel).set_params(metric=last)):
        predicted = RLSRegressor(tried).fit(X, y).predict(X_new)
        errors.append(np.sqrt(np.mean((predicted - np.sin(2.0 * X_new @ u)) ** 2)))
    assert errors[1] <= 0.5 * errors[0]


def test_weights_of_features():
    """Two of ten features count, one of them more."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 10))
    y = np.sin(2.0 * X[:, 3]) + 0.3 * X[:, 7] + 0.1 * rng.standard_normal(300)
    w = learn_metric(X, y[:, None], Laplacian(), by_leave_one_out)[-1]
    assert w.shape == (10,)
    assert w[3] == 1.0
    assert 0.01 < w[7] < 1.0
    others = np.delete(w, [3, 7])
    assert others.min() >= 1e-3
    assert others.max() < w[7]
    order = rng.permutation(10)
    again = learn_metric(X[:, order], y[:, None], Laplacian(), by_leave_one_out)[-1]
    assert_allclose(again, w[order], rtol=1e-3)


# --- with a fit that is made up: what a round does ---

rng = np.random.default_rng(5)
X, Y = rng.standard_normal((40, 4)), rng.standard_normal((40, 2)) * [1.0, 1e3] + 7.0


class Recorder:
    """A fit at σ = 2 whose coefficients are the targets, and what it was asked."""

    def __init__(self):
        self.kernels, self.targets = [], []

    def __call__(self, kernel, X, Y):
        self.kernels.append(kernel)
        self.targets.append(Y)
        return clone(kernel).set_params(sigma=2.0), Y


@pytest.mark.parametrize("power", [0.5, 1.0])
@pytest.mark.parametrize("kernel", KINDS, ids=str)
def test_rounds_are_what_they_are_said_to_be(kernel, power):
    fit = Recorder()
    metrics = learn_metric(X, Y, kernel, fit, power=power, rounds=3)
    Z = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    present = clone(kernel).set_params(sigma=2.0)
    for R, seen, targets in zip(metrics, fit.kernels, fit.targets, strict=True):
        assert_allclose(targets, Z)
        assert seen.sigma == "auto"
        outer = average_outer_product(present, X, X, Z)
        values, vectors = np.linalg.eigh(outer)
        M = (vectors * (values / values.max()) ** power) @ vectors.T
        assert_allclose(R @ R.T, M, atol=1e-10)
        present = present.set_params(metric=R)
    assert kernel.metric is None
    assert fit.kernels[0].metric is None
    assert_array_equal(fit.kernels[2].metric, metrics[1])


def test_rounds_of_weights_are_what_they_are_said_to_be():
    fit = Recorder()
    first, second = learn_metric(X, Y, Laplacian(), fit, rounds=2, power=0.5)
    Z = fit.targets[0]
    slopes = mean_squares(Laplacian(2.0), X, X, Z)
    assert_allclose(first, (slopes / slopes.max()) ** 0.25)
    slopes = mean_squares(Laplacian(2.0, metric=first), X, X, Z)
    assert_allclose(second, (slopes / slopes.max()) ** 0.25)


@pytest.mark.parametrize("kernel", [*KINDS, Laplacian()], ids=str)
def test_units_of_the_targets_do_not_matter(kernel):
    one = learn_metric(X, Y, kernel, Recorder(), rounds=1)[0]
    other = learn_metric(X, Y * [1e-6, 1e4] - 3.0, kernel, Recorder(), rounds=1)[0]
    assert_allclose(np.abs(one), np.abs(other), rtol=1e-6)
    constant = np.column_stack([Y, np.full(40, 2.0)])
    third = learn_metric(X, constant, kernel, Recorder(), rounds=1)[0]
    assert_allclose(np.abs(one), np.abs(third), rtol=1e-9)


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian()], ids=str)
def test_a_flat_function_has_no_metric_of_its_own(kernel):
    flat = np.ones((40, 1))
    for metric in learn_metric(X, flat, kernel, Recorder(), rounds=2):
        assert_array_equal(metric, np.ones(4))
    begun = clone(kernel).set_params(metric=np.arange(1.0, 5.0))
    for metric in learn_metric(X, flat, begun, Recorder(), rounds=2):
        assert_array_equal(metric, begun.metric)


def test_directions_that_rounding_cannot_tell_from_zero_are_left_out():
    plane = X.copy()
    plane[:, 2] = 0.0
    assert learn_metric(plane, Y, Gaussian(), Recorder(), rounds=1)[0].shape == (4, 3)
    begun = Gaussian(metric=X[:4, :2])
    assert [R.shape for R in learn_metric(X, Y, begun, Recorder(), rounds=2)] == [(4, 2)] * 2


def test_one_feature():
    assert_allclose(np.abs(learn_metric(X[:, :1], Y, Gaussian(), Recorder())[-1]), [[1.0]])
    assert_array_equal(learn_metric(X[:, :1], Y, Laplacian(), Recorder())[-1], [1.0])


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Matern(2.0, nu=0.5), Laplacian(3.0)])
def test_a_weight_is_so_many_rows(kernel):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3))
    y = np.sin(2 * rows[:, 0] + rows[:, 1]) + 0.2 * rng.standard_normal(40)
    weights = rng.integers(0, 4, 40)
    repeated = np.repeat(np.arange(40), weights)
    folds = list(KFold(3).split(rows))
    again = [tuple(np.flatnonzero(np.isin(repeated, part)) for part in fold) for fold in folds]
    learned = clone(kernel).set_params(metric="learned")
    one = RLSRegressor(learned, alpha=0.1, cv=folds).fit(rows, y, sample_weight=weights)
    other = RLSRegressor(learned, alpha=0.1, cv=again).fit(rows[repeated], y[repeated])
    assert one.rounds_ == other.rounds_
    assert_allclose(one.path_["score"], other.path_["score"], rtol=1e-8)
    assert_allclose(one.predict(rows), other.predict(rows), rtol=1e-8, atol=1e-8)

    weighed = np.ones(40) + (np.arange(40) % 3)
    twice = np.repeat(np.arange(40), weighed.astype(int))

    def weighed_fit(kernel, X, Y):
        model = RLSRegressor(kernel, alpha=0.1).fit(
            X, Y, sample_weight=weighed if len(X) == 40 else None
        )
        return model.kernel_, model.dual_coef_.reshape(len(X), -1)

    first = learn_metric(rows, y[:, None], kernel, weighed_fit, rounds=1, sample_weight=weighed)
    second = learn_metric(rows[twice], y[twice, None], kernel, weighed_fit, rounds=1)
    one, other = (m if m.ndim == 1 else m @ m.T for m in (first[0], second[0]))
    assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_gradients_are_taken_at_some_rows(monkeypatch):
    everywhere = learn_metric(X, Y, Laplacian(), Recorder())[-1]
    monkeypatch.setattr("squareone.selection.learned_metric._GRADIENT_ROWS", 30)
    some = learn_metric(X, Y, Laplacian(), Recorder())[-1]
    assert not np.array_equal(some, everywhere)
    assert_array_equal(learn_metric(X, Y, Laplacian(), Recorder())[-1], some)
    other = learn_metric(X, Y, Laplacian(), Recorder(), rng=np.random.RandomState(1))[-1]
    assert not np.array_equal(other, some)


BAD = {
    "linear": (Linear(), {}, TypeError, "Gaussian, a Matern or a Laplacian"),
    "sum": (Gaussian() + 1.0, {}, TypeError, "by itself"),
    "relevance": (Gaussian(ard=True), {}, ValueError, "one width"),
    "widths": (Gaussian(np.ones(4)), {}, ValueError, "one width"),
    "power": (Gaussian(), {"power": 0.0}, ValueError, "power=0.0"),
    "no power": (Gaussian(), {"power": np.nan}, ValueError, "power=nan"),
    "rounds": (Gaussian(), {"rounds": 0}, ValueError, "rounds=0"),
}


@pytest.mark.parametrize(("kernel", "settings", "error", "message"), BAD.values(), ids=BAD)
def test_bad_input(kernel, settings, error, message):
    fit = Recorder()
    with pytest.raises(error, match=message):
        learn_metric(X, Y, kernel, fit, **settings)
    assert not fit.kernels
