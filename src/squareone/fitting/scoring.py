"""Any scikit-learn scorer on held-out values, without a fitted estimator behind them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from ..arrays import Array
from ..selection.objective import HeldOutScorer
from ..targets import Labels, Responses

_GIVEN = ("predict", "decision_function")


class _HeldOutRegressor(RegressorMixin, BaseEstimator):
    """Stands where a scorer expects a regressor: its predictions are the rows it is shown."""

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Array) -> Array:
        return X[:, 0] if X.shape[1] == 1 else X


class _HeldOutClassifier(ClassifierMixin, BaseEstimator):
    """The same for a classifier: its rows are held-out values, and beside them comparable ones."""

    def __init__(self, labels: Labels | None = None) -> None:
        self.labels = labels

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def classes_(self) -> Array:
        assert self.labels is not None
        return self.labels.classes

    def predict(self, X: Array) -> Array:
        assert self.labels is not None
        return self.labels.decode(X[:, : X.shape[1] // 2])

    def decision_function(self, X: Array) -> Array:
        assert self.labels is not None
        return self.labels.shaped(X[:, X.shape[1] // 2 :])


def held_out_scorer(
    scoring: Any,
    y: Array,
    targets: Responses | Labels,
    weights: Array | None,
    *,
    per_target: bool,
) -> HeldOutScorer | None:
    """A function of held-out values from ``scoring``, refused if they cannot give what it needs.

    Classes are those of the held-out values themselves; decision values, which a scorer puts in
    order, are those that can be compared: :mod:`squareone.selection.comparable_values`.

    Parameters
    ----------
    scoring : str, callable or None
        As in scikit-learn; None means squared error.
    y : array (n,) or (n, t)
        What the user gave, for the rows in the fit.
    targets : Responses or Labels
    weights : array (n,) or None
        The user's sample weights for those rows.
    per_target : bool
        Whether columns are scored one by one.
    """
    if scoring is None:
        return None
    scorer = _scorer(scoring)
    _check_response(scorer, scoring)
    extra = _weight_argument(scorer, scoring, weights)
    labels = targets if isinstance(targets, Labels) else None
    if per_target and labels is not None and not labels.multilabel and labels.classes.size > 2:
        msg = (
            "alpha_per_target=True with scoring is not defined for several classes: a class column "
            "alone has no score. Use scoring=None or alpha_per_target=False"
        )
        raise ValueError(msg)
    whole = _HeldOutRegressor() if labels is None else _HeldOutClassifier(labels)
    single = whole if labels is None else _HeldOutClassifier(Labels(np.array([0, 1]), False))

    def score(
        rows: Array, values: Array, comparable: Callable[[], Array], column: int | None
    ) -> float:
        arguments = {} if extra is None else {"sample_weight": extra[rows]}
        truth, stand_in = y[rows], whole
        parts = [values] if labels is None else [values, comparable()]
        if column is not None and truth.ndim == 2:
            truth, stand_in = truth[:, column], single
            parts = [part[:, [column]] for part in parts]
        try:
            result = scorer(stand_in, np.hstack(parts), truth, **arguments)
        except AttributeError as error:
            raise ValueError(_refusal(scoring, str(error))) from error
        except (TypeError, ValueError) as error:
            msg = f"scoring={scoring!r} failed on the held-out values: {error}"
            raise ValueError(msg) from error
        if not np.isscalar(result) or not np.isfinite(result):
            msg = (
                f"scoring={scoring!r} returned {result!r} on the held-out values: a finite number "
                "is expected"
            )
            raise ValueError(msg)
        return float(result)  # type: ignore[arg-type]

    return score


def _scorer(scoring: Any) -> Any:
    from sklearn.metrics import get_scorer  # imported late: it would slow `import squareone`

    if isinstance(scoring, str):
        return get_scorer(scoring)
    if callable(scoring):
        if "sklearn.metrics._" in getattr(scoring, "__module__", "") and inspect.isfunction(
            scoring
        ):
            msg = (
                f"scoring={scoring.__name__} is a metric, not a scorer: wrap it in "
                "sklearn.metrics.make_scorer"
            )
            raise ValueError(msg)
        return scoring
    msg = f"scoring={scoring!r}: the name of a scikit-learn scorer, a scorer, or None"
    raise ValueError(msg)


def _check_response(scorer: Any, scoring: Any) -> None:
    wanted = getattr(scorer, "_response_method", None)
    if wanted is None:
        return
    methods = [wanted] if isinstance(wanted, str) else list(wanted)
    if not any(method in _GIVEN or method == "default" for method in methods):
        raise ValueError(_refusal(scoring, f"it needs {' or '.join(methods)}"))


def _refusal(scoring: Any, why: str) -> str:
    return (
        f"scoring={scoring!r} cannot be computed on held-out values: {why}. They offer predict "
        "and, for classifiers, decision_function"
    )


def _weight_argument(scorer: Any, scoring: Any, weights: Array | None) -> Array | None:
    if weights is None:
        return None
    function = getattr(scorer, "_score_func", scorer)
    parameters = inspect.signature(function).parameters
    if "sample_weight" in parameters:
        return weights
    msg = (
        f"scoring={scoring!r} takes no sample_weight, so the weights of this fit would be ignored: "
        "choose a scorer that does, or wrap the metric in one with sklearn.metrics.make_scorer"
    )
    raise ValueError(msg)
