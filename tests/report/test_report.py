"""What the figure draws and what the text says, against the fitted attributes themselves."""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics import balanced_accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from squareone import OROLSClassifier, OROLSRegressor, RLSClassifier, RLSRegressor, load
from squareone.kernels import Constant, Gaussian, Linear
from squareone.report import path_figure, summary

MEDIAN = Gaussian("median")
ALPHAS = np.geomspace(1e-3, 1e2, 9)


def curves(ax):
    return [line for line in ax.lines if line.get_linestyle() == "-" and len(line.get_xdata()) > 2]


def marks(ax):
    return [line for line in ax.lines if line.get_marker() == "D"]


def dots(ax, *, hollow):
    found = [line for line in ax.lines if line.get_marker() == "o"]
    return [line for line in found if (line.get_markerfacecolor() == "white") == hollow]


def rows_of(text):
    return dict(line.strip().split("  ", 1) for line in text.splitlines()[1:])


# --- the figure ------------------------------------------------------------------------------


def test_a_regressor_shows_its_root_mean_square_error_and_marks_its_alpha(data):
    X, Y = data
    model = RLSRegressor(MEDIAN, alpha=ALPHAS).fit(X, Y[:, 1])
    ax = path_figure(model)
    (curve,), (mark,) = curves(ax), marks(ax)
    assert_array_equal(curve.get_xdata(), ALPHAS)
    assert_allclose(curve.get_ydata(), np.sqrt(-model.path_["score"]))
    assert_array_equal(mark.get_xdata(), [model.alpha_])
    assert_allclose(mark.get_ydata(), [curve.get_ydata().min()])
    assert ax.get_xscale() == "log"
    assert ax.get_ylabel() == "leave-one-out root mean square error"
    assert f"{model.alpha_:.3g}" in ax.get_legend().get_texts()[-1].get_text()


def test_a_classifier_shows_its_mean_square(classes):
    model = RLSClassifier(MEDIAN, alpha=ALPHAS, criterion="gcv").fit(*classes)
    ax = path_figure(model)
    assert_allclose(curves(ax)[0].get_ydata(), -model.path_["score"])
    assert ax.get_ylabel() == "generalised cross-validation mean square error"


@pytest.mark.parametrize(
    ("scoring", "name"),
    [("accuracy", "accuracy"), (make_scorer(balanced_accuracy_score), "balanced_accuracy_score")],
)
def test_a_scorer_is_shown_as_it_is(classes, scoring, name):
    model = RLSClassifier(MEDIAN, alpha=ALPHAS, scoring=scoring, cv=4).fit(*classes)
    ax = path_figure(model)
    assert_array_equal(curves(ax)[0].get_ydata(), model.path_["score"])
    assert_array_equal(marks(ax)[0].get_ydata(), [model.best_score_])
    assert ax.get_ylabel() == f"cross-validation {name}"


def test_every_target_has_a_curve_and_a_mark(data):
    model = RLSRegressor(MEDIAN, alpha=ALPHAS, alpha_per_target=True).fit(*data)
    assert model.alpha_[0] != model.alpha_[1]  # otherwise this test would see nothing
    ax = path_figure(model)
    for i, (curve, mark) in enumerate(zip(curves(ax), marks(ax), strict=True)):
        assert_allclose(curve.get_ydata(), np.sqrt(-model.path_[f"score_{i}"]))
        assert_array_equal(mark.get_xdata(), [model.alpha_[i]])
        assert_allclose(mark.get_ydata(), [curve.get_ydata().min()])
        assert curve.get_color() == mark.get_color()
        assert curve.get_label() == f"target {i}"


def test_class_curves_carry_the_names_of_the_classes(classes):
    ax = path_figure(RLSClassifier(MEDIAN, alpha=ALPHAS, alpha_per_target=True).fit(*classes))
    assert [curve.get_label() for curve in curves(ax)] == ["class ant", "class bee", "class cat"]


def test_points_in_single_precision_are_hollow_beside_double_ones(data):
    X, Y = data
    model = RLSRegressor(MEDIAN, solver="cholesky", random_state=0).fit(X, Y[:, 0])
    bits, alphas = model.path_["bits"], model.path_["alpha"]
    assert set(bits) == {32, 64}
    ax = path_figure(model)
    (hollow,), (full,) = dots(ax, hollow=True), dots(ax, hollow=False)
    assert_array_equal(hollow.get_xdata(), alphas[bits == 32])
    assert_array_equal(full.get_xdata(), alphas[bits == 64])
    assert "looked at in float32" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_fit_all_in_single_precision_has_no_hollow_points(data):
    X, Y = data
    model = RLSRegressor(MEDIAN, alpha=ALPHAS).fit(X.astype(np.float32), Y[:, 0].astype(np.float32))
    assert set(model.path_["bits"]) == {32}
    assert dots(path_figure(model), hollow=True) == []


def test_the_axis_at_the_top_gives_the_degrees_of_freedom(data):
    X, Y = data
    model = RLSRegressor(MEDIAN, alpha=[0.1, 1.0, 10.0]).fit(X, Y[:, 0])
    ax = path_figure(model)
    (top,) = ax.child_axes
    ax.figure.canvas.draw()
    assert_allclose(top.get_xticks(), [0.1, 1.0, 10.0])
    shown = [float(label.get_text()) for label in top.get_xticklabels()]
    assert_allclose(shown, model.path_["effective_dof"], rtol=5e-3)


def test_it_draws_where_it_is_told(data):
    X, Y = data
    _, ax = plt.subplots()
    assert path_figure(RLSRegressor(MEDIAN, alpha=ALPHAS).fit(X, Y[:, 0]), ax) is ax
    assert len(plt.get_fignums()) == 1


def test_one_given_alpha_is_a_point_and_is_not_called_chosen(data):
    X, Y = data
    model = RLSRegressor(MEDIAN, alpha=0.5).fit(X, Y[:, 0])
    (mark,) = marks(path_figure(model))
    assert (mark.get_xdata()[0], mark.get_label()) == (0.5, "given λ = 0.5")


def test_alpha_zero_is_left_out_and_alone_refused(data):
    X, Y = data
    model = RLSRegressor("linear", alpha=[0.0, 1.0, 10.0, 100.0]).fit(X, Y[:, 0])
    assert_array_equal(curves(path_figure(model))[0].get_xdata(), [1.0, 10.0, 100.0])
    with pytest.raises(ValueError, match="no alpha above zero"):
        path_figure(RLSRegressor("linear", alpha=0.0).fit(X, Y[:, 0]))


def test_without_matplotlib_the_error_says_what_to_install(data, monkeypatch):
    X, Y = data
    model = RLSRegressor(MEDIAN, alpha=1.0).fit(X, Y[:, 0])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "squareone\[plot\]"'):
        path_figure(model)


@pytest.mark.parametrize("function", [path_figure, summary])
def test_only_fitted_estimators_of_this_library_are_reported_on(function):
    with pytest.raises(TypeError, match="at the end of a pipeline or search, got Ridge"):
        function(Ridge())
    with pytest.raises(NotFittedError):
        function(RLSRegressor())


# --- the text --------------------------------------------------------------------------------


def test_summary_of_a_regressor(data):
    X, Y = data
    kernel = (2.0 * Gaussian(sigma=1.5) + Linear()) * Constant(0.25)
    model = RLSRegressor(kernel, alpha=ALPHAS).fit(X, Y[:, 0])
    text = summary(model)
    assert text.startswith("RLSRegressor fitted to 60 rows, 3 features\n")
    rows = rows_of(text)
    assert rows["kernel"].strip() == "(2 * Gaussian(sigma=1.5) + Linear()) * 0.25"
    assert rows["λ"].strip() == f"{model.alpha_:.3g}, the best of 9 by leave-one-out"
    error = float(rows["leave-one-out root mean square error"])
    assert error == pytest.approx((-model.best_score_) ** 0.5, rel=5e-3)
    assert float(rows["effective degrees of freedom"]) == pytest.approx(
        model.effective_dof_, rel=5e-3
    )
    assert model.plan_.solver in rows["solver"]
    assert model.plan_.reason in rows["why"]
    assert "factorisation" in rows["time"]


def test_summary_counts_the_rows_a_refitted_classifier_mistakes(classes):
    X, y = classes
    model = RLSClassifier(Gaussian(sigma=2.0), alpha=0.3, keep_factor=True).fit(X, y)
    wrong = np.sum(cross_val_predict(model, X, y, cv=LeaveOneOut()) != y)
    assert 0 < wrong < 60
    rows = rows_of(summary(model, y))
    assert rows["leave-one-out error rate"].endswith(f", {wrong} of 60 rows")
    assert rows["λ"].strip() == "0.3, as given"


def test_summary_of_two_classes_and_of_labels(data):
    X, Y = data
    model = RLSClassifier(MEDIAN, alpha=ALPHAS).fit(X, Y[:, 0] > 0)
    wrong = np.sum((model.loo_predictions_ > 0) != (Y[:, 0] > 0))
    assert f" {wrong} of 60 rows" in summary(model, Y[:, 0] > 0)
    labels = (Y > 0).astype(int)
    model = RLSClassifier(MEDIAN, alpha=ALPHAS).fit(X, labels)
    wrong = np.sum((model.loo_predictions_ > 0) != labels)
    assert f" {wrong} of 120 labels" in summary(model, labels)


def test_summary_adds_the_leave_one_out_error_where_alpha_was_chosen_otherwise(data):
    X, Y = data
    model = RLSRegressor(MEDIAN, alpha=ALPHAS, criterion="gcv").fit(X, Y)
    assert "leave-one-out root mean square error" not in rows_of(summary(model))
    rows = rows_of(summary(model, Y))
    error = np.sqrt(np.mean((Y - model.loo_predictions_) ** 2))
    assert float(rows["leave-one-out root mean square error"]) == pytest.approx(error, rel=5e-3)


def test_summary_keeps_one_error_per_target(data):
    X, Y = data
    model = RLSRegressor(MEDIAN, alpha=ALPHAS, alpha_per_target=True).fit(X, Y)
    rows = rows_of(summary(model, Y))
    errors = [float(n) for n in rows["leave-one-out root mean square error"].split(",")]
    assert_allclose(errors, np.sqrt(-model.best_score_), rtol=5e-3)


@pytest.mark.parametrize(
    ("kernel", "others"),
    [
        (MEDIAN, "Gaussian(ard=True), Laplacian(), Matern(), Linear()"),
        (Gaussian(ard=True), "Laplacian(), Matern(), Linear()"),
        (Linear(), "Gaussian(), Gaussian(ard=True), Laplacian(), Matern()"),
        (MEDIAN + 2.0 * Linear(), "Gaussian(ard=True), Laplacian(), Matern()"),
        ("laplacian", "Gaussian(), Gaussian(ard=True), Matern(), Linear()"),
    ],
    ids=str,
)
def test_summary_and_plan_say_what_was_not_tried(data, kernel, others):
    X, Y = data
    model = RLSRegressor(kernel).fit(X, Y[:, 0])
    assert rows_of(summary(model))["not tried"].strip() == others
    assert ", ".join(model.plan_.untried) == others


def test_nothing_is_said_of_kernels_that_cannot_be_tried(data):
    X, Y = data
    K = X @ X.T
    assert "not tried" not in summary(RLSRegressor("precomputed").fit(K, Y[:, 0]))
    assert "ard" not in summary(RLSRegressor(MEDIAN).fit(csr_array(X), Y[:, 0]))
    assert "ard" not in summary(RLSRegressor(MEDIAN).fit(X[:, :1], Y[:, 0]))


# --- greedy models ---


def test_summary_of_a_greedy_regressor(data):
    X, Y = data
    model = OROLSRegressor(random_state=0).fit(X, Y[:, 0])
    text = summary(model)
    assert text.splitlines()[0] == f"OROLSRegressor fitted to {len(X)} rows, {X.shape[1]} features"
    rows = {name: value.strip() for name, value in rows_of(text).items()}
    assert rows["kernel"] == str(model.kernel_)
    assert rows["centers"].startswith(f"{model.n_centers_} of {len(X)} rows, by charged")
    assert rows["path ended by"] == model.stopped_by_
    assert rows["λ"] == f"{model.lambda_:.3g}, re-estimated at every step"
    looks = model.search_["error"].size
    best = f"with sigma the best of {looks} by cross-validation"
    assert rows["ε"] == f"{model.epsilon_:.3g}, {best}"
    error = model.path_["training_error"][model.n_centers_]
    assert rows["training root mean square error"] == f"{np.sqrt(error):.3g}"
    held_out = np.sqrt(model.search_["error"].min())
    assert rows["cross-validation root mean square error"].startswith(f"{held_out:.3g}, ")
    assert rows["not tried"] == "Laplacian(), Matern(), Linear()"


def test_summary_of_greedy_classes_and_pipelines(classes):
    X, y = classes
    pipeline = make_pipeline(StandardScaler(), OROLSClassifier(MEDIAN, epsilon=0.01)).fit(X, y)
    rows = rows_of(summary(pipeline))
    assert summary(pipeline) == summary(pipeline[-1])
    assert rows["centers"].split(" of ")[0].strip() == ", ".join(map(str, pipeline[-1].n_centers_))
    assert rows["ε"].strip() == "0.01, as given"
    assert "leave-one-out predictions" not in rows
    assert "cross_val_predict" in rows_of(summary(pipeline, y))["leave-one-out predictions"]


def test_summary_of_other_greedy_models(data):
    X, Y = data
    several = OROLSRegressor([MEDIAN, Linear()], stopping=4, lambda_update=0.5, epsilon=0.1)
    rows = rows_of(summary(several.fit(X, Y)))
    assert rows["centers"].strip() == f"4, 4 of {len(X)} rows, as asked for"
    assert rows["λ"].strip() == "0.5, 0.5, as given"
    assert rows["not tried"].strip() == "Laplacian(), Matern()"
    assert rows_of(summary(several.at(2)))["centers"].strip() == f"2, 2 of {len(X)} rows, by at()"
    given = OROLSRegressor("precomputed", stopping=4).fit(X @ X.T, Y[:, 0])
    assert summary(given).splitlines()[0].endswith(f"{len(X)} rows")
    assert "not tried" not in summary(given)
    width = OROLSRegressor(epsilon=0.01).fit(X, Y[:, 0])
    assert rows_of(summary(width))["ε"].strip().startswith("0.01, as given; sigma the best of")


def test_summary_of_a_greedy_model_from_a_file(data, tmp_path):
    X, Y = data
    model = OROLSRegressor(MEDIAN).fit(X, Y[:, 0])
    model.save(tmp_path / "greedy.safetensors")
    assert summary(load(tmp_path / "greedy.safetensors")) == summary(model)


def test_summary_without_a_factorisation_says_so(data, monkeypatch):
    monkeypatch.setattr("squareone.fitting.result._negligible", lambda problem: False)
    X, Y = data
    model = RLSRegressor("linear", alpha=1.0, keep_factor=False).fit(X, Y[:, 0])
    assert "not computed: fit again with keep_factor=True" in summary(model)


def test_summary_refuses_targets_of_another_length(data):
    X, Y = data
    model = RLSRegressor(MEDIAN, alpha=ALPHAS, criterion="gcv").fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        summary(model, Y[:-1, 0])


def test_pipelines_and_searches_are_looked_into(data):
    X, Y = data
    pipeline = make_pipeline(StandardScaler(), RLSRegressor(MEDIAN, alpha=ALPHAS)).fit(X, Y[:, 0])
    assert summary(pipeline) == summary(pipeline[-1])
    search = GridSearchCV(pipeline, {"rlsregressor__kernel": ["linear", "gaussian"]}, cv=3)
    search.fit(X, Y[:, 0])
    assert summary(search) == summary(search.best_estimator_[-1])


def test_a_threshold_is_shown_also_as_a_probability(data):
    X, Y = data
    model = RLSClassifier(Gaussian(2.0), 1.0, threshold=-0.25).fit(X, Y[:, 0] > 0)
    expected = f"-0.25; as a probability {model.probability_threshold_:.3g}"
    assert expected in summary(model)
    plain = RLSClassifier(Gaussian(2.0), 1.0, threshold=-0.25, calibration=None)
    assert "probability" not in summary(plain.fit(X, Y[:, 0] > 0))
    assert "threshold" not in summary(RLSClassifier(Gaussian(2.0), 1.0).fit(X, Y[:, 0] > 0))
