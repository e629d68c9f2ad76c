"""Classes as columns of numbers: ±1 for two classes, one column per class, per label or per bit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from ..arrays import Array
from .codes import Coding, OneVsAll


@dataclass(frozen=True)
class Code:
    """An error-correcting code for k classes, and the columns that are solved in its place.

    With the code matrix M = USVᵀ (k, c) of rank r the r columns of US are solved, and their product
    with Vᵀ gives those of the code: what is learned is linear in its targets, and rotating columns
    changes no sum of squares. So c columns cost what r do, and r is at most k.

    Attributes
    ----------
    coding : Coding
    matrix : array (k, c)
        A row per class.
    turn : array (r, c)
        Vᵀ, in units in which the mean square of r columns is that of c; the identity where the
        columns of the code are solved one by one.
    """

    coding: Coding
    matrix: Array
    turn: Array

    @classmethod
    def of(cls, coding: Coding, k: int, *, rotated: bool) -> Code:
        """``rotated`` says that all columns have the same λ."""
        matrix = coding.matrix(k)
        c = matrix.shape[1]
        if not rotated:
            return cls(coding, matrix, np.eye(c))
        _, singular, Vt = np.linalg.svd(matrix, full_matrices=False)
        r = int(np.count_nonzero(singular > 1e-9 * singular[0]))
        return cls(coding, matrix, Vt[:r] * np.sqrt(c / r))

    @cached_property
    def rows(self) -> Array:
        """Targets of each class: (k, r)."""
        return self.matrix @ self.turn.T * (self.turn.shape[0] / self._square)

    @property
    def _square(self) -> float:
        """Σ of the squares of the turn: c where it is a rotation."""
        return float(np.square(self.turn).sum())

    def decisions(self, values: Array) -> Array:
        """One column per class (n, k) from solved columns (n, r)."""
        return self.coding.decision_values(self.columns(values), self.matrix)

    def columns(self, values: Array) -> Array:
        """The columns of the code (n, c) from solved ones (n, r)."""
        return values @ self.turn.astype(values.dtype)

    def coefficients(self, solved: Array) -> Array:
        """Coefficients of the decision values (m, k), or of the code (m, c) if not linear."""
        if self.coding.linear:
            return self.decisions(solved)
        return self.columns(solved)


@dataclass(frozen=True)
class Labels:
    """Class labels, one against all or coded, or an indicator matrix of several labels per row.

    Attributes
    ----------
    classes : array (k,)
        The classes, sorted; 0 … labels − 1 for an indicator matrix.
    multilabel : bool
    code : Code or None
        None: one column for two classes, one against all for more.
    """

    classes: Array
    multilabel: bool
    code: Code | None = None

    @classmethod
    def of(cls, y: Any) -> Labels:
        """Read the classes off ``y``: (n,) labels or an (n, labels) indicator matrix."""
        kind = type_of_target(y, input_name="y")
        if kind.startswith("multilabel"):
            return cls(np.arange(y.shape[1]), True)
        if y.ndim == 2:
            msg = (
                f"y has {y.shape[1]} columns of labels ({kind}): one column of classes, or an "
                "indicator matrix of zeros and ones, is expected. Fit one classifier per column, "
                "for instance with sklearn.multioutput.MultiOutputClassifier"
            )
            raise ValueError(msg)
        classes = np.unique(y)
        if classes.size < 2:
            msg = (
                f"y has one class only, {classes.tolist()[0]!r}: a classifier needs at least "
                "two classes to tell apart"
            )
            raise ValueError(msg)
        return cls(classes, False)

    def coded(self, coding: Coding, *, rotated: bool) -> Labels:
        """The same classes in another coding; refused where they do not fit it.

        Two classes have one column in every coding: all others would be that column or its
        negative.
        """
        coding.check_parameters()
        if isinstance(coding, OneVsAll):
            return self
        if self.multilabel:
            msg = (
                f"coding={coding!r} is for classes that exclude each other, and y is an indicator "
                "matrix of several labels per row: leave coding at its default for it"
            )
            raise ValueError(msg)
        code = Code.of(coding, self.classes.size, rotated=rotated)
        return self if self.classes.size == 2 else replace(self, code=code)

    def columns(self, y: Array, dtype: np.dtype) -> Array:
        """±1: (n, 1) for two classes, (n, k) for more, (n, labels) for an indicator matrix.

        With a code the columns to solve for (n, r).
        """
        if self.multilabel:
            return np.where(np.asarray(y) != 0, 1.0, -1.0).astype(dtype)
        if self.code is not None:
            return self.code.rows.astype(dtype)[np.searchsorted(self.classes, y)]
        if self.classes.size == 2:
            return np.where(y == self.classes[1], 1.0, -1.0).astype(dtype)[:, None]
        return np.where(y[:, None] == self.classes, 1.0, -1.0).astype(dtype)

    def truth(self, columns: Array) -> Array:
        """Which class, or which labels, columns of targets stand for: (n, k), (n, labels), (n, 1).

        ``columns`` may be in any unit above zero.
        """
        if self.code is None:
            return columns > 0
        winners = np.argmax(self.code.decisions(columns), axis=1)
        return winners[:, None] == np.arange(self.classes.size)

    def class_numbers(self, columns: Array) -> Array:
        """Which class of several, or of two, columns of targets stand for: (n,)."""
        truth = self.truth(columns)
        return truth[:, 0].astype(int) if truth.shape[1] == 1 else truth.argmax(axis=1)

    @property
    def exclusive(self) -> bool:
        """Whether there are several columns of which one wins."""
        return not self.multilabel and self.classes.size > 2

    def probabilities(self, columns: Array) -> Array:
        """One column per class (n, k), or per label, from probabilities of the columns."""
        if self.multilabel or self.exclusive:
            return columns
        return np.hstack([1.0 - columns, columns])

    def decisions(self, values: Array) -> Array:
        """Decision values (n, k), (n, labels), or (n, 1) for two classes, from solved columns."""
        return values if self.code is None else self.code.decisions(values)

    def shaped(self, values: Array) -> Array:
        """Decision values: (n,) for two classes, (n, k) or (n, labels) otherwise."""
        if not self.multilabel and self.classes.size == 2:
            return values[:, 0]
        return self.decisions(values)

    def residuals(self, errors: Array) -> Array:
        """Errors of the columns that stand for the classes, from those of solved columns."""
        return self.shaped(errors) if self.code is None else self.code.columns(errors)

    def coefficients(self, solved: Array) -> Array:
        """Coefficients of decision values, as far as these are linear in them: (m,) or (m, …)."""
        return self.shaped(solved) if self.code is None else self.code.coefficients(solved)

    def decode(self, values: Array) -> Array:
        """Labels (n,), or an indicator matrix (n, labels), from solved columns."""
        if self.multilabel:
            return (values > 0).astype(int)
        if self.classes.size == 2:
            return self.classes[(values[:, 0] > 0).astype(int)]
        return self.classes[np.argmax(self.decisions(values), axis=1)]


def check_label_types(y: Array) -> None:
    """Refuse labels of which one is missing, or texts beside numbers."""
    kinds = {type(label).__name__ for label in y.ravel()}
    missing = [i for i, label in enumerate(y.ravel()) if is_missing(label)]
    if missing:
        label, row = y.ravel()[missing[0]], missing[0]
        msg = f"y contains a missing label ({label!r}, row {row}): drop or fill such rows"
        raise ValueError(msg)
    if len(kinds) > 1 and kinds & {"str", "bytes"}:
        msg = (
            f"y mixes labels of types {', '.join(sorted(kinds))}, which have no common order: "
            "convert them to one type, for instance str"
        )
        raise ValueError(msg)


def is_missing(label: Any) -> bool:
    """None, NaN (unequal to itself) or pandas' NA (of which nothing is said to be true)."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True
