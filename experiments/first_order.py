"""Two learners of a stream without second-order terms: the perceptron, and passive-aggressive."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Step = Callable[[NDArray, NDArray, float], NDArray]


def perceptron(y: NDArray, p: NDArray, _: float) -> NDArray:
    """Return how much of a row is added to the weights of each column: y where it was wrong."""
    return np.where(y * p <= 0, y, 0.0)


def passive_aggressive(y: NDArray, p: NDArray, square: float) -> NDArray:
    """Return the least change after which y·p = 1, at most 1: PA-I of Crammer et al. (2006)."""
    return y * np.minimum(1.0, np.maximum(1.0 - y * p, 0.0) / square) if square else 0.0 * y


def one_pass(X: csr_matrix, Y: NDArray, step: Step, learned: NDArray | None = None) -> NDArray:
    """Return the margins of the columns of ±1, each before its row was learned.

    Parameters
    ----------
    X : csr_matrix (n, d)
    Y : array (n, t)
    step : callable
        From the labels and margins of a row (t,), and its squared length.
    learned : array of bool (n,), optional
        Rows that are learned; all by default.

    Returns
    -------
    array (n, t)
    """
    weights = np.zeros((X.shape[1], Y.shape[1]))
    margins = np.zeros(Y.shape)
    for i in range(X.shape[0]):
        part = slice(X.indptr[i], X.indptr[i + 1])
        terms, values = X.indices[part], X.data[part]
        margins[i] = values @ weights[terms]
        if learned is None or learned[i]:
            change = step(Y[i], margins[i], float(values @ values))
            columns = np.flatnonzero(change)
            weights[np.ix_(terms, columns)] += np.outer(values, change[columns])
    return margins
