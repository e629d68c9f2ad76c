"""Centers that were dropped in float32, where float64 could have told them from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..kernels.tiles import kernel_rectangle
from ..rows import Rows
from .weighting import Weighting

if TYPE_CHECKING:
    from .center_basis import CenterBasis

# Centers and rows that are looked at.
_FEW = 256


def telling(left: Array, rounding: float) -> Array:
    """Which of those dropped say something, by what the others ``left`` (p,) of k(z, z)."""
    order = np.argsort(-left, kind="stable")[:_FEW]
    return order[left[order] > rounding]


def lost_energy(basis: CenterBasis, rows: Rows, weighting: Weighting) -> float:
    """Σ wf(x)² for the function f of a dropped center less those of the others, scaled to norm one.

    It is the squared length, over all rows, of the direction that a fit could have had beside the
    others, and is compared with λ. The largest of at most 256 centers, over as many rows.

    **Cost**: 512(r² + rd) flops, where centers were dropped that float64 would have kept.
    """
    if basis.gone is None:
        return 0.0
    some = np.unique(np.linspace(0, rows.shape[0] - 1, _FEW).astype(int))
    shares = np.ones(some.size) if weighting.root is None else np.square(weighting.root[some])
    if not shares.sum() > 0:
        return 0.0
    there = basis.points.astype(np.float64)
    X = rows[some].like(basis.prepared).X.astype(np.float64)

    def values(A: Any, B: Any) -> Array:
        return kernel_rectangle(basis.kernel, A, B) / basis.unit

    Z = basis.forward(values(basis.gone, there).T)
    left = basis.kernel.diagonal(basis.gone) / basis.unit - np.square(Z).sum(axis=0)
    F = values(X, basis.gone) - basis.forward(values(X, there).T).T @ Z
    energies = (shares @ np.square(F)) / np.maximum(left, np.finfo(np.float64).tiny)
    return float(energies.max() * weighting.total_root**2 / shares.sum())
