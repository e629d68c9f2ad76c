"""Which rows as centers: random ones, pivoted Cholesky ("ic"), and others.

``python -m experiments.which_points``

After Figures 7.4 to 7.7 of Rifkin, Yeo & Poggio (2003), "Regularized least-squares
classification": how much of the trace of the kernel matrix the centers explain, and what the
rectangle reaches with them.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.linalg import eigvalsh

from experiments.images import SETS, Outcome, Panels, Task, judge, load_task, spread
from experiments.report import Report, parser
from squareone import RLSClassifier
from squareone.centers import (
    Given,
    KMeans,
    LeverageScores,
    PivotedCholesky,
    Selector,
    TraceGreedy,
    Uniform,
    explained_trace,
)

#: of the explained share alone, before those of the task
SMALLER_SIZES = (16, 32, 64)
LOWEST = {"usps": 0.5, "cbcl_faces": 0.0}
HEADER = (
    "set",
    "m",
    "centers",
    "draws",
    "share of the trace",
    "λ, median",
    "area under the curve",
    "test error",
    "seconds to choose",
)
NOTES = """\
The rectangle without an intercept, λ by leave-one-out, on the test rows; means ± standard
deviations over the draws. **share of the trace** is tr K̃ / tr K over all training rows, and
**best possible** that of as many eigenvectors of the kernel matrix. **ic** is
`PivotedCholesky(pivot="greedy")`, **pivoted at random** `PivotedCholesky()`; the rest are
`Uniform`, `TraceGreedy`, `LeverageScores` and `KMeans`, with nothing else set. **test error** is
in per cent, at the threshold zero: always saying no has 9.97 on the digits and 1.96 on the faces,
where only the area tells something. **seconds to choose** are those of the largest m where the
first centers of a choice are a choice of fewer (ic, pivoted at random, trace-greedy). What each
set is, and what was done to its pixels, is told in `images.py`. The figures are
`which_points-trace.png`, and for each set mean ROC curves in `which_points-<set>.png`.

Beside Figures 7.4 to 7.7 of Rifkin, Yeo & Poggio (2003), and what was expected:

- ic explains far less of the trace than random rows, at every m and on both sets: the chapter
  says the same. On USPS with m = 128 it is 3.2 % against 21.4 %, of 35.7 % that are possible; 3,
  21 and 36 % were expected.
- The chapter's second finding, that ic does not seem to improve the classifier either, holds on
  the faces, where it is behind random rows at every m and hardly finds a face at a false rate of
  0.1 %. On USPS it holds for few centers only: ic is behind random rows for m = 128 and 256 (5.4
  and 3.6 % wrong against 3.6 ± 0.5 and 2.9 ± 0.5), and ahead in the area for m = 512 and 1,024 by
  about two standard deviations of the draws (0.9924 against 0.9901 ± 0.0011), though not where
  false positives have to be rarer than 0.3 or 0.4 %.
- Pivoting at random and leverage scores explain hardly more than uniform rows, or less, with
  these kernels, which are narrow: the spectrum decays slowly, and every row is far from most
  others. Their areas differ from those of uniform rows by less than the draws do, or little more.
- Trace-greedy centers and k-means centroids explain more than random rows at every m. On USPS the
  centroids are also the best centers for the rectangle but for one area (ic's, m = 1,024), and
  half as many do better than random rows. On the faces their areas are as small as those of ic,
  while trace-greedy centers have the largest ones, mostly within the scatter of random rows: a
  larger share of the trace is no promise of a better classifier.
- Trace-greedy has one draw only, since it took 35 to 230 times as long as pivoting."""


class Way(NamedTuple):
    """A way of choosing centers; ``nested``: the first of a choice are a choice of fewer."""

    name: str
    selector: Callable[[int], Selector]
    draws: int
    nested: bool
    style: dict[str, Any]


WAYS = (
    Way("random", Uniform, 10, False, {"color": "black"}),
    Way(
        "ic",
        lambda m: PivotedCholesky(m, pivot="greedy"),
        1,
        True,
        {"color": "#D55E00", "linestyle": "--"},
    ),
    Way("pivoted at random", PivotedCholesky, 5, True, {"color": "#0072B2"}),
    Way("trace-greedy", TraceGreedy, 1, True, {"color": "#009E73", "linestyle": "-."}),
    Way("leverage scores", LeverageScores, 5, False, {"color": "#CC79A7", "linestyle": ":"}),
    Way("k-means", KMeans, 5, False, {"color": "#E69F00"}),
)


class Choice(NamedTuple):
    """Centers, and the seconds it took to choose them."""

    centers: Given
    seconds: float


class Fit(NamedTuple):
    """The rectangle with some centers."""

    alpha: float
    outcome: Outcome


def main() -> None:
    options = parser(__doc__, SETS).parse_args()
    partial = set(options.only) != set(SETS)
    report = Report(
        "which_points", "Which points", HEADER, NOTES, quick=options.quick, partial=partial
    )
    figure = Figure(figsize=(4.5 * len(options.only), 4.5), layout="constrained")
    traces = figure.subplots(1, len(options.only), squeeze=False)[0]
    for name, axes in zip(options.only, traces, strict=True):
        task = load_task(name, quick=options.quick)
        panels = Panels(task, LOWEST[name])
        sizes = task.sizes if options.quick else (*SMALLER_SIZES, *task.sizes)
        for way in WAYS:
            shares = _compare(report, panels, name, task, way, sizes)
            axes.plot(sizes, shares, label=way.name, marker=".", **way.style)
        best = best_shares(task)[np.array(sizes) - 1]
        axes.plot(sizes, best, label="best possible", color="0.6", linewidth=3, zorder=0)
        for size, share in zip(sizes, best, strict=True):
            if size in task.sizes:
                report.add(name, f"{size:,}", "best possible", "", f"{100 * share:.1f} %")
        report.save(panels.finished(), name)
        _finish(axes, task, sizes)
    handles, labels = traces[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    report.save(figure, "trace")


def _compare(
    report: Report, panels: Panels, name: str, task: Task, way: Way, sizes: Sequence[int]
) -> list[float]:
    """Add a way's rows and curves; return the mean share of the trace for each size."""
    shares = []
    chosen = [choices(task, way, sizes, seed) for seed in range(way.draws)]
    for size, draws in zip(sizes, zip(*chosen, strict=True), strict=True):
        each = [explained_trace(task.kernel, task.train.X, draw.centers.points) for draw in draws]
        shares.append(float(np.mean(each)))
        if size not in task.sizes:
            continue
        fits = [fit(task, draw) for draw in draws]
        panels.draw(size, [found.outcome for found in fits], way.name, **way.style)
        report.add(
            name,
            f"{size:,}",
            way.name,
            f"{way.draws}",
            f"{spread([100 * share for share in each], 1)} %",
            f"{np.median([found.alpha for found in fits]):.2g}",
            spread([found.outcome.area for found in fits], 4),
            spread([found.outcome.error for found in fits], 2),
            f"{np.median([draw.seconds for draw in draws]):.2f}",
        )
    return shares


def choices(task: Task, way: Way, sizes: Sequence[int], seed: int) -> list[Choice]:
    """Choose centers in each of some numbers, ascending; where they are nested, only once."""
    X = task.train.X
    found: list[Choice] = []
    for size in sizes[-1:] if way.nested else sizes:
        start = time.perf_counter()
        chosen = way.selector(size).select(X, task.kernel, random_state=seed)
        found.append(Choice(Given(chosen.points, chosen.indices), time.perf_counter() - start))
    if not way.nested:
        return found
    (most, seconds) = found[0]
    return [Choice(Given(most.points[:m], most.indices[:m]), seconds) for m in sizes]


def fit(task: Task, choice: Choice) -> Fit:
    """Fit the rectangle, with λ by leave-one-out."""
    model = RLSClassifier(
        task.kernel, solver="rectangle", centers=choice.centers, fit_intercept=False
    ).fit(*task.train)
    return Fit(model.alpha_, judge(model.decision_function(task.test.X), task.test.y))


def best_shares(task: Task) -> NDArray:
    """The share of the trace in the 1, 2, … largest eigenvalues: no m functions reach more."""
    eigenvalues = eigvalsh(task.kernel(task.train.X), overwrite_a=True, check_finite=False)
    return np.cumsum(eigenvalues[::-1]) / eigenvalues.sum()


def _finish(axes: Axes, task: Task, sizes: Sequence[int]) -> None:
    axes.set(title=task.title, xlabel="centers", ylabel="explained share of the trace")
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)


if __name__ == "__main__":
    main()
