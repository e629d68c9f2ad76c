"""An exported file predicts as the estimator does, or is not written."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

from squareone import RLSClassifier, RLSRegressor, to_onnx
from squareone.errors import ExportError
from squareone.export import kernel_nodes as exported_kernels
from squareone.export import onnx_file
from squareone.kernels import (
    Constant,
    Cosine,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
)
from squareone.models import from_state
from tests.estimators.data import K, X, frame, indicators, refused, table, three, two, y
from tests.rows.data import peak_of, wide_rows

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

fresh = np.random.default_rng(1).normal(size=(200, X.shape[1]))  # rows no model has seen

TURNED = Gaussian(1.7, metric=np.array([[1.0, 0.5], [-0.3, 2.0], [0.1, 0.0]]))
KERNELS = [
    Linear(),
    Cosine(),
    Constant(2.0),
    Constant(2.0) + Constant(0.3),
    Polynomial(),
    Polynomial(degree=2, coef0=0.0),
    Polynomial(degree=7, gamma=0.1),
    Gaussian(1.7),
    Gaussian(np.array([0.5, 1.7, 40.0])),
    TURNED,
    Gaussian(1.7, metric=np.array([1.0, 0.0, 3.0])),
    Laplacian(2.3),
    Laplacian(2.3, metric=np.array([1.0, 0.5, 3.0])),
    Matern(1.7, nu=1.5, metric=np.array([[1.0], [-0.3], [0.1]])),
    Matern(1.7, nu=0.5),
    Matern(1.7, nu=1.5),
    Matern(1.7, nu=2.5),
    0.3 * Gaussian(1.7),
    Linear() * 0.3 + 0.7,
    Laplacian(2.3) + Laplacian(0.7) * Gaussian(3.0),
    (Matern(1.7) + Linear()) * (Polynomial(2) + 0.1),
]
DTYPES = [np.float64, np.float32]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.onnx"


def run(path, rows):
    """The outputs, by name."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": np.asarray(rows)}), strict=True))


def assert_close(values, expected, share=None):
    """Within a share of the largest, by default what rounding leaves of a tame model."""
    if share is None:
        share = 1e-7 if values.dtype == np.float64 else 1e-3  # Matérn 1/2: the root of rounding
    assert values.shape == expected.shape
    np.testing.assert_allclose(values, expected, rtol=0, atol=share * np.abs(expected).max())


# --- regressors and kernels ---


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_every_kernel(path, kernel, dtype):
    model = RLSRegressor(kernel, alpha=1.0).fit(X.astype(dtype), y)
    model.to_onnx(path)
    found = run(path, fresh.astype(dtype))["prediction"]
    assert found.dtype == dtype
    assert_close(found, model.predict(fresh.astype(dtype)))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_float64_model_in_float32(path, kernel):
    model = RLSRegressor(kernel, alpha=1.0).fit(X, y)
    model.to_onnx(path, dtype=np.float32)
    assert_close(run(path, fresh.astype(np.float32))["prediction"], model.predict(fresh))


def test_a_float32_model_in_float64(path):
    model = RLSRegressor(alpha=1.0).fit(X.astype(np.float32), y)
    model.to_onnx(path, dtype="float64")
    found = run(path, fresh)["prediction"]
    assert found.dtype == np.float64
    assert_close(found, model.predict(fresh), 1e-4)


SMOOTH = [Gaussian(1.7), Laplacian(2.3), Matern(1.7), "linear"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", [*SMOOTH, TURNED], ids=str)
def test_rows_far_from_zero(path, kernel, dtype):
    """Distances are those of centred rows, as in the library."""
    far, far_fresh = (X + 1e6).astype(dtype), (fresh + 1e6).astype(dtype)
    model = RLSRegressor(kernel, alpha=1.0).fit(far, y)
    model.to_onnx(path)
    expected = model.predict(far_fresh)
    size = 1e6 if kernel == "linear" else 1.0  # the terms wᵀx and b are that large
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(run(path, far_fresh)["prediction"], expected, atol=200 * size * eps)


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_several_targets_and_weights(path, kernel):
    Y = np.column_stack([y, y**2, np.cos(y)])
    weights = np.arange(X.shape[0]) % 3.0  # some are zero
    model = RLSRegressor(kernel, alpha_per_target=True).fit(X, Y, sample_weight=weights)
    model.to_onnx(path)
    assert_close(run(path, fresh)["prediction"], model.predict(fresh))


@pytest.mark.parametrize("weights", [None, np.arange(X.shape[0]) % 3.0])
def test_a_precomputed_kernel_takes_its_values_with_all_rows(path, weights):
    model = RLSRegressor("precomputed", alpha=0.1).fit(K, y, sample_weight=weights)
    model.to_onnx(path)
    values = Gaussian(1.0)(fresh, X)
    assert_close(run(path, values)["prediction"], model.predict(values))


@pytest.mark.parametrize("kernel", [Gaussian(1.7), Laplacian(2.3), Constant(1.0)], ids=str)
@pytest.mark.parametrize("rows", [0, 1, 5000])
def test_any_number_of_rows(path, kernel, rows):
    model = RLSRegressor(kernel, alpha=0.1).fit(X, y)
    model.to_onnx(path)
    many = np.resize(fresh, (rows, X.shape[1]))
    found = run(path, many)["prediction"]
    assert found.shape == (rows,)
    if rows:
        assert_close(found, model.predict(many))


@pytest.mark.parametrize(
    "rows", [X[:, :1], np.tile(X, 20)], ids=["one feature", "more features than rows"]
)
@pytest.mark.parametrize("kernel", [*SMOOTH, Polynomial()], ids=str)
def test_narrow_and_wide_rows(path, kernel, rows):
    model = make_pipeline(StandardScaler(), RLSRegressor(kernel, alpha=0.3)).fit(rows, y)
    to_onnx(model, path)
    assert_close(run(path, rows)["prediction"], model.predict(rows), 1e-12)


NEARLY_ONE = 1.0 + 1e-9  # and one in float32, in which onnxruntime looks for factors to leave out


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(NEARLY_ONE), NEARLY_ONE * Gaussian(1.7), Laplacian(NEARLY_ONE), "linear"],
    ids=str,
)
def test_factors_that_are_one_in_float32_are_not_left_out(path, kernel):
    rows = X[:, :1] * (NEARLY_ONE / X[:, 0].std())
    model = make_pipeline(StandardScaler(), RLSRegressor(kernel, alpha=0.1)).fit(rows, y)
    to_onnx(model, path)
    assert_close(run(path, rows)["prediction"], model.predict(rows), 1e-12)


def test_one_row_and_one_center(path):
    model = RLSRegressor(Gaussian(1.0), alpha=1.0).fit(X[:1], y[:1])
    model.to_onnx(path)
    assert_close(run(path, fresh)["prediction"], model.predict(fresh))


def test_more_rows_than_a_tile(path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1100, 3))
    model = RLSRegressor(Gaussian(1.0), alpha=1e-3).fit(rows, np.sin(rows.sum(axis=1)))
    model.to_onnx(path)
    assert_close(run(path, fresh)["prediction"], model.predict(fresh), 1e-10)


# --- sparse rows ---

kept_out = np.where(np.abs(X) < 0.5, 0.0, X)  # a third of them
kept_out_fresh = np.where(np.abs(fresh) < 0.5, 0.0, fresh)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS[1:], ids=str)
def test_sparse_centers_are_dense_in_the_file(path, kernel, dtype):
    model = RLSRegressor(kernel, alpha=1.0).fit(csr_array(kept_out.astype(dtype)), y)
    model.to_onnx(path)
    new = kept_out_fresh.astype(dtype)
    found = run(path, new)["prediction"]
    assert found.dtype == dtype
    assert_close(found, model.predict(csr_array(new)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", [*SMOOTH[:3], TURNED], ids=str)
def test_sparse_rows_far_from_zero(path, kernel, dtype):
    """Distances are those of rows that are not centred, as in the library: rounding is allowed."""
    far, far_fresh = (kept_out + 30.0).astype(dtype), (kept_out_fresh + 30.0).astype(dtype)
    model = RLSRegressor(kernel, alpha=1.0).fit(csr_array(far), y)
    model.to_onnx(path)
    assert_close(
        run(path, far_fresh)["prediction"], model.predict(far_fresh), 1e4 * np.finfo(dtype).eps
    )


@pytest.mark.parametrize("target", [two, three, indicators], ids=["two", "three", "labels"])
def test_classifiers_and_pipelines_of_sparse_rows(path, target):
    model = make_pipeline(MaxAbsScaler(), RLSClassifier(Gaussian(0.5), alpha=0.1))
    model.fit(csr_matrix(kept_out), target)
    to_onnx(model, path)
    found = run(path, kept_out_fresh)
    np.testing.assert_array_equal(found["label"], model.predict(csr_matrix(kept_out_fresh)))
    assert_close(found["decision_function"], model.decision_function(kept_out_fresh), 1e-12)


def test_sparse_centers_that_a_file_cannot_hold_are_not_made_dense(path):
    rows = wide_rows(300, 2_000_000)
    model = RLSRegressor(Gaussian(5.0), alpha=1.0).fit(rows, np.arange(300.0))

    def export():
        with refused(ExportError, "4.47 GiB of coefficients and centers, which are dense there"):
            model.to_onnx(path)

    assert peak_of(export) < 1e6
    assert not path.exists()


# --- classifiers ---

CLASSES = {
    "two": (two, np.int64),
    "two as text": (np.where(two, "yes", "no"), object),
    "two as objects": (np.where(two, "yes", "no").astype(object), object),
    "two as truth": (two.astype(bool), np.bool_),
    "two as floats": (two - 0.0, np.float64),
    "three": (three, np.int64),
    "three, small": (three.astype(np.uint8), np.int64),
    "three, negative": (three - 7, np.int64),
    "three as text": (np.array(["é", "", "long text"])[three], object),
    "labels": (indicators, np.int64),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("target", "kind"), table(CLASSES))
def test_every_kind_of_class(path, target, kind, dtype):
    model = RLSClassifier(Gaussian(1.7), alpha=0.1, calibration=None)
    model.fit(X.astype(dtype), target).to_onnx(path)
    rows = fresh.astype(dtype)
    found = run(path, rows)
    assert list(found) == ["label", "decision_function"]
    assert found["label"].dtype == kind
    np.testing.assert_array_equal(found["label"], model.predict(rows))
    assert_close(found["decision_function"], model.decision_function(rows))


def test_of_equal_values_the_first_class_wins(path):
    """At zero all values of a linear model without an intercept are zero."""
    model = RLSClassifier("linear", alpha=1.0, fit_intercept=False).fit(X, three)
    model.to_onnx(path)
    np.testing.assert_array_equal(run(path, np.zeros((2, 3)))["label"], 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic", "linear"])
@pytest.mark.parametrize(
    ("target", "class_weight"),
    [
        (two, None),
        (three, None),
        (indicators, None),
        (two, {0: 0.2, 1: 3.0}),
        (three, {0: 0.2, 1: 3.0, 2: 1.0}),
    ],
    ids=["two", "three", "labels", "two of other weight", "three of other weight"],
)
def test_probabilities(path, target, class_weight, method, dtype):
    model = RLSClassifier(Gaussian(1.7), alpha=0.1, calibration=method, class_weight=class_weight)
    model.fit(X.astype(dtype), target).to_onnx(path)
    rows = (3.0 * fresh).astype(dtype)
    found = run(path, rows)
    values = found["decision_function"].reshape(rows.shape[0], -1)
    expected = model.calibration_.probabilities(values)
    if target is two:
        expected = np.column_stack([1.0 - expected, expected])
    np.testing.assert_allclose(found["probabilities"], expected, atol=8 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(found["label"], model.predict(rows))
    if method != "isotonic":  # which jumps where a value is at a knot
        close = 1e-9 if dtype == np.float64 else 1e-4
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=close)
    if target is three and method == "temperature" and class_weight is None:
        assert (found["probabilities"].argmax(axis=1) == found["label"]).all()


def test_no_class_is_possible(path):
    """Where the probability of every class rounds to zero they are equally probable."""
    model = RLSClassifier("linear", alpha=1e-3, fit_intercept=False).fit(X, three)
    model._record.calibration = from_state(
        "platt",
        {"slopes": np.full(3, 1e3), "centres": np.zeros(3), "offsets": np.zeros(3)},
        exclusive=True,
    )
    model.to_onnx(path)
    sides = np.linalg.lstsq(model.coef_, np.full(3, -5.0), rcond=None)[0]
    np.testing.assert_allclose(model.predict_proba(sides[None]), 1.0 / 3.0, rtol=1e-15)
    np.testing.assert_allclose(run(path, sides[None])["probabilities"], 1.0 / 3.0, rtol=1e-15)


def test_probabilities_that_rounding_makes_equal_stay_in_order(path):
    """In float32, values that differ in the last digit have equal probabilities."""
    model = RLSClassifier("linear", alpha=1.0).fit(X.astype(np.float32), three)
    model._record.calibration = from_state(
        "temperature",
        {"slopes": np.array([1e-3]), "centres": np.zeros(3), "offsets": np.zeros(3)},
        exclusive=True,
    )
    model.to_onnx(path)
    rows = (1e-4 * fresh).astype(np.float32)
    found = run(path, rows)
    assert (found["probabilities"].argmax(axis=1) == found["label"]).all()
    expected = model.calibration_.probabilities(found["decision_function"])
    np.testing.assert_allclose(found["probabilities"], expected, rtol=2e-7)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("target", "threshold"),
    [(two, 0.3), (indicators, np.array([0.3, -0.7]))],
    ids=["two", "labels"],
)
def test_thresholds(path, target, threshold, dtype):
    model = RLSClassifier(Gaussian(1.7), alpha=0.1, threshold=threshold)
    model.fit(X.astype(dtype), target).to_onnx(path)
    found = run(path, fresh.astype(dtype))
    expected = found["decision_function"] > threshold
    np.testing.assert_array_equal(found["label"], expected.astype(int))
    assert (found["label"] != (found["decision_function"] > 0)).any()


# --- pipelines ---

SCALERS = {
    "standard": (StandardScaler(),),
    "without the mean": (StandardScaler(with_mean=False),),
    "without the deviation": (StandardScaler(with_std=False),),
    "nothing": (StandardScaler(with_mean=False, with_std=False),),
    "range": (MinMaxScaler((-2, 3)),),
    "clipped range": (MinMaxScaler(clip=True),),
    "largest": (MaxAbsScaler(),),
    "quantiles": (RobustScaler(),),
    "quantiles, not centred": (RobustScaler(with_centering=False),),
    "quantiles, not scaled": (RobustScaler(with_scaling=False),),
    "two": (RobustScaler(), MinMaxScaler()),
    "unit length": (StandardScaler(), Normalizer()),
    "one inside": (make_pipeline("passthrough", StandardScaler()),),
    "passed through": ("passthrough",),
}


@pytest.mark.filterwarnings("ignore::squareone.errors.ScaleWarning")  # of those that leave units
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scalers", SCALERS.values(), ids=SCALERS)
def test_scalers(path, scalers, dtype):
    rows, new = (
        (values * [1.0, 50.0, 1e-3] + [0.0, 7.0, 1.0]).astype(dtype) for values in (X, fresh)
    )
    model = make_pipeline(*scalers, RLSClassifier(Gaussian(1.7), alpha=0.1)).fit(rows, three)
    to_onnx(model, path)
    found = run(path, new)
    np.testing.assert_array_equal(found["label"], model.predict(new))
    assert_close(found["decision_function"], model.decision_function(new))


def test_a_pipeline_of_a_float32_model_far_from_zero(path):
    """The rows themselves are known to a sixteenth only; the file is as good as they are."""
    rows, new = (X + 1e6).astype(np.float32), (fresh + 1e6).astype(np.float32)
    model = make_pipeline(StandardScaler(), RLSRegressor(Gaussian(1.7), alpha=0.1)).fit(rows, y)
    to_onnx(model, path)
    assert_close(run(path, new)["prediction"], model.predict(new), 0.2)


def test_a_pipeline_of_a_frame_keeps_the_names(path):
    model = make_pipeline(StandardScaler(), RLSRegressor(alpha=0.1)).set_output(transform="pandas")
    model.fit(frame, y)
    to_onnx(model, path)
    assert_close(run(path, X)["prediction"], model.predict(frame))
    file = onnx.load(path)
    about = {entry.key: entry.value for entry in file.metadata_props}
    assert json.loads(about["feature_names"]) == list(frame)
    assert about["estimator"] == "RLSRegressor"
    assert about["kernel"].startswith("Gaussian(sigma=")
    assert file.producer_name == "squareone"
    assert file.ir_version <= 8


def test_the_best_of_a_search(path):
    pipeline = make_pipeline(StandardScaler(), RLSRegressor(Gaussian(1.0)))
    search = GridSearchCV(pipeline, {"rlsregressor__alpha": [0.1, 1.0]}, cv=3).fit(X, y)
    to_onnx(search, path)
    assert_close(run(path, fresh)["prediction"], search.predict(fresh))


# --- what is refused ---


class Cosine(Kernel):
    def check_parameters(self):
        return

    def left(self, X, origin):
        return X / np.linalg.norm(X, axis=1, keepdims=True)

    right = left

    def fill(self, left, right, out):
        np.matmul(left, right.T, out=out)

    def diagonal(self, X):
        return np.ones(X.shape[0], X.dtype)


class Doubled(StandardScaler):
    def transform(self, X):
        return 2.0 * super().transform(X)


NOT_EXPORTED = {
    "kernel": (RLSRegressor(Cosine(), alpha=1.0), "Cosine cannot be exported"),
    "kernel in a sum": (RLSRegressor(Cosine() + 1.0, alpha=1.0), "Cosine cannot be exported"),
    "step": (make_pipeline(PCA(2), RLSRegressor(alpha=1.0)), "the step PCA cannot be exported"),
    "subclass": (make_pipeline(Doubled(), RLSRegressor(alpha=1.0)), "the step Doubled cannot"),
    "estimator": (Ridge(), "estimator of squareone", "got Ridge"),
    "pipeline": (make_pipeline(StandardScaler(), Ridge()), "got Pipeline that ends in Ridge"),
}


@pytest.mark.parametrize("case", NOT_EXPORTED.values(), ids=NOT_EXPORTED)
def test_what_cannot_be_expressed_is_refused_by_name(path, case):
    estimator, *fragments = case
    with refused(TypeError, *fragments):
        to_onnx(estimator.fit(X, y), path)
    assert not path.exists()


def test_classes_that_onnx_does_not_have_are_refused(path):
    dates = np.array(["2024-01-01", "2024-01-02"], "datetime64[D]")[two]
    model = RLSClassifier(alpha=1.0).fit(X, two)
    object.__setattr__(model._record.targets, "classes", np.unique(dates))
    with refused(TypeError, "datetime64", "texts"):
        model.to_onnx(path)


def test_what_is_not_fitted_is_refused(path):
    with pytest.raises(NotFittedError):
        RLSRegressor().to_onnx(path)
    fitted = RLSRegressor(alpha=1.0).fit(X, y)
    with pytest.raises(NotFittedError):
        to_onnx(make_pipeline(StandardScaler(), fitted), path)


BAD_OPTIONS = {
    "dtype": ({"dtype": np.float16}, "float16", "numpy.float64, numpy.float32 or None"),
    "no dtype": ({"dtype": "single!"}, "single!", "is expected"),
    "old opset": ({"opset": 9}, "opset=9", "15"),
    "new opset": ({"opset": 10_000}, "the newest that the installed onnx knows"),
    "no opset": ({"opset": "17"}, "opset='17'", "an integer"),
}


@pytest.mark.parametrize("case", BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_options_out_of_range(path, case):
    options, *fragments = case
    with refused(ValueError, *fragments):
        RLSRegressor(alpha=1.0).fit(X, y).to_onnx(path, **options)


@pytest.mark.parametrize("opset", [15, 18, 21])
def test_other_opsets(path, opset):
    model = RLSClassifier(Laplacian(1.0) + Gaussian(1.0), alpha=1.0).fit(X, three)
    model.to_onnx(path, opset=opset)
    assert onnx.load(path).opset_import[0].version == opset
    np.testing.assert_array_equal(run(path, fresh)["label"], model.predict(fresh))


@pytest.mark.parametrize("exists", [False, True])
def test_a_wrong_graph_is_not_written(path, monkeypatch, exists):
    if exists:
        path.write_text("what was there")
    right = exported_kernels._exponents
    monkeypatch.setattr(exported_kernels, "_exponents", lambda *args: right(*args) + 1e-9)
    model = RLSRegressor(Gaussian(1.7), alpha=0.1).fit(X, y)
    with refused(
        ExportError, "'prediction'", "apart, and rounding explains", "Nothing was written"
    ):
        model.to_onnx(path)
    assert [entry.read_text() for entry in path.parent.iterdir()] == ["what was there"] * exists


@pytest.mark.parametrize("target", [two, three, indicators], ids=["two", "three", "labels"])
@pytest.mark.parametrize("wrong", ["labels", "probabilities"])
def test_wrong_labels_and_probabilities_are_not_written(path, monkeypatch, wrong, target):
    model = RLSClassifier(Gaussian(1.7), alpha=0.1, calibration="platt").fit(X, target)
    right = getattr(onnx_file, wrong)
    monkeypatch.setattr(onnx_file, wrong, lambda values, *args: right(values * -1.0, *args))
    with refused(ExportError, "label" if wrong == "labels" else wrong, "Nothing was written"):
        model.to_onnx(path)
    assert not list(path.parent.iterdir())


def test_values_that_are_not_numbers_are_not_agreement(path, monkeypatch):
    right = onnx_file._values
    monkeypatch.setattr(onnx_file, "_values", lambda *args: right(*args) * np.nan)
    with refused(ExportError, "nan"):
        RLSRegressor(Gaussian(1.7), alpha=0.1).fit(X, y).to_onnx(path)


def test_float32_that_is_too_coarse_is_refused(path):
    """Large coefficients cancel to values of one."""
    model = RLSRegressor(Polynomial(6, gamma=1.0), alpha=1e-6).fit(X[:, :1], np.sin(3 * X[:, 0]))
    model.to_onnx(path)
    with refused(ExportError, "float32", "of its largest value", "Leave dtype out"):
        model.to_onnx(path.with_name("other.onnx"), dtype=np.float32)
    assert [entry.name for entry in path.parent.iterdir()] == ["model.onnx"]


def test_more_than_a_file_holds_is_refused(path, monkeypatch):
    monkeypatch.setattr(onnx_file, "LARGEST", 1000)
    model = RLSRegressor(Gaussian(1.7), alpha=0.1).fit(X, y)
    with refused(ExportError, "KiB of coefficients", "2 GiB", "fewer rows", "float32"):
        model.to_onnx(path)
    assert not path.exists()


def test_an_interrupted_write_leaves_what_was_there(path, monkeypatch):
    path.write_text("what was there")

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        RLSRegressor("linear", alpha=1.0).fit(X, y).to_onnx(path)
    assert [entry.read_text() for entry in path.parent.iterdir()] == ["what was there"]


def test_a_folder_that_is_not_there(tmp_path):
    model = RLSRegressor("linear", alpha=1.0).fit(X, y)
    with refused(FileNotFoundError, "nowhere", "make it first"):
        model.to_onnx(tmp_path / "nowhere" / "model.onnx")


@pytest.mark.parametrize("module", ["onnx", "onnxruntime"])
def test_what_is_not_installed_is_named(path, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    model = RLSRegressor("linear", alpha=1.0).fit(X, y)
    with refused(ImportError, module, 'pip install "squareone[onnx]"'):
        model.to_onnx(path)


def test_importing_the_library_imports_none_of_this():
    code = (
        "import sys, squareone; "
        "late = {'onnx', 'onnxruntime', 'matplotlib', 'squareone.export'}; "
        "assert not late & set(sys.modules), late & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
