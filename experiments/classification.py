"""Five sets of the papers: everything automatic against a tuned support vector machine.

``python -m experiments.classification``
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.measure import peak_memory
from experiments.data import Split, load_split
from experiments.measure import per_cent_wrong
from experiments.report import Report, parser
from experiments.rlsc import judge, warm_up
from experiments.svm import tuned_classifier
from squareone import RLSClassifier
from squareone.planning.available_memory import readable


class Goal(NamedTuple):
    """What to reach: test error in per cent, and seconds over those of the other."""

    error: float
    ratio: float


GOALS = {
    "usps": Goal(4.5, 1.0),
    "letter": Goal(2.3, 1.0),
    "optdigits": Goal(1.2, 1.0),
    "pendigits": Goal(1.7, 1.3),
    "satimage": Goal(8.4, 1.0),
}
HEADER = (
    "set",
    "rows, features, classes",
    "test error",
    "to reach",
    "leave-one-out error",
    "σ",
    "λ",
    "fit",
    "peak memory",
    "SVM: test error",
    "SVM: chosen",
    "SVM: search",
    "time ratio",
    "to reach",
)
NOTES = """\
`RLSClassifier()` with nothing set, on raw features, against `GridSearchCV(SVC(), cv=3)` over nine
points (C = 1, 10, 100; gamma = 0.1, 1, 10 times "scale"), on raw or on standardised features,
whichever is better in cross-validation.
Errors are in per cent. **fit** is the time until `fit`, `loo_predictions_` and a first
`predict_proba` are done, **search** that of the winning grid search with its refit, which has
neither; **time ratio** is the first over the second. Both are medians of three runs in turn where a
fit takes less than ten seconds, and otherwise of one.
**peak memory** is the rise of the resident memory during a second fit in a fresh process."""
QUICK_ROWS = 400
#: Runs of each, where a fit takes less than so many seconds.
REPEATS, SOON = 3, 10.0


def main() -> None:
    options = parser(__doc__, GOALS).parse_args()
    report = Report(
        "classification",
        "Classification",
        HEADER,
        NOTES,
        quick=options.quick,
        partial=len(options.only) < len(GOALS),
    )
    for name in options.only:
        report.add(*_row(name, report))


def _load(name: str, quick: bool) -> Split:
    split = load_split(name)
    return Split(*(part.sample(QUICK_ROWS) for part in split)) if quick else split


def _row(name: str, report: Report) -> tuple[str, ...]:
    train, test = _load(name, report.quick)
    runs = [(judge(train, test), tuned_classifier(train))]
    while len(runs) < REPEATS and runs[0][0].seconds < SOON:
        runs.append((judge(train, test), tuned_classifier(train)))
    ours, svm = runs[0]
    fit, search = np.median([[one.seconds for one in run] for run in runs], axis=0)
    svm_error = per_cent_wrong(svm.search.predict(test.X), test.y)
    ratio = fit / search
    n, d = train.X.shape
    return (
        name,
        f"{n:,} × {d}, {svm.search.classes_.size}",
        f"{ours.test_error:.2f}",
        report.to_reach(ours.test_error, GOALS[name].error),
        f"{ours.loo_error:.2f}",
        f"{ours.sigma:.3g}",
        f"{ours.alpha:.2g}",
        f"{fit:.2f} s",
        readable(peak_memory(partial(_memory_of_fit, name, report.quick))),
        f"{svm_error:.2f}",
        f"{svm.features}, {svm.chosen}",
        f"{search:.2f} s",
        f"{ratio:.2f}",
        report.to_reach(ratio, GOALS[name].ratio),
    )


def _memory_of_fit(name: str, quick: bool) -> Callable[[], object]:
    train = _load(name, quick).train
    warm_up(train)
    return lambda: RLSClassifier().fit(train.X, train.y)


if __name__ == "__main__":
    main()
