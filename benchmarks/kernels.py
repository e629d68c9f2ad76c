"""The kernel matrix, against the matrix product inside it."""

from functools import partial

import numpy as np

from benchmarks.case import Case, Contest, Scale, timed
from benchmarks.data import wide
from benchmarks.measure import Contestant


def _kernel_matrix(scale: Scale, dtype: str) -> Contest:
    from squareone.kernels import Gaussian

    X, _ = wide(scale.rows(10_000), dtype)
    kernel = Gaussian(sigma=16.0)
    return Contest(Contestant(lambda: kernel(X)), Contestant(lambda: np.matmul(X, X.T)))


def _control(scale: Scale) -> Contest:
    X, _ = wide(scale.rows(10_000), np.float64)
    product = Contestant(lambda: np.matmul(X, X.T))
    return Contest(product, product)


CASES: list[Case] = [
    timed(
        "control",
        _control,
        what="matrix product X Xᵀ, n = 10,000, d = 256, float64: should be 1, shows the noise",
        against="itself",
        target=None,
        repeats=7,
    ),
    *(
        timed(
            f"kernel-matrix-{dtype}",
            partial(_kernel_matrix, dtype=dtype),
            what=f"Gaussian kernel matrix, n = 10,000, d = 256, {dtype}",
            against="matrix product X Xᵀ",
            target=target,
            repeats=7,
        )
        for dtype, target in (("float32", 1.35), ("float64", 1.4))
    ),
]
