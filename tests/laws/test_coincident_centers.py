"""Centers that coincide: the function of one goes only with the last row that carries it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold

from squareone import RLSRegressor
from squareone.centers import Given
from squareone.kernels import Gaussian
from tests.laws.cases import OF_ALL_ROWS
from tests.reference import brute_force, centers

WIDTH = 0.3
every_solver = pytest.mark.parametrize("solver", OF_ALL_ROWS)
FAR_AND_NEAR = [1e-12, 1e-9, 3e-8, 1e-7, 1e-3]
apart_by = pytest.mark.parametrize(
    "apart",
    [0.0, 1e-8, 1e-5, *[pytest.param(each, marks=pytest.mark.thorough) for each in FAR_AND_NEAR]],
)
with_and_without_intercept = pytest.mark.parametrize("intercept", [True, False])


class Pairs:
    """Rows (40, 2), each there twice, up to a distance; centers are some of them."""

    def __init__(self, apart=0.0, rows=None, weighted=False, seed=0):
        rng = np.random.default_rng(seed)
        self.apart = apart
        self.X = rng.standard_normal((40, 2))
        turn = rng.standard_normal((20, 2))
        turn /= np.linalg.norm(turn, axis=1, keepdims=True)
        self.X[20:] = self.X[:20] + apart * turn
        self.y = np.sin(2 * self.X[:, 0]) + 0.05 * rng.standard_normal(40)
        self.rows = np.arange(40) if rows is None else np.asarray(rows)
        self.weights = rng.uniform(0.5, 2.0, 40) if weighted else None
        self.X_new = rng.standard_normal((5, 2))
        self.K = brute_force.kernel_matrix("gaussian", self.X, self.X, sigma=WIDTH)
        self.K_new = brute_force.kernel_matrix("gaussian", self.X_new, self.X, sigma=WIDTH)

    def matrices(self):
        return self.K[:, self.rows], self.K[np.ix_(self.rows, self.rows)]

    def functions(self, stay, X):
        """Those of centers ``stay`` at rows X (n, m), and products (m, m): a pair is k(·, z) and
        the difference of both over its length, which keeps its digits at any distance."""
        base, steps = [], []
        for i in stay:
            twin = i >= 20 and i - 20 in stay
            base.append(self.X[i - 20 if twin else i])
            steps.append((self.X[i] - self.X[i - 20]) / self.apart if twin else np.zeros(2))
        Z, D = np.array(base), np.array(steps)
        pairs = D.any(axis=1)
        step = self.apart * D

        def change(A):
            """By which the exponent at rows A (n, m) changes as a center moves by its step."""
            return (A @ step.T - np.sum((Z + step / 2) * step, axis=1)) / WIDTH**2

        K = brute_force.kernel_matrix("gaussian", X, Z, sigma=WIDTH)
        F = np.where(pairs, K * np.expm1(change(X)) / self.apart, K)
        G = brute_force.kernel_matrix("gaussian", Z, Z, sigma=WIDTH)
        right = np.expm1(change(Z))
        left, both = right.T, np.expm1(step @ step.T / WIDTH**2)
        second = left * right + (1.0 + left) * (1.0 + right) * both
        one, two = G * right / self.apart, G * second / self.apart**2
        return F, np.where(pairs[:, None] & pairs, two, np.where(pairs, one, 0)) + np.where(
            pairs, 0, np.where(pairs[:, None], one.T, G)
        )

    def fit(self, solver, alpha, **settings):
        model = RLSRegressor(
            Gaussian(WIDTH),
            alpha,
            solver=solver,
            centers=Given(self.X[self.rows], indices=self.rows),
            loo_rows=None,
            tol=1e-13,
            **settings,
        )
        return model.fit(self.X, self.y, self.weights)

    def without(self, solver, removed, new, alpha, intercept):
        """Predictions at new rows of a refit without rows ``removed`` and their centers."""
        problem = (self.y[:, None], alpha, self.weights, intercept)
        if self.apart > 0:
            stay = [i for i in self.rows if i not in removed]
            K_nm, K_mm = self.functions(stay, self.X)
            none = np.full(len(stay), centers.NO_ROW)  # those of rows removed are gone already
            if solver == "nystrom":
                K_new = self.K_new if new is None else self.K[new]
                return centers.nystrom_without(removed, none, K_nm, K_mm, K_new, *problem)
            K_new, _ = self.functions(stay, self.X_new if new is None else self.X[new])
            return centers.rectangle_without(removed, none, K_nm, K_mm, K_new, *problem)
        K_nm, K_mm = self.matrices()
        if solver == "nystrom":
            K_new = self.K[new] if new is not None else self.K_new
            return centers.nystrom_without(removed, self.rows, K_nm, K_mm, K_new, *problem)
        K_new = (self.K[new] if new is not None else self.K_new)[:, self.rows]
        return centers.rectangle_without(removed, self.rows, K_nm, K_mm, K_new, *problem)

    def leave_one_out(self, solver, alpha, intercept):
        return np.array(
            [self.without(solver, np.array([i]), [i], alpha, intercept)[0, 0] for i in range(40)]
        )


def tolerance(solver, apart, alpha):
    """Rounding; for a pair the distance at which both are taken, over the width, where that is
    further than they are, or the digits that their difference loses. Nyström's coefficients are
    divided by λ."""
    lost = 0.0
    if apart > 0:
        lost = 2e-6 if apart < 1e-5 * WIDTH else np.finfo(float).eps * (WIDTH / apart) ** 2
    # the leverages of pcg come from a preconditioner in float32
    base = np.finfo(np.float32).eps / alpha if solver == "pcg" else 1e-9
    return base + 20 * lost / (alpha if solver == "nystrom" else 1)


# all rows; a few whole pairs, a single one, and one of a pair
CHOICES = [None, [0, 20, 3, 23, 7, 11, 35]]


@every_solver
@apart_by
@with_and_without_intercept
@pytest.mark.parametrize("rows", CHOICES, ids=["all", "some"])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_a_refit(solver, apart, intercept, rows, weighted):
    case = Pairs(apart, rows, weighted)
    for alpha in (1e-3, 0.1):
        model = case.fit(solver, alpha, fit_intercept=intercept)
        expected = case.leave_one_out(solver, alpha, intercept)
        assert_allclose(model.loo_predictions_, expected, atol=tolerance(solver, apart, alpha))


@every_solver
@apart_by
@pytest.mark.parametrize("rows", CHOICES, ids=["all", "some"])
@pytest.mark.parametrize("shuffle", [False, True], ids=["apart", "mixed"])
def test_folds_are_refits(solver, apart, rows, shuffle):
    """Folds of the first half leave one of each pair; mixed ones take some pairs as a whole."""
    case = Pairs(apart, rows)
    splits = list(KFold(2, shuffle=shuffle, random_state=0 if shuffle else None).split(case.X))
    model = case.fit(solver, [1e-3, 0.1], cv=splits)
    for alpha, score in zip([1e-3, 0.1], model.path_["score"], strict=True):
        squares = [
            np.square(case.y[test] - case.without(solver, test, test, alpha, True)[:, 0])
            for _, test in splits
        ]
        expected = np.concatenate(squares).mean()
        assert_allclose(-score, expected, rtol=1e-6 + 2 * tolerance(solver, apart, alpha))


@every_solver
@apart_by
@with_and_without_intercept
def test_models_without_a_row_at_new_rows(solver, apart, intercept):
    case = Pairs(apart, CHOICES[1])
    alpha = 0.1
    model = case.fit(solver, alpha, fit_intercept=intercept)
    values = model.predict(case.X_new)
    expected = np.array(
        [
            case.without(solver, np.array([i]), None, alpha, intercept)[:, 0] - values
            for i in range(40)
        ]
    )
    atol = 2 * tolerance(solver, apart, alpha)
    assert_allclose(model.influence(case.X_new), expected.T, atol=atol)


def test_lambda_is_that_of_all_rows():
    """With all rows as centers and each there twice the fit is the exact one, and so is λ."""
    case = Pairs()
    exact = RLSRegressor(Gaussian(WIDTH)).fit(case.X, case.y)
    for solver in OF_ALL_ROWS:
        model = case.fit(solver, "auto")
        assert_allclose(model.best_score_, exact.best_score_, rtol=0.02)


@every_solver
def test_a_twin_that_is_no_row_stays(solver):
    """A center at the same point that is no row keeps the function when the row is left out."""
    case = Pairs(rows=[0, 3, 7, 11])
    K = brute_force.kernel_matrix("gaussian", case.X, case.X, sigma=WIDTH)
    points, rows = case.X[[0, 3, 7, 11, 0]], np.array([0, 3, 7, 11, centers.NO_ROW])
    model = RLSRegressor(
        Gaussian(WIDTH),
        0.1,
        solver=solver,
        centers=Given(points, indices=rows),
        loo_rows=None,
        tol=1e-13,
    ).fit(case.X, case.y)
    at = [0, 3, 7, 11, 0]
    K_nm, K_mm = K[:, at], K[np.ix_(at, at)]
    problem, removed = (case.y[:, None], 0.1, None, True), np.array([0])
    if solver == "nystrom":
        expected = centers.nystrom_without(removed, rows, K_nm, K_mm, K[[0]], *problem)
    else:
        expected = centers.rectangle_without(removed, rows, K_nm, K_mm, K_nm[[0]], *problem)
    assert model.loo_predictions_[0] == pytest.approx(expected[0, 0], abs=1e-6)


@every_solver
def test_a_row_that_is_a_center_twice_takes_both_along(solver):
    """Points that are given twice are one row, and gone without it."""
    pairs = Pairs(rows=np.arange(20), seed=5)
    X, y = pairs.X[:20], pairs.y[:20]
    settings = {"solver": solver, "loo_rows": None}
    twice = RLSRegressor(Gaussian(WIDTH), 1.0, centers=np.vstack([X[:8], X[:3]]), **settings)
    found = twice.fit(X, y).loo_predictions_
    for i in (0, 2, 5, 10):
        others = [j for j in range(8) if j != i]
        rest = np.arange(20) != i
        again = RLSRegressor(Gaussian(WIDTH), 1.0, centers=X[others], **settings)
        assert_allclose(found[i], again.fit(X[rest], y[rest]).predict(X[[i]])[0], atol=1e-6)
