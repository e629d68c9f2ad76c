"""The grid of λ: from the spectrum, widened where the best value sits at its edge, then refined."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

import numpy as np

from ..arrays import Array, blocks
from ..errors import ScaleError
from ..solvers import Factor
from .objective import Objective

# Values per decade of the first grid, and the decades below the largest eigenvalue in which it has
# so many; below these, where small λ cost no more than others, it has so many.
_PER_DECADE, _PER_SMALL_DECADE = 4, 2
_DECADES = {np.dtype(np.float64): 8, np.dtype(np.float32): 4}
#: λ stays this many rounding errors above zero, and this many where float32 only shows the way.
MARGIN, SINGLE_MARGIN = 128.0, 16.0
# Where small λ take more iterations, λ that are looked at at a time, large ones first; and those at
# the end that have to be worse for sure before no smaller one is solved for.
_IN_TURN, _SURELY_WORSE = 4, 3
# Standard errors of the difference between two λ that leave it open which one is better.
_UNTOLD = 0.3
# Beyond a million times the largest eigenvalue the fit is the mean to six digits.
_HIGHEST = 1e6
#: Where every λ is dear: the ratio of one to the next.
NEIGHBOUR = 4.0


@dataclass
class Path:
    """Every λ looked at: ``alphas`` (L,) ascending, and what was seen there.

    ``scores`` (c, L) are compared, ``reported`` (c, L) are shown, which is the same for most
    criteria; ``errors`` (c, L) are standard errors, NaN where unknown; ``bias`` (c, L) is by how
    much scores that are estimates are expected to be too large, zero for all others, and ``tie``
    (c, L) by how much scores may differ and be taken for equal. ``dof`` (L,) are the effective
    degrees of freedom, NaN where nobody has asked for them; ``bits`` (L,) is the precision of the
    factorisation, and ``residuals`` (L,) are those of iterations; ``squares`` (q, L) are what some
    of the rows add to the scores, where that is known.

    ``chosen`` (c,) says which λ were chosen, once that is decided.
    """

    alphas: Array
    scores: Array
    errors: Array
    bias: Array
    tie: Array
    reported: Array
    dof: Array
    bits: Array
    residuals: Array
    squares: Array
    chosen: Array | None = None

    @classmethod
    def merge(cls, parts: list[Path]) -> Path:
        """One path, ascending; of the same λ twice the more precise score stays."""
        alphas = np.concatenate([part.alphas for part in parts])
        bits = np.concatenate([part.bits for part in parts])
        order = np.lexsort((-bits, alphas))
        first = np.append(True, np.diff(alphas[order]) > 0)
        kept = order[first]

        def joined(name: str) -> Array:
            return np.concatenate([getattr(part, name) for part in parts], axis=-1)[..., kept]

        return cls(**{field.name: joined(field.name) for field in fields(cls)[:-1]})

    def decided(self, chosen: Array) -> Path:
        """With the λ that were chosen (c,), and without what was needed for that only."""
        return replace(self, squares=self.squares[:0], chosen=chosen)

    def best(self) -> Array:
        """Index of the best λ for each row of scores: of equal ones the largest λ.

        Scores are equal if they differ by less than what rounding may have done to them, than a
        thousandth of their standard error, or, where they are estimates, than their bias. Scores in
        a lower precision than the best one there is showed the way; they do not compete.
        """
        competing = self._competing()
        if np.isneginf(competing.max(axis=1)).any():
            msg = "no alpha gave a finite score: rescale X and y, or use other alphas"
            raise ScaleError(msg)
        leader = self._leader(competing)[:, None]
        highest = np.take_along_axis(competing, leader, axis=1)
        equal = competing >= highest - self._slack(leader)
        last = competing.shape[1] - 1
        return last - np.argmax(equal[:, ::-1], axis=1)

    def _competing(self) -> Array:
        """Scores (c, L) that are compared; minus infinity for others."""
        competing = np.where(self.bits == self.bits.max(), self.scores, -np.inf)
        return np.nan_to_num(competing, nan=-np.inf, posinf=-np.inf, neginf=-np.inf)

    def _leader(self, competing: Array) -> Array:
        """Index (c,) of the λ that is best for sure: by what rounding leaves of its score.

        A score that rounding may have made is no reason to take others for its equals.
        """
        sure = competing - np.nan_to_num(self.tie, nan=0.0, posinf=np.inf)
        none = np.isneginf(sure.max(axis=1))
        return np.where(none, np.argmax(competing, axis=1), np.argmax(sure, axis=1))

    def cautious(self) -> Array:
        """Index of the largest λ that the rows do not tell from the best one (c,).

        The mean of its squared errors is above the least by less than 0.3 standard errors of that
        difference, which is taken row by row. Where the rows are not known it is the best one.
        """
        best = self.best()
        if self.squares.shape[0] == 0:
            return best
        competing = self._competing()[0]
        leader = int(self._leader(self._competing())[0])
        unit = abs(competing[leader]) or 1.0  # squares of the user's may leave the range
        apart = (self.squares - self.squares[:, [leader]]) / unit
        spread = np.sqrt(np.square(apart - apart.mean(axis=0)).sum(axis=0))
        equal = np.flatnonzero((competing[leader] - competing) / unit <= _UNTOLD * spread)
        return np.maximum(best, equal.max(initial=0))

    def falls_for_sure(self) -> bool:
        """Whether the smallest λ are worse than the best without a doubt, and ever more so.

        The last three, by three standard errors of the difference, row by row; never where the
        rows are not known.
        """
        if self.squares.shape[0] == 0 or self.alphas.size < _SURELY_WORSE:
            return False
        scores = self._competing()[0]
        leader = int(np.argmax(scores))
        if leader < _SURELY_WORSE:
            return False
        apart = self.squares[:, :_SURELY_WORSE] - self.squares[:, [leader]]
        spread = np.sqrt(np.square(apart - apart.mean(axis=0)).sum(axis=0))
        worse = scores[leader] - scores[:_SURELY_WORSE]
        return bool((worse > 3.0 * spread).all() and (np.diff(worse) < 0).all())

    def _slack(self, leader: Array) -> Array:
        """Differences (c, L) from the best scores, at ``leader`` (c, 1), that mean nothing."""

        def at_leader(values: Array) -> Array:
            return np.nan_to_num(np.abs(np.take_along_axis(values, leader, axis=1)), posinf=0.0)

        tie = np.maximum(np.nan_to_num(self.tie, posinf=0.0), at_leader(self.tie))
        return np.maximum(tie, at_leader(self.bias))


def evaluate(
    objective: Objective, factor: Factor, alphas: Array, before: Path | None = None
) -> Path:
    """Scores of given λ, ascending, added to those that were looked at ``before``.

    One that rounding leaves no meaning is not compared where another has one.
    """
    alphas = np.unique(np.asarray(alphas, dtype=np.float64))
    if factor.grid_decades is not None and alphas.size > _IN_TURN:
        path = _from_above(objective, factor, alphas)
    else:
        path = _looked_at(objective, factor, alphas)
    if before is not None:
        path = Path.merge([before, path])
    reliable = factor.reliable(path.alphas)
    if reliable.any():
        path.scores = np.where(reliable, path.scores, -np.inf)
    return path


def _looked_at(objective: Objective, factor: Factor, alphas: Array) -> Path:
    """Scores of λ (L,), ascending."""
    scores, dof, rounding = [], [], []
    for part in factor.chunks(alphas, held=objective.holds_values):
        scores.append(objective(factor, part))
        rounding += [factor.error_estimate(float(alpha)) for alpha in part]
        known = factor.leverages_at_hand
        dof.append(factor.degrees_of_freedom(part) if known else np.full(part.size, np.nan))
    bits = np.full(alphas.size, factor.bits)
    compared, errors, bias, tie, reported, squares = (
        np.concatenate(each, axis=1) for each in zip(*scores, strict=True)
    )
    tie = np.maximum(tie, np.minimum(2.0 * np.array(rounding), 1.0) * np.abs(compared))
    return Path(
        alphas=alphas,
        scores=compared,
        errors=errors,
        bias=bias,
        tie=tie,
        reported=reported,
        dof=np.concatenate(dof),
        bits=bits,
        residuals=factor.residuals(alphas),
        squares=squares,
    )


def _from_above(objective: Objective, factor: Factor, alphas: Array) -> Path:
    """The same where small λ take more iterations: large ones first, a few at a time.

    Once λ get worse without a doubt, those below cannot win: for them no iteration goes on, and
    they are not compared.
    """
    parts: list[Path] = []
    pieces = [alphas[piece] for piece in blocks(alphas.size, _IN_TURN)]
    while pieces:
        parts.insert(0, _looked_at(objective, factor, pieces.pop()))
        path = Path.merge(parts)
        if pieces and path.falls_for_sure():
            with factor.as_far_as_it_is():
                rest = _looked_at(objective, factor, np.concatenate(pieces))
            return Path.merge([rest, path])
    return path


def lowest_alpha(factor: Factor, dtype: np.dtype | None = None, margin: float = MARGIN) -> float:
    """The smallest λ that rounding leaves a meaning: some hundred eps times the largest eigenvalue.

    There the relative error to expect is below one per cent. ``dtype`` is that of the factor where
    nothing else is said; in single precision, on the way only, a smaller margin will do.
    """
    return margin * float(np.finfo(dtype or factor.targets.dtype).eps) * factor.rounded


def choose_automatically(objective: Objective, factor: Factor) -> Path:
    """Look along a grid from the spectrum until the best λ lies inside, then near by.

    The error may have several minima: where a factorisation answers for many λ at once, and the
    criterion can tell, the grid reaches down to what rounding leaves a meaning.

    Cost: some seventy λ.
    """
    largest = factor.largest
    if not largest > 0:  # the kernel sees no difference between the rows: any λ gives the mean
        return evaluate(objective, factor, np.array([1.0]))
    low, high = lowest_alpha(factor), min(_HIGHEST * largest, np.finfo(np.float64).max / 1e6)
    decades, wider = factor.grid_decades or (_DECADES[factor.targets.dtype], 2)
    wider = wider if factor.start is None else np.log10(NEIGHBOUR)
    top = max(largest, 10.0 * low)
    bottom = max(low, min(top * 10.0**-decades, factor.typical))
    if factor.start is None:
        alphas = _between(bottom, top)
        nearly_free = factor.grid_decades is None and factor.many_at_once
        if nearly_free and objective.knows_interpolation and low < bottom:
            alphas = np.concatenate([_between(low, bottom, _PER_SMALL_DECADE)[:-1], alphas])
            bottom = low
        path = evaluate(objective, factor, alphas)
    else:
        middle = float(np.clip(factor.start, low, high))
        bottom, top = max(low, middle / NEIGHBOUR), min(high, middle * NEIGHBOUR)
        path = evaluate(objective, factor, np.array([bottom, middle, top]))
    while True:
        strict = _strictly_best(path)
        if 0 in strict and bottom > low * 1.01 and not factor.exhausted:
            bottom, old = max(low, bottom / 10.0**wider), bottom
            more = _between(bottom, old)[:-1] if factor.start is None else np.array([bottom])
        elif path.alphas.size - 1 in strict and top < high * 0.99:
            top, old = min(high, top * 10.0**wider), top
            more = _between(old, top)[1:] if factor.start is None else np.array([top])
        else:
            break
        path = evaluate(objective, factor, more, path)
    if objective.smooth and not factor.costs_again:
        for _ in range(2):
            path = _refine(objective, factor, path)
    return path


def _between(low: float, high: float, per_decade: int = _PER_DECADE) -> Array:
    steps = max(1, int(np.ceil(per_decade * np.log10(high / low))))
    return np.geomspace(low, high, steps + 1)


def _strictly_best(path: Path) -> set[int]:
    """Edges that beat every other value: a tie with an inner value is no reason to go on."""
    found = set()
    for row, bias in zip(path.scores, np.abs(path.bias), strict=True):
        for edge in (0, row.size - 1):
            others = np.delete(row, edge)
            if others.size == 0 or row[edge] > others.max() + bias[edge]:
                found.add(edge)
    return found


def _refine(objective: Objective, factor: Factor, path: Path) -> Path:
    """Add eight values between the neighbours of the best one."""
    best = int(path.best()[0])
    low = path.alphas[max(best - 1, 0)]
    high = path.alphas[min(best + 1, path.alphas.size - 1)]
    if not high > low > 0:
        return path
    return evaluate(objective, factor, np.geomspace(low, high, 10)[1:-1], path)


# --- what the user asked for ---

_ALPHA_EXPECTED = (
    'a number at or above zero, a 1-D sequence of such numbers (a grid to choose from), or "auto" '
    "is expected"
)


def check_alpha(alpha: Any) -> float | Array | str:
    """A number, an array of numbers (a grid) or "auto"."""
    if isinstance(alpha, str):
        if alpha == "auto":
            return alpha
        msg = f"alpha={alpha!r}: {_ALPHA_EXPECTED}"
        raise ValueError(msg)
    if isinstance(alpha, Real) and not isinstance(alpha, bool):
        _check_alphas(np.array([float(alpha)]), alpha)
        return float(alpha)
    try:
        grid = np.asarray(alpha)
        numbers = grid.dtype.kind in "iuf" and grid.ndim <= 1
        grid = grid.astype(np.float64)
    except (TypeError, ValueError):
        numbers = False
    if not numbers and np.size(alpha):
        msg = f"alpha={alpha!r}: {_ALPHA_EXPECTED}"
        raise ValueError(msg)
    if grid.size == 0:
        msg = 'alpha is an empty sequence: give at least one value, or "auto"'
        raise ValueError(msg)
    _check_alphas(grid, alpha)
    return float(grid) if grid.ndim == 0 else grid


def _check_alphas(values: Array, alpha: Any) -> None:
    if np.isnan(values).any() or np.isinf(values).any():
        msg = f"alpha={alpha!r}: alpha must be finite, got NaN or infinity"
        raise ValueError(msg)
    if (values < 0).any():
        msg = f"alpha={alpha!r}: alpha must be at or above zero"
        raise ValueError(msg)
