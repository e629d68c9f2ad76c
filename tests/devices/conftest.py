"""Fixtures for tests of matrices that are torch's."""

import numpy as np
import pytest

from squareone import threads
from squareone.devices import open_place


@pytest.fixture
def strict_place(request, monkeypatch):
    """A place none of whose tensors NumPy may take, on any thread: on a GPU it could not."""
    torch = pytest.importorskip("torch")
    place = open_place(request.config.getoption("--device") or "torch:cpu")[0]

    def refused(self, *args, **more):
        msg = "NumPy was given a tensor"
        raise TypeError(msg)

    monkeypatch.setattr(torch.Tensor, "__array__", refused)
    monkeypatch.setattr(threads, "thread_budget", lambda: 3)
    with pytest.raises(TypeError, match="given a tensor"):
        np.asarray(torch.zeros(2))
    return place
