"""Coefficients of a fit as they are shown, and as a user assigns them: what is assigned counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..models import Hyperplane
from ..targets import Labels, Responses
from .result import FitResult


def of_hyperplane(record: FitResult) -> Array:
    """Coefficients (d,) or (t, d) of a linear model; for classes (1, d), (k, d) or (labels, d)."""
    if not isinstance(record.model, Hyperplane):
        msg = (
            f"coef_ is for a hyperplane, and this is an expansion in {record.sample.kernel}: "
            "see dual_coef_ and centers_"
        )
        raise AttributeError(msg)
    found = _of_decision_values(record, record.model.coefficients).T
    flat = isinstance(record.targets, Labels) and found.ndim == 1
    return found[None] if flat else found


def assign_hyperplane(record: FitResult, values: Any) -> None:
    """Have these in place of :func:`of_hyperplane`."""
    new = _checked(record, "coef_", values, of_hyperplane(record))
    record.model = replace(record.model, coefficients=np.ascontiguousarray(np.atleast_2d(new).T))


def of_expansion(record: FitResult) -> Array:
    """Coefficients (m,) or (m, t) of the centers."""
    if isinstance(record.model, Hyperplane):
        msg = "dual_coef_ is for a kernel expansion, and this is a hyperplane: see coef_"
        raise AttributeError(msg)
    return _of_decision_values(record, record.model.coefficients)


def assign_expansion(record: FitResult, values: Any) -> None:
    """Have these in place of :func:`of_expansion`."""
    new = _checked(record, "dual_coef_", values, of_expansion(record))
    record.model = replace(record.model, coefficients=new.reshape(new.shape[0], -1))


def of_constants(record: FitResult) -> float | Array:
    """The intercept: a number, or (t,); for classes (1,), (k,) or (labels,)."""
    if isinstance(record.targets, Responses) and record.targets.vector:
        return float(record.model.intercepts[0])
    found = _of_decision_values(record, record.model.intercepts[None, :])
    return found if found.ndim == 1 else found[0]


def assign_constants(record: FitResult, values: Any) -> None:
    """Have these in place of :func:`of_constants`."""
    new = _checked(record, "intercept_", values, np.asarray(of_constants(record)))
    record.model = replace(record.model, intercepts=np.atleast_1d(new))


def _of_decision_values(record: FitResult, solved: Array) -> Array:
    """Coefficients (m, t) as they are shown; a code's are computed, and cannot be written."""
    targets = record.targets
    found = targets.coefficients(solved)
    if isinstance(targets, Labels) and targets.code is not None:
        found.flags.writeable = False
    return found


def _checked(record: FitResult, name: str, values: Any, now: Array) -> Array:
    """What a user wants in place of ``now``; refused where it cannot be."""
    targets = record.targets
    if isinstance(targets, Labels) and targets.code is not None:
        msg = (
            f"{name} cannot be assigned with coding={targets.code.coding!r}: it is computed "
            "from the columns of the code. Fit with the default coding to change it"
        )
        raise AttributeError(msg)
    try:
        new = np.array(values, dtype=now.dtype)
    except (TypeError, ValueError) as error:
        msg = f"{name} is to be numbers of shape {now.shape}: {error}"
        raise ValueError(msg) from error
    if new.ndim == 0 and now.shape == (1,):
        new = new[None]
    if new.shape != now.shape or not np.isfinite(new).all():
        came = f"shape {new.shape}" if new.shape != now.shape else "NaN or infinity"
        msg = f"{name} is to be finite numbers of shape {now.shape}, as it is now: {came} came"
        raise ValueError(msg)
    return new
