"""Kernels: what two rows have in common, as one number.

A kernel is a small object with a formula, ``Gaussian(sigma=2.0)``; ``+`` and ``*`` make new ones.
Called on rows it returns the kernel matrix, computed by tiles on all cores; given to an estimator
it is all the estimator needs to know about the rows.
"""

from .base import Constant, Kernel, Product, Sum
from .dot_product import Cosine, Linear, Polynomial
from .precomputed import Precomputed
from .stationary import Gaussian, Laplacian, Matern

__all__ = [
    "Constant",
    "Cosine",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Polynomial",
    "Precomputed",
    "Product",
    "Sum",
]
