"""Estimators with few centers do what all do: scikit-learn's checks, input, targets, choices."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from squareone import RLSClassifier, RLSRegressor
from squareone import centers as selectors
from squareone.kernels import Gaussian
from squareone.planning import plan
from squareone.planning.machine_speed import KINDS, Machine, Rate
from squareone.targets import BCH
from tests.estimators.center_cases import (
    NAMES,
    SOLVERS,
    X,
    classifier,
    every_selector,
    every_solver,
    indicators,
    m,
    n,
    new,
    regressor,
    rng,
    several,
    three,
    two,
    weights,
    y,
)

pytestmark = pytest.mark.filterwarnings("ignore::squareone.errors.EstimateWarning")


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """A billion of everything in a second: none is measured, and no cache is touched."""
    rates = {f"{kind}-{bits}": Rate(1e9) for kind in KINDS for bits in (32, 64)}
    monkeypatch.setattr(plan, "this_machine", lambda: Machine(rates))


# --- scikit-learn's checks ---

FIXED = {"alpha": 1.0, "kernel": Gaussian(1.0)}
EVERY = [
    {"solver": "rectangle"},
    {"solver": "pcg", "tol": 1e-10},
    {"solver": "nystrom"},
    {"solver": "subset"},
]
CHECKED = [
    RLSRegressor(centers="auto"),
    RLSRegressor(solver="rectangle"),
    *(RLSRegressor(**FIXED, **variant) for variant in EVERY),
    RLSClassifier(solver="subset", kernel=Gaussian(1.0)),
    *(RLSClassifier(**FIXED, calibration=None, **variant) for variant in EVERY[:3]),
]


@pytest.mark.filterwarnings("ignore::squareone.errors.IllConditionedWarning")
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    if estimator.alpha == "auto" and "sample_weight_equivalence" in str(check):
        pytest.skip("λ is chosen by leaving out rows, and a repeated row leaves its twin")
    check(estimator)


# --- input ---


@every_solver
def test_frames_and_lists(solver):
    expected = regressor(solver).fit(X, y).predict(new)
    for frame in (pd.DataFrame, lambda a, columns: pl.DataFrame(a, schema=columns)):
        rows, others = (frame(a, columns=NAMES) for a in (X, new))
        model = regressor(solver).fit(rows, y)
        assert list(model.feature_names_in_) == NAMES
        assert_allclose(model.predict(others), expected, rtol=1e-12)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame(new, columns=["length", "age", "width"]))
    model = regressor(solver).fit(X.tolist(), y.tolist())
    assert_allclose(model.predict(new.tolist()), expected, rtol=1e-12)


@every_solver
def test_centers_as_frames_and_lists(solver):
    if solver == "subset":
        pytest.skip("a subset is of rows")
    points = X[:m] + 0.1
    expected = regressor(solver, centers=points).fit(X, y).predict(new)
    for given in (points.tolist(), pd.DataFrame(points), csr_array(points), points.astype(">f8")):
        model = regressor(solver, centers=given).fit(X, y)
        assert_allclose(model.predict(new), expected, rtol=1e-9)


@every_solver
@every_selector
def test_sparse_rows(solver, selector):
    if isinstance(selector, selectors.KMeans):
        pytest.skip("centroids of sparse rows are dense")
    rows = np.where(np.abs(X) > 0.7, X, 0.0)
    if isinstance(selector, selectors.Given):
        selector = selectors.Given(rows[selector.indices], selector.indices)
    dense, sparse = (
        regressor(solver, centers=selector).fit(a, y, weights) for a in (rows, csr_array(rows))
    )
    assert_allclose(sparse.predict(csr_array(new)), dense.predict(new), atol=1e-7)
    assert_allclose(sparse.predict(new), dense.predict(new), atol=1e-7)
    assert hasattr(sparse.centers_, "indptr")
    assert_array_equal(sparse.center_indices_, dense.center_indices_)


@every_solver
def test_read_only_arrays(solver):
    arrays = [X.copy(), y.copy(), weights.copy(), new.copy()]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    regressor(solver, alpha=[0.1, 1.0]).fit(*arrays[:3]).predict(arrays[3])
    for array, was in zip(arrays, before, strict=True):
        assert_array_equal(array, was)


@every_solver
def test_the_model_does_not_change_with_the_rows(solver):
    rows, points = X.copy(), X[:m].copy()
    given = selectors.Given(points, indices=np.arange(m))
    model = regressor(solver, centers=given).fit(rows, y)
    expected = model.predict(new)
    leverages = regressor(solver, centers=given).fit(rows, y).leverages_
    rows[:] = 0.0
    points[:] = 0.0
    assert_array_equal(model.predict(new), expected)
    assert_allclose(model.leverages_, leverages, rtol=1e-9)


@every_solver
def test_single_precision(solver):
    single = regressor(solver, alpha=1.0, tol=1e-5).fit(X.astype(np.float32), y)
    double = regressor(solver, alpha=1.0).fit(X, y)
    found = single.predict(new.astype(np.float32))
    assert found.dtype == single.dual_coef_.dtype == single.centers_.dtype == np.float32
    assert_allclose(found, double.predict(new), atol=1e-2)


# --- targets ---


@every_solver
def test_several_targets(solver):
    model = regressor(solver).fit(X, several, weights)
    assert model.predict(new).shape == (7, 2)
    for j in range(2):
        alone = regressor(solver).fit(X, several[:, j], weights)
        assert_allclose(model.predict(new)[:, j], alone.predict(new), atol=1e-6)


@pytest.mark.parametrize("solver", ["rectangle", "nystrom", "subset"])
def test_an_alpha_for_every_target(solver):
    grid = np.geomspace(1e-3, 1e2, 6)
    model = regressor(solver, alpha=grid, alpha_per_target=True).fit(X, several)
    assert model.alpha_.shape == (2,)
    for j in range(2):
        alone = regressor(solver, alpha=grid).fit(X, several[:, j])
        assert model.alpha_[j] == alone.alpha_
        assert_allclose(model.predict(new)[:, j], alone.predict(new), atol=1e-8)


@every_solver
@pytest.mark.parametrize("labels", [two, three], ids=["two", "three"])
def test_classes(solver, labels):
    model = classifier(solver).fit(X, labels, weights)
    assert_array_equal(model.classes_, np.unique(labels))
    assert model.score(X, labels) > 0.6
    chances = model.predict_proba(X)
    assert_allclose(chances.sum(axis=1), 1.0)
    assert chances.shape == (n, len(model.classes_))
    assert accuracy_score(labels, model.classes_[chances.argmax(axis=1)]) > 0.6
    assert model.decision_function(new).shape == ((7,) if len(model.classes_) == 2 else (7, 3))


@every_solver
@pytest.mark.parametrize("calibration", ["platt", "isotonic", "linear", None])
def test_calibrations(solver, calibration):
    model = classifier(solver, calibration=calibration).fit(X, three)
    if calibration is None:
        with pytest.raises(AttributeError, match="no attribute 'predict_proba'"):
            model.predict_proba(new)
    else:
        assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)


@every_solver
def test_several_labels(solver):
    model = classifier(solver).fit(X, indicators)
    assert model.predict(new).shape == (7, 3)
    assert (model.predict(X) == indicators).mean() > 0.85
    for j in range(3):
        alone = classifier(solver).fit(X, indicators[:, j])
        assert_allclose(model.decision_function(new)[:, j], alone.decision_function(new), atol=1e-6)


@every_solver
@pytest.mark.parametrize("coding", ["bch", BCH(15, "hamming")], ids=str)
def test_codes(solver, coding):
    model = classifier(solver, coding=coding).fit(X, three)
    assert model.score(X, three) > 0.7
    assert model.code_.shape[0] == 3


@every_solver
def test_class_weights(solver):
    given = {"low": 3.0, "middle": 1.0, "high": 0.5}
    model = classifier(solver, class_weight=given).fit(X, three)
    factors = np.array([given[label] for label in three])
    plain = classifier(solver).fit(X, three, factors)
    assert_allclose(model.decision_function(new), plain.decision_function(new), atol=1e-7)
    balanced = classifier(solver, class_weight="balanced").fit(X, three)
    assert np.isfinite(balanced.decision_function(new)).all()


@every_solver
def test_thresholds(solver):
    model = classifier(solver, threshold="f1").fit(X, two)
    assert np.isfinite(model.threshold_)
    decided = model.decision_function(X) > model.threshold_
    assert_array_equal(model.predict(X) == "yes", decided)


# --- choosing λ and the width ---

CHOICES = {
    "scores": {"scoring": "neg_mean_absolute_error"},
    "folds": {"cv": 3},
    "holdout": {"criterion": "holdout"},
    "gcv": {"criterion": "gcv"},
    "likelihood": {"criterion": "marginal_likelihood"},
    "some rows": {"loo_rows": 30},
    "all rows": {"loo_rows": None},
}


@every_solver
@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
def test_criteria(solver, choice):
    if choice.get("criterion") in ("gcv", "marginal_likelihood") and solver in ("pcg", "nystrom"):
        pytest.skip("refused: see test_bad_centers")
    model = regressor(solver, alpha=[1e-3, 0.1, 1e6], **choice).fit(X, y, weights)
    assert model.best_score_ == model.path_["score"].max()
    assert model.path_["alpha"].tolist() == [1e-3, 0.1, 1e6]
    assert np.isfinite(model.path_["score"]).all()
    if solver != "nystrom":  # which needs more centers, or a large λ
        assert model.alpha_ in (1e-3, 0.1)
        assert model.score(X, y) > 0.7


@every_solver
def test_accuracy_decides(solver):
    model = classifier(solver, alpha=[1e-2, 1.0, 1e6], scoring="accuracy").fit(X, two)
    assert model.best_score_ == model.path_["score"].max()
    assert 0.5 < model.best_score_ <= 1.0


@every_solver
def test_groups(solver):
    groups = np.arange(n) % 6
    model = regressor(solver, alpha=[0.1, 1.0], cv=GroupKFold(3)).fit(X, y, groups=groups)
    splits = list(GroupKFold(3).split(X, y, groups))
    again = regressor(solver, alpha=[0.1, 1.0], cv=splits).fit(X, y)
    assert_allclose(model.path_["score"], again.path_["score"], rtol=1e-9)


@every_solver
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", Gaussian("median")], ids=str)
def test_widths_that_are_chosen(solver, kernel):
    model = regressor(solver, kernel=kernel).fit(X, y)
    assert model.kernel_.sigma > 0
    if solver != "nystrom":
        assert model.score(X, y) > 0.7
    again = regressor(solver, kernel=kernel).fit(X, y)
    assert again.kernel_.sigma == model.kernel_.sigma


@pytest.mark.parametrize("solver", ["rectangle", "pcg", "nystrom"])
def test_widths_that_are_searched_with_centers(solver, monkeypatch):
    """More rows than are looked at exactly: rectangles follow."""
    for name in ("squareone.fitting.center_width_search", "squareone.fitting.width_search"):
        monkeypatch.setattr(f"{name}.WIDTH_ROWS", 40, raising=False)
    model = regressor(solver, kernel="gaussian").fit(X, y)
    assert model.kernel_.sigma > 0
    assert set(model.path_["rows"]) >= {n}
    assert model.score(X, y) > 0.7


def test_all_parameters_are_searched():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), regressor()),
        {"rlsregressor__centers": [5, selectors.KMeans(10)], "rlsregressor__solver": SOLVERS[:2]},
        cv=2,
    ).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    search = GridSearchCV(
        regressor(centers=selectors.PivotedCholesky(3)), {"centers__count": [2, 20]}, cv=2
    ).fit(X, y)
    assert search.best_params_ == {"centers__count": 20}


# --- how many centers ---


def test_automatic_centers_of_few_rows_are_all():
    model = regressor("auto", centers="auto").fit(X, y)
    assert model.plan_.task.centers == 0
    assert model.plan_.solver in ("cholesky", "spectral")
    assert_allclose(
        model.predict(new), regressor("auto", centers=None).fit(X, y).predict(new), rtol=1e-12
    )
    model = regressor("rectangle", centers="auto").fit(X, y)
    assert model.plan_.task.centers == n


@pytest.mark.parametrize("time_limit", [None, 1e-3, 1e9])
def test_automatic_centers_of_many_rows(time_limit, monkeypatch):
    """Where all rows would take too long."""
    monkeypatch.setattr("squareone.planning.center_count.AUTO_FLOPS", 1e7)
    rows = rng.normal(size=(3000, 3))
    model = RLSRegressor(
        Gaussian(1.0), 1.0, centers="auto", time_limit=time_limit, memory_limit="1GiB"
    )
    planned = model.plan(rows, rows[:, 0])
    if time_limit == 1e9:
        assert planned.task.centers == 0
        return
    assert 0 < planned.task.centers < 3000
    text = str(planned)
    assert f"{planned.task.centers:,} centers" in text
    assert planned.reason in text
    model.fit(rows, rows[:, 0])
    assert model.plan_.solver == "rectangle"
    assert len(model.centers_) == planned.task.centers
    assert model.time_limit == time_limit  # fit changes no parameter
    assert model.centers == "auto"


def test_a_plan_says_why_there_are_so_many_centers(monkeypatch):
    monkeypatch.setattr("squareone.planning.center_count.AUTO_FLOPS", 1e7)
    rows = rng.normal(size=(3000, 3))
    text = str(RLSRegressor(Gaussian(1.0), 1.0, centers="auto").plan(rows, rows[:, 0]))
    assert 'centers="auto"' in text


@every_solver
@every_selector
def test_random_states(solver, selector):
    if solver == "subset" and isinstance(selector, selectors.KMeans):
        pytest.skip("centroids are no rows")
    if solver == "nystrom":
        pytest.skip("has a coefficient for every row")
    first, again = (
        regressor(solver, alpha=[0.1, 1.0], centers=selector).fit(X, y) for _ in range(2)
    )
    assert_array_equal(first.centers_, again.centers_)
    assert_array_equal(first.predict(new), again.predict(new))
    assert len(first.centers_) == m
    other = regressor(solver, centers=selector, random_state=1).fit(X, y)
    greedy = getattr(selector, "pivot", "") == "greedy"
    fixed = isinstance(selector, selectors.Given)
    assert np.array_equal(np.sort(first.centers_, 0), np.sort(other.centers_, 0)) == (
        fixed or greedy
    )
    unset = [regressor(solver, centers=selector, random_state=None).fit(X, y) for _ in range(2)]
    assert_array_equal(unset[0].centers_, unset[1].centers_)
