"""The forms in which A is kept: which there are, which one is taken, and learners of each."""

from __future__ import annotations

from typing import Any

from ..kernels import Constant, Kernel, Linear
from .diagonal import DiagonalLearners
from .dual import DualLearners
from .learners import Learners
from .primal import PrimalLearners, fits_primal

#: The forms of learners by name.
FORMS: dict[str, type[Learners]] = {
    "primal": PrimalLearners,
    "dual": DualLearners,
    "diagonal": DiagonalLearners,
}


def choose_form(
    asked: str, kernel: Kernel, shown: Any, budget: int | None, features: int, matrices: int
) -> str:
    """That which is ``asked`` for; "auto": an exact one, for so many features and matrices A.

    ``shown`` is the kernel as the user has written it.
    """
    linear = isinstance(kernel, Linear)
    if asked == "auto":
        fits = linear and budget is None and fits_primal(features, matrices)
        return "primal" if fits else "dual"
    if asked != "dual" and not linear:
        msg = f'form={asked!r} is for the linear kernel, and kernel={shown!r}: use form="dual"'
        raise ValueError(msg)
    if asked != "dual" and budget is not None:
        msg = (
            f"budget={budget} limits the points of a kernel expansion, and form={asked!r} has "
            'none: use form="dual", or budget=None'
        )
        raise ValueError(msg)
    return asked


def make_learners(
    form: str,
    kernel: Kernel,
    features: int,
    columns: int,
    alpha: float,
    *,
    intercept: bool,
    shared: bool,
    budget: int | None,
    budget_rule: str,
    **settings: Any,
) -> Learners:
    """Learners of a form; an ``intercept`` is a constant feature, or a constant in the kernel."""
    if form != "dual":
        return FORMS[form](features + intercept, columns, alpha, shared=shared, **settings)
    return DualLearners(
        features,
        columns,
        alpha,
        shared=shared,
        kernel=kernel + Constant(1.0) if intercept else kernel,
        budget=budget,
        rule=budget_rule,
        **settings,
    )
