"""Kernels as nodes: k between the rows of a tensor and the centers, (n, d) → (n, m)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array
from ..kernels import Constant, Cosine, Gaussian, Kernel, Laplacian, Linear, Matern, Polynomial
from ..kernels import Product as KernelProduct
from ..kernels import Sum as KernelSum
from ..kernels.tiles import origin_of
from ..rows import DenseRows
from .graph import DOUBLE, Graph, Tensor
from .source import dense

__all__ = ["kernel_values"]


def kernel_values(kernel: Kernel, X: Tensor, centers: Any) -> Tensor:
    """k between rows ``X`` (n, d) and ``centers`` (m, d) → (n, m).

    Sparse centers are dense in the graph. Refused for a kernel that is not the library's own: only
    its author knows its formula.
    """
    pair = _Pair(X, centers)
    values = _term(kernel, pair)
    if _is_constant(kernel):
        values = values.repeated(X, centers.shape[0])
    return values


class _Pair:
    """Rows and centers, as the kernels need them.

    Distances are those of centred rows, as in the library, unless the centers are sparse, as there.
    What is known now is computed in float64 and rounded once.
    """

    def __init__(self, X: Tensor, centers: Any) -> None:
        self.X = X
        self.centers = dense(centers)
        # the same number on both sides, so that it cancels
        self.origin = origin_of(centers).astype(X.dtype)

    @property
    def graph(self) -> Graph:
        return self.X.graph

    @cached_property
    def _centred(self) -> Tensor:
        """The rows less the origin."""
        return self.X - self.origin

    def in_metric(self, metric: Array | None) -> tuple[Tensor, Array]:
        """Rows and centers, both less the origin, in the coordinates that distances are taken in.

        (d, r) → r directions; (d,) → a weight for every feature.
        """
        rows, centers = self._centred, self.centers - self.origin.astype(DOUBLE)
        if metric is None:
            return rows, centers
        if metric.ndim == 1:
            return rows * metric, centers * metric
        return rows.times(metric), centers @ metric


def _term(kernel: Kernel, pair: _Pair) -> Tensor:
    make = _TERMS.get(type(kernel))  # a subclass may have another formula
    if make is None:
        names = ", ".join(sorted(known.__name__ for known in _TERMS))
        msg = (
            f"{type(kernel).__name__} cannot be exported: its formula as ONNX nodes is not known. "
            f"The kernels that can be are Precomputed and {names}"
        )
        raise TypeError(msg)
    return make(kernel, pair)


def _is_constant(kernel: Kernel) -> bool:
    """Whether k does not depend on the rows, and so not on their number."""
    if isinstance(kernel, KernelSum | KernelProduct):
        return _is_constant(kernel.first) and _is_constant(kernel.second)
    return isinstance(kernel, Constant)


def _constant(kernel: Constant, pair: _Pair) -> Tensor:
    # a row and not one number, of which onnxruntime would look at a float32 copy
    return pair.graph.constant(np.full((1, pair.centers.shape[0]), kernel.value), pair.X.dtype)


def _linear(kernel: Linear, pair: _Pair) -> Tensor:
    return pair.X.times(pair.centers.T)


def _cosine(kernel: Cosine, pair: _Pair) -> Tensor:
    """Of rows over their largest entry first, so that no square leaves the range."""
    centers = DenseRows(pair.centers).normalised().X
    sizes = pair.X.abs()
    rows = pair.X / _nonzero(sizes.at(sizes.argmax()))
    rows = rows / _nonzero((rows * rows).sum_of_rows().sqrt())
    return rows.times(centers.T)


def _nonzero(divisor: Tensor) -> Tensor:
    """The divisor, one where it is zero."""
    return divisor.where(divisor > 0.0, 1.0)


def _polynomial(kernel: Polynomial, pair: _Pair) -> Tensor:
    assert kernel.gamma is not None
    base = pair.X.times(kernel.gamma * pair.centers.T) + kernel.coef0
    power = base
    for bit in bin(kernel.degree)[3:]:  # repeated squaring, as the library does
        power = power * power
        if bit == "1":
            power = power * base
    return power


def _exponents(kernel: Gaussian | Matern, pair: _Pair) -> Tensor:
    """−‖x − c‖² / (2σ²), at most zero: xᵀc − ‖x‖²/2 − ‖c‖²/2 of centred and scaled rows.

    One product with the squares as a further column, and a row that is added, instead of three
    passes over (n, m) numbers.
    """
    rows, centers = pair.in_metric(kernel.metric)
    rows, centers = rows / kernel.sigma, centers / kernel.sigma
    half_squares = (rows * rows).sum_of_rows() * -0.5
    right = np.vstack([centers.T, np.ones(centers.shape[0])])
    bias = -0.5 * np.einsum("ij,ij->i", centers, centers)
    return rows.beside(half_squares).times(right, bias).minimum(0.0)


def _gaussian(kernel: Gaussian, pair: _Pair) -> Tensor:
    return _exponents(kernel, pair).exp()


def _matern(kernel: Matern, pair: _Pair) -> Tensor:
    squares = _exponents(kernel, pair) * (-4.0 * kernel.nu)
    s = squares.sqrt()
    decay = (s * -1.0).exp()
    if kernel.nu == 0.5:
        return decay
    polynomial = s + 1.0
    if kernel.nu == 2.5:
        polynomial = polynomial + squares / 3.0
    return decay * polynomial


def _laplacian(kernel: Laplacian, pair: _Pair) -> Tensor:
    """The sum of |x_j − c_j| feature by feature, in memory for (n, m) numbers and not (n, m, d)."""
    graph, dtype, m = pair.graph, pair.X.dtype, pair.centers.shape[0]
    points, own = pair.in_metric(kernel.metric)
    body = Graph(graph.fresh("features"))
    total = body.input(f"{body.name}.total", dtype, ("rows", m))
    feature = body.input(f"{body.name}.row_values", dtype, ("rows",))
    centers = body.input(f"{body.name}.center_values", dtype, (m,))
    further = total + (feature.upright() - centers).abs()
    body.output(f"{body.name}.further", further, ("rows", m))
    nothing = graph.constant(0.0, dtype).repeated(pair.X, m)
    distances = graph.apply(
        "Scan",
        nothing,
        points,
        own.T,
        body=body,
        num_scan_inputs=2,
        scan_input_axes=[1, 0],
    )
    return (distances * -1.0 / kernel.sigma).exp()


def _sum(kernel: KernelSum, pair: _Pair) -> Tensor:
    return _term(kernel.first, pair) + _term(kernel.second, pair)


def _product(kernel: KernelProduct, pair: _Pair) -> Tensor:
    return _term(kernel.first, pair) * _term(kernel.second, pair)


_TERMS: dict[type[Kernel], Callable[[Any, _Pair], Tensor]] = {
    Constant: _constant,
    Cosine: _cosine,
    Gaussian: _gaussian,
    KernelProduct: _product,
    KernelSum: _sum,
    Laplacian: _laplacian,
    Linear: _linear,
    Matern: _matern,
    Polynomial: _polynomial,
}
