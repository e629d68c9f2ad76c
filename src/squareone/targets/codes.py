"""Codings: the classes as rows of a code, and the class whose row is nearest to predicted columns.

What is learned with the square loss is linear in the targets. One system is therefore solved for
the k class indicators, and a product with the code matrix gives the columns of every coding.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..arrays import Array
from .bch import LARGEST_DIMENSION, LENGTHS, BinaryCode, bch_codes, choose_messages

__all__ = ["BCH", "Coding", "OneVsAll", "OneVsOne"]


class Coding(BaseEstimator):
    """A row of targets for each class, and decision values for the classes from such columns.

    A coding is a small value, as kernels are: its constructor stores its parameters and does
    nothing else. A new coding says what its rows are (:meth:`_rows`), and how columns that were
    predicted are read (:meth:`_values`).
    """

    @property
    def linear(self) -> bool:
        """Whether decision values are linear in the columns."""
        return True

    @abstractmethod
    def check_parameters(self) -> None:
        """Raise if a parameter is out of its range, saying what came and what was expected."""

    @abstractmethod
    def _rows(self, k: int) -> Array:
        """The code matrix (k, columns) of float64, for two classes or more."""

    @abstractmethod
    def _values(self, columns: Array, matrix: Array) -> Array:
        """Decision values (n, k) from columns (n, columns), all in one floating type."""

    def matrix(self, k: int) -> Array:
        """The code matrix (k, columns) of float64: row i holds the targets of class i."""
        self.check_parameters()
        _check_classes(k)
        return self._rows(int(k))

    def decision_values(self, columns: Array, matrix: Array) -> Array:
        """One value per row and class, the largest for the class to predict.

        Parameters
        ----------
        columns : array (n, columns) of float32 or float64
            The predicted columns.
        matrix : array (k, columns)
            What :meth:`matrix` returned.

        Returns
        -------
        array (n, k), in the dtype of ``columns``
        """
        self.check_parameters()
        if columns.ndim != 2 or columns.shape[1] != matrix.shape[1]:
            msg = (
                f"columns of shape {columns.shape} and a code matrix of shape {matrix.shape}: "
                f"an array (n, {matrix.shape[1]}) of predicted columns is expected, one for each "
                "column of the code"
            )
            raise ValueError(msg)
        return self._values(columns, matrix.astype(columns.dtype, copy=False))


class OneVsAll(Coding):
    """One column per class: +1 for the class, −1 for all others. The largest column wins.

    The code matrix is 2I − 1 (k, k), and the decision values are the columns themselves.

    Examples
    --------
    >>> from squareone.targets import OneVsAll
    >>> OneVsAll().matrix(3)
    array([[ 1., -1., -1.],
           [-1.,  1., -1.],
           [-1., -1.,  1.]])
    """

    def check_parameters(self) -> None:
        return

    def _rows(self, k: int) -> Array:
        return 2.0 * np.eye(k) - 1.0

    def _values(self, columns: Array, matrix: Array) -> Array:
        return columns


class OneVsOne(Coding):
    """One column per pair of classes: +1 for the first, −1 for the second, 0 for all others.

    The code matrix has k(k − 1)/2 columns, for the classes (0, 1), (0, 2), …, (k − 2, k − 1). A
    column above zero is a vote for its first class, a column below zero for its second; at zero it
    has none. With c_i = Σ_j M_ij f_j, the sum of the columns f that class i takes part in, counted
    towards it, the decision values of a row are ::

        votes_i + c_i / (3 (|c_i| + 1))

    The second term is less than 1/3 in size, so that it decides between classes with as many votes
    and never against a vote. It is that of scikit-learn's ``OneVsOneClassifier``.

    Notes
    -----
    Rows of other classes have targets of zero and are not left out of the fit. Where all columns
    are fitted with the same λ, the column of classes i and j is f_i − f_j in terms of the fitted
    class indicators: the votes put the classes in the same order as :class:`OneVsAll`.

    **Cost**: of decision values, 3k·columns multiplications for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.targets import OneVsOne
    >>> M = OneVsOne().matrix(3)
    >>> M
    array([[ 1.,  1.,  0.],
           [-1.,  0.,  1.],
           [ 0., -1., -1.]])
    >>> OneVsOne().decision_values(np.array([[0.5, -1.0, -0.5]]), M).round(3)
    array([[ 0.889, -0.167,  2.2  ]])
    """

    def check_parameters(self) -> None:
        return

    @property
    def linear(self) -> bool:
        """No: votes are counted."""
        return False

    def _rows(self, k: int) -> Array:
        first, second = np.triu_indices(k, 1)
        classes = np.arange(k)[:, None]
        return np.where(classes == first, 1.0, np.where(classes == second, -1.0, 0.0))

    def _values(self, columns: Array, matrix: Array) -> Array:
        votes = np.zeros((columns.shape[0], matrix.shape[0]), columns.dtype)
        for sign in (1.0, -1.0):
            for_the_class = (sign * matrix > 0).astype(columns.dtype)
            votes += (sign * columns > 0).astype(columns.dtype) @ for_the_class.T
        towards = columns @ matrix.T
        return votes + towards / (3.0 * (np.abs(towards) + 1.0))


_READ: dict[str, Callable[[Array], Array]] = {"correlation": np.asarray, "hamming": np.sign}


class BCH(Coding):
    """A word of a binary BCH code per class: errors in some columns are corrected by the others.

    Of the narrow-sense BCH codes of the given length, the one with the fewest message bits, and so
    the largest designed distance δ, is taken that has a word for each class, not counting
    complements. Bits of 1 and 0 become targets of +1 and −1. The words for k classes differ
    pairwise in δ + 1 columns or more, up to (δ − 1)/2 wrong signs are corrected, no word is the
    complement of another, and they span the messages, as far as k words can; columns that are
    the same for all classes are dropped. They are chosen without randomness.

    Parameters
    ----------
    length : {15, 31, 63, 127}, default=63
        n, the columns of a word.
    decoding : {"correlation", "hamming"}, default="correlation"
        How the c predicted columns f of a row become a decision value for the word w of a class:

        - "correlation": fᵀw / c, which is 1 for the class whose word is f;
        - "hamming": the same of the signs of f, that is 1 − 2·distance/c where no column is zero.

    Notes
    -----
    Up to n + 1 classes have words that all differ in (n + 1)/2 columns. For their matrix M, M Mᵀ
    is a multiple of the identity plus a constant: where all columns are fitted with the same λ,
    decoding by correlation puts the classes in the same order as :class:`OneVsAll`.

    **Cost**: of the matrix, k·n·2^dimension operations, a few milliseconds for a hundred classes;
    of decision values, k·columns multiplications for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.targets import BCH
    >>> coding = BCH(length=63, decoding="hamming")
    >>> coding.dimension(20), coding.designed_distance(20)
    (7, 31)
    >>> M = coding.matrix(20)
    >>> M.shape
    (20, 63)
    >>> f = M[[4]]
    >>> f[:, :15] *= -1  # fifteen wrong signs
    >>> int(np.argmax(coding.decision_values(f, M)))
    4

    References
    ----------
    .. [1] T. G. Dietterich and G. Bakiri (1995). Solving multiclass learning problems via
       error-correcting output codes. *Journal of Artificial Intelligence Research* 2, 263-286.
    .. [2] R. Rifkin, G. Yeo and T. Poggio (2003). Regularized least-squares classification, Tables
       7.1 and 7.2.
    """

    def __init__(self, length: int = 63, decoding: str = "correlation") -> None:
        self.length = length
        self.decoding = decoding

    def check_parameters(self) -> None:
        if not isinstance(self.length, Integral) or self.length not in LENGTHS:
            msg = f"BCH(length={self.length!r}): length must be one of {_listed(LENGTHS)}"
            raise ValueError(msg)
        if not isinstance(self.decoding, str) or self.decoding not in _READ:
            known = _listed([f'"{name}"' for name in _READ])
            msg = f"BCH(decoding={self.decoding!r}): decoding must be one of {known}"
            raise ValueError(msg)

    @property
    def linear(self) -> bool:
        """With "correlation"."""
        return self.decoding == "correlation"

    def dimension(self, k: int) -> int:
        """The message bits of the code for ``k`` classes."""
        return self._code(k).dimension

    def designed_distance(self, k: int) -> int:
        """δ of the code for ``k`` classes; the words of the classes differ in δ + 1 or more."""
        return self._code(k).designed_distance

    def _code(self, k: int) -> BinaryCode:
        """The smallest code with a word for each of ``k`` classes."""
        self.check_parameters()
        _check_classes(k)
        for code in _choosable(self.length):
            if code.pairs >= k:
                return code
        most = {length: _choosable(length)[-1].pairs for length in LENGTHS}
        enough = [length for length in LENGTHS if most[length] >= k]
        msg = (
            f"BCH(length={self.length}) has words for {most[self.length]} classes, and there are "
            f"{k}: " + (f"use length={_listed(enough)}" if enough else "use OneVsAll()")
        )
        raise ValueError(msg)

    def _rows(self, k: int) -> Array:
        code = self._code(k)
        signs = 2.0 * code.words(choose_messages(code, k)) - 1.0
        return signs[:, np.any(signs != signs[0], axis=0)]

    def _values(self, columns: Array, matrix: Array) -> Array:
        return _READ[self.decoding](columns) @ matrix.T / columns.dtype.type(matrix.shape[1])


def _choosable(length: int) -> list[BinaryCode]:
    return [code for code in bch_codes(length) if code.dimension <= LARGEST_DIMENSION]


def _check_classes(k: Any) -> None:
    if not isinstance(k, Integral) or k < 2:
        msg = f"k={k!r}: the number of classes, an integer of at least two, is expected"
        raise ValueError(msg)


def _listed(values: Any) -> str:
    """``15, 31 or 63``."""
    *first, last = map(str, values)
    return f"{', '.join(first)} or {last}" if first else last
