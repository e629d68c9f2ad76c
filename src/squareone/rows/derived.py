"""Rows made from those of a stream, block by block."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from ..arrays import Array
from .base import Rows, rows_of
from .stream import Stream


class DerivedRows(Stream):
    """What ``make`` gives of every block of another stream: as many rows, with d features.

    It is made anew in every pass, so that nothing is held. ``make`` has to be picklable if the
    stream is to be.
    """

    def __init__(
        self,
        rows: Stream,
        make: Callable[[Rows], Rows],
        *,
        d: int | None = None,
        dtype: np.dtype | None = None,
        feature_names: list[str] | None = None,
    ) -> None:
        self._rows, self._make = rows, make
        self._source, self._remedy = rows._source, rows._remedy
        self.shape = (rows.shape[0], rows.shape[1] if d is None else d)
        self.dtype, self.sparse = rows.dtype if dtype is None else dtype, rows.sparse
        self.feature_names = feature_names

    def _bounds(self) -> Array:
        return self._rows._bounds()

    def _read(self, size: int, pieces: Sequence[int]) -> Generator[Any, None, None]:
        with closing(self._rows._numbers(size, pieces)) as blocks:
            for block in blocks:
                yield self._make(rows_of(block)).X

    def _taken(self, wanted: Array) -> Any:
        return self._make(rows_of(self._rows._taken(wanted))).X
