"""Estimators of a stream: scikit-learn's checks, bad input, new classes, one row at a time."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import squareone
from squareone import (
    FilteringClassifier,
    IncrementalRLSClassifier,
    IncrementalRLSRegressor,
    SecondOrderPerceptron,
    SelectiveSamplingClassifier,
)
from squareone.kernels import Gaussian
from squareone.rows import open_rows

X, y = load_iris(return_X_y=True)
X = X - X.mean(axis=0)
FORMS = ["primal", "dual", "diagonal"]
CLASSIFIERS = [
    SecondOrderPerceptron,
    IncrementalRLSClassifier,
    SelectiveSamplingClassifier,
    FilteringClassifier,
]
ALL = [*CLASSIFIERS, IncrementalRLSRegressor]


def not_for(estimator):
    """Checks that repeat and reorder rows: not where that matters."""
    ordered = getattr(estimator, "forgetting", 1.0) < 1 or estimator.alpha == "auto"
    if not ordered and estimator.kernel != "gaussian":
        return {}
    why = "recent rows count more, errors come before learning, or a width is that of first rows"
    return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in ("dense", "sparse")}


@parametrize_with_checks([kind() for kind in ALL])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([kind(form=form) for kind in ALL for form in FORMS])
def test_scikit_learn_checks_of_every_form(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [
        SecondOrderPerceptron(alpha=[0.1, 1.0], hypothesis="penalised"),
        SecondOrderPerceptron(kernel="gaussian", hypothesis="average"),
        SecondOrderPerceptron(kernel=Gaussian(2.0), budget=30, shuffle=True),
        SelectiveSamplingClassifier(count="rarer"),
        IncrementalRLSRegressor(forgetting=0.99),
        IncrementalRLSRegressor(alpha="auto"),
        IncrementalRLSRegressor(kernel="gaussian"),
        IncrementalRLSClassifier(alpha=[0.1, 10.0], kernel="gaussian"),
    ],
    expected_failed_checks=not_for,
)
def test_scikit_learn_checks_of_other_parameters(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", ALL)
def test_a_pipeline_is_saved(kind, tmp_path):
    target = y == 1
    model = make_pipeline(StandardScaler(), kind()).fit(X, target)
    squareone.save(model, tmp_path / "model")
    again = squareone.load(tmp_path / "model")
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("form", FORMS)
def test_predictions_go_to_a_graph_and_to_files(form, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    model = SecondOrderPerceptron(form=form).fit(X, y)
    model.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    name = session.get_inputs()[0].name
    names = [each.name for each in session.get_outputs()]
    found = dict(zip(names, session.run(None, {name: X}), strict=True))
    assert np.array_equal(found["label"], model.predict(X))
    model.predict_file(X, tmp_path / "predictions.npy")
    assert np.array_equal(np.load(tmp_path / "predictions.npy"), model.predict(X))


def test_rows_come_from_files(tmp_path):
    np.save(tmp_path / "rows.npy", X.astype(np.float32))
    streamed = SecondOrderPerceptron().fit(open_rows(tmp_path / "rows.npy"), y)
    held = SecondOrderPerceptron().fit(X.astype(np.float32), y)
    assert np.array_equal(streamed.coef_, held.coef_)


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_frames_have_names(frame):
    library = pytest.importorskip(frame)
    table = library.DataFrame(dict(zip("abcd", X.T, strict=True)))
    model = SecondOrderPerceptron().partial_fit(table, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert np.array_equal(model.predict(table), SecondOrderPerceptron().fit(X, y).predict(X))


def test_digits_are_learned():
    images, digits = load_digits(return_X_y=True)
    images = images / 16
    train, test = slice(0, 1200), slice(1200, None)
    exact = SecondOrderPerceptron(kernel=Gaussian(1.5)).fit(images[train], digits[train])
    assert exact.score(images[test], digits[test]) > 0.9
    few = SelectiveSamplingClassifier(kernel=Gaussian(1.5), k=0.1)
    few.fit(images[train], digits[train])
    assert few.label_rate_ < 0.4
    assert few.score(images[test], digits[test]) > 0.93


# --- classes ---


@pytest.mark.parametrize("kind", [SecondOrderPerceptron, IncrementalRLSClassifier])
def test_new_classes_are_refused_or_added(kind):
    model = kind().partial_fit(X[:100], y[:100])
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=r"y contains \[2\], and the classes are \[0, 1\]"):
        model.partial_fit(X[100:], y[100:])
    with pytest.raises(ValueError, match='new_classes="add"'):
        model.learn_one(X[120], 2)
    assert np.array_equal(model.decision_function(X), before)
    model = kind(new_classes="add").partial_fit(X[:100], y[:100])
    two = model.decision_function(X[:50])
    model.learn_one(X[120], 2)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.decision_function(X).shape == (150, 3)
    order = np.random.default_rng(0).permutation(150)
    model.partial_fit(X[order], y[order])
    assert two.shape == (50,)
    assert model.score(X, y) > 0.75


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("strategy", ["deterministic", "randomized"])
def test_new_classes_of_a_sampler(form, strategy):
    model = SelectiveSamplingClassifier(strategy=strategy, form=form, new_classes="add")
    model.partial_fit(X[:100], y[:100])
    sign = model.decision_function(X[:50])
    model.partial_fit(X[100:101], y[100:101])
    values = model.decision_function(X[:50])
    if strategy == "deterministic":  # in which all columns learn all rows
        assert values.shape == (50, 3)
        assert (np.argmax(values[:, :2], axis=1) == (sign > 0)).mean() > 0.9
    assert model.query(X).shape == (150,)


def test_classes_may_be_texts_and_named_at_the_start():
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = SecondOrderPerceptron().partial_fit(
        X[:10], names[:10], classes=["virginica", "setosa", "versicolor"]
    )
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.learn_one(X[149], "virginica").predict_one(X[149]) == "virginica"


def test_the_first_rows_of_one_class_need_the_others_named():
    with pytest.raises(ValueError, match=r"all of one class.*classes=\[...\]"):
        SecondOrderPerceptron().partial_fit(X[:10], y[:10])
    model = SecondOrderPerceptron().partial_fit(X[:10], y[:10], classes=[0, 1, 2])
    assert model.classes_.size == 3


def test_labels_of_an_indicator_matrix_are_learned_by_themselves():
    Y = np.column_stack([y == 0, y > 0, X[:, 0] > 0]).astype(int)
    model = SecondOrderPerceptron().fit(X, Y)
    for column in range(3):
        alone = SecondOrderPerceptron().fit(X, Y[:, column])
        np.testing.assert_allclose(model.coef_[[column]], alone.coef_, atol=1e-12)
    with pytest.raises(ValueError, match="zeros and ones for 3 labels"):
        model.partial_fit(X, Y[:, :2])
    with pytest.raises(ValueError, match="zeros and ones for 3 labels"):
        model.learn_one(X[0], [0, 1, 2])
    assert model.learn_one(X[0], [1, 0, 0]).predict_one(X[0]).shape == (3,)


# --- bad input ---


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("form", FORMS)
def test_nan_in_mid_stream_changes_nothing(kind, form):
    target = (y == 1).astype(int)
    model = kind(form=form).partial_fit(X, target)
    before = model.predict(X), model.n_rounds_
    bad = X.copy()
    bad[70, 2] = np.nan
    learn = model.feedback if kind is FilteringClassifier else model.partial_fit
    with pytest.raises(ValueError, match="NaN"):
        learn(bad, target)
    with pytest.raises(ValueError, match="nothing was learned"):
        model.learn_one(bad[70], 1)
    with pytest.raises(ValueError, match="NaN"):
        model.learn_one(np.full(4, np.inf), 1)
    assert np.array_equal(model.predict(X), before[0])
    assert model.n_rounds_ == before[1]


@pytest.mark.parametrize("kind", ALL)
def test_one_row_that_is_none_is_refused(kind):
    if kind is not IncrementalRLSRegressor:
        with pytest.raises(NotFittedError, match="start, or partial_fit"):
            kind().learn_one(X[0], 1)
    model = kind().partial_fit(X, (y == 1).astype(int))
    with pytest.raises(ValueError, match=r"no names.*start\(n_features=\[names\]\)"):
        model.predict_one({"a": 1.0})
    for x in (X[0, :3], X[:2], 3.0, "text", None):
        with pytest.raises(ValueError, match="4 numbers are expected, one per feature"):
            model.predict_one(x)
    with pytest.raises(ValueError, match="3 features"):
        model.predict_one(csr_matrix(X[:1, :3]))


def test_one_row_may_be_sparse_or_a_list():
    model = SecondOrderPerceptron().fit(X, y)
    assert model.predict_one(csr_matrix(X[:1])) == model.predict_one(X[0].tolist()) == 0
    regressor = IncrementalRLSRegressor().start(4).learn_one(X[0], 2.0)
    assert isinstance(regressor.predict_one(X[0]), float)
    regressor = IncrementalRLSRegressor().start(4, 2).learn_one(X[0], [2.0, 1.0])
    assert regressor.predict_one(X[0]).shape == (2,)
    with pytest.raises(ValueError, match="2 finite number"):
        regressor.learn_one(X[0], 2.0)


@pytest.mark.parametrize("form", FORMS)
def test_a_row_of_zeros_is_harmless_and_never_asked_about(form):
    zeros = np.zeros((3, 4))
    model = SecondOrderPerceptron(form=form).fit(X, y)
    before = model.decision_function(X)
    model.partial_fit(zeros, [0, 1, 2])
    np.testing.assert_allclose(model.decision_function(X), before, atol=1e-12)
    sampler = SelectiveSamplingClassifier(form=form, k=100.0).fit(X, y)
    assert not sampler.query(zeros).any()
    assert sampler.query(X).all()


def test_a_label_that_is_never_given_is_no_harm():
    model = SelectiveSamplingClassifier(k=100.0).partial_fit(X[::10], y[::10])
    labels = model.n_labels_
    wanted = model.query(X)
    assert wanted.any()
    assert model.n_labels_ == labels
    assert model.n_rounds_ == 165
    model.partial_fit(X[:0], y[:0])
    assert model.n_labels_ == labels


def test_some_labels_of_a_row_are_given():
    Y = np.column_stack([y == 0, y == 1]).astype(int)
    model = SelectiveSamplingClassifier().partial_fit(X, Y)
    given = np.zeros((150, 2), bool)
    given[:, 1] = True
    before = model.coef_.copy()
    model.partial_fit(X, Y, given=given)
    assert np.array_equal(model.coef_[0], before[0])
    assert not np.array_equal(model.coef_[1], before[1])
    assert model.n_labels_.tolist() == [150, 300]
    with pytest.raises(ValueError, match=r"truth values are expected.*\(150, 2\)"):
        model.partial_fit(X, Y, given=given[:, 0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": [1.0, np.nan]}, "finite numbers above zero"),
        ({"alpha": []}, "finite numbers above zero"),
        ({"alpha": "one"}, "alpha"),
        ({"kernel": "precomputed"}, "rows as they come"),
        ({"kernel": "cosinus"}, "kernel"),
        ({"kernel": "gaussian", "form": "primal"}, 'use form="dual"'),
        ({"form": "diagonal", "budget": 5}, 'use form="dual"'),
        ({"budget": 5, "hypothesis": "average"}, "needs all support points"),
        ({"hypothesis": "first"}, "hypothesis"),
        ({"delta": 1.0}, "delta"),
        ({"epochs": 0}, "epochs"),
        ({"form": "sketch"}, 'use form="diagonal"'),
        ({"new_classes": "ignore"}, "new_classes"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    model = SecondOrderPerceptron(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "n_features_in_")


def test_other_bad_parameters_are_refused():
    with pytest.raises(ValueError, match='form="primal"'):
        IncrementalRLSClassifier(forgetting=0.9, form="dual").fit(X, y)
    with pytest.raises(ValueError, match="forgetting"):
        IncrementalRLSClassifier(forgetting=1.1).fit(X, y)
    with pytest.raises(ValueError, match="two finite numbers"):
        FilteringClassifier(utility=(1.0,)).fit(X, y == 1)
    with pytest.raises(ValueError, match="Only binary classification"):
        FilteringClassifier().fit(X, y)
    with pytest.raises(ValueError, match="at least two classes"):
        SecondOrderPerceptron().start([1], 4)
    with pytest.raises(ValueError, match="n_features=0"):
        SecondOrderPerceptron().start([0, 1], 0)
    with pytest.raises(ValueError, match="one class per row"):
        SecondOrderPerceptron().fit(X, y).partial_fit(X, np.column_stack([y, y]))


def test_bounds_say_what_they_need():
    model = SecondOrderPerceptron(epochs=2).fit(X, y)
    with pytest.raises(ValueError, match="epochs=1"):
        model.risk_bound()
    model = SecondOrderPerceptron().fit(X, y)
    assert model.risk_bound() < model.risk_bound(0.001) < model.risk_bound(kind="chosen")
    with pytest.raises(ValueError, match="kind"):
        model.risk_bound(kind="best")
    with pytest.raises(ValueError, match="probability"):
        model.risk_bound(0.0)
    with pytest.raises(ValueError, match=r"u has shape \(3,\): \(4,\) is expected"):
        model.mistake_bound(X, y, np.ones(3))
    with pytest.raises(ValueError, match="100 rows, and 150 were seen"):
        model.mistake_bound(X[:100], y[:100], np.ones(4))
    with pytest.raises(ValueError, match="column"):
        model.mistake_bound(X, y, np.ones(4), column=3)
    with pytest.raises(ValueError, match="above zero"):
        model.mistake_bound(X, y, np.ones(4), gamma=0.0)
    with pytest.raises(ValueError, match="exact forms"):
        SecondOrderPerceptron(form="diagonal").fit(X, y).mistake_bound(X, y, np.ones(4))
    with pytest.raises(ValueError, match="nothing to bound"):
        SecondOrderPerceptron().start([0, 1], 4).risk_bound()
    with pytest.raises(ValueError, match='strategy="randomized"'):
        SelectiveSamplingClassifier().fit(X, y).mistake_bound(X, y, np.ones(4))
    sampler = SelectiveSamplingClassifier(strategy="randomized", b=0.5).fit(X, y == 1)
    assert sampler.mistake_bound(X, y == 1, np.ones(4)).value > 0


def test_what_a_form_does_not_have_says_what_it_has():
    model = SecondOrderPerceptron().fit(X, y)
    with pytest.raises(AttributeError, match="see coef_"):
        _ = model.dual_coef_
    model = SecondOrderPerceptron(kernel=Gaussian(1.0)).fit(X, y)
    with pytest.raises(AttributeError, match="see dual_coef_"):
        _ = model.coef_


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_extreme_scales_are_learned_with_a_ridge_of_theirs(scale):
    plain = SecondOrderPerceptron(alpha=1.0).fit(X, y)
    scaled = SecondOrderPerceptron(alpha=scale**2).fit(X * scale, y)
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-9)


def test_rows_out_of_scale_are_refused():
    with pytest.raises(ValueError, match="too large for float64"):
        SecondOrderPerceptron().fit(X * 1e200, y)
