"""Folds with weights, weights with scorers, and splits that make no sense."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import (
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    ShuffleSplit,
    TimeSeriesSplit,
)

from squareone import RLSRegressor
from squareone.kernels import Gaussian
from tests.reference import brute_force

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
y = np.sin(X).sum(axis=1) + 0.3 * rng.standard_normal(60)
weights = rng.uniform(0.2, 2.0, 60)
K = Gaussian(1.0)(X)


def refit(train, test, alpha, w):
    C, b = brute_force.fit(K[np.ix_(train, train)], y[train, None], alpha, w[train], True)
    return brute_force.predict(K[np.ix_(test, train)], C, b)[:, 0]


@pytest.mark.parametrize("solver", ["spectral", "cholesky"])
@pytest.mark.parametrize("zeros", [0, 7])
@pytest.mark.parametrize(
    "cv", [TimeSeriesSplit(4), ShuffleSplit(3, test_size=0.3, random_state=0), KFold(5)]
)
def test_weighted_folds_are_weighted_refits(cv, zeros, solver):
    w = weights.copy()
    w[:: 60 // zeros if zeros else 61] = 0.0 if zeros else w[0]
    model = RLSRegressor(Gaussian(1.0), [0.1, 1.0], cv=cv, solver=solver).fit(X, y, w)
    for alpha, score in zip([0.1, 1.0], model.path_["score"], strict=True):
        total = count = 0.0
        for train, test in cv.split(X):
            errors = y[test] - refit(train, test, alpha, w)
            total += np.sum(w[test] * errors**2)
            count += np.sum(w[test])
        assert_allclose(-score, total / count, rtol=1e-8)


@pytest.mark.parametrize("solver", ["svd", "gram"])
def test_weighted_folds_of_a_linear_fit_are_those_of_a_peer(solver):
    cv = TimeSeriesSplit(4)
    model = RLSRegressor("linear", [0.1, 1.0], cv=cv, solver=solver).fit(X, y, weights)
    total = count = 0.0
    for train, test in cv.split(X):
        peer = Ridge(0.1).fit(X[train], y[train], weights[train])
        total += np.sum(weights[test] * (y[test] - peer.predict(X[test])) ** 2)
        count += np.sum(weights[test])
    assert_allclose(-model.path_["score"][0], total / count, rtol=1e-8)


@pytest.mark.parametrize("cv", [None, KFold(5), ShuffleSplit(3, test_size=0.3, random_state=0)])
def test_scorers_see_only_rows_of_positive_weight(cv):
    w = weights.copy()
    w[::7] = 0.0
    model = RLSRegressor(
        Gaussian(1.0), [0.1, 1.0], cv=cv, scoring="neg_mean_absolute_error", solver="spectral"
    ).fit(X, y, w)
    everything = np.arange(60)
    splits = cv.split(X) if cv else [(np.delete(everything, i), [i]) for i in everything]
    truth, values, used = [], [], []
    for train, test in splits:
        test = np.asarray(test)[w[test] > 0]
        if test.size:
            truth.append(y[test])
            values.append(refit(train, test, 0.1, w))
            used.append(w[test])
    expected = mean_absolute_error(
        np.concatenate(truth), np.concatenate(values), sample_weight=np.concatenate(used)
    )
    assert_allclose(-model.path_["score"][0], expected, rtol=1e-8)


@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
@pytest.mark.parametrize(
    "cv", [KFold(6), LeaveOneGroupOut(), LeaveOneOut(), TimeSeriesSplit(5)], ids=repr
)
def test_a_fold_of_weight_zero_is_skipped(cv, scoring):
    """Its rows are not there: the same as without them, where the other folds are the same."""
    groups = np.arange(60) // 10
    w = weights.copy()
    w[20:30] = 0.0
    options = {"cv": cv, "scoring": scoring, "solver": "spectral"}
    given = {"groups": groups} if isinstance(cv, LeaveOneGroupOut) else {}
    model = RLSRegressor(Gaussian(1.0), [0.1, 1.0], **options).fit(X, y, w, **given)
    kept = np.flatnonzero(w)
    splits = [
        tuple(np.flatnonzero(np.isin(kept, part)) for part in split)
        for split in cv.split(X, y, **given)
        if w[split[1]].any()
    ]
    other = RLSRegressor(Gaussian(1.0), [0.1, 1.0], **{**options, "cv": splits})
    other.fit(X[kept], y[kept], w[kept])
    assert_allclose(model.path_["score"], other.path_["score"], rtol=1e-10)


def test_folds_without_any_weight_are_refused():
    w = weights.copy()
    w[:30] = 0.0
    half = np.arange(60) < 30
    with pytest.raises(ValueError, match="no fold of cv has a test row of positive weight"):
        RLSRegressor(alpha=[0.1, 1.0], cv=[(~half, half)]).fit(X, y, w)
    with pytest.raises(ValueError, match="fold 1 of cv has no training row of positive weight"):
        RLSRegressor(alpha=[0.1, 1.0], cv=[(~half, half), (half, ~half)]).fit(X, y, w)


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (np.arange(50), np.arange(50, 61), "fold 0 of cv has row 60: rows 0 to 59 are expected"),
        (np.arange(50), np.array([-1, 55]), "fold 0 of cv has row -1: rows 0 to 59 are expected"),
        (np.arange(50), np.array([55, 55]), "fold 0 of cv names a row twice"),
        (np.array([1, 1, 2]), np.array([55]), "fold 0 of cv names a row twice"),
    ],
)
def test_rows_that_are_not_there_or_there_twice(train, test, message):
    with pytest.raises(ValueError, match=message):
        RLSRegressor(alpha=[0.1, 1.0], cv=[(train, test)]).fit(X, y)


def test_masks_are_splits_too():
    masks = [(np.arange(60) % 3 != i, np.arange(60) % 3 == i) for i in range(3)]
    indices = [tuple(map(np.flatnonzero, split)) for split in masks]
    by_mask = RLSRegressor(alpha=[0.1, 1.0], cv=masks).fit(X, y)
    assert by_mask.best_score_ == RLSRegressor(alpha=[0.1, 1.0], cv=indices).fit(X, y).best_score_


def test_a_plan_draws_no_numbers_and_uses_nothing_up():
    state = np.random.RandomState(3)
    model = RLSRegressor(criterion="holdout", random_state=state)
    model.plan(X, y)
    planned = model.fit(X, y).alpha_
    unplanned = RLSRegressor(criterion="holdout", random_state=np.random.RandomState(3)).fit(X, y)
    assert planned == unplanned.alpha_
    with pytest.raises(ValueError, match=r"cv is a generator, which plan would use up: .*list\(cv"):
        RLSRegressor(cv=KFold(3).split(X)).plan(X, y)
    RLSRegressor(cv=KFold(3).split(X)).fit(X, y)  # once is enough for a fit


def test_folds_count_in_the_plan():
    plain = RLSRegressor(alpha=[0.1, 1.0]).plan(X, y)
    folds = RLSRegressor(alpha=[0.1, 1.0], cv=2).plan(X, y)
    for before, after in zip(plain.candidates, folds.candidates, strict=True):
        # two folds of 30 rows: 2 · 2·30² flops for each row and λ
        assert after.flops - before.flops == 2 * (2 * 2 * 30**2 * 60)
