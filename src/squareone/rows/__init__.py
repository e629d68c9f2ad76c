"""Rows: the data as it comes in, dense or sparse, in memory or not, behind one protocol.

What is too large for the memory is a :class:`Stream`: :func:`open_rows` makes one of a file, and an
estimator takes it in place of an array.
"""

from .array_rows import ArrayRows
from .base import Rows, rows_of
from .dense import DenseRows
from .generated import GeneratedRows
from .open_rows import open_rows
from .sparse import SparseRows, canonical
from .stream import Stream
from .stream_views import StreamedRows, StreamSubset
from .svmlight import SVMLightRows
from .table_files import ArrowRows, CSVRows, ParquetFolderRows, ParquetRows
from .write import BlockWriter, save_rows

__all__ = [
    "ArrayRows",
    "ArrowRows",
    "BlockWriter",
    "CSVRows",
    "DenseRows",
    "GeneratedRows",
    "ParquetFolderRows",
    "ParquetRows",
    "Rows",
    "SVMLightRows",
    "SparseRows",
    "Stream",
    "StreamSubset",
    "StreamedRows",
    "canonical",
    "open_rows",
    "rows_of",
    "save_rows",
]
