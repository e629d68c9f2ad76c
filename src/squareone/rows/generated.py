"""Rows that a function makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .checks import requested_type
from .stream import Blocks, Stream


class GeneratedRows(Stream):
    """Rows that a function makes anew for every pass.

    Parameters
    ----------
    make : callable
        Called without arguments once per pass; gives an iterator of blocks (b, d), arrays or sparse
        matrices, of any lengths. The rows have to be the same in every pass: only their number is
        checked.
    shape : tuple of int
        Rows n and features d of all blocks together.
    dtype : {float64, float32}
        What the blocks become.
    sparse : bool
        Whether the blocks are sparse matrices.
    feature_names : sequence of str, optional
        Names of the features.

    Notes
    -----
    **Cost**: a pass calls ``make`` once, and so do rows that are asked for by number.

    Examples
    --------
    >>> import numpy as np
    >>> from squareone.rows import GeneratedRows
    >>> def days():
    ...     for day in range(10):
    ...         yield np.random.default_rng(day).standard_normal((1000, 3))
    >>> rows = GeneratedRows(days, (10_000, 3))
    >>> rows
    GeneratedRows(days: 10,000 rows, 3 features, float64)
    >>> float(sum(block.sum() for _, block in rows.blocks(4096)))
    -111.68
    """

    _remedy = "The iterator has to give the rows that shape says, in every pass"

    def __init__(
        self,
        make: Callable[[], Any],
        shape: tuple[int, int],
        dtype: Any = np.float64,
        *,
        sparse: bool = False,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        if isinstance(make, Iterator):
            msg = (
                f"a {type(make).__name__} was given, which can be read once only, and a fit reads "
                "its rows several times: give the function that makes it, such as "
                "GeneratedRows(blocks, shape) in place of GeneratedRows(blocks(), shape)"
            )
            raise TypeError(msg)
        if not callable(make):
            msg = (
                f"make={type(make).__name__}: a function that gives an iterator of blocks is "
                "expected, such as lambda: iter(list_of_blocks)"
            )
            raise TypeError(msg)
        self._make = make
        self._source = str(getattr(make, "__qualname__", type(make).__name__)).rpartition(".")[2]
        self.shape = (int(shape[0]), int(shape[1]))
        self.dtype = requested_type(dtype) or np.dtype(np.float64)
        self.sparse = bool(sparse)
        self.feature_names = None if feature_names is None else [str(f) for f in feature_names]
        self._check_shape()
        self._last: Any = None

    def _read(self, size: int, pieces: Sequence[int]) -> Blocks:
        made = self._make()
        if isinstance(made, Iterator) and made is self._last:
            msg = (
                f"{self._source} gave the same iterator again, which has been read: a new one is "
                "expected for every pass"
            )
            raise ValueError(msg)
        self._last = made
        try:
            yield from made
        finally:
            if hasattr(made, "close"):
                made.close()

    def __getstate__(self) -> dict[str, Any]:
        """Without the iterator of the last pass."""
        return {**self.__dict__, "_last": None}
