"""Centers that were dropped in float32, where float64 could have told them from the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array, set_diagonal, solve_transposed
from ...devices import active_place
from ...kernels.tiles import kernel_rectangle
from ...rows import Rows
from ..exact.weighting import Weighting

if TYPE_CHECKING:
    from .center_basis import CenterBasis

# Centers and rows that are looked at.
_FEW = 256


@dataclass
class DroppedDirections:
    """Functions k(·, z) − Σ_j c_j k(·, z_j) of some dropped centers z, less those of the others.

    Attributes
    ----------
    points : array (p, d) or CSR matrix
        z, in float64.
    weights : array (r, p)
        c.
    left : array (p,)
        Squared norms: what the others leave of k(z, z) / unit.
    """

    points: Any
    weights: Array
    left: Array

    @classmethod
    def of(cls, L: Array, rank: int, diagonal: Array, points: Any) -> DroppedDirections | None:
        """Those whose norm is largest, if it is more than float64 would lose in rounding.

        Parameters
        ----------
        L : array (m, m)
            The factor of a kernel matrix with pivots: its rows from the rank on are changed.
        rank : int
        diagonal, points : array (m,), array (m, d) or CSR matrix
            Of the kernel matrix, and the centers, in the order of the pivots.

        Notes
        -----
        **Cost**: m²p flops.
        """
        m, across = L.shape[0], active_place().fetched(L[rank:, :rank])
        left = diagonal[rank:] - np.einsum("ij,ij->i", across, across)
        some = np.argsort(-left, kind="stable")[:_FEW]
        some = some[left[some] > m * float(np.finfo(np.float64).eps) * diagonal.max(initial=0.0)]
        if some.size == 0:
            return None
        right = np.zeros((m, some.size))
        right[:rank] = across[some].T
        set_diagonal(L[rank:, rank:], 1.0)  # so that these rows of the solution stay zero
        weights = solve_transposed(L, right)[:rank]
        return cls(points[rank + some], weights, left[some])


def lost_energy(basis: CenterBasis, rows: Rows, weighting: Weighting) -> float:
    """Σ wf(x)² for a function that went with a dropped center, scaled to norm one: the largest.

    It is the squared length, over all rows, of the direction that a fit could have had beside the
    others, in the units of λ. Estimated from at most 256 rows.

    **Cost**: 256·r(p + d) multiplications, where centers were dropped that float64 had kept.
    """
    gone = basis.gone
    if gone is None:
        return 0.0
    some = np.unique(np.linspace(0, rows.shape[0] - 1, _FEW).astype(int))
    shares = np.ones(some.size) if weighting.root is None else np.square(weighting.root[some])
    if not shares.sum() > 0:
        return 0.0
    X = rows[some].like(basis.prepared).X.astype(np.float64)

    def values(points: Any) -> Array:
        return kernel_rectangle(basis.kernel, X, points) / basis.unit

    F = values(gone.points) - values(basis.points.astype(np.float64)) @ gone.weights
    energies = (shares @ np.square(F)) / gone.left
    all_rows = weighting.total_root**2 / float(shares.sum())
    return float(energies.max()) * all_rows * basis.unit * weighting.unit
