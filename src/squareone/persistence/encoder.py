"""The encoder of files: values to JSON and tensors; see :mod:`~squareone.persistence.values`."""

from __future__ import annotations

import math
from collections import UserList
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..arrays import Array
from .container import DTYPES
from .values import (
    DEEPEST,
    DTYPE,
    LARGEST_INTEGER,
    MOST_OBJECTS,
    SCALARS,
    TYPES,
    Known,
    Table,
    points,
)

__all__ = ["Writer"]

_WRITABLE = (
    "None, numbers, texts, lists, tuples, dictionaries, NumPy arrays of numbers and texts, and "
    "kernels of squareone can be written"
)


class Writer:
    """Values to JSON; the arrays on the way are collected in ``tensors``.

    Parameters
    ----------
    known : callable
        From the name of a class to what is known about it, or None.
    refusals : list of str, optional
        With it nothing is raised: what cannot be written is said here, and only parameters are
        looked at, so that an object need not be fitted.
    """

    def __init__(self, known: Table, refusals: list[str] | None = None) -> None:
        self.tensors: dict[str, Array] = {}
        self.refusals = refusals
        self._known = known
        self._objects = 0

    def encode(self, value: Any, where: str, depth: int = 0) -> Any:
        """``value`` as JSON; ``where`` it is, for the names of tensors and for messages."""
        if depth > DEEPEST:
            self._refuse(value, where, f"more than {DEEPEST} values are inside each other here")
        if value is None or isinstance(value, bool):
            return value
        if type(value) in (np.ndarray, np.memmap):  # others have a mask, or another product
            return self._array(np.asarray(value), where, depth)
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if type(value) in _PLAIN:
            return _PLAIN[type(value)](self, value, where, depth)
        if isinstance(value, UserList):  # scikit-learn has one for columns
            return self._list(value.data, where, depth)
        if isinstance(value, np.dtype) and DTYPE.fullmatch(value.str):
            return {"$dtype": value.str}
        return self._object(value, where, depth)

    def _integer(self, value: int, where: str, depth: int) -> int:
        if abs(value) >= LARGEST_INTEGER:
            self._refuse(value, where, "it is an integer beyond the range of a float")
        return value

    def _float(self, value: float, where: str, depth: int) -> Any:
        return value if math.isfinite(value) else {"$float": str(value)}

    def _list(self, values: Any, where: str, depth: int) -> list[Any]:
        encoded = []
        for i, value in enumerate(values):
            # (name, step) is better known by its name
            named = isinstance(value, tuple) and value and isinstance(value[0], str)
            place = f"{where}.{value[0] if named else i}"
            encoded.append(self.attempt(value, place, depth + 1))
        return encoded

    def attempt(self, value: Any, where: str, depth: int) -> Any:
        """``value`` as JSON; where refusals are collected, None for what cannot be written."""
        try:
            return self.encode(value, where, depth)
        except (TypeError, ValueError) as error:
            if self.refusals is None:
                raise
            self.refusals.append(str(error))
            return None

    def _tuple(self, values: tuple[Any, ...], where: str, depth: int) -> dict[str, Any]:
        return {"$tuple": self._list(values, where, depth)}

    def _dict(self, values: dict[Any, Any], where: str, depth: int) -> dict[str, Any]:
        if all(type(key) is str and not key.startswith("$") for key in values):
            return {k: self.encode(v, f"{where}.{k}", depth + 1) for k, v in values.items()}
        return {"$dict": self._list([list(pair) for pair in values.items()], where, depth)}

    def _slice(self, value: slice, where: str, depth: int) -> dict[str, Any]:
        return {"$slice": self._list([value.start, value.stop, value.step], where, depth)}

    def _type(self, value: type, where: str, depth: int) -> dict[str, Any]:
        name = next((name for name, kind in TYPES.items() if kind is value), None)
        if name is None:
            self._refuse(value, where)
        return {"$type": name}

    def _scalar(self, value: np.generic, where: str) -> dict[str, Any]:
        name = "str" if isinstance(value, np.str_) else value.dtype.name
        if name not in SCALARS:
            self._refuse(value, where)
        return {"$scalar": name, "value": self.encode(value.item(), where)}

    def _array(self, array: Array, where: str, depth: int) -> dict[str, Any]:
        if array.dtype.kind == "O":
            values = self._list(array.reshape(-1).tolist(), where, depth)
            return {"$objects": values, "shape": list(array.shape)}
        node: dict[str, Any] = {}
        if array.dtype.kind == "U":
            node["text"] = True
            array = array.copy(order="C").reshape(*array.shape, 1).view(points(array))
        elif not array.flags.c_contiguous and array.strides[0] < array.strides[-1]:
            node["order"] = "F"  # products with it round as they did
            array = array.T
        if not array.dtype.isnative:
            node["swapped"] = True
        array = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
        if array.dtype not in DTYPES.values():
            self._refuse(array, where, f"it is an array of {array.dtype}")
        name = where
        while name in self.tensors:
            name += "'"
        self.tensors[name] = array
        return {"$tensor": name, **node}

    def _object(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        name = type(value).__name__
        known = self._known(name)
        if known is None or known.kind is not type(value):
            self._refuse(value, where)
        self._objects += 1
        if self._objects > MOST_OBJECTS:
            self._refuse(value, where, f"there are more than {MOST_OBJECTS} kernels or steps")
        known.refuse(value)
        inside = f"{where}." if where else ""
        parameters = {
            key: self._parameter(parameter, key, known, f"{inside}parameters.{key}", depth + 1)
            for key, parameter in known.parameters(value).items()
        }
        node = {"$object": name, "parameters": parameters}
        fitted = known.fitted(value) if self.refusals is None else {}
        if fitted:
            node["fitted"] = self._dict(fitted, f"{inside}fitted", depth)
        return node

    def _parameter(self, value: Any, key: str, known: Known, where: str, depth: int) -> Any:
        if key not in known.spare:
            return self.attempt(value, where, depth)
        try:
            return self.encode(value, where, depth)
        except TypeError as error:
            when = "The fitted model" if self.refusals is None else "Once it is fitted, the model"
            msg = (
                f"{error}. {when} does not need it: set_params({key}=None) of the "
                f"{known.kind.__name__} first, or a number or text in its place"
            )
            if self.refusals is None:
                raise TypeError(msg) from error
            self.refusals.append(msg)
            return None

    @staticmethod
    def _refuse(value: Any, where: str, why: str = "") -> NoReturn:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
        why = why or f"{_WRITABLE}, but no other object: that would run code when it is loaded"
        msg = f"{where or 'the model'} is {shown} of type {type(value).__name__}: {why}"
        raise TypeError(msg)


_PLAIN: dict[type, Callable[[Writer, Any, str, int], Any]] = {
    str: lambda writer, value, where, depth: value,
    int: Writer._integer,
    float: Writer._float,
    list: Writer._list,
    tuple: Writer._tuple,
    dict: Writer._dict,
    slice: Writer._slice,
    type: Writer._type,
}
