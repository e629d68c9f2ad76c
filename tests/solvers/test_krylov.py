"""The iterative solver: what it reaches, what it estimates, and what it says when it is stopped."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from squareone import RLSClassifier, RLSRegressor, load
from squareone.errors import EstimateWarning, MemoryLimitError
from squareone.solvers import CentredRows, KrylovFactor, Limits, Weighting
from squareone.solvers.krylov.leverage_probes import PROBES


def text(n=400, d=900, classes=4, *, seed=0):
    """Sparse rows of unit length whose columns come and go as words do, and classes."""
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, d + 1) ** 0.7
    y = rng.integers(0, classes, n)
    topics = rng.random((classes, d)) ** 8 * 6 + 0.3
    counts = rng.poisson(20 * frequency / frequency.sum() * topics[y] + 1e-3)
    X = scipy.sparse.csr_matrix(np.log1p(counts))
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return scipy.sparse.csr_matrix(scipy.sparse.diags(1.0 / norms) @ X), y


X, y = text()


# --- what it reaches ---


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("wide", [False, True], ids=["primal", "dual"])
def test_the_stated_residual_is_that_of_the_result(tol, dtype, wide):
    rows = (X if wide else X[:, :150]).astype(dtype)
    tol = max(tol, 1e-5) if dtype == np.float32 else tol
    target = np.sin(3.0 * y) + 0.1 * np.arange(y.size) / y.size
    model = RLSRegressor("linear", 0.3, solver="krylov", tol=tol).fit(rows, target)
    assert model.residual_ <= tol
    A = rows.toarray().astype(float)
    A -= A.mean(axis=0)
    b = target - target.mean()
    v = model.coef_.astype(float)
    if wide:  # c = X̃ᵀ-preimage: the residual of (XXᵀ + λ)c = b seen through what is predicted
        left = b - A @ v - 0.3 * np.linalg.lstsq(A.T, v, rcond=None)[0]
        size = np.linalg.norm(b)
    else:
        left = A.T @ (b - A @ v) - 0.3 * v
        size = np.linalg.norm(A.T @ b)
    slack = 5e-6 if dtype == np.float32 else 1e-11
    assert np.linalg.norm(left) / size <= 1.01 * tol + slack


def test_fewer_digits_take_fewer_iterations():
    iterations = [
        RLSClassifier("linear", 0.3, solver="krylov", tol=tol).fit(X, y).n_iter_
        for tol in (1e-2, 1e-4, 1e-8)
    ]
    assert iterations == sorted(set(iterations))


def test_double_rows_in_single_precision_and_corrected():
    """At a tolerance float32 cannot keep by itself, the result is corrected in float64."""
    for tol, bits in ((1e-4, 32), (1e-9, 64)):
        model = RLSClassifier("linear", [0.3, 1.0], solver="krylov", tol=tol).fit(X, y)
        assert set(model.path_["bits"]) == {bits}
        assert model.coef_.dtype == np.float64
    exact = RLSClassifier("linear", 0.3, solver="spectral").fit(X, y)
    close = RLSClassifier("linear", 0.3, solver="krylov", tol=1e-9).fit(X, y)
    assert_allclose(close.coef_, exact.coef_, atol=1e-7)


def test_a_small_alpha_is_not_left_to_single_precision():
    model = RLSRegressor("linear", [1e-7, 1.0], solver="krylov", tol=1e-4, max_iter=3000)
    model.fit(X, y)
    assert set(model.path_["bits"]) == {64}


def test_a_correction_is_made_where_single_precision_is_not_enough():
    rows = CentredRows.of(X, Weighting.of(X.shape[0], None, True, np.dtype(float)))
    Y = np.sin(y)[:, None] + 1e3 * np.asarray(X[:, 0].toarray())
    factor = KrylovFactor(rows, Y, Limits(1e-5, 1000, np.inf), 0)
    assert factor.bits == 32
    factor.coefficients(np.array([3e-3]))
    assert factor.residual <= 1e-5


def test_bounded_memory_gives_the_same():
    """Without room for vectors they are made again."""
    whole = RLSClassifier("linear", [0.1, 1.0], solver="krylov").fit(X, y)
    need = whole.plan_.chosen.needed
    least = RLSClassifier("linear", [0.1, 1.0], solver="krylov", memory_limit=need * 1.0001)
    least.fit(X, y)
    assert least._record._factor._sequence._keep == 2
    assert_allclose(least.coef_, whole.coef_, atol=1e-5)
    assert_allclose(least.path_["score"], whole.path_["score"], rtol=1e-4)
    with pytest.raises(MemoryLimitError, match="needs"):
        RLSClassifier("linear", 1.0, solver="krylov", memory_limit=1000).fit(X, y)


# --- choosing λ ---


def test_auto_chooses_as_the_exact_solver_does():
    exact = RLSClassifier("linear", solver="spectral").fit(X, y)
    estimated = RLSClassifier("linear", solver="krylov").fit(X, y)
    assert abs(np.log(estimated.alpha_ / exact.alpha_)) < 0.7
    at = RLSClassifier("linear", estimated.alpha_, solver="spectral").fit(X, y)
    assert -at.best_score_ < -exact.best_score_ * 1.01
    assert estimated.best_score_ == pytest.approx(at.best_score_, rel=0.02)


def test_leave_one_out_is_within_its_stated_error():
    """Over draws of the probes: the scatter is the one stated, and the bias is small."""
    alphas = np.array([0.1, 0.5, 2.0, 10.0])
    exact = RLSClassifier("linear", alphas, solver="spectral").fit(X, y).path_
    paths = [
        RLSClassifier("linear", alphas, solver="krylov", random_state=seed).fit(X, y).path_
        for seed in range(12)
    ]
    scores = np.array([path["score"] for path in paths])
    stated = np.array([path["standard_error"] for path in paths]).mean(axis=0)
    assert (scores.std(axis=0, ddof=1) < stated).all()
    assert_allclose(stated, exact["standard_error"], rtol=0.25)
    assert_allclose(scores.mean(axis=0), exact["score"], rtol=0.03)
    assert "bias" in paths[0]
    assert "bias" not in exact
    dof = np.array([path["effective_dof"] for path in paths])
    assert_allclose(dof.mean(axis=0), exact["effective_dof"], rtol=0.03)


def test_rows_of_very_different_leverage():
    """Documents that stand there twice: half of the leverages are far below the others."""
    twice = scipy.sparse.vstack([X, X[:150]], format="csr")
    classes = np.r_[y, y[:150]]
    alphas = np.array([0.03, 0.3, 3.0])
    exact = RLSClassifier("linear", alphas, solver="spectral").fit(twice, classes).path_
    scores = [
        RLSClassifier("linear", alphas, solver="krylov", random_state=seed)
        .fit(twice, classes)
        .path_["score"]
        for seed in range(6)
    ]
    assert_allclose(np.mean(scores, axis=0), exact["score"], rtol=0.04)


def test_leverages_stay_within_what_is_possible():
    for intercept in (False, True):
        model = RLSRegressor("linear", 0.1, solver="krylov", fit_intercept=intercept).fit(X, y)
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        assert (model.leverages_ > 0).all()
        assert (model.leverages_ < 1).all()
        if not intercept:
            assert (model.leverages_ <= squares / (squares + 0.1) + 1e-6).all()


def test_the_same_seed_gives_the_same_bits():
    a, b = (RLSClassifier("linear", solver="krylov", random_state=3).fit(X, y) for _ in range(2))
    assert a.alpha_ == b.alpha_
    assert np.array_equal(a.coef_, b.coef_)
    assert np.array_equal(a.loo_predictions_, b.loo_predictions_)
    c = RLSClassifier("linear", solver="krylov", random_state=4).fit(X, y)
    assert not np.array_equal(a.path_["score"][:3], c.path_["score"][:3])


def test_few_rows_are_left_out_exactly():
    exact = RLSRegressor("linear", 0.5, solver="spectral").fit(X[:60], y[:60])
    model = RLSRegressor("linear", 0.5, solver="krylov", tol=1e-10).fit(X[:60], y[:60])
    assert_allclose(model.loo_predictions_, exact.loo_predictions_, atol=1e-8)


def test_folds_take_no_probes():
    model = RLSClassifier("linear", [0.1, 1.0], solver="krylov", cv=3).fit(X, y)
    assert not model._record._factor.leverages_at_hand
    assert np.isnan(model.path_["effective_dof"]).all()
    exact = RLSClassifier("linear", [0.1, 1.0], solver="spectral", cv=3).fit(X, y)
    assert_allclose(model.path_["score"], exact.path_["score"], rtol=1e-3)
    assert model.effective_dof_ == pytest.approx(exact.effective_dof_, rel=0.1)
    assert model.loo_predictions_.shape == (400, 4)


def test_scorers_and_targets_of_their_own():
    scored = RLSClassifier("linear", [0.01, 0.1, 1.0, 10.0], solver="krylov", scoring="accuracy")
    scored.fit(X, y)
    assert 0.5 < scored.best_score_ <= 1.0
    own = RLSClassifier("linear", [0.1, 1.0, 10.0], solver="krylov", alpha_per_target=True)
    own.fit(X, y)
    for i in range(4):
        alone = RLSClassifier("linear", float(own.alpha_[i]), solver="krylov").fit(X, y == i)
        assert_allclose(own.coef_[[i]], alone.coef_, atol=2e-3)


def test_rows_of_different_weight_and_length():
    weights = np.where(np.arange(400) % 2, 1.0, 0.02)
    lengths = scipy.sparse.diags(np.where(np.arange(400) % 2, 1.0, 0.2)) @ X
    alphas = [0.3, 3.0, 30.0]
    for rows, w in ((X, weights), (scipy.sparse.csr_matrix(lengths), None)):
        exact = RLSClassifier("linear", alphas, solver="spectral").fit(rows, y, w).path_
        found = RLSClassifier("linear", alphas, solver="krylov").fit(rows, y, w).path_
        assert_allclose(found["score"], exact["score"], rtol=0.05)


def test_an_estimate_that_cannot_be_relied_on_says_so():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((400, 700)) * (rng.random((400, 700)) < 0.1)
    rows[::2] *= 0.01
    model = RLSRegressor("linear", 1e-3, solver="krylov")
    model.fit(scipy.sparse.csr_matrix(rows), rng.standard_normal(400))
    with pytest.warns(EstimateWarning, match=r"\d+% of the squared leave-one-out error"):
        _ = model.loo_predictions_


def test_generalised_cross_validation_takes_the_trace_itself():
    alphas = [0.03, 0.3, 3.0]
    exact, found = (
        RLSClassifier("linear", alphas, solver=solver, criterion="gcv").fit(X, y).path_
        for solver in ("spectral", "krylov")
    )
    assert_allclose(found["score"], exact["score"], rtol=0.05)
    n = X.shape[0]
    residual = RLSClassifier("linear", 0.3, solver="spectral").fit(X, y)
    r = np.where(y[:, None] == np.arange(4), 1.0, -1.0) - residual.decision_function(X)
    expected = np.square(r).mean() / (1 - found["effective_dof"][1] / n) ** 2
    assert -found["score"][1] == pytest.approx(expected, rel=1e-3)


def test_a_feature_that_dominates_the_spectrum():
    """The grid reaches the λ that most features need."""
    year = np.random.default_rng(0).integers(1990, 2021, 400)[:, None]
    rows = scipy.sparse.hstack([X, scipy.sparse.csr_matrix(year.astype(float))]).tocsr()
    exact = RLSClassifier("linear", solver="spectral").fit(rows, y)
    found = RLSClassifier("linear", solver="krylov").fit(rows, y)
    at = RLSClassifier("linear", found.alpha_, solver="spectral").fit(rows, y)
    assert -at.best_score_ < -exact.best_score_ * 1.05


# --- numbers far from one, and far from zero ---


@pytest.mark.parametrize("offset", [1e3, 1e6])
@pytest.mark.parametrize("solver", ["krylov", "cholesky", "spectral", "gram"])
@pytest.mark.parametrize("shape", [(300, 20), (150, 400)], ids=str)
def test_sparse_features_far_from_zero(offset, solver, shape):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal(shape) * (rng.random(shape) < 0.2)
    rows[:, :3] = offset + rng.standard_normal((shape[0], 3))
    target = rows[:, 3:].sum(axis=1) + rows[:, 0] - offset
    exact = RLSRegressor("linear", 0.1, solver="svd").fit(rows, target)
    model = RLSRegressor("linear", 0.1, solver=solver, tol=1e-8)
    model.fit(scipy.sparse.csr_matrix(rows), target)
    assert_allclose(model.predict(rows), exact.predict(rows), atol=1e-5)
    new = scipy.sparse.csr_matrix(rows[:5])
    assert_allclose(model.predict(new), exact.predict(rows[:5]), atol=1e-5)
    std = [m.predict(Z, return_std=True)[1] for m, Z in ((model, new), (exact, rows[:5]))]
    assert_allclose(std[0], std[1], atol=1e-4)
    single = RLSRegressor("linear", 0.1, solver="krylov").fit(scipy.sparse.csr_matrix(rows), target)
    assert single.residual_ <= 1e-4


@pytest.mark.parametrize("scale", [1e-100, 1e-39, 1e-20, 1e20, 1e36, 1e100])
@pytest.mark.parametrize("wide", [False, True], ids=["primal", "dual"])
def test_rows_of_any_magnitude(scale, wide):
    rows = X if wide else X[:, :100]
    plain, scaled = (
        RLSRegressor("linear", 0.3 * u * u, solver="krylov").fit(rows * u, y) for u in (1.0, scale)
    )
    assert scaled.residual_ <= 1e-4
    assert_allclose(scaled.predict(rows * scale), plain.predict(rows), atol=1e-3)


@pytest.mark.parametrize("scale", [1e-100, 1e-30, 1e30])
def test_targets_of_different_magnitude(scale):
    target = np.sin(3.0 * y)
    for settings in ({}, {"cv": 3}):
        model = RLSRegressor("linear", [0.3, 3.0], solver="krylov", **settings)
        model.fit(X, np.c_[target, scale * target])
        a, b = model.predict(X).T
        assert_allclose(b / scale, a, atol=1e-4)
        a, b = model.loo_predictions_.T
        assert_allclose(b / scale, a, atol=1e-4)


def test_single_precision_that_goes_astray_is_left(monkeypatch):
    """Where recurrences in float32 break down, all starts again in float64."""
    rng = np.random.default_rng(0)
    rows = scipy.sparse.csr_matrix(rng.standard_normal((300, 20)) + 1000.0)
    monkeypatch.setattr("squareone.rows.sparse.SparseRows.everywhere", lambda _: np.empty(0, int))
    target = rng.standard_normal(300)
    model = RLSRegressor("linear", [1.0, 10.0], solver="krylov").fit(rows, target)
    assert model.residual_ <= 1e-4
    exact = RLSRegressor("linear", model.alpha_, solver="svd").fit(rows.toarray(), target)
    assert_allclose(model.predict(rows), exact.predict(rows), atol=1e-3)


# --- the plan ---


def test_the_plan_prefers_an_exact_solver_where_that_is_cheap():
    few = RLSClassifier("linear").plan(X, y)
    assert few.solver in ("spectral", "gram")
    rng = np.random.default_rng(0)
    many = scipy.sparse.random(6000, 30_000, 0.001, format="csr", random_state=rng)
    plan = RLSClassifier("linear").plan(many, np.arange(6000) % 3)
    assert plan.solver == "krylov"
    assert f"estimated by {PROBES} random probes" in plan.chosen.form
    assert "conjugate gradients" in str(plan)
    svd = next(c for c in plan.candidates if c.solver == "svd")
    assert "dense" in svd.refused
    folds = RLSClassifier("linear", cv=4).plan(many, np.arange(6000) % 3)
    assert "once per fold" in folds.chosen.form
    narrow = scipy.sparse.random(20_000, 40, 0.2, format="csr", random_state=rng)
    assert RLSRegressor("linear").plan(narrow, np.arange(20_000.0)).solver in ("gram", "svd")


def test_dense_rows_are_iterated_only_when_asked():
    rng = np.random.default_rng(0)
    rows, target = rng.standard_normal((300, 500)), rng.standard_normal(300)
    assert RLSRegressor("linear", 1.0).plan(rows, target).solver != "krylov"
    with pytest.raises(MemoryLimitError, match='What fits: solver="krylov"'):
        RLSRegressor("linear", 1.0, memory_limit=3_500_000, keep_factor=False).fit(rows, target)
    exact = RLSRegressor("linear", 1.0).fit(rows, target)
    asked = RLSRegressor("linear", 1.0, solver="krylov", tol=1e-10).fit(rows, target)
    assert_allclose(asked.coef_, exact.coef_, atol=1e-8)


# --- what it says ---


def test_the_iteration_limit_is_a_warning_with_the_residual():
    with pytest.warns(ConvergenceWarning, match=r"after 3 iterations at a relative residual of 0"):
        model = RLSClassifier("linear", 0.01, solver="krylov", max_iter=3).fit(X, y)
    assert model.n_iter_ == 3
    assert model.residual_ > 1e-4
    with pytest.warns(ConvergenceWarning, match=r"of 2 alphas .* smallest 1 "):
        RLSClassifier("linear", [1e-5, 2.0], solver="krylov", max_iter=14, tol=1e-2).fit(X, y)


def test_folds_that_stop_early_are_reported():
    noise = np.random.default_rng(0).standard_normal((300, 500))
    for settings in ({"criterion": "holdout"}, {"cv": 3}):
        model = RLSRegressor("linear", [1e-4, 1e3], solver="krylov", max_iter=12, **settings)
        with pytest.warns(ConvergenceWarning, match="in a fold at a relative residual of"):
            model.fit(noise, noise[:, 0] ** 2)


def test_what_it_cannot_do_is_refused_before_any_work():
    with pytest.raises(ValueError, match="alpha above zero"):
        RLSRegressor("linear", 0.0, solver="krylov").fit(X, y)
    with pytest.raises(ValueError, match="alpha above zero"):
        RLSRegressor("linear", [0.0, 1.0], solver="krylov").fit(X, y)
    with pytest.raises(ValueError, match="no likelihood"):
        RLSRegressor("linear", solver="krylov", criterion="marginal_likelihood").fit(X, y)
    with pytest.raises(ValueError, match='needs kernel="linear"'):
        RLSRegressor("gaussian", solver="krylov").fit(X, y)
    for bad in (0.0, 1.0, -1.0, "small"):
        with pytest.raises(ValueError, match="tol"):
            RLSRegressor("linear", tol=bad).fit(X, y)
    for bad in (0, -3, 2.5):
        with pytest.raises(ValueError, match="max_iter"):
            RLSRegressor("linear", max_iter=bad).fit(X, y)


# --- after the fit ---


def test_probes_wait_until_somebody_asks(tmp_path):
    model = RLSClassifier("linear", 1.0, solver="krylov").fit(X, y)
    assert not model._record._factor.leverages_at_hand
    expected = model.predict_proba(X[:5])
    for again in (
        pickle.loads(pickle.dumps(RLSClassifier("linear", 1.0, solver="krylov").fit(X, y))),
        copy.deepcopy(model),
    ):
        assert_allclose(again.predict_proba(X[:5]), expected, rtol=1e-12)
    model.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    assert_allclose(loaded.predict_proba(X[:5]), expected, rtol=1e-12)
    assert (loaded.n_iter_, loaded.residual_) == (model.n_iter_, model.residual_)
    without = RLSClassifier("linear", 1.0, solver="krylov", keep_factor=False).fit(X, y)
    assert_allclose(without.predict_proba(X[:5]), expected, rtol=1e-12)
    plain = RLSClassifier("linear", 1.0, solver="krylov", calibration=None, keep_factor=False)
    plain.fit(X, y)
    assert "leave_one_out_values" not in vars(plain._record)


@pytest.mark.parametrize("cv", [None, 3])
def test_small_alphas_that_cannot_win_are_not_solved_for(cv):
    """The choice is that of the whole path, and the others say how far they are from solved."""
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((900, 2000), density=0.02, rng=rng, format="csr")
    y = X @ rng.standard_normal(2000) + (2.0 if cv is None else 5.0) * rng.standard_normal(900)
    alphas = np.logspace(-4, 3, 29)
    model = RLSRegressor("linear", alphas, solver="krylov", cv=cv).fit(X, y)
    every = RLSRegressor("linear", alphas, solver="cholesky", cv=cv).fit(X.toarray(), y)
    assert model.alpha_ == every.alpha_
    path = model.path_
    assert path["alpha"].size == 29
    unsolved = path["residual"] > 1e-4
    assert unsolved.any()
    assert path["alpha"][unsolved].max() < 0.1 * model.alpha_
    assert path["residual"][path["alpha"] == model.alpha_] <= 1e-4
    # leave-one-out by twenty probes is an estimate
    rtol = 0.1 if cv is None else 1e-3
    assert_allclose(path["score"][~unsolved], every.path_["score"][~unsolved], rtol=rtol)
    assert_allclose(model.coef_, every.coef_, atol=1e-3 * np.abs(every.coef_).max())


def test_alphas_that_may_still_win_are_solved_for():
    """No noise: the smaller the better, to the end."""
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((300, 100), density=0.1, rng=rng, format="csr")
    model = RLSRegressor("linear", np.logspace(-4, 2, 13), solver="krylov")
    model.fit(X, X @ rng.standard_normal(100))
    assert model.alpha_ == 1e-4
    assert (model.path_["residual"] <= 1e-4).all()
