"""Features of few centers, whose products are the kernel matrix as far as these explain it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..centers import Given, Selector
from ..kernels import Kernel
from ..kernels.base import check_range
from ..rows import rows_of
from ..rows.matching import find_rows
from ..solvers.few_centers.center_basis import CenterBasis


@dataclass(frozen=True)
class CenterFeatures:
    """Features Z = K_nm L⁻ᵀ / unit, LLᵀ = K_mm / unit, with K_nm K_mm⁻¹ K_mn = unit · ZZᵀ.

    Attributes
    ----------
    basis : CenterBasis
    indices : array (r,)
        Which of the user's rows the independent centers are, −1 for other points.
    """

    basis: CenterBasis
    indices: Array

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        X: Any,
        selector: Selector,
        kept: Array,
        n_rows: int,
        rng: np.random.RandomState,
    ) -> tuple[CenterFeatures, Array]:
        """Choose centers and read the rows block by block; also Z (n, r) in float64.

        ``kept`` (n,) are the user's numbers of the rows, of ``n_rows`` in all.

        Cost: nmd multiplications, nm² flops; nm numbers.
        """
        if isinstance(selector, Given):
            points, numbers = selector.placed(X, n_rows)
            if numbers is None:
                found = find_rows(rows_of(points), rows_of(X))
                numbers = np.where(found >= 0, kept[found], -1)
        else:
            selection = selector._choose(kernel, X, rng)
            points, numbers = selection.points, selection.indices
            numbers = np.full(points.shape[0], -1) if numbers is None else kept[numbers]
        basis = CenterBasis(kernel, points.astype(np.float64), np.dtype(np.float64))
        check_range(kernel, X)
        rows = rows_of(X)
        Z = np.empty((rows.shape[0], basis.size))
        for part, block in basis.passes(rows):
            basis.fill(block.astype(np.dtype(np.float64)), Z[part], None, None)
            basis.divide(Z[part])
        return cls(basis, numbers[basis.kept]), Z
