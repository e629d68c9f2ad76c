"""Rows of an array that is not in memory: mapped from a file, or anything that can be sliced."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from .checks import as_floats, check_unchanged, float_type, not_numeric, requested_type
from .stream import Blocks, Stream, stacked


class ArrayRows(Stream):
    """Rows of an array (n, d) of which only slices are ever read.

    Parameters
    ----------
    array : memory-mapped array, or any object with shape, dtype and slices of rows
        Such as ``numpy.load(path, mmap_mode="r")``, or a dataset of h5py or zarr. Slices of an
        array in C order and of its own floating type are views: nothing is copied.
    columns : sequence of int, optional
        Columns (m,) that are the features; all of them by default.
    dtype : {float32, float64}, optional
        By default the array's own; integers become float64.
    feature_names : sequence of str, optional
        Names of the features.

    Notes
    -----
    **Cost**: a pass reads the array once. Rows that are asked for by number are read one by one
    from a NumPy array, and by the chunks they are in from others.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from squareone.rows import ArrayRows
    >>> with TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/rows.npy", np.arange(12.0).reshape(4, 3))
    ...     rows = ArrayRows(np.load(f"{folder}/rows.npy", mmap_mode="r"))
    ...     float(sum(block.sum() for _, block in rows.blocks(3)))
    66.0
    """

    def __init__(
        self,
        array: Any,
        *,
        columns: Sequence[int] | None = None,
        dtype: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self._array = array
        self._path: Path | None = None
        self._source = f"a {type(array).__name__}"
        if isinstance(array, np.memmap) and array.filename:
            self._path = Path(os.fsdecode(array.filename))
            self._source, self._bytes = repr(self._path.name), self._path.stat().st_size
        shape = tuple(getattr(array, "shape", ()))
        if len(shape) != 2 or not hasattr(array, "dtype"):
            msg = (
                f"{self._source} of shape {shape} was given: an array (n, d) with shape, dtype and "
                "slices is expected"
            )
            raise ValueError(msg)
        found = float_type(array.dtype)
        if found is None:
            raise not_numeric("any", self._source, array.dtype)
        self.dtype = requested_type(dtype) or found
        self._columns = None if columns is None else column_numbers(columns, shape[1])
        width = shape[1] if self._columns is None else self._columns.size
        self.shape = (int(shape[0]), int(width))
        self.feature_names = None if feature_names is None else [str(f) for f in feature_names]
        self._check_shape()

    def _of(self, rows: Any) -> Array:
        block = np.asarray(self._array[rows])
        return block if self._columns is None else block[:, self._columns]

    def _read(self, size: int, pieces: Sequence[int]) -> Blocks:
        self._check_length()
        for start in range(0, self.shape[0], size):
            yield self._of(slice(start, min(start + size, self.shape[0])))

    def _check_length(self) -> None:
        if self._path is not None and self._path.exists():  # deleted, it stays mapped as it was
            check_unchanged(self._path, self._bytes, len(self))
        if self._array.shape[0] != self.shape[0]:  # a dataset may grow
            self._refuse_length(f"{self._array.shape[0]:,}", self.shape[0])

    def _take(self, wanted: Array) -> Array:
        """By their numbers, or by the span of those that are in one chunk."""
        self._check_length()
        mapped = isinstance(self._array, np.ndarray)
        length = (getattr(self._array, "chunks", None) or (1024,))[0]
        cuts: Any = [] if mapped else np.flatnonzero(np.diff(wanted // length)) + 1
        found = []
        for numbers in np.split(wanted, cuts):
            first = numbers[0]
            rows = self._of(numbers) if mapped else self._of(slice(first, numbers[-1] + 1))
            block = as_floats(rows if mapped else rows[numbers - first], self.dtype, self._source)
            self._check(block, numbers.item)
            found.append(block)
        return stacked(found)

    def __getstate__(self) -> dict[str, Any]:
        """A mapped file goes by its name: pickled as an array, it would be read as a whole."""
        state = self.__dict__.copy()
        array = self._array
        # a slice of a mapped array has its name, but not the place where it begins
        if isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap) and array.filename:
            order = "C" if array.flags.c_contiguous else "F"
            where = (str(array.filename), array.dtype, "r", array.offset, array.shape, order)
            state["_array"] = partial(np.memmap, *where)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(self._array, partial):
            self._array = self._array()


def column_numbers(columns: Any, d: int) -> Array:
    """Numbers (m,) of columns, each of which is there."""
    numbers = np.asarray(columns)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        msg = f"columns={columns!r}: a list of column numbers is expected"
        raise ValueError(msg)
    missing = numbers[(numbers < -d) | (numbers >= d)]
    if missing.size:
        msg = f"column {missing[0]} was asked for: there are {d} columns"
        raise ValueError(msg)
    return np.where(numbers < 0, numbers + d, numbers)
