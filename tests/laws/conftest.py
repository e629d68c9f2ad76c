"""An iterative solver obeys the laws in the limit: its tolerance is near the rounding here."""

import pytest

from squareone import RLSClassifier, RLSRegressor


@pytest.fixture(autouse=True)
def _small_residuals(monkeypatch):
    for estimator in (RLSRegressor, RLSClassifier):
        monkeypatch.setitem(estimator.__init__.__kwdefaults__, "tol", 1e-14)


@pytest.fixture(autouse=True)
def _on_device(request, monkeypatch):
    device = request.config.getoption("--device")
    if device is None:
        return
    import torch

    def refused(self, *args, **more):
        msg = "NumPy was given a tensor, which it could not have been on a GPU"
        raise TypeError(msg)

    monkeypatch.setattr(torch.Tensor, "__array__", refused)
    for estimator in (RLSRegressor, RLSClassifier):
        monkeypatch.setitem(estimator.__init__.__kwdefaults__, "device", device)
