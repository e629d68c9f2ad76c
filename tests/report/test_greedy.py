"""The path of a greedy fit as a display, against the table it was drawn from."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from squareone import OROLSClassifier, OROLSRegressor, RLSRegressor
from squareone.kernels import Gaussian
from squareone.report import GreedyPathDisplay, PathDisplay

KERNEL = Gaussian(1.5)


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def curves(ax):
    """What was drawn over the centers, without marks and guides."""
    return [line for line in ax.lines if line.get_marker() == "None" and len(line.get_xdata()) > 2]


def marks(display, form="D"):
    found = [line for line in display.ax_.lines if line.get_marker() == form]
    return [(line.get_xdata()[0], line.get_ydata()[0]) for line in found if len(line.get_xdata())]


def test_three_panels_show_the_columns_of_the_path(data):
    X, Y = data
    model = OROLSRegressor(KERNEL, epsilon=0.1).fit(X, Y[:, 0])
    display = GreedyPathDisplay.from_estimator(model)
    path = model.path_
    assert_array_equal(display.centers, path["centers"])
    assert_array_equal(display.lambdas[0], path["lambda"])
    assert_array_equal(display.criterion[0], path["criterion"])
    assert_array_equal(display.errors[0], np.sqrt(path["training_error"]))
    errors, lambdas = display.panels_
    for panel, values in (
        (display.ax_, path["criterion"]),
        (errors, np.sqrt(path["training_error"])),
        (lambdas, np.where(path["lambda"] > 0, path["lambda"], np.nan)),
    ):
        (line,) = curves(panel)
        assert_array_equal(line.get_xdata(), path["centers"])
        assert_array_equal(line.get_ydata(), values)
        assert panel.get_yscale() == "log"
        assert panel.get_xlim() == display.ax_.get_xlim()
    assert display.ax_.get_xlabel() == "centers"
    assert errors.get_ylabel() == "training error,\nroot mean square"
    assert lambdas.get_ylabel() == "λ"


def test_the_least_criterion_is_marked(data):
    X, Y = data
    model = OROLSRegressor(KERNEL, epsilon=0.1).fit(X, Y[:, 0])
    display = GreedyPathDisplay.from_estimator(model)
    m = model.n_centers_
    assert display.chosen == display.least == m == np.argmin(model.path_["criterion"])
    assert marks(display) == [(m, model.path_["criterion"].min())]
    assert marks(display, "o") == []
    assert legend(display) == ["the path", f"chosen: {m} centers"]


def test_another_model_of_the_path_has_its_own_mark(data):
    X, Y = data
    model = OROLSRegressor(KERNEL, epsilon=0.1).fit(X, Y[:, 0])
    other = model.n_centers_ + 2
    display = GreedyPathDisplay.from_estimator(model.at(other))
    criterion = model.path_["criterion"]
    assert marks(display) == [(other, criterion[other])]
    assert marks(display, "o") == [(model.n_centers_, criterion.min())]
    assert legend(display) == ["the path", f"the model: {other} centers", "least criterion"]


def test_a_number_that_was_given(data):
    X, Y = data
    display = GreedyPathDisplay.from_estimator(
        OROLSRegressor(KERNEL, epsilon=0.1, stopping=5).fit(X, Y[:, 0])
    )
    assert display.given
    assert display.chosen == 5
    assert "given: 5 centers" in legend(display)


@pytest.mark.parametrize(
    ("stopping", "label", "scale"),
    [
        ("gcv", "generalised cross-validation", "log"),
        ("bic", "Bayesian information", "linear"),
        ("mdl", "description length", "linear"),
        ("validation", "generalised cross-validation", "log"),
    ],
)
def test_the_criterion_has_its_name(data, stopping, label, scale):
    X, Y = data
    model = OROLSRegressor(KERNEL, epsilon=0.1, stopping=stopping).fit(X, 100 * Y[:, 0])
    display = GreedyPathDisplay.from_estimator(model)
    assert display.label == label
    assert display.ax_.get_ylabel().replace("\n", " ") == label
    assert display.ax_.get_yscale() == scale


def test_every_target_with_a_path_is_a_thin_line(data):
    model = OROLSRegressor(KERNEL, epsilon=0.1).fit(*data)
    display = GreedyPathDisplay.from_estimator(model)
    path = model.path_
    lengths = [int(path["centers"][path["model"] == i].max()) for i in range(2)]
    assert display.criterion.shape == (2, max(lengths) + 1)
    for i, length in enumerate(lengths):
        assert_array_equal(np.flatnonzero(~np.isnan(display.lambdas[i])), np.arange(length + 1))
    assert_array_equal(display.chosen, model.n_centers_)
    lines = curves(display.ax_)
    assert len(lines) == 2
    assert all(line.get_linewidth() < 1 for line in lines)
    assert legend(display) == ["target 0", "target 1", "chosen"]


def test_shared_centers_are_one_path(data):
    display = GreedyPathDisplay.from_estimator(
        OROLSRegressor(KERNEL, epsilon=0.1, shared_centers=True).fit(*data)
    )
    assert display.names == ["the path"]


def test_classes_and_columns_of_a_code(classes):
    display = GreedyPathDisplay.from_estimator(OROLSClassifier(KERNEL, epsilon=0.1).fit(*classes))
    assert display.names == ["class ant", "class bee", "class cat"]
    assert display.error_label == "mean square"
    model = OROLSClassifier(KERNEL, epsilon=0.1, coding="one_vs_one").fit(*classes)
    assert GreedyPathDisplay.from_estimator(model).names == ["column 0", "column 1", "column 2"]
    labels = np.column_stack([classes[1] == name for name in np.unique(classes[1])]).astype(int)
    model = OROLSClassifier(KERNEL, epsilon=0.1).fit(classes[0], labels)
    assert GreedyPathDisplay.from_estimator(model).names == ["class 0", "class 1", "class 2"]


def test_many_paths_have_no_names_in_the_legend(data):
    X, Y = data
    model = OROLSRegressor(KERNEL, epsilon=0.1, stopping=3).fit(X, np.tile(Y, 7))
    display = GreedyPathDisplay.from_estimator(model)
    assert len(curves(display.ax_)) == 14
    assert set(legend(display)) <= {"given", "least criterion"}


def test_a_lambda_of_zero_is_no_reason_to_fail(data):
    X, Y = data
    model = OROLSRegressor(KERNEL, epsilon=0.1, lambda_update=0.0).fit(X, Y[:, 0])
    _, lambdas = GreedyPathDisplay.from_estimator(model).panels_
    assert lambdas.get_yscale() == "linear"
    assert_array_equal(curves(lambdas)[0].get_ydata(), 0.0)


def test_a_path_without_centers_can_be_drawn(data):
    X, _ = data
    display = GreedyPathDisplay.from_estimator(
        OROLSRegressor(KERNEL, epsilon=0.1).fit(X, np.ones(60))
    )
    assert display.chosen == 0
    display.figure_.canvas.draw()


def test_the_axes_keep_the_lower_part_of_their_room(data):
    X, Y = data
    model = OROLSRegressor(KERNEL, epsilon=0.1).fit(X, Y[:, 0])
    figure, axes = plt.subplots(1, 2, layout="constrained")
    figure.canvas.draw()
    before = axes[0].get_position()
    display = GreedyPathDisplay.from_estimator(model, ax=axes[0])
    free = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    placed = GreedyPathDisplay.from_estimator(model, ax=free)
    figure.canvas.draw()
    for shown, top in ((display, before.y1), (placed, 0.9)):
        boxes = [panel.get_position() for panel in (shown.ax_, *shown.panels_)]
        assert boxes[0].y1 < boxes[1].y0
        assert boxes[1].y1 < boxes[2].y0
        assert boxes[2].y1 == pytest.approx(top, abs=0.02)
        assert {round(box.x0, 6) for box in boxes} == {round(boxes[0].x0, 6)}


def test_the_displays_of_other_estimators_say_which_they_are_for(data):
    X, Y = data
    greedy = OROLSRegressor(KERNEL, epsilon=0.1).fit(X, Y[:, 0])
    exact = RLSRegressor(KERNEL, 0.1).fit(X, Y[:, 0])
    with pytest.raises(TypeError, match=r"Greedy.* OROLSRegressor .* got RLSRegressor"):
        GreedyPathDisplay.from_estimator(exact)
    with pytest.raises(TypeError, match=r"PathDisplay .* RLSRegressor .* got OROLSRegressor"):
        PathDisplay.from_estimator(greedy)
