"""λ of a greedy fit: re-estimated at every step, from the one before.

With orthonormal columns the model is Σ f_j z_j q_j: z_j = qⱼᵀy, and f_j = s_j²/(λ + s_j²) for a
column that had length s_j; the constant has f = 1. The residual is the unregularised one, and
Σ (1 − f_j) z_j q_j, which are orthogonal to each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array


@dataclass(frozen=True)
class Fit:
    """The numbers of a fit, of which everything else follows.

    Attributes
    ----------
    n : int
        Rows.
    free : int
        Columns that are not penalised: one with an intercept.
    squares : array (m,)
        s² of the penalised columns.
    power : array (m,)
        Σ_t z², over the targets.
    unexplained : float
        The sum of squares that least squares on these columns leaves.
    targets : int
        How many there are.
    """

    n: int
    free: int
    squares: Array
    power: Array
    unexplained: float
    targets: int = 1

    def in_units(self, unit: float) -> Fit:
        """The same for targets that were divided by ``unit``."""
        square = unit**2
        return replace(self, power=self.power * square, unexplained=self.unexplained * square)

    def filters(self, penalty: float) -> Array:
        """f (m,)."""
        return self.squares / (penalty + self.squares)

    def degrees(self, penalty: float) -> float:
        """n − tr P̃: the trace of the hat matrix, the intercept included."""
        return self.free + float(self.filters(penalty).sum())

    def residual(self, penalty: float) -> float:
        """‖P̃y‖², without cancellation."""
        missing = penalty / (penalty + self.squares)
        return self.unexplained + float(self.power @ np.square(missing))

    def gcv(self, penalty: float, charge: float = 0.0) -> float:
        """n‖P̃y‖² / (tr P̃ − charge·m)²; infinite where nothing is left to divide by."""
        left = self.n - self.degrees(penalty) - charge * self.squares.size
        return self.n * self.residual(penalty) / left**2 if left > 0 else np.inf


def by_gcv(fit: Fit, penalty: float) -> float:
    """One application of formula (30) of Andelic et al. (2007); dGCV/dλ = 0 where it stays.

    λ := (∂ tr P̃/∂λ · ‖P̃y‖²) / (tr P̃ · Σ α̃_j²/(λ + s_j²)).
    """
    s2 = fit.squares
    left = fit.n - fit.degrees(penalty)
    spread = float((s2 / np.square(penalty + s2)).sum())
    pull = float((fit.power * s2 / (penalty + s2) ** 3).sum())
    return _bounded(spread * fit.residual(penalty), left * pull, fit)


def by_evidence(fit: Fit, penalty: float) -> float:
    """One re-estimation that increases the evidence (MacKay 1992): noise over prior variance.

    λ := (‖P̃y‖² / (n − γ)) · (γ' / Σ α̃_j²), with γ all degrees of freedom and γ' the penalised.
    """
    s2 = fit.squares
    used = float(fit.filters(penalty).sum())
    left = fit.n - fit.free - used
    size = float((fit.power * s2 / np.square(penalty + s2)).sum())
    return _bounded(fit.residual(penalty) * used, left * size, fit)


def _bounded(above: float, below: float, fit: Fit) -> float:
    """A quotient; the largest s², which stands for infinity, where there is no signal."""
    most = float(fit.squares.max(initial=0.0))
    if not below > 0:
        return most
    with np.errstate(over="ignore"):
        return min(above / below, most)


Update = Callable[[Fit, float], float]


def fixed(value: float) -> Update:
    """λ as it is given."""
    return lambda fit, penalty: value


UPDATES: dict[str, Update] = {"gcv": by_gcv, "evidence": by_evidence}
