"""Least squares at every node of a taxonomy: the engine, its models, and labels from margins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..kernels import Kernel, Linear
from ..models import Hyperplane, KernelExpansion
from .dual import DualLearners
from .engines import Method
from .hierarchical_losses import h_loss
from .learners import Learners, State
from .rollback import Restorable, Snapshot
from .taxonomy import Taxonomy

# A margin is the difference of a target of ±1 and its error: below this it may as well be zero,
# which it is, and a mistake, before anything was learned.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Family:
    """Siblings: they learn from the same rows, those of their parent, and so share their A.

    Attributes
    ----------
    parent : int
        Its position in the taxonomy, -1 where the siblings are the roots.
    children : array (c,)
        Their positions.
    learners : Learners
        Of c columns with one A.
    """

    parent: int
    children: Array
    learners: Learners


@dataclass(frozen=True)
class FamilyModels:
    """A function for every node: those of siblings have their points in common.

    Attributes
    ----------
    columns : int
    parts : list of pairs
        Columns (c,) and the model of their values.
    """

    columns: int
    parts: list[tuple[Array, Hyperplane | KernelExpansion]]

    def values(self, X: Any) -> Array:
        """Values at the rows of ``X`` (n, d) → (n, k). **Cost**: that of all parts."""
        found = np.empty((X.shape[0], self.columns))
        for columns, model in self.parts:
            found[:, columns] = model.values(X)
        return found

    @property
    def intercepts(self) -> Array:
        """Zeros (k,)."""
        return np.zeros(self.columns)

    @property
    def dtype(self) -> np.dtype:
        """The precision rows are predicted in."""
        return np.dtype(np.float64)


class Hierarchy(Restorable):
    """H-RLS (Cesa-Bianchi, Gentile & Zaniboni 2006): regularised least squares at every node.

    A node learns each row of which its parent is a true label, a root every row. **Cost**: as many
    learners as there are nodes with children, and one for the roots, each with as many columns as
    there are children and the rows of that node only.

    Parameters
    ----------
    taxonomy : Taxonomy
    make : callable
        From a number of columns to learners that share their A.

    Attributes
    ----------
    rounds : int
        Rows that were seen.
    loss : float
        The sum of their H-losses, each row predicted before it was learned.
    mistakes : int
        Of how many a label was wrong.
    """

    def __init__(self, taxonomy: Taxonomy, make: Callable[[int], Learners]) -> None:
        self.taxonomy = taxonomy
        self.families = [
            Family(parent, children, make(children.size)) for parent, children in families(taxonomy)
        ]
        self.rounds, self.mistakes = 0, 0
        self.loss = 0.0
        self._numbers = 0.0
        # what families held that have learned something since the last snapshot
        self._earlier: dict[int, Snapshot] | None = None

    def snapshot(self, numbers: float) -> Snapshot:
        """Of the families only when they learn: a row concerns few of them."""
        self._numbers, self._earlier = numbers, None
        held, parts = super().snapshot(numbers)
        self._earlier = {}
        return held, parts

    def settle(self) -> None:
        for position in self._earlier or {}:
            self.families[position].learners.settle()
        self._earlier = None

    def roll_back(self, snapshot: Snapshot) -> None:
        for position, earlier in (self._earlier or {}).items():
            self.families[position].learners.roll_back(earlier)
        super().roll_back(snapshot)

    def learn(self, X: Any, Y: Array, weights: Array | None = None) -> Array:
        """See rows ``X`` (b, d), float64 and dense or CSR, one after the other, and learn them.

        Parameters
        ----------
        X : array or CSR matrix (b, d)
        Y : array (b, k)
            True labels, with all that is above them.
        weights : array (b,) or None
            Of the rows, above zero.

        Returns
        -------
        array (b,)
            H-losses, each row predicted before it was learned.
        """
        # A node below a false one has no part in the loss: right where its parent was, or hidden.
        predicted = np.zeros(Y.shape, dtype=bool)
        for position, family in enumerate(self.families):
            rows = (
                np.arange(Y.shape[0]) if family.parent < 0 else np.flatnonzero(Y[:, family.parent])
            )
            if rows.size == 0:
                continue
            places = np.ix_(rows, family.children)
            targets = np.where(Y[places], 1.0, -1.0)
            if self._earlier is not None and position not in self._earlier:
                self._earlier[position] = family.learners.snapshot(self._numbers)
            each = None if weights is None else weights[rows]
            family.learners.block(X if rows.size == Y.shape[0] else X[rows], each)
            errors = family.learners.learn_rows(targets)
            family.learners.release()
            predicted[places] = targets - errors > _ROUNDING
        losses = h_loss(Y, predicted, self.taxonomy)
        self.rounds += Y.shape[0]
        self.loss += float(losses.sum())
        self.mistakes += int((losses > 0).sum())
        return losses

    def margins(self, X: Any) -> Array:
        """Those of one row (1, d) at all nodes: (k,)."""
        found = np.empty(len(self.taxonomy))
        for family in self.families:
            family.learners.block(X)
            found[family.children] = family.learners.margins(0)
            family.learners.drop()
        return found

    def model(self, kernel: Kernel, *, intercept: bool = False) -> FamilyModels:
        """What predicts."""
        parts = [(family.children, _family_model(family, kernel)) for family in self.families]
        return FamilyModels(len(self.taxonomy), parts)

    def rounding(self) -> float:
        """About how much rounding may change what was learned, relatively."""
        return max(family.learners.rounding() for family in self.families)

    def add_features(self, at: int, count: int) -> None:
        """So many features more, before that at place ``at``: they were zero in all rows so far."""
        for position, family in enumerate(self.families):
            if self._earlier is not None and position not in self._earlier:
                self._earlier[position] = family.learners.snapshot(self._numbers)
            family.learners.add_features(at, count)

    def state(self) -> State:
        """All there is, but the taxonomy."""
        return {
            "learners": [family.learners.state() for family in self.families],
            "rounds": self.rounds,
            "loss": self.loss,
            "mistakes": self.mistakes,
        }

    def restore(self, state: State) -> None:
        """Go on from there."""
        for family, learned in zip(self.families, state["learners"], strict=True):
            family.learners.restore(learned)
        self.rounds, self.mistakes = int(state["rounds"]), int(state["mistakes"])
        self.loss = float(state["loss"])


def _family_model(family: Family, kernel: Kernel) -> Hyperplane | KernelExpansion:
    learners = family.learners
    W, none = learners.weights().copy(), np.zeros(family.children.size)
    if not isinstance(learners, DualLearners) or learners.by_feature:
        return Hyperplane(W, none)
    points = learners.points.matrix()
    if isinstance(kernel, Linear):  # one product in place of one for each point
        return Hyperplane(np.asarray(points.T @ W), none)
    return KernelExpansion(kernel, points.copy(), np.array(learners.points.rounds, int), W, none)


@dataclass(frozen=True)
class HierarchicalMethod(Method):
    """Every node learns the rows of its parent.

    Attributes
    ----------
    alpha : float
    """

    alpha: float
    settles = True  # what families held before they learned

    def shared(self, targets: Any) -> bool:
        return True  # by siblings

    def matrices(self, targets: Any) -> int:
        return 1 + int((~targets.taxonomy.leaves).sum())

    def engine(self, columns: int, targets: Any, learners: Callable[..., Learners]) -> Hierarchy:
        return Hierarchy(targets.taxonomy, lambda children: learners(children, self.alpha))


def families(taxonomy: Taxonomy) -> list[tuple[int, Array]]:
    """Every parent with its children's positions (c,), the roots below -1 first."""
    parents = [-1, *taxonomy.order[~taxonomy.leaves[taxonomy.order]].tolist()]
    return [(parent, np.flatnonzero(taxonomy.parents == parent)) for parent in parents]


def top_down(margins: Array, taxonomy: Taxonomy) -> Array:
    """Nodes (n, k) whose margins (n, k) are positive, as are those of all nodes above them.

    **Cost**: n·k.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.online import Taxonomy, top_down
    >>> taxonomy = Taxonomy.of({"a": ["b", "c"]})
    >>> top_down(np.array([[1.0, 0.5, -2.0], [-1.0, 3.0, 2.0]]), taxonomy)
    array([[ True,  True, False],
           [False, False, False]])
    """
    positive = margins > 0
    for level in taxonomy.levels[1:]:
        positive[:, level] &= positive[:, taxonomy.parents[level]]
    return positive


def descend(margins: Array, taxonomy: Taxonomy, ends: Array) -> Array:
    """One node for every row (n,): from the roots down to the child with the largest margin.

    The way ends at a leaf, or at a node that may be an end, ``ends`` (k,), where no child has a
    positive margin.

    **Cost**: n·k.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.online import Taxonomy, descend
    >>> taxonomy = Taxonomy.of({"a": ["b", "c"]})
    >>> descend(np.array([[0.1, -0.5, -0.2]]), taxonomy, np.array([False, True, True]))
    array([2])
    """
    found = np.full(margins.shape[0], -1)
    for parent, children in families(taxonomy):  # parents first: a row comes down level by level
        rows = np.flatnonzero(found == parent)
        if rows.size == 0:
            continue
        values = margins[np.ix_(rows, children)]
        best = values.argmax(axis=1)
        if parent >= 0 and ends[parent]:
            onward = values[np.arange(rows.size), best] > 0
            rows, best = rows[onward], best[onward]
        found[rows] = children[best]
    return found
