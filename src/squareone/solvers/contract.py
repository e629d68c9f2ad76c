"""The contract between solvers and everything that reads them.

A factorisation does once all the work that does not depend on λ; then, for any λ and all targets,
it gives residuals and complements of the leverages. Both come *up to one positive factor per λ*:
a kernel solver gives r/λ and (1 − h)/λ, which exist even at λ = 0. Every criterion is a ratio in
which that factor cancels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, blocks
from ..threads import for_each
from .exact.weighting import Weighting

#: Called with rows, residuals (b, t, L) and complements (b, L).
Visitor = Callable[[slice | Array, Array, Array], None]

# Columns (targets x λ) in one product, and numbers in one block of its result.
PATH_COLUMNS = 512
PATH_BLOCK = 262_144
# Held-out values (rows x targets x λ) kept at a time, where they are kept.
HELD_NUMBERS = 2_097_152


class Factor(ABC):
    """All the answers of one solver. Rows are scaled by √w; see :class:`Weighting`.

    Attributes
    ----------
    weighting : Weighting
    targets : array (n, t)
        ỹ: scaled and projected.
    largest : float
        The largest eigenvalue of the kernel matrix (or a bound on it): the unit of the λ grid.
    rounded : float
        What rounding is relative to, in the same units; at least ``largest``.
    """

    weighting: Weighting
    targets: Array
    largest: float
    rounded: float

    #: What λ is divided by, one after the other: their product may overflow.
    alpha_units: tuple[float, ...] = ()

    #: Whether many λ at once cost hardly more than one.
    many_at_once: bool = True

    @property
    def bits(self) -> int:
        """The precision in which λ are compared."""
        return 8 * self.targets.dtype.itemsize

    @property
    def n(self) -> int:
        """Rows that take part in the fit."""
        return self.targets.shape[0]

    @abstractmethod
    def visit(self, alphas: Array, visitor: Visitor, sample: Array | None = None) -> None:
        """Show residuals and complements for ``alphas`` (L,) to ``visitor``, by row blocks.

        The visitor is called from several threads, each time with other rows: slices of all of
        them, or pieces of the ``sample`` (s,), ascending, where only those are asked about.
        """

    def left_out(
        self, alphas: Array, rows: slice | Array, residuals: Array, complements: Array
    ) -> Array:
        """Errors (b, t, L) without each of the rows that were visited; residuals may be lost."""
        return np.divide(residuals, complements[:, None, :], out=residuals, casting="same_kind")

    def totals(self, alphas: Array) -> tuple[Array, Array]:
        """Σr² (t, L) and Σ(1 − h) (L,), up to the factor of residuals, for ``alphas`` (L,)."""
        sums: dict[int, tuple[Array, Array]] = {}

        def add(rows: slice | Array, residuals: Array, complements: Array) -> None:
            squares = np.einsum("itl,itl->tl", residuals, residuals, dtype=np.float64)
            sums[first_of(rows)] = squares, complements.sum(axis=0, dtype=np.float64)

        self.visit(alphas, add)
        squares = np.sum([sums[start][0] for start in sorted(sums)], axis=0)
        traces = np.sum([sums[start][1] for start in sorted(sums)], axis=0)
        if self.estimated:  # each for a row of its own, not for their sum
            traces = self.n - self.degrees_of_freedom(alphas)
        return squares, traces

    @abstractmethod
    def errors_without(self, alphas: Array, removed: Array) -> Array:
        """Errors at the rows ``removed`` (m,) of the fit without them → (m, t, L)."""

    @abstractmethod
    def degrees_of_freedom(self, alphas: Array) -> Array:
        """Trace of the hat matrix, the intercept included, for ``alphas`` (L,) → (L,)."""

    @abstractmethod
    def coefficients(self, alphas: Array) -> tuple[Array, Array]:
        """Coefficients (n or d, t) and intercepts (t,), with one λ per target: ``alphas`` (t,)."""

    @abstractmethod
    def error_estimate(self, alpha: float) -> float:
        """Relative error to expect from rounding at this λ: eps times a condition number."""

    @abstractmethod
    def log_determinants(self, alphas: Array) -> Array:
        """log det(B̃ + λI) for ``alphas`` (L,) → (L,), in the user's units of the kernel and w.

        With an intercept over the n − 1 directions orthogonal to u.
        """

    @abstractmethod
    def energies(self, alphas: Array) -> Array:
        """ỹᵀ(B̃ + λI)⁻¹ỹ for ``alphas`` (L,) → (t, L), in the user's units of the kernel and w."""

    # --- a sequence of products in place of a factorisation; one is exact, and there at once ---

    #: Decades below the largest eigenvalue that a grid of λ covers first, and by which it is then
    #: widened; None where small λ cost no more than others.
    grid_decades: tuple[int, int] | None = None

    #: Iterations, and the relative residual they ended at.
    iterations: int = 1
    residual: float = 0.0

    #: A λ to begin a search with, where a smaller model found one.
    start: float | None = None

    @property
    def typical(self) -> float:
        """A λ that a first grid of few decades has to reach; infinite where it has many."""
        return np.inf

    @property
    def exhausted(self) -> bool:
        """Whether it has done all it may: smaller λ would not be solved for."""
        return False

    @property
    def dear_again(self) -> bool:
        """Whether other λ than those asked for before cost about as much as these did."""
        return False

    @property
    def leverages_at_hand(self) -> bool:
        """Whether complements and degrees of freedom are there, or come with the residuals."""
        return True

    @property
    def estimated(self) -> bool:
        """Whether complements are estimates."""
        return False

    def estimates_without(self, alphas: Array) -> list[Array]:
        """Complements (n, L) from parts of what they are estimated from; none where exact."""
        return []

    def doubtful(self, alpha: float) -> Array:
        """Rows (n,) whose complement at λ is estimated too roughly to be relied on."""
        return np.zeros(self.n, bool)

    def reliable(self, alphas: Array) -> Array:
        """Which of ``alphas`` (L,) that were visited rounding leaves a meaning: a mask (L,)."""
        return np.ones(alphas.size, bool)

    # --- centers; where all rows are, none depends on others and all of the trace is explained ---

    @property
    def dropped_centers(self) -> Array:
        """Positions of centers that depend on others, among those that were asked for."""
        return np.empty(0, int)

    @property
    def lost_energy(self) -> float:
        """The squared length of a direction that went with a dropped center, in the units of λ."""
        return 0.0

    @property
    def explained_trace(self) -> float:
        """The share of the trace of the kernel matrix that the centers explain."""
        return 1.0

    def expect_left_out(self, sample: Array | None) -> None:  # noqa: B027  (most need nothing)
        """Get ready for :meth:`left_out` of all rows, or of a sample (s,), before a visit."""

    def settle(self) -> None:  # noqa: B027  (most have nothing to do)
        """Get ready for what is asked later, which must not depend on what the user does to X."""

    # --- new rows ---

    #: Whether new rows are asked about by their features (m, d), or else by their kernel values
    #: with the rows of the fit (m, n).
    takes_rows: bool = False

    @abstractmethod
    def sensitivities(self, alpha: float, queries: Array) -> Array:
        """df(x)/dy_i at new rows x → (n, m): f(x) = Σ_i y_i df(x)/dy_i. Kernel values are lost.

        Without row i the prediction is f(x) − e_i df(x)/dy_i, with its leave-one-out error e_i.
        """

    def moves(
        self, alpha: float, queries: Any, errors: Array, unit: float
    ) -> Callable[[int], Array]:
        """f(x) − f_{−i}(x) at new rows x, for a target column: j → (n, m). Kernel values are lost.

        ``errors`` (n, t) are the leave-one-out errors of the rows. They, and the result, are in the
        units of y, each of which is ``unit`` of those of the targets here.
        """
        sensitivities = self.sensitivities(alpha, queries)
        return lambda j: sensitivities * errors[:, j, None]

    @abstractmethod
    def variances(self, alpha: float, queries: Array, prior: Array) -> Array:
        """Posterior variance of f at new rows → (m,), at scale one; ``prior`` (m,) is k(x, x).

        Kernel values are lost.
        """

    def _with_mean(self, sensitivities: Array) -> Array:
        """The share of √w and of the mean of y, in sensitivities (n, m) to ỹ: in place."""
        self.weighting.scale(sensitivities)
        u = self.weighting.direction
        if u is not None:
            sensitivities += np.square(u)[:, None]
        return sensitivities

    def _variance_of_mean(self, alpha: float) -> float:
        """λ/Σw: what noise leaves unknown of the intercept."""
        if self.weighting.direction is None:
            return 0.0
        return alpha / self.weighting.unit / self.weighting.total_root**2

    def scaled(self, alphas: Array | float) -> Array:
        """λ in the units of what was factored, in float64."""
        scaled = np.asarray(alphas, dtype=np.float64)
        with np.errstate(over="ignore", under="ignore"):
            for unit in self.alpha_units:
                scaled = scaled / unit
        return np.minimum(scaled, np.finfo(np.float64).max)

    def chunks(self, alphas: Array, *, held: bool) -> list[Array]:
        """``alphas`` (L,) in the pieces in which they are best asked for.

        ``held`` says that every held-out value will be kept for a while.
        """
        t = self.targets.shape[1]
        size = max(1, PATH_COLUMNS // t) if self.many_at_once else 1
        if held:
            size = max(1, min(size, HELD_NUMBERS // max(1, self.n * t)))
        return [alphas[piece] for piece in blocks(alphas.size, size)]


def first_of(rows: slice | Array) -> int:
    """The first of the rows that a visitor is shown."""
    return int(rows.start if isinstance(rows, slice) else rows[0])


def shown_of(sample: Array | None, visitor: Visitor) -> Visitor:
    """A visitor of all rows that passes on those of the sample (s,), ascending; None: all."""
    if sample is None:
        return visitor

    def some(rows: slice | Array, residuals: Array, complements: Array) -> None:
        assert isinstance(rows, slice)
        here = sample[np.searchsorted(sample, rows.start) : np.searchsorted(sample, rows.stop)]
        if here.size:
            places = here - rows.start
            visitor(here, residuals[places], complements[places])

    return some


class BasisFactor(Factor):
    """A factorisation that is a basis A (n, k), each vector filtered by F(λ) (k,).

    For every λ the residuals are base + A F(λ) g, with g (k, t) the basis' view of the targets,
    and the complements base + A² F(λ).
    """

    squares: Array  # s², (k,), at or above zero
    projections: Array  # g, (k, t)
    base_residuals: Array | None = None  # (n, t)
    base_complements: Array | None = None  # (n,)
    #: What a complement that is a difference is at least.
    least_difference: float = float(np.finfo(np.float32).tiny)

    @cached_property
    def least_complements(self) -> dict[float, float]:
        """The least 1 − h seen, by λ, where it is a difference and so known to rounding only."""
        return {}

    @abstractmethod
    def basis(self, rows: slice | Array) -> Array:
        """Rows of A: (b, k)."""

    @abstractmethod
    def filters(self, alphas: Array) -> Array:
        """F for ``alphas`` (L,): (k, L)."""

    def each_block(
        self, size: int, look: Callable[[slice | Array, Array], None], sample: Array | None
    ) -> None:
        """Show rows of A, ``size`` of them at a time, on all cores: all, or those of a sample."""
        if sample is None:
            for_each(lambda rows: look(rows, self.basis(rows)), blocks(self.n, size))
            return

        def some(piece: slice) -> None:
            look(sample[piece], self.basis(sample[piece]))

        for_each(some, blocks(sample.size, size))

    def visit(self, alphas: Array, visitor: Visitor, sample: Array | None = None) -> None:
        t = self.targets.shape[1]
        F = self.filters(alphas)
        filtered = self._filtered(F)
        size = max(64, PATH_BLOCK // max(F.shape[0], filtered.shape[1]))

        least: list[Array] = []

        def block(rows: slice | Array, A: Array) -> None:
            residuals = (A @ filtered).reshape(A.shape[0], t, alphas.size)
            complements = np.square(A) @ F
            if self.base_residuals is not None:
                residuals += self.base_residuals[rows, :, None]
            if self.base_complements is not None:
                complements += self.base_complements[rows, None]
                np.maximum(complements, self.least_difference, out=complements)
                least.append(complements.min(axis=0))
            visitor(rows, residuals, complements)

        self.each_block(size, block, sample)
        if least:
            self.least_complements.update(zip(alphas, np.min(least, axis=0), strict=True))

    def _filtered(self, F: Array) -> Array:
        """F(λ)g for all targets and λ (k, t·L)."""
        filtered = self.projections[:, :, None] * F[:, None, :]
        return filtered.reshape(F.shape[0], filtered.shape[1] * F.shape[1])

    def degrees_of_freedom(self, alphas: Array) -> Array:
        s2 = self.squares.astype(np.float64)[:, None]
        with np.errstate(invalid="ignore", over="ignore"):  # 0/0: a direction that is not there
            shares = np.nan_to_num(s2 / (s2 + self.scaled(alphas)))
        return shares.sum(axis=0) + (self.weighting.direction is not None)

    def log_determinants(self, alphas: Array) -> Array:
        s2, scaled = self.squares.astype(np.float64)[:, None], self.scaled(alphas)
        directions = self.n - (self.weighting.direction is not None)
        others = directions - s2.shape[0]  # where the kernel is zero
        with np.errstate(divide="ignore"):
            total = np.log(s2 + scaled).sum(axis=0)
            if others:
                total += others * np.log(scaled)
        return total + directions * sum(np.log(unit) for unit in self.alpha_units)

    @abstractmethod
    def gains(self, alpha: float) -> Array:
        """What a basis vector's view of a new row is multiplied by: (k,)."""

    @abstractmethod
    def view(self, queries: Array) -> Array:
        """The basis vectors' view of new rows: (k, m)."""

    def sensitivities(self, alpha: float, queries: Array) -> Array:
        seen = self.view(queries)
        seen *= self.gains(alpha)[:, None]
        # transposed: all that is known of a new row stands together
        return self._with_mean((seen.T @ self.basis(slice(None)).T).T)

    def _fitted(self, alphas: Array, removed: Array) -> tuple[Array, Array]:
        """Basis rows (m, k) and residuals (m, t, L) at ``removed``."""
        A = self.basis(removed)
        F = self.filters(alphas)
        filtered = self._filtered(F)
        residuals = (A @ filtered).reshape(removed.size, self.targets.shape[1], alphas.size)
        if self.base_residuals is not None:
            residuals += self.base_residuals[removed, :, None]
        return A, residuals


def gram_by_blocks(take: Callable[[Array], Array], rows: Array, k: int) -> Array:
    """AᵀA (k, k) over ``rows`` (m,) of a matrix whose rows ``take`` gives, one block at a time."""
    total = np.zeros((k, k))
    for piece in blocks(rows.size, max(64, PATH_BLOCK // max(k, 1))):
        A = take(rows[piece])
        total += A.T @ A
    return total


def shrinkage(squares: Array, scaled: Array) -> Array:
    """(s₁² + λ) / (s² + λ) (k, L): 1/(s² + λ) up to a factor per λ, without over- or underflow."""
    s2 = squares.astype(np.float64)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        filters = (s2.max(initial=0.0) + scaled) / (s2 + scaled)
    return filters.astype(squares.dtype)
