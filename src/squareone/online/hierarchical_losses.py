"""Losses of predicted sets of labels: H-loss, zero-one loss and symmetric difference.

All take indicators (n, k) of k nodes and give a loss for each row (n,).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from .taxonomy import Taxonomy


def zero_one_loss(y_true: Any, y_pred: Any) -> Array:
    """One where the two sets differ at all.

    **Cost**: n·k.

    Examples
    --------
    >>> from squareone.online import zero_one_loss
    >>> zero_one_loss([[1, 0], [1, 1]], [[1, 0], [0, 0]])
    array([0., 1.])
    """
    return np.any(_differing(y_true, y_pred), axis=1).astype(np.float64)


def symmetric_difference_loss(y_true: Any, y_pred: Any) -> Array:
    """How many nodes are in one of the two sets only.

    **Cost**: n·k.

    Examples
    --------
    >>> from squareone.online import symmetric_difference_loss
    >>> symmetric_difference_loss([[1, 0], [1, 1]], [[1, 0], [0, 0]])
    array([0., 2.])
    """
    return _differing(y_true, y_pred).sum(axis=1).astype(np.float64)


def h_loss(y_true: Any, y_pred: Any, taxonomy: Any, *, costs: Any = "uniform") -> Array:
    """Cost of the first mistake on every path from a root; what is below it costs nothing.

    Parameters
    ----------
    y_true, y_pred : array-like (n, k)
    taxonomy : Taxonomy, or what :meth:`Taxonomy.of` makes one of
        Of k nodes, in the order of the columns.
    costs : {"uniform", "shared"} or array-like (k,), default="uniform"
        Of a mistake at a node: one; or a root has its share of one, and a child its share of what
        its parent has, so that no row loses more than one; or numbers at or above zero.

    Returns
    -------
    array (n,)

    Notes
    -----
    Node i counts where its prediction is wrong and those of all its ancestors are right
    (Cesa-Bianchi, Gentile & Zaniboni 2006).

    **Cost**: n·k.

    Examples
    --------
    >>> from squareone.online import h_loss
    >>> forest = {"a": None, "b": "a", "c": "a", "d": None}
    >>> h_loss([[1, 1, 0, 0], [1, 1, 0, 0]], [[0, 0, 0, 0], [1, 0, 1, 1]], forest)
    array([1., 3.])
    """
    taxonomy = Taxonomy.of(taxonomy)
    wrong = _differing(y_true, y_pred)
    if wrong.shape[1] != len(taxonomy):
        msg = f"{wrong.shape[1]} columns, and the taxonomy has {len(taxonomy)} nodes"
        raise ValueError(msg)
    first = wrong.copy()
    clear = ~wrong  # the way down to a node, the node included
    for level in taxonomy.levels[1:]:
        above = clear[:, taxonomy.parents[level]]
        first[:, level] &= above
        clear[:, level] &= above
    return first @ node_costs(taxonomy, costs)


def node_costs(taxonomy: Taxonomy, costs: Any) -> Array:
    """The cost of a mistake at every node (k,)."""
    k = len(taxonomy)
    if isinstance(costs, str):
        if costs == "uniform":
            return np.ones(k)
        if costs == "shared":
            return _shared(taxonomy)
        msg = f'costs={costs!r}: "uniform", "shared" or {k} numbers are expected'
        raise ValueError(msg)
    values = np.asarray(costs, dtype=np.float64)
    if values.shape != (k,) or not np.isfinite(values).all() or (values < 0).any():
        msg = f"costs of {k} nodes are finite numbers at or above zero, got {costs!r}"
        raise ValueError(msg)
    return values


def _shared(taxonomy: Taxonomy) -> Array:
    parents = taxonomy.parents
    # a root stands among the roots, any other node among the children of its parent
    siblings = np.bincount(parents + 1, minlength=len(taxonomy) + 1)[parents + 1]
    shares = 1.0 / siblings
    for level in taxonomy.levels[1:]:
        shares[level] *= shares[parents[level]]
    return shares


def _differing(y_true: Any, y_pred: Any) -> Array:
    true, predicted = np.asarray(y_true), np.asarray(y_pred)
    if true.ndim != 2 or true.shape != predicted.shape:
        msg = f"two indicators (n, nodes) are expected, got {true.shape} and {predicted.shape}"
        raise ValueError(msg)
    return (true != 0) != (predicted != 0)
