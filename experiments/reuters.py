"""Reuters-21578 with 90 topics: a threshold for every topic from leave-one-out values.

``python -m experiments.reuters``
"""

import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from experiments.data import Rows, Split
from experiments.measure import timed_fit
from experiments.report import Report, parser
from experiments.text_data import load_reuters
from squareone import RLSClassifier
from squareone.selection.threshold import best_thresholds

FOLDS = 5
QUICK_ROWS = 600
HEADER = (
    "classifier",
    "λ",
    "thresholds",
    "micro-F1",
    "macro-F1",
    "micro-F1 held out",
    "fit",
    "held-out values",
)
NOTES = f"""\
The ModApte split: 9,603 stories to train on and 3,299 to test, title and body, as
`TfidfVectorizer(sublinear_tf=True)`. There are 90 topics with a training and a test story at least;
a story may have several, and in both parts there are some with none, which are kept.
**RLSC** is `RLSClassifier("linear", threshold="f1")` with nothing else set: λ by the leave-one-out
squared error, all topics together, and **a λ per topic** has `alpha_per_target=True`. The SVM is
`OneVsRestClassifier(LinearSVC())`.
A story has a topic where its value is above a threshold: **zero**; **best F1**, the threshold of
each topic that is best by F1 on held-out values of the training rows, which is `threshold_`: a
topic whose F1 on these values stays below 0.1 keeps zero. Both classifiers have this rule.
Held-out values are the leave-one-out values for RLSC (estimated, as the rows are many and sparse)
and those of {FOLDS} folds for the SVM.
**micro-F1** is over all pairs of a story and a topic, **macro-F1** the mean over the topics, many
of them rare; both on the test part. **held out** is the same on the training rows, each held out:
optimistic where thresholds were chosen there. **fit** and **held-out values** are seconds; for RLSC
the latter are part of the former."""


class Judged(NamedTuple):
    """Values of the test rows and held-out values of the training rows, for each topic."""

    name: str
    chosen: str
    values: NDArray
    held_out: NDArray
    thresholds: NDArray
    seconds: float
    extra_seconds: str


def main() -> None:
    options = parser(__doc__).parse_args()
    split = load_reuters()
    train, test = _rows(_few(split) if options.quick else split)
    report = Report("reuters", "Reuters-21578: 90 topics", HEADER, NOTES, quick=options.quick)
    for judged in _contestants(train, test):
        for rule, thresholds in (("zero", 0.0), ("best F1", judged.thresholds)):
            report.add(
                judged.name,
                judged.chosen,
                rule,
                *_scores(test.y, judged.values > thresholds),
                _scores(train.y, judged.held_out > thresholds)[0],
                f"{judged.seconds:.1f}",
                judged.extra_seconds,
            )


def _few(split: Split) -> Split:
    """Few stories, and the topics that some of them have in both parts."""
    train, test = (part.sample(QUICK_ROWS) for part in split)
    kept = train.y.any(axis=0) & test.y.any(axis=0)
    return Split(Rows(train.X, train.y[:, kept]), Rows(test.X, test.y[:, kept]))


def _rows(texts: Split) -> Split:
    vectoriser = TfidfVectorizer(sublinear_tf=True).fit(texts.train.X)
    return Split(*(Rows(vectoriser.transform(part.X), part.y) for part in texts))


def _contestants(train: Rows, test: Rows) -> Iterator[Judged]:
    yield _rlsc("RLSC", train, test)
    yield _rlsc("RLSC, a λ per topic", train, test, alpha_per_target=True)
    yield _svm(train, test)


def _rlsc(name: str, train: Rows, test: Rows, **parameters: Any) -> Judged:
    model, seconds = timed_fit(RLSClassifier("linear", threshold="f1", **parameters), train)
    low, high = np.min(model.alpha_), np.max(model.alpha_)
    return Judged(
        name,
        f"{low:.2g}" if low == high else f"{low:.2g} to {high:.2g}",
        model.decision_function(test.X),
        model.loo_decision_values_,
        model.threshold_,
        seconds,
        "",
    )


def _svm(train: Rows, test: Rows) -> Judged:
    model, seconds = timed_fit(OneVsRestClassifier(LinearSVC(random_state=0)), train)
    start = time.perf_counter()
    with warnings.catch_warnings():
        # a topic without a story in the other folds: no, with the value zero
        warnings.filterwarnings("ignore", "Label not", UserWarning)
        folds = KFold(FOLDS, shuffle=True, random_state=0)
        held_out = cross_val_predict(model, train.X, train.y, cv=folds, method="decision_function")
    extra = time.perf_counter() - start
    thresholds = best_thresholds("f1", held_out, train.y > 0)
    values = model.decision_function(test.X)
    return Judged("LinearSVC", "", values, held_out, thresholds, seconds, f"{extra:.1f}")


def _scores(truth: NDArray, predicted: NDArray) -> tuple[str, str]:
    micro, macro = (
        f1_score(truth, predicted, average=average, zero_division=0)
        for average in ("micro", "macro")
    )
    return f"{micro:.4f}", f"{macro:.4f}"


if __name__ == "__main__":
    main()
