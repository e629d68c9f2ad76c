"""Rows of features as the linear solvers see them: centred, scaled by √w, of magnitude one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arrays import Array, blocks, for_each, power_of_two
from ..kernels import Linear
from ..kernels.tiles import kernel_matrix
from .symmetric import SymmetricSystem
from .weighting import Weighting

# Numbers in one block of rows: with its products it stays in a second-level cache.
BLOCK = 131_072


@dataclass(frozen=True)
class CentredRows:
    """x̃ = √w (x − mean) / unit for the rows of ``X`` (n, d), computed block by block.

    ``unit`` is a power of two near the largest feature, so that squares neither overflow nor
    vanish and nothing is rounded; the kernel of these rows is the original one over unit².
    """

    X: Array
    weighting: Weighting
    mean: Array  # (d,), float64; zero without an intercept
    unit: float

    @classmethod
    def of(cls, X: Array, weighting: Weighting) -> CentredRows:
        lowest, highest = X.min(axis=0), X.max(axis=0)
        unit = power_of_two(np.concatenate([lowest, highest]))
        mean = weighting.mean(X)
        if weighting.direction is not None:  # a constant feature is centred to zero, not rounding
            mean = np.where(lowest == highest, highest, mean)
        return cls(X, weighting, mean, unit)

    @property
    def alpha_units(self) -> tuple[float, ...]:
        """What λ has to be divided by for these rows."""
        return self.unit, self.unit, self.weighting.unit

    def in_user_units(self, square: float) -> float:
        """A square of these rows as the user's λ would see it; at most the largest number."""
        for unit in self.alpha_units:
            square *= unit
        return min(square, float(np.finfo(np.float64).max))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.X.shape

    def centred(self, rows: slice | Array = slice(None)) -> Array:
        """(x − mean) / unit for some rows (b, d): not scaled by weights."""
        return self.like(self.X[rows])

    def like(self, X: Array) -> Array:
        """(x − mean) / unit for other rows (b, d)."""
        block = X - self.mean.astype(X.dtype)
        block *= X.dtype.type(1.0 / self.unit)
        return block

    def leftover_variances(self, X: Array, axes: Array, gains: Array, alpha: float) -> Array:
        """λ xᵀ(XᵀX + λ)⁻¹x for other rows (b, d): what the rows of the fit leave unknown of f.

        ``gains`` (k,) are 1/(s² + λ) along ``axes`` (d, k); beyond these nothing is known.
        """
        x = self.like(X)
        seen = np.square(x @ axes, dtype=np.float64)
        left = alpha / self.weighting.unit * (seen @ gains)
        if axes.shape[1] < axes.shape[0]:
            beyond = np.square(x, dtype=np.float64).sum(axis=1) - seen.sum(axis=1)
            left += self.unit**2 * np.maximum(beyond, 0.0)
        return left

    def __getitem__(self, rows: slice | Array) -> Array:
        """x̃ for some rows (b, d)."""
        return self.weighting.scale(self.centred(rows), rows)

    def hyperplane(self, V: Array, means: Array) -> tuple[Array, Array]:
        """Coefficients (d, t) and intercepts (t,) in the user's units, from those of x̃ and ỹ."""
        coef = V / V.dtype.type(self.unit)
        return coef, means - self.mean @ coef

    def row_blocks(self) -> list[slice]:
        """Blocks of rows that fit a cache."""
        n, d = self.shape
        return blocks(n, gram_blocks(n, d)[0])

    def gram(self) -> Array:
        """X̃ᵀX̃ (d, d) in float64. Cost: nd² multiplications, one pass over the rows.

        Rows are dealt to a fixed number of sums, so that the result does not depend on which core
        was first.
        """
        n, d = self.shape
        pieces = self.row_blocks()
        dealt = gram_blocks(n, d)[1]
        sums = np.zeros((dealt, d, d))

        def add(hand: int) -> None:
            for rows in pieces[hand::dealt]:
                block = self[rows]
                sums[hand] += block.T @ block

        for_each(add, range(dealt))
        return sums.sum(axis=0)


def gram_blocks(n: int, d: int) -> tuple[int, int]:
    """Rows in a block, and sums to which the blocks of ``n`` rows are dealt."""
    rows = max(256, BLOCK // max(d, 1))
    return rows, max(1, min(16, -(-n // rows), 4_000_000 // max(d * d, 1)))


@dataclass
class DualFeatures(SymmetricSystem):
    """X̃X̃ᵀ as a kernel matrix (n, n), whose solution is a hyperplane all the same."""

    rows: CentredRows | None = None
    takes_rows: ClassVar[bool] = True

    def queries(self, X: Array) -> Array:
        """New rows (m, d) as the matrix sees them: (n, m)."""
        return self._centred(self._products(X))

    def prior(self, X: Array, prior: Array) -> Array:
        """|x|² (m,) of new rows, centred as those of the fit; ``prior`` is not needed."""
        assert self.rows is not None
        squares = np.square(self.rows.like(X), dtype=np.float64).sum(axis=1)
        return self._centred_prior(self._products(X), squares * self.rows.unit**2)

    def _products(self, X: Array) -> Array:
        assert self.rows is not None
        K = self.rows.like(X) @ self.rows.centred().T
        K *= K.dtype.type(self.rows.unit**2 / self.unit)
        return K.astype(self.targets.dtype, copy=False)

    @classmethod
    def of(cls, rows: CentredRows, Y: Array, weighting: Weighting) -> DualFeatures:
        """In the precision of ``Y``. Cost: n²d multiplications; n² numbers."""
        centred = rows.centred().astype(Y.dtype, copy=False)
        K = kernel_matrix(Linear(), centred, both_triangles=False)
        system = cls.prepare(K, Y, weighting, rows.unit**2)
        assert isinstance(system, cls)
        system.rows = rows
        return system

    def expansion(self, A: Array) -> tuple[Array, Array]:
        """Coefficients (d, t) and intercepts (t,)."""
        assert self.rows is not None
        C, intercepts = super().expansion(A)
        coef = self.rows.centred().T @ (C * C.dtype.type(self.rows.unit))
        return coef, intercepts - self.rows.mean @ coef
