"""Warnings of a fit, and a refusal: what a factorisation says about its accuracy, in words."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..errors import EstimateWarning, IllConditionedWarning, SingularSystemError
from ..rows import rows_of
from ..selection import lowest_alpha
from ..solvers import Factor
from ..solvers.contract import Status, Unconverged
from .problem import Problem

#: An expected relative error above this is reported, and refused at λ = 0.
WORTH_A_WARNING = 1e-2
# Share of the squared leave-one-out error beyond which an estimate is not relied on.
_DOUBTFUL = 0.25


def warn_of_status(status: Status, alpha: float, tolerance: float, dtype: np.dtype) -> None:
    """Warn where rounding, missing centers or an early end may have changed the result.

    ``alpha`` is the smallest λ of the fit, ``tolerance`` what was asked of iterations.
    """
    warn_of_rounding(status.rounding, alpha, dtype)
    if status.dropped:
        warnings.warn(
            f"{status.dropped:,} centers were dropped: {dtype.name} cannot tell them from "
            f"combinations of the others, and at alpha = {alpha:.3g} they may have counted. Use "
            "float64 rows, a larger alpha or a narrower kernel",
            IllConditionedWarning,
            stacklevel=2,
        )
    if status.unconverged is not None:
        text = _described(status.unconverged, tolerance)
        whole = not (status.unconverged.in_fold or status.unconverged.unsolved)
        text += ", or float64 rows" if whole and dtype == np.float32 else ""
        warnings.warn(text, ConvergenceWarning, stacklevel=2)


def warn_of_rounding(estimate: float, alpha: float, dtype: np.dtype) -> None:
    """Warn where rounding may have changed the result by more than a per cent."""
    if estimate > WORTH_A_WARNING:
        warnings.warn(
            f"the system at alpha = {alpha:.3g} is ill-conditioned: rounding in "
            f"{dtype.name} may change the result by a relative "
            f"{min(estimate, 1.0):.1g}. Use a larger alpha"
            + (", or float64 rows" if dtype == np.float32 else ""),
            IllConditionedWarning,
            stacklevel=2,
        )


def warn_of_doubt(share: float) -> None:
    """Warn where this share of the squared leave-one-out error rests on probes that cannot tell."""
    if share > _DOUBTFUL:
        warnings.warn(
            f"{share:.0%} of the squared leave-one-out error comes from rows whose leverage "
            "random probes cannot tell: it may be far off, and so may alpha if it was chosen "
            'by it. Use criterion="holdout" or cv, a larger alpha, or an exact solver',
            EstimateWarning,
            stacklevel=2,
        )


def refuse_singular(problem: Problem, factor: Factor) -> None:
    """Refuse λ = 0 where the system is singular."""
    alpha = problem.alpha
    if isinstance(alpha, str) or np.all(np.asarray(alpha) > 0):
        return
    if factor.error_estimate(0.0) > WORTH_A_WARNING:
        why, instead = "rows depend on each other, as equal rows do", ""
        if problem.linear and problem.solver.needs_linear:
            why = "features depend on each other, as equal features do"
            instead = ", or drop the features that others determine"
        elif problem.linear and problem.X.shape[0] > problem.X.shape[1]:
            why = "there are more rows than features"
            instead = f', or use solver="{problem.solver.more_accurate}"'
            if _features_depend(problem):  # which no solver can tell apart
                why = "features depend on each other, as equal features do"
                instead = ", or drop the features that others determine"
        msg = (
            "alpha=0 asks for an unregularised fit, and the system is singular in "
            f"{factor.targets.dtype.name}: {why}. Use an alpha above zero, such as "
            f"{lowest_alpha(factor):.1g}{instead}"
        )
        raise SingularSystemError(msg)


def _features_depend(problem: Problem) -> bool:
    """Whether the condition of the features, centred for an intercept, is beyond their type."""
    X = rows_of(problem.X).dense().astype(np.float64)
    if problem.intercept:
        X = X - X.mean(axis=0)
    sizes = np.linalg.svd(X, compute_uv=False)
    return bool(sizes[-1] * WORTH_A_WARNING <= np.finfo(problem.X.dtype).eps * sizes[0])


def _described(found: Unconverged, tolerance: float) -> str:
    remedy = "Raise max_iter or tol, or use larger alphas"
    asked = f"tol={tolerance:.2g} was asked for. {remedy}"
    if found.in_fold:
        where = f"{found.solver} stopped in a fold at a relative residual of"
        return f"{where} {found.residual:.2g}; {asked}"
    ended = f"{found.solver} stopped after {found.iterations} iterations"
    if found.unsolved:
        return (
            f"{ended}: of {found.compared} alphas that were compared the smallest "
            f"{found.unsolved} have a relative residual of up to {found.residual:.2g}; {asked}"
        )
    return f"{ended} at a relative residual of {found.residual:.2g}; {asked}"
