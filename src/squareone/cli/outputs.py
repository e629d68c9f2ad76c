"""Where results go: files that are complete or not there, and nothing is replaced unasked."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..atomic_write import replacing
from .console import clean

__all__ = ["check_outputs", "same_file", "write_table"]

_FORMATS = (".csv", ".tsv", ".parquet", ".arrow", ".feather")


def check_outputs(paths: Sequence[Path], *, force: bool, inputs: Sequence[Path] = ()) -> None:
    """Refuse, before any work, files that are there, folders that are not, and inputs."""
    for place, path in enumerate(paths):
        if any(os.path.realpath(path) == os.path.realpath(other) for other in paths[:place]):
            msg = f"{path} would be written twice: give each of the files a name of its own"
            raise ValueError(msg)
        if any(same_file(path, given) for given in inputs):
            msg = f"{path} is read by this command: give another name with -o"
            raise ValueError(msg)
        if path.is_dir():
            msg = f"{path} is a folder: the name of a file is expected"
            raise ValueError(msg)
        if path.exists() and not path.is_file():
            msg = f"{path} is a device or a pipe: the name of a file is expected"
            raise ValueError(msg)
        if path.exists() and not force:
            msg = f"{path} exists: give another name with -o, or --force to replace it"
            raise FileExistsError(msg)
        folder = path.parent
        if not folder.is_dir():
            msg = f"the folder {folder} does not exist: make it first"
            raise FileNotFoundError(msg)
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            msg = f"nothing can be written into the folder {folder} ({error.strerror})"
            raise PermissionError(msg) from error


def same_file(first: Path, second: Path) -> bool:
    """Whether two names are of one file that is there."""
    try:
        return os.path.samefile(first, second)
    except OSError:
        return False


def format_of(path: Path) -> str:
    """The suffix that says how a table is written."""
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        msg = f"{path.name}: the name of a table ends in {', '.join(_FORMATS[:-1])} or .feather"
        raise ValueError(msg)
    return suffix


def write_table(table: Any, path: Path | None) -> None:
    """A table (m, c) to a file by its suffix, or as CSV to stdout."""
    import pyarrow
    from pyarrow import csv

    if path is None:
        stream = sys.stdout.buffer
        if stream.isatty():
            table = _legible(table)
        csv.write_csv(table, stream)
        stream.flush()
        return
    suffix = format_of(path)
    with replacing(path) as file:
        if suffix == ".parquet":
            from pyarrow import parquet

            parquet.write_table(table, file)
        elif suffix in (".arrow", ".feather"):
            with pyarrow.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
        else:
            delimiter = "\t" if suffix == ".tsv" else ","
            csv.write_csv(table, file, csv.WriteOptions(delimiter=delimiter))


def _legible(table: Any) -> Any:
    """Words without control characters, for a terminal."""
    import pyarrow

    for place, column in enumerate(table.schema):
        if pyarrow.types.is_string(column.type):
            texts = [t if t is None else clean(t) for t in table.column(place).to_pylist()]
            table = table.set_column(place, column.name, pyarrow.array(texts, pyarrow.string()))
    return table.rename_columns([clean(name) for name in table.column_names])
