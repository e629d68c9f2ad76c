"""A lower triangular matrix that grows by rows, and is solved with where it lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, solve_transposed, solve_triangular
from .rollback import Restorable, Snapshot, grown, writable

# Rows of a panel.
_PANEL = 256


@dataclass
class _Panel:
    """Rows of the matrix from ``start`` on: what is left of the diagonal block, and that block."""

    start: int
    left: Array
    corner: Array
    filled: int = 0

    @property
    def rows(self) -> slice:
        return slice(self.start, self.start + self.filled)

    def block(self) -> Array:
        return self.corner[: self.filled, : self.filled]


class GrowingTriangle(Restorable):
    """L (m, m) by panels of rows: a new row moves nothing, and solves are products of matrices.

    Memory: m²/2 numbers, and those of a panel.
    """

    def __init__(self) -> None:
        self.size = 0
        self._panels: list[_Panel] = []

    def snapshot(self, numbers: float) -> Snapshot:
        """How many rows there are: later ones are behind them."""
        return self.size

    def roll_back(self, snapshot: Snapshot) -> None:
        """Have so many rows."""
        self.size = snapshot
        self._panels = [panel for panel in self._panels if panel.start < self.size]
        if self._panels:
            self._panels[-1].filled = self.size - self._panels[-1].start

    @classmethod
    def of(cls, L: Array) -> GrowingTriangle:
        """From a matrix (m, m), whose lower triangle is read."""
        found = cls()
        found.extend(np.empty((L.shape[0], 0)), L)
        return found

    def extend(self, rows: Array, corner: Array) -> None:
        """Append rows: ``rows`` (b, m), and the lower triangle of ``corner`` (b, b)."""
        b = corner.shape[0]
        whole = np.hstack([rows, np.tril(corner)])
        done = 0
        while done < b:
            if not self._panels or self._panels[-1].filled == _PANEL:
                left = np.empty((_PANEL, self.size))
                self._panels.append(_Panel(self.size, left, np.zeros((0, 0))))
            panel = self._panels[-1]
            k = panel.filled
            count = min(b - done, _PANEL - k)
            panel.left = writable(panel.left)
            panel.corner = grown(panel.corner, (k + count, k + count))
            some = whole[done : done + count]
            panel.left[k : k + count] = some[:, : panel.start]
            within = some[:, panel.start : panel.start + k + count]
            panel.corner[k : k + count, : k + count] = within
            panel.filled += count
            self.size += count
            done += count

    def solve(self, B: Array) -> Array:
        """L⁻¹B for ``B`` (m, c). Cost: m²c flops."""
        result = np.array(B, dtype=np.float64, order="C")
        for panel in self._panels:
            part = result[panel.rows]
            part -= panel.left[: panel.filled] @ result[: panel.start]
            result[panel.rows] = solve_triangular(panel.block(), part)
        return result

    def solve_transposed(self, B: Array) -> Array:
        """L⁻ᵀB for ``B`` (m, c). Cost: m²c flops."""
        result = np.array(B, dtype=np.float64, order="C")
        for panel in reversed(self._panels):
            part = solve_transposed(panel.block(), result[panel.rows])
            result[panel.rows] = part
            result[: panel.start] -= panel.left[: panel.filled].T @ part
        return result

    def diagonal(self) -> Array:
        """(m,)."""
        parts = [np.diagonal(panel.block()) for panel in self._panels]
        return np.concatenate(parts) if parts else np.empty(0)

    def dense(self) -> Array:
        """L (m, m), zero above the diagonal; a copy."""
        L = np.zeros((self.size, self.size))
        for panel in self._panels:
            L[panel.rows, : panel.start] = panel.left[: panel.filled]
            L[panel.rows, panel.rows] = panel.block()
        return L
