"""Systems with A + λ for one matrix A and any λ, without its eigenvectors where these can wait."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..arrays import Array
from ..decompositions import Tridiagonal

# Values below zero by less than this share of λ need no eigenvectors.
_NOTHING = 1e-3


class ShiftedSystems:
    """(A + λ)⁻¹G for a matrix A = VS²Vᵀ that is positive semidefinite but for rounding.

    Where rounding left a value below zero, it counts as zero. Only eigenvectors can see to that;
    otherwise, and until somebody asks for them, a tridiagonal form is all that is needed.

    **Cost**: 4r³/3 flops; then 8rt for every λ, and 4r²t for solutions. Eigenvectors: up to 5r³.

    Parameters
    ----------
    A : array (r, r)
        Symmetric, and destroyed: what is below the diagonal is read.
    G : array (r, t)

    Attributes
    ----------
    squares : array (r,)
        S², in float64.
    """

    def __init__(self, A: Array, G: Array) -> None:
        self._form: Tridiagonal | None = Tridiagonal(A)
        self._G = self._form.reduced(G)
        self.squares = np.maximum(self._form.values, 0.0)

    @cached_property
    def projections(self) -> Array:
        """VᵀG (r, t)."""
        return self._there.turned(self._G)

    def vectors(self) -> Array:
        """V (r, r)."""
        self.projections  # noqa: B018 – which need the tridiagonal form
        return self._there.dense()

    def release(self) -> None:
        """Give up the vectors: there are no more solutions, what they explain is still known."""
        self._form = None

    def solutions(self, shifts: Array) -> Array:
        """(A + λ_j)⁻¹g_j (r, t): every column of G has its own λ."""
        different, which = np.unique(shifts, return_inverse=True)
        solved = self._solved(different)
        if solved is None:
            return self._there.times(self.projections / (self.squares[:, None] + shifts))
        along = [solved[k][:, j] for j, k in enumerate(which)]
        return self._there.expanded(np.transpose(along))

    def explained(self, shifts: Array) -> Array:
        """gᵀ(2(A + λ)⁻¹ − A(A + λ)⁻²)g (t, L): by how much a ridge regression reduces squares."""
        solved = self._solved(shifts)
        if solved is None:
            gains = 1.0 / (self.squares[:, None] + shifts)
            taken = 2.0 * gains - self.squares[:, None] * np.square(gains)
            return np.square(self.projections, dtype=np.float64).T @ taken
        # with x = (A + λ)⁻¹g, which is as long along Q, the same is gᵀx + λxᵀx
        pairs = zip(shifts, solved, strict=True)
        return np.transpose([np.sum(x * (self._G + shift * x), axis=0) for shift, x in pairs])

    @property
    def _there(self) -> Tridiagonal:
        assert self._form is not None, "it was released"
        return self._form

    def _solved(self, shifts: Array) -> list[Array] | None:
        """(T + λ)⁻¹QᵀG (r, t) for every λ, or None where eigenvectors are there, or needed."""
        if "projections" in self.__dict__:
            return None
        below = -float(self._there.values.min(initial=0.0))
        if below > _NOTHING * float(np.min(shifts)):
            return None
        found = []
        for shift in shifts:
            X = self._there.solved(float(shift), self._G)
            if X is None:
                return None
            found.append(X)
        return found
