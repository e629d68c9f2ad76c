"""FilteringClassifier."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from ...arrays import Array
from ...online import Accepting, Rule
from ...targets import Labels
from .asking import AskingStream


class FilteringClassifier(AskingStream):
    """A filter of a stream: the label of an item is seen only if it is accepted.

    An item is accepted where Δ + √(k ln t / N) ≥ 0, with Δ the margin of the row, of unit length,
    after t rows and N accepted ones: where it may well be relevant, given what is known.

    Parameters
    ----------
    a : float, default=1.0
        The ridge, above zero; it always stands beside k.
    k : float, default=4.0
        More accepts more.
    count : {"labels", "rarer"}, default="labels"
        What N counts: all labels, or those of the rarer outcome, and one.
    kernel, form, sketch_size, budget, budget_rule, normalise, shuffle
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
    classes_, n_rounds_, coef_, dual_coef_, support_, support_vectors_, form_, kernel_, \
n_features_in_, feature_names_in_
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
    >>> model = FilteringClassifier(a=0.1, k=1.0).fit(X, y == 3)
    >>> bool(model.history_["f_measure"][-1] > 0.7)
    True
    >>> accepted = model.decide(X[:5])
    >>> model = model.feedback(X[:5], y[:5] == 3, accepted)
    """

    new_classes = "refuse"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AskingStream._parameter_constraints,
        "utility": [tuple, list],
    }
    del _parameter_constraints["new_classes"]
    _shown_attributes = ("accepted_", "history_")

    def __init__(
        self,
        a: float = 1.0,
        *,
        k: float = 4.0,
        count: str = "labels",
        kernel: Any = "linear",
        form: str = "auto",
        sketch_size: int = 10,
        budget: int | None = None,
        budget_rule: str = "smallest",
        normalise: bool = True,
        utility: tuple[float, float] = (2.0, 1.0),
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.a = a
        self.k = k
        self.count = count
        self.kernel = kernel
        self.form = form
        self.sketch_size = sketch_size
        self.budget = budget
        self.budget_rule = budget_rule
        self.normalise = normalise
        self.utility = utility
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

    def _rule(self) -> Rule:
        return Accepting(float(self.k), self.count == "rarer")

    def _set_up(self, X: Any, targets: Any, columns: int | None = None) -> None:
        if isinstance(targets, Labels) and not targets.multilabel and targets.classes.size > 2:
            msg = (
                f"Only binary classification is supported: y has {targets.classes.size} classes, "
                "and an item is relevant or not. Give two classes, or an indicator matrix with a "
                "column for every filter"
            )
            raise ValueError(msg)
        super()._set_up(X, targets, columns)

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
        return self._decide(X)

    def feedback(self, X: Any, y: Any, accepted: Any = None) -> Self:
        """Learn the labels of rows that were accepted.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (b, d)
            Rows.
        y : array-like of shape (b,) or (b, labels)
            Their classes, or an indicator matrix; looked at only where they were accepted.
        accepted : array-like of bool of shape (b,) or (b, labels), optional
            What :meth:`decide` gave; by default all were.

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
        self._learn_given(X, y, accepted)
        return self

    def _tell(self, Y: Array, margins: Array, asked: Array, order: Array) -> None:
        self.accepted_ = self._shaped(asked)
        worth, cost = self.utility
        relevant = (Y[order] > 0).sum(axis=1).cumsum()
        hits = ((Y[order] > 0) & asked[order]).sum(axis=1).cumsum()
        accepted = asked[order].sum(axis=1).cumsum()
        self.history_ = {
            "accepted": accepted,
            "relevant": relevant,
            "hits": hits,
            "precision": hits / np.maximum(1, accepted),
            "recall": hits / np.maximum(1, relevant),
            "f_measure": 2.0 * hits / np.maximum(1, accepted + relevant),
            "utility": worth * hits - cost * (accepted - hits),
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
