"""Rows: the data as it comes in, dense or sparse, in memory or not, behind one protocol.

What is too large for the memory is a :class:`Stream`: :func:`open_rows` makes one of a file, and an
estimator takes it in place of an array.
"""

from .array_rows import ArrayRows
from .arrow_file import ArrowRows
from .base import Rows, rows_of
from .csv_file import CSVRows
from .dense import DenseRows
from .generated import GeneratedRows
from .keeping import save_rows
from .open_rows import open_rows
from .parquet import ParquetRows
from .some import SomeRows
from .sparse import SparseRows, canonical
from .stream import Stream
from .stream_views import StreamedRows
from .svmlight import SVMLightRows
from .table import TableRows
from .write import BlockWriter

__all__ = [
    "ArrayRows",
    "ArrowRows",
    "BlockWriter",
    "CSVRows",
    "DenseRows",
    "GeneratedRows",
    "ParquetRows",
    "Rows",
    "SVMLightRows",
    "SomeRows",
    "SparseRows",
    "Stream",
    "StreamedRows",
    "TableRows",
    "canonical",
    "open_rows",
    "rows_of",
    "save_rows",
]
