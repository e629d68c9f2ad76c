"""The bracketed search: where it ends, in which precision, and what it does in extreme units."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_friedman1

from squareone import RLSRegressor
from squareone.fitting.alpha_search import _confirm
from squareone.kernels import Gaussian, Polynomial
from squareone.selection import Path, bracketed_minimum

MEDIAN = Gaussian("median")
X, y = make_friedman1(300, noise=1.0, random_state=0)


def path(alphas, scores, bits):
    alphas = np.asarray(alphas, float)
    scores = np.asarray([scores], float)
    none = np.zeros_like(scores)
    ones = np.ones(alphas.size)
    bits = np.asarray(bits)
    return Path(alphas, scores, none, none, none, scores, ones, bits, none[0], none[:0])


def test_of_the_same_alpha_twice_the_more_precise_score_stays():
    for parts in ([0, 1], [1, 0]):
        single, double = path([1.0, 2.0], [-5.0, -1.0], [32, 32]), path([1.0], [-3.0], [64])
        merged = Path.merge([(single, double)[i] for i in parts])
        assert merged.alphas.tolist() == [1.0, 2.0]
        assert merged.scores.tolist() == [[-3.0, -1.0]]
        assert merged.bits.tolist() == [64, 32]
        assert merged.best().tolist() == [0]  # float32 shows the way, but does not compete


def test_scores_that_are_not_numbers_do_not_compete():
    assert path([1.0, 2.0, 3.0], [-np.inf, -2.0, np.nan], [64] * 3).best().tolist() == [1]


def test_an_end_that_disappoints_is_compared_with_the_best_point_seen():
    looked = []

    def error(log_alpha):
        looked.append(log_alpha)
        return 2.0

    single = path(np.exp([0.0, 1.0]), [-1.0, -5.0], [32, 32])
    _confirm(error, 3.0, [single])
    assert looked == [3.0, 0.0]
    looked.clear()
    _confirm(error, 3.0, [path(np.exp([0.0]), [-1.999], [32])])
    assert looked == [3.0]  # two tenths of a per cent: as good as it looked


def test_a_parabola_over_a_long_bracket_is_not_believed():
    """A narrow valley beside a wide slope: the parabola through far points would miss it."""
    calls = []

    def valley(x):
        calls.append(x)
        return 1.0 + 0.02 * abs(x) - 0.5 * np.exp(-(((x - 1.0) / 0.5) ** 2))

    found = bracketed_minimum(valley, 1.2, -20.0, 20.0)
    assert abs(found - 1.0) < 0.1
    neighbours = sorted([*calls, found])
    i = neighbours.index(found)
    assert neighbours[i + 1] - neighbours[i - 1] < 2 * np.log(4.0)


@pytest.mark.parametrize("criterion", ["gcv", "holdout"])
def test_searches_by_other_criteria_end_where_the_path_does(criterion):
    whole = RLSRegressor(MEDIAN, criterion=criterion, solver="spectral").fit(X, y)
    search = RLSRegressor(MEDIAN, criterion=criterion, solver="cholesky").fit(X, y)
    assert_allclose(search.path_["score"].max(), whole.path_["score"].max(), rtol=1e-3)


@pytest.mark.parametrize("offset", [1e6, 1e7])
def test_rows_far_from_the_origin(offset):
    near = RLSRegressor(MEDIAN, solver="cholesky").fit(X, y)
    far = RLSRegressor(MEDIAN, solver="cholesky").fit(X + offset, y)
    assert_allclose(far.kernel_.sigma, near.kernel_.sigma, rtol=1e-6)
    assert_allclose(far.best_score_, near.best_score_, rtol=1e-3)


def test_targets_far_from_zero():
    near = RLSRegressor(MEDIAN, solver="cholesky").fit(X, y)
    far = RLSRegressor(MEDIAN, solver="cholesky").fit(X, y + 1e8)
    assert_allclose(far.best_score_, near.best_score_, rtol=1e-3)
    assert_allclose(far.loo_predictions_ - 1e8, near.loo_predictions_, atol=0.1)


@pytest.mark.parametrize("scale", [1e50, 1e-50, 1e120])
def test_a_given_kernel_outside_the_range_of_float32(scale):
    K = Gaussian(0.8)(X)
    plain = RLSRegressor("precomputed", solver="cholesky").fit(K, y)
    scaled = RLSRegressor("precomputed", solver="cholesky").fit(K * scale, y)
    assert_allclose(scaled.best_score_, plain.best_score_, rtol=1e-3)
    assert_allclose(scaled.alpha_ / scale, plain.alpha_, rtol=0.1)
    assert 32 in scaled.path_["bits"]


@pytest.mark.parametrize("scale", [1e45, 1e-45])
def test_features_outside_the_range_of_float32(scale):
    plain = RLSRegressor("linear", solver="cholesky").fit(X, y)
    scaled = RLSRegressor("linear", solver="cholesky").fit(X * scale, y)
    assert_allclose(scaled.best_score_, plain.best_score_, rtol=1e-3)


@pytest.mark.parametrize("scale", [1e80, 1e-80])
def test_weights_outside_the_range_of_float32(scale):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    plain = RLSRegressor(MEDIAN, solver="cholesky").fit(X, y, weights)
    scaled = RLSRegressor(MEDIAN, solver="cholesky").fit(X, y, weights * scale)
    assert_allclose(scaled.best_score_, plain.best_score_, rtol=1e-3)
    assert_allclose(scaled.alpha_ / scale, plain.alpha_, rtol=0.1)


def test_powers_outside_the_range_of_float32():
    model = RLSRegressor(Polynomial(degree=3), solver="cholesky").fit(X * 1e14, y)
    whole = RLSRegressor(Polynomial(degree=3), solver="spectral").fit(X * 1e14, y)
    assert_allclose(model.best_score_, whole.best_score_, rtol=5e-3)


def test_single_precision_rows_find_what_double_finds():
    X, y = make_friedman1(2000, noise=1.0, random_state=0)
    double = RLSRegressor(MEDIAN).fit(X, y)
    single = RLSRegressor(MEDIAN).fit(X.astype(np.float32), y.astype(np.float32))
    assert double.plan_.solver == single.plan_.solver == "cholesky"
    assert_allclose(single.best_score_, double.best_score_, rtol=2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", [1e12, 1e300])
def test_alphas_beyond_everything_give_the_mean_and_finite_scores(dtype, alpha):
    rows = (X * 1e-6).astype(dtype)
    for kernel, solver in (("linear", "svd"), (MEDIAN, "spectral"), (MEDIAN, "cholesky")):
        model = RLSRegressor(kernel, [1.0, alpha], solver=solver).fit(rows, y.astype(dtype))
        assert np.isfinite(model.path_["score"]).all()
        loo = (len(y) * y.mean() - y) / (len(y) - 1)
        assert_allclose(-model.path_["score"][-1], np.mean((y - loo) ** 2), rtol=1e-3)


def test_a_sequence_of_one_is_a_path_of_one():
    model = RLSRegressor(MEDIAN, [0.5]).fit(X, y)
    assert model.path_["alpha"].tolist() == [0.5]
    assert model.alpha_ == 0.5
