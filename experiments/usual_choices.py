"""What people use now, beside this library with nothing set: time and error on tables of numbers.

``OMP_NUM_THREADS=1 python -m experiments.usual_choices``
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from experiments import THREADS
from experiments.data import Rows
from experiments.report import Report, parser
from experiments.svm import EPSILON, SVC_GAMMA, SVR_GAMMA, C
from experiments.table_data import Table, are_classes, load_table, split
from squareone import RLSClassifier, RLSRegressor

#: Every table of the folder that has numbers only and no gaps.
TABLES = (
    "concrete",
    "car_prices",
    "wine_white",
    "vowel",
    "dna",
    "spam",
    "phoneme",
    "mammography",
)
ROWS, QUICK_ROWS = 1_500, 200
DRAWS = 3
HEADER = ("set", "rows × features", "contestant", "error", "against squareone", "seconds", "ratio")
NOTES = f"""\
Every table with numbers only and without gaps, at most {ROWS:,} training rows, a quarter of all
rows to test on, {DRAWS} draws. **squareone** is `make_pipeline(StandardScaler(), RLSRegressor())`
or `RLSClassifier()`, with nothing set: σ and λ are chosen inside. **KernelRidge** is
`GridSearchCV(cv=3)` over 5 alphas × 4 gammas, **SVM** the same over 27 points of `SVR` or 9 of
`SVC`, both on standardised features and targets. **Gaussian process** is
`GaussianProcessRegressor(ConstantKernel() * RBF() + WhiteKernel(), normalize_y=True)`, which
climbs its likelihood, on standardised features. **boosted trees** are `HistGradientBoosting…()`
as it comes.
**error** is the root mean square error, or the share of wrong classes, over that of guessing the
mean or the most frequent class: 0 is perfect, 1 is worthless; the mean over the draws. **against
squareone** is that error over squareone's: above 1 is worse than squareone. **seconds** of one
core for the fit with its search, the median over the draws; **ratio** is over squareone's."""
ALPHAS = [1e-3, 1e-2, 1e-1, 1.0, 10.0]
GAMMAS = np.array([0.1, 0.3, 1.0, 3.0])  # over the number of features


def squareone(classes: bool, d: int) -> Any:
    return make_pipeline(StandardScaler(), RLSClassifier() if classes else RLSRegressor())


def kernel_ridge(classes: bool, d: int) -> Any:
    ridge = TransformedTargetRegressor(KernelRidge(kernel="rbf"), transformer=StandardScaler())
    return _search(ridge, {"alpha": ALPHAS, "gamma": GAMMAS / d}, within="regressor__")


def svm(classes: bool, d: int) -> Any:
    if classes:
        return _search(SVC(), {"C": C, "gamma": SVC_GAMMA / d})
    svr = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    grid = {"C": C, "gamma": SVR_GAMMA / d, "epsilon": EPSILON}
    return _search(svr, grid, within="regressor__")


def gaussian_process(classes: bool, d: int) -> Any:
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    return make_pipeline(StandardScaler(), process)


def boosted_trees(classes: bool, d: int) -> Any:
    trees = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return trees(random_state=0)


def _search(model: Any, grid: dict[str, Any], within: str = "") -> GridSearchCV:
    """Return a search on standardised features; gammas are over their number."""
    pipeline = Pipeline([("scaler", StandardScaler()), ("model", model)])
    return GridSearchCV(pipeline, {f"model__{within}{key}": v for key, v in grid.items()}, cv=3)


Contestant = Callable[[bool, int], Any]
REGRESSION: dict[str, Contestant] = {
    "squareone": squareone,
    "KernelRidge": kernel_ridge,
    "SVM": svm,
    "Gaussian process": gaussian_process,
    "boosted trees": boosted_trees,
}
CLASSIFICATION = {name: REGRESSION[name] for name in ("squareone", "SVM", "boosted trees")}


def main() -> None:
    options = parser(__doc__, TABLES).parse_args()
    if THREADS != 1:
        sys.exit("seconds are those of one core: set OMP_NUM_THREADS=1")
    report = Report(
        "usual_choices",
        "The usual choices",
        HEADER,
        NOTES,
        quick=options.quick,
        partial=len(options.only) < len(TABLES),
    )
    for name in options.only:
        for row in compare(load_table(name), QUICK_ROWS if options.quick else ROWS):
            report.add(*row)


def compare(table: Table, at_most: int) -> list[tuple[str, ...]]:
    """Return a row for every contestant."""
    contestants = CLASSIFICATION if are_classes(table.y) else REGRESSION
    X = np.column_stack([column.astype(float) for column in table.columns.columns.values()])
    found = np.array(
        [_draw(contestants, Rows(X, table.y), table, s, at_most) for s in range(DRAWS)]
    )
    errors, seconds = found[:, :, 0].mean(axis=0), np.median(found[:, :, 1], axis=0)
    size = f"{len(split(table, 0, at_most).train):,} × {X.shape[1]}"
    return [
        (
            table.name,
            size,
            name,
            f"{error:.3f}",
            f"{error / errors[0]:.2f}",
            f"{taken:.2f}",
            f"{taken / seconds[0]:.2f}",
        )
        for name, error, taken in zip(contestants, errors, seconds, strict=True)
    ]


def _draw(
    contestants: dict[str, Contestant], rows: Rows, table: Table, seed: int, at_most: int
) -> list[tuple[float, float]]:
    """Return the error over that of guessing, and the seconds, of each contestant."""
    drawn = split(table, seed, at_most)
    train, test = (Rows(rows.X[part], rows.y[part]) for part in (drawn.train, drawn.test))
    classes, d = are_classes(rows.y), rows.X.shape[1]
    few = train.sample(400)  # rare classes are among them
    result = []
    for contestant in contestants.values():
        contestant(classes, d).fit(few.X, few.y)  # what is done once in a process
        model = contestant(classes, d)
        start = time.process_time()
        model.fit(train.X, train.y)
        seconds = time.process_time() - start
        result.append((relative_error(model.predict(test.X), train.y, test.y), seconds))
    return result


def relative_error(predicted: NDArray, known: NDArray, true: NDArray) -> float:
    """Return the error over that of guessing from the known targets.

    Examples
    --------
    >>> relative_error(np.array([1.0, 2.0]), np.array([0.0, 2.0]), np.array([1.0, 3.0]))
    0.5
    >>> relative_error(np.array(["a", "b"]), np.array(["a", "a", "b"]), np.array(["b", "b"]))
    0.5
    """
    if are_classes(true):
        values, counts = np.unique(known, return_counts=True)
        return float(np.mean(predicted != true) / np.mean(true != values[counts.argmax()]))
    guess = np.sqrt(np.mean((true - known.mean()) ** 2))
    return float(np.sqrt(np.mean((predicted - true) ** 2)) / guess)


if __name__ == "__main__":
    main()
