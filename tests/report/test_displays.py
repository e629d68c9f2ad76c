"""What all displays have in common, after scikit-learn's manner."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from squareone import (
    OROLSClassifier,
    OROLSRegressor,
    RLSClassifier,
    RLSRegressor,
    SVMClassifier,
    report,
)
from squareone.kernels import Gaussian
from squareone.report import (
    GreedyPathDisplay,
    HingePathDisplay,
    IntervalDisplay,
    KernelChoiceDisplay,
    LeaveOneOutCalibrationDisplay,
    LeaveOneOutDisplay,
    LeaveOneOutPrecisionRecallDisplay,
    LeaveOneOutRocDisplay,
    LeverageDisplay,
    MarginDisplay,
    PathDisplay,
    WidthMapDisplay,
)

REGRESSORS = [
    GreedyPathDisplay,
    KernelChoiceDisplay,
    PathDisplay,
    WidthMapDisplay,
    LeaveOneOutDisplay,
    IntervalDisplay,
    LeverageDisplay,
]
CLASSIFIERS = [
    GreedyPathDisplay,
    KernelChoiceDisplay,
    PathDisplay,
    WidthMapDisplay,
    LeaveOneOutPrecisionRecallDisplay,
    LeaveOneOutRocDisplay,
    LeaveOneOutCalibrationDisplay,
    LeverageDisplay,
    HingePathDisplay,
    MarginDisplay,
]
CASES = [(display, False) for display in REGRESSORS] + [(display, True) for display in CLASSIFIERS]


def estimator_for(display, classifies):
    if display in (HingePathDisplay, MarginDisplay):
        return SVMClassifier()
    if display is GreedyPathDisplay:
        return (OROLSClassifier if classifies else OROLSRegressor)(stopping=5, random_state=0)
    kernel = Gaussian(metric="learned") if display is KernelChoiceDisplay else "gaussian"
    return (RLSClassifier if classifies else RLSRegressor)(kernel, random_state=0)


@pytest.fixture
def targets(data):
    y = data[1][:, 0]
    return {False: y, True: y > 0}


def draw(display, model, X, **more):
    rows = [X] if display is IntervalDisplay else []
    return display.from_estimator(model, *rows, **more)


def test_every_display_is_tested_here():
    public = {getattr(report, name) for name in report.__all__ if name.endswith("Display")}
    assert {display for display, _ in CASES} == public


@pytest.mark.thorough
@pytest.mark.parametrize(("display", "classifies"), CASES)
def test_a_new_figure_or_the_axes_that_are_given(display, classifies, data, targets):
    X, _ = data
    model = estimator_for(display, classifies).fit(X, targets[classifies])
    drawn = draw(display, model, X)
    assert isinstance(drawn, display)
    assert drawn.figure_ is drawn.ax_.figure
    assert drawn.ax_.get_xlabel()
    assert drawn.ax_.get_ylabel()
    assert plt.get_fignums() == [1]
    _, ax = plt.subplots()
    assert drawn.plot(ax) is drawn
    assert drawn.ax_ is ax
    assert draw(display, model, X, ax=ax).ax_ is ax
    assert plt.get_fignums() == [1, 2]


@pytest.mark.thorough
@pytest.mark.parametrize(("display", "classifies"), CASES)
def test_it_can_be_drawn_into_a_part_of_a_figure(display, classifies, data, targets):
    X, _ = data
    left, _ = plt.figure(figsize=(13, 5), layout="constrained").subfigures(1, 2)
    model = estimator_for(display, classifies).fit(X, targets[classifies])
    drawn = draw(display, model, X, ax=left.subplots())
    drawn.figure_.canvas.draw()


@pytest.mark.parametrize(
    ("display", "classifies"),
    [
        pytest.param(*case, marks=pytest.mark.thorough if case[0] is KernelChoiceDisplay else ())
        for case in CASES
    ],
)
def test_pipelines_and_searches_are_looked_into(display, classifies, data, targets):
    X, _ = data
    model = make_pipeline(StandardScaler(), estimator_for(display, classifies))
    search = GridSearchCV(model, {f"{model.steps[-1][0]}__fit_intercept": [True]}, cv=3)
    search.fit(X, targets[classifies])
    outer, inner = (
        draw(display, search, X),
        draw(display, search.best_estimator_[-1], search.best_estimator_[:-1].transform(X)),
    )
    for name, value in vars(outer).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, getattr(inner, name))


@pytest.mark.parametrize(("display", "classifies"), CASES)
def test_only_fitted_estimators_of_this_library_are_drawn(display, classifies, data):
    X, _ = data
    with pytest.raises(TypeError, match=f"{display.__name__} .* pipeline or search, got Ridge"):
        draw(display, Ridge(), X)
    with pytest.raises(NotFittedError):
        draw(display, estimator_for(display, classifies), X)


@pytest.mark.parametrize(
    ("display", "model", "advice"),
    [
        (LeaveOneOutDisplay, RLSClassifier, "regressors, got RLSClassifier: use LeaveOneOutRoc"),
        (IntervalDisplay, RLSClassifier, "regressors, got RLSClassifier: "),
        (LeaveOneOutRocDisplay, RLSRegressor, "classifiers, got RLSRegressor: use LeaveOneOutD"),
        (LeaveOneOutCalibrationDisplay, RLSRegressor, "classifiers, got RLSRegressor: use Leave"),
    ],
)
def test_the_wrong_kind_of_estimator_is_refused(display, model, advice, data, targets):
    X, _ = data
    fitted = model(random_state=0).fit(X, targets[model is RLSClassifier])
    with pytest.raises(TypeError, match=advice):
        draw(display, fitted, X)


@pytest.mark.parametrize(("display", "classifies"), CASES)
def test_without_matplotlib_the_error_says_what_to_install(
    display, classifies, data, targets, monkeypatch
):
    X, _ = data
    model = estimator_for(display, classifies).fit(X, targets[classifies])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=rf'{display.__name__} .* "squareone\[plot\]"'):
        draw(display, model, X)


def test_matplotlib_is_imported_when_something_is_drawn():
    code = (
        "import sys, squareone, squareone.report\n"
        "assert 'matplotlib' not in sys.modules, 'imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
