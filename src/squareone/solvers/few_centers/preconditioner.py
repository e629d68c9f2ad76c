"""An approximation of Z̃ᵀZ̃ + λ that can be inverted: from some of the rows."""

from __future__ import annotations

import numpy as np

from ...arrays import (
    Array,
    add_gram,
    blocks,
    cholesky,
    cholesky_solve,
    copy_triangle,
    diagonal,
    in_precision,
    set_diagonal,
    solve_triangular,
    subtract_outer,
    times,
    transposed_times,
)
from ...devices import active_place
from ...errors import SingularSystemError
from ...rows import Rows
from .center_basis import CenterBasis

# What is added to the diagonal at least, beside the largest: the rounding of float32.
_FLOOR = 1e-6
# And at most, for the range of float32: beside it the sum is nothing, and any multiple will do.
_CEILING = 1e30
# Error of features up to which kernel values are divided in float32.
_ROUGH = 1e-5


class Preconditioner:
    """(n/s) Σ z̃z̃ᵀ + λ over s random rows, of which every λ needs a factorisation.

    It need not be exact: it is made and kept in float32, in one square for the sum and for its
    factor, a triangle each.

    Parameters
    ----------
    basis : CenterBasis
    rows : Rows
        The random rows (s, d).
    root : array (s,) or None
        √w of them.
    share : float
        Σw of all rows over that of these.
    intercept : bool
    shift : array (r,) or None
        What is taken off kernel values first; with an intercept it changes nothing but rounding.

    Notes
    -----
    **Cost**: sr(d + 2r) multiplications and r² numbers of float32; r³/3 for every λ.
    """

    def __init__(
        self,
        basis: CenterBasis,
        rows: Rows,
        root: Array | None,
        share: float,
        intercept: bool,
        shift: Array | None,
    ) -> None:
        r = basis.size
        self.share = share
        self._square = active_place().empty((r, r), np.float32)
        self._square[...] = 0.0
        self._alpha: float | None = None
        first, total = np.zeros(r), 0.0
        # dividing by the factor of the centers multiplies what rounding does to kernel values
        rough = np.sqrt(basis.condition) * float(np.finfo(np.float32).eps) < _ROUGH
        for part in blocks(rows.shape[0], basis.block_rows()):
            some = None if root is None else root[part]
            Z = basis.divided(rows[part], shift, some, np.float32 if rough else None)
            Z = in_precision(Z, np.dtype(np.float32))
            ones = np.ones(Z.shape[0], np.float32) if some is None else some.astype(np.float32)
            first += transposed_times(Z, ones)
            total += float(np.square(ones, dtype=np.float64).sum())
            add_gram(self._square, Z)
        if intercept and total > 0:
            subtract_outer(self._square, (first / np.sqrt(total)).astype(np.float32), 1.0)
        self._square *= float(share)
        self._diagonal = np.array(diagonal(self._square))
        self._floor = _FLOOR * float(self._diagonal.max(initial=0.0))
        self._added = 0.0  # to the diagonal, for the factor that is there
        copy_triangle(self._square, to_upper=True)  # where it stays: factors go below

    @property
    def size(self) -> int:
        """r."""
        return self._diagonal.size

    def largest(self) -> float:
        """About the largest eigenvalue of the sum, by a few products."""
        self._restore(0.0)
        v = np.ones(self.size, np.float32) / np.sqrt(max(self.size, 1))
        value = 0.0
        for _ in range(12):
            w = times(self._square, v)
            value = float(np.linalg.norm(w))
            if value == 0.0:
                break
            v = w / value
        return value

    def smallest(self, shift: float) -> float:
        """About the smallest eigenvalue of the sum, and λ = ``shift``, by a few systems.

        Of the sum what is lost in rounding counts as zero.
        """
        v, value = np.random.RandomState(0).standard_normal((self.size, 1)), 0.0
        for _ in range(8):
            size = float(np.linalg.norm(v))
            if size == 0:  # there are no centers
                return shift
            v = self.solve(shift, v / size)
            value = 1.0 / float(np.linalg.norm(v))
        of_sum = value - self._added
        return shift + (of_sum if of_sum > self._floor else 0.0)

    def factor(self, shift: float) -> None:
        """Make ready for λ = ``shift``."""
        if self._alpha == shift:
            return
        floor = self._floor
        while True:
            self._added = min(max(shift, floor), _CEILING)
            self._restore(self._added)
            try:
                cholesky(self._square)
                break
            except SingularSystemError:  # rounding of the sum: any shift will do that helps
                floor = max(10.0 * floor, float(np.finfo(np.float32).tiny))
        self._alpha = shift

    def _restore(self, shift: float) -> None:
        """The sum, with something on its diagonal, in place of a factor."""
        self._alpha = None
        copy_triangle(self._square, to_upper=False)
        set_diagonal(self._square, self._diagonal + np.float32(shift))

    def solve(self, shift: float, B: Array) -> Array:
        """(…)⁻¹B for ``B`` (r, t), in float64. Cost: 2r²t flops."""
        self.factor(shift)
        sizes = np.maximum(np.abs(B).max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
        scaled = (B / sizes).astype(np.float32)
        return cholesky_solve(self._square, scaled).astype(np.float64) * sizes

    def half(self, shift: float, B: Array) -> Array:
        """R⁻¹B with RRᵀ the matrix, for ``B`` (r, t): squares of its columns are Bᵀ(…)⁻¹B."""
        self.factor(shift)
        return solve_triangular(self._square, B.astype(np.float32, copy=False))
