"""Prediction, against the matrix product inside it."""

from functools import partial

import numpy as np
from sklearn.kernel_ridge import KernelRidge

from benchmarks.case import Case, Contest, Scale, timed
from benchmarks.data import wide
from benchmarks.measure import Contestant

TRAINING_ROWS, TEST_ROWS, OUTPUTS = 7_291, 10_000, 10


def _predict(scale: Scale, dtype: str) -> Contest:
    from squareone import RLSRegressor
    from squareone.kernels import Gaussian

    n, n_test = scale.rows(TRAINING_ROWS), scale.rows(TEST_ROWS)
    X_all, y_all = wide(n + n_test, dtype, outputs=OUTPUTS)
    X, y, X_test = X_all[:n], y_all[:n], X_all[n:]
    kernel = Gaussian(sigma=16.0)
    ours = RLSRegressor(kernel=kernel, alpha=1.0, solver="cholesky").fit(X, y)
    peer = KernelRidge(kernel="rbf", gamma=1 / (2 * 16.0**2), alpha=1.0).fit(X, y)
    return Contest(
        Contestant(lambda: ours.predict(X_test)),
        Contestant(lambda: np.matmul(X_test, X.T)),
        {"KernelRidge": Contestant(lambda: peer.predict(X_test))},
    )


CASES: list[Case] = [
    timed(
        f"predict-{dtype}",
        partial(_predict, dtype=dtype),
        what=f"predict 10,000 points, 7,291 training rows, d = 256, 10 outputs, {dtype}",
        against="matrix product of the points and the rows",
        target=1.5,
        repeats=7,
    )
    for dtype in ("float64", "float32")
]
