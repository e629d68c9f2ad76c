"""An iterative solver obeys the laws in the limit: its tolerance is near the rounding here."""

import pytest

from squareone import RLSClassifier, RLSRegressor


@pytest.fixture(autouse=True)
def _small_residuals(monkeypatch):
    for estimator in (RLSRegressor, RLSClassifier):
        monkeypatch.setitem(estimator.__init__.__kwdefaults__, "tol", 1e-14)
