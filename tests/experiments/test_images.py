"""Few points and which points: how models are judged, and runs from end to end."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from experiments import few_points, report, which_points
from experiments.data import VARIABLE, Rows
from experiments.images import FALSE_RATES, Task, equalised, judge, load_task, spread
from squareone import RLSClassifier
from squareone.kernels import Gaussian

SIZES = (5, 12)


@pytest.fixture
def task():
    """Two classes around two points."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 150)
    rows = Rows(rng.normal(y[:, None], 1.0, (150, 4)), y)
    return Task("two clouds", Gaussian(2.0), SIZES, Rows(*(part[:90] for part in rows)), rows)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Digits that are noise around an image for each, and nowhere else to write."""
    rng = np.random.default_rng(1)
    means, y = rng.uniform(-1, 1, (10, 256)), np.arange(160) % 10
    X = (means[y] + rng.normal(0, 0.3, (160, 256))).astype(np.float32)
    np.savez(
        tmp_path / "usps.npz", X_train=X[:100], y_train=y[:100], X_test=X[100:], y_test=y[100:]
    )
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    return tmp_path


def test_equalised_pixels_are_ranks():
    images = np.array([[10, 30, 20, 40], [5, 5, 5, 5]], np.uint8)
    assert_allclose(equalised(images), [[0.125, 0.625, 0.375, 0.875], [0.5] * 4])


def test_curves_are_the_best_rate_allowed():
    y = np.array([0, 0, 1, 1, 1])
    perfect = judge(np.array([-2.0, -1.0, 1.0, 2.0, 3.0]), y)
    assert (perfect.area, perfect.error) == (1.0, 0.0)
    assert_array_equal(perfect.curve, 1.0)
    # one positive below a negative: a third is missed until half of the negatives are let through
    flawed = judge(np.array([-2.0, 1.0, 0.5, 2.0, 3.0]), y)
    assert flawed.area == pytest.approx(5 / 6)
    assert flawed.error == pytest.approx(20.0)
    assert_allclose(flawed.curve, np.where(FALSE_RATES < 0.5, 2 / 3, 1.0))


def test_spread_of_one_is_none():
    assert spread([0.5], 2) == "0.50"
    assert spread([1.0, 3.0], 1) == "2.0 ± 1.4"


@pytest.mark.parametrize("solver", ["subset", "rectangle", "nystrom"])
def test_values_are_those_of_the_model(task, solver):
    model = RLSClassifier(task.kernel, 0.1, solver=solver, centers=12).fit(*task.train)
    K = task.kernel(task.test.X, task.train.X)
    assert_allclose(
        few_points._values(model, K), model.decision_function(task.test.X), rtol=1e-9, atol=1e-12
    )


def test_the_rectangles_alpha_goes_to_nystrom(task):
    K = task.kernel(task.test.X, task.train.X)
    fits = few_points.fit_draw(task, K, 12, seed=0)
    alphas = {method.label: fit.alpha for method, fit in zip(few_points.METHODS, fits, strict=True)}
    assert alphas["nystrom, λ by the rectangle"] == alphas["rectangle"]
    assert alphas["nystrom, λ by leave-one-out"] != alphas["rectangle"]
    assert alphas["nystrom, λ by hold-out"] in few_points.HOLD_OUT_ALPHAS


@pytest.mark.parametrize("way", which_points.WAYS, ids=lambda way: way.name)
def test_no_choice_explains_more_than_eigenvectors(task, way):
    best = which_points.best_shares(task)
    assert best[-1] == pytest.approx(1.0)
    for size, choice in zip(SIZES, which_points.choices(task, way, SIZES, seed=0), strict=True):
        points = choice.centers.points
        assert len(points) == size
        share = which_points.explained_trace(task.kernel, task.train.X, points)
        assert 0 < share < best[size - 1]
        if choice.centers.indices is not None:
            assert_array_equal(points, task.train.X[choice.centers.indices])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("experiment", "rows", "figures"),
    [(few_points, 2 * 6 + 1, {"usps"}), (which_points, 2 * 7, {"usps", "trace"})],
    ids=["few_points", "which_points"],
)
def test_a_run_from_end_to_end(folder, monkeypatch, experiment, rows, figures):
    name = experiment.__name__.split(".")[-1]
    monkeypatch.setattr(sys, "argv", [name, "--quick", "--only", "usps"])
    experiment.main()
    table = (folder / f"{name}-quick.md").read_text(encoding="utf-8")
    assert table.count("\n| usps |") == rows
    for figure in figures:
        assert (folder / f"{name}-quick-{figure}.png").stat().st_size > 10_000


def test_four_against_the_rest(folder):
    task = load_task("usps", quick=False)
    assert task.train.X.dtype == np.float64
    assert_array_equal(task.train.y, np.arange(100) % 10 == 4)
