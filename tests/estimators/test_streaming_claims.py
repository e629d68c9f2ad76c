"""What is claimed of streams, in simulation: mistakes against the perceptron, and the bounds."""

import numpy as np
import pytest

from squareone import SecondOrderPerceptron, SelectiveSamplingClassifier
from squareone.kernels import Gaussian

NOISE = 0.1  # the share of labels that are flipped


def noisy_rows(seed, n, d=5):
    """Normal rows, labels of a hyperplane of which some are flipped, and its normal."""
    rng = np.random.default_rng(seed)
    X, u = rng.standard_normal((n, d)), rng.standard_normal(d)
    y = np.where(X @ u > 0, 1, -1)
    return X, np.where(rng.random(n) < NOISE, -y, y), u


def risk(w, u):
    """Of a linear classifier on such rows; without weights it is never right."""
    length = np.linalg.norm(w)
    if length == 0:
        return 1.0
    angle = np.arccos(np.clip(w @ u / length / np.linalg.norm(u), -1.0, 1.0))
    return NOISE + (1.0 - 2.0 * NOISE) * angle / np.pi


# --- mistakes ---


def perceptron_mistakes(X, y):
    w, mistakes = np.zeros(X.shape[1]), 0
    for x, label in zip(X, y, strict=True):
        if label * (w @ x) <= 0:
            w += label * x
            mistakes += 1
    return mistakes


def test_a_quarter_of_the_perceptrons_mistakes_without_noise():
    first = second = 0.0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((10_000, 50))
        y = np.where(Z @ rng.standard_normal(50) > 0, 1, -1)
        X = Z / np.arange(1, 51)
        first += perceptron_mistakes(X, y)
        second += SecondOrderPerceptron(alpha=0.01).fit(X, y).mistakes_
    assert second <= 0.25 * first


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_no_run_has_more_mistakes_than_its_bound(form):
    for seed in range(100):
        X, y, u = noisy_rows(seed, 80, d=3)
        model = SecondOrderPerceptron(alpha=0.1, form=form, shuffle=seed % 2 == 1).fit(X, y)
        others = np.random.default_rng(seed).standard_normal((3, 3))
        bounds = [model.mistake_bound(X, y, v) for v in (u, *others)]
        bounds += [model.mistake_bound(X, y, u, gamma) for gamma in (0.1, 1.0, 10.0)]
        assert model.mistakes_ == model.updates_[0]
        assert model.mistakes_ <= min(bound.value for bound in bounds)


def test_no_run_with_a_kernel_has_more_mistakes_than_its_bound():
    for seed in range(20):
        X = np.random.default_rng(seed).uniform(-2, 2, (80, 2))
        y = np.square(X).sum(axis=1) > 2
        model = SecondOrderPerceptron(alpha=0.1, kernel=Gaussian(1.0), shuffle=True).fit(X, y)
        K = Gaussian(1.0)(X)
        u = np.linalg.solve(K + 0.1 * np.eye(80), np.where(y, 1.0, -1.0))
        assert model.mistakes_ <= model.mistake_bound(X, y, u).value < 80


# --- risk ---


@pytest.mark.thorough
def test_the_mean_risk_of_hypotheses_is_seldom_above_its_bound():
    deltas, n, runs = (0.02, 0.1, 0.5), 100, 150
    above, above_mean = np.zeros(3, int), 0
    for seed in range(runs):
        X, y, u = noisy_rows(seed, n)
        model = SecondOrderPerceptron().start(classes=[-1, 1], n_features=5)
        risks = []
        for x, label in zip(X, y, strict=True):
            risks.append(risk(model.coef_[0], u))
            model.learn_one(x, label)
        mean = np.mean(risks)
        above += [mean > model.risk_bound(delta) for delta in deltas]
        above_mean += mean > model.mistakes_ / n
    assert (above <= np.multiply(deltas, runs)).all()
    assert above_mean > 0.1 * runs  # mistakes alone bound nothing


@pytest.mark.thorough
def test_the_risk_of_the_chosen_hypothesis_is_seldom_above_its_bound():
    deltas, runs = (0.02, 0.2), 100
    above, better = np.zeros(2, int), 0
    for seed in range(runs):
        X, y, u = noisy_rows(seed, 800)
        for i, delta in enumerate(deltas):
            model = SecondOrderPerceptron(hypothesis="penalised", delta=delta).fit(X, y)
            bound = model.risk_bound(delta, kind="chosen")
            assert bound < 1
            above[i] += risk(model.coef_[0], u) > bound
        better += risk(model.coef_[0], u) < model.mistakes_ / 800
    assert (above <= np.multiply(deltas, runs)).all()
    assert better > 0.9 * runs  # it is a good one among them


# --- randomised sampling ---


@pytest.mark.thorough
@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("b", [0.05, 1.0])
@pytest.mark.parametrize("length", [0.2, 5.0])
def test_expected_mistakes_are_below_their_bound(length, b, normalise):
    X, y, u = noisy_rows(0, 150)
    X = X * length
    scales = np.geomspace(0.01, 100.0, 9) / length
    mistakes, bounds, rates = [], [], []
    for seed in range(50):
        model = SelectiveSamplingClassifier(
            strategy="randomized", b=b, normalise=normalise, random_state=seed
        ).fit(X, y)
        mistakes.append(model.mistakes_)
        rates.append(model.label_rate_)
        bounds.append([model.mistake_bound(X, y, scale * u).value for scale in scales])
    assert np.mean(mistakes) <= np.mean(bounds, axis=0).min()
    assert np.std(mistakes) > 0
    assert np.mean(rates) < 1
