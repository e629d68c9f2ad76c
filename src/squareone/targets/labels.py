"""Classes as columns of ±1: one column for two classes, one per class for more, one per label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from ..arrays import Array


@dataclass(frozen=True)
class Labels:
    """Class labels, one against all, or an indicator matrix of several labels per row.

    Attributes
    ----------
    classes : array (k,)
        The classes, sorted; 0 … labels − 1 for an indicator matrix.
    multilabel : bool
    """

    classes: Array
    multilabel: bool

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

    def columns(self, y: Array, dtype: np.dtype) -> Array:
        """±1: (n, 1) for two classes, (n, k) for more, (n, labels) for an indicator matrix."""
        if self.multilabel:
            return np.where(np.asarray(y) != 0, 1.0, -1.0).astype(dtype)
        if self.classes.size == 2:
            return np.where(y == self.classes[1], 1.0, -1.0).astype(dtype)[:, None]
        return np.where(y[:, None] == self.classes, 1.0, -1.0).astype(dtype)

    @property
    def exclusive(self) -> bool:
        """Whether there are several columns of which one wins."""
        return not self.multilabel and self.classes.size > 2

    def probabilities(self, columns: Array) -> Array:
        """One column per class (n, k), or per label, from probabilities of the columns."""
        if self.multilabel or self.exclusive:
            return columns
        return np.hstack([1.0 - columns, columns])

    def shaped(self, values: Array) -> Array:
        """Decision values: (n,) for two classes, (n, k) or (n, labels) otherwise."""
        return values[:, 0] if not self.multilabel and self.classes.size == 2 else values

    def decode(self, values: Array) -> Array:
        """Labels (n,), or an indicator matrix (n, labels), from columns of decision values."""
        if self.multilabel:
            return (values > 0).astype(int)
        if self.classes.size == 2:
            return self.classes[(values[:, 0] > 0).astype(int)]
        return self.classes[np.argmax(values, axis=1)]
