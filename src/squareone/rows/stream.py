"""Rows that are read block by block, again and again, and never held all at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..arrays import Array
from .ahead import ahead
from .base import rows_of
from .checks import converted, first_unfinite, joined
from .chosen import row_numbers
from .grouping import regrouped

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
    _peak: float

    #: What they are read from, and what to do where it has another length than it had.
    _source: str
    _remedy: str = "It was changed since it was opened: open it again"

    # --- what a kind of stream has to say ---

    @abstractmethod
    def _read(self, size: int, pieces: Sequence[int]) -> Generator[Any, None, None]:
        """Blocks of the rows of some pieces, ascending; of about ``size`` rows where it can."""

    def _bounds(self) -> Array:
        """Where pieces that can be read without the others begin (p + 1,); n at the end."""
        return np.array([0, self.shape[0]])

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

    def blocks(self, size: int) -> Generator[tuple[slice, Any], None, None]:
        """One pass over the rows, in order: which rows they are, and an array (b, d) or CSR matrix.

        Every block has ``size`` rows, the last one what is left. While the caller works on one,
        another thread reads the next.

        **Cost**: two blocks in memory, and what is read at once.
        """
        if size < 1:
            msg = f"size={size}: blocks of at least one row are expected"
            raise ValueError(msg)
        start = 0
        with closing(ahead(regrouped(self._numbers(size), size))) as coming:
            for block in coming:
                rows = slice(start, start + block.shape[0])
                yield rows, block
                start = rows.stop

    def __getitem__(self, rows: slice | Array) -> Any:
        """Some rows in memory, (m, d): a slice, numbers of rows in any order, or a mask (n,).

        **Cost**: one pass at most; pieces of the source without such a row are not read where it
        has any, and nothing behind the last one.
        """
        numbers = row_numbers(rows, self.shape[0])
        if not numbers.size:
            empty = (0, self.shape[1])
            return (
                csr_array(empty, dtype=self.dtype) if self.sparse else np.empty(empty, self.dtype)
            )
        wanted, places = np.unique(numbers, return_inverse=True)
        found = self._taken(wanted)
        in_order = numbers.size == wanted.size and (numbers[1:] > numbers[:-1]).all()
        return found if in_order else found[places]

    def __repr__(self) -> str:
        n, d = self.shape
        kind = "sparse " if self.sparse else ""
        what = f"{n:,} row{'s' * (n != 1)}, {d:,} feature{'s' * (d != 1)}"
        return f"{type(self).__name__}({self._source}: {what}, {kind}{self.dtype.name})"

    # --- how it is done ---

    def _taken(self, wanted: Array) -> Any:
        """Rows (m,), ascending, each of them once."""
        bounds = self._bounds()
        pieces = np.unique(np.searchsorted(bounds, wanted, side="right") - 1)
        numbers = np.concatenate([np.arange(bounds[i], bounds[i + 1]) for i in pieces])
        places, found, start = np.searchsorted(numbers, wanted), [], 0
        with closing(self._numbers(_LOOK, pieces.tolist())) as blocks:
            for block in blocks:
                stop = start + block.shape[0]
                first, last = np.searchsorted(places, [start, stop])
                if last > first:
                    found.append(rows_of(block)[places[first:last] - start].X)
                start = stop
                if last == places.size:
                    break
        return joined(found)

    def _numbers(
        self, size: int, pieces: Sequence[int] | None = None
    ) -> Generator[Any, None, None]:
        """The rows of all pieces, or of some, as checked blocks of any length."""
        bounds = self._bounds()
        if pieces is None:
            pieces = range(bounds.size - 1)
        lengths = [int(bounds[i + 1] - bounds[i]) for i in pieces]
        ends, expected, seen = np.cumsum(lengths), sum(lengths), 0

        def number(row: int) -> int:
            piece = int(np.searchsorted(ends, row, side="right"))
            return int(bounds[pieces[piece]]) + row - int(ends[piece]) + lengths[piece]

        with closing(self._read(size, pieces)) as raw:
            for given in raw:
                block = converted(given, self.dtype, self._source)
                if not block.shape[0]:
                    continue
                start, seen = seen, seen + block.shape[0]
                if seen > expected:
                    self._refuse_length(f"at least {seen:,}", expected)
                self._check(block, number, start)
                yield block
        if seen != expected:
            self._refuse_length(f"{seen:,}", expected)

    def _refuse_length(self, found: str, expected: int) -> None:
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
        wrong = first_unfinite(block)
        if wrong is not None:
            row, column, value = wrong
            name = column if self.feature_names is None else repr(self.feature_names[column])
            msg = (
                f"row {number(start + row):,}, column {name} of {self._source} is "
                f"{'missing or NaN' if np.isnan(value) else 'infinite'}: finite numbers are "
                "expected. Leave such rows out, or fill in what is missing, for instance with "
                "sklearn.impute.SimpleImputer"
            )
            raise ValueError(msg)

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
