"""Parameters out of range, or that do not fit together, are refused before any work."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import make_scorer, max_error
from sklearn.model_selection import GridSearchCV, GroupKFold

from squareone import RLSClassifier, RLSRegressor
from squareone.errors import MemoryLimitError, SingularSystemError
from squareone.kernels import Constant, Gaussian, Laplacian, Matern, Polynomial, Sum
from tests.estimators.data import X, n, refused, table, three, two, y

SEQUENCE = "a 1-D sequence of such numbers (a grid to choose from)"
PARAMETERS = {
    "alpha negative": ({"alpha": -1.0}, ["alpha", "[0.0, inf)", "Got -1.0"]),
    "alpha NaN": ({"alpha": np.nan}, ["alpha", "[0.0, inf)", "Got nan"]),
    "alpha infinite": ({"alpha": np.inf}, ["alpha", "[0.0, inf)", "Got inf"]),
    "alpha bool": ({"alpha": True}, ["alpha=True", "a number at or above zero", SEQUENCE]),
    "alpha text": ({"alpha": "large"}, ["alpha", "'auto'", "Got 'large'"]),
    "alpha None": ({"alpha": None}, ["alpha", "'auto'", "Got None"]),
    "alphas negative": ({"alpha": [1.0, -1.0]}, ["alpha=[1.0, -1.0]", "at or above zero"]),
    "alphas NaN": ({"alpha": [1.0, np.nan]}, ["alpha=[1.0, nan]", "must be finite"]),
    "alphas infinite": ({"alpha": [1.0, np.inf]}, ["alpha=[1.0, inf]", "must be finite"]),
    "alphas bool": ({"alpha": [True, False]}, ["alpha=[True, False]", SEQUENCE]),
    "alphas text": ({"alpha": ["small"]}, ["alpha=['small']", SEQUENCE]),
    "alphas empty": ({"alpha": []}, ["alpha is an empty sequence", "at least one value"]),
    "alphas 2-D": ({"alpha": [[1.0, 2.0]]}, ["alpha=[[1.0, 2.0]]", SEQUENCE]),
    "sigma zero": ({"kernel": Gaussian(0)}, ["Gaussian(sigma=0)", "finite number above zero"]),
    "sigma negative": ({"kernel": Laplacian(-1)}, ["Laplacian(sigma=-1)", "above zero"]),
    "sigma NaN": ({"kernel": Matern(np.nan)}, ["Matern(sigma=nan)", "finite number above zero"]),
    "sigma infinite": ({"kernel": Gaussian(np.inf)}, ["Gaussian(sigma=inf)", "finite number"]),
    "sigma bool": ({"kernel": Gaussian(True)}, ["Gaussian(sigma=True)", "finite number"]),
    "sigma None": ({"kernel": Gaussian(None)}, ["Gaussian(sigma=None)", "finite number"]),
    "sigma text": ({"kernel": Gaussian("mean")}, ["Gaussian(sigma='mean')", '"auto" or "median"']),
    "sigma in a sum": ({"kernel": Gaussian() + Gaussian(-1)}, ["Gaussian(sigma=-1)"]),
    "nu": ({"kernel": Matern(nu=1)}, ["Matern(nu=1)", "0.5, 1.5 or 2.5"]),
    "nu text": ({"kernel": Matern(nu="smooth")}, ["Matern(nu='smooth')", "0.5, 1.5 or 2.5"]),
    "nu array": ({"kernel": Matern(nu=np.ones(2))}, ["nu must be 0.5, 1.5 or 2.5"]),
    "degree zero": ({"kernel": Polynomial(0)}, ["Polynomial(degree=0)", "integer of at least one"]),
    "degree 2.5": ({"kernel": Polynomial(2.5)}, ["Polynomial(degree=2.5)", "integer"]),
    "degree bool": ({"kernel": Polynomial(True)}, ["Polynomial(degree=True)", "integer"]),
    "gamma": ({"kernel": Polynomial(gamma=0.0)}, ["Polynomial(gamma=0.0)", "above zero"]),
    "coef0": ({"kernel": Polynomial(coef0=-1)}, ["Polynomial(coef0=-1)", "at or above zero"]),
    "constant": ({"kernel": Constant(-1)}, ["Constant(value=-1)", "at or above zero"]),
    "a negative multiple": ({"kernel": -2 * Gaussian()}, ["-2.0", "at or above zero"]),
    "kernel unknown": ({"kernel": "sigmoid"}, ["kernel", "'gaussian'", "Got 'sigmoid'"]),
    "kernel class": ({"kernel": Gaussian}, ["kernel", "instance of", "Kernel"]),
    "solver unknown": ({"solver": "qr"}, ["solver", "'cholesky'", "Got 'qr'"]),
    "criterion unknown": ({"criterion": "aic"}, ["criterion", "'gcv'", "Got 'aic'"]),
    "svd": ({"solver": "svd"}, ['solver="svd"', 'needs kernel="linear"', "Gaussian()", '"auto"']),
    "gram": ({"solver": "gram"}, ['solver="gram"', 'needs kernel="linear"', '"spectral"']),
    "scoring with gcv": (
        {"criterion": "gcv", "scoring": "r2"},
        ['criterion="gcv" holds no rows out', "scoring='r2'", 'criterion="loo"'],
    ),
    "cv and gcv": ({"criterion": "gcv", "cv": 3}, ["cv=3", "criterion='gcv'", "set one"]),
    "cv and holdout": ({"criterion": "holdout", "cv": 3}, ["cv=3", "'holdout'", "set one"]),
    "cv of one fold": ({"cv": 1}, ["cv", "[2, inf)", "Got 1"]),
    "cv of too many": ({"cv": 31}, ["31", "30"]),
    "cv text": ({"cv": "five"}, ["cv", "integer", "Got five"]),
    "cv empty": ({"cv": []}, ["cv gave no split"]),
    "cv overlapping": ({"cv": [([0, 1, 2], [2, 3])]}, ["fold 0", "both training and test"]),
    "cv without groups": ({"cv": GroupKFold(2)}, ["'groups'", "None"]),
    "scorer of probabilities": (
        {"scoring": "neg_log_loss"},
        ["scoring='neg_log_loss' cannot be computed", "predict_proba", "offer predict"],
    ),
    "scorer unknown": ({"scoring": "best"}, ["'best' is not a valid scoring", "get_scorer_names"]),
    "metric for a scorer": ({"scoring": max_error}, ["max_error is a metric", "make_scorer"]),
    "cholesky with a scorer": (
        {"solver": "cholesky", "scoring": make_scorer(max_error, greater_is_better=False)},
        [
            'solver="cholesky" cannot do this',
            "searched by squared error",
            "give a sequence of alphas",
            '"spectral"',
        ],
    ),
    "fraction zero": ({"validation_fraction": 0.0}, ["validation_fraction", "(0.0, 1.0)"]),
    "fraction one": ({"validation_fraction": 1.0}, ["validation_fraction", "(0.0, 1.0)"]),
    "memory unreadable": ({"memory_limit": "lots"}, ["memory_limit='lots'", '"2GiB"']),
    "memory negative": ({"memory_limit": "-2GiB"}, ["memory_limit='-2GiB'", '"2GiB"']),
    "memory zero": ({"memory_limit": 0}, ["memory_limit", "Got 0"]),
    "memory bool": ({"memory_limit": True}, ["memory_limit=True", '"2GiB"']),
    "keep_factor": ({"keep_factor": "no"}, ["keep_factor", "bool", "Got 'no'"]),
    "random_state": ({"random_state": "x"}, ["random_state", "RandomState", "Got 'x'"]),
}


@pytest.fixture
def no_work(monkeypatch):
    """Whatever reaches the numerical part fails."""

    def reached(*request):
        pytest.fail("the parameters were accepted")

    monkeypatch.setattr("squareone.estimators.base.fit", reached)


@pytest.mark.parametrize(
    ("estimator", "target"),
    [
        pytest.param(RLSRegressor, y, id="regressor"),
        pytest.param(RLSClassifier, two, id="classifier"),
    ],
)
@pytest.mark.parametrize(("parameters", "message"), table(PARAMETERS))
@pytest.mark.usefixtures("no_work")
def test_bad_parameters_are_refused_before_any_work(estimator, target, parameters, message):
    if parameters.get("cv") == 31 and estimator is RLSClassifier:
        message = ["n_splits=31"]
    with refused(ValueError, *message):
        estimator(**parameters).fit(X, target)


@pytest.mark.parametrize("name", ["alpha negative", "kernel unknown", "solver unknown"])
def test_plan_refuses_what_fit_refuses(name):
    parameters, _ = PARAMETERS[name]
    with refused(ValueError, next(iter(parameters))):
        RLSRegressor(**parameters).plan(X, y)


def test_plan_refuses_an_unknown_criterion():
    with refused(ValueError, "criterion", "aic"):
        RLSRegressor(criterion="aic").plan(X, y)


def test_terms_of_a_kernel_are_kernels():
    with refused(TypeError, "Sum(second='linear')", "a kernel is expected"):
        RLSRegressor(Sum(Gaussian(), "linear")).fit(X, y)
    with refused(TypeError, "a kernel or a number", "'linear'"):
        Gaussian() + "linear"


NAMED = {
    "set_params": lambda: RLSRegressor().set_params(kernel__sigma=2.0),
    "with a name": lambda: RLSRegressor().set_params(kernel="gaussian", kernel__sigma=2.0),
    "search": lambda: GridSearchCV(RLSRegressor(), {"kernel__sigma": [1.0, 2.0]}).fit(X, y),
}


@pytest.mark.parametrize("where", NAMED)
def test_the_kernel_of_a_name_has_no_parameters(where):
    with refused(ValueError, "kernel__sigma", "is a name", "kernel=Gaussian(sigma=...)"):
        NAMED[where]()


def test_an_unknown_name_is_not_advised_as_a_class():
    with pytest.raises(ValueError, match="kernel='poly'") as caught:
        RLSRegressor("poly").set_params(kernel__degree=2)
    assert "kernel=Kernel(" not in str(caught.value)


def test_groups_need_a_splitter():
    with refused(ValueError, "groups were given, but cv is None", "GroupKFold()"):
        RLSRegressor().fit(X, y, groups=two)


def test_groups_need_a_value_per_row():
    with refused(ValueError, "inconsistent numbers of samples", "30", "5"):
        RLSRegressor(cv=GroupKFold(2)).fit(X, y, groups=two[:5])


@pytest.mark.usefixtures("no_work")
def test_weights_are_not_ignored_by_a_scorer_that_takes_none():
    scorer = make_scorer(max_error, greater_is_better=False)
    with refused(ValueError, "takes no sample_weight", "would be ignored", "choose a scorer"):
        RLSRegressor(scoring=scorer).fit(X, y, sample_weight=np.arange(1.0, n + 1))


@pytest.mark.usefixtures("no_work")
def test_a_class_column_alone_has_no_score():
    with refused(ValueError, "alpha_per_target=True", "several classes", "scoring=None"):
        RLSClassifier(alpha_per_target=True, scoring="accuracy").fit(X, three)


# --- memory -------------------------------------------------------------------------------------

rng = np.random.default_rng(2)
many = rng.normal(size=(400, 3))
noisy = many[:, 0] + rng.normal(size=400)
FULL = {  # parameters, what the message says
    "nothing fits": ({}, ['solver="cholesky" on 400 rows', "needs 4.93 MiB", "97.7 KiB"]),
    "linear": ({"kernel": "linear", "memory_limit": 1e4}, ["on 400 rows and 3 features", "KiB"]),
    "spectral": (
        {"solver": "spectral", "memory_limit": "6MiB"},
        ['solver="spectral"', "memory_limit is 6 MiB", 'What fits: solver="cholesky" (4.93'],
    ),
    "only spectral could": (
        {"scoring": "r2", "memory_limit": "2MiB"},
        ['solver="spectral"', "needs 9.", "MiB", "memory_limit is 2 MiB"],
    ),
}


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("parameters", "message"), table(FULL))
def test_what_does_not_fit_in_memory_is_refused_and_what_would_fit_is_named(parameters, message):
    with refused(MemoryLimitError, *message, "raise memory_limit"):
        RLSRegressor(**{"kernel": Gaussian(1.0), "memory_limit": 1e5, **parameters}).fit(
            many, noisy
        )


def test_auto_takes_what_fits():
    model = RLSRegressor(Gaussian(1.0), memory_limit="6MiB").fit(many, noisy)
    assert model.plan_.solver == "cholesky"


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        ("svd", ["features depend on each other", "drop the features"]),
        ("gram", ["features depend on each other", "drop the features"]),
        ("spectral", ["features depend on each other", "drop the features"]),
    ],
)
def test_no_regularisation_of_repeated_features(solver, words):
    """Advice that can be followed: not the solver that was used."""
    twice = np.hstack([X, X])
    with pytest.raises(SingularSystemError) as caught:
        RLSRegressor("linear", alpha=0.0, solver=solver).fit(twice, y)
    message = str(caught.value)
    assert all(word in message for word in words)
    assert "solver=" not in message
    RLSRegressor("linear", alpha=0.0, solver="svd").fit(X, y)  # what is advised


@pytest.mark.parametrize("rows", [np.asarray, csr_array])
def test_no_regularisation_by_a_solver_that_is_not_for_many_rows(rows):
    """The one that is advised can do it."""
    with refused(SingularSystemError, "more rows than features", 'or use solver="svd"'):
        RLSRegressor("linear", alpha=0.0, solver="spectral").fit(rows(X), y)
    RLSRegressor("linear", alpha=0.0, solver="svd").fit(X, y)


def test_no_regularisation_of_repeated_rows():
    model = RLSRegressor(Gaussian(1.0), alpha=0.0, solver="spectral")
    with pytest.raises(SingularSystemError, match="rows depend on each other, as equal rows do"):
        model.fit(np.vstack([X, X]), np.r_[y, y])
