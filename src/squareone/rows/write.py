"""Writing rows to a file, block by block."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..atomic_write import replacing
from .array_rows import ArrayRows
from .checks import import_extra
from .stream import Stream

# Bytes in a block that a stream is written with.
_BLOCK_BYTES = 16_777_216


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
            import_extra("pyarrow.parquet", f"writing {self.path.name!r}")
        self._open = ExitStack()
        self._written = 0
        self._append: Callable[[Array], Any] | None = None
        self._kind: tuple[Any, ...] = ()

    def __enter__(self) -> BlockWriter:
        self._file = self._open.enter_context(replacing(self.path))
        return self

    def write(self, block: Array) -> None:
        """Append numbers or texts, (b,) for one column or (b, t)."""
        block = np.asarray(block)
        self._check(block)
        if self._append is None:
            self._append = _FORMATS[self.path.suffix](self, block)
        self._append(block)
        self._written += block.shape[0]

    def __exit__(self, *raised: Any) -> None:
        if raised[0] is not None or self._written == self.n:
            self._open.__exit__(*raised)
            return
        with self._open:  # an error in here leaves the old file as it was
            msg = f"{self._written:,} rows were written where {self.n:,} were announced"
            raise ValueError(msg)

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


# How blocks become bytes: each is given the first block, and gives what writes a block.


def _npy_blocks(writer: BlockWriter, first: Array) -> Callable[[Array], Any]:
    """NumPy's format: a header that says how many rows there will be, and the numbers."""
    if first.dtype.kind not in "biuf":
        msg = f"{writer.path.name!r} takes numbers: write texts to a .csv or .parquet file"
        raise ValueError(msg)
    header = {
        "descr": np.lib.format.dtype_to_descr(first.dtype),
        "fortran_order": False,
        "shape": (writer.n, *first.shape[1:]),
    }
    file, dtype = writer._file, first.dtype
    np.lib.format.write_array_header_2_0(file, header)
    return lambda block: file.write(np.ascontiguousarray(block, dtype=dtype).data)


def _csv_lines(writer: BlockWriter, first: Array) -> Callable[[Array], Any]:
    """Lines of text; numbers with as many digits as it takes to read them back unchanged."""
    text = io.TextIOWrapper(writer._file, "utf-8", newline="")
    writer._open.callback(text.detach)  # the file itself is closed by who opened it
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(writer.columns)

    def write(block: Array) -> None:
        rows = block[:, None] if block.ndim == 1 else block
        # a float32 as such is shorter than the float64 that it is
        rows = rows.astype(str) if rows.dtype == np.float32 else rows
        lines.writerows(rows.tolist())

    return write


def _parquet_groups(writer: BlockWriter, first: Array) -> Callable[[Array], Any]:
    """A row group for every block."""
    pyarrow = import_extra("pyarrow", f"writing {writer.path.name!r}")
    parquet = import_extra("pyarrow.parquet", f"writing {writer.path.name!r}")
    number = first.dtype.kind in "biuf"
    kind = pyarrow.from_numpy_dtype(first.dtype) if number else pyarrow.string()
    schema = pyarrow.schema([(name, kind) for name in writer.columns])
    groups = writer._open.enter_context(parquet.ParquetWriter(writer._file, schema))

    def write(block: Array) -> None:
        columns = [block] if block.ndim == 1 else list(block.T)
        arrays = [pyarrow.array(np.ascontiguousarray(column)).cast(kind) for column in columns]
        groups.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))

    return write


_FORMATS = {".npy": _npy_blocks, ".csv": _csv_lines, ".parquet": _parquet_groups}


def save_rows(stream: Stream, path: str | os.PathLike[str]) -> ArrayRows:
    r"""Write the rows of a stream to a ``.npy`` file, and give the rows of that file.

    For text files, which are parsed in every pass, and for tables with a transformer: a fit passes
    over its rows several times.

    Parameters
    ----------
    stream : Stream
        Rows (n, d), not sparse: a ``.npy`` file has every zero.
    path : path
        A name that ends in ``.npy``. It is replaced once all rows are written.

    Returns
    -------
    ArrayRows
        The same rows, mapped into memory.

    Notes
    -----
    **Cost**: one pass; n·d numbers on disk, a few blocks of 16 megabytes in memory.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from squareone.rows import open_rows, save_rows
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "small.csv").write_text("a,b\n1,0.5\n2,1.5\n")
    ...     rows = save_rows(open_rows(f"{folder}/small.csv"), f"{folder}/small.npy")
    ...     print(rows)
    ...     float(rows[[1]].sum())
    ArrayRows('small.npy': 2 rows, 2 features, float64)
    3.5
    """
    if Path(os.fsdecode(path)).suffix != ".npy":
        msg = f"{Path(os.fsdecode(path)).name!r}: a name that ends in .npy is expected"
        raise ValueError(msg)
    n, d = stream.shape
    if stream.sparse:
        msg = (
            f"{stream!r} is sparse, and a .npy file would have all {n * d:,} numbers: read it as "
            "it is, or in memory (stream[:]) if it fits"
        )
        raise TypeError(msg)
    size = max(1, _BLOCK_BYTES // (d * stream.dtype.itemsize))
    with BlockWriter(path, [str(i) for i in range(d)], n) as file:
        for _, block in stream.blocks(size):
            file.write(block)
    return ArrayRows(np.load(path, mmap_mode="r"), feature_names=stream.feature_names)
