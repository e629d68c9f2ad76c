"""Rows that cannot be learned from, or predicted at, are refused with a message that says why."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from squareone import RLSClassifier, RLSRegressor
from squareone.errors import NotPositiveSemidefiniteError, ScaleError, SingularSystemError
from squareone.kernels import Gaussian, Linear, Polynomial, Precomputed
from tests.estimators.data import K, X, frame, n, refused, table, two, with_value, y

TASKS = [
    pytest.param(RLSRegressor(), y, id="regressor"),
    pytest.param(RLSClassifier(), two, id="classifier"),
]
named_city = frame.assign(city="Rome")

ROWS = {
    "NaN": (with_value(X, np.nan), ValueError, ["Input X contains NaN"]),
    "infinity": (with_value(X, np.inf), ValueError, ["Input X contains infinity"]),
    "NaN in pandas": (
        frame.mask(frame == X.max()),
        ValueError,
        ["Input X contains NaN"],
    ),
    "None in pandas": (
        frame.astype(object).mask(frame == X.max(), None),
        ValueError,
        ["Input X contains NaN"],
    ),
    "null in polars": (
        pl.DataFrame({"length": [None] * n, "width": X[:, 1], "age": X[:, 2]}),
        ValueError,
        ["Input X contains NaN"],
    ),
    "empty": (X[:0], ValueError, ["0 sample(s) (shape=(0, 3))", "minimum of 1"]),
    "no feature": (X[:, :0], ValueError, ["0 feature(s) (shape=(30, 0))", "minimum of 1"]),
    "a scalar": (3.0, ValueError, ["Expected 2D array, got scalar array"]),
    "1-D": (X[:, 0], ValueError, ["Expected 2D array, got 1D array", "reshape(-1, 1)"]),
    "3-D": (X[:, :, None], ValueError, ["array with dim 3", "<= 2"]),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, ["inhomogeneous"]),
    "complex": (X + 1j, ValueError, ["Complex data not supported"]),
    "complex frame": (frame + 1j, ValueError, ["Complex data not supported"]),
    "masked": (np.ma.masked_greater(X, 1), ValueError, ["X is a masked array", "X.filled(value)"]),
    "masked, no mask": (np.ma.array(X), ValueError, ["X is a masked array"]),
    "strings": (
        np.full((n, 3), "a"),
        ValueError,
        ["column 0 of X is not numeric", "'a'", "OneHotEncoder"],
    ),
    "object array": (
        named_city[["age", "city", "width"]].to_numpy(),
        ValueError,
        ["column 1 of X is not numeric", "'Rome'", "OneHotEncoder"],
    ),
    "list with strings": (
        [[1.0, 2.0, "a"]] * n,
        ValueError,
        ["column 2 of X is not numeric", "'a'", "OneHotEncoder"],
    ),
    "pandas text": (
        named_city,
        ValueError,
        ["column 'city' of X is not numeric", "'Rome'", "OneHotEncoder"],
    ),
    "pandas category": (
        named_city.astype({"city": "category"}),
        ValueError,
        ["column 'city' of X is not numeric", "'Rome'", "OneHotEncoder"],
    ),
    "pandas dates": (
        frame.assign(born=pd.Timestamp("2020-01-01")),
        TypeError,
        ["column 'born' of X is not numeric"],
    ),
    "polars text": (
        pl.DataFrame(named_city.to_dict("list")),
        ValueError,
        ["column 'city' of X is not numeric", "'Rome'", "OneHotEncoder"],
    ),
    "same names": (
        frame.set_axis(["a", "b", "a"], axis=1),
        ValueError,
        ["several columns named a", "must be unique"],
    ),
    "names and numbers": (
        frame.set_axis(["a", "b", 3], axis=1),
        TypeError,
        ["all input features have string names"],
    ),
}


@pytest.mark.parametrize(("model", "target"), TASKS)
@pytest.mark.parametrize(("rows", "error", "message"), table(ROWS))
def test_bad_rows_are_refused_in_fit(model, target, rows, error, message):
    with refused(error, *message):
        model.fit(rows, target)


@pytest.mark.filterwarnings("ignore:X (has|does not have)( valid)? feature names")
@pytest.mark.parametrize(("model", "target"), TASKS)
@pytest.mark.parametrize(
    ("rows", "error", "message"),
    table({name: case for name, case in ROWS.items() if name != "names and numbers"}),
)
def test_bad_rows_are_refused_in_predict(model, target, rows, error, message):
    model.fit(X, target)
    with refused(error, *message):
        model.predict(rows)


renamed = frame.rename(columns={"age": "weight"})
OTHER_ROWS = {
    "fewer columns": (X, X[:, :2], ["X has 2 features, but RLS", "expecting 3 features"]),
    "more columns": (X, np.c_[X, X], ["X has 6 features, but RLS", "expecting 3 features"]),
    "other names": (
        frame,
        frame.rename(columns={"age": "weight"}),
        ["unseen at fit time:\n- weight"],
    ),
    "other order": (frame, frame[["age", "width", "length"]], ["must be in the same order"]),
    "a name missing": (frame, frame[["length", "width"]], ["now missing:\n- age"]),
}


@pytest.mark.parametrize(("fitted", "rows", "message"), table(OTHER_ROWS))
@pytest.mark.parametrize(("model", "target"), TASKS)
def test_other_features_in_predict_are_refused(model, target, fitted, rows, message):
    model.fit(fitted, target)
    with refused(ValueError, *message):
        model.predict(rows)


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e300, 1e-300])
@pytest.mark.parametrize("kernel", ["linear", "gaussian", "laplacian", "polynomial"])
@pytest.mark.parametrize(("model", "target"), TASKS)
def test_rows_out_of_scale_are_told_to_rescale(model, target, kernel, scale):
    kind = "large" if scale > 1 else "small"
    with refused(ScaleError, f"values of X are too {kind} for float64", "Rescale X"):
        model.set_params(kernel=kernel).fit(X * scale, target)


def test_the_scale_of_float32_is_narrower():
    with refused(ScaleError, "X are too large for float32", "2.", "e+30", "Rescale X"):
        RLSRegressor().fit((X * 1e30).astype(np.float32), y)


POLYNOMIALS = {
    "large rows": (Polynomial(degree=3), X * 1e120),
    "high degree": (Polynomial(degree=400), X * 100),
    "large gamma": (Polynomial(gamma=1e300), X),
    "product": (Polynomial(degree=2) * Polynomial(degree=2), X * 1e100),
    "float32": (Polynomial(degree=5), (X * 1e8).astype(np.float32)),
}


@pytest.mark.parametrize(("kernel", "rows"), table(POLYNOMIALS))
@pytest.mark.parametrize("solver", ["auto", "spectral", "cholesky"])
def test_polynomial_overflow_is_told_before_it_happens(kernel, rows, solver):
    with refused(ScaleError, "overflows float", "rescale X", "a lower degree"):
        RLSRegressor(kernel, solver=solver).fit(rows, y)


def test_a_kernel_that_overflows_in_predict_gives_no_nan():
    model = RLSRegressor("polynomial").fit(X, y)
    with refused(ScaleError, "overflows float64", "rescale X"):
        model.predict(X * 1e120)


# --- a kernel matrix ----------------------------------------------------------------------------

SOLVERS = ["auto", "spectral", "cholesky"]
ALPHAS = [pytest.param(1000.0, id="one"), pytest.param([1.0, 1e3], id="grid"), "auto"]
distances = np.abs(X[:, :1] - X[:, 0])
MATRICES = {
    "not square": (K[:, :5], ValueError, ["has shape (30, 5)", "square one", "training rows"]),
    "not symmetric": (
        with_value(K, K[0, 4] + 0.5),
        ValueError,
        ["not symmetric", "entries (", "differ by 0.5"],
    ),
    "triangle": (np.triu(K), ValueError, ["not symmetric"]),
    "shifted": (K - 10 * np.eye(n), NotPositiveSemidefiniteError, ["not positive semidefinite"]),
    "negative": (-K, NotPositiveSemidefiniteError, ["not positive semidefinite"]),
    "distances": (
        distances,
        NotPositiveSemidefiniteError,
        ["not positive semidefinite", "not a matrix of distances"],
    ),
    "NaN": (with_value(K, np.nan), ValueError, ["Input X contains NaN"]),
    "sparse matrix": (scipy.sparse.csr_matrix(K), TypeError, ["Sparse data", "'.toarray()'"]),
    "sparse array": (scipy.sparse.csr_array(K), TypeError, ["Sparse data", "'.toarray()'"]),
    "too large": (
        K * 1e200,
        ScaleError,
        ["the kernel matrix are too large", "Divide the kernel matrix, and alpha"],
    ),
}


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("matrix", "error", "message"), table(MATRICES))
def test_bad_kernel_matrices_are_refused(matrix, error, message, solver, alpha):
    with refused(error, *message):
        RLSRegressor("precomputed", alpha, solver=solver).fit(matrix, y)


def test_the_advice_for_a_kernel_matrix_is_not_to_standardise_it():
    with pytest.raises(ScaleError) as caught:
        RLSRegressor("precomputed").fit(K * 1e200, y)
    assert "StandardScaler" not in str(caught.value)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_constant_kernel_matrix_is_semidefinite_and_gives_the_mean(solver, alpha, value):
    matrix = np.full((n, n), value)
    model = RLSRegressor("precomputed", alpha, solver=solver).fit(matrix, y)
    np.testing.assert_allclose(model.predict(matrix), np.full(n, y.mean()), rtol=1e-8)


def test_kernel_values_of_the_wrong_width_are_refused_in_predict():
    model = RLSRegressor("precomputed").fit(K, y)
    with refused(ValueError, "5", "30"):
        model.predict(K[:, :5])


def test_sparse_kernel_values_are_refused_in_predict():
    model = RLSRegressor("precomputed").fit(K, y)
    with refused(TypeError, "Sparse data", "'.toarray()'"):
        model.predict(scipy.sparse.csr_array(K))


@pytest.mark.parametrize("kernel", [Precomputed() + Linear(), 2.0 * Precomputed()])
def test_a_kernel_matrix_has_no_formula(kernel):
    with refused(TypeError, "has no formula", "cannot be added"):
        RLSRegressor(kernel).fit(K, y)


# --- alpha = 0 ----------------------------------------------------------------------------------

tall, wide = X[:, :2], np.random.default_rng(1).normal(size=(6, 12))
SINGULAR = {
    "kernel, rows twice": (Gaussian(), np.r_[X, X], SOLVERS),
    "linear, features twice": ("linear", np.c_[X, X[:, 0]], [*SOLVERS, "svd", "gram"]),
    "linear, wide, rows twice": ("linear", np.r_[wide, wide[:2]], [*SOLVERS, "svd", "gram"]),
}
REGULAR = {
    "kernel": (Gaussian(0.5), X, SOLVERS),
    "linear, tall": ("linear", tall, ["auto", "svd", "gram"]),
    "linear, wide": ("linear", wide, [*SOLVERS, "svd", "gram"]),
}


def each_solver(cases):
    return [
        pytest.param(kernel, rows, solver, id=f"{name}, {solver}")
        for name, (kernel, rows, solvers) in cases.items()
        for solver in solvers
    ]


@pytest.mark.parametrize("alpha", [0.0, [0.0, 1.0]], ids=["zero", "grid with zero"])
@pytest.mark.parametrize(("kernel", "rows", "solver"), each_solver(SINGULAR))
def test_alpha_zero_is_refused_where_the_system_is_singular(kernel, rows, solver, alpha):
    target = np.arange(len(rows), dtype=float) ** 2
    with refused(SingularSystemError, "singular in float64", "Use a", "alpha"):
        RLSRegressor(kernel, alpha, solver=solver).fit(rows, target)


@pytest.mark.parametrize("solver", SOLVERS)
def test_advice_at_alpha_zero_names_no_solver_that_refuses_it_too(solver):
    with pytest.raises(SingularSystemError) as caught:
        RLSRegressor(alpha=0.0, solver=solver).fit(np.r_[X, X], np.r_[y, y])
    assert "spectral" not in str(caught.value)


@pytest.mark.parametrize(("kernel", "rows", "solver"), each_solver(REGULAR))
def test_alpha_zero_interpolates_or_is_ordinary_least_squares(kernel, rows, solver):
    target = y[: len(rows)]
    model = RLSRegressor(kernel, 0.0, solver=solver).fit(rows, target)
    expected = target
    if rows is tall:
        ones = np.c_[rows, np.ones(n)]
        expected = ones @ np.linalg.lstsq(ones, target, rcond=None)[0]
    np.testing.assert_allclose(model.predict(rows), expected, atol=1e-8)
