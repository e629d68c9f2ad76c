"""Rows of svmlight files: text with the features that a row has."""

from __future__ import annotations

import bz2
import gzip
import io
import os
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from scipy.sparse import csr_array

from ..arrays import Array
from .checks import check_unchanged, existing_file, requested_type
from .stream import Blocks, Stream

# Bytes that are parsed at once.
_BYTES = 4_194_304


class SVMLightRows(Stream):
    r"""Sparse rows of a text file in the format of svmlight and libsvm (also ``.gz``, ``.bz2``).

    Each line is a label and the numbers that are not zero, ``1 3:0.5 17:2``. Whether the first
    feature is called 0 or 1 is found as scikit-learn does: 0 if any line has it.

    Parameters
    ----------
    path : path
        The file.
    n_features : int, optional
        Features d; by default as many as the file has. What is predicted later has to have as many.
    dtype : {float64, float32}, optional
        float64 by default.

    Attributes
    ----------
    labels : array (n,)
        The labels, float64, in memory.

    Notes
    -----
    Lines are parsed by scikit-learn's compiled ``load_svmlight_file``, four megabytes at a time.

    **Cost**: opening parses the file once, for the labels and the numbers of rows and features; so
    does every pass. Where rows are asked for by number only the parts they are in are parsed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from squareone.rows import SVMLightRows
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.svm"
    ...     _ = path.write_text("1 1:0.5 3:2\n-1 2:1.5\n")
    ...     rows = SVMLightRows(path)
    ...     print(rows)
    ...     float(sum(block.sum() for _, block in rows.blocks(1)))
    SVMLightRows('small.svm': 2 rows, 3 features, sparse float64)
    4.0
    """

    sparse = True

    def __init__(
        self, path: str | os.PathLike[str], *, n_features: int | None = None, dtype: Any = None
    ) -> None:
        self.path = existing_file(path)
        self._source, self._bytes = repr(self.path.name), self.path.stat().st_size
        self.dtype = requested_type(dtype) or np.dtype(np.float64)
        self._offsets, self._starts = [0], np.zeros(1, np.int64)
        self._stored, first, last = self._survey()
        self._base = 0 if first == 0 else 1
        width = max(last + 1 - self._base, 0)
        if n_features is not None and n_features < width:
            msg = f"n_features={n_features}: {self._source} has {width} features"
            raise ValueError(msg)
        self.shape = (int(self._starts[-1]), width if n_features is None else int(n_features))
        self._check_shape()

    def _survey(self) -> tuple[int, int, int]:
        """Where parts and rows begin, and the labels; numbers stored, first and last feature."""
        stored, first, last = 0, 1, 0
        counts, labels = [0], [np.empty(0)]
        with self._file() as file:
            for text in _parts(file):
                rows, part = self._parsed(text)
                self._offsets.append(self._offsets[-1] + len(text))
                counts.append(part.size)
                labels.append(part)
                stored += rows.nnz
                if rows.nnz:
                    first, last = min(first, rows.indices.min()), max(last, rows.indices.max())
        self._starts, self.labels = np.cumsum(counts), np.concatenate(labels)
        return int(stored), int(first), int(last)

    def _file(self) -> BinaryIO:
        openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
        return openers.get(self.path.suffix, open)(self.path, "rb")

    def _parsed(self, text: bytes) -> tuple[Any, Array]:
        """Rows and labels of some lines; features are numbered as in the file."""
        from sklearn.datasets import load_svmlight_file  # imported late: few programs need it

        try:
            return load_svmlight_file(io.BytesIO(text), zero_based=True, dtype=self.dtype)
        except ValueError as error:
            msg = (
                f"{self._source} cannot be read ({error}). Lines such as '1 3:0.5 17:2', one label "
                "and ascending features, are expected"
            )
            raise ValueError(msg) from error

    def _read(self, size: int, pieces: Sequence[int]) -> Blocks:
        check_unchanged(self.path, self._bytes, len(self))
        with self._file() as file:
            for piece in pieces:
                begin, end = self._offsets[piece : piece + 2]
                file.seek(begin)
                yield self._numbered(self._parsed(file.read(end - begin))[0])

    def _numbered(self, rows: Any) -> Any:
        """With the width of all rows, features counted from zero."""
        indices = rows.indices - rows.indices.dtype.type(self._base)
        if rows.nnz and not 0 <= indices.min() <= indices.max() < self.shape[1]:
            msg = f"{self._source} has other features than it had. {self._remedy}"
            raise ValueError(msg)
        return csr_array((rows.data, indices, rows.indptr), shape=(rows.shape[0], self.shape[1]))


def _parts(file: BinaryIO) -> Iterator[bytes]:
    """Some megabytes of whole lines at a time."""
    while text := file.read(_BYTES):
        yield text + file.readline()
