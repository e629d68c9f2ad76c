"""Files: numbers, texts and arrays in a safetensors file, and back again, everything checked.

Nothing here knows what an estimator is. :mod:`~squareone.files.container` writes and reads the
bytes, :mod:`~squareone.files.values` says how values become JSON and tensors, and
:class:`~squareone.files.fields.Fields` takes what came from a file apart, looking at every piece.
"""

from ..replacing import replacing
from .container import read, write
from .fields import FLOATS, INTEGERS, Fields, refuse
from .reader import Reader
from .values import Known
from .writer import Writer

__all__ = [
    "FLOATS",
    "INTEGERS",
    "Fields",
    "Known",
    "Reader",
    "Writer",
    "read",
    "refuse",
    "replacing",
    "write",
]
