"""A fit of a support vector machine from beginning to end: width, λ, left-out values, the model."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array
from ..errors import ScaleError
from ..fitting.progress import Progress
from ..kernels import Linear
from ..kernels.widths import free_width
from ..models import Hyperplane, KernelExpansion
from .alpha_choice import EXACT, AlphaSearch, Look
from .kernel_width import WidthLook, choose_width
from .left_out_values import too_costly
from .svm_plan import SVMPlan
from .svm_record import PATH_NUMBERS, SVMRecord
from .svm_task import ScaledSystem, SVMTask


def fit_svm(
    task: SVMTask, plan: SVMPlan, dtype: np.dtype, rng: np.random.RandomState, progress: Progress
) -> SVMRecord:
    """Choose the width and λ, and solve."""
    widths: list[WidthLook] = []
    name = free_width(task.kernel)
    if name:
        with plan.stage(progress, "width"):
            kernel, widths = choose_width(task, name, rng, progress)
            task = _with_widths(replace(task, kernel=kernel), rng)
    elif not task.given:
        task = replace(task, kernel=task.kernel.resolve(task.X, rng))
    with plan.stage(progress, "kernel matrix"):
        scaled = ScaledSystem.of(task, rng)
    search = AlphaSearch(scaled, task, progress)
    with plan.stage(progress, "path"):
        near = widths[-1].look.alpha if widths else np.nan
        chosen = search.choose(float(near) if np.isfinite(near) else None)
    with search.cores(), plan.stage(progress, "leave-one-out"):
        chosen = _settled(search, chosen)
    _warn_of_gaps(search, task)
    return _record(task, scaled, search, chosen, widths, dtype)


def _with_widths(task: SVMTask, rng: np.random.RandomState) -> SVMTask:
    """With a width for the kernel of each fold that has learned one, chosen without the fold."""
    folds = []
    for fold in task.folds or []:
        own = fold.kernel
        if own is not None and free_width(own):
            part = replace(task.part(fold.rest), kernel=own)
            silent = Progress.silent()
            with silent.stage("width"):
                own, _ = choose_width(part, free_width(own), rng, silent)
        folds.append(replace(fold, kernel=own))
    return replace(task, folds=folds or None)


def _settled(search: AlphaSearch, chosen: Look) -> Look:
    """The choice by exact left-out values at the best λ and its neighbours, where there are any.

    Where these cost too much, λ stays, and values are those of folds.
    """
    task = search.task
    searched = len(search.looks) > 1
    if task.folds is not None:
        if task.left_out:  # what probabilities and thresholds are made of, exactly
            tolerance = min(EXACT, task.tolerance)
            chosen = search.scored(chosen, search.held_out(chosen, tolerance))
        return search.accurate(chosen)
    if not (task.left_out or searched):
        return chosen  # to the tolerance that was asked for: nothing is made of it
    if task.spare_folds is not None:
        chosen = search.accurate(chosen)
        if too_costly(search.scaled.system, chosen.solutions):
            return search.by_spare_folds(chosen) if task.left_out else chosen
    close = [chosen, *search.neighbours(chosen)] if searched else [chosen]
    exact = [search.exact(look) for look in close]
    return max(exact, key=lambda look: (*look.rank, look.alpha))


def _warn_of_gaps(search: AlphaSearch, task: SVMTask) -> None:
    """Say where rounding, or the number of steps, has ended a solution before its tolerance."""
    worst = max(search.looks, key=lambda look: max(each.certificate.gap for each in look.solutions))
    gap = max(each.certificate.gap for each in worst.solutions)
    if gap > task.tolerance:
        linear = isinstance(task.kernel, Linear)
        warnings.warn(
            f"at alpha={worst.alpha:.3g} the relative duality gap is {gap:.2g}, above "
            f"tol={task.tolerance:.2g}: rounding leaves no more where alpha is so small beside the "
            f"kernel matrix. Use a larger alpha, {'standardise X, ' * linear}or a larger tol",
            ConvergenceWarning,
            stacklevel=2,
        )


def _record(
    task: SVMTask,
    scaled: ScaledSystem,
    search: AlphaSearch,
    chosen: Look,
    widths: list[WidthLook],
    dtype: np.dtype,
) -> SVMRecord:
    kept = task.kept
    points = [solution.point for solution in chosen.solutions]
    C = np.stack([point.coefficients for point in points], axis=1) / scaled.unit
    if task.intercept == "penalised":
        b = C.sum(axis=0)
    else:
        b = np.array([point.intercept for point in points])
    values = np.stack([point.values + point.intercept for point in points], axis=1)
    if not (np.isfinite(C).all() and np.isfinite(b).all()):
        msg = (
            "the coefficients overflow: rescale X, or use a larger alpha "
            f"(alpha = {chosen.alpha:.3g})"
        )
        raise ScaleError(msg)
    used = np.flatnonzero(C.any(axis=1))
    left_out = chosen.left_out
    if left_out is not None and left_out.how == "estimated":
        left_out = None
    return SVMRecord(
        model=_model(task, scaled, C, b, used, dtype),
        kernel=task.kernel,
        targets=task.targets,
        alpha=chosen.alpha,
        support=kept[used],
        dual=C[used].astype(dtype),
        path=_path(search, widths, task),
        kept=kept,
        Y=task.Y.astype(dtype),
        values=values.astype(dtype),
        user_weights=task.user_weights,
        class_weights=None,
        left_out_rows=None if left_out is None else left_out.rows,
        left_out=None if left_out is None else left_out.values.astype(dtype),
        left_out_by=None if left_out is None else left_out.how,
        radius=None if left_out is None else left_out.radius,
        center_indices=None if scaled.centers is None else scaled.centers.indices,
        calibrated_by=None,
        calibration=None,
        n_features=int(task.X.shape[1]),
    )


def _model(
    task: SVMTask, scaled: ScaledSystem, C: Array, b: Array, used: Array, dtype: np.dtype
) -> KernelExpansion | Hyperplane:
    centers = scaled.centers
    if centers is not None:
        A = scaled.center_coefficients(C).astype(dtype)
        points = centers.basis.points.astype(dtype)
        return KernelExpansion(task.kernel, points, centers.indices, A, b)
    coefficients = C[used]
    if isinstance(task.kernel, Linear):
        return Hyperplane(*scaled.hyperplane(task.X[used], coefficients, b, dtype))
    rows = None if task.given else task.X[used].astype(dtype)
    return KernelExpansion(task.kernel, rows, task.kept[used], coefficients.astype(dtype), b)


def _path(search: AlphaSearch, widths: list[WidthLook], task: SVMTask) -> dict[str, Array]:
    """Every λ that was tried, ascending, after what the width was chosen by."""
    sigma = _sigma_of(task)
    looks = sorted(search.looks, key=lambda look: look.alpha)
    rows = [_row(each.look, each.sigma, each.rows) for each in widths]
    rows += [_row(look, sigma, task.n) for look in looks]
    return {name: np.array([row[name] for row in rows], np.float64) for name in PATH_NUMBERS}


def _sigma_of(task: SVMTask) -> float:
    sigma = task.kernel.get_params().get("sigma", np.nan)
    return float(sigma) if np.ndim(sigma) == 0 and not isinstance(sigma, str) else np.nan


def _row(look: Look, sigma: float, rows: int) -> dict[str, Any]:
    """One line of the path: sums and worst cases over the columns."""
    row: dict[str, Any] = dict.fromkeys(PATH_NUMBERS, np.nan)
    row |= {"alpha": look.alpha, "C": 0.5 / look.alpha, "sigma": sigma, "rows": rows}
    row |= {"loo_error": look.error, "loo_loss": look.loss, "score": look.score}
    row["exact"] = float(look.left_out is not None and look.left_out.how == "exact")
    if look.solutions:
        certificates = [solution.certificate for solution in look.solutions]
        sets = [solution.sets() for solution in look.solutions]
        supports = np.zeros(rows, bool)
        for free, full in sets:
            supports |= free | full
        row["primal"] = sum(each.primal for each in certificates)
        row["dual"] = sum(each.dual for each in certificates)
        row["gap"] = max(each.gap for each in certificates)
        row["kkt_violation"] = max(each.violation for each in certificates)
        row["support_vectors"] = int(supports.sum())
        row["margin_rows"] = max(int(free.sum()) for free, _ in sets)
        row["systems"] = sum(solution.systems for solution in look.solutions)
    return row
