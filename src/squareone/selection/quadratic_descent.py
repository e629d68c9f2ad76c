"""The least value of a smooth function of one or two logarithms, from a handful of evaluations.

The function is modelled as a quadratic. What is known of its curvature beforehand, from a smaller
problem of the same kind, enters as a prior, so that a model stands after one more evaluation than
there are directions. The fit of the model is itself a regularised least-squares problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..arrays import Array

__all__ = ["WORTH", "descend", "fit_curvature"]

# Evaluations are smooth to about this relative error; curvatures are known to about their half.
_NOISE = 2e-4
_SPREAD = 0.5
# Up to about this rise in log error above its minimum the function is taken for a quadratic.
_NEAR_MINIMUM = 0.03
# Curvatures below this (in units of log error per squared logarithm) are flat valleys.
_FLAT = 3e-3
# An exploring step is one that raises the error by about this share at its minimum.
_EXPLORE = 0.006
#: The search ends when the model promises less than this share.
WORTH = 3e-4
# A share of the error that a simpler model may cost, for each logarithm: far below the error's own
# uncertainty.
_SIMPLER = 1e-4
# A point so near (as a share of the reach) to one that was seen has nothing to tell.
_NEAR = 0.02
# A share that is worth evaluations beyond the number wanted.
_MUCH = 3e-3


@dataclass
class _Model:
    """ln error ≈ a + g·z + ½ z·Hz around ``centre``, from points (p, k) and a prior curvature."""

    centre: Array
    curvature: Array  # (k, k)
    points: list[Array] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def fit(self) -> tuple[Array, Array]:
        """Gradient (k,) and curvature (k, k) at the centre."""
        k = self.centre.size
        rows, columns = np.triu_indices(k)
        Z = np.array(self.points) - self.centre
        half = np.where(rows == columns, 0.5, 1.0)
        design = np.column_stack([np.ones(len(Z)), Z, half * Z[:, rows] * Z[:, columns]])
        # prior: level and slope unknown, curvature near what it was
        mean = np.concatenate([np.zeros(1 + k), self.curvature[rows, columns]])
        spread = np.concatenate(
            [[1e3], np.full(k, 10.0), _SPREAD * _sizes(self.curvature)[rows, columns]]
        )
        values = np.array(self.values)
        known = np.isfinite(values)
        # far up the slope the function is no quadratic: such points count less
        noise = _NOISE * (1.0 + np.square((values[known] - values.min()) / _NEAR_MINIMUM))
        A = np.vstack([design[known] / noise[:, None], np.diag(1.0 / spread)])
        b = np.concatenate([values[known] / noise, mean / spread])
        solution = np.linalg.lstsq(A, b, rcond=None)[0]
        H = np.zeros((k, k))
        H[rows, columns] = H[columns, rows] = solution[1 + k :]
        return solution[1 : 1 + k], positive(H)


def _sizes(H: Array) -> Array:
    root = np.sqrt(np.diagonal(H))
    return np.outer(root, root)


def positive(H: Array) -> Array:
    """The nearest matrix (k, k) with no flat or downward direction."""
    values, vectors = np.linalg.eigh(H)
    return (vectors * np.maximum(values, _FLAT)) @ vectors.T


def fit_curvature(points: Array, values: Array) -> Array:
    """Curvature (2, 2) of ln error over log σ and log λ from points (p, 2) near its minimum.

    With few points or none it stays near what is seen on most data.
    """
    prior = np.diag([2.0, 0.05])
    if values.size == 0:
        return prior
    model = _Model(points[int(np.argmin(values))], prior)
    model.points, model.values = list(points), list(np.log(values))
    return model.fit()[1]


def descend(
    function: Callable[[Array], float],
    start: Array,
    curvature: Array,
    low: Array,
    high: Array,
    *,
    most: int,
    reach: Array,
    worth: float = WORTH,
) -> tuple[Array, Array]:
    """Where ``function`` (above zero) of logarithms (k,) is least, near ``start``.

    The second array (k, k) is the curvature of its logarithm there, as far as it was learned.

    The point returned is the minimum of the model, or rather, of the points that are worse by no
    more than two ten-thousandths, one with larger coordinates: a wider kernel and a larger λ
    are the simpler model. Nobody may have looked at that very point.

    Parameters
    ----------
    function : callable
        Of a point (k,); infinite where it cannot be evaluated.
    start : array (k,)
    curvature : array (k, k)
        Of the logarithm of the function, to be expected at its minimum.
    low, high : array (k,)
        Bounds.
    most : int
        Evaluations, as long as each of them does not gain much; three times as many otherwise.
    reach : array (k,)
        How far from the best point seen the model is believed.
    worth : float
        The share of the function that one more evaluation has to promise.
    """
    k = start.size
    model = _Model(start, curvature)

    def look(point: Array) -> float:
        value = function(point)
        model.points.append(point)
        model.values.append(float(np.log(value)) if 0 < value < np.inf else np.inf)
        return model.values[-1]

    look(start)
    for i in reversed(range(k)):  # what is dear to change last, λ first
        size = float(np.clip(np.sqrt(2.0 * _EXPLORE / curvature[i, i]), 0.05, reach[i]))
        down, up = start.copy(), start.copy()
        down[i], up[i] = max(start[i] - size, low[i]), min(start[i] + size, high[i])
        look(down if start[i] - down[i] >= 0.5 * size else up)
    gained = np.inf
    while True:
        best = int(np.argmin(model.values))
        if not np.isfinite(model.values[best]):
            return start, curvature
        model.centre = model.points[best]
        gradient, H = model.fit()
        step = _bounded_step(
            gradient,
            H,
            np.maximum(-reach, low - model.centre),
            np.minimum(reach, high - model.centre),
        )
        promise = -float(gradient @ step + 0.5 * step @ H @ step)
        target = model.centre + step
        if promise <= worth or (len(model.values) >= most and gained < promise <= _MUCH):
            inside = (np.abs(step) < reach) & (target > low)  # where the slope is zero
            simpler = target + inside * np.sqrt(2.0 * _SIMPLER / np.diagonal(H))
            return np.minimum(simpler, high), H
        nearest = min(float(np.max(np.abs(target - point) / reach)) for point in model.points)
        if len(model.values) >= 3 * most or nearest < _NEAR:
            return model.centre, H
        gained = model.values[best] - look(target)


def _bounded_step(g: Array, H: Array, low: Array, high: Array) -> Array:
    """Least g·z + ½z·Hz within a box that holds zero, by coordinates in turn."""
    z = np.zeros_like(g)
    for _ in range(50):
        for i in range(z.size):
            z[i] = np.clip(z[i] - (g[i] + H[i] @ z) / H[i, i], low[i], high[i])
    return z
