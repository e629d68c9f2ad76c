"""Linear ridge regression over 50 λ, against RidgeCV."""

import warnings
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV

from benchmarks.case import Case, Contest, Scale, timed
from benchmarks.data import tall
from benchmarks.measure import Interleaved, fitting

WELL = np.logspace(-6, 4, 50)
ILL = np.logspace(-12, 2, 50)


def _contest(scale: Scale, condition: float, grid: NDArray, *, hilbert: bool) -> Contest:
    from squareone import RLSRegressor

    X, y = tall(scale.rows(100_000), condition=condition)
    ours = RLSRegressor(kernel="linear", alpha=grid)
    peer = RidgeCV(alphas=grid)

    def remark(times: Interleaved) -> str:
        mine, theirs = times.ours.summary, times.yardstick.summary
        both = f"λ and LOO score: {mine['alpha_']:.3g}, {mine['best_score_']:.6g};"
        both += f" RidgeCV: {theirs['alpha_']:.3g}, {theirs['best_score_']:.6g}"
        return f"{both}; {accuracy()}" if hilbert else both

    return Contest(
        fitting(ours, X, y, "alpha_", "best_score_"),
        fitting(peer, X, y, "alpha_", "best_score_"),
        remark=remark,
    )


def accuracy(lam: float = 1e-12) -> str:
    """Compare the LOO mean square on a Hilbert design with its value to fifty digits."""
    from squareone import RLSRegressor
    from tests.reference.fifty_digits import hilbert_design, ridge_leave_one_out

    X = hilbert_design(30, 8)
    y = np.sin(np.arange(30.0))
    exact = np.mean(ridge_leave_one_out(X, y, lam, intercept=False) ** 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the design is meant to be ill conditioned
        ours = RLSRegressor(kernel="linear", alpha=lam, fit_intercept=False).fit(X, y)
        ours_mean_square = np.mean((y - ours.loo_predictions_) ** 2)
        peer = RidgeCV(alphas=[lam], fit_intercept=False, store_cv_results=True).fit(X, y)
    ours_error = abs(ours_mean_square / exact - 1)
    peer_error = abs(np.mean(peer.cv_results_) / exact - 1)
    return (
        f"relative error of the LOO mean square on a 30 × 8 Hilbert design, λ = {lam:g}:"
        f" {ours_error:.0e}; RidgeCV: {peer_error:.0e}"
    )


CASES: list[Case] = [
    timed(
        f"linear-{name}",
        partial(_contest, condition=condition, grid=grid, hilbert=name == "ill"),
        what=f"50 λ with LOO, linear, n = 100,000, d = 100, {name} conditioned (times faster)",
        against="RidgeCV",
        target=target,
        direction="at least",
    )
    for name, condition, grid, target in (("well", 1.0, WELL, 12), ("ill", 1e7, ILL, 5))
]
