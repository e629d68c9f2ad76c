"""Probabilities of classes, from decision values and the leave-one-out values of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..arrays import Array
from ..models.probabilities import Calibration, fit_calibration
from ..targets import Labels
from .afterwards import Afterwards


def _calibrates(estimator: Probable) -> bool:
    """Whether there are probabilities; otherwise scikit-learn sees no ``predict_proba``."""
    if estimator._calibrated_by() is None:
        msg = "predict_proba needs a calibration: calibration=None was set. Fit again with one"
        raise AttributeError(msg)
    return True


class Probable(Afterwards):
    """The part of a classifier that knows how sure it is; not for use by itself."""

    calibration: str | None

    @available_if(_calibrates)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, or of each label, calibrated on the leave-one-out values.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).

        Returns
        -------
        array of shape (m, k) or (m, labels)
            One column per class in the order of ``classes_``, each row summing to one; for an
            indicator matrix the probability of each label.

        Notes
        -----
        **Cost**: that of a prediction; the calibration is fitted at the first call, in some passes
        over n·k leave-one-out values, unless these have to be computed first.

        With ``"temperature"`` the largest probability is that of the predicted class (unless a
        threshold was asked for). Class weights and sample weights of the fit are those of the
        calibration: the probabilities are those of the weighted rows.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import RLSClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> RLSClassifier().fit(X, y).predict_proba(X[:1]).round(2)
        array([[0.99, 0.  , 0.  ]])
        """
        return self._probabilities(self._values(X))

    @available_if(_calibrates)
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
            Rows; for a precomputed kernel its values with the training rows (m, n).

        Returns
        -------
        array of shape (m, k) or (m, labels)
            Minus infinity where a calibration gives zero.

        Notes
        -----
        **Cost**: that of :meth:`predict_proba`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import RLSClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> RLSClassifier().fit(X, y).predict_log_proba(X[:2]).shape
        (2, 3)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def calibration_(self) -> Calibration:
        """The map from decision values to probabilities, fitted to the leave-one-out values."""
        record, method = self._recorded(), self._calibrated_by()
        if method is None:
            msg = "calibration=None: there are no probabilities. Fit again with a calibration"
            raise AttributeError(msg)
        if record.calibration is None:
            labels, rows = self._labels(), record.scored_rows
            weights = record.sample.weights
            record.calibration = fit_calibration(
                method,
                labels.decisions(record.scored_values),
                labels.truth(record.sample.Y[rows]),
                None if weights is None else weights[rows],
                exclusive=labels.exclusive,
            )
        return record.calibration

    def _calibrated_by(self) -> str | None:
        """The calibration there was at the fit; before it the one that is set."""
        fitted = getattr(self, "_record", None)
        return self.calibration if fitted is None else fitted.calibrated_by

    @property
    def loo_probabilities_(self) -> Array:
        """Probabilities at each row of the fit without that row, of shape (n, k) or (n, labels)."""
        return self._probabilities(self._recorded().leave_one_out_values)

    def _probabilities(self, values: Array) -> Array:
        labels = self._labels()
        return labels.probabilities(self.calibration_.probabilities(labels.decisions(values)))

    def _labels(self) -> Labels:
        labels = self._recorded().targets
        assert isinstance(labels, Labels)
        return labels
