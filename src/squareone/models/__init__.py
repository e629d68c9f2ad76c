"""Models: what was learned, and how it predicts."""

from .expansion import KernelExpansion
from .hyperplane import Hyperplane

__all__ = ["Hyperplane", "KernelExpansion"]
