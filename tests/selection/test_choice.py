"""How λ is chosen: grids, widening, the bracketed search, scorers, folds."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.preprocessing import StandardScaler

from squareone import RLSClassifier, RLSRegressor
from squareone.centers import Given
from squareone.kernels import Gaussian, Laplacian
from squareone.selection import alpha_grid, bracketed_minimum
from squareone.solvers import RectangleFactor
from tests.reference import brute_force

MEDIAN = Gaussian("median")
rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
y = np.sin(X).sum(axis=1) + 0.3 * rng.standard_normal(60)


def dense_grid_best(model, X, y):
    """The best score on 600 λ over the range the fitted model looked at."""
    seen = model.path_["alpha"]
    dense = clone(model).set_params(alpha=np.geomspace(seen.min(), seen.max(), 600))
    return dense.fit(X, y).best_score_


@pytest.mark.parametrize("criterion", ["loo", "gcv", "holdout"])
@pytest.mark.parametrize(
    "kernel", [Gaussian("median"), "linear", Laplacian("median"), "polynomial"], ids=str
)
def test_auto_finds_what_a_dense_grid_finds(kernel, criterion):
    model = RLSRegressor(kernel, criterion=criterion).fit(X, y)
    best = dense_grid_best(model, X, y)
    path = model.path_
    assert path["score"].max() >= best - 1e-3 * abs(best)
    assert (np.diff(path["alpha"]) > 0).all()
    assert model.alpha_ >= path["alpha"][np.argmax(path["score"])]
    assert model.best_score_ == path["score"][path["alpha"] == model.alpha_]


@pytest.mark.costly
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cv", [None, 5])
@pytest.mark.parametrize("targets", [1, 2])
def test_of_alphas_that_the_rows_do_not_tell_apart_the_largest(weighted, cv, targets):
    rng = np.random.default_rng(3)
    Y = np.column_stack([y, np.cos(X[:, 0]) + 0.3 * rng.standard_normal(60)])[:, :targets]
    weights = rng.uniform(0.5, 2.0, 60) if weighted else None
    model = RLSRegressor(MEDIAN, cv=cv).fit(X, Y, weights)
    alphas = model.path_["alpha"]
    w = np.ones(60) if weights is None else weights
    squares = []
    for alpha in alphas:
        fit = RLSRegressor(model.kernel_, alpha)
        held_out = fit.fit(X, Y, weights).loo_predictions_
        if cv is not None:
            fits = [(clone(fit).fit(X[a], Y[a], w[a]), b) for a, b in KFold(5).split(X)]
            held_out = np.concatenate([each.predict(X[b]) for each, b in fits])
        squares.append(w * ((Y - held_out.reshape(Y.shape)) ** 2).mean(axis=1))
    squares = np.array(squares)
    best = np.argmin(squares.sum(axis=1))
    apart = squares - squares[best]
    untold = apart.mean(axis=1) <= 0.3 * apart.std(axis=1) / np.sqrt(60)
    assert model.alpha_ == alphas[untold].max() > alphas[best]
    # who gives a grid gets the best of it
    grid = RLSRegressor(model.kernel_, alphas, cv=cv).fit(X, Y, weights)
    assert grid.alpha_ == pytest.approx(alphas[best], rel=0.2)


def test_a_large_sample_is_compared_on_some_of_its_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9000, 3))
    y = X[:, 0] + rng.standard_normal(9000)
    model = RLSRegressor("linear").fit(X, y)
    errors = [
        y - RLSRegressor("linear", a).fit(X, y).loo_predictions_ for a in model.path_["alpha"]
    ]
    squares = np.square(errors)
    apart = squares - squares[np.argmin(squares.sum(axis=1))]
    told = apart.mean(axis=1) / (apart.std(axis=1) / np.sqrt(9000) + 1e-300)
    alphas = model.path_["alpha"]
    assert told[alphas == model.alpha_] < 0.33
    assert (told[alphas > 1.3 * model.alpha_] > 0.27).all()


def test_a_flat_error_has_the_larger_lambda():
    """Fifteen centers of a hundred rows: the error does not change below some λ."""
    for seed in (5, 9):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((100, 2))
        y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(100)
        model = RLSRegressor(Gaussian(1.0), centers=15, random_state=seed).fit(X, y)
        assert model.path_["alpha"].min() < 1e-12 < 1e-5 < model.alpha_
        assert -model.best_score_ < -1.02 * model.path_["score"].max()
        assert model.predict(X + 0.5, return_std=True)[1].max() < 20


@pytest.mark.parametrize("solver", ["auto", "spectral", "cholesky"])
@pytest.mark.parametrize("seed", range(4))
def test_of_several_minima_the_least(solver, seed):
    """A kernel much wider than the curve: the error has a minimum of a smooth fit as well."""
    rng = np.random.default_rng(seed)
    X = np.linspace(0, 6, 33)[:, None]
    y = 2 * np.sin(2 * X[:, 0]) + X[:, 0] + 0.1 * rng.standard_normal(33)
    model = RLSRegressor(Gaussian(4.0), solver=solver).fit(X, y)
    grid = RLSRegressor(Gaussian(4.0), np.geomspace(1e-12, 1e3, 61)).fit(X, y).path_["score"]
    assert -model.best_score_ < -1.1 * grid.max()  # the other one is ten times the least


def test_generalised_cross_validation_does_not_go_where_it_cannot_tell():
    """With as many degrees of freedom as rows it promises 0.12 where leave-one-out has 7."""
    model = RLSRegressor(MEDIAN, criterion="gcv").fit(X, y)
    assert model.effective_dof_ < 50
    assert np.mean((y - model.loo_predictions_) ** 2) < 0.2


def test_the_grid_is_widened_below():
    """Noise-free and smooth: the best λ is far below the first grid."""
    smooth = np.sin(X[:, 0])
    model = RLSRegressor(Gaussian(3.0)).fit(X, smooth)
    first = model.path_["alpha"].max() * 1e-8
    assert model.path_["alpha"].min() < 0.99 * first
    assert model.alpha_ < first


def test_the_grid_is_widened_above():
    """Pure noise: the best fit is the mean, and the first grid ends too soon."""
    noise = np.random.default_rng(1).standard_normal(60)
    model = RLSRegressor(Gaussian(1.0)).fit(X, noise)
    K = Gaussian(1.0)(X)
    assert model.path_["alpha"].max() > 50 * np.linalg.norm(K, 2)
    assert model.effective_dof_ < 2
    # a scorer that cannot tell the values at the edge apart is no reason to go on
    tied = RLSRegressor(Gaussian(1.0), scoring=lambda *_: 1.0).fit(X, noise)
    assert tied.alpha_ == tied.path_["alpha"].max() < 50 * np.linalg.norm(K, 2)


@pytest.mark.filterwarnings("ignore::squareone.errors.IllConditionedWarning")
def test_what_rounding_leaves_no_meaning_is_not_compared(monkeypatch):
    """Nor if all of those looked at together are so: another one is not."""
    lowest = []

    def above_the_first_grid(self, alphas):
        lowest.append(1e3 * alphas.min())
        return alphas >= lowest[0]

    monkeypatch.setattr(RectangleFactor, "reliable", above_the_first_grid)
    rows = np.random.default_rng(3).standard_normal((60, 2))
    model = RLSRegressor(Gaussian(1.5), solver="rectangle").fit(rows, np.sin(rows[:, 0]))
    alphas, scores = model.path_["alpha"], model.path_["score"]
    assert alphas[np.argmax(scores)] < lowest[0]  # it was looked at, and seemed to be better
    assert model.alpha_ >= lowest[0]


def test_of_equal_scores_the_largest_alpha_wins():
    model = RLSRegressor(alpha=[0.1, 1.0, 10.0], scoring=lambda *_: 0.5).fit(X, y)
    assert model.alpha_ == 10.0


@pytest.mark.parametrize("criterion", ["loo", "gcv", "holdout"])
@pytest.mark.parametrize("noise", [0.01, 0.3, 3.0])
def test_bracketed_search_agrees_with_the_path(noise, criterion):
    X, y = make_friedman1(400, noise=noise, random_state=0)
    whole = RLSRegressor(MEDIAN, criterion=criterion, solver="spectral").fit(X, y)
    search = RLSRegressor(MEDIAN, criterion=criterion, solver="cholesky").fit(X, y)
    assert search.best_score_ >= whole.best_score_ - 1e-3 * abs(whole.best_score_)
    path = search.path_
    assert path["alpha"].size <= 15
    # the way in float32, the answer in float64; all in float64 where the best λ is too small
    assert set(path["bits"]) == ({64} if noise == 0.01 and criterion != "holdout" else {32, 64})
    chosen = np.flatnonzero(path["alpha"] == search.alpha_)
    assert (path["bits"][chosen] == 64).all()
    again = RLSRegressor(MEDIAN, search.alpha_, criterion=criterion, solver="spectral").fit(X, y)
    assert_allclose(search.best_score_, again.best_score_, rtol=1e-8)
    assert_allclose(search.loo_predictions_, again.loo_predictions_, rtol=1e-6)


def test_bracketed_search_with_folds_weights_and_a_given_kernel():
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    weights = np.random.default_rng(0).uniform(0.1, 2, 300)
    K = Gaussian(0.8)(X)
    whole = RLSRegressor("precomputed", cv=5, solver="spectral").fit(K, y, weights)
    search = RLSRegressor("precomputed", cv=5, solver="cholesky").fit(K, y, weights)
    assert search.best_score_ >= whole.best_score_ * (1 + 1e-3)
    linear = RLSRegressor("linear", solver="cholesky").fit(X, y)
    assert linear.best_score_ >= RLSRegressor("linear").fit(X, y).best_score_ * (1 + 1e-3)


def test_search_goes_on_in_float64_where_float32_is_not_safe():
    """Noise-free targets: the best λ is below what float32 can factor."""
    X, y = make_friedman1(300, noise=0.0, random_state=0)
    whole = RLSRegressor(Gaussian(3.0), solver="spectral").fit(X, y)
    search = RLSRegressor(Gaussian(3.0), solver="cholesky").fit(X, y)
    assert whole.alpha_ < 16 * np.finfo(np.float32).eps * np.linalg.norm(Gaussian(3.0)(X), 2)
    assert search.best_score_ >= whole.best_score_ * (1 + 5e-3)


def test_search_in_float32_rows_stays_in_float32():
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    search = RLSRegressor(MEDIAN, solver="cholesky").fit(X.astype(np.float32), y)
    assert set(search.path_["bits"]) == {32}
    whole = RLSRegressor(MEDIAN, solver="spectral").fit(X, y)
    assert_allclose(search.best_score_, whole.best_score_, rtol=2e-3)


@pytest.mark.thorough
def test_the_same_fit_twice():
    X, y = make_friedman1(1200, noise=1.0, random_state=0)
    a, b = (RLSRegressor(solver="cholesky").fit(X, y) for _ in range(2))
    assert a.kernel_.sigma == b.kernel_.sigma
    assert a.alpha_ == b.alpha_


@pytest.mark.parametrize(
    ("function", "start", "minimum"),
    [
        (lambda x: 1 + (x - 2.0) ** 2, 0.0, 2.0),
        (lambda x: 1 + (x - 2.0) ** 2, 9.0, 2.0),
        (lambda x: 1 + np.log(np.cosh(x + 3.0)), 5.0, -3.0),
        (lambda x: 1 + np.exp(x) - np.tanh(x + 4.0), 5.0, -2.3),
        (lambda x: 1 + 0.1 * (np.exp(x / 3) - x), 0.0, 3 * np.log(3)),
        (lambda x: 1 - 0.1 * x, 0.0, 10.0),  # downhill to the end of the range
        (lambda x: 1 + 0.1 * x, 0.0, -10.0),
    ],
)
def test_bracketed_minimum(function, start, minimum):
    calls = []

    def counted(x):
        calls.append(x)
        return function(x)

    found = bracketed_minimum(counted, start, -10.0, 10.0)
    assert len(calls) <= 14
    assert min(calls) >= -10
    assert max(calls) <= 10
    best = min(function(found), *map(function, calls))
    assert best <= function(minimum) + 2e-3 * abs(function(minimum))


def test_bracketed_minimum_of_a_constant_ends():
    assert -10 <= bracketed_minimum(lambda x: 1.0, 0.0, -10.0, 10.0) <= 10


# --- scorers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scoring", "metric"),
    [
        (
            "neg_mean_absolute_error",
            lambda t, p, w: -metrics.mean_absolute_error(t, p, sample_weight=w),
        ),
        ("r2", lambda t, p, w: metrics.r2_score(t, p, sample_weight=w)),
        (
            metrics.make_scorer(metrics.median_absolute_error, greater_is_better=False),
            lambda t, p, w: -metrics.median_absolute_error(t, p, sample_weight=w),
        ),
    ],
    ids=["mae", "r2", "median"],
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["spectral", "cholesky"])
def test_scorers_see_the_leave_one_out_values(scoring, metric, weighted, solver):
    weights = rng.uniform(0.5, 2.0, 60) if weighted else None
    grid = [0.01, 0.1, 1.0]
    model = RLSRegressor(Gaussian(1.0), grid, scoring=scoring, solver=solver).fit(X, y, weights)
    K = Gaussian(1.0)(X)
    for alpha, score in zip(grid, model.path_["score"], strict=True):
        values = brute_force.leave_one_out_values(K, y[:, None], alpha, weights, True)[:, 0]
        assert_allclose(score, metric(y, values, weights), rtol=1e-8)
    assert model.best_score_ == model.path_["score"].max()


def test_classification_scorers():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X[:150])
    y = np.where(y[:150] == 1, "benign", "malignant")
    accuracy = RLSClassifier(Gaussian(5.0), [0.1, 1.0], scoring="accuracy").fit(X, y)
    refits = cross_val_predict(RLSClassifier(Gaussian(5.0), 0.1), X, y, cv=LeaveOneOut())
    assert accuracy.path_["score"][0] == metrics.accuracy_score(y, refits)
    auc = RLSClassifier(Gaussian(5.0), [0.1, 1.0], scoring="roc_auc").fit(X, y)
    values = cross_val_predict(
        RLSClassifier(Gaussian(5.0), 0.1), X, y, cv=LeaveOneOut(), method="decision_function"
    )
    columns = np.where(y == "malignant", 1.0, -1.0)
    values += (columns - values) / len(y)  # with an intercept of all rows
    assert_allclose(auc.path_["score"][0], metrics.roc_auc_score(y, values))
    f1 = RLSClassifier(
        Gaussian(5.0), [0.1, 1.0], scoring=metrics.make_scorer(metrics.f1_score, pos_label="benign")
    ).fit(X, y)
    assert_allclose(f1.path_["score"][0], metrics.f1_score(y, refits, pos_label="benign"))


@pytest.mark.parametrize("solver", ["cholesky", "spectral", "svd", "gram", "rectangle"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("cv", [None, KFold(4), ShuffleSplit(5, test_size=0.2, random_state=0)])
def test_scorers_of_ranks_at_large_lambdas(solver, dtype, cv):
    """Nothing is left of the model but its direction, which has its own rank among directions.

    Left-out values themselves rank rows the wrong way round there, since the intercept of the
    others leans against the row that was left out.
    """
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((120, 4)).astype(dtype)
    target = rows[:, 0] + rng.standard_normal(120) > 0.8
    grid = [1e2, 1e3, 1e4] if dtype == np.float32 else [1e3, 1e5, 1e7]
    options = {"scoring": "roc_auc", "solver": solver, "cv": cv}
    if solver == "rectangle":
        options["centers"] = Given(rows, indices=np.arange(120))
    kernel = Gaussian(5.0) if solver in ("cholesky", "spectral", "rectangle") else "linear"
    model = RLSClassifier(kernel, grid, **options).fit(rows, target)
    scores = model.path_["score"]
    assert scores.min() > 0.65
    assert np.ptp(scores) < 0.05
    plain = RLSClassifier(kernel, grid[-1]).fit(rows, target).loo_predictions_
    assert metrics.roc_auc_score(target, plain) < 0.05
    # where rounding is all that is left, it is not a ranking either
    limit = RLSClassifier(kernel, [1e16], **options).fit(rows, target)
    assert limit.path_["score"][0] == pytest.approx(0.5, abs=0.05)


def test_scorers_of_classes_see_the_left_out_values_themselves():
    """Half of the rows in each class, and a huge λ: the others always have the other majority."""
    rows, target = np.random.default_rng(1).standard_normal((40, 2)), np.arange(40) % 2
    model = RLSClassifier("linear", [1e12], scoring="accuracy").fit(rows, target)
    assert model.path_["score"][0] == 0.0


def test_multilabel_scorers_and_one_alpha_per_label():
    labels = np.column_stack([y > 0, X[:, 0] > 0.3, X[:, 1] < 0]).astype(int)
    grid = [0.01, 0.1, 1.0]
    model = RLSClassifier(Gaussian(1.0), grid, scoring="f1_micro").fit(X, labels)
    loo = RLSClassifier(Gaussian(1.0), 0.01).fit(X, labels).loo_predictions_
    assert_allclose(model.path_["score"][0], metrics.f1_score(labels, loo > 0, average="micro"))
    each = RLSClassifier(Gaussian(1.0), grid, scoring="f1", alpha_per_target=True).fit(X, labels)
    for i in range(3):
        alone = RLSClassifier(Gaussian(1.0), grid, scoring="f1").fit(X, labels[:, i])
        assert each.alpha_[i] == alone.alpha_
        assert_allclose(each.path_[f"score_{i}"], alone.path_["score"])


def test_multi_output_scorers():
    Y = np.column_stack([y, 10 * X[:, 0] + y])
    model = RLSRegressor(Gaussian(1.0), [0.1, 1.0], scoring="r2").fit(X, Y)
    loo = RLSRegressor(Gaussian(1.0), 0.1).fit(X, Y).loo_predictions_
    assert_allclose(model.path_["score"][0], metrics.r2_score(Y, loo))
    each = RLSRegressor(Gaussian(1.0), [0.1, 1.0], scoring="r2", alpha_per_target=True).fit(X, Y)
    assert_allclose(each.path_["score_1"][0], metrics.r2_score(Y[:, 1], loo[:, 1]))


# --- folds --------------------------------------------------------------------------------------


def test_groups_reach_the_splitter():
    groups = np.repeat(np.arange(12), 5)
    model = RLSRegressor(Gaussian(1.0), [0.1, 1.0], cv=GroupKFold(4)).fit(X, y, groups=groups)
    K = Gaussian(1.0)(X)
    folds = [test for _, test in GroupKFold(4).split(X, y, groups)]
    values = brute_force.leave_fold_out_values(K, y[:, None], 0.1, None, True, folds)[:, 0]
    assert_allclose(-model.path_["score"][0], np.mean((y - values) ** 2), rtol=1e-8)


def test_an_integer_cv_is_stratified_for_classes():
    labels = np.r_[np.zeros(50, int), np.ones(10, int)]  # sorted: plain folds would miss a class
    model = RLSClassifier(Gaussian(1.0), [0.1, 1.0], cv=5, scoring="accuracy").fit(X, labels)
    refits = cross_val_predict(RLSClassifier(Gaussian(1.0), 0.1), X, labels, cv=StratifiedKFold(5))
    assert model.path_["score"][0] == metrics.accuracy_score(labels, refits)


def test_a_class_missing_from_a_fold_is_no_obstacle():
    """Columns of ±1 are refitted without the fold; a class that is not there is all minus one."""
    labels = np.repeat([0, 1, 2], 20)
    groups = labels  # every fold holds out one whole class
    model = RLSClassifier(Gaussian(1.0), [0.1, 1.0], cv=GroupKFold(3), scoring="accuracy")
    model.fit(X, labels, groups=groups)
    assert model.path_["score"].max() == 0.0


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ([(np.arange(60), np.arange(5))], "fold 0 of cv has rows that are both"),
        ([(np.arange(0), np.arange(60))], "fold 0 of cv has no training row"),
        ([(np.arange(60), np.arange(0))], "fold 0 of cv has no test row"),
        ([], "cv gave no split"),
    ],
)
def test_splits_that_make_no_sense(splits, message):
    with pytest.raises(ValueError, match=message):
        RLSRegressor(alpha=[0.1, 1.0], cv=splits).fit(X, y)


def test_diabetes_against_scikit_learn():
    """The leave-one-out error of the whole path, by refits that nobody here wrote."""
    from sklearn.kernel_ridge import KernelRidge

    X, y = load_diabetes(return_X_y=True)
    X, y = X[:80], y[:80] - y[:80].mean()
    model = RLSRegressor(Gaussian(0.2), [0.1, 1.0], fit_intercept=False).fit(X, y)
    peer = KernelRidge(alpha=0.1, kernel="rbf", gamma=1 / (2 * 0.2**2))
    values = cross_val_predict(peer, X, y, cv=LeaveOneOut())
    assert_allclose(-model.path_["score"][0], np.mean((y - values) ** 2), rtol=1e-9)


def test_a_score_that_rounding_made_leads_nobody_astray():
    """Rows of two kinds: next to no λ the leave-one-out errors are rounding."""
    rng = np.random.default_rng(0)
    rng.standard_normal(20)
    X = rng.integers(0, 2, (300, 1)).astype(float)
    y = X[:, 0] + rng.standard_normal(300)
    model = RLSRegressor(Gaussian(0.3)).fit(X, y)
    alphas = np.geomspace(1e-3, 1e3, 61)
    each = [RLSRegressor(Gaussian(0.3), a).fit(X, y).loo_predictions_ - y for a in alphas]
    squares = np.square(each)
    best = squares.mean(axis=1).argmin()
    apart = squares - squares[best]
    told = apart.mean(axis=1) / (apart.std(axis=1) / np.sqrt(300) + 1e-300)
    assert model.alpha_ < 1.3 * alphas[told <= 0.3].max()


@pytest.mark.parametrize(
    ("best", "low", "high"), [(0, 1, 10), (2, 10, 1e3), (3, 100, 1e4), (4, 1e3, 1e4)]
)
def test_values_are_added_between_the_neighbours_of_the_best(best, low, high, monkeypatch):
    path = SimpleNamespace(alphas=np.geomspace(1.0, 1e4, 5), best=lambda: np.array([best]))
    monkeypatch.setattr(alpha_grid, "evaluate", lambda objective, factor, alphas, path: alphas)
    assert_allclose(alpha_grid._refine(None, None, path), np.geomspace(low, high, 10)[1:-1])


def test_one_row_leaves_nothing_to_round():
    """With an intercept no eigenvalue is left."""
    model = RLSRegressor(Gaussian(1.0), 1.0, solver="spectral").fit(X[:1], y[:1])
    assert model._record._factor.error_estimate(1.0) == 0.0
    assert_allclose(model.predict(X), y[0])
