"""Rows with their squares beside them, for squared distances by products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array

if TYPE_CHECKING:
    from .sparse import SparseRows


class _Halves:
    """Anything with −|z|²/2 of its rows."""

    halves: Array

    @property
    def reach(self) -> float:
        """The largest |z|²/2."""
        return -float(self.halves.min(initial=0.0))


@dataclass
class LiftedDenseRows(_Halves):
    """(z, −|z|²/2, 1) for rows z (n, d), or the last two the other way round.

    (z, −|z|²/2, 1)·(z', 1, −|z'|²/2) is −|z − z'|²/2: the product itself does what would take
    two more passes over the tile.
    """

    Z: Array
    halves: Array  # among the columns of Z

    def __getitem__(self, rows: slice) -> LiftedDenseRows:
        return LiftedDenseRows(self.Z[rows], self.halves[rows])

    def cross(self, other: LiftedDenseRows, out: Array) -> None:
        """Write −|z − z'|²/2 between these rows and those of ``other`` into ``out`` (n, m)."""
        np.matmul(self.Z, other.Z.T, out=out)


@dataclass
class LiftedSparseRows(_Halves):
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
