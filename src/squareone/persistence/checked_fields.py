"""Fields of a file: taken by name, each with its type, shape and range checked."""

from __future__ import annotations

import math
from numbers import Integral, Real
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np

from ..arrays import Array, blocks
from ..errors import FileFormatError

__all__ = ["FLOATS", "INTEGERS", "Fields", "refuse"]

#: Types of numbers, for :meth:`Fields.array`.
FLOATS = (np.float32, np.float64)
INTEGERS = (np.int32, np.int64)

# Numbers of NumPy will do.
_WIDER: dict[type, type] = {float: Real, int: Integral}
# Numbers looked at in one go, while they are in the cache.
_BLOCK = 65_536


def refuse(where: str, why: str) -> NoReturn:
    """Say what is wrong with the part of a file called ``where``."""
    msg = f"{where}: {why}"
    raise FileFormatError(msg)


class Fields:
    """Named values, each taken once; on leaving the block it is an error if one is left over.

    Parameters
    ----------
    values : object
        A dictionary is expected.
    where : str
        What it is called in messages.
    """

    def __init__(self, values: Any, where: str) -> None:
        if type(values) is not dict:
            refuse(where, f"named values are expected, got {type(values).__name__}")
        self._values = dict(values)
        self.where = where

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        if kind is None and self._values:
            refuse(self.where, f"{sorted(map(str, self._values))} are not known here")

    def take(self, name: str, *kinds: type) -> Any:
        """The value called ``name``, if it is of one of these types; an int will do for a float."""
        if name not in self._values:
            refuse(self.where, f"{name} is missing")
        value = self._values.pop(name)
        if not any(_is(value, kind) for kind in kinds):
            expected = " or ".join(kind.__name__ for kind in kinds)
            got = type(value).__name__
            refuse(f"{self.where}.{name}", f"{expected} is expected, got {got}")
        return value

    def names(self) -> list[str]:
        """The names that are left."""
        return list(self._values)

    def has(self, name: str) -> bool:
        """Whether there is something called ``name``."""
        return name in self._values

    def holds(self, name: str, kind: type) -> bool:
        """Whether there is something of this type called ``name``."""
        return name in self._values and _is(self._values[name], kind)

    def given(self, name: str) -> bool:
        """Whether the value called ``name`` is something; None is taken."""
        if self._values.get(name, ...) is not None:
            return True
        del self._values[name]
        return False

    def inner(self, name: str) -> Fields:
        """Named values called ``name``."""
        return Fields(self.take(name, dict), f"{self.where}.{name}")

    def number(self, name: str, *, positive: bool = False) -> float:
        """A finite number."""
        value = self.take(name, float)
        if not math.isfinite(value) or (positive and not value > 0):
            refuse(f"{self.where}.{name}", f"a finite number is expected, got {value!r}")
        return value

    def array(
        self,
        name: str,
        shape: tuple[int | None, ...],
        dtypes: tuple[Any, ...] = FLOATS,
        *,
        finite: bool = True,
        least: float | None = None,
    ) -> Array:
        """An array of one of these types and this shape, None for any length.

        Cost: a pass over it where its numbers have to be finite, or at or above ``least``.
        """
        array = self.take(name, np.ndarray)
        where = f"{self.where}.{name}"
        if array.dtype not in dtypes:
            expected = " or ".join(np.dtype(dtype).name for dtype in dtypes)
            refuse(where, f"{expected} is expected, got {array.dtype}")
        fits = len(shape) == array.ndim and all(
            side is None or side == got for side, got in zip(shape, array.shape, strict=False)
        )
        if not fits:
            expected = str(tuple("any" if side is None else side for side in shape))
            refuse(where, f"shape {expected} is expected, got {array.shape}")
        if finite and array.dtype.kind == "f" and not _all_finite(array):
            refuse(where, "it has numbers that are not finite")
        if least is not None and array.size and array.min() < least:
            refuse(where, f"numbers of at least {least:g} are expected, got {array.min():g}")
        return array


def _is(value: Any, kind: type) -> bool:
    if isinstance(value, bool):  # no number
        return kind in (bool, object)
    return isinstance(value, _WIDER.get(kind, kind))


def _all_finite(array: Array) -> bool:
    flat = array.T.reshape(-1) if array.flags.f_contiguous else array.reshape(-1)
    return all(np.isfinite(flat[part]).all() for part in blocks(flat.size, _BLOCK))
