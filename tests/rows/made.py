"""Rows for the tests of streams; needs no library of files."""

import numpy as np


def some_rows(n, d, dtype=np.float64):
    """Half of them zeros; the first feature is never zero, and the last one is always 2.5."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n, d)) < 0.5, rng.standard_normal((n, d)), 0.0)
    X[:, 0] = rng.random(n) + 0.5
    X[:, -1] = 2.5
    return X.astype(dtype)


def in_memory(block):
    return block.toarray() if hasattr(block, "toarray") else block
