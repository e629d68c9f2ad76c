"""OROLS estimators do what all do: scikit-learn's checks, input, targets, copies, files, limits."""

import re
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from squareone import OROLSClassifier, OROLSRegressor
from squareone.errors import MemoryLimitError
from squareone.fitting import progress
from squareone.kernels import Gaussian, Laplacian, Linear, Precomputed
from squareone.targets import BCH
from tests.estimators.center_cases import (
    NAMES,
    X,
    indicators,
    n,
    new,
    several,
    three,
    two,
    weights,
    y,
)
from tests.estimators.data import refused

FIXED = {"kernel": Gaussian(1.5), "epsilon": 0.01}
ENDS = {"max_centers", "criterion", "condition_limit", "candidates", "exact"}
every_selection = pytest.mark.parametrize("selection", ["sampled", "residual", "greedy"])


def regressor(**more):
    return OROLSRegressor(**{**FIXED, **more})


def classifier(**more):
    return OROLSClassifier(**{**FIXED, **more})


# --- scikit-learn's checks ---

GIVEN = {"kernel": Gaussian(1.0), "epsilon": 0.01}
CHECKED = [
    OROLSRegressor(**GIVEN),
    OROLSRegressor(**GIVEN, selection="greedy", shared_centers=True),
    OROLSRegressor(**GIVEN, selection="residual"),
    OROLSRegressor(**GIVEN, candidates=3),
    OROLSRegressor([Gaussian(1.0), Linear()], epsilon=0.0, stopping=3, lambda_update=0.1),
    OROLSRegressor(**GIVEN, stopping="validation", lambda_update="evidence"),
    OROLSClassifier(**GIVEN),
    OROLSClassifier(**GIVEN, shared_centers=True, coding="bch"),
]


@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    if "sample_weight_equivalence" in str(check) and estimator.epsilon != 0:
        pytest.skip("ε and GCV count rows, and a repeated row is one more")
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([OROLSRegressor(), OROLSClassifier()])
def test_scikit_learn_checks_of_the_defaults(estimator, check):
    test_scikit_learn_checks(estimator, check)


# --- input ---


def test_frames_and_lists():
    expected = regressor().fit(X, y).predict(new)
    for frame in (pd.DataFrame, lambda a, columns: pl.DataFrame(a, schema=columns)):
        rows, others = (frame(a, columns=NAMES) for a in (X, new))
        model = regressor().fit(rows, y)
        assert list(model.feature_names_in_) == NAMES
        assert_allclose(model.predict(others), expected, rtol=1e-12)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame(new, columns=["length", "age", "width"]))
    model = regressor().fit(X.tolist(), y.tolist())
    assert_allclose(model.predict(new.tolist()), expected, rtol=1e-12)


@pytest.mark.thorough
@pytest.mark.costly
@pytest.mark.filterwarnings("ignore:.*ended at .* centers:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("stopping", ["gcv", "validation"])
@pytest.mark.parametrize("kernel", ["gaussian", [Gaussian(1.0), Laplacian(1.0)]], ids=str)
def test_read_only_arrays(stopping, kernel):
    arrays = [X.copy(), several.copy(), weights.copy(), new.copy()]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    OROLSRegressor(kernel, stopping=stopping).fit(*arrays[:3]).predict(arrays[3])
    for array, was in zip(arrays, before, strict=True):
        assert_array_equal(array, was)


@pytest.mark.parametrize("rows", [np.array, csr_array], ids=["dense", "sparse"])
def test_the_model_does_not_change_with_the_rows(rows):
    given, targets = rows(X), y.copy()
    model = regressor().fit(given, targets)
    expected = [model.at(m).predict(new) for m in (0, 3, model.n_centers_)]
    (given if isinstance(given, np.ndarray) else given.data)[:] = 0.0
    targets[:] = 0.0
    for m, values in zip((0, 3, model.n_centers_), expected, strict=True):
        assert_array_equal(model.at(m).predict(new), values)


def test_the_model_does_not_change_with_its_attributes():
    model = regressor().fit(X, y)
    expected = model.at(3).predict(new)
    for values in (model.path_["lambda"], model.path_["center"], model.at(2).centers_):
        values[:] = 0
    assert_array_equal(model.at(3).predict(new), expected)


def test_a_precomputed_kernel_needs_values_with_all_rows():
    K = Gaussian(1.5)(X, X)
    model = OROLSRegressor(Precomputed(), epsilon=0.01).fit(K, y)
    with refused(ValueError, "90"):
        model.predict(K[:, :40])
    with refused(ValueError, "square"):
        OROLSRegressor(Precomputed()).fit(K[:, :40], y)


# --- targets ---


@every_selection
@pytest.mark.parametrize("labels", [two, three], ids=["two", "three"])
@pytest.mark.parametrize("shared", [False, True])
def test_classes(selection, labels, shared):
    model = classifier(selection=selection, shared_centers=shared).fit(X, labels, weights)
    assert_array_equal(model.classes_, np.unique(labels))
    assert model.score(X, labels) > 0.8
    assert model.predict(new).dtype == labels.dtype
    assert model.decision_function(new).shape == ((7,) if len(model.classes_) == 2 else (7, 3))
    assert set(np.ravel(model.stopped_by_)) <= ENDS


@every_selection
@pytest.mark.parametrize("shared", [False, True])
def test_several_labels(selection, shared):
    model = classifier(selection=selection, shared_centers=shared).fit(X, indicators)
    assert model.predict(new).shape == (7, 3)
    assert (model.predict(X) == indicators).mean() > 0.85
    if shared:
        return
    for j in range(3):
        alone = classifier(selection=selection).fit(X, indicators[:, j])
        found = model.decision_function(new)[:, j]
        assert_allclose(found, alone.decision_function(new), rtol=1e-9)


@pytest.mark.parametrize("coding", ["bch", "one_vs_one", BCH(15, "hamming")], ids=str)
@pytest.mark.parametrize("shared", [False, True])
def test_codes(coding, shared):
    model = classifier(coding=coding, shared_centers=shared).fit(X, three)
    assert model.score(X, three) > 0.8
    assert model.code_.shape[0] == 3
    assert model.decision_function(new).shape == (7, 3)


def test_class_weights():
    given = {"low": 3.0, "middle": 1.0, "high": 0.5}
    model = classifier(class_weight=given).fit(X, three)
    plain = classifier().fit(X, three, np.array([given[label] for label in three]))
    assert_array_equal(model.decision_function(new), plain.decision_function(new))
    balanced = classifier(class_weight="balanced").fit(X, three)
    assert np.isfinite(balanced.decision_function(new)).all()
    with refused(ValueError, "class"):
        classifier().fit(X, two, np.where(two == "yes", 1.0, 0.0))


@pytest.mark.parametrize("shared", [False, True])
def test_several_targets(shared):
    model = regressor(shared_centers=shared).fit(X, several, weights)
    assert model.predict(new).shape == (7, 2)
    assert model.dual_coef_.shape == (len(model.center_indices_), 2)
    assert model.intercept_.shape == (2,)
    if shared:
        assert isinstance(model.n_centers_, int)
        assert isinstance(model.lambda_, float)
    else:
        assert model.n_centers_.shape == model.lambda_.shape == (2,)
    column = regressor(shared_centers=shared).fit(X, y[:, None])
    assert column.predict(new).shape == (7, 1)
    assert_allclose(column.predict(new)[:, 0], regressor().fit(X, y).predict(new), rtol=1e-12)


# --- parameters ---


@pytest.mark.filterwarnings("ignore:.*the criterion was still falling")
@every_selection
@pytest.mark.parametrize("stopping", ["gcv", "bic", "mdl", "validation", 5])
@pytest.mark.parametrize("update", ["gcv", "evidence", 0, 0.1])
def test_every_stopping_and_update(selection, stopping, update):
    model = regressor(selection=selection, stopping=stopping, lambda_update=update)
    model.fit(X, y, weights)
    assert model.score(X, y) > 0.8
    assert model.stopped_by_ in ENDS
    path = model.path_
    assert path["centers"].max() >= model.n_centers_
    assert model.lambda_ == path["lambda"][model.n_centers_]
    if stopping == 5:
        assert model.n_centers_ == 5
    elif stopping == "validation":
        assert model.n_centers_ == path["centers"].max()
    else:
        assert model.n_centers_ == np.argmin(path["criterion"])
    if update in (0, 0.1):
        assert_array_equal(path["lambda"][1:], update)


@pytest.mark.parametrize("shared", [False, True])
def test_the_rows_that_are_held_out_are_those_of_the_random_state(shared):
    how = {"stopping": "validation", "shared_centers": shared, "validation_fraction": 0.3}
    how["max_centers"] = n // 2
    found = [regressor(**how, random_state=0).fit(X, several) for _ in range(2)]
    assert_array_equal(found[0].n_centers_, found[1].n_centers_)
    assert_array_equal(found[0].predict(new), found[1].predict(new))


@pytest.mark.parametrize("most", [1, 2, 7])
def test_there_are_no_more_centers_than_asked_for(most):
    model = regressor(max_centers=most).fit(X, y)
    assert model.path_["centers"].max() == most
    assert model.stopped_by_ == "max_centers"
    assert regressor(max_centers=most, stopping=20).fit(X, y).n_centers_ == most


def wavy(n):
    """More waves than the default number of centers can follow."""
    x = np.linspace(0.0, 1.0, n)[:, None]
    return x, np.sin(0.3 * n * x[:, 0])


@pytest.mark.parametrize("stopping", ["gcv", "bic", "validation"])
def test_a_default_limit_that_cuts_a_path_off_is_told(stopping):
    rows, targets = wavy(900)
    model = OROLSRegressor(Gaussian(0.005), epsilon=1e-6, stopping=stopping)
    with pytest.warns(ConvergenceWarning, match="still falling: more might predict") as caught:
        model.fit(rows, targets)
    assert model.stopped_by_ == "max_centers"
    most = int(re.search(r"Set max_centers=(\d+)", str(caught[0].message)).group(1))
    enough = int(re.search(r"leave it at that, max_centers=(\d+)", str(caught[0].message)).group(1))
    assert most == 2 * enough
    longer = model.set_params(max_centers=most).fit(rows, targets)
    assert longer.n_centers_ > enough
    assert model.set_params(max_centers=enough).fit(rows, targets).n_centers_ <= enough


def test_one_warning_for_several_models():
    rows, targets = wavy(900)
    smooth = np.sin(3.0 * rows[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=900)
    model = OROLSRegressor(Gaussian(0.005), epsilon=1e-6)
    with pytest.warns(ConvergenceWarning, match="1 of 2 models ended at 200 centers"):
        model.fit(rows, np.column_stack([targets, smooth]))


def test_no_word_of_a_limit_that_changes_nothing():
    """It was asked for, models were no better at the end, or it is half of few rows."""
    rows, targets = wavy(900)
    narrow = {"kernel": Gaussian(0.005), "epsilon": 1e-6}
    for how in ({"max_centers": 50}, {"stopping": 50}):
        assert OROLSRegressor(**narrow, **how).fit(rows, targets).stopped_by_ == "max_centers"
    noise = np.random.default_rng(0).normal(size=900)
    OROLSRegressor(**narrow).fit(rows, noise)
    for n_rows, stopping in ((40, "gcv"), (100, "bic"), (100, "mdl")):
        few = OROLSRegressor(Gaussian(0.02), epsilon=1e-6, stopping=stopping).fit(*wavy(n_rows))
        assert few.stopped_by_ == "max_centers"


@pytest.mark.parametrize("rows", [60, 100, 300])
def test_half_of_the_rows_are_a_limit_that_is_told_too(rows):
    model = OROLSRegressor(Gaussian(2.0 / rows), epsilon=1e-6)
    with pytest.warns(ConvergenceWarning, match=f"ended at {rows // 2} centers") as caught:
        model.fit(*wavy(rows))
    assert model.stopped_by_ == "max_centers"
    assert f"Set max_centers={rows}, or" in str(caught[0].message)


@pytest.mark.parametrize("verbose", [None, "much", -1, 1.5])
@pytest.mark.parametrize("estimator", [OROLSRegressor, OROLSClassifier])
def test_verbose_is_checked_before_it_is_used(estimator, verbose):
    with refused(ValueError, f"'verbose' parameter of {estimator.__name__} must be", "Got"):
        estimator(verbose=verbose).fit(X, y > 0)


def test_the_path_ends_at_the_limit_of_its_condition():
    model = regressor(condition_limit=3.0, epsilon=0.0).fit(X, y)
    assert model.stopped_by_ == "condition_limit"
    assert model.path_["condition"].max() <= 3.0


def test_the_path_ends_where_its_best_model_was_should_stop():
    noise = np.random.default_rng(3).normal(size=n)
    model = regressor(max_centers=80).fit(X, noise)
    assert model.stopped_by_ == "criterion"
    assert model.path_["centers"].max() < 80


def test_a_path_is_a_table():
    model = regressor().fit(X, several)
    path = pd.DataFrame(model.path_)
    assert list(path["model"].unique()) == [0, 1]
    assert (path.loc[path["centers"] == 0, "center"] == -1).all()
    assert (path.loc[path["centers"] > 0, "center"] >= 0).all()
    assert (path["effective_dof"] > 0).all()


@pytest.mark.thorough
def test_a_search_is_on_record():
    model = OROLSRegressor().fit(X, y)
    looks = pd.DataFrame(model.search_)
    best = looks.loc[looks["error"].idxmin()]
    assert best["sigma"] == pytest.approx(model.kernel_.sigma)
    assert best["epsilon"] == model.epsilon_
    assert len(regressor().fit(X, y).search_["error"]) == 0
    given = OROLSRegressor(Gaussian(1.5)).fit(X, y)
    assert len(given.search_["epsilon"]) == 3
    assert np.isnan(given.search_["sigma"]).all()
    width = OROLSRegressor(epsilon=0.02).fit(X, y)
    assert width.epsilon_ == 0.02
    assert set(width.search_["epsilon"]) == {0.02}


def test_models_on_the_path():
    model = regressor().fit(X, y)
    longest = model.path_["centers"].max()
    empty = model.at(0)
    assert_allclose(empty.predict(new), y.mean())
    assert empty.centers_.shape == (0, 3)
    assert empty.dual_coef_.shape == (0,)
    assert empty.n_centers_ == 0
    assert_array_equal(model.at(model.n_centers_).predict(new), model.predict(new))
    assert model.at(longest).at(model.n_centers_).n_centers_ == model.n_centers_
    assert model.at(np.int64(2)).centers_.shape == (2, 3)
    for bad in (-1, longest + 1, 2.0, True, "2", None):
        with refused(ValueError, f"m={bad!r}", f"from 0 to {longest}"):
            model.at(bad)
    assert_allclose(regressor(fit_intercept=False).fit(X, y).at(0).predict(new), 0.0)


def test_classes_without_centers():
    model = classifier().fit(X, three)
    assert model.at(0).decision_function(new).shape == (7, 3)
    assert model.at(0).predict(new).shape == (7,)


@pytest.mark.parametrize("name", ["predict", "at", "path_", "save"])
def test_nothing_is_known_before_the_fit(name, tmp_path):
    given = {"predict": (X,), "at": (1,), "path_": (), "save": (tmp_path / "model",)}[name]
    with pytest.raises(NotFittedError):
        getattr(OROLSRegressor(), name)(*given)


def test_memory_that_is_not_there_is_refused():
    with refused(MemoryLimitError, "56 centers of 90 rows", "max_centers="):
        regressor(max_centers=56, memory_limit=120_000).fit(X, y)
    with refused(MemoryLimitError, "1 centers of 90 rows", "not even one"):
        regressor(max_centers=1, memory_limit=1000).fit(X, y)
    with refused(ValueError, "memory_limit='lots'"):
        regressor(memory_limit="lots").fit(X, y)


def test_as_many_centers_as_the_refusal_says_fit():
    rows = np.random.default_rng(0).normal(size=(2000, 2))
    limit = 3_000_000
    with pytest.raises(MemoryLimitError) as error:
        regressor(memory_limit=limit).fit(rows, rows[:, 0])
    most = int(str(error.value).split("max_centers=")[1].split()[0].replace(",", ""))
    assert regressor(memory_limit=limit, max_centers=most).fit(rows, rows[:, 0]).n_centers_ <= most


def peak_of_a_fit(model, *arrays):
    tracemalloc.start()
    model.fit(*arrays)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.costly
@pytest.mark.parametrize("targets", [1, 8])
@pytest.mark.parametrize(
    "selection",
    [
        "sampled",
        "residual",
        pytest.param(
            "greedy",
            marks=pytest.mark.xfail(
                strict=True,
                reason="the blocks of columns that all candidates are looked at in are not counted",
            ),
        ),
    ],
)
def test_a_fit_stays_within_its_memory(selection, targets):
    rng = np.random.default_rng(0)
    count = 1500 if selection == "greedy" else 5000
    rows, Y = rng.normal(size=(count, 2)), rng.normal(size=(count, targets))
    regressor().fit(X, y)  # whatever is imported late
    most = 2 if selection == "greedy" else 40
    model = regressor(kernel=Gaussian(0.3), selection=selection, max_centers=most, stopping=most)
    with pytest.raises(MemoryLimitError) as error:
        model.set_params(memory_limit=1).fit(rows, Y)
    asked = float(str(error.value).split(" need ")[1].split(" MiB")[0])
    limit = (asked + 0.01) * 2**20  # which is rounded
    assert peak_of_a_fit(model.set_params(memory_limit=limit), rows, Y) <= limit


def test_progress_is_shown(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_WORTH_SHOWING", 0.0)
    OROLSRegressor(verbose=2, max_centers=3, memory_limit="1GiB").fit(X, y)
    shown = capsys.readouterr().err
    assert "epsilon = " in shown
    assert "of at most 3 centers" in shown
    regressor().fit(X, y)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_fit_that_fails_leaves_nothing(error, monkeypatch):
    model = regressor().fit(X, y)

    def fail(*given, **more):
        raise error

    monkeypatch.setattr("squareone.greedy.fit_task.greedy_path", fail)
    with pytest.raises(error):
        model.fit(X, y)
    assert [name for name in vars(model) if name.endswith("_")] == []
    with pytest.raises(NotFittedError):
        model.predict(new)


def test_parameters_are_searched():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), regressor()),
        {"orolsregressor__max_centers": [1, 20], "orolsregressor__kernel__sigma": [1.0, 2.0]},
        cv=2,
    ).fit(X, y)
    assert search.best_params_["orolsregressor__max_centers"] == 20
