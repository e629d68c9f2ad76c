"""20 Newsgroups as a hierarchy of two levels, learned in one pass beside a flat classifier.

``python -m experiments.hierarchy``
"""

import time
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from experiments.data import Rows, Split
from experiments.report import Report, parser
from experiments.text_data import load_newsgroups
from squareone import HierarchicalClassifier
from squareone.online import (
    Taxonomy,
    descend,
    h_loss,
    symmetric_difference_loss,
    top_down,
    zero_one_loss,
)

RIDGES = (0.1, 0.3, 1.0)
BLOCK = 250  # posts that are predicted before they are learned
QUICK_ROWS = 600
HEADER = (
    "alpha",
    "labels",
    "classifier",
    "H-loss",
    "H-loss, shared costs",
    "zero-one loss",
    "symmetric difference",
    "H-loss in the pass",
    "pass",
)
NOTES = f"""\
The "bydate" split: 11,314 posts to learn from, in one pass in random order, and 7,532 later ones to
test on, with headers, as `TfidfVectorizer(sublinear_tf=True)`, rows of unit length. The first part
of a group's name is its parent: alt, comp, misc, rec, sci, soc, talk. Every post has two labels,
its group and that parent, so that there are 27 nodes.
**hierarchy** is `HierarchicalClassifier(taxonomy=…)`: a node learns the posts of its parent only,
and is asked only where the parent was predicted. **flat** is the same with the 20 groups as roots,
a linear RLS for each on all posts, without intercept; parents are added to what it predicts.
**signs**: all groups with a positive margin, none or several may be; **largest**: one group, that
with the largest margin, level by level in the hierarchy.
Losses are means over the test posts. The **H-loss** counts first mistakes on a path from the root,
each as one; with **shared costs** (Cesa-Bianchi, Gentile & Zaniboni 2006) a parent has 1/7 and a
group its share of its parent's. **zero-one**: any label is wrong; **symmetric difference**: how
many are. **in the pass** is the mean H-loss of blocks of {BLOCK} posts, each predicted before it
was learned; **pass** the seconds for learning and these predictions.
`hierarchy-pass.png` is the mean of these losses so far, for the largest alpha."""


CLASSIFIERS = ("hierarchy", "flat")
RULES = ("signs", "largest")


class Pass(NamedTuple):
    """A model after its pass, the H-losses of all posts on the way by rule, and the seconds."""

    model: HierarchicalClassifier
    losses: dict[str, NDArray]
    seconds: float


def main() -> None:
    options = parser(__doc__).parse_args()
    texts = load_newsgroups(named=True)
    if options.quick:
        texts = Split(*(part.sample(QUICK_ROWS) for part in texts))
    train, test = rows_of(texts)
    taxonomy = two_levels(train.y)
    truth = closed(taxonomy, [[group] for group in test.y])
    report = Report("hierarchy", "20 Newsgroups as a hierarchy", HEADER, NOTES, quick=options.quick)
    for a in RIDGES:
        passes = {name: one_pass(name, taxonomy, a, train) for name in CLASSIFIERS}
        for name, done in passes.items():
            for rule, predicted in predictions(done.model, test.X, taxonomy).items():
                losses = (
                    h_loss(truth, predicted, taxonomy),
                    h_loss(truth, predicted, taxonomy, costs="shared"),
                    zero_one_loss(truth, predicted),
                    symmetric_difference_loss(truth, predicted),
                    done.losses[rule],
                )
                figures = [f"{loss.mean():.4f}" for loss in losses]
                report.add(f"{a:g}", rule, name, *figures, f"{done.seconds:.0f} s")
    report.save(_figure(passes), "pass")


def rows_of(texts: Split) -> Split:
    vectoriser = TfidfVectorizer(sublinear_tf=True).fit(texts.train.X)
    return Split(*(Rows(vectoriser.transform(part.X), part.y) for part in texts))


def two_levels(groups: NDArray) -> Taxonomy:
    """Return groups below the first part of their names."""
    return Taxonomy.of([(group.split(".")[0], group) for group in np.unique(groups).tolist()])


def closed(taxonomy: Taxonomy, labels: Iterable[Collection[str]]) -> NDArray:
    """Return an indicator of collections of labels, with their parents."""
    return taxonomy.closure(taxonomy.indicator(labels))


def predictions(model: HierarchicalClassifier, X: Any, taxonomy: Taxonomy) -> dict[str, NDArray]:
    """Return an indicator for either rule, from the same margins."""
    own, margins = model.taxonomy_, model.decision_function(X)
    best = descend(margins, own, np.zeros(len(own), bool))
    return {
        "signs": closed(taxonomy, own.named(top_down(margins, own))),
        "largest": closed(taxonomy, [[own.names[i]] for i in best]),
    }


def one_pass(name: str, taxonomy: Taxonomy, a: float, train: Rows) -> Pass:
    order = np.random.default_rng(0).permutation(len(train.y))
    model = HierarchicalClassifier(taxonomy=taxonomy if name == "hierarchy" else None, alpha=a)
    groups = np.unique(train.y)
    losses: dict[str, list[NDArray]] = {rule: [] for rule in RULES}
    start = time.perf_counter()
    for first in range(0, order.size, BLOCK):
        part = order[first : first + BLOCK]
        X, y = train.X[part], train.y[part]
        truth = closed(taxonomy, [[group] for group in y])
        nothing = dict.fromkeys(RULES, np.zeros_like(truth))  # is known before the first block
        predicted = predictions(model, X, taxonomy) if first else nothing
        for rule, own in losses.items():
            own.append(h_loss(truth, predicted[rule], taxonomy))
        model.partial_fit(X, y, classes=groups)
    seconds = time.perf_counter() - start
    return Pass(model, {rule: np.concatenate(own) for rule, own in losses.items()}, seconds)


def _figure(passes: dict[str, Pass]) -> Any:
    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, done), style in zip(passes.items(), ("-", "--"), strict=True):
        for i, (rule, losses) in enumerate(done.losses.items()):
            seen = np.arange(1, losses.size + 1)
            means = np.cumsum(losses) / seen
            label = f"{name}, {rule}"
            ax.plot(seen[BLOCK:], means[BLOCK:], style, color=f"C{i}", label=label)
    ax.set(xlabel="posts seen", ylabel="mean H-loss so far", ylim=(0, None))
    ax.legend()
    return figure


if __name__ == "__main__":
    main()
