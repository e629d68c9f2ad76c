"""``nystrom``: an approximate kernel matrix in the fit, the true kernel and all rows afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...arrays import Array, blocks
from ...kernels.tiles import kernel_rectangle
from ...rows import Rows, rows_of
from ..contract import Candidate, Factor, SolverInput, Task, Visitor
from ..cost_counts import counted, during
from ..exact.symmetric_system import SymmetricSystem
from .center_basis import CenterBasis
from .center_costs import center_number, kernel_values_work, leverages_at_once
from .center_removal import CenterRemoval
from .rectangle import RectangleFactor, rectangle_cost

# Numbers of a block of kernel values between rows.
_BLOCK = 4_194_304


class NystromFactor(Factor):
    """(K̃ + λ/w)c + b = y with K̃ = K_nm K_mm⁺ K_mn and 1ᵀc = 0; f(x) = Σ c_i k(x, x_i) + b.

    The sum is over all rows. c = w(y − b − K̃c) / λ are the residuals of the rectangle with the
    same centers, which is what is factored. Its leave-one-out errors are those of K̃; the model's
    own, with the true kernel, follow from them and from the products of kernel rows with the basis.
    A row that is a center takes it along.

    **Cost**: that of ``rectangle``, and a pass for the coefficients; errors of s rows that are left
    out sn(d + 2r) more.

    Parameters
    ----------
    rectangle : RectangleFactor
    Y : array (n, t)
    """

    takes_rows = True

    def __init__(self, rectangle: RectangleFactor, Y: Array) -> None:
        self.rectangle = rectangle
        self.centers = rectangle.centers
        self.weighting = rectangle.weighting
        self.targets = rectangle.targets
        self.largest, self.rounded = rectangle.largest, rectangle.rounded
        self.alpha_units = rectangle.alpha_units
        self._Y = Y
        self._expected: tuple[bytes, Array, _Met] | None = None
        self._without: dict[bytes, NystromFactor] = {}

    @classmethod
    def build(cls, problem: SolverInput, system: SymmetricSystem | None) -> NystromFactor:
        """For the centers of a fit; every λ can be asked for."""
        return cls(RectangleFactor.build(problem, None), problem.Y)

    # --- as the rectangle ---

    def visit(self, alphas: Array, visitor: Visitor, sample: Array | None = None) -> None:
        self.rectangle.visit(alphas, visitor, sample)

    def totals(self, alphas: Array) -> tuple[Array, Array]:
        return self.rectangle.totals(alphas)

    def degrees_of_freedom(self, alphas: Array) -> Array:
        return self.rectangle.degrees_of_freedom(alphas)

    def error_estimate(self, alpha: float) -> float:
        """Beyond that of the rectangle, residuals are divided by λ."""
        return self.rectangle.error_estimate(alpha)

    def log_determinants(self, alphas: Array) -> Array:
        msg = (
            "nystrom has two kernels, an approximate one for the fit and the true one for "
            'predictions, and so no likelihood: use solver="rectangle"'
        )
        raise AttributeError(msg)

    def reliable(self, alphas: Array) -> Array:
        return self.rectangle.reliable(alphas)

    def energies(self, alphas: Array) -> Array:
        return self.rectangle.energies(alphas)

    @property
    def dropped_centers(self) -> Array:
        return self.rectangle.dropped_centers

    @property
    def lost_energy(self) -> float:
        return self.rectangle.lost_energy

    @property
    def explained_trace(self) -> float:
        """The share of the trace of K that K̃ has."""
        return self.rectangle.explained_trace

    def of_some_rows(self, Y: Array, some: Array, most_centers: int) -> RectangleFactor:
        """By a rectangle: the true kernel and all rows are not needed for what is smooth."""
        return self.rectangle.of_some_rows(Y, some, most_centers)

    def settle(self) -> None:
        self.rectangle.settle()
        self._without.clear()

    # --- the model ---

    def coefficients(self, alphas: Array) -> tuple[Array, Array]:
        distinct, which = np.unique(alphas, return_inverse=True)
        C, intercepts = self._every(distinct)
        columns, own = np.arange(alphas.size), which.reshape(-1)
        return C[:, columns, own], intercepts[columns, own]

    def _every(self, alphas: Array) -> tuple[Array, Array]:
        """Coefficients (n, t, L) and intercepts (t, L) for every λ: one visit."""
        t = self._Y.shape[1]
        C = np.empty((self.n, t, alphas.size), self.targets.dtype)
        scaled = self.scaled(alphas).astype(C.dtype)

        def store(rows: slice | Array, residuals: Array, complements: Array) -> None:
            flat = (residuals / scaled).reshape(residuals.shape[0], -1)
            C[rows] = self.weighting.scale(flat, rows).reshape(residuals.shape)

        self.rectangle.visit(alphas, store)
        of_each = [self.rectangle.coefficients(np.full(t, alpha))[1] for alpha in alphas]
        return C / C.dtype.type(self.centers.unit), np.column_stack(of_each)

    # --- leaving rows out ---

    def expect_left_out(self, sample: Array | None) -> None:
        """Kernel rows of those that will be left out: here, on all cores, not in a visit."""
        rows = np.arange(self.n) if sample is None else sample
        key = rows.tobytes()
        if self._expected is None or self._expected[0] != key:
            self._expected = key, rows, self.meet(self.rectangle.rows[rows])

    def left_out(
        self, alphas: Array, rows: slice | Array, residuals: Array, complements: Array
    ) -> Array:
        fixed = super().left_out(alphas, rows, residuals, complements)
        numbers = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        assert self._expected is not None
        _, expected, met = self._expected
        own = self.rectangle.kernel_diagonal(numbers)
        left = LeftOutNystrom(self, alphas, numbers, complements)
        values = left.own_values(met.at(np.searchsorted(expected, numbers)), own, fixed)
        truth = self._Y[numbers] - self.rectangle.means.astype(self._Y.dtype)
        errors = (truth[:, :, None] - values).reshape(numbers.size, -1)
        return self.weighting.scale(errors, numbers).reshape(fixed.shape)

    def meet(self, rows: Rows) -> _Met:
        """Kernel rows √w k(x, x_j) of ``rows`` (m, d), times the basis, the targets and u."""
        r, t = self.centers.size, self.targets.shape[1]
        u = self.weighting.direction
        m = rows.shape[0]
        met = _Met(np.zeros((m, r)), np.zeros((m, t)), np.zeros(m))
        for part, block in self.centers.passes(self.rectangle.rows):
            A = self.rectangle.block_times(self.rectangle.axes, block, part)
            for piece in _pieces(rows.shape[0], block):
                K = self.rectangle.kernel_between(rows[piece], block, part)
                met.basis[piece] += K @ A
                met.targets[piece] += K @ self.targets[part]
                if u is not None:
                    met.mean[piece] += K @ u[part]
        return met

    def errors_without(self, alphas: Array, removed: Array) -> Array:
        """By a factorisation of the other rows, without the centers among those removed."""
        key = removed.tobytes()
        if key not in self._without:
            self._without[key] = self._fit_without(removed)
        rest = self._without[key]
        C, intercepts = rest._every(alphas)
        queries = self.rectangle.rows[removed]
        values = np.zeros((removed.size, intercepts.size))
        for part, block in rest.centers.passes(rest.rectangle.rows):
            for piece in _pieces(removed.size, block):
                K = kernel_rectangle(self.centers.kernel, queries[piece].X, block.X)
                values[piece] += K @ C[part].reshape(K.shape[1], -1)
        values = values.reshape(removed.size, *intercepts.shape) + intercepts
        errors = (self._Y[removed, :, None] - values).astype(self.targets.dtype)
        root = self.weighting.root
        return errors if root is None else errors * root[removed, None, None]

    def _fit_without(self, removed: Array) -> NystromFactor:
        kept = np.delete(np.arange(self.n), removed)
        asked = self.rectangle.center_rows
        stay = asked.staying(removed)
        basis = CenterBasis(self.centers.kernel, self.centers.asked[stay], self.centers.dtype)
        position = np.full(self.n, -1)
        position[kept] = np.arange(kept.size)
        rows = asked.asked[stay]
        rectangle = RectangleFactor(
            basis,
            self.rectangle.rows[kept],
            self._Y[kept],
            self.weighting.restricted(kept),
            np.where(rows >= 0, position[rows], -1),
        )
        return NystromFactor(rectangle, self._Y[kept])

    # --- new rows ---

    def sensitivities(self, alpha: float, queries: Any, some: Array | None = None) -> Array:
        alphas, asked = np.array([alpha]), np.arange(self.n) if some is None else some
        found = np.empty((asked.size, queries.shape[0]), self.targets.dtype)
        met = self.meet(rows_of(queries))
        for piece, numbers, K in self._kernel_with(asked, rows_of(queries)):
            left = LeftOutNystrom(self, alphas, numbers, None)
            found[piece] = left.sensitivities(met, K).T
        return self.weighting.scale(found, asked)

    def _kernel_with(self, asked: Array, queries: Rows) -> Iterator[tuple[slice, Array, Array]]:
        """Rows of the fit (q,), a block at a time, and √w k of new rows with these (m, b)."""
        for piece in blocks(asked.size, self.centers.block_rows()):
            numbers = asked[piece]
            yield (
                piece,
                numbers,
                self.rectangle.kernel_between(queries, self.rectangle.rows[numbers], numbers),
            )

    def moves(
        self, alpha: float, queries: Any, errors: Array, unit: float, some: Array | None = None
    ) -> Callable[[int], Array]:
        """By the errors of K̃, in which the models without a row are linear, not by their own."""
        alphas, asked = np.array([alpha]), np.arange(self.n) if some is None else some
        met, t = self.meet(rows_of(queries)), self.targets.shape[1]
        found = np.empty((asked.size, queries.shape[0], t), self.targets.dtype)
        for piece, numbers, K in self._kernel_with(asked, rows_of(queries)):
            _, residuals, complements = self.rectangle.at(alphas, numbers)
            fixed = super().left_out(alphas, numbers, residuals, complements)
            left = LeftOutNystrom(self, alphas, numbers, complements)
            found[piece] = left.moves(met, K, fixed[:, :, 0])
        return lambda j: found[:, :, j] * unit

    def variances(self, alpha: float, queries: Any, prior: Array) -> Array:
        msg = (
            "nystrom has two kernels, an approximate one for the fit and the true one for "
            'predictions, and so no posterior: use solver="rectangle", or the jackknife+ interval'
        )
        raise AttributeError(msg)


def _pieces(m: int, block: Rows) -> list[slice]:
    """``m`` rows in pieces whose kernel values with a block of others can be held."""
    return blocks(m, max(1, _BLOCK // max(1, block.shape[0])))


class _Met:
    """Products of kernel rows (m, n): with the basis (m, r), the targets (m, t) and u (m,)."""

    def __init__(self, basis: Array, targets: Array, mean: Array) -> None:
        self.basis, self.targets, self.mean = basis, targets, mean

    def at(self, places: Array) -> _Met:
        return _Met(self.basis[places], self.targets[places], self.mean[places])


class LeftOutNystrom:
    """The model without each of some rows (p,), and without its center where it is one.

    Without row i the rectangle's residuals are r_j + H_ji e_i, with the error e_i of K̃ there;
    without the center too, H_ji g_i/s_i + (Z̃S e_i)_j more for each unit of its coefficient. Row i
    itself is gone from the sum.
    """

    def __init__(
        self, factor: NystromFactor, alphas: Array, rows: Array, complements: Array | None
    ) -> None:
        rectangle = factor.rectangle
        self._factor, self._alphas, self._rows = factor, alphas, rows
        self._F = -rectangle.filters(alphas).astype(np.float64)
        self._scaled = factor.scaled(alphas)
        self._A = rectangle.basis(rows).astype(np.float64)
        u = factor.weighting.direction
        self._u = np.zeros(rows.size) if u is None else u[rows].astype(np.float64)
        root = factor.weighting.root
        self._root = np.ones(rows.size) if root is None else root[rows].astype(np.float64)
        self._off = rectangle.mean_along_axes()  # k̄ᵀ axes
        self._s = complements
        places, own = rectangle.center_rows.among(rows)
        self._places, self._own = places, own
        if complements is not None and places.size:
            self._removal = CenterRemoval.of(
                rectangle, alphas, self._A[places], own, complements[places]
            )

    def _axes_of_centers(self) -> Array:
        """Rows of the axes (p, k) of the centers among the rows."""
        return self._factor.rectangle.axes[self._own].astype(np.float64)

    def _intercept_share(self, A: Array, u: Array) -> Array:
        """(M⁻¹b_i)_0 (p, L): how the intercept follows a scaled target."""
        total = self._factor.weighting.total_root
        shares = -(A * self._off) @ self._F
        return shares if not self._u.any() else shares + (u / total)[:, None]

    def sensitivities(self, met: _Met, K: Array) -> Array:
        """df(x)/dỹ_i for new rows (m, p), from kernel values √w k (m, p); one λ."""
        hat = (met.basis * self._F[:, 0]) @ self._A.T + np.outer(met.mean, self._u)
        share = self._intercept_share(self._A, self._u)[:, 0]
        return (K - hat) / self._scaled[0] + share

    def own_values(self, met: _Met, diagonal: Array, fixed: Array) -> Array:
        """f_{−i}(x_i) less the mean of y (p, t, L), with ``fixed`` errors (p, t, L) of K̃."""
        F, g = self._F, self._factor.rectangle.projections.astype(np.float64)
        fixed = fixed.astype(np.float64)
        k = (diagonal * self._root)[:, None]  # √w k(x_i, x_i)
        filtered = g[:, :, None] * F[:, None, :]
        total = met.targets[:, :, None] - np.einsum(
            "pk,ktl->ptl", met.basis, filtered, optimize=True
        )
        hat = (met.basis * self._A) @ F + (met.mean * self._u)[:, None]
        total += (hat - k)[:, None, :] * fixed
        base = -np.einsum("k,ktl->tl", self._off, filtered)
        values = base - self._intercept_share(self._A, self._u)[:, None, :] * fixed
        if self._places.size:
            at = self._places
            shares = self._removal.shares(fixed[at])
            B, ratio = self._axes_of_centers(), self._removal.ratio  # g/s
            further = (met.basis[at] * B) @ F + hat[at] * ratio
            further -= k[at] * ratio  # (Φ M'⁻¹e_i)_i is g/s
            total[at] += further[:, None, :] * shares
            lost = -(B * self._off) @ F
            lost += self._intercept_share(self._A[at], self._u[at]) * ratio
            values[at] -= lost[:, None, :] * shares
        return values + total / self._scaled

    def moves(self, met: _Met, K: Array, fixed: Array) -> Array:
        """f(x) − f_{−i}(x) (p, m, t) for one λ, with errors (p, t) of K̃, scaled by √w."""
        change = self.sensitivities(met, K).T[:, :, None] * fixed[:, None, :]
        if self._places.size:
            at, F = self._places, self._F[:, 0]
            B, ratio = self._axes_of_centers(), self._removal.ratio[:, 0]
            hat = (met.basis * F) @ self._A[at].T + np.outer(met.mean, self._u[at])
            further = (met.basis * F) @ B.T + (hat - K[:, at]) * ratio
            lost = -(B * self._off) @ F
            lost += self._intercept_share(self._A[at], self._u[at])[:, 0] * ratio
            shares = self._removal.shares(fixed[at][:, :, None])[:, :, 0]
            extra = (lost - further / self._scaled[0]).T
            change[at] += extra[:, :, None] * shares[:, None, :]
        return change


def nystrom_cost(task: Task) -> Candidate:
    """As the rectangle; kernel values between all rows and those that are left out or held out."""
    rectangle, m = rectangle_cost(task), center_number(task)
    left = task.largest_fold if task.folds else (task.sampled or task.n)
    between = [] if task.alphas == 1 else kernel_values_work(task, float(left), task.n)
    if between and not task.folds:
        between.append(counted(task, "sums", 2.0 * left * task.n * m, m))
    vectors = counted(task, "eigh", 5.0 * m**3, m, 64)  # also where the rectangle needs none
    work = [
        *rectangle.work,
        *during("factorisation", [] if leverages_at_once(task) else [vectors]),
        *during("path", between),
        *during("coefficients", kernel_values_work(task, task.n, m)),
    ]
    refused = rectangle.refused
    if task.unregularised:
        refused = "it needs an alpha above zero"
    elif task.alphas != 1 and task.without_rows:
        refused = (
            "this criterion is that of the approximate kernel, and nystrom predicts with the true "
            'one: choose alpha by criterion="loo", "holdout" or cv'
        )
    more = task.row_bytes * (1.0 + (task.folds > 0)) + 8.0 * left * (m + task.t)
    form = f"{m:,} centers for the matrix, all rows for predictions"
    if task.alphas != 1 and task.sampled:
        form += f"; leave-one-out over {task.sampled:,} random rows"
    folds = 1 + (task.folds > 0)
    large, small = (folds * size + more for size in (rectangle.bytes, rectangle.least))
    return Candidate("nystrom", tuple(work), large, form, refused, least=small)
