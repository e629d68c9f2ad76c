"""Orthogonal least squares agrees with brute force: choices, λ, every model, limits, identities."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from squareone import OROLSClassifier, OROLSRegressor, RLSRegressor
from squareone.greedy import Columns, Fit, Rule, fixed, greedy_path
from squareone.greedy.next_center import LargestResidual
from squareone.greedy.penalty import by_evidence, by_gcv
from squareone.greedy.stopping import charged_gcv
from squareone.kernels import Gaussian, Laplacian, Precomputed
from squareone.rows import ArrayRows, GeneratedRows
from tests.laws.cases import KERNELS, make_data, reference_kernel
from tests.laws.test_centers import every_kernel, weighted_or_not, with_and_without_intercept
from tests.reference import orols

N, D, M = 24, 3, 6
LONG = {"max_centers": M, "stopping": M, "condition_limit": 1e12}
every_selection = pytest.mark.parametrize("selection", ["sampled", "residual", "greedy"])
#: Of few rows all are drawn, and the best of them is the best of all.
MERITS = {"sampled": "greedy", "residual": "residual", "greedy": "greedy"}
every_update = pytest.mark.parametrize("update", ["gcv", "evidence", 0, 0.1])


def fitted(kernel, data, **more):
    settings = {"epsilon": 0.05, "shared_centers": True, **LONG, **more}
    return OROLSRegressor(kernel, **settings).fit(data.X, data.y, data.weights)


def order(model, path=0):
    """The rows of the centers in the order in which they were chosen."""
    table = model.path_
    return table["center"][table["model"] == path][1:].tolist()


def rows_of(data):
    return len(data.X) if data.weights is None else np.count_nonzero(data.weights)


def of_reference(name, data, chosen, epsilon, intercept=True):
    K = reference_kernel(name, data.X, data.X)
    return orols.design(K, data.Y, chosen, epsilon, data.weights, intercept)


class Watching(LargestResidual):
    """Keeps the basis that it is shown."""

    def next(self, state):
        self.basis = state.basis
        return super().next(state)


def basis_of(kernel, X, y, *, count, epsilon=0.0, root=None):
    """The basis of a path, its columns as they were, and the path."""
    columns = Columns([kernel], X, root, epsilon)
    chooser = Watching(columns, None, np.random.RandomState(0))
    rule = Rule(count, charged_gcv, count, np.inf)
    path = greedy_path(columns, y[:, None], root, chooser, fixed(0.0), rule, intercept=True)
    first = np.ones(len(X)) if root is None else root
    return chooser.basis, np.column_stack([first, columns.of(path.candidates)]), path


# --- every step ---


@every_kernel
@weighted_or_not
@with_and_without_intercept
@every_selection
@pytest.mark.parametrize("targets", [1, 3])
def test_every_choice_is_that_of_brute_force(kernel, weighted, intercept, selection, targets):
    data = make_data(N, D, targets=targets, weighted=weighted)
    model = fitted(KERNELS[kernel][0], data, selection=selection, fit_intercept=intercept)
    K = reference_kernel(kernel, data.X, data.X)
    chosen, penalties = order(model), model.path_["lambda"]
    assert len(chosen) == M
    for m in range(M):
        merits = orols.merits(
            MERITS[selection], K, data.Y, chosen[:m], 0.05, penalties[m], data.weights, intercept
        )
        assert merits[chosen[m]] >= (1 - 1e-8) * merits.max()


@weighted_or_not
@every_selection
@pytest.mark.parametrize("targets", [1, 2])
def test_a_point_and_a_kernel_are_chosen_in_every_step(weighted, selection, targets):
    data = make_data(N, D, targets=targets, weighted=weighted)
    names = ["gaussian", "laplacian", "matern"]
    K = np.hstack([reference_kernel(name, data.X, data.X) for name in names])
    model = fitted([KERNELS[name][0] for name in names], data, selection=selection)
    table = model.path_
    chosen = (table["center"] + N * table["kernel"])[1:].tolist()
    for m in range(M):
        merits = orols.merits(
            MERITS[selection], K, data.Y, chosen[:m], 0.05, table["lambda"][m], data.weights
        )
        assert merits[chosen[m]] >= (1 - 1e-8) * merits.max()
    fit = orols.design(K, data.Y, chosen, 0.05, data.weights)
    coefficients = fit.weights(table["lambda"][-1])
    K_new = np.hstack([reference_kernel(name, data.X_new, data.X) for name in names])
    expected = K_new[:, chosen] @ coefficients[1:] + coefficients[0]
    assert_allclose(model.predict(data.X_new).reshape(expected.shape), expected, atol=1e-9)


@pytest.mark.parametrize("update", [None, 0.1])
@every_selection
def test_the_whole_path_is_that_of_brute_force(selection, update):
    data = make_data(N, D)
    model = fitted(Gaussian(2.0), data, selection=selection, lambda_update=update or "gcv")
    K = reference_kernel("gaussian", data.X, data.X)
    chosen, penalties = orols.path(K, data.Y, M, 0.05, MERITS[selection], update)
    assert order(model) == chosen
    assert_allclose(model.path_["lambda"][1:], penalties, rtol=1e-8)


@every_kernel
@weighted_or_not
@with_and_without_intercept
@pytest.mark.parametrize("targets", [1, 3])
def test_lambda_follows_from_the_one_before(kernel, weighted, intercept, targets):
    data = make_data(N, D, targets=targets, weighted=weighted)
    model = fitted(KERNELS[kernel][0], data, fit_intercept=intercept)
    chosen, penalties = order(model), model.path_["lambda"]
    assert penalties[0] == 0.0
    for m in range(1, M + 1):
        fit = of_reference(kernel, data, chosen[:m], 0.05, intercept)
        expected = orols.lam_by_gcv(fit, penalties[m - 1], rows_of(data))
        assert_allclose(penalties[m], expected, rtol=1e-8)


@weighted_or_not
@with_and_without_intercept
@every_update
def test_a_path_is_described_by_its_definitions(weighted, intercept, update):
    data = make_data(N, D, targets=2, weighted=weighted)
    model = fitted(Gaussian(2.0), data, fit_intercept=intercept, lambda_update=update)
    chosen, table, n = order(model), model.path_, rows_of(data)
    w = np.ones(N) if data.weights is None else data.weights
    for m in range(M + 1):
        fit, lam = of_reference("gaussian", data, chosen[:m], 0.05, intercept), table["lambda"][m]
        assert_allclose(table["gcv"][m], orols.gcv(fit, lam, n), rtol=1e-10)
        assert_allclose(n - table["effective_dof"][m], orols.residual_trace(fit, lam, n))
        error = np.sum(fit.residuals(lam) ** 2) / w.sum()
        assert_allclose(table["training_error"][m], error, rtol=1e-10)
        lengths = np.linalg.norm(fit.orthogonal[0], axis=0)[int(intercept) :]
        condition = lengths.max() / lengths.min() if m else 1.0
        assert_allclose(table["condition"][m], condition, rtol=1e-9)
    assert_array_equal(table["centers"], np.arange(M + 1))


@every_kernel
@weighted_or_not
@with_and_without_intercept
def test_every_model_on_the_path_is_a_refit(kernel, weighted, intercept):
    data = make_data(N, D, targets=2, weighted=weighted)
    model = fitted(KERNELS[kernel][0], data, fit_intercept=intercept)
    chosen, penalties = order(model), model.path_["lambda"]
    K_new = reference_kernel(kernel, data.X_new, data.X)
    for m in range(M + 1):
        solved = of_reference(kernel, data, chosen[:m], 0.05, intercept).weights(penalties[m])
        constant = solved[0] if intercept else np.zeros(2)
        expected = K_new[:, chosen[:m]] @ solved[int(intercept) :] + constant
        part = model.at(m)
        scale = np.abs(expected).max() + np.abs(solved).max(initial=0.0)
        assert_allclose(part.predict(data.X_new), expected, atol=1e-10 * scale)
        assert_allclose(part.intercept_, constant, atol=1e-9 * scale)
        assert part.n_centers_ == m
        places = np.argsort(chosen[:m])
        assert_array_equal(part.center_indices_, np.sort(chosen[:m]))
        expansion = K_new[:, part.center_indices_] @ part.dual_coef_ + part.intercept_
        assert_allclose(expansion, expected, atol=1e-10 * scale)
        assert_allclose(part.dual_coef_, solved[int(intercept) :][places], atol=1e-8 * scale)


@every_kernel
@weighted_or_not
def test_without_penalties_it_is_least_squares_on_the_chosen_columns(kernel, weighted):
    data = make_data(N, D, weighted=weighted)
    model = fitted(KERNELS[kernel][0], data, epsilon=0.0, lambda_update=0.0, max_centers=3)
    chosen = order(model)
    fit = of_reference(kernel, data, chosen, 0.0)
    solved = np.linalg.lstsq(fit.columns, fit.Y, rcond=None)[0][:, 0]
    K_new = reference_kernel(kernel, data.X_new, data.X)
    expected = K_new[:, chosen] @ solved[1:] + solved[0]
    assert_allclose(model.predict(data.X_new), expected, rtol=1e-9)


# --- orthogonality ---


@pytest.mark.parametrize("sigma", [0.5, 3.0, 30.0, 300.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_are_orthonormal(sigma, dtype, weighted):
    """To a few units in the last place for every column, however wide the kernel is."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 3)).astype(dtype)
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=150)
    root = np.sqrt(rng.uniform(0.1, 3.0, 150)).astype(dtype) if weighted else None
    basis, K, path = basis_of(Gaussian(sigma), X, y, count=60, root=root)
    m, eps = basis.size, np.finfo(dtype).eps
    assert m >= 2
    G = basis.directions.astype(np.float64).T @ basis.directions
    assert np.abs(G - np.eye(m)).max() <= 20 * eps * m
    R = basis.triangle
    assert_array_equal(R, np.triu(R))
    found = basis.directions.astype(np.float64) @ R
    assert_allclose(found, K, atol=20 * eps * m * np.linalg.norm(K, axis=0).max())
    lengths = np.diag(R)
    assert (lengths > 0).all()
    assert_array_equal(np.diag(R / lengths[:, None]), 1.0)
    assert_array_equal(path.triangle, R)


# --- λ ---


def some_fit(seed, intercept=True):
    data = make_data(N, D, targets=2, seed=seed)
    fit = of_reference("gaussian", data, [3, 7, 20, 11, 0], 0.05, intercept)
    Q, _ = fit.orthogonal
    lengths = np.linalg.norm(Q, axis=0)
    projections = (Q / lengths).T @ fit.Y
    free = int(intercept)
    left = np.sum((fit.Y - (Q / lengths) @ projections) ** 2)
    power = (projections[free:] ** 2).sum(axis=1)
    return fit, Fit(N, free, lengths[free:] ** 2, power, float(left))


def settled(update, fit):
    lam = 0.0
    for _ in range(5000):
        lam = update(fit, lam)
    return lam


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("intercept", [False, True])
def test_the_formula_is_where_gcv_is_least(seed, intercept):
    reference, fit = some_fit(seed, intercept)
    for lam in (0.0, 1e-3, 1.0):
        assert_allclose(by_gcv(fit, lam), orols.lam_by_gcv(reference, lam, N), rtol=1e-9)
        assert_allclose(fit.gcv(lam), orols.gcv(reference, lam, N), rtol=1e-10)
    lam = settled(by_gcv, fit)
    if lam == fit.squares.max():
        assert orols.gcv_slope(reference, lam, N) <= 0
    else:
        assert orols.gcv_slope(reference, lam, N) == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("intercept", [False, True])
def test_the_evidence_is_largest_where_its_update_settles(seed, intercept):
    reference, fit = some_fit(seed, intercept)
    lam = settled(by_evidence, fit)
    if lam == fit.squares.max():
        assert orols.evidence_slope(reference, lam, N) >= 0
        return
    assert orols.evidence_slope(reference, lam, N) == pytest.approx(0.0, abs=1e-6)
    most = orols.log_evidence(reference, lam, N)
    for factor in (0.5, 0.9, 1.1, 2.0):
        assert orols.log_evidence(reference, factor * lam, N) < most


# --- limits and identities ---


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "matern", "constant + gaussian"])
@weighted_or_not
@every_selection
@pytest.mark.parametrize("epsilon", [1e-2, 1.0])
def test_all_points_as_centers_are_regularised_least_squares(kernel, weighted, selection, epsilon):
    data = make_data(16, D, targets=2, weighted=weighted)
    full = {"max_centers": 16, "stopping": 16, "lambda_update": 0, "condition_limit": 1e300}
    model = fitted(
        KERNELS[kernel][0], data, selection=selection, epsilon=epsilon, fit_intercept=False, **full
    )
    assert model.n_centers_ == rows_of(data)
    exact = RLSRegressor(KERNELS[kernel][0], alpha=epsilon, fit_intercept=False, solver="cholesky")
    exact.fit(data.X, data.Y, data.weights)
    assert_allclose(model.predict(data.X_new), exact.predict(data.X_new), rtol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_all_points_and_a_constant_fit_the_shifted_rows(weighted):
    """There is a column more than rows: the last center is left at zero."""
    data = make_data(16, D, weighted=weighted)
    model = fitted(
        Gaussian(2.0),
        data,
        max_centers=16,
        stopping=16,
        lambda_update=0,
        epsilon=0.1,
        condition_limit=1e300,
    )
    assert model.n_centers_ == rows_of(data) - 1
    assert model.stopped_by_ == "exact"
    places, w = model.center_indices_, np.ones(16) if data.weights is None else data.weights
    values = model.predict(data.X)
    values[places] += 0.1 / w[places] * model.dual_coef_
    assert_allclose(values[w > 0], data.y[w > 0], rtol=1e-9)


@weighted_or_not
@every_selection
@pytest.mark.parametrize("stopping", ["gcv", "bic", "mdl", 4])
@pytest.mark.parametrize("candidates", [None, 3])
def test_targets_with_centers_of_their_own_are_separate_fits(
    weighted, selection, stopping, candidates
):
    data = make_data(N, D, targets=3, weighted=weighted)
    how = {"selection": selection, "stopping": stopping, "epsilon": 0.05, "candidates": candidates}
    model = OROLSRegressor(Gaussian(2.0), **how).fit(data.X, data.Y, data.weights)
    predicted = model.predict(data.X_new)
    for j in range(3):
        alone = OROLSRegressor(Gaussian(2.0), **how).fit(data.X, data.Y[:, j], data.weights)
        assert model.n_centers_[j] == alone.n_centers_
        assert model.stopped_by_[j] == alone.stopped_by_
        assert_allclose(model.lambda_[j], alone.lambda_, rtol=1e-9)
        assert order(model, j) == order(alone)
        assert_allclose(predicted[:, j], alone.predict(data.X_new), rtol=1e-10)
    for m in (0, 2, max(model.path_["centers"])):
        part = model.at(m).predict(data.X_new)
        alone = OROLSRegressor(Gaussian(2.0), **how).fit(data.X, data.Y[:, 1], data.weights)
        longest = alone.path_["centers"].max()
        assert_allclose(part[:, 1], alone.at(min(m, longest)).predict(data.X_new), rtol=1e-9)


@every_selection
@with_and_without_intercept
@pytest.mark.parametrize("update", [0.0, 0.1])
def test_a_weight_of_three_is_a_row_three_times(selection, intercept, update):
    data = make_data(N, D, targets=2)
    times = np.random.default_rng(5).integers(0, 4, N)
    data.weights = times.astype(float)
    how = {"epsilon": 0.0, "lambda_update": update, "selection": selection}
    model = fitted(Gaussian(2.0), data, fit_intercept=intercept, **how)
    repeated = make_data(N, D, targets=2)
    repeated.X, repeated.Y = np.repeat(data.X, times, axis=0), np.repeat(data.Y, times, axis=0)
    again = fitted(Gaussian(2.0), repeated, fit_intercept=intercept, **how)
    assert np.repeat(np.arange(N), times)[order(again)].tolist() == order(model)
    assert_allclose(again.predict(data.X_new), model.predict(data.X_new), rtol=1e-8)


@pytest.mark.costly
@pytest.mark.parametrize("stopping", ["gcv", "validation"])
@pytest.mark.parametrize("kernel", [Gaussian(), Precomputed(), [Gaussian(1.0), Laplacian(2.0)]])
def test_a_row_of_weight_zero_is_not_there(stopping, kernel):
    data = make_data(40, D, targets=2, weighted=True)
    data.weights[[5, 17, 39]] = 0.0
    kept = np.flatnonzero(data.weights)
    given = isinstance(kernel, Precomputed)
    rows, new = (Gaussian(2.0)(A, data.X) if given else A for A in (data.X, data.X_new))
    model = OROLSRegressor(kernel, stopping=stopping).fit(rows, data.Y, data.weights)
    part, new_part = (rows[np.ix_(kept, kept)], new[:, kept]) if given else (rows[kept], new)
    again = OROLSRegressor(kernel, stopping=stopping).fit(part, data.Y[kept], data.weights[kept])
    assert_array_equal(model.center_indices_, kept[again.center_indices_])
    assert_allclose(model.predict(new), again.predict(new_part), rtol=1e-12)


@pytest.mark.costly
@every_selection
@pytest.mark.parametrize("exponent", [-30, -1, 12])
@pytest.mark.parametrize("stopping", ["gcv", "validation", M])
def test_the_scale_of_y_does_not_matter(selection, exponent, stopping):
    data, unit = make_data(N, D, targets=2), 2.0**exponent
    models = [
        OROLSRegressor(Gaussian(), selection=selection, stopping=stopping).fit(data.X, Y)
        for Y in (data.Y, unit * data.Y)
    ]
    assert_array_equal(models[1].predict(data.X_new), unit * models[0].predict(data.X_new))
    assert_array_equal(models[1].lambda_, models[0].lambda_)
    assert models[1].epsilon_ == models[0].epsilon_
    for name in ("gcv", "training_error"):
        assert_array_equal(models[1].path_[name], unit**2 * models[0].path_[name])
    assert_array_equal(models[1].search_["error"], unit**2 * models[0].search_["error"])


@weighted_or_not
@pytest.mark.parametrize(("pool", "waiting"), [(1, 1), (3, 3), (3, 80), (1000, 5), (1000, 1000)])
@pytest.mark.parametrize("kernels", [1, 2])
def test_columns_that_wait_do_not_matter(weighted, pool, waiting, kernels, monkeypatch):
    data = make_data(60, D, weighted=weighted)
    kernel = [Gaussian(2.0), Laplacian(1.0)][:kernels]
    more = {"max_centers": 25, "stopping": 25, "epsilon": 1e-3, "selection": "residual"}
    expected = fitted(kernel, data, **more)
    monkeypatch.setattr("squareone.greedy.next_center._POOL", pool)
    monkeypatch.setattr("squareone.greedy.next_center._PREFETCHED", waiting)
    found = fitted(kernel, data, **more)
    assert order(found) == order(expected)
    assert_allclose(found.predict(data.X_new), expected.predict(data.X_new), rtol=1e-7)


@pytest.mark.parametrize(
    ("selection", "block", "size"), [("greedy", "_BLOCK", 7 * 60), ("sampled", "_POOL", 7)]
)
def test_blocks_of_candidates_do_not_matter(selection, block, size, monkeypatch):
    data = make_data(60, D)
    expected = fitted(Gaussian(2.0), data, selection=selection)
    monkeypatch.setattr(f"squareone.greedy.next_center.{block}", size)
    found = fitted(Gaussian(2.0), data, selection=selection)
    assert order(found) == order(expected)
    assert_allclose(found.predict(data.X_new), expected.predict(data.X_new), rtol=1e-10)


def generated(X):
    parts = partial(np.array_split, X, 4)
    return GeneratedRows(parts, X.shape)


@pytest.mark.thorough
@pytest.mark.costly
@weighted_or_not
@every_selection
@pytest.mark.parametrize("make", [ArrayRows, generated], ids=["array", "generated"])
def test_a_stream_is_an_array(weighted, selection, make):
    data = make_data(60, D, targets=2, weighted=weighted)
    how = {"selection": selection, "max_centers": 12}
    expected = OROLSRegressor(**how).fit(data.X, data.Y, data.weights)
    found = OROLSRegressor(**how).fit(make(data.X), data.Y, data.weights)
    assert_allclose(found.kernel_.sigma, expected.kernel_.sigma, rtol=1e-12)
    assert found.epsilon_ == expected.epsilon_
    assert_array_equal(found.path_["center"], expected.path_["center"])
    assert_allclose(found.predict(make(data.X)), expected.predict(data.X), rtol=1e-8)
    assert_array_equal(found.centers_, expected.centers_)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), "gaussian", "linear", [Gaussian(1), "linear"]])
@weighted_or_not
def test_sparse_rows_are_dense_rows(kernel, weighted):
    data = make_data(40, 5, weighted=weighted)
    rows, new = (np.where(np.abs(A - 1.5) > 0.7, A, 0.0) for A in (data.X, data.X_new))
    dense = OROLSRegressor(kernel, max_centers=8).fit(rows, data.y, data.weights)
    sparse = OROLSRegressor(kernel, max_centers=8).fit(csr_array(rows), data.y, data.weights)
    assert_array_equal(sparse.path_["center"], dense.path_["center"])
    assert_allclose(sparse.predict(csr_array(new)), dense.predict(new), rtol=1e-7)
    assert_allclose(sparse.predict(new), dense.predict(new), rtol=1e-7)
    assert_allclose(sparse.centers_.toarray(), dense.centers_)


@weighted_or_not
@every_selection
@pytest.mark.parametrize("stopping", ["gcv", "validation"])
@pytest.mark.parametrize("epsilon", [0.05, "auto"])
def test_a_precomputed_kernel_is_the_kernel(weighted, selection, stopping, epsilon):
    data = make_data(40, D, targets=2, weighted=weighted)
    K, K_new = (reference_kernel("gaussian", A, data.X) for A in (data.X, data.X_new))
    how = {"selection": selection, "stopping": stopping, "epsilon": epsilon}
    expected = OROLSRegressor(Gaussian(2.0), **how).fit(data.X, data.Y, data.weights)
    found = OROLSRegressor(Precomputed(), **how).fit(K, data.Y, data.weights)
    assert found.epsilon_ == expected.epsilon_
    assert_array_equal(found.path_["center"], expected.path_["center"])
    assert_array_equal(found.n_centers_, expected.n_centers_)
    assert_allclose(found.predict(K_new), expected.predict(data.X_new), rtol=1e-7)
    assert not hasattr(found, "centers_")


@weighted_or_not
@every_selection
def test_single_precision_is_near_double(weighted, selection):
    data = make_data(60, D, weighted=weighted)
    how = {"selection": selection, "epsilon": 0.05, "stopping": 10}
    double = OROLSRegressor(Gaussian(2.0), **how).fit(data.X, data.y, data.weights)
    single = OROLSRegressor(Gaussian(2.0), **how).fit(
        data.X.astype(np.float32), data.y, data.weights
    )
    found = single.predict(data.X_new.astype(np.float32))
    assert found.dtype == single.dual_coef_.dtype == single.centers_.dtype == np.float32
    assert order(single) == order(double)
    assert_allclose(found, double.predict(data.X_new), rtol=1e-4)


@every_selection
def test_random_candidates_are_those_of_the_random_state(selection):
    data = make_data(60, D)
    how = {"selection": selection, "candidates": 5, "epsilon": 0.05, "stopping": 10}

    def found(state):
        model = OROLSRegressor(Gaussian(2.0), random_state=state, **how)
        return order(model.fit(data.X, data.y))

    assert found(0) == found(0) == found(None) == found(np.random.RandomState(0))
    assert found(0) != found(1)
    assert len(set(found(1))) == 10


@every_selection
def test_as_many_random_candidates_as_rows_are_all(selection):
    data = make_data(N, D)
    every = fitted(Gaussian(2.0), data, selection=selection, candidates=None)
    asked = fitted(Gaussian(2.0), data, selection=selection, candidates=10 * N)
    assert order(asked) == order(every)
    assert_allclose(asked.predict(data.X_new), every.predict(data.X_new), rtol=1e-10)


def test_two_classes_are_the_regression_of_their_signs():
    data = make_data(60, D)
    positive = data.y > np.median(data.y)
    model = OROLSClassifier().fit(data.X, positive)
    signs = OROLSRegressor().fit(data.X, np.where(positive, 1.0, -1.0))
    assert_allclose(model.decision_function(data.X_new), signs.predict(data.X_new), rtol=1e-12)
    assert_array_equal(model.predict(data.X_new), signs.predict(data.X_new) > 0)
