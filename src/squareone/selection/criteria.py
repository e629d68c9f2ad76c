"""Criteria that choose λ: leave-one-out, generalised cross-validation, folds.

Each identity stands here once and reads any factorisation. Residuals and complements arrive up to
a common factor, which every formula below divides out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..solvers import Factor
from ..solvers.contract import first_of

# Rows over which λ are compared row by row.
_PAIRED = 4096

__all__ = ["Criterion", "Fold", "Folds", "GeneralisedCrossValidation", "LeaveOneOut"]


class Measured(NamedTuple):
    """One row per target, and last that of all targets together: (t + 1, L) each.

    ``bias`` is how much too large the means are expected to be, where they are estimates.
    ``squares`` (q, L) are what some of the rows add to the mean of all targets, in units in which
    the sum of their squared differences from the mean is the variance of that mean.
    """

    means: Array
    errors: Array
    bias: Array | None = None
    squares: Array | None = None


class HeldOut(NamedTuple):
    """Rows (m,) that are held out, and their errors in the units of y (m, t, L).

    ``shift`` gives for the number of a λ the sum of the errors of all rows that left the fit
    together, each times its share of the total weight (m, t): by so much the intercept would move
    if it were fitted to all rows again, and the rest of the function stayed as it is.
    """

    rows: Array
    errors: Array
    shift: Callable[[int], Array]


class Criterion(ABC):
    """A number per target and λ; the smaller the better."""

    name: str

    #: Whether it means something where a fit passes through nearly all targets.
    knows_interpolation: bool = True
    #: Whether rows are held out.
    holds_out: bool = True

    @abstractmethod
    def measure(self, factor: Factor, alphas: Array) -> Measured:
        """The number, and its standard error where it has one, for ``alphas`` (L,)."""

    def spread(self, measured: Measured, factor: Factor) -> Array:
        """Standard errors (t + 1, L), roughly where they are not known: zero for no idea."""
        return np.nan_to_num(measured.errors)

    def mean_squares(self, factor: Factor, alphas: Array) -> Array:
        """The number for ``alphas`` (L,) → (t, L): a mean square of errors, weighted by w."""
        return self.measure(factor, alphas).means[:-1]

    def reported(self, means: Array, factor: Factor, unit: float) -> Array:
        """The score to show, greater is better, for ``means`` (c, L) of targets over ``unit``."""
        return -means * unit * unit

    def restricted(self, rows: Array) -> Criterion:
        """The same criterion for a fit on ``rows`` (m,) only."""
        return self

    def in_units(self, unit: float) -> Criterion:
        """The same criterion for targets divided by ``unit``."""
        return self

    def held_out(self, factor: Factor, alphas: Array) -> HeldOut:
        """What is known of rows that are held out."""
        msg = f"criterion={self.name!r} holds no rows out"
        raise NotImplementedError(msg)


class LeaveOneOut(Criterion):
    """e_i = r_i / (1 − h_i): exactly the error at row i of the fit without row i.

    Where a solver only estimates 1 − h_i, so is this; from parts of what that estimate is made of
    follow its own standard error and its bias (a jackknife), and the former is added to that of
    the rows.

    **Cost**: n·t divisions per λ beyond what the factorisation gives.

    Parameters
    ----------
    sample : array (s,) or None
        Rows, ascending, over which the mean is taken; None: all of them. Each is left out alone.
    """

    name = "loo"

    def __init__(self, sample: Array | None = None) -> None:
        self.sample = sample

    def measure(self, factor: Factor, alphas: Array) -> Measured:
        parts = factor.estimates_without(alphas)
        by_part: dict[int, list[Array]] = {}
        kept = _KeptSquares(np.arange(factor.n) if self.sample is None else self.sample)

        def estimate(rows: slice | Array, residuals: Array, complements: Array) -> None:
            by_part[first_of(rows)] = [_square_sums(residuals, part[rows]) for part in parts]

        found = factor.summaries(
            alphas, _summary, kept.mask(factor.n), self.sample, estimate if parts else None
        )
        for _, squares in found:
            kept.add(squares)
        measured = _weighted_mean(np.sum([moments for moments, _ in found], axis=0), kept)
        if not parts:
            return measured
        return _jackknifed(measured, _in_order(by_part) / factor.weighting.total_root**2)

    def held_out(self, factor: Factor, alphas: Array) -> HeldOut:
        held = np.arange(factor.n) if self.sample is None else self.sample
        errors = np.empty((held.size, factor.targets.shape[1], alphas.size), factor.targets.dtype)

        def store(rows: slice | Array, residuals: Array, complements: Array) -> None:
            found = factor.left_out(alphas, rows, residuals, complements)
            places = rows if isinstance(rows, slice) else np.searchsorted(held, rows)
            errors[places] = factor.weighting.unscale(found, rows)

        factor.expect_left_out(self.sample)
        factor.visit(alphas, store, self.sample)
        shares = factor.weighting.shares(held)[:, None]
        return HeldOut(held, errors, lambda i: shares * errors[:, :, i])

    def restricted(self, rows: Array) -> Criterion:
        return LeaveOneOut()


class GeneralisedCrossValidation(Criterion):
    """Σwr²/Σw / (1 − tr H/n)²: leave-one-out with every leverage replaced by their mean.

    Where leverages are near one, each in its own way, that mean says nothing about the rows.
    """

    name = "gcv"
    holds_out = False
    knows_interpolation = False

    def measure(self, factor: Factor, alphas: Array) -> Measured:
        squares, traces = factor.totals(alphas)
        means = squares / factor.weighting.total_root**2 / (traces / factor.n) ** 2
        means = np.vstack([means, means.mean(axis=0)])
        return Measured(means, np.full_like(means, np.nan))

    def spread(self, measured: Measured, factor: Factor) -> Array:
        """Those of a mean square of n normal errors."""
        return np.sqrt(2.0 / factor.n) * measured.means


@dataclass(frozen=True)
class Fold:
    """Rows that leave the fit (m,), and which of them are scored (a mask (m,)).

    They differ for splitters whose training and test rows do not cover everything, such as
    ``TimeSeriesSplit``.
    """

    removed: Array
    scored: Array


class Folds(Criterion):
    """e_I = (I − H_II)⁻¹ r_I: exactly the errors at rows I of the fit without them.

    **Cost**: with a kernel, 2n|I|² + |I|³/3 flops per fold and λ; with features, d³ per fold and λ.
    """

    def __init__(self, folds: list[Fold], name: str = "cv") -> None:
        self.folds = folds
        self.name = name

    def held_out(self, factor: Factor, alphas: Array) -> HeldOut:
        rows = np.concatenate([fold.removed[fold.scored] for fold in self.folds])
        errors = np.empty((rows.size, factor.targets.shape[1], alphas.size), factor.targets.dtype)
        sums = np.empty((len(self.folds), *errors.shape[1:]))
        sizes = [int(np.count_nonzero(fold.scored)) for fold in self.folds]
        ends = np.cumsum(sizes)
        for number, fold in enumerate(self.folds):
            values = factor.errors_without(alphas, fold.removed)
            values = factor.weighting.unscale(values, fold.removed)
            errors[ends[number] - sizes[number] : ends[number]] = values[fold.scored]
            sums[number] = np.tensordot(factor.weighting.shares(fold.removed), values, axes=1)
        return HeldOut(rows, errors, lambda i: np.repeat(sums[:, :, i], sizes, axis=0))

    def measure(self, factor: Factor, alphas: Array) -> Measured:
        rows, errors, _ = self.held_out(factor, alphas)
        root = factor.weighting.root
        if root is not None:
            errors *= root[rows, None, None]
        kept = _KeptSquares(np.arange(rows.size))
        some = None if root is None else root[rows]
        moments, squares = _summary(errors, some, kept.mask(rows.size))
        kept.add(squares)
        return _weighted_mean(moments, kept)

    def restricted(self, rows: Array) -> Criterion:
        """Folds of those rows; leave-one-out where no fold is left with rows on both sides."""
        position = np.full(max(rows.max(), *(f.removed.max() for f in self.folds)) + 1, -1)
        position[rows] = np.arange(rows.size)
        folds = []
        for fold in self.folds:
            places = position[fold.removed]
            there = places >= 0
            if fold.scored[there].any() and np.count_nonzero(there) < rows.size:
                folds.append(Fold(places[there], fold.scored[there]))
        return Folds(folds, self.name) if folds else LeaveOneOut()

    def work(self) -> float:
        """Σ|I|², in which the plan counts the cost of folds."""
        return float(sum(fold.removed.size**2 for fold in self.folds))

    def largest(self) -> int:
        """Rows of the largest fold."""
        return max(fold.removed.size for fold in self.folds)


class _KeptSquares:
    """Weighted squared errors of some of the rows, by which λ are compared row by row.

    Parameters
    ----------
    rows : array (n,)
        All rows that are held out, ascending.
    """

    def __init__(self, rows: Array) -> None:
        places = np.unique(np.linspace(0, rows.size - 1, min(rows.size, _PAIRED)).astype(int))
        self._rows = rows[places]
        self._share = rows.size / places.size
        self._found: list[Array] = []

    def mask(self, n: int) -> Array:
        """Which of ``n`` rows they are."""
        found = np.zeros(n, bool)
        found[self._rows] = True
        return found

    def add(self, squares: Array) -> None:
        """Of the next ones: (q, L)."""
        self._found.append(squares)

    def over(self, total: float) -> Array:
        """All of them (q, L), for a mean with weights that add up to ``total``."""
        return np.concatenate(self._found) * (np.sqrt(self._share) / total)


def _summary(errors: Array, root: Array | None, chosen: Array) -> tuple[Array, Array]:
    """What is needed of some rows: :func:`_moments`, and squares (q, L) of those in a mask (b,)."""
    moments, squares = _moments(errors, root)
    return moments, squares[chosen].astype(np.float64)


def _moments(errors: Array, root: Array | None) -> tuple[Array, Array]:
    """Sums over rows of s, s², ws, w and w², with s = we² from errors √w e (b, t, L), destroyed.

    One column per target, and last that of their mean: (5, t + 1, L); and that mean for each of
    the rows, (b, L).
    """
    w = np.ones(len(errors)) if root is None else np.square(root, dtype=np.float64)
    moments = np.empty((5, errors.shape[1] + 1, errors.shape[2]))
    moments[0, :-1] = np.einsum("itl,itl->tl", errors, errors, dtype=np.float64)
    s = np.multiply(errors, errors, out=errors)
    moments[1, :-1] = np.einsum("itl,itl->tl", s, s, dtype=np.float64)
    moments[2, :-1] = moments[0, :-1] if root is None else np.einsum("i,itl->tl", w, s)
    moments[:3, -1] = moments[:3, :-1].mean(axis=1)
    together = s[:, 0]
    if s.shape[1] > 1:
        together = s.mean(axis=1)
        moments[1, -1] = np.einsum("il,il->l", together, together, dtype=np.float64)
    moments[3], moments[4] = w.sum(), w @ w
    return moments, together


def _in_order(sums: dict[int, Any]) -> Array:
    """Their sum, whichever came first."""
    return np.sum([sums[start] for start in sorted(sums)], axis=0)


def _square_sums(residuals: Array, complements: Array) -> Array:
    """Σ(r / (1 − h))² over rows (b, t, L), for every target and their mean: (t + 1, L)."""
    inverse = 1.0 / np.square(complements, dtype=np.float64)
    squares = np.einsum("itl,itl,il->tl", residuals, residuals, inverse)
    return np.vstack([squares, squares.mean(axis=0)])


def _jackknifed(measured: Measured, parts: Array) -> Measured:
    """With the standard error and the bias that leaving out each of the ``parts`` shows."""
    g, centre = parts.shape[0], parts.mean(axis=0)
    variance = (g - 1) / g * np.square(parts - centre).sum(axis=0)
    errors = np.sqrt(np.square(measured.errors) + variance)
    bias = (g - 1) * (centre - measured.means)
    return Measured(measured.means, errors, bias, measured.squares)


def _weighted_mean(moments: Array, kept: _KeptSquares) -> Measured:
    """Σwe²/Σw, and its standard error √(Σw²(e² − mean)²)/Σw."""
    first, second, crossed, total, squared = moments
    means = first / total
    scatter = second - 2.0 * means * crossed + means**2 * squared
    errors = np.sqrt(np.maximum(scatter, 0.0)) / total
    return Measured(means, errors, squares=kept.over(float(total[0, 0])))


def folds_from_splits(splits: Any, kept: Array, n: int) -> list[Fold]:
    """Folds over the rows ``kept`` of the fit, from (train, test) indices into all ``n`` rows.

    Rows of weight zero are not kept: they are neither removed nor scored, and a fold whose test
    rows are all of weight zero is skipped.
    """
    position = np.full(n, -1)
    position[kept] = np.arange(kept.size)
    folds, skipped = [], 0
    for number, (train, test) in enumerate(splits):
        weightless = np.size(test) > 0
        train, test = (_positions(part, position, number) for part in (train, test))
        if test.size == 0 and weightless:
            skipped += 1
            continue
        if train.size == 0 or test.size == 0:
            msg = f"fold {number} of cv has no test row"
            if train.size == 0:
                msg = f"fold {number} of cv has no training row of positive weight"
            raise ValueError(msg)
        if np.intersect1d(train, test).size:
            msg = f"fold {number} of cv has rows that are both training and test rows"
            raise ValueError(msg)
        removed = np.setdiff1d(np.arange(kept.size), train)
        folds.append(Fold(removed, np.isin(removed, test)))
    if not folds:
        msg = "cv gave no split"
        if skipped:
            msg = f"no fold of cv has a test row of positive weight, {skipped} of {skipped} folds"
        raise ValueError(msg)
    return folds


def _positions(indices: Any, position: Array, number: int) -> Array:
    indices = np.asarray(indices)
    if indices.dtype == bool:
        indices = np.flatnonzero(indices)
    if indices.size and not (indices.min() >= 0 and indices.max() < position.size):
        stray = indices[(indices < 0) | (indices >= position.size)][0]
        msg = f"fold {number} of cv has row {stray}: rows 0 to {position.size - 1} are expected"
        raise ValueError(msg)
    if np.unique(indices).size < indices.size:
        msg = f"fold {number} of cv names a row twice: use weights for repeated rows"
        raise ValueError(msg)
    found = position[indices.astype(int)]
    return np.sort(found[found >= 0])
