"""Where large matrices live: in the machine's memory, as NumPy's arrays, or on a GPU, as torch's.

Nothing outside of this room knows which. A matrix is made by a :class:`Place`; what the functions
of :mod:`~squareone.arrays` and :mod:`~squareone.decompositions` do depends on what it is made of;
vectors, targets and coefficients are NumPy's wherever the matrix is.
"""

from .place import (
    HOST,
    CenterValues,
    Place,
    active_place,
    known_place,
    namespace,
    open_place,
    place_or_host,
)

__all__ = [
    "HOST",
    "CenterValues",
    "Place",
    "active_place",
    "known_place",
    "namespace",
    "open_place",
    "place_or_host",
]
