"""Is a width for every feature better than one for all? Test errors over random splits.

``python -m experiments.relevance``
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.data import Rows, load_all, load_rows
from experiments.measure import per_cent_wrong, timed_fit
from experiments.report import Report, parser
from squareone import RLSClassifier, RLSRegressor
from squareone.kernels import Gaussian


class Trials(NamedTuple):
    """How often a set is split, and into how many rows at most."""

    repeats: int
    train: int
    test: int


def _friedman() -> Rows:
    return Rows(*make_friedman1(6_000, n_features=10, noise=1.0, random_state=0))


REGRESSION: dict[str, Callable[[], Rows]] = {
    "diabetes": lambda: Rows(*load_diabetes(return_X_y=True)),
    "friedman1": _friedman,
    "boston": lambda: load_rows("boston"),
    "abalone": lambda: load_rows("abalone"),
    "california_housing": lambda: load_rows("california_housing"),
}
CLASSIFICATION: dict[str, Callable[[], Rows]] = {
    "breast_cancer": lambda: Rows(*load_breast_cancer(return_X_y=True)),
    "satimage": lambda: load_all("satimage"),
    "letter": lambda: load_all("letter"),
    "pendigits": lambda: load_all("pendigits"),
}
SETS = REGRESSION | CLASSIFICATION
WHOLE, QUICK = Trials(5, 1_000, 5_000), Trials(2, 150, 300)
# Of a small set a third is kept for testing.
TEST_SHARE = 1 / 3
HEADER = (
    "set",
    "rows, features",
    "one width: test error",
    "left out",
    "fit",
    "a width per feature: test error",
    "left out",
    "fit",
    "difference",
    "better in",
)
NOTES = """\
`Gaussian()` against `Gaussian(ard=True)`, with nothing else set, both behind a `StandardScaler`.
Errors are in per cent, mean ± standard deviation over the splits: of a classifier the rate of wrong
classes, of a regressor the share of the variance of the targets that is not explained, 1 − R².
**left out** is the same on the training rows, each left out in turn: what the fit expected.
**difference** is the mean of the second test error minus the first, split by split, ± its standard
error if the splits were independent (they share rows, so that it is a little more): below zero, a
width for every feature is better. **better in** counts the splits where it is. **fit** is seconds,
the median over the splits."""


class Outcome(NamedTuple):
    """What one kernel gave on one split; errors in per cent."""

    error: float
    left_out: float
    seconds: float


def main() -> None:
    options = parser(__doc__, SETS).parse_args()
    report = Report(
        "relevance",
        "A width for every feature",
        HEADER,
        NOTES,
        quick=options.quick,
        partial=len(options.only) < len(SETS),
    )
    trials = QUICK if options.quick else WHOLE
    for name in options.only:
        rows = SETS[name]()
        splits = [_split(rows, name, trials, seed) for seed in range(trials.repeats)]
        one, each = (
            np.array([_judge(name, Gaussian(ard=ard), *split) for split in splits])
            for ard in (False, True)
        )
        train, test = (len(part.y) for part in splits[0])
        size = f"{train:,} / {test:,} × {rows.X.shape[1]}"
        report.add(name, size, *_cells(one), *_cells(each), *_comparison(one, each))


def _split(rows: Rows, name: str, trials: Trials, seed: int) -> tuple[Rows, Rows]:
    n = len(rows.y)
    test = min(trials.test, round(TEST_SHARE * n))
    X, X_test, y, y_test = train_test_split(
        *rows,
        train_size=min(trials.train, n - test),
        test_size=test,
        random_state=seed,
        stratify=rows.y if name in CLASSIFICATION else None,
    )
    return Rows(X.astype(np.float64), y), Rows(X_test.astype(np.float64), y_test)


def _judge(name: str, kernel: Gaussian, train: Rows, test: Rows) -> Outcome:
    estimator = RLSClassifier(kernel) if name in CLASSIFICATION else RLSRegressor(kernel)
    pipeline, seconds = timed_fit(make_pipeline(StandardScaler(), estimator), train)
    model, predicted = pipeline[-1], pipeline.predict(test.X)
    if name not in CLASSIFICATION:
        left_out = 100 * (1 - r2_score(train.y, model.loo_predictions_))
        return Outcome(100 * (1 - r2_score(test.y, predicted)), left_out, seconds)
    values = model.loo_predictions_
    index = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
    left_out = per_cent_wrong(model.classes_[index], train.y)
    return Outcome(per_cent_wrong(predicted, test.y), left_out, seconds)


def _cells(outcomes: NDArray) -> tuple[str, ...]:
    """Make three cells from outcomes (splits, fields)."""
    error, left_out, seconds = outcomes.T
    return _spread(error), _spread(left_out), f"{np.median(seconds):.2f}"


def _comparison(one: NDArray, each: NDArray) -> tuple[str, ...]:
    difference = each[:, 0] - one[:, 0]
    standard_error = difference.std(ddof=1) / np.sqrt(difference.size)
    better = int(np.sum(difference < 0))
    return f"{difference.mean():+.2f} ± {standard_error:.2f}", f"{better} of {difference.size}"


def _spread(values: NDArray) -> str:
    return f"{values.mean():.2f} ± {values.std(ddof=1):.2f}"


if __name__ == "__main__":
    main()
