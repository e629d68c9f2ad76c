"""Sums over rows that a ridge regression needs: added block by block, and taken apart again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import TILE, Array, add_gram, blocks, divide_by_cholesky, lower_copy
from ...devices import active_place
from ...threads import for_each
from .center_basis import CenterBasis


@dataclass
class FeatureSums:
    """Sums over rows with features z (k,), targets ỹ and weights w; rows come scaled by √w.

    Attributes
    ----------
    gram : array (k, k)
        Σ w zzᵀ: its lower triangle.
    first : array (k,)
        Σ w z.
    cross : array (k, t)
        Σ w z ỹᵀ.
    targets : array (t,)
        Σ w ỹ.
    total : float
        Σ w.
    """

    gram: Array
    first: Array
    cross: Array
    targets: Array
    total: float = 0.0

    @classmethod
    def zero(cls, k: int, t: int) -> FeatureSums:
        """Of no rows."""
        return cls(np.zeros((k, k)), np.zeros(k), np.zeros((k, t)), np.zeros(t))

    def add(self, Z: Array, targets: Array, root: Array | None) -> None:
        """Some rows ``Z`` (b, k) and ``targets`` (b, t), both scaled by √w ``root`` (b,).

        **Cost**: bk² flops.
        """
        add_gram(self.gram, Z)
        ones = np.ones(Z.shape[0], Z.dtype) if root is None else root
        beside = np.vstack([ones, targets.T])

        def add(columns: slice) -> None:
            first, *cross = beside @ Z[:, columns]  # Z is read once
            self.first[columns] += first
            self.cross[columns] += np.transpose(cross)

        for_each(add, blocks(Z.shape[1], TILE))
        self.targets += ones @ targets
        self.total += float(np.square(ones, dtype=np.float64).sum())

    def without(self, other: FeatureSums) -> FeatureSums:
        """The sums over the rows that are not in ``other``."""
        return FeatureSums(
            active_place().fetched(self.gram) - other.gram,
            self.first - other.first,
            self.cross - other.cross,
            self.targets - other.targets,
            self.total - other.total,
        )

    def divided(self, basis: CenterBasis, dtype: np.dtype) -> FeatureSums:
        """Sums of features L⁻¹z, for the factor L (k, k) of a basis; the matrix in ``dtype``.

        Cost: k³ flops, and k² numbers.
        """
        gram = lower_copy(self.gram, dtype)
        divide_by_cholesky(gram, basis.factor_in(dtype))
        first, *cross = basis.forward(np.column_stack([self.first, self.cross])).T
        return FeatureSums(gram, first, np.transpose(cross), self.targets, self.total)

    def centre(self) -> None:
        """Sums of the same with z and ỹ less their means: what an intercept leaves."""
        if self.total > 0:
            mean = self.first / self.total
            self.gram -= np.outer(mean, self.first)
            self.cross -= np.outer(mean, self.targets)


class JointSums:
    """The same over rows (z, ỹ, 1), scaled by √w: one product gives all of them.

    Beside the features' own product that of the others is a few columns more, where it would be
    another pass over the rows.

    Parameters
    ----------
    k, t : int
        Features and targets.
    matrix : array (k + t + 1, k + t + 1), optional
        Sums to go on from; zeros by default.
    """

    def __init__(self, k: int, t: int, matrix: Array | None = None) -> None:
        self.k, self.t = k, t
        if matrix is None:
            matrix = active_place().empty((k + t + 1, k + t + 1), np.float64)
            matrix[...] = 0.0
        self.matrix = matrix

    def beside(self, rows: Array, targets: Array, root: Array | None, part: slice) -> None:
        """Write ``targets`` (b, t) and √w beside the features in a part of ``rows`` (b, k + t + 1).

        Row by row it is a long way from one to the next: best where they are in the cache.
        """
        taken = active_place().taken
        rows[part, self.k : -1] = taken(targets[part])
        rows[part, -1] = 1.0 if root is None else taken(root[part])

    def add(self, rows: Array) -> None:
        """Some rows (b, k + t + 1). Cost: b(k + t)² flops."""
        add_gram(self.matrix, rows)

    def apart(self) -> FeatureSums:
        """What was summed; its matrix is a view, which is not added to again."""
        M, k, fetched = self.matrix, self.k, active_place().fetched
        first, cross, targets = (
            np.array(fetched(part), order="C") for part in (M[-1, :k], M[k:-1, :k].T, M[-1, k:-1])
        )
        return FeatureSums(M[:k, :k], first, cross, targets, float(M[-1, -1]))
