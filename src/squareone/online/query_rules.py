"""Rules by which a label is asked for: by the margin and what is known, or by chance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array

# Rounds whose random numbers are drawn together.
_DRAWN = 1024


@dataclass
class Seen:
    """What a rule may look at, for every label that can be asked for.

    Attributes
    ----------
    margins : array (s,)
        Δ, for rows of unit length if the rule wants them so.
    spreads : callable
        r = xᵀA⁻¹x (s,), which costs something.
    round : int
        t, from one.
    labels : array (s,)
        N, labels that were given.
    rarer : array (s,)
        Of these, labels of the rarer outcome.
    energies, log_determinants, updates : array (s,)
        wᵀAw, ln det(A/a) and the rows in A, for b that tunes itself.
    """

    margins: Array
    spreads: Callable[[], Array]
    round: int
    labels: Array
    rarer: Array
    energies: Array
    log_determinants: Array
    updates: Array


class Rule(ABC):
    """Which labels are asked for; a new rule is a class here."""

    #: Whether a label that was asked for is learned only if the prediction was wrong.
    on_mistakes: bool = False
    #: Whether the margin it looks at is that of the row divided by its length.
    of_unit_rows: bool = True
    #: Whether it looks at spreads, which are computed row by row.
    by_spreads: bool = False

    @abstractmethod
    def asks(self, seen: Seen) -> Array:
        """Truth values (s,)."""

    def chance(self, seen: Seen) -> Array:
        """The probability with which it asks: 0 or 1 for a rule that leaves nothing to chance."""
        return self.asks(seen).astype(float)


@dataclass(frozen=True)
class Deterministic(Rule):
    """|Δ| ≤ √(k ln t / N): the margin is less than what is known about it.

    Attributes
    ----------
    k : float
    rarer : bool
        N counts labels of the rarer outcome, and one, instead of all labels: what is rare is asked
        about for longer.
    """

    k: float
    rarer: bool = False

    def asks(self, seen: Seen) -> Array:
        return np.abs(seen.margins) <= self.threshold(seen)

    def threshold(self, seen: Seen) -> Array:
        """√(k ln t / N), infinite before the first label."""
        N = seen.rarer + 1.0 if self.rarer else seen.labels.astype(float)
        found = np.sqrt(self.k * np.log(seen.round) / np.maximum(N, 1.0))
        return np.where(seen.labels > 0, found, np.inf)


@dataclass(frozen=True)
class Accepting(Deterministic):
    """Δ + √(k ln t / N) ≥ 0: what may well be positive is accepted, and its label seen."""

    def asks(self, seen: Seen) -> Array:
        return seen.margins + self.threshold(seen) >= 0


class Randomised(Rule):
    """With probability b/(b + |p̂| + ½p̂²(1 + r)), p̂ the margin and r the spread.

    Cesa-Bianchi, Gentile and Zaniboni (2006), where the row is in the A of its margin. Random
    numbers depend on the seed, the round and the label alone, not on how the rows were shared out
    over calls.

    Parameters
    ----------
    b : float or None
        None: γ√(ln det(A/a) / wᵀAw), where the two terms of the bound on the expected mistakes that
        depend on b are equal, for the present w as the classifier to compare with and its mean
        margin γ = wᵀAw/M over the M rows that were learned.
    seed : int
    with_row : bool
        Whether the row is in A: p̂ = p/(1 + r) instead of p.
    """

    on_mistakes = True
    of_unit_rows = False  # p and r are those of the row itself: the bound is for any length
    by_spreads = True

    def __init__(self, b: float | None, seed: int, *, with_row: bool = True) -> None:
        self.b, self.seed, self.with_row = b, seed, with_row
        self._drawn: tuple[int, Array] = (-1, np.empty((0, 0)))

    def asks(self, seen: Seen) -> Array:
        return self._draws(seen.round, seen.margins.size) < self.chance(seen)

    def chance(self, seen: Seen) -> Array:
        p, factor = np.abs(seen.margins), 1.0 + seen.spreads()
        if self.with_row:
            p = p / factor
        certain = p + 0.5 * np.square(p) * factor
        b = self._tuned(seen) if self.b is None else np.full(p.size, self.b)
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(b), 1.0, b / (b + certain))

    def _tuned(self, seen: Seen) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.sqrt(seen.log_determinants * seen.energies) / seen.updates
        return np.where(seen.updates > 0, found, np.inf)

    def _draws(self, number: int, size: int) -> Array:
        part = number // _DRAWN
        if self._drawn[0] != part or self._drawn[1].shape[1] != size:
            # a row for each round, label by label: more labels leave the first ones as they are
            columns = [
                np.random.default_rng([self.seed, part, column]).random(_DRAWN)
                for column in range(size)
            ]
            self._drawn = part, np.column_stack(columns)
        return self._drawn[1][number % _DRAWN]
