"""Sums of absolute differences between sparse rows, from the features that two rows share."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import Array
from .base import row_sums

# Pairs of numbers in one piece of work: its arrays are as large as a tile.
_PAIRS = 262_144


def city_block(X: Any, Y: Any) -> Array:
    """Σ_k |x_k − y_k| between the rows of two CSR matrices (n, d) and (m, d) → (n, m), in float64.

    It is |x|₁ + |y|₁ − 2 Σ_k s(x_k, y_k), where s is the smaller magnitude of two numbers of the
    same sign, and zero for others: only features that both rows have are looked at.

    Cost: some ten operations for two stored numbers of the same feature. (scikit-learn's
    ``manhattan_distances`` merges all stored numbers of two rows: where few are shared it takes
    tens of times as long.)
    """
    sizes = [_absolute_sums(rows) for rows in (X, Y)]
    distances = np.add.outer(*sizes)
    distances -= 2.0 * _shared(X, Y)
    return np.maximum(distances, 0.0, out=distances)  # rounding may leave less than nothing


def _absolute_sums(X: Any) -> Array:
    return row_sums(np.abs(X.data, dtype=np.float64), X.indptr)


def _shared(X: Any, Y: Any) -> Array:
    """Σ_k s(x_k, y_k) (n, m): every number of X meets those of Y in the same feature."""
    n, m = X.shape[0], Y.shape[0]
    by_feature = Y.T.tocsr()
    meets = np.diff(by_feature.indptr)[X.indices].astype(np.int64)  # how many it meets
    ends = np.cumsum(meets)
    # where they are, less where the pairs of this number begin
    firsts = by_feature.indptr[X.indices] - (ends - meets)
    cells = np.repeat(np.arange(n) * m, np.diff(X.indptr))  # where the row begins in the result
    total = np.zeros(n * m)
    for start, stop in _pieces(ends):
        count = meets[start:stop]
        at = np.arange(ends[start] - meets[start], ends[stop - 1])
        at += np.repeat(firsts[start:stop], count)
        x, y = np.repeat(X.data[start:stop], count), by_feature.data[at]
        least = np.maximum(np.minimum(x, y), 0.0)
        least -= np.minimum(np.maximum(x, y), 0.0)
        cell = np.repeat(cells[start:stop], count)
        cell += by_feature.indices[at]
        total += np.bincount(cell, weights=least, minlength=n * m)
    return total.reshape(n, m)


def _pieces(ends: Array) -> list[tuple[int, int]]:
    """Stored numbers, in order, cut where about so many pairs are together."""
    if not ends.size:
        return []
    cuts = np.searchsorted(ends, np.arange(0, ends[-1], _PAIRS)[1:], side="right")
    return list(pairwise(np.unique(np.concatenate([[0], cuts, [ends.size]])).tolist()))
