"""Boston housing and Abalone, over random splits: everything automatic against a tuned SVR.

``python -m experiments.regression``
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.data import Rows, load_rows
from experiments.measure import timed_fit
from experiments.report import Report, parser
from experiments.svm import tuned_regressor
from squareone import RLSRegressor


class Trials(NamedTuple):
    """How often a set is split, and into how many rows."""

    repeats: int
    train: int
    test: int


TRIALS = {"boston": Trials(100, 481, 25), "abalone": Trials(10, 3_000, 1_177)}
QUICK = Trials(2, 200, 100)
HEADER = (
    "set",
    "splits",
    "test error",
    "leave-one-out error",
    "fit",
    "SVR: test error",
    "SVR: search",
    "difference",
    "to reach",
)
NOTES = """\
Mean square errors in the units of the targets, mean ± standard deviation over the splits.
`RLSRegressor()` with nothing set, against `GridSearchCV(SVR(), cv=3)` over 27 points (C, gamma and
epsilon, the targets standardised), both behind a `StandardScaler`. **leave-one-out error** is what
the fit expected before it saw a test row. **difference** is the mean of ours minus theirs, split by
split, ± its standard error if the splits were independent; they share rows, so that it is a little
more. **fit** and **search** are seconds for all splits."""


class Outcome(NamedTuple):
    """What one split gave."""

    error: float
    loo_error: float
    seconds: float
    svr_error: float
    svr_seconds: float


def main() -> None:
    options = parser(__doc__, TRIALS).parse_args()
    report = Report(
        "regression",
        "Regression",
        HEADER,
        NOTES,
        quick=options.quick,
        partial=len(options.only) < len(TRIALS),
    )
    for name in options.only:
        trials = QUICK if options.quick else TRIALS[name]
        outcomes = [_compare(train, test) for train, test in splits(load_rows(name), trials)]
        report.add(*_row(name, trials, np.array(outcomes), report))


def splits(rows: Rows, trials: Trials) -> Iterator[tuple[Rows, Rows]]:
    splitter = ShuffleSplit(
        trials.repeats, train_size=trials.train, test_size=trials.test, random_state=0
    )
    for parts in splitter.split(rows.X):
        train, test = (Rows(rows.X[part], rows.y[part]) for part in parts)
        yield train, test


def _compare(train: Rows, test: Rows) -> Outcome:
    model, seconds = timed_fit(make_pipeline(StandardScaler(), RLSRegressor()), train)
    svr = tuned_regressor(train)
    return Outcome(
        mean_squared_error(test.y, model.predict(test.X)),
        -model[-1].best_score_,
        seconds,
        mean_squared_error(test.y, svr.search.predict(test.X)),
        svr.seconds,
    )


def _row(name: str, trials: Trials, outcomes: NDArray, report: Report) -> tuple[str, ...]:
    """Make a row from outcomes (splits, fields)."""
    error, loo_error, seconds, svr_error, svr_seconds = outcomes.T
    difference = error - svr_error
    standard_error = difference.std(ddof=1) / np.sqrt(difference.size)
    return (
        name,
        f"{trials.repeats} of {trials.train:,} / {trials.test:,}",
        spread(error),
        spread(loo_error),
        f"{seconds.sum():.1f}",
        spread(svr_error),
        f"{svr_seconds.sum():.1f}",
        f"{difference.mean():+.3f} ± {standard_error:.3f}",
        report.to_reach(error.mean(), svr_error.mean()),
    )


def spread(values: NDArray) -> str:
    return f"{values.mean():.3f} ± {values.std(ddof=1):.3f}"


if __name__ == "__main__":
    main()
