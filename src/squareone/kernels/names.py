"""Kernels by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Kernel
from .dot_product import Cosine, Linear, Polynomial
from .precomputed import Precomputed
from .stationary import Gaussian, Laplacian, Matern

__all__ = ["BY_NAME", "is_precomputed", "kernel_from", "other_kernels"]

#: Kernels by name, for ``RLSRegressor(kernel="gaussian")``.
BY_NAME: dict[str, type[Kernel]] = {
    "cosine": Cosine,
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "linear": Linear,
    "matern": Matern,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "precomputed": Precomputed,
    "rbf": Gaussian,
}


#: Kernels that are worth a trial beside another one, as they are written.
_WORTH_A_TRIAL: dict[str, type[Kernel]] = {
    "Gaussian()": Gaussian,
    "Gaussian(ard=True)": Gaussian,
    "Laplacian()": Laplacian,
    "Matern()": Matern,
    "Linear()": Linear,
}


def other_kernels(kernel: Kernel, *, relevance: bool) -> tuple[str, ...]:
    """Kernels that might predict better, as they are written: those that ``kernel`` has no part in.

    ``relevance`` says whether a width for every feature can be searched. None for a matrix.
    """
    if not kernel.has_formula:
        return ()
    terms = [kernel, *kernel.get_params(deep=True).values()]
    tried = {type(term) for term in terms}
    one_width = any(
        isinstance(t, Gaussian) and not t.ard and t.metric is None and np.ndim(t.sigma) == 0
        for t in terms
    )
    found = []
    for name, kind in _WORTH_A_TRIAL.items():
        if "ard" in name:
            if relevance and (kind not in tried or one_width):
                found.append(name)
        elif kind not in tried:
            found.append(name)
    return tuple(found)


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


def is_precomputed(kernel: Any) -> bool:
    """Whether X is a kernel matrix."""
    return isinstance(kernel, Precomputed) or kernel == "precomputed"
