"""Leverages of ``krylov``: estimated by random probes from products with the rows.

For a vector z of random signs z_i ((I − H)z)_i is 1 − h_i on average. A few probes leave noise in
each row, which makes the mean of 1/(1 − h_i)² too large; their scatter says by how much. A few rows
need no probes: each is a right-hand side of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ...arrays import Array
from .normal_equations import NormalEquations

#: Probes, and the groups they are in: without one of these the result says how sure it is.
PROBES, GROUPS = 20, 4
#: Rows up to which every leverage is solved for.
FEW_ROWS = 256
# A finer residual would be lost in the noise.
_TOLERANCE = 1e-2


def leverages_of(equations: NormalEquations, seed: int) -> Leverages:
    """Exact for a few rows, estimated for more."""
    few = equations.rows.shape[0] <= FEW_ROWS
    return SolvedLeverages(equations) if few else Probes(equations, seed)


class Leverages(ABC):
    """1 − h for every λ, from (I − H)B with some columns B (n, c)."""

    def __init__(self, equations: NormalEquations, columns: Array) -> None:
        self._equations = equations
        self._weighting = equations.rows.weighting
        u = self._weighting.direction  # which the intercept fits in full
        self._columns = columns if u is None else columns - np.outer(u, u @ columns)
        self._sequence = equations.sequence(equations.right_hand_side(self._columns))

    #: Whether these are estimates.
    estimated: bool = False

    @property
    def all_kept(self) -> bool:
        """Whether no vector has to be made again."""
        return self._sequence.all_kept

    @abstractmethod
    def complements(self, shifts: Array) -> Array:
        """1 − h for ``shifts`` (L,) → (n, L)."""

    @abstractmethod
    def without_group(self, shifts: Array) -> list[Array]:
        """The same from parts of what it is estimated from; none where it is no estimate."""

    def doubtful(self, shifts: Array) -> Array:
        """Rows for which it is too rough an estimate, (n, L)."""
        return np.zeros((self._weighting.n, shifts.size), bool)

    @abstractmethod
    def traces(self, shifts: Array) -> Array:
        """Σ(1 − h) (L,), without bias."""


class SolvedLeverages(Leverages):
    """1 − h for every λ, with a right-hand side for every row.

    **Cost**: as a fit to n targets.
    """

    def __init__(self, equations: NormalEquations) -> None:
        super().__init__(
            equations, np.eye(equations.rows.shape[0], dtype=equations.rows.rows.dtype)
        )

    def complements(self, shifts: Array) -> Array:
        found = np.empty((self._weighting.n, shifts.size))

        def look(rows: slice, left: Array) -> None:
            found[rows] = left[np.arange(left.shape[0]), np.arange(rows.start, rows.stop)]

        self._equations.reach(self._sequence, shifts)
        self._equations.left_over(self._sequence, self._columns, shifts, look)
        return found

    def without_group(self, shifts: Array) -> list[Array]:
        return []

    def traces(self, shifts: Array) -> Array:
        return self.complements(shifts).sum(axis=0)


class Probes(Leverages):
    """Estimates of 1 − h for every λ, from probes that are drawn once.

    Signs are multiplied by √(k̃ + κ) of their rows, with κ a tenth of the mean of k̃ = |x̃|², and
    divided by it again: noise is then in proportion to 1 − h where rows differ in size or weight.

    Parameters
    ----------
    equations : NormalEquations
    seed : int

    Notes
    -----
    **Cost**: as a fit to twenty targets, to a larger residual.
    """

    def __init__(self, equations: NormalEquations, seed: int) -> None:
        n, dtype = equations.rows.shape[0], equations.rows.rows.dtype
        self._squares = equations.rows.squares()
        signs = 2 * np.random.RandomState(seed).randint(0, 2, (n, PROBES)) - 1
        sizes = np.sqrt(self._squares + 0.1 * self._squares.mean())[:, None]
        sizes = sizes / sizes.max() if sizes.any() else np.ones_like(sizes)
        self._inverse = (signs / sizes).astype(dtype)
        super().__init__(equations, (signs * sizes).astype(dtype))
        self._latest: tuple[bytes, Array, Array] | None = None

    estimated = True

    def complements(self, shifts: Array) -> Array:
        means, variance = self._group_means(shifts)
        return self._estimate(means.mean(axis=0), variance / PROBES, shifts)

    def without_group(self, shifts: Array) -> list[Array]:
        """From all groups of probes but one."""
        means, variance = self._group_means(shifts)
        fewer = PROBES - PROBES // GROUPS
        return [
            self._estimate(np.delete(means, g, axis=0).mean(axis=0), variance / fewer, shifts)
            for g in range(GROUPS)
        ]

    def traces(self, shifts: Array) -> Array:
        return self._group_means(shifts)[0].mean(axis=0).sum(axis=0)

    def doubtful(self, shifts: Array) -> Array:
        """Those whose noise is more than half of what was seen."""
        means, variance = self._group_means(shifts)
        seen = np.clip(means.mean(axis=0), *self._bounds(shifts))
        return variance / PROBES > 0.25 * np.square(seen)

    def _group_means(self, shifts: Array) -> tuple[Array, Array]:
        """z(I − H)z: means of groups of probes (GROUPS, n, L), and the variance of one (n, L)."""
        key = shifts.tobytes()
        if self._latest is None or self._latest[0] != key:
            self._latest = (key, *self._ask(shifts))
        return self._latest[1:]

    def _ask(self, shifts: Array) -> tuple[Array, Array]:
        equations = self._equations
        equations.reach(self._sequence, shifts, _TOLERANCE)
        n, L = self._weighting.n, shifts.size
        means, scatter = np.empty((GROUPS, n, L)), np.empty((n, L))

        def look(rows: slice, left: Array) -> None:
            left *= self._inverse[rows, :, None]
            scatter[rows] = left.var(axis=1, ddof=1, dtype=np.float64)
            grouped = left.reshape(left.shape[0], GROUPS, -1, L)
            means[:, rows] = grouped.mean(axis=2, dtype=np.float64).transpose(1, 0, 2)

        equations.left_over(self._sequence, self._columns, shifts, look)
        return means, scatter

    def _estimate(self, seen: Array, noise: Array, shifts: Array) -> Array:
        """c with 1/c² = (1 − h)⁻² on average (n, L), within what is possible.

        To second order the mean of 1/g² is (1 + 3v/g²) times what it should be, for a g with noise
        of variance v. Where that is no small correction it is cut off.
        """
        low, high = self._bounds(shifts)
        squares = np.square(np.clip(seen, low, high))
        return np.minimum(np.sqrt(squares + 3.0 * np.minimum(noise, squares)), high)

    def _bounds(self, shifts: Array) -> tuple[Array, Array]:
        """From λ/(k̃ + λ), by Jensen's inequality, to one; less the intercept's share u²."""
        u = self._weighting.direction
        free = np.ones(self._weighting.n) if u is None else 1.0 - np.square(u, dtype=np.float64)
        diagonal = self._squares
        with np.errstate(divide="ignore", invalid="ignore"):
            low = free[:, None] ** 2 * shifts / (free[:, None] * shifts + diagonal[:, None])
        return np.nan_to_num(low), free[:, None]
