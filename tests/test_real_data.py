"""Data sets of the papers, where the folder named by SQUAREONE_DATA has them.

``SQUAREONE_DATA=folder make test`` runs these; without it they are skipped.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict

from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian

FOLDER = os.environ.get("SQUAREONE_DATA")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER, reason="SQUAREONE_DATA names no folder of data sets"),
]


def read(name):
    path = Path(FOLDER) / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"no {path.name} in SQUAREONE_DATA")
    with np.load(path, allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def standardised(data):
    X, X_test = data["X_train"].astype(float), data["X_test"].astype(float)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale == 0] = 1
    return (X - mean) / scale, (X_test - mean) / scale


@pytest.mark.parametrize(("name", "most"), [("optdigits", 0.03), ("satimage", 0.12)])
def test_leave_one_out_tells_the_test_error(name, most):
    """Everything automatic: both errors small, and near each other."""
    data = read(name)
    X, X_test = standardised(data)
    model = RLSClassifier().fit(X, data["y_train"])
    labels = model.classes_[model.loo_predictions_.argmax(axis=1)]
    left_out = (labels != data["y_train"]).mean()
    test = (model.predict(X_test) != data["y_test"]).mean()
    assert test < most
    assert left_out < test + 0.01


def test_usps_in_float32():
    """7,291 rows: the search in float32, against the path of a single factorisation in float64."""
    data = read("usps")
    kernel = Gaussian(9.0)
    single = RLSClassifier(kernel).fit(data["X_train"], data["y_train"])
    assert single.plan_.solver == "cholesky"
    assert single.decision_function(data["X_test"]).dtype == np.float32
    double = RLSClassifier(kernel, single.alpha_).fit(
        data["X_train"].astype(np.float64), data["y_train"]
    )
    assert_allclose(single.best_score_, double.best_score_, rtol=1e-3)
    assert (single.predict(data["X_test"]) != data["y_test"]).mean() < 0.055


@pytest.mark.parametrize("name", ["boston", "abalone", "california_housing"])
def test_linear_leave_one_out_on_raw_features(name):
    """Features of very different scales, as they come."""
    data = read(name)
    X, y = data["X"].astype(float), data["y"].astype(float)
    grid = np.geomspace(1e-3, 1e6, 19)
    ours = RLSRegressor("linear", grid).fit(X, y)
    peer = RidgeCV(grid).fit(X - X.mean(axis=0), y)
    assert ours.alpha_ == peer.alpha_
    assert_allclose(ours.best_score_, peer.best_score_, rtol=1e-6)


def test_boston_folds_by_refits():
    data = read("boston")
    X = (data["X"] - data["X"].mean(axis=0)) / data["X"].std(axis=0)
    y = data["y"]
    model = RLSRegressor(Gaussian(4.0), [0.01, 0.1], cv=10).fit(X, y)
    for alpha, score in zip(model.path_["alpha"], model.path_["score"], strict=True):
        refits = cross_val_predict(RLSRegressor(Gaussian(4.0), alpha), X, y, cv=10)
        assert_allclose(-score, np.mean((y - refits) ** 2), rtol=1e-7)


def test_adaptive_intervals_of_houses():
    """Ten thousand rows: narrow and wide intervals cover alike, and few prices are negative."""
    data = read("california_housing")
    X, y = data["X"].astype(float), data["y"].astype(float)
    X[:, 2:6] = np.log1p(X[:, 2:6])
    order = np.random.default_rng(0).permutation(y.size)
    X, y = X[order], y[order]
    X = (X - X[:10_000].mean(axis=0)) / X[:10_000].std(axis=0)
    model = RLSRegressor(centers=1000).fit(X[:10_000], y[:10_000])
    new, truth = X[10_000:], y[10_000:]
    low, high = model.predict_interval(new, 0.9, "adaptive").T
    inside, tenths = (low <= truth) & (truth <= high), np.array_split(np.argsort(high - low), 10)
    assert inside.mean() == pytest.approx(0.9, abs=0.02)
    assert all(0.86 < inside[tenth].mean() < 0.94 for tenth in tenths)
    constant_low, constant_high = model.predict_interval(new, 0.9, "jackknife").T
    assert (low < 0).mean() < 0.5 * (constant_low < 0).mean()
    assert (high - low).mean() < (constant_high - constant_low).mean()
    bounded = model.predict_interval(new, 0.9, "adaptive", bounds=(0, None))
    assert (bounded >= 0).all()
