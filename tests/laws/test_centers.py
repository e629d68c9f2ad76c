"""Fits with few centers agree with brute force: predictions, leave-one-out, folds, GCV, traces."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, TimeSeriesSplit

from squareone import RLSRegressor
from squareone import centers as selectors
from squareone.kernels import Gaussian
from squareone.rows import ArrayRows, rows_of
from squareone.rows.matching import find_rows
from tests.laws.cases import DIRECT_OF_ALL_ROWS, KERNELS, WITH_CENTERS, make_data, reference_kernel
from tests.laws.few_centers import SHAPES, few_centers, leave_one_out, rounding, rows_of_centers
from tests.reference import brute_force, centers, fifty_digits_centers

ALPHAS = [1e-2, 1.0, 30.0]
COVERAGE = 0.7

every_kernel = pytest.mark.parametrize("kernel", KERNELS)
weighted_or_not = pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
with_and_without_intercept = pytest.mark.parametrize(
    "intercept", [False, True], ids=["no intercept", "intercept"]
)


def under_all_conditions(test):
    for mark in (
        every_kernel,
        weighted_or_not,
        with_and_without_intercept,
        pytest.mark.parametrize("shape", SHAPES, ids=str),
    ):
        test = mark(test)
    return test


@under_all_conditions
@pytest.mark.parametrize("targets", [1, 3])
def test_rectangle(kernel, weighted, intercept, shape, targets):
    case = few_centers(kernel, shape, targets=targets, weighted=weighted)
    Y, weights, scale = case.data.Y, case.data.weights, np.abs(case.data.Y).max()
    for alpha in ALPHAS:
        model = case.fit("rectangle", alpha, fit_intercept=intercept, loo_rows=None)
        rows = rows_of_centers(model, case.rows)
        assert sorted(rows) == sorted(case.rows)
        K_nm, K_mm = case.matrices(rows)
        C, b = centers.fit_rectangle(K_nm, K_mm, Y, alpha, weights, intercept)
        atol = rounding(case, alpha) * scale
        expected = centers.predict(case.K_new[:, rows], C, b)
        assert_allclose(model.predict(case.data.X_new).reshape(5, -1), expected, atol=atol)
        assert_allclose(model.intercept_, b if targets > 1 else b[0], atol=10 * atol)
        H = centers.rectangle_hat_matrix(K_nm, K_mm, alpha, weights, intercept)
        assert_allclose(model.leverages_, np.diag(H), atol=rounding(case, alpha))
        assert_allclose(model.effective_dof_, np.trace(H), atol=rounding(case, alpha) * len(H))
        if kernel != "linear":
            assert_allclose(model.centers_, case.data.X[rows], rtol=1e-12)
            found = model.dual_coef_.reshape(rows.size, -1)
            condition = np.linalg.cond(K_mm) / np.linalg.norm(K_mm, 2)
            assert_allclose(found, C, atol=100 * atol * condition)


@under_all_conditions
def test_leave_one_out_of_the_rectangle(kernel, weighted, intercept, shape):
    """A row that is a center is left out together with that center."""
    case = few_centers(kernel, shape, targets=2, weighted=weighted)
    Y, scale = case.data.Y, np.abs(case.data.Y).max()
    path = case.fit("rectangle", ALPHAS, fit_intercept=intercept, loo_rows=None).path_
    w = np.ones(shape[0]) if case.data.weights is None else case.data.weights
    for alpha, score, deviation in zip(
        path["alpha"], path["score"], path["standard_error"], strict=True
    ):
        model = case.fit("rectangle", alpha, fit_intercept=intercept, loo_rows=None)
        values = leave_one_out(case, rows_of_centers(model, case.rows), alpha, intercept)
        atol = 10 * rounding(case, alpha) * scale
        assert_allclose(model.loo_predictions_.reshape(values.shape), values, atol=atol)
        errors = model.loo_residuals_.reshape(values.shape)
        assert_allclose(errors, Y - values, atol=atol)
        expected = centers.mean_square_left_out(values, Y, case.data.weights).mean()
        rtol = 1e3 * rounding(case, alpha)
        assert_allclose(-score, expected, rtol=rtol)
        assert_allclose(-model.best_score_, expected, rtol=rtol)
        squares = np.mean((Y - values) ** 2, axis=1)
        expected = np.sqrt(np.sum(w**2 * (squares - expected) ** 2)) / w.sum()
        assert_allclose(deviation, expected, rtol=10 * rtol)


@under_all_conditions
def test_nystrom(kernel, weighted, intercept, shape):
    """One coefficient for every row, and the true kernel at new rows."""
    case = few_centers(kernel, shape, targets=2, weighted=weighted)
    Y, weights, scale = case.data.Y, case.data.weights, np.abs(case.data.Y).max()
    for alpha in ALPHAS:
        model = case.fit("nystrom", alpha, fit_intercept=intercept)
        C, b = centers.fit_nystrom(*case.matrices(), Y, alpha, weights, intercept)
        # coefficients of the size of y / alpha times kernel values
        size = scale * (1 + np.abs(case.K_new).max() / alpha)
        atol = rounding(case, alpha) * size
        expected = centers.predict(case.K_new, C, b)
        assert_allclose(model.predict(case.data.X_new).reshape(5, -1), expected, atol=atol)
        assert_allclose(model.intercept_, b, atol=10 * atol)


@under_all_conditions
def test_subset_is_the_exact_fit_to_the_centers(kernel, weighted, intercept, shape):
    case = few_centers(kernel, shape, targets=2, weighted=weighted)
    data, rows = case.data, case.rows
    for alpha in ALPHAS:
        model = case.fit("subset", alpha, fit_intercept=intercept)
        exact = RLSRegressor(
            KERNELS[kernel][0], alpha, solver="cholesky", fit_intercept=intercept
        ).fit(data.X[rows], data.Y[rows], None if data.weights is None else data.weights[rows])
        C, b = centers.fit_subset(rows, case.K, data.Y, alpha, data.weights, intercept)
        atol = rounding(case, alpha) * np.abs(data.Y).max()
        found = model.predict(data.X_new)
        assert_allclose(found, exact.predict(data.X_new), atol=atol)
        assert_allclose(found, centers.predict(case.K_new[:, rows], C, b), atol=atol)
        assert_allclose(model.intercept_, b, atol=10 * atol)
        if kernel != "linear":
            assert sorted(model.center_indices_) == sorted(rows)
            order = np.argsort(rows)[np.argsort(np.argsort(model.center_indices_))]
            assert_allclose(model.dual_coef_, C[order], atol=atol / alpha)


# --- folds ---


def _expected_of_splits(solver, case, splits, alpha, intercept):
    K_nm, K_mm = case.matrices()
    problem = (case.data.Y, alpha, case.data.weights, intercept)
    if solver == "nystrom":
        values = centers.nystrom_split_values(splits, case.rows, case.K, K_nm, K_mm, *problem)
    else:
        values = centers.rectangle_split_values(splits, case.rows, K_nm, K_mm, *problem)
    return centers.mean_square_of_splits(splits, values, case.data.Y, case.data.weights).mean()


def _tolerance_of_splits(solver, case, alpha):
    """Nyström's coefficients are divided by λ before they meet the kernel."""
    lost = 1 + np.abs(case.K).max() / alpha if solver == "nystrom" else 1.0
    return 1e3 * rounding(case, alpha) * lost


@under_all_conditions
@pytest.mark.parametrize("solver", DIRECT_OF_ALL_ROWS)
def test_folds_are_refits_without_their_centers(solver, kernel, weighted, intercept, shape):
    case = few_centers(kernel, shape, targets=2, weighted=weighted)
    splits = list(KFold(3).split(case.data.X))
    model = case.fit(solver, ALPHAS, fit_intercept=intercept, cv=splits)
    for alpha, score in zip(model.path_["alpha"], model.path_["score"], strict=True):
        expected = _expected_of_splits(solver, case, splits, alpha, intercept)
        assert_allclose(-score, expected, rtol=_tolerance_of_splits(solver, case, alpha))


@pytest.mark.parametrize("solver", DIRECT_OF_ALL_ROWS)
@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
@weighted_or_not
@pytest.mark.parametrize(
    "cv",
    [3, GroupKFold(3), TimeSeriesSplit(3), ShuffleSplit(4, test_size=0.3, random_state=0)],
    ids=["number", "groups", "time", "shuffle"],
)
def test_splitters(solver, kernel, weighted, cv):
    """Rows that are neither training nor test rows leave the fit too, with their centers."""
    case = few_centers(kernel, (24, 4, 6), weighted=weighted)
    groups = np.arange(24) % 7 if isinstance(cv, GroupKFold) else None
    splits = list((KFold(cv) if cv == 3 else cv).split(case.data.X, groups=groups))
    model = case.regressor(solver, [0.1, 1.0], cv=cv)
    model.fit(case.data.X, case.data.y, case.data.weights, groups=groups)
    for alpha, score in zip([0.1, 1.0], model.path_["score"], strict=True):
        expected = _expected_of_splits(solver, case, splits, alpha, True)
        assert_allclose(-score, expected, rtol=_tolerance_of_splits(solver, case, alpha))


@every_kernel
@weighted_or_not
@pytest.mark.parametrize("solver", DIRECT_OF_ALL_ROWS)
def test_holdout_is_one_refit(solver, kernel, weighted):
    case = few_centers(kernel, (24, 4, 6), weighted=weighted)
    model = case.fit(
        solver, [0.1, 1.0], criterion="holdout", validation_fraction=0.25, random_state=3
    )
    rng = np.random.RandomState(3)
    ((_, test),) = ShuffleSplit(1, test_size=0.25, random_state=rng).split(case.data.X)
    splits = [(np.setdiff1d(np.arange(24), test), test)]
    for alpha, score in zip([0.1, 1.0], model.path_["score"], strict=True):
        expected = _expected_of_splits(solver, case, splits, alpha, True)
        assert_allclose(-score, expected, rtol=_tolerance_of_splits(solver, case, alpha))


# --- other criteria, and what is asked after the fit ---


@under_all_conditions
def test_gcv_by_its_definition(kernel, weighted, intercept, shape):
    case = few_centers(kernel, shape, targets=2, weighted=weighted)
    model = case.fit("rectangle", ALPHAS, fit_intercept=intercept, criterion="gcv")
    for alpha, score in zip(model.path_["alpha"], model.path_["score"], strict=True):
        expected = centers.rectangle_gcv(
            *case.matrices(), case.data.Y, alpha, case.data.weights, intercept
        ).mean()
        assert_allclose(-score, expected, rtol=1e3 * rounding(case, alpha))


@under_all_conditions
def test_jackknife_plus_intervals(kernel, weighted, intercept, shape):
    case = few_centers(kernel, shape, targets=2, weighted=weighted)
    for alpha in (0.1, 10.0):
        model = case.fit("rectangle", alpha, fit_intercept=intercept)
        lower, upper = centers.rectangle_jackknife_plus(
            case.rows,
            *case.matrices(),
            case.K_new[:, case.rows],
            case.data.Y,
            alpha,
            COVERAGE,
            case.data.weights,
            intercept,
        )
        found = model.predict_interval(case.data.X_new, COVERAGE, "jackknife+")
        atol = 100 * rounding(case, alpha) * np.abs(case.data.Y).max()
        assert_allclose(found[..., 0], lower, atol=atol)
        assert_allclose(found[..., 1], upper, atol=atol)


@every_kernel
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_explained_trace(kernel, shape):
    case = few_centers(kernel, shape)
    expected = centers.explained_trace(*case.matrices(), np.diag(case.K))
    for solver in DIRECT_OF_ALL_ROWS:
        model = case.fit(solver, 1.0)
        assert_allclose(model.explained_trace_, expected, rtol=rounding(case, 1.0))


@under_all_conditions
def test_coefficients_follow_from_the_residuals(kernel, weighted, intercept, shape):
    """Equation (7.7) of the chapter: c_m = K_mm⁻¹ K_mn u / λ, with u the weighted residuals."""
    case = few_centers(kernel, shape, targets=2, weighted=weighted)
    for alpha in ALPHAS:
        model = case.fit("rectangle", alpha, fit_intercept=intercept)
        rows = rows_of_centers(model, case.rows)
        K_nm, K_mm = case.matrices(rows)
        C = centers.coefficients_from_fitted_values(
            K_nm, K_mm, case.data.Y, model.predict(case.data.X), alpha, case.data.weights
        )
        atol = 100 * rounding(case, alpha) * np.abs(case.data.Y).max()
        atol *= 1 + np.linalg.norm(case.K, 2) / alpha  # residuals over λ
        found = model.predict(case.data.X_new)
        assert_allclose(found, case.K_new[:, rows] @ C + model.intercept_, atol=atol)


# --- centers that are no rows, and rows that are no centers ---


@weighted_or_not
@with_and_without_intercept
@pytest.mark.parametrize("how", ["array", "selector"])
def test_centers_that_are_no_rows_stay(weighted, intercept, how):
    data = make_data(24, 4, targets=2, weighted=weighted)
    Z = make_data(6, 4, seed=7).X
    K_nm, K_mm = (reference_kernel("gaussian", left, Z) for left in (data.X, Z))
    K = reference_kernel("gaussian", data.X, data.X)
    K_new, K_new_m = (reference_kernel("gaussian", data.X_new, right) for right in (data.X, Z))
    no_rows = np.full(6, centers.NO_ROW)
    problem = (data.Y, 0.3, data.weights, intercept)
    given = {"centers": Z if how == "array" else selectors.Given(Z), "fit_intercept": intercept}
    model = RLSRegressor(Gaussian(2.0), 0.3, solver="rectangle", loo_rows=None, **given)
    model.fit(data.X, data.Y, data.weights)
    expected = centers.rectangle_values(K_nm, K_mm, K_new_m, *problem)
    assert_allclose(model.predict(data.X_new), expected, atol=1e-10)
    values = centers.rectangle_leave_one_out_values(no_rows, K_nm, K_mm, *problem)
    assert_allclose(model.loo_predictions_, values, atol=1e-10)
    assert np.all(np.asarray(getattr(model, "center_indices_", -1)) == -1)
    assert sorted(map(tuple, model.centers_)) == sorted(map(tuple, Z))
    lower, upper = centers.rectangle_jackknife_plus(
        no_rows, K_nm, K_mm, K_new_m, data.Y, 0.3, COVERAGE, data.weights, intercept
    )
    found = model.predict_interval(data.X_new, COVERAGE)
    assert_allclose(found, np.stack([lower, upper], axis=-1), atol=1e-9)
    splits = list(KFold(3).split(data.X))
    for solver, values in (
        ("rectangle", centers.rectangle_split_values(splits, no_rows, K_nm, K_mm, *problem)),
        ("nystrom", centers.nystrom_split_values(splits, no_rows, K, K_nm, K_mm, *problem)),
    ):
        model = RLSRegressor(Gaussian(2.0), [0.3], solver=solver, cv=3, **given)
        model.fit(data.X, data.Y, data.weights)
        expected = centers.mean_square_of_splits(splits, values, data.Y, data.weights).mean()
        assert_allclose(-model.path_["score"][0], expected, rtol=1e-9)
    C, b = centers.fit_nystrom(K_nm, K_mm, *problem)
    expected = centers.predict(K_new, C, b)
    assert_allclose(model.predict(data.X_new), expected, atol=1e-9)


def test_a_subset_has_to_be_of_rows():
    data = make_data(24, 4)
    with pytest.raises(ValueError, match="subset"):
        RLSRegressor(Gaussian(2.0), 0.3, solver="subset", centers=data.X_new).fit(data.X, data.y)


@pytest.mark.parametrize("solver", WITH_CENTERS)
@pytest.mark.parametrize("stored", ["dense", "sparse", "stream", "float32"])
def test_points_that_are_equal_to_rows_are_these_rows(solver, stored):
    data = make_data(24, 4, weighted=True)
    X, rows = data.X, np.array([20, 3, 8, 15])
    X[11], X[5, 1] = X[3], -0.0
    points = X[rows]
    if stored == "sparse":
        X = csr_matrix(np.where(np.abs(X) < 0.5, 0.0, X))
        points = X[rows]
    elif stored == "stream":
        X = ArrayRows(X)
    elif stored == "float32":
        X = X.astype(np.float32)

    def fit(centers):
        model = RLSRegressor(Gaussian(2.0), 0.3, solver=solver, centers=centers, loo_rows=None)
        return model.fit(X, data.y, data.weights)

    found, said = fit(points), fit(selectors.Given(points, indices=rows))
    assert_array_equal(found.center_indices_, said.center_indices_)
    assert_array_equal(found.loo_predictions_, said.loo_predictions_)
    assert_array_equal(found.predict(data.X_new), said.predict(data.X_new))


def test_of_equal_points_each_is_a_row_of_its_own():
    data = make_data(24, 4)
    data.X[[11, 17]] = data.X[3]
    points = np.vstack([data.X[[3, 8, 3]], data.X[[3]], data.X[[3]], data.X_new[:1]])
    model = RLSRegressor(Gaussian(2.0), 0.3, solver="nystrom", centers=points)
    found = find_rows(rows_of(points), rows_of(data.X))
    assert_array_equal(found, [3, 8, 11, 17, 17, -1])
    assert model.fit(data.X, data.y).dropped_centers_.size == 3


@pytest.mark.parametrize("solver", WITH_CENTERS)
@pytest.mark.parametrize("said", [True, False], ids=["indices", "points"])
def test_a_row_of_weight_zero_is_no_center(solver, said):
    """A weight of zero is as good as leaving the row out, and its center with it."""
    data = make_data(24, 4)
    rows, weights = np.array([3, 8, 15, 20]), np.ones(24)
    weights[[8, 10]] = 0.0
    rest, others = np.flatnonzero(weights), np.array([3, 15, 20])
    given = selectors.Given(data.X[rows], indices=rows) if said else data.X[rows]
    settings = {"solver": solver, "loo_rows": None, "tol": 1e-12}
    model = RLSRegressor(Gaussian(2.0), 0.3, centers=given, **settings)
    model.fit(data.X, data.y, weights)
    assert sorted(model.center_indices_) == (
        sorted(rest) if solver == "nystrom" else sorted(others)
    )
    expected = RLSRegressor(Gaussian(2.0), 0.3, centers=data.X[others], **settings)
    expected.fit(data.X[rest], data.y[rest])
    assert_allclose(model.predict(data.X_new), expected.predict(data.X_new), rtol=1e-9)
    assert_allclose(model.loo_predictions_[rest], expected.loo_predictions_, rtol=1e-6)


def test_centers_all_of_weight_zero_are_refused():
    data = make_data(24, 4)
    weights = np.ones(24)
    weights[[3, 8]] = 0.0
    with pytest.raises(ValueError, match="all 2 points are rows of weight zero"):
        RLSRegressor(Gaussian(2.0), 0.3, centers=data.X[[3, 8]]).fit(data.X, data.y, weights)


@with_and_without_intercept
def test_a_row_equal_to_a_center_is_no_center(intercept):
    data = make_data(24, 4)
    data.X[11] = data.X[3]
    rows = np.array([3, 8, 15, 20])
    K = reference_kernel("gaussian", data.X, data.X)
    model = RLSRegressor(
        Gaussian(2.0),
        0.3,
        solver="rectangle",
        centers=selectors.Given(data.X[rows], indices=rows),
        fit_intercept=intercept,
        loo_rows=None,
    ).fit(data.X, data.y)
    values = centers.rectangle_leave_one_out_values(
        rows, K[:, rows], K[np.ix_(rows, rows)], data.Y, 0.3, None, intercept
    )
    assert_allclose(model.loo_predictions_, values[:, 0], atol=1e-10)
    assert abs(model.loo_predictions_[11] - model.loo_predictions_[3]) > 1e-4


@with_and_without_intercept
@weighted_or_not
def test_one_center(weighted, intercept):
    """Without its row nothing is left but the mean of the others, or zero."""
    data = make_data(24, 4, weighted=weighted)
    K_nm = reference_kernel("gaussian", data.X, data.X[[5]])
    problem = (data.Y, 0.3, data.weights, intercept)
    model = RLSRegressor(
        Gaussian(2.0),
        0.3,
        solver="rectangle",
        centers=selectors.Given(data.X[[5]], indices=[5]),
        fit_intercept=intercept,
        loo_rows=None,
    ).fit(data.X, data.y, data.weights)
    values = centers.rectangle_leave_one_out_values(np.array([5]), K_nm, K_nm[[5]], *problem)
    assert_allclose(model.loo_predictions_, values[:, 0], atol=1e-11)
    w = np.ones(24) if data.weights is None else data.weights
    mean = np.average(np.delete(data.y, 5), weights=np.delete(w, 5)) if intercept else 0.0
    assert model.loo_predictions_[5] == pytest.approx(mean, abs=1e-11)
    assert model.centers_.shape == (1, 4)


# --- conditions ---


@with_and_without_intercept
@pytest.mark.parametrize("alpha", [1e-10, 1e-6, 1e-3, 1.0, 1e4, 1e10])
def test_alphas_over_20_decades(alpha, intercept):
    """Few centers far apart are well conditioned: no cancellation at either end."""
    data = make_data(30, 3, targets=2, weighted=True)
    rows = np.array([1, 4, 9, 12, 20, 22, 27, 29])
    K = brute_force.kernel_matrix("gaussian", data.X, data.X, sigma=0.5)
    K_nm, K_mm = K[:, rows], K[np.ix_(rows, rows)]
    model = RLSRegressor(
        Gaussian(0.5),
        alpha,
        solver="rectangle",
        centers=selectors.Given(data.X[rows], indices=rows),
        fit_intercept=intercept,
        loo_rows=None,
    ).fit(data.X, data.Y, data.weights)
    problem = (data.Y, alpha, data.weights, intercept)
    values = centers.rectangle_leave_one_out_values(rows, K_nm, K_mm, *problem)
    assert_allclose(data.Y - model.loo_predictions_, data.Y - values, rtol=1e-7)
    fitted = centers.rectangle_values(K_nm, K_mm, K_nm, *problem)
    assert_allclose(model.predict(data.X), fitted, rtol=1e-8, atol=1e-12)
    H = centers.rectangle_hat_matrix(K_nm, K_mm, alpha, data.weights, intercept)
    assert_allclose(model.leverages_, np.diag(H), rtol=1e-8, atol=1e-14)


@with_and_without_intercept
@pytest.mark.parametrize("alpha", [1e-6, 1e-2])
def test_fifty_digits(alpha, intercept):
    """Centers close together: K_mm has a condition above 1e12."""
    rng = np.random.default_rng(5)
    X = np.sort(rng.uniform(size=(16, 1)), axis=0)
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(16)
    weights, X_new = rng.uniform(0.5, 2.0, 16), np.array([[0.05], [0.4], [0.8]])
    rows = np.arange(0, 16, 2)
    kernel = Gaussian(1.0)
    assert np.linalg.cond(kernel(X[rows])) > 1e12
    settings = {"centers": selectors.Given(X[rows], indices=rows), "fit_intercept": intercept}
    exact = (y, weights, 1.0, alpha, intercept)
    model = RLSRegressor(kernel, alpha, solver="rectangle", loo_rows=None, **settings)
    model.fit(X, y, weights)
    assert len(model.dropped_centers_) == 0
    rtol = 1e5 * np.finfo(float).eps / alpha
    expected = fifty_digits_centers.rectangle_values(X, X[rows], X_new, *exact)
    assert_allclose(model.predict(X_new), expected, rtol=rtol)
    expected = fifty_digits_centers.rectangle_leave_one_out_values(X, rows, *exact)
    assert_allclose(model.loo_predictions_, expected, rtol=10 * rtol)
    if alpha == 1e-2:  # its coefficients are residuals over λ: at 1e-6 few digits are left
        model = RLSRegressor(kernel, alpha, solver="nystrom", **settings).fit(X, y, weights)
        expected = fifty_digits_centers.nystrom_values(X, X[rows], X_new, *exact)
        assert_allclose(model.predict(X_new), expected, rtol=1e3 * rtol)
