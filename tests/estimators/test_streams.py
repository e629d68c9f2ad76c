"""Fits from files and generators are those from arrays."""

import os

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from squareone import RLSClassifier, RLSRegressor
from squareone import centers as selectors
from squareone.kernels import Gaussian
from squareone.rows import GeneratedRows, open_rows
from squareone.solvers.few_centers import center_basis, normal_passes, nystrom, rectangle
from tests.estimators.stream_cases import (
    SELECTORS,
    SOLVERS,
    SOME_KINDS,
    WITH_CENTERS,
    X,
    assert_same_fit,
    d,
    every_solver,
    every_solver_with_centers,
    m,
    n,
    new,
    regressor,
    rng,
    weighted_or_not,
    weights,
    y,
)
from tests.rows.streams import DENSE, SPARSE, STREAMS

pytestmark = [
    pytest.mark.filterwarnings("ignore::squareone.errors.EstimateWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]


# --- every kind of stream, every solver ---


@pytest.mark.costly
@every_solver
@pytest.mark.parametrize(
    ("kind", "w"),
    [(kind, None) for kind in STREAMS] + [(kind, weights) for kind in SOME_KINDS],
    ids=[*STREAMS, *(f"{kind}, weighted" for kind in SOME_KINDS)],
)
def test_a_stream_is_as_good_as_its_rows(kind, solver, w, tmp_path):
    stream = STREAMS[kind](X, tmp_path)
    expected = regressor(solver, alpha=[0.01, 0.1, 1.0]).fit(stream[:], y, w)
    found = regressor(solver, alpha=[0.01, 0.1, 1.0]).fit(stream, y, w)
    assert_same_fit(found, expected)
    assert_allclose(found.predict(stream), expected.predict(stream[:]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", DENSE.values(), ids=DENSE)
def test_rectangles_of_dense_streams_are_equal_to_the_bit(make, tmp_path):
    stream = make(X, tmp_path)
    expected, found = (regressor("rectangle").fit(rows, y) for rows in (X, stream))
    assert found.alpha_ == expected.alpha_
    assert_array_equal(found.dual_coef_, expected.dual_coef_)
    assert_array_equal(found.predict(stream), expected.predict(X))


@pytest.mark.parametrize("selector", SELECTORS, ids=str)
@weighted_or_not
def test_selectors(selector, w, tmp_path):
    stream = STREAMS["parquet"](X, tmp_path)
    expected, found = (
        regressor("rectangle", centers=selector, random_state=0).fit(rows, y, w)
        for rows in (X, stream)
    )
    assert_same_fit(found, expected)
    assert found.explained_trace_ == pytest.approx(expected.explained_trace_, rel=1e-12)


@pytest.mark.parametrize("centers", [X[5:25] + 0.1, csr_array(X[5:25])], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", ["npy", "svmlight"])
def test_points(centers, kind, tmp_path):
    stream = STREAMS[kind](X, tmp_path)
    expected, found = (
        regressor("rectangle", centers=centers).fit(rows, y) for rows in (stream[:], stream)
    )
    assert_same_fit(found, expected)
    assert hasattr(found.centers_, "indptr") == stream.sparse


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["npy", "csv", "svmlight"])
@pytest.mark.parametrize("solver", ["rectangle", "pcg", "nystrom", "cholesky"])
def test_widths_that_are_chosen(kind, solver, tmp_path):
    stream = STREAMS[kind](X, tmp_path)
    settings = {"kernel": "gaussian", "alpha": 0.1, "random_state": 0}
    expected, found = (regressor(solver, **settings).fit(rows, y) for rows in (stream[:], stream))
    assert found.kernel_.sigma == pytest.approx(expected.kernel_.sigma, rel=1e-9)
    assert_allclose(found.predict(new), expected.predict(new), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["npy", "svmlight"])
@pytest.mark.parametrize(
    ("solver", "kernel"),
    [
        ("rectangle", Gaussian("median")),
        ("pcg", Gaussian("median")),
        ("subset", Gaussian("median")),
        ("subset", "gaussian"),
    ],
)
@weighted_or_not
def test_median_widths(kind, solver, kernel, w, tmp_path):
    stream = STREAMS[kind](X, tmp_path)
    expected = regressor(solver, kernel=kernel, random_state=0).fit(stream[:], y, w)
    found = regressor(solver, kernel=kernel, random_state=0).fit(stream, y, w)
    assert found.kernel_.sigma == pytest.approx(expected.kernel_.sigma, rel=1e-9)


@pytest.mark.costly
@pytest.mark.parametrize("solver", ["rectangle", "pcg", "gram", "krylov"])
@pytest.mark.parametrize(
    "settings",
    [
        {"cv": KFold(3)},
        {"criterion": "holdout", "random_state": 0},
        {"criterion": "gcv"},
        {"alpha": 0.1},
        {"alpha": [0.1, 1.0, 10.0], "scoring": "neg_mean_absolute_error"},
        {"fit_intercept": False},
        {"alpha_per_target": True, "alpha": [0.1, 1.0]},
        {"loo_rows": 50, "random_state": 0},
    ],
    ids=str,
)
def test_settings(solver, settings, tmp_path):
    if solver == "pcg" and settings.get("criterion") == "gcv":
        pytest.skip("pcg knows no trace")
    stream = STREAMS["npy"](X, tmp_path)
    targets = np.column_stack([y, np.cos(X[:, 1])]) if "alpha_per_target" in settings else y
    expected, found = (regressor(solver, **settings).fit(a, targets, weights) for a in (X, stream))
    assert_same_fit(found, expected)


@pytest.mark.parametrize("solver", ["rectangle", "pcg", "gram"])
def test_single_precision(solver, tmp_path):
    single = X.astype(np.float32)
    stream = STREAMS["npy"](single, tmp_path)
    expected, found = (regressor(solver, alpha=1.0, tol=1e-5).fit(a, y) for a in (single, stream))
    assert found.predict(stream).dtype == np.float32
    assert_allclose(found.predict(stream), expected.predict(single), rtol=1e-5, atol=1e-5)


# --- rows that NumPy maps itself ---


@pytest.mark.costly
@every_solver
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, np.bool_])
def test_memory_maps(solver, dtype, tmp_path):
    rows = (10 * X).astype(dtype)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    settings = {"alpha": 1.0, "tol": 1e-5, "kernel": "linear"}
    if solver in WITH_CENTERS or SOLVERS[solver].get("kernel") != "linear":
        settings["kernel"] = Gaussian(10.0)
    expected, found = (regressor(solver, **settings).fit(a, y) for a in (rows, mapped))
    atol = 1e-3 if dtype == np.float32 else 1e-8
    assert found.predict(mapped).dtype == expected.predict(rows).dtype
    assert_allclose(found.predict(mapped), expected.predict(rows), atol=atol)


@pytest.mark.thorough
def test_a_search_in_processes(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    found = []
    for rows, jobs in ((X, 1), (mapped, 2)):
        search = GridSearchCV(
            RLSRegressor(Gaussian(1.0), 0.1, solver="rectangle", random_state=0),
            {"centers": [5, selectors.PivotedCholesky(10)], "kernel__sigma": [0.5, 2.0]},
            cv=3,
            n_jobs=jobs,
        )
        found.append(search.fit(rows, y))
    assert_allclose(
        found[0].cv_results_["mean_test_score"], found[1].cv_results_["mean_test_score"]
    )
    assert found[0].best_params_["kernel__sigma"] == found[1].best_params_["kernel__sigma"]


# --- classes, categories ---


@pytest.mark.parametrize("solver", ["rectangle", "pcg", "nystrom", "subset", "spectral"])
@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv"])
def test_classes_of_a_column(solver, suffix, tmp_path):
    names = np.array(["elm", "oak", "yew"])[np.digitize(y, [0.5, 1.5])]
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=names)
    path = tmp_path / f"trees.{suffix}"
    if suffix == "csv":
        table.to_csv(path, index=False)
    else:
        getattr(table, f"to_{suffix}")(path)
    stream, labels = open_rows(path, "kind")
    settings = {"kernel": Gaussian(1.0), "alpha": 0.1, **SOLVERS[solver]}
    expected = RLSClassifier(**settings).fit(table[list("abcd")], names)
    found = RLSClassifier(**settings).fit(stream, labels)
    assert_array_equal(found.classes_, ["elm", "oak", "yew"])
    assert_array_equal(found.feature_names_in_, list("abcd"))
    assert_array_equal(found.predict(stream), expected.predict(table[list("abcd")]))
    for method in ("decision_function", "predict_proba"):
        values = getattr(found, method)(stream)
        assert_allclose(values, getattr(expected, method)(table[list("abcd")]), atol=1e-7)


@pytest.mark.parametrize("solver", ["rectangle", "pcg", "subset"])
@pytest.mark.parametrize("sparse", [True, False])
def test_categories(solver, sparse, tmp_path):
    kinds = np.array(["elm", "oak", "yew"])[rng.integers(0, 3, n)]
    table = pd.DataFrame({"kind": kinds, "age": X[:, 0], "height": y})
    table.to_parquet(tmp_path / "trees.parquet", row_group_size=13)
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=sparse), ["kind"]),
        (StandardScaler(), ["age"]),
        sparse_threshold=float(sparse),
    ).fit(table[["kind", "age"]])
    stream, heights = open_rows(tmp_path / "trees.parquet", "height", transformer=encoder)
    rows = encoder.transform(table[["kind", "age"]])
    expected = regressor(solver).fit(rows, table["height"])
    found = regressor(solver).fit(stream, heights)
    assert stream.sparse == sparse
    assert_allclose(found.predict(stream), expected.predict(rows), atol=1e-8)
    assert list(found.feature_names_in_) == stream.feature_names


# --- blocks are no matter ---


def in_small_blocks(monkeypatch):
    monkeypatch.setattr(center_basis, "STRIP", 7)
    monkeypatch.setattr("squareone.devices.Place.block_bytes", 8.0 * 7 * m)
    monkeypatch.setattr("squareone.fitting.problem.LEAST_BLOCK", 8.0 * 7 * m)
    monkeypatch.setattr(center_basis, "STRIP", 5)
    monkeypatch.setattr(rectangle, "STRIP", 5)
    monkeypatch.setattr(rectangle, "KEPT_BYTES", 0)
    monkeypatch.setattr(normal_passes, "_STRIP_NUMBERS", 1)
    monkeypatch.setattr(normal_passes, "_ROWS", 37)
    monkeypatch.setattr(nystrom, "_BLOCK", 50)


@pytest.mark.costly
@every_solver_with_centers
@weighted_or_not
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "none"])
@pytest.mark.parametrize("kind", ["array", "npy", "svmlight"])
def test_blocks_are_no_matter(solver, w, intercept, kind, tmp_path, monkeypatch):
    rows = X if kind == "array" else STREAMS[kind](X, tmp_path)
    settings = {"fit_intercept": intercept, "alpha": [0.1, 1.0], "tol": 1e-12}
    targets = np.column_stack([y, X[:, 1] ** 2])

    def fit():
        model = regressor(solver, **settings).fit(rows, targets, w)
        answers = [model.predict(new), model.loo_predictions_, model.path_["score"]]
        answers += [model.leverages_, model.predict_interval(new)]
        return model, answers

    model, whole = fit()
    if solver != "subset":
        explained = None if solver == "pcg" else model.explained_trace_
    in_small_blocks(monkeypatch)
    model, parts = fit()
    # the leverages of pcg rest on a preconditioner in single precision
    tolerances = [1e-7, *4 * [1e-4 if solver == "pcg" else 1e-8]]
    for found, expected, atol in zip(parts, whole, tolerances, strict=True):
        assert_allclose(found, expected, atol=atol)
    if solver != "subset" and explained is not None:
        assert model.explained_trace_ == pytest.approx(explained, rel=1e-10)


@every_solver_with_centers
@pytest.mark.parametrize("settings", [{"cv": 3}, {"loo_rows": 50, "random_state": 0}], ids=str)
def test_folds_and_samples_in_blocks(solver, settings, tmp_path, monkeypatch):
    stream = STREAMS["npy"](X, tmp_path)

    def fit():
        return regressor(solver, alpha=[0.1, 1.0], tol=1e-12, **settings).fit(stream, y, weights)

    whole = fit()
    in_small_blocks(monkeypatch)
    parts = fit()
    assert parts.alpha_ == whole.alpha_
    assert_allclose(parts.path_["score"], whole.path_["score"], rtol=1e-5)
    assert_allclose(parts.predict(new), whole.predict(new), atol=1e-7)


# --- rows are read, not kept ---


def test_passes_do_not_depend_on_the_number_of_alphas():
    passes = []

    def blocks():
        passes.append(0)
        return iter([X])

    stream = GeneratedRows(blocks, (n, d))
    model = RLSRegressor(
        Gaussian(1.0), 0.1, solver="rectangle", centers=X[:m], keep_factor=False
    ).fit(stream, y)
    few = len(passes)
    RLSRegressor(
        Gaussian(1.0), np.geomspace(0.1, 10, 20), solver="rectangle", centers=X[:m], criterion="gcv"
    ).fit(stream, y)
    assert len(passes) - few <= few  # for every λ the same
    assert np.isfinite(model.predict(X)).all()


def test_a_fit_leaves_the_file_alone(tmp_path):
    stream = STREAMS["npy"](X, tmp_path)
    before = (tmp_path / "rows.npy").read_bytes()
    for solver in SOLVERS:
        regressor(solver, alpha=0.1).fit(stream, y, weights).predict(stream)
    assert (tmp_path / "rows.npy").read_bytes() == before
    assert os.listdir(tmp_path) == ["rows.npy"]


def test_sparse_streams_stay_sparse(tmp_path):
    for name, make in SPARSE.items():
        model = regressor("rectangle", alpha=0.1).fit(make(X, tmp_path), y)
        assert hasattr(model.centers_, "indptr"), name
