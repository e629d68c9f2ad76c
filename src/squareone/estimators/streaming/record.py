"""What was learned from a stream so far, and the model that predicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from ...fitting import part_states as state
from ...kernels import Kernel
from ...models import Hyperplane, KernelExpansion
from ...online import DualLearners, Engine
from ...persistence.stored_rows import of_rows
from ...targets import Labels, Responses

__all__ = ["Engine", "StreamRecord"]


class StreamRecord:
    """A stream under way.

    Attributes
    ----------
    targets : Labels or Responses
    kernel : Kernel
        Without the constant.
    n_features : int
    intercept : bool
        Whether there is a constant feature.
    form : str
        Of the learners.
    engine : Engine
    passes : int
        How often each row was seen.
    extra : dict
        What an estimator keeps beside it, as numbers and arrays.
    """

    intercept: bool
    form: str
    engine: Engine

    def __init__(self, targets: Labels | Responses, kernel: Kernel, n_features: int) -> None:
        self.targets, self.kernel, self.n_features = targets, kernel, n_features
        self.passes = 1
        self.extra: dict[str, Any] = {}
        self._vectors: dict[Any, Array] | None = None
        self.changed()

    @property
    def vectors(self) -> dict[Any, Array]:
        """The targets (1, t) of every class."""
        assert isinstance(self.targets, Labels)
        if self._vectors is None or len(self._vectors) != self.targets.classes.size:
            classes = self.targets.classes
            columns = self.targets.columns(classes, np.dtype(float))
            self._vectors = dict(zip(classes.tolist(), columns[:, None], strict=True))
        return self._vectors

    def changed(self) -> None:
        """Something was learned."""
        self._weights: Array | None = None
        self._model: Hyperplane | KernelExpansion | None = None

    @property
    def weights(self) -> Array:
        """Of the hypothesis that predicts: (d, t) or (points, t)."""
        if self._weights is None:
            self._weights = self.engine.weights()
        return self._weights

    @property
    def model(self) -> Hyperplane | KernelExpansion:
        """What predicts."""
        if self._model is None:
            self._model = self._made()
        return self._model

    def _made(self) -> Hyperplane | KernelExpansion:
        W, learners = self.weights, self.engine.learners
        t = W.shape[1]
        if isinstance(learners, DualLearners):
            intercepts = W.sum(axis=0) if self.intercept else np.zeros(t)
            points = learners.points
            rounds = np.array(points.rounds, int)
            return KernelExpansion(self.kernel, points.matrix().copy(), rounds, W, intercepts)
        if self.intercept:
            return Hyperplane(W[:-1], W[-1])
        return Hyperplane(W, np.zeros(t))

    @property
    def columns(self) -> int:
        """How many are learned."""
        return self.engine.weights().shape[1]

    def _targets_state(self) -> dict[str, Any]:
        return state.of_targets(self.targets)

    def state(self) -> dict[str, Any]:
        """For a file."""
        return {
            "targets": self._targets_state(),
            "columns": int(self.columns),
            "n_features": int(self.n_features),
            "kernel": self.kernel,
            "intercept": self.intercept,
            "form": self.form,
            "passes": int(self.passes),
            "engine": _stored(self.engine.state()),
            "extra": dict(self.extra),
        }


def _stored(values: Any) -> Any:
    """The state of learners with sparse points as a file has them."""
    if isinstance(values, dict):
        return {
            name: of_rows(each) if name == "points" else _stored(each)
            for name, each in values.items()
        }
    return [_stored(each) for each in values] if isinstance(values, list) else values
