"""Rolling back what a stream has learned: objects that can be put back, and arrays that grow.

Arrays have memory behind what counts, in which the next rows find room. What counts is never
changed where it lies: whoever remembers an array and how much of it counted can go back to that,
after any failure.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..arrays import Array

#: What an object held, by the names of its attributes, and what its parts held.
Snapshot = Any


class Restorable:
    """An object that can be put back to what it held; a part of all that learns from a stream.

    Attributes are numbers, texts, arrays, and lists or dictionaries of these. Arrays are *replaced*
    when something is learned, or filled behind what counts (:func:`grown`), so that it is
    enough to remember which they were: a millionth of a second, whatever their size.
    Where that would take too long, a class has a snapshot of its own.
    """

    #: Attributes that are lists or dictionaries, which are changed where they are.
    containers: ClassVar[tuple[str, ...]] = ()

    def parts(self) -> tuple[Restorable, ...]:
        """Objects inside this one that change by themselves."""
        return ()

    def snapshot(self, numbers: float) -> Snapshot:
        """What to give to :meth:`roll_back`.

        ``numbers`` are how many will be in the rows that are learned before it is done with; more
        will do. A snapshot is good until the next one is taken.
        """
        held = self.__dict__.copy()
        for name in self.containers:
            held[name] = held[name].copy()
        parts = self.parts()
        return held, [(part, part.snapshot(numbers)) for part in parts] if parts else parts

    def settle(self) -> None:
        """What was learned since the last snapshot stands: it will not be asked for any more."""
        for part in self.parts():
            part.settle()

    def roll_back(self, snapshot: Snapshot) -> None:
        """Be what it was when the snapshot was taken."""
        held, parts = snapshot
        own = self.__dict__
        own.update(held)
        for name in own.keys() - held.keys():
            del own[name]
        for part, earlier in parts:
            part.roll_back(earlier)


def grown(array: Array, shape: tuple[int, ...]) -> Array:
    """At least of this shape, and writable, with what was there in its corner.

    Twice as long where it grows; a copy where it belongs to a file or to another process.
    """
    if all(have >= need for have, need in zip(array.shape, shape, strict=True)):
        return writable(array)
    room = tuple(
        have if have >= need else max(need, 2 * have, 16)
        for have, need in zip(array.shape, shape, strict=True)
    )
    larger = np.zeros(room, array.dtype)
    larger[tuple(slice(side) for side in array.shape)] = array
    return larger


def writable(array: Array) -> Array:
    """The array, or a copy where it is read-only: mapped from a file, or shared by processes."""
    return array if array.flags.writeable else np.array(array)


def inserted(array: Array, at: int, count: int, axis: int) -> Array:
    """A copy with so many zeros at a place of one axis."""
    return np.insert(array, [at] * count, 0.0, axis=axis)
