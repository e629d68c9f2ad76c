"""A width for each feature of a Gaussian kernel (ARD), by the gradient of the leave-one-out error.

The kernel is k(x, x') = exp(−½ Σ_k (x_k − x'_k)²/σ_k²). A feature of no use gets a width so large
that its differences no longer count. (One that acts linearly gets a large width too, for a width is
a scale of curvature.) Widths and λ follow the exact leave-one-out error downhill, and its gradient
in all of them together costs four times the error itself, whatever d is.

**The error.** In the notation of :mod:`squareone.solvers.exact.weighting`, B = √W K √W,
P = I − uuᵀ (or I without an intercept), and R is the inverse of PBP + λI on the complement of u,
Ru = 0. With
A = Rỹ (m, t) and g = diag R the errors, scaled by √w, are ε_i = A_i / g_i, and

    E = Σ_i |ε_i|² / (t Σ_i w_i) .

**Its gradient.** From dR = −R dB R (and −R R dλ) follow dA = −R dB A and dg_i = −(R dB R)_ii, so

    dE = 2 Σ_i (ε_i·dA_i − |ε_i|² dg_i) / (g_i t Σ w) = ⟨M, dB⟩ + tr M dλ ,
    M = 2 (R D R − R Q Aᵀ) / (t Σ w) ,  D = diag(|ε_i|² / g_i) ,  Q_i = ε_i / g_i .

Since Ru = 0, M needs no projection. Now ∂K_ij / ∂ log σ_k = K_ij (z_ik − z_jk)² with z = x/σ. Let
V = M ∘ B without its diagonal, which sees no differences, and s half its row plus column sums:

    ∂E / ∂ log σ_k = Σ_ij V_ij (z_ik − z_jk)² = 2 (Σ_i s_i z_ik² − z_kᵀ V z_k) ,

one product VZ for all features.

**Restraint.** d + 1 numbers are fitted to m errors, and with many features and few rows the least
error is too hopeful: prediction is then worse than with a common width (Cawley and Talbot 2007).
So what is made least is

    log E + (c/m) Σ_k (θ_k − θ̄)² ,  θ_k = log(σ_k / start) ,

in which the second term holds the widths together, but not their common size, and fades as rows are
added. With c = 0 it is the error alone.

**Cost** of a gradient: m²d flops for K, 2m³/3 for L⁻¹, 2m³ for L⁻ᵀL⁻¹ and RDR (each half of a
symmetric product), 2m²(d + 3t) for the rest: 8m³/3 + 3m²(d + 2t) in all. Memory: 4m² numbers.

G. C. Cawley and N. L. C. Talbot, Preventing over-fitting during model selection via Bayesian
regularisation of the hyper-parameters, Journal of Machine Learning Research 8, 2007.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, cholesky, cholesky_solve, triangular_inverse
from ..errors import SingularSystemError
from ..kernels import Gaussian
from ..kernels.tiles import kernel_matrix
from ..solvers.exact.symmetric_system import SymmetricSystem
from ..solvers.exact.weighting import Weighting

# How far a width may go from where it starts, either way.
_WIDEST = 1e3
# The descent ends when a step lowers the error by less than this share.
_WORTH = 1e-4
# What counts for the error where there is none: bad enough to turn back, and near enough to those
# seen for a line search to interpolate.
_VERY_BAD = 100.0
_EPS = float(np.finfo(np.float64).eps)
#: c, where nothing else is said.
RESTRAINT = 8.0


@dataclass(frozen=True)
class Relevance:
    """Widths of d features and the λ that goes with them.

    Attributes
    ----------
    widths : array (d,)
        σ_k. In units of the spread of feature k: the larger, the less or the more linearly it acts.
    alpha : float
        λ.
    error : float
        Leave-one-out mean square error at ``widths`` and ``alpha``.
    start_error : float
        The same at the start; never less than ``error``.
    steps : int
        Steps taken.
    """

    widths: Array
    alpha: float
    error: float
    start_error: float
    steps: int


def restrained(found: Relevance, reference: Array, m: int) -> float:
    """What is made least, at widths that were found on ``m`` rows, for one reference (d,) for all.

    Descents that began elsewhere are compared by it: widths far apart have to earn it.
    """
    if not 0 < found.error < np.inf:
        return float(np.log(found.error)) if found.error > 0 else -np.inf
    apart = np.log(found.widths / reference)
    return float(np.log(found.error) + RESTRAINT / m * np.square(apart - apart.mean()).sum())


def feature_widths(
    X: Array,
    Y: Array,
    weights: Array | None,
    intercept: bool,
    sigma: float | Array,
    alpha: float,
    *,
    most_steps: int = 30,
    restraint: float = RESTRAINT,
) -> Relevance:
    """Widths and λ of a Gaussian kernel at a minimum of the leave-one-out mean square error.

    Downhill from (σ, λ) in the logarithms by L-BFGS-B, in float64. It is a local minimum: start
    from a good common width. Nothing is random.

    Parameters
    ----------
    X : array (m, d)
        Rows: a sample of a thousand or so where there are more.
    Y : array (m, t)
        Targets; the errors of all columns are averaged.
    weights : array (m,) or None
        Above zero. The error is the weighted mean.
    intercept : bool
        Whether an unpenalised constant is fitted.
    sigma : float or array (d,)
        Width at the start, common or of each feature. A feature that is constant keeps it, and
        no width ends more than a thousand times larger or smaller.
    alpha : float
        λ at the start. One that is within rounding of zero, relative to Σw, is raised first.
    most_steps : int, default=30
        Steps after which the descent ends if it has not come to rest.
    restraint : float, default=8
        c, at least zero: how much the widths are held together (see the module). Zero for the
        least leave-one-out error, at the risk of fitting its noise.

    Returns
    -------
    Relevance
        The best point seen, at worst the start. ``error`` is infinite where there is none, as for
        a single row and an intercept.

    Notes
    -----
    **Cost**: about 1.2 gradients per step; see the module for one.

    Examples
    --------
    Of ten features five matter. Three of these act by curves, two along straight lines, and the
    noise of the targets has variance one:

    >>> from sklearn.datasets import make_friedman1
    >>> from squareone.selection.relevance import feature_widths
    >>> X, y = make_friedman1(400, noise=1.0, random_state=0)
    >>> found = feature_widths(X, y[:, None], None, True, sigma=1.0, alpha=0.1)
    >>> bool(found.widths[:3].max() < found.widths[3:].min())
    True
    >>> print(f"{found.start_error:.1f} → {found.error:.1f}")
    3.4 → 1.3
    """
    from scipy.optimize import minimize  # imported late: it would slow `import squareone`

    X = np.asarray(X, np.float64)
    Y = np.asarray(Y, np.float64)
    m, d = X.shape
    weighting = Weighting.of(m, weights, intercept, np.dtype(np.float64))
    start = np.broadcast_to(np.asarray(sigma, np.float64), (d,))
    Z = (X - X.mean(axis=0)) / start
    varies = np.ptp(X, axis=0) > 0
    most = weighting.unit * weighting.total_root**2  # Σw = tr B: no eigenvalue is above it
    low, high = 128.0 * _EPS * most, 1e6 * most
    alpha = max(float(alpha), low)

    def at(point: Array) -> tuple[float, Array]:
        """The error and its gradient at log ratios (widths that vary, λ) to the start."""
        shrunk = np.ones(d)
        shrunk[varies] = np.exp(-point[:-1])
        error, by_widths, by_alpha = error_and_gradient(
            Z * shrunk, Y, weighting, alpha * float(np.exp(point[-1]))
        )
        return error, np.append(by_widths[varies], by_alpha)

    descent = _Descent(at, np.zeros(int(varies.sum()) + 1), restraint / m)
    steps = 0
    if most_steps > 0 and 0.0 < descent.start_error < np.inf:
        wide = float(np.log(_WIDEST))
        log_low, log_high = np.log(low / alpha), max(np.log(high / alpha), 0.0)
        result = minimize(
            descent,
            descent.best,
            jac=True,
            method="L-BFGS-B",
            bounds=[(-wide, wide)] * int(varies.sum()) + [(log_low, log_high)],
            options={"maxiter": most_steps, "ftol": _WORTH, "gtol": _WORTH},
        )
        steps = int(result.nit)
    widths = start.copy()
    widths[varies] *= np.exp(descent.best[:-1])
    found = alpha * float(np.exp(descent.best[-1]))
    return Relevance(widths, found, descent.least, descent.start_error, steps)


class _Descent:
    """log(E / E at the start) + restraint for the optimiser, and the best point it has seen.

    The logarithm gives every share of the error the same worth, whatever the units. An error
    within rounding of zero is as good as zero, so that noiseless targets do not lead into rounding.
    """

    def __init__(
        self, at: Callable[[Array], tuple[float, Array]], start: Array, restraint: float
    ) -> None:
        self._at = at
        self._restraint = restraint
        self._first = self._safely(start)
        self.best = start
        self.least = self.start_error = self._first[0]
        self._lowest = np.inf

    def _safely(self, point: Array) -> tuple[float, Array]:
        try:
            error, gradient = self._at(point)
        except SingularSystemError:
            return np.inf, np.zeros_like(point)
        if np.isfinite(error) and np.isfinite(gradient).all():
            return error, gradient
        return np.inf, np.zeros_like(point)

    def __call__(self, point: Array) -> tuple[float, Array]:
        error, gradient = self._safely(point) if point.any() else self._first
        share = error / self.start_error + _EPS
        if not share < _VERY_BAD:
            return float(np.log(_VERY_BAD)), np.zeros_like(point)
        apart = np.zeros_like(point)
        if point.size > 1:
            apart[:-1] = point[:-1] - point[:-1].mean()
        value = float(np.log(share) + self._restraint * (apart @ apart))
        # Restraint is zero at the start: what is lower than there has a smaller error as well.
        if value < self._lowest:
            self._lowest, self.least, self.best = value, error, point.copy()
        return value, gradient / (share * self.start_error) + 2.0 * self._restraint * apart


def error_and_gradient(
    Z: Array, Y: Array, weighting: Weighting, alpha: float
) -> tuple[float, Array, float]:
    """The leave-one-out mean square error E at widths one and λ = ``alpha``, and its derivatives.

    ``Z`` (m, d) are rows in units of the widths, ``Y`` (m, t) targets. Returned are E, its
    derivatives by the logarithm of each width, (d,), and by log λ.

    **Cost**: 8m³/3 + 3m²(d + 2t) flops, 4m² numbers.
    """
    K = kernel_matrix(Gaussian(1.0), Z, both_triangles=True)
    shift = alpha / weighting.unit
    A, R = _solution_and_inverse(K, Y, weighting, shift)
    g = np.diagonal(R).copy()  # (m,)
    if not (g > 0).all():  # one row has all the weight: without it there is no intercept
        return np.inf, np.zeros(Z.shape[1]), 0.0
    errors = A / g[:, None]  # (m, t)
    squares = np.einsum("it,it->i", errors, errors)
    total = Y.shape[1] * weighting.total_root**2

    RQ = R @ (errors / g[:, None])
    R *= np.sqrt(squares / g)  # R√D: its product with itself is symmetric, at half the cost
    M = R @ R.T
    M -= RQ @ A.T
    M *= 2.0 / total
    by_alpha = shift * float(np.trace(M))

    V = M
    V *= K
    if weighting.root is not None:
        V *= weighting.root[:, None]
        V *= weighting.root
    np.fill_diagonal(V, 0.0)
    sums = 0.5 * (V.sum(axis=0) + V.sum(axis=1))
    by_widths = 2.0 * (sums @ np.square(Z) - np.einsum("ik,ik->k", Z, V @ Z))
    return float(squares.sum()) / total, by_widths, by_alpha


def _solution_and_inverse(
    K: Array, Y: Array, weighting: Weighting, shift: float
) -> tuple[Array, Array]:
    """A = Rỹ (m, t) and R (m, m) at λ = ``shift``, in units of that of the weights."""
    system = SymmetricSystem.prepare(K.copy(), Y, weighting)
    L = system.matrix
    L[np.diag_indices_from(L)] += shift
    cholesky(L)
    A = cholesky_solve(L, system.targets)
    triangular_inverse(L)
    L *= np.tri(L.shape[0], dtype=bool)  # the other triangle still holds the kernel
    R = L.T @ L
    u = weighting.direction
    if u is not None:
        R -= np.outer(u, u / (system.tau + shift))
    return A, R
