"""Kernel solvers, against the LAPACK routine at their heart and against a grid search."""

import importlib.util
from collections.abc import Callable
from functools import partial

import joblib
import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from benchmarks.case import Case, Contest, Scale, timed
from benchmarks.data import smooth, wide
from benchmarks.measure import Contestant, Interleaved, fitting

GRID = np.logspace(-6, 4, 50)


def _gamma(sigma: float) -> float:
    """Return scikit-learn's name for the width: exp(-gamma |x-x'|²)."""
    return 1 / (2 * sigma**2)


def _overwritable(symmetric: NDArray) -> Callable[[], tuple[NDArray]]:
    """Return what restores a copy that LAPACK can overwrite, always in the same memory.

    A new copy each time would take the memory that the last contestant has just released, and
    leave the yardstick's own allocations with memory that is slower to touch.
    """
    work = np.array(symmetric, order="F")

    def restore() -> tuple[NDArray]:
        np.copyto(work.T, symmetric)  # symmetric, so its rows may be copied as columns
        return (work,)

    return restore


def _cholesky(scale: Scale, n: int, dtype: str) -> Contest:
    from squareone import RLSRegressor
    from squareone.kernels import Gaussian

    X, y = wide(scale.rows(n), dtype)
    positive_definite = rbf_kernel(X, gamma=_gamma(16.0))
    positive_definite.flat[:: len(X) + 1] += 1
    (potrf,) = scipy.linalg.get_lapack_funcs(("potrf",), (positive_definite,))

    def product_and_factor(matrix: NDArray) -> NDArray:
        product = np.matmul(X, X.T)
        potrf(matrix, lower=True, overwrite_a=True, clean=False)
        return product

    ours = RLSRegressor(kernel=Gaussian(sigma=16.0), alpha=1.0, solver="cholesky")
    peer = KernelRidge(kernel="rbf", gamma=_gamma(16.0), alpha=1.0)
    return Contest(
        fitting(ours, X, y),
        Contestant(product_and_factor, _overwritable(positive_definite)),
        {"KernelRidge": fitting(peer, X, y)},
    )


def _eigendecomposition(X: NDArray, sigma: float) -> Contestant:
    """Return LAPACK's syevd on the kernel matrix, its copy not timed."""
    return Contestant(
        partial(scipy.linalg.eigh, driver="evd", overwrite_a=True, check_finite=False),
        _overwritable(rbf_kernel(X, gamma=_gamma(sigma))),
    )


def _spectral_path(scale: Scale) -> Contest:
    from squareone import RLSRegressor
    from squareone.kernels import Gaussian

    (X, y), sigma = smooth(scale.rows(5_000))
    ours = RLSRegressor(kernel=Gaussian(sigma=sigma), alpha=GRID, solver="spectral")
    return Contest(fitting(ours, X, y), _eigendecomposition(X, sigma))


def _best_lambda(scale: Scale) -> Contest:
    from squareone import RLSRegressor
    from squareone.kernels import Gaussian

    (X, y), sigma = smooth(scale.rows(5_000))
    kernel = Gaussian(sigma=sigma)
    ours = RLSRegressor(kernel=kernel, alpha="auto", solver="auto")

    def shortfall(times: Interleaved) -> str:
        chosen = times.ours.summary
        path = RLSRegressor(kernel=kernel, alpha=GRID, solver="spectral").fit(X, y)
        behind = (path.best_score_ - chosen["best_score_"]) / abs(path.best_score_)
        verdict = "within" if behind <= 1e-3 else "NOT within"
        return (
            f"λ = {chosen['alpha_']:.3g}, its LOO score {behind:+.1e} (relative) behind the best of"
            f" 50 λ at {path.alpha_:.3g}: {verdict} 1e-3"
        )

    return Contest(
        fitting(ours, X, y, "alpha_", "best_score_"),
        _eigendecomposition(X, sigma),
        remark=shortfall,
    )


def _many_targets(scale: Scale) -> Contest:
    """Of himalaya, where it is installed, the same choice by its five folds."""
    from squareone import RLSRegressor
    from squareone.kernels import Gaussian

    X, Y = wide(scale.rows(1_000), "float64", outputs=scale.rows(1_000))
    ours = RLSRegressor(Gaussian(sigma=16.0), np.logspace(-4, 4, 20), alpha_per_target=True)
    peers = {}
    if importlib.util.find_spec("himalaya"):
        from himalaya.kernel_ridge import KernelRidgeCV

        theirs = KernelRidgeCV(
            alphas=np.logspace(-4, 4, 20),
            kernel="rbf",
            kernel_params={"gamma": _gamma(16.0)},
            fit_intercept=True,
            cv=5,
        )
        peers["himalaya"] = Contestant(lambda model: model.fit(X, Y), lambda: (clone(theirs),))
    return Contest(fitting(ours, X, Y), _eigendecomposition(X, 16.0), peers)


def _grid_search(scale: Scale) -> Contest:
    from squareone import RLSRegressor
    from squareone.kernels import Gaussian

    (X, y), sigma = smooth(scale.rows(2_000))
    ours = RLSRegressor(kernel=Gaussian(sigma=sigma), alpha=GRID)
    search = GridSearchCV(
        KernelRidge(kernel="rbf", gamma=_gamma(sigma)), {"alpha": GRID}, cv=5, n_jobs=2
    )

    def two_workers_of_one_thread(unfitted: GridSearchCV) -> GridSearchCV:
        with joblib.parallel_config("loky", inner_max_num_threads=1):
            return unfitted.fit(X, y)

    return Contest(
        fitting(ours, X, y),
        Contestant(two_workers_of_one_thread, lambda: (clone(search),)),
    )


CASES: list[Case] = [
    *(
        timed(
            f"cholesky-{n}-{dtype}",
            partial(_cholesky, n=n, dtype=dtype),
            what=f"kernel fit at one λ, Cholesky, n = {n:,}, d = 256, {dtype}",
            against="matrix product plus LAPACK potrf",
            target=target,
            repeats=repeats,
        )
        for n, target, repeats in ((5_000, 1.35, 5), (10_000, 1.12, 3))
        for dtype in ("float64", "float32")
    ),
    timed(
        "spectral-path",
        _spectral_path,
        what="50 λ with LOO, kernel, n = 5,000, float64",
        against="LAPACK syevd",
        target=1.15,
        repeats=3,
    ),
    timed(
        "best-lambda",
        _best_lambda,
        what="best λ by LOO, kernel, n = 5,000, float64",
        against="LAPACK syevd",
        target=0.6,
        repeats=3,
    ),
    timed(
        "many-targets",
        _many_targets,
        what="1,000 targets, each with its own of 20 λ by LOO, kernel, n = 1,000, float64",
        against="LAPACK syevd; beside it himalaya, five folds, where it is installed",
        target=None,
        repeats=3,
    ),
    timed(
        "grid-search",
        _grid_search,
        what="best of 50 λ, kernel, n = 2,000 (times faster)",
        against="GridSearchCV(KernelRidge, cv=5), two workers of one thread",
        target=15,
        direction="at least",
        repeats=3,
    ),
]
