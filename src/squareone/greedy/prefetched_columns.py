"""Kernel columns computed ahead, of points that are likely to become centers."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .basis import Ready


class Waiting:
    """Columns that are orthogonal to the basis as it was, and the numbers of their candidates.

    What was taken off them is not lost: they only have to follow the basis from there.

    Parameters
    ----------
    room : int
        Columns at most; those of one point are held even if there are more.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._held: dict[int, tuple[Array, Ready]] = {}

    def __contains__(self, point: int) -> bool:
        return point in self._held

    def points(self) -> Array:
        """Whose columns there are."""
        return np.fromiter(self._held, int, len(self._held))

    def put(self, point: int, numbers: Array, ready: Ready) -> None:
        """Hold the columns of a point: candidates ``numbers`` (b,)."""
        self._held[point] = numbers, ready

    def take(self, point: int) -> tuple[Array, Ready]:
        """The columns of a point, which are held no longer."""
        return self._held.pop(point)

    def make_room(self, more: int, sizes: Array) -> None:
        """Drop columns until there is room for ``more``: those of least ``sizes`` (n,) first."""
        points = self.points()
        excess = more + sum(numbers.size for numbers, _ in self._held.values()) - self._room
        for point in points[np.argsort(sizes[points])].tolist():
            if excess <= 0:
                return
            excess -= self._held.pop(point)[0].size
