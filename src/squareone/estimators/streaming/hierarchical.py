"""HierarchicalClassifier: a classifier of a stream whose labels are nodes of a taxonomy."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin

from ...arrays import Array
from ...online import (
    Taxonomy,
    h_loss,
    stream_coefficients,
    symmetric_difference_loss,
    zero_one_loss,
)
from ...online.hierarchy import HierarchicalMethod
from ...online.node_labels import KINDS, NodeLabels
from ...online.target_reading import NodeReading
from ...targets.target_validation import check_weights
from ..fitted_attributes import FromResult, ReadOnly
from .base import Streaming, learn_more, start_stream


class HierarchicalClassifier(ClassifierMixin, Streaming):
    """Labels in a taxonomy: regularised least squares at every node, below its parent only.

    The node of a label learns the rows of which its parent is a true label, too (a root: all rows),
    each as it comes, and is asked about a new row only where its parent was predicted. So a row may
    have labels on several paths, or a path that ends before a leaf: a label is predicted where its
    margin, and those of all nodes above it, are positive.

    Parameters
    ----------
    kernel : str or Kernel, default="linear"
        As in :class:`SecondOrderPerceptron`: a width that is not given is that of the first rows.
    alpha : float, default=1.0
        The ridge, above zero: the a of the papers.
    taxonomy : dict, list, Taxonomy, str or None, default=None
        What is below what: a nested dictionary, a list of paths or a dictionary node → parent, as
        :meth:`squareone.online.Taxonomy.of` has them. A text such as ``"/"`` or ``"."``: labels are
        paths, whose parts it separates. None: nothing, all labels are roots.
    form : {"auto", "primal", "dual", "diagonal"}, default="auto"
        What is kept of A, as in :class:`SecondOrderPerceptron`; siblings share it.
    normalise : bool, default=True
        Whether rows are divided by their lengths, for the linear kernel. A row of zeros stays.
    budget : int or None, default=None
        Support points of siblings at most, for ``form="dual"``.
    budget_rule : {"smallest", "oldest"}, default="smallest"
        Which one makes room: that with the smallest ``|c|·√k(x, x)``, or the first.
    missing_features, new_features
        As in :class:`SecondOrderPerceptron`.
    epochs : int, default=1
        Passes over the rows of ``fit``.
    shuffle : bool, default=False
        Whether each pass of ``fit`` is in another random order.
    random_state : int, RandomState or None, default=None
        For that order; None is a seed of zero.

    Attributes
    ----------
    taxonomy_ : Taxonomy
        The nodes.
    classes_ : array of shape (k,)
        Their names, in the order of the columns.
    n_rounds_ : int
        Rows that were seen.
    h_loss_ : float
        Their mean H-loss, each predicted by signs before it was learned.
    mistakes_ : int
        Rows of which a label was wrong then.
    form_ : str
        The form that was taken.
    kernel_ : Kernel
        With all parameters.
    coef_ : array of shape (k, d)
        Weights of every node, for the linear kernel.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    IncrementalRLSClassifier : Without a taxonomy.
    squareone.online.h_loss : The loss that counts first mistakes.

    Notes
    -----
    **What y may be**, and what :meth:`predict` gives: an indicator matrix (n, k) with a column for
    every node, in which ancestors of a label have to be labels, too; a list of lists, tuples or
    sets of nodes, to which ancestors are added, and of which tuples are predicted, parents first;
    or one node for each row. Then one is predicted: from the roots on the child with the largest
    margin, down to a leaf, or to a node that was a row's label itself and none of whose children
    has a positive margin. Lists of zeros and ones, two at least and as many for each row, are an
    indicator matrix: collections of nodes that are named 0 and 1 have to be sets or tuples.

    Margins are those of regularised least squares without an intercept on all rows of the parent,
    whatever their order; how rows are shared out over calls makes no difference.

    **Cost** of a row, for each node on its paths that has children: as much as
    :class:`IncrementalRLSClassifier` for so many classes. All is in float64.

    References
    ----------
    .. [1] N. Cesa-Bianchi, C. Gentile and L. Zaniboni (2006). Incremental algorithms for
       hierarchical classification. *Journal of Machine Learning Research* 7, 31-54.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from squareone import HierarchicalClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> shapes = {"round": [0, 6, 8, 9], "straight": [1, 4, 7], "other": [2, 3, 5]}
    >>> model = HierarchicalClassifier(taxonomy=shapes).fit(
    ...     X[:1000], [[digit] for digit in y[:1000]]
    ... )
    >>> model.predict(X[1000:1002])
    array([('straight', 1), ('straight', 4)], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Streaming._parameter_constraints,
        "taxonomy": [object],  # looked at where it is read
        "normalise": ["boolean"],
    }
    del _parameter_constraints["fit_intercept"]

    _reading = NodeReading
    fit_intercept = False

    def __init__(
        self,
        kernel: Any = "linear",
        alpha: float = 1.0,
        *,
        taxonomy: Any = None,
        form: str = "auto",
        normalise: bool = True,
        budget: int | None = None,
        budget_rule: str = "smallest",
        missing_features: str = "refuse",
        new_features: str = "refuse",
        epochs: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.taxonomy = taxonomy
        self.form = form
        self.normalise = normalise
        self.budget = budget
        self.budget_rule = budget_rule
        self.missing_features = missing_features
        self.new_features = new_features
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state

    # --- learning ---

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, one after the other.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (b, d)
            Rows.
        y : array-like of shape (b,) or (b, k), or list of b collections
            Labels, in any of the three ways.
        classes : array-like of labels, optional
            All labels there will be, in the first call, where the taxonomy is to be made of them;
            by default those of ``y``.
        sample_weight : array-like of shape (b,), optional
            Weights of the rows, at or above zero. A row of weight zero is left out.

        Returns
        -------
        self

        Notes
        -----
        A label that is no node of the taxonomy is refused. Where something is refused, the state
        is as it was before.

        **Cost**: that of the rows at the nodes they belong to, told above.

        Examples
        --------
        >>> from squareone import HierarchicalClassifier
        >>> model = HierarchicalClassifier(taxonomy={"animal": ["cat", "dog"], "plant": []})
        >>> model = model.partial_fit([[1.0, 0.0, 0.1], [0.0, 1.0, 0.0]], ["cat", "plant"])
        >>> model.partial_fit([[1.0, 0.0, -0.1]], ["dog"]).predict([[1.0, 0.1, -0.5]])
        array(['dog'], dtype='<U6')
        """
        return learn_more(self, X, y, classes, sample_weight)

    def start(self, classes: Any, n_features: Any = None, *, kind: str = "labels") -> Self:
        """Begin a stream without a row, for :meth:`learn_one`.

        Parameters
        ----------
        classes : array-like of labels, or None
            All labels there will be; None where the taxonomy has them.
        n_features : int or list of names, optional
            Numbers in a row, or what the features are called, which are then the keys of rows that
            are dictionaries; by default those of the first row.
        kind : {"labels", "sets", "indicator"}, default="labels"
            What y will be.

        Returns
        -------
        self

        Notes
        -----
        **Cost**: memory for the weights.

        Examples
        --------
        >>> from squareone import HierarchicalClassifier
        >>> model = HierarchicalClassifier(taxonomy="/").start(["a/b", "a/c", "d"], 2, kind="sets")
        >>> model.learn_one([1.0, 0.0], {"a/b"}).predict_one([2.0, 1.0])
        ('a', 'a/b')
        """
        if kind not in KINDS:
            msg = f"kind={kind!r}: one of {', '.join(KINDS)} is expected"
            raise ValueError(msg)
        return start_stream(
            self, n_features, lambda: NodeLabels.named(self.taxonomy, kind, classes)
        )

    def _method(self) -> HierarchicalMethod:
        return HierarchicalMethod(float(self.alpha))

    # --- predicting ---

    def decision_function(self, X: Any) -> Array:
        """Margins of all nodes, whether or not they are asked in a prediction.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)

        Returns
        -------
        array of shape (m, k)
            Without a hierarchy, and with one label of two for each row: (m,), above zero for the
            second one.

        Notes
        -----
        **Cost**: d products for each node, as many kernel values as its family has points for
        another kernel.

        Examples
        --------
        >>> from squareone import HierarchicalClassifier
        >>> model = HierarchicalClassifier(taxonomy={"animal": ["cat", "dog"], "plant": []})
        >>> model = model.fit([[1.0, 0.0], [0.0, 1.0]], ["cat", "plant"])
        >>> model.decision_function([[1.0, 0.0]]).shape
        (1, 4)
        """
        return self._recorded().targets.decisions(self._values(X))

    def predict(self, X: Any) -> Any:
        """Predict labels, of the kind that y was.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)

        Returns
        -------
        array of shape (m,) or (m, k)
            One node for each row; tuples of nodes, parents first; or an indicator matrix.

        Notes
        -----
        **Cost**: that of :meth:`decision_function`.

        Examples
        --------
        >>> from squareone import HierarchicalClassifier
        >>> model = HierarchicalClassifier(taxonomy={"animal": ["cat", "dog"], "plant": []})
        >>> model.fit([[1.0, 0.0], [0.0, 1.0]], ["cat", "plant"]).predict([[1.0, 0.2]]).tolist()
        ['cat']
        """
        return self._recorded().targets.decode(self._values(X))

    # --- how well ---

    def losses(self, X: Any, y: Any, costs: Any = "uniform") -> dict[str, float]:
        """Mean losses on new rows, of whatever kind their labels are.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
        y : array-like of shape (m,) or (m, k), or list of m collections
        costs : {"uniform", "shared"} or array-like of shape (k,), default="uniform"
            Of mistakes at nodes, in :func:`squareone.online.h_loss`.

        Returns
        -------
        dict
            ``"h"``: first mistakes on every path; ``"zero_one"``: rows with any mistake;
            ``"symmetric_difference"``: nodes that are wrong.

        Notes
        -----
        **Cost**: that of :meth:`decision_function`.

        Examples
        --------
        >>> from squareone import HierarchicalClassifier
        >>> model = HierarchicalClassifier(taxonomy={"animal": ["cat", "dog"], "plant": []})
        >>> model = model.fit([[1.0, 0.0], [0.0, 1.0]], ["cat", "plant"])
        >>> model.losses([[0.1, 1.0]], ["plant"])
        {'h': 0.0, 'zero_one': 0.0, 'symmetric_difference': 0.0}
        """
        true, predicted = _labels_of(self, X, y)
        return {
            "h": float(h_loss(true, predicted, self.taxonomy_, costs=costs).mean()),
            "zero_one": float(zero_one_loss(true, predicted).mean()),
            "symmetric_difference": float(symmetric_difference_loss(true, predicted).mean()),
        }

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows that are right altogether: one less the zero-one loss.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (m, d)
        y : array-like of shape (m,) or (m, k), or list of m collections
        sample_weight : array-like of shape (m,), optional

        Returns
        -------
        float
            The accuracy, as for any classifier of scikit-learn; :meth:`losses` has those that know
            the taxonomy.

        Notes
        -----
        **Cost**: that of :meth:`decision_function`.

        Examples
        --------
        >>> from squareone import HierarchicalClassifier
        >>> model = HierarchicalClassifier(taxonomy={"animal": ["cat", "dog"], "plant": []})
        >>> model = model.fit([[1.0, 0.0], [0.0, 1.0]], ["cat", "plant"])
        >>> model.score([[0.1, 1.0], [1.0, 0.0]], ["plant", "dog"])
        0.5
        """
        true, predicted = _labels_of(self, X, y)
        weights = check_weights(sample_weight, true.shape[0], np.dtype(np.float64))
        return float(np.average(1.0 - zero_one_loss(true, predicted), weights=weights))

    # --- what was learned ---

    taxonomy_: FromResult[Taxonomy] = FromResult(
        lambda record: record.targets.taxonomy, "The nodes."
    )
    classes_: FromResult[Array] = FromResult(
        lambda record: record.targets.classes, "Names of the nodes."
    )
    mistakes_: FromResult[int] = FromResult(
        lambda record: record.engine.mistakes,
        "Rows of which a label was wrong before they were learned.",
    )
    h_loss_: FromResult[float] = FromResult(
        lambda record: record.engine.loss / max(record.engine.rounds, 1),
        "The mean H-loss of all rows, each before it was learned.",
    )
    coef_: FromResult[Array] = ReadOnly(
        stream_coefficients.of_nodes, "Weights of every node (k, d), for the linear kernel."
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _labels_of(estimator: HierarchicalClassifier, X: Any, y: Any) -> tuple[Array, Array]:
    """Indicators (n, k) of true and predicted labels."""
    margins, targets = estimator._values(X), estimator._recorded().targets
    return targets.closed(NodeReading.read(y, margins)), targets.predicted(margins)
