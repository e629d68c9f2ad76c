"""Numbers to predict: one column or several."""

from __future__ import annotations

from dataclasses import dataclass

from ..arrays import Array


@dataclass(frozen=True)
class Responses:
    """Regression targets; remembers whether y was a vector."""

    vector: bool

    @classmethod
    def of(cls, y: Array) -> Responses:
        return cls(y.ndim == 1)

    def columns(self, y: Array) -> Array:
        """y (n,) or (n, t) as columns (n, t)."""
        return y.reshape(y.shape[0], -1)

    def shaped(self, values: Array) -> Array:
        """Columns (n, t) in the shape y had."""
        return values[:, 0] if self.vector else values

    decode = shaped

    residuals = coefficients = shaped
