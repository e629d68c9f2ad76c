"""Warnings of a fit: what a factorisation says about its accuracy, in words."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..errors import IllConditionedWarning
from ..solvers.contract import Status, Unconverged

#: An expected relative error above this is reported, and refused at λ = 0.
WORTH_A_WARNING = 1e-2


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
