"""The fields of a fit result as numbers, texts and arrays for a file, and back, checked."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..devices import known_place
from ..kernels import Kernel, Linear, Precomputed
from ..models import Hyperplane, KernelExpansion
from ..models.probabilities import CALIBRATIONS
from ..persistence import INTEGERS, Fields, refuse
from ..persistence.stored_rows import of_rows, rows_from
from ..selection import Objective
from ..targets import Labels
from . import part_states as state
from .error_scale import error_scale_from, of_error_scale
from .learned_kernel import LearnedKernel
from .learned_kernel_state import learned_kernel_from, of_learned_kernel
from .problem import Sample
from .width_search import Step

if TYPE_CHECKING:
    from .result import FitResult

# What is computed when first asked for: over all rows, the rows of the fit, and the targets.
_COMPUTED_LATER = (
    "leave_one_out_values",
    "relative_complements",
    "complements",
    "scales",
    "scored_values",
    "log_likelihoods",
)


def state_of(result: FitResult) -> dict[str, Any]:
    """All that lasts, the factorisation is not among it, for :func:`fill_from`.

    Returns
    -------
    dict
        Numbers, texts, arrays and a kernel, for n rows of positive weight, m of weight zero, d
        features and t target columns:

        - ``kernel``, ``intercept`` (bool) and ``alphas`` (t,), with ``per_target`` (bool)
        - ``coefficients`` (n, t), or (d, t) with the linear kernel, and ``intercepts`` (t,)
        - ``centers``, or None where rows are not kept: see
          :func:`~squareone.persistence.stored_rows.of_rows`; ``kept`` (n,): which rows
        - ``targets``: see :func:`~squareone.fitting.part_states.of_targets`
        - ``columns`` (n, t), the targets over ``unit``; ``weights`` (n,) or None;
          ``diagonal`` (n,), which is k(x, x)
        - ``dropped_values`` and ``dropped_columns`` (m, t): predictions and targets of the
          rows of weight zero
        - ``path``, ``steps`` and ``width``: every λ and width looked at; ``criterion`` where
          it is still to be asked
        - ``leave_one_out_values`` (n + m, t), ``relative_complements`` (n, t), ``complements``
          (n, t), ``scales`` and ``log_likelihoods`` (t,) and ``calibration``: None where nobody
          has asked for them
        - ``scored`` (s,): the rows that were left out in place of all, None for all, and
          ``scored_values`` (s, t)
        - ``error_scale``: see :func:`~squareone.fitting.error_scale.of_error_scale`; None where
          nobody has asked for an interval by it
        - ``thin`` (bool): whether coefficients (m, t) belong to centers of their own; which
          rows these are, ``center_numbers`` (m,), −1 for none; the positions of those that were
          dropped, ``dropped_centers``; and the share of the trace ``explained``, if known
        - ``iterations`` and the relative ``residual`` they ended at
        - ``class_weights`` (k,) or None: what ``weights`` were multiplied by
        - ``learned``: see :func:`~squareone.fitting.learned_kernel_state.of_learned_kernel`; None
          where the kernel was given
        - ``calibrated_by``, ``scale``, ``keep_factor``, ``memory_limit`` and ``device``:
          parameters of the fit
    """
    result.compute_before_saving()
    objective = result.objective_to_save()
    centers = getattr(result.model, "centers", None)
    return {
        "kernel": result.sample.kernel,
        "intercept": bool(result.sample.intercept),
        "alphas": result.alphas,
        "per_target": bool(result.per_target),
        "coefficients": result.model.coefficients,
        "intercepts": result.model.intercepts,
        "centers": None if centers is None else of_rows(centers),
        "kept": result.kept,
        "targets": state.of_targets(result.targets),
        "columns": result.sample.Y,
        "unit": result.unit,
        "weights": result.sample.weights,
        "diagonal": result.diagonal,
        "dropped_values": result._dropped_values,
        "dropped_columns": result._dropped_columns,
        "path": state.of_path(result._chosen_path),
        "steps": [asdict(step) for step in result.steps],
        "width": result._width,
        "criterion": objective and state.of_criterion(objective.criterion),
        **{name: vars(result).get(name) for name in _COMPUTED_LATER},
        "calibration": result.calibration and state.of_calibration(result.calibration),
        "calibrated_by": result.calibrated_by,
        "scale": result.scale,
        "class_weights": result.class_weights,
        "scored": result.scored,
        "thin": bool(result.sample.few_centers),
        "center_numbers": result.model.indices if result.sample.few_centers else None,  # type: ignore[union-attr]
        "dropped_centers": result.dropped_centers if result.sample.few_centers else None,
        "explained": result._explained,
        "error_scale": result._error_scale and of_error_scale(result._error_scale),
        "iterations": result.iterations,
        "residual": result.residual,
        "learned": result.learned and of_learned_kernel(result.learned),
        "keep_factor": bool(result.keep_factor),
        "memory_limit": result.memory_limit,
        "device": result.device,
    }


def fill_from(result: FitResult, found: Fields) -> None:
    """Set the fields of an empty result from a file; refused where it cannot be one."""
    with found:
        alphas = found.array("alphas", (None,), (np.float64,), least=0.0)
        kept = found.array("kept", (None,), INTEGERS, least=0)
        n, t = kept.size, alphas.size
        columns = found.array("columns", (n, t))
        dropped = found.array("dropped_values", (None, t), finite=False)
        if n == 0 or t == 0 or (np.diff(kept) <= 0).any() or kept[-1] >= n + len(dropped):
            refuse(found.where, "kept does not say which rows these are")
        result.alphas, result.kept = alphas, kept
        result.per_target = found.take("per_target", bool)
        result.targets = state.targets_from(found.inner("targets"), t)
        result.model, result.sample = _model_from(found, columns, kept)
        result.unit = found.number("unit", positive=True)
        result.diagonal = found.array("diagonal", (0 if result.sample.few_centers else n,))
        result.scored = None
        if found.given("scored"):
            result.scored = found.array("scored", (None,), INTEGERS, least=0)
            if (np.diff(result.scored) <= 0).any() or not result.scored.max(initial=-1) < n:
                refuse(found.where, "scored does not say which rows these are")
        result.learned = None
        if found.given("learned"):
            d = result.sample.X.shape[1]
            result.learned = learned_kernel_from(found.inner("learned"), n, t, d)
        result.dropped_centers = np.empty(0, int)
        if result.sample.few_centers:
            result.dropped_centers = found.array("dropped_centers", (None,), INTEGERS, least=0)
        else:
            found.take("dropped_centers", type(None))
        known = found.given("explained")
        result._explained = found.number("explained") if known else None
        result._dropped_values = dropped
        result._dropped_columns = found.array("dropped_columns", dropped.shape)
        _read_looks(result, found)
        _read_answers(result, found)
        if result.learned is not None:
            _check_learned(result, result.learned, found.where)
        result._error_scale = None
        if found.given("error_scale"):
            result._error_scale = error_scale_from(found.inner("error_scale"), result)
        result.calibrated_by = result.scale = result.class_weights = None
        if found.given("calibrated_by"):
            result.calibrated_by = found.take("calibrated_by", str)
            if result.calibrated_by not in CALIBRATIONS:
                refuse(found.where, f"calibration {result.calibrated_by!r} is unknown")
        if found.given("scale"):
            result.scale = found.number("scale", positive=True)
        if found.given("class_weights"):
            _read_class_weights(result, found)
        result.iterations = found.take("iterations", int)
        result.residual = found.number("residual")
        result.keep_factor = found.take("keep_factor", bool)
        limited = found.given("memory_limit")
        result.memory_limit = found.take("memory_limit", str, float) if limited else None
        result.device = found.take("device", str)
        if result.device and not known_place(result.device):
            refuse(found.where, f"device {result.device!r} is not known")
    result._factor = None


def _read_looks(result: FitResult, found: Fields) -> None:
    """Every λ and width looked at, or the criterion that is to look at them."""
    result.steps = [
        state.plain(Step, Fields(values, f"{found.where}.steps"))
        for values in found.take("steps", list)
    ]
    result._width = found.take("width", float)
    result._chosen_path = result._objective = None
    if found.given("path"):
        rows = result.alphas.size if result.per_target else 1
        result._chosen_path = state.path_from(found.inner("path"), rows)
    if found.given("criterion"):
        criterion = state.criterion_from(found.inner("criterion"), result.kept.size)
        result._objective = Objective(
            criterion, result.sample.Y, result.unit, None, result.per_target
        )


def _read_answers(result: FitResult, found: Fields) -> None:
    """What somebody had asked for before it was saved."""
    n, t = result.sample.Y.shape
    shapes = [(result.n_rows, t), (n, t), (n, t), (t,), (result.scored_rows.size, t), (t,)]
    for name, shape in zip(_COMPUTED_LATER, shapes, strict=True):
        if found.given(name):
            vars(result)[name] = values = found.array(name, shape, finite=False)
            values.flags.writeable = name != "leave_one_out_values"
    result.calibration = None
    if found.given("calibration"):
        columns = t
        if isinstance(result.targets, Labels) and result.targets.exclusive:
            columns = result.targets.classes.size  # a code may have more columns, or fewer
        result.calibration = state.calibration_from(found.inner("calibration"), columns)


def _has_metric(kernel: Any) -> bool:
    """Whether a kernel, or a term of it, has a metric."""
    parameters = kernel.get_params(deep=True).items()
    return any(
        value is not None for name, value in parameters if name.rpartition("__")[2] == "metric"
    )


def _check_learned(result: FitResult, learned: LearnedKernel, where: str) -> None:
    """Refuse a learned kernel that is not that of the fit."""
    n, t = result.sample.Y.shape
    if learned.score.size != (t if result.per_target else 1):
        refuse(where, "learned.score has one number for each λ")
    if learned.rounds and not _has_metric(result.sample.kernel):
        refuse(where, "the kernel has no metric, and learned.rounds says that it has learned one")
    if learned.judged_by_folds(n):
        values = vars(result).get("scored_values")
        if not np.array_equal(result.scored_rows, learned.rows) or values is None:
            refuse(where, "scored rows are not those of learned.rows")
        if not np.array_equal(values, learned.values):
            refuse(where, "scored_values are not learned.values")


def _read_class_weights(result: FitResult, found: Fields) -> None:
    """Those of the classes, of which every row of the fit has one above zero."""
    labels = result.targets
    if not isinstance(labels, Labels) or labels.multilabel or result.sample.weights is None:
        refuse(found.where, "class weights belong to weighted rows of classes")
    weights = found.array("class_weights", labels.classes.shape, (np.float64,), least=0.0)
    if not weights[labels.class_numbers(result.sample.Y)].all():
        refuse(found.where, "a row of the fit is of a class of weight zero")
    result.class_weights = weights


def _model_from(
    found: Fields, columns: Array, kept: Array
) -> tuple[KernelExpansion | Hyperplane, Sample]:
    """The model and the rows behind it, for target columns (n, t) of the rows ``kept`` (n,)."""
    n, t = columns.shape
    kernel = found.take("kernel", Kernel)
    coefficients = found.array("coefficients", (None, t))
    dtype = (coefficients.dtype,)
    intercepts = found.array("intercepts", (t,), (np.float64,))
    weights = None
    if found.given("weights"):
        weights = found.array("weights", (n,), least=np.nextafter(0.0, 1.0))
    intercept = found.take("intercept", bool)
    if columns.dtype not in dtype:
        refuse(found.where, "coefficients and columns are of different types")
    few_centers = found.take("thin", bool)
    linear, given = isinstance(kernel, Linear) and not few_centers, isinstance(kernel, Precomputed)
    numbers = kept
    if few_centers:
        numbers = found.array("center_numbers", (coefficients.shape[0],), INTEGERS, least=-1)
    else:
        found.take("center_numbers", type(None))
    d = coefficients.shape[0] if linear else n
    X = np.empty((0, d), columns.dtype)
    if linear or given:
        found.take("centers", type(None))
    else:
        X = rows_from(found, "centers", numbers.size, coefficients.dtype)
        d = X.shape[1]
    if d == 0 or not (linear or coefficients.shape[0] == numbers.size):
        refuse(found.where, f"coefficients have shape {coefficients.shape}")
    state.check_kernel(kernel, d, f"{found.where}.kernel")
    rows = X[:0] if few_centers else X
    sample = Sample(rows, columns, weights, intercept, kernel, few_centers=few_centers)
    if linear:
        return Hyperplane(coefficients, intercepts), sample
    centers = None if given else X
    return KernelExpansion(kernel, centers, numbers, coefficients, intercepts), sample
