"""The marginal likelihood of the targets under a Gaussian process.

y ~ N(b·1, s²(K + λ diag(1/w))): the log density of y, or, with an intercept b of which nothing is
known, that of the n − 1 orthonormal contrasts of y, which b does not change. With N = n or n − 1,

    log p = −½ (N log 2πs² + log det + ỹᵀ(B̃ + λ)⁻¹ỹ / s²),

where the determinant is that of B̃ + λ over these directions, times the change of measure by the
weights. Where s² is not given it is the most likely one, ŝ² = ỹᵀ(B̃ + λ)⁻¹ỹ / N.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..solvers import Factor
from .criteria import Criterion, Measured

__all__ = ["MarginalLikelihood"]

# Beyond this exponent what is compared grows linearly: it must not leave the range of a number.
_LARGEST_EXPONENT = 100.0


@dataclass(frozen=True)
class MarginalLikelihood(Criterion):
    """exp(−2 log p / N): least where the targets are most likely, and of the kind of a variance.

    **Cost**: nothing beyond the factorisation.

    Attributes
    ----------
    scale : float or None
        s, in the units of the targets; None for the most likely one.
    """

    scale: float | None = None
    name = "marginal_likelihood"
    holds_out = False

    def in_units(self, unit: float) -> MarginalLikelihood:
        return self if self.scale is None else MarginalLikelihood(self.scale / unit)

    def measure(self, factor: Factor, alphas: Array) -> Measured:
        exponents = -2.0 * self.log_likelihoods(factor, alphas) / contrasts(factor)
        exponents = np.vstack([exponents, exponents.mean(axis=0)])
        beyond = np.maximum(exponents - _LARGEST_EXPONENT, 0.0)
        means = np.exp(np.minimum(exponents, _LARGEST_EXPONENT)) * (1.0 + beyond)
        return Measured(means, np.full_like(means, np.nan))

    def reported(self, means: Array, factor: Factor, unit: float) -> Array:
        """The log likelihood itself."""
        largest = np.exp(_LARGEST_EXPONENT)
        with np.errstate(divide="ignore"):
            exponents = np.log(np.minimum(means, largest)) + np.maximum(means / largest - 1.0, 0.0)
        return -0.5 * contrasts(factor) * (exponents + 2.0 * np.log(unit))

    def log_likelihoods(self, factor: Factor, alphas: Array) -> Array:
        """log p of every target for ``alphas`` (L,) → (t, L)."""
        N = contrasts(factor)
        roots = np.sqrt(factor.energies(alphas))
        scales = roots / np.sqrt(N) if self.scale is None else np.full_like(roots, self.scale)
        determinants = factor.log_determinants(alphas) + factor.weighting.log_measure
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            misfit = np.where(roots > 0, np.square(roots / scales), 0.0)
            logs = N * (np.log(2.0 * np.pi) + 2.0 * np.log(scales))
            return -0.5 * (logs + determinants + misfit)


def contrasts(factor: Factor) -> int:
    """n, or n − 1 with an intercept."""
    return factor.n - (factor.weighting.direction is not None)
