"""The sums of ``rectangle`` over blocks of rows: kernel values with the centers, made and added."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...arrays import Array, room_for
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
    """

    def __init__(
        self,
        basis: CenterBasis,
        shift: Array | None,
        apart: Deflation | None,
        divided_first: bool,
        t: int,
    ) -> None:
        self._basis, self._shift, self._apart = basis, shift, apart
        self._divided_first = divided_first
        self.k, self.t = basis.size + (0 if apart is None else apart.size), t
        self._room = np.empty((0, 0))

    def add(self, block: Rows, *beside: Array | None) -> None:
        targets, root = beside
        assert targets is not None
        joint = JointSums(self.k, self.t, self.total)
        self.total = joint.matrix
        b = block.shape[0]
        if self._room.shape[0] < b:  # touched once and used again
            self._room = room_for(b, self.k + self.t + 1, self._basis.dtype)
        rows = self._room[:b]
        self._fill(block, root, rows[:, : self.k], partial(joint.beside, rows, targets, root))
        joint.add(rows)

    def _fill(self, block: Rows, root: Array | None, F: Array, beside: Visitor) -> None:
        """Write what is summed of a block of rows: (b, r), or (b, r + q) with directions apart.

        ``beside`` is called with parts of the rows while these are in the cache.
        """
        r, apart = self._basis.size, self._apart
        # the shift is among the directions apart, and is taken off there
        along = None if apart is None or self._shift is None else apart.along(self._shift)

        def turn(part: slice, K: Array) -> None:
            if apart is not None:
                apart.split(K, F[part, r:])
            elif self._divided_first:
                Z = K.copy()  # which lies in one piece
                self._basis.divide(Z)
                K[...] = Z
            if along is not None:
                F[part, r:] -= along if root is None else root[part, None] * along
            beside(part)

        shift = self._shift if apart is None else None
        self._basis.fill(block, F[:, :r], shift, root, turn)
