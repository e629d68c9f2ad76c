"""Z̃ᵀZ̃ as passes over the rows, for features z(x) = L⁻¹k(x) that are never all there."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...arrays import Array, times
from ...devices import active_place
from ...rows import Rows
from ...rows.block_sums import Accumulator
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
        # sums made where matrices are, and the rows that are summed
        self._there: Any = None
        self._rows_there: Rows | None = None
        self._strip = max(32, min(512, _STRIP_NUMBERS // max(1, basis.size)))
        # Σ √w z̃ along u: what a projection takes off
        self._first: Array | None = None

    def transposed(self, U: Array) -> Array:
        """Z̃ᵀU for ``U`` (n, c) → (r, c), with uᵀU = 0 where there is an intercept."""
        return self.basis.forward(self._pass(None, U))

    def normal(self, A: Array) -> Array:
        """Z̃ᵀZ̃A for ``A`` (r, c)."""
        result = self.basis.forward(self._pass(self.coefficients(A), None))
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
            self._first = self.basis.forward(self._pass(None, u[:, None]))[:, 0]
        return self._first

    def mean(self) -> Array:
        """The mean of k(x, z) / unit over the rows (r,), in float64."""
        assert self.shift is not None
        return self.shift + times(self.basis.factor, self.first()) / self.weighting.total_root

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
        return active_place().fetched(self.basis.divided(rows, self.shift, root))

    def _pass(self, C: Array | None, U: Array | None) -> Array:
        """KᵀKC for ``C`` (r, c), or KᵀU for ``U`` (n, c), over kernel values K (n, r): float64."""
        self.passes += 1
        if self._rows_there is not self.rows:
            values = self.basis.center_values(self.shift)
            self._there = active_place().sums(values, self.rows, self.weighting.root)
            self._rows_there = self.rows
        if self._there is not None:
            found: Array = self._there.twice(C) if U is None else self._there.transposed(U)
            return found
        basis = self.basis.evaluating(divides=False)
        start = partial(StripSums, basis, self.shift, self._strip, C)
        return self.rows.sum_over_blocks(start, (U, self.weighting.root), size=_ROWS)


class StripSums(Accumulator):
    """KᵀKC, or KᵀU for what lies beside the rows, over strips of kernel values (b, r).

    Parameters
    ----------
    basis : CenterBasis
    shift : array (r,) or None
    strip : int
        Rows of a strip.
    C : array (r, c) or None
    """

    def __init__(
        self, basis: CenterBasis, shift: Array | None, strip: int, C: Array | None
    ) -> None:
        self._basis, self._shift, self._strip, self._C = basis, shift, strip, C

    def add(self, block: Rows, *beside: Array | None) -> None:
        U, root = beside
        given = self._C if U is None else U
        assert given is not None
        sums = np.zeros((_HANDS, self._basis.size, given.shape[1]))

        def look(strip: slice, K: Array) -> None:
            hand = (strip.start // self._strip) % _HANDS
            sums[hand] += K.T @ (K @ given if U is None else given[strip])

        self._basis.strips(
            block, look, size=self._strip, hands=_HANDS, shift=self._shift, root=root
        )
        found = sums.sum(axis=0)
        if self.total is None:
            self.total = found
        else:
            self.total += found
