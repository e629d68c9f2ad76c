"""The grid of λ: from the spectrum, widened where the best value sits at its edge, then refined."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ..arrays import Array
from ..errors import ScaleError
from ..solvers import Factor
from .objective import Objective

# Values per decade of the first grid, and the decades below the largest eigenvalue it starts at.
_PER_DECADE = 4
_DECADES = {np.dtype(np.float64): 8, np.dtype(np.float32): 4}
#: λ stays this many rounding errors above zero, and this many where float32 only shows the way.
MARGIN, SINGLE_MARGIN = 128.0, 16.0
# Beyond a million times the largest eigenvalue the fit is the mean to six digits.
_HIGHEST = 1e6
#: Where every λ is dear: the ratio of one to the next.
NEIGHBOUR = 4.0


@dataclass
class Path:
    """Every λ looked at: ``alphas`` (L,) ascending, and what was seen there.

    ``scores`` (c, L) are compared, ``reported`` (c, L) are shown, which is the same for most
    criteria; ``errors`` (c, L) are standard errors, NaN where unknown; ``bias`` (c, L) is by how
    much scores that are estimates are expected to be too large, zero for all others. ``dof`` (L,)
    are the effective degrees of freedom, NaN where nobody has asked for them; ``bits`` (L,) is the
    precision of the factorisation.
    """

    alphas: Array
    scores: Array
    errors: Array
    bias: Array
    reported: Array
    dof: Array
    bits: Array

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

        return cls(**{field.name: joined(field.name) for field in fields(cls)})

    def best(self) -> Array:
        """Index of the best λ for each row of scores: of equal ones the largest λ.

        Estimates are equal if they differ by less than their bias. Scores in a lower precision than
        the best one there is showed the way; they do not compete.
        """
        competing = np.where(self.bits == self.bits.max(), self.scores, -np.inf)
        competing = np.nan_to_num(competing, nan=-np.inf, posinf=-np.inf, neginf=-np.inf)
        if np.isneginf(competing.max(axis=1)).any():
            msg = "no alpha gave a finite score: rescale X and y, or use other alphas"
            raise ScaleError(msg)
        highest = competing.max(axis=1, keepdims=True)
        leader = np.argmax(competing, axis=1)[:, None]
        slack = np.abs(np.take_along_axis(self.bias, leader, axis=1))
        equal = competing >= highest - np.where(np.isfinite(slack), slack, 0.0)
        last = competing.shape[1] - 1
        return last - np.argmax(equal[:, ::-1], axis=1)


def evaluate(
    objective: Objective, factor: Factor, alphas: Array, before: Path | None = None
) -> Path:
    """Scores of given λ, ascending, added to those that were looked at ``before``.

    One that rounding leaves no meaning is not compared where another has one.
    """
    alphas = np.unique(np.asarray(alphas, dtype=np.float64))
    scores, dof = [], []
    for part in factor.chunks(alphas, held=objective.holds_values):
        scores.append(objective(factor, part))
        known = factor.leverages_at_hand
        dof.append(factor.degrees_of_freedom(part) if known else np.full(part.size, np.nan))
    bits = np.full(alphas.size, factor.bits)
    compared, errors, bias, reported = (
        np.concatenate(each, axis=1) for each in zip(*scores, strict=True)
    )
    path = Path(alphas, compared, errors, bias, reported, np.concatenate(dof), bits)
    if before is not None:
        path = Path.merge([before, path])
    reliable = factor.reliable(path.alphas)
    if reliable.any():
        path.scores = np.where(reliable, path.scores, -np.inf)
    return path


def lowest_alpha(factor: Factor, dtype: np.dtype | None = None, margin: float = MARGIN) -> float:
    """The smallest λ that rounding leaves a meaning: some hundred eps times the largest eigenvalue.

    There the relative error to expect is below one per cent. ``dtype`` is that of the factor where
    nothing else is said; in single precision, on the way only, a smaller margin will do.
    """
    return margin * float(np.finfo(dtype or factor.targets.dtype).eps) * factor.rounded


def choose_automatically(objective: Objective, factor: Factor) -> Path:
    """Look along a grid from the spectrum until the best λ lies inside, then near by.

    Cost: some sixty λ.
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
        path = evaluate(objective, factor, _between(bottom, top))
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
    if objective.smooth and not factor.dear_again:
        for _ in range(2):
            path = _refine(objective, factor, path)
    return path


def _between(low: float, high: float) -> Array:
    steps = max(1, int(np.ceil(_PER_DECADE * np.log10(high / low))))
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
