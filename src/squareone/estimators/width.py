"""The kernel width, chosen together with λ: on few rows first, on all rows last.

The best width and λ of a random subset are close to those of all rows, and drift slowly as rows
are added. So the search is coarse on a few hundred rows, fine on a thousand, where an
eigendecomposition gives every λ at once, and only has to look around on more rows, with a
factorisation in float32 for each look.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..arrays import Array, calm_blas
from ..errors import SingularSystemError
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
from ..solvers import CholeskyFactor, SpectralFactor
from ..solvers.plan import WIDTH_MOST_BEYOND, WIDTH_QUARTER_BEYOND, WIDTH_ROWS, WIDTH_SHARE
from .problem import WORTH_A_WARNING, Problem, geometric_mean

# Rows of the coarse search and of the fine one.
FEW_ROWS, SOME_ROWS = 500, WIDTH_ROWS
# Rows beyond which most of them, and a quarter of them, come before all.
MOST_BEYOND, MANY_ROWS = WIDTH_MOST_BEYOND, WIDTH_QUARTER_BEYOND
# Widths of the first look, in octaves around the median distance.
_OCTAVES, _OCTAVE = range(-5, 4), float(np.log(2.0))
_FARTHEST = 12
# Errors this close are a tie; up to so many octaves this close are looked at again on more rows.
_TIE, _RIVAL, _RIVALS = 2e-3, 0.25, 4
# Evaluations at each size beyond.
_LOOKS = 5
# Where looks at most of the rows let expect less than this share from looks at all of them, the end
# is extrapolated.
_SETTLED = 0.005
# d log σ / d log n to be expected, and the range in which two sizes may teach otherwise: a width
# is known to some per cent only, so half of what they teach counts.
_DRIFT, _DRIFTS = -0.06, (-0.15, 0.03)
# Scores this close to the best are on a plateau.
_PLATEAU = 2e-3
# A mean square error of this share of the variance is none: more rows have nothing to teach.
_NO_ERROR = 1e-10
# Price of a decade of condition, as a share of the error.
_PER_DECADE = 1e-3
# How far a quadratic model is believed: log σ, log λ.
_REACH = np.array([0.2, 1.2])
# In float32 λ stays this many rounding errors of the kernel matrix above zero.
SINGLE_MARGIN = 16.0
_SINGLE = np.dtype(np.float32)
# A search that ends so near to that floor (in log λ) goes on in float64.
_AT_FLOOR = 0.7
# What the answer itself is computed in stays so many above.
_MARGIN = 128.0


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
class WidthFound:
    """The end of a search for the width.

    Attributes
    ----------
    log_alpha : float
        The best λ beside the chosen width.
    error : float
        The least error seen on all rows; infinite where none was looked at.
    steps : list of Step
    """

    log_alpha: float
    error: float
    steps: list[Step] = field(default_factory=list)


def choose_width(problem: Problem) -> WidthFound:
    """Choose the width that is ``"auto"``, and set the problem's kernel to it."""
    with problem.stage("search for the width", _looks(problem.X.shape[0])):
        return _Search(problem).run()


def _looks(n: int) -> int:
    """About how many looks the search will take."""
    return len(_OCTAVES) + 8 + _LOOKS * max(len(_parts(n)), int(n > SOME_ROWS))


class _Search:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.name = free_width(problem.kernel)
        self.order = problem.rng.permutation(problem.X.shape[0])
        self.term = term_of(problem.kernel, self.name)
        # nothing but the median sets the scale: a width is a multiple of it, or, with a width for
        # every feature, of these
        self.unit: float | Array = self.term.median_distance(problem.X, problem.rng)
        self.steps: list[Step] = []

    def note(self, scale: float, part: Problem, path: Path, i: int) -> None:
        """Remember a look: a width and the i-th λ of a path."""
        step = Step(
            sigma=scale * geometric_mean(self.unit),
            alpha=float(path.alphas[i]),
            score=float(path.scores[:, i].mean()),
            dof=float(path.dof[i]),
            rows=part.X.shape[0],
            bits=int(path.bits[i]),
        )
        self.steps.append(step)
        text = f"sigma = {step.sigma:.3g}, alpha = {step.alpha:.3g}, {step.rows:,} rows"
        self.problem.progress.step(text, step.score)

    def run(self) -> WidthFound:
        n = self.problem.X.shape[0]
        if n < 2:  # no other row to be near
            self.problem.kernel = with_width(self.problem.kernel, self.name, self.unit)
            return WidthFound(-np.inf, np.inf)
        few = _Level(self, min(n, FEW_ROWS))
        octaves = _good_octaves(few)
        level = few if n <= FEW_ROWS else _Level(self, min(n, SOME_ROWS))
        start = min(octaves, key=lambda octave: level.error(octave * _OCTAVE))
        log_scale = self._refine(level, start * _OCTAVE)
        if getattr(self.term, "ard", False):
            level, log_scale = self._each_feature(level, log_scale)
        log_alpha = level.log_alpha_near(log_scale)
        error = np.inf
        if n > SOME_ROWS and self.problem.objective.scorer is None and level.has_errors():
            log_scale, log_alpha, error = self._look_around(level, log_scale, log_alpha)
        self.problem.kernel = level.family.at(float(np.exp(log_scale)))
        return WidthFound(log_alpha, error, self.steps)

    def _each_feature(self, level: _Level, log_scale: float) -> tuple[_Level, float]:
        """A width for every feature, and then their common scale once more."""
        part = level.part
        start = float(np.exp(level.log_alpha_near(log_scale)))
        found = feature_widths(
            part.X.astype(np.float64, copy=False),
            part.Y.astype(np.float64, copy=False),
            part.weights,
            part.intercept,
            float(np.exp(log_scale)) * self.unit,
            start,
        )
        self.unit = found.widths
        level = _Level(self, part.X.shape[0])
        return level, self._refine(level, 0.0)

    def _refine(self, level: _Level, log_scale: float) -> float:
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
            worth=1e-4 if last else 2e-3,
        )

    def _look_around(
        self, level: _Level, log_scale: float, log_alpha: float
    ) -> tuple[float, float, float]:
        n = self.problem.X.shape[0]
        curvature = level.curvature(log_scale, log_alpha)
        point, drift, rows = np.array([log_scale, log_alpha]), _DRIFT, level.part.X.shape[0]
        for size in (*_parts(n), n):
            before = float(point[0])
            point[0] += drift * np.log(size / rows)
            part = self.problem
            if size < n:
                part = part.subset(np.sort(self.order[:size]))
            looks = _Looks(self, part, level.family)
            point = looks.descend(point, curvature, _LOOKS)
            if size < n:
                way, rest = np.log(size / rows), np.log(n / size)
                learned = (float(point[0]) - before) / way
                drift, rows = 0.5 * (_DRIFT + float(np.clip(learned, *_DRIFTS))), size
                # what looks gain grows with the square of the way from where they start
                if size == _parts(n)[-1] and looks.gain() * (rest / way) ** 2 < _SETTLED:
                    point[0] += drift * rest
                    return float(point[0]), float(point[1]), np.inf
        return float(point[0]), float(point[1]), looks.least


def _parts(n: int) -> list[int]:
    """How many rows are looked at before all of them: a quarter and most, where that is many."""
    return [n // 4] * (n > MANY_ROWS) + [int(WIDTH_SHARE * n)] * (n > MOST_BEYOND)


def _good_octaves(level: _Level) -> list[int]:
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
    rivals = [i for i in by_distance if errors[i] <= least + _RIVAL * abs(least) and i != best]
    return [best, *rivals[:_RIVALS]]


class _Level:
    """Some of the rows, few enough for an eigendecomposition per width, which gives every λ."""

    def __init__(self, search: _Search, size: int) -> None:
        problem = search.problem
        n = problem.X.shape[0]
        self.search = search
        self.part = problem if size == n else problem.subset(np.sort(search.order[:size]))
        self.family = WidthFamily(problem.kernel, search.name, self.part.X, search.unit)
        check_range(self.family.at(1.0), self.part.X)
        # where more rows follow and λ is free, single precision shows the way; a kernel of the
        # distance alone is at most one, and cannot leave its range
        self.rough = (
            size < n
            and problem.X.dtype == np.float64
            and isinstance(problem.alpha, str)
            and isinstance(problem.kernel, Stationary)
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
            self.search.note(scale, part, path, int(path.best()[0]))
        return path

    def _is_cut_short(self, path: Path) -> bool:
        """Whether the error of a width that may win still falls where single precision ends."""
        scores = path.scores.mean(axis=0)
        best = float(scores.max())
        if -best > (1.0 + _RIVAL) * min(self._errors.values(), default=np.inf):
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


class _Looks:
    """One factorisation for each width and λ, on all rows or a part of them."""

    def __init__(self, search: _Search, part: Problem, family: WidthFamily) -> None:
        self.search = search
        self.part = part
        self.family = family
        self.objective = Objective(
            part.objective.criterion, part.objective.targets, part.objective.unit, None, False
        )
        self.alpha = None if isinstance(part.alpha, str) else np.atleast_1d(part.alpha)
        self.least = self.first = np.inf
        self._last: CholeskyFactor | None = None
        self._at = np.nan

    def gain(self) -> float:
        """The share by which the least error is below the first."""
        return 1.0 - self.least / self.first if self.first < np.inf else np.inf

    def descend(self, point: Array, curvature: Array, most: int) -> Array:
        """The best width and λ near ``point`` (2,): in float32 as far as that is safe."""
        factor = self._factor(float(point[0]), _SINGLE)
        largest, rounded = factor.largest, factor.rounded
        if not largest > 0:  # the kernel sees no difference between the rows
            return point
        if self.part.X.dtype == np.float64:
            floor = float(np.log(SINGLE_MARGIN * float(np.finfo(_SINGLE).eps) * rounded))
            if self.alpha is not None and self.alpha.size == 1:
                safe = _log(float(self.alpha[0])) > floor
            else:
                safe = float(point[1]) > floor
            if safe:
                point = self._descend(point, curvature, most, _SINGLE, floor, largest)
                if point[1] > floor + _AT_FLOOR:
                    return point
                self.least = self.first = np.inf  # looks in float32 at its floor promise nothing
        dtype = self.part.X.dtype
        floor = float(np.log(_MARGIN * float(np.finfo(dtype).eps) * rounded))
        return self._descend(point, curvature, most, dtype, floor, largest)

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
        only = None if self.alpha is None or self.alpha.size > 1 else float(self.alpha[0])
        free = 2 if only is None else 1  # with one λ given the width alone

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
        self.search.note(float(np.exp(log_scale)), self.part, path, 0)
        error = -float(path.scores[0, 0])
        self.first = error if self.first == np.inf else self.first
        self.least = min(self.least, error)
        return error * _price(path.alphas[0], factor.rounded)
