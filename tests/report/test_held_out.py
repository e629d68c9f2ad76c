"""Leave-one-out predictions, ROC curves and calibration, against scikit-learn and refits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    precision_score,
    recall_score,
    roc_auc_score,
)
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian
from squareone.report import (
    LeaveOneOutCalibrationDisplay,
    LeaveOneOutDisplay,
    LeaveOneOutPrecisionRecallDisplay,
    LeaveOneOutRocDisplay,
)

KERNEL = Gaussian(sigma=2.0)


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


# --- numbers ---------------------------------------------------------------------------------


def test_predictions_are_those_of_refits(data):
    X, Y = data
    model = RLSRegressor(KERNEL, alpha=0.3).fit(X, Y[:, 0])
    display = LeaveOneOutDisplay.from_estimator(model)
    assert_allclose(display.targets, Y[:, 0], atol=1e-12)
    refitted = cross_val_predict(model, X, Y[:, 0], cv=LeaveOneOut())
    assert_allclose(display.predictions, refitted, atol=1e-9)
    assert display.error == pytest.approx(np.sqrt(np.mean((Y[:, 0] - refitted) ** 2)))
    assert f"{display.error:.3g}" in display.ax_.get_title()
    assert display.ax_.get_xlim() == display.ax_.get_ylim()


def test_one_of_several_targets(data):
    X, Y = data
    model = RLSRegressor(KERNEL, alpha=0.3).fit(X, Y)
    display = LeaveOneOutDisplay.from_estimator(model, target=1)
    assert_allclose(display.targets, Y[:, 1], atol=1e-12)
    assert_array_equal(display.predictions, model.loo_predictions_[:, 1])
    for wrong in (None, 2, -1, "first"):
        with pytest.raises(ValueError, match=r"target=.*, and a number from 0 to 1 is expected"):
            LeaveOneOutDisplay.from_estimator(model, target=wrong)


def test_a_column_vector_has_one_target(data):
    X, Y = data
    model = RLSRegressor(KERNEL, alpha=0.3).fit(X, Y[:, :1])
    assert_allclose(LeaveOneOutDisplay.from_estimator(model).targets, Y[:, 0], atol=1e-12)


def test_constant_targets_can_be_drawn(data):
    model = RLSRegressor(KERNEL, alpha=0.3).fit(data[0], np.ones(60))
    assert LeaveOneOutDisplay.from_estimator(model).error < 1e-12


# --- ROC -------------------------------------------------------------------------------------


def test_two_classes_have_one_curve(data):
    X, Y = data
    y = np.where(Y[:, 0] > 0, "yes", "no")
    model = RLSClassifier(KERNEL, random_state=0).fit(X, y)
    display = LeaveOneOutRocDisplay.from_estimator(model)
    area = roc_auc_score(y == "yes", model.loo_decision_values_)
    assert_allclose(display.areas, [area])
    assert legend(display) == ["chance", f"class yes, area {area:.3f}"]
    other = LeaveOneOutRocDisplay.from_estimator(model, classes=["no"])
    assert_allclose(other.areas, [area])  # the same question from the other side
    assert other.columns[0].name == "class no"


def test_more_classes_have_a_curve_each(classes):
    X, y = classes
    model = RLSClassifier(KERNEL, random_state=0).fit(X, y)
    display = LeaveOneOutRocDisplay.from_estimator(model)
    for j, (column, area) in enumerate(zip(display.columns, display.areas, strict=True)):
        assert column.name == f"class {model.classes_[j]}"
        assert_array_equal(column.truth, y == model.classes_[j])
        assert area == pytest.approx(roc_auc_score(column.truth, model.loo_decision_values_[:, j]))
    colours = [line.get_color() for line in display.ax_.lines]
    assert len(set(colours)) == 4
    some = LeaveOneOutRocDisplay.from_estimator(model, classes=["cat", "ant"])
    assert [column.name for column in some.columns] == ["class cat", "class ant"]


@pytest.mark.parametrize("wrong", [["dog"], []])
def test_unknown_classes_are_refused(classes, wrong):
    model = RLSClassifier(KERNEL, random_state=0).fit(*classes)
    with pytest.raises(
        ValueError, match=r"classes of the fit, .'ant', 'bee', 'cat'., are expected"
    ):
        LeaveOneOutRocDisplay.from_estimator(model, classes=wrong)


def test_labels_have_a_curve_each(data):
    X, Y = data
    labels = (Y > 0).astype(int)
    model = RLSClassifier(KERNEL, random_state=0).fit(X, labels)
    display = LeaveOneOutRocDisplay.from_estimator(model)
    assert [column.name for column in display.columns] == ["label 0", "label 1"]
    assert_array_equal(display.columns[1].truth, labels[:, 1])


def test_a_legend_of_many_classes_stands_beside_the_curves():
    X = np.repeat(np.eye(12), 3, axis=0) + 0.01 * np.arange(36)[:, None]
    display = LeaveOneOutRocDisplay.from_estimator(
        RLSClassifier(KERNEL, alpha=0.1).fit(X, np.repeat(np.arange(12), 3))
    )
    display.figure_.canvas.draw()
    box = display.ax_.get_legend().get_window_extent()
    assert box.x0 >= display.ax_.get_window_extent().x1


def test_ranks_are_those_of_values_with_one_intercept(data):
    """At a large λ left-out values themselves rank rows the wrong way round."""
    X, Y = data
    model = RLSClassifier(KERNEL, alpha=1e5).fit(X, Y[:, 0] > 0)
    display = LeaveOneOutRocDisplay.from_estimator(model)
    assert display.areas[0] > 0.6
    assert roc_auc_score(Y[:, 0] > 0, model.loo_predictions_) < 0.1


# --- precision and recall --------------------------------------------------------------------


def test_precision_and_recall_of_two_classes(data):
    X, Y = data
    y = np.where(Y[:, 0] > 0.8, "yes", "no")
    model = RLSClassifier(KERNEL, threshold="f1", random_state=0).fit(X, y)
    display = LeaveOneOutPrecisionRecallDisplay.from_estimator(model)
    values, truth = model.loo_decision_values_, y == "yes"
    expected = average_precision_score(truth, values)
    assert_allclose(display.average_precisions, [expected])
    assert legend(display) == [
        f"chance, {truth.mean():.2g}",
        f"class yes, average precision {expected:.3f}",
        "as predicted",
    ]
    (curve,) = [line for line in display.ax_.lines if "class yes" in line.get_label()]
    precision, recall, _ = precision_recall_curve(truth, values)
    assert_allclose(curve.get_ydata(), precision)
    assert_allclose(curve.get_xdata(), recall)
    (mark,) = [line for line in display.ax_.lines if line.get_label() == "as predicted"]
    predicted = values > model.threshold_
    assert_allclose(mark.get_xdata(), [recall_score(truth, predicted)])
    assert_allclose(mark.get_ydata(), [precision_score(truth, predicted)])


def test_precision_of_the_other_class(data):
    """Its values and its threshold are those of the first, with the other sign."""
    X, Y = data
    model = RLSClassifier(KERNEL, threshold=0.2).fit(X, Y[:, 0] > 0)
    display = LeaveOneOutPrecisionRecallDisplay.from_estimator(model, classes=[False])
    (column,) = display.columns
    assert_array_equal(column.values > column.threshold, model.loo_decision_values_ < 0.2)
    expected = average_precision_score(Y[:, 0] <= 0, -model.loo_decision_values_)
    assert_allclose(display.average_precisions, [expected])


def test_precision_of_several_classes_and_of_labels(classes, data):
    X, y = classes
    model = RLSClassifier(KERNEL, random_state=0).fit(X, y)
    display = LeaveOneOutPrecisionRecallDisplay.from_estimator(model)
    for j, (column, found) in enumerate(
        zip(display.columns, display.average_precisions, strict=True)
    ):
        values = model.loo_decision_values_[:, j]
        assert found == pytest.approx(average_precision_score(column.truth, values))
        assert column.threshold is None
    assert "as predicted" not in legend(display)
    X, Y = data
    labels = RLSClassifier(KERNEL, threshold=[0.1, 0.2]).fit(X, (Y > 0).astype(int))
    display = LeaveOneOutPrecisionRecallDisplay.from_estimator(labels)
    assert [column.threshold for column in display.columns] == [0.1, 0.2]
    assert legend(display).count("as predicted") == 1
    display.figure_.canvas.draw()
    box = display.ax_.get_legend().get_window_extent()
    assert box.x0 >= display.ax_.get_window_extent().x1


def test_nothing_is_predicted_nothing_is_marked(data):
    X, Y = data
    model = RLSClassifier(KERNEL, threshold=100.0).fit(X, Y[:, 0] > 0)
    assert "as predicted" not in legend(LeaveOneOutPrecisionRecallDisplay.from_estimator(model))


# --- calibration -----------------------------------------------------------------------------


def test_calibration_shows_where_the_rows_are():
    """A class of four per cent: axes to one would have all bins in a corner."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 2))
    y = rng.random(1000) < 1 / (1 + np.exp(3.5 - X[:, 0]))
    model = RLSClassifier(Gaussian(3.0), alpha=1.0).fit(X, y)
    display = LeaveOneOutCalibrationDisplay.from_estimator(model)
    low, high = display.ax_.get_xlim()
    assert display.ax_.get_ylim() == (low, high)
    (curve,) = [line for line in display.ax_.lines if line.get_label() == "class True"]
    bins = np.concatenate([curve.get_xdata(), curve.get_ydata()])
    assert low <= bins.min()
    assert bins.max() <= high < 1.5 * bins.max()
    assert high < 0.5
    (lens,) = display.ax_.collections
    assert lens.get_paths()[0].vertices[:, 0].max() == pytest.approx(high)


def test_calibration_of_all_probabilities_has_all_of_the_axes(data):
    X, Y = data
    model = RLSClassifier(KERNEL, random_state=0).fit(X, Y[:, 0] > 0)
    display = LeaveOneOutCalibrationDisplay.from_estimator(model)
    assert display.ax_.get_xlim() == display.ax_.get_ylim() == (-0.02, 1.02)


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_calibration_is_that_of_scikit_learn(data, strategy):
    X, Y = data
    y = Y[:, 0] > 0
    model = RLSClassifier(KERNEL, random_state=0).fit(X, y)
    display = LeaveOneOutCalibrationDisplay.from_estimator(model, n_bins=6, strategy=strategy)
    shares, means = calibration_curve(
        y, model.loo_probabilities_[:, 1], n_bins=6, strategy=strategy
    )
    (curve,) = [line for line in display.ax_.lines if line.get_label() == "class True"]
    assert_allclose(curve.get_xdata(), means)
    assert_allclose(curve.get_ydata(), shares)
    lens = "95 % of calibrated bins of 10 rows" in legend(display)
    assert lens == (strategy == "quantile")


def test_calibration_of_several_classes(classes):
    model = RLSClassifier(KERNEL, random_state=0).fit(*classes)
    display = LeaveOneOutCalibrationDisplay.from_estimator(model, n_bins=5)
    assert [f"class {name}" in legend(display) for name in ("ant", "bee", "cat")] == [True] * 3
    assert_array_equal(display.columns[2].values, model.loo_probabilities_[:, 2])


def test_without_probabilities_there_is_no_calibration(data):
    X, Y = data
    model = RLSClassifier(KERNEL, calibration=None).fit(X, Y[:, 0] > 0)
    with pytest.raises(AttributeError, match="needs loo_probabilities_, which this RLSClassifier"):
        LeaveOneOutCalibrationDisplay.from_estimator(model)
