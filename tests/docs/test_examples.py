"""What an example of the gallery says of its figure is what the figure shows."""

import runpy
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.thorough
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def run(monkeypatch):
    """An example, whose figures nobody sees; the names it leaves behind."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    return lambda name: runpy.run_path(str(EXAMPLES / name))


def test_centers_that_stay_give_another_error_than_those_that_go(run):
    left = run("plot_many_rows.py")
    naive, honest, test = (left["errors"][name] for name in ("naive", "honest", "test"))
    assert naive[0] > 1.5 * test[0]
    assert naive[-1] < honest[-1]
    assert naive.argmin() > test.argmin() >= honest.argmin()
    assert np.ptp(test - honest) < 0.02
