"""Features as they come, and standardised: errors, times, and whether a fit warns of the units.

``python -m experiments.feature_scales``
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.data import Rows, load_all, load_rows
from experiments.measure import per_cent_wrong, timed_fit
from experiments.report import Report, parser
from squareone import RLSClassifier, RLSRegressor
from squareone.errors import ScaleWarning
from squareone.fitting.feature_scales import feature_spreads

REGRESSION: dict[str, Callable[[], Rows]] = {
    name: lambda name=name: load_rows(name) for name in ("california_housing", "boston", "abalone")
}
TABLES: dict[str, Callable[[], Rows]] = {
    "wine": lambda: Rows(*load_wine(return_X_y=True)),
    "breast_cancer": lambda: Rows(*load_breast_cancer(return_X_y=True)),
}
IMAGES: dict[str, Callable[[], Rows]] = {
    name: lambda name=name: load_all(name)
    for name in ("usps", "mnist", "optdigits", "pendigits", "letter", "satimage")
}
SETS = REGRESSION | TABLES | IMAGES
# Training rows at most, test rows at most, splits.
WHOLE, QUICK = (2_000, 5_000, 3), (150, 300, 2)
HEADER = (
    "set",
    "rows, features",
    "largest spread over smallest",
    "warned",
    "as they are: test error",
    "fit",
    "standardised: test error",
    "fit",
)
NOTES = """\
`RLSRegressor()` and `RLSClassifier()` with nothing set, on the features as they are, and behind a
`StandardScaler`. Errors are in per cent, the mean over the splits: of a classifier the rate of
wrong classes, of a regressor the share of the variance of the targets that is not explained,
1 − R². **largest spread over smallest** is that of the features, each spread over the rows that
differ from the median, and **warned** in how many of the splits the first fit gave a
`ScaleWarning`. **fit** is seconds, the median over the splits; the first has the
trial in it that the warning comes from."""


class Outcome(NamedTuple):
    """What one fit gave: its error in per cent, its seconds, and whether it warned."""

    error: float
    seconds: float
    warned: bool


def main() -> None:
    options = parser(__doc__, SETS).parse_args()
    report = Report(
        "feature_scales",
        "Features in different units",
        HEADER,
        NOTES,
        quick=options.quick,
        partial=len(options.only) < len(SETS),
    )
    train, test, repeats = QUICK if options.quick else WHOLE
    for name in options.only:
        rows = SETS[name]()
        splits = [_split(rows, train, test, seed) for seed in range(repeats)]
        make = RLSRegressor if name in REGRESSION else RLSClassifier
        raw = [_judge(make(), *split) for split in splits]
        scaled = [_judge(make_pipeline(StandardScaler(), make()), *split) for split in splits]
        sizes = " / ".join(f"{len(part.y):,}" for part in splits[0])
        report.add(
            name,
            f"{sizes} × {rows.X.shape[1]}",
            f"{_ratio(splits[0][0].X):,.3g}",
            f"{sum(outcome.warned for outcome in raw)} of {repeats}",
            *_cells(raw),
            *_cells(scaled),
        )


def _split(rows: Rows, train: int, test: int, seed: int) -> tuple[Rows, Rows]:
    n = len(rows.y)
    test = min(test, n // 3)
    X, X_test, y, y_test = train_test_split(
        *rows, train_size=min(train, n - test), test_size=test, random_state=seed
    )
    return Rows(X.astype(np.float64), y), Rows(X_test.astype(np.float64), y_test)


def _ratio(X: NDArray) -> float:
    spreads = feature_spreads(X)
    return float(spreads.max() / spreads[spreads > 0].min())


def _judge(estimator: Any, train: Rows, test: Rows) -> Outcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ScaleWarning)
        fitted, seconds = timed_fit(estimator, train)
    predicted = fitted.predict(test.X)
    if hasattr(fitted, "classes_"):
        error = per_cent_wrong(predicted, test.y)
    else:
        error = 100 * (1 - r2_score(test.y, predicted))
    warned = any(issubclass(warning.category, ScaleWarning) for warning in caught)
    return Outcome(error, seconds, warned)


def _cells(outcomes: list[Outcome]) -> tuple[str, str]:
    error = np.mean([outcome.error for outcome in outcomes])
    return f"{error:.2f}", f"{np.median([outcome.seconds for outcome in outcomes]):.2f}"


if __name__ == "__main__":
    main()
