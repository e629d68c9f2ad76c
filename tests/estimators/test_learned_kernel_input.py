"""Input that is refused or odd, many rows, and files, for a kernel that learns its metric."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import squareone
from squareone import (
    IncrementalRLSRegressor,
    OROLSRegressor,
    RLSClassifier,
    RLSRegressor,
    SelectiveSamplingClassifier,
)
from squareone.errors import FileFormatError, MemoryLimitError, ScaleError, SingularSystemError
from squareone.fitting import learned_kernel
from squareone.kernels import Gaussian, Laplacian, Linear, Matern
from squareone.rows import GeneratedRows
from tests.estimators.data import X, frame, indicators, n, refused, table, three, two, y
from tests.estimators.test_hostile_files import put_together, rewritten, taken_apart

LEARNED = Gaussian(metric="learned")


# --- refused ---

BAD = {
    "sparse": ("auto", {}, csr_array(X), ["sparse matrix", 'kernel="linear"']),
    "many features": (LEARNED, {}, np.ones((30, 2001)), ["2,001 features", "at most 2,000", "PCA"]),
    "few rows": ("auto", {}, X[:5], ["at least 6 rows", "n_samples = 5", "without a learned"]),
    "a sum": (LEARNED + Linear(), {}, X, ["by itself", "sum or product"]),
    "a product": (LEARNED * Linear(), {}, X, ["by itself", "sum or product"]),
    "a multiple": (2.0 * LEARNED, {}, X, ["by itself", "sum or product"]),
    "relevance": (Gaussian(ard=True, metric="learned"), {}, X, ["ard=True", "one width"]),
    "widths": (Gaussian(np.ones(3), metric="learned"), {}, X, ["one width"]),
    "typo": (Gaussian(metric="lerned"), {}, X, ['"learned"', "'lerned'"]),
    "typo of weights": (Laplacian(metric="lerned"), {}, X, ["weight", '"learned"', "'lerned'"]),
    "svd": ("auto", {"solver": "svd"}, X, ['needs kernel="linear"', "got 'auto'"]),
    "krylov": (LEARNED, {"solver": "krylov"}, X, ['needs kernel="linear"', "metric='learned'"]),
    "subset": ("auto", {"solver": "subset", "centers": 9}, X, ['"subset"', "fit the rows you"]),
}


@pytest.mark.parametrize(("kernel", "settings", "rows", "words"), table(BAD))
def test_refused(kernel, settings, rows, words):
    with refused(ValueError, *words):
        RLSRegressor(kernel, **settings).fit(rows, y[: rows.shape[0]])


@pytest.mark.parametrize(
    ("kind", "targets"),
    [(OROLSRegressor, y), (IncrementalRLSRegressor, y), (SelectiveSamplingClassifier, two)],
)
def test_refused_elsewhere(kind, targets):
    with refused(ValueError, "RLSRegressor and RLSClassifier", "give the array"):
        kind(kernel=LEARNED).fit(X, targets)
    with refused(ValueError, "'kernel'", "Got 'auto'"):
        kind(kernel="auto").fit(X, targets)


def test_refused_by_scale_and_memory():
    for factor in (1e200, 1e-200):
        with refused(ScaleError, "Rescale X"):
            RLSRegressor(LEARNED).fit(factor * X, y)
        with refused(ScaleError, "Rescale y"):
            RLSRegressor(LEARNED).fit(X, factor * y)
    with refused(MemoryLimitError, "memory_limit"):
        RLSRegressor("auto", memory_limit=1e4).fit(X, y)


@pytest.mark.parametrize("alpha", [0.0, [0.0, 1.0]])
def test_no_regularisation_of_repeated_rows(alpha):
    with refused(SingularSystemError, "alpha=0", "rows depend on each other", "above zero"):
        RLSRegressor(LEARNED, alpha).fit(np.vstack([X, X]), np.append(y, y))


# --- taken ---

ODD = {
    "constant targets": (X, np.full(n, 3.0), {}),
    "a constant column": (np.column_stack([X, np.ones(n)]), y, {}),
    "constant columns": (np.ones((n, 2)), y, {}),
    "repeated rows": (np.vstack([X, X]), np.append(y, y), {}),
    "an offset": (X + 1e7, y, {}),
    "large": (1e150 * X, y, {}),
    "small": (1e-150 * X, y, {}),
    "large targets": (X, 1e140 * y, {}),
    "small targets": (X, 1e-150 * y, {}),
    "ten rows": (X[:10], y[:10], {}),
    "six rows": (X[:6], y[:6], {}),
    "λ": (X, y, {"alpha": 1.0}),
    "no λ": (X, y, {"alpha": 0.0}),
    "tiny λ": (X, y, {"alpha": 1e-12}),
    "no intercept": (X, y, {"fit_intercept": False}),
    "gcv": (X, y, {"criterion": "gcv"}),
    "likelihood": (X, y, {"criterion": "marginal_likelihood"}),
    "holdout": (X, y, {"criterion": "holdout"}),
    "r2": (X, y, {"scoring": "r2"}),
    "centers": (X, y, {"centers": 12}),
    "a λ for each": (X, np.column_stack([y, X[:, 0] ** 2]), {"alpha_per_target": True}),
    "r2 for each": (
        X,
        np.column_stack([y, X[:, 0] ** 2]),
        {"alpha_per_target": True, "scoring": "r2"},
    ),
}


@pytest.mark.parametrize(
    "kernel", [LEARNED, pytest.param("auto", marks=pytest.mark.thorough)], ids=str
)
@pytest.mark.parametrize(("rows", "targets", "settings"), table(ODD))
def test_odd_input(kernel, rows, targets, settings):
    model = RLSRegressor(kernel, **settings).fit(rows, targets)
    assert np.isfinite(model.predict(rows)).all()
    assert np.isfinite(model.best_score_).all()
    per_target = settings.get("alpha_per_target", False)
    assert np.shape(model.best_score_) == ((2,) if per_target else ())
    if targets.ndim == 1:
        assert model.predict(rows).shape == targets.shape


CLASSES = {
    "two": (two, {}),
    "ten rows": (two[:10], {}),
    "three": (three, {}),
    "labels": (indicators, {"threshold": "f1"}),
    "a class of one row": (np.append(2, two[1:]), {}),
    "bch": (three, {"coding": "bch"}),
    "roc": (two, {"scoring": "roc_auc"}),
    "balanced": (two, {"class_weight": "balanced", "threshold": "f1"}),
}


@pytest.mark.parametrize(("labels", "settings"), table(CLASSES))
def test_odd_classes(labels, settings):
    model = RLSClassifier(LEARNED, **settings).fit(X[: len(labels)], labels)
    assert (model.predict(X[: len(labels)]) == labels).mean() > 0.6
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.best_score_)


@pytest.mark.parametrize("sigma", [1.5, "median"])
def test_a_given_width_stays(sigma):
    model = RLSRegressor(Matern(nu=1.5, sigma=sigma, metric="learned")).fit(X, y)
    assert np.isfinite(model.best_score_)
    if sigma == 1.5:
        assert model.kernel_.sigma == 1.5


def test_values_of_folds_are_at_one_of_the_given_alphas():
    given = [1e-3, 1e3]
    model = RLSRegressor(LEARNED, given).fit(X, y)
    learned = model._record.learned
    for fold, values in zip(learned.models, learned.fold_expansions(X), strict=True):
        rows = learned.pool[fold.train]
        c = fold.coefficients[:, 0]
        alpha = (y[rows] - values.values(X[rows])[:, 0]) @ c / (c @ c)
        assert np.min(np.abs(alpha / given - 1.0)) < 1e-2


def test_types_frames_and_read_only_rows():
    single = RLSRegressor(LEARNED).fit(X.astype(np.float32), y.astype(np.float32))
    assert single.predict(X.astype(np.float32)).dtype == np.float32
    assert single._record.learned.values.dtype == np.float32
    model = RLSRegressor(LEARNED).fit(X, y)
    own, targets = X.copy(), y.copy()
    own.flags.writeable = targets.flags.writeable = False
    assert_array_equal(RLSRegressor(LEARNED).fit(own, targets).predict(own), model.predict(X))
    named = RLSRegressor(LEARNED).fit(frame, pd.Series(y))
    assert_array_equal(named.predict(frame), model.predict(X))
    assert list(named.feature_names_in_) == list(frame.columns)


@pytest.mark.thorough
@parametrize_with_checks(
    [RLSRegressor(LEARNED), RLSRegressor("auto"), RLSClassifier("auto"), RLSClassifier(LEARNED)],
)
def test_scikit_learn_checks_of_a_choice(estimator, check):
    if isinstance(estimator, RLSClassifier) and "sample_weight_equivalence" in check.func.__name__:
        pytest.skip("a repeated row has its twin in another fold, which the calibration reads")
    check(estimator)


# --- many rows: a pool of some of them ---

rng = np.random.default_rng(2)
many = rng.standard_normal((200, 4))
noisy = np.sin(many @ [1.5, -1.5, 0.0, 0.0]) + 0.1 * rng.standard_normal(200)


@pytest.fixture
def small_pool(monkeypatch):
    monkeypatch.setattr(learned_kernel, "POOL_ROWS", 80)


WAYS = {
    "all": ({}, 120),
    "centers": ({"centers": 30}, 120),
    "some rows": ({"centers": 30, "loo_rows": 50}, 50),
    "nystrom": ({"centers": 30, "solver": "nystrom"}, 120),
    "pcg": ({"centers": 30, "solver": "pcg"}, 120),
}


@pytest.mark.parametrize(("settings", "scored"), table(WAYS))
def test_rows_outside_of_the_pool_are_scored(settings, scored, small_pool):
    model = RLSRegressor(LEARNED, **settings).fit(many, noisy)
    record, learned = model._record, model._record.learned
    assert model.rounds_ > 0
    assert learned.pool.size == 80
    assert_array_equal(learned.rows, learned.pool)
    assert record.scored_rows.size == scored
    assert np.intersect1d(record.scored_rows, learned.pool).size == 0
    ends = model.predict_interval(many[:9], method="jackknife")
    assert np.isfinite(ends).all()
    assert model.suspicious_rows().size == 200


@pytest.mark.usefixtures("small_pool")
def test_values_outside_of_the_pool_are_those_of_fits_without_the_row():
    model = RLSRegressor(LEARNED).fit(many, noisy)
    record = model._record
    for row, value in list(zip(record.scored_rows, record.scored_values[:, 0], strict=True))[::40]:
        others = np.delete(np.arange(200), row)
        again = RLSRegressor(model.kernel_, model.alpha_).fit(many[others], noisy[others])
        assert value == pytest.approx(again.predict(many[[row]])[0], rel=1e-5)


@pytest.mark.usefixtures("small_pool")
def test_between_one_pool_and_two_the_folds_judge():
    model = RLSRegressor(LEARNED).fit(many[:130], noisy[:130])
    record = model._record
    assert_array_equal(record.scored_rows, record.learned.pool)
    assert_array_equal(record.scored_values, record.learned.values)
    for method in ("jackknife", "jackknife+", "minmax", "adaptive"):
        assert np.isfinite(model.predict_interval(many[130:], method=method)).all()
    few = RLSRegressor(LEARNED, centers=30).fit(many[:130], noisy[:130])
    with refused(ValueError, "not kept with centers", '"jackknife"'):
        few.predict_interval(many[130:], method="jackknife+")


@pytest.mark.usefixtures("small_pool")
def test_rows_of_a_stream():
    stream = GeneratedRows(lambda: iter([many[:90], many[90:]]), many.shape)
    streamed = RLSRegressor(LEARNED, centers=30).fit(stream, noisy)
    model = RLSRegressor(LEARNED, centers=30).fit(many, noisy)
    assert_allclose(streamed.kernel_.metric, model.kernel_.metric, rtol=1e-6)
    assert_allclose(streamed.predict(many), model.predict(many), rtol=1e-5)


def test_the_choice_looks_at_no_more_than_the_pool(small_pool, monkeypatch):
    seen = []
    choose = learned_kernel.choose_kernel

    def noted(problem, *others):
        seen.append(problem.X.shape)
        return choose(problem, *others)

    monkeypatch.setattr(learned_kernel, "choose_kernel", noted)
    RLSRegressor(LEARNED, centers=20).fit(many, noisy)
    assert seen == [(80, 4)]


# --- files ---

labelled = RLSClassifier(LEARNED).fit(many[:90], noisy[:90] > 0)
chosen = RLSRegressor(LEARNED).fit(many[:90], noisy[:90])


def again(model, path):
    squareone.save(model, path)
    return [squareone.load(path), pickle.loads(pickle.dumps(model))]


@pytest.mark.parametrize("model", [chosen, labelled], ids=str)
def test_what_comes_back(model, tmp_path):
    squareone.check_saveable(model)
    new = many[90:]
    for copy in again(model, tmp_path / "model.safetensors"):
        assert_array_equal(copy.predict(new), model.predict(new))
        assert copy.best_score_ == model.best_score_
        assert copy.rounds_ == model.rounds_ > 0
        assert list(copy.path_) == list(model.path_)
        for name, column in model.path_.items():
            assert_array_equal(copy.path_[name], column)
        assert_array_equal(copy.suspicious_rows(), model.suspicious_rows())
        assert_array_equal(copy.kernel_.metric, model.kernel_.metric)
        if model is labelled:
            assert_array_equal(copy.predict_proba(new), model.predict_proba(new))
            assert_array_equal(copy.loo_probabilities_, model.loo_probabilities_)
            continue
        for method in ("jackknife+", "jackknife", "minmax", "adaptive"):
            ends = model.predict_interval(new, method=method)
            assert_allclose(copy.predict_interval(new, method=method), ends, rtol=1e-9)
    fresh = clone(model)
    assert fresh.kernel.metric == "learned"
    assert not hasattr(fresh, "rounds_")


def test_a_linear_kernel_that_was_chosen_comes_back(tmp_path):
    model = RLSRegressor("auto").fit(many[:60], many[:60] @ [1.0, 2.0, 0.0, -1.0])
    assert isinstance(model.kernel_, Linear)
    for copy in again(model, tmp_path / "model.safetensors"):
        assert_array_equal(copy.predict(many), model.predict(many))
        assert_array_equal(copy.path_["kernel"], model.path_["kernel"])


NUMBERS = {
    "pool": [lambda a: a[::-1], lambda a: a + 1, lambda a: a[:-1], lambda a: a[:0]],
    "rows": [lambda a: a[::-1], lambda a: a + 1, lambda a: a[:0], lambda a: a - 1],
    "values": [lambda a: a[:-1], lambda a: a * np.nan, lambda a: a + 1, lambda a: a.astype(int)],
    "folds": [lambda a: a + 10**12, lambda a: a - 9, lambda a: a[1:], lambda a: a * 1.0],
    "score": [lambda a: np.append(a, a), lambda a: a[:0], lambda a: a * np.nan],
    "trials.score": [lambda a: a[1:], lambda a: a.astype(int), lambda a: a[:, None]],
    "trials.rounds": [lambda a: a * 1.0],
    "models.0.train": [lambda a: a + 90, lambda a: a[:0], lambda a: a - 1000, lambda a: a[1:]],
    "models.0.coefficients": [lambda a: a[1:], lambda a: a * np.inf],
    "models.0.intercepts": [lambda a: a[:0], lambda a: a * np.nan],
    "models.0.kernel.parameters.metric": [lambda a: a[1:], lambda a: a * np.nan],
}


def test_numbers_that_lie_are_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    for name, changes in NUMBERS.items():
        for change in changes:
            rewritten(chosen, path, {f"learned.{name}": change})
            with pytest.raises(FileFormatError, match="cannot load"):
                squareone.load(path)


TEXTS = {
    "rounds": [-1, 0, 2.5, "2", None, {}],
    "power": [-1.0, 0.0, "1", None, {"$float": "nan"}, {"$float": "inf"}],
    "preparation": [-1, "0", None, 0.5],
    "models": [None, {}, [1], []],
    "trials": [None, {}, []],
    "pool": [None, [0, 1]],
    "more": [1],
}


def test_texts_that_lie_are_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    for name, values in TEXTS.items():
        for value in values:
            header, tree, content = taken_apart(chosen, path)
            tree["object"]["fitted"]["record"]["learned"][name] = value
            path.write_bytes(put_together(header, tree, content))
            with pytest.raises(FileFormatError, match="cannot load"):
                squareone.load(path)
