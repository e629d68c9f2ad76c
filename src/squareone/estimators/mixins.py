"""Mixins for regression and for classification: targets as columns, and back again."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from ..arrays import Array
from ..targets import CODINGS, Coding, Labels, OneVsAll, Responses
from ..targets.target_validation import check_responses, coded_labels, weights_of_classes
from .array_libraries import follows_rows
from .fitted_estimator import FittedEstimator


class ClassificationMixin(ClassifierMixin, FittedEstimator):
    """Classes as columns of ±1, and back again; a part of the classifiers."""

    class_weight: Any
    coding: str | Coding

    @follows_rows
    def decision_function(self, X: Any) -> Array:
        """Decision values: above zero means the second class, or the label; the largest class wins.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).

        Returns
        -------
        array of shape (m,), (m, k) or (m, labels)

        Notes
        -----
        **Cost**: for each row as many kernel values as there are centers, in bounded memory.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import OROLSClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> OROLSClassifier(stopping=5).fit(X, y).decision_function(X[:2]).shape
        (2, 3)
        """
        values = self._values(X)
        return self._recorded().targets.shaped(values)

    @follows_rows
    def predict(self, X: Any) -> Array:
        """Predict classes, or an indicator matrix.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).

        Returns
        -------
        array of shape (m,) or (m, labels)

        Notes
        -----
        **Cost**: that of :meth:`decision_function`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import OROLSClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> OROLSClassifier(stopping=5).fit(X, y).predict(X[:2])
        array([0, 0])
        """
        return self._decode(self._values(X))

    def _decode(self, values: Array) -> Array:
        """Classes of the solved columns (m, t), above the thresholds where there are any."""
        if hasattr(self, "threshold_"):
            values = values - np.asarray(self.threshold_, dtype=values.dtype)
        return self._recorded().targets.decode(values)

    def _read_targets(self, X: Any, y: Any) -> tuple[Array, Labels, Array]:
        return coded_labels(y, X, self._coding(), rotated=self._rotated())

    def _rotated(self) -> bool:
        """Whether columns of a code may be solved in another basis: all have the same λ."""
        raise NotImplementedError

    def _coding(self) -> Any:
        """The coding, by its name where it has one; what is none is refused by ``fit``."""
        kind = CODINGS.get(self.coding) if isinstance(self.coding, str) else None
        return self.coding if kind is None else kind()

    def _class_weights(self, y: Array, weights: Array | None) -> Array | None:
        return weights_of_classes(self.class_weight, y, weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        weighted = getattr(self, "class_weight", None) is not None
        tags.classifier_tags.multi_label = isinstance(self._coding(), OneVsAll) and not weighted
        return tags


class RegressionMixin(RegressorMixin, FittedEstimator):
    """Numbers as columns; a part of the regressors."""

    def _read_targets(self, X: Any, y: Any) -> tuple[Array, Responses, Array]:
        y = check_responses(y, X)
        targets = Responses.of(y)
        return y, targets, targets.columns(y)

    def _class_weights(self, y: Array, weights: Array | None) -> Array | None:
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
