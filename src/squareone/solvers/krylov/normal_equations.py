"""The normal equations of regularised least squares as products: nothing is formed or factored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ...arrays import Array
from ...threads import shared_cores
from ..exact.feature_matrix import CentredRows
from .lanczos import LanczosSequence, Watcher

# Numbers in a block of rows, with a column for every right-hand side and λ.
_BLOCK = 262_144
# Share of the bytes allowed that the vectors of one sequence may take.
_SHARE = 0.35


def unwatched(steps: int, residual: float) -> None:
    """Nobody waits."""


@dataclass(frozen=True)
class Limits:
    """How long and how large a sequence of products may become.

    Attributes
    ----------
    tolerance : float
        The relative residual at which a solution is good enough.
    most : int
        Steps at most.
    budget : float
        Bytes for what makes products faster, and for vectors that are kept; those beyond are made
        again when needed.
    watch : callable
        Told after every step: how many there were, and the relative residual.
    """

    tolerance: float
    most: int
    budget: float
    watch: Watcher = field(default=unwatched)


class NormalEquations:
    """(X̃X̃ᵀ + λ)c = b, or (X̃ᵀX̃ + λ)v = X̃ᵀb where there are fewer features than rows.

    Both give X̃v = X̃X̃ᵀc, the fit to b, and the same hyperplane v = X̃ᵀc.
    """

    def __init__(self, rows: CentredRows, limits: Limits) -> None:
        self.rows = rows
        self.limits = replace(limits, budget=rows.rows.prepare(limits.budget))
        self.dual = rows.shape[0] <= rows.shape[1]
        #: Whether sequences are left as long as they are.
        self.paused = False

    def settle(self) -> None:
        """Take a copy of the rows, which nobody else can change; nobody watches any more."""
        self.limits = replace(self.limits, watch=unwatched)
        self.rows = self.rows.owned()

    def operator(self, V: Array) -> Array:
        """X̃X̃ᵀV for ``V`` (n, c), or X̃ᵀX̃V for ``V`` (d, c)."""
        if self.dual:
            return self.rows.times(self.rows.transposed_times(V))
        if self.rows.read:
            return self.rows.normal_products(V)
        return self.rows.transposed_times(self.rows.times(V), centred=True)

    def right_hand_side(self, columns: Array) -> Array:
        """b (n, c), or X̃ᵀb (d, c)."""
        return columns if self.dual else self.rows.transposed_times(columns)

    def sequence(self, start: Array) -> LanczosSequence:
        """For right-hand sides (n, c), or (d, c)."""
        keep = _SHARE * self.limits.budget / max(1, start.nbytes)
        return LanczosSequence(self.operator, start, int(min(keep, self.limits.most + 1)))

    def reach(self, sequence: LanczosSequence, shifts: Array, tolerance: float = 0.0) -> float:
        """Make a sequence long enough for ``shifts`` (L,); the largest relative residual."""
        limits = self.limits
        if self.paused and sequence.steps:
            return float(sequence.residuals(shifts).max())
        tolerance = max(tolerance, limits.tolerance)
        with shared_cores():
            return sequence.extend(float(shifts.min()), tolerance, limits.most, limits.watch)

    def left_over(
        self,
        sequence: LanczosSequence,
        columns: Array,
        shifts: Array,
        visitor: Callable[[slice, Array], None],
    ) -> None:
        """Show what a fit to ``columns`` (n, c) leaves of them for every λ, by rows: (b, c, L)."""
        weights = sequence.weights(shifts)
        if self.dual:  # b − X̃X̃ᵀc = λc

            def show(rows: slice, solutions: Array) -> None:
                solutions *= shifts[:, None].astype(solutions.dtype)
                visitor(rows, np.ascontiguousarray(solutions.transpose(2, 0, 1)))

            sequence.visit(weights, show)
            return
        c, L = weights.shape[1:]
        V = sequence.combined(weights).reshape(-1, c * L)
        size = max(256, _BLOCK // max(1, c * L))
        for rows, fitted in self.rows.fitted(V, size):
            visitor(rows, columns[rows, :, None] - fitted.reshape(-1, c, L))

    def hyperplanes(self, solutions: Array) -> Array:
        """Coefficients of x̃ (d, c) from solutions (n, c), or (d, c)."""
        return self.rows.transposed_times(solutions) if self.dual else solutions
