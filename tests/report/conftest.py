"""Small data for the reports, and no windows."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def data():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) * [1.0, 50.0] + rng.normal(size=(60, 2))
    return X, Y


@pytest.fixture
def classes(data):
    X, Y = data
    return X, np.array(["ant", "bee", "cat"])[np.digitize(Y[:, 0], [-0.5, 0.5])]
