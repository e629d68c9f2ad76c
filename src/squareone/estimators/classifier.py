"""RLSClassifier."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from ..arrays import Array
from ..kernels import Kernel
from ..targets import Labels
from .base import RegularisedLeastSquares
from .target_validation import check_labels


class RLSClassifier(ClassifierMixin, RegularisedLeastSquares):
    """Regularised least-squares classification (RLSC): all classes and every λ at once.

    Classes become columns of ±1 (one column for two classes, one against all for more, one per
    label for an indicator matrix), which are fitted together as in :class:`RLSRegressor`; the
    largest value wins.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        A name or an object of :mod:`squareone.kernels`; see :class:`RLSRegressor`. Its width is
        chosen together with λ unless it is given.
    alpha : float, sequence of float or "auto", default="auto"
        λ, a grid to choose it from, or ``"auto"``; see :class:`RLSRegressor`.
    solver : {"auto", "cholesky", "spectral", "svd", "gram"}, default="auto"
        See :class:`RLSRegressor`.
    criterion : {"loo", "gcv", "holdout"}, default="loo"
        How the width and λ are chosen; the held-out part is stratified.
    cv : int, splitter, iterable of splits or None, default=None
        Choose by exact cross-validation, in closed form; an integer means stratified folds.
    scoring : str, callable or None, default=None
        A scikit-learn scorer for the pooled held-out decision values (``"accuracy"``,
        ``"roc_auc"``); None means minus the mean squared error on the ±1 columns. A width is chosen
        by it on at most 1,000 rows.
    fit_intercept : bool, default=True
        Whether to fit an unpenalised intercept.
    alpha_per_target : bool, default=False
        Choose a λ for every column by itself.
    validation_fraction : float, default=0.1
        Share of the rows held out by ``criterion="holdout"``.
    memory_limit : int, str or None, default=None
        Bytes, or a text such as ``"2GiB"``; by default what the machine has free.
    keep_factor : bool, default=True
        Keep the factorisation for what is asked later.
    random_state : int, RandomState instance or None, default=None
        For the rows behind the median distance, those a search for the width or a bracketed search
        starts with, and the held-out part. None means 0: the same fit every time.
    verbose : int, default=0
        1: how far a fit is that takes more than a second; 2: also every λ and width looked at.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied into ``sample_weight``; not for an indicator matrix, where
        each label would need weights, and a factorisation, of its own.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The classes, sorted; 0 … labels − 1 for an indicator matrix.
    alpha_, kernel_, path_, best_score_, effective_dof_, dual_coef_, centers_, center_indices_, \
coef_, intercept_, plan_, n_features_in_, feature_names_in_
        As in :class:`RLSRegressor`.
    loo_predictions_ : array of shape (n,), (n, k) or (n, labels)
        The decision values at each row of the fit without that row:
        ``classes_[loo_predictions_.argmax(axis=1)]`` are its leave-one-out labels (for two classes
        ``classes_[(loo_predictions_ > 0).astype(int)]``).

    See Also
    --------
    RLSRegressor : The same for numbers; cost and conventions are told there.

    Notes
    -----
    **Cost**: that of :class:`RLSRegressor` with k target columns; the factorisation is shared.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from squareone import RLSClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RLSClassifier().fit(X, y)
    >>> int((model.loo_predictions_.argmax(axis=1) != y).sum())  # leave-one-out errors
    7
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RegularisedLeastSquares._parameter_constraints,
        "class_weight": [None, dict, StrOptions({"balanced"})],
    }

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        alpha: Any = "auto",
        *,
        solver: str = "auto",
        criterion: str = "loo",
        cv: Any = None,
        scoring: Any = None,
        fit_intercept: bool = True,
        alpha_per_target: bool = False,
        validation_fraction: float = 0.1,
        memory_limit: float | str | None = None,
        keep_factor: bool = True,
        random_state: Any = None,
        verbose: int = 0,
        class_weight: dict[Any, float] | str | None = None,
    ) -> None:
        super().__init__(
            kernel,
            alpha,
            solver=solver,
            criterion=criterion,
            cv=cv,
            scoring=scoring,
            fit_intercept=fit_intercept,
            alpha_per_target=alpha_per_target,
            validation_fraction=validation_fraction,
            memory_limit=memory_limit,
            keep_factor=keep_factor,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def decision_function(self, X: Any) -> Array:
        """Decision values: above zero means the second class, or the label; the largest class wins.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).

        Returns
        -------
        array of shape (m,), (m, k) or (m, labels)
        """
        values = self._values(X)
        return self._record.targets.shaped(values)

    def predict(self, X: Any) -> Array:
        """Predict classes, or an indicator matrix.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).

        Returns
        -------
        array of shape (m,) or (m, labels)
        """
        values = self._values(X)
        return self._record.targets.decode(values)

    def _read_targets(self, X: Array, y: Any) -> tuple[Array, Labels, Array]:
        y = check_labels(y, X)
        check_classification_targets(y)
        targets = Labels.of(y)
        return y, targets, targets.columns(y, X.dtype)

    def _row_weights(self, y: Array, weights: Array | None) -> Array | None:
        weights = self._with_class_weight(y, weights)
        if weights is not None and y.ndim == 1 and np.unique(y[weights > 0]).size < 2:
            msg = (
                "the rows of positive weight are of one class only: a classifier needs at least "
                "two classes to tell apart"
            )
            raise ValueError(msg)
        return weights

    def _with_class_weight(self, y: Array, weights: Array | None) -> Array | None:
        if self.class_weight is None:
            return weights
        if y.ndim == 2:
            msg = (
                "class_weight is not defined for an indicator matrix: each label would need "
                "weights and a factorisation of its own. Fit the labels one by one, or use "
                "sample_weight"
            )
            raise ValueError(msg)
        counted = y if weights is None else y[weights > 0]
        classes = np.unique(counted)
        per_class = self._weights_of(classes, counted)
        by_class = np.zeros(y.shape[0])
        for label, weight in zip(classes, per_class, strict=True):
            by_class[y == label] = weight
        return by_class if weights is None else by_class * weights

    def _weights_of(self, classes: Array, y: Array) -> Array:
        """A weight per class (k,), finite and not all zero."""
        expected = "finite weights at or above zero, not all zero, are expected"
        try:
            per_class = compute_class_weight(self.class_weight, classes=classes, y=y)
        except (TypeError, ValueError) as error:
            msg = f"class_weight={self.class_weight!r}: {error}; {expected}"
            raise ValueError(msg) from error
        if not np.isfinite(per_class).all() or (per_class < 0).any() or not per_class.any():
            msg = f"class_weight={self.class_weight!r}: {expected}"
            raise ValueError(msg)
        return per_class

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
