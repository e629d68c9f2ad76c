"""Kernel models of sparse rows answer as those of the same rows, dense."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from squareone import RLSClassifier, RLSRegressor
from squareone.errors import ScaleError
from squareone.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from tests.estimators.data import refused, table
from tests.laws.cases import KERNELS as LAWS
from tests.rows.data import CONTAINERS, peak_of, wide_rows

rng = np.random.default_rng(0)
n, d = 60, 9


def some_rows(count):
    """Two thirds zeros; a row and a column of nothing else."""
    rows = np.where(rng.random((count, d)) < 1 / 3, rng.standard_normal((count, d)), 0.0)
    rows[2] = 0.0
    rows[:, 3] = 0.0
    return rows


X, new = some_rows(n), some_rows(11)
y = 2.0 + np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.standard_normal(n)
two, three = (y > y.mean()).astype(int), np.digitize(y, np.quantile(y, [0.3, 0.6]))
several = np.column_stack([y, X[:, 5] ** 2])
weights = rng.uniform(0.5, 2.0, n)
weights[[4, 17]] = 0.0

KERNELS = {name: kernel for name, (kernel, _) in LAWS.items() if name != "linear"} | {
    "median": Gaussian("median"),
    "product": 0.5 * Linear() * Matern(2.0),
}
SOLVERS = ["cholesky", "spectral"]
GRID = [0.01, 0.1, 1.0]


def both(model, target, sample_weight=None, dtype=np.float64):
    """Fitted to dense rows, and to sparse ones."""
    rows = X.astype(dtype)
    return (
        clone(model).fit(rows, target, sample_weight),
        clone(model).fit(csr_array(rows), target, sample_weight),
    )


def assert_alike(dense, sparse, ask, rtol=1e-8):
    """``ask(model, rows)`` is the same of either model, at rows of either kind."""
    expected = ask(dense, new)
    scale = np.abs(expected).max()
    for model, rows in [(sparse, csr_array(new)), (sparse, new), (dense, csr_matrix(new))]:
        assert_allclose(ask(model, rows), expected, rtol=0, atol=rtol * scale)


# --- the same answers ---

OF_BOTH = {
    "loo_predictions_": lambda model, rows: model.loo_predictions_,
    "leverages_": lambda model, rows: model.leverages_,
    "path_": lambda model, rows: model.path_["score"],
    "effective_dof_": lambda model, rows: np.array(model.effective_dof_),
    "influence": lambda model, rows: model.influence(rows),
}
OF_A_REGRESSOR = OF_BOTH | {
    "predict": lambda model, rows: model.predict(rows),
    "standard deviation": lambda model, rows: model.predict(rows, return_std=True)[1],
    "jackknife+": lambda model, rows: model.predict_interval(rows),
    "jackknife": lambda model, rows: model.predict_interval(rows, 0.8, "jackknife"),
    "minmax": lambda model, rows: model.predict_interval(rows, 0.8, "minmax"),
    "gaussian": lambda model, rows: model.predict_interval(rows, 0.8, "gaussian"),
    "likelihood": lambda model, rows: np.array(model.log_marginal_likelihood_),
}
OF_A_CLASSIFIER = OF_BOTH | {
    "decision_function": lambda model, rows: model.decision_function(rows),
    "predict_proba": lambda model, rows: model.predict_proba(rows),
    "loo_probabilities_": lambda model, rows: model.loo_probabilities_,
    "predict": lambda model, rows: model.predict(rows).astype(float),
}


@pytest.mark.parametrize("w", [None, weights], ids=["", "weights"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_regressors(kernel, solver, w):
    dense, sparse = both(RLSRegressor(kernel, GRID, solver=solver), y, w)
    assert sparse.alpha_ == dense.alpha_
    for ask in OF_A_REGRESSOR.values():
        assert_alike(dense, sparse, ask)


@pytest.mark.parametrize("w", [None, weights], ids=["", "weights"])
@pytest.mark.parametrize("target", [two, three], ids=["two", "three"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_classifiers(kernel, solver, target, w):
    dense, sparse = both(RLSClassifier(kernel, GRID, solver=solver), target, w)
    assert sparse.alpha_ == dense.alpha_
    for ask in OF_A_CLASSIFIER.values():
        assert_alike(dense, sparse, ask, 1e-7)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_float32_stays_float32(kernel):
    dense, sparse = both(RLSRegressor(kernel, 1.0), several, dtype=np.float32)
    assert sparse.centers_.dtype == np.float32
    predicted = sparse.predict(csr_array(new))
    assert predicted.dtype == np.float32
    assert_allclose(predicted, RLSRegressor(kernel, 1.0).fit(X, several).predict(new), atol=2e-4)
    assert_alike(dense, sparse, OF_BOTH["loo_predictions_"], 1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "kernel", [Gaussian(), Laplacian(), Matern(nu=2.5), Gaussian() + 0.5 * Linear()], ids=str
)
def test_widths_are_searched_alike(kernel, solver):
    dense, sparse = both(RLSRegressor(kernel, solver=solver), y, weights)
    sigmas = [model.path_["sigma"] for model in (dense, sparse)]
    assert_allclose(sigmas[1], sigmas[0], rtol=1e-6)
    assert_allclose(sparse.alpha_, dense.alpha_, rtol=1e-5)
    assert_alike(dense, sparse, OF_A_REGRESSOR["predict"], 1e-6)


@pytest.mark.slow
def test_widths_of_many_rows():
    """More than the thousand on which every λ is seen at once."""
    rows = scipy.sparse.random_array((1_400, 40), density=0.1, format="csr", random_state=0)
    plain = rows.toarray()
    target = np.sin(6.0 * plain[:, 0]) + plain.sum(axis=1)
    target += 0.1 * np.random.default_rng(0).standard_normal(1_400)
    dense, sparse = (
        RLSRegressor("gaussian", solver="cholesky").fit(given, target) for given in (plain, rows)
    )
    assert sparse.path_["rows"].max() == 1_400
    # looks in float32 end anywhere in the flat valley around the least error: that is compared
    assert sparse.best_score_ == pytest.approx(dense.best_score_, rel=1e-4)
    assert sparse.kernel_.sigma == pytest.approx(dense.kernel_.sigma, rel=0.02)
    at_width = RLSRegressor(sparse.kernel_, sparse.alpha_, solver="cholesky")
    expected = at_width.fit(plain, target).predict(plain)
    assert_allclose(sparse.predict(rows), expected, rtol=0, atol=1e-8)


def test_criteria_scorers_and_folds():
    for parameters in (
        {"cv": KFold(4)},
        {"criterion": "gcv"},
        {"criterion": "holdout"},
        {"criterion": "marginal_likelihood"},
        {"scoring": "neg_mean_absolute_error"},
    ):
        dense, sparse = both(RLSRegressor(Gaussian(2.0), GRID, **parameters), several, weights)
        assert_allclose(sparse.path_["score"], dense.path_["score"], rtol=1e-8)


def test_a_pipeline_and_a_search():
    pipeline = make_pipeline(MaxAbsScaler(), RLSRegressor(Gaussian()))
    grid = {"rlsregressor__kernel__sigma": [0.5, 2.0, "median"]}
    found = [GridSearchCV(pipeline, grid, cv=3).fit(rows, y) for rows in (X, csr_array(X))]
    scores = [search.cv_results_["mean_test_score"] for search in found]
    assert_allclose(scores[1], scores[0], rtol=1e-6)
    assert "RLSRegressor" in found[1].best_estimator_._repr_html_()


# --- what is kept ---


@pytest.mark.parametrize("kind", [csr_array, csr_matrix])
def test_centers_are_the_rows_as_they_came(kind):
    model = RLSRegressor(Gaussian(2.0), 1.0).fit(kind(X), y, weights)
    assert type(model.centers_) is kind
    assert_array_equal(model.center_indices_, np.flatnonzero(weights))
    assert_array_equal(model.centers_.toarray(), X[weights > 0])
    assert model.n_features_in_ == d


@pytest.mark.parametrize("w", [None, weights], ids=["", "weights"])
def test_the_model_does_not_change_with_the_users_matrix(w, monkeypatch):
    monkeypatch.setattr("squareone.fitting.result._negligible", lambda problem: False)
    rows = csr_array(X)
    model = RLSRegressor(Gaussian(2.0), 1.0, keep_factor=False).fit(rows, y, w)
    rows.data[:] = rows.indices[:] = 0
    expected = RLSRegressor(Gaussian(2.0), 1.0).fit(X, y, w)
    assert_allclose(model.predict(new), expected.predict(new), rtol=1e-9)
    assert_allclose(model.loo_predictions_, expected.loo_predictions_, rtol=1e-9)


@pytest.mark.parametrize("target", [y, three], ids=["regressor", "classifier"])
def test_copies(target):
    model = (RLSRegressor if target is y else RLSClassifier)(Gaussian(2.0)).fit(
        csr_array(X), target
    )
    for same in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(same.predict(csr_array(new)), model.predict(csr_array(new)))
        assert_array_equal(same.loo_predictions_, model.loo_predictions_)
        assert_allclose(same.influence(csr_array(new)), model.influence(csr_array(new)), atol=1e-9)
    again = clone(model)
    assert not hasattr(again, "centers_")
    assert_array_equal(again.fit(csr_array(X), target).predict(new), model.predict(new))


# --- what comes ---


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplacian(2.0), Polynomial(2)], ids=str)
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_rows_in_any_sparse_matrix(container, kernel):
    given = container(X)
    parts = [getattr(given, part, None) for part in ("data", "indices", "indptr")]
    before = [None if part is None else part.copy() for part in parts]
    model = RLSRegressor(kernel, GRID).fit(given, y)
    predicted = model.predict(given)
    expected = RLSRegressor(kernel, GRID).fit(X, y).predict(X)
    assert_allclose(predicted, expected, rtol=1e-9)
    for part, as_it_was in zip(parts, before, strict=True):
        assert_array_equal(part, as_it_was)
    assert model.centers_.has_canonical_format
    assert model.centers_.indices.dtype == np.int32


def test_integers_and_truth_values():
    for values in (np.round(3 * X).astype(int), X > 0):
        expected = RLSRegressor(Gaussian(2.0), 1.0).fit(values.astype(float), y).predict(values)
        model = RLSRegressor(Gaussian(2.0), 1.0).fit(csr_array(values), y)
        assert model.centers_.dtype == np.float64
        assert_allclose(model.predict(csr_array(values)), expected, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "polynomial"])
def test_rows_without_a_number_are_predicted_by_the_mean(kernel):
    nothing = csr_array((n, d))
    model = RLSRegressor(kernel).fit(nothing, y)
    assert_allclose(model.predict(csr_array(X)), np.full(n, y.mean()), rtol=1e-8)


def with_value(value):
    matrix = csr_array(X)
    matrix.data[5] = value
    return matrix


BAD = {
    "NaN": (with_value(np.nan), ValueError, ["Input X contains NaN"]),
    "infinity": (with_value(-np.inf), ValueError, ["Input X contains infinity"]),
    "no rows": (csr_array((0, d)), ValueError, ["0 sample(s) (shape=(0, 9))", "minimum of 1"]),
    "no features": (csr_array((n, 0)), ValueError, ["0 feature(s) (shape=(60, 0))"]),
    "complex": (csr_array(X + 1j), ValueError, ["Complex data not supported"]),
}


@pytest.mark.parametrize(("rows", "error", "message"), table(BAD))
@pytest.mark.parametrize("kind", [RLSRegressor, RLSClassifier])
def test_bad_rows_are_refused(kind, rows, error, message):
    with refused(error, *message):
        kind().fit(rows, two)
    for fitted in (X, csr_array(X)):
        with refused(error, *message):
            kind(Gaussian(2.0), 1.0).fit(fitted, two).predict(rows)


def test_other_features_in_predict_are_refused():
    for fitted, rows in [(X, csr_array(X)), (csr_array(X), csr_array(X)), (csr_array(X), X)]:
        model = RLSRegressor(Gaussian(2.0), 1.0).fit(fitted, y)
        with refused(ValueError, "X has 5 features, but RLSRegressor is expecting 9 features"):
            model.predict(rows[:, :5])


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_rows_out_of_scale_are_told_to_rescale(scale):
    kind = "large" if scale > 1 else "small"
    with refused(ScaleError, f"values of X are too {kind} for float64", "Rescale X"):
        RLSRegressor().fit(csr_array(X * scale), y)


def test_a_kernel_that_overflows_in_predict_gives_no_nan():
    for fitted in (X, csr_array(X)):
        model = RLSRegressor("polynomial").fit(fitted, y)
        for rows in (X * 1e120, csr_array(X * 1e120)):
            with refused(ScaleError, "overflows float64", "rescale X"):
                model.predict(rows)


def test_a_width_for_every_feature_is_refused():
    with refused(ValueError, "Gaussian(ard=True)", "sparse matrix of 9 features", "ard=False"):
        RLSRegressor(Gaussian(ard=True)).fit(csr_array(X), y)
    dense = RLSRegressor(Gaussian(ard=True)).fit(X, y)  # and its widths are used for sparse rows
    assert_allclose(dense.predict(csr_array(new)), dense.predict(new), rtol=1e-10)
    given = RLSRegressor(dense.kernel_, 1.0).fit(csr_array(X), y)
    expected = RLSRegressor(dense.kernel_, 1.0).fit(X, y).predict(new)
    assert_allclose(given.predict(new), expected, rtol=1e-9)


# --- memory ---


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(10.0), Polynomial(2)], ids=str)
def test_nothing_of_the_size_of_the_rows_is_made(kernel):
    rows = wide_rows(300, 200_000)
    target = np.random.default_rng(0).standard_normal(300)

    def work():
        model = RLSRegressor(kernel, solver="cholesky").fit(rows, target, np.arange(300) % 10)
        model.predict(rows)
        model.predict_interval(rows[:20])
        model.influence(rows[:20])

    assert peak_of(work) < 0.05 * 300 * 200_000 * 8
