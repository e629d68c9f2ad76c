"""Rows that are a torch tensor, as kernels ask for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..arrays import Array
from ..rows.base import KernelRows, Lifted, add_storage
from .torch_algebra import as_tensor


class TensorRows(KernelRows):
    """The rows of a tensor (n, d)."""

    X: torch.Tensor

    def __init__(self, X: torch.Tensor) -> None:
        self.X = X

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.X.shape
        return n, d

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float64 if self.X.dtype == torch.float64 else np.float32)

    def __getitem__(self, rows: slice | Array) -> TensorRows:
        return TensorRows(self.X[rows])

    def like(self, other: Any) -> TensorRows:
        return self

    def _here(self, values: Any) -> torch.Tensor:
        """Numbers beside the rows, in their precision."""
        return as_tensor(np.asarray(values, self.dtype), self.X.device)

    def squares(self) -> torch.Tensor:
        return torch.square(self.X).sum(dim=1)

    def scaled(self, factors: float | Array) -> TensorRows:
        return TensorRows(self.X * self._here(factors))

    def normalised(self) -> TensorRows:
        largest = self.X.abs().amax(dim=1, keepdim=True)
        Z = self.X / torch.where(largest > 0, largest, 1.0)
        lengths = torch.square(Z).sum(dim=1, keepdim=True).sqrt()
        return TensorRows(Z / torch.where(lengths > 0, lengths, 1.0))

    def standardised(self, origin: Array, widths: float | Array) -> TensorRows:
        return TensorRows((self.X - self._here(origin)) / self._here(widths))

    def lifted(self, origin: Array, widths: float | Array, *, square_at: int) -> LiftedTensorRows:
        n, d = self.shape
        Z = torch.empty((n, d + 2), dtype=self.X.dtype, device=self.X.device)
        scaled, halves = Z[:, :d], Z[:, d + square_at]
        torch.sub(self.X, self._here(origin), out=scaled)
        scaled /= self._here(widths)
        halves.copy_(-0.5 * torch.square(scaled).sum(dim=1))
        Z[:, d + 1 - square_at] = 1.0
        return LiftedTensorRows(Z, -float(halves.min()) if n else 0.0)

    def cross(self, other: Any, out: torch.Tensor) -> None:
        torch.matmul(self.X, other.X.T, out=out)

    def city_block(self, other: Any) -> torch.Tensor:
        """One feature after the other, in the precision of the rows."""
        total = torch.zeros(
            (self.shape[0], other.shape[0]), dtype=self.X.dtype, device=self.X.device
        )
        for feature in range(self.shape[1]):
            total += (self.X[:, feature, None] - other.X[:, feature]).abs_()
        return total

    def times(self, V: Array, mean: Array) -> torch.Tensor:
        return (self.X - self._here(mean)) @ self._here(V)


@dataclass
class LiftedTensorRows(Lifted):
    """See :class:`~squareone.rows.dense.LiftedDenseRows`."""

    Z: torch.Tensor
    farthest: float  # the largest |z|²/2 of all rows, which part of them this may be

    def __getitem__(self, rows: slice) -> LiftedTensorRows:
        return LiftedTensorRows(self.Z[rows], self.farthest)

    def cross(self, other: LiftedTensorRows, out: torch.Tensor) -> None:
        torch.matmul(self.Z, other.Z.T, out=out)

    @property
    def reach(self) -> float:
        return self.farthest


add_storage(torch.Tensor, TensorRows)
