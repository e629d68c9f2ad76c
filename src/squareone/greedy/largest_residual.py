"""The largest residual of the regularised fit, without a pass over the basis at every step."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .basis import Basis

# Rows at most whose residuals are computed one by one, at a cache miss for every number of Q.
_FEW = 16
# Units in the last place by which residuals that are kept up to date may be wrong.
_ROUNDING = 64.0


class Residual:
    """u + Qg: what no λ explains, and g = (1 − f) z, what λ keeps from being explained.

    With every λ all of g is another one. Kept is Qg₀ for an earlier one, to which new columns are
    added: by Cauchy and Schwarz no row of Q(g − g₀) is larger than the row of Q times ‖g − g₀‖.
    Only rows that may have the largest residual by this are computed, and Qg₀ anew only where these
    are many.

    Parameters
    ----------
    basis : Basis
    unexplained : array (n, t)
        u, scaled by √w; it changes with the fit.
    root : array (n,) or None
        √w.
    """

    def __init__(self, basis: Basis, unexplained: Array, root: Array | None) -> None:
        self._basis, self._unexplained, self._root = basis, unexplained, root
        self._slack = _ROUNDING * float(np.finfo(basis.directions.dtype).eps)
        self._missing = self._known = np.zeros((0, unexplained.shape[1]))
        self._combined = np.zeros_like(unexplained)
        self._squares = np.zeros(unexplained.shape[0])  # of the lengths of the rows of Q
        #: Residuals, unscaled (n,): the largest exactly, the others nearly.
        self.sizes = np.zeros(unexplained.shape[0])

    def update(self, missing: Array) -> None:
        """Told of g (m, t)."""
        self._missing = missing

    def largest(self, points: Array) -> int:
        """The first row with the largest residual of those in ``points`` (n,), a mask.

        **Cost**: a few passes over n numbers, mostly; 2nmt flops at times.
        """
        self._follow()
        self.sizes = self._sized(self._unexplained + self._combined, slice(None))
        away = float(np.linalg.norm(self._missing - self._known))
        if away > 0:
            doubtful = self._doubtful(points, away)
            if doubtful.size <= _FEW:
                rows = self._basis.directions[doubtful].astype(np.float64)
                values = self._unexplained[doubtful] + rows @ self._missing
                self.sizes[doubtful] = self._sized(values, doubtful)
            else:
                self._known, self._combined = self._missing, self._basis.combined(self._missing)
                self.sizes = self._sized(self._unexplained + self._combined, slice(None))
        return int(np.argmax(np.where(points, self.sizes, -1.0)))

    def squared(self) -> Array:
        """Squared residuals of all rows, with their weights (n,). **Cost**: 2nmt flops."""
        return np.square(self._unexplained + self._basis.combined(self._missing)).sum(axis=1)

    def _follow(self) -> None:
        """Add the columns that are new."""
        known, m = self._known.shape[0], self._missing.shape[0]
        if known < m:
            new = self._basis.directions[:, known:m].astype(np.float64, copy=False)
            self._combined += new @ self._missing[known:]
            self._squares += np.einsum("ij,ij->i", new, new)
            self._known = np.vstack([self._known, self._missing[known:]])

    def _doubtful(self, points: Array, away: float) -> Array:
        """Rows that may have the largest residual."""
        reach = away * np.sqrt(self._squares)
        if self._root is not None:
            reach /= self._root
        least = float(np.max(self.sizes - reach, where=points, initial=0.0))
        reach += self.sizes
        return np.flatnonzero(points & (reach >= (1.0 - self._slack) * least))

    def _sized(self, values: Array, rows: slice | Array) -> Array:
        """Lengths (r,) of residuals (r, t), not scaled by weights any more."""
        sizes = np.abs(values[:, 0]) if values.shape[1] == 1 else np.linalg.norm(values, axis=1)
        return sizes if self._root is None else sizes / self._root[rows]
