"""Products with K(X, C) for fixed centers C: fused, or by blocks of kernel values."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from ..arrays import Array, blocks
from .place import CenterValues
from .torch_algebra import as_tensor

try:  # torch's wheels for Linux bring it along
    from .fused_product import (
        FUSED,
        NO_SHIFT,
        SHIFT_OF_OTHERS,
        SHIFT_OF_ROWS,
        SQUARES,
        FusedKernel,
        ScaledRows,
    )

    _missing = ""
except ImportError:
    _missing = "Triton is not installed"

#: An error of kernel values, relative to the largest, beyond which distances are not computed by
#: products of float32 rows: it is 4·eps·r² for rows of lengths up to r, in units of the width.
TOLERATED = 1e-4
_LOST = 4.0 * float(np.finfo(np.float32).eps)
# Numbers of a block of kernel values on a GPU, and on the processor.
_NUMBERS, _FEW_NUMBERS = 2**28, 2**18
# Profiles whose values at rows that nearly coincide need more digits than products of rows leave,
# and those without such products.
_STEEP, _BY_DIFFERENCES = ("matern-1/2",), ("", "laplacian")
# What the compiler said when it failed: it is not tried again.
_failures: list[str] = []


def why_not_fused(kernel: Any, dtype: np.dtype, device: torch.device) -> str:
    """Why products with this kernel are by blocks; empty where one program does all of it."""
    if not kernel.profile:
        return f"there is no program for {type(kernel).__name__}"
    if dtype != np.float32:
        return "rows are float64"
    if _missing:
        return _missing
    if device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        return "there is no GPU"
    return _failures[0] if _failures else ""


class Products(ABC):
    """Σ of kernel values times columns, in float64, for tensors of rows X (b, d).

    Parameters
    ----------
    values : CenterValues
    device : torch.device
    """

    def __init__(self, values: CenterValues, device: torch.device) -> None:
        self.values = values
        self.device = device
        self.points = self._here(values.points, values.dtype)
        self.shift = None if values.shift is None else self._here(values.shift, values.dtype)

    def _here(self, A: Array, dtype: Any) -> torch.Tensor:
        return as_tensor(np.asarray(A, dtype), self.device)

    def _scaled(self, X: torch.Tensor) -> torch.Tensor:
        """Rows in units of the kernel's width."""
        Z: torch.Tensor = self.values.kernel.standardised(X, self.values.origin).X
        return Z

    @abstractmethod
    def times(self, X: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        """K V for ``V`` (m, t) → (b, t)."""

    @abstractmethod
    def transposed_times(self, X: torch.Tensor, U: torch.Tensor) -> torch.Tensor:
        """KᵀU for ``U`` (b, t) → (m, t)."""

    @abstractmethod
    def normal(self, X: torch.Tensor, w: torch.Tensor | None, V: torch.Tensor) -> torch.Tensor:
        """Kᵀ diag(w) K V for ``V`` (m, t) → (m, t)."""


class FusedProducts(Products):
    """By one program that makes kernel values where they are used."""

    def __init__(self, values: CenterValues, device: torch.device) -> None:
        super().__init__(values, device)
        self._usual: FusedKernel = FUSED[values.kernel.profile]
        self._exact = FusedKernel(SQUARES, self._usual.twice_nu)
        Z = self._scaled(self.points)
        self._near = self._usual.by_products and _near(Z)
        first = self._usual if self._near or not self._usual.by_products else self._exact
        self._right: dict[FusedKernel, ScaledRows] = {first: first.scaled(Z)}

    def _prepared(self, X: torch.Tensor) -> tuple[FusedKernel, ScaledRows, ScaledRows]:
        """The program for these rows, the rows, and the centers."""
        Z, kernel = self._scaled(X), self._usual
        if kernel.by_products and not (self._near and _near(Z)):
            kernel = self._exact
        if kernel not in self._right:
            self._right[kernel] = kernel.scaled(self._scaled(self.points))
        return kernel, kernel.scaled(Z), self._right[kernel]

    def _times(
        self, kernel: FusedKernel, left: ScaledRows, right: ScaledRows, V: torch.Tensor
    ) -> torch.Tensor:
        shift_of = NO_SHIFT if self.shift is None else SHIFT_OF_OTHERS
        factor = 1.0 / self.values.unit
        return kernel.product(left, right, V.float(), factor, self.shift, shift_of)

    def _transposed(
        self, kernel: FusedKernel, left: ScaledRows, right: ScaledRows, U: torch.Tensor
    ) -> torch.Tensor:
        shift_of = NO_SHIFT if self.shift is None else SHIFT_OF_ROWS
        factor = 1.0 / self.values.unit
        return kernel.product(right, left, U.float(), factor, self.shift, shift_of)

    def times(self, X: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        return self._times(*self._prepared(X), V)

    def transposed_times(self, X: torch.Tensor, U: torch.Tensor) -> torch.Tensor:
        return self._transposed(*self._prepared(X), U)

    def normal(self, X: torch.Tensor, w: torch.Tensor | None, V: torch.Tensor) -> torch.Tensor:
        rows = self._prepared(X)
        F = self._times(*rows, V)
        return self._transposed(*rows, F if w is None else F * w[:, None])


class BlockedProducts(Products):
    """By blocks of kernel values, each made once and multiplied; float64 where float32 is short."""

    def __init__(self, values: CenterValues, device: torch.device) -> None:
        super().__init__(values, device)
        kernel, single = values.kernel, values.dtype == np.float32
        self._steep = single and kernel.profile in _STEEP
        self._checked = single and kernel.profile not in _BY_DIFFERENCES
        self._near = not self._checked or _near(self._scaled(self.points))
        self._right: dict[torch.dtype, Any] = {}

    def _precision(self, X: torch.Tensor) -> torch.dtype:
        """In which kernel values with these rows are made."""
        short = self._steep or not self._near or (self._checked and not _near(self._scaled(X)))
        return torch.float64 if short else X.dtype

    def _blocks(self, X: torch.Tensor) -> Iterator[tuple[slice, torch.Tensor]]:
        """Kernel values (b, m) of some of the rows at a time."""
        values, m, dtype = self.values, self.points.shape[0], self._precision(X)
        if dtype not in self._right:
            self._right[dtype] = values.kernel.right(self.points.to(dtype), values.origin)
        numbers = _NUMBERS if X.is_cuda else _FEW_NUMBERS
        for part in blocks(X.shape[0], max(1, numbers // max(m, 1))):
            K = torch.empty((part.stop - part.start, m), dtype=dtype, device=X.device)
            left = values.kernel.left(X[part].to(dtype), values.origin)
            values.kernel.fill(left, self._right[dtype], K)
            if values.unit != 1.0:
                K /= values.unit
            if self.shift is not None:
                K -= self.shift
            yield part, K

    def times(self, X: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        found = torch.empty((X.shape[0], V.shape[1]), dtype=torch.float64, device=V.device)
        for part, K in self._blocks(X):
            found[part] = K @ V.to(K.dtype)
        return found

    def transposed_times(self, X: torch.Tensor, U: torch.Tensor) -> torch.Tensor:
        shape = self.points.shape[0], U.shape[1]
        found = torch.zeros(shape, dtype=torch.float64, device=U.device)
        for part, K in self._blocks(X):
            found += K.T @ U[part].to(K.dtype)
        return found

    def normal(self, X: torch.Tensor, w: torch.Tensor | None, V: torch.Tensor) -> torch.Tensor:
        found = torch.zeros(V.shape, dtype=torch.float64, device=V.device)
        for part, K in self._blocks(X):
            F = K @ V.to(K.dtype)
            found += K.T @ (F if w is None else F * w[part, None].to(K.dtype))
        return found


class SafeProducts(Products):
    """Fused; by blocks from then on where the compiler fails."""

    def __init__(self, values: CenterValues, device: torch.device) -> None:
        super().__init__(values, device)
        self._now: Products = FusedProducts(values, device)

    def _tried(self, ask: Callable[[Products], torch.Tensor]) -> torch.Tensor:
        if isinstance(self._now, FusedProducts):
            try:
                return ask(self._now)
            except torch.OutOfMemoryError:
                raise
            except Exception as error:  # noqa: BLE001 (whatever a compiler may raise)
                _failures.append(f"Triton failed: {type(error).__name__}: {str(error)[:200]}")
                self._now = BlockedProducts(self.values, self.device)
        return ask(self._now)

    def times(self, X: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        return self._tried(lambda products: products.times(X, V))

    def transposed_times(self, X: torch.Tensor, U: torch.Tensor) -> torch.Tensor:
        return self._tried(lambda products: products.transposed_times(X, U))

    def normal(self, X: torch.Tensor, w: torch.Tensor | None, V: torch.Tensor) -> torch.Tensor:
        return self._tried(lambda products: products.normal(X, w, V))


def products_with(values: CenterValues, device: torch.device) -> Products:
    """Fused where that can be."""
    if why_not_fused(values.kernel, values.dtype, device):
        return BlockedProducts(values, device)
    return SafeProducts(values, device)


def _near(Z: torch.Tensor) -> bool:
    """Whether products of such rows in float32 tell distances well enough."""
    farthest = float(torch.square(Z).sum(dim=1).max()) if Z.shape[0] else 0.0
    return _LOST * farthest <= TOLERATED
