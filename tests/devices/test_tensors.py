"""Tensors in, tensors out; and those that are refused."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from squareone import RLSClassifier, RLSRegressor

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch")

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
y = np.sin(X[:, 0]) + X[:, 1]


def test_tensors_without_dispatch_are_arrays():
    model = RLSRegressor(alpha=1.0).fit(torch.from_numpy(X), torch.from_numpy(y))
    found = model.predict(torch.from_numpy(X))
    assert isinstance(found, np.ndarray)
    assert_allclose(found, RLSRegressor(alpha=1.0).fit(X, y).predict(X), rtol=1e-12)


REFUSED = {
    "grad": (lambda T: T.clone().requires_grad_(True), r"X\.detach"),
    "sparse": (lambda T: T.to_sparse(), r"X\.to_dense"),
    "half": (lambda T: T.half(), r"float16.*X\.float"),
    "bfloat16": (lambda T: T.bfloat16(), r"bfloat16.*X\.float"),
    "elsewhere": (lambda T: T.to("meta"), r"on meta.*array_api_dispatch.*X\.cpu"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_tensors_that_are_refused(case):
    change, message = REFUSED[case]
    model = RLSRegressor(alpha=1.0)
    with pytest.raises(TypeError, match=message):
        model.fit(change(torch.from_numpy(X)), y)
    model.fit(X, y)
    with pytest.raises(TypeError, match=message):
        model.predict(change(torch.from_numpy(X)))


DISPATCHED = """
import pickle, sys, unittest
import numpy as np, torch
from sklearn import config_context
from sklearn.utils.estimator_checks import _yield_array_api_checks
from squareone import RLSClassifier, RLSRegressor

device = sys.argv[1]
tried = 0
few = RLSRegressor(centers=9)
for estimator in (RLSRegressor(), RLSClassifier(), RLSClassifier("linear"), few):
    for check in _yield_array_api_checks(estimator):
        try:
            check(type(estimator).__name__, estimator)
            tried += "torch" in str(check.keywords)
        except unittest.SkipTest:
            pass
assert tried >= 4, tried

X = np.random.default_rng(0).standard_normal((60, 3))
y = np.sin(X[:, 0]) + X[:, 1]
here = RLSRegressor(alpha=1.0).fit(X, y)
T = torch.from_numpy(X).to(device)
with config_context(array_api_dispatch=True):
    there = RLSRegressor(alpha=1.0).fit(T, torch.from_numpy(y))
    assert there.plan_.task.device == ("" if device == "cpu" else device), there.plan_
    for name in ("dual_coef_", "centers_", "loo_predictions_", "leverages_", "center_indices_"):
        value = getattr(there, name)
        assert isinstance(value, torch.Tensor) and value.device == T.device, name
    mean, deviation = there.predict(T, return_std=True)
    low_high = there.predict_interval(T)
    for found, expected in (
        (mean, here.predict(X)),
        (deviation, here.predict(X, return_std=True)[1]),
        (low_high, here.predict_interval(X)),
        (there.influence(T[:4]), here.influence(X[:4])),
    ):
        assert isinstance(found, torch.Tensor) and found.device == T.device
        np.testing.assert_allclose(found.cpu().numpy(), expected, atol=1e-8)
    try:
        there.predict(X)
    except ValueError as error:
        assert "must use the same namespace" in str(error)
    else:
        raise AssertionError
    same = pickle.loads(pickle.dumps(there))
    assert isinstance(same.predict(T), torch.Tensor)
assert isinstance(same.centers_, np.ndarray)
assert isinstance(same.predict(X), np.ndarray)
texts = np.where(y > 0, "up", "down")
with config_context(array_api_dispatch=True):
    model = RLSClassifier(alpha=1.0).fit(T, texts)
    assert set(model.predict(T)) == {"up", "down"}
    assert isinstance(model.decision_function(T), torch.Tensor)
print("fine")
"""


def test_with_dispatch(request):
    """In a process of its own: scikit-learn wants the variable set before SciPy is imported."""
    device = request.config.getoption("--device") or "torch:cpu"
    device = {"torch:cpu": "cpu", "cuda": "cuda:0"}.get(device, device)
    run = subprocess.run(
        [sys.executable, "-c", DISPATCHED, device],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.strip() == "fine", run.stderr[-2000:]


def test_a_model_of_arrays_is_pickled_as_it_was():
    model = RLSClassifier(alpha=1.0).fit(X, y > 0)
    same = pickle.loads(pickle.dumps(model))
    assert vars(same).keys() == vars(model).keys()
