"""Ridge regression by the Gram matrix of the features: ``gram`` and ``rectangle`` share it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...arrays import Array, blocks
from ...rows import Rows
from ...threads import for_each
from ..basis_factor import BasisFactor


class RidgeFactor(BasisFactor):
    """Z̃ᵀZ̃ = VS²Vᵀ; r = ỹ − Z̃V(S² + λ)⁻¹VᵀZ̃ᵀỹ and 1 − h = 1 − u² − (Z̃V)²·1/(S² + λ).

    1 − h is a difference: rows of leverage near one lose digits. The units of λ are those of the
    squared features, and last that of the weights.
    """

    takes_rows = True
    axes: Array  # from which a basis vector's function is made: (k, k)

    def _set_base(self) -> None:
        """What is left of ỹ and of one where nothing is fitted but the intercept."""
        self.base_residuals = self.targets
        u = self.weighting.direction
        self.base_complements = (
            np.ones(self.n) if u is None else 1.0 - np.square(u, dtype=np.float64)
        )

    @abstractmethod
    def taken(self, rows: slice | Array) -> Rows:
        """Some of the rows, in memory."""

    @abstractmethod
    def passes(self) -> Iterator[tuple[slice, Rows]]:
        """All rows in order, a block at a time."""

    @abstractmethod
    def block_times(self, V: Array, block: Rows, rows: slice | Array) -> Array:
        """Centred features of a block of rows, scaled by √w, times ``V`` (k, c) → (b, c)."""

    @abstractmethod
    def other_times(self, X: Any, V: Array) -> Array:
        """Features of other rows (b, d), centred in the same way, times ``V`` (k, c) → (b, c)."""

    def basis(self, rows: slice | Array) -> Array:
        return self.block_times(self.axes, self.taken(rows), rows)

    def each_block(
        self, size: int, look: Callable[[slice | Array, Array], None], sample: Array | None
    ) -> None:
        """In passes over the rows, which need not be in memory."""
        if sample is not None:
            super().each_block(size, look, sample)
            return
        axes = self.axes  # made here, if need be, not in a thread
        for part, block in self.passes():

            def some(piece: slice, start: int = part.start, block: Rows = block) -> None:
                rows = slice(start + piece.start, start + piece.stop)
                look(rows, self.block_times(axes, block[piece], rows))

            for_each(some, blocks(block.shape[0], size))

    def filters(self, alphas: Array) -> Array:
        return (-1.0 / (self.squares[:, None] + self.scaled(alphas))).astype(self.targets.dtype)

    def gains(self, alpha: float) -> Array:
        return -self.filters(np.array([alpha]))[:, 0]

    def view(self, queries: Any) -> Array:
        return self.other_times(queries, self.axes).T

    def sensitivities(self, alpha: float, queries: Any, some: Array | None = None) -> Array:
        turned = self.axes @ (self.gains(alpha)[:, None] * self.view(queries))
        if some is not None:
            return self._with_mean(self.block_times(turned, self.taken(some), some), some)
        found = np.empty((queries.shape[0], self.n), self.targets.dtype)
        for rows, block in self.passes():
            found[:, rows] = self.block_times(turned, block, rows).T
        return self._with_mean(found.T, None)

    def energies(self, alphas: Array) -> Array:
        """(ỹᵀỹ − gᵀ(S² + λ)⁻¹g) / λ: a difference, as the leverages are here."""
        scaled = self.scaled(alphas)
        explained = np.square(self.projections, dtype=np.float64).T @ (
            1.0 / (self.squares[:, None] + scaled)
        )
        squares = np.square(self.targets, dtype=np.float64).sum(axis=0)
        left = np.maximum(squares[:, None] - explained, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            left = left / scaled
            for unit in self.alpha_units[:-1]:
                left = left / unit
        return left

    def error_estimate(self, alpha: float) -> float:
        if self.squares.size == 0:
            return 0.0
        scaled = float(self.scaled(alpha))
        smallest, largest = float(self.squares.min()) + scaled, float(self.squares.max()) + scaled
        eps = float(np.finfo(self.targets.dtype).eps)
        least = self.least_complements.get(alpha, 1.0)
        return eps * largest / smallest / least if smallest > 0 else np.inf
