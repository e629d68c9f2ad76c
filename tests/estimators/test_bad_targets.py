"""Targets, labels and weights that mean nothing are refused with a message that says why."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from squareone import OROLSClassifier, RLSClassifier, RLSRegressor
from squareone.errors import ScaleError, TargetWarning
from squareone.kernels import Gaussian
from tests.estimators.data import X, indicators, n, refused, table, three, two, with_value, y

MISSING = "Input y contains NaN"
RESPONSES = {
    "None": (None, ["y to be passed", "None"]),
    "NaN": (with_value(y, np.nan), [MISSING]),
    "infinity": (with_value(y, np.inf), ["Input y contains infinity"]),
    "None among numbers": ([None, *y[1:]], [MISSING]),
    "pandas NA": (pd.Series(y, dtype="Float64").mask(y > 1), [MISSING]),
    "a scalar": (1.0, ["y has 0 dimensions", "(n,) or (n, targets) is expected"]),
    "3-D": (np.ones((n, 2, 2)), ["y has 3 dimensions and shape (30, 2, 2)", "is expected"]),
    "no column": (np.ones((n, 0)), ["y has no column", "(30, 0)"]),
    "too short": (y[:5], ["inconsistent numbers of samples: [30, 5]"]),
    "complex": (y + 1j, ["Complex data not supported"]),
    "masked": (np.ma.masked_greater(y, 1), ["y is a masked array", "y.filled(value)"]),
    "text": (["small", "large"] * 15, ["y is not numeric", "use RLSClassifier"]),
    "sparse": (scipy.sparse.csr_matrix(y[:, None]), ["y is sparse", "toarray()"]),
}


@pytest.mark.parametrize(("target", "message"), table(RESPONSES))
def test_bad_responses_are_refused(target, message):
    with refused(ValueError, *message):
        RLSRegressor().fit(X, target)


letters = ["a", "b"] * 14
LABELS = {
    "None": (None, ["y to be passed", "None"]),
    "NaN": (with_value(two, np.nan), [MISSING]),
    "infinity": (with_value(two, np.inf), ["Input y contains infinity"]),
    "None among labels": ([None, *letters, "a"], ["missing label (None, row 0)", "drop or fill"]),
    "NaN among labels": ([*letters, "a", np.nan], ["missing label (nan, row 29)", "drop or fill"]),
    "NaN in a Series": (pd.Series([*letters, "a", np.nan]), ["missing label (nan, row 29)"]),
    "NaN in an array": (
        np.array([*letters, "a", np.nan], dtype=object),
        ["missing label (nan, row 29)"],
    ),
    "pandas NA": ([*letters, "a", pd.NA], ["missing label (<NA>, row 29)", "drop or fill"]),
    "mixed list": ([*letters, 1, 2], ["mixes labels of types int, str", "convert"]),
    "mixed array": (
        np.array([*letters, 1, 2], dtype=object),
        ["mixes labels of types int, str", "convert"],
    ),
    "bytes and text": ([*letters, b"a", "b"], ["mixes labels of types bytes, str", "convert"]),
    "continuous": (y, ["Unknown label type: continuous", "regression target"]),
    "one class": (np.ones(n), ["one class only, 1.0", "at least two classes"]),
    "one named class": (["a"] * n, ["one class only, 'a'", "at least two classes"]),
    "a scalar": (
        1,
        ["y has shape ()", "labels (n,) or an indicator matrix (n, labels) is expected"],
    ),
    "3-D": (np.ones((n, 2, 2), int), ["y has shape (30, 2, 2)", "(n, labels) is expected"]),
    "no column": (np.ones((n, 0), int), ["y has shape (30, 0)", "(n, labels) is expected"]),
    "several classes per column": (np.c_[three, two], ["multioutput"]),
    "too short": (two[:5], ["inconsistent numbers of samples: [30, 5]"]),
    "complex": (two + 1j, ["Complex data not supported"]),
    "masked": (np.ma.masked_equal(two, 1), ["y is a masked array", "y.filled(value)"]),
}


@pytest.mark.parametrize(("target", "message"), table(LABELS))
def test_bad_labels_are_refused(target, message):
    with refused(ValueError, *message):
        RLSClassifier().fit(X, target)


ONE = np.ones(n)
WEIGHTS = {
    "NaN": (with_value(ONE, np.nan), ["sample_weight contains NaN", "at or above zero"]),
    "infinity": (with_value(ONE, np.inf), ["sample_weight contains infinity", "at or above zero"]),
    "negative": (with_value(ONE, -2.0), ["`sample_weight`: -2 at row 4", "at or above zero"]),
    "all zero": (0 * ONE, ["all weights are zero"]),
    "zero": (0.0, ["all weights are zero"]),
    "too short": (ONE[:5], ["sample_weight.shape == (5,), expected (30,)", "one weight per row"]),
    "2-D": (np.ones((n, 2)), ["must be 1D array or scalar", "2 dimensions"]),
    "text": (["heavy"] * n, ["sample_weight must be numbers", "'heavy'"]),
    "complex": (ONE + 1j, ["sample_weight", "omplex"]),
    "masked": (np.ma.masked_equal(ONE, 0), ["sample_weight is a masked array"]),
}


@pytest.mark.parametrize(
    ("model", "target"),
    [
        pytest.param(RLSRegressor(), y, id="regressor"),
        pytest.param(RLSClassifier(), two, id="classifier"),
    ],
)
@pytest.mark.parametrize(("weights", "message"), table(WEIGHTS))
def test_bad_weights_are_refused(model, target, weights, message):
    with refused(ValueError, *message):
        model.fit(X, target, sample_weight=weights)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_weights_out_of_scale_are_told(size):
    with refused(ScaleError, "sample_weight", "Divide the weights, and alpha"):
        RLSRegressor().fit(X, y, np.full(n, size))


@pytest.mark.parametrize("size", [1e-100, 1e-12, 1e12, 1e100])
def test_weights_may_have_any_scale(size):
    """Only their ratios to alpha count, and alpha is chosen."""
    weights = np.linspace(1, 2, n)
    expected = RLSRegressor().fit(X, y, weights).predict(X)
    actual = RLSRegressor().fit(X, y, size * weights).predict(X)
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


CLASS_WEIGHTS = {
    "indicator matrix": ("balanced", indicators, ["not defined for an indicator matrix", "sample"]),
    "negative": ({0: -1.0, 1: 1.0}, two, ["class_weight={0: -1.0", "at or above zero"]),
    "NaN": ({0: np.nan, 1: 1.0}, two, ["class_weight={0: nan", "at or above zero"]),
    "text": ({0: "heavy", 1: 1.0}, two, ["class_weight={0: 'heavy'"]),
    "all zero": ({0: 0.0, 1: 0.0}, two, ["class_weight={0: 0.0, 1: 0.0}", "zero"]),
    "an unknown name": ("equal", two, ["'class_weight'", "'balanced'", "Got 'equal'"]),
    "an unknown class": ({7: 1.0}, two, ["not in class_weight"]),
}


@pytest.mark.parametrize("alpha", ["auto", 1.0])
@pytest.mark.parametrize(("class_weight", "target", "message"), table(CLASS_WEIGHTS))
def test_bad_class_weights_are_refused(class_weight, target, message, alpha):
    with refused(ValueError, *message):
        RLSClassifier(alpha=alpha, class_weight=class_weight).fit(X, target)


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e300, 1e-300])
def test_targets_out_of_scale_are_told_to_rescale(kernel, scale):
    kind = "large" if scale > 1 else "small"
    with refused(ScaleError, f"values of y are too {kind} for float64", "Rescale y"):
        RLSRegressor(kernel).fit(X, y * scale)


@pytest.mark.parametrize("scale", [1e60, 1e-60])
def test_targets_that_do_not_fit_into_float32_are_told_to_rescale(scale):
    with refused(ScaleError, "values of y", "float32", "Rescale y"):
        RLSRegressor().fit(X.astype(np.float32), y * scale)


@pytest.mark.parametrize("criterion", ["loo", "gcv"])
@pytest.mark.parametrize("alpha", ["auto", [1.0, 10.0]], ids=["auto", "grid"])
@pytest.mark.parametrize("weights", [None, [1.0, 0.0]], ids=["one row", "one row with weight"])
def test_one_row_leaves_nothing_to_choose_alpha_by(criterion, alpha, weights):
    rows = 1 if weights is None else 2
    with refused(ValueError, "at least two rows", "n_samples = 1", "give a number for alpha"):
        RLSRegressor(alpha=alpha, criterion=criterion).fit(X[:rows], y[:rows], weights)


# --- classes that are probably numbers ---


@pytest.mark.costly
@pytest.mark.parametrize("kind", [RLSClassifier, OROLSClassifier])
@pytest.mark.parametrize("dtype", [int, float, np.uint16])
def test_hundreds_of_whole_numbers_are_said_to_be_classes(kind, dtype):
    rng = np.random.default_rng(0)
    rows, prices = rng.standard_normal((400, 2)), rng.integers(100, 400, 400).astype(dtype)
    model = kind(Gaussian(1.0), **({"alpha": 1.0} if kind is RLSClassifier else {"stopping": 2}))
    with pytest.warns(TargetWarning, match="different whole numbers in 400 rows.*RLSRegressor"):
        model.fit(rows, prices)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RLSRegressor(Gaussian(1.0), 1.0).fit(rows, prices)
        few = RLSClassifier(Gaussian(1.0), 1.0).fit(rows, prices % 90)  # may well be classes
        assert 80 < few.classes_.size < 100


def test_many_rows_of_many_classes_are_no_surprise():
    rows, target = np.zeros((20_000, 1)), np.arange(20_000) % 150
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RLSClassifier("linear", 1.0, calibration=None).plan(rows, target)
    with pytest.warns(TargetWarning):
        RLSClassifier("linear", 1.0, calibration=None).plan(rows[:1500], target[:1500])


@pytest.mark.parametrize("texts", [["1", "2", "10"], ["0.5", "-1e3", " 7"]])
@pytest.mark.parametrize("dtype", [str, object])
def test_numbers_as_text_are_said_to_be_names(texts, dtype):
    target = np.array(texts, dtype=dtype)[np.arange(len(X)) % 3]
    with pytest.warns(TargetWarning, match=r"numbers as text.*3 classes.*y\.astype\(float\)"):
        model = RLSClassifier(Gaussian(1.0), 1.0).fit(X, target)
    assert model.predict(X).dtype == target.dtype
    with pytest.warns(TargetWarning, match="numbers as text"):
        RLSClassifier(Gaussian(1.0), 1.0).fit(X, target.tolist())


@pytest.mark.parametrize("texts", [["a1", "2"], ["one", "two"], ["inf", "1"], ["", "1"]])
def test_other_texts_are_names(texts):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RLSClassifier(Gaussian(1.0), 1.0).fit(X, np.array(texts)[np.arange(len(X)) % 2])
