"""Rows that are read block by block, again and again, and never held all at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, NoReturn, TypeVar

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from ..arrays import Array, block_lengths
from ..texts import listed
from .base import rows_of
from .checks import as_floats, first_not_finite
from .column_problems import column_problems
from .sparse import canonical

Item = TypeVar("Item")
#: Blocks of rows (b, d) as they are read: arrays, sparse matrices, or record batches.
Blocks = Generator[Any, None, None]

# Columns that a message names.
_SOME = 10
# Rows in the blocks in which some of all rows are looked for.
_LOOK = 8192


class Stream(ABC):
    """Rows (n, d) that a fit reads in passes: what can be given as X in place of an array.

    Attributes
    ----------
    shape : tuple of int
        Rows n and features d.
    dtype : dtype
        float32 or float64: what every block has.
    sparse : bool
        Whether blocks are CSR matrices.
    feature_names : list of str or None
        Names of the features (d,), where they have any.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    sparse: bool = False
    feature_names: list[str] | None = None
    #: Whether tasks of Dask read them, where their results are not needed here.
    by_tasks: bool = False
    _peak: float
    _looks: tuple[float, Array, Array]
    _starts: Array

    #: Whether reading takes time, in which another thread can work.
    _reads_ahead: bool = True
    #: What they are read from, and what to do where it has another length than it had.
    _source: str
    _remedy: str = "It was changed since it was opened: open it again"

    # --- what a kind of stream has to say ---

    @abstractmethod
    def _read(self, size: int, pieces: Sequence[int]) -> Blocks:
        """Blocks of the rows of some pieces, ascending; of about ``size`` rows where it can."""

    def _delayed(self, rows: slice) -> Any:
        """Some consecutive rows as a task of Dask, whose result is a stream in memory.

        Only rows on a cluster are asked.
        """
        raise NotImplementedError

    def _name_failure(self, error: Exception) -> None:  # noqa: B027 most have nothing to say
        """Note in an error of a task which part of the source it is from, where that is known."""

    def _bounds(self) -> Array:
        """Where pieces that can be read without the others begin (p + 1,); n at the end."""
        return getattr(self, "_starts", np.array([0, self.shape[0]]))

    # --- what can be asked ---

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def stored(self) -> int:
        """Numbers that are stored; of sparse rows they are counted in a pass, once."""
        if not self.sparse:
            return self.shape[0] * self.shape[1]
        if not hasattr(self, "_stored"):
            self._stored = sum(int(block.nnz) for _, block in self.blocks(_LOOK))
        return self._stored

    def blocks(
        self, size: int, within: int | None = None
    ) -> Generator[tuple[slice, Any], None, None]:
        """One pass over the rows, in order: which rows they are, and an array (b, d) or CSR matrix.

        Every block has ``size`` rows, the last one what is left; with ``within`` a block ends at
        every multiple of it, too. While the caller works on one, another thread reads the next.

        **Cost**: two blocks in memory, and what is read at once.
        """
        if size < 1:
            msg = f"size={size}: blocks of at least one row are expected"
            raise ValueError(msg)
        start = 0
        items = _regrouped(self._checked_blocks(size), block_lengths(size, within or size))
        with closing(_read_ahead(items) if self._reads_ahead else items) as coming:
            for block in coming:
                rows = slice(start, start + block.shape[0])
                yield rows, block
                start = rows.stop

    def __getitem__(self, rows: slice | Array) -> Any:
        """Some rows in memory, (m, d): a slice, numbers of rows in any order, or a mask (n,).

        **Cost**: one pass at most; pieces of the source without such a row are not read where it
        has any, and nothing behind the last one.
        """
        numbers = _row_numbers(rows, self.shape[0])
        if not numbers.size:
            return (csr_array if self.sparse else np.empty)((0, self.shape[1]), dtype=self.dtype)
        wanted, places = np.unique(numbers, return_inverse=True)
        found = self._take(wanted)
        in_order = numbers.size == wanted.size and (numbers[1:] > numbers[:-1]).all()
        return found if in_order else found[places]

    def __array__(self, *_: Any, **__: Any) -> Array:
        """Refused: steps of a pipeline, and others that know arrays only, would take all rows."""
        msg = (
            f"{self!r} is read block by block, and does not become an array by itself. Steps of a "
            "pipeline need arrays: fit them on a data frame of some rows, open the file with them, "
            "open_rows(path, target, transformer=steps), and fit the estimator alone; of a fitted "
            "pipeline these are pipeline[:-1] and pipeline[-1]. Where all rows fit in memory, X[:] "
            "is an array"
        )
        raise TypeError(msg)

    def __repr__(self) -> str:
        n, d = self.shape
        kind = "sparse " if self.sparse else ""
        what = f"{n:,} row{'s' * (n != 1)}, {d:,} feature{'s' * (d != 1)}"
        return f"{type(self).__name__}({self._source}: {what}, {kind}{self.dtype.name})"

    def workers(self) -> tuple[list[tuple[int, float]], float]:
        """Threads and bytes of each worker that reads them, and the bytes of the largest chunk."""
        return [], 0.0

    # --- how it is done ---

    def _take(self, wanted: Array) -> Any:
        """Rows (m,), ascending, each of them once."""
        bounds = self._bounds()
        pieces = np.unique(np.searchsorted(bounds, wanted, side="right") - 1)
        numbers = np.concatenate([np.arange(bounds[i], bounds[i + 1]) for i in pieces])
        with closing(self._checked_blocks(_LOOK, pieces.tolist())) as blocks:
            return stacked(list(rows_among(blocks, np.searchsorted(numbers, wanted), stop=True)))

    def _checked_blocks(self, size: int, pieces: Sequence[int] | None = None) -> Blocks:
        """The rows of all pieces, or of some, as checked blocks of any length."""
        bounds = self._bounds()
        if pieces is None:
            pieces = range(bounds.size - 1)
        lengths = np.diff(bounds)[list(pieces)]
        ends = np.cumsum(lengths)
        expected, seen = int(ends[-1]), 0

        def number(row: int) -> int:
            piece = int(np.searchsorted(ends, row, side="right"))
            return row + int(bounds[pieces[piece]] + lengths[piece] - ends[piece])

        with closing(self._read(size, pieces)) as raw:
            for given in raw:
                block = as_floats(given, self.dtype, self._source)
                if not block.shape[0]:
                    continue
                start, seen = seen, seen + block.shape[0]
                if seen > expected:
                    self._refuse_length(f"at least {seen:,}", expected)
                self._check(block, number, start)
                yield block
        if seen != expected:
            self._refuse_length(f"{seen:,}", expected)

    def _refuse_length(self, found: str, expected: int) -> NoReturn:
        msg = f"{self._source} gave {found} rows where {expected:,} were expected. {self._remedy}"
        raise ValueError(msg)

    def _check(self, block: Any, number: Callable[[int], int], start: int = 0) -> None:
        """As wide as it was said, and finite; its first row is row ``number(start)`` of all."""
        d = self.shape[1]
        if block.shape[1] != d:
            msg = (
                f"{self._source} gave rows of {block.shape[1]:,} features where {d:,} were "
                f"expected. {self._remedy}"
            )
            raise ValueError(msg)
        if bool(self.sparse) != hasattr(block, "indptr"):
            kinds = ("an array", "a sparse matrix")
            msg = (
                f"{self._source} gave {kinds[not self.sparse]} where {kinds[self.sparse]} was "
                "expected: all blocks have to be of one kind"
            )
            raise TypeError(msg)
        wrong = first_not_finite(block)
        if wrong is not None:
            row, column, value = wrong
            names = self.feature_names or range(d)
            msg = (
                f"row {number(start + row):,}, column {names[column]!r} of {self._source} is "
                f"{'missing or NaN' if np.isnan(value) else 'infinite'}: finite numbers are "
                "expected. Leave such rows out, or fill in what is missing, for instance with "
                f"sklearn.impute.SimpleImputer{self._other_columns(block, column)}"
            )
            raise ValueError(msg)

    def _other_columns(self, block: Any, first: int) -> str:
        """Other columns of a block that are not finite: they would be the next to be refused."""
        found = [problem for problem in column_problems(block) if problem.name != first]
        if not found:
            return ""
        names = self.feature_names or range(self.shape[1])
        some = listed([f"{names[p.name]!r} ({p.detail})" for p in found], _SOME)
        return f". Among the rows read with it so are columns {some}"

    def _check_shape(self) -> None:
        """Called once the shape is known."""
        for count, what in zip(self.shape, ("row", "feature"), strict=True):
            if not count:
                msg = f"{self._source} has no {what}s: at least one {what} is expected"
                raise ValueError(msg)
        if self.feature_names is not None and len(self.feature_names) != self.shape[1]:
            msg = (
                f"{len(self.feature_names)} names were given for {self.shape[1]} features of "
                f"{self._source}: one name per feature is expected"
            )
            raise ValueError(msg)


def stacked(parts: Sequence[Any]) -> Any:
    """Blocks below each other; one of them as it is."""
    if len(parts) == 1:
        return parts[0]
    if issparse(parts[0]):
        return canonical(csr_array(vstack(parts, format="csr")))
    return np.concatenate(parts)


def rows_among(blocks: Iterable[Any], numbers: Array, *, stop: bool = False) -> Blocks:
    """The rows of blocks that have these ``numbers`` (m,), ascending, from zero on.

    With ``stop`` nothing behind the last one is read.
    """
    start = first = 0
    for block in blocks:
        last = int(np.searchsorted(numbers, start + block.shape[0]))
        if last > first:
            yield rows_of(block)[numbers[first:last] - start].X
        start, first = start + block.shape[0], last
        if stop and last == numbers.size:
            return


def _row_numbers(rows: Any, n: int) -> Array:
    """Numbers (m,) between zero and n of the rows that are asked for, in that order."""
    if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
        rows = rows[0]  # as scikit-learn's splitters ask
    if isinstance(rows, slice):
        return np.arange(n)[rows]
    chosen = np.asarray(rows)
    if chosen.ndim == 1 and chosen.dtype == bool:
        if chosen.size != n:
            msg = f"a mask of {chosen.size:,} rows was given for {n:,}: one value per row is needed"
            raise IndexError(msg)
        return np.flatnonzero(chosen)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        msg = (
            f"rows are chosen by a slice, a mask (n,) or numbers of rows (m,), not by "
            f"{type(rows).__name__} of shape {chosen.shape} and type {chosen.dtype}"
        )
        raise IndexError(msg)
    chosen = chosen.astype(np.int64)
    outside = chosen[(chosen < -n) | (chosen >= n)]
    if outside.size:
        msg = f"row {outside[0]:,} was asked for: there are {n:,} rows"
        raise IndexError(msg)
    return np.where(chosen < 0, chosen + n, chosen)


def _regrouped(blocks: Blocks, lengths: Iterator[int]) -> Blocks:
    """The rows of blocks of any length in blocks of these ``lengths``, the last one shorter.

    What is computed from them then does not depend on how a file happens to be cut. Rows are copied
    only where a block is made of several.
    """
    held: list[Any] = []
    missing = next(lengths)
    with closing(blocks):
        for block in blocks:
            rows, start = rows_of(block), 0
            while rows.shape[0] - start >= missing:
                held.append(rows[start : start + missing].X if missing < rows.shape[0] else block)
                yield stacked(held)
                start, held, missing = start + missing, [], next(lengths)
            if start < rows.shape[0]:
                held.append(rows[start:].X)
                missing -= rows.shape[0] - start
        if held:
            yield stacked(held)


def _read_ahead(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """The items, each made by another thread while the caller is busy with the one before.

    An exception of ``items`` is raised here, in its turn. However this ends (the last item, an
    exception, an interrupt, a caller who stops in the middle), the thread has ended and ``items``
    are closed before anybody hears of it; they are never run by two threads at once.

    Cost: one item more than the one in use.
    """
    end = object()
    try:
        # leaving the block waits for the item that is being made, and ends the thread
        with ThreadPoolExecutor(1, "squareone-rows") as reader:
            coming = reader.submit(next, items, end)
            while (item := coming.result()) is not end:
                coming = reader.submit(next, items, end)
                yield item  # type: ignore[misc]
                del item  # the caller may have let go of it: so do we, before the next one is here
    finally:
        items.close()
