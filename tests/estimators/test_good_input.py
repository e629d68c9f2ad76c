"""What should work does: containers, dtypes, orders, extreme scales, and scikit-learn's tools."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from squareone import RLSClassifier, RLSRegressor
from squareone.errors import ScaleError
from squareone.kernels import Gaussian, Laplacian, Matern
from tests.estimators.data import K, X, frame, indicators, n, table, three, two, y

KERNELS = ["gaussian", "linear"]
SOLVERS = ["auto", "spectral", "cholesky"]


def read_only(values):
    values = values.copy()
    values.setflags(write=False)
    return values


# --- containers ---------------------------------------------------------------------------------

whole = np.round(10 * X)
ROWS = {
    "pandas": (frame, X),
    "polars": (pl.DataFrame(frame.to_dict("list")), X),
    "list": (X.tolist(), X),
    "Fortran order": (np.asfortranarray(X), X),
    "not contiguous": (np.repeat(X, 2, axis=1)[:, ::2], X),
    "reversed": (X[::-1, ::-1][::-1, ::-1], X),
    "big endian": (X.astype(">f8"), X),
    "read-only": (read_only(X), X),
    "objects": (X.astype(object), X),
    "integers": (whole.astype(int), whole),
    "unsigned": (np.abs(whole).astype(np.uint8), np.abs(whole)),
    "bools": (X > 0, (X > 0).astype(float)),
    "pandas bools": (pd.DataFrame(X > 0).set_axis(list("abc"), axis=1), (X > 0).astype(float)),
    "pandas nullable": (frame.astype("Float64"), X),
    "pandas mixed": (frame.assign(age=X[:, 2] > 0), np.c_[X[:, :2], X[:, 2] > 0]),
    "numbered columns": (pd.DataFrame(X), X),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("rows", "plain"), table(ROWS))
def test_rows_in_any_container(kernel, rows, plain):
    model = RLSRegressor(kernel, [0.1, 1.0]).fit(rows, y)
    expected = RLSRegressor(kernel, [0.1, 1.0]).fit(plain, y).predict(plain)
    np.testing.assert_allclose(model.predict(rows), expected, rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_float32_rows_are_computed_in_float32(kernel):
    single = X.astype(np.float32)
    predicted = RLSRegressor(kernel, 1.0).fit(single, y).predict(single)
    assert predicted.dtype == np.float32
    expected = RLSRegressor(kernel, 1.0).fit(X, y).predict(X)
    np.testing.assert_allclose(predicted, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kernel", [*KERNELS, "precomputed"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("alpha", [1.0, [0.1, 1.0]], ids=["one", "grid"])
def test_input_is_left_as_it_was(kernel, solver, alpha):
    rows = K if kernel == "precomputed" else X
    given = [rows.copy(), y.copy(), np.linspace(1, 2, n)]
    before = [values.copy() for values in given]
    RLSRegressor(kernel, alpha, solver=solver).fit(*given).predict(given[0])
    for values, copy in zip(given, before, strict=True):
        np.testing.assert_array_equal(values, copy)
    RLSRegressor(kernel, alpha, solver=solver).fit(*map(read_only, given)).predict(read_only(rows))


def test_read_only_memmaps(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    rows, target = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xy")
    predicted = RLSRegressor(alpha=1.0).fit(rows, target).predict(rows)
    np.testing.assert_array_equal(predicted, RLSRegressor(alpha=1.0).fit(X, y).predict(X))


RESPONSES = {
    "Series": (pd.Series(y, name="price"), y),
    "Series, other index": (pd.Series(y, index=range(100, 100 + n)), y),
    "polars": (pl.Series(y), y),
    "list": (y.tolist(), y),
    "integers": (np.round(y).astype(int), np.round(y)),
    "bools": (two.astype(bool), two.astype(float)),
    "column": (y[:, None], y[:, None]),
    "frame": (pd.DataFrame({"a": y, "b": -y}), np.c_[y, -y]),
    "Fortran order": (np.asfortranarray(np.c_[y, -y]), np.c_[y, -y]),
}


@pytest.mark.parametrize(("target", "plain"), table(RESPONSES))
def test_responses_in_any_container(target, plain):
    predicted = RLSRegressor().fit(X, target).predict(X)
    assert predicted.shape == plain.shape
    np.testing.assert_allclose(predicted, RLSRegressor().fit(X, plain).predict(X), rtol=1e-10)


names = np.array(["ant", "bee", "cat"])
LABELS = {
    "strings": (names[three], names),
    "list of strings": (names[three].tolist(), names),
    "objects": (names[three].astype(object), names),
    "Series": (pd.Series(names[three]), names),
    "polars": (pl.Series(names[three].tolist()), names),
    "categories": (pd.Categorical(names[three]), names),
    "floats": (three.astype(float), [0.0, 1.0, 2.0]),
    "numbers with gaps": (10 * three - 5, [-5, 5, 15]),
    "bools": (two.astype(bool), [False, True]),
}


@pytest.mark.parametrize(("target", "classes"), table(LABELS))
def test_labels_of_any_kind(target, classes):
    model = RLSClassifier().fit(X, target)
    assert list(model.classes_) == list(classes)
    codes = RLSClassifier().fit(X, two if len(classes) == 2 else three).predict(X)
    np.testing.assert_array_equal(model.predict(X), np.asarray(classes)[codes])


@pytest.mark.parametrize("of", [np.asarray, pd.DataFrame, scipy.sparse.csr_matrix])
def test_indicator_matrices(of):
    predicted = RLSClassifier().fit(X, of(indicators)).predict(X)
    assert predicted.shape == indicators.shape
    assert set(np.unique(predicted)) == {0, 1}
    assert (predicted == indicators).mean() > 0.9


# --- hard numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e150, 1e-150])
@pytest.mark.parametrize("kernel", ["linear", "gaussian", "laplacian", "matern"])
@pytest.mark.parametrize("scaled", ["X", "y", "X and y"])
def test_units_do_not_matter(kernel, scale, scaled):
    x_unit, y_unit = scale if "X" in scaled else 1.0, scale if "y" in scaled else 1.0
    expected = RLSRegressor(kernel).fit(X, y).predict(X)
    predicted = RLSRegressor(kernel).fit(X * x_unit, y * y_unit).predict(X * x_unit)
    np.testing.assert_allclose(predicted / y_unit, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("scale", [1e150, 1e-150])
@pytest.mark.parametrize("solver", ["auto", "svd", "gram", "spectral", "cholesky"])
def test_units_do_not_matter_to_a_linear_fit_with_alpha_in_them(solver, scale):
    alphas = np.array([0.1, 1.0, 10.0])
    expected = RLSRegressor("linear", alphas, solver=solver).fit(X, y).predict(X)
    model = RLSRegressor("linear", alphas * scale**2, solver=solver).fit(X * scale, y)
    np.testing.assert_allclose(model.predict(X * scale), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kernel", [Gaussian(1e-200), Matern(1e-200), Laplacian(1e-307)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_sigma_too_small_to_square_distances_in_is_refused(kernel, solver):
    with pytest.raises(ScaleError, match=r"sigma=1e-.* overflows float64 .* a larger sigma"):
        RLSRegressor(kernel, 1.0, solver=solver).fit(X, y)


@pytest.mark.parametrize("kernel", [Gaussian(1e-100), Matern(1e-100), Laplacian(1e-100)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_far_apart_in_units_of_sigma_have_nothing_in_common(kernel, solver):
    model = RLSRegressor(kernel, 1.0, solver=solver).fit(X, y)
    expected = y.mean() + (y - y.mean()) / 2  # the kernel matrix is the identity
    # at a training row itself a distance of rounding is large in units of such a sigma
    np.testing.assert_allclose(y - model.loo_predictions_, (y - expected) * 2 * n / (n - 1))


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "polynomial"])
def test_a_single_row_is_predicted_by_its_target(kernel):
    model = RLSRegressor(kernel, alpha=1.0).fit(X[:1], y[:1])
    np.testing.assert_allclose(model.predict(X), np.full(n, y[0]))


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "polynomial"])
@pytest.mark.parametrize("solver", ["auto", "spectral"])
@pytest.mark.parametrize("value", [0.0, 7.0, 1e-100])
def test_a_constant_target_is_predicted_everywhere(kernel, solver, value):
    model = RLSRegressor(kernel, solver=solver).fit(X, np.full(n, value))
    np.testing.assert_allclose(model.predict(2 * X), np.full(n, value), rtol=1e-10)


@pytest.mark.parametrize(
    ("kernel", "solver"),
    [
        *product(["gaussian", "polynomial"], SOLVERS),
        *product(["linear"], ["auto", "spectral", "svd", "gram"]),
    ],
)
@pytest.mark.parametrize("value", [0.0, 3.0, 0.1])
def test_equal_rows_are_predicted_by_the_mean(kernel, solver, value):
    """Centred, equal rows are zero but for rounding, which is nothing to learn from."""
    rows = np.full_like(X, value)
    model = RLSRegressor(kernel, solver=solver).fit(rows, y)
    np.testing.assert_allclose(model.predict(rows), np.full(n, y.mean()), rtol=1e-6)
    np.testing.assert_allclose(model.predict(X), np.full(n, y.mean()), rtol=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), "linear", "polynomial"])
def test_duplicated_rows_equal_weights_of_two_at_one_alpha(kernel):
    twice = RLSRegressor(kernel, 1.0).fit(np.r_[X, X], np.r_[y, y]).predict(X)
    weighted = RLSRegressor(kernel, 1.0).fit(X, y, np.full(n, 2.0)).predict(X)
    np.testing.assert_allclose(twice, weighted, rtol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_duplicated_rows_choose_an_alpha_without_a_warning(solver):
    model = RLSRegressor(solver=solver, random_state=0).fit(np.r_[X, X], np.r_[y, y])
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_targets_without_noise_choose_an_alpha_without_a_warning(solver):
    rows = np.random.default_rng(3).normal(size=(200, 3))
    model = RLSRegressor(solver=solver, random_state=0).fit(rows, rows[:, 0])
    assert model.score(rows, rows[:, 0]) > 0.999


# --- scikit-learn -------------------------------------------------------------------------------

MODELS = {
    "regressor": (RLSRegressor(), y),
    "linear": (RLSRegressor("linear"), y),
    "one alpha": (RLSRegressor(Gaussian(2.0), 1.0), np.c_[y, -y]),
    "classifier": (RLSClassifier(), three),
    "labels": (RLSClassifier(Matern(nu=2.5) + 1.0), indicators),
}


@pytest.mark.parametrize(("model", "target"), table(MODELS))
def test_copies(model, target):
    model = clone(model).fit(X, target)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    again = clone(model)
    assert not hasattr(again, "alpha_")
    np.testing.assert_array_equal(again.fit(X, target).predict(X), model.predict(X))


@pytest.mark.parametrize(("model", "target"), table(MODELS))
def test_representations(model, target):
    model = clone(model)
    assert type(model).__name__ in repr(model)
    assert type(model).__name__ in model._repr_html_()
    assert type(model).__name__ in model.fit(X, target)._repr_html_()


def test_pipeline_with_named_columns():
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), RLSRegressor())
    pipeline.fit(frame, y)
    assert list(pipeline[-1].feature_names_in_) == list(frame)
    assert pipeline.predict(frame).shape == (n,)


def test_targets_out_of_scale_are_brought_back_by_a_transformer():
    model = TransformedTargetRegressor(RLSRegressor(), transformer=StandardScaler())
    assert model.fit(X, y * 1e100).score(X, y * 1e100) > 0.9


@pytest.mark.thorough
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_search_over_the_parameters_of_a_kernel(n_jobs):
    grid = {"kernel__sigma": [0.5, 2.0, "median"], "alpha": [1.0, "auto"]}
    search = GridSearchCV(RLSRegressor(Gaussian()), grid, cv=3, n_jobs=n_jobs).fit(X, y)
    assert search.best_params_["kernel__sigma"] in grid["kernel__sigma"]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_search_over_kernels():
    grid = {"kernel": [Gaussian(), "linear", "laplacian"]}
    search = GridSearchCV(RLSClassifier(), grid, cv=3).fit(X, two)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_cross_validation_cuts_rows_and_columns_of_a_kernel_matrix():
    folds = KFold(3)
    given = cross_val_score(RLSRegressor("precomputed", 1.0), K, y, cv=folds)
    computed = cross_val_score(RLSRegressor(Gaussian(1.0), 1.0), X, y, cv=folds)
    np.testing.assert_allclose(given, computed, rtol=1e-8)
