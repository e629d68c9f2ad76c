"""The rectangle, and its relatives, where centers or numbers are hard."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone import RLSRegressor
from squareone import centers as selectors
from squareone.errors import IllConditionedWarning, ScaleError
from squareone.kernels import Gaussian, Laplacian, Linear, Polynomial
from squareone.rows import rows_of
from squareone.solvers import CenterBasis, RectangleFactor
from squareone.solvers.exact.weighting import Weighting
from tests.reference import brute_force, centers

rng = np.random.default_rng(0)
n, d, m = 60, 3, 12
X = rng.standard_normal((n, d))
new = rng.standard_normal((9, d))
y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
own = np.arange(2, n, 5)  # m rows

both_intercepts = pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "none"])
APPROXIMATE = ["rectangle", "nystrom", "subset", "pcg"]
every_solver = pytest.mark.parametrize("solver", APPROXIMATE)
quiet = pytest.mark.filterwarnings(
    "ignore::squareone.errors.EstimateWarning", "ignore::squareone.errors.IllConditionedWarning"
)


def given(rows, points=X):
    return selectors.Given(points[rows], indices=rows)


def matrices(X, rows, sigma=1.0, others=None):
    """K_nm, K_mm, and K between other rows and the centers."""
    K = brute_force.kernel_matrix("gaussian", X, X[rows], sigma=sigma)
    new_rows = X if others is None else others
    return K, K[rows], brute_force.kernel_matrix("gaussian", new_rows, X[rows], sigma=sigma)


def fit(solver="rectangle", alpha=0.1, centers=None, kernel=None, X=X, y=y, **more):
    centers = given(own, X) if centers is None else centers
    more = {"tol": 1e-9, **more}
    return RLSRegressor(kernel or Gaussian(1.0), alpha, solver=solver, centers=centers, **more).fit(
        X, y
    )


# --- centers that depend on each other ---


@both_intercepts
@pytest.mark.parametrize("solver", ["rectangle", "pcg", "nystrom"])
def test_repeated_points_change_nothing(solver, intercept):
    points = np.vstack([X[own] + 0.1, X[own][:4] + 0.1])
    once = fit(solver, centers=points[:m], fit_intercept=intercept)
    twice = fit(solver, centers=points, fit_intercept=intercept)
    assert_allclose(twice.predict(new), once.predict(new), atol=1e-6)
    assert len(twice.dropped_centers_) == 4
    assert len(once.dropped_centers_) == 0
    if solver != "nystrom":
        assert len(twice.centers_) == len(twice.dual_coef_) == m


@both_intercepts
def test_a_singular_matrix_between_centers(intercept):
    """More centers than a polynomial has dimensions."""
    kernel, more = Polynomial(degree=2, gamma=1.0, coef0=1.0), given(np.arange(30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IllConditionedWarning)
        model = fit(kernel=kernel, centers=more, alpha=1.0, fit_intercept=intercept)
    exact = RLSRegressor(kernel, 1.0, solver="cholesky", fit_intercept=intercept).fit(X, y)
    assert len(model.dropped_centers_) == 20  # of 30, with 10 monomials of three variables
    assert_allclose(model.predict(new), exact.predict(new), atol=1e-7)
    assert model.explained_trace_ == pytest.approx(1.0)


@every_solver
@both_intercepts
@quiet
def test_one_center(solver, intercept):
    for rows in (np.array([7]), np.array([0]), np.array([n - 1])):
        model = fit(solver, centers=given(rows), fit_intercept=intercept)
        K, K_mm, K_new = matrices(X, rows, others=new)
        if solver in ("rectangle", "pcg"):
            expected = centers.rectangle_values(K, K_mm, K_new, y[:, None], 0.1, None, intercept)
            assert_allclose(model.predict(new), expected[:, 0], atol=1e-7)
        assert np.isfinite(model.predict(new)).all()
    model = fit("rectangle", centers=given(np.array([7])), fit_intercept=intercept)
    values = centers.rectangle_leave_one_out_values(
        np.array([7]), *matrices(X, np.array([7]))[:2], y[:, None], 0.1, None, intercept
    )
    assert_allclose(model.loo_predictions_, values[:, 0], atol=1e-9)


@every_solver
@quiet
def test_one_row(solver):
    model = fit(solver, X=X[:1], y=y[:1], centers=1, kernel=Gaussian(1.0))
    assert_allclose(model.predict(X[:1]), y[:1])  # the intercept
    with pytest.raises(AttributeError, match="one row"):
        _ = model.loo_predictions_
    model = fit(solver, X=X[:1], y=y[:1], centers=1, fit_intercept=False)
    assert_allclose(model.predict(X[:1]), y[:1] / 1.1)


@every_solver
@quiet
def test_two_rows(solver):
    model = fit(solver, X=X[:2], y=y[:2], centers=2)
    exact = RLSRegressor(Gaussian(1.0), 0.1, solver="cholesky").fit(X[:2], y[:2])
    assert_allclose(model.predict(new), exact.predict(new), atol=1e-7)


@every_solver
@pytest.mark.parametrize("alpha", [0.1, [0.1, 1.0], "auto"], ids=str)
@quiet
def test_constant_targets(solver, alpha):
    model = fit(solver, alpha, y=np.full(n, 3.5))
    assert_allclose(model.predict(new), 3.5, rtol=1e-9)
    model = fit(solver, alpha, y=np.zeros(n), fit_intercept=False)
    assert_allclose(model.predict(new), 0.0, atol=1e-12)


@every_solver
@pytest.mark.parametrize("alpha", [0.1, "auto"])
@quiet
def test_equal_rows(solver, alpha):
    """The kernel tells nothing apart: the mean is all there is."""
    same = np.ones((n, d))
    model = fit(solver, alpha, X=same, centers=5, random_state=0)
    mean = y[model.center_indices_].mean() if solver == "subset" else y.mean()
    assert_allclose(model.predict(same[:3]), mean, rtol=1e-6)
    if solver in ("rectangle", "pcg"):
        assert len(model.centers_) == 1
        assert len(model.dropped_centers_) == 4


@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-9, 1e-12])
@both_intercepts
@quiet
def test_clusters(width, intercept):
    """Whatever is kept of them, the fit is that of all centers."""
    local = np.random.default_rng(1)
    middles = local.uniform(-3, 3, size=(6, 2))
    rows = np.repeat(middles, 15, axis=0) + width * local.standard_normal((90, 2))
    targets = np.sin(rows[:, 0]) + 0.1 * local.standard_normal(90)
    chosen = np.arange(0, 90, 4)
    model = fit(X=rows, y=targets, alpha=0.5, centers=given(chosen, rows), fit_intercept=intercept)
    K, K_mm, K_new = matrices(rows, chosen)
    expected = centers.rectangle_values(K, K_mm, K_new, targets[:, None], 0.5, None, intercept)
    assert_allclose(model.predict(rows), expected[:, 0], atol=1e-5)
    kept = model.center_indices_
    assert sorted([*kept, *chosen[np.asarray(model.dropped_centers_, int)]]) == sorted(chosen)
    assert np.isfinite(model.loo_predictions_).all()
    assert (np.abs(model.leverages_) <= 1.0 + 1e-6).all()


@pytest.mark.parametrize("alpha", [1e-3, 1.0])
@both_intercepts
@quiet
def test_a_kernel_a_hundred_times_as_wide_as_the_rows(alpha, intercept):
    sigma = 100.0 * X.std()
    chosen = given(np.arange(40))
    model = fit(alpha=alpha, kernel=Gaussian(sigma), centers=chosen, fit_intercept=intercept)
    exact = RLSRegressor(Gaussian(sigma), alpha, solver="spectral", fit_intercept=intercept)
    exact.fit(X, y)
    assert len(model.dropped_centers_) > 0
    assert_allclose(model.predict(new), exact.predict(new), atol=1e-4)
    assert_allclose(model.loo_predictions_, exact.loo_predictions_, atol=1e-3)


# --- λ from one end to the other ---


@both_intercepts
@pytest.mark.parametrize("alpha", 10.0 ** np.arange(-12, 13, 4))
@quiet
def test_every_size_of_alpha(alpha, intercept):
    model = fit(alpha=alpha, fit_intercept=intercept)
    K, K_mm, K_new = matrices(X, own, others=new)
    problem = (y[:, None], alpha, None, intercept)
    expected = centers.rectangle_values(K, K_mm, K_new, *problem)[:, 0]
    assert_allclose(model.predict(new), expected, rtol=1e-5, atol=1e-9)
    values = centers.rectangle_leave_one_out_values(own, K, K_mm, *problem)[:, 0]
    assert_allclose(model.loo_predictions_, values, rtol=1e-5, atol=1e-8)
    assert model.effective_dof_ <= m + intercept + 1e-6


def test_limits_of_alpha():
    path = fit(alpha=10.0 ** np.arange(-12.0, 13.0, 2), criterion="gcv").path_
    assert (np.diff(path["effective_dof"]) < 0).all()
    assert path["effective_dof"][-1] == pytest.approx(1.0, abs=1e-9)  # the intercept
    assert path["effective_dof"][0] == pytest.approx(m + 1, abs=1e-4)
    assert_allclose(fit(alpha=1e12).predict(new), y.mean(), rtol=1e-8)


# --- automatic λ ---


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("solver", ["rectangle", "pcg", "nystrom"])
def test_automatic_alpha_without_noise(seed, solver):
    """No look along the way ends in NaN, and what is chosen needs no warning."""
    local = np.random.default_rng(seed)
    rows = local.standard_normal((60, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RLSRegressor(Gaussian(1.5), solver=solver).fit(rows, np.sin(rows[:, 0]))
    assert np.isfinite(model.path_["score"]).all()


# --- units ---


@pytest.mark.parametrize("solver", ["rectangle", "pcg", "nystrom", "subset"])
@pytest.mark.parametrize("scale", [1e-140, 1e-30, 1e30, 1e140])
@quiet
def test_units_of_targets(solver, scale):
    expected = fit(solver).predict(new)
    found = fit(solver, y=scale * y).predict(new)
    assert_allclose(found / scale, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("solver", ["rectangle", "pcg", "nystrom", "subset"])
@pytest.mark.parametrize("scale", [1e-140, 1e-30, 1e30, 1e140])
@quiet
def test_units_of_rows(solver, scale):
    expected = fit(solver).predict(new)
    found = fit(solver, X=scale * X, kernel=Gaussian(scale)).predict(scale * new)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("solver", ["rectangle", "pcg", "nystrom"])
@pytest.mark.parametrize("scale", [1e-120, 1e-20, 1e20, 1e120])
@quiet
def test_units_of_the_kernel(solver, scale):
    """α times the kernel with α times λ is the same function."""
    expected = fit(solver).predict(new)
    found = fit(solver, 0.1 * scale, kernel=scale * Gaussian(1.0)).predict(new)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@every_solver
def test_out_of_scale(solver):
    for scale in (1e160, 1e-160):
        with pytest.raises(ScaleError, match="values of X are too"):
            fit(solver, X=scale * X)
        with pytest.raises(ScaleError, match="values of y are too"):
            fit(solver, y=scale * y)


# --- single precision ---


@both_intercepts
@pytest.mark.parametrize("alpha", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(1.0), Linear()], ids=str)
@quiet
def test_single_precision(kernel, alpha, intercept):
    single, double = (
        fit(alpha=alpha, kernel=kernel, X=X.astype(dtype), fit_intercept=intercept)
        for dtype in (np.float32, np.float64)
    )
    assert single.predict(new.astype(np.float32)).dtype == np.float32
    K = fit(alpha=alpha, kernel=kernel).kernel_(X[own], X[own])
    positive = np.linalg.eigvalsh(K)
    positive = positive[positive > 1e-5 * positive[-1]]
    condition = positive[-1] / positive[0] + n * positive[-1] / alpha
    atol = np.finfo(np.float32).eps * condition * np.abs(y).max()
    assert_allclose(single.predict(new.astype(np.float32)), double.predict(new), atol=atol)
    assert_allclose(single.loo_predictions_, double.loo_predictions_, atol=10 * atol)


# --- the factor by itself ---


def test_the_factor_of_the_centers():
    basis = CenterBasis(Gaussian(1.0), X[own], np.dtype(float))
    K_mm = matrices(X, own)[1]
    assert_allclose(basis.factor @ basis.factor.T, K_mm, atol=1e-14)
    assert_array_equal(np.triu(basis.factor, 1), 0.0)
    assert_array_equal(basis.kept, np.arange(m))
    assert 0.1 < basis.condition / np.linalg.cond(K_mm, 1) < 10


def test_pivots_keep_what_is_independent():
    rows = np.r_[own, own[:3]]
    basis = CenterBasis(Gaussian(1.0), X[rows], np.dtype(float))
    assert basis.size == m
    assert len(set(rows[basis.kept])) == m
    K = brute_force.kernel_matrix("gaussian", X[rows][basis.kept], X[rows][basis.kept], sigma=1.0)
    assert_allclose(basis.factor @ basis.factor.T, K, atol=1e-12)
    assert_array_equal(np.sort(np.r_[basis.kept, basis.dropped]), np.arange(m + 3))
    assert_array_equal(rows_of(X).X[rows][basis.kept], basis.points)


def test_all_rows_have_the_spectrum_of_the_kernel_matrix():
    every = np.arange(n)
    factor = RectangleFactor(
        CenterBasis(Gaussian(0.5), X, np.dtype(float)),
        rows_of(X),
        y[:, None],
        Weighting.of(n, None, False, np.dtype(float)),
        every,
    )
    K = brute_force.kernel_matrix("gaussian", X, X, sigma=0.5)
    values = np.linalg.eigvalsh(K)
    assert factor.largest == pytest.approx(values[-1], rel=1e-9)
    dof = factor.degrees_of_freedom(np.array([0.1, 10.0]))
    assert_allclose(dof, [(values / (values + a)).sum() for a in (0.1, 10.0)], rtol=1e-9)
