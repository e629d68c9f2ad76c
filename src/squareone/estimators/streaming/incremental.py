"""IncrementalRLSRegressor and IncrementalRLSClassifier: least squares on every row of a stream."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval

from ...arrays import Array, alone
from ...kernels import Linear
from ...kernels.names import kernel_from
from ...online.engines import IncrementalMethod, ridges_of
from ...online.stream_learner import positive_count
from ...online.stream_targets import NumberTargets
from ...online.target_reading import NumberReading
from ..array_libraries import lazy_on_dask
from ..fitted_attributes import FromResult
from .base import SEVERAL_RIDGES, Streaming, fit_stream, learn_more, start_stream
from .stream_classifier import StreamClassifier


class Incremental(Streaming):
    """What the regressor and the classifier have in common; not for use by itself."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Streaming._parameter_constraints,
        "alpha": SEVERAL_RIDGES,
        "forgetting": [Interval(Real, 0, 1, closed="right")],
    }

    kernel: Any
    forgetting: float

    def _check_parameters(self) -> None:
        super()._check_parameters()
        ridges_of(self.alpha)
        linear = isinstance(kernel_from(self.kernel), Linear)
        if self.forgetting < 1 and (self.form not in ("auto", "primal") or not linear):
            msg = (
                f'forgetting={self.forgetting} is for kernel="linear" and form="primal": older '
                "rows are faded out of a matrix of the features"
            )
            raise ValueError(msg)

    alpha_: FromResult[float] = FromResult(
        lambda record: record.engine.learners.alpha, "The ridge that predicts."
    )
    prequential_error_: FromResult[Any] = FromResult(
        lambda record: alone(record.engine.best.mean_squares()),
        "The mean square of y less its prediction, before each row was learned: float or (t,).",
    )
    path_: FromResult[dict[str, Array]] = FromResult(
        lambda record: {
            "alpha": np.array([each.learners.alpha for each in record.engine.contenders]),
            "prequential_error": np.array(
                [each.mean_squares().mean() for each in record.engine.contenders]
            ),
            "share": record.engine.shares(),
        },
        "All ridges, their prequential errors and their shares in the loss that is compared.",
    )


class IncrementalRLSRegressor(RegressorMixin, Incremental):
    """Regularised least squares, one row after the other.

    After any number of rows it is what :class:`RLSRegressor` would be with the same ``alpha``, to
    working precision; with the error of every prediction before its row was learned.

    Parameters
    ----------
    kernel : str or Kernel, default="linear"
        As in :class:`SecondOrderPerceptron`: a width that is not given is that of the first rows.
    alpha : float, sequence of float or "auto", default=1.0
        The ridge, above zero: the ``alpha`` of :class:`RLSRegressor`, the a of the papers. Several
        are run side by side, at the cost of all of them, and the one predicts whose squared errors,
        before each row was learned, are least; the i-th row counts i², so that the first ones say
        little. "auto" are 100, 10, 1, 0.1 and 0.01.
    forgetting : float, default=1.0
        μ: before a row is learned the weights of all earlier ones are multiplied by it. The ridge
        fades with them, for 1/(1 − μ) rows (at least 16, at most 1,024), and is then restored.
    form, budget, budget_rule, missing_features, new_features, epochs, shuffle, \
random_state
        As in :class:`SecondOrderPerceptron`.
    fit_intercept : bool, default=True
        Whether every row has a constant feature of one more, which is penalised as the others are.

    Attributes
    ----------
    prequential_error_ : float or array of shape (t,)
        The mean square of y less its prediction, before each row was learned, of the ridge that
        predicts; with forgetting, recent rows count more, as they do in the fit.
    alpha_ : float
        The ridge that predicts.
    path_ : dict of arrays
        ``alpha``, ``prequential_error`` (the mean over targets) and ``share`` of all ridges: what
        each has lost of what all have, the least of which predicts.
    n_rounds_, coef_, intercept_, dual_coef_, support_, support_vectors_, form_, kernel_, \
n_features_in_, feature_names_in_
        As in :class:`SecondOrderPerceptron`.

    See Also
    --------
    RLSRegressor : All rows at once; chooses alpha by the leave-one-out error.

    Notes
    -----
    Features may be of any size and of very different ones, time stamps in milliseconds for
    instance: squares are never formed, and where digits are lost an ``IllConditionedWarning`` says
    so.

    **Cost** of a row: "primal": 4d², in products of matrices where rows come by blocks. "dual",
    after m rows: m² + md. "diagonal" as in :class:`SecondOrderPerceptron`. Several
    ridges take as many times as long.

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

    _reading = NumberReading
    _begins_itself = True

    def __init__(
        self,
        kernel: Any = "linear",
        alpha: float = 1.0,
        *,
        forgetting: float = 1.0,
        form: str = "auto",
        budget: int | None = None,
        budget_rule: str = "smallest",
        fit_intercept: bool = True,
        missing_features: str = "refuse",
        new_features: str = "refuse",
        epochs: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.forgetting = forgetting
        self.form = form
        self.budget = budget
        self.budget_rule = budget_rule
        self.fit_intercept = fit_intercept
        self.missing_features = missing_features
        self.new_features = new_features
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all rows, in their order or shuffled, as often as ``epochs`` says.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (n, d)
            Rows.
        y : array-like of shape (n,) or (n, t)
            Targets.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, at or above zero: those of ``RLSRegressor``. A row of weight zero
            is left out.

        Returns
        -------
        self

        Notes
        -----
        **Cost**: ``epochs`` times that of all rows; a block of 256 rows is held at a time.

        Examples
        --------
        >>> from squareone import IncrementalRLSRegressor
        >>> model = IncrementalRLSRegressor(alpha=1e-6)
        >>> model.fit([[1.0], [2.0], [3.0]], [2.0, 4.0, 9.0], [1.0, 1.0, 0.0]).coef_.round(2)
        array([2.])
        """
        return fit_stream(self, X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from some more rows, one after the other.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (b, d)
            Rows.
        y : array-like of shape (b,) or (b, t)
            Targets.
        sample_weight : array-like of shape (b,), optional
            Weights of the rows, as in :meth:`fit`.

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
        >>> model = IncrementalRLSRegressor(alpha=0.01).partial_fit([[1.0], [2.0]], [2.0, 4.0])
        >>> model.partial_fit([[3.0]], [6.0]).n_rounds_
        3
        """
        return learn_more(self, X, y, None, sample_weight)

    def start(self, n_features: Any = None, n_targets: int | None = None) -> Self:
        """Begin a stream without a row, for :meth:`learn_one`.

        Parameters
        ----------
        n_features : int or list of names, optional
            Numbers in a row, or what the features are called, which are then the keys of rows that
            are dictionaries; by default those of the first row.
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
        return start_stream(self, n_features, lambda: NumberTargets(n_targets is None, columns))

    @lazy_on_dask
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
        >>> model = IncrementalRLSRegressor(alpha=1e-6).fit([[1.0], [2.0], [3.0]], [3.0, 5.0, 7.0])
        >>> model.predict([[4.0]]).round(2)
        array([9.])
        """
        return self._recorded().targets.decode(self._values(X))

    def _method(self) -> IncrementalMethod:
        return IncrementalMethod(ridges_of(self.alpha), float(self.forgetting))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class IncrementalRLSClassifier(Incremental, StreamClassifier):
    """Regularised least-squares classification, one row after the other.

    Classes are columns of ±1, all of which learn every row. After any number of rows it is what
    :class:`RLSClassifier` would be with the same ``alpha``, to working precision.

    Parameters
    ----------
    kernel : str or Kernel, default="linear"
        As in :class:`SecondOrderPerceptron`: a width that is not given is that of the first rows.
    alpha : float, sequence of float or "auto", default=1.0
        The ridge, above zero: the ``alpha`` of :class:`RLSClassifier`, the a of the papers; several
        as in :class:`IncrementalRLSRegressor`.
    forgetting : float, default=1.0
        As in :class:`IncrementalRLSRegressor`.
    form, budget, budget_rule, missing_features, new_features, epochs, shuffle, \
random_state
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
    alpha_, path_
        As in :class:`IncrementalRLSRegressor`.
    online_decisions_ : array of shape (n,), (n, k) or (n, labels)
        Decision values of the last pass of ``fit``, each before its row was learned.
    classes_, n_rounds_, calibration_, coef_, intercept_, dual_coef_, support_, \
support_vectors_, form_, kernel_, n_features_in_, feature_names_in_
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
        **StreamClassifier._parameter_constraints,
        **Incremental._parameter_constraints,
    }

    def __init__(
        self,
        kernel: Any = "linear",
        alpha: float = 1.0,
        *,
        forgetting: float = 1.0,
        form: str = "auto",
        budget: int | None = None,
        budget_rule: str = "smallest",
        fit_intercept: bool = True,
        new_classes: str = "refuse",
        missing_features: str = "refuse",
        new_features: str = "refuse",
        epochs: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.forgetting = forgetting
        self.form = form
        self.budget = budget
        self.budget_rule = budget_rule
        self.fit_intercept = fit_intercept
        self.new_classes = new_classes
        self.missing_features = missing_features
        self.new_features = new_features
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _method(self) -> IncrementalMethod:
        return IncrementalMethod(
            ridges_of(self.alpha), float(self.forgetting), self.new_classes == "add"
        )
