"""StreamClassifier: scikit-learn's face of the classifiers that learn from a stream."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length
from sklearn.utils._param_validation import Interval, StrOptions

from ...arrays import Array
from ...models import Calibration
from ...online.learners import Learners
from ...online.mistake_bounds import Comparison, check_comparable, compare
from ...online.stream_targets import ClassTargets
from ...online.target_reading import ClassReading
from ...rows import rows_of
from ...targets.target_validation import check_labels
from .. import validation
from ..array_libraries import lazy_on_dask
from ..fitted_attributes import FromResult
from .base import (
    Streaming,
    all_or_nothing,
    begin_with_rows,
    check_more_rows,
    learn_more,
    margins_of_one,
    more_rows_of,
    random_numbers,
    start_stream,
)


class StreamClassifier(ClassifierMixin, Streaming):
    """The common part of the classifiers of a stream; not for use by itself."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Streaming._parameter_constraints,
        "new_classes": [StrOptions({"refuse", "add"})],
    }

    new_classes: str
    _reading = ClassReading
    _shown_attributes: ClassVar[tuple[str, ...]] = ("online_decisions_",)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, one after the other.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (b, d)
            Rows.
        y : array-like of shape (b,) or (b, labels)
            Classes, or an indicator matrix.
        classes : array-like of shape (k,), optional
            All classes there will be, in the first call; by default those of ``y``.
        sample_weight : array-like of shape (b,), optional
            Weights of the rows, at or above zero: those of ``RLSClassifier``. A row of weight zero
            is left out.

        Returns
        -------
        self

        Notes
        -----
        How rows are shared out over calls makes no difference. Where something is refused, the
        state is as it was before.

        **Cost**: that of the rows, told for each estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import SecondOrderPerceptron
        >>> X, y = load_iris(return_X_y=True)
        >>> model = SecondOrderPerceptron().partial_fit(X[:10], y[:10], classes=[0, 1, 2])
        >>> model.partial_fit(X[10:], y[10:]).n_rounds_
        150
        """
        return learn_more(self, X, y, classes, sample_weight)

    def start(self, classes: Any, n_features: Any = None) -> Self:
        """Begin a stream without a row, for :meth:`learn_one`.

        Parameters
        ----------
        classes : array-like of shape (k,)
            All classes there will be.
        n_features : int or list of names, optional
            Numbers in a row, or what the features are called, which are then the keys of rows that
            are dictionaries; by default those of the first row.

        Returns
        -------
        self

        Notes
        -----
        **Cost**: memory for the weights.

        Examples
        --------
        >>> from squareone import SecondOrderPerceptron
        >>> model = SecondOrderPerceptron().start(classes=["ham", "spam"], n_features=2)
        >>> model.learn_one([1.0, 0.0], "spam").predict_one([2.0, 1.0])
        'spam'
        """
        grows = self.new_classes == "add"
        return start_stream(self, n_features, lambda: ClassTargets.named(classes, grows=grows))

    classes_: FromResult[Array] = FromResult(
        lambda record: record.targets.classes,
        "The classes: sorted, and then those that came later.",
    )

    # --- predicting ---

    @lazy_on_dask
    def decision_function(self, X: Any) -> Array:
        """Decision values: above zero means the second class, or the label; the largest class wins.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
            Rows.

        Returns
        -------
        array of shape (m,), (m, k) or (m, labels)

        Notes
        -----
        **Cost**: dt multiplications for a row, or as many kernel values as there are points.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import IncrementalRLSClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> IncrementalRLSClassifier().fit(X, y).decision_function(X[:2]).shape
        (2, 3)
        """
        return self._recorded().targets.shaped(self._values(X))

    @lazy_on_dask
    def predict(self, X: Any) -> Array:
        """Predict classes, or an indicator matrix.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
            Rows.

        Returns
        -------
        array of shape (m,) or (m, labels)

        Notes
        -----
        **Cost**: that of :meth:`decision_function`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import IncrementalRLSClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> IncrementalRLSClassifier().fit(X, y).predict(X[:2])
        array([0, 0])
        """
        return self._recorded().targets.decode(self._values(X))

    # --- probabilities ---

    calibration_: FromResult[Calibration] = FromResult(
        lambda record: record.recent.calibration(),
        "The map from decision values to probabilities, fitted to those before learning.",
    )

    @lazy_on_dask
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, or of each label.

        They are softmax(s·f), or 1/(1 + exp(−s·f)) where there is one decision value, with the
        slope s > 0 of least log loss on values that were told *before* their rows were learned: the
        last 1,024 of them, or all of the first 64, brought up to date every 64 rows.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
            Rows.

        Returns
        -------
        array of shape (m, k) or (m, labels)
            One column per class in the order of ``classes_``, each row summing to one; for an
            indicator matrix the probability of each label. The largest is that of the class that
            ``predict`` gives, and those of predicted labels are above one half.

        Notes
        -----
        Before a row was learned all classes are equally probable. When a class is added the values
        so far, which know nothing of it, are let go of.

        **Cost**: that of a prediction, and every 64 rows some passes over 1,024 values.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import IncrementalRLSClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = IncrementalRLSClassifier(shuffle=True).fit(X, y)
        >>> model.predict_proba(X[:1]).round(2)
        array([[0.98, 0.01, 0.  ]])
        """
        return _probabilities(self, self._values(X))

    @lazy_on_dask
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
            Rows.

        Returns
        -------
        array of shape (m, k) or (m, labels)

        Notes
        -----
        **Cost**: that of :meth:`predict_proba`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import SecondOrderPerceptron
        >>> X, y = load_iris(return_X_y=True)
        >>> SecondOrderPerceptron().fit(X, y).predict_log_proba(X[:2]).shape
        (2, 3)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Probabilities of the classes, or labels, of one row: the fast way.

        Parameters
        ----------
        x : array-like of shape (d,), sparse matrix of shape (1, d), or dict
            The row.

        Returns
        -------
        dict
            From each class, or the number of each label, to its probability.

        Notes
        -----
        **Cost**: that of :meth:`predict_one`, and what is told for :meth:`predict_proba`.

        Examples
        --------
        >>> from squareone import IncrementalRLSClassifier
        >>> model = IncrementalRLSClassifier().start(classes=["ham", "spam"])
        >>> model = model.learn_one({"offer": 1.0, "hello": 1.0}, "spam")
        >>> model = model.learn_one({"offer": 0.0, "hello": 1.0}, "ham")
        >>> shares = model.predict_proba_one({"offer": 1.0, "hello": 0.0})
        >>> max(shares, key=shares.get)
        'spam'
        """
        found = _probabilities(self, margins_of_one(self, x)[None])[0]
        return dict(zip(self.classes_.tolist(), found.tolist(), strict=True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


#: Parameters of classifiers that ask for labels, which have no intercept and see rows once.
ASKING_CONSTRAINTS: dict[str, list[Any]] = {
    **{
        name: allowed
        for name, allowed in StreamClassifier._parameter_constraints.items()
        if name not in ("fit_intercept", "epochs")
    },
    "k": [Interval(Real, 0, None, closed="neither")],
    "count": [StrOptions({"labels", "rarer"})],
    "normalise": ["boolean"],
}


def _probabilities(estimator: StreamClassifier, values: Array) -> Array:
    record = estimator._recorded()
    return record.targets.probabilities(record.recent.calibration().probabilities(values))


def compared(
    estimator: StreamClassifier, learners: Learners, X: Any, y: Any, u: Any, column: int
) -> Comparison:
    """A column of a run with a fixed classifier ``u``, over all its rows ``X``, checked."""
    record = estimator._recorded()
    check_comparable(record)
    X = validation.check_rows(estimator, X, reset=False, sparse=True)
    targets = record.targets.columns(check_labels(y, X), np.dtype(float))
    return compare(record, learners, X, targets, np.asarray(u, dtype=np.float64), column)


# --- labels that are asked for ---


def fit_asking(estimator: Any, X: Any, y: Any) -> tuple[Array, Array, Array, Array]:
    """Begin, and go through rows, of which labels are learned as far as they are asked for.

    Returns
    -------
    Y, margins : array (n, t)
        Targets, and margins before they were learned.
    asked : array of bool (n, s)
    order : array (n,)
        In which the rows came.
    """
    X, Y, _ = begin_with_rows(estimator, X, y, None, None)
    rng = random_numbers(estimator)
    order = rng.permutation(X.shape[0]) if estimator.shuffle else None
    margins, asked = estimator._record.simulate(X, Y, order)
    return Y, margins, asked, np.arange(Y.shape[0]) if order is None else order


def query_rows(estimator: Any, X: Any) -> Array:
    """Which labels are asked for of rows that come next."""
    with all_or_nothing(estimator, 0):
        asked = estimator._recorded().query(check_more_rows(estimator, X))
    return shaped_like_labels(estimator, asked)


def shaped_like_labels(estimator: Any, asked: Array) -> Array:
    """Truth values (n, s), or (n,) where there is one label for each row."""
    return asked if estimator._recorded().targets.multilabel else asked[:, 0]


def learn_known_labels(estimator: Any, X: Any, y: Any, known: Any, sample_weight: Any) -> None:
    """Labels of rows, where they are known; no row at all is no harm."""
    if (X.shape[0] if hasattr(X, "shape") else len(X)) == 0:
        return
    X, y, weights = more_rows_of(estimator, X, y, sample_weight)
    if X is None:
        return
    record = estimator._record
    labels = record.engine.labels.size
    if known is None:
        mask: Array = np.ones((X.shape[0], labels), bool)
    else:
        mask = _mask(known, (X.shape[0], labels))
        if record.targets.multilabel:
            y = _where(mask, y, X)
        else:
            chosen = np.flatnonzero(mask)
            if chosen.size == 0:
                return
            X, y, mask = rows_of(X)[chosen].X, np.asarray(y)[chosen], mask[chosen]
            weights = None if weights is None else weights[chosen]
    record.learn_known(X, check_labels(y, X), mask, weights)


def _mask(known: Any, shape: tuple[int, int]) -> Array:
    """Which labels are known (n, s), checked."""
    mask = np.asarray(known)
    if mask.dtype != bool or mask.shape not in (shape, shape[: 2 - (shape[1] == 1)]):
        msg = (
            f"{mask.dtype} of shape {mask.shape}: truth values are expected, one for every "
            f"label of the rows, {shape if shape[1] > 1 else shape[:1]}"
        )
        raise ValueError(msg)
    return mask.reshape(shape)


def _where(mask: Array, y: Any, X: Any) -> Array:
    """An indicator (n, labels) with zeros for labels that are not known, whatever stands there."""
    y = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
    check_consistent_length(X, y)
    return np.where(mask, y, 0) if y.shape == mask.shape else y  # which is refused later on
