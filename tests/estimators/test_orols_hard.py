"""OROLS on hard rows and targets: duplicates, constants, singular matrices, noise, few rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from squareone import OROLSClassifier, OROLSRegressor
from squareone.errors import ScaleError
from squareone.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, Precomputed
from tests.estimators.data import X, refused, table, two, with_value, y
from tests.reference import orols

rng = np.random.default_rng(2)
n, d = X.shape
new = rng.normal(size=(5, d))
every_selection = pytest.mark.parametrize("selection", ["sampled", "residual", "greedy"])
every_stopping = pytest.mark.parametrize("stopping", ["gcv", "bic", "mdl", "validation", 5])


def finite(model):
    """Whether every model on the path predicts finite numbers."""
    longest = model.path_["centers"].max()
    return all(np.isfinite(model.at(m).predict(new)).all() for m in range(longest + 1))


# --- rows ---


@every_selection
@pytest.mark.parametrize("epsilon", [0.0, 0.01, "auto"])
def test_duplicate_rows(selection, epsilon):
    rows, targets = np.vstack([X[:8]] * 4), np.tile(y[:8], 4) + 0.1 * rng.normal(size=32)
    model = OROLSRegressor(Gaussian(1.0), selection=selection, epsilon=epsilon, max_centers=32)
    model.fit(rows, targets)
    assert finite(model)
    if epsilon == 0.0:
        assert model.path_["centers"].max() <= 8
        points = model.path_["center"][1:] % 8
        assert len(np.unique(points)) == len(points)


@every_selection
def test_all_rows_are_the_same(selection):
    model = OROLSRegressor(Gaussian(1.0), selection=selection, epsilon=0.0)
    model.fit(np.ones((20, 3)), rng.normal(size=20))
    assert model.n_centers_ == 0
    assert model.stopped_by_ == "candidates"
    assert finite(model)
    searched = OROLSRegressor(selection=selection).fit(np.ones((20, 3)), rng.normal(size=20))
    assert finite(searched)


@every_selection
def test_constant_columns_do_not_matter(selection):
    rows, more = np.column_stack([X, np.full(n, 7.0)]), np.column_stack([new, np.full(5, 7.0)])
    found = OROLSRegressor(Gaussian(1.0), selection=selection).fit(rows, y)
    expected = OROLSRegressor(Gaussian(1.0), selection=selection).fit(X, y)
    assert_allclose(found.predict(more), expected.predict(new), rtol=1e-7)


SINGULAR = {
    "wide": (Gaussian(1e6),),
    "very wide": (Gaussian(1e9),),
    "linear": (Linear(),),
    "polynomial": (Polynomial(2),),
    "wide and linear": ([Gaussian(1e5), Linear()],),
}


@every_selection
@pytest.mark.parametrize("kernel", [case for (case,) in SINGULAR.values()], ids=list(SINGULAR))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_matrices_that_are_singular(selection, kernel, dtype):
    model = OROLSRegressor(kernel, selection=selection, epsilon=0.0, max_centers=n)
    model.fit(X[:, :2].astype(dtype), y)
    assert model.stopped_by_ in ("candidates", "condition_limit")
    longest = model.path_["centers"].max()
    assert longest < 15
    for m in range(longest + 1):
        assert np.isfinite(model.at(m).predict(new[:, :2].astype(dtype))).all()


@every_selection
def test_two_features_span_two_columns(selection):
    model = OROLSRegressor("linear", selection=selection, epsilon=0.0, lambda_update=0, stopping=9)
    model.fit(X[:, :2], y)
    assert model.n_centers_ == 2
    assert model.stopped_by_ in ("candidates", "condition_limit")
    columns = np.column_stack([np.ones(n), X[:, :2]])
    solved = np.linalg.lstsq(columns, y, rcond=None)[0]
    assert_allclose(model.predict(new[:, :2]), solved[0] + new[:, :2] @ solved[1:], rtol=1e-9)


@every_selection
@pytest.mark.parametrize("intercept", [False, True])
def test_a_kernel_that_is_zero_has_no_centers(selection, intercept):
    how = {"selection": selection, "epsilon": 0.0, "fit_intercept": intercept}
    model = OROLSRegressor(Precomputed(), **how).fit(np.zeros((n, n)), y)
    assert model.n_centers_ == 0
    assert model.stopped_by_ == "candidates"
    assert_allclose(model.predict(np.zeros((2, n))), y.mean() if intercept else 0.0)


@every_selection
@pytest.mark.parametrize("intercept", [False, True])
def test_as_many_centers_as_rows(selection, intercept):
    model = OROLSRegressor(
        Laplacian(1.0),
        selection=selection,
        epsilon=0.0,
        lambda_update=0,
        max_centers=n,
        stopping=n,
        fit_intercept=intercept,
    ).fit(X, y)
    assert model.n_centers_ in ((n - 1, n) if intercept else (n,))
    assert_allclose(model.predict(X), y, rtol=1e-8)


@pytest.mark.costly
@every_selection
@every_stopping
@pytest.mark.parametrize("features", [1, 50])
def test_one_feature_and_more_features_than_rows(selection, stopping, features):
    rows = np.random.default_rng(0).normal(size=(n, features))
    model = OROLSRegressor(selection=selection, stopping=stopping).fit(rows, np.sin(rows[:, 0]))
    assert model.predict(rows).shape == (n,)
    assert np.isfinite(model.predict(rows)).all()


@every_selection
@pytest.mark.parametrize("stopping", ["gcv", "bic", "mdl", 1, 5])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("kernel", ["gaussian", "linear", Gaussian(1.0)], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_few_rows(selection, stopping, rows, kernel, intercept):
    model = OROLSRegressor(kernel, selection=selection, stopping=stopping, fit_intercept=intercept)
    model.fit(X[:rows], y[:rows], np.ones(rows))
    assert finite(model)
    if rows == 1 and intercept:
        assert_allclose(model.predict(new), y[0])


@pytest.mark.parametrize("rows", [2, 3])
def test_few_rows_of_which_some_are_held_out(rows):
    assert finite(OROLSRegressor(stopping="validation").fit(X[:rows], y[:rows]))
    with refused(ValueError, "validation", "n_samples = 1", 'stopping="gcv"'):
        OROLSRegressor(Gaussian(1.0), epsilon=0.0, stopping="validation").fit(X[:1], y[:1])


@pytest.mark.parametrize("stopping", ["gcv", "validation"])
def test_few_rows_of_two_classes(stopping):
    model = OROLSClassifier(stopping=stopping).fit(X[:2], [0, 1])
    assert np.isfinite(model.decision_function(new)).all()


# --- targets ---


@every_selection
@every_stopping
@pytest.mark.parametrize("value", [0.0, 1.0, -3e7, 0.1])
def test_a_constant_target_needs_no_center(selection, stopping, value):
    model = OROLSRegressor(selection=selection, stopping=stopping).fit(X, np.full(n, value))
    assert_allclose(model.predict(new), value, rtol=1e-12)
    assert model.n_centers_ == 0
    assert model.stopped_by_ in ("exact", "max_centers")


@every_selection
def test_a_target_of_zeros_without_intercept(selection):
    model = OROLSRegressor(Gaussian(1.0), selection=selection, fit_intercept=False)
    assert_array_equal(model.fit(X, np.zeros(n)).predict(new), 0.0)


@every_selection
@pytest.mark.parametrize("shared", [False, True])
def test_collinear_targets(selection, shared):
    Y = np.column_stack([y, 2.0 * y, -y, np.ones(n)])
    how = {"selection": selection, "shared_centers": shared, "epsilon": 0.01, "stopping": 6}
    found = OROLSRegressor(Gaussian(1.0), **how).fit(X, Y).predict(new)
    assert_allclose(found[:, 1], 2.0 * found[:, 0], rtol=1e-9)
    assert_allclose(found[:, 2], -found[:, 0], rtol=1e-9)
    assert_allclose(found[:, 3], 1.0, rtol=1e-9)


@every_selection
@pytest.mark.parametrize("update", ["gcv", "evidence", 0])
def test_a_target_without_noise_is_found_again(selection, update):
    centers, weights = X[[2, 9, 17]], [1.0, -2.0, 0.5]
    target = 1.0 + Gaussian(1.0)(X, centers) @ weights
    how = {"selection": selection, "lambda_update": update, "epsilon": 0.0, "max_centers": n}
    model = OROLSRegressor(Gaussian(1.0), **how).fit(X, target)
    assert_allclose(model.predict(new), 1.0 + Gaussian(1.0)(new, centers) @ weights, atol=1e-5)
    if update == "gcv":
        steps = min(4, model.n_centers_)
        K = Gaussian(1.0)(X, X)
        merit = "residual" if selection == "residual" else "greedy"  # of few rows all are drawn
        chosen, penalties = orols.path(K, target[:, None], steps, 0.0, merit)
        assert_array_equal(model.path_["center"][1 : steps + 1], chosen)
        assert_allclose(model.path_["lambda"][1 : steps + 1], penalties, rtol=1e-6)


@every_selection
@pytest.mark.parametrize("update", ["gcv", "evidence"])
def test_lambda_vanishes_without_noise(selection, update):
    """With the last of the columns that the target is a sum of, by one update, and not before."""
    target = 1.0 + Gaussian(1.0)(X, X[[2, 9, 17]]) @ [1.0, -2.0, 0.5]
    how = {"selection": selection, "lambda_update": update, "epsilon": 0.0, "max_centers": n}
    model = OROLSRegressor(Gaussian(1.0), **how).fit(X, target)
    assert model.stopped_by_ == "exact"
    *former, before, last = model.path_["lambda"][1:]
    assert last == model.lambda_ < 2e-6
    assert last < 2e-3 * before
    assert min([before, *former]) > 1e-6


def test_a_fit_without_residual_ends():
    target = 1.0 + 2.0 * Gaussian(1.0)(X, X[:1])[:, 0]
    model = OROLSRegressor(
        Gaussian(1.0), selection="greedy", epsilon=0.0, lambda_update=0, max_centers=n
    ).fit(X, target)
    assert model.stopped_by_ == "exact"
    assert_array_equal(model.path_["center"], [-1, 0])
    assert_allclose(model.dual_coef_, 2.0)
    assert_allclose(model.intercept_, 1.0)


@pytest.mark.thorough
@pytest.mark.parametrize("stopping", ["gcv", "bic", "mdl"])
def test_noise_has_few_centers_as_a_rule(stopping):
    """Not always: of these samples GCV finds dozens in one, and description length none in any."""
    counts = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows, noise = rng.normal(size=(200, 3)), rng.normal(size=200)
        counts.append(OROLSRegressor(stopping=stopping).fit(rows, noise).n_centers_)
    assert np.median(counts) <= 5
    assert stopping != "mdl" or max(counts) == 0


def test_one_outlier_takes_one_center():
    target = with_value(np.sin(X[:, 0]), 1e6, at=4)
    model = OROLSRegressor(Gaussian(1.0), epsilon=0.01).fit(X, target)
    assert model.path_["center"][1] == 4
    assert finite(model)


# --- scale ---


@pytest.mark.thorough
@pytest.mark.costly
@every_selection
@pytest.mark.parametrize("factor", [1e-200, 1e-100, 1e-8, 1e8, 1e100, 1e200])
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_targets_of_any_size(selection, factor, kernel):
    expected = OROLSRegressor(kernel, selection=selection).fit(X, y).predict(new)
    try:
        found = OROLSRegressor(kernel, selection=selection).fit(X, factor * y).predict(new)
    except ScaleError:
        assert not 1e-8 <= factor <= 1e8
        return
    assert_allclose(found / factor, expected, rtol=1e-6)


@pytest.mark.thorough
@pytest.mark.costly
@every_selection
@pytest.mark.parametrize("factor", [1e-200, 1e-100, 1e-8, 1e8, 1e100, 1e200])
@pytest.mark.parametrize(
    "kernel", ["gaussian", "laplacian", "linear", Polynomial(3, coef0=0.0)], ids=str
)
def test_rows_of_any_size(selection, factor, kernel, request):
    if factor == 1e-100 and isinstance(kernel, Polynomial):
        reason = "the kernel is zero, by underflow, and nothing is said; nor by RLSRegressor"
        request.applymarker(pytest.mark.xfail(strict=True, reason=reason))
    expected = OROLSRegressor(kernel, selection=selection).fit(X, y).predict(new)
    try:
        found = OROLSRegressor(kernel, selection=selection).fit(factor * X, y)
    except ScaleError:
        assert not 1e-8 <= factor <= 1e8
        return
    assert_allclose(found.predict(factor * new), expected, rtol=1e-5)


@pytest.mark.parametrize("factor", [1e-20, 1e-6, 1e6, 1e20])
def test_kernels_of_any_size(factor):
    """ε follows the kernel, and λ its square."""
    K, K_new = (Gaussian(1.0)(rows, X) for rows in (X, new))
    expected = OROLSRegressor(Precomputed()).fit(K, y)
    found = OROLSRegressor(Precomputed()).fit(factor * K, y)
    assert_allclose(found.epsilon_, factor * expected.epsilon_, rtol=1e-9)
    assert_allclose(found.lambda_, factor**2 * expected.lambda_, rtol=1e-6)
    assert_allclose(found.predict(factor * K_new), expected.predict(K_new), rtol=1e-7)


@pytest.mark.parametrize("factor", [1e-100, 1e-6, 1e6, 1e100])
def test_weights_of_any_size(factor):
    weights = rng.uniform(0.5, 2.0, n)
    how = {"epsilon": 0.0, "stopping": 5}
    expected = OROLSRegressor(Gaussian(1.0), **how).fit(X, y, weights)
    found = OROLSRegressor(Gaussian(1.0), **how).fit(X, y, factor * weights)
    assert_allclose(found.predict(new), expected.predict(new), rtol=1e-9)


# --- refused ---


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("model", [OROLSRegressor(), OROLSClassifier()], ids=["numbers", "classes"])
def test_values_that_are_not_finite_are_refused(value, model):
    targets = y if isinstance(model, OROLSRegressor) else two
    bad = with_value(X, value)
    name = "NaN" if np.isnan(value) else "infinity"
    for rows in (bad, csr_array(bad)):
        with refused(ValueError, name):
            model.fit(rows, targets)
    with refused(ValueError, name):
        model.fit(X, with_value(targets.astype(float), value))
    with refused(ValueError, "sample_weight"):
        model.fit(X, targets, with_value(np.ones(n), value))
    with refused(ValueError, "sample_weight"):
        model.fit(X, targets, with_value(np.ones(n), -1.0))
    with refused(ValueError, "weights", "all weights are zero"):
        model.fit(X, targets, np.zeros(n))
    with refused(ValueError, name):
        model.fit(X, targets).predict(with_value(new, value))


PARAMETERS = {
    "no kernels": ({"kernel": []}, ["kernel is an empty list"]),
    "a width to be chosen of two": (
        {"kernel": ["gaussian", "linear"]},
        ['sigma="auto"', "2 kernels", '"median"'],
    ),
    "a number as a kernel": ({"kernel": 3}, ["kernel", "Got 3"]),
    "a number among kernels": ({"kernel": [Gaussian(1.0), 3]}, ["kernel", "3"]),
    "an unknown kernel": ({"kernel": "sigmoid"}, ["kernel", "Got 'sigmoid'"]),
    "an unknown kernel of two": ({"kernel": [Gaussian(1.0), "sigmoid"]}, ["sigmoid"]),
    "a class for a kernel": ({"kernel": Gaussian}, ["kernel", "instance of"]),
    "a negative width": ({"kernel": Gaussian(-1)}, ["Gaussian(sigma=-1)", "above zero"]),
    "a matrix among kernels": (
        {"kernel": [Precomputed(), Gaussian(1.0)]},
        ["precomputed kernel is the only one"],
    ),
    "relevances": ({"kernel": Gaussian(ard=True)}, ["ard=True", "ard=False"]),
    "a wrong nu": ({"kernel": Matern(nu=1)}, ["Matern(nu=1)"]),
    "stopping zero": ({"stopping": 0}, ["stopping", "Got 0"]),
    "stopping a half": ({"stopping": 0.5}, ["stopping", "Got 0.5"]),
    "stopping unknown": ({"stopping": "aic"}, ["stopping", "Got 'aic'"]),
    "stopping true": ({"stopping": True}, ["stopping", "True"]),
    "epsilon negative": ({"epsilon": -1}, ["epsilon", "Got -1"]),
    "epsilon NaN": ({"epsilon": np.nan}, ["epsilon", "Got nan"]),
    "epsilon infinite": ({"epsilon": np.inf}, ["epsilon", "inf"]),
    "epsilon true": ({"epsilon": True}, ["epsilon", "True"]),
    "epsilon text": ({"epsilon": "small"}, ["epsilon", "Got 'small'"]),
    "epsilon None": ({"epsilon": None}, ["epsilon", "Got None"]),
    "candidates zero": ({"candidates": 0}, ["candidates", "Got 0"]),
    "candidates text": ({"candidates": "all"}, ["candidates", "Got 'all'"]),
    "centers zero": ({"max_centers": 0}, ["max_centers", "Got 0"]),
    "centers 2.5": ({"max_centers": 2.5}, ["max_centers", "Got 2.5"]),
    "selection unknown": ({"selection": "x"}, ["selection", "Got 'x'"]),
    "update unknown": ({"lambda_update": "loo"}, ["lambda_update", "Got 'loo'"]),
    "update negative": ({"lambda_update": -0.1}, ["lambda_update", "Got -0.1"]),
    "update NaN": ({"lambda_update": np.nan}, ["lambda_update", "Got nan"]),
    "update infinite": ({"lambda_update": np.inf}, ["lambda_update", "inf"]),
    "update true": ({"lambda_update": True}, ["lambda_update", "True"]),
    "candidates true": ({"candidates": True}, ["candidates", "True"]),
    "centers true": ({"max_centers": np.True_}, ["max_centers", "True"]),
    "condition below one": ({"condition_limit": 0.5}, ["condition_limit", "Got 0.5"]),
    "fraction zero": ({"validation_fraction": 0.0}, ["validation_fraction", "Got 0.0"]),
    "fraction one": ({"validation_fraction": 1.0}, ["validation_fraction", "Got 1.0"]),
    "intercept text": ({"fit_intercept": "yes"}, ["fit_intercept", "Got 'yes'"]),
    "shared text": ({"shared_centers": "yes"}, ["shared_centers", "Got 'yes'"]),
    "memory unreadable": ({"memory_limit": "lots"}, ["memory_limit='lots'", '"2GiB"']),
    "random_state": ({"random_state": "x"}, ["random_state", "Got 'x'"]),
}


@pytest.fixture
def no_work(monkeypatch):
    """Whatever reaches the numerical part fails."""

    def reached(*given, **more):
        pytest.fail("the parameters were accepted")

    monkeypatch.setattr("squareone.greedy.fit_task.greedy_path", reached)


@pytest.mark.parametrize(
    ("estimator", "target"),
    [
        pytest.param(OROLSRegressor, y, id="regressor"),
        pytest.param(OROLSClassifier, two, id="classifier"),
    ],
)
@pytest.mark.parametrize(("parameters", "message"), table(PARAMETERS))
@pytest.mark.usefixtures("no_work")
def test_bad_parameters_are_refused_before_any_work(estimator, target, parameters, message):
    with refused((ValueError, TypeError), *message):
        estimator(**parameters).fit(X, target)


@pytest.mark.parametrize("coding", ["binary", 3, None])
def test_unknown_codings_are_refused(coding):
    with refused(ValueError, "coding", f"Got {coding!r}"):
        OROLSClassifier(coding=coding).fit(X, two)


def test_one_class_is_refused():
    with refused(ValueError, "class"):
        OROLSClassifier().fit(X, np.ones(n))


@pytest.mark.costly
@pytest.mark.parametrize("selection", ["sampled", "residual", "greedy"])
@pytest.mark.parametrize("levels", [1, 2, 3, 5])
def test_rows_that_repeat_are_one_center(levels, selection):
    """Of few levels a fit has no more functions than these: nothing is wild between them."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, levels, (200, 1)).astype(float)
        targets = rows[:, 0] + rng.standard_normal(200)
        model = OROLSRegressor(selection=selection, random_state=0).fit(rows, targets)
        assert model.n_centers_ <= max(levels - 1, 0)
        between = model.predict(np.linspace(-1.0, levels, 50)[:, None])
        assert np.abs(between).max() < 3.0 * levels
