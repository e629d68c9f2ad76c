"""Data with few centers, and the estimators and references the laws of them compare."""

from dataclasses import dataclass

import numpy as np

from squareone import RLSRegressor
from squareone import centers as selectors
from tests.laws.cases import KERNELS, Data, make_data, reference_kernel
from tests.reference import centers

# rows, features, centers: tall, hardly more rows than centers, one feature
SHAPES = [(24, 4, 6), (9, 8, 7), (12, 1, 3)]


@dataclass
class Few:
    """Rows, some of which are centers, and the kernel matrices that the references work with."""

    kernel: str
    data: Data
    rows: np.ndarray  # (m,) of the centers, in no order
    K: np.ndarray  # (n, n)
    K_new: np.ndarray  # (5, n)

    @property
    def points(self):
        return self.data.X[self.rows]

    def matrices(self, rows=None):
        """K_nm and K_mm of the centers that are these rows."""
        rows = self.rows if rows is None else rows
        return self.K[:, rows], self.K[np.ix_(rows, rows)]

    def regressor(self, solver, alpha, **settings):
        chosen = selectors.Given(self.points, indices=self.rows)
        settings = {"centers": chosen, **settings}
        return RLSRegressor(KERNELS[self.kernel][0], alpha, solver=solver, **settings)

    def fit(self, solver, alpha, **settings):
        model = self.regressor(solver, alpha, **settings)
        return model.fit(self.data.X, self.data.y, self.data.weights)


def few_centers(kernel, shape, *, targets=1, weighted=False):
    """The centers are rows of positive weight; no more than the kernel has dimensions."""
    n, d, m = shape
    data = make_data(n, d, targets=targets, weighted=weighted)
    others = np.random.default_rng(1).permutation(np.delete(np.arange(n), 2))
    rows = others[: min(m, d) if kernel in ("linear", "cosine") else m]
    K, K_new = (reference_kernel(kernel, left, data.X) for left in (data.X, data.X_new))
    return Few(kernel, data, rows, K, K_new)


def rows_of_centers(model, given):
    """Which rows the model took as centers: those given, less the dependent ones, in any order.

    A hyperplane is not expanded in its centers and may not have kept them.
    """
    return getattr(model, "center_indices_", given)


def leave_one_out(case, rows, alpha, intercept):
    """Honest leave-one-out values of the rectangle, by refits; (n, t)."""
    return centers.rectangle_leave_one_out_values(
        rows, *case.matrices(rows), case.data.Y, alpha, case.data.weights, intercept
    )


def rounding(case, alpha):
    """Relative tolerance: the conditions of both systems times eps, with room for constants."""
    eps = np.finfo(float).eps
    of_centers = np.linalg.cond(case.matrices()[1])
    return eps * (1e3 * (1 + np.linalg.norm(case.K, 2) / alpha) + 10 * of_centers) + 1e-12
