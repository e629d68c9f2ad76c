"""Pool features: the rows of a table as numbers, made when they are needed, kept while they fit.

Text becomes hashed words with the weights of their rarity, columns what
:class:`~squareone.tables.TableEncoder` makes of them.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..kernels import Gaussian, Kernel
from ..planning.available_memory import memory_limit
from ..tables import TableEncoder

__all__ = ["ColumnFeatures", "PoolFeatures", "TextFeatures", "features_of"]

#: Rows of the pool that are made into numbers, and looked through, at once.
BLOCK = 512
# Hashes of words; a collision costs little where there are so many.
_HASHES = 2**18
# Words of one sign, too: there are languages, and answers, that have them.
_WORD = r"(?u)\b\w+\b"
# Rows from which the rarity of words is counted, and from which a width is.
_COUNTED, _WIDTH_ROWS = 5_000, 500
# Bytes that a column of plain strings can have.
_MOST_OF_STRINGS = 2**31 - 1
# The share of free memory that features may take, in bytes at most.
_FEATURES_SHARE, _FEATURES_MOST = 0.25, 2.0 * 2**30
# Characters of a text that are looked at.
_LONGEST = 100_000


class PoolFeatures(ABC):
    """Rows of a pool as numbers.

    Parameters
    ----------
    table : pyarrow.Table (n, d)
        The columns to learn from.
    order : array (m,)
        Rows in the order in which they are looked through.
    budget : float
        Bytes of features that may be kept.
    """

    kernel: Any

    def __init__(self, table: Any, order: Array, budget: float) -> None:
        self.table, self.order, self.budget = contiguous(table), order, budget
        self._kept: OrderedDict[int, Any] = OrderedDict()
        self._bytes = 0.0
        self._ready = False

    def prepare(self) -> None:
        """What has to be known of the whole table first."""
        if not self._ready:
            self._prepare()
            self._ready = True

    @abstractmethod
    def _prepare(self) -> None: ...

    @abstractmethod
    def _made(self, table: Any) -> Any:
        """Numbers of some rows."""

    def rows(self, places: Sequence[int] | Array) -> Any:
        """Features (b, d) of rows by their places in the table."""
        self.prepare()
        return self._made(self.table.take(np.asarray(places, np.int64)))

    def block(self, number: int) -> Any:
        """Features of the rows of a block of ``order``, which are kept while they fit."""
        if number in self._kept:
            return self._kept[number]
        found = self.rows(self.order[number * BLOCK : (number + 1) * BLOCK])
        size = _bytes_of(found)
        if self._bytes + size <= self.budget:
            self._kept[number] = found
            self._bytes += size
        return found

    @abstractmethod
    def model_steps(self) -> list[Any]:
        """Fitted transformers from the cells of a row to its features, for an exported model."""


class TextFeatures(PoolFeatures):
    """Words of a column of text, hashed, with the weights of their rarity.

    Examples
    --------
    >>> import numpy as np, pyarrow
    >>> from squareone.labelling.pool_features import TextFeatures
    >>> table = pyarrow.table({"text": ["an offer", "a letter", None]})
    >>> TextFeatures(table, np.arange(3), 1e6).rows([0, 2]).getnnz(axis=1).tolist()
    [2, 0]
    """

    kernel = "linear"

    def _prepare(self) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

        self.words = HashingVectorizer(
            n_features=_HASHES, alternate_sign=False, norm=None, token_pattern=_WORD
        )
        self.weights = TfidfTransformer(sublinear_tf=True)
        some = self.order[:_COUNTED]
        texts = texts_of(self.table.take(some) if some.size else self.table)
        self.weights.fit(self.words.transform(texts))

    def _made(self, table: Any) -> Any:
        return self.weights.transform(self.words.transform(texts_of(table)))

    def model_steps(self) -> list[Any]:
        """What hashes words, and what weighs them."""
        self.prepare()
        return [self.words, self.weights]


class ColumnFeatures(PoolFeatures):
    """Columns of a table, encoded, for a Gaussian kernel as wide as rows are apart."""

    kernel: Kernel | str = "gaussian"

    def _prepare(self) -> None:
        self.encoder = TableEncoder(dtype=np.float32, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the command tells what is left out
            self.encoder.fit(self.table)
        some = self.table.take(self.order[:_WIDTH_ROWS]) if self.order.size > 1 else self.table
        X = np.asarray(self.encoder.transform(some), float)
        squares = np.square(X).sum(axis=1)
        gaps = squares[:, None] + squares - 2 * X @ X.T
        apart = np.sqrt(np.maximum(gaps[np.triu_indices(X.shape[0], 1)], 0.0))
        middle = float(np.median(apart[apart > 0])) if (apart > 0).any() else 1.0
        self.kernel = Gaussian(sigma=middle)

    def _made(self, table: Any) -> Any:
        return np.asarray(self.encoder.transform(table))

    def model_steps(self) -> list[Any]:
        """The encoder."""
        self.prepare()
        return [self.encoder]


def features_of(
    table: Any, text: str | None, columns: Sequence[str], order: Array, budget: float
) -> PoolFeatures:
    """Features of a column of text, or of columns."""
    if text is not None:
        return TextFeatures(table.select([text]), order, budget)
    return ColumnFeatures(table.select(list(columns)), order, budget)


def contiguous(table: Any) -> Any:
    """A table whose columns are of one piece: rows of many pieces take long to find."""
    import pyarrow

    for place, field in enumerate(table.schema):
        column = table.column(place)
        if pyarrow.types.is_string(field.type) and column.nbytes > _MOST_OF_STRINGS:
            table = table.set_column(place, field.name, column.cast(pyarrow.large_string()))
    return table.combine_chunks()


def texts_of(table: Any) -> list[str]:
    """The texts of a table with one column; a gap is an empty one."""
    return ["" if text is None else str(text)[:_LONGEST] for text in table.column(0).to_pylist()]


def _bytes_of(X: Any) -> float:
    if isinstance(X, np.ndarray):
        return float(X.nbytes)
    return float(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


def feature_budget(memory: str | float | None) -> float:
    """Bytes that features may take."""
    if memory is not None:
        return memory_limit(memory)
    return min(_FEATURES_SHARE * memory_limit(None), _FEATURES_MOST)


def as_arrow(table: Any) -> Any:
    """A table of pyarrow from one of pandas or polars, or a dictionary of columns."""
    import pyarrow

    if isinstance(table, pyarrow.Table):
        return contiguous(table)
    if isinstance(table, Mapping):
        return pyarrow.table(dict(table))
    if hasattr(table, "to_arrow"):
        return as_arrow(table.to_arrow())
    if type(table).__module__.partition(".")[0] == "pandas":
        return pyarrow.Table.from_pandas(table, preserve_index=False)
    msg = f"{type(table).__name__}: a table of pyarrow, pandas or polars, or a dict, is expected"
    raise TypeError(msg)
