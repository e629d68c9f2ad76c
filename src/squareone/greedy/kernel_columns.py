"""Columns of the kernel matrix for points that may become centers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..kernels import Kernel
from ..kernels.tiles import kernel_columns, kernel_rectangle
from ..rows import Stream, rows_of

# Rows that are read at a time.
_ROWS = 65_536


class Columns:
    """√w (k(x, x_i) + ε at row i itself) over all rows x, for any candidate: point and kernel.

    A candidate is a number: the kernel's times n, and the point's.

    Parameters
    ----------
    kernels : sequence of Kernel
        With numbers for parameters.
    X : array (n, d), CSR matrix or Stream
        Where there are matrices they are enough.
    root : array (n,) or None
        √w.
    epsilon : float
        ε, which is divided by the weight of a row as the λ of regularised least squares is: with
        all points as centers, and no other regularisation, the fit is that one with λ = ε.
    matrices : list of array (n, n), optional
        Kernel values between all rows, for each kernel, where they are there.
    kept_bytes : float
        Memory for columns that may be asked for again.
    places : array (n,), optional
        The first of the rows that each row is equal to; by default every row is another one.

    Notes
    -----
    **Cost**: n·d multiplications for a column; memory for the columns, as many as are kept, and up
    to n·d numbers for prepared rows.
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        X: Any,
        root: Array | None,
        epsilon: float,
        *,
        matrices: list[Array] | None = None,
        kept_bytes: float = 0.0,
        places: Array | None = None,
    ) -> None:
        self.kernels = list(kernels)
        self.X = X
        self.matrices = matrices
        known = X if matrices is None else matrices[0]
        self.n = known.shape[0]
        self.dtype = known.dtype
        self.places = np.arange(self.n) if places is None else places
        self._root = root
        self._epsilon = epsilon
        self._prepared: Callable[[Any], Array] | None = None
        self._kept: dict[int, Array] = {}
        self._room = int(kept_bytes // (self.n * self.dtype.itemsize))

    @property
    def distinct(self) -> int:
        """How many rows differ."""
        return int(np.count_nonzero(self.places == np.arange(self.n)))

    @property
    def count(self) -> int:
        """How many candidates there are."""
        return self.n * len(self.kernels)

    def of(self, candidates: Array) -> Array:
        """Columns (n, b) of ``candidates`` (b,), in Fortran order; not to be changed by others."""
        result = np.empty((self.n, candidates.size), self.dtype, order="F")
        missing = []
        for j, candidate in enumerate(candidates.tolist()):
            if candidate in self._kept:
                result[:, j] = self._kept[candidate]
            else:
                missing.append(j)
        for number, kernel in enumerate(self.kernels):
            places = [j for j in missing if candidates[j] // self.n == number]
            if places:
                points = candidates[places] % self.n
                result[:, places] = self._evaluated(number, kernel, points)
        for j in missing:
            if len(self._kept) < self._room:
                self._kept[int(candidates[j])] = result[:, j].copy()
        return result

    def _evaluated(self, number: int, kernel: Kernel, points: Array) -> Array:
        K = np.empty((self.n, points.size), self.dtype)
        if self.matrices is not None:
            K[...] = self.matrices[number][:, points]
        else:
            self._evaluate(kernel, rows_of(self.X)[points].X, K)
        if self._epsilon:
            shift = np.full(points.size, self._epsilon)
            if self._root is not None:
                shift /= np.square(self._root[points], dtype=np.float64)
            K[points, np.arange(points.size)] += shift.astype(K.dtype)
        if self._root is not None:
            K *= self._root[:, None]
        return K

    def _evaluate(self, kernel: Kernel, centers: Any, K: Array) -> None:
        """Write k between all rows and ``centers`` (b, d) into ``K`` (n, b)."""
        if len(self.kernels) == 1 and self.n <= _ROWS and not isinstance(self.X, Stream):
            if self._prepared is None:
                self._prepared = kernel_columns(kernel, self.X)
            K[...] = self._prepared(centers)
            return
        for part, block in rows_of(self.X).row_blocks(_ROWS):
            K[part] = kernel_rectangle(kernel, block.X, centers)
