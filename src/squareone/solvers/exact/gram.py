"""``gram``: the eigendecomposition of X̃ᵀX̃, with leverages by a second pass over the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...arrays import Array
from ...decompositions import eigh
from ...rows import Rows
from ..contract import gram_by_blocks
from .feature_matrix import CentredRows
from .folds import errors_of_thin_basis
from .ridge import RidgeFactor


class GramFactor(RidgeFactor):
    """The features are those of the rows, X̃.

    For n > d and features in good condition: forming a Gram matrix squares the condition, and
    here 1 − h is a difference, so rows of leverage near one lose digits.

    **Cost**: nd² + 9d³ flops and d² numbers once, in one pass over the rows; a second pass, nd²
    and then nd(t + 1) multiplications per λ, for the leverages.
    """

    def __init__(self, rows: CentredRows, Y: Array) -> None:
        self.rows = rows
        self.weighting = rows.weighting
        self.targets, self.means = self.weighting.targets(Y)
        values, vectors = eigh(rows.gram())
        self.squares = np.maximum(values, 0.0)
        self.axes = np.ascontiguousarray(vectors.astype(self.targets.dtype))
        self.projections = self.axes.T @ rows.transposed_times(self.targets)
        self._set_base()
        self.alpha_units = rows.alpha_units
        self.largest = self.rounded = rows.in_user_units(float(np.max(self.squares, initial=0.0)))

    def taken(self, rows: slice | Array) -> Rows:
        return self.rows.rows[rows]

    def passes(self) -> Iterator[tuple[slice, Rows]]:
        return self.rows.passes()

    def block_times(self, V: Array, block: Rows, rows: slice | Array) -> Array:
        return self.rows.block_times(V, block, rows)

    def other_times(self, X: Any, V: Array) -> Array:
        return self.rows.like(X, V)

    def settle(self) -> None:
        self.rows = self.rows.owned()

    def errors_without(self, alphas: Array, removed: Array) -> Array:
        A, residuals = self._fitted(alphas, removed)
        scale = np.sqrt(-self.filters(alphas))
        penalty = (self.scaled(alphas) * np.square(scale, dtype=np.float64)).astype(scale.dtype)
        kept = np.delete(np.arange(self.n), removed)
        u = self.weighting.direction
        if u is None:
            rest = gram_by_blocks(self.basis, kept, A.shape[1])
        else:  # u: fitted in full, no penalty
            ones = np.ones((1, alphas.size), scale.dtype)
            scale, penalty = np.vstack([ones, scale]), np.vstack([0 * ones, penalty])
            A = np.column_stack([u[removed], A])
            rest = gram_by_blocks(
                lambda rows: np.column_stack([u[rows], self.basis(rows)]), kept, A.shape[1]
            )
        return errors_of_thin_basis(A, rest, scale, penalty, residuals)

    def coefficients(self, alphas: Array) -> tuple[Array, Array]:
        return self.rows.hyperplane(
            self.axes @ (-self.filters(alphas) * self.projections), self.means
        )

    def variances(self, alpha: float, queries: Array, prior: Array) -> Array:
        left = self.rows.leftover_variances(queries, self.axes, self.gains(alpha), alpha)
        return left + self._variance_of_mean(alpha)
