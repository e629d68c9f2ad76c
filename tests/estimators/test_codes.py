"""Classes in a code: the same as fitting its columns, whatever is asked."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier

import squareone
from squareone import RLSClassifier, RLSRegressor
from squareone.errors import FileFormatError
from squareone.kernels import Gaussian
from squareone.targets import BCH, OneVsAll, OneVsOne
from tests.estimators.test_hostile_files import rewritten

KERNEL = Gaussian(1.5)
ALPHAS = [0.03, 0.3, 3.0]
CODINGS = {
    "BCH 15": BCH(15),
    "BCH 15, Hamming": BCH(15, "hamming"),
    "BCH 63": BCH(63),
    "one vs one": OneVsOne(),
}
over_codings = pytest.mark.parametrize("coding", CODINGS.values(), ids=CODINGS.keys())


def make(n=90, classes=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.standard_normal((n, 3)) + 3.0 * np.sin(np.outer(y, [1.0, 2.0, 3.0]))
    return X, np.array(["e", "d", "c", "b", "a", "f", "g"])[y], rng.standard_normal((7, 3))


X, y, new = make()


@over_codings
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("per_target", [False, True], ids=["one λ", "a λ per column"])
def test_a_code_is_a_fit_to_its_columns(coding, intercept, weighted, per_target):
    weights = np.linspace(0.0, 2.0, len(y)) if weighted else None
    how = {"fit_intercept": intercept, "alpha_per_target": per_target}
    model = RLSClassifier(KERNEL, ALPHAS, coding=coding, **how).fit(X, y, weights)
    columns = model.code_[np.searchsorted(model.classes_, y)]
    explicit = RLSRegressor(KERNEL, ALPHAS, **how).fit(X, columns, weights)
    assert_allclose(model.path_["score"], explicit.path_["score"], rtol=1e-10)
    assert_allclose(model.loo_residuals_, explicit.loo_residuals_, atol=1e-10)
    if per_target:
        assert_array_equal(model.alpha_, explicit.alpha_)
    for found, values in (
        (model.decision_function(new), explicit.predict(new)),
        (model.loo_predictions_, explicit.loo_predictions_),
    ):
        assert_allclose(found, coding.decision_values(values, model.code_), atol=1e-10)
    largest = model.classes_[model.decision_function(new).argmax(axis=1)]
    assert_array_equal(model.predict(new), largest)
    if coding.linear:
        assert model.dual_coef_.shape[1] == 5
    else:
        assert model.dual_coef_.shape[1] == model.code_.shape[1]


def test_no_more_columns_are_solved_than_there_are_classes():
    for coding in CODINGS.values():
        model = RLSClassifier(KERNEL, 1.0, coding=coding).fit(X, y)
        assert model.plan_.task.t <= 5


def test_equidistant_words_by_correlation_are_one_against_all():
    plain = RLSClassifier(KERNEL, ALPHAS).fit(X, y)
    for coding in (BCH(15), BCH(31), BCH(63), BCH(127), OneVsOne()):
        coded = RLSClassifier(KERNEL, ALPHAS, coding=coding).fit(X, y)
        assert coded.alpha_ == plain.alpha_
        assert_array_equal(coded.predict(new), plain.predict(new))
    assert_array_equal(
        RLSClassifier(KERNEL, 1.0, coding=OneVsAll()).fit(X, y).decision_function(new),
        RLSClassifier(KERNEL, 1.0).fit(X, y).decision_function(new),
    )


@over_codings
def test_what_is_asked_afterwards(coding):
    model = RLSClassifier(KERNEL, coding=coding).fit(X, y)
    probabilities = model.predict_proba(new)
    assert probabilities.shape == (7, 5)
    assert_allclose(probabilities.sum(axis=1), 1.0)
    assert model.loo_probabilities_.shape == (len(y), 5)
    wrong = y.copy()
    wrong[11] = "e" if y[11] != "e" else "d"
    assert 11 in RLSClassifier(KERNEL, coding=coding).fit(X, wrong).suspicious_rows(20)
    if coding.linear:
        change = model.influence(new)
        without = np.delete(np.arange(len(y)), 4)
        again = RLSClassifier(KERNEL, model.alpha_, coding=coding).fit(X[without], y[without])
        expected = again.decision_function(new) - model.decision_function(new)
        assert_allclose(change[:, 4], expected, atol=1e-9)
    else:
        with pytest.raises(ValueError, match="counts signs"):
            model.influence(new)
    with pytest.raises(AttributeError, match="not for a code"):
        _ = (
            RLSClassifier(KERNEL, 1.0, coding=coding, fit_intercept=False)
            .fit(X, y)
            .loo_error_bound_
        )
    with pytest.raises(ValueError, match="not for a code"):
        model.stability_bound()


@over_codings
def test_scorers_see_classes(coding):
    model = RLSClassifier(KERNEL, ALPHAS, coding=coding, scoring="accuracy").fit(X, y)
    left_out = model.classes_[model.loo_predictions_.argmax(axis=1)]
    assert model.best_score_ == pytest.approx(np.mean(left_out == y))


@over_codings
def test_copies_and_files(coding, tmp_path):
    model = RLSClassifier(KERNEL, coding=coding).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    for again in (
        squareone.load(tmp_path / "model.safetensors"),
        pickle.loads(pickle.dumps(model)),
        clone(model).fit(X, y),
    ):
        assert repr(again.coding) == repr(coding)
        assert_array_equal(again.decision_function(new), model.decision_function(new))
        assert_array_equal(again.predict_proba(new), model.predict_proba(new))
        assert_array_equal(again.code_, model.code_)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"targets.code.matrix": np.negative}, "not the code of"),
        ({"targets.code.matrix": lambda M: M[:, 1:]}, "shape"),
        ({"targets.code.turn": lambda V: V[1:]}, "shape"),
        ({"targets.code.turn": lambda V: V * np.nan}, "not finite"),
        ({"targets.classes": lambda c: c[:2]}, "classes"),
    ],
)
def test_codes_in_damaged_files_are_refused(changes, message, tmp_path):
    path = tmp_path / "model.safetensors"
    rewritten(RLSClassifier(KERNEL, coding="bch").fit(X, y), path, changes)
    with pytest.raises(FileFormatError, match=message):
        squareone.load(path)


def test_export(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = RLSClassifier(KERNEL, coding="bch").fit(X, y)
    model.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    labels = session.run(["label"], {session.get_inputs()[0].name: new})[0]
    assert_array_equal(labels, model.predict(new))
    counted = RLSClassifier(KERNEL, coding=BCH(15, "hamming")).fit(X, y)
    with pytest.raises(TypeError, match="cannot be exported, because it counts signs"):
        counted.to_onnx(tmp_path / "counted.onnx")


def test_parameters_of_a_coding_can_be_searched():
    search = GridSearchCV(
        RLSClassifier(KERNEL, 1.0, coding=BCH()), {"coding__length": [15, 31]}, cv=3
    ).fit(X, y)
    assert search.best_params_["coding__length"] in (15, 31)


def test_two_classes_have_one_column_in_every_coding():
    two = np.where(y < "c", "low", "high")
    plain = RLSClassifier(KERNEL, 1.0).fit(X, two)
    for coding in (*CODINGS.values(), "bch"):
        coded = RLSClassifier(KERNEL, 1.0, coding=coding).fit(X, two)
        assert_array_equal(coded.decision_function(new), plain.decision_function(new))
        assert not hasattr(coded, "code_")


@over_codings
def test_a_class_without_rows_is_not_predicted(coding):
    """All rows of a class have weight zero, or are in one fold: nothing breaks."""
    weights = np.where(y == "c", 0.0, 1.0)
    model = RLSClassifier(KERNEL, ALPHAS, coding=coding).fit(X, y, weights)
    assert model.classes_.size == 5
    assert "c" not in model.predict(X)
    assert np.isfinite(model.predict_proba(X)).all()
    order = np.argsort(y, kind="stable")
    splits = [(np.delete(order, s), order[s]) for s in (slice(0, 18), slice(18, 36))]
    folds = RLSClassifier(KERNEL, ALPHAS, coding=coding, cv=splits).fit(X, y)
    assert np.isfinite(folds.path_["score"]).all()


def test_pairs_of_classes_by_scikit_learn():
    pairs = OneVsOneClassifier(RLSClassifier(KERNEL, 1.0)).fit(X, y)
    assert len(pairs.estimators_) == 10
    assert np.mean(pairs.predict(X) == y) > 0.6


def test_bad_codings():
    many = np.arange(2400) % 1100
    rows = np.random.default_rng(0).standard_normal((many.size, 3))
    with pytest.raises(ValueError, match=r"words for 1024 classes, and there are 1100: use length"):
        RLSClassifier(KERNEL, 1.0, coding=BCH(15)).fit(rows, many)
    with pytest.raises(ValueError, match="exclude each other"):
        RLSClassifier(KERNEL, 1.0, coding="bch").fit(
            X, (np.outer(np.arange(90), [1, 2]) % 3 == 0) * 1
        )
    with pytest.raises(ValueError, match="length must be one of"):
        RLSClassifier(KERNEL, 1.0, coding=BCH(16)).fit(X, y)
    for bad in ("BCH", 63, None, BCH):
        with pytest.raises(ValueError, match="'coding' parameter"):
            RLSClassifier(KERNEL, 1.0, coding=bad).fit(X, y)
    with pytest.raises(ValueError, match="two classes"):
        RLSClassifier(KERNEL, 1.0, coding="bch").fit(X, np.zeros(90))
