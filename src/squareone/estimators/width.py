"""The kernel width, chosen together with λ: on few rows first, on all rows last.

The best width and λ of a random subset are close to those of all rows, and drift slowly as rows
are added. So the search is coarse on a few hundred rows, fine on a thousand, where an
eigendecomposition gives every λ at once, and only has to look around on more rows, with a
factorisation in float32 for each look.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..arrays import Array
from ..fitting.problem import Problem
from ..fitting.width_search import RIVAL, Journal, Level, Looks, Step
from ..kernels.widths import WidthFamily, free_width, term_of, with_width
from ..selection import bracketed_minimum, feature_widths
from ..solvers.cost_counts import WIDTH_MOST_BEYOND, WIDTH_QUARTER_BEYOND, WIDTH_ROWS, WIDTH_SHARE

# Rows of the coarse search and of the fine one.
FEW_ROWS, SOME_ROWS = 500, WIDTH_ROWS
# Rows beyond which most of them, and a quarter of them, come before all.
MOST_BEYOND, MANY_ROWS = WIDTH_MOST_BEYOND, WIDTH_QUARTER_BEYOND
# Widths of the first look, in octaves around the median distance.
_OCTAVES, _OCTAVE = range(-5, 4), float(np.log(2.0))
_FARTHEST = 12
# Errors this close are a tie; up to so many rivals are looked at again on more rows.
_TIE, _RIVALS = 2e-3, 4
# Evaluations at each size beyond.
_LOOKS = 5
# Where looks at most of the rows let expect less than this share from looks at all of them, the end
# is extrapolated.
_SETTLED = 0.005
# d log σ / d log n to be expected, and the range in which two sizes may teach otherwise: a width
# is known to some per cent only, so half of what they teach counts.
_DRIFT, _DRIFTS = -0.06, (-0.15, 0.03)


@dataclass
class WidthFound:
    """The end of a search for the width.

    Attributes
    ----------
    log_alpha : float
        The best λ beside the chosen width.
    error : float
        The least error seen on all rows; infinite where none was looked at.
    curvature : float or None
        Of the log error over log λ, where it was extrapolated to all rows.
    steps : list of Step
    """

    log_alpha: float
    error: float
    curvature: float | None = None
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
            self.problem.kernel = with_width(self.problem.kernel, self.name, self.unit)
            return WidthFound(-np.inf, np.inf)
        few = self.level(min(n, FEW_ROWS))
        octaves = _good_octaves(few)
        level = few if n <= FEW_ROWS else self.level(min(n, SOME_ROWS))
        start = min(octaves, key=lambda octave: level.error(octave * _OCTAVE))
        log_scale = self._refine(level, start * _OCTAVE)
        if getattr(self.term, "ard", False):
            level, log_scale = self._each_feature(level, log_scale)
        found = WidthFound(level.log_alpha_near(log_scale), np.inf, steps=self.journal.steps)
        if n > SOME_ROWS and self.problem.objective.scorer is None and level.has_errors():
            log_scale = self._look_around(level, log_scale, found)
        self.problem.kernel = level.family.at(float(np.exp(log_scale)))
        return found

    def _each_feature(self, level: Level, log_scale: float) -> tuple[Level, float]:
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
        level = self.level(part.X.shape[0])
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
            worth=1e-4 if last else 2e-3,
        )

    def _look_around(self, level: Level, log_scale: float, found: WidthFound) -> float:
        """Follow the best width (its log is returned) and λ from a level to all rows."""
        n = self.problem.X.shape[0]
        curvature = level.curvature(log_scale, found.log_alpha)
        point, drift, rows = np.array([log_scale, found.log_alpha]), _DRIFT, level.part.X.shape[0]
        for size in (*_parts(n), n):
            before = float(point[0])
            point[0] += drift * np.log(size / rows)
            looks = Looks(self.part(size), level.family, self.journal)
            point = looks.descend(point, curvature, _LOOKS)
            if size < n:
                way, rest = np.log(size / rows), np.log(n / size)
                learned = (float(point[0]) - before) / way
                drift, rows = 0.5 * (_DRIFT + float(np.clip(learned, *_DRIFTS))), size
                # what looks gain grows with the square of the way from where they start
                if size == _parts(n)[-1] and looks.gain() * (rest / way) ** 2 < _SETTLED:
                    point[0] += drift * rest
                    found.log_alpha, found.curvature = float(point[1]), float(curvature[1, 1])
                    return float(point[0])
        found.log_alpha, found.error = float(point[1]), looks.least
        return float(point[0])


def _parts(n: int) -> list[int]:
    """How many rows are looked at before all of them: a quarter and most, where that is many."""
    return [n // 4] * (n > MANY_ROWS) + [int(WIDTH_SHARE * n)] * (n > MOST_BEYOND)


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
