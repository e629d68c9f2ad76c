"""The kernel matrix made ready for a factorisation, in place: weights in, intercept set aside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ...arrays import (
    Array,
    add_symmetric_outer,
    diagonal,
    frobenius_norm,
    power_of_two,
    scale_symmetric,
    symmetric_product,
)
from .weighting import Weighting

# Beyond these the squares of entries leave the range of the type: the matrix is rescaled.
_SAFE = {np.dtype(np.float64): (1e-100, 1e100), np.dtype(np.float32): (1e-12, 1e12)}

# Share of the norm left by the projection below which its formula is rounding more than anything.
_ALMOST_CONSTANT = 1e-3


@dataclass
class SymmetricSystem:
    """The lower triangle of M = B̃ + τuuᵀ with B = √W K √W, B̃ = (I − uuᵀ)B(I − uuᵀ).

    Without an intercept M = B. With one, u is made an eigenvector with an eigenvalue τ of at
    least twice the largest other one: well separated for an eigendecomposition, harmless for
    Cholesky, and what it adds to the inverse, uuᵀ/(τ + λ), is known.

    Attributes
    ----------
    matrix : array (n, n)
        In the precision of the targets; wherever matrices are.
    weighting : Weighting
    targets : array (n, t)
        ỹ, scaled by √w and projected.
    means : array (t,)
        What centring took off the targets.
    coupling : array (n,) or None
        Bu, from which the intercept is computed.
    tau : float
        τ, zero without an intercept.
    unit : float
        A power of two: K is in units of it. One unless its entries are extreme.
    norm : float
        At least the spectral norm of B̃, as it stands in the matrix.
    rounded : float
        What rounding is relative to: at least that norm, and more where the projection took off
        most of the matrix, whose rounding stays.
    """

    matrix: Any
    weighting: Weighting
    targets: Array
    means: Array
    coupling: Array | None
    tau: float
    unit: float
    norm: float
    rounded: float

    @classmethod
    def prepare(cls, K: Any, Y: Array, weighting: Weighting, unit: float = 1.0) -> SymmetricSystem:
        """Take over ``K`` (n, n), lower triangle, in units of ``unit``, and targets ``Y`` (n, t).

        Cost: two or three passes over the triangle.
        """
        targets, means = weighting.targets(Y)
        dtype, n = targets.dtype, targets.shape[0]
        unit *= _scale_rows_and_columns(K, weighting.root, dtype)
        norm = frobenius_norm(K)
        u = weighting.direction
        if u is None:
            return cls(K, weighting, targets, means, None, 0.0, unit, norm, norm)
        coupling = symmetric_product(K, u)
        inner = float(u.astype(np.float64) @ coupling)
        off = (0.5 * inner * u - coupling).astype(dtype)  # K + u offᵀ + off uᵀ is projected
        projected = _projected_norm(norm, u, coupling)
        if projected > _ALMOST_CONSTANT * norm:
            tau = 2.0 * projected
            add_symmetric_outer(K, u, off + (0.5 * tau * u).astype(dtype))
        else:  # the rows are nearly equal: look at what is left, which may be rounding alone
            add_symmetric_outer(K, u, off)
            projected = frobenius_norm(K)
            if projected <= 4.0 * n * float(np.finfo(dtype).eps) * norm:
                K[...], projected = 0.0, 0.0
            tau = 2.0 * projected or 1.0
            add_symmetric_outer(K, u, (0.5 * tau * u).astype(dtype))
        # errors of the entries are independent: together they have the norm of √n of them
        rounded = max(projected, norm / np.sqrt(n)) if projected > 0 else 0.0
        return cls(K, weighting, targets, means, coupling, tau, unit, projected, rounded)

    def for_targets(self, Y: Array, matrix: Any = None) -> Self:
        """The same for other targets (n, t), and with another copy of the matrix, if given."""
        targets, means = self.weighting.targets(Y)
        matrix = self.matrix if matrix is None else matrix
        return replace(self, matrix=matrix, targets=targets, means=means)

    def of_some_rows(self, Y: Array, some: Array) -> SymmetricSystem | None:
        """Of the rows ``some`` (s,) alone, for targets (s, t); None where rows are not known."""
        return None

    #: Whether new rows are asked about by their features instead of their kernel values.
    takes_rows: ClassVar[bool] = False

    @property
    def alpha_units(self) -> tuple[float, float]:
        """What λ has to be divided by for this matrix."""
        return self.unit, self.weighting.unit

    def settle(self) -> None:
        """Nothing of the user's is needed any more."""

    def queries(self, K: Array) -> Array:
        """Kernel values (m, n) of new rows with those of the fit, as the matrix sees them: (n, m).

        f(x) is their product with (B̃ + λ)⁻¹ỹ, plus the mean of y. ``K`` is taken over.
        """
        if self.unit != 1.0:
            K /= K.dtype.type(self.unit)
        return self._centred(K)

    def prior(self, K: Array, prior: Array) -> Array:
        """k(x, x) (m,) of new rows; with an intercept that of f less its mean over the fit."""
        return self._centred_prior(K / K.dtype.type(self.unit), prior)

    def _centred(self, K: Array) -> Array:
        """√w K less its mean over the rows of the fit; ``K`` (m, n) is a fresh copy."""
        if self.weighting.root is not None:
            K *= self.weighting.root
        if self.coupling is not None:
            K -= (self.coupling / self.weighting.total_root).astype(K.dtype)
        return K.T

    def _centred_prior(self, K: Array, prior: Array) -> Array:
        if self.coupling is None:
            return prior.astype(np.float64)
        u, total = self.weighting.direction, self.weighting.total_root
        assert u is not None
        share = u.astype(np.float64) if self.weighting.root is None else u * self.weighting.root
        inner = float(u.astype(np.float64) @ self.coupling) / total**2
        return prior + self.unit * (inner - 2.0 * (K @ share) / total)

    def expansion(self, A: Array, means: Array) -> tuple[Array, Array]:
        """Kernel coefficients (n, t) and intercepts (t,) from solutions A = (B̃ + λ)⁻¹ỹ (n, t).

        ``means`` (t,) were taken off the targets.
        """
        C = self.weighting.scale(A / A.dtype.type(self.unit))
        if self.coupling is None:
            return C, np.zeros(A.shape[1])
        shift = self.coupling.astype(np.float64) @ A
        return C, means - shift / self.weighting.total_root


def _scale_rows_and_columns(K: Any, root: Array | None, dtype: np.dtype) -> float:
    low, high = _SAFE[dtype]
    on_diagonal = diagonal(K)
    peak = float(np.max(np.abs(on_diagonal)))
    unit = 1.0 if low < peak < high else power_of_two(on_diagonal)
    if root is not None or unit != 1.0:
        scale_symmetric(K, unit, root)
    return unit


def _projected_norm(norm: float, u: Array, coupling: Array) -> float:
    """A bound on ‖B̃‖, from ‖B̃‖_F² = ‖B‖_F² − 2‖Bu‖² + (uᵀBu)² and the rounding of that."""
    m = coupling.astype(np.float64)
    squared = norm**2 - 2.0 * float(m @ m) + float(u.astype(np.float64) @ m) ** 2
    rounding = 0.1 * float(np.sqrt(np.finfo(u.dtype).eps)) * norm
    return float(np.sqrt(max(squared, 0.0))) + rounding
