"""Labels of rows that are nodes of a taxonomy, as they come and as they are predicted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..persistence import Fields, refuse
from .hierarchy import descend, top_down
from .rollback import Restorable
from .taxonomy import Taxonomy, name_of

#: What y may be: a label for each row, collections of them, or a column for every node.
KINDS = ("labels", "sets", "indicator")


@dataclass
class NodeLabels(Restorable):
    """The labels of a stream.

    What y was read as is a pair of one of ``KINDS`` and y: labels (n,), a list of n collections, or
    zeros and ones (n, k).

    Attributes
    ----------
    taxonomy : Taxonomy
    kind : {"labels", "sets", "indicator"}
        What y was in the first call, and predictions are.
    ends : array (k,)
        Nodes that were the label of a row by themselves: a single label may end there.
    """

    taxonomy: Taxonomy
    kind: str
    ends: Array

    @classmethod
    def of(cls, given: Any, y: tuple[str, Any], classes: Any) -> NodeLabels:
        """For a stream that begins with ``y``.

        ``given`` is what :meth:`Taxonomy.of` takes; None: every label is a root; a text: labels are
        paths, with this separator. ``classes`` are all labels there will be, where they are not
        given.
        """
        if classes is None and (given is None or isinstance(given, str)):
            classes = _occurring(*y)
        return cls.named(given, y[0], classes)

    @classmethod
    def named(cls, given: Any, kind: str, classes: Any) -> NodeLabels:
        """For a stream whose labels are all told: ``classes``, where they are not ``given``."""
        if given is None or isinstance(given, str):
            taxonomy = _derived(given, kind, classes)
        else:
            taxonomy = Taxonomy.of(given)
            for name in [] if classes is None else classes:
                taxonomy.position(name)
        return cls(taxonomy, kind, np.zeros(len(taxonomy), dtype=bool))

    @property
    def classes(self) -> Array:
        """The nodes (k,), in the order of the columns."""
        names = self.taxonomy.names
        kinds = {type(name) for name in names}
        if len(kinds) == 1 and kinds <= {str, int, float, bool}:
            return np.array(names)
        return _objects(names)

    @property
    def two(self) -> bool:
        """Whether there is nothing but two labels that exclude each other."""
        return self.kind == "labels" and len(self.taxonomy) == 2 and len(self.taxonomy.levels) == 1

    @property
    def column_count(self) -> int:
        """One for each node."""
        return len(self.taxonomy)

    def closed(self, y: tuple[str, Any]) -> Array:
        """Truth values (n, k), ancestors included; what contradicts the taxonomy is refused."""
        return self.taxonomy.closure(self._indicator(*y))

    def rows(self, y: tuple[str, Any]) -> Array:
        """The same for rows that are learned: where they end is remembered."""
        own = self._indicator(*y)
        if self.kind == "labels":
            self.ends = self.ends | own.any(axis=0)
        return self.taxonomy.closure(own)

    def row(self, y: Any) -> Array:
        """The same for one row (1, k), whose labels are as they were before."""
        if self.kind == "indicator":
            y = np.reshape(np.asarray(y), (1, -1))
            check_indicator(y)
            return self.rows((self.kind, y))
        return self.rows(("sets", [[y] if self.kind == "labels" else y]))

    def _indicator(self, kind: str, y: Any) -> Array:
        if kind == "indicator":
            self.taxonomy.check(y)
            return y != 0
        return self.taxonomy.indicator(y if kind == "sets" else ([label] for label in y.tolist()))

    def answer(self, margins: Array) -> Any:
        """What is predicted of a row with these margins (k,)."""
        found = self.decode(margins[None])[0]
        return found.item() if isinstance(found, np.generic) else found

    def decisions(self, margins: Array) -> Array:
        """(n, k), or (n,) for two labels that exclude each other."""
        return 0.5 * (margins[:, 1] - margins[:, 0]) if self.two else margins

    def decode(self, margins: Array) -> Any:
        """Predictions from margins (n, k), of the kind that y was."""
        if self.kind == "labels":
            return self.classes[descend(margins, self.taxonomy, self.ends)]
        positive = top_down(margins, self.taxonomy)
        return (
            positive.astype(int)
            if self.kind == "indicator"
            else _objects(self.taxonomy.named(positive))
        )

    def predicted(self, margins: Array) -> Array:
        """The same as truth values (n, k), ancestors included."""
        if self.kind != "labels":
            return top_down(margins, self.taxonomy)
        own: Array = np.zeros(margins.shape, dtype=bool)
        own[np.arange(own.shape[0]), descend(margins, self.taxonomy, self.ends)] = True
        return self.taxonomy.closure(own)

    # --- in a file ---

    def state(self) -> dict[str, Any]:
        """Names, parents, kind and ends."""
        return {
            "names": list(self.taxonomy.names),
            "parents": self.taxonomy.parents.tolist(),
            "kind": self.kind,
            "ends": self.ends,
        }

    @classmethod
    def from_state(cls, found: Fields) -> NodeLabels:
        """What :meth:`state` gave, from a file."""
        with found:
            taxonomy = Taxonomy(found.take("names", list), found.take("parents", list))
            kind = found.take("kind", str)
            if kind not in KINDS:
                refuse(found.where, f"{kind!r} is not known")
            return cls(taxonomy, kind, found.array("ends", (len(taxonomy),), (np.bool_,)))


def check_indicator(y: Array) -> None:
    """Refuse a matrix (n, k) of other numbers than zeros and ones."""
    if not np.isin(y, (0, 1)).all():
        msg = (
            f"y has {y.shape[1]} columns: an indicator matrix of zeros and ones, a column for "
            "every node, is expected; or one label for each row, or a list of lists of labels"
        )
        raise ValueError(msg)


def _objects(values: Sequence[Any]) -> Array:
    """An array (n,) of things that may have lengths themselves."""
    found = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        found[i] = value
    return found


def _occurring(kind: str, y: Any) -> Any:
    """All labels of y, in order; numbers of the columns of an indicator matrix."""
    if kind == "indicator":
        return range(y.shape[1])
    return np.unique(y) if kind == "labels" else _sorted({name for row in y for name in row})


def _derived(separator: str | None, kind: str, classes: Any) -> Taxonomy:
    """The taxonomy of labels that are all roots, or paths."""
    if classes is None:
        msg = f"taxonomy={separator!r} and classes=None: one of them has to name the labels"
        raise ValueError(msg)
    names = _sorted({name_of(name) for name in classes})
    if separator is None:
        return Taxonomy(names, [-1] * len(names))
    if kind == "indicator":
        msg = (
            f"taxonomy={separator!r} separates the parts of labels, and y is an indicator matrix, "
            "which has none: give the taxonomy of its columns"
        )
        raise ValueError(msg)
    if not separator or not all(isinstance(name, str) for name in names):
        msg = f"taxonomy={separator!r} separates the parts of labels, which have to be texts then"
        raise ValueError(msg)
    return Taxonomy.of(names, separator)


def _sorted(names: Iterable[Any]) -> list[Any]:
    try:
        return sorted(names)
    except TypeError as error:
        msg = f"labels have no common order ({error}): convert them to one type, for instance str"
        raise ValueError(msg) from error
