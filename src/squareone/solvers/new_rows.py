"""What an iteration knows of new rows: each is a right-hand side of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import Array, blocks
from .exact.feature_matrix import CentredRows
from .krylov.lanczos import LanczosSequence
from .krylov.normal_equations import NormalEquations

# Numbers of new rows that are dense at a time.
_DENSE_NUMBERS = 4_194_304


class NewRows:
    """Answers about new rows (m, d), a few of them at a time.

    Parameters
    ----------
    equations : NormalEquations
        In the precision of the products.
    rows : CentredRows
        The rows of the fit in their own.

    Notes
    -----
    **Cost**: as a fit to as many targets as there are new rows.
    """

    def __init__(self, equations: NormalEquations, rows: CentredRows) -> None:
        self._equations = equations
        self._rows = rows

    def sensitivities(self, shifts: Array, queries: Any) -> Array:
        """X̃(X̃ᵀX̃ + λ)⁻¹x at one λ (1,) → (n, m)."""
        found = np.empty((self._rows.shape[0], queries.shape[0]), self._rows.rows.dtype)
        for columns, start, sequence in self._sequences(shifts, queries):
            solutions = sequence.at_own(np.repeat(shifts, start.shape[1]))
            dual = self._equations.dual
            found[:, columns] = solutions if dual else self._equations.rows.times(solutions)
        return found

    def leftovers(self, shifts: Array, queries: Any) -> Array:
        """λ xᵀ(X̃ᵀX̃ + λ)⁻¹x at one λ (1,) → (m,): what the rows of the fit leave unknown."""
        found = np.empty(queries.shape[0])
        squares = self._rows.squares_of(queries)
        for columns, start, sequence in self._sequences(shifts, queries):
            energies = sequence.energies(shifts)[:, 0]
            if self._equations.dual:  # it is |x|² − (X̃x)ᵀ(X̃X̃ᵀ + λ)⁻¹X̃x
                found[columns] = np.maximum(squares[columns] - energies, 0.0)
            else:
                known = np.square(start, dtype=np.float64).sum(axis=0)
                found[columns] = energies * shifts + np.maximum(squares[columns] - known, 0.0)
        return found

    def _sequences(
        self, shifts: Array, queries: Any
    ) -> Iterator[tuple[slice, Array, LanczosSequence]]:
        """Which rows, as X̃x (n, b), or x (d, b), and their sequence, long enough for λ."""
        equations = self._equations
        for columns in blocks(queries.shape[0], max(1, _DENSE_NUMBERS // max(self._rows.shape))):
            x = self._rows.centred_like(queries[columns]).T.astype(equations.rows.rows.dtype)
            start = equations.rows.times(x) if equations.dual else x
            sequence = equations.sequence(start)
            equations.reach(sequence, shifts)
            yield columns, start, sequence
