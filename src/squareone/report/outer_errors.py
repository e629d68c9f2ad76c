"""Errors on outer rows: of rows that no choice has seen, against guessing and boosted trees.

Encoder, kernel, metric, λ, calibration and threshold are all chosen without these rows. So are the
rivals: the mean (or the shares of the classes), and boosted trees on columns encoded by the same
training rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from ..arrays import Array
from ..fitting.class_probabilities import calibrated
from ..rows.mapped_table import is_mapped
from ..tables.encoded_rows import rows_of_table
from ..tables.settled_table import settled
from ..tables.table_encoder import TableEncoder

__all__ = ["OuterErrors", "fitted_to", "left_out_errors", "outer_errors", "outer_folds"]

#: Rows up to which there are five folds; beyond, a fifth of the rows is held out, at most so many.
MOST_FOLDED, MOST_OUTER, N_FOLDS = 5000, 10_000, 5
#: Rows of a fold in which columns are dealt anew, and columns for which that is done.
PERMUTED_ROWS, _PERMUTED = 1000, 40
# Rows up to which all is chosen by folds of whole groups.
_GROUPED_ROWS = 20_000
# Rows of a table on the disk from which boosted trees learn.
_TREE_ROWS = 200_000
# What is said where rows have weights, by which the model learns.
_EACH_ONCE = "; weights teach, and in these figures each row counts once"
# Parts of the outer rows of which each is covered by intervals from the others.
_COVERAGE_PARTS = 5


@dataclass
class OuterErrors:
    """Predictions of rows by models that have not seen them.

    Attributes
    ----------
    task : str
        ``"regression"`` or ``"classification"``.
    rows : array (m,)
        Their positions in the table that was given.
    folds : array (m,)
        The fold of each.
    truth : array (m,)
        Targets, or numbers of classes.
    model, guess, trees : array (m,) or (m, k)
        What each predicts: numbers, or probabilities of the classes. Trees may be missing.
    decided : array (m,) or None
        The class the model decides for.
    classes : tuple of str
    permuted : dict of str to (float, float)
        By how much the mean square error rises if the values of a column are dealt anew, and its
        standard error.
    how : str
        How it was measured.
    optimistic : bool
        Whether the choice was made by these numbers.
    seconds : dict of str to float
        What model and trees took, all folds together.
    threshold : float or None
        Of the probability of the second class, the mean over folds.
    """

    task: str
    rows: Array
    folds: Array
    truth: Array
    model: Array
    guess: Array
    trees: Array | None
    how: str
    decided: Array | None = None
    classes: tuple[str, ...] = ()
    permuted: dict[str, tuple[float, float]] = field(default_factory=dict)
    optimistic: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    threshold: float | None = None

    # --- square losses, by which everything is compared ---

    def losses(self, of: Array) -> Array:
        """The square error (m,) of each row; of probabilities summed over classes (Brier)."""
        if self.task == "regression":
            return np.square(of - self.truth)
        truth = np.eye(len(self.classes))[self.truth]
        return np.square(of - truth).sum(axis=1)

    def compared(self, other: Array) -> tuple[float, float]:
        """How much larger the mean square loss of ``other`` is, and the standard error of that.

        Paired, row by row; with folds a row's neighbours in its fold share a model, and so the
        error is not smaller than that of the means of folds says.
        """
        return mean_and_error(self.losses(other) - self.losses(self.model), self.folds)

    def error(self, of: Array) -> tuple[float, float]:
        """Root mean square error, or the share of wrong decisions, with its standard error."""
        if self.task == "regression":
            mean, spread = mean_and_error(self.losses(of), self.folds)
            root = float(np.sqrt(mean))
            return root, spread / (2.0 * root) if root else 0.0
        decided = of.argmax(axis=1)
        if of is self.model and self.decided is not None:
            decided = self.decided
        wrong = (decided != self.truth).astype(float)
        share = float(wrong.mean())
        m = wrong.size
        # of Agresti and Coull, which is not nought where no row is wrong
        smoothed = (wrong.sum() + 2.0) / (m + 4.0)
        return share, float(np.sqrt(smoothed * (1.0 - smoothed) / (m + 4.0)))

    @property
    def one_class(self) -> bool:
        """Whether all rows are of one class, of which every model that knows it is right."""
        return self.task == "classification" and np.unique(self.truth).size < 2

    @property
    def explained(self) -> float:
        """The share of the mean square loss of guessing that the model takes away."""
        guess = float(self.losses(self.guess).mean())
        return 1.0 - float(self.losses(self.model).mean()) / guess if guess else 0.0

    # --- intervals ---

    @property
    def errors(self) -> Array:
        """Targets less predictions (m,), ascending: what intervals are made of."""
        return np.sort(self.truth - self.model)

    def coverage(self, level: float) -> tuple[float, float] | None:
        """The share of outer rows inside intervals made of the errors of others, and its error.

        None where there are too few rows for such intervals.
        """
        parts = self._parts()
        inside = np.zeros(self.truth.size, bool)
        errors = self.truth - self.model
        for part in np.unique(parts):
            own = parts == part
            ends = interval_ends(np.sort(errors[~own]), level)
            if ends is None:
                return None
            inside[own] = (errors[own] >= ends[0]) & (errors[own] <= ends[1])
        share = float(inside.mean())
        return share, float(np.sqrt(share * (1 - share) / inside.size))

    def _parts(self) -> Array:
        if np.unique(self.folds).size > 1:
            return self.folds
        rng = np.random.default_rng(0)
        return rng.permutation(self.truth.size) % _COVERAGE_PARTS


def interval_ends(errors: Array, level: float) -> tuple[float, float] | None:
    """What to add to a prediction for an interval that covers a share ``level`` of new targets.

    From sorted errors (m,) of rows like them: as many are left out below as above. None where
    there are too few.
    """
    m = errors.size
    tail = 0.5 * (1.0 - level)
    low = int(np.floor(tail * (m + 1) + 1e-9)) - 1
    high = int(np.ceil((1.0 - tail) * (m + 1) - 1e-9)) - 1
    if low < 0 or high >= m:
        return None
    return float(errors[low]), float(errors[high])


def mean_and_error(values: Array, folds: Array) -> tuple[float, float]:
    """The mean (of (m,)) and its standard error: of rows, or of folds where that is larger."""
    mean = float(values.mean())
    of_rows = float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else np.inf
    numbers = np.unique(folds)
    if numbers.size < 3:
        return mean, of_rows
    means = np.array([values[folds == number].mean() for number in numbers])
    of_folds = float(means.std(ddof=1) / np.sqrt(numbers.size))
    return mean, max(of_rows, of_folds)


def outer_folds(
    y: Array, task: str, *, groups: Array | None = None, order: Array | None = None, seed: int = 0
) -> tuple[list[tuple[Array, Array]], str]:
    """Rows that teach and rows that are predicted, and in words how they were dealt.

    Parameters
    ----------
    y : array (n,)
    task : str
    groups : array (n,), optional
        Rows of a group stay together.
    order : array (n,), optional
        Times: later rows are predicted from earlier ones.
    seed : int
    """
    from sklearn import model_selection as splits

    n, many = y.size, y.size > MOST_FOLDED
    outer = min(MOST_OUTER, n // 5)
    if order is not None:
        places = np.argsort(order, kind="stable")
        if many:
            return [(places[:-outer], places[-outer:])], f"the last {outer:,} rows in time"
        parts = splits.TimeSeriesSplit(N_FOLDS).split(places)
        found = [(places[a], places[b]) for a, b in parts]
        return found, "five parts in time, each predicted from all rows before it"
    if groups is not None:
        count = np.unique(groups).size
        if many:
            share = splits.GroupShuffleSplit(1, test_size=outer / n, random_state=seed)
            said = "about a fifth of the groups, held out"
            return list(share.split(y, y, groups)), said
        k = min(N_FOLDS, count)
        return list(splits.GroupKFold(k).split(y, y, groups)), f"{k} folds of whole groups"
    classes = task == "classification"
    if many:
        kind = splits.StratifiedShuffleSplit if classes and _each(y, 2) else splits.ShuffleSplit
        share = kind(1, test_size=outer, random_state=seed)
        return list(share.split(y, y)), f"{outer:,} rows at random, held out"
    kind = splits.StratifiedKFold if classes and _each(y, N_FOLDS) else splits.KFold
    found = list(kind(N_FOLDS, shuffle=True, random_state=seed).split(y, y))
    return found, "five folds: each fifth of the rows predicted from the other four"


def _each(y: Array, count: int) -> bool:
    return bool(np.unique(y, return_counts=True)[1].min() >= count)


def fitted_to(
    estimator: Any, X: Any, y: Array, weights: Array | None = None, groups: Array | None = None
) -> Any:
    """An estimator of tables, fitted; with groups it chooses by folds of whole ones.

    Otherwise a row that is left out would be known by heart from the others of its group, and the
    choice be one that knows rows by heart. Beyond 20,000 rows that is left undone: the error shows
    what it costs.
    """
    count = 0 if groups is None else np.unique(groups).size
    if count < 2 or y.size > _GROUPED_ROWS or estimator.cv is not None:
        return estimator.fit(X, y, sample_weight=weights)
    from sklearn.model_selection import GroupKFold

    estimator.set_params(cv=GroupKFold(min(N_FOLDS, count)))
    try:
        return estimator.fit(X, y, sample_weight=weights, groups=groups)
    finally:
        estimator.set_params(cv=None)  # a splitter cannot be saved


def outer_errors(
    estimator: Any,
    X: Any,
    y: Array,
    task: str,
    *,
    weights: Array | None = None,
    groups: Array | None = None,
    order: Array | None = None,
    seed: int = 0,
    permute: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> OuterErrors:
    """Measure an estimator of tables on rows that nothing has seen.

    Parameters
    ----------
    estimator : TableRegressor or TableClassifier
        Not fitted, or fitted: it is cloned.
    X : table (n, d)
    y : array (n,)
    task : str
    weights : array (n,), optional
    groups, order : array (n,), optional
        See :func:`outer_folds`.
    seed : int
    permute : bool
        Whether to deal the values of each column anew.
    tell : callable
        Is told how far it is.

    Notes
    -----
    **Cost**: five whole fits, or one beyond 5,000 rows.
    """
    X = settled(X, type(estimator).__name__)
    folds, how = outer_folds(y, task, groups=groups, order=order, seed=seed)
    classes: Any = None
    codes: Any = None
    if task == "classification":
        classes, codes = np.unique(y, return_inverse=True)
    seconds = {"model": 0.0, "trees": 0.0}
    parts: list[dict[str, Any]] = []
    rises: list[dict[str, Array]] = []
    for number, (train, test) in enumerate(folds):
        tell(f"outer part {number + 1} of {len(folds)}: {train.size:,} rows teach")
        if classes is not None and np.unique(codes[train]).size < 2:
            continue
        part = _part(estimator, X, y, codes, classes, train, test, weights, groups, seconds)
        part |= {"rows": test, "folds": np.full(test.size, number)}
        parts.append(part)
        if permute:
            rises.append(_permuted(part["fitted"], X, test, y, codes, classes, seed))
    if not parts:
        msg = "no outer part has rows of two classes to learn from: more rows are needed"
        raise ValueError(msg)

    def together(name: str) -> Array:
        return np.concatenate([part[name] for part in parts])

    thresholds = [part["threshold"] for part in parts if part["threshold"] is not None]
    permuted = {}
    for name in rises[0] if rises else ():
        found = [rise[name] for rise in rises if name in rise]
        numbers = np.repeat(np.arange(len(found)), [each.size for each in found])
        permuted[name] = mean_and_error(np.concatenate(found), numbers)
    return OuterErrors(
        task=task,
        rows=together("rows"),
        folds=together("folds"),
        truth=together("truth"),
        model=together("model"),
        guess=together("guess"),
        trees=together("trees"),
        decided=None if classes is None else together("decided"),
        classes=() if classes is None else tuple(map(str, classes)),
        permuted=permuted,
        how=how + _left_out_of_it(X, folds, len(parts), weights),
        seconds=seconds,
        threshold=float(np.mean(thresholds)) if thresholds else None,
    )


def _left_out_of_it(X: Any, folds: list[tuple[Array, Array]], count: int, weights: Any) -> str:
    """What was not done as everywhere, of ``count`` parts that were predicted, in words."""
    said = ""
    if is_mapped(X) and folds[0][0].size > _TREE_ROWS:
        said += f"; boosted trees have learned from {_TREE_ROWS:,} of the other rows"
    if weights is not None:
        said += _EACH_ONCE
    if count < len(folds):
        left = len(folds) - count
        said += f"; {left} of the {len(folds)} left out, without which there is one class only"
    return said


def _part(
    estimator: Any,
    X: Any,
    y: Array,
    codes: Any,
    classes: Any,
    train: Array,
    test: Array,
    weights: Array | None,
    groups: Array | None,
    seconds: dict[str, float],
) -> dict[str, Any]:
    """Predictions of the rows ``test`` by model, guess and trees of the rows ``train``."""
    some = None if weights is None else weights[train]
    learn, new = rows_of_table(X, train), rows_of_table(X, test)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the fit to all rows are shown
        together = None if groups is None else groups[train]
        fitted = fitted_to(clone(estimator), learn, y[train], some, together)
        found: dict[str, Any] = {"fitted": fitted, "threshold": None}
        if classes is None:
            found["model"] = np.asarray(fitted.predict(new), np.float64)
            found["truth"] = y[test].astype(np.float64)
            found["guess"] = np.full(test.size, np.average(y[train], weights=some))
        else:
            places = np.searchsorted(classes, fitted.classes_)
            found["model"] = _spread(fitted.predict_proba(new), places, classes.size)
            found["truth"] = codes[test]
            shares = np.bincount(codes[train], some, classes.size)
            found["guess"] = np.tile(shares / shares.sum(), (test.size, 1))
            found["decided"] = np.searchsorted(classes, fitted.predict(new))
            if classes.size == 2 and fitted.classes_.size == 2:
                found["threshold"] = float(fitted.probability_threshold_)
    seconds["model"] += time.perf_counter() - started
    started = time.perf_counter()
    found["trees"] = _trees(learn, new, y[train], classes, some)
    seconds["trees"] += time.perf_counter() - started
    return found


def _spread(probabilities: Array, places: Array, k: int) -> Array:
    """Columns of the classes a model knows among those of all."""
    found = np.zeros((probabilities.shape[0], k))
    found[:, places] = probabilities
    return found


def _trees(learn: Any, new: Any, y: Array, classes: Any, weights: Array | None) -> Array:
    """What boosted trees predict of the rows ``new``, on columns encoded by the others."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if is_mapped(learn) and y.size > _TREE_ROWS:
        some = np.sort(np.random.default_rng(0).choice(y.size, _TREE_ROWS, replace=False))
        learn, y = rows_of_table(learn, some), y[some]
        weights = None if weights is None else weights[some]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task = "regression" if classes is None else "classification"
        encoder = TableEncoder(task=task, random_state=0)
        rows = encoder.fit_transform(learn, y, weights)
        new_rows = encoder._outputs(new)
        if classes is None:
            return (
                HistGradientBoostingRegressor(random_state=0)
                .fit(rows, y, weights)
                .predict(new_rows)
            )
        trees = HistGradientBoostingClassifier(random_state=0)
        # a class of one row cannot be put aside to see when to stop
        trees.set_params(early_stopping=bool(y.size > 10_000 and _each(y, 10)))
        trees.fit(rows, y, weights)
        places = np.searchsorted(classes, trees.classes_)
        return _spread(trees.predict_proba(new_rows), places, classes.size)


def _permuted(
    fitted: Any, X: Any, test: Array, y: Array, codes: Any, classes: Any, seed: int
) -> dict[str, Array]:
    """How much larger the losses of rows are if a column's values are dealt anew."""
    rng = np.random.default_rng(seed)
    some = test if test.size <= PERMUTED_ROWS else rng.choice(test, PERMUTED_ROWS, replace=False)
    encoder = fitted.encoder_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = encoder._outputs(rows_of_table(X, some)).astype(fitted._recorded().model.dtype)

    def losses(encoded: Array) -> Array:
        record = fitted._recorded()
        values = record.model.values(encoded)
        if classes is None:
            return np.square(record.targets.shaped(values) - y[some])
        probabilities = calibrated(record, values)
        places = np.searchsorted(classes, fitted.classes_)
        truth = np.eye(classes.size)[codes[some]]
        return np.square(_spread(probabilities, places, classes.size) - truth).sum(axis=1)

    before = losses(rows)
    owners = encoder.output_columns_
    order = np.argsort(-fitted.feature_importances_, kind="stable")[:_PERMUTED]
    names = [encoder.columns_[j].name for j in order if encoder.columns_[j].outputs]
    found = {}
    for name in names:
        own = np.flatnonzero(owners == name)
        moved = rows.copy()
        moved[:, own] = rows[rng.permutation(some.size)][:, own]
        found[name] = losses(moved) - before
    return found


def left_out_errors(
    estimator: Any, y: Array, rows: Array, *, weighted: bool = False
) -> OuterErrors:
    """The errors by which the choice was made, of a fitted estimator: optimistic, and for nothing.

    Parameters
    ----------
    estimator : TableRegressor or TableClassifier
        Fitted.
    y : array (n,)
        The targets of the fit.
    rows : array (n,)
        Positions of the rows of the fit.
    weighted : bool
        Whether these had weights.
    """
    record = estimator._recorded()
    some = record.kept[record.scored_rows]
    how = "leaving rows out, by the same numbers by which the choice was made"
    if weighted:
        how += _EACH_ONCE
    shared: dict[str, Any] = {
        "rows": rows[some],
        "folds": np.zeros(some.size, int),
        "trees": None,
        "how": how,
        "optimistic": True,
    }
    if not hasattr(estimator, "classes_"):
        values = record.unseen_values[some, 0] if record.scored is None else record.scored_values
        truth = y[some].astype(np.float64)
        return OuterErrors(
            task="regression",
            truth=truth,
            model=np.asarray(values, np.float64).reshape(-1),
            guess=np.full(truth.size, y.mean()),
            **shared,
        )
    classes, codes = np.unique(y, return_inverse=True)
    probabilities = calibrated(record, record.comparable_scored_values)
    shares = np.bincount(codes) / codes.size
    values = record.comparable_scored_values
    decided = np.searchsorted(classes, estimator._decode(values))
    threshold = estimator.probability_threshold_ if classes.size == 2 else None
    return OuterErrors(
        task="classification",
        truth=codes[some],
        model=probabilities,
        guess=np.tile(shares, (some.size, 1)),
        decided=decided,
        classes=tuple(map(str, classes)),
        threshold=threshold,
        **shared,
    )
