"""Gradients of f(x) = Σ_j c_j k(x, x_j): which directions and features f depends on.

For t columns of coefficients there are t functions, and what is asked for at k rows is the average
outer product of their gradients,

    (1/k) Σ_i Σ_t ∇f_t(x_i) ∇f_t(x_i)ᵀ  (d, d) ,

or its diagonal, the mean squares of the slopes along each feature (d,).

**Kernels of the Euclidean distance.** With z = Aᵀx, A = R/σ, and e = −|z − z'|²/2 the kernel is a
function φ(e), and ∇k = −φ'(e) A(z − z'):

    Gaussian     φ' = exp(e)
    Matérn 1/2   φ' = exp(−s) / s,  left out where s = 0
    Matérn 3/2   φ' = 3 exp(−s)
    Matérn 5/2   φ' = 5/3 (1 + s) exp(−s) ,   s = √(2ν) |z − z'| .

So Σ_j c_j ∇k(x, x_j) = A (Σ_j s_j z_j − (Σ_j s_j) z) with s_j = c_j φ'(e_j): products of matrices.

**Laplacian.** Along feature q the slope is −(w_q/σ) k sign(x_q − x'_q): zero where two numbers are
equal.

At a row that is a center the kernels with a kink have no gradient; to leave that term out is what
central differences see.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import TILE, Array, blocks
from ..rows import DenseRows, rows_of
from ..rows.base import dealt_sums, gram_blocks
from ..threads import for_each
from .base import Constant, Kernel, Product, Sum
from .dot_product import Cosine, Linear, Polynomial
from .stationary import Gaussian, Laplacian, Matern
from .tiles import origin_of

__all__ = ["average_outer_product", "gradients", "mean_squares"]

#: Numbers that are held for a block of rows, their targets together.
GRADIENT_NUMBERS = 2_097_152
# A squared distance of this share of the squares it is computed from is none.
_ROUNDING = 1e-12


def average_outer_product(
    kernel: Kernel, X: Array, centers: Array, coefficients: Array, weights: Array | None = None
) -> Array:
    """The mean of Σ_t ∇f_t(x) ∇f_t(x)ᵀ over the rows ``X`` (k, d) → (d, d), in float64.

    Parameters
    ----------
    kernel : Kernel
        With numbers for all parameters; any but those that are not the library's own.
    X : array (k, d)
        Where gradients are taken.
    centers : array (n, d)
        x_j.
    coefficients : array (n, t)
        c_j, one column for every function. Their scales count: give columns in common units.
    weights : array (k,), optional
        How many rows each row of ``X`` counts as.

    Notes
    -----
    **Cost**: k·n·r multiplications for each of the t columns, with r directions of the metric (d
    without one), and k·n evaluations of the kernel; k·t·d² for the outer products. With the
    Laplacian k·n·d·t additions. Memory: the rows and centers in float64, a few tiles and (d, d)
    for every core; never k·n numbers.

    Examples
    --------
    A function of the sum of two features, and not of the third:

    >>> import numpy as np
    >>> from squareone import RLSRegressor
    >>> from squareone.kernels.gradients import average_outer_product
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> model = RLSRegressor().fit(X, np.sin(X[:, 0] + X[:, 1]))
    >>> M = average_outer_product(model.kernel_, X, model.centers_, model.dual_coef_[:, None])
    >>> (M / M.max()).round(2)
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 0.]])
    """
    expansion = _Expansion(kernel, X, centers, coefficients)
    k, d = expansion.X.shape
    parts = expansion.blocks()
    hands = min(gram_blocks(k, d)[1], len(parts))
    shares = _shares(k, weights)

    def add(hand: int, total: Array) -> None:
        for rows in parts[hand::hands]:
            block = expansion.gradients(rows)
            block *= np.sqrt(shares[rows, None])
            block = block.reshape(-1, d)
            total += block.T @ block

    return dealt_sums(hands, d, add)


def mean_squares(
    kernel: Kernel, X: Array, centers: Array, coefficients: Array, weights: Array | None = None
) -> Array:
    """The mean of Σ_t (∂f_t/∂x_q)² over the rows ``X`` (k, d), for every feature q → (d,).

    Parameters are those of :func:`average_outer_product`, of which this is the diagonal.

    Notes
    -----
    **Cost**: as there, without the outer products.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.kernels import Linear
    >>> from squareone.kernels.gradients import mean_squares
    >>> mean_squares(Linear(), np.ones((5, 2)), np.eye(2), np.array([[3.0], [1.0]]))
    array([9., 1.])
    """
    expansion = _Expansion(kernel, X, centers, coefficients)
    parts = expansion.blocks()
    sums = np.zeros((len(parts), expansion.X.shape[1]))
    shares = _shares(expansion.X.shape[0], weights)

    def add(part: int) -> None:
        block = expansion.gradients(parts[part])
        np.einsum("tij,tij,i->j", block, block, shares[parts[part]], out=sums[part])

    for_each(add, range(len(parts)))
    return sums.sum(axis=0)


def _shares(k: int, weights: Array | None) -> Array:
    """What each of k rows counts in an average (k,)."""
    return np.full(k, 1.0 / k) if weights is None else weights / weights.sum(dtype=np.float64)


def gradients(kernel: Kernel, X: Array, centers: Array, coefficients: Array) -> Array:
    """∇f_t(x) at a few rows ``X`` (k, d) → (t, k, d), in float64.

    Parameters are those of :func:`average_outer_product`.

    Notes
    -----
    **Cost**: as there, without the outer products; memory for the result.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.kernels import Gaussian
    >>> from squareone.kernels.gradients import gradients
    >>> gradients(Gaussian(1.0), np.array([[1.0]]), np.array([[0.0]]), np.array([[1.0]])).round(4)
    array([[[-0.6065]]])
    """
    expansion = _Expansion(kernel, X, centers, coefficients)
    result = np.empty((expansion.C.shape[1], *expansion.X.shape))

    def fill(rows: slice) -> None:
        result[:, rows] = expansion.gradients(rows)

    for_each(fill, expansion.blocks())
    return result


class _Expansion:
    """Σ_j c_j k(x, x_j) at rows X (k, d), for centers Y (n, d) and coefficients C (n, t)."""

    def __init__(self, kernel: Kernel, X: Any, centers: Any, coefficients: Array) -> None:
        if rows_of(X).sparse or rows_of(centers).sparse:
            msg = (
                "gradients have a number for every feature, and these rows are a sparse matrix: "
                "dense rows of fewer features are expected"
            )
            raise TypeError(msg)
        self.X, self.Y, self.C = (np.asarray(a, np.float64) for a in (X, centers, coefficients))
        n, d = self.Y.shape
        if self.X.shape[1] != d:
            msg = f"X has {self.X.shape[1]} features, and the centers have {d}"
            raise ValueError(msg)
        if self.C.ndim != 2 or self.C.shape[0] != n:
            msg = f"coefficients of shape {self.C.shape} for {n} centers: ({n}, t) is expected"
            raise ValueError(msg)
        _refuse_unknown(kernel)
        kernel = kernel.resolve(self.Y, np.random.RandomState(0))
        kernel.check_chosen()
        self._slopes = _slopes_of(kernel, self.X, self.Y)

    def blocks(self) -> list[slice]:
        """Rows that are looked at together."""
        each = self.C.shape[1] * max(self.X.shape[1], TILE)
        return blocks(self.X.shape[0], int(np.clip(GRADIENT_NUMBERS // each, 1, TILE)))

    def gradients(self, rows: slice) -> Array:
        """∇f_t(x) (t, b, d)."""
        total = self._slopes.start(self.C.shape[1], rows)
        for columns in blocks(self.Y.shape[0], TILE):
            self._slopes.add(rows, columns, self.C[columns].T[:, None, :], total)
        return self._slopes.finish(rows, total)


class _Slopes(ABC):
    """Σ_j W_ij ∇k(x_i, x_j) for rows and centers that are prepared once, one tile after another."""

    def __init__(self, kernel: Any, X: Array, Y: Array) -> None:
        self.kernel = kernel
        self.X = X
        self.Y = Y

    def start(self, t: int, rows: slice) -> Any:
        """Sums of nothing for t functions at so many rows: by default (t, b, d)."""
        return np.zeros((t, rows.stop - rows.start, self.X.shape[1]))

    @abstractmethod
    def add(self, rows: slice, columns: slice, W: Array, total: Any) -> None:
        """Add the terms of a tile with weights ``W`` (t, b, m), or (t, 1, m) for all rows."""

    def finish(self, rows: slice, total: Any) -> Array:
        """From the sums to gradients in the features, (t, b, d)."""
        return total


class _OfConstant(_Slopes):
    def add(self, rows: slice, columns: slice, W: Array, total: Array) -> None:
        return


class _OfLinear(_Slopes):
    def add(self, rows: slice, columns: slice, W: Array, total: Array) -> None:
        total += W @ self.Y[columns]


class _OfPolynomial(_Slopes):
    """∇k = p γ (γ xᵀy + c)^(p − 1) y."""

    def add(self, rows: slice, columns: slice, W: Array, total: Array) -> None:
        gamma, degree = self.kernel.gamma, self.kernel.degree
        base = gamma * (self.X[rows] @ self.Y[columns].T) + self.kernel.coef0
        slopes = degree * gamma * base ** (degree - 1)
        for weights, one in zip(W, total, strict=True):
            one += (weights * slopes) @ self.Y[columns]


class _OfCosine(_Slopes):
    """∇k = (ŷ − k x̂) / |x| for rows of unit length x̂ and ŷ; zero at a row of zeros."""

    def __init__(self, kernel: Cosine, X: Array, Y: Array) -> None:
        super().__init__(kernel, DenseRows(X).normalised().X, DenseRows(Y).normalised().X)
        lengths = np.linalg.norm(X, axis=1)
        self.shrink = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)

    def add(self, rows: slice, columns: slice, W: Array, total: Array) -> None:
        total += W @ self.Y[columns]

    def finish(self, rows: slice, total: Array) -> Array:
        along = np.einsum("tij,ij->ti", total, self.X[rows])  # Σ_j W_ij k(x_i, y_j)
        return (total - along[..., None] * self.X[rows]) * self.shrink[rows, None]


class _OfEuclidean(_Slopes):
    """Of a function of e = −|z − z'|²/2; sums are in the coordinates z."""

    def __init__(self, kernel: Gaussian | Matern, X: Array, Y: Array) -> None:
        origin, widths = origin_of(Y), np.asarray(kernel.widths)
        points = (kernel.in_metric(rows, origin) for rows in (X, Y))
        super().__init__(kernel, *(rows.standardised(at, widths).X for rows, at in points))
        # ∇ in the features is A times that in z, or features times numbers where A is diagonal
        self.A = (np.ones(X.shape[1]) if kernel.metric is None else kernel.metric) / widths
        self.halves = [0.5 * np.einsum("ij,ij->i", Z, Z) for Z in (self.X, self.Y)]

    def add(self, rows: slice, columns: slice, W: Array, total: Array) -> None:
        Z, centers = self.X[rows], self.Y[columns]
        squares = np.add.outer(self.halves[0][rows], self.halves[1][columns])
        exponents = np.minimum(Z @ centers.T - squares, 0.0)
        slopes = _DERIVATIVES[getattr(self.kernel, "nu", None)](exponents, squares)
        for weights, one in zip(W, total, strict=True):
            each = weights * slopes
            one += each @ centers
            one -= each.sum(axis=1, keepdims=True) * Z

    def finish(self, rows: slice, total: Array) -> Array:
        return total * self.A if self.A.ndim == 1 else total @ self.A.T


def _exponential_slope(exponents: Array, squares: Array) -> Array:
    """exp(−s) / s; zero where the distance is within rounding of zero."""
    apart = -exponents > _ROUNDING * squares
    s = np.sqrt(-2.0 * exponents)
    return np.divide(np.exp(-s), s, out=np.zeros_like(s), where=apart)


def _matern_5_2_slope(exponents: Array, squares: Array) -> Array:
    s = np.sqrt(-10.0 * exponents)
    return (5.0 / 3.0) * (1.0 + s) * np.exp(-s)


#: φ' by ν, from exponents and the sums of squares that they are differences of; None: Gaussian.
_DERIVATIVES: dict[float | None, Callable[[Array, Array], Array]] = {
    None: lambda exponents, squares: np.exp(exponents),
    0.5: _exponential_slope,
    1.5: lambda exponents, squares: 3.0 * np.exp(-np.sqrt(-6.0 * exponents)),
    2.5: _matern_5_2_slope,
}


class _OfLaplacian(_Slopes):
    """Σ_j W_ij k sign(z_i − z_j), one feature after the other."""

    def __init__(self, kernel: Laplacian, X: Array, Y: Array) -> None:
        origin = origin_of(Y)
        super().__init__(kernel, *(kernel.left(rows, origin).X for rows in (X, Y)))
        self.scales = (1.0 if kernel.metric is None else kernel.metric) / kernel.widths

    def add(self, rows: slice, columns: slice, W: Array, total: Array) -> None:
        Z, centers = self.X[rows], self.Y[columns]
        terms = W * np.exp(-DenseRows(Z).city_block(DenseRows(centers)))  # (t, b, m)
        for j in range(Z.shape[1]):
            signs = np.sign(np.subtract.outer(Z[:, j], centers[:, j]))
            total[:, :, j] -= np.einsum("tbm,bm->tb", terms, signs)

    def finish(self, rows: slice, total: Array) -> Array:
        return total * self.scales


class _OfSum(_Slopes):
    def __init__(self, kernel: Sum | Product, X: Array, Y: Array) -> None:
        super().__init__(kernel, X, Y)
        self.parts = [_slopes_of(part, X, Y) for part in (kernel.first, kernel.second)]

    def start(self, t: int, rows: slice) -> list[Any]:
        return [part.start(t, rows) for part in self.parts]

    def add(self, rows: slice, columns: slice, W: Array, total: list[Any]) -> None:
        for part, own in zip(self.parts, total, strict=True):
            part.add(rows, columns, W, own)

    def finish(self, rows: slice, total: list[Any]) -> Array:
        first, second = (p.finish(rows, own) for p, own in zip(self.parts, total, strict=True))
        return first + second


class _OfProduct(_OfSum):
    """∇(k₁k₂) = k₂∇k₁ + k₁∇k₂."""

    def __init__(self, kernel: Product, X: Array, Y: Array) -> None:
        super().__init__(kernel, X, Y)
        origin = origin_of(Y)
        factors = kernel.second, kernel.first  # each part is multiplied by the other one
        self.others = [(k, k.left(X, origin), k.right(Y, origin)) for k in factors]

    def add(self, rows: slice, columns: slice, W: Array, total: list[Any]) -> None:
        K = np.empty((rows.stop - rows.start, columns.stop - columns.start))
        for part, own, (other, left, right) in zip(self.parts, total, self.others, strict=True):
            other.fill(left[rows], right[columns], K)
            part.add(rows, columns, W * K, own)


_SLOPES: dict[type[Kernel], type[_Slopes]] = {
    Constant: _OfConstant,
    Cosine: _OfCosine,
    Gaussian: _OfEuclidean,
    Laplacian: _OfLaplacian,
    Linear: _OfLinear,
    Matern: _OfEuclidean,
    Polynomial: _OfPolynomial,
    Product: _OfProduct,
    Sum: _OfSum,
}


def _slopes_of(kernel: Kernel, X: Array, Y: Array) -> _Slopes:
    return _SLOPES[type(kernel)](kernel, X, Y)


def _refuse_unknown(kernel: Kernel) -> None:
    """Before anything is computed; a subclass may have another formula."""
    for term in (kernel, *kernel.get_params(deep=True).values()):
        if isinstance(term, Kernel) and type(term) not in _SLOPES:
            names = ", ".join(sorted(known.__name__ for known in _SLOPES))
            msg = (
                f"{type(term).__name__} has no gradient that is known: the kernels that have one "
                f"are {names}"
            )
            raise TypeError(msg)
