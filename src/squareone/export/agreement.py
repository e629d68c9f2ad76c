"""Whether an exported graph computes what the library computes; refused where it does not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import ExportError
from ..models import KernelExpansion
from ..targets import Labels
from .rounding import value_rounding
from .source import Source, dense
from .table_inputs import Batch

__all__ = ["check_agreement"]

# Kernel values that are compared, and the least and most rows of each kind.
_PAIRS = 1_000_000
_LEAST, _MOST = 8, 64

# Of a graph in float32 of a float64 model: more of the largest value than this is no longer it.
_WORTH_EXPORTING = 1e-3


def check_agreement(source: Source, model: bytes, dtype: np.dtype) -> None:
    """Compare onnxruntime with the library on rows like those of the fit.

    Values have to agree to rounding (:func:`~.rounding.value_rounding`). Labels and probabilities
    have to be those of the graph's own values: they then agree with the library's wherever that
    is not undecided by rounding.

    **Cost**: two predictions of at most 192 rows, fewer for many centers.
    """
    coarse = min(dtype, source.model.dtype, key=lambda kind: kind.itemsize)
    batch = _in_type(_rows(source), coarse)
    outputs = _run(model, _in_type(batch, dtype))
    values_name = "decision_function" if isinstance(source.targets, Labels) else "prediction"
    values = outputs[values_name].reshape(len(outputs[values_name]), -1)
    _compare_values(source, batch, values, values_name)
    if not isinstance(source.targets, Labels):
        return
    threshold = np.asarray(source.threshold, dtype=np.float64)
    expected = source.targets.decode(values.astype(np.float64) - threshold)
    _compare("label", outputs["label"], expected, outputs["label"] != expected)
    if source.calibration is not None:
        p = source.calibration.probabilities(values)
        expected = np.column_stack([1.0 - p, p]) if source.pair else p
        given = outputs["probabilities"]
        apart = ~(np.abs(given - expected) <= 64.0 * np.finfo(dtype).eps)
        _compare("probabilities", given, expected, apart)


def _in_type(batch: Batch, dtype: np.dtype) -> Batch:
    """Numbers in this type; texts as they are."""
    return {
        name: values if values.dtype == object else values.astype(dtype)
        for name, values in batch.items()
    }


def _rows(source: Source) -> Batch:
    """Rows to compare on, as the graph takes them.

    Where the model knows rows of the fit, some of these, points half-way between them, and points
    nearby. A linear function of the rows is the same everywhere: any rows will do.
    """
    rng = np.random.default_rng(0)
    model = source.model
    if isinstance(model, KernelExpansion) and model.centers is not None:
        centers = dense(model.centers)
        m = centers.shape[0]
        count = min(m, max(_LEAST, min(_MOST, _PAIRS // m)))
        some = centers[np.linspace(0, m - 1, count).astype(int)]
        others = centers[rng.integers(m, size=count)]
        noise = rng.normal(size=some.shape) * centers.std(axis=0)
        rows = np.vstack([some, (some + others) / 2.0, some + 0.1 * noise])
    else:
        sizes = np.repeat([1e-2, 1.0, 1e2], _LEAST)[:, None]
        features = source.features
        if source.inputs is not None:  # a hyperplane of encoded rows
            features = source.model.coefficients.shape[0]
        rows = rng.normal(size=(sizes.size, features)) * sizes
    return source.unscaled(rows)


def _run(model: bytes, batch: Batch) -> dict[str, Array]:
    """The outputs of the graph, by name."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # a few rows: no threads to start
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, batch), strict=True))


def _compare_values(source: Source, batch: Batch, values: Array, name: str) -> None:
    rows = source.scaled(batch)
    expected = source.model.values(rows)
    eps = float(max(np.finfo(values.dtype).eps, np.finfo(expected.dtype).eps))
    allowed = value_rounding(source.model, rows, eps)
    if source.scalers or source.inputs is not None:
        allowed += _change_by_rounded_rows(source, batch, expected, eps)
    difference = np.abs(values.astype(np.float64) - expected)
    _compare(name, values, expected, ~(difference <= allowed), allowed)
    worst = float(difference.max(initial=0.0)) / max(float(np.abs(expected).max()), 1e-300)
    if values.dtype.itemsize < expected.dtype.itemsize and worst > _WORTH_EXPORTING:
        msg = (
            f"in {values.dtype.name} the {name} would differ from that of this "
            f"{expected.dtype.name} model by {worst:.2g} of its largest value, because large terms "
            f"cancel: nothing was written. Leave dtype out to export in {expected.dtype.name}, or "
            "fit with a larger alpha or centred rows"
        )
        raise ExportError(msg)


def _change_by_rounded_rows(source: Source, batch: Batch, values: Array, eps: float) -> Array:
    """How values move with the last digit of numbers: scalers round, each in its manner."""
    rng = np.random.default_rng(1)
    change = np.zeros(values.shape)
    for _ in range(4):
        moved = {
            name: each
            if each.dtype == object
            else each * (1.0 + eps * rng.choice([-1.0, 1.0], each.shape)).astype(each.dtype)
            for name, each in batch.items()
        }
        change = np.maximum(change, np.abs(source.model.values(source.scaled(moved)) - values))
    return 4.0 * change


def _compare(
    name: str, given: Array, expected: Array, apart: Array, allowed: Array | None = None
) -> None:
    """Refuse if any entry is apart; the message shows the first, or the one that is worst."""
    if not apart.any():
        return
    at: Any = tuple(np.argwhere(apart)[0])
    why = "they have to be the same"
    if allowed is not None:
        excess = np.abs(given - expected) / allowed
        at = np.unravel_index(int(np.argmax(np.where(apart, excess, 0.0))), apart.shape)
        why = f"{abs(given[at] - expected[at]):.3g} apart, and rounding explains {allowed[at]:.3g}"
    place = f"row {at[0]}" + (f", column {at[1]}" if len(at) > 1 else "")
    msg = (
        f"the graph disagrees with the estimator on {int(apart.sum())} of {apart.size} entries of "
        f"{name!r}. At {place} of the rows compared onnxruntime computes {given[at]!s}, the "
        f"estimator {expected[at]!s}: {why}. Nothing was written. This is a mistake in squareone "
        "or in onnxruntime: please report it with the versions of both"
    )
    raise ExportError(msg)
