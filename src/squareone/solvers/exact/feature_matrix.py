"""Rows of features as the linear solvers see them: centred, scaled by √w, of magnitude one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from ...arrays import Array, unit_near
from ...kernels import Linear
from ...kernels.tiles import kernel_matrix, kernel_rectangle
from ...rows import DenseRows, Rows, StreamedRows, rows_of
from ...rows.base import row_blocks
from ...rows.block_sums import Accumulator, group_rows
from ..basis_factor import BasisFactor
from ..contract import Functions
from .symmetric_system import SymmetricSystem
from .weighting import Weighting


@dataclass(frozen=True)
class CentredRows:
    """x̃ = √w (x − mean) / unit for n rows of d features, dense or sparse, computed when needed.

    ``unit`` is a power of two near the largest feature, so that squares neither overflow nor
    vanish and nothing is rounded; the kernel of these rows is the original one over unit².

    Sparse rows are centred by a projection, which loses digits where a mean is far from zero. A
    feature that every row has can be so, and loses its mean here at once: it is no less sparse.
    Features that no row has can be left out (:meth:`compact`). Whoever asks about other rows gives
    them as they are.
    """

    rows: Rows  # the occupied features, less the shift
    weighting: Weighting
    mean: Array  # of these rows (d,), float64; zero without an intercept
    unit: float
    shift: Array  # (d,): what was taken off the user's rows
    occupied: Array | None = None  # which of the user's features these are; None: all of them
    width: int = 0  # how many the user has, where these are not all

    @classmethod
    def of(cls, X: Any, weighting: Weighting) -> CentredRows:
        """Of rows, an array (n, d) or a CSR matrix."""
        rows = X if isinstance(X, Rows) else rows_of(X)
        mean, shift = weighting.mean(rows), np.zeros(rows.shape[1])
        if weighting.direction is not None:
            constants = rows.constants()  # such a feature is centred to zero, not to rounding
            mean = np.where(np.isnan(constants), mean, constants)
            everywhere = rows.everywhere()
            if everywhere.size:
                shift[everywhere] = mean[everywhere]
                rows = rows.shifted(shift)
                mean = weighting.mean(rows)
        return cls(rows, weighting, mean, unit_near(rows.peak()), shift)

    def restricted(self, some: Array) -> CentredRows:
        """Of the rows ``some`` (s,) alone: as if there had never been others."""
        own = CentredRows.of(self.rows[some], self.weighting.restricted(some))
        return replace(own, shift=own.shift + self.shift, occupied=self.occupied, width=self.width)

    @property
    def alpha_units(self) -> tuple[float, ...]:
        """What λ has to be divided by for these rows."""
        return self.unit, self.unit, self.weighting.unit

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.rows.shape

    def scaled_to_one(self, dtype: np.dtype) -> CentredRows:
        """The same x̃ from rows of magnitude one, in another precision; these if it is theirs."""
        if dtype == self.rows.dtype:
            return self
        factor = 1.0 / self.unit
        rows = (self.rows if self.unit == 1.0 else self.rows.scaled(factor)).astype(dtype)
        return replace(
            self,
            rows=rows,
            weighting=self.weighting.astype(dtype),
            mean=self.mean * factor,
            unit=1.0,
            shift=self.shift * factor,
        )

    def compact(self) -> CentredRows:
        """The same without features that no row has, where these are many."""
        occupied = self.rows.occupied()
        if occupied is None:
            return self
        return replace(
            self,
            rows=self.rows.columns(occupied),
            mean=self.mean[occupied],
            shift=self.shift[occupied],
            occupied=occupied if self.occupied is None else self.occupied[occupied],
            width=self.width or self.shape[1],
        )

    def owned(self) -> CentredRows:
        """The same with a copy of the rows, which nobody else can change."""
        return replace(self, rows=self.rows.copy())

    # --- products with x̃ ---

    def times(self, V: Array, rows: slice | Array = slice(None)) -> Array:
        """X̃V for ``V`` (d, t) → (n, t), or for some rows (b, t)."""
        if self.rows.sparse and _everything(rows):  # centred by projection: uᵀX̃ is zero
            return self._without_mean(self._scaled(self.rows.product(V)))
        some = self.rows if _everything(rows) else self.rows[rows]
        return self.block_times(V, some, rows)

    def block_times(self, V: Array, block: Rows, rows: slice | Array) -> Array:
        """X̃V for ``V`` (d, t) and a block of the rows → (b, t)."""
        root = None if self.weighting.root is None else self.weighting.root[rows]
        return centred_products(V, self.mean, self.unit, block, root)

    def passes(self) -> Iterator[tuple[slice, Rows]]:
        """All rows in order, a group at a time: many of them, unless they have to be read."""
        return self.rows.row_blocks(group_rows(self.shape[1], self.rows.sparse))

    def transposed_times(self, U: Array, *, centred: bool = False) -> Array:
        """X̃ᵀU for ``U`` (n, t) → (d, t); ``centred`` says that uᵀU is zero."""
        if self.rows.sparse and not centred:
            U = self._without_mean(U.copy())
        root = self.weighting.root
        if root is not None:
            U = U * root[:, None]
        if self.rows.sparse:
            result = self.rows.transposed_product(U)
        else:
            result = self.rows.transposed_times(U, self.mean)
        if self.unit != 1.0:
            result *= result.dtype.type(1.0 / self.unit)
        return result

    @property
    def read(self) -> bool:
        """Whether a product with all rows is a pass over what has to be read."""
        return isinstance(self.rows, StreamedRows)

    def normal_products(self, V: Array) -> Array:
        """X̃ᵀX̃V for ``V`` (d, t) → (d, t), of rows that are read: in one pass.

        Of a block of sparse rows the mean is taken off after the product, and what rounding has
        left of the mean of all of them in the end.
        """
        assert isinstance(self.rows, StreamedRows)
        mean = self.mean @ V if self.rows.sparse else self.mean
        found = self.rows.summed(partial(_NormalSums, V, mean, self.unit), [self.weighting.root])
        result = found[:-1]
        if self.rows.sparse:
            result -= np.outer(self.mean, found[-1])
        result *= 1.0 / self.unit
        return result.astype(V.dtype)

    def fitted(self, V: Array, size: int) -> Iterator[tuple[slice, Array]]:
        """X̃V for ``V`` (d, t) in blocks (b, t) of at most ``size`` rows, in order.

        Rows that are read are so once.
        """
        if isinstance(self.rows, StreamedRows):
            ask = partial(centred_products, V, self.mean, self.unit)
            yield from self.rows.answers(ask, [self.weighting.root], size)
            return
        n = self.shape[0]
        for start in range(0, n, size):
            rows = slice(start, min(n, start + size))
            yield rows, self.times(V, rows)

    def _scaled(self, result: Array) -> Array:
        """√w / unit times rows (n, t), in place."""
        if self.unit != 1.0:
            result *= result.dtype.type(1.0 / self.unit)
        return self.weighting.scale(result)

    def _without_mean(self, U: Array) -> Array:
        """U − uuᵀU (n, t), in place."""
        u = self.weighting.direction
        if u is None:
            return U
        if self.weighting.root is None:  # all entries of u are the same
            U -= U.sum(axis=0) / U.dtype.type(U.shape[0])
        else:
            U -= u[:, None] * np.einsum("i,ij->j", u, U)
        return U

    def like(self, X: Any, V: Array) -> Array:
        """(x − mean)ᵀV / unit for other rows (b, d) → (b, t): not scaled by weights."""
        return centred_products(V, self.mean, self.unit, self._other(X), None)

    def _other(self, X: Any) -> Rows:
        """Other rows as these are: with their features, less the shift."""
        rows = X if isinstance(X, Rows) else rows_of(X)
        if self.occupied is not None:
            rows = rows.columns(self.occupied)
        return rows.shifted(self.shift) if self.shift.any() else rows

    def squares(self) -> Array:
        """|x̃|² (n,), in float64."""
        squares = self._squares(self.rows)
        root = self.weighting.root
        return squares if root is None else squares * np.square(root, dtype=np.float64)

    def squares_of(self, X: Any) -> Array:
        """|x − mean|² / unit² for other rows (b, d) → (b,), in float64: of all their features."""
        squares = self._squares(self._other(X))
        if self.occupied is None:
            return squares
        rows = rows_of(X)
        beyond = rows.squares().astype(np.float64) - rows.columns(self.occupied).squares()
        return squares + np.maximum(beyond, 0.0) / self.unit / self.unit

    def _squares(self, rows: Rows) -> Array:
        if not rows.sparse:
            parts = (self._centred(rows[block]) for block in row_blocks(*rows.shape))
            return np.concatenate([np.square(x, dtype=np.float64).sum(axis=1) for x in parts])
        inner = rows.product(self.mean[:, None].astype(rows.dtype))
        squares = rows.squares().astype(np.float64) - 2.0 * inner[:, 0] + self.mean @ self.mean
        return np.maximum(squares, 0.0) / self.unit / self.unit

    def gram(self) -> Array:
        """X̃ᵀX̃ (d, d) in float64. Cost: nd² multiplications or fewer, one pass over the rows."""
        return self.rows.gram(self.mean, 1.0 / self.unit, self.weighting.root)

    # --- x̃ as numbers: for solvers whose factors are dense ---

    def __getitem__(self, rows: slice | Array) -> Array:
        """x̃ for some rows (b, d)."""
        return self.weighting.scale(self._centred(self.rows[rows]), rows)

    def centred_like(self, X: Any) -> Array:
        """(x − mean) / unit for other rows (b, d)."""
        return self._centred(self._other(X))

    def _centred(self, rows: Rows) -> Array:
        block = rows.dense()
        block -= self.mean.astype(block.dtype)
        block *= block.dtype.type(1.0 / self.unit)
        return block

    # --- as a kernel: only up to an offset, which the intercept sets aside ---

    def kernel_rows(self, X: Any = None) -> Rows:
        """(x − an offset) / unit for all rows, or for others: not scaled by weights."""
        rows = self.rows if X is None else self._other(X).like(self.rows)
        if rows.sparse:
            return rows.scaled(1.0 / self.unit)
        return DenseRows(self._centred(rows))

    def leftover_variances(self, X: Any, axes: Array, gains: Array, alpha: float) -> Array:
        """λ xᵀ(XᵀX + λ)⁻¹x for other rows (b, d): what the rows of the fit leave unknown of f.

        ``gains`` (k,) are 1/(s² + λ) along ``axes`` (d, k); beyond these nothing is known.
        """
        seen = np.square(self.like(X, axes), dtype=np.float64)
        left = alpha / self.weighting.unit * (seen @ gains)
        if axes.shape[1] < axes.shape[0]:
            beyond = self.squares_of(X) - seen.sum(axis=1)
            left += self.unit**2 * np.maximum(beyond, 0.0)
        return left

    def hyperplane(self, V: Array, means: Array) -> tuple[Array, Array]:
        """Coefficients (d, t) and intercepts (t,) in the user's units, from those of x̃ and ỹ."""
        coef = V / V.dtype.type(self.unit)
        intercepts = means - self.mean @ coef - self.shift @ coef
        if self.occupied is not None:  # what no row has, has no weight
            coef, there = np.zeros((self.width, coef.shape[1]), coef.dtype), coef
            coef[self.occupied] = there
        return coef, intercepts


class FeatureFactor(BasisFactor):
    """A factorisation of the features of rows; it sees other targets without another one."""

    rows: CentredRows
    means: Array
    axes: Array  # of the features: (d, k)
    takes_rows = True

    @abstractmethod
    def _project(self) -> None:
        """The basis' view of the targets, and what it does not see of them."""

    def for_targets(self, Y: Array) -> Self:
        other = copy(self)
        other.targets, other.means = self.weighting.targets(Y)
        other._project()
        return other

    def sensitivity_functions(self, alpha: float, some: Array) -> Functions:
        """As the coefficients of q targets: kd(q + d) multiplications."""
        of_rows = self.weighting.scale(np.array(self.basis(some)), some)
        weights = self.gains(alpha)[:, None] * of_rows.T
        return self.rows.hyperplane(self.axes @ weights, self._shares_of_mean(some))


def centred_products(V: Array, mean: Array, unit: float, block: Rows, root: Array | None) -> Array:
    """√w (x − mean)ᵀV / unit for a block of rows and ``V`` (d, t) → (b, t)."""
    result = block.times(V, mean)
    result *= result.dtype.type(1.0 / unit)
    if root is not None:
        result *= root[:, None]
    return result


class _NormalSums(Accumulator):
    """X̃ᵀX̃V (d, t) · unit over blocks of rows, and below it √wᵀX̃V (1, t)."""

    def __init__(self, V: Array, mean: Array, unit: float) -> None:
        self._V, self._mean, self._factor = V, mean, V.dtype.type(1.0 / unit)

    def add(self, block: Rows, *beside: Array | None) -> None:
        (root,) = beside
        if block.sparse:
            found = block.product(self._V)
            found -= self._mean.astype(found.dtype)
        else:
            found = block.times(self._V, self._mean)
        found *= self._factor
        if root is not None:
            found *= np.square(root, dtype=np.float64).astype(root.dtype)[:, None]
        if self.total is None:
            self.total = np.zeros((self._V.shape[0] + 1, self._V.shape[1]))
        if block.sparse:
            self.total[:-1] += block.transposed_product(found)
        else:
            self.total[:-1] += block.transposed_times(found, self._mean)
        self.total[-1] += found.sum(axis=0, dtype=np.float64)


def _everything(rows: slice | Array) -> bool:
    return isinstance(rows, slice) and rows == slice(None)


@dataclass
class DualFeatures(SymmetricSystem):
    """X̃X̃ᵀ as a kernel matrix (n, n), whose solution is a hyperplane all the same."""

    rows: CentredRows | None = None
    takes_rows: ClassVar[bool] = True

    def of_some_rows(self, Y: Array, some: Array) -> DualFeatures:
        assert self.rows is not None
        rows = self.rows.restricted(some)
        return DualFeatures.of(rows, Y, rows.weighting)

    def settle(self) -> None:
        """Take a copy of the rows, with which new ones are compared."""
        assert self.rows is not None
        self.rows = self.rows.owned()

    def queries(self, X: Array) -> Array:
        """New rows (m, d) as the matrix sees them: (n, m)."""
        return self._centred(self._products(X))

    def prior(self, X: Array, prior: Array) -> Array:
        """|x|² (m,) of new rows, centred as those of the fit; ``prior`` is not needed."""
        assert self.rows is not None
        squares = self.rows.kernel_rows(X).squares().astype(np.float64)
        return self._centred_prior(self._products(X), squares * self.rows.unit**2)

    def _products(self, X: Array) -> Array:
        assert self.rows is not None
        K = kernel_rectangle(Linear(), self.rows.kernel_rows(X).X, self.rows.kernel_rows().X)
        K *= K.dtype.type(self.rows.unit**2 / self.unit)
        return K.astype(self.targets.dtype, copy=False)

    @classmethod
    def of(cls, rows: CentredRows, Y: Array, weighting: Weighting) -> DualFeatures:
        """In the precision of ``Y``. Cost: n²d multiplications; n² numbers."""
        prepared = rows.kernel_rows().X.astype(Y.dtype, copy=False)
        K = kernel_matrix(Linear(), prepared, both_triangles=False)
        system = cls.prepare(K, Y, weighting, rows.unit**2)
        assert isinstance(system, cls)
        system.rows = rows
        return system

    def expansion(self, A: Array, means: Array) -> tuple[Array, Array]:
        """Coefficients (d, t) and intercepts (t,)."""
        assert self.rows is not None
        C, _ = super().expansion(A, means)
        rows = self.rows
        V = rows.rows.transposed_times(C, rows.mean) * C.dtype.type(rows.unit)
        return rows.hyperplane(V, means)
