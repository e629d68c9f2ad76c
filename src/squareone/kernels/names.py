"""Kernels by name."""

from __future__ import annotations

from typing import Any

from .base import Kernel
from .dot_product import Linear, Polynomial
from .precomputed import Precomputed
from .stationary import Gaussian, Laplacian, Matern

__all__ = ["BY_NAME", "kernel_from"]

#: Kernels by name, for ``RLSRegressor(kernel="gaussian")``.
BY_NAME: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "linear": Linear,
    "matern": Matern,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "precomputed": Precomputed,
    "rbf": Gaussian,
}


def kernel_from(kernel: Any) -> Kernel:
    """A kernel object, from an object or a name."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str) and kernel in BY_NAME:
        return BY_NAME[kernel]()
    names = ", ".join(f'"{name}"' for name in sorted(BY_NAME))
    msg = (
        f"kernel={kernel!r}: a kernel object such as squareone.kernels.Gaussian(sigma=2.0), or one "
        f"of the names {names}, is expected"
    )
    raise ValueError(msg)
