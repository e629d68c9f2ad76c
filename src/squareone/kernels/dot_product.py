"""Kernels of the inner product: linear, cosine and polynomial."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from ..arrays import Array
from ..devices import namespace
from ..rows import Rows, rows_of
from .base import Kernel, check_positive

__all__ = ["Cosine", "Linear", "Polynomial"]


class Linear(Kernel):
    """The linear kernel, k(x, x') = xᵀx'.

    Estimators with this kernel learn a hyperplane (``coef_``) and work with the features instead
    of a kernel matrix wherever that is cheaper.

    Examples
    --------
    >>> from squareone.kernels import Linear
    >>> Linear()([[1.0, 2.0], [0.0, 1.0]])
    array([[5., 2.],
           [2., 1.]])
    """

    fills_anywhere = True

    def check_parameters(self) -> None:
        return

    def left(self, X: Any, origin: Array) -> Rows:
        return rows_of(X)

    def right(self, Y: Any, origin: Array) -> Rows:
        return rows_of(Y)

    def fill(self, left: Rows, right: Rows, out: Array) -> None:
        left.cross(right, out)

    def diagonal(self, X: Any) -> Array:
        return rows_of(X).squares()


class Cosine(Kernel):
    """The cosine kernel, k(x, x') = xᵀx' / (‖x‖ ‖x'‖): the cosine of the angle between two rows.

    It does not see how long rows are, only where they point to: for texts as counts of words, for
    instance, of which some are longer than others. A row of zeros points nowhere, and k is zero
    between it and any row, itself included.

    The same model as a hyperplane, with ``coef_`` and the fast solvers of the linear kernel, is
    ``make_pipeline(Normalizer(), RLSClassifier("linear"))``, with scikit-learn's ``Normalizer``.

    Examples
    --------
    >>> from squareone.kernels import Cosine
    >>> Cosine()([[3.0, 4.0], [30.0, 40.0], [1.0, 0.0], [0.0, 0.0]])
    array([[1. , 1. , 0.6, 0. ],
           [1. , 1. , 0.6, 0. ],
           [0.6, 0.6, 1. , 0. ],
           [0. , 0. , 0. , 0. ]])
    """

    peak_by_rows = True
    fills_anywhere = True

    def check_parameters(self) -> None:
        return

    def left(self, X: Any, origin: Array) -> Rows:
        return rows_of(X).normalised()

    def right(self, Y: Any, origin: Array) -> Rows:
        return rows_of(Y).normalised()

    def fill(self, left: Rows, right: Rows, out: Array) -> None:
        left.cross(right, out)

    def diagonal(self, X: Any) -> Array:
        # not of squares, which may vanish
        return (rows_of(X).normalised().squares() > 0).astype(X.dtype)

    def peak(self, X: Any) -> float:
        return 1.0


class Polynomial(Kernel):
    """The polynomial kernel, k(x, x') = (γ xᵀx' + c)^p.

    Parameters
    ----------
    degree : int, default=3
        p, at least one.
    gamma : float or None, default=None
        γ, above zero; None means 1 / number of features.
    coef0 : float, default=1.0
        c, at or above zero.

    Examples
    --------
    >>> from squareone.kernels import Polynomial
    >>> Polynomial(degree=2, gamma=1.0)([[1.0], [2.0]])
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    fills_anywhere = True

    def __init__(self, degree: int = 3, gamma: float | None = None, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def check_parameters(self) -> None:
        integral = isinstance(self.degree, Integral) and not isinstance(self.degree, bool)
        if not integral or self.degree < 1:
            msg = f"Polynomial(degree={self.degree!r}): degree must be an integer of at least one"
            raise ValueError(msg)
        if self.gamma is not None:
            check_positive(self, "gamma", self.gamma)
        check_positive(self, "coef0", self.coef0, zero=True)

    def resolve(self, X: Any, rng: np.random.RandomState) -> Polynomial:
        self.check_parameters()
        if self.gamma is None and X.shape[1] == 0:
            msg = (
                f"{self}: gamma=None is one divided by the number of features, which is not known "
                "yet: give gamma a number, or say how many features there are"
            )
            raise ValueError(msg)
        gamma = 1.0 / X.shape[1] if self.gamma is None else self.gamma
        return Polynomial(self.degree, gamma, self.coef0)

    def left(self, X: Any, origin: Array) -> Rows:
        assert self.gamma is not None
        return rows_of(X).scaled(self.gamma)

    def right(self, Y: Any, origin: Array) -> Rows:
        return rows_of(Y)

    def fill(self, left: Rows, right: Rows, out: Array) -> None:
        left.cross(right, out)
        out += self.coef0
        _raise_in_place(out, self.degree)

    def diagonal(self, X: Any) -> Array:
        values = rows_of(X).squares() * X.dtype.type(self.gamma)
        values += self.coef0
        _raise_in_place(values, self.degree)
        return values


def _raise_in_place(values: Array, power: int) -> None:
    """``values ** power`` by repeated squaring: NumPy's power calls the math library per number."""
    xp, base = namespace(values), None
    if power & (power - 1):  # needed unless power is 2^k
        base = xp.empty_like(values)
        base[...] = values
    for bit in bin(power)[3:]:
        xp.square(values, out=values)
        if bit == "1" and base is not None:
            values *= base
