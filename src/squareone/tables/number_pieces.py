"""A number in pieces: how much of each of some intervals lies below it (piecewise linear)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from ..arrays import Array
from ..persistence import Fields, refuse
from .number_scaling import weighted_median

__all__ = ["MOST_PIECES", "NumberPieces"]

#: Intervals that a column can be cut into.
MOST_PIECES = 64
# Digits of an edge in a name: at least, and those that tell any two numbers apart.
_DIGITS, _MOST_DIGITS = 4, 17


@dataclass(frozen=True)
class NumberPieces:
    r"""Columns for intervals between edges :math:`e_0 < … < e_k` of the training values.

    .. math:: z_t(x) = s \, \min(\max((x - e_{t-1}) / (e_t - e_{t-1}), 0), 1), \quad t = 1, …, k

    The sum of the pieces is an increasing map of the number, linear between edges. A kernel sees
    more than their sum: where its metric is learned, each piece has a weight of its own, so that a
    function may change at a threshold, and be flat elsewhere. Beyond the smallest and the largest
    edge nothing changes.

    Where there are at most k + 1 different values, each is an edge. Otherwise edges are at equal
    shares of the training rows, of which a single value counts for at most one piece: one that most
    rows have, such as zero, leaves the others theirs.

    The unit s makes the variances of the pieces over the training rows add up to one, as that of a
    scaled number is.

    Attributes
    ----------
    fill : float
        The median, which stands where there is a gap.
    edges : array (k + 1,)
        Increasing.
    unit : float
    """

    fill: float
    edges: Array
    unit: float

    @classmethod
    def fit(cls, values: Array, weights: Array | None, most: int) -> Self:
        """At most ``most`` pieces for ``values`` (n,) without gaps, not all equal.

        A weight is so many rows.

        **Cost**: a sort.
        """
        edges = _edges(values, weights, most)
        pieces = cls(weighted_median(values, weights), edges, 1.0)
        rows = pieces(values)
        means = np.average(rows, axis=0, weights=weights)
        variance = np.average((rows - means) ** 2, axis=0, weights=weights).sum()
        return cls(pieces.fill, edges, float(1.0 / np.sqrt(variance)))

    def __call__(self, values: Array) -> Array:
        """The pieces (n, k); a gap has those of the median."""
        known = np.where(np.isnan(values), self.fill, values)[:, None]
        low, high = self.edges[:-1], self.edges[1:]
        return self.unit * ((np.clip(known, low, high) - low) / (high - low))

    def numbers(self, pieces: Array) -> Array:
        """Numbers (n,) that have these pieces (n, k), as near as there are any."""
        return self.edges[0] + np.clip(pieces / self.unit, 0.0, 1.0) @ np.diff(self.edges)

    def names(self) -> list[str]:
        """The intervals, as text: with as many digits as tell their edges apart."""
        for digits in range(_DIGITS, _MOST_DIGITS + 1):
            texts = [f"{edge:.{digits}g}" for edge in self.edges]
            if len(set(texts)) == len(texts):
                break
        return [f"{low} to {high}" for low, high in pairwise(texts)]

    def state(self) -> dict[str, Any]:
        """What a file has of it."""
        return {"fill": self.fill, "edges": self.edges, "unit": self.unit}

    @classmethod
    def restore(cls, found: Fields) -> Self:
        """From a file, checked."""
        with found:
            fill, unit = found.number("fill"), found.number("unit", positive=True)
            edges = found.array("edges", (None,), (np.float64,))
        if not 2 <= edges.size <= MOST_PIECES + 1 or (np.diff(edges) <= 0).any():
            refuse(found.where, "two edges or more that increase are expected")
        return cls(fill, edges, unit)


def _edges(values: Array, weights: Array | None, most: int) -> Array:
    """Up to ``most`` + 1 of the values, ascending, the smallest and the largest among them."""
    distinct, places = np.unique(values, return_inverse=True)
    counts = np.bincount(places, weights, distinct.size)
    if distinct.size > most + 1:
        counts = np.minimum(counts, counts.sum() / most)
        middles = np.cumsum(counts) - counts / 2
        wanted = np.linspace(middles[0], middles[-1], most + 1)[1:-1]
        inner = np.searchsorted(middles, wanted)
        distinct = distinct[np.unique([0, *inner, distinct.size - 1])]
    return distinct
