"""Products with K(X, C) for fixed centers C, by blocks of kernel values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ..arrays import blocks
from .place import CenterValues
from .torch_algebra import as_tensor

#: An error of kernel values, relative to the largest, beyond which they are not made in float32: it
#: is 4·eps·r² times the kernel's steepness for rows of lengths up to r, in units of the width.
TOLERATED = 1e-4
_LOST = 4.0 * float(np.finfo(np.float32).eps)


class Products:
    """Σ of kernel values times columns, in float64, for tensors of rows X (b, d).

    A block of values is made once, multiplied, and forgotten. Those of float32 rows are float64
    where float32 has too few digits for their distances.

    Parameters
    ----------
    values : CenterValues
    device : torch.device
    block_bytes : float
        Of kernel values at a time.
    """

    def __init__(self, values: CenterValues, device: torch.device, block_bytes: float) -> None:
        self.values = values
        self.points = as_tensor(np.asarray(values.points, values.dtype), device)
        self._block_bytes = block_bytes
        self._shift = None
        if values.shift is not None:
            self._shift = as_tensor(np.asarray(values.shift, values.dtype), device)
        self._right: dict[torch.dtype, Any] = {}

    def times(self, X: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        """K V for ``V`` (m, t) → (b, t)."""
        found = torch.empty((X.shape[0], V.shape[1]), dtype=torch.float64, device=V.device)
        for part, K in self._blocks(X):
            found[part] = K @ V.to(K.dtype)
        return found

    def transposed_times(self, X: torch.Tensor, U: torch.Tensor) -> torch.Tensor:
        """KᵀU for ``U`` (b, t) → (m, t)."""
        found = self._zero(U)
        for part, K in self._blocks(X):
            found += K.T @ U[part].to(K.dtype)
        return found

    def normal(self, X: torch.Tensor, w: torch.Tensor | None, V: torch.Tensor) -> torch.Tensor:
        """Kᵀ diag(w) K V for ``V`` (m, t) → (m, t)."""
        found = self._zero(V)
        for part, K in self._blocks(X):
            F = K @ V.to(K.dtype)
            found += K.T @ (F if w is None else F * w[part, None].to(K.dtype))
        return found

    def _zero(self, V: torch.Tensor) -> torch.Tensor:
        shape = self.points.shape[0], V.shape[1]
        return torch.zeros(shape, dtype=torch.float64, device=V.device)

    def _blocks(self, X: torch.Tensor) -> Iterator[tuple[slice, torch.Tensor]]:
        """Kernel values (b, m) of some of the rows at a time."""
        values, m = self.values, self.points.shape[0]
        dtype = self._precision(X)
        right = self._centers_in(dtype)
        width = max(m, 1) * (torch.finfo(dtype).bits // 8)
        for part in blocks(X.shape[0], int(max(1, self._block_bytes // width))):
            K = torch.empty((part.stop - part.start, m), dtype=dtype, device=X.device)
            left = values.kernel.left(X[part].to(dtype), values.origin)
            values.kernel.fill(left, right, K)
            if values.unit != 1.0:
                K /= values.unit
            if self._shift is not None:
                K -= self._shift
            yield part, K

    def _centers_in(self, dtype: torch.dtype) -> Any:
        """The centers as the kernel takes them: kept."""
        if dtype not in self._right:
            points = self.points.to(dtype)
            self._right[dtype] = self.values.kernel.right(points, self.values.origin)
        return self._right[dtype]

    def _precision(self, X: torch.Tensor) -> torch.dtype:
        """In which kernel values with these rows are made."""
        steepness = self.values.kernel.steepness
        if X.dtype == torch.float64 or not steepness:
            return X.dtype
        if np.isfinite(steepness):
            left = self.values.kernel.left(X, self.values.origin)
            farthest = 2.0 * max(left.reach, self._centers_in(X.dtype).reach)
            if _LOST * steepness * farthest <= TOLERATED:
                return X.dtype
        return torch.float64
