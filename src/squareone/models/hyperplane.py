"""Hyperplanes: f(x) = wᵀx + b."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..rows import rows_of


@dataclass(frozen=True)
class Hyperplane:
    """A linear function per target: ``coefficients`` (d, t) and ``intercepts`` (t,)."""

    coefficients: Array
    intercepts: Array

    def values(self, X: Any) -> Array:
        """f at the rows of ``X`` (n, d) → (n, t). Cost: n·d·t multiplications, fewer if sparse."""
        values = rows_of(X).product(self.coefficients)
        values += self.intercepts.astype(values.dtype)
        return values

    @property
    def dtype(self) -> np.dtype:
        """The precision rows are predicted in."""
        return self.coefficients.dtype
