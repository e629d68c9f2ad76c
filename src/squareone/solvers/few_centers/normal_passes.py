"""Z̃ᵀZ̃ as passes over the rows, for features z(x) = L⁻¹k(x) that are never all there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Array
from ...rows import Rows
from ...threads import shared_cores
from ..exact.weighting import Weighting
from .center_basis import CenterBasis

# Numbers in a strip of kernel values: evaluated, multiplied and multiplied again in a cache.
_STRIP_NUMBERS = 524_288
# Rows that are read at a time, and sums to which their strips are dealt.
_ROWS, _HANDS = 65_536, 8


class NormalPasses:
    """The operator Z̃ᵀZ̃ and its parts, each a pass over the rows.

    Parameters
    ----------
    basis : CenterBasis
    rows : Rows
    weighting : Weighting
    shift : array (r,) or None
        About the mean of kernel values, where there is an intercept.

    Notes
    -----
    **Cost** of a pass: nr(d + 2c) multiplications for c columns; memory for a strip per core.
    """

    def __init__(
        self, basis: CenterBasis, rows: Rows, weighting: Weighting, shift: Array | None
    ) -> None:
        self.basis = basis
        self.rows = rows
        self.weighting = weighting
        self.shift = shift
        self.passes = 0
        self._strip = max(32, min(512, _STRIP_NUMBERS // max(1, basis.size)))
        # Σ √w z̃ along u: what a projection takes off
        self._first: Array | None = None

    def transposed(self, U: Array) -> Array:
        """Z̃ᵀU for ``U`` (n, c) → (r, c), with uᵀU = 0 where there is an intercept."""
        sums = self._pass(lambda K, rows: K.T @ U[rows], U.shape[1])
        return self.basis.forward(sums)

    def normal(self, A: Array) -> Array:
        """Z̃ᵀZ̃A for ``A`` (r, c)."""
        C = self.coefficients(A)

        def twice(K: Array, rows: slice) -> Array:
            return K.T @ (K @ C)

        result = self.basis.forward(self._pass(twice, A.shape[1]))
        if self.weighting.direction is not None:
            first = self.first()
            result -= np.outer(first, first @ A)
        return result

    def coefficients(self, A: Array) -> Array:
        """c = L⁻ᵀa (r, c), in the precision of the rows."""
        return self.basis.backward(A).astype(self.basis.dtype)

    def first(self) -> Array:
        """Zᵀu (r,): one pass, the first time."""
        if self._first is None:
            u = self.weighting.direction
            assert u is not None
            sums = self._pass(lambda K, rows: K.T @ u[rows, None], 1)
            self._first = self.basis.forward(sums)[:, 0]
        return self._first

    def mean(self) -> Array:
        """The mean of k(x, z) / unit over the rows (r,), in float64."""
        assert self.shift is not None
        return self.shift + self.basis.factor @ self.first() / self.weighting.total_root

    def features(self, rows: Array) -> Array:
        """Centred z̃ of some of the rows (m,), scaled by √w: (m, r)."""
        root = None if self.weighting.root is None else self.weighting.root[rows]
        Z = self._divided(self.rows[rows], root)
        u = self.weighting.direction
        if u is not None:
            Z -= np.outer(u[rows], self.first()).astype(Z.dtype)
        return Z

    def features_of(self, rows: Rows) -> Array:
        """z of other rows (m, d), less the mean: (m, r)."""
        Z = self._divided(rows, None)
        if self.weighting.direction is not None:
            Z -= (self.first() / self.weighting.total_root).astype(Z.dtype)
        return Z

    def _divided(self, rows: Rows, root: Array | None) -> Array:
        Z = self.basis.values(rows, self.shift, root)
        self.basis.divide(Z)
        return Z

    def _pass(self, part: Callable[[Array, slice], Array], columns: int) -> Array:
        """Σ part(K, rows) over all strips of kernel values (b, r), in float64."""
        self.passes += 1
        sums = np.zeros((_HANDS, self.basis.size, columns))
        root = self.weighting.root
        with shared_cores():
            for piece, block in self.rows.row_blocks(_ROWS):
                some = None if root is None else root[piece]

                def look(strip: slice, K: Array, start: int = piece.start) -> None:
                    rows = slice(start + strip.start, start + strip.stop)
                    hand = (strip.start // self._strip) % _HANDS
                    sums[hand] += part(K, rows)

                self.basis.strips(
                    block,
                    look,
                    size=self._strip,
                    hands=_HANDS,
                    shift=self.shift,
                    root=some,
                )
        return sums.sum(axis=0)
