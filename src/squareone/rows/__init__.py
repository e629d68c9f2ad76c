"""Rows: the data as it comes in, dense or sparse, behind one protocol."""

from .base import Rows, rows_of
from .dense import DenseRows
from .sparse import SparseRows, canonical

__all__ = ["DenseRows", "Rows", "SparseRows", "canonical", "rows_of"]
