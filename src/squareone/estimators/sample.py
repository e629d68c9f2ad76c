"""Rows, targets, weights and kernel, and the linear system they make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Array, power_of_two
from ..kernels import Kernel, Linear, Precomputed
from ..kernels.base import check_range
from ..kernels.precomputed import copy_symmetric
from ..kernels.tiles import kernel_matrix
from ..solvers import CentredRows, DualFeatures, SymmetricSystem, Weighting


@dataclass
class Sample:
    """What the linear system of a fit is made of.

    Attributes
    ----------
    X : array (n, d) or CSR matrix
        Rows of positive weight, or the kernel matrix between them (n, n).
    Y : array (n, t)
        Target columns, of magnitude one.
    weights : array (n,) or None
    intercept : bool
    kernel : Kernel
        With numbers for parameters.
    thin : bool
        Whether coefficients belong to centers, not to all rows or to features.
    """

    X: Any
    Y: Array
    weights: Array | None
    intercept: bool
    kernel: Kernel
    thin: bool = field(default=False, kw_only=True)

    @property
    def given(self) -> bool:
        """Whether X is a kernel matrix."""
        return isinstance(self.kernel, Precomputed)

    @property
    def linear(self) -> bool:
        """Whether the model is a hyperplane."""
        return isinstance(self.kernel, Linear) and not self.thin

    def weighting(self) -> Weighting:
        """Weights and intercept."""
        return Weighting.of(self.X.shape[0], self.weights, self.intercept, self.X.dtype)

    def system(self, dtype: np.dtype | None = None, K: Array | None = None) -> SymmetricSystem:
        """The kernel matrix made ready, in another precision if asked.

        ``K`` (n, n) is that matrix where it is there already: it is taken over.
        """
        dtype = dtype or self.X.dtype
        X, Y = self.X, self.Y
        weighting = Weighting.of(X.shape[0], self.weights, self.intercept, dtype)
        exact = self.weighting()
        if dtype != X.dtype:  # centred first: rounding would be that of the offset
            Y = (Y - exact.mean(Y)).astype(dtype)
        if self.linear:
            return DualFeatures.of(CentredRows.of(X, exact), Y, weighting)
        unit = 1.0
        if self.given:
            unit = 1.0 if dtype == X.dtype else power_of_two(np.diagonal(X))
            K = copy_symmetric(X, dtype, unit)
        elif K is None:
            check_range(self.kernel, X)
            unit = 1.0 if dtype == X.dtype else power_of_two(self.kernel.diagonal(X))
            K = kernel_matrix(self.kernel, X, both_triangles=False, dtype=dtype, unit=unit)
        return SymmetricSystem.prepare(K, Y, weighting, unit)
