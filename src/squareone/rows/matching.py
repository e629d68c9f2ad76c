"""Equal rows: which rows given points are equal to, and which rows repeat others."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from hashlib import blake2b

import numpy as np

from ..arrays import Array
from .base import Rows

# Numbers that are compared at a time, and rows where zeros are not stored.
_BLOCK, _SPARSE = 4_194_304, 8192


def find_rows(points: Rows, rows: Rows) -> Array:
    """The number of a row (m,) that each point is equal to; −1 where there is none.

    Points and rows are stored alike. Where a point is there several times, or a row is, the first
    such point is the first such row, and so on; points that are left are the last such row again.

    **Cost**: one pass over the rows.
    """
    found = np.full(points.shape[0], -1)
    feature, values = _telling_feature(points)
    waiting: dict[bytes, deque[int]] = defaultdict(deque)
    for place, key in enumerate(_keys(points, None)):
        waiting[key].append(place)
    last: dict[bytes, int] = {}
    for part, block in rows.row_blocks(_block_size(rows)):
        some = np.arange(block.shape[0])
        if values is not None:
            some = np.flatnonzero(np.isin(block.X[:, feature], values))
        for number, key in zip(some, _keys(block, some), strict=True):
            places = waiting.get(key)
            if places:
                found[places.popleft()] = last[key] = part.start + number
    for key, row in last.items():
        found[list(waiting[key])] = row
    return found


def first_equal(rows: Rows) -> Array:
    """The number of the first row (n,) that each row is equal to.

    **Cost**: one pass over the rows.
    """
    seen: dict[bytes, int] = {}
    found = np.empty(rows.shape[0], int)
    for part, block in rows.row_blocks(_block_size(rows)):
        for number, key in enumerate(_keys(block, None), part.start):
            found[number] = seen.setdefault(blake2b(key, digest_size=16).digest(), number)
    return found


def _block_size(rows: Rows) -> int:
    return _SPARSE if rows.sparse else max(1, _BLOCK // max(1, rows.shape[1]))


def _telling_feature(points: Rows) -> tuple[int, Array | None]:
    """The feature with the most values among points (m, d), and these: other rows are no points."""
    if points.sparse or not points.shape[0] or not points.shape[1]:
        return 0, None
    feature = int(np.argmax([np.unique(column).size for column in points.X.T]))
    return feature, np.unique(points.X[:, feature])


def _keys(rows: Rows, some: Array | None) -> Iterator[bytes]:
    """Bytes that are equal where rows are."""
    X = rows.X if some is None or some.size == rows.shape[0] else rows.X[some]
    if not rows.sparse:
        X = np.ascontiguousarray(X) + X.dtype.type(0.0)  # of the two zeros one
        yield from (row.tobytes() for row in X)
        return
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        values, features = X.data[start:stop], X.indices[start:stop]
        there = np.flatnonzero(values)
        order = there[np.argsort(features[there], kind="stable")]
        yield features[order].astype(np.int64).tobytes() + b":" + values[order].tobytes()
