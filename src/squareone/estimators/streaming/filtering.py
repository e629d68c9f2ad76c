"""FilteringClassifier: a filter of a stream, which sees the labels of what it accepts."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from ...arrays import Array
from ...online import Accepting
from ...online.sampling import SamplingMethod, filter_history
from .base import all_or_nothing, numbers_in
from .stream_classifier import (
    ASKING_CONSTRAINTS,
    StreamClassifier,
    fit_asking,
    learn_known_labels,
    query_rows,
    shaped_like_labels,
)


class FilteringClassifier(StreamClassifier):
    """A filter of a stream: the label of an item is seen only if it is accepted.

    An item is accepted where Δ + √(k ln t / N) ≥ 0, with Δ the margin of the row, of unit length,
    after t rows and N accepted ones: where it may well be relevant, given what is known.

    Parameters
    ----------
    kernel : str or Kernel, default="linear"
        As in :class:`SecondOrderPerceptron`.
    alpha : float, default=1.0
        The ridge, above zero: the a of the papers. It always stands beside k.
    k : float, default=4.0
        More accepts more.
    count : {"labels", "rarer"}, default="labels"
        What N counts: all labels, or those of the rarer outcome, and one.
    form, budget, budget_rule, normalise, missing_features, new_features, shuffle
        As in :class:`SelectiveSamplingClassifier`.
    utility : tuple of two floats, default=(2.0, 1.0)
        What a relevant item that is accepted is worth, and what an irrelevant one costs.
    random_state : int, RandomState or None, default=None
        For the order of ``shuffle``; None is a seed of zero.

    Attributes
    ----------
    accepted_ : array of bool of shape (n,) or (n, labels)
        What ``fit`` accepted.
    history_ : dict of arrays of shape (n,)
        After each row of ``fit``, over all labels: ``accepted``, ``relevant``, ``hits``,
        ``precision``, ``recall``, ``f_measure`` and ``utility``.
    classes_, n_rounds_, calibration_, coef_, dual_coef_, support_, support_vectors_, form_, \
kernel_, n_features_in_, feature_names_in_
        As in :class:`SecondOrderPerceptron`.

    Notes
    -----
    Two classes, of which the second is relevant, or an indicator matrix, of which each label is a
    filter by itself.

    **Cost**: that of :class:`SelectiveSamplingClassifier` with the deterministic rule.

    References
    ----------
    .. [1] N. Cesa-Bianchi, A. Conconi and C. Gentile (2003). Margin-based algorithms for
       information filtering. *NIPS* 15.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from squareone import FilteringClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = FilteringClassifier(alpha=0.1, k=1.0).fit(X, y == 3)
    >>> bool(model.history_["f_measure"][-1] > 0.7)
    True
    >>> accepted = model.decide(X[:5])
    >>> model = model.feedback(X[:5], y[:5] == 3, accepted)
    """

    new_classes = "refuse"
    fit_intercept = False  # with a constant feature no row is unlike those that were seen before

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ASKING_CONSTRAINTS,
        "utility": [tuple, list],
    }
    del _parameter_constraints["new_classes"]
    _shown_attributes = ("accepted_", "history_")

    def __init__(
        self,
        kernel: Any = "linear",
        alpha: float = 1.0,
        *,
        k: float = 4.0,
        count: str = "labels",
        form: str = "auto",
        budget: int | None = None,
        budget_rule: str = "smallest",
        normalise: bool = True,
        utility: tuple[float, float] = (2.0, 1.0),
        missing_features: str = "refuse",
        new_features: str = "refuse",
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.k = k
        self.count = count
        self.form = form
        self.budget = budget
        self.budget_rule = budget_rule
        self.normalise = normalise
        self.utility = utility
        self.missing_features = missing_features
        self.new_features = new_features
        self.shuffle = shuffle
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        worth = np.asarray(self.utility, dtype=object)
        try:
            fits = worth.shape == (2,) and bool(np.isfinite(worth.astype(float)).all())
        except (TypeError, ValueError):
            fits = False
        if not fits:
            msg = f"utility={self.utility!r}: two finite numbers are expected, worth and cost"
            raise ValueError(msg)

    def _method(self) -> SamplingMethod:
        return SamplingMethod(float(self.alpha), Accepting(float(self.k), self.count == "rarer"))

    def fit(self, X: Any, y: Any) -> Self:
        """Go through rows as if labels were seen only where rows are accepted.

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
        >>> from squareone import FilteringClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> FilteringClassifier(alpha=0.1, k=1.0).fit(X, y == 3).accepted_.shape
        (1797,)
        """
        self._forget()
        with all_or_nothing(self, np.inf):
            Y, _, asked, order = fit_asking(self, X, y)
            self.accepted_ = shaped_like_labels(self, asked)
            self.history_ = filter_history(Y[order] > 0, asked[order], self.utility)
        return self

    def decide(self, X: Any) -> Array:
        """Which of the rows that come next are accepted.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (b, d)
            Rows, which count as seen.

        Returns
        -------
        array of bool of shape (b,) or (b, labels)

        Notes
        -----
        **Cost**: a margin for every row and label.

        Examples
        --------
        >>> from squareone import FilteringClassifier
        >>> model = FilteringClassifier(k=0.1).start(classes=["junk", "news"], n_features=2)
        >>> model = model.feedback([[1.0, 0.0], [0.0, 1.0]], ["junk", "news"])
        >>> for _ in range(5):  # more of the same is less uncertain
        ...     model = model.feedback([[1.0, 0.0]], ["junk"])
        >>> model.decide([[0.0, 1.0], [1.0, 0.0]])
        array([ True, False])
        """
        return query_rows(self, X)

    def feedback(self, X: Any, y: Any, accepted: Any = None, sample_weight: Any = None) -> Self:
        """Learn the labels of rows that were accepted.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (b, d)
            Rows.
        y : array-like of shape (b,) or (b, labels)
            Their classes, or an indicator matrix; looked at only where they were accepted.
        accepted : array-like of bool of shape (b,) or (b, labels), optional
            What :meth:`decide` gave; by default all were.
        sample_weight : array-like of shape (b,), optional
            Weights of the rows, at or above zero. A row of weight zero is left out.

        Returns
        -------
        self

        Notes
        -----
        **Cost**: an update for every label that was accepted.

        Examples
        --------
        >>> from squareone import FilteringClassifier
        >>> model = FilteringClassifier().start(classes=["junk", "news"], n_features=2)
        >>> rows = [[1.0, 0.0], [0.0, 1.0]]
        >>> accepted = model.decide(rows)
        >>> model.feedback(rows, ["junk", "news"], accepted).n_rounds_
        2
        """
        self._recorded()
        with all_or_nothing(self, numbers_in(X)):
            learn_known_labels(self, X, y, accepted, sample_weight)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
