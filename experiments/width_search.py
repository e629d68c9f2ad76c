"""Is the width that is chosen automatically as good as the best of an exhaustive grid?

``python -m experiments.width_search``
"""

from typing import NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler

from experiments.classification import GOALS as CLASSIFICATION
from experiments.data import Rows, load_rows, load_split
from experiments.measure import timed_fit
from experiments.report import Report, parser
from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian

REGRESSION = ("boston", "abalone")
SETS = (*CLASSIFICATION, *REGRESSION)
WIDTHS = np.geomspace(0.1, 4.0, 20)  # in units of the median distance
ALPHAS = np.geomspace(1e-6, 1e3, 30)
MOST_ROWS = 5_000  # a grid of eigendecompositions is a matter of minutes up to here
FEWER_ROWS = 3_000
QUICK_ROWS = 300
HEADER = (
    "set",
    "rows",
    "automatic: leave-one-out error",
    "σ",
    "λ",
    "seconds",
    "grid: leave-one-out error",
    "σ",
    "λ",
    "seconds",
    "ratio",
    "to reach",
)
NOTES = f"""\
Mean square leave-one-out errors: of `RLSClassifier()` or `RLSRegressor()` with nothing set, and the
smallest of {WIDTHS.size} widths × {ALPHAS.size} λ, all of them exact. Widths are in units of the
median distance between rows, and geometric from {WIDTHS[0]:g} to {WIDTHS[-1]:g}; λ is geometric
from {ALPHAS[0]:g} to {ALPHAS[-1]:g}. **ratio** is the first error over the second: below one, the
automatic choice fell between the points of the grid, or outside it. An asterisk marks a best point
on the edge of the grid. Sets of more than {MOST_ROWS:,} rows are cut to {FEWER_ROWS:,} random ones,
the same for both."""


class Best(NamedTuple):
    """A leave-one-out error and where it was found; the smallest error compares first."""

    error: float
    sigma: float
    alpha: float
    seconds: float


def main() -> None:
    options = parser(__doc__, SETS).parse_args()
    report = Report(
        "width_search",
        "The width search",
        HEADER,
        NOTES,
        quick=options.quick,
        partial=len(options.only) < len(SETS),
    )
    for name in options.only:
        report.add(*_row(name, report))


def _load(name: str, quick: bool) -> Rows:
    if name in REGRESSION:
        rows = load_rows(name)
        rows = Rows(StandardScaler().fit_transform(rows.X), rows.y)
    else:
        X, y = load_split(name).train
        rows = Rows(X.astype(np.float64), y)
    return rows.sample(
        QUICK_ROWS if quick else FEWER_ROWS if len(rows.y) > MOST_ROWS else MOST_ROWS
    )


def _row(name: str, report: Report) -> tuple[str, ...]:
    rows = _load(name, report.quick)
    estimator = RLSRegressor if name in REGRESSION else RLSClassifier
    median = Gaussian("median").resolve(rows.X, np.random.RandomState(0)).sigma
    automatic = _best(estimator(), rows)
    per_width = [
        _best(estimator(Gaussian(sigma), ALPHAS, solver="spectral", keep_factor=False), rows)
        for sigma in WIDTHS * median
    ]
    grid = min(per_width)._replace(seconds=sum(best.seconds for best in per_width))
    ratio = automatic.error / grid.error
    return (
        name,
        f"{len(rows.y):,}",
        *_cells(automatic, median),
        *_cells(grid, median, mark_edges=True),
        f"{ratio:.4f}",
        report.to_reach(ratio, 1.02),
    )


def _best(model: RLSClassifier | RLSRegressor, rows: Rows) -> Best:
    model, seconds = timed_fit(model, rows)
    return Best(-model.best_score_, model.kernel_.sigma, model.alpha_, seconds)


def _cells(best: Best, median: float, *, mark_edges: bool = False) -> tuple[str, ...]:
    places = ((best.sigma / median, WIDTHS), (best.alpha, ALPHAS))
    sigma, alpha = (
        f"{place:.3g}{'*' if mark_edges and np.isclose(place, grid[[0, -1]]).any() else ''}"
        for place, grid in places
    )
    return f"{best.error:.5g}", sigma, alpha, f"{best.seconds:.1f}"


if __name__ == "__main__":
    main()
