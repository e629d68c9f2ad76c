"""Identities between fits with few centers: all centers, paths, order, units, precision, copies."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight

import squareone
from squareone import RLSClassifier, RLSRegressor
from squareone import centers as selectors
from squareone.kernels import Gaussian
from tests.laws.cases import (
    DIRECT_OF_ALL_ROWS,
    DIRECT_WITH_CENTERS,
    KERNELS,
    WITH_CENTERS,
    make_data,
    reference_kernel,
)
from tests.laws.few_centers import few_centers
from tests.laws.test_centers import every_kernel, weighted_or_not, with_and_without_intercept
from tests.reference import brute_force, centers

GRID = np.geomspace(1e-3, 1e3, 7)
SHAPE = (24, 4, 6)


def rows_given(X, rows):
    return selectors.Given(X[rows], indices=rows)


def quietly(model, *arrays):
    """Fit where centers depend on each other, which may be said in a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*arrays)


# --- limits ---


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "matern", "constant + gaussian"])
@weighted_or_not
@with_and_without_intercept
def test_all_rows_as_centers_are_the_exact_fit(kernel, weighted, intercept):
    data = make_data(16, 4, targets=2, weighted=weighted)
    used = np.arange(16) if data.weights is None else np.flatnonzero(data.weights)
    every = rows_given(data.X, np.random.default_rng(2).permutation(used))
    K = reference_kernel(kernel, data.X, data.X)
    for alpha in (1e-2, 1.0, 30.0):
        how = {"fit_intercept": intercept}
        exact = RLSRegressor(KERNELS[kernel][0], alpha, solver="cholesky", **how)
        exact.fit(data.X, data.Y, data.weights)
        atol = 1e-9 * (1 + np.linalg.norm(K, 2) / alpha)
        for solver in DIRECT_WITH_CENTERS:
            model = RLSRegressor(KERNELS[kernel][0], alpha, solver=solver, centers=every, **how)
            model.fit(data.X, data.Y, data.weights)
            assert_allclose(model.predict(data.X_new), exact.predict(data.X_new), atol=atol)
            assert_allclose(model.intercept_, exact.intercept_, atol=10 * atol)
        model = RLSRegressor(
            KERNELS[kernel][0], alpha, solver="rectangle", centers=every, loo_rows=None, **how
        ).fit(data.X, data.Y, data.weights)
        assert_allclose(model.loo_predictions_, exact.loo_predictions_, atol=atol)
        assert_allclose(model.best_score_, exact.best_score_, rtol=1e2 * atol)
        assert_allclose(model.effective_dof_, exact.effective_dof_, atol=atol)
        assert_allclose(model.leverages_, exact.leverages_, atol=atol)
        assert model.explained_trace_ == pytest.approx(1.0, abs=1e-10)
        assert_allclose(
            model.predict_interval(data.X_new, 0.7),
            exact.predict_interval(data.X_new, 0.7),
            atol=10 * atol,
        )


def test_as_many_centers_as_rows():
    data = make_data(20, 3)
    exact = RLSRegressor(Gaussian(1.0), GRID, solver="cholesky").fit(data.X, data.y)
    for number in (20, selectors.Uniform(20)):
        model = RLSRegressor(
            Gaussian(1.0), GRID, solver="rectangle", centers=number, loo_rows=None
        ).fit(data.X, data.y)
        assert_array_equal(np.sort(model.center_indices_), np.arange(20))
        assert model.alpha_ == exact.alpha_
        assert_allclose(model.predict(data.X_new), exact.predict(data.X_new), rtol=1e-8)
        assert_allclose(model.path_["score"], exact.path_["score"], rtol=1e-7)


@pytest.mark.parametrize("solver", WITH_CENTERS)
def test_more_centers_than_rows_are_refused(solver):
    data = make_data(20, 3)
    with pytest.raises(ValueError, match=r"(?s)(23.*\b20\b)|(\b20\b.*23)"):
        RLSRegressor(Gaussian(1.0), 0.1, solver=solver, centers=23).fit(data.X, data.y)


@pytest.mark.filterwarnings("ignore::squareone.errors.EstimateWarning")
@weighted_or_not
@with_and_without_intercept
def test_pcg_tends_to_the_rectangle(weighted, intercept):
    data = make_data(200, 3, targets=2, weighted=weighted)
    rows = np.arange(5, 200, 6)
    settings = {"centers": rows_given(data.X, rows), "fit_intercept": intercept}
    direct = RLSRegressor(Gaussian(1.0), 0.1, solver="rectangle", **settings)
    expected = direct.fit(data.X, data.Y, data.weights).predict(data.X_new)
    errors = []
    for tol in (1e-2, 1e-5, 1e-8, 1e-11):
        model = RLSRegressor(Gaussian(1.0), 0.1, solver="pcg", tol=tol, **settings)
        model.fit(data.X, data.Y, data.weights)
        errors.append(np.abs(model.predict(data.X_new) - expected).max())
    assert errors[-1] < 1e-8
    assert all(error < 1e4 * tol for error, tol in zip(errors, (1e-2, 1e-5, 1e-8), strict=False))


def test_large_alpha_is_the_mean():
    case = few_centers("gaussian", SHAPE, weighted=True)
    mean = np.average(case.data.y, weights=case.data.weights)
    for solver in DIRECT_OF_ALL_ROWS:
        found = case.fit(solver, 1e14).predict(case.data.X_new)
        assert_allclose(found, mean, rtol=1e-9)


# --- paths and targets ---


@pytest.mark.costly
@every_kernel
@with_and_without_intercept
@pytest.mark.parametrize(
    ("solver", "settings"),
    [
        ("rectangle", {"loo_rows": None}),
        ("rectangle", {"criterion": "gcv"}),
        ("rectangle", {"cv": 3}),
        ("nystrom", {"cv": 3}),
    ],
    ids=["rectangle by loo", "rectangle by gcv", "rectangle by folds", "nystrom by folds"],
)
def test_path_equals_separate_fits(kernel, intercept, solver, settings):
    case = few_centers(kernel, SHAPE, targets=2, weighted=True)

    def fit(alpha):
        return case.fit(solver, alpha, fit_intercept=intercept, **settings)

    chosen = fit(GRID)
    path = chosen.path_
    separate = [fit([alpha]) for alpha in GRID]
    assert_allclose(path["alpha"], GRID)
    for name, tolerance in (
        ("score", {"rtol": 1e-7}),
        ("standard_error", {"rtol": 1e-6}),
        ("effective_dof", {"atol": 1e-7}),
    ):
        assert_allclose(path[name], [model.path_[name][0] for model in separate], **tolerance)
    best = int(np.argmax(path["score"]))
    assert chosen.alpha_ == GRID[best]
    assert chosen.best_score_ == pytest.approx(path["score"][best], rel=1e-9)
    again = separate[best]
    assert_allclose(chosen.predict(case.data.X_new), again.predict(case.data.X_new), rtol=1e-8)


def test_what_was_chosen_can_be_given():
    """A fit with a number of centers and alpha="auto" is the fit with what it chose."""
    data = make_data(60, 3, weighted=True)
    one = RLSRegressor(
        Gaussian(1.0), solver="rectangle", centers=15, random_state=4, loo_rows=None
    ).fit(data.X, data.y, data.weights)
    assert np.unique(one.center_indices_).size == 15
    assert np.all(data.weights[one.center_indices_] > 0)
    assert_array_equal(one.centers_, data.X[one.center_indices_])
    path = one.path_
    assert one.best_score_ == pytest.approx(path["score"][path["alpha"] == one.alpha_].max())
    assert 0.95 < np.max(path["score"]) / one.best_score_ <= 1.0  # as good, as far as rows tell
    other = RLSRegressor(
        Gaussian(1.0),
        one.alpha_,
        solver="rectangle",
        centers=rows_given(data.X, one.center_indices_),
        loo_rows=None,
    ).fit(data.X, data.y, data.weights)
    assert_allclose(other.predict(data.X_new), one.predict(data.X_new), rtol=1e-9)
    assert_allclose(other.loo_predictions_, one.loo_predictions_, rtol=1e-8)
    assert_allclose(other.best_score_, one.best_score_, rtol=1e-8)
    same, different = (
        RLSRegressor(
            Gaussian(1.0), 0.1, solver="rectangle", centers=selectors.Uniform(15), random_state=seed
        ).fit(data.X, data.y, data.weights)
        for seed in (4, 5)
    )
    again = clone(same).fit(data.X, data.y, data.weights)
    assert_array_equal(np.sort(again.center_indices_), np.sort(same.center_indices_))
    assert set(same.center_indices_) != set(different.center_indices_)


def test_targets_are_solved_as_if_alone():
    case = few_centers("gaussian", SHAPE, targets=3)
    together = case.fit("rectangle", GRID, alpha_per_target=True, loo_rows=None)
    for i in range(3):
        alone = case.regressor("rectangle", GRID, loo_rows=None)
        alone.fit(case.data.X, case.data.Y[:, i])
        assert together.alpha_[i] == alone.alpha_
        found = together.predict(case.data.X_new)[:, i]
        assert_allclose(found, alone.predict(case.data.X_new), rtol=1e-9)
        assert_allclose(together.loo_predictions_[:, i], alone.loo_predictions_, rtol=1e-8)


# --- order, weights, units, precision ---


@pytest.mark.parametrize("solver", DIRECT_WITH_CENTERS)
def test_order_does_not_matter(solver):
    """Neither that of the rows nor that of the centers."""
    case = few_centers("gaussian", SHAPE, weighted=True)
    data, order = case.data, np.random.default_rng(1).permutation(24)
    one = case.fit(solver, 0.1)
    places = np.argsort(order)[case.rows][::-1]  # of the same centers among the rows in new order
    other = RLSRegressor(
        Gaussian(2.0), 0.1, solver=solver, centers=rows_given(data.X[order], places)
    ).fit(data.X[order], data.y[order], data.weights[order])
    assert_allclose(other.predict(data.X_new), one.predict(data.X_new), rtol=1e-9)
    if solver == "rectangle":
        assert_allclose(other.loo_predictions_, one.loo_predictions_[order], rtol=1e-9)


@pytest.mark.parametrize("solver", DIRECT_OF_ALL_ROWS)
def test_weights_and_alpha(solver):
    """Scaled together they change nothing; a weight of two is a repeated row for the fit."""
    case = few_centers("gaussian", SHAPE, weighted=True)
    data = case.data
    one = case.fit(solver, 0.5, cv=3)
    other = case.regressor(solver, 3.5, cv=3).fit(data.X, data.y, 7 * data.weights)
    assert_allclose(other.predict(data.X_new), one.predict(data.X_new), rtol=1e-9)
    assert_allclose(other.best_score_, one.best_score_, rtol=1e-8)
    weights = np.ones(24)
    weights[[3, 7]] = 2.0, 3.0
    repeated = np.repeat(np.arange(24), weights.astype(int))
    points = make_data(6, 4, seed=7).X
    one = case.regressor(solver, 0.5, centers=points).fit(data.X, data.y, weights)
    other = case.regressor(solver, 0.5, centers=points).fit(data.X[repeated], data.y[repeated])
    assert_allclose(other.predict(data.X_new), one.predict(data.X_new), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-100, 1e-3, 1e3, 1e100])
@pytest.mark.parametrize("solver", DIRECT_WITH_CENTERS)
def test_units_of_x_and_y(solver, scale):
    case = few_centers("gaussian", SHAPE, weighted=True)
    data, unit = case.data, 2.0 ** np.round(np.log2(scale))
    one = case.fit(solver, 0.3)
    other = RLSRegressor(
        Gaussian(2.0 * unit), 0.3, solver=solver, centers=rows_given(data.X * unit, case.rows)
    ).fit(data.X * unit, data.y * unit, data.weights)
    assert_allclose(other.predict(data.X_new * unit) / unit, one.predict(data.X_new), rtol=1e-9)
    if solver == "rectangle":
        assert_allclose(other.loo_predictions_ / unit, one.loo_predictions_, rtol=1e-9)
        assert_allclose(other.best_score_ / unit**2, one.best_score_, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_units_of_a_kernel_that_grows(scale):
    """The linear kernel: λ goes with the square of the units."""
    data, rows = make_data(24, 4), np.array([3, 8, 15, 20])
    unit = 2.0 ** np.round(np.log2(scale))
    one, other = (
        RLSRegressor("linear", 0.3 * u**2, solver="rectangle", centers=rows_given(data.X * u, rows))
        .fit(data.X * u, data.y)
        .predict(data.X_new * u)
        for u in (1.0, unit)
    )
    assert_allclose(other, one, rtol=1e-9)


@every_kernel
@pytest.mark.parametrize("solver", DIRECT_WITH_CENTERS)
def test_float32_within_its_own_rounding(solver, kernel):
    case = few_centers(kernel, (40, 4, 6), targets=2, weighted=True)
    data = case.data
    double = case.fit(solver, 1.0)
    X = data.X.astype(np.float32)
    single = case.regressor(solver, 1.0, centers=rows_given(X, case.rows))
    single.fit(X, data.Y, data.weights)
    predicted = single.predict(data.X_new.astype(np.float32))
    assert predicted.dtype == np.float32
    lost = np.linalg.norm(case.K, 2) + np.linalg.cond(case.matrices()[1])
    if solver == "nystrom":  # its coefficients are not damped by the kernel they are used with
        lost *= 1 + np.abs(case.K_new).max()
    tolerance = 30 * np.finfo(np.float32).eps * lost
    assert_allclose(predicted, double.predict(data.X_new), atol=tolerance)
    if solver == "rectangle":
        assert single.loo_predictions_.dtype == np.float32
        assert_allclose(single.loo_predictions_, double.loo_predictions_, atol=10 * tolerance)


# --- centers that depend on each other ---


@with_and_without_intercept
def test_duplicates_among_the_centers(intercept):
    """One of two equal centers is dropped; the other is left out with its own row only."""
    data = make_data(24, 4, targets=2, weighted=True)
    data.X[11] = data.X[3]
    rows = np.array([3, 8, 11, 15, 20])
    K = reference_kernel("gaussian", data.X, data.X)
    model = quietly(
        RLSRegressor(
            Gaussian(2.0),
            0.3,
            solver="rectangle",
            centers=rows_given(data.X, rows),
            fit_intercept=intercept,
            loo_rows=None,
        ),
        data.X,
        data.Y,
        data.weights,
    )
    assert len(model.dropped_centers_) == 1
    dropped = int(rows[model.dropped_centers_[0]])
    assert dropped in (3, 11)
    kept = model.center_indices_
    assert sorted([*kept, dropped]) == sorted(rows)
    assert len(model.centers_) == len(model.dual_coef_) == 4
    problem = (data.Y, 0.3, data.weights, intercept)
    matrices = K[:, kept], K[np.ix_(kept, kept)]
    K_new = reference_kernel("gaussian", data.X_new, data.X[kept])
    expected = centers.rectangle_values(*matrices, K_new, *problem)
    assert_allclose(model.predict(data.X_new), expected, atol=1e-9)
    # without its row a center goes, and the dropped one stands in for it
    matrices = K[:, rows], K[np.ix_(rows, rows)]
    values = centers.rectangle_leave_one_out_values(rows, *matrices, *problem)
    assert_allclose(model.loo_predictions_, values, atol=1e-9)


def _clustered(rng, width=1e-9):
    """Five clusters that the kernel cannot look into, centers in all of them."""
    middles = rng.uniform(-3, 3, size=(5, 2))
    X = np.repeat(middles, 10, axis=0) + width * rng.standard_normal((50, 2))
    return X, np.arange(0, 50, 3), 1.0


def _nearly_clustered(rng):
    """Whether two centers of a cluster are one is a matter of the last digit."""
    return _clustered(rng, 1e-7)


def _wide(rng):
    """A kernel much wider than the data: few eigenvalues of K_mm are above its rounding."""
    return rng.standard_normal((50, 2)), np.arange(0, 50, 3), 30.0


@with_and_without_intercept
@pytest.mark.parametrize(
    "make",
    [_clustered, _nearly_clustered, _wide],
    ids=["clustered", "nearly clustered", "wide"],
)
@pytest.mark.parametrize("alpha", [1e-2, 1.0])
def test_centers_that_depend_on_each_other(make, alpha, intercept):
    X, rows, sigma = make(np.random.default_rng(0))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])
    K = brute_force.kernel_matrix("gaussian", X, X, sigma=sigma)
    assert np.linalg.matrix_rank(K[np.ix_(rows, rows)]) < rows.size
    settings = {"centers": rows_given(X, rows), "fit_intercept": intercept}
    model = RLSRegressor(Gaussian(sigma), alpha, solver="rectangle", loo_rows=None, **settings)
    quietly(model, X, Y)
    kept = model.center_indices_
    dropped = rows[np.asarray(model.dropped_centers_)]
    assert dropped.size > 0
    assert sorted([*kept, *dropped]) == sorted(rows)
    fitted = centers.rectangle_values(
        K[:, rows], K[np.ix_(rows, rows)], K[:, rows], Y, alpha, None, intercept
    )
    assert_allclose(model.predict(X), fitted, atol=1e-6)
    values = centers.rectangle_leave_one_out_values(
        rows, K[:, rows], K[np.ix_(rows, rows)], Y, alpha, None, intercept
    )
    if make is not _nearly_clustered:  # a center kept by its last digit cannot be told apart
        assert_allclose(model.loo_predictions_, values, atol=1e-5)
    assert np.isfinite(model.loo_predictions_).all()
    model = quietly(RLSRegressor(Gaussian(sigma), alpha, solver="nystrom", **settings), X, Y)
    C, b = centers.fit_nystrom(K[:, rows], K[np.ix_(rows, rows)], Y, alpha, None, intercept)
    assert_allclose(model.predict(X), centers.predict(K, C, b), atol=1e-4)


# --- part of the rows in the score ---


@weighted_or_not
def test_leave_one_out_over_some_rows(weighted):
    data = make_data(600, 3, weighted=weighted)
    settings = {"solver": "rectangle", "centers": rows_given(data.X, np.arange(5, 600, 25))}

    def fit(loo_rows):
        model = RLSRegressor(Gaussian(1.0), GRID, loo_rows=loo_rows, random_state=0, **settings)
        return model.fit(data.X, data.y, data.weights)

    whole, part = fit(None).path_, fit(150).path_
    distance = np.abs(part["score"] - whole["score"])
    assert np.all(distance > 0)
    assert np.all(distance <= 4 * part["standard_error"])
    ratio = part["standard_error"] / whole["standard_error"]
    assert np.all((ratio > 1.25) & (ratio < 3.2))  # the root of 600 / 150 is 2
    assert_allclose(part["effective_dof"], whole["effective_dof"], rtol=1e-9)
    assert_allclose(fit(600).path_["score"], whole["score"], rtol=1e-9)


# --- classes ---


@weighted_or_not
@pytest.mark.parametrize("solver", DIRECT_WITH_CENTERS)
def test_classifiers_are_regressors_of_signs(solver, weighted):
    data = make_data(60, 3, weighted=weighted)
    labels = np.random.default_rng(0).integers(0, 3, 60)
    signs = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    settings = {"solver": solver, "centers": rows_given(data.X, np.arange(3, 60, 5))}
    class_weight = {0: 1.0, 1: 2.5, 2: 0.3}
    for given, factor in ((None, 1.0), (class_weight, compute_sample_weight(class_weight, labels))):
        classifier = RLSClassifier(Gaussian(1.0), 0.1, class_weight=given, **settings)
        classifier.fit(data.X, labels, data.weights)
        weights = factor * (np.ones(60) if data.weights is None else data.weights)
        regressor = RLSRegressor(Gaussian(1.0), 0.1, **settings).fit(data.X, signs, weights)
        found = classifier.decision_function(data.X_new)
        assert_allclose(found, regressor.predict(data.X_new), atol=1e-9)
        assert_array_equal(classifier.predict(data.X_new), np.argmax(found, axis=1))
        if solver == "rectangle":
            assert_allclose(classifier.loo_predictions_, regressor.loo_predictions_, atol=1e-9)


@pytest.mark.parametrize("solver", DIRECT_WITH_CENTERS)
def test_two_classes_are_one_column(solver):
    data = make_data(60, 3)
    labels = data.y > np.median(data.y)
    settings = {"solver": solver, "centers": rows_given(data.X, np.arange(3, 60, 5))}
    classifier = RLSClassifier(Gaussian(1.0), 0.1, **settings).fit(data.X, labels)
    regressor = RLSRegressor(Gaussian(1.0), 0.1, **settings)
    regressor.fit(data.X, np.where(labels, 1.0, -1.0))
    found = classifier.decision_function(data.X_new)
    assert_allclose(found, regressor.predict(data.X_new), atol=1e-9)


# --- arrays and copies ---


@pytest.mark.filterwarnings("ignore::squareone.errors.EstimateWarning")
@pytest.mark.parametrize("solver", WITH_CENTERS)
def test_arrays_are_left_as_they_are(solver):
    case = few_centers("gaussian", SHAPE, weighted=True)
    data, points, rows = case.data, case.points.copy(), case.rows.copy()
    arrays = [data.X, data.y, data.weights, data.X_new, points, rows]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    chosen = selectors.Given(points, indices=rows)
    model = RLSRegressor(Gaussian(2.0), 0.1, solver=solver, centers=chosen, tol=1e-8)
    model.fit(data.X, data.y, data.weights).predict(data.X_new)
    for array, copy in zip(arrays, before, strict=True):
        assert_array_equal(array, copy)


@pytest.mark.filterwarnings("ignore::squareone.errors.EstimateWarning")
@pytest.mark.parametrize("solver", WITH_CENTERS)
@pytest.mark.parametrize("how", ["number", "points", "rows", "selector"])
def test_copies_predict_the_same(solver, how, tmp_path):
    data = make_data(40, 3, weighted=True)
    rows = np.arange(3, 40, 5)
    choices = {
        "number": 8,
        "points": data.X[rows] + 0.1,
        "rows": rows_given(data.X, rows),
        "selector": selectors.Uniform(8),
    }
    if solver == "subset" and how == "points":
        pytest.skip("a subset is of rows")
    labels = (data.y > np.median(data.y)).astype(int) + (data.X[:, 0] > 2)
    for estimator, y in ((RLSRegressor, data.y), (RLSClassifier, labels)):
        model = estimator(
            Gaussian(1.0), 0.1, solver=solver, centers=choices[how], random_state=0, tol=1e-8
        ).fit(data.X, y, data.weights)
        expected = model.predict(data.X_new)
        again = clone(model).fit(data.X, y, data.weights)
        assert_allclose(again.predict(data.X_new), expected, rtol=1e-12)
        path = tmp_path / f"{estimator.__name__}.safetensors"
        model.save(path)
        for copy in (pickle.loads(pickle.dumps(model)), squareone.load(path)):
            assert_array_equal(copy.predict(data.X_new), expected)
            assert_array_equal(copy.centers_, model.centers_)
            assert_array_equal(copy.dual_coef_, model.dual_coef_)
