"""The sums of ``rectangle`` over blocks of rows: kernel values with the centers, made and added."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...arrays import Array
from ...devices import active_place
from ...rows import Rows
from ...rows.block_sums import Accumulator
from .center_basis import CenterBasis
from .deflation import Deflation
from .feature_sums import JointSums

#: Called with a part of the rows.
Visitor = Callable[[slice], None]


class KernelSums(Accumulator):
    """Sums of k − shift, or L⁻¹(k − shift), beside targets and √w: see :class:`JointSums`.

    Parameters
    ----------
    basis : CenterBasis
    shift : array (r,) or None
    apart : Deflation or None
        Directions that are summed apart.
    divided_first : bool
        Whether every block is divided by L.
    t : int
        Targets.
    dtype : dtype
        In which they are summed.
    """

    def __init__(
        self,
        basis: CenterBasis,
        shift: Array | None,
        apart: Deflation | None,
        divided_first: bool,
        t: int,
        dtype: np.dtype,
    ) -> None:
        self._basis, self._shift, self._apart = basis, shift, apart
        self._divided_first = divided_first
        self.k, self.t = basis.size + (0 if apart is None else apart.size), t
        self._dtype = dtype
        self._room: Any = np.empty((0, 0))

    def add(self, block: Rows, *beside: Array | None) -> None:
        targets, root = beside
        assert targets is not None
        joint = JointSums(self.k, self.t, self.total)
        self.total = joint.matrix
        b = block.shape[0]
        if self._room.shape[0] < b:  # touched once and used again
            self._room = active_place().room(b, self.k + self.t + 1, self._dtype)
        rows = self._room[:b]
        self._fill(block, root, rows[:, : self.k], partial(joint.beside, rows, targets, root))
        joint.add(rows)

    def kept(self) -> Array:
        return np.array(active_place().fetched(self.total))

    def resume(self, total: Array) -> None:
        self.total = active_place().taken(total.copy())

    def take(self) -> Array:
        """In the machine's memory, where those of groups are added up."""
        return active_place().fetched(super().take())

    def _fill(self, block: Rows, root: Array | None, F: Any, beside: Visitor) -> None:
        """Write what is summed of a block of rows: (b, r), or (b, r + q) with directions apart.

        ``beside`` is called with parts of the rows while these are in the cache.
        """
        r, apart = self._basis.size, self._apart
        # the shift is among the directions apart, and is taken off there
        along = None if apart is None or self._shift is None else apart.along(self._shift)

        def turn(part: slice, K: Any) -> None:
            if apart is not None:
                apart.split(K, F[part, r:])
            elif self._divided_first:
                self._basis.divide(K)
            if along is not None:
                F[part, r:] -= along if root is None else root[part, None] * along
            beside(part)

        shift = self._shift if apart is None else None
        self._basis.fill(block, F[:, :r], shift, root, turn)
