"""The rows of a table as numbers, by encoders that have seen all of them or some only.

The errors by which a kernel is chosen, and all left-out values that are read later, are of rows
that the encoder has not seen either. So there is an encoder for every fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from ..arrays import Array
from ..errors import EmptyColumnWarning, IdentifierWarning
from ..fitting.kernel_choice import Preparation
from .table_encoder import NothingToEncodeError, TableEncoder


class EncodedRows:
    """A table, and what is made of it for a fit.

    Parameters
    ----------
    X : DataFrame, Table, array or list (n, d)
    y : array (n,) or (n, t)
    weights : array (n,) or None
    encoders : list of TableEncoder
        Not fitted; the best of them is taken.

    Attributes
    ----------
    encoder : TableEncoder or None
        The one of the fit, once it is known.
    """

    def __init__(
        self, X: Any, y: Array, weights: Array | None, encoders: list[TableEncoder]
    ) -> None:
        self.X = X
        self.y = y
        self.weights = weights
        self.encoders = encoders
        self.encoder: TableEncoder | None = None

    def preparations(self, rows: Array) -> list[Preparation]:
        """For each encoder how it makes numbers of the ``rows`` (p,) of the table."""
        return [_ByEncoder(self, encoder, rows) for encoder in self.encoders]

    def prepared(self, number: int, taught: Array | None) -> Array:
        """All rows (n, d) by an encoder that all of them have taught, or ``taught`` (p,) alone."""
        self.encoder = clone(self.encoders[number])
        if taught is None:
            return self._fit_transform(self.encoder, slice(None))
        learned = self._fit_transform(self.encoder, taught)
        others = np.setdiff1d(np.arange(self.y.shape[0]), taught)
        found = np.empty((self.y.shape[0], learned.shape[1]), learned.dtype)
        found[taught] = learned
        found[others] = transformed(self.encoder, rows_of_table(self.X, others))
        return found

    def of_part(self, encoder: TableEncoder, train: Array, test: Array) -> tuple[Array, Array]:
        """Rows ``train`` (a,) and ``test`` (b,), encoded by what the former teach."""
        encoder = clone(encoder)
        try:
            learned = self._fit_transform(encoder, train)
        except NothingToEncodeError:  # what varies does so in the rows that are left out
            nothing = np.zeros((train.size + test.size, 1), np.dtype(encoder.dtype))
            return nothing[: train.size], nothing[train.size :]
        return learned, transformed(encoder, rows_of_table(self.X, test))

    def _fit_transform(self, encoder: TableEncoder, rows: Any) -> Array:
        some = self.X if isinstance(rows, slice) else rows_of_table(self.X, rows)
        weights = None if self.weights is None else self.weights[rows]
        with warnings.catch_warnings():
            # of columns that are dropped in all rows the user has been told, once
            warnings.simplefilter("ignore", EmptyColumnWarning)
            warnings.simplefilter("ignore", IdentifierWarning)
            return np.ascontiguousarray(encoder.fit_transform(some, self.y[rows], weights))


class _ByEncoder(Preparation):
    def __init__(self, whole: EncodedRows, encoder: TableEncoder, rows: Array) -> None:
        self.whole = whole
        self.encoder = encoder
        self.numbers = rows

    def rows(self, train: Array, test: Array) -> tuple[Array, Array]:
        """By an encoder of the training rows."""
        return self.whole.of_part(self.encoder, self.numbers[train], self.numbers[test])


def transformed(encoder: TableEncoder, X: Any) -> Array:
    """Training rows (m, d) as numbers (m, k); nothing for none.

    Without a warning of values that this encoder has not seen: it is one of a part of the rows.
    """
    if len(X) == 0:
        return np.empty((0, encoder.output_columns_.size), np.dtype(encoder.dtype))
    return np.ascontiguousarray(encoder._outputs(X))


def rows_of_table(X: Any, rows: Array) -> Any:
    """Some rows of a table, of the same kind."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "take") and hasattr(X, "schema"):  # an Arrow table
        return X.take(rows)
    if isinstance(X, Sequence):
        return [X[i] for i in rows]
    return X[rows]
