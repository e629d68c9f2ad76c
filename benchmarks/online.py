"""Learning from a stream, row by row and in mini-batches, against scikit-learn and river."""

import importlib.util
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Perceptron, SGDClassifier

from benchmarks.case import Case, Contest, Scale, timed
from benchmarks.measure import Contestant
from benchmarks.text import text

ROWS, FEATURES, CLASSES, BATCH = 2000, 256, 10, 100


def _ten_classes(n: int) -> tuple[NDArray, NDArray]:
    """Return rows of 256 features about ten means, about as hard to tell apart as digits."""
    rng = np.random.default_rng(0)
    means = rng.standard_normal((CLASSES, FEATURES))
    y = rng.integers(CLASSES, size=n)
    return 0.25 * means[y] + rng.standard_normal((n, FEATURES)), y


def _one_by_one(make: Callable[[], Any], rows: Iterable[Any], y: NDArray) -> Contestant:
    """Predict every row, then learn it."""
    pairs = list(zip(rows, y.tolist(), strict=True))

    def run(model: Any) -> int:
        wrong = 0
        for x, label in pairs:
            wrong += model.predict_one(x) != label
            model.learn_one(x, label)
        return wrong

    return Contestant(run, lambda: (make(),), lambda wrong: wrong)


def _ours(X: NDArray, y: NDArray) -> tuple[Contestant, dict[str, Contestant]]:
    from squareone import IncrementalRLSClassifier, SecondOrderPerceptron

    start = {"classes": np.arange(CLASSES), "n_features": X.shape[1]}
    every_row = _one_by_one(lambda: IncrementalRLSClassifier().start(**start), X, y)
    return (
        _one_by_one(lambda: SecondOrderPerceptron().start(**start), X, y),
        {"incremental RLS": every_row},
    )


def _against_sklearn(scale: Scale) -> Contest:
    """Compare with a perceptron of scikit-learn, one row at a time."""
    X, y = _ten_classes(scale.rows(ROWS))
    ours, peers = _ours(X, y)
    classes = np.arange(CLASSES)

    def run(model: Any) -> int:
        wrong = 0
        for i in range(y.size):
            row = X[i : i + 1]
            wrong += i > 0 and model.predict(row)[0] != y[i]
            model.partial_fit(row, y[i : i + 1], classes=classes)
        return wrong

    return Contest(
        ours, Contestant(run, lambda: (Perceptron(),), lambda wrong: wrong), peers, _wrong
    )


def _against_river(scale: Scale) -> Contest:
    """Compare with a perceptron of river, which takes rows as dictionaries."""
    from river import linear_model, multiclass

    X, y = _ten_classes(scale.rows(ROWS) // 4)
    ours, peers = _ours(X, y)
    rows = [dict(enumerate(row.tolist())) for row in X]

    def of(kind: Any) -> Contestant:
        return _one_by_one(lambda: multiclass.OneVsRestClassifier(kind()), rows, y)

    peers["river PAClassifier"] = of(linear_model.PAClassifier)
    return Contest(ours, of(linear_model.Perceptron), peers, _wrong)


def _wrong(times: Any) -> str:
    return f"mistakes {times.ours.summary}, of the yardstick {times.yardstick.summary}"


def _sparse(scale: Scale) -> Contest:
    """Compare mini-batches of sparse text with stochastic gradients."""
    from squareone import SecondOrderPerceptron

    found = text(scale.rows(12_000))
    classes = np.unique(found.y)

    def learning(make: Callable[[], Any]) -> Contestant:
        def run(model: Any) -> int:
            wrong = 0
            for start in range(0, found.y.size, BATCH):
                X, y = found.X[start : start + BATCH], found.y[start : start + BATCH]
                wrong += int((model.predict(X) != y).sum()) if start else BATCH
                model.partial_fit(X, y, classes=classes)
            return wrong

        return Contestant(run, lambda: (make(),), lambda wrong: wrong)

    return Contest(
        learning(lambda: SecondOrderPerceptron(form="diagonal")),
        learning(SGDClassifier),
        remark=_wrong,
    )


CASES: list[Case] = [
    timed(
        "online-sklearn",
        _against_sklearn,
        what="second-order perceptron, 2,000 × 256 rows, 10 classes, predict and learn one by one",
        against="scikit-learn's Perceptron, predict and partial_fit",
        target=5.0,
        direction="at least",
        repeats=3,
    ),
    timed(
        "online-sparse",
        _sparse,
        what="diagonal second-order perceptron, 12,000 sparse documents, batches of 100",
        against="scikit-learn's SGDClassifier, partial_fit",
        target=0.2,
        direction="at least",
        repeats=3,
    ),
]
if importlib.util.find_spec("river"):
    CASES.insert(
        1,
        timed(
            "online-river",
            _against_river,
            what="second-order perceptron, 500 × 256 rows, 10 classes, predict, learn one by one",
            against="river's Perceptron, one against the rest",
            target=2.0,
            direction="at least",
            repeats=3,
        ),
    )
