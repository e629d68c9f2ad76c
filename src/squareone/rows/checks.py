"""Checks of what is read: that files are there, that numbers are finite, floating and in scale."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..arrays import Array
from ..errors import ScaleError
from .base import rows_of
from .sparse import canonical

# --- files ---


FilePath = str | os.PathLike[str]


def existing_file(path: FilePath) -> Path:
    """The path of a file that is there; it stays the same in another working folder."""
    found = Path(os.fsdecode(path)).absolute()
    if found.is_dir():
        msg = f"{os.fsdecode(path)!r} is a folder: the name of a file is expected"
        raise IsADirectoryError(msg)
    if not found.exists():
        msg = f"there is no file {os.fsdecode(path)!r}"
        raise FileNotFoundError(msg)
    return found


def check_unchanged(path: Path, size: int, n: int) -> None:
    """Refuse a file that has not the ``size`` in bytes that it had, with n rows.

    Places in it that were remembered would be others, and reading behind the end of a file that is
    mapped into memory would end the process.
    """
    found = existing_file(path).stat().st_size
    if found != size:
        msg = (
            f"{path.name!r} has {found:,} bytes where it had {size:,}, with {n:,} rows. It was "
            "changed since it was opened: open it again"
        )
        raise ValueError(msg)


def import_extra(module: str, purpose: str) -> Any:
    """A module of the extra ``files``, imported late; where it is missing, what to install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        needed = module.partition(".")[0]
        msg = f'{purpose} needs {needed}, which is not installed: pip install "squareone[files]"'
        raise ImportError(msg, name=needed) from error


# --- collections of Dask ---


def is_dask(X: Any) -> bool:
    """Whether it is an array or a frame of Dask: nothing of Dask is imported to find out."""
    return all(hasattr(type(X), name) for name in ("__dask_graph__", "to_delayed", "ndim"))


# --- types of numbers ---

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def float_type(dtype: Any) -> np.dtype | None:
    """float32 for numbers of 16 and 32 bits, float64 for others, integers too; None: no numbers."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "biuf":
        return None
    return _FLOATS[0] if dtype.kind == "f" and dtype.itemsize <= 4 else _FLOATS[1]


def requested_type(dtype: Any) -> np.dtype | None:
    """The floating type a user asked for, if any was."""
    if dtype is None or np.dtype(dtype) in _FLOATS:
        return None if dtype is None else np.dtype(dtype)
    msg = f"dtype={dtype!r}: float32 or float64 is expected"
    raise ValueError(msg)


def not_numeric(column: str, source: str, kind: Any) -> ValueError:
    """What to say of a column of text, or of times, which would be numbers of any unit."""
    msg = (
        f"column {column} of {source} is not numeric ({kind}). Encode it first, for instance with "
        "sklearn.preprocessing.OneHotEncoder or TargetEncoder; where it is opened by name, "
        "columns= leaves it out and transformer= takes what encodes it"
    )
    return ValueError(msg)


# --- blocks ---


def as_floats(block: Any, dtype: np.dtype, source: str) -> Any:
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
        block = _floats_of_objects(block, source)
    return np.ascontiguousarray(block, dtype=dtype)


def _floats_of_objects(block: Array, source: str) -> Array:
    """Python's numbers in an array of objects are numbers."""
    if block.dtype.kind != "O":
        raise not_numeric("0", source, block.dtype)
    for position in range(block.shape[1]):
        try:
            block[:, position].astype(np.float64)
        except (TypeError, ValueError) as error:
            raise not_numeric(str(position), source, error) from error
    return block.astype(np.float64)


def first_not_finite(block: Any) -> tuple[int, int, float] | None:
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


# --- rows before a fit ---


def in_memory(X: Any) -> Any:
    """Rows that a solver has to hold all of: an array or a CSR matrix."""
    from .stream import Stream

    return X[:] if isinstance(X, Stream) else X


#: How to rescale what is out of scale.
_REMEDIES = {
    "X": "Rescale X, for instance with sklearn.preprocessing.StandardScaler",
    "y": "Rescale y, for instance with sklearn.compose.TransformedTargetRegressor",
    "the kernel matrix": "Divide the kernel matrix, and alpha, by a number of that size",
    "the kernel": "Rescale X, for instance with sklearn.preprocessing.StandardScaler",
    "sample_weight": "Divide the weights, and alpha, by a number of that size",
}


def check_scale(values: Any, name: str, dtype: np.dtype | None = None) -> None:
    """Refuse magnitudes whose squares leave the range of the type they are computed in."""
    peak = rows_of(values).peak()
    info = np.finfo(dtype or values.dtype)
    low, high = float(np.sqrt(info.tiny)) * 1e3, float(np.sqrt(info.max)) * 1e-3
    if peak == 0 or low <= peak <= high:
        return
    kind = "large" if peak > high else "small"
    msg = (
        f"the values of {name} are too {kind} for {info.dtype.name}: the largest magnitude is "
        f"{peak:.3g}, and squares need it between {low:.3g} and {high:.3g}. {_REMEDIES[name]}"
    )
    raise ScaleError(msg)


def refuse_masked(values: Any, name: str) -> None:
    """A mask would be dropped silently by NumPy: refuse it."""
    if isinstance(values, np.ma.MaskedArray):
        msg = (
            f"{name} is a masked array, and its mask would be ignored: fill it "
            f"({name}.filled(value)), or drop the masked rows"
        )
        raise ValueError(msg)
