"""One fit, wherever the rows are: in memory, in a stream, with Dask's threads or on a cluster."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian
from squareone.rows import GeneratedRows, block_sums
from squareone.solvers.registry import SOLVERS

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

rng = np.random.default_rng(7)
n, d, m, group = 330, 4, 15, 64
X = rng.standard_normal((n, d))
y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
weights = rng.uniform(0.5, 2.0, n)
new = rng.standard_normal((30, d))
BY_BLOCKS = [name for name, solver in SOLVERS.items() if solver.reads_blocks]

pytestmark = pytest.mark.filterwarnings("ignore::squareone.errors.EstimateWarning")


@pytest.fixture(autouse=True)
def small_groups(request, monkeypatch):
    if request.config.getoption("--device") is not None:
        pytest.skip("rows of Dask are refused on a device")
    for name in ("_MOST_ROWS", "_FEWEST_ROWS", "_SPARSE_ROWS"):
        monkeypatch.setattr(block_sums, name, group)


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as found,
        distributed.Client(found, set_as_default=False) as client,
    ):
        yield client


def settings(name):
    solver = SOLVERS[name]
    found = {"solver": name, "alpha": 0.1, "random_state": 0}
    found["kernel"] = "linear" if solver.needs_linear else Gaussian(1.5)
    if solver.with_centers:
        found["centers"] = m
    if solver.iterates or not solver.alpha_zero:
        found["tol"] = 1e-10
    return found


def answers(estimator, name, rows, target, w):
    model = estimator(**settings(name)).fit(rows, target, w)
    ask = model.decision_function if estimator is RLSClassifier else model.predict
    return ask(new)


@pytest.mark.parametrize(
    "name",
    [
        # many passes
        pytest.param(name, marks=[pytest.mark.thorough] * SOLVERS[name].iterates)
        for name in BY_BLOCKS
    ],
)
@pytest.mark.parametrize(
    "w",
    [pytest.param(None, marks=pytest.mark.thorough), weights],
    ids=["unweighted", "weighted"],
)
@pytest.mark.parametrize(
    "estimator", [RLSRegressor, pytest.param(RLSClassifier, marks=pytest.mark.thorough)]
)
def test_one_fit_wherever_the_rows_are(name, w, estimator, cluster):
    target = np.where(y > 0, "high", "low") if estimator is RLSClassifier else y
    stream = GeneratedRows(lambda: iter(np.array_split(X, 5)), X.shape)
    expected = answers(estimator, name, stream, target, w)
    assert_allclose(answers(estimator, name, X, target, w), expected, rtol=1e-5, atol=1e-6)
    rows = da.from_array(X, chunks=(70, d))
    for scheduler in ("threads", cluster):
        with dask.config.set(scheduler=scheduler):
            assert_array_equal(answers(estimator, name, rows, target, w), expected)
