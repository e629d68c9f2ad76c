"""The steps of a pipeline before the estimator: scalers, which multiply, add and divide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

from .graph import DOUBLE, Tensor

__all__ = ["check_steps", "flat_steps", "scaled"]

#: What is done with the rows, and with which operand, in the order of scikit-learn.
Operations = list[tuple[Callable[[Tensor, Any], Tensor], Any]]


def flat_steps(pipeline: Pipeline) -> list[Any]:
    """Everything that is done, in order, the last step included; without "passthrough"."""
    steps: list[Any] = []
    for _, step in pipeline.steps:
        if isinstance(step, Pipeline):
            steps += flat_steps(step)
        elif step is not None and step != "passthrough":
            steps.append(step)
    return steps


def check_steps(steps: list[Any]) -> None:
    """Refuse what is not a scaler, by name."""
    for step in steps:
        if type(step) not in _OPERATIONS:
            names = ", ".join(sorted(known.__name__ for known in _OPERATIONS))
            msg = (
                f"the step {type(step).__name__} cannot be exported: before the estimator a "
                f"pipeline may have {names}. Scale with one of these, or convert that step with "
                "skl2onnx, export the estimator alone and join both with onnx.compose.merge_models"
            )
            raise TypeError(msg)


def scaled(X: Tensor, scalers: list[Any]) -> Tensor:
    """The rows after all scalers: computed in float64, and rounded once to the type of ``X``."""
    rows = X
    for scaler in scalers:
        for operator, operand in _OPERATIONS[type(scaler)](scaler):
            rows = operator(rows.cast(DOUBLE), operand)
    return rows.cast(X.dtype)


def _standard(scaler: StandardScaler) -> Operations:
    return _chosen(
        (Tensor.__sub__, scaler.mean_, scaler.with_mean),
        (Tensor.__truediv__, scaler.scale_, scaler.with_std),
    )


def _robust(scaler: RobustScaler) -> Operations:
    return _chosen(
        (Tensor.__sub__, scaler.center_, scaler.with_centering),
        (Tensor.__truediv__, scaler.scale_, scaler.with_scaling),
    )


def _min_max(scaler: MinMaxScaler) -> Operations:
    low, high = scaler.feature_range
    return _chosen(
        (Tensor.__mul__, scaler.scale_, True),
        (Tensor.__add__, scaler.min_, True),
        (Tensor.maximum, low, scaler.clip),
        (Tensor.minimum, high, scaler.clip),
    )


def _max_abs(scaler: MaxAbsScaler) -> Operations:
    clip = getattr(scaler, "clip", False)  # from scikit-learn 1.8 on
    return _chosen(
        (Tensor.__truediv__, scaler.scale_, True),
        (Tensor.maximum, -1.0, clip),
        (Tensor.minimum, 1.0, clip),
    )


def _normalizer(scaler: Normalizer) -> Operations:
    if scaler.norm != "l2":
        msg = f'Normalizer(norm={scaler.norm!r}) cannot be exported: norm="l2" can be'
        raise TypeError(msg)
    return [(_of_unit_length, None)]


def _of_unit_length(rows: Tensor, _: None) -> Tensor:
    """Rows over their lengths; one of zeros stays."""
    lengths = (rows * rows).sum_of_rows().sqrt()
    return rows / lengths.where(lengths > 0.0, 1.0)


def _chosen(*operations: tuple[Callable[[Tensor, Any], Tensor], Any, bool]) -> Operations:
    return [(operator, operand) for operator, operand, wanted in operations if wanted]


_OPERATIONS: dict[type, Callable[[Any], Operations]] = {
    MaxAbsScaler: _max_abs,
    MinMaxScaler: _min_max,
    Normalizer: _normalizer,
    RobustScaler: _robust,
    StandardScaler: _standard,
}
