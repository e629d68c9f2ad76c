"""Tables that do not fit in memory: on the disk in Arrow's format, and mapped from there.

A mapped table is a ``pyarrow.Table`` like any other, whose values the system reads when they are
looked at and lets go when memory is short. What is made of all its rows is made block by block.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from ..arrays import Array

__all__ = ["is_mapped", "map_batches", "map_rows", "map_text"]

# In the metadata of the schema of a table that is mapped.
_MARK = b"squareone mapped"
# Rows, and bytes of text, that are in memory at once.
_BLOCK, _BYTES = 50_000, 16 << 20
_CONVERSION = re.compile(
    r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to ([a-z0-9]+)"
)


def is_mapped(X: Any) -> bool:
    """Whether X is a table that was made here."""
    schema = getattr(X, "schema", None)
    return _MARK in (getattr(schema, "metadata", None) or {})


def map_batches(schema: Any, batches: Iterable[Any]) -> Any:
    """A mapped table of record batches, which are written to a file without a name.

    Codes of a dictionary become what they stand for: batches need not have the same.

    **Cost**: as many bytes on the disk, in the folder for temporary files, as the table has.
    """
    import pyarrow

    plain = [
        field.with_type(field.type.value_type) if pyarrow.types.is_dictionary(field.type) else field
        for field in schema
    ]
    schema = pyarrow.schema(plain, {**(schema.metadata or {}), _MARK: b""})
    handle, path = tempfile.mkstemp(prefix="squareone-")
    try:
        with os.fdopen(handle, "wb") as file, pyarrow.ipc.new_file(file, schema) as writer:
            for batch in batches:
                columns = [
                    column.cast(field.type)
                    for column, field in zip(batch.columns, schema, strict=True)
                ]
                writer.write_batch(pyarrow.record_batch(columns, schema=schema))
        return pyarrow.ipc.open_file(pyarrow.memory_map(path)).read_all()
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise OSError(error.errno, os.strerror(errno.ENOSPC), tempfile.gettempdir()) from error
    finally:
        with suppress(OSError):  # a mapped file can be without a name, but not everywhere
            os.unlink(path)


def map_rows(X: Any, rows: Array) -> Any:
    """Some rows (m,), ascending, of a mapped table as another one."""

    def batches() -> Iterator[Any]:
        for start in range(0, X.num_rows, _BLOCK):
            first, last = np.searchsorted(rows, [start, start + _BLOCK])
            if first < last:
                part = X.slice(start, _BLOCK).take(rows[first:last] - start)
                yield from part.combine_chunks().to_batches()

    return map_batches(X.schema, batches())


def map_text(opened: Callable[[], Any], read: Any, parse: Any, options: dict[str, Any]) -> Any:
    """A mapped table of a text file.

    Parameters
    ----------
    opened : callable
        Gives the file, from its beginning, as a context.
    read, parse : ReadOptions and ParseOptions of pyarrow
    options : dict
        Of ``ConvertOptions``.

    Notes
    -----
    The beginning says what columns hold; where a later value is something else, such as a fraction
    after whole numbers, the file is read again with a wider type of that column.
    """
    import pyarrow
    from pyarrow import csv

    types = dict(options.pop("column_types"))
    read.block_size = _BYTES
    while True:
        convert = csv.ConvertOptions(column_types=types, **options)
        with opened() as file:
            try:
                with csv.open_csv(file, read, parse, convert) as reader:
                    narrow = _narrow(reader.schema, types)
                    if not narrow:
                        return map_batches(reader.schema, reader)
                    types |= narrow
            except pyarrow.ArrowInvalid as error:
                name, wider = _wider(str(error), read.column_names)
                if not name or types.get(name) == wider:
                    raise
                types[name] = wider


def _narrow(schema: Any, types: dict[str, Any]) -> dict[str, Any]:
    """Types that columns have in place of some that later values, or what is made of them, refuse.

    Times of day are text: alone they are no dates. Columns without a value so far are numbers.
    """
    import pyarrow

    found = {}
    for field in schema:
        if pyarrow.types.is_time(field.type):
            found[field.name] = pyarrow.string()
        elif pyarrow.types.is_null(field.type):
            found[field.name] = pyarrow.float64()
    return {name: kind for name, kind in found.items() if types.get(name) != kind}


def _wider(said: str, names: list[str]) -> tuple[str, Any]:
    """The column that an error is about, and what it may be in place of what it was taken for."""
    import pyarrow

    match = _CONVERSION.search(said)
    if match is None:
        return "", None
    name = names[int(match[1])]
    return name, pyarrow.float64() if match[2].startswith("int") else pyarrow.string()
