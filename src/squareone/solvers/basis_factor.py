"""Factorisations that are a basis of vectors, each shrunk by a function of λ."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, blocks, by_rows, squares_times, times
from ..threads import for_each
from .contract import PATH_BLOCK, Factor, Visitor


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
    def basis(self, rows: slice | Array) -> Any:
        """Rows of A: (b, k), wherever they are."""

    @abstractmethod
    def filters(self, alphas: Array) -> Array:
        """F for ``alphas`` (L,): (k, L)."""

    def each_block(
        self, size: int, look: Callable[[slice | Array, Any], None], sample: Array | None
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

        def block(rows: slice | Array, A: Any) -> None:
            base = None if self.base_residuals is None else self.base_residuals[rows]
            residuals = residuals_of(A, filtered, t, base)
            visitor(rows, residuals, self._complements(rows, A, F, least))

        self.each_block(size, block, sample)
        self._remember_least(alphas, least)

    def left_out_by_target(self, alphas: Array) -> Array:
        """In one pass, whatever the λ are."""
        distinct, which = np.unique(alphas, return_inverse=True)
        F, which = self.filters(distinct), which.reshape(-1)
        filtered = self.projections * F[:, which]
        found = np.empty(self.targets.shape, self.targets.dtype)
        least: list[Array] = []

        def block(rows: slice | Array, A: Any) -> None:
            errors = times(A, filtered)
            if self.base_residuals is not None:
                errors += self.base_residuals[rows]
            found[rows] = errors / self._complements(rows, A, F, least)[:, which]

        self.each_block(max(64, PATH_BLOCK // max(F.shape[0], alphas.size)), block, None)
        self._remember_least(distinct, least)
        return found

    def _complements(self, rows: slice | Array, A: Any, F: Array, least: list[Array]) -> Array:
        """1 − h of rows with basis rows ``A`` (b, k) → (b, L); their least is added to a list."""
        if self.base_complements is None:
            return squares_times(A, F)
        complements = differences(A, F, self.base_complements[rows], self.least_difference)
        least.append(complements.min(axis=0))
        return complements

    def _remember_least(self, alphas: Array, least: list[Array]) -> None:
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

    def sensitivities(self, alpha: float, queries: Array, some: Array | None = None) -> Array:
        seen = self.view(queries)
        seen *= self.gains(alpha)[:, None]
        rows = slice(None) if some is None else some
        return self._with_mean(by_rows(self.basis(rows), seen), some)

    def _fitted(self, alphas: Array, removed: Array) -> tuple[Any, Array]:
        """Basis rows (m, k) and residuals (m, t, L) at ``removed``."""
        A = self.basis(removed)
        F = self.filters(alphas)
        filtered = self._filtered(F)
        base = None if self.base_residuals is None else self.base_residuals[removed]
        return A, residuals_of(A, filtered, self.targets.shape[1], base)


def residuals_of(A: Any, filtered: Array, t: int, base: Array | None) -> Array:
    """base + A F(λ) g (b, t, L) of rows with basis rows ``A`` (b, k), for F(λ)g (k, t·L)."""
    residuals = times(A, filtered).reshape(A.shape[0], t, filtered.shape[1] // t)
    if base is not None:
        residuals += base[:, :, None]
    return residuals


def differences(A: Any, F: Array, base: Array, least: float) -> Array:
    """base + A² F(λ) (b, L), not below ``least``: complements of rows with basis rows ``A``."""
    complements = squares_times(A, F)
    complements += base[:, None]
    np.maximum(complements, least, out=complements)
    return complements


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
