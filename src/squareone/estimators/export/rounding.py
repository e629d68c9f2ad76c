"""How far two ways of computing the same values may be apart by rounding alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays import Array
from ...kernels import (
    Constant,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
)
from ...kernels import Product as KernelProduct
from ...kernels import Sum as KernelSum
from ...kernels.tiles import kernel_rectangle, origin_of
from ...models import Hyperplane, KernelExpansion

__all__ = ["value_rounding"]

# Rounding errors add up like √length; the rest is for constants that the bounds below leave out.
_MARGIN = 4.0


def value_rounding(model: KernelExpansion | Hyperplane, X: Array, eps: float) -> Array:
    """How much rounding may change the values of a model at rows ``X`` (n, d) → (n, t).

    4 ε √(m + d) (Σ_i |c_i| e(x, x_i) + |b|), where ε·e is the rounding of k to first order. It
    is relative to the terms and not to their sum: coefficients of either sign cancel.

    **Cost**: a few kernel matrices (n, m).
    """
    X = X.astype(np.float64)
    weights = np.abs(model.coefficients.astype(np.float64))
    if isinstance(model, Hyperplane):
        sizes, length = np.abs(X), X.shape[1]
    elif isinstance(model.kernel, Precomputed):
        sizes, length = np.abs(X[:, model.indices]), model.indices.size
    else:
        assert model.centers is not None
        centers = model.centers.astype(np.float64)
        _, sizes = _value_and_error(model.kernel, X, centers, eps)
        length = sum(centers.shape)
    return _MARGIN * eps * np.sqrt(length) * (sizes @ weights + np.abs(model.intercepts))


def _value_and_error(kernel: Kernel, X: Array, C: Array, eps: float) -> tuple[Array, Array]:
    """|k| and e between rows (n, d) and centers (m, d)."""
    if isinstance(kernel, KernelSum | KernelProduct):
        k1, e1 = _value_and_error(kernel.first, X, C, eps)
        k2, e2 = _value_and_error(kernel.second, X, C, eps)
        if isinstance(kernel, KernelSum):
            return k1 + k2, e1 + e2
        return k1 * k2, e1 * k2 + k1 * e2
    k = np.abs(kernel_rectangle(kernel, X, C))
    return k, _ERRORS[type(kernel)](kernel, k, X, C, eps)


def _norms(X: Array, C: Array) -> Array:
    """‖x‖‖c‖ (n, m)."""
    return np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(C, axis=1))


def _squares(sigma: Any, X: Array, C: Array) -> Array:
    """(‖x‖² + ‖c‖²) / σ² of centred rows: what a squared distance is the difference of."""
    origin = origin_of(C)
    x, c = (X - origin) / sigma, (C - origin) / sigma
    return np.add.outer(np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", c, c))


def _polynomial(kernel: Polynomial, k: Array, X: Array, C: Array, eps: float) -> Array:
    base = np.abs(kernel.gamma * (X @ C.T) + kernel.coef0)
    size = kernel.gamma * _norms(X, C) + kernel.coef0
    return kernel.degree * base ** (kernel.degree - 1) * size


def _gaussian(kernel: Gaussian, k: Array, X: Array, C: Array, eps: float) -> Array:
    return k * (1.0 + _squares(kernel.sigma, X, C))


def _matern(kernel: Matern, k: Array, X: Array, C: Array, eps: float) -> Array:
    squares = _squares(kernel.sigma, X, C)
    if kernel.nu > 1:
        return k * (1.0 + 2.0 * kernel.nu * squares)
    # exp(−r) has a corner: near r = 0 the root turns a rounding of ε into one of √ε
    r = np.maximum(-np.log(np.maximum(k, np.finfo(k.dtype).tiny)), np.sqrt(eps * squares))
    return k * (1.0 + np.divide(squares, 2.0 * r, out=np.zeros_like(r), where=r > 0))


def _laplacian(kernel: Laplacian, k: Array, X: Array, C: Array, eps: float) -> Array:
    origin = origin_of(C)
    sizes = np.add.outer(np.abs(X - origin).sum(axis=1), np.abs(C - origin).sum(axis=1))
    return k * (1.0 + sizes / kernel.sigma)


_ERRORS: dict[type[Kernel], Callable[[Any, Array, Array, Array, float], Array]] = {
    Constant: lambda kernel, k, X, C, eps: k,
    Gaussian: _gaussian,
    Laplacian: _laplacian,
    Linear: lambda kernel, k, X, C, eps: _norms(X, C),
    Matern: _matern,
    Polynomial: _polynomial,
}
