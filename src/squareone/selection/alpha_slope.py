"""The slope of the error over λ, from one factorisation.

With G = M + λI, c = G⁻¹ỹ and g = diag G⁻¹ the leave-one-out errors are e = c/g, and since
dc/dλ = −G⁻¹c and dg/dλ = −diag G⁻²,

    d Σe²/dλ = 2 Σ_i (e_i² (G⁻²)_ii − e_i (G⁻¹c)_i) / g_i.

The diagonal of G⁻² would cost another n³/3 flops, but only a weighted trace of it is needed, and
random signs z give that: E ‖G⁻¹ D^½ z‖² = tr(G⁻¹ D G⁻¹) = Σ_i D_ii (G⁻²)_ii. Generalised
cross-validation, Σc²/(Σg)², needs the trace with D = I; the likelihood, log det G/N + log ỹᵀc, only
tr G⁻¹ = Σg and cᵀc.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..solvers import CholeskyFactor
from .criteria import Criterion, GeneralisedCrossValidation, LeaveOneOut
from .likelihood import MarginalLikelihood, contrasts

__all__ = ["has_slope", "log_slope"]

# Vectors of random signs: their mean is a weighted trace to some per cent, and the slope is only
# asked whether another λ is worth a factorisation.
_PROBES = 16


def has_slope(criterion: Criterion) -> bool:
    """Whether :func:`log_slope` knows this criterion."""
    return isinstance(criterion, LeaveOneOut | GeneralisedCrossValidation | MarginalLikelihood)


def log_slope(criterion: Criterion, factor: CholeskyFactor, alpha: float) -> float | None:
    """d log error / d log λ at λ = ``alpha``; None where the criterion is another one.

    **Cost**: 2n²(t + 16) flops beyond the factorisation at that λ.
    """
    if not has_slope(criterion):
        return None
    factor.factor(alpha)
    g = factor.complements()
    c = factor.solutions.astype(np.float64)
    if isinstance(criterion, MarginalLikelihood):
        energies = np.einsum("it,it->t", factor.targets, c)
        N = contrasts(factor)
        unit = factor.system.unit
        variances = energies / N if criterion.scale is None else criterion.scale**2 * unit
        down = float(np.mean(np.sum(c * c, axis=0) / variances))
        return (float(np.sum(g)) - down) / N * factor.shift
    if isinstance(criterion, LeaveOneOut):
        e = c / g[:, None]
        shrunk, up = _shrunk_and_trace(factor, np.sum(e * e, axis=1) / g)
        down = float(np.sum(e * shrunk / g[:, None]))
        slope = 2.0 * (up - down) / float(np.sum(e * e))
    else:
        shrunk, up = _shrunk_and_trace(factor, np.ones_like(g))
        down = float(np.sum(c * shrunk)) / float(np.sum(c * c))
        slope = 2.0 * (up / float(np.sum(g)) - down)
    return slope * factor.shift


def _shrunk_and_trace(factor: CholeskyFactor, weights: Array) -> tuple[Array, float]:
    """G⁻¹c (n, t), and Σ_i weights_i (G⁻²)_ii, estimated; the same signs every time."""
    signs = np.random.RandomState(0).choice([-1.0, 1.0], size=(weights.size, _PROBES))
    probes = (np.sqrt(weights)[:, None] * signs).astype(factor.targets.dtype)
    # one product: it reads the inverse factor twice, whatever the number of columns
    found = factor.inverse_times(np.hstack([factor.solutions, probes])).astype(np.float64)
    t = factor.solutions.shape[1]
    return found[:, :t], float(np.sum(np.square(found[:, t:]))) / _PROBES
