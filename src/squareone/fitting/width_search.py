"""What a search for the kernel width sees: levels of few rows, and single looks at many."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..arrays import Array, calm_blas
from ..errors import SingularSystemError
from ..kernels.base import check_range
from ..kernels.stationary import Stationary
from ..kernels.widths import WidthFamily
from ..selection import (
    Objective,
    Path,
    choose_automatically,
    descend,
    evaluate,
    fit_curvature,
    lowest_alpha,
)
from ..selection.alpha_grid import SINGLE_MARGIN
from ..solvers import CholeskyFactor, SpectralFactor
from .problem import WORTH_A_WARNING, Problem, geometric_mean
from .progress import Progress

#: Errors up to this share above the best one may still win on more rows.
RIVAL = 0.25
# Scores this close to the best are on a plateau.
_PLATEAU = 2e-3
# A mean square error of this share of the variance is none: more rows have nothing to teach.
_NO_ERROR = 1e-10
# Price of a decade of condition, as a share of the error.
_PER_DECADE = 1e-3
# How far a quadratic model is believed: log σ, log λ.
_REACH = np.array([0.2, 1.2])
_SINGLE = np.dtype(np.float32)
# A search that ends so near to the floor of float32 (in log λ) goes on in float64.
_AT_FLOOR = 0.7


@dataclass(frozen=True)
class Step:
    """One look: a width and a λ, on how many rows, and the score."""

    sigma: float
    alpha: float
    score: float
    dof: float
    rows: int
    bits: int


@dataclass
class Journal:
    """The looks so far, each shown to who waits."""

    progress: Progress
    steps: list[Step] = field(default_factory=list)

    def note(self, family: WidthFamily, scale: float, path: Path, i: int, rows: int) -> None:
        """Remember a width and the i-th λ of a path."""
        step = Step(
            sigma=scale * geometric_mean(family.shape),
            alpha=float(path.alphas[i]),
            score=float(path.reported[:, i].mean()),
            dof=float(path.dof[i]),
            rows=rows,
            bits=int(path.bits[i]),
        )
        self.steps.append(step)
        text = f"sigma = {step.sigma:.3g}, alpha = {step.alpha:.3g}, {step.rows:,} rows"
        self.progress.step(text, step.score)


class Level:
    """Few enough rows for an eigendecomposition per width, which gives every λ.

    ``last`` says that no more rows follow.
    """

    def __init__(self, part: Problem, family: WidthFamily, journal: Journal, *, last: bool) -> None:
        self.part = part
        self.family = family
        self.journal = journal
        check_range(family.at(1.0), part.X)
        # where more rows follow and λ is free, single precision shows the way; a kernel of the
        # distance alone is at most one, and cannot leave its range
        self.rough = (
            not last
            and part.X.dtype == np.float64
            and isinstance(part.alpha, str)
            and isinstance(part.kernel, Stationary)
        )
        self.paths: dict[float, Path] = {}
        self._errors: dict[float, float] = {}

    def error(self, log_scale: float) -> float:
        """Minus the score of the best λ at this width; infinite where it cannot be computed."""
        log_scale = round(log_scale, 9)  # the same width, however it was computed
        if log_scale not in self._errors:
            with calm_blas(self.part.X.shape[0]):
                path = self._path(log_scale)
            self._errors[log_scale] = np.inf
            if path is not None:
                best = path.best()
                error = -float(path.scores[np.arange(best.size), best].mean())
                if self.part.objective.scorer is None:
                    error *= _price(path.alphas[best].min(), self.rounded)
                self.paths[log_scale] = path
                self._errors[log_scale] = error
        return self._errors[log_scale]

    def _path(self, log_scale: float) -> Path | None:
        part, scale = self.part, float(np.exp(log_scale))
        path = self._path_of(scale, _SINGLE) if self.rough else None
        if path is None or self._is_cut_short(path):
            path = self._path_of(scale, part.X.dtype)
        if path is not None:
            self.journal.note(self.family, scale, path, int(path.best()[0]), part.X.shape[0])
        return path

    def _is_cut_short(self, path: Path) -> bool:
        """Whether the error of a width that may win still falls where single precision ends."""
        scores = path.scores.mean(axis=0)
        best = float(scores.max())
        if -best > (1.0 + RIVAL) * min(self._errors.values(), default=np.inf):
            return False
        above = scores[path.alphas >= 10.0 * self.floor].max(initial=-np.inf)
        return bool(best - above > _PLATEAU * abs(best))

    def _path_of(self, scale: float, dtype: np.dtype) -> Path | None:
        part = self.part
        factor = SpectralFactor(part.system(dtype, self.family.matrix(scale, dtype)))
        self.rounded, self.floor = factor.rounded, lowest_alpha(factor)
        if isinstance(part.alpha, str):
            path = choose_automatically(part.objective, factor)
        else:
            alphas = np.atleast_1d(part.alpha)
            if not alphas.min() > 0 and factor.error_estimate(0.0) > WORTH_A_WARNING:
                return None  # λ = 0 and a singular matrix
            path = evaluate(part.objective, factor, alphas)
        return path

    def has_errors(self) -> bool:
        """Whether anything was seen, and there is something left to be explained."""
        least = min(self._errors.values())
        spread = float(np.mean(np.var(self.part.Y, axis=0, dtype=np.float64)))
        return np.isfinite(least) and least > _NO_ERROR * spread * self.part.unit**2

    def log_alpha_near(self, log_scale: float) -> float:
        """The best λ at the nearest width that was looked at; of a plateau its upper end."""
        if not self.paths:
            return -np.inf
        path = self.paths[min(self.paths, key=lambda x: abs(x - log_scale))]
        scores = path.scores.mean(axis=0)
        good = scores >= scores.max() - _PLATEAU * abs(scores.max())
        return _log(path.alphas[good].max())

    def curvature(self, log_scale: float, log_alpha: float) -> Array:
        """Of the log error around its minimum, over log σ and log λ, from all the paths."""
        points, values = [], []
        for x, path in self.paths.items():
            if abs(x - log_scale) <= 0.75:
                with np.errstate(divide="ignore"):
                    near = np.abs(np.log(path.alphas) - log_alpha) <= 2.5
                    points += [(x, _log(alpha)) for alpha in path.alphas[near]]
                values += list(-path.scores.mean(axis=0)[near])
        z, errors = np.array(points).reshape(-1, 2), np.array(values)
        if not (errors > 0).any():
            return fit_curvature(z[:0], errors[:0])
        good = (errors > 0) & (errors <= 1.15 * errors.min())
        return fit_curvature(z[good], errors[good])


def _price(alpha: float, rounded: float) -> float:
    """What an ill-conditioned system costs: a tenth of a per cent for each decade of its condition.

    For a smooth function ever wider kernels with ever smaller λ predict the same, until rounding
    puts an end to it. Of those the narrowest is wanted.
    """
    if not alpha > 0 or not rounded > 0:
        return 1.0
    return 1.0 + _PER_DECADE * float(np.log10(1.0 + rounded / alpha))


def _log(alpha: float) -> float:
    return float(np.log(max(alpha, np.finfo(np.float64).tiny)))


class Looks:
    """One factorisation for each width and λ, on all rows or a part of them."""

    def __init__(self, part: Problem, family: WidthFamily, journal: Journal) -> None:
        self.part = part
        self.family = family
        self.journal = journal
        self.objective = Objective(
            part.objective.criterion, part.objective.targets, part.objective.unit, None, False
        )
        self.alpha = None if isinstance(part.alpha, str) else np.atleast_1d(part.alpha)
        # with one λ given the width alone is searched
        self.only: float | None = None
        if self.alpha is not None and self.alpha.size == 1:
            self.only = float(self.alpha[0])
        self.least = self.first = np.inf
        self._last: CholeskyFactor | None = None
        self._at = np.nan

    def gain(self) -> float:
        """The share by which the least error is below the first."""
        return 1.0 - self.least / self.first if self.first < np.inf else np.inf

    def descend(self, point: Array, curvature: Array, most: int) -> Array:
        """The best width and λ near ``point`` (2,): in float32 as far as that is safe."""
        factor = self._factor(float(point[0]), _SINGLE)
        largest = factor.largest
        if not largest > 0:  # the kernel sees no difference between the rows
            return point
        floor = float(np.log(lowest_alpha(factor, self.part.X.dtype)))
        if self.part.X.dtype == np.float64:
            single = float(np.log(lowest_alpha(factor, _SINGLE, SINGLE_MARGIN)))
            if (float(point[1]) if self.only is None else _log(self.only)) > single:
                point = self._descend(point, curvature, most, _SINGLE, single, largest)
                if point[1] > single + _AT_FLOOR:
                    return point
                self.least = self.first = np.inf  # looks in float32 at its floor promise nothing
        return self._descend(point, curvature, most, self.part.X.dtype, floor, largest)

    def _descend(
        self,
        point: Array,
        curvature: Array,
        most: int,
        dtype: np.dtype,
        floor: float,
        largest: float,
    ) -> Array:
        low = np.array([-np.inf, floor])
        high = np.array([np.inf, np.log(1e6 * largest)])
        if self.alpha is not None:
            low[1] = max(low[1], _log(float(self.alpha.min())))
            high[1] = max(low[1], _log(float(self.alpha.max())))
        point = np.clip(point, low, high)
        only = self.only
        free = 2 if only is None else 1

        def error(z: Array) -> float:
            alpha = float(np.exp(z[1])) if only is None else only
            return self._error(float(z[0]), alpha, dtype)

        end = descend(
            error,
            point[:free],
            curvature[:free, :free],
            low[:free],
            high[:free],
            most=most,
            reach=_REACH[:free],
        )
        return np.append(end, point[free:])

    def _factor(self, log_scale: float, dtype: np.dtype) -> CholeskyFactor:
        factor = self._last
        if factor is None or self._at != log_scale or factor.targets.dtype != dtype:
            factor = self._last = None  # free the old matrix before the new one is made
            kernel = self.family.at(float(np.exp(log_scale)))
            factor = CholeskyFactor(replace(self.part, kernel=kernel).system(dtype), several=True)
            self._at, self._last = log_scale, factor
        return factor

    def _error(self, log_scale: float, alpha: float, dtype: np.dtype) -> float:
        try:
            factor = self._factor(log_scale, dtype)
            path = evaluate(self.objective, factor, np.array([alpha]))
        except SingularSystemError:
            return np.inf
        self.journal.note(self.family, float(np.exp(log_scale)), path, 0, self.part.X.shape[0])
        error = -float(path.scores[0, 0])
        self.first = error if self.first == np.inf else self.first
        self.least = min(self.least, error)
        return error * _price(path.alphas[0], factor.rounded)
