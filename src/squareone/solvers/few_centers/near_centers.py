"""Centers that nearly coincide: moved apart, so that rounding leaves what only they say together.

Of two centers at a distance δ far below the width the kernel matrix has 1 − k² ~ (δ/σ)² left, which
rounding swallows from δ ~ 10⁻⁸σ on. The functions are there all the same: k(·, z) and, along the
difference, nearly its derivative, of norm one whatever δ is. They span nearly the same at a larger
distance rσ, to a relative r, and there rounding leaves all but ε/r² of the norm. With r = 10⁻⁵ both
are small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array, issparse
from scipy.sparse.csgraph import connected_components

from ...arrays import Array, power_of_two
from ...kernels import Kernel

# Points this near, and no further apart afterwards than this, by the spread of all of them.
_NEAR, _FARTHEST = 1e-6, 1e-5
# √(1 − k²) at the new distance: r.
_APART = 1e-5
# Differences that are nothing but rounding of the numbers themselves, in units of eps.
_ROUNDED = 64.0
# Neighbours along a direction that are compared with each point.
_COMPARED = 16


def moved_apart(kernel: Kernel, points: Any) -> Any:
    """The points, those of each small cluster further from its first one, as far as it helps.

    Points that are equal stay so, and those that differ by rounding stay where they are. So do
    sparse points.

    Parameters
    ----------
    kernel : Kernel
        With numbers for parameters.
    points : array (m, d) or CSR matrix
        In float64. Not changed.

    Returns
    -------
    array (m, d) or CSR matrix
        The same object where nothing is that near.

    Notes
    -----
    **Cost**: some md multiplications, and m log m comparisons.
    """
    if issparse(points) or points.shape[0] < 2 or not kernel.has_formula:
        return points
    scaled = points / power_of_two(points)
    spread = float(np.linalg.norm(np.std(scaled, axis=0)))
    pairs, distances = _near_pairs(scaled, _NEAR * spread)
    if not distances.any():
        return points
    m = points.shape[0]
    links = coo_array((np.ones(pairs.shape[0]), (pairs[:, 0], pairs[:, 1])), shape=(m, m))
    _, cluster = connected_components(links, directed=False)
    found = points.copy()
    for name in np.unique(cluster[pairs[distances > 0, 0]]):
        members = np.flatnonzero(cluster == name)
        lengths = np.linalg.norm(scaled[members] - scaled[members[0]], axis=1)
        last = int(np.argmax(lengths))
        if lengths[last] > _ROUNDED * np.finfo(np.float64).eps * np.abs(scaled[members[0]]).max():
            first, away = points[members[0]], points[members] - points[members[0]]
            factor = _factor(kernel, first, away[last], _FARTHEST * spread / lengths[last])
            if factor > 1.0:
                found[members] = first + factor * away
    return found


def _near_pairs(points: Array, near: float) -> tuple[Array, Array]:
    """Pairs (p, 2) of points that differ by less, found along one direction; distances (p,)."""
    direction = np.random.RandomState(0).standard_normal(points.shape[1])
    along = points @ (direction / np.linalg.norm(direction))
    order = np.argsort(along, kind="stable")
    found = [np.empty((0, 2), int)]
    for gap in range(1, min(_COMPARED, order.size - 1) + 1):
        some = np.flatnonzero(along[order[gap:]] - along[order[:-gap]] <= near)
        if not some.size:
            break
        found.append(np.column_stack([order[some], order[some + gap]]))
    pairs = np.concatenate(found)
    distances = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    return pairs[distances <= near], distances[distances <= near]


def _factor(kernel: Kernel, first: Array, away: Array, farthest: float) -> float:
    """By how much a difference (d,) from a point is multiplied: at most ``farthest``, or one."""
    K = kernel(np.vstack([first, first + away, first + farthest * away]))
    if not np.diagonal(K).min() > 0:
        return 1.0
    now, then = 1.0 - (K[0, 1:] / K[0, 0]) * (K[0, 1:] / np.diagonal(K)[1:])
    if now >= _APART**2:  # as that of a kernel with a kink
        return 1.0
    return farthest * min(1.0, _APART / float(np.sqrt(max(then, _APART**4))))
