"""The columns of a table as inputs of a graph: what an estimator of tables has to say of them."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ..arrays import Array
from .graph import Graph, Tensor

__all__ = ["Batch", "TableInputs"]

#: Rows as a graph takes them: for each input its values.
Batch = dict[str, Array]


class TableInputs(ABC):
    """One input for every column that predictions need, and what becomes of it."""

    @abstractmethod
    def rows(self, graph: Graph, dtype: np.dtype) -> Tensor:
        """The inputs, and rows (n, k) as numbers of this type."""

    @abstractmethod
    def encoded(self, batch: Batch) -> Array:
        """The same rows (n, k) as the estimator has them."""

    @abstractmethod
    def decoded(self, rows: Array) -> Batch:
        """Inputs whose rows are about ``rows`` (n, k): levels the nearest there are."""
