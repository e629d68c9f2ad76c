"""Rows of Parquet files."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from .extras import extra
from .table import TableRows

# Bytes that are read at once from a column: without it a whole row group would be.
_BUFFER = 262_144


class ParquetRows(TableRows):
    """Rows of a Parquet file, read row group by row group.

    How many there are stands in the file's metadata. Only the columns that are needed are read,
    and only the row groups in which rows that are asked for by number are.

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
    **Cost**: a pass decodes the columns once, on all cores. In memory are the pages that are being
    decoded and two blocks, however large the row groups are.

    Examples
    --------
    >>> import pandas
    >>> from tempfile import TemporaryDirectory
    >>> from squareone.rows import ParquetRows
    >>> with TemporaryDirectory() as folder:
    ...     table = pandas.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5]})
    ...     table.to_parquet(f"{folder}/small.parquet")
    ...     rows = ParquetRows(f"{folder}/small.parquet")
    ...     print(rows)
    ...     float(sum(block.sum() for _, block in rows.blocks(2)))
    ParquetRows('small.parquet': 3 rows, 2 features, float64)
    10.5
    """

    def _file(self) -> Any:
        parquet = extra("pyarrow.parquet", f"reading {self._source}")
        pyarrow = extra("pyarrow", f"reading {self._source}")
        try:
            return parquet.ParquetFile(self.path, buffer_size=_BUFFER, pre_buffer=False)
        except pyarrow.ArrowInvalid as error:
            msg = f"{self._source} is no Parquet file ({error})"
            raise ValueError(msg) from error

    def _open(self) -> Any:
        with self._file() as file:
            self._groups = _group_bounds(file)
            return file.schema_arrow

    def _count(self) -> int:
        return int(self._groups[-1])

    def _bounds(self) -> Array:
        return self._groups

    def _batches(
        self, size: int, pieces: Sequence[int], columns: list[str]
    ) -> Generator[Any, None, None]:
        with self._file() as file:
            found = _group_bounds(file)
            if not np.array_equal(found, self._groups):
                self._refuse_length(f"{found[-1]:,}", self.shape[0])
            groups = [int(piece) for piece in pieces]
            for batch in file.iter_batches(size, groups, columns, use_threads=self._threads):
                yield batch.select(columns)


def _group_bounds(file: Any) -> Array:
    """Where row groups begin (g + 1,), and where the last one ends."""
    metadata = file.metadata
    lengths = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
