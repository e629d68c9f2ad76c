"""Which rows a slice, a mask or an array of numbers means."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array


def row_numbers(rows: Any, n: int) -> Array:
    """Numbers (m,) between zero and n of the rows chosen from ``n``, in the order asked for."""
    if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
        rows = rows[0]  # as scikit-learn's splitters ask
    if isinstance(rows, slice):
        return np.arange(n)[rows]
    chosen = np.asarray(rows)
    if chosen.ndim == 1 and chosen.dtype == bool:
        if chosen.size != n:
            msg = f"a mask of {chosen.size:,} rows was given for {n:,}: one value per row is needed"
            raise IndexError(msg)
        return np.flatnonzero(chosen)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        msg = (
            f"rows are chosen by a slice, a mask (n,) or numbers of rows (m,), not by "
            f"{type(rows).__name__} of shape {chosen.shape} and type {chosen.dtype}"
        )
        raise IndexError(msg)
    chosen = chosen.astype(np.int64)
    outside = chosen[(chosen < -n) | (chosen >= n)]
    if outside.size:
        msg = f"row {outside[0]:,} was asked for: there are {n:,} rows"
        raise IndexError(msg)
    return np.where(chosen < 0, chosen + n, chosen)
