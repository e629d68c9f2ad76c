"""The scaling of numbers: to mean 0 and standard deviation 1, or to normal scores of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from ..arrays import Array
from ..persistence import Fields, refuse

__all__ = ["NumberScaling", "weighted_median"]

#: Scores between the smallest and the largest at which an empirical distribution is kept.
KNOTS = 1000
# Values closer than this are one knot: a slope between them would overflow.
_CLOSEST = 1e-300


@dataclass(frozen=True)
class NumberScaling:
    r"""A map of numbers, fitted to those of the training rows.

    ``"standard"`` is :math:`(x - \bar x) / s`, with the standard deviation over n. ``"quantile"``
    is :math:`\Phi^{-1}(\tilde F(x))` with the mid-distribution function

    .. math:: \tilde F(x) = \tfrac1{2n} (\#\{x_i < x\} + \#\{x_i \le x\}),

    so that ties have the middle of their ranks, whatever increasing map the column went through. It
    is linear between at most 1,000 training values, equally far in their scores: where there are
    more, a map between them changes a score by less than the distance of two knots, a hundredth.
    Beyond the smallest and the largest training value it is constant.

    Attributes
    ----------
    fill : float
        The median, which stands where there is a gap.
    mean, sd : float
    knots, scores : array (k,)
        Increasing; empty for ``"standard"``.
    """

    fill: float
    mean: float
    sd: float
    knots: Array
    scores: Array

    @classmethod
    def fit(cls, values: Array, weights: Array | None, scaling: str) -> Self:
        """The map for ``values`` (n,) without gaps, not all equal; a weight is so many rows.

        **Cost**: a sort for ``"quantile"``, and for weights; a few passes otherwise.
        """
        fill = weighted_median(values, weights)
        none = np.empty(0)
        if scaling == "quantile":
            return cls(fill, 0.0, 1.0, *_knots(values, weights))
        # of what is left without the first value: the mean of large numbers is rounded
        mean = float(values[0] + np.average(values - values[0], weights=weights))
        away = values - mean
        peak = float(np.abs(away).max())  # squares might leave the range
        away /= peak
        away -= np.average(away, weights=weights)  # the mean of large numbers is rounded
        sd = peak * float(np.sqrt(np.average(away**2, weights=weights)))
        return cls(fill, mean, sd, none, none)

    def __call__(self, values: Array) -> Array:
        """Scaled numbers (n,); a gap has what the median has."""
        gaps = np.isnan(values)
        if gaps.any():
            values = np.where(gaps, self.fill, values)
        if self.knots.size:
            return np.interp(values, self.knots, self.scores)
        return (values - self.mean) / self.sd

    def state(self) -> dict[str, Any]:
        """What a file has of it."""
        state = {"fill": self.fill, "mean": self.mean, "sd": self.sd}
        return state | {"knots": self.knots, "scores": self.scores}

    @classmethod
    def restore(cls, found: Fields) -> Self:
        """From a file, checked."""
        with found:
            fill, mean = found.number("fill"), found.number("mean")
            sd = found.number("sd", positive=True)
            knots = found.array("knots", (None,), (np.float64,))
            scores = found.array("scores", knots.shape, (np.float64,))
            if (np.diff(knots) <= 0).any() or (np.diff(scores) <= 0).any():
                refuse(found.where, "knots and scores do not increase")
        return cls(fill, mean, sd, knots, scores)


def weighted_median(values: Array, weights: Array | None) -> float:
    """Half of the weight of ``values`` (n,) is at or below it, and half at or above it."""
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values)
    ends = np.cumsum(weights[order])
    low = np.searchsorted(ends, ends[-1] / 2, side="left")
    high = np.searchsorted(ends, ends[-1] / 2, side="right")
    return float((values[order[low]] + values[order[high]]) / 2)


def _knots(values: Array, weights: Array | None) -> tuple[Array, Array]:
    """Training values and their normal scores, at most 1,000 of them."""
    if weights is None:
        distinct, counts = np.unique(values, return_counts=True)
    else:
        distinct, places = np.unique(values, return_inverse=True)
        counts = np.bincount(places, weights, distinct.size)
    ends = np.cumsum(counts)
    scores = ndtri((ends - counts / 2) / ends[-1])
    if distinct.size > KNOTS:
        wanted = np.linspace(scores[0], scores[-1], KNOTS)
        chosen = np.unique(np.searchsorted(scores, wanted).clip(max=distinct.size - 1))
        distinct, scores = distinct[chosen], scores[chosen]
    apart = np.append(np.diff(distinct) > _CLOSEST, True)
    apart &= np.append(np.diff(scores) > 0, True)
    return distinct[apart], scores[apart]
