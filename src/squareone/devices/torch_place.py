"""Matrices as torch's tensors, on a GPU or, for tests, on the processor."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
import torch

from ..arrays import Array
from ..errors import MemoryLimitError
from . import torch_rows  # noqa: F401 (rows of tensors are known from now on)
from .place import CenterValues, Item, Place
from .torch_algebra import DTYPES, as_tensor
from .torch_products import Products
from .torch_streamed_rows import StreamedRows, StreamedSums

# Side of a tile on a GPU: a product is at full speed, and a few of them are little memory.
_TILE = 8192
# On the processor: as small as the tests, which are to see more than one.
_SMALL_TILE = 512
# Bytes of a block of kernel values on a GPU.
_BLOCK = 2.0**30
# A block in float64, and copies of it that solutions of triangular systems make.
_BLOCKS_HELD = 12.0
# Share of the free memory that can be had: what is left is for the library's own.
_SHARE = 0.94


class TorchPlace(Place):
    """The memory of one of torch's devices."""

    def __init__(self, device: str) -> None:
        self.device = torch.device(device)
        self.on_gpu = self.device.type == "cuda"
        self.name = device if self.on_gpu else f"torch:{device}"
        self.tile = _TILE if self.on_gpu else _SMALL_TILE
        self.block_bytes = _BLOCK if self.on_gpu else Place.block_bytes
        self.blocks_held = _BLOCKS_HELD

    def empty(self, shape: tuple[int, ...], dtype: Any) -> torch.Tensor:
        return torch.empty(shape, dtype=DTYPES[np.dtype(dtype)], device=self.device)

    def taken(self, A: Array) -> torch.Tensor:
        return as_tensor(A, self.device)

    def fetched(self, A: torch.Tensor) -> Array:
        found: Array = A.cpu().numpy()
        return found

    def for_each(self, function: Callable[[Item], None], items: Iterable[Item]) -> None:
        for item in items:
            function(item)

    def free_memory(self) -> float | None:
        """What the driver has, and what torch keeps of it without using it."""
        if not self.on_gpu:
            return None
        free, _ = torch.cuda.mem_get_info(self.device)
        kept = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return _SHARE * float(free + kept)

    def sum_type(self, dtype: Any) -> np.dtype:
        """Sums of float32 numbers would need their large directions apart: float64 does not."""
        return np.dtype(np.float64)

    def products(self, values: CenterValues) -> Products:
        return Products(values, self.device, values.block_bytes or self.block_bytes)

    def sums(self, values: CenterValues, rows: Any, root: Array | None) -> StreamedSums:
        there = StreamedRows(rows, values.dtype, self.device, self.free_memory())
        return StreamedSums(self.products(values), there, root)

    @contextmanager
    def work(self) -> Iterator[None]:
        """Products of float32 in float32, and memory that has run out said and given back."""
        with _full_precision:
            try:
                yield
            except torch.OutOfMemoryError as error:
                # frames that have ended hold tensors, as long as somebody holds their traceback
                traceback.clear_frames(error.__traceback__)
                text = str(error).split(".")[0]
            else:
                return
        if self.on_gpu:
            torch.cuda.empty_cache()
        msg = (
            f"the memory of {self.name} ran out ({text}): others may use it as well. Use float32 "
            "rows, centers=..., or a smaller memory_limit, by which less is asked for at a time"
        )
        raise MemoryLimitError(msg)


class _FullPrecision:
    """Holds torch at float32 products of float32 numbers while anybody works.

    The setting belongs to the process: it is restored when the last one leaves.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._holders = 0
        self._before = ""

    def __enter__(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._before = torch.get_float32_matmul_precision()
                if self._before != "highest":
                    torch.set_float32_matmul_precision("highest")
            self._holders += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and self._before != "highest":
                torch.set_float32_matmul_precision(self._before)


_full_precision = _FullPrecision()


@lru_cache
def place_of(device: str) -> TorchPlace:
    """The place of a device by torch's name for it."""
    return TorchPlace(device)
