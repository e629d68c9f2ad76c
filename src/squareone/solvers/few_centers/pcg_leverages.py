"""Leverages of ``pcg``: estimated from passes over the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Array, blocks
from .center_removal import CenterRemoval
from .normal_passes import NormalPasses
from .preconditioner import Preconditioner

#: Random probes of the trace.
PROBES = 8
# A finer residual of probes would be lost in their noise.
_TOLERANCE = 1e-2
# Between what the common factor is looked for, and how often that interval is halved.
_FACTORS, _HALVINGS = (1e-3, 1e3), 50

#: (Z̃ᵀZ̃ + λ)⁻¹ times columns (r, c): from those, a tolerance, and where to begin.
Solve = Callable[[Array, float, Array], Array]


class PcgLeverages:
    """1 − h from the preconditioner, which knows each row, and a trace, which knows their sum.

    With M the matrix of all rows but i, 1 − h_i = (1 − u_i²)/(1 + a) for
    a = z̃_iᵀM⁻¹z̃_i/(1 − u_i²), where u_i is the share of the intercept. The preconditioner P, from
    which row i is taken out where it is in it, stands for M: a_i is z̃_iᵀP⁻¹z̃_i/(1 − u_i²) up to a
    factor that is about the same for all rows, since P is made of fewer. That factor follows from
    the sum of the leverages, which random signs v over the rows asked about show: vᵀHv on average.

    **Cost**: 2r² for every row; for every λ the solution of eight systems to two digits.

    Parameters
    ----------
    passes : NormalPasses
    preconditioner : Preconditioner
    members : array (s,)
        The rows of the preconditioner, ascending.
    seed : int
    """

    def __init__(
        self, passes: NormalPasses, preconditioner: Preconditioner, members: Array, seed: int
    ) -> None:
        self._passes = passes
        self._preconditioner = preconditioner
        self._members = members
        self._seed = seed
        self._factors: dict[tuple[float, bytes], float] = {}

    def factor(self, asked: Array, shift: float, solve: Solve) -> float:
        """The common factor of all a_i at a λ, for the rows asked about."""
        if self._preconditioner.share == 1.0:  # all rows are in it
            return 1.0
        key = shift, asked.tobytes()
        if key not in self._factors:
            passes, alone = self._passes, []
            right = np.zeros((passes.basis.size, PROBES))
            for piece in blocks(asked.size, passes.basis.block_rows()):
                rows = asked[piece]
                Z = passes.features(rows)
                right += Z.T @ self._signs(rows).astype(Z.dtype)
                alone.append(self._alone(rows, Z, shift))
            rough = self._preconditioner.solve(shift, right)
            found = solve(right, _TOLERANCE, rough)
            trace = float(np.einsum("ij,ij->", right, found)) / PROBES
            self._factors[key] = _common_factor(np.concatenate(alone), self._free(asked), trace)
        return self._factors[key]

    def _signs(self, rows: Array) -> Array:
        """The probes at some rows (m, PROBES): the same whenever they are asked for."""
        signs = np.empty((rows.size, PROBES))
        for j in range(PROBES):  # splitmix64 of the row, the probe and the seed
            x = rows.astype(np.uint64) * np.uint64(PROBES) + np.uint64(j)
            x += np.uint64((self._seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            signs[:, j] = 1.0 - 2.0 * ((x >> np.uint64(33)) & np.uint64(1)).astype(np.float64)
        return signs

    def _alone(self, rows: Array, Z: Array, shift: float) -> Array:
        """z̃ᵀP⁻¹z̃/(1 − u²) (m,), with P without the row itself."""
        half = self._preconditioner.half(shift, Z.T)
        own = np.square(half, dtype=np.float64).sum(axis=0)
        own /= np.maximum(self._free(rows), np.finfo(np.float64).tiny)
        inside = np.isin(rows, self._members)
        share = self._preconditioner.share
        own[inside] /= np.maximum(1.0 - share * own[inside], 1e-6)
        return own

    def complements(self, rows: Array, Z: Array, shift: float, factor: float) -> Array:
        """1 − h (m,) of rows with features ``Z`` (m, r); less the share of the intercept."""
        return self._free(rows) / (1.0 + factor * self._alone(rows, Z, shift))

    def _free(self, rows: Array) -> Array:
        """1 − u² (m,): what the intercept leaves of a row."""
        u = self._passes.weighting.direction
        return np.ones(rows.size) if u is None else 1.0 - np.square(u[rows], dtype=np.float64)

    def removal(
        self,
        rows: Array,
        directions: Array,
        shift: float,
        factor: float,
        solution: Array,
        complements: Array,
    ) -> CenterRemoval:
        """What leaving out its center adds to leaving out each of some rows (p,) that are centers.

        With the preconditioner's inverse, times the common factor, in place of the true one.
        ``directions`` (r, p) are those of the centers.
        """
        half = self._preconditioner.half(shift, directions).astype(np.float64)
        seen = self._preconditioner.half(shift, self._passes.features(rows).T)
        g = factor * np.einsum("ij,ij->j", half, seen.astype(np.float64))
        inverse = factor * np.square(half).sum(axis=0)
        c = directions.T @ solution
        return CenterRemoval(g[:, None], complements, inverse[:, None], c[:, :, None])


def _common_factor(alone: Array, free: Array, trace: float) -> float:
    """c with Σ (1 − u²)·c·a/(1 + c·a) = trace, for a (m,); one where there is none."""
    low, high = np.log(_FACTORS)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        a = np.exp(middle) * alone
        low, high = (middle, high) if float(np.sum(free * a / (1.0 + a))) < trace else (low, middle)
    return float(np.exp(0.5 * (low + high))) if alone.any() else 1.0
