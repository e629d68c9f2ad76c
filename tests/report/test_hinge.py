"""Figures of support vector machines: what they show is what the model says."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from squareone import RLSClassifier, SVMClassifier
from squareone.kernels import Gaussian
from squareone.report import HingePathDisplay, MarginDisplay

C = [0.1, 0.5, 2.0, 10.0]


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_the_path_is_that_of_the_model(classes):
    model = SVMClassifier(Gaussian(1.5), C=C).fit(*classes)
    display = HingePathDisplay.from_estimator(model)
    for name, values in (("alpha", display.alphas), ("gap", display.gaps)):
        assert_array_equal(values, model.path_[name])
    assert_array_equal(display.errors, model.path_["loo_error"])
    assert_array_equal(display.estimated, model.path_["exact"] == 0)
    assert display.chosen_error == pytest.approx(model.loo_error_)
    assert legend(display)[:2] == ["error, estimated", "error, exact"]
    assert display.gap_ax_.get_yscale() == "log"


def test_after_a_search_for_the_width_only_all_rows_are_shown(classes):
    model = make_pipeline(StandardScaler(), SVMClassifier()).fit(*classes)
    display = HingePathDisplay.from_estimator(model)
    assert np.isfinite(display.gaps).all()
    assert display.alphas.size >= 3
    assert (np.diff(display.alphas) > 0).all()


def test_one_alpha_without_errors_has_a_gap(classes):
    model = SVMClassifier(Gaussian(1.5), C=1.0, calibration=None).fit(*classes)
    display = HingePathDisplay.from_estimator(model)
    assert np.isnan(display.errors).all()
    assert display.gaps.size == 1


@pytest.mark.parametrize("cv", [None, 3])
def test_margins_are_those_of_the_rows(cv, classes):
    X, y = classes
    model = SVMClassifier(Gaussian(1.5), C=1.0, cv=cv).fit(X, y == "ant")
    display = MarginDisplay.from_estimator(model)
    signs = np.where(y == "ant", 1.0, -1.0)
    np.testing.assert_allclose(display.margins, signs * model.decision_function(X))
    assert np.mean(display.left_out < 0) == pytest.approx(model.loo_error_)
    assert display.support == model.support_.size / 60
    assert display.by == ("cross-validation" if cv else "leave-one-out")
    fit, left_out = display.ax_.lines[:2]
    assert_array_equal(fit.get_xdata(), np.sort(display.margins))
    assert left_out.get_ydata()[-1] == 1.0


def test_one_column_of_several_is_asked_for(classes):
    model = SVMClassifier(Gaussian(1.5), C=1.0, coding="one_vs_one").fit(*classes)
    with pytest.raises(ValueError, match="from 0 to 2"):
        MarginDisplay.from_estimator(model)
    display = MarginDisplay.from_estimator(model, column=2)
    assert display.margins.size == np.isfinite(model.margins_[:, 2]).sum() < 60


@pytest.mark.parametrize("kind", [HingePathDisplay, MarginDisplay])
def test_other_models_are_refused(kind, classes):
    with pytest.raises(TypeError, match="got RLSClassifier"):
        kind.from_estimator(RLSClassifier(Gaussian(1.5), 1.0).fit(*classes))
