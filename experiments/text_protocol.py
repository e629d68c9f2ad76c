"""Documents per class against errors: the protocol of Tables 7.1 and 7.2, for any collection.

R. Rifkin, G. Yeo & T. Poggio (2003), "Regularized least-squares classification": linear RLSC with
λ = 1 (λℓ = 1 there) and linear SVMs, one-vs-all and with a BCH code of 63 columns, on training sets
that are nested in each other, drawn ten times.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from experiments.data import Rows, Split
from experiments.measure import timed_fit
from experiments.report import Report
from experiments.text_features import log_tf_idf
from squareone import RLSClassifier
from squareone.targets import BCH

DRAWS, QUICK_DRAWS = 10, 2
QUICK_TEST_ROWS = 500
WITHIN = 0.002  # of one-vs-all, for BCH 63
HEADER = (
    "documents per class",
    "rows: training, test",
    "method",
    "test error",
    "to reach",
    "the chapter's",
    "λ",
    "fit",
)
NOTES = f"""\
Counts of terms become log(1 + tf)·log(n/df), with n and df of the training rows, and rows of unit
length. The training rows of a line are among those of the lines above it, and all other rows are
for testing; **test error** is the share of them that is misclassified, mean ± standard deviation
over the draws. λ = 1 is the chapter's λℓ = 1; where λ is chosen, its median is given. **fit** is
seconds, the median over the draws.
**one-vs-all** and **BCH 63** are `RLSClassifier("linear", 1.0)` and the same with
`coding=BCH(63)`, where the word wins that correlates best with the predicted columns; **by signs**
it is the one at the smallest Hamming distance. All lines have an intercept but the one that says
otherwise, which is as in the chapter. **automatic** is `RLSClassifier("linear")`, which chooses λ
by the leave-one-out squared error, and **by accuracy** has `scoring="accuracy"`. The SVM is
scikit-learn's `LinearSVC()`, with C = 1 and the squared hinge loss; with BCH 63 there is one for
each column of the same words, and it is decoded by correlation too.
**to reach**, where there is something to reach, is a limit for one-vs-all, and for BCH 63
one-vs-all plus {WITHIN}. **the chapter's** is the figure printed there for that scheme."""


class Printed(NamedTuple):
    """What the chapter reached with a number of documents per class."""

    svm: float
    rlsc: float
    coded_svm: float
    coded_rlsc: float


class Size(NamedTuple):
    """Documents per class for training, what to reach with one-vs-all, and the chapter's."""

    documents: int
    goal: float | None = None
    printed: Printed | None = None


class CodedSVM(BaseEstimator):
    """A linear SVM for each column of a BCH code; the word that correlates best wins."""

    def fit(self, X: Any, y: NDArray) -> Self:
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self.words_ = BCH(63).matrix(self.classes_.size)
        columns = (self.words_[numbers] > 0).astype(int)
        self.model_ = OneVsRestClassifier(LinearSVC(random_state=0)).fit(X, columns)
        return self

    def predict(self, X: Any) -> NDArray:
        columns = self.model_.decision_function(X)
        return self.classes_[BCH(63).decision_values(columns, self.words_).argmax(axis=1)]


class Method(NamedTuple):
    """A line of the table, and the field of the chapter's figures beside it."""

    name: str
    make: Callable[[], Any]
    printed: str = ""


_RLSC = partial(RLSClassifier, "linear")
OVA = Method("RLSC, one-vs-all", partial(_RLSC, 1.0), "rlsc")
CODED = Method("RLSC, BCH 63", partial(_RLSC, 1.0, coding=BCH(63)), "coded_rlsc")
METHODS = (
    OVA,
    Method("RLSC, one-vs-all, no intercept", partial(_RLSC, 1.0, fit_intercept=False), "rlsc"),
    CODED,
    Method("RLSC, BCH 63, by signs", partial(_RLSC, 1.0, coding=BCH(63, "hamming")), "coded_rlsc"),
    Method("RLSC, automatic", _RLSC),
    Method("RLSC, automatic by accuracy", partial(_RLSC, scoring="accuracy")),
    Method("SVM, one-vs-all", partial(LinearSVC, random_state=0), "svm"),
    Method("SVM, BCH 63", CodedSVM, "coded_svm"),
)


class Outcome(NamedTuple):
    """What one method gave on one draw; λ is not a number for an SVM."""

    error: float
    alpha: float
    seconds: float


def compare(documents: Rows, sizes: tuple[Size, ...], report: Report, most: float = 1.0) -> None:
    """Add the lines of all sizes, from the largest; ``most`` is the share of a class to train on.

    Parameters
    ----------
    documents : Rows
        Counts of terms and classes.
    sizes : tuple of Size
    report : Report
    most : float
        A class with fewer documents than that share would leave gives that share of them.
    """
    draws = QUICK_DRAWS if report.quick else DRAWS
    for size in sizes:
        splits = [draw(documents, size.documents, seed, most) for seed in range(draws)]
        if report.quick:
            splits = [Split(train, test.sample(QUICK_TEST_ROWS)) for train, test in splits]
        rows = " and ".join(f"{len(part.y):,}" for part in splits[0])
        outcomes = _outcomes(splits)
        limits = _limits(size, outcomes)
        for method in METHODS:
            error, alpha, seconds = np.array(outcomes[method.name]).T
            limit = limits.get(method.name)
            report.add(
                str(size.documents),
                rows,
                method.name,
                f"{error.mean():.4f} ± {error.std(ddof=1):.4f}",
                "" if limit is None else report.to_reach(error.mean(), limit),
                _printed(size, method),
                "" if np.isnan(alpha[0]) else f"{np.median(alpha):.2g}",
                f"{np.median(seconds):.2f}",
            )


def draw(documents: Rows, per_class: int, seed: int, most: float = 1.0) -> Split:
    """Return so many random documents of each class, and all others.

    With the same seed those of a smaller number are among those of a larger one.
    """
    classes, numbers, sizes = np.unique(documents.y, return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(numbers.size)
    place = np.empty(numbers.size, dtype=int)  # of each document among those of its class
    for k in range(classes.size):
        own = order[numbers[order] == k]
        place[own] = np.arange(own.size)
    trained = place < np.minimum(per_class, np.floor(most * sizes))[numbers]
    return Split(*(Rows(documents.X[rows], documents.y[rows]) for rows in (trained, ~trained)))


def _outcomes(splits: list[Split]) -> dict[str, list[Outcome]]:
    """All methods on all draws; the features of a draw are made once."""
    outcomes: dict[str, list[Outcome]] = {method.name: [] for method in METHODS}
    for train, test in splits:
        X, X_test = log_tf_idf(train.X, test.X)
        for method in METHODS:
            model, seconds = timed_fit(method.make(), Rows(X, train.y))
            error = float(np.mean(model.predict(X_test) != test.y))
            alpha = getattr(model, "alpha_", np.nan)
            outcomes[method.name].append(Outcome(error, alpha, seconds))
    return outcomes


def _limits(size: Size, outcomes: dict[str, list[Outcome]]) -> dict[str, float]:
    if size.goal is None:
        return {}
    one_vs_all = float(np.mean([outcome.error for outcome in outcomes[OVA.name]]))
    return {OVA.name: size.goal, CODED.name: one_vs_all + WITHIN}


def _printed(size: Size, method: Method) -> str:
    if size.printed is None or not method.printed:
        return ""
    return f"{getattr(size.printed, method.printed):.3f}"
