"""The functions k(·, z_j) of a few centers, and the factor of the kernel matrix between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import numpy as np

from ...arrays import (
    Array,
    blocks,
    cholesky,
    clear_upper,
    diagonal,
    divide_right,
    frobenius_norm,
    in_precision,
    lower_copy,
    pivoted_cholesky,
    power_of_two,
    reciprocal_condition,
    room_for,
    row_square_sums,
    solve_transposed,
    solve_triangular,
    times,
    transposed_times,
)
from ...devices import HOST, CenterValues, active_place
from ...errors import SingularSystemError
from ...kernels import Kernel
from ...kernels.tiles import kernel_matrix, origin_of
from ...rows import Rows, rows_of
from ...threads import for_each
from .dropped_centers import DroppedDirections
from .near_centers import moved_apart

# Rows in one piece of work of a core, and centers at a time: a strip that is not cut is contiguous,
# and passes over it are faster by a third than over a smaller tile.
STRIP, _WIDE = 256, 4096
#: Bytes of a block of kernel values: with the most matrix products run at full speed, with the
#: least nearly so.
LEAST_BLOCK, MOST_BLOCK = 2**23, 2**26
# Rounding of a kernel value, in units of eps: that of the factor of so few centers is smaller.
_FEW = 16
# Beyond these, squares of kernel values leave the range of the type.
_SAFE = {np.dtype(np.float64): (1e-100, 1e100), np.dtype(np.float32): (1e-12, 1e12)}


class CenterBasis:
    """k(x, z_j) / unit for the centers z_j (m, d) that do not depend on the others: r of them.

    Parameters
    ----------
    kernel : Kernel
    points : array (m, d) or CSR matrix
    dtype : dtype
        In which kernel values with rows are computed.
    compact : bool
        Whether the factor is kept in that type, too; else in float64.

    Attributes
    ----------
    kernel : Kernel
        With numbers for parameters.
    points : array (r, d) or CSR matrix
        The independent centers.
    asked : array (m, d) or CSR matrix
        All centers that were asked for.
    kept, dropped : array
        Which of these the independent ones are, in this order, and which ones depend on them:
        equal points, or points that rounding cannot tell from combinations of others.
    factor : array (r, r)
        L, lower triangular with K = LLᵀ for the kernel matrix between the points over unit.
    dropped_features : array (m − r, r)
        L⁻¹k(z) of the dropped centers z, in the order of ``dropped``.
    resolution : float
        What the others leave of k(z, z) / unit for a dropped center z is at most this.
    unit : float
        A power of two; one unless kernel values are extreme.
    condition : float
        An estimate of that of K.
    gone : DroppedDirections or None
        Some of the dropped ones, where float64 could have told them from the others.

    Notes
    -----
    **Cost**: m²d/2 multiplications, m³/3 flops, m² numbers.
    """

    #: Bytes of a block of kernel values; whoever has less memory sets it lower.
    block_bytes: float = MOST_BLOCK

    factor: Array
    kept: Array
    dropped: Array
    dropped_features: Array
    resolution: float
    condition: float
    gone: DroppedDirections | None = None

    def __init__(
        self, kernel: Kernel, points: Any, dtype: np.dtype, *, compact: bool = False
    ) -> None:
        self.kernel = kernel
        self.dtype = dtype
        self.asked = points
        if dtype == np.float64:
            points = moved_apart(kernel, points.astype(np.float64, copy=False))
        self._factor(points.astype(np.float64, copy=False), dtype if compact else np.dtype(float))
        self._casts: dict[np.dtype, Any] = {}
        self.points = points if self.dropped.size == 0 else points[self.kept]
        self.prepared = rows_of(self.points)
        self._origin = origin_of(self.points) if self.size else np.zeros(points.shape[1], dtype)
        self._prepared: dict[np.dtype, Any] = {}

    def _factor(self, points: Any, dtype: np.dtype) -> None:
        """Plain Cholesky where that is safe, which is several times as fast; else with pivots.

        There is one square at a time, and where some centers are dropped what is kept of it. It is
        where matrices are made.
        """
        K, place = self._matrix(points), active_place()
        low, high = _SAFE[self.dtype]
        values = np.array(diagonal(K))
        peak = float(np.max(values, initial=0.0))
        self.unit = 1.0 if low < peak < high else power_of_two(values)
        if self.unit != 1.0:
            K /= self.unit
        m, norm = K.shape[0], frobenius_norm(K)
        share = max(m, _FEW) * float(np.finfo(self.dtype).eps)
        self.resolution = share * peak / self.unit
        order, rank = np.arange(m), m
        try:
            cholesky(K)
            independent = bool((np.square(diagonal(K)) > self.resolution).all())
        except SingularSystemError:
            independent = False
        if not independent:
            del K
            K = self._matrix(points)
            if self.unit != 1.0:
                K /= self.unit
            rank, order = pivoted_cholesky(K, share)
            self.gone = DroppedDirections.of(K, rank, values[order] / self.unit, points[order])
        last = rank + np.argsort(order[rank:])
        self.dropped_features = place.fetched(K[rank:, :rank])[last - rank].astype(dtype)
        if rank < m:
            K = lower_copy(K[:rank, :rank], dtype)
        clear_upper(K)
        self.kept, self.dropped = order[:rank], order[last]
        rcond = reciprocal_condition(K, norm) if rank else 1.0
        self.condition = 1.0 / rcond if rcond > 0 else np.inf
        self.factor = in_precision(K, dtype)

    def _matrix(self, points: Any) -> Any:
        if points.shape[0] == 0:  # all of them were among the rows left out
            return active_place().empty((0, 0), np.float64)
        return kernel_matrix(self.kernel, points, both_triangles=False)

    @property
    def size(self) -> int:
        """r, the number of independent centers."""
        return self.kept.size

    def strips(
        self,
        rows: Rows,
        look: Callable[[slice, Array], None],
        *,
        size: int,
        hands: int,
        shift: Array | None = None,
        root: Array | None = None,
        out: Array | None = None,
    ) -> None:
        """Show √w (k(x, z) / unit − shift) for strips of rows (b, d), on all cores.

        The strips are dealt to so many hands, so that what each adds up does not depend on which
        core was first. They are written into ``out`` (b, r), or into memory that is used again.
        """
        parts, columns = blocks(rows.shape[0], size), blocks(self.size, _WIDE)
        right = self._right(self.dtype)

        def fill(part: slice, K: Array) -> None:
            left = self.kernel.left(rows[part].like(self.prepared).X, self._origin)
            for tile in columns:
                self.kernel.fill(left, right[tile], K[:, tile])
            if self.unit != 1.0:
                K /= self.dtype.type(self.unit)
            if shift is not None:
                K -= shift
            if root is not None:
                K *= root[part, None]

        def deal(hand: int) -> None:
            own = room_for(size if out is None else 0, self.size, self.dtype)
            for part in parts[hand::hands]:
                K = own[: part.stop - part.start] if out is None else out[part]
                fill(part, K)
                look(part, K)

        for_each(deal, range(min(hands, len(parts))))

    def values(self, rows: Rows, shift: Array | None = None, root: Array | None = None) -> Array:
        """√w (k(x, z) / unit − shift) for rows (b, d) → (b, r), on all cores.

        Cost: b·r·d multiplications.
        """
        return active_place().fetched(self._there(rows, shift, root))

    def divided(
        self, rows: Rows, shift: Array | None, root: Array | None, dtype: Any = None
    ) -> Any:
        """L⁻¹ times each of these rows of values (b, r), where matrices are made.

        Cost: b·r·(d + r) multiplications.
        """
        K = self._there(rows, shift, root)
        K = K if dtype is None else in_precision(K, np.dtype(dtype))
        self.divide(K)
        return K

    def _there(self, rows: Rows, shift: Array | None, root: Array | None) -> Any:
        """Values (b, r), where matrices are made."""
        K = active_place().empty((rows.shape[0], self.size), self.dtype)
        self.fill(rows, K, shift, root)
        return K

    def _right(self, dtype: np.dtype) -> Any:
        """The centers as the kernel takes them, in a precision: kept."""
        if dtype not in self._prepared:
            points = active_place().taken(self.points.astype(dtype, copy=False))
            self._prepared[dtype] = self.kernel.right(points, self._origin)
        return self._prepared[dtype]

    def fill(
        self,
        rows: Rows,
        K: Any,
        shift: Array | None,
        root: Array | None,
        look: Callable[[slice, Any], None] = lambda part, K: None,
    ) -> None:
        """Write :meth:`values` into ``K`` (b, r), in its precision, by strips to be looked at."""
        if active_place() is not HOST:
            self._fill_there(rows, K, shift, root)
            look(slice(0, rows.shape[0]), K)
            return
        hands = -(-rows.shape[0] // STRIP)
        self.strips(rows, look, size=STRIP, hands=hands, shift=shift, root=root, out=K)

    def _fill_there(self, rows: Rows, K: Any, shift: Array | None, root: Array | None) -> None:
        place, dtype = active_place(), np.dtype(f"f{K.itemsize}")
        X = place.taken(rows.X.astype(dtype, copy=False))
        left, right = self.kernel.left(X, self._origin), self._right(dtype)
        for tile in blocks(self.size, place.tile):
            self.kernel.fill(left, right[tile], K[:, tile])
        if self.unit != 1.0:
            K /= self.unit
        if shift is not None:
            K -= place.taken(shift.astype(dtype))
        if root is not None:
            K *= place.taken(root.astype(dtype))[:, None]

    def center_values(self, shift: Array | None) -> CenterValues:
        """Which values :meth:`values` are, for who makes them elsewhere."""
        given = self.kernel, self.points, self._origin, self.dtype, self.unit, shift
        return CenterValues(*given, self.block_bytes)

    # --- dividing by the factor ---

    def forward(self, B: Array) -> Array:
        """L⁻¹B for ``B`` (r, c), in float64. Cost: r²c flops."""
        return solve_triangular(self.factor, self._like_factor(B)).astype(np.float64, copy=False)

    def backward(self, B: Array) -> Array:
        """L⁻ᵀB for ``B`` (r, c), in float64. Cost: r²c flops."""
        return solve_transposed(self.factor, self._like_factor(B)).astype(np.float64, copy=False)

    def divide(self, K: Any) -> None:
        """Overwrite rows k (b, r) by L⁻¹k. Cost: br² flops."""
        divide_right(K, self.factor_in(np.dtype(f"f{K.itemsize}")))

    def factor_in(self, dtype: np.dtype) -> Any:
        """L (r, r) in another precision, which is kept."""
        if dtype.itemsize == self.factor.itemsize:
            return self.factor
        if dtype not in self._casts:
            self._casts[dtype] = in_precision(self.factor, dtype)
        return self._casts[dtype]

    def explained(self, rows: Rows) -> Array:
        """|L⁻¹k(x)|² of rows (b, d): what the centers explain of k(x, x), (b,) in float64."""
        return self.unit * row_square_sums(self.divided(rows, None, None))

    def _like_factor(self, B: Array) -> Array:
        return np.ascontiguousarray(B, dtype=f"f{self.factor.itemsize}")

    def typical_values(self) -> Array:
        """About the mean of k(x, z) over rows like the centers (r,)."""
        equal = np.full(self.size, 1.0 / max(self.size, 1), f"f{self.factor.itemsize}")
        return times(self.factor, transposed_times(self.factor, equal)).astype(self.dtype)

    def evaluating(self, *, divides: bool) -> CenterBasis:
        """The same for kernel values alone, without the m² numbers that other questions need.

        With ``divides`` it has the factor.
        """
        found = copy(self)
        found.asked, found.gone = self.points, None
        found.dropped_features = self.dropped_features[:0]
        if not divides:
            found.factor, found._casts = self.factor[:0, :0], {}
        return found

    def block_rows(self) -> int:
        """Rows whose kernel values are held at a time."""
        return block_rows(self.size, self.dtype.itemsize, self.block_bytes)

    def passes(self, rows: Rows) -> Iterator[tuple[slice, Rows]]:
        """All rows, a block at a time."""
        return rows.row_blocks(self.block_rows())


def block_rows(m: int, itemsize: int, block_bytes: float) -> int:
    """Rows whose kernel values with m centers are held at a time."""
    return int(max(STRIP, block_bytes // (max(1, m) * itemsize)))
