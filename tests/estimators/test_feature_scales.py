"""Features in different units: warned of where a kernel of distances is harmed, only there."""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from squareone import OROLSClassifier, OROLSRegressor, RLSClassifier, RLSRegressor
from squareone.errors import ScaleWarning
from squareone.fitting import feature_scales
from squareone.fitting.feature_scales import feature_spreads
from squareone.kernels import Gaussian, Laplacian, Linear, Matern
from squareone.rows import GeneratedRows
from tests.estimators.data import refused, table

FOLDER = os.environ.get("SQUAREONE_DATA")
n = 160
_rng = np.random.default_rng(0)
UNIT = _rng.normal(size=(n, 4))
UNITS = np.array([1.0, 0.5, 1.0, 1000.0])
MIXED = UNIT * UNITS
y = np.sin(2 * UNIT[:, 0]) + 0.1 * _rng.normal(size=n)


def said(estimator, X, target=y, **fit):
    """The warnings of a fit that are about scales; any other is an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", ScaleWarning)
        estimator.fit(X, target, **fit)
    return [str(warning.message) for warning in caught]


KERNELS = {
    "default": ("gaussian",),
    "name": ("laplacian",),
    "given width": (Gaussian(30.0),),
    "median": (Gaussian("median"),),
    "Laplacian": (Laplacian(),),
    "Matern": (Matern(),),
    "sum": (Linear() + Gaussian(),),
    "product": (Gaussian(30.0) * Laplacian(100.0),),
    "deep": (Linear() + 2.0 * (Linear() * Matern()),),
}


@pytest.mark.parametrize("kernel", table(KERNELS))
def test_kernels_of_distances_warn_once(kernel):
    (message,) = said(RLSRegressor(kernel), MIXED)
    assert message.startswith("the features have very different units: a ")
    assert "sees column 3 (spread 1,0" in message
    assert "but hardly column 1 (spread 0.4" in message
    assert "StandardScaler" in message


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(ard=True), Gaussian(2.0 * UNITS), Linear(), "poly", Linear() + Gaussian(2.0 * UNITS)],
    ids=str,
)
def test_no_warning_for_widths_per_feature_and_other_kernels(kernel):
    assert not said(RLSRegressor(kernel), MIXED)


def test_standardised_features_are_not_warned_of():
    assert not said(make_pipeline(StandardScaler(), RLSRegressor()), MIXED)
    assert not said(RLSRegressor(), UNIT)
    assert not said(RLSRegressor(), 1e6 * UNIT)


def test_features_are_named():
    X = pd.DataFrame(MIXED, columns=["age", "height", "weight", "income"])
    (message,) = said(RLSRegressor(), X)
    assert "'income' (spread 1," in message
    assert "hardly 'height' (spread 0.4" in message
    assert "'weight'" in message


def test_few_of_many_features_are_named():
    X = np.random.default_rng(1).normal(size=(n, 20)) * np.repeat([1.0, 1000.0], 10)
    (message,) = said(RLSRegressor(), X, np.sin(2 * X[:, 0]))
    assert message.count("column") == 6
    assert message.count("and 7 others") == 2


@pytest.mark.parametrize("factor", [25.0, 0.04])
def test_up_to_thirty_times_nothing_is_said(factor):
    X = UNIT / np.sqrt(np.mean((UNIT - np.median(UNIT, axis=0)) ** 2, axis=0))
    assert not said(RLSRegressor(), X * [1.0, 1.0, 1.0, factor])
    assert said(RLSRegressor(), X * [1.0, 1.0, 1.0, 36.0])


def test_silent_where_scaling_would_not_help():
    """The feature with the large unit is the only one that counts, or none does."""
    rng = np.random.default_rng(1)
    assert not said(RLSRegressor(), MIXED, np.sin(2 * UNIT[:, 3]) + 0.1 * rng.normal(size=n))
    assert not said(RLSRegressor(), MIXED, np.ones(n))


@pytest.mark.thorough
def test_noise_seldom_warns():
    fast = RLSRegressor(Gaussian("median"), 1.0)
    draws = [np.random.default_rng(seed).normal(size=n) for seed in range(20)]
    assert sum(bool(said(fast, MIXED, noise)) for noise in draws) <= 2


def test_every_estimator_of_distances():
    classes, noise = y > 0, np.random.default_rng(1).normal(size=n)
    for estimator, target in [
        (RLSClassifier(), classes),
        (RLSRegressor(centers=30), y),
        (RLSRegressor(Gaussian(30.0), 0.1), y),
        (RLSRegressor(), np.column_stack([y, 1e9 * noise])),
        (OROLSRegressor(), y),
        (OROLSClassifier(), classes),
        (OROLSRegressor([Linear(), Gaussian("median")]), y),
    ]:
        (message,) = said(estimator, MIXED, target)
        assert ("ard=True" in message) == type(estimator).__name__.startswith("RLS")


@pytest.mark.parametrize("seed", [0, pytest.param(2, marks=pytest.mark.thorough)])
def test_greedy_fits_are_judged_by_what_few_centers_can_do(seed):
    """The exact fit reads the small features off the last digits; a few centers do not."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(200, 5))
    target = Z[:, 0] + 0.1 * rng.normal(size=200)
    X = Z * [1.0, 1.0, 1.0, 1000.0, 1.0]
    model = OROLSRegressor()
    (message,) = said(model, X, target)
    assert "sees column 3" in message
    assert model.score(X, target) < 0.5
    assert not said(model, Z, target)
    assert model.score(Z, target) > 0.95


def test_greedy_fits_are_silent_where_scaling_would_not_help():
    rng = np.random.default_rng(1)
    target = np.sin(2 * UNIT[:, 3]) + 0.1 * rng.normal(size=n)
    assert not said(OROLSRegressor(), MIXED, target)


def test_rows_of_weight_zero_do_not_count():
    X = np.vstack([UNIT, [[0.0, 0.0, 0.0, 1e9]] * 40])
    weights = np.repeat([1.0, 0.0], [n, 40])
    target = np.append(y, np.zeros(40))
    assert not said(RLSRegressor(), X, target, sample_weight=weights)


def test_sparse_rows():
    (message,) = said(RLSRegressor(), csr_array(MIXED))
    assert "column 3" in message
    assert "ard=True" not in message  # which sparse rows do not take
    assert not said(RLSRegressor(), csr_array(UNIT))


def test_counts_of_words_share_a_unit():
    """A word that is in every document many times, and others that are in few documents once."""
    rng = np.random.default_rng(1)
    counts = np.column_stack([rng.poisson(100.0, n), rng.random((n, 30)) < 0.05]).astype(float)
    assert counts.std(axis=0).max() > 30 * np.median(counts.std(axis=0)[1:])
    assert not said(RLSRegressor(), csr_array(counts), counts[:, 1] + y)
    assert not said(RLSRegressor(), counts, counts[:, 1] + y)


def test_one_hot_columns_beside_a_raw_one():
    rng = np.random.default_rng(1)
    kinds = OneHotEncoder().fit_transform(rng.integers(0, 5, (n, 1))).toarray()
    income = 1e4 * rng.exponential(size=(n, 1))
    target = np.where(kinds[:, 0] > 0, np.sin(income[:, 0] / 5e3), np.cos(income[:, 0] / 5e3))
    (message,) = said(RLSRegressor(), np.hstack([income, kinds]), target)
    assert "hardly column 1 (spread 1), column 2 (1), column 3 (1) and 2 others" in message
    assert not said(RLSRegressor(), np.hstack([income / 1e4, kinds]), target)


def test_streams_are_judged_by_their_first_rows():
    """Nothing behind them is read for it."""
    X, target = np.tile(MIXED, (40, 1)), np.tile(y, 40)
    X[2000:, :3] *= 1000.0  # seen as a whole, no feature is small
    read = []

    def make():
        for start in range(0, len(X), 100):
            read.append(start)
            yield X[start : start + 100]

    stream = GeneratedRows(make, X.shape, feature_names=["a", "b", "c", "d"])
    with pytest.warns(ScaleWarning, match=r"'d'.*Open them with transformer="):
        RLSRegressor(Gaussian(30.0), 1.0, centers=20).fit(stream, target)
    starts = np.flatnonzero(np.array(read) == 0)
    passes = [len(part) for part in np.split(read, starts[1:])]
    assert sorted(passes)[0] == 20


def test_plan_says_nothing_and_draws_nothing():
    """Numbers drawn for a trial are its own: a fit is the same with it as without."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RLSRegressor().plan(MIXED, y)
    with pytest.warns(ScaleWarning):
        mixed = RLSRegressor(Gaussian("median"), centers=20, random_state=3).fit(MIXED, y)
    same = RLSRegressor(Gaussian("median"), centers=20, random_state=3).fit(UNIT, y)
    assert (mixed.center_indices_ == same.center_indices_).all()


@pytest.mark.parametrize("scale", [1e20, 1e145, 1e-140])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_extreme_units_never_break_a_fit(scale, dtype):
    scale = scale if dtype == np.float64 else scale**0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ScaleWarning)
        RLSRegressor().fit((UNIT * [1, 1, 1, scale]).astype(dtype), y)


def test_few_rows_never_break_a_fit():
    for rows in (2, 3, 5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScaleWarning)
            RLSRegressor().fit(MIXED[:rows], y[:rows])


def test_the_warning_is_an_error_where_that_is_asked_for():
    model = RLSRegressor()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        with refused(ScaleWarning, "different units"):
            model.fit(MIXED, y)
    assert not hasattr(model, "kernel_")


# --- spreads ---


def test_spreads_by_their_definition():
    rng = np.random.default_rng(1)
    X = np.column_stack([UNIT[:, 0], rng.integers(0, 3, n), rng.random(n) < 0.1, np.ones(n)])
    expected = []
    for column in X.T:
        away = [x - np.median(column) for x in column if x != np.median(column)]
        expected.append(np.sqrt(np.mean(np.square(away))) if away else 0.0)
    np.testing.assert_allclose(feature_spreads(X), expected)
    np.testing.assert_allclose(feature_spreads(csr_array(X)), expected)
    assert feature_spreads(X)[2] == 1.0


def test_features_of_hardly_any_row_are_left_out():
    X = np.zeros((1000, 2))
    X[:9, 0] = X[:10, 1] = 5.0
    np.testing.assert_array_equal(feature_spreads(X), [0.0, 5.0])
    np.testing.assert_array_equal(feature_spreads(csr_array(X)), [0.0, 5.0])


# --- real data ---


@pytest.mark.parametrize("load", [load_digits, load_iris])
def test_features_of_one_unit(load):
    X, target = load(return_X_y=True)
    assert not said(RLSClassifier(), X[::4], target[::4])


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_features_of_several_units(load):
    X, target = load(return_X_y=True)
    assert len(said(RLSClassifier(), X, target)) == 1


def _arrays(name):
    path = Path(FOLDER or "") / f"{name}.npz"
    if not FOLDER or not path.exists():
        pytest.skip(f"no {path.name} in SQUAREONE_DATA")
    with np.load(path, allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


@pytest.mark.parametrize(
    "name", ["usps", "mnist", "optdigits", "pendigits", "letter", "satimage", "cbcl_faces"]
)
@pytest.mark.parametrize("rows", [300, 3000])
def test_images_share_a_unit(name, rows):
    data = _arrays(name)
    some = np.random.default_rng(1).permutation(len(data["y_train"]))[:rows]
    X, target = data["X_train"][some], data["y_train"][some]
    assert not said(RLSClassifier(Gaussian("median"), 1.0, centers=20), X, target)


@pytest.mark.parametrize("name", ["california_housing", "boston"])
def test_houses_have_several_units(name):
    data = _arrays(name)
    X = pd.DataFrame(data["X"], columns=data["feature_names"].astype(str))[:1000]
    (message,) = said(RLSRegressor(), X, data["y"][:1000])
    assert ("'total_rooms'" if name == "california_housing" else "'TAX'") in message


@pytest.mark.parametrize(("gain", "trials"), [(0.5, 1), (-0.5, 1), (0.0, 3)])
def test_there_are_more_trials_where_the_first_leaves_a_doubt(gain, trials, monkeypatch):
    rows, columns = np.zeros((400, 2)), np.zeros((400, 1))
    seen = []
    monkeypatch.setattr(feature_scales, "_gain", lambda *a: seen.append(len(a[2])) or gain)
    found = feature_scales._mean_gain(None, Gaussian(), rows, columns, 100)
    assert seen == [100] * trials
    assert found == (gain, 100 * trials)
