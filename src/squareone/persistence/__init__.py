"""Persistence: save and load of estimators in safetensors files, and checkpoints of fits.

Nothing here knows what an estimator learns. :mod:`~squareone.persistence.container` writes and
reads bytes, :mod:`~squareone.persistence.values` says how values become JSON and tensors, and
:class:`~squareone.persistence.checked_fields.Fields` takes what came from a file apart, looking at
every piece.
"""

from ..atomic_write import replacing
from .checked_fields import FLOATS, INTEGERS, Fields, refuse
from .container import read, write
from .decoder import Reader
from .encoder import Writer

__all__ = [
    "FLOATS",
    "INTEGERS",
    "Fields",
    "Reader",
    "Writer",
    "read",
    "refuse",
    "replacing",
    "write",
]
