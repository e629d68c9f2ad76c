"""Tables: an encoder that makes numbers of columns as people have them, for kernel methods.

:mod:`.columns` reads tables of pandas, polars, pyarrow and lists, :mod:`.column_choice` decides
what a column is, and :mod:`.column_parts` has what it becomes. :func:`read_table` reads a file.
"""

from ..persistence.known_classes import register_estimators, register_transformers
from ..rows.table_reader import TableFile, read_table
from .column_choice import Unseen
from .table_classifier import TableClassifier
from .table_encoder import ColumnSummary, TableEncoder
from .table_regressor import TableRegressor

__all__ = [
    "ColumnSummary",
    "TableClassifier",
    "TableEncoder",
    "TableFile",
    "TableRegressor",
    "Unseen",
    "read_table",
]

register_transformers(TableEncoder)
register_estimators(TableClassifier, TableRegressor)
