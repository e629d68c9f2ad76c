"""Centers, and what belongs to them, that cannot be used: said at once, with what to do."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from squareone import RLSClassifier, RLSRegressor
from squareone import centers as selectors
from squareone.errors import CheckpointError
from squareone.kernels import Gaussian
from tests.estimators.data import K, X, n, refused, table, two, with_value, y

SOLVERS = ["rectangle", "pcg", "nystrom", "subset"]
points = X[:5].copy()
given = selectors.Given


def fit(**settings):
    settings = {"kernel": Gaussian(1.0), **settings}
    rows = K if settings["kernel"] == "precomputed" else X
    return RLSRegressor(**settings).fit(rows, y)


EXPECTED = "must be None, a str among {'auto'}, an int in the range [1, inf), an instance of"
REFUSED = {
    "none": ({"centers": 0}, "'centers'", EXPECTED, "Got 0"),
    "negative": ({"centers": -1}, "'centers'", EXPECTED, "Got -1"),
    "true": ({"centers": True}, "centers=True", "number of centers", "points", "selector"),
    "false": ({"centers": False}, "'centers'", EXPECTED, "Got False"),
    "half a center": ({"centers": 2.5}, "'centers'", EXPECTED, "Got 2.5"),
    "text": ({"centers": "many"}, "'centers'", EXPECTED, "Got 'many'"),
    "a class": ({"centers": selectors.KMeans}, "'centers'", EXPECTED, "KMeans"),
    "too many": ({"centers": 31}, "centers=31", "30 rows", "ask for fewer", "centers=None"),
    "too many of a selector": (
        {"centers": selectors.PivotedCholesky(31)},
        *("PivotedCholesky(count=31", "31 centers", "30 rows", "ask for fewer"),
    ),
    "a selector of none": ({"centers": selectors.Uniform(0)}, "Uniform(count=0)", "above zero"),
    "an empty pool": (
        {"centers": selectors.PivotedCholesky(3, pool=0)},
        *("PivotedCholesky(pool=0)", "above zero"),
    ),
    "one point": ({"centers": X[0]}, "centers of shape (3,)", "points (m, 3)"),
    "a list of numbers": ({"centers": [1, 2, 3]}, "centers of shape (3,)", "points (m, 3)"),
    "three dimensions": ({"centers": X[None]}, "centers of shape (1, 30, 3)", "points (m, 3)"),
    "too few features": ({"centers": X[:5, :2]}, "2 features", "rows have 3"),
    "too many features": ({"centers": np.ones((2, 4))}, "4 features", "rows have 3"),
    "sparse, too few": ({"centers": csr_array(X[:5, :2])}, "2 features", "rows have 3"),
    "missing": ({"centers": with_value(points, np.nan)}, "points contains NaN"),
    "infinite": ({"centers": with_value(points, np.inf)}, "points contains infinity"),
    "words": ({"centers": [["a", "b", "c"]]}, "could not convert", "'a'"),
    "a row too far": ({"centers": given(X[:3], [0, 1, n])}, "indices", "from 0 to 29", "3 points"),
    "a row before": ({"centers": given(X[:3], [0, 1, -2])}, "indices", "from 0 to 29", "3 points"),
    "a row too few": ({"centers": given(X[:3], [0, 1])}, "(2,)", "from 0 to 29", "3 points"),
    "rows as fractions": ({"centers": given(X[:3], [0.0, 1.0, 2.0])}, "float64", "row number"),
    "time, all rows": ({"time_limit": 3.0}, "time_limit=3.0", 'centers="auto"', "centers=None"),
    "time, a number": (
        {"time_limit": 3.0, "centers": 5},
        *("time_limit=3.0", 'centers="auto"', "centers=5", "nothing to choose"),
    ),
    "no time": ({"time_limit": 0, "centers": "auto"}, "'time_limit'", "(0.0, inf)", "Got 0"),
    "time back": ({"time_limit": -1, "centers": "auto"}, "'time_limit'", "(0.0, inf)", "Got -1"),
    "time in words": ({"time_limit": "3s", "centers": "auto"}, "'time_limit'", "Got '3s'"),
    "one row left out": ({"loo_rows": 1, "centers": 5}, "'loo_rows'", "[2, inf)", "Got 1"),
    "no row left out": ({"loo_rows": 0, "centers": 5}, "'loo_rows'", "[2, inf)", "Got 0"),
    "half a row": ({"loo_rows": 2.5, "centers": 5}, "'loo_rows'", "[2, inf)", "Got 2.5"),
    "rows in words": ({"loo_rows": "many", "centers": 5}, "'loo_rows'", "'auto'", "Got 'many'"),
    "a number for a file": (
        {"checkpoint": 5, "solver": "rectangle"},
        *("'checkpoint'", "'str'", "PathLike", "Got 5"),
    ),
    "checkpoint of a subset": (
        {"checkpoint": "fit.npz", "solver": "subset", "centers": 5},
        *('solver="subset"', "checkpoint is for", '"rectangle"', '"nystrom"', '"pcg"'),
    ),
    "subset of points": (
        {"solver": "subset", "centers": points + 0.1},
        *('solver="subset"', "5 of 5 centers are equal to no row", 'solver="rectangle"'),
    ),
    "subset of centroids": (
        {"solver": "subset", "centers": selectors.KMeans(5)},
        *('solver="subset"', "means of rows", 'solver="rectangle"'),
    ),
    "gcv of nystrom": (
        {"solver": "nystrom", "centers": 5, "criterion": "gcv"},
        *('solver="nystrom"', "approximate kernel", '"loo"', '"holdout"', '"rectangle"'),
    ),
    "gcv of pcg": (
        {"solver": "pcg", "centers": 5, "criterion": "gcv"},
        *('solver="pcg"', "no trace", "leave-one-out", '"rectangle"'),
    ),
    "likelihood of nystrom": (
        {"solver": "nystrom", "centers": 5, "criterion": "marginal_likelihood"},
        *('solver="nystrom"', "approximate kernel", '"rectangle"'),
    ),
    "likelihood of pcg": (
        {"solver": "pcg", "centers": 5, "criterion": "marginal_likelihood"},
        *('solver="pcg"', "no determinant", '"rectangle"'),
    ),
    "no regularisation": (
        {"solver": "pcg", "centers": 5, "alpha": 0},
        *('solver="pcg"', "alpha above zero", '"rectangle"'),
    ),
    "a grid from zero": (
        {"solver": "pcg", "centers": 5, "alpha": [0.0, 1.0]},
        *('solver="pcg"', "alpha above zero", '"rectangle"'),
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_refused(case):
    settings, *fragments = case
    with refused(ValueError, *fragments):
        fit(**settings)


@pytest.mark.parametrize("solver", ["cholesky", "spectral", "svd", "gram", "krylov"])
def test_exact_solvers_have_no_centers(solver):
    kernel = "linear" if solver in ("svd", "gram", "krylov") else Gaussian(1.0)
    said = (f'solver="{solver}"', "centers=5", 'solver="rectangle"', '"auto"')
    with refused(ValueError, *said):
        fit(kernel=kernel, solver=solver, centers=5)
    with refused(ValueError, f'solver="{solver}"', "checkpoint is for", '"rectangle"'):
        fit(kernel=kernel, solver=solver, checkpoint="fit.npz")


@pytest.mark.parametrize(
    "settings", [{"centers": 5}, {"centers": "auto"}, *({"solver": s} for s in SOLVERS)], ids=str
)
def test_a_kernel_matrix_has_no_centers(settings):
    with refused(ValueError, "evaluated on rows", "Precomputed()", "another kernel"):
        fit(kernel="precomputed", **settings)


@pytest.mark.parametrize("solver", ["auto", "rectangle", "pcg", "nystrom"])
@pytest.mark.parametrize("empty", [[], np.empty((0, 3)), csr_array((0, 3))], ids=type)
def test_no_points(solver, empty):
    """All rows are centers=None; an array without points is most likely a mistake."""
    with refused(ValueError, "centers of shape (0", "at least one"):
        fit(alpha=0.1, solver=solver, centers=empty)


@pytest.mark.parametrize("solver", SOLVERS)
def test_more_centers_than_rows_of_positive_weight(solver):
    weights = np.where(np.arange(n) < 10, 1.0, 0.0)
    with refused(ValueError, "11 centers", "10 rows of positive weight", "ask for fewer"):
        RLSRegressor(Gaussian(1.0), 0.1, solver=solver, centers=11).fit(X, y, weights)


@pytest.mark.parametrize("solver", ["auto", "rectangle", "pcg", "subset"])
def test_a_row_that_is_a_center_twice(solver):
    with refused(ValueError, "row 1", "twice"):
        fit(alpha=0.1, solver=solver, centers=given(X[[0, 1, 1]], [0, 1, 1]))


@pytest.mark.parametrize("solver", ["rectangle", "pcg", "nystrom", "subset"])
@pytest.mark.parametrize("indices", [[0, 1, 1], [5, 6, 7]], ids=["repeated", "others"])
def test_indices_of_other_rows(solver, indices):
    with refused(ValueError, "Given", "indices"):
        _ = fit(alpha=0.1, solver=solver, centers=given(X[:3], indices)).loo_predictions_


def test_a_dict():
    with refused(ValueError, "centers"):
        fit(centers={"a": 1})


@pytest.mark.parametrize(
    "settings", table({"exact": ({"solver": "cholesky"},), "time": ({"time_limit": 3.0},)})
)
def test_points_are_not_printed_in_full(settings):
    with pytest.raises(ValueError, match="an array of shape") as refusal:
        fit(centers=X, **settings)
    assert len(str(refusal.value)) < 500


def test_nystrom_without_regularisation():
    """Its coefficients are residuals divided by λ."""
    with refused(ValueError, 'solver="nystrom"', "alpha above zero"):
        fit(solver="nystrom", centers=5, alpha=0)


def test_without_regularisation():
    """The rectangle and the subset can do it, as long as their systems are regular."""
    for solver in ("rectangle", "subset"):
        model = fit(solver=solver, centers=5, alpha=0)
        residuals = y - model.predict(X)
        own = model.center_indices_
        if solver == "subset":
            np.testing.assert_allclose(residuals[own], 0.0, atol=1e-9)
        else:
            values = np.exp(-0.5 * ((X[:, None] - X[own]) ** 2).sum(axis=2))
            np.testing.assert_allclose(values.T @ residuals, 0.0, atol=1e-9)
    twice, targets = np.vstack([X[:1], X]), np.r_[y[0] + 1.0, y]
    with refused(np.linalg.LinAlgError, "alpha=0", "singular", "alpha above zero"):
        RLSRegressor(Gaussian(1.0), 0, solver="subset", centers=given(twice[:3], np.arange(3))).fit(
            twice, targets
        )


@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_is_left_behind(solver):
    """A refused fit leaves neither the results of an earlier one nor a part of its own."""
    model = RLSRegressor(Gaussian(1.0), 0.1, solver=solver, centers=5, tol=1e-8).fit(X, y)
    assert hasattr(model, "dual_coef_")
    with pytest.raises(ValueError, match="31 centers"):
        model.set_params(centers=31).fit(X, y)
    left = [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]
    assert left == []


def test_refused_before_the_rows_are_looked_at():
    """What is wrong with parameters is said whatever the rows are."""
    with refused(ValueError, 'solver="cholesky"', "centers=5"):
        RLSClassifier(solver="cholesky", centers=5).fit([[np.nan]], [0])


def test_a_plan_refuses_what_a_fit_refuses():
    for settings in ({"centers": 31}, {"solver": "pcg", "criterion": "gcv"}):
        model = RLSClassifier(Gaussian(1.0), **settings)
        with pytest.raises(ValueError, match=r"31|pcg") as of_plan:
            model.plan(X, two)
        with pytest.raises(ValueError, match=r"31|pcg") as of_fit:
            model.fit(X, two)
        assert str(of_plan.value) == str(of_fit.value)


def test_checkpoint_that_is_a_folder(tmp_path):
    with refused(CheckpointError, "checkpoint=", "is no checkpoint"):
        fit(solver="rectangle", centers=5, checkpoint=tmp_path)


def test_checkpoint_in_a_folder_that_is_not_there(tmp_path):
    """Said before the work, not half a minute into it."""
    with refused((ValueError, OSError), "checkpoint"):
        fit(solver="rectangle", centers=5, checkpoint=tmp_path / "nowhere" / "fit.npz")


@pytest.mark.parametrize("settings", [{}, {"centers": "auto"}], ids=str)
def test_checkpoint_that_would_not_be_kept(settings, tmp_path):
    with refused(ValueError, "checkpoint"):
        fit(checkpoint=tmp_path / "fit.npz", **settings)


def test_attributes_of_fits_with_centers_only():
    model = fit(alpha=0.1)
    with refused(AttributeError, "explained_trace_", "centers"):
        _ = model.explained_trace_
    assert not hasattr(model, "dropped_centers_")
