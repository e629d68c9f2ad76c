"""20 Newsgroups from raw text: everything automatic beside a linear SVM on the same features.

``python -m experiments.newsgroups``
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from experiments.data import Rows, Split
from experiments.measure import per_cent_wrong, timed_fit
from experiments.report import Report, parser
from experiments.text_data import load_newsgroups
from squareone import RLSClassifier

TO_REACH, BEHIND = 14.0, 0.3  # per cent of errors, and so many more than the SVM
QUICK_ROWS = 600
HEADER = (
    "texts",
    "features",
    "numbers stored",
    "features: seconds",
    "classifier",
    "test error",
    "to reach",
    "beside the SVM",
    "λ",
    "fit",
)
NOTES = f"""\
The "bydate" split: 11,314 posts to train on, and 7,532 later ones. **with headers** the texts are
as they were sent, and who wrote and where helps; **bare** texts are without headers, footers and
quotes, as scikit-learn's loader removes them.
**terms** are `TfidfVectorizer(sublinear_tf=True)`, **hashed** ones
`HashingVectorizer(n_features=2**20, alternate_sign=False, norm=None)` and
`TfidfTransformer(sublinear_tf=True)`; **numbers stored** are those of the training rows.
**automatic** is `RLSClassifier("linear")` with nothing else set: λ by the leave-one-out squared
error. **by accuracy** has `scoring="accuracy"`. The SVM is `LinearSVC()` as it comes.
Errors are in per cent. **beside the SVM** is its error plus {BEHIND}. **fit** is the seconds of the
classifier alone, **features: seconds** those of making them for the training texts."""

OPPONENT = "LinearSVC"
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    OPPONENT: partial(LinearSVC, random_state=0),
    "RLSC, automatic": partial(RLSClassifier, "linear"),
    "RLSC, automatic by accuracy": partial(RLSClassifier, "linear", scoring="accuracy"),
}


def _hashed() -> Any:
    # Counts, without signs and lengths: the logarithm comes after them.
    return make_pipeline(
        HashingVectorizer(n_features=2**20, alternate_sign=False, norm=None),
        TfidfTransformer(sublinear_tf=True),
    )


class Case(NamedTuple):
    """Texts, how they become rows, and whether there is something to reach."""

    bare: bool
    features: str
    make: Callable[[], Any]
    judged: bool = False


_TERMS = partial(TfidfVectorizer, sublinear_tf=True)
CASES = (
    Case(False, "terms", _TERMS, judged=True),
    Case(False, "hashed", _hashed),
    Case(True, "terms", _TERMS),
    Case(True, "hashed", _hashed),
)


def main() -> None:
    options = parser(__doc__).parse_args()
    report = Report("newsgroups", "20 Newsgroups", HEADER, NOTES, quick=options.quick)
    for case in CASES:
        _compare(case, report)


def _compare(case: Case, report: Report) -> None:
    texts = load_newsgroups(bare=case.bare)
    if report.quick:
        texts = Split(*(part.sample(QUICK_ROWS) for part in texts))
    vectoriser = case.make()
    start = time.perf_counter()
    X = vectoriser.fit_transform(texts.train.X)
    seconds = time.perf_counter() - start
    train, test = Rows(X, texts.train.y), Rows(vectoriser.transform(texts.test.X), texts.test.y)
    limit = 0.0
    for name, make in CLASSIFIERS.items():
        model, fit_seconds = timed_fit(make(), train)
        error = per_cent_wrong(model.predict(test.X), test.y)
        opponent = name == OPPONENT
        if opponent:
            limit = error + BEHIND
        report.add(
            "bare" if case.bare else "with headers",
            case.features,
            f"{X.nnz:,}",
            f"{seconds:.1f}",
            name,
            f"{error:.2f}",
            report.to_reach(error, TO_REACH) if case.judged and not opponent else "",
            "" if opponent else report.to_reach(error, limit),
            "" if opponent else f"{model.alpha_:.2g}",
            f"{fit_seconds:.1f} s",
        )


if __name__ == "__main__":
    main()
