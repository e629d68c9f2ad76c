"""Rows: the data as it comes in, dense or sparse, in memory or not, behind one protocol.

What is too large for the memory is a :class:`Stream`: :func:`open_rows` makes one of a file, and an
estimator takes it in place of an array.
"""

from .array_rows import ArrayRows
from .base import Rows, rows_of
from .dense import DenseRows
from .generated import GeneratedRows
from .sparse import SparseRows, canonical
from .stream import Stream
from .streamed import StreamedRows

__all__ = [
    "ArrayRows",
    "DenseRows",
    "GeneratedRows",
    "Rows",
    "SparseRows",
    "Stream",
    "StreamedRows",
    "canonical",
    "rows_of",
]
