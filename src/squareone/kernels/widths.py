"""A kernel whose width is still to be chosen: its matrices for one width after another."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ..arrays import Array, set_diagonal
from ..devices import active_place
from .base import Kernel
from .stationary import Stationary
from .tiles import kernel_matrix, lower_triangle

__all__ = ["WidthFamily", "free_width", "with_width"]


def free_width(kernel: Kernel) -> str:
    """The name of the parameter that is ``"auto"``, such as ``"first__sigma"``; empty if none is.

    Refused where several are: one width can be chosen together with λ, not two.
    """
    names = [
        name
        for name, value in kernel.get_params(deep=True).items()
        if name.rpartition("__")[2] == "sigma" and isinstance(value, str) and value == "auto"
    ]
    if len(names) > 1:
        msg = (
            f'{kernel} has sigma="auto" in {len(names)} terms: one width at most can be searched. '
            'Give the others a number, or sigma="median"'
        )
        raise ValueError(msg)
    if names and names[0] != "sigma" and getattr(term_of(kernel, names[0]), "ard", False):
        msg = f"{kernel}: ard=True is for a Gaussian kernel by itself, not in a sum or product"
        raise ValueError(msg)
    return names[0] if names else ""


def term_of(kernel: Kernel, name: str) -> Stationary:
    """The kernel, or its term, that the parameter ``name`` belongs to."""
    outer, _, _ = name.rpartition("__")
    term = kernel.get_params(deep=True)[outer] if outer else kernel
    assert isinstance(term, Stationary)
    return term


def with_width(kernel: Kernel, name: str, sigma: Any) -> Kernel:
    """The same kernel with the width ``name`` set."""
    return clone(kernel).set_params(**{name: sigma})


class WidthFamily:
    """Kernel matrices between the same rows, for any number of widths.

    ``X`` is an array (n, d) or a CSR matrix.

    For a kernel of the distance alone the distances are computed once, and every further width
    costs an evaluation of the kernel, not of the distances.

    Memory: n² numbers, and n² for each matrix asked for.
    """

    def __init__(self, kernel: Kernel, name: str, X: Any, shape: Array | float) -> None:
        self.kernel = kernel
        self.name = name
        self.X = X
        # widths are multiples of this: one number, or one for every feature
        self.shape = shape
        self._place = active_place()
        self._exponents: Any = None
        if isinstance(kernel, Stationary):
            at_one = with_width(kernel, name, shape)
            assert isinstance(at_one, Stationary)
            self._exponents = lower_triangle(at_one, X, at_one.exponents)

    def at(self, scale: float) -> Kernel:
        """The kernel at a width of ``scale`` times the shape."""
        return with_width(self.kernel, self.name, scale * self.shape)

    def matrix(self, scale: float, dtype: np.dtype | None = None) -> Any:
        """The lower triangle of the kernel matrix (n, n) at that width, rounded to ``dtype``."""
        kernel = self.at(scale)
        dtype = dtype or self.X.dtype
        if self._exponents is None:
            return kernel_matrix(kernel, self.X, both_triangles=False, dtype=dtype)
        assert isinstance(kernel, Stationary)
        exponents, factor = self._exponents, scale**-kernel.power
        factor = float(self.X.dtype.type(factor))
        n, place = self.X.shape[0], self._place
        K = place.empty((n, n), dtype)

        def fill(tile: tuple[slice, slice]) -> None:
            exact = exponents[tile] * factor
            kernel.of_exponents(exact)
            K[tile] = exact

        place.for_each(fill, place.lower_tiles(n))
        set_diagonal(K, 1.0)
        return K
