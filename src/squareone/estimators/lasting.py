"""What lasts of a fit: its fields, as they are kept in files."""

from __future__ import annotations

from dataclasses import asdict
from threading import RLock
from typing import Any, Self

import numpy as np

from ..arrays import Array
from ..fitting import part_states as state
from ..fitting.width_search import Step
from ..kernels import Kernel, Linear, Precomputed
from ..models import Hyperplane, KernelExpansion
from ..models.probabilities import CALIBRATIONS, Calibration
from ..persistence import INTEGERS, Fields, refuse
from ..persistence.stored_rows import of_rows, rows_from
from ..selection import Objective, Path
from ..solvers import Factor
from ..targets import Labels, Responses
from .sample import Sample

# What is computed when first asked for: over all rows, the rows of the fit, and the targets.
_COMPUTED_LATER = (
    "leave_one_out_values",
    "relative_complements",
    "complements",
    "scales",
    "scored_values",
)


class Lasting:
    """The fields of a :class:`~squareone.fitting.result.Record`, written to files and read.

    ``_factor``, which is large, and ``_objective``, where it is done with, do not last.
    """

    targets: Responses | Labels
    model: KernelExpansion | Hyperplane
    alphas: Array
    kept: Array
    steps: list[Step]
    keep_factor: bool
    memory_limit: float | str | None
    per_target: bool
    sample: Sample
    unit: float
    diagonal: Array
    calibration: Calibration | None
    calibrated_by: str | None
    scale: float | None
    iterations: int
    residual: float
    scored: Array | None
    dropped_centers: Array
    _explained: float | None
    _dropped_values: Array
    _dropped_columns: Array
    _walked: Path | None
    _width: float
    _objective: Objective | None
    _factor: Factor | None
    _lock: Any

    @property
    def scored_rows(self) -> Array:
        """Rows of the fit (s,) by whose left-out values it is judged: all, or random ones."""
        return np.arange(self.kept.size) if self.scored is None else self.scored

    @property
    def n_rows(self) -> int:
        """All the user's rows, those of weight zero too."""
        return self.kept.size + self._dropped_values.shape[0]

    @property
    def n_features(self) -> int:
        """Columns of the user's rows; with a precomputed kernel as many as rows."""
        return self.n_rows if self.sample.given else self.sample.X.shape[1]

    def _prepare_to_last(self) -> None:
        """Compute what could not be had any more without the factorisation."""

    def __getstate__(self) -> dict[str, Any]:
        self._prepare_to_last()
        state = {**vars(self), "_factor": None, "_objective": self._lasting_objective()}
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())

    def _lasting_objective(self) -> Objective | None:
        """The objective, unless it is done with, or has a scorer inside, which is code."""
        objective = self._objective
        done = self._walked is not None or objective is None or objective.scorer is not None
        return None if done else objective

    def state(self) -> dict[str, Any]:
        """All that lasts, the factorisation is not among it, for :meth:`from_state`.

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
              (n, t), ``scales`` (t,) and ``calibration``: None where nobody has asked for them
            - ``scored`` (s,): the rows that were left out in place of all, None for all, and
              ``scored_values`` (s, t)
            - ``thin`` (bool): whether coefficients (m, t) belong to centers of their own; which
              rows these are, ``center_numbers`` (m,), −1 for none; the positions of those that were
              dropped, ``dropped_centers``; and the share of the trace ``explained``, if known
            - ``iterations`` and the relative ``residual`` they ended at
            - ``calibrated_by``, ``scale``, ``keep_factor`` and ``memory_limit``: parameters of
              the fit
        """
        self._prepare_to_last()
        objective = self._lasting_objective()
        centers = getattr(self.model, "centers", None)
        return {
            "kernel": self.sample.kernel,
            "intercept": bool(self.sample.intercept),
            "alphas": self.alphas,
            "per_target": bool(self.per_target),
            "coefficients": self.model.coefficients,
            "intercepts": self.model.intercepts,
            "centers": None if centers is None else of_rows(centers),
            "kept": self.kept,
            "targets": state.of_targets(self.targets),
            "columns": self.sample.Y,
            "unit": self.unit,
            "weights": self.sample.weights,
            "diagonal": self.diagonal,
            "dropped_values": self._dropped_values,
            "dropped_columns": self._dropped_columns,
            "path": state.of_path(self._walked),
            "steps": [asdict(step) for step in self.steps],
            "width": self._width,
            "criterion": objective and state.of_criterion(objective.criterion),
            **{name: vars(self).get(name) for name in _COMPUTED_LATER},
            "calibration": self.calibration and state.of_calibration(self.calibration),
            "calibrated_by": self.calibrated_by,
            "scale": self.scale,
            "scored": self.scored,
            "thin": bool(self.sample.thin),
            "center_numbers": self.model.indices if self.sample.thin else None,  # type: ignore[union-attr]
            "dropped_centers": self.dropped_centers if self.sample.thin else None,
            "explained": self._explained,
            "iterations": self.iterations,
            "residual": self.residual,
            "keep_factor": bool(self.keep_factor),
            "memory_limit": self.memory_limit,
        }

    @classmethod
    def from_state(cls, found: Fields) -> Self:
        """The record whose :meth:`state` was written to a file; refused where it cannot be one."""
        record = cls.__new__(cls)
        record._lock = RLock()
        with found:
            alphas = found.array("alphas", (None,), (np.float64,), least=0.0)
            kept = found.array("kept", (None,), INTEGERS, least=0)
            n, t = kept.size, alphas.size
            columns = found.array("columns", (n, t))
            dropped = found.array("dropped_values", (None, t), finite=False)
            if n == 0 or t == 0 or (np.diff(kept) <= 0).any() or kept[-1] >= n + len(dropped):
                refuse(found.where, "kept does not say which rows these are")
            record.alphas, record.kept = alphas, kept
            record.per_target = found.take("per_target", bool)
            record.targets = state.targets_from(found.inner("targets"), t)
            record.model, record.sample = _model_from(found, columns, kept)
            record.unit = found.number("unit", positive=True)
            record.diagonal = found.array("diagonal", (0 if record.sample.thin else n,))
            record.scored = None
            if found.given("scored"):
                record.scored = found.array("scored", (None,), INTEGERS, least=0)
                if (np.diff(record.scored) <= 0).any() or not record.scored.max(initial=-1) < n:
                    refuse(found.where, "scored does not say which rows these are")
            record.dropped_centers = np.empty(0, int)
            if record.sample.thin:
                record.dropped_centers = found.array("dropped_centers", (None,), INTEGERS, least=0)
            else:
                found.take("dropped_centers", type(None))
            known = found.given("explained")
            record._explained = found.number("explained") if known else None
            record._dropped_values = dropped
            record._dropped_columns = found.array("dropped_columns", dropped.shape)
            record._read_looks(found)
            record._read_answers(found)
            record.calibrated_by = record.scale = None
            if found.given("calibrated_by"):
                record.calibrated_by = found.take("calibrated_by", str)
                if record.calibrated_by not in CALIBRATIONS:
                    refuse(found.where, f"calibration {record.calibrated_by!r} is unknown")
            if found.given("scale"):
                record.scale = found.number("scale", positive=True)
            record.iterations = found.take("iterations", int)
            record.residual = found.number("residual")
            record.keep_factor = found.take("keep_factor", bool)
            limited = found.given("memory_limit")
            record.memory_limit = found.take("memory_limit", str, float) if limited else None
        record._factor = None
        return record

    def _read_looks(self, found: Fields) -> None:
        """Every λ and width looked at, or the criterion that is to look at them."""
        self.steps = [
            state.plain(Step, Fields(values, f"{found.where}.steps"))
            for values in found.take("steps", list)
        ]
        self._width = found.take("width", float)
        self._walked = self._objective = None
        if found.given("path"):
            rows = self.alphas.size if self.per_target else 1
            self._walked = state.path_from(found.inner("path"), rows)
        if found.given("criterion"):
            criterion = state.criterion_from(found.inner("criterion"), self.kept.size)
            self._objective = Objective(criterion, self.sample.Y, self.unit, None, self.per_target)

    def _read_answers(self, found: Fields) -> None:
        """What somebody had asked for before it was saved."""
        n, t = self.sample.Y.shape
        shapes = [(self.n_rows, t), (n, t), (n, t), (t,), (self.scored_rows.size, t)]
        for name, shape in zip(_COMPUTED_LATER, shapes, strict=True):
            if found.given(name):
                vars(self)[name] = values = found.array(name, shape, finite=False)
                values.flags.writeable = name != "leave_one_out_values"
        self.calibration = None
        if found.given("calibration"):
            self.calibration = state.calibration_from(found.inner("calibration"), t)


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
    thin = found.take("thin", bool)
    linear, given = isinstance(kernel, Linear) and not thin, isinstance(kernel, Precomputed)
    numbers = kept
    if thin:
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
    rows = X[:0] if thin else X
    sample = Sample(rows, columns, weights, intercept, kernel, thin=thin)
    if linear:
        return Hyperplane(coefficients, intercepts), sample
    centers = None if given else X
    return KernelExpansion(kernel, centers, numbers, coefficients, intercepts), sample
