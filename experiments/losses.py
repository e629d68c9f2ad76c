"""The square loss against the hinge losses and LIBSVM, each tuned by its own leave-one-out error.

``python -m experiments.losses``
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from experiments import THREADS
from experiments.data import Rows, Split, load_split
from experiments.measure import per_cent_wrong, timed_fit
from experiments.report import Report, parser
from experiments.table_contestants import numeric_features
from experiments.table_data import Table, is_text, load_table, split
from squareone import RLSClassifier, SVMClassifier

DIGITS = ("usps", "letter", "optdigits", "pendigits", "satimage")
TABLES = (
    "titanic",
    "german",
    "attrition",
    "vowel",
    "credit",
    "churn",
    "phoneme",
    "spam",
    "dna",
    "hpc",
    "mammography",
    "soybean",
    "horse_colic",
)
SPARSE = "adult, binary"
SETS = (*DIGITS, SPARSE, *TABLES)
ROWS, QUICK_ROWS = 1500, 200
FIFTHS = (0.2, 0.4, 0.6, 0.8)
HEADER = (
    "set",
    "training rows",
    "loss",
    "test error",
    "standard error",
    "more than square",
    "leave-one-out error",
    "rows that count",
    "seconds",
)
NOTES = """\
Errors are in per cent. Every model chooses its width and λ by the leave-one-out error of its own
loss; **LIBSVM** is `SVC` on a grid of 3 × 3 around `gamma="scale"` by threefold cross-validation,
which is the error shown in its column. Features are standardised. **standard error** is that of the
test error; **more than square** is the error less that of the square loss on the same test rows,
with the standard error of this difference: beyond two of them it is marked with a star.
**rows that count** are those with a coefficient in some column. `adult, binary` has its words and
the fifths of its numbers as 0 and 1 in sparse rows, and the linear kernel; the tables are split as
in `experiments.tables`, with the first seed. The training rows are drawn at random."""


class Found(NamedTuple):
    """What a contestant predicts, and what it says of itself."""

    predicted: NDArray
    left_out: float
    support: int
    seconds: float


def main() -> None:
    arguments = parser(__doc__, SETS)
    arguments.add_argument("--rows", type=int, default=ROWS, help="at most so many training rows")
    options = arguments.parse_args()
    partial = len(options.only) < len(SETS)
    report = Report("losses", "The losses", HEADER, NOTES, quick=options.quick, partial=partial)
    for name in options.only:
        _compare(name, load(name, QUICK_ROWS if options.quick else options.rows), report)


def load(name: str, rows: int) -> Split:
    """Standardised rows, or sparse ones of 0 and 1; so many for training."""
    if name in DIGITS:
        found = load_split(name)
        scaler = StandardScaler().fit(found.train.X)
        train = found.train.sample(rows)
        return Split(
            Rows(scaler.transform(train.X).astype(float), train.y),
            Rows(scaler.transform(found.test.X).astype(float), found.test.y),
        )
    table = load_table("adult" if name == SPARSE else name)
    parts = split(table, 0, rows)
    if name == SPARSE:
        return _binary(table, parts)
    X, X_test = numeric_features(table.columns.take(parts.train), table.columns.take(parts.test))
    return Split(Rows(X, table.y[parts.train]), Rows(X_test, table.y[parts.test]))


def _binary(table: Table, parts: Any) -> Split:
    """Words, and the fifths of numbers, as indicators of sparse rows."""
    columns = []
    for column in table.columns.columns.values():
        if not is_text(column):
            numbers = np.nan_to_num(column.astype(float))
            edges = np.unique(np.quantile(numbers[parts.train], FIFTHS))
            column = np.digitize(numbers, edges).astype(str)
        columns.append(column)
    words = np.column_stack(columns)
    X = OneHotEncoder(handle_unknown="ignore").fit(words[parts.train]).transform(words)
    return Split(*(Rows(X[rows], table.y[rows]) for rows in (parts.train, parts.test)))


def _compare(name: str, found: Split, report: Report) -> None:
    train, test = found
    kernel = "linear" if name == SPARSE else "gaussian"
    contestants: dict[str, Callable[[], Found]] = {
        "square": lambda: _ours(RLSClassifier(kernel), train, test),
        "hinge": lambda: _ours(SVMClassifier(kernel), train, test),
        "squared hinge": lambda: _ours(SVMClassifier(kernel, loss="squared_hinge"), train, test),
        "LIBSVM": lambda: _libsvm(kernel, train, test),
    }
    square: NDArray | None = None
    for loss, fit in contestants.items():
        result = fit()
        wrong = 100.0 * (result.predicted != test.y)
        square = wrong if square is None else square
        more = wrong - square
        noise = more.std() / np.sqrt(more.size)
        star = "*" if abs(more.mean()) > 2 * noise > 0 else ""
        report.add(
            name,
            f"{train.y.size:,}",
            loss,
            f"{per_cent_wrong(result.predicted, test.y):.2f}",
            f"{wrong.std() / np.sqrt(wrong.size):.2f}",
            "" if loss == "square" else f"{more.mean():+.2f} ± {noise:.2f}{star}",
            f"{result.left_out:.2f}",
            f"{result.support:,}",
            f"{result.seconds:.1f}",
        )


def _ours(model: Any, train: Rows, test: Rows) -> Found:
    model, seconds = timed_fit(model, train)
    values = model.loo_decision_values_
    if values.ndim == 1:
        left_out = model.classes_[(values > 0).astype(int)]
    else:
        left_out = model.classes_[values.argmax(axis=1)]
    support = model.support_.size if isinstance(model, SVMClassifier) else train.y.size
    error = per_cent_wrong(left_out, train.y)
    return Found(model.predict(test.X), error, support, seconds)


def _libsvm(kernel: str, train: Rows, test: Rows) -> Found:
    grid: dict[str, Any] = {"C": [1.0, 10.0, 100.0]}
    if kernel == "linear":
        grid = {"C": [0.01, 0.1, 1.0], "kernel": ["linear"]}
    else:
        grid["gamma"] = np.array([0.1, 1.0, 10.0]) / (train.X.shape[1] * train.X.var())
    search, seconds = timed_fit(GridSearchCV(SVC(), grid, cv=3, n_jobs=THREADS), train)
    support = search.best_estimator_.support_.size
    return Found(search.predict(test.X), 100 * (1 - search.best_score_), support, seconds)


if __name__ == "__main__":
    main()
