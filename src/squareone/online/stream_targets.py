"""Targets of a stream as columns of numbers: responses, and classes, which may come later."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import Array
from ..targets import Labels, Responses, check_label_types


@dataclass(frozen=True)
class NumberTargets(Responses):
    """Numbers to predict.

    Attributes
    ----------
    column_count : int
    """

    column_count: int = 1

    def rows(self, y: Array) -> Array:
        """Columns (b, t) in float64 of numbers (b,) or (b, t)."""
        Y = self.columns(y).astype(np.float64)
        if Y.shape[1] != self.column_count:
            msg = f"y has {Y.shape[1]} columns, and {self.column_count} were there before"
            raise ValueError(msg)
        return Y

    def row(self, y: Any) -> Array:
        """Those of one row (1, t)."""
        found = np.atleast_1d(np.asarray(y, dtype=np.float64))[None]
        if found.shape != (1, self.column_count) or not np.isfinite(found).all():
            msg = f"y={y!r}: {self.column_count} finite number(s) are expected"
            raise ValueError(msg)
        return found

    def answer(self, margins: Array) -> Any:
        """What is predicted of a row with these margins (t,)."""
        return float(margins[0]) if self.vector else margins


@dataclass(frozen=True)
class ClassTargets(Labels):
    """Classes: sorted, and then those that came later.

    Attributes
    ----------
    grows : bool
        Whether others may come.
    """

    grows: bool = False

    @classmethod
    def named(cls, classes: Any, *, grows: bool) -> ClassTargets:
        """All that there will be."""
        found = np.unique(np.asarray(classes))
        if found.size < 2 or np.ndim(classes) != 1:
            msg = f"classes={classes!r}: at least two classes are expected"
            raise ValueError(msg)
        return cls(found, False, grows=grows)

    @property
    def column_count(self) -> int:
        """One for two classes, otherwise as many as there are."""
        k = self.classes.size
        return 1 if k == 2 and not self.multilabel else k

    @cached_property
    def _vectors(self) -> dict[Any, Array]:
        """The targets (1, t) of every class."""
        columns = self.columns(self.classes, np.dtype(float))
        return dict(zip(self.classes.tolist(), columns[:, None], strict=True))

    def unknown(self, y: Array) -> list[Any]:
        """Classes of rows (b,) that are not there."""
        if self.multilabel:
            return []
        if y.ndim != 1:
            msg = f"y has shape {y.shape}: one class per row is expected, as before"
            raise ValueError(msg)
        return [label for label in np.unique(y).tolist() if label not in self._vectors]

    def rows(self, y: Array) -> Array:
        """Columns (b, t) of ±1 of classes (b,) that are there, or of an indicator (b, labels)."""
        return self._indicator(y) if self.multilabel else self.columns(y, np.dtype(float))

    def row(self, y: Any) -> Array | None:
        """Those of one row (1, t); None of a class that is not there."""
        if self.multilabel:
            return self._indicator(np.asarray(y).reshape(1, -1))
        try:
            return self._vectors[y]
        except (KeyError, TypeError):
            return None

    def _indicator(self, y: Array) -> Array:
        labels = self.classes.size
        if y.ndim != 2 or y.shape[1] != labels or not np.isin(y, (0, 1)).all():
            msg = (
                f"y has shape {y.shape}: zeros and ones for {labels} labels are expected, (b, "
                f"{labels}), as before"
            )
            raise ValueError(msg)
        return np.where(y != 0, 1.0, -1.0)

    def stretches(self, y: Array) -> list[slice]:
        """Runs of rows up to that with which a class comes, so that it is added there.

        One run where none comes, or may come.
        """
        whole = [slice(0, len(y))]
        if not self.grows or self.multilabel:
            return whole
        labels, first = np.unique(y, return_index=True)
        found = zip(labels.tolist(), first.tolist(), strict=True)
        new = {label: at for label, at in found if label not in self._vectors}
        if not new:
            return whole
        self._with(list(new))
        return [slice(*pair) for pair in pairwise(sorted({0, *new.values(), len(y)}))]

    def with_classes(self, new: list[Any]) -> ClassTargets:
        """And classes that come now."""
        known, every = self.classes, self._with(new)
        plain = known.dtype.kind != "O"
        return replace(self, classes=np.concatenate([known, np.array(new)]) if plain else every)

    def _with(self, new: list[Any]) -> Array:
        """All classes with new ones: nothing that is missing, and no text beside numbers."""
        every = np.array([*self.classes.tolist(), *new], dtype=object)
        check_label_types(every)
        return every

    def answer(self, margins: Array) -> Any:
        """What is predicted of a row with these margins (t,)."""
        if self.multilabel:
            return (margins > 0).astype(int)
        place = int(margins[0] > 0) if margins.size == 1 else int(margins.argmax())
        found = self.classes[place]
        return found.item() if hasattr(found, "item") else found
