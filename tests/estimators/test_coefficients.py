"""Coefficients: scikit-learn's shapes, and what is assigned to them or written into them."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge, RidgeClassifier

from squareone import (
    IncrementalRLSClassifier,
    IncrementalRLSRegressor,
    OROLSClassifier,
    OROLSRegressor,
    RLSClassifier,
    RLSRegressor,
    SecondOrderPerceptron,
    load,
)
from squareone.kernels import Gaussian
from tests.estimators.data import refused

X, iris = load_iris(return_X_y=True)
two = (iris > 0).astype(int)
PAGES, many = make_multilabel_classification(60, n_features=4, n_classes=3, random_state=0)
numbers = X[:, 0] + np.sin(X[:, 1])


# --- shapes ---


@pytest.mark.parametrize(
    ("rows", "target", "peer"),
    [
        (X, two, LogisticRegression(max_iter=1000)),
        (X, iris, LogisticRegression(max_iter=1000)),
        (PAGES, many, RidgeClassifier(1.0)),
    ],
)
def test_a_classifier_has_the_shapes_of_scikit_learn(rows, target, peer):
    peer = clone(peer).fit(rows, target)
    ours = RLSClassifier("linear", 1.0).fit(rows, target)
    assert ours.coef_.shape == peer.coef_.shape
    assert ours.intercept_.shape == peer.intercept_.shape
    ridge = RidgeClassifier(1.0).fit(rows, target)  # of two classes it may have (d,)
    assert_allclose(ours.coef_, np.atleast_2d(ridge.coef_), rtol=1e-7, atol=1e-9)
    kernel = RLSClassifier(Gaussian(1.0), 1.0).fit(rows, target)
    assert kernel.intercept_.shape == peer.intercept_.shape
    greedy = OROLSClassifier(Gaussian(1.0), stopping=3).fit(rows, target)
    assert greedy.intercept_.shape == peer.intercept_.shape


@pytest.mark.parametrize("target", [two, iris])
def test_a_classifier_of_a_stream_has_them_too(target):
    peer = Perceptron().fit(X, target)
    for ours in (IncrementalRLSClassifier().fit(X, target), SecondOrderPerceptron().fit(X, target)):
        assert ours.coef_.shape == peer.coef_.shape
        assert ours.intercept_.shape == peer.intercept_.shape


@pytest.mark.parametrize("target", [numbers, np.column_stack([numbers, iris])])
def test_a_regressor_has_the_shapes_of_scikit_learn(target):
    peer = Ridge(1.0).fit(X, target)
    for ours in (RLSRegressor("linear", 1.0), IncrementalRLSRegressor()):
        ours.fit(X, target)
        assert ours.coef_.shape == peer.coef_.shape
        assert np.shape(ours.intercept_) == np.shape(peer.intercept_)


# --- what is assigned counts everywhere ---

TARGETS = {
    "two": (RLSClassifier, X, two),
    "three": (RLSClassifier, X, iris),
    "labels": (RLSClassifier, PAGES, many),
    "number": (RLSRegressor, X, numbers),
    "numbers": (RLSRegressor, X, np.column_stack([numbers, iris])),
}


def values_of(model, rows):
    return model.decision_function(rows) if hasattr(model, "classes_") else model.predict(rows)


def everywhere(model, rows, path):
    """The values of a model as it is, pickled, saved and exported."""
    onnxruntime = pytest.importorskip("onnxruntime")
    yield values_of(model, rows)
    yield values_of(pickle.loads(pickle.dumps(model)), rows)
    model.save(path / "model.safetensors")
    yield values_of(load(path / "model.safetensors"), rows)
    model.to_onnx(path / "model.onnx")
    session = onnxruntime.InferenceSession(path / "model.onnx", providers=["CPUExecutionProvider"])
    name = "decision_function" if hasattr(model, "classes_") else "prediction"
    (found,) = session.run([name], {"X": rows})
    yield found.reshape(values_of(model, rows).shape)


@pytest.mark.parametrize("case", TARGETS)
@pytest.mark.parametrize("kernel", ["linear", Gaussian(2.0)], ids=["linear", "gaussian"])
@pytest.mark.parametrize("how", ["assigned", "in place"])
@pytest.mark.parametrize("what", ["coefficients", "intercept"])
def test_other_coefficients_count(case, kernel, how, what, tmp_path):
    kind, rows, target = TARGETS[case]
    model = kind(kernel, 1.0).fit(rows, target)
    before = values_of(model, rows)
    name = "intercept_"
    if what == "coefficients":
        name = "coef_" if kernel == "linear" else "dual_coef_"
    expected = 2.0 * before - np.asarray(model.intercept_)
    if what == "intercept":
        expected = before + 1.0
    new = getattr(model, name) * 2.0 if what == "coefficients" else model.intercept_ + 1.0
    if how == "assigned" or np.ndim(new) == 0:  # a number cannot be written into
        setattr(model, name, new)
    else:
        getattr(model, name)[...] = new
    assert_allclose(getattr(model, name), new, rtol=1e-14)
    for found in everywhere(model, rows, tmp_path):
        assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_augmented_assignment_and_a_number_for_two_classes():
    model = RLSClassifier("linear", 1.0).fit(X, two)
    before = model.decision_function(X)
    model.intercept_ += 0.5
    assert_allclose(model.decision_function(X), before + 0.5)
    model.intercept_ = 0.0
    assert_array_equal(model.intercept_, [0.0])
    model.coef_ *= -1.0
    assert_allclose(model.decision_function(X), X @ model.coef_[0])


def test_what_is_assigned_is_copied_and_does_not_survive_a_fit():
    model = RLSRegressor("linear", 1.0).fit(X, numbers)
    expected = model.predict(X)
    mine = np.ones(4)
    model.coef_ = mine
    mine[:] = 7.0
    assert_array_equal(model.coef_, np.ones(4))
    left_out = model.loo_predictions_
    assert_array_equal(model.fit(X, numbers).predict(X), expected)
    assert_array_equal(model.loo_predictions_, left_out)
    assert not hasattr(clone(model), "coef_")


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("coef_", np.ones(4), ["coef_", "(1, 4)", "(4,)"]),
        ("coef_", [[1.0, 2.0, 3.0, np.nan]], ["coef_", "NaN"]),
        ("coef_", "large", ["coef_", "numbers"]),
        ("intercept_", [1.0, 2.0], ["intercept_", "(1,)", "(2,)"]),
    ],
)
def test_what_cannot_be_a_coefficient_is_refused(name, values, words):
    model = RLSClassifier("linear", 1.0).fit(X, two)
    before = model.decision_function(X)
    with refused(ValueError, *words):
        setattr(model, name, values)
    assert_array_equal(model.decision_function(X), before)


def test_the_other_kind_of_coefficients_is_named():
    with refused(AttributeError, "dual_coef_"):
        _ = RLSClassifier(Gaussian(1.0), 1.0).fit(X, two).coef_
    with refused(AttributeError, "see coef_"):
        _ = RLSClassifier("linear", 1.0).fit(X, two).dual_coef_


@pytest.mark.parametrize("kernel", ["linear", Gaussian(2.0)])
def test_coefficients_of_a_code_cannot_be_changed(kernel):
    model = RLSClassifier(kernel, 1.0, coding="one_vs_one").fit(X, iris)
    name = "coef_" if kernel == "linear" else "dual_coef_"
    for what in (name, "intercept_"):
        with refused(AttributeError, what, "code"):
            setattr(model, what, getattr(model, what))
        with refused(ValueError, "read-only"):
            getattr(model, what)[...] = 0.0


FOLLOWING = [
    OROLSClassifier(Gaussian(1.0), stopping=3),
    OROLSRegressor(Gaussian(1.0), stopping=3),
    IncrementalRLSClassifier(),
    SecondOrderPerceptron(),
]


@pytest.mark.parametrize("model", FOLLOWING, ids=lambda model: type(model).__name__)
def test_coefficients_that_follow_from_something_else_cannot_be_changed(model):
    model = clone(model).fit(X, iris)
    for name in ("coef_", "dual_coef_", "intercept_"):
        if not hasattr(model, name):
            continue
        with refused(AttributeError, name, "cannot be changed"):
            setattr(model, name, 0.0)
        if np.ndim(getattr(model, name)):
            with refused(ValueError, "read-only"):
                getattr(model, name)[...] = 0.0
