"""Tables: an encoder that makes numbers of columns as people have them, for kernel methods.

:mod:`.columns` reads tables of pandas, polars, pyarrow and lists, :mod:`.column_choice` decides
what a column is, and :mod:`.column_parts` has what it becomes.
"""

from ..persistence.known_classes import register_transformers
from .table_encoder import TableEncoder

__all__ = ["TableEncoder"]

register_transformers(TableEncoder)
