"""Rows of tables in files: named columns, read as record batches."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

from ..arrays import Array
from ..threads import thread_budget
from .extras import extra
from .features import Features, NumericColumns, TransformedColumns, check_transformer
from .labels import target_values
from .places import existing
from .stream import Stream

# Rows that are looked at before the first pass, for a transformer's output.
_FIRST = 1024


class TableRows(Stream):
    """Rows of a table in a file; only the columns that are needed are read.

    Parameters
    ----------
    path : path
        The file.
    columns : sequence of str, optional
        Columns that are the features, in this order, or that the transformer is given. By default
        those the transformer was fitted on, or all.
    transformer : fitted scikit-learn transformer, optional
        Given each block as a pandas data frame; what it makes of it are the features.
    dtype : {float32, float64}, optional
        By default the common type of the columns; integers become float64.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        columns: Sequence[str] | None = None,
        transformer: Any = None,
        dtype: Any = None,
    ) -> None:
        self._place(path)
        if transformer is not None:
            check_transformer(transformer, self._source)
            if columns is None:
                columns = getattr(transformer, "feature_names_in_", None)
        self._schema = self._open()
        self._columns = self._known(_feature_columns(self._schema) if columns is None else columns)
        self.shape = (self._count(), max(1, len(self._columns)))
        self._check_shape()
        self._features = self._of_columns(transformer, dtype)
        self.shape = (self.shape[0], self._features.width)
        self.dtype, self.sparse = self._features.dtype, self._features.sparse
        self.feature_names = self._features.names
        self._check_shape()

    def _place(self, path: str | os.PathLike[str]) -> None:
        self.path = existing(path)
        self._source = repr(self.path.name)
        self._threads = thread_budget() > 1

    @classmethod
    def names(cls, path: str | os.PathLike[str]) -> list[str]:
        """The columns of a file that may be features."""
        rows = cls.__new__(cls)
        rows._place(path)
        return _feature_columns(rows._open())

    # --- what a format has to say ---

    @abstractmethod
    def _open(self) -> Any:
        """The schema of all columns. Called first; may remember what else the file says."""

    @abstractmethod
    def _count(self) -> int:
        """How many rows there are."""

    @abstractmethod
    def _batches(
        self, size: int, pieces: Sequence[int], columns: list[str]
    ) -> Generator[Any, None, None]:
        """Record batches of some columns, in their order; of about ``size`` rows where it can."""

    # --- the same for all ---

    def column(self, name: str) -> Array:
        """A whole column (n,) in memory, a target for instance: numbers as they are, or texts."""
        self._known([name])
        found = target_values(self._whole(name), name, self._source)
        if found.shape[0] != self.shape[0]:
            self._refuse_length(f"{found.shape[0]:,}", self.shape[0])
        return found

    def _whole(self, name: str) -> list[Any]:
        """A column as Arrow arrays."""
        pieces = range(self._bounds().size - 1)
        with closing(self._batches(65_536, pieces, [name])) as batches:
            return [batch.column(0) for batch in batches]

    def _of_columns(self, transformer: Any, dtype: Any) -> Features:
        if transformer is None:
            schema = [self._schema.field(name) for name in self._columns]
            pyarrow = extra("pyarrow", "reading tables")
            return NumericColumns(pyarrow.schema(schema), self._source, dtype)
        with closing(self._batches(_FIRST, [0], self._columns)) as batches:
            first = next(batches).slice(0, _FIRST)
        return TransformedColumns(transformer, first, self._source, dtype)

    def _read(self, size: int, pieces: Sequence[int]) -> Generator[Any, None, None]:
        existing(self.path)
        with closing(self._batches(size, pieces, self._columns)) as batches:
            for batch in batches:
                for start in range(0, batch.num_rows, size):
                    yield self._features(batch.slice(start, size))

    def _known(self, columns: Sequence[str]) -> list[str]:
        """The columns, each of them in the file, and once."""
        there = list(self._schema.names)
        names = [columns] if isinstance(columns, str) else [str(name) for name in columns]
        missing = [name for name in names if name not in there]
        if missing:
            some = ", ".join(map(repr, there[:20])) + (", ..." if len(there) > 20 else "")
            msg = f"{self._source} has no column {missing[0]!r}: its columns are {some}"
            raise ValueError(msg)
        for where, listed in ((self._source, there), ("columns", names)):
            repeated = sorted(name for name, count in Counter(listed).items() if count > 1)
            if repeated:
                msg = (
                    f"{where} has several columns named {', '.join(repeated)}: column names must "
                    "be unique"
                )
                raise ValueError(msg)
        return names


def _feature_columns(schema: Any) -> list[str]:
    """All columns but those in which pandas keeps the index of a data frame."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]
