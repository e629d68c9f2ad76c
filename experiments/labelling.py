"""Labels needed on texts: rows that are asked by the rule, at random, or where a model is unsure.

``python -m experiments.labelling``; scikit-activeml takes part where it is installed, ``--ways``
runs some of the contestants alone.

The last columns replay 2,000 sessions for each set: how often the accuracy is inside the interval
at all looks of a session.
"""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from experiments.report import Report, parser
from experiments.text_data import load_newsgroups, load_topic
from squareone.labelling.audit_figures import clopper_pearson, error_of_look, looks_up_to
from squareone.labelling.pool_features import TextFeatures
from squareone.labelling.pool_learner import PoolLearner, RuleSettings

GROUPS = ("alt.atheism", "soc.religion.christian")
SETS = ("groups", "grain", "earn")
WAYS = ("the rule", "rarer", "unsure", "scikit-activeml", "at random")
# Singular directions of the texts, of which scikit-activeml's classifier learns.
DIRECTIONS = 100
#: F that is to be reached, and stays so at the next two counts of labels.
WANTED = 0.9
STEP, MOST, SEEDS = 10, 300, 2
BUDGET = 2e9
SESSIONS = 2_000
HEADER = (
    "set", "rows asked", "labels to F = 0.9", "F at 100", "F at 200", "F at 300",
    "all looks right", "plain intervals right",
)  # fmt: skip
NOTES = f"""\
`PoolLearner` with its defaults learns by hashed words; only which rows are labelled differs. **The
rule** is that of `squareone label`, **rarer** the same with `count="rarer"`; **at random**, and
**unsure**, the {STEP} rows with the smallest margins of the whole pool, are given in steps of
{STEP}. **scikit-activeml** asks the {STEP} rows of its `UncertaintySampling` by margins, of its
classifier of logistic regression; it takes dense rows only, and gets {DIRECTIONS} singular
directions of the same words of the pool.

Texts of 20 Newsgroups ({" against ".join(GROUPS)}) are without headers,
footers and quotes; "grain" and "earn" are topics of Reuters-21578, ModApte, against all
other stories. F is that of the first of the two groups, or of the topic, on the test part, the mean
of {SEEDS} orders of the training part. A count of labels is that from which on F stays above
{WANTED} for three steps; – stands for more than {MOST}, or a rule that asked nothing more before.

The last columns replay {SESSIONS:,} sessions of the rule: at each look the audit is so many rows of
the test part, drawn at random, the ones of before among them, and the model is that of the session
by then. **All looks right**: the share of sessions in which the accuracy on the whole test part is
in the interval at every look; at least 0.9 is promised. **Plain intervals**: of 90 %, after every
fifth row from 25 on."""


@dataclass
class Task:
    """Texts, which of them are of the class, and which are for training."""

    texts: list[str]
    truth: np.ndarray
    train: np.ndarray
    test: np.ndarray


@dataclass
class Curve:
    """F after so many labels, and who is right in the test part after so many."""

    labels: list[int] = field(default_factory=list)
    f: list[float] = field(default_factory=list)
    right: list[np.ndarray] = field(default_factory=list)

    def at(self, count: int) -> float:
        """F of the last model with so many labels at most: a rule that has ended stays there."""
        known = [f for labels, f in zip(self.labels, self.f, strict=True) if labels <= count]
        return known[-1] if known else 0.0

    def reaches(self) -> float:
        f = np.array([*self.f, *[self.f[-1]] * 2])
        for place, labels in enumerate(self.labels):
            if (f[place : place + 3] >= WANTED).all():
                return labels
        return np.inf


def load(name: str) -> Task:
    parts = []
    for part in load_newsgroups(bare=True, named=True) if name == "groups" else load_topic(name):
        kept = np.isin(part.y, GROUPS) if name == "groups" else np.ones(len(part.X), bool)
        truth = part.y == GROUPS[0] if name == "groups" else part.y
        parts.append((part.X[kept], truth[kept]))
    (first, own), (second, other) = parts
    n, rest = len(first), len(second)
    truth = np.concatenate([own, other])
    return Task([*first, *second], truth, np.arange(n), np.arange(n, n + rest))


def curve(task: Task, how: str, seed: int, most: int) -> Curve:
    """Label by one way of asking, and look at the test part every few labels."""
    order = np.random.default_rng(seed).permutation(task.train)
    table = pyarrow.table({"text": task.texts})
    rule = RuleSettings(count="rarer" if how == "rarer" else "labels", seed=seed)
    learner = PoolLearner(TextFeatures(table, order, BUDGET), rule)
    X_test, X_pool = learner.features.rows(task.test), learner.features.rows(order)
    found, pairs = Curve(), []
    for places in _asked(learner, how, order, X_pool):
        pairs += [(int(place), "yes" if task.truth[place] else "no") for place in places]
        learner.update(pairs, ["yes", "no"])
        guesses = learner.model.predict(X_test) == "yes"
        truth = task.truth[task.test]
        found.labels.append(len(pairs))
        found.f.append(float(f1_score(truth, guesses, zero_division=0.0)))
        found.right.append(guesses == truth)
        if len(pairs) >= most:
            break
    return found


def _asked(
    learner: PoolLearner, how: str, order: np.ndarray, X: object
) -> Iterator[list[int] | np.ndarray]:
    """Some rows at a time, until there are none."""
    if how == "scikit-activeml":
        yield from _asked_by_scikit_activeml(learner, order, X)
        return
    if how == "at random":
        for start in range(0, order.size, STEP):
            yield order[start : start + STEP]
        return
    while True:
        if how != "unsure":
            asked = [candidate.place for candidate in learner.candidates(STEP)]
        elif not learner.begun:
            asked = order[len(learner.pairs) : len(learner.pairs) + STEP]
        else:
            margins = np.abs(np.asarray(learner.model.decision_function(X)))
            margins[np.isin(order, list(learner.settled))] = np.inf
            asked = order[np.argsort(margins)[:STEP]]
        if not len(asked):
            return
        yield asked


def _asked_by_scikit_activeml(
    learner: PoolLearner, order: np.ndarray, X: object
) -> Iterator[np.ndarray]:
    """Some rows at a time where its own classifier is least certain."""
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import UncertaintySampling

    Z = TruncatedSVD(DIRECTIONS, random_state=learner.rule.seed).fit_transform(X)
    query = UncertaintySampling(method="margin_sampling", random_state=learner.rule.seed)
    model = SklearnClassifier(LogisticRegression(), classes=[0.0, 1.0])
    at = {place: row for row, place in enumerate(order.tolist())}
    y = np.full(order.size, np.nan)
    while True:
        for place, label in learner.pairs:
            y[at[place]] = label == "yes"
        left = np.flatnonzero(np.isnan(y))
        if not left.size:
            return
        count = min(STEP, left.size)
        if learner.begun:
            yield order[query.query(X=Z, y=y, clf=model, batch_size=count)]
        else:
            yield order[left[:count]]


def coverage(right: Curve, sessions: int, seed: int) -> tuple[float, float]:
    """How often all intervals of a session have the accuracy, by looks and after every few rows.

    One question in eight is an audit row: at a look with m rows some 7m labels were learned.
    """
    rng = np.random.default_rng(seed)
    size = right.right[0].size
    most = min(size, 800)
    rows = np.arange(25, most + 1, 5)
    stage = np.searchsorted(right.labels, np.minimum(7 * rows, right.labels[-1]))
    correct = np.array(right.right)
    truth = correct.mean(axis=1)
    looks = set(looks_up_to(most))
    own = plain = 0
    ends: dict[tuple[int, int, float], tuple[float, float]] = {}

    def inside(k: int, m: int, error: float, value: float) -> bool:
        if (k, m, error) not in ends:
            ends[k, m, error] = clopper_pearson(k, m, error)
        low, high = ends[k, m, error]
        return low <= value <= high

    for _ in range(sessions):
        drawn = rng.choice(size, most, replace=False)
        all_looks = all_rows = True
        for m, model in zip(rows.tolist(), stage, strict=True):
            k = int(correct[model, drawn[:m]].sum())
            all_rows = all_rows and inside(k, m, 0.1, truth[model])
            if m in looks:
                all_looks = all_looks and inside(k, m, error_of_look(m), truth[model])
        own, plain = own + all_looks, plain + all_rows
    return own / sessions, plain / sessions


def main() -> None:
    options_of = parser(__doc__, SETS)
    there = [w for w in WAYS if w != "scikit-activeml" or importlib.util.find_spec("skactiveml")]
    options_of.add_argument("--ways", nargs="+", choices=there, default=there)
    options = options_of.parse_args()
    report = Report(
        "labelling", "Labels needed on texts", HEADER, NOTES,
        quick=options.quick,
        partial=set(options.only) != set(SETS) or options.ways != there,
    )  # fmt: skip
    most, sessions = (40, 50) if options.quick else (MOST, SESSIONS)
    for name in options.only:
        task = load(name)
        if options.quick:
            task.train, task.test = task.train[:400], task.test[:200]
        for how in options.ways:
            found = [curve(task, how, seed, most) for seed in range(1 if options.quick else SEEDS)]
            needed = float(np.mean([each.reaches() for each in found]))
            cells = [name, how, f"{needed:.0f}" if np.isfinite(needed) else "–"]
            cells += [f"{np.mean([each.at(c) for each in found]):.3f}" for c in (100, 200, 300)]
            if how == "the rule":
                cells += [f"{share:.3f}" for share in coverage(found[0], sessions, 0)]
            report.add(*cells)


if __name__ == "__main__":
    main()
