"""SecondOrderPerceptron: a classifier of a stream that learns the rows it got wrong."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ...arrays import Array
from ...online import MistakeBound, chosen_risk_bound, mistake_bound, typical_risk_bound
from ...online.engines import ridges_of
from ...online.perceptron import PerceptronMethod
from ..fitted_attributes import FromResult
from .base import SEVERAL_RIDGES
from .stream_classifier import StreamClassifier, compared

_HYPOTHESES = ("last", "average", "penalised")
_RISK_BOUNDS = {"typical": typical_risk_bound, "chosen": chosen_risk_bound}


class SecondOrderPerceptron(StreamClassifier):
    """The second-order perceptron: regularised least squares on the rows that were mistaken.

    With A = aI + Σxxᵀ and v = Σyx over the rows that were predicted wrong, the next row x is in the
    second class where vᵀA⁻¹x > 0. More than two classes, or several labels, are as many of these
    side by side, each with the rows that it got wrong.

    Parameters
    ----------
    kernel : str or Kernel, default="linear"
        A width that is not given, as that of ``"gaussian"``, is the median distance between the
        first 100 rows. While there are fewer it is that of all there are, and what was learned is
        learned again with it: how rows are shared out over calls makes no difference.
    alpha : float, sequence of float or "auto", default=1.0
        The ridge, above zero: the a of A in the papers. Several are run side by side in one pass,
        at the cost of all of them, and the one with the least mistakes so far predicts. "auto" are
        100, 10, 1, 0.1 and 0.01.
    form : {"auto", "primal", "dual", "diagonal"}, default="auto"
        What is kept of A. "primal": its square root, d² numbers. "dual": a Cholesky factor between
        the mistaken rows, for kernels and for more features than mistakes. Both are exact, and
        "auto" is the one that needs less. "diagonal": its diagonal, an approximation for sparse
        rows with many features.
    budget : int or None, default=None
        Support points of a column at most, for ``form="dual"``.
    budget_rule : {"smallest", "oldest"}, default="smallest"
        Which one makes room: that with the smallest ``|c|·√k(x, x)``, or the first.
    fit_intercept : bool, default=False
        Whether every row has a constant feature of one more, which is penalised as the others are.
    hypothesis : {"last", "average", "penalised"}, default="last"
        Which of the hypotheses of the run predicts: the last one; the mean over all rounds of their
        weights; the one with the least penalised risk estimate on the rounds after it, for which
        all of them are kept and tested.
    delta : float, default=0.05
        δ of that estimate.
    new_classes : {"refuse", "add"}, default="refuse"
        What happens when a class comes that was not there in the first call: an error, or one more
        column, which has learned nothing yet.
    missing_features : {"refuse", "zero"}, default="refuse"
        What becomes of features that a row lacks, where rows are dictionaries: an error, or zeros.
    new_features : {"refuse", "add"}, default="refuse"
        What becomes of a key that the rows before had not: an error, or one more feature, which is
        what it would be had it been known from the start, and zero so far.
    epochs : int, default=1
        Passes over the rows of ``fit``.
    shuffle : bool, default=False
        Whether each pass of ``fit`` is in another random order.
    random_state : int, RandomState or None, default=None
        For that order; None is a seed of zero.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The classes; 0 … labels − 1 for an indicator matrix.
    n_rounds_ : int
        Rows that were seen.
    mistakes_ : float
        Rows that were predicted wrong, by the ridge that predicts; for several labels the sum of
        the shares of labels that were wrong.
    updates_ : array of shape (t,)
        Rows that each column has learned.
    online_decisions_ : array of shape (n,), (n, k) or (n, labels)
        Decision values of the last pass of ``fit``, each before its row was learned.
    alpha_ : float
        The ridge that predicts.
    calibration_ : Calibration
        From decision values to the probabilities of ``predict_proba``.
    path_ : dict of arrays
        ``alpha`` and ``mistakes`` of all ridges.
    coef_, intercept_ : array of shape (1, d) or (t, d), and of shape (1,) or (t,)
        Of the linear kernel; of a regressor with one target (d,) and a number.
    dual_coef_, support_, support_vectors_ : arrays
        Of ``form="dual"``: weights (m,) or (t, m) of the support points, which rows of the stream
        they are, and the rows.
    form_ : str
        The form that was taken.
    kernel_ : Kernel
        With all parameters.
    n_features_in_, feature_names_in_
        As in scikit-learn. With ``new_features="add"`` they grow.

    See Also
    --------
    IncrementalRLSClassifier : Learns every row, not only mistaken ones; often errs less.
    SelectiveSamplingClassifier : Asks for few of the labels.

    Notes
    -----
    **Cost** of a row, for t columns: "primal": dt to predict, 4d² for each column that errs.
    "dual", with m support points: md kernel values to predict, m² for each column that errs.
    "diagonal": t times the stored numbers of the row.

    All is in float64, whatever the rows are. A stream keeps the parameters it began with: what is
    set later counts for the next ``fit`` or ``start``. Every call that learns is all or nothing: an
    error, or an interrupt, leaves the stream as it was.

    References
    ----------
    .. [1] N. Cesa-Bianchi, A. Conconi and C. Gentile (2005). A second-order perceptron algorithm.
       *SIAM Journal on Computing* 34, 640-668.
    .. [2] N. Cesa-Bianchi, A. Conconi and C. Gentile (2004). On the generalization ability of
       on-line learning algorithms. *IEEE Transactions on Information Theory* 50, 2050-2057.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from squareone import SecondOrderPerceptron
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SecondOrderPerceptron().fit(X[:1000] / 16, y[:1000])
    >>> bool(model.score(X[1000:] / 16, y[1000:]) > 0.85)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StreamClassifier._parameter_constraints,
        "alpha": SEVERAL_RIDGES,
        "hypothesis": [StrOptions(set(_HYPOTHESES))],
        "delta": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        kernel: Any = "linear",
        alpha: Any = 1.0,
        *,
        form: str = "auto",
        budget: int | None = None,
        budget_rule: str = "smallest",
        fit_intercept: bool = False,
        hypothesis: str = "last",
        delta: float = 0.05,
        new_classes: str = "refuse",
        missing_features: str = "refuse",
        new_features: str = "refuse",
        epochs: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.form = form
        self.budget = budget
        self.budget_rule = budget_rule
        self.fit_intercept = fit_intercept
        self.hypothesis = hypothesis
        self.delta = delta
        self.new_classes = new_classes
        self.missing_features = missing_features
        self.new_features = new_features
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        ridges_of(self.alpha)
        if self.budget is not None and self.hypothesis != "last":
            msg = (
                f"hypothesis={self.hypothesis!r} needs all support points, and budget="
                f'{self.budget} drops some: use hypothesis="last", or budget=None'
            )
            raise ValueError(msg)

    def _method(self) -> PerceptronMethod:
        return PerceptronMethod(ridges_of(self.alpha), self.hypothesis, self.delta)

    alpha_: FromResult[float] = FromResult(
        lambda record: record.engine.best.learners.alpha, "The ridge that predicts."
    )
    mistakes_: FromResult[float] = FromResult(
        lambda record: record.engine.best.loss,
        "Rows that were predicted wrong, by the ridge that predicts.",
    )
    updates_: FromResult[Array] = FromResult(
        lambda record: record.engine.best.updates.copy(), "Rows that each column has learned."
    )
    path_: FromResult[dict[str, Array]] = FromResult(
        lambda record: {
            "alpha": np.array([run.learners.alpha for run in record.engine.contenders]),
            "mistakes": np.array([run.losses[0] for run in record.engine.contenders]),
        },
        "All ridges and their mistakes.",
    )

    # --- bounds ---

    def risk_bound(self, delta: float = 0.05, *, kind: str = "typical") -> float:
        """What the probability of a mistake on new rows is at most, with probability 1 − δ.

        Parameters
        ----------
        delta : float, default=0.05
            δ.
        kind : {"typical", "chosen"}, default="typical"
            "typical": M/n + √(2/n · ln 1/δ), for the mean risk of the hypotheses of the run.
            "chosen": M/n + 5√(1/n · ln(2(n + 1)/δ)), for the one that
            ``hypothesis="penalised"`` predicts with.

        Returns
        -------
        float
            For several labels it bounds the share of wrong labels.

        Notes
        -----
        Rows have to be independent, and each seen once. With several ridges δ is shared out among
        them.

        **Cost**: nothing.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from squareone import SecondOrderPerceptron
        >>> X, y = load_digits(return_X_y=True)
        >>> model = SecondOrderPerceptron(shuffle=True).fit(X / 16, y)
        >>> bool(model.mistakes_ / 1797 < model.risk_bound() < 0.3)
        True
        """
        if kind not in _RISK_BOUNDS:
            msg = f'kind={kind!r}: "typical" or "chosen" is expected'
            raise ValueError(msg)
        if not isinstance(delta, Real) or not 0 < delta < 1:
            msg = f"delta={delta!r}: a probability between 0 and 1 is expected"
            raise ValueError(msg)
        engine = _seen_once(self)
        share = float(delta) / len(engine.contenders)
        return _RISK_BOUNDS[kind](engine.best.loss, engine.best.rounds, share)

    def mistake_bound(
        self, X: Any, y: Any, u: Any, gamma: float | None = None, *, column: int = 0
    ) -> MistakeBound:
        """What the mistakes of a column are at most, compared with any fixed classifier u.

        (1/γ)(Σ(γ − y uᵀx)₊ + √((a|u|² + uᵀSSᵀu) Σ ln(1 + λᵢ/a))), where S are the rows that the
        column has learned and λᵢ the eigenvalues of SSᵀ.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The rows of the run, all of them.
        y : array-like of shape (n,) or (n, labels)
            Their classes.
        u : array-like of shape (d,), or of shape (n,) for a kernel
            The classifier to compare with: uᵀx, or Σ uᵢk(xᵢ, x) over the rows of X. With an
            intercept its last number is that of the constant feature.
        gamma : float or None, default=None
            γ above zero; None: the one that makes the bound least.
        column : int, default=0
            Which class, or label.

        Returns
        -------
        MistakeBound
            ``value``, ``gamma``, and the terms: ``hinge``, ``energy``, ``log_determinant``.

        Notes
        -----
        It holds for every sequence of rows, whatever they are, for the exact forms, without a
        budget.

        **Cost**: nd, or n² kernel values, and d³ or as much as a margin.

        Examples
        --------
        >>> import numpy as np
        >>> from squareone import SecondOrderPerceptron
        >>> X = np.random.default_rng(0).normal(size=(500, 3))
        >>> u = np.array([1.0, -1.0, 0.0])
        >>> y = X @ u > 0
        >>> model = SecondOrderPerceptron().fit(X, y)
        >>> bool(model.updates_[0] <= model.mistake_bound(X, y, u).value)
        True
        """
        engine = _seen_once(self)
        if gamma is not None and (not isinstance(gamma, Real) or not gamma > 0):
            msg = f"gamma={gamma!r}: a number above zero, or None, is expected"
            raise ValueError(msg)
        found = compared(self, engine.best.learners, X, y, u, column)
        return mistake_bound(found.margins, found.energy, found.log_determinant, gamma)


def _seen_once(estimator: SecondOrderPerceptron) -> Any:
    """The engine of a run in which each row was seen once; any other is refused."""
    record = estimator._recorded()
    if record.passes > 1:
        msg = (
            f"epochs={record.passes}: the bounds are for rows that are seen once. Fit with epochs=1"
        )
        raise ValueError(msg)
    if record.engine.rounds == 0:
        msg = "no row was seen yet: there is nothing to bound"
        raise ValueError(msg)
    return record.engine
