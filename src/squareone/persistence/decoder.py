"""The decoder of files: JSON and tensors to values; see :mod:`~squareone.persistence.values`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arrays import Array
from .checked_fields import Fields, refuse
from .values import (
    DEEPEST,
    DTYPE,
    LARGEST_INTEGER,
    MOST_OBJECTS,
    NOT_FINITE,
    SCALARS,
    TYPES,
    Table,
    points,
)

__all__ = ["Reader"]


class Reader:
    """JSON to values, with the ``tensors`` of the same file.

    Parameters
    ----------
    known : callable
        From the name of a class to what is known about it, or None.
    tensors : mapping of array
    """

    def __init__(self, known: Table, tensors: Mapping[str, Array]) -> None:
        self._known = known
        self._tensors = dict(tensors)
        self._objects = 0

    def finish(self) -> None:
        """Refuse tensors that nobody asked for."""
        if self._tensors:
            refuse("tensors", f"{sorted(self._tensors)[:5]} belong to nothing")

    def decode(self, node: Any, where: str, depth: int = 0) -> Any:
        """The value that ``node`` stands for."""
        if depth > DEEPEST:
            refuse(where, f"more than {DEEPEST} values are inside each other")
        if isinstance(node, list):
            return [self.decode(item, f"{where}.{i}", depth + 1) for i, item in enumerate(node)]
        if isinstance(node, int) and abs(node) >= LARGEST_INTEGER:
            refuse(where, "the integer is too large")
        if not isinstance(node, dict):
            return node
        marks = [key for key in node if key.startswith("$")]
        if not marks:
            return {k: self.decode(v, f"{where}.{k}", depth + 1) for k, v in node.items()}
        if len(marks) > 1 or marks[0] not in _MARKED:
            refuse(where, f"{marks[:5]} is not known")
        with Fields(node, where) as fields:
            return _MARKED[marks[0]](self, fields, where, depth)

    def _tensor(self, fields: Fields, where: str, depth: int) -> Array:
        name = fields.take("$tensor", str)
        if name not in self._tensors:
            refuse(where, f"tensor {name!r} is missing, or used twice")
        array = self._tensors.pop(name)
        if _flag(fields, "swapped"):
            array = array.astype(array.dtype.newbyteorder("S"))
        if _flag(fields, "text"):
            if array.dtype != points(array) or not array.ndim or not array.shape[-1]:
                refuse(where, "the code points of texts are expected")
            if array.size and array.max() > 0x10FFFF:
                refuse(where, "there is no such code point")
            order = ">" if array.dtype.str.startswith(">") else "<"
            return array.view(np.dtype(f"{order}U{array.shape[-1]}"))[..., 0]
        if fields.has("order"):
            if fields.take("order", str) != "F":
                refuse(where, "the order is not known")
            return array.T
        return array

    def _objects_array(self, fields: Fields, where: str, depth: int) -> Array:
        values = self.decode(fields.take("$objects", list), where, depth)
        shape = fields.take("shape", list)
        sides = all(type(side) is int and side >= 0 for side in shape)
        if not sides or len(shape) > 8 or math.prod(shape) != len(values):
            refuse(where, f"{len(values)} values have no shape {shape[:8]}")
        array = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):  # NumPy would take lists apart
            array[i] = value
        return array.reshape(shape)

    def _scalar(self, fields: Fields, where: str, depth: int) -> Any:
        name = fields.take("$scalar", str)
        if name not in SCALARS:
            refuse(where, f"there is no number of type {name!r}")
        value = self.decode(fields.take("value", bool, int, float, str, dict), where, depth + 1)
        if isinstance(value, int) and np.dtype(SCALARS[name]).kind in "iu":
            limits = np.iinfo(name)
            if not limits.min <= value <= limits.max:  # older versions of NumPy wrap it around
                refuse(where, f"{value!r} is not a number of type {name}")
        expected = SCALARS[name](value)
        same = expected == value or (expected != expected and value != value)
        if not same or type(expected.item()) is not type(value):
            refuse(where, f"{value!r} is not a number of type {name}")
        return expected

    def _float(self, fields: Fields, where: str, depth: int) -> float:
        text = fields.take("$float", str)
        if text not in NOT_FINITE:
            refuse(where, f"{text!r} is not expected")
        return NOT_FINITE[text]

    def _tuple(self, fields: Fields, where: str, depth: int) -> tuple[Any, ...]:
        return tuple(self.decode(fields.take("$tuple", list), where, depth))

    def _dict(self, fields: Fields, where: str, depth: int) -> dict[Any, Any]:
        pairs = self.decode(fields.take("$dict", list), where, depth)
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            refuse(where, "pairs are expected")
        return dict(pairs)

    def _slice(self, fields: Fields, where: str, depth: int) -> slice:
        ends = self.decode(fields.take("$slice", list), where, depth)
        if len(ends) != 3 or not all(end is None or isinstance(end, int | str) for end in ends):
            refuse(where, "start, stop and step are expected")
        return slice(*ends)

    def _dtype(self, fields: Fields, where: str, depth: int) -> np.dtype:
        text = fields.take("$dtype", str)
        if not DTYPE.fullmatch(text):
            refuse(where, f"{text!r} is not expected")
        return np.dtype(text)

    def _type(self, fields: Fields, where: str, depth: int) -> type:
        name = fields.take("$type", str)
        if name not in TYPES:
            refuse(where, f"{name!r} is not known")
        return TYPES[name]

    def _object(self, fields: Fields, where: str, depth: int) -> Any:
        name = fields.take("$object", str)
        known = self._known(name)
        self._objects += 1
        if known is None or self._objects > MOST_OBJECTS:
            refuse(where, f"{name!r} is not known, or there are too many objects")
        inside = f"{where}." if where else ""
        parameters = self._named(fields.take("parameters", dict), f"{inside}parameters", depth)
        unknown = set(parameters) - set(known.names())
        if unknown:
            refuse(where, f"{name} has no parameters {sorted(unknown)}: upgrade squareone")
        found = known.kind(**parameters)
        fitted = {}
        if fields.has("fitted"):
            fitted = self._named(fields.take("fitted", dict), f"{inside}fitted", depth)
        with Fields(fitted, f"{inside}fitted") as learned:
            known.restore(found, learned)
        return found

    def _named(self, node: dict[str, Any], where: str, depth: int) -> dict[str, Any]:
        return {k: self.decode(v, f"{where}.{k}", depth + 1) for k, v in node.items()}


def _flag(fields: Fields, name: str) -> bool:
    return fields.has(name) and fields.take(name, bool)


_MARKED: dict[str, Callable[[Reader, Fields, str, int], Any]] = {
    "$tensor": Reader._tensor,
    "$objects": Reader._objects_array,
    "$scalar": Reader._scalar,
    "$float": Reader._float,
    "$tuple": Reader._tuple,
    "$dict": Reader._dict,
    "$slice": Reader._slice,
    "$dtype": Reader._dtype,
    "$type": Reader._type,
    "$object": Reader._object,
}
