"""What every kernel can do: be evaluated by tiles, be added and multiplied, be a parameter."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_array

from ..arrays import Array
from ..devices import namespace
from ..errors import ScaleError
from ..parameters import NamedParameters
from ..rows import Stream, canonical, rows_of
from .tiles import kernel_matrix, kernel_rectangle

__all__ = ["Constant", "Kernel", "Product", "Sum"]

# Rows that are looked at together where they are read block by block.
_ROWS = 8192
# Characters of a parameter that are shown.
_LONGEST = 60


class Kernel(NamedParameters):
    """A positive semidefinite function k(x, x') of two rows.

    A kernel is a small value: its constructor stores its parameters and does nothing else, so that
    ``clone``, ``get_params``, ``set_params`` and a search over ``kernel__sigma`` work. Parameters
    that depend on the data (``sigma="median"``, ``gamma=None``) become numbers in
    :meth:`resolve`, which returns a new kernel and leaves this one as it is.

    A new kernel says how rows are prepared on either side (:meth:`left`, :meth:`right`), how a
    tile is filled from prepared rows (:meth:`fill`), and its :meth:`diagonal`. Rows are an array
    (n, d) or a CSR matrix, on both sides the same; :func:`~squareone.rows.base.rows_of` makes no
    difference between them.
    """

    #: Whether it can be evaluated on rows.
    has_formula: bool = True

    #: Whether :meth:`fill` is written for arrays of any kind, by their
    #: :func:`~squareone.devices.namespace`.
    fills_anywhere: bool = False

    #: By how much an error of half a squared distance, in units of the width, changes a value at
    #: most; zero where values are not made of such.
    steepness: float = 0.0

    #: Whether :meth:`peak` asks for nothing but the largest magnitude of the rows.
    peak_by_rows: bool = False

    def __init__(self) -> None:
        """Without parameters; a kernel that has some has a constructor of its own."""

    @abstractmethod
    def check_parameters(self) -> None:
        """Raise if a parameter is out of its range, saying what came and what was expected."""

    def resolve(self, X: Any, rng: np.random.RandomState) -> Kernel:
        """The same kernel with every parameter a number, for training rows ``X`` (n, d)."""
        self.check_parameters()
        return clone(self)

    def check_chosen(self) -> None:
        """Raise if a parameter is still to be chosen by an estimator."""
        for name, value in self.get_params(deep=True).items():
            if isinstance(value, str) and value == "auto":
                msg = (
                    f'{self} has {name}="auto", which an estimator chooses with the targets it is '
                    'fitted to: to evaluate a kernel by itself give a number, or "median"'
                )
                raise ValueError(msg)

    @abstractmethod
    def left(self, X: Any, origin: Array) -> Any:
        """Rows ``X`` (n, d) as the first argument: anything that a slice of rows can index."""

    @abstractmethod
    def right(self, Y: Any, origin: Array) -> Any:
        """Rows ``Y`` (m, d) as the second argument; ``origin`` (d,) is the same on both sides."""

    @abstractmethod
    def fill(self, left: Any, right: Any, out: Array) -> None:
        """Write k between prepared rows into ``out`` (tile rows, tile columns)."""

    @abstractmethod
    def diagonal(self, X: Any) -> Array:
        """k(x, x) for every row of ``X`` (n, d): an array (n,) in the dtype of ``X``."""

    def peak(self, X: Any) -> float:
        """The largest magnitude met while k is evaluated between rows like those of ``X`` (n, d).

        By default that of k(x, x): for a positive semidefinite k no other value is larger.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.max(self.diagonal(X.astype(np.float64, copy=False)), initial=0.0))

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """The kernel matrix between rows of ``X`` (n, d) and of ``Y`` (m, d), or of ``X`` itself.

        Either is array-like or a sparse matrix. Where one is sparse and the other is not, a block
        of rows of ``X`` at a time becomes what ``Y`` is.

        Cost: n·m·d multiplications, or half of that without ``Y``; between sparse rows one for two
        stored numbers of the same feature. Memory for the result (n, m), prepared rows and one
        tile per core. float32 rows give a float32 matrix.
        """
        X = checked_rows(X, [np.float64, np.float32], "X")
        if Y is not None:
            Y = checked_rows(Y, X.dtype, "Y")
            if X.shape[1] != Y.shape[1]:
                msg = (
                    f"X has {X.shape[1]} features and Y has {Y.shape[1]}: a kernel compares rows "
                    "with the same features"
                )
                raise ValueError(msg)
        kernel = self.resolve(X if Y is None else Y, np.random.RandomState(0))
        kernel.check_chosen()
        for rows in (X, Y):
            if rows is not None:
                check_range(kernel, rows)
        if Y is None:
            return kernel_matrix(kernel, X, both_triangles=True)
        return kernel_rectangle(kernel, X, Y)

    def __str__(self) -> str:
        """As in code, its numbers rounded: ``Gaussian(sigma=2.4) + 0.5 * Linear()``."""
        parameters = [
            f"{name}={_rounded(value)}"
            for name, value in self.get_params(deep=False).items()
            if value is not False and not (name == "metric" and value is None)
        ]
        return f"{type(self).__name__}({', '.join(parameters)})"

    def __add__(self, other: Kernel | float) -> Sum:
        return Sum(self, _as_kernel(other))

    def __radd__(self, other: float) -> Sum:
        return Sum(_as_kernel(other), self)

    def __mul__(self, other: Kernel | float) -> Product:
        return Product(self, _as_kernel(other))

    def __rmul__(self, other: float) -> Product:
        return Product(_as_kernel(other), self)


def checked_rows(rows: Any, dtype: Any, name: str) -> Any:
    """Finite rows, as an array or a CSR matrix with sorted indices."""
    rows = check_array(rows, accept_sparse="csr", dtype=dtype, input_name=name)
    return canonical(rows) if issparse(rows) else rows


def _rounded(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, np.ndarray) and value.ndim != 1:
        return f"array of shape {value.shape}"
    if isinstance(value, np.ndarray):
        numbers = [f"{number:.3g}" for number in value[:6]]
        return f"[{', '.join(numbers)}{', …' if value.size > 6 else ''}]"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _as_kernel(term: Kernel | float) -> Kernel:
    if isinstance(term, Kernel):
        return term
    if isinstance(term, Real) and not isinstance(term, bool):
        return Constant(float(term))
    msg = f"a kernel is added to or multiplied by a kernel or a number, got {term!r}"
    raise TypeError(msg)


def check_range(kernel: Kernel, X: Any) -> None:
    """Refuse rows ``X`` (n, d) on which the kernel leaves the range of their type. Cost: n·d."""
    if _peak(kernel, X) <= float(np.finfo(X.dtype).max) / 1e3:
        return
    msg = (
        f"{kernel} overflows {X.dtype.name} on these rows: rescale X (for instance with "
        "sklearn.preprocessing.StandardScaler), or use a larger sigma, a lower degree or a smaller "
        "factor"
    )
    raise ScaleError(msg)


def _peak(kernel: Kernel, X: Any) -> float:
    if kernel.peak_by_rows or not isinstance(X, Stream):
        return kernel.peak(X)
    return max(kernel.peak(block.X) for _, block in rows_of(X).row_blocks(_ROWS))


def check_positive(kernel: Kernel, name: str, value: Any, *, zero: bool = False) -> None:
    """Refuse a parameter that is not a finite number above zero (or at zero, if ``zero``)."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number and np.isfinite(value) and (value > 0 or (zero and value == 0)):
        return
    least = "at or above" if zero else "above"
    msg = f"{type(kernel).__name__}({name}={value!r}): {name} must be a finite number {least} zero"
    raise ValueError(msg)


class Constant(Kernel):
    """The constant kernel, k(x, x') = value.

    Added to another kernel it is a *penalised* bias; multiplied, a scale.

    Parameters
    ----------
    value : float, default=1.0
        At or above zero.

    Examples
    --------
    >>> from squareone.kernels import Constant, Linear
    >>> (Linear() + Constant(3.0))([[1.0], [2.0]])
    array([[4., 5.],
           [5., 7.]])
    """

    fills_anywhere = True

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    def __str__(self) -> str:
        return f"{self.value:.3g}" if isinstance(self.value, Real) else super().__str__()

    def check_parameters(self) -> None:
        check_positive(self, "value", self.value, zero=True)

    def left(self, X: Any, origin: Array) -> Array:
        return np.empty((X.shape[0], 0))

    def right(self, Y: Any, origin: Array) -> Array:
        return np.empty((Y.shape[0], 0))

    def fill(self, left: Array, right: Array, out: Array) -> None:
        out[...] = self.value

    def diagonal(self, X: Any) -> Array:
        return np.full(X.shape[0], self.value, X.dtype)


@dataclass
class _Both:
    """Rows prepared for two kernels at once."""

    first: Any
    second: Any

    def __getitem__(self, rows: slice) -> _Both:
        return _Both(self.first[rows], self.second[rows])


class _Pair(Kernel):
    """Two kernels evaluated on the same tile."""

    def __init__(self, first: Kernel, second: Kernel) -> None:
        self.first = first
        self.second = second

    @property
    def fills_anywhere(self) -> bool:  # type: ignore[override]
        return self.first.fills_anywhere and self.second.fills_anywhere

    def check_parameters(self) -> None:
        for side in ("first", "second"):
            term = getattr(self, side)
            if not isinstance(term, Kernel):
                msg = f"{type(self).__name__}({side}={term!r}): a kernel is expected"
                raise TypeError(msg)
            if not term.has_formula:
                msg = (
                    f"{term} has no formula to evaluate on rows, so it cannot be added to or "
                    "multiplied by other kernels: combine the matrices yourself"
                )
                raise TypeError(msg)
            term.check_parameters()

    def resolve(self, X: Any, rng: np.random.RandomState) -> Kernel:
        self.check_parameters()
        return type(self)(self.first.resolve(X, rng), self.second.resolve(X, rng))

    def left(self, X: Any, origin: Array) -> _Both:
        return _Both(self.first.left(X, origin), self.second.left(X, origin))

    def right(self, Y: Any, origin: Array) -> _Both:
        return _Both(self.first.right(Y, origin), self.second.right(Y, origin))

    def peak(self, X: Any) -> float:
        return max(self.first.peak(X), self.second.peak(X), super().peak(X))

    def _both(self, left: _Both, right: _Both, out: Array) -> Array:
        """Fill ``out`` with the first kernel; return the second one's tile."""
        self.first.fill(left.first, right.first, out)
        scratch = namespace(out).empty_like(out)
        self.second.fill(left.second, right.second, scratch)
        return scratch


class Sum(_Pair):
    """The sum of two kernels, k(x, x') = k₁(x, x') + k₂(x, x'); written ``k1 + k2``.

    Parameters
    ----------
    first, second : Kernel
        The terms; their parameters are reached as ``first__sigma`` and so on.

    Examples
    --------
    >>> from squareone.kernels import Gaussian, Linear
    >>> (Gaussian(sigma=1.0) + Linear()).get_params()["first__sigma"]
    1.0
    """

    def __str__(self) -> str:
        return f"{self.first} + {self.second}"

    def fill(self, left: _Both, right: _Both, out: Array) -> None:
        out += self._both(left, right, out)

    def diagonal(self, X: Any) -> Array:
        return self.first.diagonal(X) + self.second.diagonal(X)


class Product(_Pair):
    """The product of two kernels, k(x, x') = k₁(x, x')·k₂(x, x'); written ``k1 * k2``.

    Parameters
    ----------
    first, second : Kernel
        The factors; their parameters are reached as ``first__sigma`` and so on.

    Examples
    --------
    >>> from squareone.kernels import Gaussian, Linear
    >>> (2.0 * Linear())([[1.0], [2.0]])
    array([[2., 4.],
           [4., 8.]])
    """

    def __str__(self) -> str:
        factors = (self.first, self.second)
        return " * ".join(
            f"({factor})" if isinstance(factor, Sum) else str(factor) for factor in factors
        )

    def fill(self, left: _Both, right: _Both, out: Array) -> None:
        out *= self._both(left, right, out)

    def diagonal(self, X: Any) -> Array:
        return self.first.diagonal(X) * self.second.diagonal(X)
