"""Pieces of work whose speed is measured: what solvers spend their time with, in small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..arrays import (
    Array,
    add_gram,
    blocks,
    cholesky,
    copy_triangle,
    frobenius_norm,
    triangular_inverse,
)
from ..decompositions import BlockedQR, eigh, svd
from ..kernels import Gaussian, Linear
from ..kernels.tiles import kernel_matrix
from ..rows import Rows, rows_of
from ..rows.base import row_blocks
from ..threads import for_each, shared_cores
from .exact.feature_matrix import CentredRows
from .exact.weighting import Weighting
from .few_centers.center_basis import CenterBasis

#: Features at which kernel values in strips are measured: more are products beside.
STRIP_FEATURES = 16
# How often strips are repeated: a fit has many of them, and does not wait for threads to start.
_LONG = 4

# A probe makes, for a size and a type, what has to be ready, the work, and its amount. The clock
# runs during the work only.
Probe = tuple[Callable[[], Any], Callable[[Any], object], float]


def _positive_definite(n: int, dtype: Any) -> Array:
    return np.full((n, n), 0.5 / n, dtype) + 2 * np.eye(n, dtype=dtype)


def _rows(n: int, d: int, dtype: Any) -> Array:
    return np.random.default_rng(0).random((n, d), dtype) - dtype(0.5)


def _product(d: int, dtype: Any) -> Probe:
    n, kernel = 1536, Linear()
    X = _rows(n, d, dtype)
    return lambda: X, lambda X: kernel_matrix(kernel, X, both_triangles=False), float(n * n * d)


def _evaluation(n: int, dtype: Any) -> Probe:
    X, kernel = _rows(n, 2, dtype), Gaussian(sigma=0.5)
    return lambda: X, lambda X: kernel_matrix(kernel, X, both_triangles=False), n * n / 2


def _cholesky(n: int, dtype: Any) -> Probe:
    return lambda: _positive_definite(n, dtype), cholesky, n**3 / 3


def _inverse(n: int, dtype: Any) -> Probe:
    return lambda: _positive_definite(n, dtype), triangular_inverse, n**3 / 3


def _eigh(n: int, dtype: Any) -> Probe:
    # a kernel matrix: divide and conquer is faster where eigenvalues are close to each other
    K = kernel_matrix(Gaussian(sigma=2.0), _rows(n, 20, dtype), both_triangles=False)
    return K.copy, eigh, 9.0 * n**3


def _qr(k: int, dtype: Any) -> Probe:
    n = 8192
    X, turn = _rows(n, k, dtype), np.eye(k, dtype=dtype)

    def factor(X: Array) -> None:
        BlockedQR(lambda rows: X[rows], n, k, X.dtype).rotated(turn)

    return lambda: X, factor, 6.0 * n * k * k


def _svd(k: int, dtype: Any) -> Probe:
    return lambda: np.triu(_rows(k, k, dtype)), svd, 20.0 * k**3


def _gram(d: int, dtype: Any) -> Probe:
    n = 2**20 // d
    X, axes = _rows(n, d, dtype), np.eye(d, dtype=dtype)

    def two_passes(X: Array) -> None:
        rows = CentredRows.of(X, Weighting.of(n, None, True, X.dtype))
        rows.gram()

        def turn(block: slice) -> None:
            _ = rows.times(axes, block)

        for_each(turn, row_blocks(n, d))

    return lambda: X, two_passes, 3.0 * n * d * d


def _sparse(columns: int, dtype: Any) -> Probe:
    n, d, row = 4096, 16_384, 64
    rng = np.random.default_rng(0)
    indices = np.sort(rng.integers(0, d // row, (n, row)) + np.arange(0, d, d // row), axis=1)
    parts = (
        np.ones(n * row, dtype),
        indices.ravel().astype(np.int32),
        np.arange(0, n * row + 1, row),
    )
    X = rows_of(csr_array(parts, shape=(n, d)))
    V = _rows(d, columns, dtype)

    def both_ways(X: Rows) -> None:
        X.transposed_product(X.product(V))

    def ready() -> Rows:
        X.prepare(np.inf)
        return X

    return ready, both_ways, 4.0 * n * row * columns


def _path(columns: int, dtype: Any) -> Probe:
    n, k, values = 4096, 256, columns // 2
    basis, filters = _rows(n, k, dtype), np.ones((k, values), dtype)

    def block(rows: slice) -> None:
        A = basis[rows]
        _ = A @ filters, np.square(A) @ filters

    return lambda: blocks(n, 1024), lambda parts: for_each(block, parts), 4.0 * n * k * values


def _errors(n: int, dtype: Any) -> Probe:
    residuals, complements = np.ones((n, 1, 64), dtype), np.full((n, 64), 2.0, dtype)

    def block(rows: slice) -> None:
        errors = residuals[rows] / complements[rows, None, :]
        np.einsum("itl,itl->tl", errors, errors, dtype=np.float64)

    return lambda: blocks(n, 1024), lambda parts: for_each(block, parts), 64.0 * n


def _pass(n: int, dtype: Any) -> Probe:
    def visit(A: Array) -> None:
        copy_triangle(A, to_upper=True)
        frobenius_norm(A)

    return lambda: np.ones((n, n), dtype), visit, 1.5 * n * n * np.dtype(dtype).itemsize


def _strips(d: int, dtype: Any) -> Probe:
    X = _rows(4096, d, dtype)
    basis = CenterBasis(Gaussian(sigma=1.0), X[:500], X.dtype)
    rows, K = rows_of(X), np.empty((X.shape[0], basis.size), dtype)

    def fill(K: Array) -> None:
        with shared_cores():
            for _ in range(_LONG):
                basis.fill(rows, K, None, None)

    return lambda: K, fill, 1.0 * _LONG * K.size


def _sums(k: int, dtype: Any) -> Probe:
    A, total = _rows(2048, k, dtype), np.zeros((k, k))
    return lambda: A, lambda A: add_gram(total, A), 1.0 * A.size * k


def _thin(columns: int, dtype: Any) -> Probe:
    K, C = _rows(2048, 512, dtype), _rows(512, columns, dtype)

    def there_and_back(strip: slice) -> None:
        K[strip].T @ (K[strip] @ C)

    strips = blocks(2048, 256) * _LONG
    amount = 4.0 * _LONG * K.size * columns
    return lambda: strips, lambda strips: for_each(there_and_back, strips), amount


def _call(n: int, dtype: Any) -> Probe:
    return lambda: range(n), lambda items: for_each(lambda _: None, items), 1.0


#: What is measured, and at which sizes: one where the rate does not depend on it, else two.
PROBES: dict[str, tuple[Callable[[int, Any], Probe], tuple[int, ...]]] = {
    "product": (_product, (16, 256)),  # flops of tiles; size: features
    "evaluation": (_evaluation, (1536,)),  # entries of a kernel matrix
    "cholesky": (_cholesky, (512, 1536)),  # flops; size: rows
    "inverse": (_inverse, (512, 1536)),  # flops, of a triangle; size: rows
    "eigh": (_eigh, (256, 640)),  # flops; size: rows
    "qr": (_qr, (32, 96)),  # flops, with Q rotated; size: columns
    "svd": (_svd, (96, 288)),  # flops, of a square matrix; size: its side
    "gram": (_gram, (16, 128)),  # flops of a Gram matrix and of a rotation; size: features
    "sparse": (_sparse, (1, 20)),  # flops of products with sparse rows; size: columns
    "path": (_path, (2, 64)),  # flops of a basis times filters; size: columns at once
    "strips": (_strips, (STRIP_FEATURES,)),  # kernel values of rows with centers; size: features
    "sums": (_sums, (256, 1024)),  # flops of large products; size: the smaller side
    "thin": (_thin, (1, 16)),  # flops of kernel values times a few columns, and back; size: columns
    "errors": (_errors, (8192,)),  # residuals divided, squared and summed
    "pass": (_pass, (512, 2048)),  # bytes of a symmetric matrix read and written; size: rows
    "call": (_call, (2,)),  # pieces of work for which threads are started
}
