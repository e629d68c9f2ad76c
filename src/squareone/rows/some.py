"""Some of the rows of a stream."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from ..arrays import Array
from .base import rows_of
from .stream import Stream


class SomeRows(Stream):
    """The rows of a stream with given ``numbers`` (m,), ascending: the others are passed over."""

    def __init__(self, rows: Stream, numbers: Array) -> None:
        self._rows, self._chosen = rows, numbers
        self._source, self._remedy = rows._source, rows._remedy
        self.shape = (numbers.size, rows.shape[1])
        self.dtype, self.sparse = rows.dtype, rows.sparse
        self.feature_names = rows.feature_names

    def _read(self, size: int, pieces: Sequence[int]) -> Generator[Any, None, None]:
        start = 0
        with closing(self._rows._numbers(size)) as blocks:
            for block in blocks:
                stop = start + block.shape[0]
                first, last = np.searchsorted(self._chosen, [start, stop])
                if last > first:
                    yield rows_of(block)[self._chosen[first:last] - start].X
                start = stop

    def _taken(self, wanted: Array) -> Any:
        return self._rows._taken(self._chosen[wanted])
