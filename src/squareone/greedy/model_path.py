"""All models of a greedy fit, from the constant to the one with the most centers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from ..arrays import Array


@dataclass
class GreedyPath:
    """What a fit has learned: the model with the first m centers, for every m up to M.

    Attributes
    ----------
    n : int
        Rows, and points among the candidates.
    candidates : array (M,)
        The chosen ones, in their order: the kernel's number times n, and the point's.
    triangle : array (M + free, M + free)
        R: columns K_m = QR, the constant first where there is an intercept.
    projections : array (M + free, t)
        Qᵀy.
    penalties, gcv, criterion, errors, degrees, conditions : array (M + 1,)
        λ, the generalised cross-validation, what the number of centers was chosen by, the mean
        square error on the training rows, the trace of the hat matrix and the condition of the
        paper's Q, for 0 … M centers.
    repeats : array (M,)
        How often each column had to be made orthogonal once more.
    free : int
        1 with an intercept, 0 without.
    best : int
        The m that was chosen.
    ended : str
        Why there are no more centers.
    skipped : int
        Points that depended on the chosen ones.
    """

    n: int
    candidates: Array
    triangle: Array
    projections: Array
    penalties: Array
    gcv: Array
    criterion: Array
    errors: Array
    degrees: Array
    conditions: Array
    repeats: Array
    free: int
    best: int
    ended: str
    skipped: int

    @property
    def longest(self) -> int:
        """M."""
        return self.candidates.size

    def weights(self, m: int) -> Array:
        """Of the orthonormal columns in the model with m centers: (m + free, t)."""
        return filtered(
            np.diagonal(self.triangle)[: m + self.free],
            self.projections[: m + self.free],
            float(self.penalties[m]),
            self.free,
        )

    def coefficients(self, m: int) -> tuple[Array, Array]:
        """Of the kernels (m, t), and the intercepts (t,). Cost: m²t flops."""
        k = m + self.free
        if k == 0:
            t = self.projections.shape[1]
            return np.empty((0, t)), np.zeros(t)
        solved = solve_triangular(self.triangle[:k, :k], self.weights(m))
        if self.free:
            return solved[1:], solved[0]
        return solved, np.zeros(solved.shape[1])


def filtered(lengths: Array, projections: Array, penalty: float, free: int) -> Array:
    """f_j z_j: (k, t), the first ``free`` of them as they are."""
    squares = np.square(lengths)
    filters = np.divide(squares, penalty + squares, out=np.ones_like(squares), where=squares > 0)
    filters[:free] = 1.0
    return filters[:, None] * projections
