"""Fits and predictions from files and generators are those from arrays."""

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
from squareone.rows import ArrayRows, GeneratedRows, open_rows
from squareone.solvers import center_basis, normal_passes, nystrom, rectangle
from tests.estimators.data import refused
from tests.rows.streams import DENSE, SPARSE, STREAMS, in_memory, some_rows

rng = np.random.default_rng(1)
n, d, m = 120, 4, 20
X = some_rows(n, d)
new = some_rows(150, d)[n:]
y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
two = y > np.median(y)
weights = rng.uniform(0.5, 2.0, n)
weights[[3, 50, 119]] = 0.0

SOLVERS = {
    "rectangle": {"solver": "rectangle", "centers": m},
    "pcg": {"solver": "pcg", "centers": m, "tol": 1e-8},
    "nystrom": {"solver": "nystrom", "centers": m},
    "subset": {"solver": "subset", "centers": m},
    "gram": {"solver": "gram", "kernel": "linear"},
    "krylov": {"solver": "krylov", "kernel": "linear", "tol": 1e-8},
    "svd": {"solver": "svd", "kernel": "linear"},
    "cholesky": {"solver": "cholesky"},
    "spectral": {"solver": "spectral"},
}
THIN = ["rectangle", "pcg", "nystrom", "subset"]
SELECTORS = [
    selectors.Uniform(m),
    selectors.PivotedCholesky(m),
    selectors.PivotedCholesky(m, pool=40),
    selectors.TraceGreedy(m),
    selectors.LeverageScores(m),
    selectors.KMeans(m),
]
SOME_KINDS = ["npy", "parquet", "svmlight", "generated"]
every_solver = pytest.mark.parametrize("solver", SOLVERS)
every_thin_solver = pytest.mark.parametrize("solver", THIN)
weighted_or_not = pytest.mark.parametrize("w", [None, weights], ids=["unweighted", "weighted"])

pytestmark = [
    pytest.mark.filterwarnings("ignore::squareone.errors.EstimateWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]


def regressor(solver, **more):
    return RLSRegressor(**{"kernel": Gaussian(1.0), **SOLVERS[solver], **more})


def assert_same_fit(found, expected):
    assert found.plan_.solver == expected.plan_.solver
    assert_allclose(found.alpha_, expected.alpha_, rtol=1e-9)
    assert_allclose(found.predict(new), expected.predict(new), rtol=1e-9, atol=1e-9)
    assert_allclose(found.loo_predictions_, expected.loo_predictions_, rtol=1e-8, atol=1e-8)
    assert_allclose(found.best_score_, expected.best_score_, rtol=1e-8)
    if hasattr(expected, "centers_"):
        assert_array_equal(in_memory(found.centers_), in_memory(expected.centers_))
        assert_array_equal(found.center_indices_, expected.center_indices_)


# --- every kind of stream, every solver ---


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


@every_solver
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, np.bool_])
def test_memory_maps(solver, dtype, tmp_path):
    rows = (10 * X).astype(dtype)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    settings = {"alpha": 1.0, "tol": 1e-5, "kernel": "linear"}
    if solver in THIN or SOLVERS[solver].get("kernel") != "linear":
        settings["kernel"] = Gaussian(10.0)
    expected, found = (regressor(solver, **settings).fit(a, y) for a in (rows, mapped))
    atol = 1e-3 if dtype == np.float32 else 1e-8
    assert found.predict(mapped).dtype == expected.predict(rows).dtype
    assert_allclose(found.predict(mapped), expected.predict(rows), atol=atol)


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


# --- predictions ---


@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)
@pytest.mark.parametrize("solver", ["rectangle", "gram", "spectral"])
def test_every_kind_of_prediction(make, solver, tmp_path):
    stream = make(X, tmp_path)
    rows = stream[:]
    model = regressor(solver, alpha=0.1).fit(X, y)
    for method in ("predict", "predict_interval"):
        values = getattr(model, method)(stream)
        assert_allclose(values, getattr(model, method)(rows), rtol=1e-10, atol=1e-10)
    settings = {"kernel": Gaussian(1.0), **SOLVERS[solver], "alpha": 0.1}
    classifier = RLSClassifier(**settings).fit(X, two)
    for method in ("predict", "predict_proba", "decision_function"):
        values = getattr(classifier, method)(stream)
        assert_allclose(values, getattr(classifier, method)(rows), rtol=1e-10, atol=1e-10)


def read(path):
    """What was written, (n,) or (n, k), and the names of its columns."""
    if path.suffix == ".npy":
        return np.load(path), None
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    values = table.to_numpy()
    return values[:, 0] if values.shape[1] == 1 else values, list(table.columns)


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".parquet"])
@pytest.mark.parametrize("given", ["stream", "path", "array", "sparse"])
def test_predictions_into_files(suffix, given, tmp_path, monkeypatch):
    monkeypatch.setattr("squareone.estimators.afterwards._FILE_ROWS", 32)
    stream = STREAMS["npy"](X, tmp_path)
    rows = {"stream": stream, "path": tmp_path / "rows.npy", "array": X, "sparse": csr_array(X)}
    path = tmp_path / f"out{suffix}"
    model = regressor("rectangle", alpha=0.1).fit(X, y)
    model.predict_file(rows[given], path)
    values, names = read(path)
    assert_allclose(values, model.predict(X), rtol=1e-9)
    assert names in (None, ["prediction"])
    model.predict_file(rows[given], path, method="predict_interval")
    values, names = read(path)
    assert_allclose(values, model.predict_interval(X), rtol=1e-9)
    assert names in (None, ["lower", "upper"])


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".parquet"])
@pytest.mark.parametrize("kind", ["parquet", "svmlight", "generated"])
def test_classes_into_files(suffix, kind, tmp_path):
    stream = STREAMS[kind](X, tmp_path)
    labels = np.array(["elm", "oak", "yew"])[np.digitize(y, [0.5, 1.5])]
    model = RLSClassifier(Gaussian(1.0), 0.1, solver="pcg", centers=m, tol=1e-8).fit(stream, labels)
    path = tmp_path / f"out{suffix}"
    for method in ("predict_proba", "decision_function"):
        model.predict_file(stream, path, method=method)
        values, names = read(path)
        assert_allclose(values, getattr(model, method)(stream), rtol=1e-9, atol=1e-12)
        assert names in (None, [f"{method}_{name}" for name in ("elm", "oak", "yew")])
    if suffix != ".npy":  # which has numbers only
        model.predict_file(stream, path)
        assert_array_equal(read(path)[0], model.predict(stream))


def test_several_targets_into_files(tmp_path):
    model = regressor("rectangle", alpha=0.1).fit(X, np.column_stack([y, X[:, 0]]))
    model.predict_file(X, tmp_path / "out.csv")
    values, names = read(tmp_path / "out.csv")
    assert names == ["predict_0", "predict_1"]
    assert_allclose(values, model.predict(X), rtol=1e-9)


def test_intervals_of_several_targets_into_files(tmp_path):
    model = regressor("rectangle", alpha=0.1).fit(X, np.column_stack([y, X[:, 0]]))
    model.predict_file(X, tmp_path / "out.csv", method="predict_interval")
    assert read(tmp_path / "out.csv")[0].shape == (n, 4)


@pytest.mark.filterwarnings("error:X does not have valid feature names")
@pytest.mark.parametrize("given", ["stream", "path"])
def test_names_of_features_are_compared(given, tmp_path):
    """As predict does with the stream itself."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.to_parquet(tmp_path / "rows.parquet")
    frame[list("dcba")].to_parquet(tmp_path / "turned.parquet")
    model = regressor("rectangle", alpha=0.1).fit(open_rows(tmp_path / "rows.parquet"), y)
    rows = {name: tmp_path / f"{name}.parquet" for name in ("rows", "turned")}
    if given == "stream":
        rows = {name: open_rows(path) for name, path in rows.items()}
    model.predict_file(rows["rows"], tmp_path / "out.npy")
    assert_allclose(np.load(tmp_path / "out.npy"), model.predict(frame))
    with refused(ValueError, "feature names", "order"):
        model.predict_file(rows["turned"], tmp_path / "out.npy")


def test_what_cannot_be_written(tmp_path):
    model = regressor("rectangle", alpha=0.1).fit(X, y)
    with refused(ValueError, "method='score'", '"predict"'):
        model.predict_file(X, tmp_path / "out.npy", method="score")
    with refused(ValueError, "method='predict_proba'", '"predict"', '"predict_interval"'):
        model.predict_file(X, tmp_path / "out.npy", method="predict_proba")
    with refused(ValueError, ".npy", ".csv", ".parquet"):
        model.predict_file(X, tmp_path / "out.txt")
    with pytest.raises(FileNotFoundError):
        model.predict_file(tmp_path / "nothing.npy", tmp_path / "out.npy")
    assert list(tmp_path.iterdir()) == []


def test_a_file_appears_when_it_is_complete(tmp_path, monkeypatch):
    monkeypatch.setattr("squareone.estimators.afterwards._FILE_ROWS", 32)
    model = regressor("rectangle", alpha=0.1).fit(X, y)
    (tmp_path / "out.csv").write_text("before\n")
    rows = X.copy()
    rows[100, 2] = np.nan
    with refused(ValueError, "row 100", "column 2"):
        model.predict_file(GeneratedRows(lambda: iter([rows]), (n, d)), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "before\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


# --- what is wrong with a stream ---


@every_solver
def test_wrong_features(solver, tmp_path):
    stream = STREAMS["parquet"](X, tmp_path)
    model = regressor(solver, alpha=0.1).fit(stream, y)
    assert list(model.feature_names_in_) == ["x0", "x1", "x2", "x3"]
    with refused(ValueError, "3 features", "expecting 4 features"):
        model.predict(open_rows(tmp_path / "rows.parquet", columns=["x0", "x1", "x2"]))
    with refused(ValueError, "feature names", "order", "columns=['x0', 'x1', 'x2', 'x3']"):
        model.predict(open_rows(tmp_path / "rows.parquet", columns=["x3", "x2", "x1", "x0"]))
    pd.DataFrame(X, columns=list("abcd")).to_parquet(tmp_path / "others.parquet")
    with refused(ValueError, "feature names", "['a', 'b', 'c', 'd'] were not seen", "columns="):
        model.predict(open_rows(tmp_path / "others.parquet"))
    with refused(ValueError, "3 features", "expecting 4 features"):
        model.predict_file(ArrayRows(X[:, :3]), tmp_path / "out.npy")


@every_solver
@pytest.mark.parametrize("kind", ["npy", "parquet", "svmlight"])
def test_missing_in_the_middle(solver, kind, tmp_path):
    holes = X.copy()
    holes[77, 2] = np.nan
    stream = STREAMS[kind](holes, tmp_path)
    model = regressor(solver, alpha=0.1)
    with refused(ValueError, "row 77", "column", "NaN", "SimpleImputer"):
        model.fit(stream, y)
    assert not hasattr(model, "n_features_in_")
    fitted = regressor(solver, alpha=0.1).fit(X, y)
    with refused(ValueError, "row 77", "column", "NaN"):
        fitted.predict(stream)


@pytest.mark.parametrize("solver", ["rectangle", "pcg", "gram", "cholesky"])
def test_as_many_targets_as_rows(solver, tmp_path):
    with refused(ValueError, "120", "100"):
        regressor(solver).fit(STREAMS["npy"](X, tmp_path), y[:100])
    with refused(ValueError, "(100,)", "(120,)"):
        regressor(solver).fit(STREAMS["npy"](X, tmp_path), y, weights[:100])


def test_a_kernel_matrix_is_no_stream(tmp_path):
    with refused(TypeError, "precomputed", "X[:]"):
        RLSRegressor("precomputed").fit(STREAMS["npy"](np.eye(5) + 1.0, tmp_path), y[:5])


@every_thin_solver
@pytest.mark.parametrize("kind", ["csv", "svmlight", "parquet"])
def test_a_file_that_shrank(solver, kind, tmp_path):
    stream = STREAMS[kind](X, tmp_path)
    STREAMS[kind](X[:60], tmp_path)
    with pytest.raises((ValueError, OSError)) as said:
        regressor(solver, alpha=0.1).fit(stream, y)
    assert "rows" in str(said.value) or "open" in str(said.value).lower()


@every_thin_solver
def test_a_mapped_file_that_shrank(solver, tmp_path):
    """Reading on would end the process."""
    stream = STREAMS["npy"](X, tmp_path)
    os.truncate(tmp_path / "rows.npy", 1000)
    with refused(ValueError, "'rows.npy' has 1,000 bytes", "120 rows", "open it again"):
        regressor(solver, alpha=0.1).fit(stream, y)


@every_thin_solver
def test_a_generator_that_gives_less_in_its_second_pass(solver):
    passes = []

    def blocks():
        passes.append(len(passes))
        return iter([X[:60], X[60 : n if len(passes) < 3 else 100]])

    with refused(ValueError, "100 rows", "120 were expected", "every pass"):
        regressor(solver, alpha=0.1, tol=1e-8).fit(GeneratedRows(blocks, (n, d)), y).predict(X)
        regressor(solver, alpha=0.1).fit(GeneratedRows(blocks, (n, d)), y)


# --- blocks are no matter ---


def in_small_blocks(monkeypatch):
    monkeypatch.setattr(center_basis, "STRIP", 7)
    monkeypatch.setattr("squareone.estimators.thin.MOST_BLOCK", 8.0 * 7 * m)
    monkeypatch.setattr("squareone.estimators.thin.LEAST_BLOCK", 8.0 * 7 * m)
    monkeypatch.setattr(center_basis, "STRIP", 5)
    monkeypatch.setattr(rectangle, "STRIP", 5)
    monkeypatch.setattr(rectangle, "KEPT_BYTES", 0)
    monkeypatch.setattr(normal_passes, "_STRIP_NUMBERS", 1)
    monkeypatch.setattr(normal_passes, "_ROWS", 37)
    monkeypatch.setattr(nystrom, "_BLOCK", 50)


@every_thin_solver
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


@every_thin_solver
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
