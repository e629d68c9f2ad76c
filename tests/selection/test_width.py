"""The kernel width, chosen together with λ, against exhaustive grids and by its parts."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_friedman1
from sklearn.model_selection import GroupKFold, TimeSeriesSplit
from sklearn.preprocessing import StandardScaler

from squareone import RLSClassifier, RLSRegressor
from squareone.fitting import width_search as width
from squareone.kernels import Constant, Gaussian, Laplacian, Linear, Matern
from squareone.kernels.tiles import kernel_matrix
from squareone.kernels.widths import WidthFamily, free_width, with_width
from squareone.selection import Folds, LeaveOneOut, descend, fit_curvature
from squareone.selection.criteria import Fold

X, y = make_friedman1(150, noise=1.0, random_state=0)
GRID = np.geomspace(1e-6, 1e3, 30)


def exhaustive(model, X, y, kernel, weights=None):
    """The best score of twenty widths and thirty λ."""
    unit = kernel.median_distance(X, np.random.RandomState(0))
    scores = []
    for sigma in unit * np.geomspace(0.1, 4.0, 20):
        one = clone(model).set_params(kernel=clone(kernel).set_params(sigma=sigma), alpha=GRID)
        scores.append(one.set_params(solver="spectral").fit(X, y, weights).best_score_)
    return max(scores)


@pytest.fixture
def small_levels(monkeypatch):
    """The levels of a search on many rows, with few."""
    monkeypatch.setattr(width, "FEW_ROWS", 150)
    monkeypatch.setattr(width, "SOME_ROWS", 250)
    monkeypatch.setattr(
        width, "width_sizes", lambda n: [] if n <= 250 else [n] if n <= 800 else [300, 600]
    )


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), Matern(nu=0.5), Matern(nu=2.5)])
@pytest.mark.parametrize("criterion", ["loo", "gcv", "holdout"])
def test_as_good_as_an_exhaustive_grid(kernel, criterion):
    model = RLSRegressor(kernel, criterion=criterion).fit(X, y)
    best = exhaustive(model, X, y, kernel)
    assert -model.best_score_ <= 1.02 * -best
    assert model.kernel_.sigma > 0
    assert model.kernel.sigma == "auto"


@pytest.mark.parametrize("load", [load_diabetes, load_iris, load_breast_cancer])
def test_as_good_as_an_exhaustive_grid_on_real_data(load):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = (RLSRegressor() if load is load_diabetes else RLSClassifier()).fit(X, y)
    assert -model.best_score_ <= 1.02 * -exhaustive(model, X, y, Gaussian())


@pytest.mark.thorough
@pytest.mark.parametrize("n", [270, 850, 1100])
@pytest.mark.parametrize("noise", [0.1, 1.0, 5.0])
def test_from_few_rows_to_all(small_levels, n, noise):
    """A search over levels ends where one on all rows does."""
    X, y = make_friedman1(n, n_features=5, noise=noise, random_state=0)
    for solver in ("cholesky", "spectral"):
        model = RLSRegressor(solver=solver).fit(X, y)
        # of many rows the end is extrapolated from fewer
        bound = 1.04 if n > 800 else 1.02
        assert -model.best_score_ <= bound * -exhaustive(model, X, y, Gaussian())
        rows = model.path_["rows"]
        assert {150, 250, n, *([300, 600] * (n > 800))} <= set(rows)
        assert set(rows) <= {150, 250, n, 300, 600, int(0.6 * n)}
        assert (np.diff(rows) >= 0).all()


def test_the_path_of_a_search(small_levels):
    model = RLSRegressor(solver="cholesky").fit(X, y)
    path = pd.DataFrame(model.path_)
    columns = ["alpha", "score", "standard_error", "effective_dof", "bits", "sigma", "rows"]
    assert list(path) == columns
    last = path.iloc[-1]
    assert (last.rows, last.bits) == (150, 64)
    chosen = path[(path.alpha == model.alpha_) & (path.sigma == model.kernel_.sigma)]
    assert_allclose(chosen.score, model.best_score_)
    assert_allclose(chosen.effective_dof, model.effective_dof_)
    some = path[path.rows == 150].iloc[0]
    again = RLSRegressor(Gaussian(some.sigma), float(some.alpha)).fit(X, y)
    assert_allclose(some.score, again.best_score_, rtol=1e-4)  # a look in float32
    assert_allclose(some.effective_dof, again.effective_dof_, rtol=1e-3)


def test_no_width_no_columns_for_it():
    assert "sigma" not in RLSRegressor(Gaussian(1.0)).fit(X, y).path_


def test_the_same_search_twice(small_levels):
    a, b = (RLSRegressor(random_state=3).fit(X, y) for _ in range(2))
    assert a.kernel_.sigma == b.kernel_.sigma
    assert a.alpha_ == b.alpha_
    other = RLSRegressor(random_state=4).fit(X, y)
    assert_allclose(other.best_score_, a.best_score_, rtol=0.02)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_term_of_a_sum_or_product(weighted):
    weights = np.random.default_rng(0).uniform(0.2, 2.0, 150) if weighted else None
    for kernel, name in (
        (Gaussian() + 0.1 * Linear(), "first__sigma"),
        (2.0 * Matern() + Constant(), "first__second__sigma"),
        (Linear() * Laplacian(), "second__sigma"),
    ):
        model = RLSRegressor(kernel).fit(X, y, weights)
        best = max(
            RLSRegressor(clone(kernel).set_params(**{name: sigma}), GRID)
            .fit(X, y, weights)
            .best_score_
            for sigma in np.geomspace(0.1, 10.0, 20)
        )
        assert -model.best_score_ <= 1.02 * -best


def test_a_sum_beyond_the_range_of_single_precision(small_levels):
    rows, targets = make_friedman1(300, noise=1.0, random_state=0)
    plain = RLSRegressor(Gaussian() + 1e-44 * Linear()).fit(rows, targets)
    model = RLSRegressor(Gaussian() + 1e-4 * Linear()).fit(rows * 1e25, targets)
    assert np.isfinite(model.path_["score"]).all()
    assert np.isfinite(plain.path_["score"]).all()


@pytest.mark.parametrize("alpha", [0.5, 0.0, [0.1, 1.0], [0.0, 0.1]])
def test_the_width_alone(small_levels, alpha):
    """λ given: only the width is searched, and a grid stays a grid."""
    model = RLSRegressor(alpha=alpha).fit(X, y)
    assert model.alpha_ in np.atleast_1d(alpha)
    best = max(
        RLSRegressor(Gaussian(sigma), alpha, solver="spectral").fit(X, y).best_score_
        for sigma in model.kernel_.sigma * np.geomspace(0.3, 3.0, 21)
        if np.min(alpha) > 0 or sigma < 1.2
    )
    assert -model.best_score_ <= 1.03 * -best


@pytest.mark.parametrize("cv", [5, TimeSeriesSplit(4), GroupKFold(4)])
def test_folds_choose_the_width_too(small_levels, cv):
    groups = np.repeat(np.arange(15), 10) if isinstance(cv, GroupKFold) else None
    model = RLSRegressor(cv=cv).fit(X, y, groups=groups)
    best = max(
        RLSRegressor(Gaussian(sigma), GRID, cv=cv).fit(X, y, groups=groups).best_score_
        for sigma in np.geomspace(0.3, 10.0, 20)
    )
    assert -model.best_score_ <= 1.02 * -best


def test_scorers_choose_the_width_too(small_levels):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X[:200])
    model = RLSClassifier(scoring="accuracy").fit(X, y[:200])
    assert model.best_score_ > 0.95
    assert set(model.path_["rows"]) == {150, 200}


def test_a_width_with_one_alpha_per_target(small_levels):
    Y = np.column_stack([y, X[:, 0]])
    model = RLSRegressor(alpha_per_target=True).fit(X, Y)
    assert model.alpha_.shape == (2,)
    last = model.path_["rows"] == 150
    assert np.isfinite(model.path_["score_1"][last]).sum() > 10
    assert np.isnan(model.path_["score_1"][~last]).all()


def test_of_kernels_that_predict_the_same_the_narrow_one_is_taken():
    """A smooth function without noise: wider is never worse, until rounding ends it."""
    X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    smooth = X[:, 0] ** 2 + X[:, 1]
    model = RLSRegressor(Gaussian()).fit(X, smooth)
    assert model.kernel_.sigma < 30
    assert_allclose(model.loo_predictions_, smooth, atol=1e-5)


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "matern"])
def test_rows_that_are_all_equal_and_a_single_row(kernel):
    same = np.ones((20, 3))
    model = RLSRegressor(kernel).fit(same, np.arange(20.0))
    assert_allclose(model.predict(same), 9.5)
    single = RLSRegressor(kernel, 1.0).fit(X[:1], y[:1])
    assert_allclose(single.predict(X[:1]), y[:1])


def test_names_mean_the_search():
    for name, kind in (("gaussian", Gaussian), ("rbf", Gaussian), ("laplacian", Laplacian)):
        by_name, by_object = RLSRegressor(name).fit(X, y), RLSRegressor(kind()).fit(X, y)
        assert by_name.kernel_.sigma == by_object.kernel_.sigma


# --- a width for every feature ------------------------------------------------------------------


@pytest.mark.parametrize("n", [150, 300])
def test_a_width_for_every_feature(n, monkeypatch):
    monkeypatch.setattr(width, "SOME_ROWS", 200)
    X, y = make_friedman1(n + 300, noise=0.5, random_state=0)
    one = RLSRegressor(Gaussian()).fit(X[:n], y[:n])
    each = RLSRegressor(Gaussian(ard=True)).fit(X[:n], y[:n])
    assert each.kernel_.sigma.shape == (10,)
    assert each.best_score_ > one.best_score_
    unseen = X[n:], y[n:]
    assert each.score(*unseen) > one.score(*unseen)
    assert "…" in str(each.kernel_)
    widths = RLSRegressor(Gaussian(each.kernel_.sigma), each.alpha_).fit(X[:n], y[:n])
    assert_allclose(widths.predict(X[n:]), each.predict(X[n:]), rtol=1e-6)


def test_one_width_for_every_feature_is_what_it_says():
    sigma = np.array([0.5, 2.0, 1.0])
    rows = X[:, :3]
    assert_allclose(Gaussian(sigma)(rows), Gaussian(1.0)(rows / sigma), rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Gaussian() + Laplacian(), 'sigma="auto" in 2 terms: one width at most can be searched'),
        (Gaussian(ard=True) + Linear(), "ard=True is for a Gaussian kernel by itself"),
        (Gaussian(2.0, ard=True), 'a width for every feature is found with sigma="auto"'),
        (Gaussian(ard="yes"), "True or False is expected"),
        (Gaussian(np.ones(3)), "Gaussian has 3 widths, and X has 10 features"),
        (Gaussian(np.array([1.0, -1.0])), "a 1-D array of finite widths above zero"),
        (Gaussian(np.array(["a"])), "a 1-D array of finite widths above zero"),
        (Gaussian(np.ones((2, 2))), "a 1-D array of finite widths above zero"),
    ],
)
def test_widths_that_make_no_sense(kernel, message):
    with pytest.raises(ValueError, match=message):
        RLSRegressor(kernel).fit(X, y)


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian() + Linear()])
def test_a_kernel_by_itself_cannot_choose(kernel):
    with pytest.raises(ValueError, match=r'sigma="auto", which an estimator chooses'):
        kernel(X)


# --- the parts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(),
        Laplacian(),
        Matern(nu=0.5),
        Matern(nu=1.5),
        Matern(nu=2.5),
        Gaussian() + Linear(),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_family_of_widths_is_made_of_kernel_matrices(kernel, dtype, monkeypatch):
    monkeypatch.setattr("squareone.arrays.TILE", 40)
    rows = X.astype(dtype)
    name = free_width(kernel)
    family = WidthFamily(kernel, name, rows, 0.7)
    lower = np.tril_indices(150)
    for scale in (0.1, 1.0, 5.0):
        assert str(family.at(scale)) == str(with_width(kernel, name, scale * 0.7))
        expected = kernel_matrix(family.at(scale), rows, both_triangles=False)
        tolerance = 2e-4 if dtype == np.float32 else 1e-10
        assert_allclose(family.matrix(scale)[lower], expected[lower], atol=tolerance)


def test_folds_of_some_rows():
    folds = Folds(
        [Fold(np.arange(5), np.ones(5, bool)), Fold(np.array([7, 8]), np.array([1, 0]) > 0)]
    )
    some = folds.restricted(np.array([1, 3, 6, 7, 8]))
    assert_array_equal(some.folds[0].removed, [0, 1])
    assert_array_equal(some.folds[1].removed, [3, 4])
    assert_array_equal(some.folds[1].scored, [True, False])
    assert isinstance(folds.restricted(np.array([0, 1, 2])), LeaveOneOut)  # nothing would stay
    assert isinstance(folds.restricted(np.array([6, 8, 9])), LeaveOneOut)  # nothing is scored


@pytest.mark.parametrize("offset", [(0.0, 0.0), (0.2, -1.0), (-0.3, 1.2)])
def test_descent_finds_the_minimum_of_what_is_nearly_quadratic(offset):
    H = np.array([[2.0, 0.15], [0.15, 0.06]])
    looked = []

    def error(z):
        looked.append(z)
        d = z - np.array([0.5, -3.0])
        return 7.0 * np.exp(0.5 * d @ H @ d + 0.05 * d[0] ** 3)

    end, _ = descend(
        error,
        np.array([0.5, -3.0]) + offset,
        0.7 * H,
        np.full(2, -np.inf),
        np.full(2, np.inf),
        most=6,
        reach=np.array([0.35, 1.5]),
    )
    assert len(looked) <= 10
    assert error(end) <= 7.0 * 1.004


def test_a_descent_explores_the_last_direction_first_and_ends_where_little_is_promised():
    H = np.diag([2.0, 0.05])
    bounds = {"low": np.full(2, -np.inf), "high": np.full(2, np.inf)}

    def looks(worth):
        looked = []

        def error(z):
            looked.append(z)
            return float(np.exp(0.5 * (z - 0.05) @ H @ (z - 0.05)))

        descend(error, np.zeros(2), H, **bounds, most=6, reach=np.array([0.35, 1.5]), worth=worth)
        return looked

    few, more = looks(1e-1), looks(1e-6)
    assert len(few) == 3 < len(more)
    assert_array_equal(more[:3], few)
    assert [z[0] == 0.0 for z in few] == [True, True, False]  # one kernel matrix for two of them


@pytest.mark.parametrize("alpha", [1e-2, 1.0])
@pytest.mark.parametrize("solver", ["nystrom", "rectangle"])
def test_the_width_of_few_centers_is_chosen_with_them(solver, alpha):
    """Nyström at the width of all rows and a given λ multiplies what its kernel lacks."""
    X, y = make_friedman1(600, random_state=0)
    settings = {"alpha": alpha, "solver": solver, "centers": 20, "loo_rows": None}
    model = RLSRegressor(**settings).fit(X, y)
    grid = [RLSRegressor(Gaussian(s), **settings).fit(X, y) for s in np.geomspace(0.3, 30, 9)]
    # it is chosen with other centers than those of the fit
    assert -model.best_score_ < 1.05 * min(-fit.best_score_ for fit in grid)


def test_descent_stays_within_its_bounds_and_survives_what_cannot_be_computed():
    def error(z):
        return np.inf if z[0] > 1.0 else float(np.exp(-z[0]))

    bounds = {"low": np.array([-1.0]), "high": np.array([0.9])}
    end, _ = descend(error, np.array([0.0]), np.eye(1), **bounds, most=8, reach=np.array([0.4]))
    assert 0.8 < end[0] <= 0.9
    nothing, _ = descend(
        lambda z: np.inf, np.array([0.3]), np.eye(1), **bounds, most=8, reach=np.array([0.4])
    )
    assert_array_equal(nothing, [0.3])


def test_curvature_from_many_points():
    rng = np.random.default_rng(0)
    H = np.array([[3.0, 0.2], [0.2, 0.1]])
    Z = rng.uniform(-0.4, 0.4, (60, 2)) * [1.0, 4.0]
    values = 5.0 * np.exp(0.5 * np.einsum("ij,jk,ik->i", Z, H, Z))
    assert_allclose(fit_curvature(Z, values), H, rtol=0.05)


def test_the_price_of_a_condition():
    """A tenth of a per cent for every decade between λ and the rounding of the kernel."""
    assert width._price(1e-9, 1e-3) == pytest.approx(1.006, abs=1e-5)
    assert width._price(1e3, 1e-3) == pytest.approx(1.0, abs=1e-6)
    assert width._price(0.0, 1e-3) == width._price(1.0, 0.0) == 1.0
