"""The fit in a few lines of text."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_consistent_length

from ..arrays import Array
from ..estimators.base import RegularisedLeastSquares
from ..estimators.orols import OrthogonalLeastSquares
from ..kernels.names import other_kernels
from ..planning.available_memory import readable
from .measure import (
    ROOT_MEAN_SQUARE,
    criterion_name,
    fitted,
    fitted_greedy,
    is_greedy,
    left_out_by,
    measure_name,
    shown,
    values_left_out,
    was_given,
)

_MOST_NUMBERS = 6


def summary(estimator: Any, y: Any = None) -> str:
    """Say what a fitted estimator is, how well it predicts unseen rows, and what that cost.

    Parameters
    ----------
    estimator : RLSRegressor, RLSClassifier, OROLSRegressor or OROLSClassifier
        Fitted; alone, or at the end of a pipeline or search.
    y : array-like of shape (n,) or (n, t), optional
        The targets of the fit. With them the leave-one-out predictions are compared: the error rate
        of a classifier, and the root mean square error of a regressor whose λ was chosen otherwise.
        Greedy estimators have none, and the summary says so.

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
      λ                                0.23..., with sigma the best of ... by leave-one-out
      effective degrees of freedom     28...
      leave-one-out mean square error  0.075...
      leave-one-out error rate         4 %, 6 of 150 rows
      solver                           spectral: ...eigendecomposition, every alpha
      why                              the whole path at once, and its cost is negligible ...
      time                             ... s: search for the width ...
      memory                           ..., counted beforehand
      not tried                        Gaussian(ard=True), Laplacian(), Matern(), Linear()

    A greedy model:

    >>> from squareone import OROLSClassifier
    >>> print(summary(OROLSClassifier(random_state=0, shared_centers=True).fit(X, y)))
    OROLSClassifier fitted to 150 rows, 4 features
      kernel                              Gaussian(sigma=...)
      centers                             ... of 150 rows, by charged generalised ...
      path ended by                       ...
      λ                                   ..., re-estimated at every step
      ε                                   ..., with sigma the best of ... by cross-validation
      effective degrees of freedom        ...
      training mean square error          ...
      cross-validation mean square error  0.2..., the least of the search
      not tried                           Laplacian(), Matern(), Linear()
    """
    if is_greedy(estimator):
        return _greedy(fitted_greedy(estimator, "summary"), asked=y is not None)
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
    if plan.untried:
        lines["not tried"] = ", ".join(plan.untried)
    return _table(estimator, plan.task.n, None if plan.task.given else plan.task.d, lines)


def _table(estimator: Any, n: int, d: int | None, lines: dict[str, str]) -> str:
    """Two columns below a title; ``d`` is None where the kernel was given."""
    width = max(map(len, lines)) + 2
    features = "" if d is None else f", {d:,} feature{'s' * (d != 1)}"
    if estimator._takes_tables:
        columns = estimator.n_features_in_
        features = f", {columns:,} column{'s' * (columns != 1)} encoded as{features[1:]}"
    title = f"{type(estimator).__name__} fitted to {n:,} rows{features}"
    return "\n".join([title, *(f"  {name:<{width}}{text}" for name, text in lines.items())])


def _greedy(estimator: OrthogonalLeastSquares, *, asked: bool) -> str:
    """The same for a model whose centers were chosen greedily; ``asked`` for leave-one-out."""
    record, search = estimator._recorded(), estimator.search_
    n, kernels, paths = record.numbers.size, record.kernels, record.paths
    models = zip(paths, record.counts, strict=True)
    degrees, squares = np.array([(path.degrees[m], path.errors[m]) for path, m in models]).T
    penalty = "re-estimated at every step" * isinstance(estimator.lambda_update, str) or "as given"
    kind = "mean square error" if is_classifier(estimator) else ROOT_MEAN_SQUARE
    unit = np.asarray if is_classifier(estimator) else np.sqrt
    lines = {
        "kernel": ", ".join(map(str, kernels)),
        "centers": f"{_numbers(np.array(record.counts))} of {n:,} rows, {_count_text(estimator)}",
        "path ended by": ", ".join(sorted({path.ended for path in paths})),
        "λ": f"{_numbers(estimator.lambda_)}, {penalty}",
        "ε": f"{_numbers(estimator.epsilon_)}, {_epsilon_text(estimator)}",
        "effective degrees of freedom": _numbers(degrees),
        f"training {kind}": _numbers(unit(squares * record.unit**2)),
    }
    if search["error"].size:
        least = _numbers(unit(np.min(search["error"])))
        lines[f"cross-validation {kind}"] = f"{least}, the least of the search"
    if asked:
        lines["leave-one-out predictions"] = "none: use sklearn.model_selection.cross_val_predict"
    others = [other_kernels(kernel, relevance=False) for kernel in kernels]
    untried = [name for name in others[0] if all(name in names for names in others)]
    if untried:
        lines["not tried"] = ", ".join(untried)
    return _table(estimator, n, record.n_features if kernels[0].has_formula else None, lines)


_STOPPING = {
    "gcv": "charged generalised cross-validation",
    "bic": "Bayesian information",
    "mdl": "description length",
    "validation": "the error on held-out rows",
}


def _count_text(estimator: OrthogonalLeastSquares) -> str:
    """How the number of centers was chosen."""
    record = estimator._recorded()
    if [path.best for path in record.paths] != record.counts:
        return "by at()"
    if str(estimator.stopping) not in _STOPPING:
        return "as asked for"
    longest = max(path.longest for path in record.paths)
    which = "a path" if len(record.paths) == 1 else "paths"
    return f"by {_STOPPING[str(estimator.stopping)]} on {which} of up to {longest:,}"


def _epsilon_text(estimator: OrthogonalLeastSquares) -> str:
    """How ε was chosen, and a width with it."""
    search = estimator.search_
    looks, searched = search["error"].size, isinstance(estimator.epsilon, str)
    sigma = "sigma " * (not np.isnan(search["sigma"]).all())
    if not looks:
        return "the least that is tried: too few rows for more" if searched else "as given"
    best = f"the best of {looks:,} by cross-validation"
    return f"{'with ' * bool(sigma)}{sigma}{best}" if searched else f"as given; {sigma}{best}"


def _alpha_text(estimator: RegularisedLeastSquares) -> str:
    text = _numbers(estimator.alpha_)
    by = criterion_name(estimator)
    record = estimator._recorded()
    searched = bool(record.steps)
    if was_given(estimator):
        return f"{text}, as given; sigma by {by}" if searched else f"{text}, as given"
    size = int(np.isfinite(estimator.path_["alpha"]).sum())
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
        **_choice(estimator),
    }


def _choice(estimator: RegularisedLeastSquares) -> dict[str, str]:
    """How the kernel was chosen or its metric learned, where it was."""
    learned = estimator._recorded().learned
    if learned is None:
        return {}
    rounds = f"{learned.rounds} round{'s' * (learned.rounds != 1)} of a learned metric"
    text = f"{rounds}, the best of {learned.trials['score'].size} trials by folds"
    return {"choice of the kernel": text}


def _leave_one_out(estimator: RegularisedLeastSquares, y: Array) -> dict[str, str]:
    try:
        values = values_left_out(estimator)
    except AttributeError:
        return {"leave-one-out predictions": "not computed: fit again with keep_factor=True"}
    by = left_out_by(estimator)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    check_consistent_length(values, y)
    if not is_classifier(estimator):
        error = np.sqrt(np.mean((y - values.reshape(y.shape)) ** 2))
        return {f"{by} {ROOT_MEAN_SQUARE}": _numbers(error)}
    said = estimator._decode(values.reshape(len(values), -1))
    wrong, of = (said != (y != 0), "labels") if y.ndim == 2 else (said != y, "rows")
    text = f"{100 * np.mean(wrong):.2g} %, {np.sum(wrong):,} of {wrong.size:,} {of}"
    return {f"{by} error rate": text}


def _threshold(estimator: RegularisedLeastSquares) -> dict[str, str]:
    """What decision values have to exceed, where that is not zero, also as a probability."""
    found = getattr(estimator, "threshold_", 0.0)
    if not np.any(found):
        return {}
    as_probability = getattr(estimator, "probability_threshold_", None)
    more = "" if as_probability is None else f"; as a probability {_numbers(as_probability)}"
    return {"threshold": _numbers(found) + more}


def _numbers(values: float | Array) -> str:
    """Three digits each; of many only the first ones."""
    several = np.atleast_1d(values)
    text = ", ".join(
        f"{value:,.0f}" if 1e3 <= value < 1e6 else f"{value:.3g}"
        for value in several[:_MOST_NUMBERS]
    )
    return text if several.size <= _MOST_NUMBERS else f"{text}, … ({several.size} in all)"
