"""The protocol of rows of features: what every way to store them can answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..arrays import Array, block_lengths, blocks
from ..threads import for_each
from .block_sums import Keeper, Start, Watcher, sum_over_blocks


class Lifted(ABC):
    """Rows z with their squares beside them; see :meth:`Rows.lifted`."""

    halves: Array  # −|z|²/2  (n,)

    @abstractmethod
    def __getitem__(self, rows: slice) -> Lifted:
        """Some of the rows."""

    @abstractmethod
    def cross(self, other: Any, out: Array) -> None:
        """Write −|z − z'|²/2 between these rows and those of ``other`` into ``out`` (n, m)."""

    @property
    def reach(self) -> float:
        """The largest |z|²/2."""
        return -float(self.halves.min(initial=0.0))


class KernelRows(ABC):
    """What kernels ask of rows (n, d): wherever they are, in whatever they are stored."""

    #: Whether most numbers are zeros that are not stored.
    sparse: bool = False

    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.X.shape

    @property
    def dtype(self) -> np.dtype:
        """The precision of the numbers."""
        return self.X.dtype

    @abstractmethod
    def __getitem__(self, rows: slice | Array) -> Any:
        """Some of the rows; for a slice nothing is copied, unless it has to be read."""

    @abstractmethod
    def like(self, other: Any) -> Any:
        """The same rows, stored as ``other`` are: for a block of rows, unless they are already."""

    @abstractmethod
    def squares(self) -> Any:
        """|x|² of every row (n,), in the precision of the rows."""

    @abstractmethod
    def scaled(self, factors: float | Array) -> Any:
        """Features times numbers (d,), or all of them times one: a copy."""

    @abstractmethod
    def normalised(self) -> Any:
        """The rows over their lengths |x|: a copy. A row of zeros has none, and stays as it is.

        Rows whose squares would leave the range of their type are no exception.
        """

    # ``origin`` (d,) is what :meth:`Rows.origin` gave of rows that are stored alike

    @abstractmethod
    def standardised(self, origin: Array, widths: float | Array) -> Any:
        """z = (x − origin) / widths, one width or one for every feature (d,): a copy."""

    @abstractmethod
    def lifted(self, origin: Array, widths: float | Array, *, square_at: int) -> Lifted:
        """z = (x − origin) / widths with |z|² beside it, for squared distances by products: a copy.

        ``cross`` of rows lifted with ``square_at`` 0 and of others with 1 is −|z − z'|²/2.
        """

    @abstractmethod
    def cross(self, other: Any, out: Any) -> None:
        """Write the products of rows with those of ``other`` into ``out`` (n, m): a tile.

        Cost: n·m·d multiplications, or one for two stored numbers of the same feature.
        """

    @abstractmethod
    def city_block(self, other: Any) -> Any:
        """Σ|x − x'| between rows and those of ``other``: a tile (n, m).

        Cost: as :meth:`cross`.
        """

    @abstractmethod
    def times(self, V: Array, mean: Array) -> Any:
        """(X − 1·meanᵀ) V for ``V`` (d, t) → (n, t). Cost: 2ndt flops, fewer if they are sparse."""


class Rows(KernelRows):
    """Rows of features (n, d). Nobody who asks these questions needs to know how they are stored.

    Attributes
    ----------
    X : array (n, d), CSR matrix or Stream
        As they came: never changed, and never copied as a whole unless somebody asks for that.
    by_tasks : bool
        Whether they are elsewhere, and questions go to them as tasks of Dask.
    """

    by_tasks: bool = False

    @property
    @abstractmethod
    def stored(self) -> int:
        """Numbers that are stored."""

    @abstractmethod
    def dense(self) -> Array:
        """All numbers (n, d), fresh: for a few rows, or a few features."""

    def like(self, other: Rows) -> Rows:
        """The same rows, stored as ``other`` are: for a block of rows, unless they are already."""
        if self.sparse == other.sparse:
            return self
        return rows_of(csr_array(self.X) if other.sparse else self.dense())

    @abstractmethod
    def constants(self) -> Array:
        """The number of every feature (d,) that is the same in all rows; NaN for others.

        A zero that is stored for some rows only may be taken for another number.
        """

    def everywhere(self) -> Array:
        """Features (m,) that are stored for every row, among others that are not: none if dense."""
        return np.empty(0, int)

    @abstractmethod
    def shifted(self, shift: Array) -> Rows:
        """The rows less ``shift`` (d,): a copy, in which other features stay as they are stored."""

    def occupied(self) -> Array | None:
        """The features (m,) that any row has, where that is worth knowing; None: all of them."""
        return None

    @abstractmethod
    def columns(self, features: Array) -> Rows:
        """Some features (m,), ascending: a copy."""

    @abstractmethod
    def peak(self) -> float:
        """The largest magnitude."""

    @abstractmethod
    def mean(self, shares: Array | None = None) -> Array:
        """The mean row (d,), in float64; ``shares`` (n,), adding up to one, weigh the rows."""

    def origin(self, mean: Array) -> Array:
        """What can be taken off every row (d,): ``mean``, or zeros where zeros are not stored."""
        return np.zeros_like(mean) if self.sparse else mean

    # --- products with the rows, on all cores ---

    @abstractmethod
    def product(self, V: Array) -> Array:
        """XV for ``V`` (d, t) → (n, t). Cost: one multiplication per stored number and column."""

    @abstractmethod
    def transposed_product(self, U: Array) -> Array:
        """XᵀU for ``U`` (n, t) → (d, t). Cost: as :meth:`product`."""

    @abstractmethod
    def transposed_times(self, U: Array, mean: Array) -> Array:
        """(X − 1·meanᵀ)ᵀ U for ``U`` (n, t) → (d, t). Cost: as :meth:`product`."""

    @abstractmethod
    def gram(self, mean: Array, factor: float, root: Array | None) -> Array:
        """X̃ᵀX̃ (d, d) in float64, for X̃ = √w (X − 1·meanᵀ) · factor, with √w ``root`` (n,).

        Rows are dealt to a fixed number of sums, so that the result does not depend on which core
        was first.
        """

    def prepare(self, budget: float) -> float:
        """Make what repeated products are faster with, if it takes at most ``budget`` bytes.

        Returns what is left of the budget.
        """
        return budget

    def row_blocks(self, size: int, within: int | None = None) -> Iterator[tuple[slice, Rows]]:
        """All rows in order, at most ``size`` of them at a time.

        No block has rows on both sides of a multiple of ``within``.
        """
        n, start = self.shape[0], 0
        lengths = block_lengths(size, within or size)
        while start < n:
            rows = slice(start, min(start + next(lengths), n))
            yield rows, self[rows]
            start = rows.stop

    def sum_over_blocks(
        self,
        start: Start,
        beside: Sequence[Array | None] = (),
        *,
        size: int,
        watch: Watcher | None = None,
        keeper: Keeper | None = None,
    ) -> Array:
        """The sum that ``start()`` accumulates over all rows, in blocks of at most ``size`` rows.

        Groups of rows are added in a tree, wherever the rows are: see :mod:`.block_sums`.

        Parameters
        ----------
        start : callable
            Makes an :class:`~squareone.rows.block_sums.Accumulator`.
        beside : sequence of array (n, …) or None
            What else belongs to the rows.
        size : int
        watch : callable, optional
            Told how many rows have been summed.
        keeper : Keeper, optional
            Keeps the sums on the way, and gives back those of an earlier attempt.
        """
        return sum_over_blocks(self, start, beside, size=size, watch=watch, keeper=keeper)

    @abstractmethod
    def astype(self, dtype: np.dtype) -> Rows:
        """The same rows in another precision; themselves where it is theirs."""

    def copy(self) -> Rows:
        """The same rows, of which nobody else has a reference."""
        return rows_of(self.X.copy())


#: Rows of arrays that are not NumPy's, by their type.
_STORAGES: dict[type, Any] = {}


def add_storage(kind: type, rows: Callable[[Any], KernelRows]) -> None:
    """Let :func:`rows_of` know arrays of a kind; they answer what kernels ask, and no more."""
    _STORAGES[kind] = rows


def rows_of(X: Any) -> Any:
    """The rows (:class:`Rows`) of an array (n, d), of a CSR matrix, or of a stream."""
    from .dense import DenseRows
    from .sparse import SparseRows
    from .stream import Stream
    from .stream_views import StreamedRows

    if isinstance(X, Stream):
        return StreamedRows(X)
    if type(X) in _STORAGES:
        return _STORAGES[type(X)](X)
    return SparseRows(X) if hasattr(X, "indptr") else DenseRows(X)


def dealt_sums(hands: int, d: int, part: Callable[[int, Array], None]) -> Array:
    """Σ of matrices (d, d), each hand adding to one of its own by ``part(hand, sum)``."""
    sums = np.zeros((hands, d, d))
    for_each(lambda hand: part(hand, sums[hand]), range(hands))
    return sums.sum(axis=0)


# Numbers in one block of rows: with its products it stays in a second-level cache.
BLOCK = 131_072


def gram_blocks(n: int, d: int) -> tuple[int, int]:
    """Rows in a block, and sums to which the blocks of ``n`` rows are dealt."""
    rows = max(256, BLOCK // max(d, 1))
    return rows, max(1, min(16, -(-n // rows), 4_000_000 // max(d * d, 1)))


def row_blocks(n: int, d: int) -> list[slice]:
    """Blocks of rows that fit a cache."""
    return blocks(n, gram_blocks(n, d)[0])
