"""Conjugate gradients say how far they came, and come as far as the rectangle does."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from squareone import RLSClassifier, RLSRegressor
from squareone import centers as selectors
from squareone.kernels import Gaussian
from squareone.planning import plan
from squareone.planning.machine_speed import KINDS, Machine, Rate
from squareone.rows import rows_of
from squareone.solvers import CenterBasis, Limits, PcgFactor
from squareone.solvers.exact.weighting import Weighting
from squareone.solvers.few_centers.conjugate_gradients import Progress, conjugate_gradients
from squareone.solvers.few_centers.preconditioner import Preconditioner
from squareone.solvers.krylov.normal_equations import unwatched
from tests.reference import brute_force

rng = np.random.default_rng(0)
n, d, m = 400, 3, 40
X = rng.standard_normal((n, d))
new = rng.standard_normal((9, d))
y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
weights = rng.uniform(0.5, 2.0, n)
own = np.arange(4, n, 10)
chosen = selectors.Given(X[own], indices=own)

both_intercepts = pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "none"])
weighted_or_not = pytest.mark.parametrize("w", [None, weights], ids=["unweighted", "weighted"])


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """A billion of everything in a second: none is measured, and no cache is touched."""
    rates = {f"{kind}-{bits}": Rate(1e9) for kind in KINDS for bits in (32, 64)}
    monkeypatch.setattr(plan, "this_machine", lambda: Machine(rates))


def fit(alpha=0.1, w=None, y=y, X=X, **more):
    settings = {"solver": "pcg", "centers": chosen, "random_state": 0, **more}
    return RLSRegressor(Gaussian(1.0), alpha, **settings).fit(X, y, w)


def factor(alpha, w=None, intercept=True, tol=1e-6, most=1000):
    basis = CenterBasis(Gaussian(1.0), X[own], np.dtype(float))
    weighting = Weighting.of(n, w, intercept, np.dtype(float))
    limits = Limits(tol, most, np.inf, unwatched)
    return PcgFactor(basis, rows_of(X), y[:, None], weighting, own, limits, 0)


def relative_residual(model, alpha, w, intercept):
    """Of (Z̃ᵀZ̃ + λ)a = Z̃ᵀỹ with Z = K_nm L⁻ᵀ, weighted and centred, from the coefficients."""
    K_nm = brute_force.kernel_matrix("gaussian", X, model.centers_, sigma=1.0)
    K_mm = brute_force.kernel_matrix("gaussian", model.centers_, model.centers_, sigma=1.0)
    L = np.linalg.cholesky(K_mm)
    Z = np.linalg.solve(L, K_nm.T).T
    w = np.ones(n) if w is None else w
    targets = y.copy()
    if intercept:
        Z = Z - np.average(Z, axis=0, weights=w)
        targets = targets - np.average(targets, weights=w)
    right = Z.T @ (w * targets)
    a = L.T @ model.dual_coef_
    left = right - Z.T @ (w * (Z @ a)) - alpha * a
    return np.linalg.norm(left) / np.linalg.norm(right)


# --- what is said about convergence ---


@both_intercepts
@weighted_or_not
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_the_residual_is_that_of_the_normal_equations(alpha, tol, w, intercept):
    model = fit(alpha, w, tol=tol, fit_intercept=intercept)
    expected = relative_residual(model, alpha, w, intercept)
    assert model.residual_ <= tol
    assert model.residual_ == pytest.approx(expected, rel=1e-3, abs=1e-12)
    assert model.n_iter_ >= 1


def test_a_finer_tolerance_takes_more_steps():
    steps = [fit(1e-3, tol=tol).n_iter_ for tol in (1e-1, 1e-4, 1e-8)]
    assert steps[0] < steps[1] < steps[2]


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("estimator", [RLSRegressor, RLSClassifier])
def test_too_few_iterations(most, estimator):
    targets = y if estimator is RLSRegressor else y > 0
    model = estimator(
        Gaussian(1.0), 1e-4, solver="pcg", centers=chosen, max_iter=most, tol=1e-9, random_state=0
    )
    if estimator is RLSClassifier:
        model.set_params(calibration=None)
    with pytest.warns(ConvergenceWarning, match=rf"pcg stopped after {most} iter") as caught:
        model.fit(X, targets)
    text = str(next(w.message for w in caught if w.category is ConvergenceWarning))
    said = float(re.search(r"residual of ([\d.e+-]+);", text).group(1))
    assert said == pytest.approx(model.residual_, rel=0.1)
    assert model.residual_ > 1e-9
    assert model.n_iter_ == most
    assert "tol=1e-09" in text
    assert "Raise max_iter" in text


def test_no_warning_where_it_converged():
    assert fit(1e-2, tol=1e-3).residual_ <= 1e-3  # warnings are errors here


# --- solutions ---


@both_intercepts
@weighted_or_not
def test_solutions_of_the_factor(w, intercept):
    found = factor(0.1, w, intercept, tol=1e-12)
    C, b = found.coefficients(np.array([0.1]))
    model = RLSRegressor(
        Gaussian(1.0), 0.1, solver="rectangle", centers=chosen, fit_intercept=intercept
    ).fit(X, y, w)
    K = brute_force.kernel_matrix("gaussian", new, X[own], sigma=1.0)
    assert_allclose(K @ C[:, 0] + b, model.predict(new), atol=1e-8)


def test_warm_starts_need_fewer_iterations():
    cold = factor(0.1, tol=1e-8)
    cold.solution(0.1)
    warm = factor(0.1, tol=1e-8)
    warm.solution(0.101)
    before = warm.iterations
    warm.solution(0.1)
    assert 0 < warm.iterations - before < cold.iterations
    assert_allclose(warm.solution(0.1), cold.solution(0.1), rtol=1e-4, atol=1e-6)
    before = warm.iterations
    warm.solution(0.1)  # known
    assert warm.iterations == before


def test_progress_goes_on_where_it_was():
    A = np.diag(np.geomspace(1.0, 1e4, 30))
    right = np.ones((30, 2))
    kept = []

    def keep(progress):
        kept.append(Progress.from_state(progress.state()))

    whole, residuals, steps = conjugate_gradients(
        lambda B: A @ B, lambda B: B.copy(), right, 1e-10, 500, keep=keep
    )
    assert (residuals <= 1e-10).all()
    assert_allclose(A @ whole, right, rtol=1e-6)
    assert kept[5].steps == 6
    again, _, total = conjugate_gradients(
        lambda B: A @ B, lambda B: B.copy(), right, 1e-10, 500, before=kept[5]
    )
    assert_allclose(again, whole, rtol=1e-12)
    assert total == steps


def test_a_start_that_is_worse_than_nothing_is_dropped():
    A = np.diag([1.0, 2.0, 3.0])
    right = np.ones((3, 1))
    found, _, steps = conjugate_gradients(
        lambda B: A @ B, lambda B: B.copy(), right, 1e-12, 10, start=np.full((3, 1), 1e9)
    )
    assert steps <= 3
    assert_allclose(found[:, 0], 1.0 / np.diag(A), rtol=1e-10)


@pytest.mark.parametrize("zeros", [0, 1])
def test_columns_of_zeros(zeros):
    targets = np.column_stack([y, np.zeros(n)])
    model = fit(y=targets, tol=1e-8, fit_intercept=bool(zeros))
    assert_allclose(model.predict(new)[:, 1], 0.0, atol=1e-14)
    assert np.isfinite(model.residual_)


def test_more_iterations_are_not_needed_for_more_centers_than_matter():
    """The preconditioner knows the spectrum: steps do not grow with the condition."""
    steps = [fit(alpha, tol=1e-6).n_iter_ for alpha in (1e-4, 1e-2, 1.0)]
    assert max(steps) <= 40


# --- leave-one-out ---


@pytest.fixture(scope="module")
def many():
    local = np.random.default_rng(5)
    rows = local.standard_normal((2000, 3))
    targets = np.sin(2 * rows[:, 0]) + rows[:, 1] + 0.3 * local.standard_normal(2000)
    numbers = np.arange(7, 2000, 16)
    return rows, targets, selectors.Given(rows[numbers], indices=numbers)


@both_intercepts
@pytest.mark.parametrize("alpha", [0.01, 0.1, 1.0, 10.0])
def test_leave_one_out_is_near_that_of_the_rectangle(alpha, intercept, many):
    rows, targets, given = many
    models = [
        RLSRegressor(
            Gaussian(1.0),
            alpha,
            solver=solver,
            centers=given,
            fit_intercept=intercept,
            tol=1e-6,
            random_state=0,
            loo_rows=None,
        ).fit(rows, targets)
        for solver in ("rectangle", "pcg")
    ]
    exact, estimated = models
    assert estimated.best_score_ == pytest.approx(exact.best_score_, rel=0.05)
    assert estimated.effective_dof_ == pytest.approx(exact.effective_dof_, rel=0.06)
    assert estimated.effective_dof_ <= len(estimated.centers_) + intercept
    errors, expected = estimated.loo_residuals_, exact.loo_residuals_
    assert np.linalg.norm(errors - expected) < 0.12 * np.linalg.norm(expected)
    assert np.abs(estimated.leverages_ - exact.leverages_).mean() < 0.7 * exact.leverages_.mean()
    assert estimated.leverages_.sum() == pytest.approx(estimated.effective_dof_, rel=1e-6)


def test_about_the_same_alpha_is_chosen(many):
    """Within one of its neighbours: their errors are nearly the same."""
    rows, targets, given = many
    grid = np.geomspace(1e-3, 1e3, 7)
    settings = {"centers": given, "random_state": 0, "tol": 1e-5}
    exact, estimated = (
        RLSRegressor(Gaussian(1.0), grid, solver=solver, **settings).fit(rows, targets)
        for solver in ("rectangle", "pcg")
    )
    assert 0.05 < estimated.alpha_ / exact.alpha_ < 20.0
    assert_allclose(estimated.path_["score"], exact.path_["score"], rtol=0.05)


def test_folds_are_not_estimated():
    settings = {"centers": chosen, "cv": KFold(3), "tol": 1e-10}
    exact, iterated = (
        RLSRegressor(Gaussian(1.0), [0.1, 1.0], solver=solver, **settings).fit(X, y, weights)
        for solver in ("rectangle", "pcg")
    )
    assert_allclose(iterated.path_["score"], exact.path_["score"], rtol=1e-6)


def test_the_plan_says_that_it_is_estimated():
    model = fit([0.1, 1.0])
    assert model.plan_.estimated
    assert "leave-one-out estimated over" in str(model.plan_)
    assert not fit([0.1, 1.0], solver="rectangle").plan_.estimated


def test_estimates_depend_on_the_random_state_alone():
    first, again, other = (fit(0.1, random_state=seed).leverages_ for seed in (0, 0, 1))
    assert_allclose(first, again, rtol=1e-12)
    assert np.abs(first - other).max() > 0


def test_leverages_are_possible_ones():
    for alpha in (1e-6, 1e-3, 1.0, 1e3):
        found = fit(alpha, tol=1e-3, max_iter=3000).leverages_
        assert (found > -1e-9).all()
        assert (found < 1.0 + 1e-9).all()


def test_float32_is_near_float64():
    single, double = (
        fit(1.0, X=X.astype(dtype), tol=1e-5, centers=X[own].astype(dtype))
        for dtype in (np.float32, np.float64)
    )
    found = single.predict(new.astype(np.float32))
    assert found.dtype == np.float32
    assert_allclose(found, double.predict(new), atol=1e-3)


@pytest.mark.parametrize("alpha", [1e-9, 1e-3, 1.0])
@pytest.mark.parametrize("sigma", [0.7, 2.0])
def test_rounding_is_expected_by_the_condition(alpha, sigma):
    """That of the system itself: a small λ does no harm where no direction is as small."""
    some = np.random.default_rng(0).standard_normal((400, 3))
    basis = CenterBasis(Gaussian(sigma), some[:30], np.dtype(float))
    weighting, rows = Weighting.of(400, None, True, np.dtype(float)), rows_of(some)
    limits = Limits(1e-10, 1000, np.inf, unwatched)
    factor = PcgFactor(basis, rows, some[:, :1], weighting, np.arange(30), limits, 0)
    Z = np.linalg.solve(basis.factor, basis.values(rows).T).T
    Z -= Z.mean(axis=0)
    values = np.linalg.eigvalsh(Z.T @ Z)
    expected = np.finfo(float).eps * (values[-1] + alpha) / (values[0] + alpha)
    assert expected / 3.0 < factor.error_estimate(alpha) < 30.0 * expected
    assert factor.error_estimate(0.0) == np.inf


@pytest.mark.parametrize("alpha", [1e-14, 1e-6])
def test_a_small_alpha_counts_where_directions_are_smaller(alpha):
    """A preconditioner in float32 does not know these, and must not say that there are none."""
    some = np.random.default_rng(0).standard_normal((400, 2))
    basis = CenterBasis(Gaussian(2.0), some[:60], np.dtype(float))
    weighting, limits = (
        Weighting.of(400, None, True, np.dtype(float)),
        Limits(1e-4, 50, np.inf, unwatched),
    )
    factor = PcgFactor(basis, rows_of(some), some[:, :1], weighting, np.arange(60), limits, 0)
    eps = np.finfo(float).eps
    assert factor.error_estimate(alpha) == pytest.approx(eps * factor.largest / alpha, rel=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", [1e40, 1e300])
def test_a_huge_alpha_leaves_the_mean(alpha, dtype):
    rows, t = X[:100].astype(dtype), y[:100].astype(dtype)
    model = RLSRegressor(Gaussian(1.0), alpha=alpha, solver="pcg", centers=10).fit(rows, t)
    assert_allclose(model.predict(rows), t.mean(), rtol=1e-4)


def test_no_center_is_left():
    nothing = selectors.Given(np.zeros((3, X.shape[1])))
    model = RLSRegressor("linear", alpha=1.0, solver="pcg", centers=nothing).fit(X, y)
    assert model.dropped_centers_.size == 3
    assert_allclose(model.predict(X), np.mean(y))


def test_what_pcg_does_not_know():
    model = fit(0.1)
    with pytest.raises(AttributeError, match=r'pcg .*solver="rectangle"'):
        _ = model.log_marginal_likelihood_


@pytest.mark.parametrize("sigma", [1.0, 5.0])
def test_a_preconditioner_is_as_exact_as_float32_holds(sigma):
    """Also where dividing by the factor of the centers multiplies what rounding does."""
    basis = CenterBasis(Gaussian(sigma), X[own], np.dtype(float))
    found = Preconditioner(basis, rows_of(X), None, 1.0, False, None)
    Z = np.linalg.solve(basis.factor, Gaussian(sigma)(basis.points, X)).T
    right = rng.standard_normal((basis.size, 2))
    solution = found.solve(1e-2, right)
    residual = Z.T @ (Z @ solution) + 1e-2 * solution - right
    assert np.abs(residual).max() < 1e-2 * np.abs(right).max()
