"""Targets from a column of a table: numbers stay numbers, and texts texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from .extras import extra


def target_values(chunks: Sequence[Any], name: str, source: str) -> Array:
    """The values (n,) of a column that came in pieces; none of them may be missing."""
    pyarrow = extra("pyarrow", "reading tables")
    column = pyarrow.chunked_array(chunks)
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count:
        row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
        msg = (
            f"row {row:,} of the target {name!r} in {source} is missing: leave rows without a "
            "target out of the file"
        )
        raise ValueError(msg)
    if is_text(column.type):
        return _texts(column)
    if pyarrow.types.is_decimal(column.type):
        column = column.cast(pyarrow.float64())
    return column.to_numpy()


def is_text(kind: Any) -> bool:
    """Whether a column has texts."""
    types = extra("pyarrow", "reading tables").types
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _texts(column: Any) -> Array:
    """Texts (n,) of one width: made once for each that is different."""
    coded = column.combine_chunks().dictionary_encode()
    words: Array = np.array(coded.dictionary.to_pylist(), dtype=str)
    return words[coded.indices.to_numpy()]


def parsed_texts(column: Any) -> Any:
    """What texts of a file stand for: integers, else numbers, else truth values, else themselves.

    A number that is found only after a million integers makes all of them numbers.
    """
    pyarrow = extra("pyarrow", "reading tables")
    compute = extra("pyarrow.compute", "reading tables")
    trimmed = compute.utf8_trim_whitespace(column)
    for kind in (pyarrow.int64(), pyarrow.float64(), pyarrow.bool_()):
        try:
            return trimmed.cast(kind)
        except pyarrow.ArrowInvalid:
            continue
    return column
