"""Rows that are learned with unit length."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from ...kernels import Linear
from .base import Streaming


class UnitRows(Streaming):
    """Rows of unit length, for the linear kernel; a part of estimators that may need them."""

    normalise: bool

    def _as_learned(self, X: Any) -> Any:
        """Of unit length, for the linear kernel; a row of zeros stays one."""
        X = super()._as_learned(X)
        return normalize(X) if self._scales() and X.shape[0] else X

    def _one(self, x: Any) -> Any:
        row = super()._one(x)
        if not self._scales() or not isinstance(row, np.ndarray):
            return row
        norm = float(np.sqrt(row[0] @ row[0]))
        return row / norm if norm > 0 else row

    def _scales(self) -> bool:
        return self.normalise and isinstance(self.kernel_, Linear)
