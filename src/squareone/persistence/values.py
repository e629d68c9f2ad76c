"""Values as JSON and tensors: numbers, texts, lists, arrays, and objects of a few known classes.

JSON has what it can say itself. The rest are objects with one key that begins with ``$``:

==============  ================================================================================
``$tensor``     an array of numbers, by the name of its tensor; text of a fixed width as code
                points, marked ``text``; with ``order`` F where it was in columns
``$objects``    an array of other things: a list, with the ``shape``
``$scalar``     a NumPy number or text: its type, with the ``value``
``$float``      ``inf``, ``-inf`` or ``nan``
``$tuple``      a list
``$dict``       pairs, where keys are not plain texts
``$slice``      start, stop, step
``$dtype``      a NumPy type of array elements
``$type``       a NumPy or Python type of numbers
``$object``     the name of a class, with its ``parameters``, and what is ``fitted``
==============  ================================================================================

An object is made by calling the class that a table in this program has under that name. No name in
a file is ever imported or evaluated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from .checked_fields import Fields
from .container import DTYPES

__all__ = [
    "DEEPEST",
    "DTYPE",
    "LARGEST_INTEGER",
    "MOST_OBJECTS",
    "NOT_FINITE",
    "SCALARS",
    "TYPES",
    "Known",
    "Table",
    "points",
]

#: Values inside values, and objects in all: a sum of a hundred kernels is deeper than any of use.
DEEPEST, MOST_OBJECTS = 100, 1000
# Integers and texts of numbers stay within what a float can hold.
LARGEST_INTEGER = 2**1023

SCALARS = {dtype.name: dtype.type for dtype in DTYPES.values()} | {"str": np.str_}
_ABSTRACT = (np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact, np.floating)
TYPES: dict[str, type] = {
    **{f"numpy.{name}": kind for name, kind in SCALARS.items()},
    **{f"numpy.{kind.__name__}": kind for kind in (*_ABSTRACT, np.datetime64, np.timedelta64)},
    "numpy.object": np.object_,
    **{kind.__name__: kind for kind in (bool, int, float, str, object)},
}
DTYPE = re.compile(r"[<>|=]?([biuf][1-8]|U[0-9]{1,4}|[?O])")
NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@dataclass(frozen=True)
class Known:
    """A class whose objects can be written: what makes one again, and what it has learned.

    Attributes
    ----------
    kind : type
        Has ``get_params`` and takes the same parameters.
    fitted : callable
        From an object to a dictionary of what it has learned.
    restore : callable
        From a new object and that dictionary, which came from a file and is to be checked.
    spare : tuple of str
        Parameters that are not needed once it is fitted.
    refuse : callable
        Raises where an object cannot be written although all its parameters can.
    attributes : tuple of str
        Parameters of a class that has no ``get_params``: they are attributes of the same name.
    """

    kind: type[Any]
    fitted: Callable[[Any], dict[str, Any]]
    restore: Callable[[Any, Fields], None]
    spare: tuple[str, ...] = ()
    refuse: Callable[[Any], object] = bool
    attributes: tuple[str, ...] = ()

    def parameters(self, value: Any) -> dict[str, Any]:
        """The parameters of an object of this class."""
        if self.attributes:
            return {name: getattr(value, name) for name in self.attributes}
        return value.get_params(deep=False)

    def names(self) -> list[str]:
        """The names of the parameters."""
        return list(self.attributes) or list(self.kind._get_param_names())


#: Classes by name; a table of this program.
Table = Callable[[str], Known | None]


def points(array: Array) -> np.dtype:
    """The type of the code points of text, in its byte order."""
    return np.dtype(np.uint32).newbyteorder("=" if array.dtype.isnative else "S")
