"""The rows that a kernel model keeps, an array or a CSR matrix, in files."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from ..arrays import Array
from ..rows import canonical, rows_of
from . import INTEGERS, Fields, refuse

_SPARSE = {"csr_array": csr_array, "csr_matrix": csr_matrix}


def of_rows(X: Any) -> Array | dict[str, Any]:
    """An array (n, d) is itself; of a CSR matrix the three arrays that it is made of.

    These are ``data`` (s,), ``indices`` (s,) and ``indptr`` (n + 1,), with the ``shape`` (n, d) and
    the ``kind`` of matrix.
    """
    if not rows_of(X).sparse:
        return X
    return {
        "kind": next(name for name, kind in _SPARSE.items() if isinstance(X, kind)),
        "shape": [int(side) for side in X.shape],
        "data": X.data,
        "indices": X.indices,
        "indptr": X.indptr,
    }


def rows_from(found: Fields, name: str, n: int, dtype: np.dtype) -> Any:
    """``n`` rows called ``name``, with features of type ``dtype``: an array or a CSR matrix.

    SciPy's compiled loops believe what a matrix says: an index out of place would be read, or
    written, somewhere in memory.

    **Cost**: a pass over the stored numbers.
    """
    if not found.holds(name, dict):
        return found.array(name, (n, None), (dtype,))
    with found.inner(name) as parts:
        kind, shape = parts.take("kind", str), parts.take("shape", list)
        if kind not in _SPARSE:
            refuse(parts.where, f"{kind!r} is not known")
        if len(shape) != 2 or not all(type(side) is int for side in shape) or shape[0] != n:
            refuse(parts.where, f"shape [{n}, any] is expected, got {shape[:8]}")
        data = parts.array("data", (None,), (dtype,))
        indices = parts.array("indices", data.shape, INTEGERS, least=0)
        indptr = parts.array("indptr", (n + 1,), INTEGERS, least=0)
        _check_places(indices, indptr, shape[1], parts.where)
    return canonical(_SPARSE[kind]((data, indices, indptr), shape=tuple(shape)))


def _check_places(indices: Array, indptr: Array, d: int, where: str) -> None:
    """Refuse where rows of ``d`` features do not follow each other, or one is not in order."""
    if indptr[0] != 0 or indptr[-1] != indices.size or (np.diff(indptr) < 0).any():
        refuse(where, f"indptr does not cut {indices.size} numbers into rows")
    if not 0 < d < np.iinfo(np.int64).max or indices.max(initial=0) >= d:
        refuse(where, f"indices are not those of {d} features")
    later = np.ones(indices.size, bool)  # those that are not the first of a row
    later[indptr[:-1][np.diff(indptr) > 0]] = False
    if (np.diff(indices, prepend=-1) <= 0)[later].any():
        refuse(where, "the indices of a row are not ascending")
