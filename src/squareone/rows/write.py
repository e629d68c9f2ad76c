"""Blocks of rows written to a file, one after the other."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from ..arrays import Array
from ..atomic_write import replacing
from .extras import extra


class _Format(Protocol):
    """How blocks (b, t) become bytes; the first one has been seen when it is made."""

    def write(self, block: Array) -> None:
        """Append a block."""

    def close(self) -> None:
        """Write what comes after the last one."""


class BlockWriter:
    """A file of n rows, numbers or labels, that is written block by block.

    It is written beside ``path`` and takes its place when all rows are there; whatever goes wrong,
    the old file stays as it was and no other is left.

    Parameters
    ----------
    path : path
        A name that ends in ``.npy`` (numbers), ``.csv`` or ``.parquet`` (numbers or texts).
    columns : sequence of str
        Names of the columns (t,); ``.npy`` files have none.
    n : int
        Rows that will be written.

    Notes
    -----
    **Cost**: one block in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from squareone.rows import BlockWriter
    >>> with TemporaryDirectory() as folder:
    ...     with BlockWriter(f"{folder}/predictions.npy", ["y"], 4) as file:
    ...         file.write(np.array([1.0, 2.0, 3.0]))
    ...         file.write(np.array([4.0]))
    ...     float(np.load(f"{folder}/predictions.npy").sum())
    10.0
    """

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str], n: int) -> None:
        self.path, self.columns, self.n = Path(os.fsdecode(path)), list(columns), int(n)
        if self.path.suffix not in _FORMATS:
            msg = f"{self.path.name!r}: a name that ends in {', '.join(_FORMATS)} is expected"
            raise ValueError(msg)
        if self.path.suffix == ".parquet":
            extra("pyarrow.parquet", f"writing {self.path.name!r}")
        self._open = ExitStack()
        self._written = 0
        self._format: _Format | None = None
        self._kind: tuple[Any, ...] = ()

    def __enter__(self) -> BlockWriter:
        self._file = self._open.enter_context(replacing(self.path))
        return self

    def write(self, block: Array) -> None:
        """Append numbers or texts, (b,) for one column or (b, t)."""
        block = np.asarray(block)
        self._check(block)
        if self._format is None:
            self._format = _FORMATS[self.path.suffix](self, block)
        self._format.write(block)
        self._written += block.shape[0]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._open.__exit__(kind, error, trace)
            return
        with self._open:  # an error in here leaves the old file as it was
            if self._written != self.n:
                msg = f"{self._written:,} rows were written where {self.n:,} were announced"
                raise ValueError(msg)
            if self._format is not None:
                self._format.close()

    def _check(self, block: Array) -> None:
        width = 1 if block.ndim == 1 else block.shape[-1]
        if block.ndim not in (1, 2) or width != len(self.columns):
            msg = (
                f"a block of shape {block.shape} was given: rows of {len(self.columns)} columns "
                "are expected"
            )
            raise ValueError(msg)
        if self._written + block.shape[0] > self.n:
            msg = f"more than the {self.n:,} rows that were announced were written"
            raise ValueError(msg)
        kind = (block.ndim, block.dtype.kind in "biuf")
        if self._kind and kind != self._kind:
            msg = f"a block of {block.ndim} dimensions and type {block.dtype} follows others"
            raise ValueError(msg)
        self._kind = kind


class _Npy:
    """NumPy's format: a header that says how many rows there will be, and the numbers."""

    def __init__(self, writer: BlockWriter, first: Array) -> None:
        if first.dtype.kind not in "biuf":
            msg = f"{writer.path.name!r} takes numbers: write texts to a .csv or .parquet file"
            raise ValueError(msg)
        self._file, self._dtype = writer._file, first.dtype
        header = {
            "descr": np.lib.format.dtype_to_descr(first.dtype),
            "fortran_order": False,
            "shape": (writer.n, *first.shape[1:]),
        }
        np.lib.format.write_array_header_2_0(self._file, header)

    def write(self, block: Array) -> None:
        self._file.write(np.ascontiguousarray(block, dtype=self._dtype).data)

    def close(self) -> None:
        """Nothing comes after the numbers."""


class _Csv:
    """Lines of text; numbers with as many digits as it takes to read them back unchanged."""

    def __init__(self, writer: BlockWriter, first: Array) -> None:
        self._text = io.TextIOWrapper(writer._file, "utf-8", newline="")
        self._lines = csv.writer(self._text, lineterminator="\n")
        self._lines.writerow(writer.columns)

    def write(self, block: Array) -> None:
        rows = block[:, None] if block.ndim == 1 else block
        # a float32 as such is shorter than the float64 that it is
        rows = rows.astype(str) if rows.dtype == np.float32 else rows
        self._lines.writerows(rows.tolist())

    def close(self) -> None:
        self._text.flush()
        self._text.detach()  # the file itself is closed by who opened it


class _Parquet:
    """A row group for every block."""

    def __init__(self, writer: BlockWriter, first: Array) -> None:
        self._pyarrow = extra("pyarrow", f"writing {writer.path.name!r}")
        parquet = extra("pyarrow.parquet", f"writing {writer.path.name!r}")
        number = first.dtype.kind in "biuf"
        kind = self._pyarrow.from_numpy_dtype(first.dtype) if number else self._pyarrow.string()
        self._schema = self._pyarrow.schema([(name, kind) for name in writer.columns])
        self._writer = writer._open.enter_context(parquet.ParquetWriter(writer._file, self._schema))

    def write(self, block: Array) -> None:
        columns = [block] if block.ndim == 1 else list(block.T)
        arrays = [self._pyarrow.array(np.ascontiguousarray(column)) for column in columns]
        arrays = [array.cast(field.type) for array, field in zip(arrays, self._schema, strict=True)]
        self._writer.write_table(self._pyarrow.Table.from_arrays(arrays, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


_FORMATS: dict[str, Any] = {".npy": _Npy, ".csv": _Csv, ".parquet": _Parquet}
