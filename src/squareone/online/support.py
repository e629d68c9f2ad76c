"""The points that carry coefficients in a kernel expansion which grows with a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse, vstack

from ..arrays import Array


def grown(array: Array, shape: tuple[int, ...]) -> Array:
    """At least of this shape, with what was there in its corner; twice as long where it grows."""
    if all(have >= need for have, need in zip(array.shape, shape, strict=True)):
        return array
    room = tuple(
        have if have >= need else max(need, 2 * have, 16)
        for have, need in zip(array.shape, shape, strict=True)
    )
    larger = np.zeros(room, array.dtype)
    larger[tuple(slice(side) for side in array.shape)] = array
    return larger


class SupportPoints:
    """Copies of rows at numbered places, dense or sparse as the first of them is.

    Parameters
    ----------
    features : int
    """

    def __init__(self, features: int) -> None:
        self.features = features
        self.count = 0
        self.rounds: list[int] = []  # which rows of the stream they are
        self._rows: Any = None
        self._fresh: list[Any] = []  # sparse rows that are not in the matrix yet

    def put(self, place: int, row: Any, number: int) -> None:
        """A row (1, d) at a place that is free: an old one, or the next one."""
        if place == self.count:
            self.count += 1
            self.rounds.append(number)
        else:
            self.rounds[place] = number
        if issparse(row):
            self._put_sparse(place, csr_matrix(row, copy=True))
            return
        if self._rows is None:
            self._rows = np.empty((0, self.features))
        if issparse(self._rows) or self._fresh:
            self._put_sparse(place, csr_matrix(row))
            return
        self._rows = grown(self._rows, (self.count, self.features))
        self._rows[place] = row[0]

    def extend(self, rows: Any, number: int) -> None:
        """Rows (b, d) of the stream from ``number`` on, at the next places."""
        first, self.count = self.count, self.count + rows.shape[0]
        self.rounds.extend(range(number, number + rows.shape[0]))
        stored_sparse = issparse(self._rows) or bool(self._fresh)
        if stored_sparse or (self._rows is None and issparse(rows)):
            self._fresh.append(csr_matrix(rows, copy=True))
            return
        if self._rows is None:
            self._rows = np.empty((0, self.features))
        self._rows = grown(self._rows, (self.count, self.features))
        self._rows[first : self.count] = rows.toarray() if issparse(rows) else rows

    def _put_sparse(self, place: int, row: Any) -> None:
        if self._rows is not None and not issparse(self._rows):  # dense rows came before
            self._rows = grown(self._rows, (self.count, self.features))
            self._rows[place] = row.toarray()[0]
            return
        if place == self.count - 1:
            self._fresh.append(row)
            return
        rows = self.matrix()
        self._rows = vstack([rows[:place], row, rows[place + 1 :]], format="csr")

    def matrix(self) -> Any:
        """All of them (count, d)."""
        if self._fresh:
            before = [] if self._rows is None else [self._rows]
            self._rows = vstack([*before, *self._fresh], format="csr")
            self._fresh = []
        if self._rows is None:
            return np.empty((0, self.features))
        return self._rows[: self.count]

    def restore(self, rows: Any, rounds: list[int]) -> None:
        """Go on from these."""
        self._rows = rows.copy() if rows.shape[0] else None
        self._fresh, self.count, self.rounds = [], rows.shape[0], list(rounds)
