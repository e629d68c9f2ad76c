"""Fitted models with few centers: copies, files, what is asked after the fit, reports."""

import copy
import pickle

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

import squareone
from squareone import RLSRegressor, report
from squareone import centers as selectors
from squareone.kernels import Gaussian
from squareone.planning import plan
from squareone.planning.machine_speed import KINDS, Machine, Rate
from tests.estimators.center_cases import (
    X,
    classifier,
    every_selector,
    every_solver,
    m,
    n,
    new,
    regressor,
    rng,
    three,
    two,
    weights,
    y,
)
from tests.estimators.data import refused

pytestmark = pytest.mark.filterwarnings("ignore::squareone.errors.EstimateWarning")


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """A billion of everything in a second: none is measured, and no cache is touched."""
    rates = {f"{kind}-{bits}": Rate(1e9) for kind in KINDS for bits in (32, 64)}
    monkeypatch.setattr(plan, "this_machine", lambda: Machine(rates))


# --- copies ---


def fitted(solver, selector, **more):
    if solver == "subset" and isinstance(selector, selectors.KMeans):
        pytest.skip("centroids are no rows")
    return regressor(solver, centers=selector, **more).fit(X, y, weights)


@every_solver
@every_selector
def test_copies(solver, selector, tmp_path):
    model = fitted(solver, selector)
    same = clone(model)
    assert repr(same.get_params()["centers"]) == repr(selector)
    assert_array_equal(same.fit(X, y, weights).predict(new), model.predict(new))
    model.save(tmp_path / "model.safetensors")
    loaded = squareone.load(tmp_path / "model.safetensors")
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), loaded):
        assert_array_equal(other.predict(new), model.predict(new))
        assert_array_equal(other.centers_, model.centers_)
        assert_array_equal(other.center_indices_, model.center_indices_)
        assert other.alpha_ == model.alpha_
        assert str(other.kernel_) == str(model.kernel_)
        assert other.plan_.solver == solver
        assert other.plan_.task.centers == model.plan_.task.centers
        if solver != "subset":
            assert_array_equal(other.dropped_centers_, model.dropped_centers_)
    assert repr(loaded.centers) == repr(selector)
    assert_array_equal(clone(loaded).fit(X, y, weights).predict(new), model.predict(new))


@pytest.mark.parametrize("solver", ["rectangle", "pcg", "nystrom"])
def test_what_a_copy_does_not_know(solver, tmp_path):
    model = regressor(solver).fit(rng.normal(size=(2500, 3)), rng.normal(size=2500))
    model.save(tmp_path / "model.safetensors")
    loaded = squareone.load(tmp_path / "model.safetensors")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        for name in ("leverages_", "gacv_"):
            with refused(AttributeError, "factorisation, which is gone", "fit again"):
                getattr(other, name)
        with refused(AttributeError, "gone", "centers does not keep the rows", "fit again"):
            other.influence(new)
        assert other.predict(new).shape == (7,)


@pytest.mark.parametrize("solver", ["rectangle", "pcg", "nystrom"])
def test_leave_one_out_values_of_a_copy(solver, tmp_path):
    """Known where they had been computed; otherwise it is said why they are not."""
    rows, targets = rng.normal(size=(2500, 3)), rng.normal(size=2500)
    model = regressor(solver).fit(rows, targets)
    model.save(tmp_path / "before.safetensors")
    with refused(AttributeError, "loo_predictions_", "gone", "fit again with keep_factor=True"):
        _ = squareone.load(tmp_path / "before.safetensors").loo_predictions_
    values = model.loo_predictions_
    model.save(tmp_path / "after.safetensors")
    assert_array_equal(squareone.load(tmp_path / "after.safetensors").loo_predictions_, values)


@every_solver
def test_classifiers_in_files(solver, tmp_path):
    model = classifier(solver).fit(X, three, weights)
    model.save(tmp_path / "model.safetensors")
    loaded = squareone.load(tmp_path / "model.safetensors")
    for method in ("predict", "decision_function", "predict_proba"):
        assert_array_equal(getattr(loaded, method)(new), getattr(model, method)(new))


@every_solver
def test_sparse_centers_in_files(solver, tmp_path):
    model = regressor(solver).fit(csr_array(X), y)
    model.save(tmp_path / "model.safetensors")
    loaded = squareone.load(tmp_path / "model.safetensors")
    assert hasattr(loaded.centers_, "indptr")
    assert_array_equal(loaded.predict(new), model.predict(new))


@every_solver
def test_without_the_factor(solver):
    model, kept = (regressor(solver, keep_factor=keep).fit(X, y) for keep in (False, True))
    assert_array_equal(model.predict(new), kept.predict(new))
    if solver != "pcg":  # whose values are estimated when they are asked for
        assert_allclose(model.loo_predictions_, kept.loo_predictions_, rtol=1e-9)
    if solver != "subset":  # which keeps its rows
        with refused(AttributeError, "keep_factor=False", "fit again"):
            model.influence(new)


@pytest.mark.parametrize("solver", ["rectangle", "nystrom"])
def test_the_explained_trace(solver):
    shares = [regressor(solver, centers=k).fit(X, y).explained_trace_ for k in (2, 10, n)]
    assert 0 < shares[0] < shares[1] < shares[2] == pytest.approx(1.0)
    expected = selectors.explained_trace(Gaussian(1.5), X, X[:m])
    given = regressor(solver, centers=X[:m]).fit(X, y)
    assert given.explained_trace_ == pytest.approx(expected, rel=1e-9)


def test_the_explained_trace_of_pcg():
    expected = regressor("rectangle").fit(X, y).explained_trace_
    assert regressor("pcg").fit(X, y).explained_trace_ == pytest.approx(expected, rel=1e-6)


def test_the_explained_trace_of_a_subset():
    with refused(AttributeError, "explained_trace_", "subset"):
        _ = regressor("subset").fit(X, y).explained_trace_


# --- afterwards ---


@every_solver
def test_after_the_fit(solver):
    model = regressor(solver).fit(X, y, weights)
    lower, upper = model.predict_interval(new, 0.9).T
    assert (lower <= upper).all()
    assert model.influence(new).shape[0] == 7
    assert model.suspicious_rows(3).shape == (3,)
    assert model.loo_predictions_.shape == (n,)


@every_solver
def test_onnx(solver, tmp_path):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    for model in (regressor(solver).fit(X, y), classifier(solver).fit(X, three)):
        path = tmp_path / "model.onnx"
        model.to_onnx(path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        found = session.run(None, {session.get_inputs()[0].name: new})
        expected = model.predict(new)
        if isinstance(model, RLSRegressor):
            assert_allclose(np.ravel(found[0]), expected, atol=1e-7)
        else:
            assert_array_equal(np.ravel(found[0]), expected)


# --- reports ---


@pytest.fixture
def figures():
    yield
    plt.close("all")


@every_solver
def test_summaries(solver):
    for model in (regressor(solver).fit(X, y), classifier(solver, alpha=[0.1, 1.0]).fit(X, two)):
        text = report.summary(model)
        assert solver in text
        assert "nan" not in text.lower().split()
        assert str(m) in text
        assert isinstance(model._repr_html_(), str)


@every_solver
def test_displays(solver, figures):
    model = regressor(solver, alpha=[0.1, 1.0, 10.0]).fit(X, y)
    labels = classifier(solver, alpha=[0.1, 1.0, 10.0]).fit(X, two)
    for display in (report.PathDisplay, report.LeaveOneOutDisplay, report.LeverageDisplay):
        assert display.from_estimator(model).ax_ is not None
    assert report.IntervalDisplay.from_estimator(model, new).ax_ is not None
    for display in (report.LeaveOneOutRocDisplay, report.LeaveOneOutCalibrationDisplay):
        assert display.from_estimator(labels).ax_ is not None


@every_solver
def test_width_maps(solver, figures):
    model = regressor(solver, kernel="gaussian", alpha="auto").fit(X, y)
    assert report.WidthMapDisplay.from_estimator(model).ax_ is not None
