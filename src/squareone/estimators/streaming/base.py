"""Streaming: scikit-learn's face of the estimators that learn from a stream."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ...arrays import Array
from ...kernels import Kernel, Linear
from ...kernels.names import BY_NAME
from ...online import FORMS, RULES, stream_coefficients
from ...online.engines import Method
from ...online.first_rows import stream_kernel
from ...online.named_rows import FeatureNames
from ...online.sampling import SamplingMethod
from ...online.stream_learner import StreamLearner, StreamSettings, positive_count
from ...online.stream_state import stream_from_state, stream_state
from ...persistence import Fields
from ...targets.target_validation import check_row_weights, counting_targets
from .. import validation
from ..fitted_attributes import FromResult, ReadOnly
from ..fitted_estimator import FittedEstimator

#: What ``alpha`` may be where several ridges are compared.
SEVERAL_RIDGES: list[Any] = [
    Interval(Real, 0, None, closed="neither"),
    StrOptions({"auto"}),
    "array-like",
]
# Parameters that a stream is done with once it has begun.
_SPARE = ("taxonomy", "random_state")
_NOT_BEGUN = (
    "This %(name)s instance is not fitted yet: call start, or partial_fit or fit with some rows, "
    "before anything else"
)


class Streaming(FittedEstimator):
    """The common part of the estimators of a stream; not for use by itself.

    A stream keeps the parameters it began with: what is set later counts for the next one. What was
    learned is a :class:`~squareone.online.stream_learner.StreamLearner`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(BY_NAME)), Kernel],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "form": [StrOptions({"auto", *FORMS})],
        "budget": [None, Interval(Integral, 1, None, closed="left")],
        "budget_rule": [StrOptions(set(RULES))],
        "fit_intercept": ["boolean"],
        "missing_features": [StrOptions({"refuse", "zero"})],
        "new_features": [StrOptions({"refuse", "add"})],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }

    #: Reads y: see :mod:`~squareone.online.target_reading`.
    _reading: ClassVar[Any]
    #: Whether a first row says all there is to know before it is learned: classes it does not.
    _begins_itself: ClassVar[bool] = False
    #: What the last ``fit`` has shown, beside what was learned.
    _shown_attributes: ClassVar[tuple[str, ...]] = ()

    alpha: Any
    form: str
    budget: int | None
    budget_rule: str
    fit_intercept: bool
    missing_features: str
    new_features: str
    epochs: int
    shuffle: bool
    random_state: Any
    _record: StreamLearner

    @abstractmethod
    def _method(self) -> Method:
        """How it learns, by its parameters."""

    def _check_parameters(self) -> None:
        if isinstance(self.form, str) and self.form == "sketch":
            msg = 'form="sketch" is not offered: use form="diagonal" for many features'
            raise ValueError(msg)
        if not get_config()["skip_parameter_validation"]:
            self._validate_params()

    # --- learning ---

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all rows, in their order or shuffled, as often as ``epochs`` says.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (n, d)
            Rows.
        y : array-like of shape (n,) or (n, t)
            Targets; for a classifier classes, or an indicator matrix of several labels per row.

        Returns
        -------
        self

        Notes
        -----
        **Cost**: ``epochs`` times that of all rows, told for each estimator; a block of 256 rows is
        held at a time, and a margin for every row and column.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import SecondOrderPerceptron
        >>> X, y = load_iris(return_X_y=True)
        >>> SecondOrderPerceptron(epochs=2, shuffle=True).fit(X, y).n_rounds_
        300
        """
        return fit_stream(self, X, y, None)

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0, **others: Any) -> Self:
        """Learn from one row: the fast way, without scikit-learn's checks.

        Parameters
        ----------
        x : array-like of shape (d,), sparse matrix of shape (1, d), or dict
            The row. A dictionary has names of features for keys: those that ``start``, or the
            columns of a table, have named, or, where ``start`` was not told any, those of the
            first row. ``missing_features`` and ``new_features`` say what becomes of others.
        y : label or float, or as many as a row has in a call of ``partial_fit``
            Its class or target; zeros and ones for several labels.
        sample_weight : float, default=1.0
            The weight of the row, at or above zero; with zero nothing is learned.
        **others : dict
            Refused, with what was probably meant.

        Returns
        -------
        self

        Notes
        -----
        A row of another length, or with NaN, is refused, and nothing is learned from it. A
        regressor that has not begun begins with the first row; a classifier has to be told the
        classes by ``start``.

        **Cost**: that of a row, told for each estimator, and some millionths of a second. A key
        that becomes a feature takes a copy of all that was learned.

        Examples
        --------
        >>> from squareone import IncrementalRLSClassifier, IncrementalRLSRegressor
        >>> model = IncrementalRLSClassifier().start(classes=["even", "odd"], n_features=2)
        >>> for x, y in [([0.0, 1.0], "odd"), ([1.0, 0.0], "even")]:
        ...     model = model.learn_one(x, y)
        >>> model.predict_one([0.2, 1.0]), model.n_rounds_
        ('odd', 2)
        >>> model = IncrementalRLSRegressor(alpha=0.01)
        >>> for x in (1.0, 2.0, 3.0):
        ...     model = model.learn_one({"x": x}, 2 * x + 1)
        >>> print(f"{model.predict_one({'x': 4.0}):.1f}")
        9.0
        """
        if others:
            raise TypeError(_unexpected(others))
        if not hasattr(self, "_record") and self._begins_itself:
            return self._begin_with_one(x, y, sample_weight)
        record = _begun(self, y)
        weights = None
        if sample_weight != 1.0:
            weights = check_row_weights([sample_weight], np.empty((1, 0)))
            if weights is not None and weights[0] == 0:
                return self
        own, before = dict(vars(self)), record.snapshot(_numbers_of_one(x, record.n_features))
        try:  # as all_or_nothing, which would take longer than some rows
            record.learn_one(_checked_one(self, x, learned=True), y, weights)
            if record.n_features != self.n_features_in_:
                _name_features(self)
        except BaseException:
            _put_back(self, own, before)
            raise
        if record.to_settle:
            record.settle()
        return self

    def _begin_with_one(self, x: Any, y: Any, sample_weight: float) -> Self:
        """Begin, and learn the first row; where that is refused nothing has begun."""
        self.start(n_targets=None if np.ndim(y) == 0 else len(y))
        try:
            return self.learn_one(x, y, sample_weight)
        except BaseException:
            self._forget()
            raise

    # --- predicting ---

    def predict_one(self, x: Any) -> Any:
        """What is predicted for one row: the fast way.

        Parameters
        ----------
        x : array-like of shape (d,), sparse matrix of shape (1, d), or dict
            The row.

        Returns
        -------
        label or float, or an array or tuple where there are several
            As ``predict`` has it for a row.

        Notes
        -----
        With ``new_features="add"`` a key that no row has had yet is a feature that was zero in all
        of them. A regressor that has not begun says zero, so that each row may be predicted, and
        then learned.

        **Cost**: a margin for each column; in the dual form a kernel value for each point.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from squareone import SecondOrderPerceptron
        >>> X, y = load_iris(return_X_y=True)
        >>> SecondOrderPerceptron().fit(X, y).predict_one(X[0])
        0
        """
        if not hasattr(self, "_record") and self._begins_itself:
            return 0.0
        record = _begun(self)
        return record.targets.answer(record.margins_of_one(_checked_one(self, x)))

    def _rows(self, X: Any) -> Any:
        if self._recorded().n_features == 0:
            name = type(self).__name__
            msg = (
                f"This {name} instance has seen no row yet, and start was not told n_features: "
                "learn a row first, or name the features"
            )
            raise NotFittedError(msg)
        return super()._rows(X)

    def _values(self, X: Any) -> Array:
        """Margins (n, t), by the hypothesis that predicts."""
        rows = self._rows(X)
        return self._record.values(rows)

    # --- what was learned ---

    def _recorded(self) -> Any:
        """What was learned so far."""
        if not hasattr(self, "_record"):
            check_is_fitted(self, msg=_NOT_BEGUN)
        return self._record

    kernel_: FromResult[Kernel] = FromResult(
        lambda record: record.kernel, "The kernel with all its parameters."
    )
    form_: FromResult[str] = FromResult(lambda record: record.form, "The form that was taken.")
    n_rounds_: FromResult[int] = FromResult(
        lambda record: record.engine.rounds, "Rows that were seen."
    )
    coef_: FromResult[Array] = ReadOnly(
        stream_coefficients.of_features,
        "Weights of the features, for the linear kernel: (d,) or (t, d); two classes: (1, d).",
    )
    dual_coef_: FromResult[Array] = ReadOnly(
        stream_coefficients.of_points,
        'Weights of the support points, for form="dual": (m,) or (t, m).',
    )
    support_: FromResult[Array] = FromResult(
        lambda record: np.array(record.dual_learners("support_").points.rounds, int),
        'Which rows of the stream the support points are, for form="dual": (m,).',
    )
    support_vectors_: FromResult[Any] = FromResult(
        lambda record: record.dual_learners("support_vectors_").points.matrix().copy(),
        'The support points, for form="dual": (m, d).',
    )
    intercept_: FromResult[Any] = ReadOnly(
        stream_coefficients.of_constants,
        "The weight of the constant feature: a number, or (t,); two classes: (1,).",
    )

    # --- files ---

    def _fitted_state(self) -> dict[str, Any]:
        shown = {name: vars(self).get(name) for name in self._shown_attributes}
        return {**self._features_state(), "record": stream_state(self._recorded()), **shown}

    def _restore(self, found: Fields) -> None:
        with found.inner("record") as fields:
            # checked as parameters are: those that the estimator has now may be others
            parameters = fields.take("started", dict)
            started = type(self)(**parameters)
            started._check_parameters()
            d = fields.take("n_features", int)
            self._restore_features(found, d)
            self._record = stream_from_state(
                fields,
                d,
                settings_of(started),
                lambda targets, columns: self._reading.restored(started, targets, columns),
            )
        for name in self._shown_attributes:
            if found.given(name):
                setattr(self, name, found.take(name, object))


def settings_of(estimator: Streaming) -> StreamSettings:
    """What its parameters say."""
    kernel = stream_kernel(estimator.kernel)
    return StreamSettings(
        parameters=estimator.get_params(deep=False),
        kernel=kernel,
        method=estimator._method(),
        form=estimator.form,
        budget=estimator.budget,
        budget_rule=estimator.budget_rule,
        intercept=bool(estimator.fit_intercept),
        unit_rows=bool(getattr(estimator, "normalise", False)) and isinstance(kernel, Linear),
        zeros_for_missing=estimator.missing_features == "zero",
        new_features=estimator.new_features == "add",
    )


# --- all or nothing ---


@contextmanager
def all_or_nothing(estimator: Streaming, numbers: float) -> Iterator[None]:
    """Inside, an error or an interrupt leaves the stream as it was, or none if there was none.

    ``numbers`` are in the rows that come, at most.
    """
    own = dict(vars(estimator))
    record = own.get("_record")
    if record is None:
        try:
            yield
        except BaseException:
            estimator._forget()
            raise
        return
    before = record.snapshot(numbers)
    try:
        yield
    except BaseException:
        _put_back(estimator, own, before)
        raise
    if record.to_settle:
        record.settle()


def _put_back(estimator: Streaming, own: dict[str, Any], before: Any) -> None:
    """Have these attributes again, and the record what was in its snapshot."""
    now = estimator.__dict__
    now.update(own)
    for name in now.keys() - own.keys():
        del now[name]
    estimator._record.roll_back(before)


# --- rows of a stream, checked ---


def fit_stream(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Begin, and learn all rows, as often as ``epochs`` says."""
    estimator._forget()
    with all_or_nothing(estimator, np.inf):
        X, Y, weights = begin_with_rows(estimator, X, y, None, sample_weight)
        record, rng = estimator._record, random_numbers(estimator)
        for _ in range(estimator.epochs):
            order = rng.permutation(X.shape[0]) if estimator.shuffle else None
            margins = record.learn_columns(X, Y, weights, order)
        record.passes = estimator.epochs
        if "online_decisions_" in estimator._shown_attributes:
            estimator.online_decisions_ = record.targets.shaped(margins)
    return estimator


def learn_more(estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> Any:
    """Begin if there is no stream yet, and learn some rows."""
    with all_or_nothing(estimator, numbers_in(X)):
        if not hasattr(estimator, "_record"):
            X, Y, weights = begin_with_rows(estimator, X, y, classes, sample_weight)
            estimator._record.learn_columns(X, Y, weights)
            return estimator
        X, y, weights = more_rows_of(estimator, X, y, sample_weight)
        if X is not None:
            estimator._record.learn(X, estimator._reading.read(y, X), weights)
    return estimator


def start_stream(estimator: Any, n_features: Any, targets: Callable[[], Any]) -> Any:
    """Begin a stream of which no row is there yet."""
    estimator._forget()
    estimator._check_parameters()
    with all_or_nothing(estimator, 0):
        names = None
        if n_features is None:
            d = 0
        elif isinstance(n_features, str) or np.ndim(n_features) == 0:
            d = positive_count(n_features, "n_features")
        else:
            names = FeatureNames(n_features)
            d = positive_count(len(names.names), "n_features")
        _begin(estimator, targets(), d, names)
        _name_features(estimator)
    return estimator


def begin_with_rows(
    estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any
) -> tuple[Any, Array, Array | None]:
    """Rows, columns of targets and weights of the first call; the stream begins."""
    estimator._check_parameters()
    X = validation.check_rows(estimator, X, reset=True, sparse=True)
    weights = check_row_weights(sample_weight, X)
    if weights is not None and not weights.any():
        msg = "all weights are zero: a stream begins with a row that counts"
        raise ValueError(msg)
    y = estimator._reading.read(counting_targets(y, weights), X)
    targets = estimator._reading.first(estimator, y, classes)
    _begin(estimator, targets, X.shape[1], _names_in(estimator))
    estimator._record.check_rows(X)
    return X, estimator._record.read(y), weights


def _begin(estimator: Any, targets: Any, d: int, names: FeatureNames | None) -> None:
    """Have a stream, with the parameters there are now."""
    parameters = estimator.get_params(deep=False).items()
    copies = {name: clone(value, safe=False) for name, value in parameters if name not in _SPARE}
    settings = settings_of(type(estimator)(**copies))
    method = settings.method
    if isinstance(method, SamplingMethod) and method.seed is not None:
        seed = int(random_numbers(estimator).randint(2**31 - 1))
        settings = replace(settings, method=method.seeded(seed))
    estimator._record = StreamLearner(settings, targets, d, names)


def random_numbers(estimator: Any) -> Any:
    """From its ``random_state``; None is a seed of zero."""
    seed = estimator.random_state
    return check_random_state(0 if seed is None else seed)


def more_rows_of(
    estimator: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[Any, Any, Array | None]:
    """More rows, their targets and weights, checked; None where all weights are zero."""
    X = check_more_rows(estimator, X)
    weights = check_row_weights(sample_weight, X)
    if weights is not None and not weights.any():
        return None, y, weights
    return X, counting_targets(y, weights), weights


def check_more_rows(estimator: Any, X: Any) -> Any:
    """More rows of a stream that has begun."""
    record = estimator._recorded()
    unknown = record.n_features == 0
    X = validation.check_rows(estimator, X, reset=unknown, sparse=True)
    if unknown:
        record.set_features(X.shape[1], _names_in(estimator))
    record.check_rows(X)
    return X


def _names_in(estimator: Any) -> FeatureNames | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else FeatureNames(names)


def _name_features(estimator: Any) -> None:
    """Set the number and the names of the features, as the stream has them."""
    record = estimator._record
    estimator.n_features_in_ = record.n_features
    if record.names is not None and (texts := record.names.as_strings()) is not None:
        estimator.feature_names_in_ = texts


def margins_of_one(estimator: Any, x: Any) -> Array:
    """(t,) of one row, as :meth:`Streaming.predict_one` takes it."""
    return _begun(estimator).margins_of_one(_checked_one(estimator, x))


def _checked_one(estimator: Any, x: Any, *, learned: bool = False) -> Any:
    """One row; a sparse one is checked as many are, unless no row says how many features."""
    if type(x) is np.ndarray or not issparse(x):
        return x
    known = learned or estimator._record.n_features > 0
    return check_more_rows(estimator, x) if known else x


def _begun(estimator: Any, y: Any = None) -> StreamLearner:
    """The stream, of which a row with target ``y`` came, where that is known."""
    try:
        return estimator._record
    except AttributeError:
        name = type(estimator).__name__
        msg = _NOT_BEGUN % {"name": name}
        if is_classifier(estimator):
            shown = "..." if y is None or np.ndim(y) else f"{y!r}, ..."
            msg += f". For single rows write model = {name}(...).start(classes=[{shown}]) first"
        raise NotFittedError(msg) from None


def _unexpected(others: Mapping[str, Any]) -> str:
    """What to write in place of keywords of learn_one that there are not."""
    name = next(iter(others))
    meant = name in ("w", "weight", "weights", "sample_weights") or "weight" in name
    advice = "did you mean 'sample_weight'?" if meant else "x, y and sample_weight are expected"
    return f"learn_one() got an unexpected keyword argument {name!r}: {advice}"


def _numbers_of_one(x: Any, d: int) -> int:
    """Numbers in one row, at most."""
    if type(x) is np.ndarray:
        return d
    return len(x) if isinstance(x, Mapping) else x.nnz if issparse(x) else d


def numbers_in(X: Any) -> float:
    """Numbers in rows, at most."""
    if issparse(X):
        return float(X.nnz)
    return float(np.prod(X.shape)) if isinstance(X, np.ndarray) else np.inf
