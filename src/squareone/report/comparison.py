"""Comparing models of a table: repeated folds, all of each model inside, and what chance may do.

The corrected resampled t test of Nadeau & Bengio (2003, eq. 10): training sets of different folds
overlap, so that the variance of the mean of J differences is not s²/J but (1/J + n₂/n₁) s², for
n₁ rows that teach and n₂ that are predicted.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..arrays import Array
from ..tables.encoded_rows import rows_of_table
from ..tables.settled_table import settled
from ..tables.table_encoder import TableEncoder
from .outer_errors import fitted_to

__all__ = ["Comparison", "Rival", "compare", "rivals_of"]

#: How often rows are dealt into how many folds, and rows at most.
REPEATS, FOLDS, MOST_ROWS = 3, 5, 5000
#: Chance that two that are the same are called different.
LEVEL = 0.05


@dataclass(frozen=True)
class Rival:
    """A model in a comparison.

    Attributes
    ----------
    name : str
    settings : str
        In words.
    estimator : object
        Not fitted.
    takes_tables : bool
        Whether it takes the table itself; otherwise rows encoded by a ``TableEncoder`` of the
        training rows.
    """

    name: str
    settings: str
    estimator: Any
    takes_tables: bool = False


@dataclass
class Comparison:
    """Losses of models in the same folds.

    Attributes
    ----------
    names, settings : list of str
        The first is the one the others are compared with.
    losses : array (J, q)
        Mean square errors, or Brier scores, by fold.
    wrong : array (J, q) or None
        Shares of wrong decisions.
    seconds : array (q,)
    overlap : float
        n₂/n₁.
    rows : int
    """

    names: list[str]
    settings: list[str]
    losses: Array
    wrong: Array | None
    seconds: Array
    overlap: float
    rows: int

    def error(self, place: int) -> float:
        """Root mean square error over all folds, or the share of wrong decisions."""
        if self.wrong is not None:
            return float(self.wrong[:, place].mean())
        return float(np.sqrt(self.losses[:, place].mean()))

    def difference(self, place: int) -> tuple[float, float, float]:
        """Mean loss of a model less that of the first, its standard error, and the chance p."""
        from scipy.special import stdtr

        gaps = self.losses[:, place] - self.losses[:, 0]
        count = gaps.size
        mean = float(gaps.mean())
        spread = float(np.sqrt((1.0 / count + self.overlap) * gaps.var(ddof=1)))
        if spread == 0:
            return mean, 0.0, 1.0 if mean == 0 else 0.0
        return mean, spread, float(2.0 * stdtr(count - 1, -abs(mean) / spread))

    def verdict(self, place: int) -> str:
        """How the first compares with another: ``"better"``, ``"worse"`` or ``"cannot tell"``."""
        mean, _, p = self.difference(place)
        if p > LEVEL:
            return "cannot tell"
        return "better" if mean > 0 else "worse"


def rivals_of(task: str) -> list[Rival]:
    """Guessing, a linear model, random forests and boosted trees, with settings that are usual."""
    from sklearn import dummy, ensemble, linear_model

    if task == "regression":
        linear: Any = linear_model.RidgeCV(np.logspace(-3, 5, 17))
        return [
            Rival("guessing", "the mean", dummy.DummyRegressor()),
            Rival("linear", "ridge, its penalty by leave-one-out among 17", linear),
            Rival("forest", "300 trees", ensemble.RandomForestRegressor(300, random_state=0)),
            Rival(
                "boosted trees",
                "histogram gradient boosting, default settings",
                ensemble.HistGradientBoostingRegressor(random_state=0),
            ),
        ]
    return [
        Rival("guessing", "shares of the classes", dummy.DummyClassifier(strategy="prior")),
        Rival(
            "linear", "logistic regression, C = 1", linear_model.LogisticRegression(max_iter=1000)
        ),
        Rival("forest", "300 trees", ensemble.RandomForestClassifier(300, random_state=0)),
        Rival(
            "boosted trees",
            "histogram gradient boosting, default settings",
            ensemble.HistGradientBoostingClassifier(random_state=0, early_stopping=False),
        ),
    ]


def compare(
    models: list[Rival],
    X: Any,
    y: Array,
    task: str,
    *,
    groups: Array | None = None,
    repeats: int = REPEATS,
    seed: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Measure models on the same folds, with preparation and tuning inside of each.

    Parameters
    ----------
    models : list of Rival
    X : table (n, d)
    y : array (n,)
    task : str
    groups : array (n,), optional
        Rows of a group stay together.
    repeats : int
        How often rows are dealt anew.
    seed : int
    tell : callable
        Is told how far it is.

    Notes
    -----
    **Cost**: ``5 · repeats`` whole fits of every model.
    """
    X = settled(X, "compare")
    splits = _folds(y, task, groups, repeats, seed)
    classes = np.unique(y) if task == "classification" else None
    losses = np.empty((len(splits), len(models)))
    wrong = np.empty_like(losses)
    seconds = np.zeros(len(models))
    for fold, (train, test) in enumerate(splits):
        tell(f"fold {fold + 1} of {len(splits)}")
        learn, new = rows_of_table(X, train), rows_of_table(X, test)
        encoded: dict[str, Array] = {}
        for place, rival in enumerate(models):
            started = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                estimator = _with_seed(rival.estimator, fold)
                data = (learn, new, y[train], None if groups is None else groups[train])
                values = _predicted(rival, estimator, *data, classes, encoded, task)
            seconds[place] += time.perf_counter() - started
            if classes is None:
                losses[fold, place] = np.mean(np.square(values - y[test]))
            else:
                truth = classes[None, :] == y[test][:, None]
                losses[fold, place] = np.square(values - truth).sum(axis=1).mean()
                wrong[fold, place] = np.mean(classes[values.argmax(axis=1)] != y[test])
    sizes = [(train.size, test.size) for train, test in splits]
    overlap = float(np.mean([test / train for train, test in sizes]))
    return Comparison(
        names=[rival.name for rival in models],
        settings=[rival.settings for rival in models],
        losses=losses,
        wrong=None if classes is None else wrong,
        seconds=seconds,
        overlap=overlap,
        rows=y.size,
    )


def _folds(
    y: Array, task: str, groups: Array | None, repeats: int, seed: int
) -> list[tuple[Array, Array]]:
    from sklearn import model_selection as splits

    found: list[tuple[Array, Array]] = []
    for repeat in range(repeats):
        if groups is not None:
            numbers = np.unique(groups)
            order = np.random.default_rng(seed + repeat).permutation(numbers.size)
            part = order[np.searchsorted(numbers, groups)] % FOLDS
            pairs = ((part != k, part == k) for k in range(FOLDS))
            found += [(np.flatnonzero(a), np.flatnonzero(b)) for a, b in pairs if b.any()]
            continue
        kind: Any = splits.KFold
        if task == "classification" and np.unique(y, return_counts=True)[1].min() >= FOLDS:
            kind = splits.StratifiedKFold
        found += list(kind(FOLDS, shuffle=True, random_state=seed + repeat).split(y, y))
    return found


def _with_seed(estimator: Any, fold: int) -> Any:
    """The estimator with another seed in every fold: what is compared is no single draw of it."""
    found = clone(estimator)
    seed = getattr(found, "random_state", None)
    if isinstance(seed, int):
        found.set_params(random_state=(1_000_003 * (seed + 1) + fold) % 2**31)
    return found


def _predicted(
    rival: Rival,
    estimator: Any,
    learn: Any,
    new: Any,
    y: Array,
    groups: Array | None,
    classes: Array | None,
    encoded: dict[str, Array],
    task: str,
) -> Array:
    """Numbers (m,), or probabilities (m, k) of all classes."""
    if not rival.takes_tables:
        if not encoded:
            encoder = TableEncoder(task=task, random_state=0)
            encoded["learn"] = encoder.fit_transform(learn, y)
            encoded["new"] = encoder._outputs(new)
        estimator.fit(encoded["learn"], y)
        new = encoded["new"]
    else:
        fitted_to(estimator, learn, y, groups=groups)
    if classes is None:
        return np.asarray(estimator.predict(new), np.float64)
    found = np.zeros((len(new), classes.size))
    found[:, np.searchsorted(classes, estimator.classes_)] = estimator.predict_proba(new)
    return found


def described(found: Comparison) -> list[Mapping[str, Any]]:
    """Each model as numbers and words, the first as what others are compared with."""
    rows: list[Mapping[str, Any]] = []
    for place, name in enumerate(found.names):
        mean, spread, p = found.difference(place) if place else (0.0, 0.0, 1.0)
        rows.append(
            {
                "name": name,
                "settings": found.settings[place],
                "error": found.error(place),
                "loss": float(found.losses[:, place].mean()),
                "difference": mean,
                "standard_error": spread,
                "p": p,
                "verdict": found.verdict(place) if place else "",
                "seconds": float(found.seconds[place]),
            }
        )
    return rows
