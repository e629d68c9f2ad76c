"""Mistakes of one pass over documents: first and second order, and RLS on every label.

``python -m experiments.streams``
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from experiments.data import Rows
from experiments.first_order import one_pass, passive_aggressive, perceptron
from experiments.report import Report, parser
from experiments.text_data import load_counts, load_reuters_stream
from experiments.text_features import running_tf_idf
from squareone import IncrementalRLSClassifier, SecondOrderPerceptron

SETS = ("reuters", "news20")
QUICK_ROWS = 600
RIDGES = (0.1, 1.0)
HEADER = ("set", "rows, columns", "learner", "alpha", "mistakes", "per cent", "seconds")
NOTES = """\
One pass, each document predicted before its labels are seen. **reuters** has the 50 most frequent
topics of Reuters-21578 in the order of the dates, each a question by itself: mistakes are wrong
answers, and the share is of all of them; never to name a topic would be wrong as often as topics
occur, which is the line **none**. **news20** has 20 classes, one column for each, of which the
largest wins; its documents are in one random order. Rows are (1 + log tf)·idf of unit length, idf
of the documents so far, without English stop words on Reuters. All learn without an intercept.
**Perceptron** and **second-order perceptron** learn a column's mistakes, **passive-aggressive**
(PA-I, at most one step) also what is right by less than one, **incremental RLS** everything."""
WITHOUT_RIVER = """
river is not installed where this was run: its learners are missing from the table."""


def main() -> None:
    options = parser(__doc__, SETS).parse_args()
    notes = NOTES if find_spec("river") else NOTES + WITHOUT_RIVER
    report = Report(
        "streams",
        "Mistakes of one pass",
        HEADER,
        notes,
        quick=options.quick,
        partial=set(options.only) != set(SETS),
    )
    for name in options.only:
        rows = {"reuters": _reuters, "news20": _news20}[name](options.quick)
        exclusive = rows.y.ndim == 1
        y = rows.y[:, None] == np.unique(rows.y) if exclusive else rows.y
        signs = np.where(y, 1.0, -1.0)
        size = f"{signs.shape[0]:,}, {signs.shape[1]}"
        if not exclusive:
            wrong = np.count_nonzero(signs > 0)
            report.add(name, size, "none", "", f"{wrong:,}", f"{100 * wrong / signs.size:.3f}", "")
        for learner, a, decide in contestants(rows.X, rows.y, signs):
            start = time.perf_counter()
            decisions = decide()
            seconds = time.perf_counter() - start
            wrong, share = mistakes(decisions, signs, exclusive=exclusive)
            report.add(name, size, learner, a, f"{wrong:,}", f"{100 * share:.3f}", f"{seconds:.1f}")


def contestants(
    X: csr_matrix, y: NDArray, signs: NDArray
) -> Iterator[tuple[str, str, Callable[[], NDArray]]]:
    """Return the name, the ridge and the decisions (n, t) of each learner."""
    yield "perceptron", "", partial(one_pass, X, signs, perceptron)
    yield "passive-aggressive", "", partial(one_pass, X, signs, passive_aggressive)
    if find_spec("river"):
        for name, model in river_learners().items():
            yield name, "", partial(river_pass, X, signs, model)
    for a in RIDGES:
        yield (
            "second-order perceptron",
            f"{a:g}",
            partial(_pass, SecondOrderPerceptron(alpha=a), X, y),
        )
    for a in RIDGES:
        every = IncrementalRLSClassifier(alpha=a, fit_intercept=False)
        yield "incremental RLS", f"{a:g}", partial(_pass, every, X, y)


def _pass(model: Any, X: csr_matrix, y: NDArray) -> NDArray:
    return model.fit(X, y).online_decisions_


def river_learners() -> dict[str, Callable[[], Any]]:
    """Return makers of river's linear classifiers, for one column each."""
    from river import linear_model  # not needed by anything else

    return {
        "river: Perceptron": linear_model.Perceptron,
        "river: PAClassifier": partial(linear_model.PAClassifier, learn_intercept=False),
        "river: LogisticRegression": partial(linear_model.LogisticRegression, intercept_lr=0.0),
    }


def river_pass(X: csr_matrix, signs: NDArray, make: Callable[[], Any]) -> NDArray:
    """Return the log odds of river's learners, one for each column; (n, t)."""
    models = [make() for _ in range(signs.shape[1])]
    decisions = np.zeros(signs.shape)
    for i in range(X.shape[0]):
        row = X[i]
        x = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
        for column, model in enumerate(models):
            positive = model.predict_proba_one(x)[True]
            decisions[i, column] = positive - 0.5
            model.learn_one(x, bool(signs[i, column] > 0))
    return decisions


def mistakes(decisions: NDArray, signs: NDArray, *, exclusive: bool) -> tuple[int, float]:
    """Return how many rows, or answers, were wrong, and their share."""
    if exclusive:
        wrong = decisions.argmax(axis=1) != signs.argmax(axis=1)
    else:
        wrong = (decisions > 0) != (signs > 0)
    return int(np.count_nonzero(wrong)), float(np.mean(wrong))


def _reuters(quick: bool) -> Rows:
    texts = load_reuters_stream()
    n = QUICK_ROWS if quick else len(texts.y)
    counts = CountVectorizer(stop_words="english", dtype=np.float64).fit_transform(texts.X[:n])
    return Rows(running_tf_idf(counts), texts.y[:n])


def _news20(quick: bool) -> Rows:
    rows = load_counts("news20_libsvm_train")
    order = np.random.default_rng(0).permutation(len(rows.y))
    order = order[: QUICK_ROWS if quick else None]
    return Rows(running_tf_idf(rows.X[order]), rows.y[order])


if __name__ == "__main__":
    main()
