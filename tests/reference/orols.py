r"""Order-recursive orthogonal least squares (Andelic et al., IJCAI 2007) from its definition.

Rows are scaled by the square roots of their weights, so that all sums of squares are plain. The
first column is the constant, if there is an intercept; it is not penalised. The column of row j is
its kernel column with :math:`\epsilon / w_j` added at row j. Every column is made orthogonal to
the former ones by a real least-squares fit, :math:`K_m = Q U` with U unit upper triangular and the
columns of Q orthogonal but of any length. Then

.. math::
    \tilde P = I - Q (Q^T Q + \Lambda)^{-1} Q^T, \qquad
    \tilde\alpha_i = \frac{y^T q_i}{\lambda + q_i^T q_i}, \qquad U \alpha = \tilde\alpha ,

where :math:`\Lambda` is :math:`\lambda I` with a zero for the constant. Nothing here is updated
from a former step but the chosen rows and :math:`\lambda`, and nothing is meant to be fast.

Shapes: ``n`` rows, ``m`` columns with the constant, ``t`` targets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.reference.brute_force import FloatArray, _weights_or_ones


@dataclass(frozen=True)
class Design:
    """The scaled targets (n, t), the scaled columns (n, m), and whether the first is constant."""

    Y: FloatArray
    columns: FloatArray
    intercept: bool

    @property
    def orthogonal(self) -> tuple[FloatArray, FloatArray]:
        """Return Q (n, m), of orthogonal columns, and the unit upper triangular U (m, m)."""
        n, m = self.columns.shape
        Q, U = np.zeros((n, m)), np.eye(m)
        for j in range(m):
            Q[:, j], U[:j, j] = orthogonal_to(Q[:, :j], self.columns[:, j])
        return Q, U

    def penalties(self, lam: float) -> FloatArray:
        """Return the diagonal of Λ; (m,)."""
        diagonal = np.full(self.columns.shape[1], float(lam))
        if self.intercept:
            diagonal[0] = 0.0
        return diagonal

    def weights(self, lam: float) -> FloatArray:
        """Return α, the weights of the columns themselves; (m, t)."""
        Q, U = self.orthogonal
        lengths = np.diag(Q.T @ Q) + self.penalties(lam)
        return np.linalg.solve(U, Q.T @ self.Y / lengths[:, None])

    def residual_matrix(self, lam: float) -> FloatArray:
        """Return the matrix that takes the targets to their residuals; (n, n)."""
        Q, _ = self.orthogonal
        inverse = np.linalg.inv(Q.T @ Q + np.diag(self.penalties(lam)))
        return np.eye(Q.shape[0]) - Q @ inverse @ Q.T

    def residuals(self, lam: float) -> FloatArray:
        """Return the scaled residuals; (n, t)."""
        return self.residual_matrix(lam) @ self.Y


def orthogonal_to(Q: FloatArray, column: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what is left of a column after its fit to those of Q, and the fit; (n,) and (m,)."""
    if Q.shape[1] == 0:
        return column.copy(), np.zeros(0)
    fitted = np.linalg.lstsq(Q, column, rcond=None)[0]
    left = column - Q @ fitted
    again = np.linalg.lstsq(Q, left, rcond=None)[0]  # what rounding left of them
    return left - Q @ again, fitted + again


def design(
    K: FloatArray,
    Y: FloatArray,
    chosen: Sequence[int],
    epsilon: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> Design:
    """Return the scaled targets and columns of these chosen rows, in their order."""
    n = K.shape[0]
    w = _weights_or_ones(weights, n)
    columns = [np.ones(n)] if intercept else []
    for j in chosen:
        column = K[:, j].copy()
        column[j % n] += epsilon / w[j % n]
        columns.append(column)
    scale = np.sqrt(w)[:, None]
    stacked = np.column_stack(columns) if columns else np.zeros((n, 0))
    return Design(scale * Y.reshape(n, -1), scale * stacked, intercept)


# ---------------------------------------------------------------------------------------------
# What is known of a fit. ``rows`` is the number of rows in the fit.
# ---------------------------------------------------------------------------------------------


def gcv(fit: Design, lam: float, rows: int) -> float:
    r"""Return :math:`n \|\tilde P y\|^2 / (\mathrm{tr} \tilde P)^2`, targets added up."""
    outside = fit.Y.shape[0] - rows  # rows of weight zero
    trace = np.trace(fit.residual_matrix(lam)) - outside
    return float(rows * np.sum(fit.residuals(lam) ** 2) / trace**2)


def residual_trace(fit: Design, lam: float, rows: int) -> float:
    """Return the trace of P, of the rows in the fit."""
    return float(np.trace(fit.residual_matrix(lam)) - (fit.Y.shape[0] - rows))


def lam_by_gcv(fit: Design, lam: float, rows: int) -> float:
    """Return λ by formula (30) from a former λ, at most the largest qᵀq; targets added up."""
    Q, _ = fit.orthogonal
    if fit.intercept:
        Q = Q[:, 1:]
    squares = np.diag(Q.T @ Q)
    coefficients = Q.T @ fit.Y / (lam + squares)[:, None]
    above = np.sum(squares / (lam + squares) ** 2) * np.sum(fit.residuals(lam) ** 2)
    below = residual_trace(fit, lam, rows) * np.sum(coefficients**2 / (lam + squares)[:, None])
    return float(min(above / below, squares.max())) if below > 0 else float(squares.max())


def gcv_slope(fit: Design, lam: float, rows: int, step: float = 1e-4) -> float:
    """Return d log GCV / d log λ, by a central difference."""
    above, below = (gcv(fit, lam * math.exp(s), rows) for s in (step, -step))
    return (math.log(above) - math.log(below)) / (2 * step)


def log_evidence(fit: Design, lam: float, rows: int) -> float:
    r"""Return the log of the evidence of y at its best noise variance, up to a constant.

    With :math:`y \sim N(0, \sigma^2 (I + Q Q^T / \lambda))`, the constant integrated out with a
    flat prior (its part of y is removed, and a degree of freedom with it), and
    :math:`\sigma^2` at the maximum.
    """
    Q, _ = fit.orthogonal
    Y, free = fit.Y, rows
    if fit.intercept:
        first = Q[:, :1] / np.linalg.norm(Q[:, 0])
        Y, Q, free = Y - first @ (first.T @ Y), Q[:, 1:], rows - 1
    covariance = np.eye(Q.shape[0]) + Q @ Q.T / lam
    fits = np.sum(Y * np.linalg.solve(covariance, Y))
    targets = Y.shape[1]
    return float(
        -0.5 * free * targets * math.log(fits) - 0.5 * targets * np.linalg.slogdet(covariance)[1]
    )


def evidence_slope(fit: Design, lam: float, rows: int, step: float = 1e-4) -> float:
    """Return d log evidence / d log λ, by a central difference."""
    above, below = (log_evidence(fit, lam * math.exp(s), rows) for s in (step, -step))
    return (above - below) / (2 * step)


# ---------------------------------------------------------------------------------------------
# Choosing. With several kernels K is (n, kn), their matrices side by side, and a candidate is a
# column of it: its point is the remainder by n.
# ---------------------------------------------------------------------------------------------


def gains(
    K: FloatArray,
    Y: FloatArray,
    chosen: Sequence[int],
    epsilon: float,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    r"""Return the reduction :math:`(y^T q)^2 / (\lambda + q^T q)` by every candidate; (kn,).

    Targets are added up. Minus one for chosen candidates and rows of weight zero.
    """
    w = _weights_or_ones(weights, K.shape[0])
    former = design(K, Y, chosen, epsilon, weights, intercept)
    Q, _ = former.orthogonal
    found = np.full(K.shape[1], -1.0)
    for j in range(K.shape[1]):
        if j in chosen or w[j % K.shape[0]] == 0:
            continue
        column = design(K, Y, [j], epsilon, weights, intercept=False).columns[:, 0]
        q, _ = orthogonal_to(Q, column)
        found[j] = np.sum((q @ former.Y) ** 2) / (lam + q @ q)
    return found


def misfits(
    K: FloatArray,
    Y: FloatArray,
    chosen: Sequence[int],
    epsilon: float,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    """Return the length of every row's residual, not scaled by its weight; (n,).

    Minus one for rows of weight zero and those of which all candidates are chosen.
    """
    n = K.shape[0]
    w = _weights_or_ones(weights, n)
    residuals = design(K, Y, chosen, epsilon, weights, intercept).residuals(lam)
    found = np.full(n, -1.0)
    for i in range(n):
        candidates = range(i, K.shape[1], n)
        if w[i] > 0 and not all(j in chosen for j in candidates):
            found[i] = np.sqrt(np.sum(residuals[i] ** 2) / w[i])
    return found


def merits(
    selection: str,
    K: FloatArray,
    Y: FloatArray,
    chosen: Sequence[int],
    epsilon: float,
    lam: float,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> FloatArray:
    """Return what the next candidate has most of, by the rule of this name; (kn,)."""
    found = gains(K, Y, chosen, epsilon, lam, weights, intercept)
    if selection == "residual":
        point = int(np.argmax(misfits(K, Y, chosen, epsilon, lam, weights, intercept)))
        found[np.arange(K.shape[1]) % K.shape[0] != point] = -1.0
    return found


def penalised_loss(fit: Design, lam: float) -> float:
    r"""Return :math:`\|y - Q a\|^2 + a^T \Lambda a` at its minimum over a, by least squares."""
    Q, _ = fit.orthogonal
    tall = np.vstack([Q, np.diag(np.sqrt(fit.penalties(lam)))])
    targets = np.vstack([fit.Y, np.zeros((Q.shape[1], fit.Y.shape[1]))])
    found = np.linalg.lstsq(tall, targets, rcond=None)[0]
    return float(np.sum((targets - tall @ found) ** 2))


def path(
    K: FloatArray,
    Y: FloatArray,
    steps: int,
    epsilon: float,
    selection: str,
    lam: float | None = None,
    weights: FloatArray | None = None,
    intercept: bool = True,
) -> tuple[list[int], list[float]]:
    """Return the chosen candidates and λ after every step; λ by formula (30) if none is given."""
    rows = int(np.count_nonzero(_weights_or_ones(weights, K.shape[0])))
    chosen: list[int] = []
    penalties: list[float] = []
    current = 0.0 if lam is None else lam
    for _ in range(steps):
        found = merits(selection, K, Y, chosen, epsilon, current, weights, intercept)
        chosen.append(int(np.argmax(found)))
        if lam is None:
            fit = design(K, Y, chosen, epsilon, weights, intercept)
            current = lam_by_gcv(fit, current, rows)
        penalties.append(current)
    return chosen, penalties
