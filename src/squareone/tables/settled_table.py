"""Tables whose columns were looked at as a whole, so that every part of one has the same columns.

A column with one word among numbers is of words. A part of its rows that does not have that word
would be of numbers, and the rows that are left out could not be read by what such a part teaches.
What a column is says nothing of its values, so that folds may know it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .column_choice import stays_words
from .columns import Column, Table, columns_of

__all__ = ["SettledTable", "settled"]


class SettledTable:
    """A table in which some columns are words, in every part of it.

    Parameters
    ----------
    X : DataFrame, Table, array or list (n, d)
    words : frozenset of int
        The places of these columns.
    """

    def __init__(self, X: Any, words: frozenset[int]) -> None:
        self.X, self.settled_words = X, words

    def __len__(self) -> int:
        return len(self.X)

    @property
    def schema(self) -> Any:
        """That of an Arrow table; it says whether this is mapped from the disk."""
        return getattr(self.X, "schema", None)

    @property
    def num_rows(self) -> int:
        """Rows, as an Arrow table has them."""
        return len(self.X)

    def slice(self, start: int, length: int) -> SettledTable:
        """Rows in one piece of an Arrow table."""
        return SettledTable(self.X.slice(start, length), self.settled_words)

    def columns(self, owner: str) -> Table:
        """What :func:`columns_of` gives; ``owner`` is who asks, for messages."""
        table = columns_of(self.X, owner)
        return Table(table.n, table.d, table.names, lambda j, name: self._read(table, j, name))

    def _read(self, table: Table, place: int, name: str) -> Column:
        column = table.column(place, name)
        if place not in self.settled_words:
            return column
        if column.content in ("numbers", "booleans"):
            column = column.as_words()
        return replace(column, settled=column.content == "words")


def settled(X: Any, owner: str) -> Any:
    """X itself, or a :class:`SettledTable` of it where a part could be taken for something else.

    **Cost**: a pass over columns of words, with one call of ``float`` for every level.
    """
    if isinstance(X, SettledTable) or issparse(X) or _has_one_type(X):
        return X
    words = frozenset(place for place, column in _columns(X, owner) if stays_words(column))
    return SettledTable(X, words) if words else X


def _has_one_type(X: Any) -> bool:
    """Whether X is an array of numbers."""
    return isinstance(X, np.ndarray) and X.dtype.kind not in "OUS"


def _columns(X: Any, owner: str) -> Iterator[tuple[int, Column]]:
    """Columns that may be of words, with their places; of Arrow's, each level once."""
    table = columns_of(X, owner)
    names = table.names or [f"x{place}" for place in range(table.d)]
    arrow = sys.modules.get("pyarrow")
    if arrow is None or not isinstance(X, arrow.Table):
        yield from ((place, table.column(place, name)) for place, name in enumerate(names))
        return
    for place, field in enumerate(X.schema):
        if arrow.types.is_string(field.type) or arrow.types.is_large_string(field.type):
            levels = arrow.table([X.column(place).unique()], schema=arrow.schema([field]))
            yield place, columns_of(levels, owner).column(0, names[place])
