"""The fit in a few lines of text."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_consistent_length

from ..arrays import Array
from ..estimators.base import RegularisedLeastSquares
from ..kernels.names import kernel_from
from ..kernels.widths import free_width
from ..planning.memory import readable
from .measure import ROOT_MEAN_SQUARE, criterion_name, fitted, measure_name, shown, was_given

_MOST_NUMBERS = 6


def summary(estimator: Any, y: Any = None) -> str:
    """Say what a fitted estimator is, how well it predicts unseen rows, and what that cost.

    Parameters
    ----------
    estimator : RLSRegressor or RLSClassifier
        Fitted.
    y : array-like of shape (n,) or (n, t), optional
        The targets of the fit. With them the leave-one-out predictions are compared: the error rate
        of a classifier, and the root mean square error of a regressor whose λ was chosen otherwise.

    Returns
    -------
    str
        A table of two columns: ``print`` it.

    Notes
    -----
    **Cost**: n·t operations where λ was chosen in fit. For one given λ its leave-one-out error is
    computed first, in n³/3 flops, if nobody asked for it before.

    The held-out error was made small by the choice of λ and of the width, and so is a little
    optimistic.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from squareone import RLSClassifier
    >>> from squareone.report import summary
    >>> X, y = load_iris(return_X_y=True)
    >>> print(summary(RLSClassifier(random_state=0).fit(X, y), y))
    RLSClassifier fitted to 150 rows, 4 features
      kernel                           Gaussian(sigma=0.91...)
      λ                                0.17..., with sigma the best of ... by leave-one-out
      effective degrees of freedom     31...
      leave-one-out mean square error  0.075...
      leave-one-out error rate         4.7 %, 7 of 150 rows
      solver                           spectral: ...eigendecomposition, every alpha
      why                              the whole path at once, and its cost is negligible ...
      time                             ... s: search for the width ...
      memory                           ..., counted beforehand
    """
    estimator = fitted(estimator, "summary")
    plan = estimator.plan_
    errors = _errors(estimator)
    if y is not None:  # what fit itself reported goes first and stays
        errors = errors | _leave_one_out(estimator, np.asarray(y)) | errors
    lines = {
        "kernel": str(estimator.kernel_),
        "λ": _alpha_text(estimator),
        **errors,
        **_threshold(estimator),
        "solver": f"{plan.solver}: {plan.chosen.form}",
        "why": plan.reason,
        "time": plan.time_spent(),
        "memory": f"{readable(plan.chosen.bytes)}, counted beforehand",
    }
    width = max(map(len, lines)) + 2
    features = "" if plan.task.given else f", {plan.task.d:,} features"
    title = f"{type(estimator).__name__} fitted to {plan.task.n:,} rows{features}"
    return "\n".join([title, *(f"  {name:<{width}}{text}" for name, text in lines.items())])


def _alpha_text(estimator: RegularisedLeastSquares) -> str:
    text = _numbers(estimator.alpha_)
    by = criterion_name(estimator)
    searched = free_width(kernel_from(estimator.kernel))
    if was_given(estimator):
        return f"{text}, as given; sigma by {by}" if searched else f"{text}, as given"
    size = estimator.path_["alpha"].size
    return f"{text}, {'with sigma ' if searched else ''}the best of {size} by {by}"


def _errors(estimator: RegularisedLeastSquares) -> dict[str, str]:
    """Degrees of freedom and the score, unless the factorisation that gives them is gone."""
    try:
        dof, score = estimator.effective_dof_, estimator.best_score_
    except AttributeError:
        return {measure_name(estimator): "not computed: fit again with keep_factor=True"}
    return {
        "effective degrees of freedom": _numbers(dof),
        measure_name(estimator): _numbers(shown(estimator, score)),
    }


def _leave_one_out(estimator: RegularisedLeastSquares, y: Array) -> dict[str, str]:
    try:
        values = estimator.loo_predictions_
    except AttributeError:
        return {"leave-one-out predictions": "not computed: fit again with keep_factor=True"}
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    check_consistent_length(values, y)
    if not is_classifier(estimator):
        error = np.sqrt(np.mean((y - values.reshape(y.shape)) ** 2))
        return {f"leave-one-out {ROOT_MEAN_SQUARE}": _numbers(error)}
    said = estimator._decode(values.reshape(len(values), -1))
    wrong, of = (said != (y != 0), "labels") if y.ndim == 2 else (said != y, "rows")
    text = f"{100 * np.mean(wrong):.2g} %, {np.sum(wrong):,} of {wrong.size:,} {of}"
    return {"leave-one-out error rate": text}


def _threshold(estimator: RegularisedLeastSquares) -> dict[str, str]:
    """What decision values have to exceed, where that is not zero."""
    found = getattr(estimator, "threshold_", 0.0)
    return {"threshold": _numbers(found)} if np.any(found) else {}


def _numbers(values: float | Array) -> str:
    """Three digits each; of many only the first ones."""
    several = np.atleast_1d(values)
    text = ", ".join(
        f"{value:,.0f}" if 1e3 <= value < 1e6 else f"{value:.3g}"
        for value in several[:_MOST_NUMBERS]
    )
    return text if several.size <= _MOST_NUMBERS else f"{text}, … ({several.size} in all)"
