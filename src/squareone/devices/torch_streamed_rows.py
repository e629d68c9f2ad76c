"""Rows that wait in the machine's memory or in files, a block at a time on a device.

The next block is copied, from memory that the device reads by itself, while one is worked on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ..arrays import Array
from .torch_algebra import DTYPES, as_tensor

# Numbers of a block on a GPU, and the fewest and most rows; rows of a block on the processor.
_NUMBERS, _FEWEST, _MOST, _FEW = 2**25, 4096, 262_144, 700
# Share of the free memory up to which rows are copied once, and stay.
_SHARE = 0.2


class StreamedRows:
    """Rows (n, d) by blocks that are tensors, pass after pass.

    Parameters
    ----------
    rows : Rows
        Dense: an array, or what is read from files.
    dtype : dtype
    device : torch.device
    free : float or None
        Bytes that can be had there. Rows that take a small part of them are copied once.
    """

    def __init__(
        self, rows: Any, dtype: np.dtype, device: torch.device, free: float | None
    ) -> None:
        self.rows = rows
        self.dtype = np.dtype(dtype)
        self.device = device
        n, d = rows.shape
        self._stay = free is not None and n * d * self.dtype.itemsize <= _SHARE * free
        self._kept: list[torch.Tensor] = []
        most = min(_MOST, max(_FEWEST, _NUMBERS // max(d, 1)))
        self.size = most if device.type == "cuda" else _FEW

    def __iter__(self) -> Iterator[tuple[slice, torch.Tensor]]:
        if self._kept:
            start = 0
            for X in self._kept:
                yield slice(start, start + X.shape[0]), X
                start += X.shape[0]
            return
        found = self._copied() if self.device.type == "cuda" and not self._stay else self._taken()
        kept = []
        for rows, X in found:
            if self._stay:
                kept.append(X)
            yield rows, X
        self._kept = kept  # when a pass has come to its end

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        for rows, block in self.rows.row_blocks(self.size):
            yield rows, np.asarray(block.X, self.dtype)

    def _taken(self) -> Iterator[tuple[slice, torch.Tensor]]:
        for rows, X in self._blocks():
            yield rows, as_tensor(X, self.device)

    def _copied(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Two blocks here, and two there: while one is worked on, the other is on its way."""
        shape, dtype = (self.size, self.rows.shape[1]), DTYPES[self.dtype]
        waiting = [torch.empty(shape, dtype=dtype, pin_memory=True) for _ in range(2)]
        here = [torch.empty(shape, dtype=dtype, device=self.device) for _ in range(2)]
        copied = [torch.cuda.Event() for _ in range(2)]
        used = [torch.cuda.Event() for _ in range(2)]
        way, work = torch.cuda.Stream(self.device), torch.cuda.current_stream(self.device)
        for event in used:
            event.record(work)  # the memory may have been somebody else's until now
        for number, (rows, X) in enumerate(self._blocks()):
            at, size = number % 2, X.shape[0]
            copied[at].synchronize()
            np.copyto(waiting[at][:size].numpy(), X)
            with torch.cuda.stream(way):
                way.wait_event(used[at])
                here[at][:size].copy_(waiting[at][:size], non_blocking=True)
                copied[at].record(way)
            work.wait_event(copied[at])
            yield rows, here[at][:size]
            used[at].record(work)
        torch.cuda.synchronize(self.device)  # before the memory is given back


class StreamedSums:
    """Sums over all rows of √w (k/unit − shift), a pass each, on a device.

    Parameters
    ----------
    products : Products
    rows : StreamedRows
    root : array (n,) or None
        √w.
    """

    def __init__(self, products: Any, rows: StreamedRows, root: Array | None) -> None:
        self._products = products
        self._rows = rows
        self._root = None if root is None else as_tensor(root, rows.device)

    def _zero(self, columns: int) -> torch.Tensor:
        shape = self._products.points.shape[0], columns
        return torch.zeros(shape, dtype=torch.float64, device=self._rows.device)

    def transposed(self, U: Array) -> Array:
        """Σ √w k uᵀ for ``U`` (n, c) → (m, c)."""
        there, total = as_tensor(U, self._rows.device), self._zero(U.shape[1])
        for rows, X in self._rows:
            part = there[rows]
            if self._root is not None:
                part = part * self._root[rows, None]
            total += self._products.transposed_times(X, part)
        found: Array = total.cpu().numpy()
        return found

    def twice(self, C: Array) -> Array:
        """Σ w k kᵀC for ``C`` (m, c) → (m, c)."""
        there, total = as_tensor(C, self._rows.device), self._zero(C.shape[1])
        for rows, X in self._rows:
            w = None if self._root is None else torch.square(self._root[rows])
            total += self._products.normal(X, w, there)
        found: Array = total.cpu().numpy()
        return found
