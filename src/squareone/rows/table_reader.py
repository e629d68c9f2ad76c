"""A table from a file, as it is: CSV, TSV, Parquet or Arrow, compressed or not, from a pipe too.

What a text file looks like is found by :mod:`.table_text`; pyarrow parses it into a table in
memory. Unlike :class:`~squareone.rows.CSVRows`, which reads numbers block by block, it keeps words,
dates and gaps.
"""

from __future__ import annotations

import errno
import hashlib
import io
import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import TableFileError
from .checks import import_extra
from .mapped_table import map_batches, map_text
from .table_text import TextFormat, find_format, line_of_row, ragged_line

__all__ = ["TableFile", "read_table"]

# Bytes from whose contents the format is found, and that are hashed or copied at once.
_SAMPLE, _CHUNK = 1 << 20, 1 << 20
# Times that a compressed file grows, about.
_UNPACKED = 4
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_ARCHIVES = {b"PK\x03\x04": "a zip archive or an Excel workbook", b"\xd0\xcf\x11\xe0": "a workbook"}
#: Suffixes that are left away to name what belongs to a table.
SUFFIXES = (
    ".gz",
    ".zst",
    ".csv",
    ".tsv",
    ".tab",
    ".txt",
    ".parquet",
    ".pq",
    ".arrow",
    ".feather",
    ".ipc",
)


@dataclass
class TableFile:
    """A table that was read from a file.

    Attributes
    ----------
    name : str
        Of the file, without its folder; ``"standard input"`` for a pipe.
    table : pyarrow.Table
    kind : str
        ``"text"``, ``"Parquet"`` or ``"Arrow"``.
    form : TextFormat or None
        Of a text file.
    compression : str
        ``"gzip"``, ``"zstd"`` or empty.
    sha256 : str
        Of the bytes of the file.
    """

    name: str
    table: Any
    kind: str
    form: TextFormat | None
    compression: str
    sha256: str
    _source: _Source = field(repr=False)

    @property
    def stem(self) -> str:
        """The name of the file without what says how it is written."""
        return stem_of(self.name)

    def said(self) -> str:
        """How the file is written, in words."""
        said = self.form.said() if self.form else self.kind
        return f"{said}, {self.compression}" if self.compression else said

    def line(self, row: int) -> int | None:
        """The line of the file in which a row (from 0 on) begins; None where there are no lines."""
        if self.form is None:
            return None
        with self._source.text(self.form) as text:
            return line_of_row(text, self.form, row)

    def error(
        self, problem: str, remedy: str, *, row: int, column: str, value: str | None = None
    ) -> TableFileError:
        """What is wrong with a cell, by its row (from 0 on)."""
        return TableFileError(
            self.name,
            problem,
            remedy,
            line=self.line(row),
            row=row + 1,
            column=column,
            value=value,
        )


def stem_of(name: str) -> str:
    """The name of a file without .csv, .gz and the like."""
    stem = name
    while True:
        base, suffix = os.path.splitext(stem)
        if not base or suffix.lower() not in SUFFIXES:
            return stem
        stem = base


def read_table(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    header_lines: int | None = None,
    words: Sequence[str] = (),
    memory: float = math.inf,
) -> TableFile:
    r"""Read a table as people have it: the format is found, and can be said.

    Parameters
    ----------
    path : str, PathLike or binary file
        CSV, TSV, Parquet or Arrow, also gzip or zstd, by what is in it; its name says nothing. A
        binary file, standard input for instance, is copied to the disk first.
    encoding, delimiter, decimal : str, optional
        Of text; found where they are not given.
    header_lines : int, optional
        Lines before the first row, of which the first has the names; 0 where there are none.
    words : sequence of str
        Columns of text that are to stay as they are written, numbers too.
    memory : float
        Bytes that the table may take; one that may take more is mapped from the disk.

    Returns
    -------
    TableFile

    Raises
    ------
    TableFileError
        Where it is no table; with the line, where there is one.

    Notes
    -----
    **Cost**: a pass for the hash and one for the values; in memory is the table, unless it is
    mapped, which takes as many bytes in the folder for temporary files.

    Examples
    --------
    >>> import io
    >>> from squareone.tables import read_table
    >>> file = read_table(io.BytesIO(b"town;rent\nRome;12,5\nBari;7,0\n"))
    >>> file.said()
    'semicolons between columns, utf-8, decimal commas'
    >>> file.table.column("rent").to_pylist()
    [12.5, 7.0]
    """
    source = _Source(path)
    sample, whole = source.sample()
    if not sample:
        remedy = "a line of names and rows below are expected"
        raise TableFileError(source.name, "the file is empty", remedy)
    form = None
    mapped = source.size * (_UNPACKED if source.compression else 1) > memory
    if sample.startswith(b"PAR1"):
        mapped = mapped or source.size * _UNPACKED > memory
        kind, table = "Parquet", _parquet(source, mapped=mapped)
    elif sample.startswith(b"ARROW1"):
        kind, table = "Arrow", _arrow(source, mapped=mapped)
    else:
        _refuse_archives(sample, source.name)
        kind = "text"
        form = find_format(
            sample,
            source.name,
            whole=whole,
            encoding=encoding,
            delimiter=delimiter,
            decimal=decimal,
            header_lines=header_lines,
        )
        try:
            table = _parsed(source, form, words, mapped=mapped)
        except _EncodingError as error:
            if encoding is not None or form.encoding == "cp1252":
                raise TableFileError(source.name, str(error), error.remedy) from error
            table, form = _as_western(source, form, words, mapped=mapped)
    if not table.num_rows:
        remedy = "rows below the line of names are expected"
        raise TableFileError(source.name, "it has no rows", remedy)
    return TableFile(source.name, table, kind, form, source.compression, source.sha256(), source)


class _EncodingError(ValueError):
    remedy = "say how its text is encoded, for instance --encoding latin-1"


class _Source:
    """The bytes of a file, on the disk, and what decompresses them."""

    def __init__(self, path: Any) -> None:
        self._copy: Any = None
        if hasattr(path, "read"):
            # an unlinked file: a pipe can be read once, and this is read several times
            self._copy = tempfile.TemporaryFile()  # noqa: SIM115
            shutil.copyfileobj(path, self._copy, _CHUNK)
            self._copy.flush()
            self.name, self.path = "standard input", None
        else:
            self.path = Path(os.fsdecode(path))
            self.name = self.path.name
            self._check(self.path)
        with self._raw() as file:
            start = file.read(4)
        self.size = os.path.getsize(self.path or self._copy.fileno())
        self.compression = "gzip" if start.startswith(_GZIP) else "zstd" if start == _ZSTD else ""

    @staticmethod
    def _check(path: Path) -> None:
        if path.is_dir():
            remedy = "the name of a file is expected"
            raise TableFileError(str(path), "this is a folder", remedy)
        if not path.exists():
            there = (
                sorted(each.name for each in path.parent.glob("*")) if path.parent.is_dir() else []
            )
            from difflib import get_close_matches

            close = get_close_matches(path.name, there, n=1)
            meant = f"is {close[0]!r} meant?" if close else "look at the name and the folder"
            raise TableFileError(str(path), "there is no such file", meant)

    def __del__(self) -> None:
        if self._copy is not None:
            self._copy.close()

    @contextmanager
    def _raw(self) -> Iterator[BinaryIO]:
        if self.path is not None:
            with open(self.path, "rb") as file:
                yield file
        else:
            with os.fdopen(os.dup(self._copy.fileno()), "rb") as file:
                file.seek(0)
                yield file

    @contextmanager
    def contents(self) -> Iterator[Any]:
        """The contents from the beginning, decompressed, as a file of pyarrow."""
        pyarrow = import_table_library("pyarrow")
        with self._raw() as raw:
            file = pyarrow.OSFile(str(self.path)) if self.path else pyarrow.PythonFile(raw, "r")
            if self.compression:
                file = pyarrow.CompressedInputStream(file, self.compression)
            with file:
                yield file

    @contextmanager
    def text(self, form: TextFormat) -> Iterator[io.TextIOBase]:
        """The contents as text."""
        with self.contents() as file, io.TextIOWrapper(file, form.encoding, newline="") as text:
            yield text

    def sample(self) -> tuple[bytes, bool]:
        """The first bytes, and whether these are all."""
        try:
            with self.contents() as file:
                sample = file.read(_SAMPLE)
                return sample, len(sample) < _SAMPLE
        except OSError as error:
            if not self.compression:
                raise
            raise TableFileError(
                self.name,
                f"it cannot be decompressed ({error})",
                "it was cut off or damaged: copy it again",
            ) from error

    def sha256(self) -> str:
        """Of the bytes as they are in the file."""
        digest = hashlib.sha256()
        with self._raw() as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        return digest.hexdigest()


def import_table_library(module: str) -> Any:
    """A module that reading tables needs; where it is missing, what to install."""
    return import_extra(module, "reading tables")


def _refuse_archives(sample: bytes, source: str) -> None:
    for start, what in _ARCHIVES.items():
        if sample.startswith(start):
            remedy = "CSV, TSV, Parquet or Arrow is expected: export the table as CSV"
            raise TableFileError(source, f"it is {what}", remedy)


def _parquet(source: _Source, *, mapped: bool) -> Any:
    parquet, pyarrow = import_table_library("pyarrow.parquet"), import_table_library("pyarrow")
    with source.contents() as file:
        data = pyarrow.BufferReader(file.read()) if source.compression else file
        try:
            if mapped:
                read = parquet.ParquetFile(data)
                return _without_index(map_batches(read.schema_arrow, read.iter_batches()))
            return _without_index(parquet.read_table(data))
        except (pyarrow.ArrowException, OSError) as error:
            _raise_if_full(error)
            raise TableFileError(
                source.name, f"it is a damaged Parquet file ({error})", "copy it again"
            ) from error


def _arrow(source: _Source, *, mapped: bool) -> Any:
    ipc, pyarrow = import_table_library("pyarrow.ipc"), import_table_library("pyarrow")
    with source.contents() as file:
        data = pyarrow.BufferReader(file.read()) if source.compression else file
        try:
            read = ipc.open_file(data)
            if mapped:
                parts = (read.get_batch(i) for i in range(read.num_record_batches))
                return _without_index(map_batches(read.schema, parts))
            return _without_index(read.read_all())
        except (pyarrow.ArrowException, OSError) as error:
            _raise_if_full(error)
            raise TableFileError(
                source.name, f"it is a damaged Arrow file ({error})", "copy it again"
            ) from error


def _raise_if_full(error: Exception) -> None:
    """A disk without room for a mapped table is no fault of the file."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        raise error


def _without_index(table: Any) -> Any:
    """Without the columns in which pandas keeps the index of a frame, and as plain columns."""
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    names = [name for name in index if isinstance(name, str) and name in table.column_names]
    return table.drop_columns(names) if names else table


def _as_western(
    source: _Source, form: TextFormat, words: Sequence[str], *, mapped: bool
) -> tuple[Any, TextFormat]:
    """The table again, whose later lines were not what its first ones are."""
    from dataclasses import replace

    again = replace(form, encoding="cp1252")
    try:
        return _parsed(source, again, words, mapped=mapped), again
    except _EncodingError as error:
        raise TableFileError(source.name, str(error), error.remedy) from error


def _parsed(source: _Source, form: TextFormat, words: Sequence[str], *, mapped: bool) -> Any:
    """The table (n, d): numbers, booleans, dates and words, as they are found."""
    csv, pyarrow = import_table_library("pyarrow.csv"), import_table_library("pyarrow")
    encoding = "utf8" if form.encoding in ("utf-8", "utf-8-sig") else form.encoding
    read = csv.ReadOptions(
        column_names=list(form.names),
        skip_rows=form.lines_above,
        skip_rows_after_names=form.header_lines,
        encoding=encoding,
    )
    parse = csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True)
    texts = {name: pyarrow.string() for name in (*form.codes, *words) if name in form.names}
    options = {
        "column_types": texts,
        "strings_can_be_null": True,
        "decimal_point": form.decimal,
        "timestamp_parsers": [csv.ISO8601],
    }
    try:
        if mapped:
            return map_text(source.contents, read, parse, options)
        convert = csv.ConvertOptions(**options)
        with source.contents() as file:
            table = csv.read_csv(file, read, parse, convert)
    except UnicodeDecodeError as error:
        msg = f"its text is not {form.encoding}"
        raise _EncodingError(msg) from error
    except pyarrow.ArrowInvalid as error:
        if "UTF8" in str(error):
            msg = f"its text is not {form.encoding}"
            raise _EncodingError(msg) from error
        raise _of_arrow(source, form, str(error)) from error
    except OSError as error:
        _raise_if_full(error)
        if not source.compression:
            raise
        raise TableFileError(
            source.name, f"it cannot be decompressed ({error})", "copy it again"
        ) from error
    times = [field.name for field in table.schema if pyarrow.types.is_time(field.type)]
    if times:  # alone they are no dates: texts, as they are written
        return _parsed(source, form, (*words, *times), mapped=mapped)
    return table


def _of_arrow(source: _Source, form: TextFormat, said: str) -> TableFileError:
    """What is wrong, with the line, which pyarrow does not know."""
    with source.text(form) as text:
        found = ragged_line(text, form)
    if found is None:
        remedy = "look at its quotation marks, or say --delimiter and --encoding"
        return TableFileError(source.name, f"it cannot be read ({said})", remedy)
    line, count, shown = found
    width = len(form.names)
    remedy = (
        'write text that holds the delimiter in quotation marks, as in "a, b", or give --delimiter'
    )
    if width == 1:
        remedy = "the names of columns are expected in the first line: delete those above, or give"
        remedy += " --delimiter"
    elif count == width + 1 and shown.endswith(form.delimiter):
        remedy = "give the last column a name, or delete the delimiter at the end of lines"
    are = "is 1 column" if width == 1 else f"are {width:,} columns"
    return TableFileError(
        source.name,
        f"{count:,} value{'s' * (count != 1)} where there {are}",
        remedy,
        line=line,
        value=shown,
    )
