"""Rows to choose centers among, and what centers are chosen for, slowly and plainly."""

import numpy as np

from squareone.centers import KMeans, LeverageScores, PivotedCholesky, TraceGreedy, Uniform
from squareone.kernels import Gaussian

KERNEL = Gaussian(1.5)


def rows(n=80, d=3, dtype=np.float64):
    return np.random.default_rng(0).standard_normal((n, d)).astype(dtype)


#: Every selector that is asked for a number of centers, by name.
COUNTED = {
    "uniform": Uniform,
    "random": PivotedCholesky,
    "greedy": lambda count, **options: PivotedCholesky(count, "greedy", **options),
    "trace": lambda count, **options: TraceGreedy(count, candidates=7, **options),
    "leverage": LeverageScores,
    "kmeans": KMeans,
}
CHOLESKY = ("random", "greedy", "trace")
OF_ROWS = tuple(name for name in COUNTED if name != "kmeans")


def share(kernel, X, points):
    """tr(K_nm K_mm⁺ K_mn) / tr(K), with matrices."""
    X, points = np.asarray(X, np.float64), np.asarray(points, np.float64)
    K_nm, K_mm = kernel(X, points), kernel(points)
    inverse = np.linalg.pinv(K_mm, rcond=1e-13, hermitian=True)
    return np.trace(K_nm @ inverse @ K_nm.T) / np.trace(kernel(X))


def residual(K, pivots):
    """K − K_np K_pp⁻¹ K_pn, one rank-one step after the other."""
    R = K.copy()
    for p in pivots:
        R -= np.outer(R[:, p], R[p]) / R[p, p]
    return R


class Streamed:
    """Rows that are not in memory: nothing but a shape, a type, and rows by ascending numbers."""

    def __init__(self, X):
        self._X = X
        self.shape, self.dtype = X.shape, X.dtype
        self.fetched = 0

    def __getitem__(self, numbers):
        assert isinstance(numbers, np.ndarray)
        assert (np.diff(numbers) > 0).all()
        self.fetched += numbers.size
        return self._X[numbers]
