"""Checks of a table and its model for what makes an error look smaller than it will be.

Each has a code by which it can be silenced.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone

from ..arrays import Array
from ..estimators import RLSClassifier, RLSRegressor
from ..tables.encoded_rows import rows_of_table, transformed
from ..tables.table_encoder import TableEncoder
from .outer_errors import OuterErrors
from .verdict import number, percent

__all__ = ["CODES", "Check", "check_codes", "checks_of_table", "looked_at"]

#: What each code is about.
CODES = {
    "SQ001": "a column that predicts too well",
    "SQ002": "equal rows",
    "SQ003": "identifiers",
    "SQ004": "rows in order",
    "SQ005": "drift between tables",
    "SQ006": "targets cut off",
    "SQ007": "rare classes",
}
# A share of the gain over guessing that one column gives, and that the model has to give.
_TOO_WELL = 0.95
# Columns, those that matter most to the model, of which the order of the target is asked.
_MOST_ALONE = 40
# Rows, and folds, that a single column is looked at in; leaves have so many rows at least.
_ROWS, _FOLDS, _LEAF = 4000, 5, 5
# Rows in which equal ones are kept together, and are not; a number that spreads bits.
_TWINS, _MIX = 2000, np.uint64(0x9E3779B97F4A7C15)
# Neighbouring errors are alike from this correlation on, and from this many standard errors.
_ALIKE, _BEYOND = 0.2, 4.0
# A value at the end of a range, that so many rows have, is one at which targets were cut off.
_CUT_SHARE, _CUT_ROWS, _CUT_TIMES = 0.02, 10, 5
_RARE = 20
_LISTED = 8


@dataclass(frozen=True)
class Check:
    """What a check has found.

    Attributes
    ----------
    code : str
    title : str
    text : str
        What it is, and what to do about it.
    columns : tuple of str
        Those it is about.
    """

    code: str
    title: str
    text: str
    columns: tuple[str, ...] = field(default=())


def checks_of_table(
    X: Any,
    y: Array,
    outer: OuterErrors,
    estimator: Any,
    *,
    ignore: Sequence[str] = (),
    ordered: bool = False,
) -> list[Check]:
    """What is to be looked at before the error is believed.

    Parameters
    ----------
    X : table (n, d)
    y : array (n,)
    outer : OuterErrors
    estimator : TableRegressor or TableClassifier
        Fitted.
    ignore : sequence of str
        Codes that are silenced.
    ordered : bool
        Whether errors are of later rows already.

    Notes
    -----
    **Cost**: for every column five small trees of at most 4,000 rows where the model explains
    95 %, and of a regression as many for each of the 40 columns that matter most; a sort of the
    encoded rows; where some are equal ten fits to 1,600 rows at most.
    """
    found: list[Check | None] = []
    if "SQ001" not in ignore:
        found += _too_well(X, y, outer, estimator)
    if "SQ002" not in ignore:
        found.append(_equal_rows(X, y, outer.task, estimator))
    if "SQ003" not in ignore:
        found.append(_identifiers(estimator))
    if "SQ004" not in ignore and not ordered:
        found.append(_in_order(outer))
    if "SQ006" not in ignore and outer.task == "regression":
        found.append(_cut_off(y))
    if "SQ007" not in ignore and outer.task == "classification":
        found.append(_rare_classes(y))
    return [check for check in found if check is not None]


def check_codes(codes: Sequence[str]) -> None:
    """Refuse what is no code of a check."""
    unknown = sorted(set(codes) - set(CODES))
    if unknown:
        msg = f"{', '.join(unknown)}: codes of checks are {', '.join(CODES)}"
        raise ValueError(msg)


def looked_at(n: int) -> str:
    """What of ``n`` rows a cap has left out of the checks, in words; empty for nothing."""
    if n <= _ROWS:
        return ""
    return f"SQ001 looks at {_ROWS:,} of {n:,} rows, drawn at random."


def _check(code: str, text: str, columns: Sequence[str] = ()) -> Check:
    return Check(code, CODES[code], text, tuple(columns))


# --- one column alone ---


def _too_well(X: Any, y: Array, outer: OuterErrors, estimator: Any) -> list[Check | None]:
    """Columns that give nearly all of the gain, used or left out as identifiers.

    Of a regression also those that give the order of the targets: where a few targets are far from
    the others, the square error is theirs, and a band that each row was put into says little of it.
    """
    encoder = estimator.encoder_
    used = {c.name for c in encoder.columns_ if c.outputs}
    numbered = {c.name for c in encoder.columns_ if c.kind == "identifier"}
    gain = {name for name in used if outer.explained >= _TOO_WELL} | numbered
    order: set[str] = set()
    if outer.task == "regression":
        first = np.argsort(-estimator.feature_importances_, kind="stable")[:_MOST_ALONE]
        order = numbered | ({encoder.columns_[j].name for j in first} & used)
    names = [c.name for c in encoder.columns_ if c.name in gain | order]
    if not names:
        return []
    rng = np.random.default_rng(0)
    some = np.arange(y.size)
    if some.size > _ROWS:
        some = np.sort(rng.choice(some, _ROWS, replace=False))
    folds = rng.permutation(some.size) % _FOLDS
    mine = TableEncoder(drop_identifiers=False, many_levels="hash", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = rows_of_table(X, some)
        rows = mine.fit_transform(table)
    ranks = rankdata(y[some]) if order else y[some]
    found: list[Check | None] = []
    for name in names:
        own = np.flatnonzero(mine.output_columns_ == name)
        if not own.size:
            continue
        best = outer.explained if name in used else 1.0
        share = _alone(rows[:, own], y[some], folds, outer.task) if name in gain else 0.0
        if name in gain and share >= _TOO_WELL * best:
            gaps = [j for j in own if str(mine.get_feature_names_out()[j]).endswith("=(gap)")]
            by_gaps = bool(gaps) and _alone(rows[:, gaps], y[some], folds, outer.task) >= (
                _TOO_WELL * best
            )
            said = _said_too_well(name, f"{percent(share)} of what guessing gets wrong", by_gaps)
        elif name in order:
            share = _alone(rows[:, own], ranks, folds, outer.task)
            if share < _TOO_WELL:
                continue
            said = _said_too_well(name, f"{percent(share)} of the order of the targets", False)
        else:
            continue
        found.append(_check("SQ001", said + _asked(name, used=name in used), [name]))
    return found


def _said_too_well(name: str, what: str, by_gaps: bool) -> str:
    column = f"whether {name} has a value" if by_gaps else name
    return f"{column} alone explains {what}"


def _asked(name: str, *, used: bool) -> str:
    if not used:
        return (
            ", although it looks like an identifier and is not used: the rows seem to be sorted by "
            "the target, or numbered after it was known."
        )
    return (
        ". Is it known before the target is, or made from it? If it is not known when you predict, "
        f'leave it out: --drop "{name}".'
    )


def _alone(rows: Array, y: Array, folds: Array, task: str) -> float:
    """The share of the square loss of guessing that a tree of these columns takes away."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    loss = guess = 0.0
    classes, codes = np.unique(y, return_inverse=True)
    truth = np.eye(classes.size)[codes] if task == "classification" else y[:, None]
    for fold in range(_FOLDS):
        train, test = folds != fold, folds == fold
        mean = truth[train].mean(axis=0)
        if task == "classification":
            if np.unique(codes[train]).size < 2:
                continue
            tree = DecisionTreeClassifier(min_samples_leaf=_LEAF, random_state=0)
            tree.fit(rows[train], codes[train])
            values = np.zeros((int(test.sum()), classes.size))
            values[:, tree.classes_] = tree.predict_proba(rows[test])
        else:
            tree = DecisionTreeRegressor(min_samples_leaf=_LEAF, random_state=0)
            values = tree.fit(rows[train], y[train]).predict(rows[test])[:, None]
        loss += float(np.square(values - truth[test]).sum())
        guess += float(np.square(mean - truth[test]).sum())
    return 1.0 - loss / guess if guess else 0.0


# --- rows ---


def _equal_rows(X: Any, y: Array, task: str, estimator: Any) -> Check | None:
    """Rows that others are equal to in all columns, and the error when equals are kept together."""
    encoder = estimator.encoder_
    _, group, counts = np.unique(_keys(X, y.size, encoder), return_inverse=True, return_counts=True)
    repeated = counts[group] > 1
    share = float(repeated.mean())
    if share < 0.01 or repeated.sum() < 10:
        return None
    where = "all columns that are used" if encoder.dropped_ else "all columns"
    text = f"{int(repeated.sum()):,} rows ({percent(share)}) are equal to another in {where}."
    some = _whole_groups(group, counts)
    rows = _encoded(X, some, encoder)
    apart, together = _apart_and_together(rows, y[some], group[some], task, estimator)
    if np.isfinite([apart, together]).all():
        taken = "all" if some.size == y.size else f"{some.size:,} of the"
        wrong = task == "classification"
        said = f"wrong in {percent(apart)}" if wrong else f"off by {number(apart)}"
        kept = percent(together) if wrong else number(together)
        text += (
            f" In five folds of {taken} rows, with this kernel and λ, predictions are {said} where "
            f"equal rows are dealt apart, and {'in' if wrong else 'by'} {kept} where they are kept "
            "together."
        )
    return _check(
        "SQ002", f"{text} If equal rows are one thing measured twice, name it with --groups."
    )


def _encoded(X: Any, rows: Array, encoder: TableEncoder) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return transformed(encoder, rows_of_table(X, rows))


def _keys(X: Any, n: int, encoder: TableEncoder) -> Array:
    """A number of 64 bits for each row (n,): equal rows have the same, and others hardly ever.

    Each bit of a cell is spread over all of a number before the cells of a row are added, each
    times an odd number of its own.
    """
    rng = np.random.default_rng(0)
    factors = rng.integers(1, 2**63, encoder.output_columns_.size, dtype=np.uint64) * 2 + 1
    keys = np.empty(n, np.uint64)
    for start in range(0, n, _ROWS):
        part = np.arange(start, min(n, start + _ROWS))
        cells = (_encoded(X, part, encoder).astype(np.float64) + 0.0).view(np.uint64)
        for shift in (np.uint64(32), np.uint64(29)):
            cells = (cells ^ (cells >> shift)) * _MIX
        keys[part] = (cells * factors).sum(axis=1, dtype=np.uint64)
    return keys


def _whole_groups(group: Array, counts: Array) -> Array:
    """Rows (m,) of groups drawn at random, so many that the rows are few."""
    order = np.random.default_rng(0).permutation(counts.size)
    taken = order[: max(_FOLDS, int((np.cumsum(counts[order]) <= _TWINS).sum()))]
    return np.flatnonzero(np.isin(group, taken))


def _apart_and_together(
    rows: Array, y: Array, group: Array, task: str, estimator: Any
) -> tuple[float, float]:
    """Errors in folds of rows, and in folds of whole groups, at the kernel and λ of a model."""
    rng = np.random.default_rng(0)
    numbers, group = np.unique(group, return_inverse=True)
    of_rows = rng.permutation(y.size) % _FOLDS
    of_groups = (rng.permutation(numbers.size) % _FOLDS)[group]
    kind = RLSRegressor if task == "regression" else RLSClassifier
    alpha = float(np.mean(estimator.alpha_))
    errors = []
    for folds in (of_rows, of_groups):
        losses = np.full(y.size, np.nan)
        for fold in range(_FOLDS):
            train, test = folds != fold, folds == fold
            if not test.any() or (task == "classification" and np.unique(y[train]).size < 2):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                again = kind(clone(estimator.kernel_), alpha=alpha)
                found = again.fit(rows[train], y[train]).predict(rows[test])
            losses[test] = np.square(found - y[test]) if task == "regression" else found != y[test]
        mean = float(np.nanmean(losses)) if np.isfinite(losses).any() else np.nan
        errors.append(float(np.sqrt(mean)) if task == "regression" else mean)
    return errors[0], errors[1]


def _identifiers(estimator: Any) -> Check | None:
    names = [c.name for c in estimator.encoder_.columns_ if c.kind == "identifier"]
    if not names:
        return None
    some = ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
    differ = (
        "differ in nearly every row, and are"
        if len(names) > 1
        else ("differs in nearly every row, and is")
    )
    text = f"{some} {differ} not used: what tells rows apart says nothing of new ones."
    return _check("SQ003", text, names)


def _in_order(outer: OuterErrors) -> Check | None:
    """Neighbouring rows whose errors are alike."""
    order = np.argsort(outer.rows, kind="stable")
    rows = outer.rows[order]
    if outer.task == "regression":
        errors = (outer.truth - outer.model)[order]
    else:
        errors = (outer.truth > 0).astype(float)[order] - (1.0 - outer.model[order, 0])
    neighbours = np.diff(rows) <= 2
    first, second = errors[:-1][neighbours], errors[1:][neighbours]
    if first.size < 50 or not first.std() or not second.std():
        return None
    alike = float(np.corrcoef(first, second)[0, 1])
    if alike < max(_ALIKE, _BEYOND / np.sqrt(first.size)):
        return None
    return _check(
        "SQ004",
        f"Errors of neighbouring rows are alike (correlation {number(alike, 2)}): the rows are in "
        "an order that matters, such as time, and errors of random rows are too small. Measure "
        "with --time-column or --groups.",
    )


# --- targets ---


def _cut_off(y: Array) -> Check | None:
    values, counts = np.unique(y, return_counts=True)
    if values.size < 20:
        return None
    usual = float(np.median(counts))
    ends = {"greatest": counts[-1], "least": counts[0]}
    cut = [
        f"{int(count):,} rows have exactly the {which}"
        for which, count in ends.items()
        if count >= max(_CUT_ROWS, _CUT_SHARE * y.size) and count > _CUT_TIMES * usual
    ]
    if not cut:
        return None
    return _check(
        "SQ006",
        f"{' and '.join(cut)} value of the target: it seems to be cut off there, and predictions "
        "cannot go beyond.",
    )


def _rare_classes(y: Array) -> Check | None:
    counts = np.unique(y, return_counts=True)[1]
    rare = counts[counts < _RARE]
    if not rare.size:
        return None
    several = rare.size > 1
    return _check(
        "SQ007",
        f"{rare.size:,} class{'es have' if several else ' has'} fewer than {_RARE} rows: what is "
        f"said of {'them' if several else 'it'} rests on very little.",
    )
