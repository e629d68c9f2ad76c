"""Both hinge losses against a quadratic program, at their limits, and without each row."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from squareone.hinge import column_solution, kernel_systems
from squareone.hinge.box_newton import BoxPoint
from squareone.hinge.certificates import ColumnProblem
from squareone.hinge.column_solution import solve_column, start_from, start_from_few
from squareone.hinge.kernel_systems import FeatureSystem, MatrixSystem
from squareone.hinge.left_out_values import estimated_values, left_out_values
from tests.reference import hinge_loss as reference

LOSSES = pytest.mark.parametrize("squared", [False, True], ids=["hinge", "squared hinge"])
INTERCEPTS = pytest.mark.parametrize("intercept", [False, True], ids=["none", "free"])


def problem_of(seed, n=20, singular=False, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    square = np.square(X[:, None] - X).sum(axis=-1)
    K = X @ X.T + 1.0 if singular else np.exp(-square / 2.0) + 0.5
    return X, K, y, rng.uniform(0.3, 1.5, n) if weighted else np.ones(n)


def solved(K, y, w, alpha, squared, intercept, tolerance=1e-12, system=None):
    start = BoxPoint(np.zeros(y.size), np.zeros(y.size))
    problem = ColumnProblem(y, w, alpha, squared, intercept)
    return solve_column(system or MatrixSystem(K), problem, start, tolerance)


@LOSSES
@INTERCEPTS
@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("alpha", [10.0, 0.3, 1e-3])
def test_a_quadratic_program_has_the_same_values(alpha, singular, intercept, squared):
    for seed in range(3):
        _, K, y, w = problem_of(seed, singular=singular, weighted=seed > 0)
        found = solved(K, y, w, alpha, squared, intercept)
        beta, b = reference.fit(K, y, alpha, squared=squared, weights=w, intercept=intercept)
        best = reference.objective(K, y, beta, b, alpha, squared=squared, weights=w)
        certificate = found.certificate
        np.testing.assert_allclose(K @ found.point.coefficients, K @ beta, atol=2e-6)
        np.testing.assert_allclose(found.point.values, K @ found.point.coefficients, atol=1e-9)
        assert certificate.primal == pytest.approx(best, rel=1e-9)
        assert certificate.dual <= best * (1 + 1e-9)
        assert certificate.gap <= 1e-9
        assert certificate.violation <= 1e-6
        if intercept:
            assert (
                abs(found.point.coefficients.sum()) <= 1e-9 * np.abs(found.point.coefficients).sum()
            )


@LOSSES
def test_a_certificate_bounds_every_point(squared):
    """The dual of a poor point is below the optimum, its primal above, and the gap is between."""
    _, K, y, w = problem_of(5)
    best = solved(K, y, w, 0.3, squared, False).certificate.primal
    rough = solved(K, y, w, 0.3, squared, False, tolerance=0.5).certificate
    assert rough.dual <= best * (1 + 1e-12)
    assert best <= rough.primal * (1 + 1e-12)
    assert rough.primal - rough.dual == pytest.approx(rough.gap * rough.primal, abs=1e-12)


@LOSSES
@INTERCEPTS
@pytest.mark.parametrize("seed", range(30))
def test_left_out_values_are_those_of_refits(seed, intercept, squared):
    n, alpha = 14, [3.0, 0.5, 0.05][seed % 3]
    _, K, y, w = problem_of(seed, n, singular=seed % 5 == 4, weighted=seed % 2 == 1)
    if intercept and not squared and alpha == 3.0:
        alpha = 0.5  # with few free rows the intercept is any in an interval
    found = solved(K, y, w, alpha, squared, intercept)
    left_out = left_out_values(MatrixSystem(K), found)
    expected = reference.leave_one_out(K, y, alpha, squared=squared, weights=w, intercept=intercept)
    unique = np.ones(n, bool)
    if intercept and not squared:  # without a row on the margin the intercept is not unique
        for i in range(n):
            others = np.where(np.arange(n) == i, 0.0, w)
            beta, b = reference.fit(K, y, alpha, weights=others, intercept=True)
            short = np.abs(1.0 - y * (K @ beta + b))
            unique[i] = (short[others > 0] < 1e-7).any()
        assert unique.mean() > 0.5
    np.testing.assert_allclose(left_out.values[unique], expected[unique], atol=3e-6)
    if not intercept:
        assert (np.abs(left_out.values - expected) <= left_out.radius + 2e-7).all()
        assert (left_out.radius < 0.01).all()


@pytest.mark.thorough
@LOSSES
@INTERCEPTS
@pytest.mark.parametrize("seed", range(30))
def test_left_out_values_of_forty_rows_are_those_of_refits(seed, intercept, squared):
    """Of many rows and few directions, where leaving one out changes many sets."""
    alpha = [0.5, 0.05, 0.005][seed % 3]
    X, _, y, w = problem_of(seed, 40, weighted=seed % 2 == 1)
    K = (X @ X.T + 1.0) ** (1 + seed % 2)
    found = solved(K, y, w, alpha, squared, intercept)
    left_out = left_out_values(MatrixSystem(K), found)
    unique = np.ones(40, bool)
    for i in range(40):
        others = np.where(np.arange(40) == i, 0.0, w)
        beta, b = reference.fit(K, y, alpha, squared=squared, weights=others, intercept=intercept)
        values = K @ beta + b
        if intercept and not squared:  # without a row on the margin the intercept is not unique
            unique[i] = (np.abs(1.0 - y * values)[others > 0] < 1e-7).any()
        if unique[i]:
            assert left_out.values[i] == pytest.approx(values[i], abs=2e-5)
            assert intercept or abs(left_out.values[i] - values[i]) <= left_out.radius[i] + 2e-6
    assert unique.mean() > 0.5


@pytest.mark.parametrize("alpha", [1.0, 0.1, 0.01])
@INTERCEPTS
def test_many_changes_of_sets_end_without_another_fit(alpha, intercept):
    """Seven directions for 60 rows: the coefficient of a row is followed to zero."""
    rng = np.random.default_rng(1)
    Z = np.column_stack([rng.normal(size=(60, 6)), np.ones(60)])
    y = np.where(Z[:, 0] + 1.5 * rng.normal(size=60) > 0, 1.0, -1.0)
    K = Z @ Z.T
    found = solved(K, y, np.ones(60), alpha, False, intercept)
    left_out = left_out_values(FeatureSystem(Z), found)
    assert left_out.changed > 20
    assert left_out.solved_anew <= 3 * intercept
    rows = np.flatnonzero(found.point.coefficients)[::5]
    for i in rows:
        others = np.where(np.arange(60) == i, 0.0, 1.0)
        beta, b = reference.fit(K, y, alpha, weights=others, intercept=intercept)
        assert left_out.values[i] == pytest.approx(K[i] @ beta + b, abs=1e-5)


@LOSSES
@INTERCEPTS
def test_estimates_by_features_are_those_by_rows(intercept, squared):
    """Also with more free rows than features."""
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(50, 5))
    y = np.where(Z[:, 0] + rng.normal(size=50) > 0, 1.0, -1.0)
    for alpha in (5.0, 0.1):
        found = solved(Z @ Z.T, y, rng.uniform(0.5, 2.0, 50), alpha, squared, intercept)
        assert not squared or found.sets()[0].sum() > 5
        expected = estimated_values(MatrixSystem(Z @ Z.T), found)
        estimated = estimated_values(FeatureSystem(Z), found)
        # a shift of 1e-9 of dependent margin rows leaves eps / 1e-9 of the digits
        np.testing.assert_allclose(estimated, expected, rtol=1e-9 if squared else 1e-5)


@INTERCEPTS
def test_estimates_by_the_system_that_was_solved_last(intercept):
    """The squared hinge loss has the same one, and it may be used up."""
    _, K, y, w = problem_of(3, 60, weighted=True)
    system = MatrixSystem(K)
    found = solved(K, y, w, 0.1, True, intercept)
    last = found.block
    assert last is not None
    assert np.array_equal(last.rows, np.flatnonzero(found.sets()[0]))
    np.testing.assert_allclose(
        last.triangle[0, 0] ** 2, K[last.rows[0], last.rows[0]] + 0.1 / w[last.rows[0]]
    )
    expected = estimated_values(system, found)
    np.testing.assert_allclose(estimated_values(system, found, last), expected, rtol=1e-9)
    # that of other rows is not taken
    other = system.free_rows(last.rows[1:], last.shifts[1:])
    np.testing.assert_allclose(estimated_values(system, found, other), expected, rtol=1e-9)


@INTERCEPTS
def test_a_path_of_the_squared_hinge_loss_goes_on_along_a_line(intercept):
    """Fewer systems than from the last solution alone, and the same solutions."""
    _, K, y, w = problem_of(4, 300)
    system, systems = MatrixSystem(K), []
    for memory in (1, 2):
        had, total = [], 0
        for alpha in np.geomspace(3.0, 0.003, 12):
            problem = ColumnProblem(y, w, alpha, True, intercept)
            nothing = BoxPoint(np.zeros(300), np.zeros(300))
            start = start_from(system, problem, *had[:memory]) if had else nothing
            had.insert(0, solve_column(system, problem, start, 1e-3))
            assert had[0].certificate.gap <= 1e-3
            total += had[0].systems
        systems.append(total)
        np.testing.assert_allclose(K @ had[0].point.coefficients, had[0].point.values, atol=1e-9)
    assert systems[1] < systems[0]
    # at the λ of the last one it is that
    there = start_from(system, had[0].problem, *had[:2])
    np.testing.assert_array_equal(there.coefficients, had[0].point.coefficients)


@pytest.mark.parametrize("shared", [0, 10_000])
@pytest.mark.parametrize("few", [1, 7, 1000])
def test_rows_of_the_matrix_are_read_in_pieces(few, shared, monkeypatch):
    _, K, _, _ = problem_of(5, 30)
    monkeypatch.setattr(kernel_systems, "_CHUNK", 30 * few)
    monkeypatch.setattr(kernel_systems, "_SHARED", shared)
    system, rng = MatrixSystem(K), np.random.default_rng(0)
    for k in (0, 1, 11, 30):
        rows, others = np.sort(rng.permutation(30)[:k]), rng.permutation(30)[:8]
        np.testing.assert_array_equal(system.block(rows, others), K[np.ix_(rows, others)])
        c = np.zeros(30)
        c[rows] = rng.normal(size=k)
        np.testing.assert_allclose(system.product(c), K @ c, atol=1e-13)
        np.testing.assert_allclose(system.combined(rows, c[rows]), K @ c, atol=1e-13)
        if k:
            block = system.free_rows(rows, np.full(k, 0.5))
            np.testing.assert_allclose(block.product(c[rows]), (K @ c)[rows], atol=1e-13)
            A = K[np.ix_(rows, rows)] + 0.5 * np.eye(k)
            np.testing.assert_allclose(A @ block.solve(c[rows]), c[rows], atol=1e-12)


@LOSSES
def test_the_estimate_is_exact_where_no_set_changes(squared):
    _, K, y, w = problem_of(1, 25)
    found = solved(K, y, w, 0.3, squared, False)
    free, full = found.sets()
    expected, estimate = reference.leave_one_out(K, y, 0.3, squared=squared), None
    estimate = estimated_values(MatrixSystem(K), found)
    same = []
    for i in range(25):
        other = solved(K, y, np.where(np.arange(25) == i, 0.0, w), 0.3, squared, False)
        others = np.arange(25) != i
        pairs = zip((free, full), other.sets(), strict=True)
        same.append(all(np.array_equal(a[others], b[others]) for a, b in pairs))
    same = np.array(same)
    assert 3 < same.sum() < 25
    np.testing.assert_allclose(estimate[same], expected[same], atol=1e-6)
    assert np.abs(estimate - expected)[~same].max() > 1e-3


@LOSSES
@INTERCEPTS
def test_features_are_their_product(intercept, squared):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(60, 4))
    y = np.where(Z[:, 0] + rng.normal(size=60) > 0, 1.0, -1.0)
    K, w = Z @ Z.T, rng.uniform(0.5, 2.0, 60)
    for alpha in (10.0, 0.1):
        by_matrix = solved(K, y, w, alpha, squared, intercept)
        by_features = solved(K, y, w, alpha, squared, intercept, system=FeatureSystem(Z))
        np.testing.assert_allclose(by_features.point.values, by_matrix.point.values, atol=1e-6)
        found = left_out_values(FeatureSystem(Z), by_features).values
        expected = left_out_values(MatrixSystem(K), by_matrix).values
        np.testing.assert_allclose(found, expected, atol=1e-5)


@INTERCEPTS
def test_where_alpha_is_large_every_row_is_at_its_bound(intercept):
    _, K, y, w = problem_of(2, weighted=True)
    if intercept:
        y[:10], y[10:], w = 1.0, -1.0, np.ones(20)
    found = solved(K, y, w, 1e6, False, intercept)
    np.testing.assert_allclose(found.point.coefficients, y * w / 2e6, rtol=1e-9)


@LOSSES
def test_where_alpha_is_small_the_margin_is_hard(squared):
    """Rows that can be separated: the least norm with yf ≥ 1, by the program without a bound."""
    _, K, y, w = problem_of(3)
    x, _ = reference.solve_box_qp(y[:, None] * K * y, np.full(20, np.inf))
    found = solved(K, y, w, 1e-9, squared, False)
    np.testing.assert_allclose(found.point.values, K @ (y * x), atol=1e-5)
    assert (y * found.point.values).min() > 1 - 1e-5


@LOSSES
def test_a_row_twice_is_a_row_of_weight_two(squared):
    _, K, y, w = problem_of(4)
    twice = np.append(np.arange(20), [3, 7, 7])
    w2 = w.copy()
    w2[3], w2[7] = 2.0, 3.0
    found = solved(K[np.ix_(twice, twice)], y[twice], np.ones(23), 0.2, squared, False)
    expected = solved(K, y, w2, 0.2, squared, False)
    np.testing.assert_allclose(found.point.values[:20], expected.point.values, atol=1e-8)
    left_out = left_out_values(MatrixSystem(K[np.ix_(twice, twice)]), found)
    exact = reference.leave_one_out(K[np.ix_(twice, twice)], y[twice], 0.2, squared=squared)
    np.testing.assert_allclose(left_out.values, exact, atol=1e-5)


def discrete_rows(seed, n):
    """Three columns of few values each, so that many rows are equal, with noisy signs."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 4, n)]
    X = np.column_stack(columns).astype(float)
    share = 1.0 / (1.0 + np.exp(-(X[:, 0] - 1.5 * X[:, 1])))
    return X, np.where(rng.random(n) < share, 1.0, -1.0)


def every_row_twice(seed, n):
    X, _, y, _ = problem_of(seed, n // 2)
    return np.repeat(X[:, :2], 2, axis=0), np.repeat(y, 2)


@LOSSES
@INTERCEPTS
@pytest.mark.parametrize("linear", [False, True], ids=["gaussian", "linear"])
@pytest.mark.parametrize("rows_of", [discrete_rows, every_row_twice])
def test_left_out_values_of_equal_rows_are_within_their_radius(rows_of, linear, intercept, squared):
    """K of the margin rows is singular; with the linear kernel that of all rows, too."""
    for seed, C in enumerate([1.0, 100.0]):
        X, y = rows_of(seed, 40)
        square = np.square(X[:, None] - X).sum(axis=-1)
        K = X @ X.T + 1.0 if linear else np.exp(-square / 2.0) + 1.0
        found = solved(K, y, np.ones(40), 0.5 / C, squared, intercept)
        left_out = left_out_values(MatrixSystem(K), found)
        rows = np.unique(np.column_stack([X, y]), axis=0, return_index=True)[1]
        for i in rows:
            others = np.where(np.arange(40) == i, 0.0, 1.0)
            refit = solved(K, y, others, 0.5 / C, squared, intercept)
            value = refit.point.values[i] + refit.point.intercept
            assert refit.certificate.gap <= 1e-10
            slack = 1e-5 if intercept else left_out.radius[i] + 1e-9
            slack += np.sqrt(refit.certificate.gap * refit.certificate.primal * C * K[i, i])
            short = np.abs(1.0 - y * (refit.point.values + refit.point.intercept))
            # without a row on the margin the intercept is not unique
            if squared or not intercept or (short[others > 0] < 1e-7).any():
                assert abs(left_out.values[i] - value) <= slack
        if not intercept:
            assert (left_out.radius < 0.01).all()


@INTERCEPTS
@pytest.mark.parametrize(
    ("form", "scale"),
    # the rounding of XXᵀ makes another problem of a matrix where λ is smaller
    [("features", 1e2), ("features", 1e4), ("features", 1e5), ("matrix", 1e2)],
)
def test_the_squared_hinge_loss_of_rows_far_larger_than_alpha(scale, form, intercept):
    """Three features for 50 rows, and λ between 1e-4 and 1e-10 of K: the loss hardly changes."""
    X, _, y, w = problem_of(0, 50)
    system = FeatureSystem(X) if form == "features" else MatrixSystem(X @ X.T)
    alpha = 0.5 / scale**2
    found = solved(None, y, w, alpha, True, intercept, tolerance=1e-10, system=system)
    # the same in d + 1 numbers, by Newton's method on the sets of the solution
    Z = np.column_stack([X, np.ones(50)]) if intercept else X
    theta = np.zeros(Z.shape[1])
    for _ in range(50):
        S = y * (Z @ theta) < 1.0
        ridge = np.diag([alpha] * 3 + [0.0] * intercept)
        theta = np.linalg.solve(Z[S].T @ Z[S] + ridge, Z[S].T @ y[S])
    slack = np.maximum(1.0 - y * (Z @ theta), 0.0)
    best = float(slack @ slack + alpha * theta[:3] @ theta[:3])
    assert found.certificate.primal == pytest.approx(best, rel=1e-8)
    # the dual of what is returned, and not of what it was before its bounds were kept
    beta = found.point.coefficients
    square = beta @ system.product(beta)
    dual = 2.0 * alpha * (y @ beta) - alpha * square - alpha**2 * (beta @ beta)
    assert found.certificate.dual == pytest.approx(dual, rel=1e-12)
    assert found.certificate.dual <= best * (1.0 + 1e-10)


def test_what_rounding_ends_is_no_worse_than_nothing():
    """λ of 1e-17 of K: coefficients cannot say what f is, and the gap tells."""
    X, _, y, w = problem_of(0, 50)
    found = solved(None, y, w, 1e-17, True, False, system=FeatureSystem(X))
    assert found.certificate.primal < 0.9 * w.sum()
    assert found.certificate.gap > 1e-3


def test_all_rows_on_the_margin():
    """Orthogonal rows: each one alone reaches its margin, and without it has the value zero."""
    y = np.where(np.arange(12) % 2, 1.0, -1.0)
    found = solved(np.eye(12), y, np.ones(12), 0.1, False, False)
    np.testing.assert_allclose(found.point.coefficients, y, atol=1e-12)
    assert found.sets()[0].all()
    left_out = left_out_values(MatrixSystem(np.eye(12)), found)
    np.testing.assert_allclose(left_out.values, 0.0, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.005])
def test_the_exact_solve_on_the_support_sets_of_libsvm(alpha, weighted):
    """LIBSVM is not accurate to many digits; its sets are, and a system on them says the rest."""
    _, K, y, w = problem_of(6, 80, weighted=weighted)
    C = 0.5 / alpha * w
    svc = SVC(C=0.5 / alpha, kernel="precomputed", tol=1e-10).fit(K, y, sample_weight=w)
    a = np.zeros(80)
    a[svc.support_] = np.abs(svc.dual_coef_[0])
    full = a > C * (1 - 1e-6)
    free = (a > C * 1e-6) & ~full
    m = np.count_nonzero(free)
    system = np.block([[K[np.ix_(free, free)], np.ones((m, 1))], [np.ones((1, m)), 0.0]])
    fixed = np.where(full, y * C, 0.0)
    right = np.append((y - K @ fixed)[free], -fixed.sum())
    solution = np.linalg.solve(system, right)
    beta = fixed
    beta[free] = solution[:-1]
    found = solved(K, y, w, alpha, False, True)
    np.testing.assert_allclose(found.point.values, K @ beta, atol=1e-7)
    assert found.point.intercept == pytest.approx(solution[-1], abs=1e-7)


@LOSSES
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_exact_solve_on_the_margin_sets_of_liblinear(C, fit_intercept, squared):
    """With weights; its intercept is penalised, and so is a constant in the kernel."""
    _, K, y, _ = problem_of(9, 60)
    values, vectors = np.linalg.eigh(K)
    Z = vectors * np.sqrt(np.maximum(values, 0.0))
    w = np.random.default_rng(9).uniform(0.5, 2.0, 60)
    if fit_intercept:
        K = K + 1.0
    loss = "squared_hinge" if squared else "hinge"
    peer = LinearSVC(C=C, loss=loss, dual=not squared, tol=1e-8, max_iter=200_000, random_state=0)
    peer.set_params(fit_intercept=fit_intercept).fit(Z, y, sample_weight=w)
    short = 1.0 - y * peer.decision_function(Z)
    if squared:
        S = short > 0
        beta = np.zeros(60)
        shift = np.diag(0.5 / (C * w[S]))
        beta[S] = np.linalg.solve(K[np.ix_(S, S)] + shift, y[S])
    else:
        free, full = np.abs(short) < 1e-4, short >= 1e-4
        beta = np.where(full, y * C * w, 0.0)
        beta[free] = np.linalg.solve(K[np.ix_(free, free)], (y - K @ beta)[free])
    found = solved(K, y, w, 0.5 / C, squared, False)
    np.testing.assert_allclose(found.point.values, K @ beta, atol=1e-7)


@INTERCEPTS
def test_where_alpha_is_large_the_squared_hinge_loss_is_linear(intercept):
    _, K, y, w = problem_of(2, weighted=True)
    if intercept:
        y[:10], y[10:], w = 1.0, -1.0, np.ones(20)
    found = solved(K, y, w, 1e7, True, intercept)
    np.testing.assert_allclose(found.point.coefficients, y * w / 1e7, rtol=1e-5)


@LOSSES
def test_from_another_alpha_it_is_the_same(squared):
    _, K, y, w = problem_of(7, 40)
    first = solved(K, y, w, 1.0, squared, False)
    problem = ColumnProblem(y, w, 0.1, squared, False)
    system = MatrixSystem(K)
    warm = solve_column(system, problem, start_from(system, problem, first), 1e-12)
    cold = solved(K, y, w, 0.1, squared, False)
    np.testing.assert_allclose(warm.point.values, cold.point.values, atol=1e-7)


@LOSSES
@INTERCEPTS
@pytest.mark.parametrize("alpha", [3.0, 0.02])
def test_from_few_rows_it_is_the_same(alpha, intercept, squared, monkeypatch):
    """Twice a third of 90 rows, and one class alone among the first of them."""
    monkeypatch.setattr(column_solution, "_FEW_ROWS", 20)
    _, K, y, w = problem_of(7, 90, weighted=True)
    rows = np.random.RandomState(0).permutation(90)[:30]
    rows = np.sort(rows)[np.random.RandomState(0).permutation(30)[:10]]
    w[rows[y[rows] < 0]] = 0.0
    problem, system = ColumnProblem(y, w, alpha, squared, intercept), MatrixSystem(K)
    start, share = start_from_few(system, problem)
    assert squared or (start.coefficients != 0).sum() > 20
    found = solve_column(system, problem, start, 1e-12, share)
    cold = solved(K, y, w, alpha, squared, intercept)
    assert found.certificate.gap <= 1e-10
    np.testing.assert_allclose(found.point.values, cold.point.values, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@LOSSES
def test_extreme_alpha_has_a_small_gap(scale, squared):
    _, K, y, w = problem_of(8)
    # a margin is rounded to 1e-16, and at λ = 1e-12 the loss of that counts beside λ‖f‖²
    assert solved(K, y, w, scale, squared, False).certificate.gap < 1e-4
