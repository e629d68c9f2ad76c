"""A stream with one ridge, and with five side by side: what the choice is worth, and what it costs.

``python -m experiments.stream_ridges``
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import StandardScaler

from experiments.data import Rows, load_rows, load_split
from experiments.report import Report, parser
from squareone import IncrementalRLSClassifier, IncrementalRLSRegressor

DRAWS, ROWS = 5, 6_000
QUICK_DRAWS, QUICK_ROWS = 1, 300
HEADER = ("set", "features", "alpha=1", "alpha=auto", "chosen", "best of five", "time")
NOTES = """\
One pass of linear incremental RLS over at most 6,000 rows in random order, five orders. Every row
is predicted before it is learned: figures are the shares of wrong classes in per cent, or, for
regression, the squared error over the variance of the targets. **alpha=auto** predicts each row by
that of five ridges (100, 10, 1, 0.1, 0.01) which has the least squared error on the rows before it,
the i-th of which counts i². **chosen** are the ridges after the last row, **best of five** is the
one that is best in hindsight, the same for all rows. **time** is that of five ridges over that of
one, in processor seconds.

Where features are as large as they come, five ridges are better than one, sometimes by a lot: what
one is worth depends on their size. With scaled features one is a good ridge, and the choice loses a
little, most where rows are few."""


def _scaled(rows: Rows) -> Rows:
    return Rows(StandardScaler().fit_transform(rows.X), rows.y)


SETS: dict[str, tuple[str, Callable[[], Rows]]] = {
    **{
        name: ("classes", lambda name=name: load_split(name).train)
        for name in ("usps", "letter", "pendigits", "satimage")
    },
    "breast cancer": ("classes", lambda: Rows(*load_breast_cancer(return_X_y=True))),
    "diabetes": ("numbers", lambda: Rows(*load_diabetes(return_X_y=True))),
    **{
        name: ("numbers", lambda name=name: load_rows(name))
        for name in ("boston", "abalone", "california_housing")
    },
}


def error(kind: str, alpha: Any, rows: Rows) -> tuple[float, Any]:
    """Return the error of one pass, each row before it was learned, and the model after it."""
    if kind == "numbers":
        model: Any = IncrementalRLSRegressor(alpha=alpha).start(rows.X.shape[1])
        squares = 0.0
        for x, y in zip(rows.X, rows.y.tolist(), strict=True):
            squares += (y - model.predict_one(x)) ** 2
            model.learn_one(x, y)
        return squares / (len(rows.y) * float(np.var(rows.y))), model
    model = IncrementalRLSClassifier(alpha=alpha).fit(*rows)
    decisions: NDArray = model.online_decisions_
    places = decisions.argmax(axis=1) if decisions.ndim > 1 else (decisions > 0).astype(int)
    return 100.0 * float(np.mean(model.classes_[places] != rows.y)), model


def main() -> None:
    options = parser(__doc__, SETS).parse_args()
    draws, most = (QUICK_DRAWS, QUICK_ROWS) if options.quick else (DRAWS, ROWS)
    partial = len(options.only) < len(SETS)
    title = "One ridge and five"
    report = Report("stream_ridges", title, HEADER, NOTES, quick=options.quick, partial=partial)
    for name in options.only:
        kind, load = SETS[name]
        given = load()
        for features, rows in (("raw", given), ("scaled", _scaled(given))):
            report.add(name, features, *_line(kind, rows, draws, most))


def _line(kind: str, rows: Rows, draws: int, most: int) -> list[str]:
    """Return the cells of one line."""
    found: dict[str, list[float]] = {"1": [], "auto": [], "best": []}
    seconds, chosen = {"1": 0.0, "auto": 0.0}, []
    for seed in range(draws):
        order = np.random.default_rng(seed).permutation(len(rows.y))[:most]
        some = Rows(rows.X[order].astype(np.float64), rows.y[order])
        for key, alpha in (("1", 1.0), ("auto", "auto")):
            start = time.process_time()
            value, model = error(kind, alpha, some)
            seconds[key] += time.process_time() - start
            found[key].append(value)
        chosen.append(model.alpha_)
        found["best"].append(min(error(kind, each, some)[0] for each in model.path_["alpha"]))
    means = {key: f"{np.mean(values):.3g}" for key, values in found.items()}
    ridges = ", ".join(f"{each:g}" for each in sorted(set(chosen)))
    ratio = f"{seconds['auto'] / seconds['1']:.1f} ×"
    return [means["1"], means["auto"], ridges, means["best"], ratio]


if __name__ == "__main__":
    main()
