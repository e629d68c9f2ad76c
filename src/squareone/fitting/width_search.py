"""The kernel width, chosen together with λ: on few rows first, then on more.

The best width and λ of a random subset are close to those of all rows, and drift slowly as rows
are added. So the search is coarse on a few hundred rows, fine on twice as many, where an
eigendecomposition gives every λ at once, and only has to look around on more rows, with a
factorisation in float32 for each look. From a third of the rows it is extrapolated to all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import SingularSystemError
from ..kernels import Kernel
from ..kernels.base import check_range
from ..kernels.stationary import Stationary
from ..kernels.widths import WidthFamily, free_width, term_of, with_width
from ..selection import (
    Objective,
    Path,
    bracketed_minimum,
    choose_automatically,
    descend,
    evaluate,
    feature_widths,
    fit_curvature,
    lowest_alpha,
)
from ..selection.alpha_grid import SINGLE_MARGIN
from ..selection.quadratic_descent import WORTH
from ..selection.relevance import Relevance, restrained
from ..solvers import CholeskyFactor, SpectralFactor
from ..solvers.cost_counts import WIDTH_ROWS, WIDTH_STEPS, width_sizes
from ..threads import shared_cores
from .problem import Problem, geometric_mean
from .progress import Progress
from .status_warnings import WORTH_A_WARNING

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
# An error that falls by this share within a decade of the floor of float32 may go on below it.
_FALLING = 1e-2


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
            # BLAS' own threads gain a fifth at most on so few rows, and those that wait for more
            # work take the cores from the tiles and the path that follow
            with shared_cores():
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
        return bool(best - above > _FALLING * abs(best))

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
        return np.isfinite(least) and least > _NO_ERROR * spread * self.part.objective.unit**2

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
    """One factorisation for each width and λ, on all rows or a part of them.

    ``shared`` says that the family is of the same rows, and has their distances; ``worth`` is the
    share of the error that a look has to promise.
    """

    def __init__(
        self,
        part: Problem,
        family: WidthFamily,
        journal: Journal,
        *,
        shared: bool = False,
        worth: float = WORTH,
    ) -> None:
        self.part = part
        self.shared = shared
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
        self.worth = worth
        self.least = self.first = np.inf
        self._last: CholeskyFactor | None = None
        self._at = np.nan

    def gain(self) -> float:
        """The share by which the least error is below the first."""
        return 1.0 - self.least / self.first if self.first < np.inf else np.inf

    def descend(self, point: Array, curvature: Array, most: int) -> tuple[Array, Array]:
        """The best width and λ near ``point`` (2,): in float32 as far as that is safe.

        The second array (2, 2) is the curvature of the log error there.
        """
        factor = self._factor(float(point[0]), _SINGLE)
        if not factor.largest > 0:  # nor may float64, but that is to be seen
            factor = self._factor(float(point[0]), self.part.X.dtype)
        largest = factor.largest
        if not largest > 0:  # the kernel sees no difference between the rows
            return point, curvature
        floor = float(np.log(lowest_alpha(factor, self.part.X.dtype)))
        if self.part.X.dtype == np.float64:
            single = float(np.log(lowest_alpha(factor, _SINGLE, SINGLE_MARGIN)))
            if (float(point[1]) if self.only is None else _log(self.only)) > single:
                point, found = self._descend(point, curvature, most, _SINGLE, single, largest)
                if point[1] > single + _AT_FLOOR:
                    return point, found
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
    ) -> tuple[Array, Array]:
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

        end, learned = descend(
            error,
            point[:free],
            curvature[:free, :free],
            low[:free],
            high[:free],
            most=most,
            reach=_REACH[:free],
            worth=self.worth,
        )
        found = curvature.copy()
        found[:free, :free] = learned
        return np.append(end, point[free:]), found

    def _factor(self, log_scale: float, dtype: np.dtype) -> CholeskyFactor:
        factor = self._last
        if factor is None or self._at != log_scale or factor.targets.dtype != dtype:
            factor = self._last = None  # free the old matrix before the new one is made
            scale = float(np.exp(log_scale))
            part = replace(self.part, kernel=self.family.at(scale))
            K = self.family.matrix(scale, dtype) if self.shared else None
            factor = CholeskyFactor(part.system(dtype, K), several=True)
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


# Rows of the coarse search and of the fine one.
FEW_ROWS, SOME_ROWS = 400, WIDTH_ROWS
# Widths of the first look, in octaves around the median distance.
_OCTAVES, _OCTAVE = range(-5, 4), float(np.log(2.0))
_FARTHEST = 12
# Errors this close are a tie; up to so many rivals are looked at again on more rows.
_TIE, _RIVALS = 2e-3, 4
# Widths of features that a descent begins with, beside the best common one: shares of the distance
# that their spreads make.
_SPREADS = (1.0, 0.5)
# Where looks at a third of the rows let expect more than this share of the error from looks at all
# of them, looks at this share of the rows follow, before the end is extrapolated.
_SETTLED, _MOST = 0.04, 0.6
# The share of the error that a look at some of the rows has to promise: their error is itself known
# to some per cent only, and the end is extrapolated from there.
_WORTH_ON_SOME = 1e-3
# d log σ / d log n to be expected, and the range in which two sizes may teach otherwise: a width
# is known to some per cent only, so what they teach counts by this share.
DRIFT, _DRIFTS, _LEARNED = -0.08, (-0.25, 0.05), 0.4


@dataclass(frozen=True)
class WidthFound:
    """The end of a search for the width.

    Attributes
    ----------
    kernel : Kernel
        With this width.
    log_alpha : float
        The best λ beside the chosen width.
    error : float
        The least error seen on all rows; infinite where none was looked at.
    curvature : float or None
        Of the log error over log λ, where it was extrapolated to all rows.
    steps : list of Step
    log_scale : float
        The logarithm of the width over the median distance.
    """

    kernel: Kernel
    log_alpha: float
    error: float
    curvature: float | None = None
    steps: list[Step] = field(default_factory=list)
    log_scale: float = 0.0

    @classmethod
    def beside(cls, kernel: Kernel, alpha: float) -> WidthFound:
        """A kernel whose widths are known, with λ of a fit to other rows."""
        curvature = float(fit_curvature(np.empty((0, 2)), np.empty(0))[1, 1])
        return cls(kernel, _log(alpha), np.inf, curvature)


def choose_width(problem: Problem) -> WidthFound:
    """Choose the width that is ``"auto"``."""
    with problem.stage("search for the width", _looks(problem.X.shape[0])):
        return _Search(problem).run()


def choose_width_near(problem: Problem, log_scale: float, alpha: float) -> WidthFound:
    """The same from where a similar problem has its best width and λ, by looks at all rows.

    ``log_scale`` is the logarithm of the width over the median distance. Distances are computed
    once for all looks.
    """
    with problem.stage("search for the width", WIDTH_STEPS):
        return _Search(problem).near(log_scale, _log(alpha))


def _looks(n: int) -> int:
    """About how many looks the search will take."""
    return len(_OCTAVES) + 8 + WIDTH_STEPS * len(width_sizes(n))


class _End(NamedTuple):
    """Where a search is: log σ in its unit, log λ, the least error and the curvature, if known."""

    log_scale: float
    log_alpha: float
    error: float = np.inf
    curvature: float | None = None


class _Search:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.name = free_width(problem.kernel)
        self.order = problem.rng.permutation(problem.X.shape[0])
        self.term = term_of(problem.kernel, self.name)
        # nothing but the median sets the scale: a width is a multiple of it, or, with a width for
        # every feature, of these
        self.unit: float | Array = self.term.median_distance(problem.X, problem.rng)
        self.journal = Journal(problem.progress)

    def level(self, size: int) -> Level:
        """The first ``size`` rows of the random order, at widths in the present unit."""
        part = self.part(size)
        family = WidthFamily(part.kernel, self.name, part.X, self.unit)
        return Level(part, family, self.journal, last=part is self.problem)

    def part(self, size: int) -> Problem:
        """The problem of so many rows."""
        if size == self.problem.X.shape[0]:
            return self.problem
        return self.problem.subset(np.sort(self.order[:size]))

    def run(self) -> WidthFound:
        n = self.problem.X.shape[0]
        if n < 2:  # no other row to be near
            kernel = with_width(self.problem.kernel, self.name, self.unit)
            return WidthFound(kernel, -np.inf, np.inf)
        few = self.level(min(n, FEW_ROWS))
        octaves = _good_octaves(few)
        level = few if n <= FEW_ROWS else self.level(min(n, SOME_ROWS))
        start = min(octaves, key=lambda octave: level.error(octave * _OCTAVE))
        log_scale = self._refine(level, start * _OCTAVE)
        if getattr(self.term, "ard", False):
            level, log_scale = self._each_feature(level, log_scale)
        end = _End(log_scale, level.log_alpha_near(log_scale))
        followed = width_sizes(n) and self.problem.objective.scorer is None
        if followed and level.has_errors():
            end = self._look_around(level, end)
        kernel = level.family.at(float(np.exp(end.log_scale)))
        steps, place = self.journal.steps, end.log_scale
        return WidthFound(kernel, end.log_alpha, end.error, end.curvature, steps, place)

    def near(self, log_scale: float, log_alpha: float) -> WidthFound:
        """By looks at all rows from a good beginning."""
        part = self.problem
        family = WidthFamily(part.kernel, self.name, part.X, self.unit)
        looks = Looks(part, family, self.journal, shared=True)
        start = np.array([log_scale, log_alpha])
        point, _ = looks.descend(start, fit_curvature(start[:0], start[:0]), WIDTH_STEPS)
        place, alpha = (float(value) for value in point)
        kernel = family.at(float(np.exp(place)))
        return WidthFound(kernel, alpha, looks.least, None, self.journal.steps, place)

    def _each_feature(self, level: Level, log_scale: float) -> tuple[Level, float]:
        """A width for every feature, and then their common scale once more.

        The error has several valleys: descents on few rows say which start to begin at.
        """
        size = level.part.X.shape[0]
        starts = [(float(np.exp(log_scale)) * self.unit, level.log_alpha_near(log_scale))]
        spreads = _spreads(level.part.X)
        for share in _SPREADS:
            self.unit = share * spreads
            few = self.level(min(size, FEW_ROWS))
            if few.error(0.0) < np.inf:
                starts.append((self.unit, few.log_alpha_near(0.0)))
        few_rows = level.part if size <= FEW_ROWS else self.part(FEW_ROWS)
        descents = [_descent(few_rows, *start) for start in starts]
        rows = few_rows.X.shape[0]
        best = int(np.argmin([restrained(found, spreads, rows) for found in descents]))
        found = descents[best] if size <= FEW_ROWS else _descent(level.part, *starts[best])
        self.unit = found.widths
        level = self.level(size)
        return level, self._refine(level, 0.0)

    def _refine(self, level: Level, log_scale: float) -> float:
        if not level.part.objective.smooth and level.part.objective.scorer is not None:
            # a scorer jumps: no parabola, the best of half octaves, of equal ones the widest
            near = [log_scale + i * 0.5 * _OCTAVE for i in range(-2, 3)]
            return max(near, key=lambda x: (-level.error(x), x))
        bound = _FARTHEST * _OCTAVE
        # in log σ²: the steps of a search for λ, factors of four, are octaves then
        last = level.part.X.shape[0] == self.problem.X.shape[0]
        return 0.5 * bracketed_minimum(
            lambda x: level.error(0.5 * x),
            2.0 * log_scale,
            -2.0 * bound,
            2.0 * bound,
            worth=1e-4 if last else 5e-3,
        )

    def _look_around(self, level: Level, start: _End) -> _End:
        """Follow the best width and λ from a level to all rows."""
        n = self.problem.X.shape[0]
        curvature = level.curvature(start.log_scale, start.log_alpha)
        point = np.array([start.log_scale, start.log_alpha])
        drift, rows = DRIFT, level.part.X.shape[0]
        sizes = width_sizes(n)
        while sizes:
            size, before = sizes.pop(0), float(point[0])
            way, rest = np.log(size / rows), np.log(n / size)
            point[0] += drift * way
            worth = WORTH if size == n else _WORTH_ON_SOME
            looks = Looks(self.part(size), level.family, self.journal, worth=worth)
            point, bend = looks.descend(point, curvature, WIDTH_STEPS)
            learned = (float(point[0]) - before) / way
            drift = DRIFT + _LEARNED * (float(np.clip(learned, *_DRIFTS)) - DRIFT)
            rows = size
            # what looks gain grows with the square of the way from where they start
            unsettled = looks.gain() * (rest / way) ** 2 > _SETTLED
            if not sizes and unsettled and size < int(_MOST * n):
                sizes.append(int(_MOST * n))
        log_scale, log_alpha = (float(value) for value in point)
        if rows == n:
            return _End(log_scale, log_alpha, looks.least)
        bend_of_alpha = float(max(curvature[1, 1], bend[1, 1]))
        return _End(log_scale + float(drift * rest), log_alpha, curvature=bend_of_alpha)


def _descent(part: Problem, widths: float | Array, log_alpha: float) -> Relevance:
    """Downhill from common widths, or from those of each feature, and a λ."""
    return feature_widths(
        part.X.astype(np.float64, copy=False),
        part.Y.astype(np.float64, copy=False),
        part.weights,
        part.intercept,
        widths,
        float(np.exp(log_alpha)),
    )


def _spreads(X: Array) -> Array:
    """Widths (d,) of about the distance between rows (n, d), each in the units of its feature."""
    spreads = X.std(axis=0, dtype=np.float64)
    varying = spreads[spreads > 0]
    if varying.size == 0:
        return np.ones(X.shape[1])
    spreads[spreads == 0] = np.exp(np.mean(np.log(varying)))
    return np.sqrt(2.0 * varying.size) * spreads


def _good_octaves(level: Level) -> list[int]:
    """Octaves around the median distance worth a second look, the best first.

    Ever wider kernels end in a linear function, ever narrower ones in none; of widths that predict
    the same, those near the median come first.
    """
    errors = {octave: level.error(octave * _OCTAVE) for octave in _OCTAVES}
    while True:
        least = min(errors.values())
        by_distance = sorted(errors, key=abs)
        best = next(i for i in by_distance if errors[i] <= least + _TIE * abs(least))
        beyond = best + 1 if best > 0 else best - 1
        if beyond in errors or abs(beyond) > _FARTHEST:
            break
        errors[beyond] = level.error(beyond * _OCTAVE)
    rivals = [i for i in by_distance if errors[i] <= least + RIVAL * abs(least) and i != best]
    return [best, *rivals[:_RIVALS]]
