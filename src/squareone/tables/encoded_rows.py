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
from ..rows import Stream
from ..rows.checks import is_dask
from ..rows.mapped_table import is_mapped, map_rows
from ..rows.stream import Blocks
from .table_encoder import NothingToEncodeError, TableEncoder

# Rows of a mapped table that are taken into memory.
_IN_MEMORY = 20_000


class EncodedRows:
    """A table, and what is made of it for a fit.

    Parameters
    ----------
    X : DataFrame, Table, array, list or PartitionedTable (n, d)
    y : array (n,) or (n, t)
    weights : array (n,) or None
    encoders : list of TableEncoder
        Not fitted; the best of them is taken.
    streamed : bool
        Whether the rows of the fit are to be encoded anew in every pass.

    Attributes
    ----------
    encoder : TableEncoder or None
        The one of the fit, once it is known.
    """

    def __init__(
        self,
        X: Any,
        y: Array,
        weights: Array | None,
        encoders: list[TableEncoder],
        *,
        streamed: bool = False,
    ) -> None:
        self.X = X
        self.streamed = streamed
        self.y = y
        self.weights = weights
        self.encoders = encoders
        self.encoder: TableEncoder | None = None

    def preparations(self, rows: Array) -> list[Preparation]:
        """For each encoder how it makes numbers of the ``rows`` (p,) of the table."""
        return [_ByEncoder(self, encoder, rows) for encoder in self.encoders]

    def prepared(self, number: int, taught: Array | None) -> Array | Stream:
        """All rows (n, d) by an encoder that all of them have taught, or ``taught`` (p,) alone."""
        self.encoder = clone(self.encoders[number])
        if taught is None:
            return self._fit_transform(self.encoder, slice(None))
        learned = self._fit_transform(self.encoder, taught)
        if hasattr(self.X, "partitioned_rows"):
            rows: Stream = self.X.partitioned_rows(self.encoder, taught, learned)
            return rows
        if self.streamed:
            return EncodedTable(self.encoder, self.X, taught, learned)
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

    def _fit_transform(self, encoder: TableEncoder, rows: Any) -> Any:
        whole = getattr(self.X, "X", self.X) if isinstance(rows, slice) else None
        some = rows_of_table(self.X, rows) if whole is None else whole
        weights = None if self.weights is None else self.weights[rows]
        with warnings.catch_warnings():
            # of columns that are dropped in all rows the user has been told, once
            warnings.simplefilter("ignore", EmptyColumnWarning)
            warnings.simplefilter("ignore", IdentifierWarning)
            found = encoder.fit_transform(some, self.y[rows], weights)
        if is_dask(found):
            from ..rows.dask_rows import DaskRows  # imported late: Dask is an extra

            return DaskRows(found)
        return np.ascontiguousarray(found)


class _ByEncoder(Preparation):
    def __init__(self, whole: EncodedRows, encoder: TableEncoder, rows: Array) -> None:
        self.whole = whole
        self.encoder = encoder
        self.numbers = rows

    def rows(self, train: Array, test: Array) -> tuple[Array, Array]:
        """By an encoder of the training rows."""
        return self.whole.of_part(self.encoder, self.numbers[train], self.numbers[test])


class EncodedTable(Stream):
    """A table that does not fit in memory as numbers: it is encoded anew in every pass.

    Parameters
    ----------
    encoder : TableEncoder
        Fitted.
    X : pyarrow.Table (n, d)
        Mapped, for instance.
    taught : array (p,), optional
        Rows that the encoder was fitted to, ascending.
    learned : array (p, k), optional
        These rows as they were encoded then: without the target of the row itself.
    """

    _source = "the table"

    def __init__(
        self,
        encoder: TableEncoder,
        X: Any,
        taught: Array | None = None,
        learned: Array | None = None,
    ) -> None:
        self._encoder, self._X = encoder, X
        self._taught = np.empty(0, int) if taught is None else taught
        self._learned = learned
        self.shape = (X.num_rows, encoder.output_columns_.size)
        self.dtype = np.dtype(encoder.dtype)
        self._check_shape()

    def _read(self, size: int, pieces: Sequence[int]) -> Blocks:
        for start in range(0, self.shape[0], size):
            found = transformed(self._encoder, self._X.slice(start, size))
            first, last = np.searchsorted(self._taught, [start, start + size])
            if first < last:
                assert self._learned is not None
                found[self._taught[first:last] - start] = self._learned[first:last]
            yield found

    def _take(self, wanted: Array) -> Array:
        found = transformed(self._encoder, rows_of_table(self._X, wanted))
        places = np.searchsorted(self._taught, wanted)
        known = np.isin(wanted, self._taught)
        if known.any():
            assert self._learned is not None
            found[known] = self._learned[places[known]]
        return found


def transformed(encoder: TableEncoder, X: Any) -> Array:
    """Training rows (m, d) as numbers (m, k); nothing for none.

    Without a warning of values that this encoder has not seen: it is one of a part of the rows.
    """
    if len(X) == 0:
        return np.empty((0, encoder.output_columns_.size), np.dtype(encoder.dtype))
    return np.ascontiguousarray(encoder._outputs(X))


def rows_of_table(X: Any, rows: Array) -> Any:
    """Some rows of a table, of the same kind; of one in partitions they come to the client."""
    if hasattr(X, "partitioned_rows"):
        return X.rows(rows)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "take") and hasattr(X, "schema"):  # an Arrow table
        if is_mapped(X) and len(rows) > _IN_MEMORY:
            return map_rows(X, rows)
        return X.take(rows)
    if isinstance(X, Sequence):
        return [X[i] for i in rows]
    return X[rows]
