"""Rows of a Dask array or data frame: read by tasks, where they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..arrays import Array
from ..errors import RechunkWarning, UnrecoverableWarning
from .base import rows_of
from .checks import float_type, not_numeric
from .dask_tasks import (
    client,
    failures_named,
    first_that_fails,
    later,
    results_in_order,
    workers,
)
from .stream import Blocks, Stream, stacked

# Numbers of the chunks that are on their way to the client at once.
_READ = 8_388_608


class DaskRows(Stream):
    """Rows of a Dask array or data frame (n, d), of which tasks make sums where they are.

    What is asked of rows becomes tasks on the user's scheduler, one for each group of rows. Groups
    are fixed by the number of rows and features alone, and their sums are added in a fixed tree:
    the same bits come out whatever the chunks, the workers and their number, and from the same rows
    in a file.

    Parameters
    ----------
    X : dask.array.Array (n, d) or dask.dataframe.DataFrame
        Numbers. An array whose columns are in several chunks is rechunked, with a warning. Chunks
        of an array may be CSR matrices.

    Notes
    -----
    **Cost**: where lengths of chunks are unknown, a pass over the rows to open them. Every pass
    computes the collection again, unless it is persisted.

    Examples
    --------
    >>> import dask.array as da
    >>> from squareone.rows.dask_rows import DaskRows
    >>> rows = DaskRows(da.ones((1000, 3), chunks=(300, 3)))
    >>> rows
    DaskRows(a Dask array: 1,000 rows, 3 features, float64)
    >>> rows[[999]]
    array([[1., 1., 1.]])
    """

    _remedy = "Its chunks have to be the same in every pass"
    _reads_ahead = False  # tasks for the next blocks are on their way already
    by_tasks = True

    def __init__(self, X: Any) -> None:
        frame = hasattr(X, "columns")
        self._source = f"a Dask {'data frame' if frame else 'array'}"
        if frame:
            self._open_frame(X)
        else:
            X = self._open_array(X)
        _warn_of_unrecoverable(X)
        chunks = X.to_delayed()
        self._chunks = list(chunks) if frame else list(chunks[:, 0])
        self._measure(None if frame else X.chunks[0])
        self._check_shape()

    def _open_frame(self, X: Any) -> None:
        if X.ndim != 2:
            msg = f"{self._source} of one column was given: rows of features are expected"
            raise ValueError(msg)
        self.feature_names = [str(name) for name in X.columns]
        twice = sorted({name for name in self.feature_names if self.feature_names.count(name) > 1})
        if twice:
            msg = f"X has several columns named {', '.join(twice)}: column names must be unique"
            raise ValueError(msg)
        kinds = [(name, getattr(X._meta[name], "dtype", None)) for name in X.columns]
        found = []
        for name, kind in kinds:
            number = _float_of(kind)
            if number is None:
                raise not_numeric(repr(str(name)), self._source, kind)
            found.append(number)
        self.dtype = np.result_type(*found) if found else np.dtype(np.float64)
        self._width = len(kinds)

    def _open_array(self, X: Any) -> Any:
        if X.ndim != 2:
            msg = (
                f"{self._source} of shape {X.shape} was given: rows of features (n, d) are expected"
            )
            raise ValueError(msg)
        found = float_type(X.dtype)
        if found is None:
            raise not_numeric("any", self._source, X.dtype)
        self.dtype, self._width = found, X.shape[1]
        self.sparse = issparse(X._meta)
        if not isinstance(self._width, int):
            msg = f"{self._source} has an unknown number of columns: compute_chunk_sizes() first"
            raise ValueError(msg)
        if len(X.chunks[1]) > 1:
            warnings.warn(
                f"the columns of X are in {len(X.chunks[1])} chunks: they are put into one, which "
                "moves all of X in every pass. Rechunk it once, X.rechunk({1: -1}).persist()",
                RechunkWarning,
                stacklevel=2,
            )
            X = X.rechunk({1: -1})
        return X

    def _measure(self, lengths: Sequence[float] | None) -> None:
        """Where chunks begin; empty ones are left out. What is not known is counted."""
        self._numbers = np.arange(len(self._chunks))
        if lengths is None or np.isnan(lengths).any():
            tasks = [later(_first_look, chunk, *self._form(i)) for i, chunk in self._each()]
            with failures_named(self):
                looks = list(results_in_order(tasks, len(tasks)))
            lengths = [rows for rows, _, _ in looks]
            self._peak = max((peak for _, peak, _ in looks), default=0.0)
            if self.sparse:
                self._stored = sum(stored for _, _, stored in looks)
        there = [i for i, length in enumerate(lengths) if length]
        self._chunks = [self._chunks[i] for i in there]
        self._numbers = np.array(there, dtype=int)
        self._starts = np.cumsum([0, *(int(lengths[i]) for i in there)])
        self.shape = (int(self._starts[-1]), self._width)

    @property
    def chunk_lengths(self) -> tuple[int, ...]:
        """Rows of each chunk that has some."""
        return tuple(np.diff(self._starts).tolist())

    def workers(self) -> tuple[list[tuple[int, float]], float]:
        share = float(np.diff(self._starts).max()) / self.shape[0]
        # a sparse number has an index beside it
        each = self.dtype.itemsize + 4.0 * self.sparse
        return workers(), share * self.stored * each

    def _each(self) -> list[tuple[int, Any]]:
        return list(enumerate(self._chunks))

    def _form(self, number: int) -> tuple[Any, ...]:
        """What tasks have to know of a chunk."""
        names = None if self.feature_names is None else tuple(self.feature_names)
        return number, self._width, self.dtype.name, self.sparse, self._source, names

    def _delayed(self, rows: slice) -> Any:
        """The rows ``rows`` as one task, of the chunks in which they are."""
        first = int(np.searchsorted(self._starts, rows.start, side="right")) - 1
        last = int(np.searchsorted(self._starts, rows.stop, side="left"))
        spans = [
            (int(self._numbers[i]), int(self._starts[i]), int(self._starts[i + 1]))
            for i in range(first, last)
        ]
        form = self._form(0)[1:]
        return later(_group, (rows.start, rows.stop), spans, form, *self._chunks[first:last])

    def _read(self, size: int, pieces: Sequence[int]) -> Blocks:
        """Here, chunk by chunk."""
        lengths = np.diff(self._starts)
        longest = int(lengths.max()) * max(1, 1 if self.sparse else self._width)
        tasks = [
            self._delayed(slice(int(self._starts[i]), int(self._starts[i + 1]))) for i in pieces
        ]
        with failures_named(self):
            for chunk in results_in_order(tasks, max(1, _READ // max(1, longest))):
                for _, block in chunk.blocks(len(chunk)):
                    yield block

    def _take(self, wanted: Array) -> Any:
        """By tasks, which send these rows only."""
        pieces = np.searchsorted(self._starts, wanted, side="right") - 1
        tasks = []
        for i in np.unique(pieces):
            rows = slice(int(self._starts[i]), int(self._starts[i + 1]))
            tasks.append(later(_some, self._delayed(rows), wanted[pieces == i] - rows.start))
        with failures_named(self):
            return stacked(list(results_in_order(tasks, len(tasks))))

    def _name_failure(self, error: Exception) -> None:
        """By computing chunks until one fails; what is said of a block already is not looked for.

        A worker that dies of a chunk would die again.
        """
        if " block " in f" {error}" or hasattr(error, "__notes__") or _is_of_dask(error):
            return
        tasks = [later(_nothing, chunk) for chunk in self._chunks]
        found = first_that_fails(tasks)
        if found is not None:
            error.add_note(
                f"This was raised while Dask computed block {self._numbers[found]} of X, "
                f"{self._source}, and not by squareone"
            )


class ChunkRows(Stream):
    """Consecutive rows of all, in memory: those of some chunks, or of parts of them.

    Parameters
    ----------
    rows : (start, stop)
        Which of all rows they are.
    spans : list of (number, start, stop)
        Of each chunk.
    chunks : list
        As Dask has them.
    """

    _reads_ahead = False

    def __init__(
        self,
        rows: tuple[int, int],
        spans: Sequence[tuple[int, int, int]],
        form: tuple[int, str, bool, str, tuple[str, ...] | None],
        chunks: Sequence[Any],
    ) -> None:
        width, dtype, self.sparse, self._of, names = form
        self._first, self._spans, self._chunks = rows[0], spans, chunks
        self.shape, self.dtype = (rows[1] - rows[0], width), np.dtype(dtype)
        self.feature_names = None if names is None else list(names)
        self._source = self._of

    def _read(self, size: int, pieces: Sequence[int]) -> Blocks:
        stop = self._first + self.shape[0]
        for chunk, (number, begin, end) in zip(self._chunks, self._spans, strict=True):
            self._source = f"block {number} of {self._of}"
            block = _as_block(chunk, self.dtype, self._source, begin)
            if block.shape[0] != end - begin:
                self._refuse_length(f"{block.shape[0]:,}", end - begin)
            yield block[max(0, self._first - begin) : min(end, stop) - begin]

    def _check(self, block: Any, number: Callable[[int], int], start: int = 0) -> None:
        """Rows have their numbers among all of them."""
        super()._check(block, lambda row: self._first + number(row), start)


# --- what the tasks do ---


def _group(
    rows: tuple[int, int], spans: list[tuple[int, int, int]], form: Any, *chunks: Any
) -> ChunkRows:
    return ChunkRows(rows, spans, form, chunks)


def _some(rows: Stream, numbers: Array) -> Any:
    return rows[numbers]


def _first_look(chunk: Any, number: int, *form: Any) -> tuple[int, float, int]:
    """Rows of a chunk, the largest magnitude of its numbers, and how many are stored."""
    block = _as_block(chunk, np.dtype(form[1]), f"block {number} of {form[3]}", 0)
    length = int(block.shape[0])
    if not length:
        return 0, 0.0, 0
    # rows of the whole are not numbered yet: of this block they are
    rows = ChunkRows((0, length), [(number, 0, length)], form, [chunk])
    found = [(each.peak(), each.stored) for _, each in rows_of(rows).row_blocks(length)]
    return length, max(peak for peak, _ in found), sum(stored for _, stored in found)


def _as_block(chunk: Any, dtype: np.dtype, source: str, first: int) -> Any:
    """A chunk as an array or a sparse matrix; pandas' missing values become NaN.

    Its first row has the number ``first``.
    """
    if not hasattr(chunk, "to_numpy"):
        return chunk
    try:
        return chunk.to_numpy(dtype=dtype, na_value=np.nan)
    except (TypeError, ValueError) as error:
        for name in chunk.columns:
            for row, value in enumerate(chunk[name].tolist(), start=first):
                try:
                    np.asarray(value).astype(dtype)
                except (TypeError, ValueError):
                    what = f"row {row:,} has {value!r}, of type {type(value).__name__}"
                    raise not_numeric(repr(str(name)), source, what) from error
        raise


def _nothing(chunk: Any) -> None:
    """All that is asked of a chunk is to be there."""


def _is_of_dask(error: Exception) -> bool:
    return type(error).__module__.startswith(("dask", "distributed"))


def _float_of(kind: Any) -> np.dtype | None:
    """The floating type for a column of a data frame, of NumPy's types or of pandas' own."""
    kind = getattr(kind, "numpy_dtype", kind)
    return float_type(kind) if isinstance(kind, np.dtype) else None


def _warn_of_unrecoverable(X: Any) -> None:
    """Warn where chunks were scattered: with the worker that holds one, it is lost for good."""
    cluster = client()
    if cluster is None:
        return
    # a future is a key of the graph, or, with older versions of Dask, a value in it
    graph = dict(X.__dask_graph__())
    known = {getattr(value, "key", key) for key, value in graph.items()} | graph.keys()
    keys = [key for key in known if key in cluster.futures]
    lost = cluster.run_on_scheduler(_without_recipe, keys=keys) if keys else 0
    if lost:
        warnings.warn(
            f"{lost} chunk{'s' * (lost > 1)} of X {'were' if lost > 1 else 'was'} sent to the "
            "workers as data (scatter), and cannot be made again: if a worker is lost, so is the "
            "fit. Read X on the workers, for instance with dask.dataframe.read_parquet",
            UnrecoverableWarning,
            stacklevel=2,
        )


def _without_recipe(keys: list[Any], dask_scheduler: Any = None) -> int:
    tasks = dask_scheduler.tasks
    return sum(1 for key in keys if key in tasks and tasks[key].run_spec is None)
