"""A safetensors file: eight bytes that say how long the header is, JSON, and the numbers as such.

It is written and read here, and only the tests compare with the safetensors library: numbers then
go between the file and their arrays without a copy, and a file that shrinks while it is read is an
error, not the crash of a memory map.
"""

from __future__ import annotations

import json
import math
import os
import stat
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np

from ..arrays import Array
from ..atomic_write import replacing
from ..errors import FileFormatError

__all__ = ["DTYPES", "read", "write"]

#: The key of ``__metadata__`` that holds what is not a tensor, as JSON in a string.
KEY = "squareone"
#: Bytes of header that are read. It holds no arrays: there is room for half a million names.
LARGEST_HEADER = 2**24
#: The types of numbers there are, as safetensors calls them, in the byte order of a file.
DTYPES = {
    "BOOL": np.dtype("?"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
    "I16": np.dtype("<i2"),
    "U16": np.dtype("<u2"),
    "F16": np.dtype("<f2"),
    "I32": np.dtype("<i4"),
    "U32": np.dtype("<u4"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "U64": np.dtype("<u8"),
    "F64": np.dtype("<f8"),
}
_CODES = {dtype: code for code, dtype in DTYPES.items()}
_MOST_DIMENSIONS = 8


class _Entry(NamedTuple):
    """Where a tensor lies: bytes ``begin`` to ``end`` after the header."""

    begin: int
    end: int
    name: str
    dtype: np.dtype
    shape: tuple[int, ...]


def write(path: str | os.PathLike[str], tree: Any, tensors: dict[str, Array]) -> None:
    """Write a file at once or not at all: an interrupted save leaves the old one.

    Parameters
    ----------
    path : str or PathLike
    tree : JSON value
    tensors : dict of array
        C-contiguous, of the types in ``DTYPES``.

    Notes
    -----
    **Cost**: that of writing the bytes; no copy is made of any tensor.
    """
    # the widest first, as the library does, so that every number is aligned
    ordered = sorted(tensors.items(), key=lambda item: -item[1].itemsize)
    header = _header_bytes(tree, dict(ordered))
    with replacing(path) as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        for _, tensor in ordered:
            file.write(_bytes_of(tensor))


def _header_bytes(tree: Any, tensors: dict[str, Array]) -> bytes:
    model = json.dumps(tree, allow_nan=False, separators=(",", ":"))
    header: dict[str, Any] = {"__metadata__": {KEY: model}}
    position = 0
    for name, tensor in tensors.items():
        end = position + tensor.nbytes
        header[name] = {
            "dtype": _CODES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [position, end],
        }
        position = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > LARGEST_HEADER:
        msg = (
            f"the names, classes and parameters take {len(text):,} bytes as text: at most "
            f"{LARGEST_HEADER:,} can be written. Use joblib.dump, or fewer feature names"
        )
        raise ValueError(msg)
    return text


def _bytes_of(tensor: Array) -> memoryview:
    return tensor.reshape(-1).view(np.uint8).data


def read(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Array]]:
    """The JSON value and the tensors of a file.

    Everything the header says is compared with the size of the file before any memory is taken, so
    that it takes no more than the file has bytes, and some for the header.

    **Cost**: that of reading the bytes, once.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
        _refuse("it is not an ordinary file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        header = _header(file, size)
        tree = parse(_text(header.pop("__metadata__", None)))
        entries = sorted(_entry(name, said) for name, said in header.items())
        position, last = 0, size - file.tell()
        for entry in entries:
            if entry.begin != position:
                _refuse(f"tensor {entry.name!r} begins at byte {entry.begin}, not at {position}")
            position = entry.end
        if position != last:
            _refuse(
                f"its tensors should take {position:,} bytes, and {last:,} are there: "
                "it is cut off, or something was added to it"
            )
        return tree, {entry.name: _tensor(file, entry) for entry in entries}


def _header(file: BinaryIO, size: int) -> dict[str, Any]:
    first = file.read(8)
    length = int.from_bytes(first, "little")
    if len(first) < 8 or length > LARGEST_HEADER or length > size - 8:
        hint = ""
        # the length in a file that was cut off is one that could be
        if length > LARGEST_HEADER and first.startswith((b"\x80", b"PK", b"\x1f\x8b", b"x\x9c")):
            hint = ". It looks like a pickle or an archive: joblib.load reads the former, and runs "
            hint += "whatever code is in it"
        _refuse(f"it is not a safetensors file, or was cut off: {size:,} bytes{hint}")
    text = file.read(length)
    if len(text) < length or not text.startswith(b"{"):
        _refuse("it is not a safetensors file: no header is where it should be")
    try:
        header = parse(text.decode())
    except UnicodeDecodeError:
        _refuse("its header is not text")
    if not isinstance(header, dict):
        _refuse("its header is not a JSON object")
    return header


def _text(metadata: Any) -> str:
    text = metadata.get(KEY) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        _refuse("it is a safetensors file, but not one that squareone has written")
    return text


def _entry(name: str, said: Any) -> _Entry:
    """What the header says about a tensor, if it can be true."""
    try:
        code, shape, (begin, end) = said["dtype"], said["shape"], said["data_offsets"]
        dtype = DTYPES[code]
    except (KeyError, TypeError, ValueError):
        _refuse(f"what its header says about tensor {name!r} cannot be read")
    counts = [begin, end, *shape] if isinstance(shape, list) else [None]
    if not all(type(count) is int and 0 <= count < 2**62 for count in counts):
        _refuse(f"tensor {name!r} has a shape or a place that is none")
    if len(shape) > _MOST_DIMENSIONS or math.prod(shape) * dtype.itemsize != end - begin:
        _refuse(
            f"tensor {name!r} should have shape {tuple(shape[:_MOST_DIMENSIONS])} of {code}, but "
            f"has {end - begin} bytes"
        )
    return _Entry(begin, end, name, dtype, tuple(shape))


def _tensor(file: BinaryIO, entry: _Entry) -> Array:
    # numbers that would not fit into memory next to a zero are no shape either
    if math.prod(max(1, side) for side in entry.shape) >= 2**62 // entry.dtype.itemsize:
        _refuse(f"tensor {entry.name!r} has a shape that is none")
    tensor = np.empty(entry.shape, entry.dtype)
    if file.readinto(_bytes_of(tensor)) != tensor.nbytes:  # type: ignore[attr-defined]
        _refuse("it became shorter while it was read")
    if entry.dtype == bool and (tensor.view(np.uint8) > 1).any():
        _refuse(f"tensor {entry.name!r} has values that are neither true nor false")
    return tensor.astype(entry.dtype.newbyteorder("="), copy=False)


def parse(text: str) -> Any:
    """JSON, strictly: no number beyond the floating range, no key twice, no endless nesting."""
    try:
        return json.loads(
            text, parse_float=_finite, parse_constant=_finite, object_pairs_hook=_unique
        )
    except RecursionError:
        _refuse("its header is nested too deeply")
    except json.JSONDecodeError as error:
        _refuse(f"its header is not JSON: {error}")
    except FileFormatError:
        raise
    except ValueError:  # an integer of thousands of digits
        _refuse("its header has a number that is none")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _refuse(f"its header has the number {text[:40]}")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        _refuse("its header has the same key twice")
    return found


def _refuse(why: str) -> NoReturn:
    raise FileFormatError(why)
