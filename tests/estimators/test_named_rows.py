"""Rows of a stream as dictionaries, with features that are missing or come later."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
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
from squareone.kernels import Gaussian, Polynomial

rng = np.random.default_rng(0)
n, d = 120, 6
names = [f"f{j}" for j in range(d)]
X = rng.standard_normal((n, d))
X[rng.random((n, d)) < 0.3] = 0.0
for j in range(d):
    X[: 15 * j, j] = 0.0  # each feature appears fifteen rows after the one before
    X[15 * j, j] = 1.0
two = (X @ rng.standard_normal(d) > 0).astype(int)
GROWING = {"new_features": "add", "missing_features": "zero"}
MODELS = {
    "incremental": IncrementalRLSClassifier(),
    "without intercept": IncrementalRLSClassifier(fit_intercept=False),
    "forgetting": IncrementalRLSClassifier(forgetting=0.97),
    "ridges": IncrementalRLSClassifier(alpha="auto"),
    "dual": IncrementalRLSClassifier(form="dual"),
    "far above the ridge": IncrementalRLSClassifier(form="dual", alpha=1e-8),
    "kernel": IncrementalRLSClassifier(Gaussian(2.0)),
    "polynomial": IncrementalRLSClassifier(Polynomial(2, gamma=0.5)),
    "a width to come": IncrementalRLSClassifier("gaussian"),
    "perceptron": SecondOrderPerceptron(),
    "average": SecondOrderPerceptron(hypothesis="average"),
    "average of a kernel": SecondOrderPerceptron(Gaussian(2.0), hypothesis="average"),
    "penalised": SecondOrderPerceptron(hypothesis="penalised"),
    "diagonal": SecondOrderPerceptron(form="diagonal"),
    "sampler": SelectiveSamplingClassifier(),
    "filter": FilteringClassifier(),
    "hierarchy": HierarchicalClassifier(),
}


def present(row):
    """What a row has, in any order."""
    return {names[j]: float(row[j]) for j in rng.permutation(d) if row[j] != 0.0}


def grown(name, rows=n):
    model = clone(MODELS[name]).set_params(**GROWING).start([0, 1])
    for row, label in zip(X[:rows], two[:rows], strict=True):
        model.learn_one(present(row), label)
    return model


@pytest.mark.costly
@pytest.mark.parametrize("name", MODELS)
def test_features_that_come_later_are_as_if_they_had_been_zero(name):
    model = grown(name)
    known = clone(MODELS[name]).start([0, 1], names)
    arrays = clone(MODELS[name]).start([0, 1], d)
    for row, label in zip(X, two, strict=True):
        known.learn_one(dict(zip(names, row, strict=True)), label)
        arrays.learn_one(row, label)
    table = pd.DataFrame(X, columns=names)
    assert set(model.feature_names_in_) == set(names)
    found = model.decision_function(table[list(model.feature_names_in_)])
    assert_allclose(found, known.decision_function(table), atol=1e-9)
    assert_array_equal(known.decision_function(table), arrays.decision_function(X))
    for row in X[:9]:
        assert model.predict_one(present(row)) == arrays.predict_one(row)


@pytest.mark.parametrize("name", MODELS)
def test_a_prediction_of_a_row_with_a_new_feature_is_that_of_one_that_was_zero(name):
    model = grown(name, 40)  # in which there are three
    new = {"f1": 0.5, "f5": 2.0, "never": -1.0}
    before = model.n_features_in_
    found = model._record.margins_of_one(new)
    assert model.n_features_in_ == before
    known = clone(MODELS[name]).start([0, 1], [*names, "never"])
    for row, label in zip(X[:40], two[:40], strict=True):
        known.learn_one({**dict(zip(names, row, strict=True)), "never": 0.0}, label)
    row = {**dict.fromkeys(names, 0.0), **new}
    assert_allclose(found, known._record.margins_of_one(row), atol=1e-10)
    assert model.predict_one(new) == known.predict_one(row)


@pytest.mark.costly
@pytest.mark.parametrize("name", MODELS)
def test_a_stream_that_has_grown_is_saved(name, tmp_path):
    model = grown(name, 50)
    model.save(tmp_path / "model")
    again = squareone.load(tmp_path / "model")
    for each in (model, again):
        for row, label in zip(X[50:], two[50:], strict=True):
            each.learn_one({name: row[j] for j, name in enumerate(names) if row[j]}, label)
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    table = pd.DataFrame(X, columns=names)[list(model.feature_names_in_)]
    assert_array_equal(again.decision_function(table), model.decision_function(table))


@pytest.mark.parametrize(
    "estimator",
    [
        SecondOrderPerceptron(form="diagonal"),
        IncrementalRLSClassifier(form="diagonal"),
        SelectiveSamplingClassifier(form="diagonal"),
    ],
)
def test_few_of_many_features_are_a_sparse_row(estimator):
    many = [f"word{j}" for j in range(400)]
    named = clone(estimator).set_params(missing_features="zero").start([0, 1], many)
    dense = clone(estimator).start([0, 1], 400)
    for i in range(60):
        places = rng.permutation(400)[: i % 7]
        row = np.zeros(400)
        row[places] = 1.0 + rng.random(places.size)
        words = {many[j]: row[j] for j in places}
        assert_allclose(
            named._record.margins_of_one(words), dense._record.margins_of_one(row), atol=1e-12
        )
        label = int(row[:200].sum() > row[200:].sum())
        named.learn_one(words, label)
        dense.learn_one(row, label)
    assert_allclose(named.coef_, dense.coef_, atol=1e-12)
    before = named.coef_
    with pytest.raises(ValueError, match="NaN"):
        named.learn_one({"word3": np.nan}, 1)
    with pytest.raises(ValueError, match="'soon'"):
        named.learn_one({"soon": 1.0}, 1)
    assert_array_equal(named.coef_, before)


def test_names_may_come_from_start_a_table_or_the_first_row():
    row = {"b": 2.0, "a": 1.0}
    told = IncrementalRLSRegressor().start(["a", "b"]).learn_one(row, 3.0)
    assert told.feature_names_in_.tolist() == ["a", "b"]
    first = IncrementalRLSRegressor().start().learn_one(row, 3.0)
    assert first.feature_names_in_.tolist() == ["b", "a"]
    table = pd.DataFrame({"a": [1.0], "b": [2.0]})
    frame = IncrementalRLSRegressor().partial_fit(table, [3.0])
    assert_allclose(told.coef_, frame.coef_)
    assert_allclose(told.coef_, first.coef_[::-1])
    assert frame.predict_one(row) == pytest.approx(told.predict_one(row))
    begun = IncrementalRLSRegressor().start().partial_fit(table, [3.0]).learn_one(row, 3.0)
    assert begun.n_rounds_ == 2


def test_keys_may_be_any_names(tmp_path):
    model = IncrementalRLSRegressor(**GROWING).start()
    model.learn_one({0: 1.0, 1: 2.0}, 1.0).learn_one({2: 1.0}, 3.0)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 3
    model.save(tmp_path / "model")
    again = squareone.load(tmp_path / "model")
    assert again.predict_one({2: 1.0, 0: 1.0}) == model.predict_one({2: 1.0, 0: 1.0})
    assert_allclose(model.predict([[1.0, 0.0, 1.0]]), again.predict_one({2: 1.0, 0: 1.0}))


def test_without_a_row_nothing_is_known():
    model = IncrementalRLSRegressor().start()
    assert model.predict_one({"a": 1.0}) == 0.0
    assert model.predict_one([1.0, 2.0]) == 0.0
    labels = IncrementalRLSClassifier().start(["ham", "spam"])
    assert labels.predict_proba_one({"offer": 1.0}) == {"ham": 0.5, "spam": 0.5}
    assert labels.learn_one([1.0, 2.0, 3.0], "spam").n_features_in_ == 3


def test_the_loop_that_users_of_dictionaries_write():
    model = IncrementalRLSClassifier(**GROWING).start(classes=["even", "odd"])
    right = 0
    for i in range(1, 201):
        x = {f"bit{j}": 1.0 for j in range(8) if i >> j & 1}
        label = "odd" if i % 2 else "even"
        right += model.predict_one(x) == label
        shares = model.predict_proba_one(x)
        assert max(shares, key=shares.get) == model.predict_one(x)
        model.learn_one(x, label)
    assert right > 190


# --- what is refused ---


@pytest.fixture
def model():
    return IncrementalRLSRegressor().start(["a", "b"]).learn_one({"b": 1.0, "a": 2.0}, 3.0)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"a": 1.0}, r"x has no 'b'.*missing_features=\"zero\""),
        ({}, "x has no 'a', 'b'"),
        ({"a": 1.0, "b": 2.0, "c": 3.0}, r"x has 'c'.*new_features=\"add\""),
        ({"a": "red", "b": 1.0}, r"'red' for 'a': a number is expected.*\"a=red\": 1.0"),
        ({"a": np.nan, "b": 1.0}, "NaN or infinity"),
        ({"a": np.inf, "b": 1.0}, "NaN or infinity"),
        ({"a": [1.0, 2.0], "b": 1.0}, "a number is expected"),
    ],
)
def test_rows_that_are_none_are_refused(model, row, message):
    before = model.coef_
    with pytest.raises(ValueError, match=message):
        model.learn_one(row, 1.0)
    with pytest.raises(ValueError, match=message):
        model.predict_one(row)
    assert model.n_rounds_ == 1
    assert_array_equal(model.coef_, before)


def test_a_row_that_is_refused_adds_no_feature():
    model = IncrementalRLSRegressor(**GROWING).start().learn_one({"a": 1.0}, 1.0)
    for row in ({"b": np.nan}, {"b": "blue"}):
        with pytest.raises(ValueError, match=r"NaN|a number is expected"):
            model.learn_one(row, 1.0)
        with pytest.raises(ValueError, match=r"NaN|a number is expected"):
            model.predict_one(row)
    with pytest.raises(ValueError, match="finite number"):
        model.learn_one({"c": 1.0}, np.nan)
    assert model.feature_names_in_.tolist() == ["a"]
    assert model.n_features_in_ == 1
    with pytest.raises(ValueError, match="first row names the features"):
        IncrementalRLSRegressor(**GROWING).start().learn_one({}, 1.0)


def test_a_stream_without_names_says_so():
    model = IncrementalRLSRegressor().start(2).learn_one([1.0, 2.0], 1.0)
    with pytest.raises(ValueError, match=r"have no names.*start\(n_features=\[names\]\)"):
        model.learn_one({"a": 1.0, "b": 2.0}, 1.0)


def test_names_are_unique():
    with pytest.raises(ValueError, match="'a' twice"):
        IncrementalRLSRegressor().start(["a", "b", "a"])
    with pytest.raises(ValueError, match="n_features"):
        IncrementalRLSRegressor().start([])


def test_widths_per_feature_have_none_for_another():
    model = IncrementalRLSRegressor(Gaussian(np.array([1.0, 2.0])), **GROWING).start(["a", "b"])
    model.learn_one({"a": 1.0, "b": 1.0}, 1.0)
    with pytest.raises(ValueError, match="no width for another feature"):
        model.learn_one({"c": 1.0}, 1.0)
    assert model.n_features_in_ == 2


@pytest.mark.parametrize("parameter", ["missing_features", "new_features"])
def test_bad_parameters(parameter):
    with pytest.raises(ValueError, match=parameter):
        IncrementalRLSRegressor(**{parameter: "guess"}).start(2)


def test_many_rows_cannot_be_predicted_before_their_length_is_known():
    model = IncrementalRLSRegressor().start()
    with pytest.raises(NotFittedError, match="seen no row yet, and start was not told n_features"):
        model.predict(X)
    assert model.partial_fit(X, two).predict(X).shape == (n,)


def test_a_kernel_that_needs_the_number_of_features_says_so():
    with pytest.raises(ValueError, match="how many features there are"):
        IncrementalRLSRegressor("polynomial").start()
    model = IncrementalRLSRegressor("polynomial").start(n_features=X.shape[1])
    assert model.partial_fit(X, two).predict(X).shape == (n,)


def test_advice_names_what_there_is():
    model = FilteringClassifier().start([0, 1], X.shape[1])
    with pytest.raises(ValueError, match="name all classes at the start") as error:
        model.feedback(X[:2], np.array([0, 7]))
    assert "new_classes" not in str(error.value)
