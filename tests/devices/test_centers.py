"""Fits with centers where matrices are torch's: those of NumPy, and nothing crosses unseen."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold

from squareone import RLSClassifier, RLSRegressor, load
from squareone.errors import MemoryLimitError
from squareone.kernels import Gaussian, Laplacian, Matern
from squareone.rows import GeneratedRows, rows_of
from squareone.solvers import CenterBasis
from squareone.solvers.few_centers import rectangle
from squareone.solvers.few_centers.kernel_sums import KernelSums

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch")

rng = np.random.default_rng(0)
n, m = 1500, 40
X = rng.standard_normal((n, 3))
y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
new = rng.standard_normal((30, 3))
weights = rng.uniform(0.5, 2.0, n)

SETTINGS = {
    "one λ": {"alpha": 0.1},
    "several": {"alpha": [0.01, 0.1, 1.0]},
    "automatic": {},
    "some rows": {"alpha": [0.1, 1.0], "loo_rows": 700},
    "folds": {"alpha": [0.1, 1.0], "cv": KFold(3)},
    "no intercept": {"alpha": 0.1, "fit_intercept": False},
}


def both(place, solver, X=X, y=y, w=None, kernel=None, **more):
    settings = {"solver": solver, "centers": m, "random_state": 0, "tol": 1e-11, **more}
    kernel = kernel or Gaussian(1.5)
    return [
        RLSRegressor(kernel, **settings, device=device).fit(X, y, w)
        for device in (None, place.name)
    ]


@pytest.mark.parametrize("case", SETTINGS)
@pytest.mark.parametrize("solver", ["rectangle", "pcg", "nystrom", "subset"])
def test_a_fit_is_that_of_numpy(strict_place, solver, case):
    settings = SETTINGS[case]
    if solver in ("nystrom", "subset"):
        settings = {**settings, "alpha": settings.get("alpha", [0.1, 1.0])}
    here, there = both(strict_place, solver, w=weights, **settings)
    assert_allclose(there.alpha_, here.alpha_, rtol=1e-4)
    assert_allclose(there.predict(new), here.predict(new), atol=2e-5)
    assert isinstance(there.dual_coef_, np.ndarray)
    plan = repr(there.plan_)
    assert f"on {strict_place.name}, its memory limit" in plan
    assert ("by blocks of kernel values" in there.plan_.chosen.form) == (solver == "pcg")


@pytest.mark.parametrize("solver", ["rectangle", "pcg"])
def test_what_a_fit_is_asked_later(strict_place, solver, tmp_path):
    here, there = both(strict_place, solver, alpha=[0.1, 1.0], keep_factor=True)
    for ask in (
        lambda model: model.loo_predictions_,
        lambda model: model.influence(new[:5]),
        lambda model: model.predict(new, return_std=True)[1],
        lambda model: model.explained_trace_,
    ):
        assert_allclose(ask(there), ask(here), atol=1e-5)
    there.save(tmp_path / "model.safetensors")
    assert_allclose(load(tmp_path / "model.safetensors").predict(new), here.predict(new), atol=1e-6)


@pytest.mark.parametrize(
    "kernel", [Laplacian(2.0), Matern(1.5, nu=0.5), 0.5 * Gaussian(1.0)], ids=str
)
@pytest.mark.parametrize("solver", ["rectangle", "pcg"])
def test_in_single_precision(strict_place, solver, kernel):
    Z, t = X.astype(np.float32), y.astype(np.float32)
    here, there = both(strict_place, solver, Z, t, kernel=kernel, alpha=1.0, tol=1e-5)
    assert there.predict(new.astype(np.float32)).dtype == np.float32
    found = there.predict(new.astype(np.float32)), here.predict(new.astype(np.float32))
    assert_allclose(*found, atol=2e-3)


def test_all_ways_of_summing(strict_place, monkeypatch):
    """Also what is done with many rows: sums of kernel values, divided afterwards."""
    expected = both(strict_place, "rectangle", alpha=0.1)[0].predict(new)
    monkeypatch.setattr(rectangle, "_NEGLIGIBLE", 0.0)
    for model in both(strict_place, "rectangle", alpha=0.1):
        assert_allclose(model.predict(new), expected, atol=1e-6)
    Z, t = X.astype(np.float32), y.astype(np.float32)
    there = RLSRegressor(
        Gaussian(1.5), 10.0, solver="rectangle", centers=m, random_state=0, device=strict_place.name
    )
    expected = both(strict_place, "rectangle", alpha=10.0)[0].predict(new)
    assert_allclose(there.fit(Z, t).predict(new.astype(np.float32)), expected, atol=2e-3)


def test_sums_go_on_from_those_that_were_kept(strict_place):
    with strict_place.active():
        basis = CenterBasis(Gaussian(1.5), X[:m], np.dtype(float))

        def sums():
            return KernelSums(basis, None, None, True, 1, np.dtype(float))

        def add(total, rows):
            total.add(rows_of(X[rows]), y[rows, None], weights[rows])

        whole, before, after = sums(), sums(), sums()
        for total, parts in ((whole, (slice(0, 300), slice(300, 700))), (before, (slice(0, 300),))):
            for rows in parts:
                add(total, rows)
        kept = before.kept()
        assert isinstance(kept, np.ndarray)
        after.resume(kept)
        add(after, slice(300, 700))
        assert_allclose(np.tril(after.take()), np.tril(whole.take()), atol=1e-10)


@pytest.mark.parametrize("solver", ["rectangle", "pcg"])
def test_dependent_centers(strict_place, solver):
    Z = np.vstack([X[:50]] * 4)
    here, there = both(strict_place, solver, Z, np.tile(y[:50], 4), centers=120, alpha=0.1)
    assert there.dropped_centers_.size == here.dropped_centers_.size > 0
    assert_allclose(there.predict(new), here.predict(new), atol=1e-6)


@pytest.mark.parametrize("solver", ["rectangle", "pcg"])
def test_rows_that_are_read(strict_place, solver):
    rows = GeneratedRows(lambda: (X[i : i + 400] for i in range(0, n, 400)), X.shape)
    here, there = both(strict_place, solver, rows, alpha=0.1)
    assert_allclose(there.predict(X[:40]), here.predict(X[:40]), atol=1e-6)


def test_classes(strict_place):
    settings = {"solver": "rectangle", "centers": m, "random_state": 0, "kernel": Gaussian(1.5)}
    here, there = (
        RLSClassifier(**settings, device=device).fit(X, np.digitize(y, [-1.0, 1.0]))
        for device in (None, strict_place.name)
    )
    assert_allclose(there.predict_proba(new), here.predict_proba(new), atol=1e-4)


@pytest.mark.parametrize("solver", ["rectangle", "pcg"])
def test_what_does_not_fit_is_refused_before(strict_place, solver):
    settings = {"solver": solver, "centers": 1000, "alpha": 1.0, "memory_limit": "10MiB"}
    with pytest.raises(MemoryLimitError, match=r"memory_limit is 10"):
        RLSRegressor(Gaussian(1.0), **settings, device=strict_place.name).fit(X, y)
