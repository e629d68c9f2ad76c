"""How far two ways of computing the same values may be apart by rounding alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..kernels import (
    Constant,
    Cosine,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
)
from ..kernels import Product as KernelProduct
from ..kernels import Sum as KernelSum
from ..kernels.tiles import kernel_rectangle, origin_of
from ..models import Hyperplane, KernelExpansion
from .source import dense

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
        at = _Compared.of(X, model.centers, eps)
        _, sizes = _value_and_error(model.kernel, at)
        length = sum(at.C.shape)
    return _MARGIN * eps * np.sqrt(length) * (sizes @ weights + np.abs(model.intercepts))


@dataclass(frozen=True)
class _Compared:
    """Rows X (n, d) and centers C (m, d) in float64, and what distances are taken from (d,)."""

    X: Array
    C: Array
    origin: Array
    eps: float

    @classmethod
    def of(cls, X: Array, centers: Any, eps: float) -> _Compared:
        return cls(X, dense(centers), origin_of(centers).astype(np.float64), eps)

    def norms(self) -> Array:
        """‖x‖‖c‖ (n, m)."""
        return np.outer(np.linalg.norm(self.X, axis=1), np.linalg.norm(self.C, axis=1))

    def _sizes(self, kernel: Gaussian | Matern | Laplacian) -> tuple[Array, Array]:
        """|x| / σ and |c| / σ, less the origin, in the metric: of XR the sizes of what is added."""
        x, c = (np.abs((rows - self.origin) / kernel.sigma) for rows in (self.X, self.C))
        if kernel.metric is None:
            return x, c
        metric = np.abs(kernel.metric)
        return (x * metric, c * metric) if metric.ndim == 1 else (x @ metric, c @ metric)

    def squares(self, kernel: Gaussian | Matern) -> Array:
        """(‖x‖² + ‖c‖²) / σ², less the origin: what a squared distance is the difference of."""
        x, c = self._sizes(kernel)
        return np.add.outer(np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", c, c))

    def sums(self, kernel: Laplacian) -> Array:
        """(Σ|x| + Σ|c|) / σ, less the origin (n, m)."""
        return np.add.outer(*(sizes.sum(axis=1) for sizes in self._sizes(kernel)))


def _value_and_error(kernel: Kernel, at: _Compared) -> tuple[Array, Array]:
    """|k| and e between rows (n, d) and centers (m, d)."""
    if isinstance(kernel, KernelSum | KernelProduct):
        k1, e1 = _value_and_error(kernel.first, at)
        k2, e2 = _value_and_error(kernel.second, at)
        if isinstance(kernel, KernelSum):
            return k1 + k2, e1 + e2
        return k1 * k2, e1 * k2 + k1 * e2
    k = np.abs(kernel_rectangle(kernel, at.X, at.C))
    return k, _ERRORS[type(kernel)](kernel, k, at)


def _polynomial(kernel: Polynomial, k: Array, at: _Compared) -> Array:
    base = np.abs(kernel.gamma * (at.X @ at.C.T) + kernel.coef0)
    size = kernel.gamma * at.norms() + kernel.coef0
    return kernel.degree * base ** (kernel.degree - 1) * size


def _gaussian(kernel: Gaussian, k: Array, at: _Compared) -> Array:
    return k * (1.0 + at.squares(kernel))


def _matern(kernel: Matern, k: Array, at: _Compared) -> Array:
    squares = at.squares(kernel)
    if kernel.nu > 1:
        return k * (1.0 + 2.0 * kernel.nu * squares)
    # exp(−r) has a corner: near r = 0 the root turns a rounding of ε into one of √ε
    r = np.maximum(-np.log(np.maximum(k, np.finfo(k.dtype).tiny)), np.sqrt(at.eps * squares))
    return k * (1.0 + np.divide(squares, 2.0 * r, out=np.zeros_like(r), where=r > 0))


def _laplacian(kernel: Laplacian, k: Array, at: _Compared) -> Array:
    return k * (1.0 + at.sums(kernel))


_ERRORS: dict[type[Kernel], Callable[[Any, Array, _Compared], Array]] = {
    Constant: lambda kernel, k, at: k,
    Cosine: lambda kernel, k, at: np.full_like(k, 2.0),  # lengths are rounded, too
    Gaussian: _gaussian,
    Laplacian: _laplacian,
    Linear: lambda kernel, k, at: at.norms(),
    Matern: _matern,
    Polynomial: _polynomial,
}
