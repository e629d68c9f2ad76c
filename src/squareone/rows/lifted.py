"""Sparse rows with their squares beside them, for squared distances by products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..arrays import Array

if TYPE_CHECKING:
    from .sparse import SparseRows


@dataclass
class LiftedSparseRows:
    """Rows z (n, d) and −|z|²/2 (n,).

    Two more columns, as dense rows have, would make every product of two rows one of numbers that
    are stored: adding the squares to a tile is several times faster.
    """

    rows: SparseRows
    halves: Array

    def __getitem__(self, rows: slice) -> LiftedSparseRows:
        return LiftedSparseRows(self.rows[rows], self.halves[rows])

    def cross(self, other: LiftedSparseRows, out: Array) -> None:
        """Write −|z − z'|²/2 between these rows and those of ``other`` into ``out`` (n, m)."""
        self.rows.cross(other.rows, out)
        out += self.halves[:, None]
        out += other.halves
