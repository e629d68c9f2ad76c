"""Leverages of a fit that is known by passes over its rows only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array, blocks, solve_triangular
from .normal_passes import NormalPasses
from .preconditioner import Preconditioner

#: Probes: what they add is little, and so is their noise.
PROBES = 8
# A finer residual of probes would be lost in their noise.
_TOLERANCE = 1e-2

#: (Z̃ᵀZ̃ + λ)⁻¹ times columns (r, c): from those, a tolerance, and where to begin.
Solve = Callable[[Array, float, Array], Array]


class PcgLeverages:
    """1 − h from the preconditioner, and from random probes where that errs.

    With P the preconditioner h_i = z̃_iᵀP⁻¹z̃_i but for the difference of the inverses. Random signs
    v over the rows asked about show the diagonal of that difference: v_i z̃_iᵀx on average, with
    x = ((Z̃ᵀZ̃ + λ)⁻¹ − P⁻¹)Z̃ᵀv; and the smaller the difference, the smaller their noise.

    **Cost**: 2r² for every row; for every λ the solution of eight systems to two digits.
    """

    def __init__(self, passes: NormalPasses, preconditioner: Preconditioner, seed: int) -> None:
        self._passes = passes
        self._preconditioner = preconditioner
        self._seed = seed
        self._found: dict[tuple[float, bytes], Array] = {}

    def corrections(self, asked: Array, shift: float, solve: Solve) -> Array:
        """x for every probe (r, PROBES), for the rows asked about."""
        key = shift, asked.tobytes()
        if key not in self._found:
            passes = self._passes
            right = np.zeros((passes.basis.size, PROBES))
            for piece in blocks(asked.size, passes.basis.block_rows()):
                Z = passes.features(asked[piece])
                right += Z.T @ self._signs(asked[piece]).astype(Z.dtype)
            rough = self._preconditioner.solve(shift, right)
            self._found[key] = solve(right, _TOLERANCE, rough) - rough
        return self._found[key]

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

    def complements(self, rows: Array, Z: Array, shift: float, corrections: Array) -> Array:
        """1 − h (m,) of rows with features ``Z`` (m, r), within what is possible.

        That is from λ/(k̃ + λ) to one, less the share of the intercept.
        """
        own = np.square(self._preconditioner.half(shift, Z.T), dtype=np.float64).sum(axis=0)
        own += (self._signs(rows) * (Z @ corrections.astype(Z.dtype))).mean(axis=1)
        u = self._passes.weighting.direction
        free = np.ones(rows.size) if u is None else 1.0 - np.square(u[rows], dtype=np.float64)
        squares = np.square(Z, dtype=np.float64).sum(axis=1)
        return np.clip(free - own, free**2 * shift / (free * shift + squares), free)

    def further_errors(
        self,
        rows: Array,
        own: Array,
        shift: float,
        solution: Array,
        errors: Array,
        complements: Array,
    ) -> Array:
        """What leaving out its center adds to the error (m, t) of a row that is one.

        See :mod:`~squareone.solvers.honest`; with the preconditioner's inverse in place of the
        true one.
        """
        units = np.zeros((self._passes.basis.size, own.size))
        units[own, np.arange(own.size)] = 1.0
        inward = solve_triangular(self._passes.basis.factor, units)  # c_i = e_iᵀL⁻ᵀa
        half = self._preconditioner.half(shift, inward).astype(np.float64)
        seen = self._preconditioner.half(shift, self._passes.features(rows).T)
        g = np.einsum("ij,ij->j", half, seen.astype(np.float64))
        inverse = np.square(half).sum(axis=0) + np.square(g) / complements
        c = inward.T @ solution - g[:, None] * errors
        return (g / complements / inverse)[:, None] * c
