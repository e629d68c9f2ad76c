"""IncrementalRLSRegressor and IncrementalRLSClassifier."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from ...arrays import Array
from ...online import Always
from ...targets import Labels, Responses
from ...targets.target_validation import check_responses
from ..mixins import Regressing
from .base import Streaming, positive_count
from .classifying import ClassifyingStream


class _Incremental(Streaming):
    """Regularised least squares on every row of a stream."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Streaming._parameter_constraints,
        "forgetting": [Interval(Real, 0, 1, closed="right")],
    }

    forgetting: float

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.forgetting < 1 and (self.form not in ("auto", "primal") or self.kernel != "linear"):
            msg = (
                f'forgetting={self.forgetting} is for kernel="linear" and form="primal": older '
                "rows are faded out of a matrix of the features"
            )
            raise ValueError(msg)

    def _shared(self) -> bool:
        return True

    def _chosen_form(self, columns: int) -> str:
        return "primal" if self.forgetting < 1 else super()._chosen_form(columns)

    def _always(self, columns: int, *, spare: bool = False) -> Always:
        fading = {"forgetting": float(self.forgetting)} if self.forgetting < 1 else {}
        learners = self._learners(columns + spare, float(self.a), **fading)
        return Always(learners, spare=spare, forgetting=float(self.forgetting))

    @property
    def prequential_error_(self) -> Any:
        """The mean square of y less its prediction, before each row was learned: float or (t,)."""
        engine = self._recorded().engine
        assert isinstance(engine, Always)
        values = engine.squares / max(engine.weight, 1.0)
        return float(values[0]) if values.size == 1 else values


class IncrementalRLSRegressor(Regressing, _Incremental):
    """Regularised least squares, one row after the other.

    After any number of rows it is what :class:`RLSRegressor` would be with ``alpha=a``, to working
    precision; with the error of every prediction before its row was learned.

    Parameters
    ----------
    a : float, default=1.0
        The ridge, above zero: the ``alpha`` of :class:`RLSRegressor`.
    forgetting : float, default=1.0
        μ: before a row is learned the weights of all earlier ones are multiplied by it. The ridge
        fades with them, for 1/(1 − μ) rows (at least 16, at most 1,024), and is then restored.
    kernel, form, sketch_size, budget, budget_rule, epochs, shuffle, random_state
        As in :class:`SecondOrderPerceptron`.
    fit_intercept : bool, default=True
        Whether every row has a constant feature of one more, which is penalised as the others are.

    Attributes
    ----------
    prequential_error_ : float or array of shape (t,)
        The mean square of y less its prediction, before each row was learned; with forgetting,
        recent rows count more, as they do in the fit.
    n_rounds_, coef_, intercept_, dual_coef_, support_, support_vectors_, form_, kernel_, \
n_features_in_, feature_names_in_
        As in :class:`SecondOrderPerceptron`.

    See Also
    --------
    RLSRegressor : All rows at once; chooses alpha by the leave-one-out error.

    Notes
    -----
    **Cost** of a row: "primal": 3d², in products of matrices where rows come by blocks. "dual",
    after m rows: m² + md. "diagonal" and "sketch" as in :class:`SecondOrderPerceptron`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from squareone import IncrementalRLSRegressor, RLSRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = IncrementalRLSRegressor(fit_intercept=False)
    >>> for start in range(0, 442, 50):
    ...     model = model.partial_fit(X[start : start + 50], y[start : start + 50])
    >>> batch = RLSRegressor("linear", alpha=1.0, fit_intercept=False).fit(X, y)
    >>> bool(abs(model.predict(X) - batch.predict(X)).max() < 1e-9)
    True
    """

    def __init__(
        self,
        a: float = 1.0,
        *,
        forgetting: float = 1.0,
        kernel: Any = "linear",
        form: str = "auto",
        sketch_size: int = 10,
        budget: int | None = None,
        budget_rule: str = "smallest",
        fit_intercept: bool = True,
        epochs: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.a = a
        self.forgetting = forgetting
        self.kernel = kernel
        self.form = form
        self.sketch_size = sketch_size
        self.budget = budget
        self.budget_rule = budget_rule
        self.fit_intercept = fit_intercept
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn from some more rows, one after the other.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (b, d)
            Rows.
        y : array-like of shape (b,) or (b, t)
            Targets.

        Returns
        -------
        self

        Notes
        -----
        How rows are shared out over calls makes no difference. Where something is refused, the
        state is as it was before.

        **Cost**: that of the rows, told above.

        Examples
        --------
        >>> from squareone import IncrementalRLSRegressor
        >>> model = IncrementalRLSRegressor(a=0.01).partial_fit([[1.0], [2.0]], [2.0, 4.0])
        >>> model.partial_fit([[3.0]], [6.0]).n_rounds_
        3
        """
        return self._partial_fit(X, y, None)

    def start(self, n_features: int, n_targets: int | None = None) -> Self:
        """Begin a stream without a row, for :meth:`learn_one`.

        Parameters
        ----------
        n_features : int
            Numbers in a row.
        n_targets : int, optional
            Numbers to predict; by default one, which is not in an array.

        Returns
        -------
        self

        Notes
        -----
        **Cost**: memory for the weights.

        Examples
        --------
        >>> from squareone import IncrementalRLSRegressor
        >>> model = IncrementalRLSRegressor().start(n_features=1, n_targets=2)
        >>> model.learn_one([1.0], [2.0, -2.0]).predict_one([0.0]).shape
        (2,)
        """
        columns = 1 if n_targets is None else positive_count(n_targets, "n_targets")
        return self._begin(n_features, lambda: Responses(n_targets is None), columns)

    def _target_of_one(self, y: Any) -> Array:
        expected = self._record.engine.squares.size
        target = np.atleast_1d(np.asarray(y, dtype=np.float64))[None]
        if target.shape != (1, expected) or not np.isfinite(target).all():
            msg = f"y={y!r}: {expected} finite number(s) are expected"
            raise ValueError(msg)
        return target

    def _answer(self, margins: Array) -> Any:
        return float(margins[0]) if self._record.targets.vector else margins

    def predict(self, X: Any) -> Array:
        """Predict targets.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
            Rows.

        Returns
        -------
        array of shape (m,) or (m, t)

        Notes
        -----
        **Cost**: dt multiplications for a row, or as many kernel values as there are points.

        Examples
        --------
        >>> from squareone import IncrementalRLSRegressor
        >>> model = IncrementalRLSRegressor(a=1e-6).fit([[1.0], [2.0], [3.0]], [3.0, 5.0, 7.0])
        >>> model.predict([[4.0]]).round(2)
        array([9.])
        """
        return self._recorded().targets.decode(self._values(X))

    def _first_targets(self, y: Any, X: Any, classes: Any) -> Responses:
        y = check_responses(y, X)
        self._width = 1 if y.ndim == 1 else y.shape[1]
        return Responses.of(y)

    def _set_up(self, X: Any, targets: Labels | Responses, columns: int | None = None) -> None:
        super()._set_up(X, targets, columns or self._width)

    def _columns(self, y: Any, X: Any) -> Array:
        record = self._recorded()
        Y = record.targets.columns(check_responses(y, X)).astype(np.float64)
        expected = record.engine.squares.size
        if Y.shape[1] != expected:
            msg = f"y has {Y.shape[1]} columns, and {expected} were there before"
            raise ValueError(msg)
        return Y

    def _engine(self, columns: int, targets: Labels | Responses) -> Always:
        return self._always(columns)


class IncrementalRLSClassifier(ClassifyingStream, _Incremental):
    """Regularised least-squares classification, one row after the other.

    Classes are columns of ±1, all of which learn every row. After any number of rows it is what
    :class:`RLSClassifier` would be with ``alpha=a``, to working precision.

    Parameters
    ----------
    a : float, default=1.0
        The ridge, above zero: the ``alpha`` of :class:`RLSClassifier`.
    forgetting : float, default=1.0
        As in :class:`IncrementalRLSRegressor`.
    kernel, form, sketch_size, budget, budget_rule, epochs, shuffle, random_state
        As in :class:`SecondOrderPerceptron`.
    fit_intercept : bool, default=True
        Whether every row has a constant feature of one more, which is penalised as the others are.
    new_classes : {"refuse", "add"}, default="refuse"
        What happens when a class comes that was not there in the first call: an error, or one more
        column, which is what it would be had the class been known from the start.

    Attributes
    ----------
    prequential_error_ : float or array of shape (t,)
        The mean square of ±1 less its prediction, before each row was learned.
    online_decisions_ : array of shape (n,), (n, k) or (n, labels)
        Decision values of the last pass of ``fit``, each before its row was learned.
    classes_, n_rounds_, coef_, intercept_, dual_coef_, support_, support_vectors_, form_, \
kernel_, n_features_in_, feature_names_in_
        As in :class:`SecondOrderPerceptron`.

    See Also
    --------
    SecondOrderPerceptron : Learns from mistakes only, and has bounds.

    Notes
    -----
    **Cost**: that of :class:`IncrementalRLSRegressor`; all columns share one matrix.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from squareone import IncrementalRLSClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = IncrementalRLSClassifier().fit(X[:1000] / 16, y[:1000])
    >>> bool(model.score(X[1000:] / 16, y[1000:]) > 0.85)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClassifyingStream._parameter_constraints,
        **_Incremental._parameter_constraints,
    }

    def __init__(
        self,
        a: float = 1.0,
        *,
        forgetting: float = 1.0,
        kernel: Any = "linear",
        form: str = "auto",
        sketch_size: int = 10,
        budget: int | None = None,
        budget_rule: str = "smallest",
        fit_intercept: bool = True,
        new_classes: str = "refuse",
        epochs: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.a = a
        self.forgetting = forgetting
        self.kernel = kernel
        self.form = form
        self.sketch_size = sketch_size
        self.budget = budget
        self.budget_rule = budget_rule
        self.fit_intercept = fit_intercept
        self.new_classes = new_classes
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _engine(self, columns: int, targets: Labels | Responses) -> Always:
        assert isinstance(targets, Labels)
        spare = self.new_classes == "add" and not targets.multilabel
        return self._always(columns, spare=spare)
