"""Blocks as they were read become finite rows of one floating type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from ..arrays import Array
from .sparse import canonical

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def float_type(dtype: Any) -> np.dtype | None:
    """float32 for numbers of 16 and 32 bits, float64 for others, integers too; None: no numbers."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "biuf":
        return None
    return FLOATS[0] if dtype.kind == "f" and dtype.itemsize <= 4 else FLOATS[1]


def chosen_type(dtype: Any) -> np.dtype | None:
    """The floating type a user asked for, if any was."""
    if dtype is None:
        return None
    chosen = np.dtype(dtype)
    if chosen not in FLOATS:
        msg = f"dtype={dtype!r}: float32 or float64 is expected"
        raise ValueError(msg)
    return chosen


def not_numeric(column: str, source: str, kind: Any) -> ValueError:
    """What to say of a column of text, or of times, which would be numbers of any unit."""
    msg = (
        f"column {column} of {source} is not numeric ({kind}). Encode it first, for instance with "
        "sklearn.preprocessing.OneHotEncoder or TargetEncoder; where it is opened by name, "
        "columns= leaves it out and transformer= takes what encodes it"
    )
    return ValueError(msg)


def converted(block: Any, dtype: np.dtype, source: str) -> Any:
    """A C-contiguous array or a canonical CSR matrix of ``dtype``; itself where it is one."""
    if issparse(block):
        block = block.tocsr()
        if float_type(block.dtype) is None:
            raise not_numeric("any", source, block.dtype)
        return canonical(block if block.dtype == dtype else block.astype(dtype))
    if isinstance(block, np.ma.MaskedArray):
        msg = f"{source} gave a masked array, and its mask would be ignored: fill it first"
        raise ValueError(msg)
    block = np.asarray(block)
    if block.ndim != 2:
        msg = f"a block of {source} has shape {block.shape}: rows of features, (b, d), are expected"
        raise ValueError(msg)
    if float_type(block.dtype) is None:
        block = _forced(block, source)
    return np.ascontiguousarray(block, dtype=dtype)


def _forced(block: Array, source: str) -> Array:
    """Python's numbers in an array of objects are numbers."""
    for position in range(block.shape[1] if block.dtype.kind == "O" else 0):
        try:
            block[:, position].astype(np.float64)
        except (TypeError, ValueError) as error:
            raise not_numeric(str(position), source, error) from error
    if block.dtype.kind != "O":
        raise not_numeric("0", source, block.dtype)
    return block.astype(np.float64)


def first_unfinite(block: Any) -> tuple[int, int, float] | None:
    """Row, column and value of a number that is NaN or infinite."""
    values = block.data if issparse(block) else block
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):  # one pass without a mask: nearly always the answer
            return None
    wrong = np.argwhere(~np.isfinite(values))
    if not wrong.size:
        return None  # only their sum was too large
    if issparse(block):
        at = int(wrong[0, 0])
        row = int(np.searchsorted(block.indptr, at, side="right")) - 1
        return row, int(block.indices[at]), float(values[at])
    row, column = (int(i) for i in wrong[0])
    return row, column, float(values[row, column])


def joined(parts: Sequence[Any]) -> Any:
    """Blocks below each other; one of them as it is."""
    if len(parts) == 1:
        return parts[0]
    if issparse(parts[0]):
        return canonical(csr_array(vstack(parts, format="csr")))
    return np.concatenate(parts)
