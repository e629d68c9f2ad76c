"""Rows of Arrow IPC files, which are called Feather too."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..arrays import Array
from .extras import extra
from .table import TableRows


class ArrowRows(TableRows):
    """Rows of an Arrow IPC file (Feather, version 2), mapped into memory.

    Record batches that are not compressed are read where they are in the file; compressed ones are
    decompressed one by one.

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

    Notes
    -----
    **Cost**: a pass copies the columns into blocks. Opening looks at the length of every record
    batch; only those with rows that are asked for by number are read.

    Examples
    --------
    >>> import pandas
    >>> from tempfile import TemporaryDirectory
    >>> from squareone.rows import ArrowRows
    >>> with TemporaryDirectory() as folder:
    ...     pandas.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}).to_feather(f"{folder}/small.feather")
    ...     rows = ArrowRows(f"{folder}/small.feather", dtype="float32")
    ...     print(rows)
    ...     float(rows[[1]].sum())
    ArrowRows('small.feather': 2 rows, 2 features, float32)
    3.5
    """

    @contextmanager
    def _file(self, columns: list[str] | None = None) -> Iterator[Any]:
        """All columns, or some: others are neither read nor decompressed."""
        pyarrow = extra("pyarrow", f"reading {self._source}")
        ipc = extra("pyarrow.ipc", f"reading {self._source}")
        fields = [self._schema.get_field_index(name) for name in columns or []]
        options = ipc.IpcReadOptions(included_fields=fields, use_threads=self._threads)
        with pyarrow.memory_map(str(self.path)) as source:
            try:
                reader = ipc.open_file(source, options=options)
            except pyarrow.ArrowInvalid as error:
                msg = f"{self._source} is no Arrow IPC file ({error})"
                raise ValueError(msg) from error
            yield reader

    def _open(self) -> Any:
        with self._file() as file:
            return file.schema

    def _count(self) -> int:
        with self._file(self._schema.names[:1]) as file:  # one column knows how long they are
            self._starts = _batch_bounds(file)
        return int(self._starts[-1])

    def _bounds(self) -> Array:
        return self._starts

    def _batches(
        self, size: int, pieces: Sequence[int], columns: list[str]
    ) -> Generator[Any, None, None]:
        with self._file(columns) as file:
            if file.num_record_batches != self._starts.size - 1:
                self._refuse_length(f"{_batch_bounds(file)[-1]:,}", self.shape[0])
            for piece in pieces:
                yield file.get_batch(piece).select(columns)


def _batch_bounds(file: Any) -> Array:
    """Where record batches begin (b + 1,), and where the last one ends."""
    lengths = [file.get_batch(i).num_rows for i in range(file.num_record_batches)]
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
