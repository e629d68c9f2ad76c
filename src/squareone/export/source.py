"""What is exported: a fitted estimator, and the scalers before it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..models import Calibration, Hyperplane, KernelExpansion, SumOfExpansions
from ..rows import rows_of
from ..targets import Labels, Responses
from .pipeline_scalers import check_steps, flat_steps
from .table_inputs import Batch, TableInputs

__all__ = ["Source", "dense"]


@dataclass(frozen=True)
class Source:
    """A fitted estimator with the scalers (fitted too) that its rows go through first."""

    scalers: list[Any]
    estimator: Any
    inputs: TableInputs | None = None

    @classmethod
    def of(cls, given: Any) -> Source:
        """From an estimator, a pipeline that ends in one, or a search over either."""
        best = getattr(given, "best_estimator_", given)
        *scalers, estimator = flat_steps(best) if isinstance(best, Pipeline) else [best]
        if not hasattr(type(estimator), "_recorded"):
            msg = (
                "to_onnx exports a fitted estimator of squareone, alone or at the end of a "
                f"pipeline, got {type(given).__name__}"
            )
            if estimator is not given:
                msg += f" that ends in {type(estimator).__name__}"
            raise TypeError(msg)
        if estimator._takes_tables and scalers:
            msg = (
                f"the step {type(scalers[0]).__name__} before a {type(estimator).__name__} cannot "
                "be exported: the columns of its table are the inputs of the graph"
            )
            raise TypeError(msg)
        check_steps(scalers)
        for step in (*scalers, estimator):
            check_is_fitted(step)
        record = estimator._recorded()
        _check_model(record.model)
        if getattr(record, "unit_rows", False):  # a stream of rows of unit length
            scalers = [*scalers, Normalizer()]
        return cls(scalers, estimator, estimator._graph_inputs())

    @property
    def model(self) -> KernelExpansion | Hyperplane:
        """What was learned; the columns of a code as decision values of the classes."""
        record = self.estimator._recorded()
        model = record.model
        assert not isinstance(model, SumOfExpansions)
        if not isinstance(record.targets, Labels) or record.targets.code is None:
            return model
        code = record.targets.code
        if not code.coding.linear:
            msg = (
                f"coding={code.coding!r} cannot be exported, because it counts signs: fit with "
                'BCH(decoding="correlation") or one against all'
            )
            raise TypeError(msg)
        return replace(
            model,
            coefficients=code.coefficients(model.coefficients),
            intercepts=code.coefficients(model.intercepts[None, :])[0],
        )

    @property
    def targets(self) -> Responses | Labels:
        """How values become predictions."""
        targets = self.estimator._recorded().targets
        return replace(targets, code=None) if isinstance(targets, Labels) else targets

    @property
    def calibration(self) -> Calibration | None:
        """How values become probabilities, where they do."""
        estimator = self.estimator
        return estimator.calibration_ if hasattr(estimator, "predict_proba") else None

    @property
    def threshold(self) -> Any:
        """What a value has to exceed: a number, or one per label."""
        return getattr(self.estimator, "threshold_", 0.0)

    @property
    def pair(self) -> bool:
        """Whether one column of values stands for two classes."""
        return (
            isinstance(self.targets, Labels)
            and not self.targets.multilabel
            and self.targets.classes.size == 2
        )

    @property
    def features(self) -> int:
        """Columns of X, before the scalers."""
        return int(self.estimator.n_features_in_)

    @property
    def names(self) -> list[str]:
        """The names of these columns, where they have any."""
        first = (*self.scalers, self.estimator)[0]
        return [str(name) for name in getattr(first, "feature_names_in_", [])]

    def scaled(self, batch: Batch) -> Array:
        """Rows as the model sees them."""
        if self.inputs is not None:
            return self.inputs.encoded(batch).astype(self.model.dtype, copy=False)
        X = batch["X"]
        with _names_are_not_missed():
            for scaler in self.scalers:
                X = scaler.transform(X)
            return self.estimator._rows(X)

    def unscaled(self, rows: Array) -> Batch:
        """What the graph is given for ``rows``, or for rows about these where there are none."""
        if self.inputs is not None:
            return self.inputs.decoded(rows)
        for scaler in reversed(self.scalers):
            if not isinstance(scaler, Normalizer):  # rows of any length become those of unit length
                rows = scaler.inverse_transform(rows)
        return {"X": np.asarray(rows)}


def _check_model(model: Any) -> None:
    """Refuse what has no graph."""
    if not isinstance(model, KernelExpansion | Hyperplane | SumOfExpansions):
        msg = "the nodes of a taxonomy cannot be exported: a graph holds one model, not a hierarchy"
        raise TypeError(msg)
    if isinstance(model, SumOfExpansions):
        msg = f"a model of {len(model.parts)} kernels cannot be exported: fit with one kernel"
        raise TypeError(msg)
    if isinstance(model, KernelExpansion) and model.coefficients.shape[0] == 0:
        msg = "a model without centers is a constant: there is nothing to export"
        raise TypeError(msg)


def dense(centers: Any) -> Array:
    """Centers (m, d) as an array in float64: ONNX has no other. Cost: m·d numbers where sparse."""
    rows = rows_of(centers)
    return (rows.dense() if rows.sparse else centers).astype(np.float64, copy=False)


@contextmanager
def _names_are_not_missed() -> Iterator[None]:
    """Rows made here have no column names, and need none."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield
