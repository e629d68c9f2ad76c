"""Kernel expansions: f(x) = Σ c_i k(x, x_i) + b."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..kernels import Kernel, Precomputed
from ..kernels.base import check_range
from ..kernels.tiles import kernel_product
from ..rows import rows_of

# Rows that are read at a time.
_ROWS = 65_536


@dataclass(frozen=True)
class KernelExpansion:
    """A weighted sum of kernels at the centers.

    Attributes
    ----------
    kernel : Kernel
        With numbers for parameters.
    centers : array (m, d), CSR matrix or None
        The points that carry coefficients; None for a precomputed kernel.
    indices : array (m,)
        Which training rows they are.
    coefficients : array (m, t)
    intercepts : array (t,)
    """

    kernel: Kernel
    centers: Any
    indices: Array
    coefficients: Array
    intercepts: Array

    def values(self, X: Any) -> Array:
        """f at the rows of ``X`` (n, d), or for kernel values (n, training rows) → (n, t).

        Rows may be dense or sparse, whatever the centers are.

        Cost: n·m·(d + t) multiplications, fewer with sparse centers, in bounded memory.
        """
        if self.coefficients.shape[0] == 0:  # nothing but the intercepts
            values = np.zeros((X.shape[0], self.intercepts.size), self.dtype)
        elif isinstance(self.kernel, Precomputed):
            columns = X if X.shape[1] == self.indices.size else X[:, self.indices]
            values = columns @ self.coefficients
        else:
            assert self.centers is not None
            check_range(self.kernel, X)
            values = np.empty((X.shape[0], self.coefficients.shape[1]), X.dtype)
            for part, block in rows_of(X).row_blocks(_ROWS):
                values[part] = kernel_product(self.kernel, block.X, self.centers, self.coefficients)
        values += self.intercepts.astype(values.dtype)
        return values

    @property
    def dtype(self) -> np.dtype:
        """The precision rows are predicted in."""
        return self.coefficients.dtype


@dataclass(frozen=True)
class SumOfExpansions:
    """Expansions with a kernel each, added up; the first has the intercepts.

    Attributes
    ----------
    parts : list of KernelExpansion
    """

    parts: list[KernelExpansion]

    def values(self, X: Any) -> Array:
        """f at the rows of ``X`` (n, d) → (n, t)."""
        values = self.parts[0].values(X)
        for part in self.parts[1:]:
            values += part.values(X)
        return values

    @property
    def dtype(self) -> np.dtype:
        """The precision rows are predicted in."""
        return self.parts[0].dtype
