"""SelectiveSamplingClassifier: a classifier of a stream that asks for few of the labels."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ...arrays import Array
from ...online import (
    Deterministic,
    MistakeBound,
    Randomised,
    Rule,
    expected_mistake_bound,
    wrong_share,
)
from ...online.sampling import SamplingMethod
from ...online.stream_learner import positive_count
from ..fitted_attributes import FromResult
from .base import all_or_nothing, begin_with_rows, check_more_rows, numbers_in
from .stream_classifier import (
    ASKING_CONSTRAINTS,
    StreamClassifier,
    compared,
    fit_asking,
    learn_known_labels,
    query_rows,
    shaped_like_labels,
)


class SelectiveSamplingClassifier(StreamClassifier):
    """A classifier of a stream that asks for few of the labels.

    Parameters
    ----------
    kernel : str or Kernel, default="linear"
        As in :class:`SecondOrderPerceptron`.
    alpha : float, default=1.0
        The ridge, above zero: the a of the papers. It always stands beside k: a smaller one makes
        margins larger.
    strategy : {"deterministic", "randomized"}, default="deterministic"
        "deterministic": a label is asked for where the margin of a row of unit length is at most
        √(k ln t / N), after t rows and N labels, and every label is learned. "randomized": with
        probability ``b/(b + |p| + ½p²(1 + r))``, p the margin and r = xᵀA⁻¹x, and a label is
        learned if the prediction was wrong.
    k : float, default=4.0
        Of the deterministic rule: more asks more.
    b : float or "auto", default="auto"
        Of the randomised rule: more asks more. "auto" is γ√(ln det(A/a) / wᵀAw) of each column,
        with γ the mean margin of the rows it has learned: where the two terms of the expected
        bound that depend on b are equal.
    margin : {"with_row", "without_row"}, default="with_row"
        Which margin the randomised rule looks at: that with the row itself in A, vᵀA⁻¹x/(1 + r),
        for which there is a bound, or vᵀA⁻¹x as it predicts, which is larger and asks less.
    count : {"labels", "rarer"}, default="labels"
        What N counts: all labels, or those of the rarer outcome, and one. With rare classes the
        margin drifts towards their absence while N grows, and nobody asks about them any more:
        "rarer" goes on.
    form, budget, budget_rule, new_classes, missing_features, new_features, shuffle
        As in :class:`SecondOrderPerceptron`.
    normalise : bool, default=True
        Whether rows are learned with unit length, for the linear kernel. In any case, and with any
        kernel, the deterministic rule looks at the margin divided by √k(x, x), and the randomised
        one at the margin of the row itself.
    random_state : int, RandomState or None, default=None
        For the randomised rule, and the order of ``shuffle``; None is a seed of zero.

    Attributes
    ----------
    queried_ : array of bool of shape (n,) or (n, labels)
        Which labels ``fit`` asked for.
    online_decisions_ : array of shape (n,), (n, k) or (n, labels)
        Decision values of ``fit``, each before its label was seen.
    mistakes_ : float or array of shape (labels,)
        How often these were wrong, asked or not.
    label_rate_ : float
        The share of the labels that ``fit`` and ``query`` asked for.
    n_labels_ : int or array of shape (labels,)
        Labels that were learned from or confirmed.
    classes_, n_rounds_, calibration_, coef_, dual_coef_, support_, support_vectors_, form_, \
kernel_, n_features_in_, feature_names_in_
        As in :class:`SecondOrderPerceptron`. Probabilities are fitted to labels that were given,
        few of which are of sure rows: they are rather too cautious.

    See Also
    --------
    FilteringClassifier : Sees the labels of what it accepts.

    Notes
    -----
    More than two classes ask for one label, that of the row, by half the difference between the
    two largest margins. Every label of an indicator matrix asks for itself.

    A row of zeros is never asked about: nothing can be learned from it.

    **Cost** of a row: a margin for each column, as in :class:`SecondOrderPerceptron`; for
    "randomized" d² or m² more for r; an update for each label that is learned.

    References
    ----------
    .. [1] N. Cesa-Bianchi, C. Gentile and L. Zaniboni (2006). Worst-case analysis of selective
       sampling for linear classification. *Journal of Machine Learning Research* 7, 1205-1230.
    .. [2] N. Cesa-Bianchi, A. Conconi and C. Gentile (2003). Learning probabilistic
       linear-threshold classifiers via selective sampling. *COLT*, 373-386.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from squareone import SelectiveSamplingClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SelectiveSamplingClassifier(alpha=0.1, k=1.0).fit(X, y >= 5)
    >>> bool(model.label_rate_ < 0.5)
    True
    >>> more = X[:3]
    >>> wanted = model.query(more)
    >>> model = model.partial_fit(more[wanted], (y >= 5)[:3][wanted])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ASKING_CONSTRAINTS,
        "strategy": [StrOptions({"deterministic", "randomized"})],
        "b": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "margin": [StrOptions({"with_row", "without_row"})],
    }
    _shown_attributes = ("queried_", "online_decisions_", "mistakes_")
    fit_intercept = False  # with a constant feature no row is unlike those that were seen before

    def __init__(
        self,
        kernel: Any = "linear",
        alpha: float = 1.0,
        *,
        strategy: str = "deterministic",
        k: float = 4.0,
        b: float | str = "auto",
        margin: str = "with_row",
        count: str = "labels",
        form: str = "auto",
        budget: int | None = None,
        budget_rule: str = "smallest",
        normalise: bool = True,
        new_classes: str = "refuse",
        missing_features: str = "refuse",
        new_features: str = "refuse",
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.strategy = strategy
        self.k = k
        self.b = b
        self.margin = margin
        self.count = count
        self.form = form
        self.budget = budget
        self.budget_rule = budget_rule
        self.normalise = normalise
        self.new_classes = new_classes
        self.missing_features = missing_features
        self.new_features = new_features
        self.shuffle = shuffle
        self.random_state = random_state

    def _method(self) -> SamplingMethod:
        rule: Rule
        if self.strategy == "deterministic":
            rule = Deterministic(float(self.k), self.count == "rarer")
        else:
            b = None if isinstance(self.b, str) else float(self.b)
            rule = Randomised(b, 0, with_row=self.margin == "with_row")
        return SamplingMethod(float(self.alpha), rule, self.new_classes == "add")

    def fit(self, X: Any, y: Any) -> Self:
        """Go through rows as if labels were seen only as far as they are asked for.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (n, d)
            Rows.
        y : array-like of shape (n,) or (n, labels)
            All labels: classes, or an indicator matrix.

        Returns
        -------
        self

        Notes
        -----
        **Cost**: a margin for every row and column, and an update for every label that is learned;
        two numbers for every row and column are kept.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from squareone import SelectiveSamplingClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> SelectiveSamplingClassifier(alpha=0.1, k=1.0).fit(X, y).queried_.shape
        (1797,)
        """
        self._forget()
        with all_or_nothing(self, np.inf):
            Y, margins, asked, _ = fit_asking(self, X, y)
            record = self._record
            self.queried_ = shaped_like_labels(self, asked)
            self.online_decisions_ = record.targets.shaped(margins)
            if record.targets.multilabel:
                self.mistakes_: Any = np.count_nonzero(margins * Y <= 0, axis=0)
            else:
                exclusive = record.engine.exclusive
                self.mistakes_ = float(wrong_share(margins, Y, exclusive=exclusive).sum())
        return self

    def query(self, X: Any) -> Array:
        """Which labels are wanted of the rows that come next.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (b, d)
            Rows, which count as seen.

        Returns
        -------
        array of bool of shape (b,) or (b, labels)
            For :meth:`partial_fit`. A label that is asked for and never given is no harm: N counts
            those that came.

        Notes
        -----
        **Cost**: a margin for every row and column; for "randomized" their spreads, too.

        Examples
        --------
        >>> from squareone import SelectiveSamplingClassifier
        >>> model = SelectiveSamplingClassifier().start(classes=[0, 1], n_features=2)
        >>> model = model.partial_fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
        >>> model.query([[1.0, 1.0], [0.0, 0.0]])  # nothing is learned from zeros
        array([ True, False])
        """
        return query_rows(self, X)

    def query_probability(self, X: Any, n_rounds: int | None = None) -> Array:
        """With which probability the label of each row would be asked for, were it the next one.

        Nothing counts as seen, and nothing is drawn: what a model would still ask of many rows, or
        the probability to record with a question.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (b, d)
            Rows.
        n_rounds : int, optional
            Rows seen so far, t − 1 of the rule; by default ``n_rounds_``.

        Returns
        -------
        array of shape (b,) or (b, labels)
            0 or 1 for ``strategy="deterministic"``.

        Notes
        -----
        **Cost**: margins of all rows at once; for "randomized" their spreads, too, row by row.

        Examples
        --------
        >>> from squareone import SelectiveSamplingClassifier
        >>> model = SelectiveSamplingClassifier(strategy="randomized", b=1.0)
        >>> model = model.partial_fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
        >>> model.query_probability([[1.0, 1.0], [1.0, 0.0]]).round(2)
        array([1.  , 0.71])
        """
        record = self._recorded()
        number = record.engine.rounds if n_rounds is None else positive_count(n_rounds, "n_rounds")
        return shaped_like_labels(self, record.chances(check_more_rows(self, X), number + 1))

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, given: Any = None
    ) -> Self:
        """Take labels that were asked for.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (b, d)
            Rows of which a label is known.
        y : array-like of shape (b,) or (b, labels)
            Their classes, or an indicator matrix.
        classes : array-like of shape (k,), optional
            All classes there will be, in the first call; by default those of ``y``.
        sample_weight : array-like of shape (b,), optional
            Weights of the rows, at or above zero. A row of weight zero is left out.
        given : array-like of bool of shape (b, labels), optional
            Which labels of an indicator matrix are known; by default all.

        Returns
        -------
        self

        Notes
        -----
        Rows beyond those that :meth:`query` asked about count as seen, too: labels may be there
        from the start.

        **Cost**: an update for every label that is learned.

        Examples
        --------
        >>> import numpy as np
        >>> from squareone import SelectiveSamplingClassifier
        >>> model = SelectiveSamplingClassifier().partial_fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
        >>> model.partial_fit(np.empty((0, 2)), []).n_labels_  # nobody has answered
        2
        """
        with all_or_nothing(self, numbers_in(X)):
            if not hasattr(self, "_record"):
                begin_with_rows(self, X, y, classes, sample_weight)
            learn_known_labels(self, X, y, given, sample_weight)
        return self

    n_labels_: FromResult[Any] = FromResult(
        lambda record: (
            record.engine.labels.copy()
            if record.targets.multilabel
            else int(record.engine.labels[0])
        ),
        "Labels that were given: a number, or (labels,).",
    )
    label_rate_: FromResult[float] = FromResult(
        lambda record: record.engine.label_rate,
        "The share of the labels that were asked for, of those that could have been.",
    )

    def mistake_bound(
        self, X: Any, y: Any, u: Any, gamma: float = 1.0, *, column: int = 0
    ) -> MistakeBound:
        """The bound on the expected mistakes of the randomised rule, with the terms of this run.

        (1/γ)Σ(γ − y uᵀx)₊ + b(a|u|² + uᵀSSᵀu)/(2γ²) + Σ ln(1 + λᵢ/a)/(2b). In the theorem the
        second and third terms are expectations over the random choices: average them over runs.
        For two classes, or a label of an indicator matrix.

        Parameters
        ----------
        X, y, u, column
            As in :meth:`SecondOrderPerceptron.mistake_bound`; rows of the linear kernel are of unit
            length unless ``normalise=False``.
        gamma : float, default=1.0
            γ above zero.

        Returns
        -------
        MistakeBound

        Notes
        -----
        **Cost**: nd, or n² kernel values, and d³ or as much as a margin.

        Examples
        --------
        >>> import numpy as np
        >>> from squareone import SelectiveSamplingClassifier
        >>> X = np.random.default_rng(0).normal(size=(500, 3))
        >>> u = np.array([1.0, -1.0, 0.0])
        >>> y = X @ u > 0
        >>> model = SelectiveSamplingClassifier(strategy="randomized", b=1.0).fit(X, y)
        >>> bool(model.mistakes_ <= model.mistake_bound(X, y, u).value)
        True
        """
        engine = self._recorded().engine
        rule = engine.rule
        if not isinstance(rule, Randomised) or not rule.with_row or rule.b is None:
            msg = (
                'the bound is for strategy="randomized" and margin="with_row", with a number for b'
            )
            raise ValueError(msg)
        if not isinstance(gamma, Real) or not gamma > 0:
            msg = f"gamma={gamma!r}: a number above zero is expected"
            raise ValueError(msg)
        if engine.exclusive:
            msg = (
                "labels of more than two classes are asked for by the two largest margins: the "
                "bound is for two classes, or for a label of an indicator matrix"
            )
            raise ValueError(msg)
        found = compared(self, engine.learners, X, y, u, column)
        return expected_mistake_bound(
            found.margins, found.energy, found.log_determinant, float(gamma), rule.b
        )
