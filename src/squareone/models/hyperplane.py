"""f(x) = wᵀx + b."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array


@dataclass(frozen=True)
class Hyperplane:
    """A linear function per target: ``coefficients`` (d, t) and ``intercepts`` (t,)."""

    coefficients: Array
    intercepts: Array

    def values(self, X: Array) -> Array:
        """f at the rows of ``X`` (n, d) → (n, t). Cost: n·d·t multiplications."""
        return X @ self.coefficients + self.intercepts.astype(self.coefficients.dtype)

    @property
    def dtype(self) -> np.dtype:
        """The precision rows are predicted in."""
        return self.coefficients.dtype
