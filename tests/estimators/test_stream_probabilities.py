"""Probabilities of a stream, from decision values before their rows were learned."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss, roc_auc_score

import squareone
from squareone import (
    FilteringClassifier,
    HierarchicalClassifier,
    IncrementalRLSClassifier,
    SecondOrderPerceptron,
    SelectiveSamplingClassifier,
)
from squareone.kernels import Gaussian
from squareone.models import fit_calibration
from squareone.online.recent_values import (
    CALIBRATION_ROWS,
    CALIBRATION_STEP,
    RecentValues,
)
from tests.estimators.interrupts import interrupted, lines_of

images, digits = load_digits(return_X_y=True)
images = images / 16
even = digits % 2 == 0
both = np.column_stack([digits == 3, digits > 4]).astype(int)
MODELS = {
    "incremental": IncrementalRLSClassifier(),
    "ridges": IncrementalRLSClassifier(alpha="auto"),
    "kernel": IncrementalRLSClassifier(Gaussian(2.0)),
    "perceptron": SecondOrderPerceptron(),
    "average": SecondOrderPerceptron(hypothesis="average"),
    "sampler": SelectiveSamplingClassifier(alpha=0.1, k=1.0),
    "randomised": SelectiveSamplingClassifier(strategy="randomized", b=0.5),
    "filter": FilteringClassifier(alpha=0.1, k=1.0),
}
TARGETS = {"two": even, "many": digits, "labels": both}


def fitted(name, target):
    if name == "filter" and target == "many":
        pytest.skip("a filter has two classes")
    return clone(MODELS[name]).fit(images[:1000], TARGETS[target][:1000])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", MODELS)
def test_they_agree_with_predictions(name, target):
    model = fitted(name, target)
    rows = images[1000:]
    p, predicted = model.predict_proba(rows), model.predict(rows)
    assert ((p >= 0) & (p <= 1)).all()
    if target == "labels":
        assert_array_equal(p > 0.5, predicted > 0)
    else:
        assert_allclose(p.sum(axis=1), 1.0)
        assert_array_equal(model.classes_[p.argmax(axis=1)], predicted)
    assert_allclose(np.exp(model.predict_log_proba(rows)), p)
    if target == "two":  # they increase with the decision value
        order = np.argsort(model.decision_function(rows), kind="stable")
        assert (np.diff(p[order, 1]) >= 0).all()
        by_value = roc_auc_score(even[1000:], model.decision_function(rows))
        assert roc_auc_score(even[1000:], p[:, 1]) == pytest.approx(by_value)
    for row, expected in zip(rows[:5], p, strict=False):
        one = model.predict_proba_one(row)
        assert list(one) == model.classes_.tolist()
        assert_allclose(list(one.values()), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["incremental", "kernel", "sampler", "perceptron"])
def test_they_are_about_as_sure_as_they_are_right(name):
    order = np.random.default_rng(0).permutation(len(digits))
    model = clone(MODELS[name]).fit(images[order[:1200]], digits[order[:1200]])
    rows, labels = images[order[1200:]], digits[order[1200:]]
    p = model.predict_proba(rows)
    right = np.mean(p.argmax(axis=1) == labels)
    sure = p.max(axis=1).mean()
    assert sure < right + 0.03
    if name != "sampler":  # which sees the labels of what it is not sure of: it is cautious
        assert sure > right - 0.03
    assert log_loss(labels, p) < 0.5


# --- what they are fitted to ---


@pytest.mark.parametrize("count", [1, 40, 64, 65, 127, 128, 700, 1024, 1100, 1797])
def test_the_last_values_before_learning(count):
    model = IncrementalRLSClassifier().fit(images, digits)
    rows = slice(0, count)
    one = IncrementalRLSClassifier().start(range(10), 64)
    for row, label in zip(images[rows], digits[rows], strict=True):
        one.learn_one(row, label)
    some = IncrementalRLSClassifier().partial_fit(images[rows], digits[rows], classes=range(10))
    until = count if count <= CALIBRATION_STEP else count - count % CALIBRATION_STEP
    last = slice(max(0, until - CALIBRATION_ROWS), until)
    truth = digits[last, None] == np.arange(10)
    values = model.online_decisions_[last]
    expected = fit_calibration("temperature", values, truth, exclusive=True)
    assert_allclose(some.calibration_.slopes, expected.slopes, rtol=1e-6)
    assert_allclose(one.calibration_.slopes, expected.slopes, rtol=1e-6)


def test_a_sampler_knows_the_labels_that_it_was_given():
    model = SelectiveSamplingClassifier(alpha=0.1, k=1.0).fit(images, even)
    asked = np.flatnonzero(model.queried_)
    until = asked.size - asked.size % CALIBRATION_STEP
    rows = asked[max(0, until - CALIBRATION_ROWS) : until]
    expected = fit_calibration(
        "temperature", model.online_decisions_[rows, None], even[rows, None], exclusive=False
    )
    assert_allclose(model.calibration_.slopes, expected.slopes, rtol=1e-6)


def test_weights_count():
    weights = np.arange(300) % 3.0
    model = IncrementalRLSClassifier().partial_fit(images[:300], even[:300], sample_weight=weights)
    rows = np.flatnonzero(weights)
    values = []
    one = IncrementalRLSClassifier().start([False, True], 64)
    for i in rows:
        values.append(one.decision_function(images[i : i + 1])[0])
        one.learn_one(images[i], even[i], weights[i])
    until = rows.size - rows.size % CALIBRATION_STEP
    expected = fit_calibration(
        "temperature",
        np.array(values)[:until, None],
        even[rows][:until, None],
        weights[rows][:until],
        exclusive=False,
    )
    assert_allclose(model.calibration_.slopes, expected.slopes, rtol=1e-6)


def test_labels_that_are_partly_known():
    given = np.zeros((400, 2), bool)
    given[:, 1] = True
    model = SelectiveSamplingClassifier().partial_fit(images[:100], both[:100])
    slope = model.calibration_.slopes[0]
    model.partial_fit(images[100:500], both[100:500], given=given)
    assert model.calibration_.slopes[0] == pytest.approx(slope, rel=0.5)
    values = RecentValues(2, exclusive=False)
    values.add(np.ones((3, 2)), np.ones((3, 2)), None, np.zeros((3, 2), bool))
    assert values.seen == 0
    assert_array_equal(values.calibration().slopes, [1.0, 1.0])


def test_before_anything_is_known_classes_are_equally_probable():
    model = IncrementalRLSClassifier().start(["a", "b", "c"], 2)
    assert_allclose(model.predict_proba([[1.0, 2.0]]), 1 / 3)
    two = SecondOrderPerceptron().start(["a", "b"], 2)
    assert_allclose(two.predict_proba([[1.0, 2.0]]), 0.5)


def test_a_new_class_begins_anew():
    model = IncrementalRLSClassifier(new_classes="add")
    first = digits < 5
    model.partial_fit(images[first], digits[first])
    model.partial_fit(images[~first][:200], digits[~first][:200])
    p = model.predict_proba(images[:20])
    assert p.shape == (20, 10)
    assert_allclose(p.sum(axis=1), 1.0)


# --- files, memory, failures ---


@pytest.mark.parametrize("rows", [0, 50, 64, 1000, 1797])
@pytest.mark.parametrize("name", ["incremental", "sampler"])
def test_they_are_the_same_after_a_file(name, rows, tmp_path):
    model = clone(MODELS[name]).start(range(10), 64)
    if rows:
        model.partial_fit(images[:rows], digits[:rows])
    model.save(tmp_path / "model")
    copies = [squareone.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))]
    for each in (model, *copies):
        each.partial_fit(images[:70], digits[:70])
    for copy in copies:
        assert_array_equal(copy.predict_proba(images), model.predict_proba(images))


def test_memory_is_bounded():
    values = RecentValues(3, exclusive=True)
    rng = np.random.default_rng(0)
    most = CALIBRATION_ROWS + CALIBRATION_STEP
    for size in (1, 5, 1000, 1, 2000, 3, 1087, 1088, 1089):
        values.add(rng.standard_normal((size, 3)), np.ones((size, 3)), None, None)
        assert values._values.shape[0] <= 4 * most
    assert values.state()["values"].shape == (most, 3)


def test_an_interrupt_leaves_them_as_they_were():
    model = IncrementalRLSClassifier().partial_fit(images[:640], digits[:640])
    expected = pickle.loads(pickle.dumps(model)).predict_proba(images[:50])
    lines = lines_of(lambda: pickle.loads(pickle.dumps(model)).partial_fit(images, digits))
    for at in range(5, lines, lines // 9):
        each = pickle.loads(pickle.dumps(model))
        interrupted(lambda each=each: each.partial_fit(images, digits), at)
        if each.n_rounds_ == 640:
            assert_array_equal(each.predict_proba(images[:50]), expected)


def test_a_hierarchy_has_none():
    assert not hasattr(HierarchicalClassifier(), "predict_proba")


@pytest.mark.parametrize("name", ["incremental", "perceptron", "sampler", "filter"])
@pytest.mark.parametrize("target", ["two", "many"])
def test_they_go_into_a_graph(name, target, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    model = fitted(name, target)
    model.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    found = dict(
        zip(
            [output.name for output in session.get_outputs()],
            session.run(None, {"X": images[1000:]}),
            strict=True,
        )
    )
    assert_allclose(found["probabilities"], model.predict_proba(images[1000:]), atol=1e-9)
    decisions = model.decision_function(images[1000:])
    assert_allclose(found["decision_function"], decisions, atol=1e-9)
