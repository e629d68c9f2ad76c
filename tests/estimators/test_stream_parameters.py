"""Parameters of streams: those they began with, several ridges, a width from the first rows."""

import inspect
import pickle
from copy import deepcopy

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import squareone
from squareone import (
    FilteringClassifier,
    HierarchicalClassifier,
    IncrementalRLSClassifier,
    IncrementalRLSRegressor,
    SecondOrderPerceptron,
    SelectiveSamplingClassifier,
)
from squareone.kernels import Gaussian, Laplacian, Linear

rng = np.random.default_rng(0)
n, d = 260, 4
X = rng.standard_normal((n, d))
two = (X[:, 0] + 0.3 * rng.standard_normal(n) > 0).astype(int)
three = np.argmax(X[:, :3] + 0.5 * rng.standard_normal((n, 3)), axis=1)
number = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
KINDS = [
    FilteringClassifier,
    HierarchicalClassifier,
    IncrementalRLSClassifier,
    IncrementalRLSRegressor,
    SecondOrderPerceptron,
    SelectiveSamplingClassifier,
]


def go(model, start, stop):
    """Learn some rows, whatever the model is."""
    part = slice(start, stop)
    if isinstance(model, FilteringClassifier):
        if not hasattr(model, "_record"):
            model.start([0, 1], d)
        return model.feedback(X[part], two[part])
    if isinstance(model, IncrementalRLSRegressor):
        return model.partial_fit(X[part], number[part])
    if isinstance(model, HierarchicalClassifier):
        return model.partial_fit(X[part], three[part], classes=[0, 1, 2])
    return model.partial_fit(X[part], two[part], classes=[0, 1])


# --- names ---


@pytest.mark.parametrize("kind", KINDS)
def test_kernel_and_alpha_come_first_as_in_the_other_estimators(kind):
    names = list(inspect.signature(kind).parameters.values())
    assert [each.name for each in names[:2]] == ["kernel", "alpha"]
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in names[2:])
    assert kind("gaussian", 0.5).alpha == 0.5
    with pytest.raises(TypeError, match="unexpected keyword argument 'a'"):
        kind(a=1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_that_has_not_begun_says_how_to(kind):
    rows = (lambda model: model.predict_one(X[0]), lambda model: model.learn_one(X[0], 0))
    for ask in (
        *(() if kind is IncrementalRLSRegressor else rows),  # which begins with the first row
        lambda model: model.predict(X),
        lambda model: model.n_rounds_,
        lambda model: model.kernel_,
        lambda model: model.coef_,
    ):
        with pytest.raises(NotFittedError, match="call start, or partial_fit or fit"):
            ask(kind())


def test_a_regressor_begins_with_its_first_row():
    """As users of river write it: a row is predicted, and then learned."""
    named = [dict(zip("ab", row[:2].tolist(), strict=True)) for row in X[:30]]
    numbers = X[:30, 0] - 2 * X[:30, 1]
    model, same = IncrementalRLSRegressor(0.1 * Linear()), IncrementalRLSRegressor(0.1 * Linear())
    same.start()
    for row, number in zip(named, numbers, strict=True):
        assert model.predict_one(row) == same.predict_one(row)
        model.learn_one(row, number)
        same.learn_one(row, number)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert IncrementalRLSRegressor().learn_one([1.0], [2.0, 3.0]).predict_one([0.0]).shape == (2,)


@pytest.mark.parametrize("bad", [({"a": np.nan}, 1.0), ({"a": 1.0}, "high"), ({}, 1.0)])
def test_a_first_row_that_is_refused_begins_nothing(bad):
    model = IncrementalRLSRegressor()
    with pytest.raises((ValueError, TypeError)):
        model.learn_one(*bad)
    with pytest.raises(NotFittedError):
        model.predict([[1.0]])
    assert model.learn_one({"b": 1.0}, 1.0).n_rounds_ == 1


@pytest.mark.parametrize("kind", [each for each in KINDS if each is not IncrementalRLSRegressor])
def test_a_classifier_says_what_to_write_before_the_first_row(kind):
    written = rf"{kind.__name__}\(...\).start\(classes=\['ham', ...\]\) first"
    with pytest.raises(NotFittedError, match=written):
        kind().learn_one({"a": 1.0}, "ham")


@pytest.mark.parametrize("kind", KINDS)
def test_the_weight_of_a_row_has_a_name(kind):
    with pytest.raises(TypeError, match="argument 'w': did you mean 'sample_weight'"):
        kind().learn_one(X[0], 0, w=2.0)
    with pytest.raises(TypeError, match="argument 'z': x, y and sample_weight are expected"):
        kind().learn_one(X[0], 0, z=2.0)


# --- what is set later ---

CHANGES = {
    "alpha": (IncrementalRLSRegressor(), {"alpha": 50.0}),
    "an alpha that is none": (IncrementalRLSRegressor(), {"alpha": -1.0}),
    "ridges": (SecondOrderPerceptron(), {"alpha": [0.1, 1.0]}),
    "fewer ridges": (IncrementalRLSClassifier(alpha="auto"), {"alpha": 1.0}),
    "intercept": (IncrementalRLSRegressor(), {"fit_intercept": False}),
    "form": (IncrementalRLSRegressor(), {"form": "dual"}),
    "kernel": (IncrementalRLSRegressor(), {"kernel": "gaussian"}),
    "width": (IncrementalRLSClassifier(Gaussian(1.0)), {"kernel__sigma": 3.0}),
    "no kernel": (IncrementalRLSClassifier("gaussian"), {"kernel": "linear"}),
    "hypothesis": (SecondOrderPerceptron(), {"hypothesis": "average"}),
    "strategy": (SelectiveSamplingClassifier(), {"strategy": "randomized", "k": 9.0}),
    "seed": (SelectiveSamplingClassifier(strategy="randomized"), {"random_state": 5}),
    "normalise": (SelectiveSamplingClassifier(), {"normalise": False}),
    "k": (FilteringClassifier(), {"k": 9.0, "utility": (1.0, 1.0)}),
    "new classes": (IncrementalRLSClassifier(), {"new_classes": "add"}),
    "no new classes": (SecondOrderPerceptron(new_classes="add"), {"new_classes": "refuse"}),
    "forgetting": (IncrementalRLSRegressor(forgetting=0.9), {"forgetting": 1.0}),
    "budget": (SecondOrderPerceptron(Gaussian(1.0), budget=9), {"budget": 3}),
    "taxonomy": (HierarchicalClassifier(taxonomy={"a": [0, 1], "b": [2]}), {"taxonomy": None}),
}


@pytest.mark.parametrize("case", CHANGES.values(), ids=CHANGES)
def test_a_stream_goes_on_with_the_parameters_it_began_with(case, tmp_path):
    estimator, changed = case
    kept, model = (go(clone(estimator), 0, 150) for _ in range(2))
    model.set_params(**changed)
    model.save(tmp_path / "model")
    copies = [squareone.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))]
    for name, value in changed.items():  # which were set, and count for the next stream
        assert repr(copies[0].get_params()[name]) == repr(value)
    expected = go(kept, 150, n).predict(X)
    for each in (model, *copies, deepcopy(copies[0])):
        assert_array_equal(go(each, min(150, 150), n).predict(X), expected)
        assert each.n_rounds_ == kept.n_rounds_
    # and once more through a file, after they had been set
    copies[0].save(tmp_path / "again")
    again = go(squareone.load(tmp_path / "again"), 0, 50).predict(X)
    assert_array_equal(again, go(kept, 0, 50).predict(X))


def test_a_new_stream_has_the_parameters_that_were_set():
    model = go(IncrementalRLSRegressor(), 0, 50).set_params(alpha=50.0, fit_intercept=False)
    expected = IncrementalRLSRegressor(alpha=50.0, fit_intercept=False).fit(X, number)
    assert_array_equal(model.fit(X, number).coef_, expected.coef_)


# --- memory that may not be written ---

READ_ONLY = {
    "primal": IncrementalRLSClassifier(),
    "perceptron": SecondOrderPerceptron(),
    "average": SecondOrderPerceptron(hypothesis="average"),
    "penalised": SecondOrderPerceptron(hypothesis="penalised"),
    "kernel": IncrementalRLSClassifier(Gaussian(1.0)),
    "budget": SecondOrderPerceptron(Gaussian(1.0), budget=5),
    "diagonal": SecondOrderPerceptron(form="diagonal"),
    "far above the ridge": IncrementalRLSClassifier(form="dual", alpha=1e-9),
    "sampler": SelectiveSamplingClassifier(),
    "randomised": SelectiveSamplingClassifier(strategy="randomized"),
    "width": IncrementalRLSClassifier("gaussian"),
    "forgetting": IncrementalRLSRegressor(forgetting=0.9),
    "ridges": IncrementalRLSClassifier(alpha="auto", new_classes="add"),
    "hierarchy": HierarchicalClassifier(taxonomy={"a": [0, 1], "b": [2]}),
    "filter": FilteringClassifier(),
}


@pytest.mark.parametrize("rows", [40, 150])
@pytest.mark.parametrize("mode", ["r", "c"])
@pytest.mark.parametrize("name", READ_ONLY)
def test_a_stream_that_is_mapped_from_a_file_goes_on(name, mode, rows, tmp_path):
    model = go(clone(READ_ONLY[name]), 0, rows)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode=mode)
    for each in (model, mapped):
        go(each, rows, n)
        each.learn_one(X[3], 1)
        if hasattr(each, "query"):
            each.query(X[:5])
    assert_array_equal(mapped.predict(X), model.predict(X))
    untouched = joblib.load(tmp_path / "model")
    go(untouched, rows, n).learn_one(X[3], 1)
    assert_array_equal(untouched.predict(X), model.predict(X))


def _learned(model):
    return go(model, 100, n).predict(X)


@pytest.mark.thorough
def test_a_stream_goes_on_in_a_worker():
    model = go(IncrementalRLSRegressor(), 0, 100)
    jobs = (joblib.delayed(_learned)(model) for _ in range(2))
    found = joblib.Parallel(n_jobs=2, max_nbytes=100)(jobs)  # arrays are mapped for workers
    assert_array_equal(found[0], go(model, 100, n).predict(X))
    assert_array_equal(found[0], found[1])


# --- several ridges ---

RIDGES = [100.0, 10.0, 1.0, 0.1, 0.01]


def reference_choice(errors):
    """Which of k ridges has lost least before each row, the i-th counting i²: (n,)."""
    counted = np.square(errors) * np.square(np.arange(1.0, errors.shape[1] + 1.0))[:, None]
    chosen = []
    for i in range(errors.shape[1]):
        lost = counted[:, :i].sum(axis=1)  # (k, t)
        whole = lost.sum(axis=0)
        shares = np.where(whole > 0, lost / np.where(whole > 0, whole, 1.0), 1.0 / len(errors))
        chosen.append(int(np.argmin(shares.mean(axis=1))))
    return np.array(chosen)


@pytest.mark.parametrize("form", ["primal", "dual", "diagonal"])
def test_several_ridges_are_compared_before_each_row(form):
    alone = [IncrementalRLSClassifier(alpha=a, form=form).fit(X, three) for a in RIDGES]
    every = np.array([model.online_decisions_ for model in alone])  # (k, n, t)
    signs = np.where(three[:, None] == np.arange(3), 1.0, -1.0)
    expected = every[reference_choice(signs - every), np.arange(n)]
    model = IncrementalRLSClassifier(alpha=RIDGES, form=form).fit(X, three)
    assert_allclose(model.online_decisions_, expected, atol=1e-9)
    best = int(np.argmin(model.path_["share"]))
    assert model.alpha_ == RIDGES[best]
    assert_allclose(model.coef_, alone[best].coef_, rtol=1e-12)
    assert_allclose(model.path_["alpha"], RIDGES)
    errors = [each.prequential_error_.mean() for each in alone]
    assert_allclose(model.path_["prequential_error"], errors, rtol=1e-9)
    one = IncrementalRLSClassifier(alpha=RIDGES, form=form).start([0, 1, 2], d)
    for row, label in zip(X, three, strict=True):
        one.learn_one(row, label)
    assert one.alpha_ == model.alpha_
    assert_allclose(one.decision_function(X), model.decision_function(X), atol=1e-9)


def test_auto_is_a_few_decades_and_finds_the_right_one():
    noise = rng.standard_normal((400, 30))
    truth = noise[:, 0] + 5.0 * rng.standard_normal(400)  # far more noise than signal
    model = IncrementalRLSRegressor(alpha="auto").fit(noise, truth)
    assert sorted(model.path_["alpha"]) == sorted(RIDGES)
    assert model.alpha_ == 100.0
    exact = noise @ np.arange(30.0)
    assert IncrementalRLSRegressor(alpha="auto").fit(1e-2 * noise, exact).alpha_ == 0.01


def test_targets_in_other_units_choose_the_same_ridge():
    targets = np.column_stack([number, X[:, 2]])
    plain = IncrementalRLSRegressor(alpha="auto").fit(X, targets)
    scaled = IncrementalRLSRegressor(alpha="auto").fit(X, targets * [1e6, 1e-6])
    assert_allclose(scaled.path_["share"], plain.path_["share"], rtol=1e-9)
    assert scaled.alpha_ == plain.alpha_


def test_with_forgetting_the_ridge_follows():
    rows = rng.standard_normal((1200, 20))
    first = rows[:, 0] + 20.0 * rng.standard_normal(1200)
    targets = np.where(np.arange(1200) < 600, first, 0.3 * rows @ np.ones(20))
    model = IncrementalRLSRegressor(alpha="auto", forgetting=0.97)
    assert model.partial_fit(rows[:600], targets[:600]).alpha_ == 100.0
    assert model.partial_fit(rows[600:], targets[600:]).alpha_ < 1.0


@pytest.mark.parametrize("alpha", [0.0, -1.0, [], [1.0, np.nan], [0.0, 1.0], "best", [[1.0, "a"]]])
@pytest.mark.parametrize("kind", [IncrementalRLSRegressor, SecondOrderPerceptron])
def test_ridges_that_are_none_are_refused(kind, alpha):
    with pytest.raises(ValueError, match="alpha"):
        kind(alpha=alpha).fit(X, two)


# --- a width from the first rows ---

WITHOUT_WIDTH = {
    "incremental": IncrementalRLSClassifier("gaussian"),
    "perceptron": SecondOrderPerceptron("gaussian"),
    "average": SecondOrderPerceptron(Gaussian("median"), hypothesis="average"),
    "a sum": SecondOrderPerceptron(0.5 * Laplacian() + Linear()),
    "ridges": IncrementalRLSClassifier("gaussian", alpha=[1.0, 0.1]),
    "hierarchy": HierarchicalClassifier("gaussian", taxonomy={"a": [0, 1], "b": [2]}),
}


def median(rows):
    distances = np.sqrt(np.square(rows[:, None] - rows).sum(axis=2))
    return np.median(distances[np.triu_indices(len(rows), 1)])


@pytest.mark.costly
@pytest.mark.parametrize("share", [[1] * n, [3, 1, 95, 161], [99, 161], [100, 160], [130, 130]])
@pytest.mark.parametrize("name", WITHOUT_WIDTH)
def test_it_does_not_depend_on_how_rows_are_shared_out(name, share):
    whole = clone(WITHOUT_WIDTH[name]).fit(X, three)
    parts, start = clone(WITHOUT_WIDTH[name]), 0
    for size in share:
        part = slice(start, start + size)
        parts.partial_fit(X[part], three[part], classes=[0, 1, 2])
        start += size
    assert str(parts.kernel_) == str(whole.kernel_)
    assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("count", [2, 30, 99, 100, 101, 200])
def test_it_is_the_median_distance_of_the_first_hundred(count):
    model = IncrementalRLSRegressor("gaussian").start(d)
    for row, target in zip(X[:count], number[:count], strict=True):
        model.learn_one(row, target)
    sigma = median(X[: min(count, 100)])
    assert model.kernel_.sigma == pytest.approx(sigma, rel=1e-12)
    given = IncrementalRLSRegressor(Gaussian(sigma)).fit(X[:count], number[:count])
    assert_allclose(model.predict(X), given.predict(X), atol=1e-9)
    assert model.prequential_error_ == pytest.approx(given.prequential_error_, rel=1e-9)
    sparse = IncrementalRLSRegressor("gaussian")
    for start in range(0, count, 10):
        part = slice(start, min(count, start + 10))
        sparse.partial_fit(csr_matrix(X[part]), number[part])
    assert sparse.kernel_.sigma == pytest.approx(sigma, rel=1e-12)
    assert_allclose(sparse.predict(X), given.predict(X), atol=1e-9)


def test_before_there_is_a_row_nothing_is_known():
    model = IncrementalRLSRegressor("gaussian").start(d)
    assert_array_equal(model.predict(X), np.zeros(n))
    assert model.predict_one(X[0]) == 0.0
    assert model.learn_one(X[0], 1.0).predict_one(X[0]) > 0.0
    same = IncrementalRLSRegressor("gaussian").start(d)
    for _ in range(120):  # distances are all zero
        same.learn_one(X[0], 1.0)
    assert same.kernel_.sigma == 1.0


@pytest.mark.costly
@pytest.mark.parametrize(
    "rows",
    [*(pytest.param(rows, marks=pytest.mark.thorough) for rows in (1, 30)), 99, 100, 150],
)
@pytest.mark.parametrize("name", WITHOUT_WIDTH)
def test_a_copy_in_mid_stream_finds_the_same_width(name, rows, tmp_path):
    model = clone(WITHOUT_WIDTH[name])
    model.partial_fit(X[:rows], three[:rows], classes=[0, 1, 2])
    model.save(tmp_path / "model")
    copies = [squareone.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))]
    for each in (model, *copies):
        for row, label in zip(X[rows:], three[rows:], strict=True):
            each.learn_one(row, label)
    for copy in copies:
        assert str(copy.kernel_) == str(model.kernel_)
        assert_array_equal(copy.decision_function(X), model.decision_function(X))


def test_a_class_that_comes_among_the_first_rows_is_added_where_it_came():
    labels = np.where(np.arange(n) < 40, two, three)
    model, known = (IncrementalRLSClassifier("gaussian", new_classes="add") for _ in range(2))
    model.partial_fit(X[:20], labels[:20], classes=[0, 1])
    for row, label in zip(X[20:], labels[20:], strict=True):
        model.learn_one(row, label)
    known.partial_fit(X, labels, classes=[0, 1, 2])
    order = np.argsort(model.classes_)
    assert_allclose(model.decision_function(X)[:, order], known.decision_function(X), atol=1e-9)


def test_rows_that_are_asked_about_count_among_the_first():
    model = SelectiveSamplingClassifier("gaussian").start([0, 1], d)
    asked = model.query(X[:60])
    assert asked.all()  # nothing is known
    model.partial_fit(X[:20], two[:20])
    assert model.kernel_.sigma == pytest.approx(median(np.vstack([X[:60], X[:20]])), rel=0.05)
    assert model.n_rounds_ == 60
    model.query(X[60:200])
    # the hundred are the first sixty, the twenty that came again, and the next twenty
    rows = np.vstack([X[:60], X[:20], X[60:80]])
    distances = np.sqrt(np.square(rows[:, None] - rows).sum(axis=2))[np.triu_indices(100, 1)]
    assert model.kernel_.sigma == pytest.approx(np.median(distances[distances > 1e-9]), rel=1e-9)
    given = SelectiveSamplingClassifier(Gaussian(model.kernel_.sigma)).start([0, 1], d)
    given.partial_fit(X[:20], two[:20])
    assert_allclose(model.decision_function(X), given.decision_function(X), atol=1e-9)
    assert (model.n_labels_, model.n_rounds_) == (20, 200)


def test_what_a_sampler_asks_for_in_a_simulation_has_the_width_of_its_rows():
    model = SelectiveSamplingClassifier("gaussian", k=0.5).fit(X, two)
    given = SelectiveSamplingClassifier(Gaussian(median(X[:100])), k=0.5).fit(X, two)
    assert_array_equal(model.queried_, given.queried_)
    short = SelectiveSamplingClassifier("gaussian", k=0.5).fit(X[:50], two[:50])
    short.partial_fit(X[50:], two[50:])
    assert short.kernel_.sigma == pytest.approx(median(X[:100]), rel=1e-9)
    assert np.isfinite(short.decision_function(X)).all()
