"""Rows that take long to read, kept in a file that does not."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from .array_rows import ArrayRows
from .stream import Stream
from .write import BlockWriter

# Bytes in a block.
_BYTES = 16_777_216


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
    size = max(1, _BYTES // (d * stream.dtype.itemsize))
    with BlockWriter(path, [str(i) for i in range(d)], n) as file:
        for _, block in stream.blocks(size):
            file.write(block)
    return ArrayRows(np.load(path, mmap_mode="r"), feature_names=stream.feature_names)
