"""What a hierarchy has learned so far, and the model that predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...kernels import Linear
from ...models import Hyperplane, KernelExpansion
from ...online import DualLearners, Family, Hierarchy
from ...online.node_labels import NodeLabels
from .record import StreamRecord


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


class HierarchicalRecord(StreamRecord):
    """A stream of rows with nodes for labels; ``engine`` is a Hierarchy."""

    targets: NodeLabels  # type: ignore[assignment]
    engine: Hierarchy  # type: ignore[assignment]

    @property
    def columns(self) -> int:
        """One for each node."""
        return len(self.targets.taxonomy)

    def _targets_state(self) -> dict[str, Any]:
        return self.targets.state()

    def _made(self) -> Any:
        parts = [(family.children, self._of_family(family)) for family in self.engine.families]
        return FamilyModels(len(self.engine.taxonomy), parts)

    def _of_family(self, family: Family) -> Hyperplane | KernelExpansion:
        learners = family.learners
        W, none = learners.weights().copy(), np.zeros(family.children.size)
        if not isinstance(learners, DualLearners):
            return Hyperplane(W, none)
        points = learners.points.matrix()
        if isinstance(self.kernel, Linear):  # one product in place of one for each point
            return Hyperplane(np.asarray(points.T @ W), none)
        return KernelExpansion(
            self.kernel, points.copy(), np.array(learners.points.rounds, int), W, none
        )
