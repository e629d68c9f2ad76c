"""Classes of a stream: as they are named at the start, and those that appear later."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets

from ...arrays import Array
from ...targets import Labels
from ...targets.target_validation import check_labels
from ..mixins import Classifying
from .base import Streaming


class ClassifyingStream(Classifying, Streaming):
    """The common part of the classifiers of a stream; not for use by itself."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Streaming._parameter_constraints,
        "new_classes": [StrOptions({"refuse", "add"})],
    }

    new_classes: str
    coding = "one_vs_all"
    _shown_attributes: ClassVar[tuple[str, ...]] = ("online_decisions_",)

    def _show(self, margins: Array) -> None:
        self.online_decisions_ = self._recorded().targets.shaped(margins)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from some more rows, one after the other.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (b, d)
            Rows.
        y : array-like of shape (b,) or (b, labels)
            Classes, or an indicator matrix.
        classes : array-like of shape (k,), optional
            All classes there will be, in the first call; by default those of ``y``.

        Returns
        -------
        self

        Notes
        -----
        How rows are shared out over calls makes no difference. Where something is refused, the
        state is as it was before.

        **Cost**: that of the rows, told for each estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import SecondOrderPerceptron
        >>> X, y = load_iris(return_X_y=True)
        >>> model = SecondOrderPerceptron().partial_fit(X[:10], y[:10], classes=[0, 1, 2])
        >>> model.partial_fit(X[10:], y[10:]).n_rounds_
        150
        """
        return self._partial_fit(X, y, classes)

    def start(self, classes: Any, n_features: int) -> Self:
        """Begin a stream without a row, for :meth:`learn_one`.

        Parameters
        ----------
        classes : array-like of shape (k,)
            All classes there will be.
        n_features : int
            Numbers in a row.

        Returns
        -------
        self

        Notes
        -----
        **Cost**: memory for the weights.

        Examples
        --------
        >>> from squareone import SecondOrderPerceptron
        >>> model = SecondOrderPerceptron().start(classes=["ham", "spam"], n_features=2)
        >>> model.learn_one([1.0, 0.0], "spam").predict_one([2.0, 1.0])
        'spam'
        """
        return self._begin(n_features, lambda: _labels_of(classes))

    def _answer(self, margins: Array) -> Any:
        targets = self._record.targets
        if targets.multilabel:
            return (margins > 0).astype(int)
        place = int(margins[0] > 0) if margins.size == 1 else int(margins.argmax())
        found = targets.classes[place]
        return found.item() if hasattr(found, "item") else found

    @property
    def classes_(self) -> Array:
        """The classes: sorted, and then those that came later."""
        return self._recorded().targets.classes

    def _target_of_one(self, y: Any) -> Array:
        targets = self._record.targets
        if targets.multilabel:
            return self._indicator(np.asarray(y).reshape(1, -1))
        known = self._record.vectors
        try:
            return known[y]
        except (KeyError, TypeError):
            pass
        return self._columns(np.array([y]), None)

    def _first_targets(self, y: Any, X: Any, classes: Any) -> Labels:
        y = check_labels(y, X)
        check_classification_targets(y)
        if classes is None:
            if y.ndim == 1 and np.unique(y).size == 1:
                msg = (
                    f"the first rows are all of one class, {y[0]!r}: a classifier needs at least "
                    "two classes; in partial_fit name all there will be, classes=[...]"
                )
                raise ValueError(msg)
            return Labels.of(y)
        if y.ndim == 2:
            return Labels(np.arange(y.shape[1]), True)
        return _labels_of(classes)

    def _stretches(self, y: Any, X: Any) -> list[slice]:
        """Up to the row with which a class appears, so that it is added there and not before."""
        whole = super()._stretches(y, X)
        if self.new_classes != "add" or self._record.targets.multilabel:
            return whole
        labels, first = np.unique(check_labels(y, X), return_index=True)
        found = zip(labels.tolist(), first.tolist(), strict=True)
        new = {label: at for label, at in found if label not in self._record.vectors}
        if not new:
            return whole
        self._check_new(list(new))
        return [slice(*pair) for pair in pairwise(sorted({0, *new.values(), X.shape[0]}))]

    def _columns(self, y: Any, X: Any) -> Array:
        targets = self._recorded().targets
        y = np.asarray(y) if X is None else check_labels(y, X)
        if targets.multilabel:
            return self._indicator(y)
        if y.ndim != 1:
            msg = f"y has shape {y.shape}: one class per row is expected, as before"
            raise ValueError(msg)
        unknown = [label for label in np.unique(y).tolist() if label not in self._record.vectors]
        if unknown:
            self._meet(unknown)
            targets = self._record.targets
        return targets.columns(y, np.dtype(float))

    def _indicator(self, y: Array) -> Array:
        labels = self._record.targets.classes.size
        if y.ndim != 2 or y.shape[1] != labels or not np.isin(y, (0, 1)).all():
            msg = (
                f"y has shape {y.shape}: zeros and ones for {labels} labels are expected, (b, "
                f"{labels}), as before"
            )
            raise ValueError(msg)
        return np.where(y != 0, 1.0, -1.0)

    def _meet(self, unknown: list[Any]) -> None:
        """Classes that were not there before."""
        record = self._record
        if self.new_classes == "refuse":
            known = record.targets.classes.tolist()
            msg = (
                f"y contains {unknown[:5]}, and the classes are {known[:20]}: name all classes in "
                'the first call of partial_fit, classes=[...], or set new_classes="add"'
            )
            raise ValueError(msg)
        every = self._check_new(unknown)
        known = record.targets.classes
        plain = known.dtype.kind != "O"
        classes = np.concatenate([known, np.array(unknown)]) if plain else every
        for _ in unknown:
            record.engine.add_class()
        record.targets = replace(record.targets, classes=classes)
        record.changed()

    def _check_new(self, unknown: list[Any]) -> Array:
        """All classes with these: nothing that is missing, and no text beside numbers."""
        every = np.array([*self._record.targets.classes.tolist(), *unknown], dtype=object)
        return check_labels(every, every)

    def _rotated(self) -> bool:
        return False


def _labels_of(classes: Any) -> Labels:
    found = np.unique(np.asarray(classes))
    if found.size < 2 or np.ndim(classes) != 1:
        msg = f"classes={classes!r}: at least two classes are expected"
        raise ValueError(msg)
    return Labels(found, False)
