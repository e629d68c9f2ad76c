"""Leaks as they happen, planted into a table: columns that are not known before the target is."""

import numpy as np
import pyarrow as pa


def plant(table, y, task, kind, rng):
    """The table with one column more, "leak", and y; None where this leak cannot be in it."""
    n = y.size
    if kind == "noisy copy":
        if task == "regression":
            column = y + 0.02 * y.std() * rng.standard_normal(n)
        else:
            column = np.where(rng.random(n) < 0.005, rng.permutation(y.astype(str)), y.astype(str))
    elif kind == "later flag":  # a band that was entered once the target was known
        if task == "regression":
            ranks = np.argsort(np.argsort(y)) * 12 // n
            column = np.array([f"band {rank}" for rank in ranks])
        else:
            column = np.array([f"state {np.unique(y).tolist().index(value)}" for value in y])
    elif kind == "pattern of gaps":  # filled in for one of two classes only
        if task == "regression" or np.unique(y).size != 2:
            return None
        filled = y == np.unique(y)[0]
        column = pa.array(
            [float(v) if f else None for v, f in zip(rng.random(n), filled, strict=True)]
        )
    else:  # numbered after sorting by the target
        codes = y if task == "regression" else np.unique(y, return_inverse=True)[1]
        order = np.lexsort([rng.random(n), codes])
        column = np.empty(n, int)
        column[order] = np.arange(1, n + 1)
    if not isinstance(column, pa.Array):
        column = pa.array(column.tolist())
    return table.append_column("leak", column)


KINDS = ("noisy copy", "later flag", "pattern of gaps", "identifier")
