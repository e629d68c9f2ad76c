r"""Target means: what the targets are on average at each level, for words of many levels.

The mean of a level with :math:`n_l` rows, and of all rows, differ by :math:`\bar y_l - \bar y`.
A level's value is

.. math:: v_l = \frac1s \, \frac{n_l (\bar y_l - \bar y)}{n_l + m}

with ``smoothing`` m and a scale s for which :math:`\sum_l n_l v_l^2 = n / K` with K columns of
targets: all of them together weigh as much as one number that was standardised. Zero is what is
known of a level that nobody has seen.

The value of a training row comes from the other folds alone, s and the means included, as if the
encoder had been fitted to these: its own target is nowhere in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array

__all__ = [
    "TASKS",
    "level_means",
    "level_sums",
    "out_of_fold_means",
    "target_columns",
    "values_of_sums",
]

#: What the parameter ``task`` may be.
TASKS = ("auto", "regression", "classification")
# Different whole numbers up to which "auto" takes them for classes.
_CLASSES = 20


def target_columns(y: Any, task: str) -> tuple[Array, list[str]]:
    """Targets as columns (n, K), with their names: a number or an indicator of a class each.

    Of two classes the second has a column; several targets have one each, as numbers. The only one
    of its kind has no name.

    **Cost**: a sort of the targets for classes.
    """
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim == 0 or y.ndim > 2:
        msg = f"y has shape {y.shape}: a target for each row, (n,), or several, (n, K), is expected"
        raise ValueError(msg)
    numbers = _numbers(y)
    if y.ndim == 2:
        if numbers is None:
            msg = "y has several columns and not only numbers: classes are expected in one, (n,)"
            raise ValueError(msg)
        return numbers, [str(k) for k in range(y.shape[1])]
    if task == "auto":
        few = y.dtype.kind == "b" or (numbers is not None and _few(numbers))
        task = "classification" if numbers is None or few else "regression"
    if task == "regression":
        numbers = _written_numbers(y) if numbers is None else numbers
        if numbers is None:
            msg = (
                f"y is not numeric ({y.dtype}), and a regression needs numbers: for classes use "
                'TableClassifier, or task="classification" of an encoder'
            )
            raise ValueError(msg)
        return numbers[:, None], [""]
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        msg = f"Unknown label type: y has classes that cannot be put in order ({error})"
        raise ValueError(msg) from error
    if classes.size <= 2:
        return (codes == 1).astype(np.float64)[:, None], [""]
    indicators = (codes[:, None] == np.arange(classes.size)).astype(np.float64)
    return indicators, [str(each) for each in classes.tolist()]


def _written_numbers(y: Array) -> Array | None:
    """Texts as the numbers they are written as; None where one is no number."""
    try:
        return _numbers(y.astype(np.float64))
    except (TypeError, ValueError):
        return None


def _numbers(y: Array) -> Array | None:
    """Finite targets; None where they are no numbers."""
    if y.dtype.kind == "c":
        msg = f"Complex data not supported: y has numbers of type {y.dtype}"
        raise ValueError(msg)
    if y.dtype.kind == "O" and any(isinstance(value, str | bytes) for value in y.flat):
        missing = np.array([value is None or value != value for value in y.flat])
    elif y.dtype.kind in "biufO":
        try:
            numbers = y.astype(np.float64)
        except (TypeError, ValueError) as error:
            msg = f"Unknown label type: y is neither numbers nor texts ({error})"
            raise ValueError(msg) from error
        missing = ~np.isfinite(numbers)
        if not missing.any():
            return numbers
    else:
        return None
    if missing.any():
        row = int(np.argmax(missing.reshape(len(y), -1).any(axis=1)))
        msg = f"Input y contains NaN or infinity, in row {row}: every row needs a target"
        raise ValueError(msg)
    return None


def _few(numbers: Array) -> bool:
    return bool((numbers == np.floor(numbers)).all()) and np.unique(numbers).size <= _CLASSES


def level_means(
    codes: Array, count: int, Y: Array, weights: Array | None, smoothing: float
) -> Array:
    """The values (count, K) of levels, from the level (n,) of each row and targets (n, K).

    **Cost**: two passes over the rows for each target.

    >>> codes, y = np.array([0, 0, 1, 1]), np.array([[1.0], [3.0], [7.0], [9.0]])
    >>> level_means(codes, 3, y, None, smoothing=0.0)[:, 0].tolist()
    [-1.0, 1.0, 0.0]
    """
    away = Y - np.average(Y, axis=0, weights=weights)
    rows, sums = level_sums(codes, count, away, weights)
    return values_of_sums(rows, sums, np.average(Y**2, axis=0, weights=weights), smoothing)


def level_sums(codes: Array, count: int, away: Array, weights: Array | None) -> tuple[Array, Array]:
    """The weight of rows (count,) of each level, and the sums of ``away`` (n, K) → (count, K)."""
    if weights is not None:
        away = away * weights[:, None]
    rows = np.bincount(codes, weights, count).astype(np.float64)
    return rows, np.column_stack([np.bincount(codes, column, count) for column in away.T])


def values_of_sums(rows: Array, sums: Array, square: Array, smoothing: float) -> Array:
    """The values (count, K) of levels, from what :func:`level_sums` gave.

    ``square`` (K,) is the mean square of the targets.
    """
    means = sums / np.where(rows > 0, rows + smoothing, 1.0)[:, None]
    sd = np.sqrt(rows @ means**2 / rows.sum())
    # what rounding has left of equal targets is no difference between levels
    told = sd > 1e-14 * np.sqrt(square)
    return np.where(told, means / np.where(told, sd, 1.0), 0.0) / np.sqrt(sums.shape[1])


def out_of_fold_means(
    codes: Array,
    count: int,
    Y: Array,
    weights: Array | None,
    smoothing: float,
    folds: Array,
) -> Array:
    """The value (n, K) of each row from the rows of the other ``folds`` (n,) alone.

    **Cost**: that of :func:`level_means` for every fold.
    """
    found = np.zeros(Y.shape)
    for fold in range(int(folds.max()) + 1):
        inside = folds == fold
        rest = ~inside
        if inside.any() and rest.any():
            there = None if weights is None else weights[rest]
            means = level_means(codes[rest], count, Y[rest], there, smoothing)
            found[inside] = means[codes[inside]]
    return found
