"""Row weights and the unpenalised intercept: a square root and one direction.

With weights w the problem is the unweighted one for rows scaled by √w. An intercept makes the
fit blind to the direction u = √w / ‖√w‖: targets and kernel (or features) are projected onto its
complement, and u itself is set aside. After that every solver sees the plain problem
min ‖ỹ − B̃a‖² + λ aᵀB̃a, and its residuals and leverages are those of the original one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array, power_of_two
from ...rows import DenseRows, Rows


@dataclass(frozen=True)
class Weighting:
    """Weights above zero and the presence of an intercept, for n rows.

    Attributes
    ----------
    n : int
    root : array (n,) or None
        √(w / unit); None where all weights are one.
    direction : array (n,) or None
        u = √w / ‖√w‖; None without an intercept.
    unit : float
        A power of two near the largest weight. Dividing weights and λ by it changes nothing and
        keeps both within the range of the type.
    """

    n: int
    root: Array | None
    direction: Array | None
    unit: float = 1.0

    @classmethod
    def of(cls, n: int, weights: Array | None, intercept: bool, dtype: np.dtype) -> Weighting:
        unit = 1.0 if weights is None else power_of_two(weights)
        root = np.ones(n) if weights is None else np.sqrt(weights / unit)
        direction = (root / np.linalg.norm(root)).astype(dtype) if intercept else None
        return cls(n, None if weights is None else root.astype(dtype), direction, unit)

    def astype(self, dtype: np.dtype) -> Weighting:
        """The same in another precision."""
        root = None if self.root is None else self.root.astype(dtype)
        u = None if self.direction is None else self.direction.astype(dtype)
        return Weighting(self.n, root, u, self.unit)

    def restricted(self, rows: Array) -> Weighting:
        """The same for ``rows`` (m,) only."""
        root = None if self.root is None else self.root[rows]
        u = self.direction
        if u is not None:
            some = np.ones(rows.size) if root is None else root.astype(np.float64)
            u = (some / np.linalg.norm(some)).astype(u.dtype)
        return Weighting(rows.size, root, u, self.unit)

    def without(self, rows: Array) -> Weighting:
        """The same with weight zero for ``rows`` (m,)."""
        root = np.ones(self.n) if self.root is None else self.root.astype(np.float64)
        root[rows] = 0.0
        dtype, u = np.dtype(np.float64) if self.root is None else self.root.dtype, self.direction
        if u is not None:
            dtype, u = u.dtype, (root / np.linalg.norm(root)).astype(u.dtype)
        return Weighting(self.n, root.astype(dtype), u, self.unit)

    def shares(self, rows: Array) -> Array:
        """w / Σw of some rows (m,), in float64."""
        if self.root is None:
            return np.full(rows.size, 1.0 / self.n)
        w = np.square(self.root, dtype=np.float64)
        return w[rows] / w.sum()

    @property
    def total_root(self) -> float:
        """‖√w‖, the square root of the sum of weights, in units of √unit."""
        return float(np.sqrt(self.n)) if self.root is None else float(np.linalg.norm(self.root))

    @property
    def log_measure(self) -> float:
        """log det of K + λ diag(1/w) over the contrasts, less that of √wK√w + λ."""
        change = 0.0
        if self.root is not None:
            change = -2.0 * float(np.log(self.root.astype(np.float64)).sum())
            change -= self.n * np.log(self.unit)
        if self.direction is not None:  # uᵀ(…)⁻¹u against that of the constant vector
            change += 2.0 * np.log(self.total_root) + np.log(self.unit) - np.log(self.n)
        return change

    def mean(self, A: Array | Rows) -> Array:
        """Weighted mean over the rows of ``A`` (n, k) → (k,), float64; zero without intercept."""
        rows = A if isinstance(A, Rows) else DenseRows(A)
        if self.direction is None:
            return np.zeros(rows.shape[1])
        if self.root is None:
            return rows.mean()
        share = np.square(self.root, dtype=np.float64)
        return rows.mean(share / share.sum())

    def scale(self, A: Array, rows: slice | Array = slice(None)) -> Array:
        """``√w A`` for rows of ``A`` that are a fresh copy: in place."""
        if self.root is not None:
            A *= self.root[rows, None]
        return A

    def unscale(self, E: Array, rows: slice | Array = slice(None)) -> Array:
        """Errors in the units of y from errors of scaled rows; ``E`` is (b, …)."""
        if self.root is None:
            return E
        return E / self.root[rows].reshape(-1, *(1,) * (E.ndim - 1))

    def targets(self, Y: Array) -> tuple[Array, Array]:
        """Scaled and projected targets (n, t), and the means (t,) taken off."""
        means = self.mean(Y)
        centred = self.scale(Y - means.astype(Y.dtype))
        if self.direction is not None:  # a mean is exact to rounding: project what is left
            centred -= np.outer(self.direction, self.direction @ centred)
        return centred, means
