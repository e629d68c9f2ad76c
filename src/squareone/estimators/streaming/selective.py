"""SelectiveSamplingClassifier."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
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
from .asking import AskingStream
from .comparing import compared


class SelectiveSamplingClassifier(AskingStream):
    """A classifier of a stream that asks for few of the labels.

    Parameters
    ----------
    strategy : {"deterministic", "randomized"}, default="deterministic"
        "deterministic": a label is asked for where the margin of a row of unit length is at most
        √(k ln t / N), after t rows and N labels, and every label is learned. "randomized": with
        probability ``b/(b + |p| + ½p²(1 + r))``, p the margin and r = xᵀA⁻¹x, and a label is
        learned if the prediction was wrong.
    a : float, default=1.0
        The ridge, above zero. It always stands beside k: a smaller one makes margins larger.
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
    kernel, form, sketch_size, budget, budget_rule, new_classes, shuffle
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
        The share of the labels that ``fit`` asked for.
    n_labels_ : int or array of shape (labels,)
        Labels that were learned from or confirmed.
    classes_, n_rounds_, coef_, dual_coef_, support_, support_vectors_, form_, kernel_, \
n_features_in_, feature_names_in_
        As in :class:`SecondOrderPerceptron`.

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
    >>> model = SelectiveSamplingClassifier(a=0.1, k=1.0).fit(X, y >= 5)
    >>> bool(model.label_rate_ < 0.5)
    True
    >>> more = X[:3]
    >>> wanted = model.query(more)
    >>> model = model.partial_fit(more[wanted], (y >= 5)[:3][wanted])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AskingStream._parameter_constraints,
        "strategy": [StrOptions({"deterministic", "randomized"})],
        "b": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "margin": [StrOptions({"with_row", "without_row"})],
    }
    _shown_attributes = ("queried_", "online_decisions_", "mistakes_", "label_rate_")

    def __init__(
        self,
        strategy: str = "deterministic",
        *,
        a: float = 1.0,
        k: float = 4.0,
        b: float | str = "auto",
        margin: str = "with_row",
        count: str = "labels",
        kernel: Any = "linear",
        form: str = "auto",
        sketch_size: int = 10,
        budget: int | None = None,
        budget_rule: str = "smallest",
        normalise: bool = True,
        new_classes: str = "refuse",
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.strategy = strategy
        self.a = a
        self.k = k
        self.b = b
        self.margin = margin
        self.count = count
        self.kernel = kernel
        self.form = form
        self.sketch_size = sketch_size
        self.budget = budget
        self.budget_rule = budget_rule
        self.normalise = normalise
        self.new_classes = new_classes
        self.shuffle = shuffle
        self.random_state = random_state

    def _rule(self) -> Rule:
        if self.strategy == "deterministic":
            return Deterministic(float(self.k), self.count == "rarer")
        seed = self._record.extra.get("seed")
        if seed is None:
            rng = check_random_state(0 if self.random_state is None else self.random_state)
            seed = self._record.extra["seed"] = int(rng.randint(2**31 - 1))
        b = None if isinstance(self.b, str) else float(self.b)
        return Randomised(b, seed, with_row=self.margin == "with_row")

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
        return self._decide(X)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, given: Any = None) -> Self:
        """Take labels that were asked for.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (b, d)
            Rows of which a label is known.
        y : array-like of shape (b,) or (b, labels)
            Their classes, or an indicator matrix.
        classes : array-like of shape (k,), optional
            All classes there will be, in the first call; by default those of ``y``.
        given : array-like of bool of shape (b, labels), optional
            Which labels of an indicator matrix are known; by default all.

        Returns
        -------
        self

        Notes
        -----
        **Cost**: an update for every label that is learned.

        Examples
        --------
        >>> import numpy as np
        >>> from squareone import SelectiveSamplingClassifier
        >>> model = SelectiveSamplingClassifier().partial_fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
        >>> model.partial_fit(np.empty((0, 2)), []).n_labels_  # nobody has answered
        2
        """
        fresh = not hasattr(self, "_record")
        try:
            if fresh:
                self._first(X, y, classes)
            self._learn_given(X, y, given)
        except BaseException:
            if fresh:
                self._forget()
            raise
        return self

    @property
    def n_labels_(self) -> Any:
        """Labels that were given: a number, or (labels,)."""
        labels = self._sampler.labels
        return labels.copy() if self._recorded().targets.multilabel else int(labels[0])

    def _tell(self, Y: Array, margins: Array, asked: Array, order: Array) -> None:
        targets = self._recorded().targets
        self.queried_ = self._shaped(asked)
        self.online_decisions_ = targets.shaped(margins)
        self.label_rate_ = float(asked.mean())
        if targets.multilabel:
            self.mistakes_: Any = np.count_nonzero(margins * Y <= 0, axis=0)
        else:
            exclusive = self._sampler.exclusive
            self.mistakes_ = float(wrong_share(margins, Y, exclusive=exclusive).sum())

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
        >>> model = SelectiveSamplingClassifier("randomized", b=1.0).fit(X, y)
        >>> bool(model.mistakes_ <= model.mistake_bound(X, y, u).value)
        True
        """
        fits = self.strategy == "randomized" and self.margin == "with_row"
        if not fits or isinstance(self.b, str):
            msg = (
                'the bound is for strategy="randomized" and margin="with_row", with a number for b'
            )
            raise ValueError(msg)
        if not isinstance(gamma, Real) or not gamma > 0:
            msg = f"gamma={gamma!r}: a number above zero is expected"
            raise ValueError(msg)
        if self._sampler.exclusive:
            msg = (
                "labels of more than two classes are asked for by the two largest margins: the "
                "bound is for two classes, or for a label of an indicator matrix"
            )
            raise ValueError(msg)
        found = compared(self, self._sampler.learners, X, y, u, column)
        return expected_mistake_bound(
            found.margins, found.energy, found.log_determinant, float(gamma), float(self.b)
        )
