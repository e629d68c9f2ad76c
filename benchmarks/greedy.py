"""Greedy fits, against the passes over memory that they cannot do without."""

import numpy as np

from benchmarks.case import Case, Contest, Scale, timed
from benchmarks.data import decaying, wide
from benchmarks.measure import Contestant

ROWS, CENTERS, EPSILON = 16_000, 700, 0.1


def _steps(scale: Scale) -> Contest:
    """Compare a path with two passes over Q in every step: one product with Qᵀ, one with Q."""
    from squareone import OROLSRegressor
    from squareone.kernels import Gaussian

    n, m = scale.rows(ROWS), scale.rows(CENTERS)
    X, y = decaying(n)
    Q = np.asfortranarray(np.random.default_rng(0).standard_normal((n, m)))
    model = OROLSRegressor(Gaussian(4.0), epsilon=EPSILON, stopping=m)

    def passes() -> None:
        v = np.ones(n)
        for k in range(1, m + 1):
            v -= 1e-6 * (Q[:, :k] @ (Q[:, :k].T @ v))

    return Contest(Contestant(lambda: model.fit(X, y)), Contestant(passes))


def _predictions(scale: Scale) -> Contest:
    """Compare a tenth of the rows as centers, shared by ten outputs, with all rows as centers."""
    from squareone import OROLSRegressor, RLSRegressor
    from squareone.kernels import Gaussian

    n, n_test = scale.rows(7_291), scale.rows(10_000)
    X, y = wide(n + n_test, "float64", outputs=10)
    kernel, new = Gaussian(16.0), X[n:]
    exact = RLSRegressor(kernel, alpha=1.0, solver="cholesky").fit(X[:n], y[:n])
    sparse = OROLSRegressor(kernel, epsilon=EPSILON, shared_centers=True, stopping=n // 10)
    sparse.fit(X[:n], y[:n])
    return Contest(Contestant(lambda: sparse.predict(new)), Contestant(lambda: exact.predict(new)))


CASES: list[Case] = [
    timed(
        "greedy-steps",
        _steps,
        what="OROLS, 16,000 × 20 rows, 700 centers, λ re-estimated at every step",
        against="two passes over the orthogonal columns in every step",
        target=1.5,
        repeats=3,
    ),
    timed(
        "greedy-predict",
        _predictions,
        what="predict 10,000 points by 729 centers that 10 outputs share, d = 256",
        against="the exact fit of 7,291 rows",
        target=0.2,
    ),
]
