"""A place for large matrices, and the one that is used at the moment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..arrays import TILE, Array, lower_tiles, room_for
from ..threads import for_each

Item = TypeVar("Item")


@dataclass(frozen=True)
class CenterValues:
    """Which kernel values are meant: k(x, c_j) / unit − shift_j.

    Attributes
    ----------
    kernel : Kernel
    points : array (m, d)
        c.
    origin : array (d,)
    dtype : dtype
        Of the rows.
    unit : float
    shift : array (m,) or None
    block_bytes : float
        Of kernel values that are there at a time; zero for what is usual.
    """

    kernel: Any
    points: Array
    origin: Array
    dtype: np.dtype
    unit: float = 1.0
    shift: Array | None = None
    block_bytes: float = 0.0


class Place(ABC):
    """Where matrices are made and worked on.

    Attributes
    ----------
    name : str
        As a user would ask for it; empty for the machine's own memory.
    tile : int
        Side of the square tiles in which a matrix is visited here.
    """

    name: str = ""
    tile: int = TILE
    #: Bytes of the largest block of kernel values that is worth making.
    block_bytes: float = 2**26
    #: Blocks for which there has to be room: one that is filled, and what is made of it.
    blocks_held: float = 4.0

    #: By the type of its arrays, the functions that kernels are written with.
    namespaces: ClassVar[dict[type, Any]] = {np.ndarray: np, np.memmap: np}

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Memory for numbers of a NumPy dtype."""

    def room(self, rows: int, width: int, dtype: Any) -> Any:
        """Memory for rows of numbers (rows, width) that are filled one after the other."""
        return self.empty((rows, width), dtype)

    def sum_type(self, dtype: Any) -> np.dtype:
        """In which kernel values are made, and added up, where many are summed."""
        return np.dtype(dtype)

    def products(self, values: CenterValues) -> Any:
        """Products with kernel values of centers; None where tiles are as good."""
        return None

    def sums(self, values: CenterValues, rows: Any, root: Array | None) -> Any:
        """Sums of kernel values over all rows, or None where these are the caller's to make."""
        return None

    @abstractmethod
    def taken(self, A: Array) -> Any:
        """An array of the machine's memory, here; itself where that is the same."""

    @abstractmethod
    def fetched(self, A: Any) -> Array:
        """An array from here, in the machine's memory."""

    @abstractmethod
    def for_each(self, function: Callable[[Item], None], items: Iterable[Item]) -> None:
        """Call ``function`` on every item: as many at a time as there is something to gain."""

    @abstractmethod
    def free_memory(self) -> float | None:
        """Bytes that can be had here; None where the machine is to be asked."""

    @abstractmethod
    def work(self) -> Any:
        """A context inside of which the libraries are set as results here depend on it."""

    def lower_tiles(self, n: int) -> list[tuple[slice, slice]]:
        """Tiles that cover the lower triangle of a matrix (n, n)."""
        return lower_tiles(n, self.tile)

    @contextmanager
    def active(self) -> Iterator[None]:
        """Inside, this is where kernel matrices are made."""
        before = _active.set(self)
        try:
            with self.work():
                yield
        finally:
            _active.reset(before)


class _Host(Place):
    """The machine's memory."""

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        return np.empty(shape, dtype)

    def room(self, rows: int, width: int, dtype: Any) -> Array:
        return room_for(rows, width, dtype)

    def taken(self, A: Any) -> Any:
        return A

    def fetched(self, A: Any) -> Any:
        return A

    def for_each(self, function: Callable[[Item], None], items: Iterable[Item]) -> None:
        for_each(function, items)

    def free_memory(self) -> float | None:
        return None

    @contextmanager
    def work(self) -> Iterator[None]:
        yield


#: The machine's memory.
HOST: Place = _Host()

_active: ContextVar[Place] = ContextVar("place", default=HOST)


def active_place() -> Place:
    """Where kernel matrices are made now."""
    return _active.get()


def namespace(A: Any) -> Any:
    """The functions, called as NumPy's are, that work on an array: ``exp``, ``sqrt`` and so on."""
    return Place.namespaces[type(A)]
