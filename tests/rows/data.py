"""Sparse rows in every form they may come in, rows too many to be dense, and what they take."""

import tracemalloc

import numpy as np
import scipy.sparse
from scipy.sparse import csr_array, csr_matrix


def unsorted(rows):
    """The stored numbers of each row the other way round."""
    matrix = csr_array(rows)
    for start, stop in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        matrix.indices[start:stop] = matrix.indices[start:stop][::-1].copy()
        matrix.data[start:stop] = matrix.data[start:stop][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix


def repeated(rows):
    """Every number as a sum of two."""
    matrix = csr_array(rows)
    parts = np.repeat(matrix.data, 2) * np.tile([0.25, 0.75], matrix.nnz)
    indices, indptr = np.repeat(matrix.indices, 2), 2 * matrix.indptr
    return csr_array((parts, indices, indptr), shape=rows.shape)


def with_zeros(rows):
    matrix = csr_array(np.where(rows == 0, 7.0, rows))
    matrix.data[matrix.data == 7.0] = 0.0
    return matrix


def in_64_bits(rows):
    matrix = csr_array(rows)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def with_room(rows):
    """Numbers behind the last row, as a matrix has that was made larger than needed."""
    matrix = csr_array(rows)
    matrix.data, matrix.indices = np.r_[matrix.data, 1e6, 1e6], np.r_[matrix.indices, 0, 0]
    return matrix


def read_only(rows):
    matrix = csr_array(rows)
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.setflags(write=False)
    return matrix


CONTAINERS = {
    "csr_matrix": csr_matrix,
    "csc": scipy.sparse.csc_array,
    "coo": scipy.sparse.coo_matrix,
    "lil": scipy.sparse.lil_array,
    "dok": scipy.sparse.dok_array,
    "bsr": scipy.sparse.bsr_array,
    "dia": scipy.sparse.dia_array,
    "unsorted": unsorted,
    "repeated": repeated,
    "with zeros": with_zeros,
    "64 bits": in_64_bits,
    "with room": with_room,
    "read-only": read_only,
}


def wide_rows(n, d, per_row=20):
    """Rows (n, d) with few stored numbers, some in features of their own, some in shared ones."""
    rng = np.random.default_rng(0)
    step = d // per_row
    indices = np.arange(0, per_row * step, step) + rng.integers(0, step, (n, per_row))
    indices[::2, 0] = 0
    data, indptr = rng.standard_normal(n * per_row), np.arange(0, n * per_row + 1, per_row)
    return csr_array((data, indices.ravel().astype(np.int32), indptr.astype(np.int32)), (n, d))


def peak_of(work):
    """Bytes that were in use at once while ``work`` was done."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
