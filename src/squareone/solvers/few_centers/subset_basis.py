"""Many centers whose kernel matrix is never made: features from a random subset of them.

With S the subset, R the other centers and K_SS = LLᵀ, features of a row are L⁻¹k_S and what these
leave of k_R, each in units of its own norm. The matrix between the centers is the identity among
the former, and hardly more than one on the diagonal among the latter: only the subset is factored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from ...devices import active_place
from ...kernels import Kernel
from ...kernels.tiles import kernel_product
from ...rows import Rows, rows_of
from .center_basis import CenterBasis

# Norms below which no unit is taken, as a share of the largest.
_LEAST = 1e-6


class SubsetBasis(CenterBasis):
    """k(x, z_j) / unit for all centers z_j (m, d), of which a subset is factored.

    Dependent centers are not dropped: who iterates does not need to know them.

    Parameters
    ----------
    kernel : Kernel
    points : array (m, d)
    dtype : dtype
    size : int
        Centers in the subset.
    seed : int

    Attributes
    ----------
    few : CenterBasis
        The subset.
    subset, others : array
        Which centers are in it, and which are not.

    Notes
    -----
    **Cost**: that of q centers, and m·q² for the norms; what is divided by the factor costs two
    products with the kernel matrix between the two kinds, which is never held.
    """

    def __init__(self, kernel: Kernel, points: Any, dtype: np.dtype, size: int, seed: int) -> None:
        self._wanted = size, seed
        super().__init__(kernel, points, dtype, compact=True)

    def _factor(self, points: Any, dtype: np.dtype) -> None:
        size, seed = self._wanted
        m = self.asked.shape[0]
        drawn = np.sort(np.random.RandomState(seed).choice(m, min(size, m), replace=False))
        few = CenterBasis(self.kernel, self.asked[drawn], self.dtype, compact=True)
        self.few, self.unit, self.condition = few, few.unit, few.condition
        self.kept, self.dropped = np.arange(m), np.empty(0, int)
        self.subset = drawn[few.kept]
        self.others = np.setdiff1d(np.arange(m), self.subset)
        self.dropped_features = np.empty((0, m), dtype)
        self.resolution = few.resolution
        self.factor = few.factor
        rest = rows_of(self.asked[self.others])
        left = self.kernel.diagonal(rest.X).astype(np.float64)
        for part, block in rest.row_blocks(few.block_rows()):
            left[part] -= few.explained(block)
        left /= self.unit
        least = max(self.resolution, _LEAST * float(np.max(left, initial=0.0)))
        self._scales = 1.0 / np.sqrt(np.maximum(left, least))

    def restricted(self, stay: Array) -> SubsetBasis:
        """That of the centers ``stay`` alone."""
        return SubsetBasis(self.kernel, self.asked[stay], self.dtype, *self._wanted)

    def forward(self, B: Array) -> Array:
        """Features from kernel values ``B`` (m, c), in float64."""
        found = np.empty(B.shape)
        top = self.few.forward(B[self.subset])
        found[self.subset] = top
        off = self._between(self.others, self.subset, self.few.backward(top))
        found[self.others] = self._scales[:, None] * (B[self.others] - off)
        return found

    def backward(self, A: Array) -> Array:
        """Coefficients of the centers (m, c) from those of the features, in float64."""
        found = np.empty(A.shape)
        rest = self._scales[:, None] * A[self.others]
        found[self.others] = rest
        off = self.few.forward(self._between(self.subset, self.others, rest))
        found[self.subset] = self.few.backward(A[self.subset] - off)
        return found

    def metric_times(self, A: Array) -> Array:
        every = np.arange(self.size)
        return self.forward(self._between(every, every, self.backward(A)))

    def _between(self, rows: Array, columns: Array, C: Array) -> Array:
        """k(z_i, z_j) / unit times ``C`` (columns, c) → (rows, c), in float64."""
        X, Y = self.asked[rows], self.asked[columns]
        if not (rows.size and columns.size):
            return np.zeros((rows.size, C.shape[1]))
        sizes = np.maximum(np.abs(C).max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
        found = kernel_product(self.kernel, X, Y, (C / sizes).astype(self.dtype))
        return found.astype(np.float64) * (sizes / self.unit)

    def divided(
        self, rows: Rows, shift: Array | None, root: Array | None, dtype: Any = None
    ) -> Any:
        K = self.values(rows, shift, root)
        Z = self.forward(K.T.astype(np.float64)).T
        return active_place().taken(np.ascontiguousarray(Z, dtype or self.dtype))

    def explained(self, rows: Rows) -> Array:
        """What the subset explains of k(x, x), (b,) in float64: all centers explain more."""
        return self.few.explained(rows)

    def typical_values(self) -> Array:
        every = np.arange(self.size)
        equal = np.full((self.size, 1), 1.0 / max(self.size, 1))
        return self._between(every, every, equal)[:, 0].astype(self.dtype)
