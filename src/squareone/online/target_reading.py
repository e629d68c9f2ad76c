"""Targets of a stream as the user or a file gives them: numbers, classes or nodes, checked."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from ..arrays import Array
from ..fitting.part_states import targets_from
from ..persistence import Fields, refuse
from ..targets import Labels, Responses
from ..targets.target_validation import check_labels, check_responses
from .node_labels import NodeLabels, check_indicator
from .stream_targets import ClassTargets, NumberTargets


class NumberReading:
    """Numbers (n,) or (n, t)."""

    @staticmethod
    def read(y: Any, X: Any) -> Array:
        """As :class:`NumberTargets` takes them."""
        return check_responses(y, X)

    @staticmethod
    def first(estimator: Any, y: Array, classes: Any) -> NumberTargets:
        """Targets of a stream that begins with ``y``, of an estimator with its parameters."""
        return NumberTargets(y.ndim == 1, 1 if y.ndim == 1 else y.shape[1])

    @staticmethod
    def restored(estimator: Any, found: Fields, columns: int) -> NumberTargets:
        """Those of a file."""
        targets = targets_from(found, columns)
        if not isinstance(targets, Responses):
            refuse(found.where, "classes belong to a classifier, numbers to a regressor")
        return NumberTargets(targets.vector, columns)


class ClassReading:
    """Classes (n,), or an indicator matrix (n, labels)."""

    @staticmethod
    def read(y: Any, X: Any) -> Array:
        """As :class:`ClassTargets` takes them."""
        return check_labels(y, X)

    @staticmethod
    def first(estimator: Any, y: Array, classes: Any) -> ClassTargets:
        """Targets of a stream that begins with ``y``, of an estimator with its parameters."""
        grows = estimator.new_classes == "add"
        check_classification_targets(y)
        if classes is None:
            if y.ndim == 1 and np.unique(y).size == 1:
                msg = (
                    f"the first rows are all of one class, {y[0]!r}: a classifier needs at least "
                    "two classes; in partial_fit name all there will be, classes=[...]"
                )
                raise ValueError(msg)
            found = Labels.of(y)
            return ClassTargets(found.classes, found.multilabel, grows=grows)
        if y.ndim == 2:
            return ClassTargets(np.arange(y.shape[1]), True, grows=grows)
        return ClassTargets.named(classes, grows=grows)

    @staticmethod
    def restored(estimator: Any, found: Fields, columns: int) -> ClassTargets:
        """Those of a file."""
        targets = targets_from(found, columns)
        if not isinstance(targets, Labels):
            refuse(found.where, "classes belong to a classifier, numbers to a regressor")
        grows = estimator.new_classes == "add"
        return ClassTargets(targets.classes, targets.multilabel, targets.code, grows)


class NodeReading:
    """Nodes of a taxonomy: one for each row (n,), n collections, or a column for every node."""

    @staticmethod
    def read(y: Any, X: Any) -> tuple[str, Any]:
        """As :class:`NodeLabels` takes them: which of its kinds y is, and y."""
        sets = _collections(y)
        if sets is not None:
            check_consistent_length(X, sets)
            return "sets", sets
        y = check_labels(y, X)
        if y.ndim == 1:
            check_classification_targets(y)
            return "labels", y
        check_indicator(y)
        return "indicator", y

    @staticmethod
    def first(estimator: Any, y: tuple[str, Any], classes: Any) -> NodeLabels:
        """Targets of a stream that begins with ``y``, of an estimator with its parameters."""
        return NodeLabels.of(estimator.taxonomy, y, classes)

    @staticmethod
    def restored(estimator: Any, found: Fields, columns: int) -> NodeLabels:
        """Those of a file."""
        targets = NodeLabels.from_state(found)
        if targets.column_count != columns:
            refuse(found.where, f"{targets.column_count} nodes do not have {columns} columns")
        return targets


def _collections(y: Any) -> list[Any] | None:
    """A list of collections of labels; None where y is something else."""
    objects = getattr(getattr(y, "dtype", None), "kind", "") == "O" and np.ndim(y) == 1
    if not (isinstance(y, list | tuple) or objects):
        return None
    entries = list(y)
    inner = [isinstance(row, Collection) and not isinstance(row, str | bytes) for row in entries]
    if not any(inner):
        return None
    if not all(inner):
        i = inner.index(False)
        msg = f"y mixes collections of labels and single ones: row {i} is {entries[i]!r}"
        raise ValueError(msg)
    return None if _is_indicator(entries) else entries


def _is_indicator(rows: list[Any]) -> bool:
    """Whether rows are zeros and ones in lists of one length, which are columns to scikit-learn."""
    if not all(isinstance(row, list | np.ndarray) for row in rows):
        return False
    lengths = {len(row) for row in rows}
    numbers = all(isinstance(v, int | float | np.number) and v in (0, 1) for r in rows for v in r)
    return len(lengths) == 1 and lengths != {1} and numbers
