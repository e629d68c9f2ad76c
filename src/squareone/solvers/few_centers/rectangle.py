"""``rectangle``: all rows in the fit, a few of them as centers: ridge regression in k(x, z_j)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...arrays import Array, blocks, diagonal, lower_less_outer, times
from ...centers.chosen_centers import draw_rows
from ...decompositions import Tridiagonal
from ...devices import active_place
from ...kernels.tiles import kernel_rectangle
from ...rows import Rows, rows_of
from ...rows.block_sums import Keeper, Watcher
from ...threads import for_each
from ..basis_factor import differences, residuals_of
from ..contract import (
    PATH_BLOCK,
    BlockQuestion,
    Candidate,
    Factor,
    Forgetful,
    Functions,
    SolverInput,
    Task,
)
from ..cost_counts import counted, during
from ..exact.ridge import RidgeFactor
from ..exact.symmetric_system import SymmetricSystem
from ..exact.weighting import Weighting
from .center_basis import STRIP, CenterBasis
from .center_costs import (
    between_centers_work,
    center_choice_work,
    center_number,
    center_width_search_work,
    kernel_values_work,
    leave_one_out_work,
    leverages_at_once,
    needs_rows,
    scores_work,
    separate_sums_work,
    sized_candidate,
)
from .center_removal import CenterRemoval, CenterRows, errors_without_rows, moves_by_column
from .deflation import Deflation
from .dropped_centers import lost_energy
from .feature_sums import FeatureSums, JointSums
from .kernel_sums import KernelSums

# The kernel values themselves are summed, and divided by the factor of K afterwards, while that
# costs at most this much relative accuracy: as they are, or with large directions apart, which is
# for float32. Otherwise every block is divided first.
_SAFE_SUMS = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-4}
_SAFE_APART = 2e-3
# A relative error above which a λ is not chosen.
_RELIABLE = 1e-2
# Flops up to which every block is divided first in any case.
_NEGLIGIBLE = 5e9
#: Features beyond which float32 rows have matrices among them in float32, once they are divided.
LARGE = 1024
#: Bytes of a sample's basis that are kept from one visit to the next.
KEPT_BYTES = 536_870_912


class CenterFactor(Factor):
    """A factorisation over a few centers, to which the coefficients belong.

    Attributes
    ----------
    centers : CenterBasis
    rows : Rows
        All rows (n, d).
    center_rows : CenterRows
        Which of the rows each center is.
    """

    centers: CenterBasis
    rows: Rows
    center_rows: CenterRows
    takes_rows = True

    @property
    def coefficient_points(self) -> CenterBasis | None:
        return self.centers

    @property
    def dropped_centers(self) -> Array:
        return self.centers.dropped

    @property
    def lost_energy(self) -> float:
        return lost_energy(self.centers, self.rows, self.weighting)

    @abstractmethod
    def reach_functions(self, alpha: float, own: Array) -> Functions:
        """How f(x) follows the coefficients of centers ``own`` (p,), beside their rows."""

    @abstractmethod
    def _moves_of_centers(
        self, alpha: float, rows: Array, own: Array, reach: Array, sensitivities: Array
    ) -> Array:
        """f(x) − f_{−i}(x) (p, m, t) for rows (p,) that are the centers ``own``.

        It is linear in their ``reach`` (p, m) and in ``sensitivities`` (p, m).
        """

    def move_functions(
        self, alpha: float, errors: Array, unit: float, some: Array
    ) -> Callable[[int], Functions] | None:
        """As :meth:`moves`, which are linear in the view of a new row: here in its functions."""
        places, own = self.center_rows.among(some)
        found = self.sensitivity_functions(alpha, some) if own.size else None
        if found is None:
            return super().move_functions(alpha, errors, unit, some)
        sensitivities = np.vstack(found).T
        reach = np.vstack(self.reach_functions(alpha, own)).T
        further = self._moves_of_centers(alpha, some[places], own, reach, sensitivities[places])
        of_column = moves_by_column(sensitivities, errors, places, further * unit)
        return lambda j: (of_column(j)[:, :-1].T, of_column(j)[:, -1])

    def of_some_rows(self, Y: Array, some: Array, most_centers: int) -> RectangleFactor:
        """A rectangle, whose centers are ``most_centers`` random ones, the same every time.

        All, if there are no more. Those that are rows take part as such where they are among these.

        **Cost**: that of a rectangle of s rows.
        """
        basis = self.centers
        chosen = draw_rows(basis.size, most_centers, np.random.RandomState(0))
        points = basis.points if chosen.size == basis.size else basis.points[chosen]
        position = np.full(self.n + 1, -1)  # the last is that of a center that is no row
        position[some] = np.arange(some.size)
        own = position[self.center_rows.asked[basis.kept[chosen]]]
        fewer = CenterBasis(basis.kernel, points, basis.dtype)
        fewer.block_bytes = basis.block_bytes
        there = self.rows if some.size == self.n else self.rows[some]
        return RectangleFactor(fewer, there, Y, self.weighting.restricted(some), own)


class RectangleFactor(CenterFactor, RidgeFactor):
    """min Σ w(y − b − Σ_j c_j k(x, z_j))² + λ cᵀKc over coefficients c of r centers z_j.

    With K = LLᵀ it is a ridge regression in the features z(x) = L⁻¹k(x), centred for the intercept:
    Z̃ᵀZ̃ = VS²Vᵀ answers for every λ, as in ``gram``.

    A row that is a center shapes the basis as well, and would still do so when it is left out. Here
    it takes its center with it, in closed form.

    **Cost**: nr(d + r) multiplications in one pass over the rows, 5r³ and r² numbers; 5r³ more for
    eigenvectors, and 2sr² for the leverages of s rows. A fold costs 2r² for each of its rows, and
    12r³.

    Parameters
    ----------
    basis : CenterBasis
    rows : Rows
        All rows (n, d).
    Y : array (n, t)
    weighting : Weighting
    center_rows : array (m,)
        Which of the rows each center asked for is; −1 for one that is no row.
    watch : callable
        Told how many rows have been summed.
    keeper : Keeper, optional
        Keeps the sums on the way, and gives back those of an earlier attempt.
    """

    def __init__(
        self,
        basis: CenterBasis,
        rows: Rows,
        Y: Array,
        weighting: Weighting,
        center_rows: Array,
        watch: Watcher = lambda rows: None,
        keeper: Keeper | None = None,
    ) -> None:
        self.centers = basis
        self.rows = rows
        self.weighting = weighting
        self.targets, self.means = weighting.targets(Y)
        self.center_rows = CenterRows(basis, center_rows)
        self._sum_type = active_place().sum_type(self.targets.dtype)
        u = weighting.direction
        self._shift = None if u is None else basis.typical_values()
        self._choose_sums()
        if self._apart is not None and self._shift is not None:
            self._shift = self._apart.within(self._shift)
        self._sums = self._summed(watch, keeper or Forgetful())
        self._decompose()
        self._set_base()
        self.least_difference = 16.0 * float(np.finfo(self.targets.dtype).eps)
        self._sampled: tuple[bytes, Array] | None = None

    # --- sums over the rows ---

    @classmethod
    def build(cls, problem: SolverInput, system: SymmetricSystem | None) -> RectangleFactor:
        """For the centers of a fit; every λ can be asked for."""
        return cls(
            problem.center_basis(),
            rows_of(problem.X),
            problem.Y,
            problem.weighting(),
            problem.center_rows,
            problem.watch_rows,
            problem.keeper,
        )

    def _choose_sums(self) -> None:
        """How kernel values are summed, by the condition of the matrix between the centers."""
        dtype, self._amplified = self._sum_type, max(1.0, self.centers.condition)
        eps = float(np.finfo(dtype).eps)
        self._divided_first, self._apart = False, None
        if not self._takes_time():
            self._divided_first, self._amplified = True, 1.0
            return
        if eps * self._amplified <= _SAFE_SUMS[dtype]:
            return
        if dtype == np.float32:
            apart = Deflation(self.centers.factor_in(dtype), self._amplified)
            if eps * apart.amplified <= _SAFE_APART:
                self._apart, self._amplified = apart, apart.amplified
                return
        # in float64 the division of the sums would lose again what summing apart saves
        self._divided_first, self._amplified = True, 1.0

    def features(self, rows: Array, root: Array | None) -> Array:
        """√w L⁻¹(k − shift) of some of the rows (m,) → (m, r)."""
        return active_place().fetched(self.centers.divided(self.rows[rows], self._shift, root))

    def _takes_time(self) -> bool:
        """Whether dividing first, the most accurate way, would take time worth speaking of."""
        return float(self.n) * self.centers.size**2 > _NEGLIGIBLE

    def _summed(self, watch: Watcher, keeper: Keeper) -> FeatureSums:
        """Over all rows, in one pass: of L⁻¹(k − shift), not centred."""
        t, basis = self.targets.shape[1], self.centers.evaluating(divides=self._divided_first)
        start = partial(
            KernelSums, basis, self._shift, self._apart, self._divided_first, t, self._sum_type
        )
        total = self.rows.sum_over_blocks(
            start,
            (self.targets, self.weighting.root),
            size=self.centers.block_rows(),
            watch=watch,
            keeper=keeper,
        )
        sums = JointSums(total.shape[0] - t - 1, t, active_place().taken(total)).apart()
        if self._divided_first:
            return sums
        given = sums, self.centers, self._precision()
        return FeatureSums.divided(*given) if self._apart is None else self._apart.divided(*given)

    def _precision(self) -> np.dtype:
        """Of matrices among the centers, once they are divided by the factor."""
        large = self._sum_type == np.float32 and self.centers.size > LARGE
        return np.dtype(np.float32 if large else np.float64)

    def _summed_over(self, rows: Array) -> FeatureSums:
        """The same over some rows (m,)."""
        sums = FeatureSums.zero(self.centers.size, self.targets.shape[1])
        for piece in blocks(rows.size, self.centers.block_rows()):
            some = rows[piece]
            root = None if self.weighting.root is None else self.weighting.root[some]
            sums.add(self.features(some, root), self.targets[some], root)
        return sums

    def _decompose(self) -> None:
        """The systems of the centred features."""
        sums, intercept = self._sums, self.weighting.direction is not None
        mean = sums.first / sums.total if intercept else np.zeros(self.centers.size)
        gram = lower_less_outer(sums.gram, mean, sums.first, self._precision())  # in float64
        self._systems = ShiftedSystems(gram, sums.cross)
        self.squares = self._systems.squares
        # L times the mean feature, back among kernel values
        self._mean = times(self.centers.factor, mean).astype(np.float64, copy=False)
        self._off = None
        if self._shift is not None:
            self._mean += self._shift
            self._off = self._mean.astype(self.targets.dtype)
        self.alpha_units = (self.centers.unit, self.weighting.unit)
        self.largest = self.in_user_units(float(np.max(self.squares, initial=0.0)))
        self.rounded = self.largest

    @property
    def projections(self) -> Array:  # type: ignore[override]
        """Vᵀ times the sums with the targets (r, t)."""
        return self._systems.projections.astype(self.targets.dtype, copy=False)

    @cached_property
    def axes(self) -> Array:  # type: ignore[override]
        """L⁻ᵀV (r, r): coefficients c of centers are these times those along the principal axes."""
        vectors = active_place().fetched(self._systems.vectors())
        found = self.centers.backward(vectors).astype(self.targets.dtype)
        self._systems.release()
        return found

    @property
    def explained_trace(self) -> float:
        """tr(K̃)/tr(K): the share of Σ k(x, x) that the centers explain, Σ |L⁻¹k(x)|².

        **Cost**: a pass over the rows; with weights as much as the sums.
        """
        explained, whole, weighted = 0.0, 0.0, self.weighting.root is not None
        if not weighted:
            explained = self._explained_by_sums()
        for _, block in self.passes():
            diagonal = self.centers.kernel.diagonal(block.X)
            whole += float(diagonal.sum(dtype=np.float64)) / self.centers.unit
            if weighted:
                explained += float(self.centers.explained(block).sum()) / self.centers.unit
        return min(explained / whole, 1.0) if whole > 0 else 1.0

    def _explained_by_sums(self) -> float:
        """Σ |L⁻¹k|² from what was summed, which are the features of k − shift."""
        sums = self._sums
        explained = float(diagonal(sums.gram).sum(dtype=np.float64))
        if self._shift is not None:
            shift = self._shift.astype(np.float64)[:, None]
            off = self.centers.forward(shift)[:, 0]
            explained += float(2.0 * off @ sums.first + sums.total * (off @ off))
        return explained

    # --- all rows, every λ ---

    def taken(self, rows: slice | Array) -> Rows:
        return self.rows[rows]

    def passes(self) -> Iterator[tuple[slice, Rows]]:
        return self.centers.passes(self.rows)

    def block_times(self, V: Array, block: Rows, rows: slice | Array) -> Array:
        root = None if self.weighting.root is None else self.weighting.root[rows]
        return self.centers.values(block, self._off, root) @ V

    def kernel_between(self, rows: Rows, block: Rows, part: slice | Array) -> Array:
        """√w k(x, x_j) / unit between other rows (m, d) and a block of those of the fit (m, b)."""
        K = kernel_rectangle(self.centers.kernel, rows.X, block.X)
        if self.centers.unit != 1.0:
            K /= K.dtype.type(self.centers.unit)
        if self.weighting.root is not None:
            K *= self.weighting.root[part]
        return K

    def kernel_diagonal(self, rows: Array) -> Array:
        """k(x, x) / unit of some rows (m,), in float64."""
        diagonal = self.centers.kernel.diagonal(self.rows[rows].X)
        return diagonal.astype(np.float64) / self.centers.unit

    def mean_along_axes(self) -> Array:
        """k̄ᵀ axes (k,): the mean of kernel values; zeros without an intercept."""
        if self._off is None:
            return np.zeros(self.squares.size)
        return self._mean @ self.axes.astype(np.float64)

    def other_times(self, X: Any, V: Array) -> Array:
        return self.centers.values(rows_of(X), self._off) @ V

    def settle(self) -> None:
        self.rows = self.rows.copy()
        self._sampled = None

    def each_block(
        self, size: int, look: Callable[[slice | Array, Array], None], sample: Array | None
    ) -> None:
        if sample is None and self._few_numbers:
            sample = np.arange(self.n)
        if sample is None:
            super().each_block(max(size, STRIP), look, None)
            return
        A = self._basis_of_sample(sample)
        for_each(lambda piece: look(sample[piece], A[piece]), blocks(sample.size, size))

    def _basis_of_sample(self, sample: Array) -> Array:
        """Kept from one visit to the next, unless it is large."""
        key = sample.tobytes()
        if self._sampled is not None and self._sampled[0] == key:
            return self._sampled[1]
        A = self.basis(sample)
        if A.nbytes <= KEPT_BYTES:
            self._sampled = key, A
        return A

    def left_out(
        self, alphas: Array, rows: slice | Array, residuals: Array, complements: Array
    ) -> Array:
        errors = super().left_out(alphas, rows, residuals, complements)
        places, own = self.center_rows.among(rows)
        if places.size:
            numbers = places + rows.start if isinstance(rows, slice) else rows[places]
            removal = CenterRemoval.of(self, alphas, self.basis(numbers), own, complements[places])
            errors[places] += removal.further_errors(errors[places])
        return errors

    def left_out_by_target(self, alphas: Array) -> Array:
        """Rows that are centers are not left out by a division; where the rows are, if by tasks."""
        rows: Any = self.rows
        asked = self.errors_of_blocks(alphas) if rows.by_tasks else None
        if asked is None:
            return Factor.left_out_by_target(self, alphas)
        return asked.rows.filled(asked.ask, asked.beside, asked.size)

    def errors_of_blocks(self, alphas: Array) -> BlockQuestion | None:
        if self._few_numbers:
            return None
        rows, centers = self.center_rows.alone
        own = np.full(self.n, -1)
        own[rows] = centers
        beside = self.weighting.root, self.targets, self.base_complements, own
        ask = partial(_errors_of_block, self._apart_from_rows(), alphas)
        return BlockQuestion(self.rows, ask, beside, self.centers.block_rows())

    @property
    def _few_numbers(self) -> bool:
        """Whether the basis at all rows is held at once."""
        return self.n * self.centers.size * self.targets.itemsize <= KEPT_BYTES // 4

    def _apart_from_rows(self) -> RectangleFactor:
        """What answers for a row by its kernel values: nothing of the rows of the fit."""
        _ = self.axes
        other, none = copy(self), self.targets[:0]
        other.rows = other._sums = other.center_rows = other._sampled = None  # type: ignore
        other.targets = other.base_residuals = none
        other.base_complements = None
        other.weighting = replace(self.weighting, n=0, root=None, direction=None)
        return other

    def reliable(self, alphas: Array) -> Array:
        return np.array([self.error_estimate(float(alpha)) < _RELIABLE for alpha in alphas])

    def totals(self, alphas: Array) -> tuple[Array, Array]:
        """In closed form: ‖r‖² = ỹᵀỹ − gᵀ(2/(S² + λ) − S²/(S² + λ)²)g."""
        squares = np.square(self.targets, dtype=np.float64).sum(axis=0)
        left = squares[:, None] - self._systems.explained(self.scaled(alphas))
        return np.maximum(left, 0.0), self.n - self.degrees_of_freedom(alphas)

    def errors_without(self, alphas: Array, removed: Array) -> Array:
        """Without the centers that are among the rows removed; for any number of rows."""
        if 2 * removed.size <= self.n:
            rest = self._sums.without(self._summed_over(removed))
        else:  # fewer to add than to take off
            rest = self._summed_over(np.delete(np.arange(self.n), removed))
        return errors_without_rows(self, rest, alphas, removed)

    # --- the model, and new rows ---

    def coefficients(self, alphas: Array) -> tuple[Array, Array]:
        if "axes" in self.__dict__:
            C = self.axes @ (-self.filters(alphas) * self.projections)
        else:  # nobody has asked for more than a few columns
            C = self.centers.backward(self._systems.solutions(self.scaled(alphas)))
            C = C.astype(self.targets.dtype, copy=False)
        intercepts = np.zeros(C.shape[1])
        if self._off is not None:
            intercepts = self.means - self._mean @ C
        return C / C.dtype.type(self.centers.unit), intercepts

    def moves(
        self, alpha: float, queries: Any, errors: Array, unit: float, some: Array | None = None
    ) -> Callable[[int], Array]:
        """Where a row is a center, more changes than its target's share."""
        asked = np.arange(self.n) if some is None else some
        places, own = self.center_rows.among(asked)
        sensitivities = self.sensitivities(alpha, queries, some)
        reach = (self.axes[own] * self.gains(alpha)) @ self.view(queries)
        further = self._moves_of_centers(alpha, asked[places], own, reach, sensitivities[places])
        return moves_by_column(sensitivities, errors, places, further * unit)

    def _moves_of_centers(
        self, alpha: float, rows: Array, own: Array, reach: Array, sensitivities: Array
    ) -> Array:
        """f(x) − f_{−i}(x) (p, m, t) for rows (p,) that are the centers ``own``."""
        alphas = np.array([alpha])
        root = None if self.weighting.root is None else self.weighting.root[rows]
        A, residuals, complements = self.at(alphas, rows)
        fixed = Factor.left_out(self, alphas, rows, residuals, complements)
        removal = CenterRemoval.of(self, alphas, A, own, complements)
        return removal.moves(reach, sensitivities, fixed, root)

    def sensitivity_functions(self, alpha: float, some: Array) -> Functions:
        """As the coefficients of q targets: qr² multiplications."""
        of_rows = self.weighting.scale(np.array(self.basis(some)), some)
        return self._functions(self.gains(alpha)[:, None] * of_rows.T, self._shares_of_mean(some))

    def reach_functions(self, alpha: float, own: Array) -> Functions:
        return self._functions((self.axes[own] * self.gains(alpha)).T, np.zeros(own.size))

    def _functions(self, weights: Array, offsets: Array) -> Functions:
        """A new row's view times ``weights`` (k, q), and ``offsets`` (q,)."""
        C = self.axes @ weights
        if self._off is not None:
            offsets = offsets - self._mean @ C
        return C / C.dtype.type(self.centers.unit), offsets

    def at(self, alphas: Array, rows: Array) -> tuple[Array, Array, Array]:
        """Basis (m, k), residuals (m, t, L) and complements (m, L) of some rows (m,)."""
        A, residuals = self._fitted(alphas, rows)
        complements = np.square(A) @ self.filters(alphas)
        assert self.base_complements is not None
        complements += self.base_complements[rows, None]
        return A, residuals, np.maximum(complements, self.least_difference)

    def variances(self, alpha: float, queries: Any, prior: Array) -> Array:
        """That of f in the space of the centers, and all that they cannot explain of k(x, x)."""
        unseen = np.maximum(prior - self.centers.explained(rows_of(queries)), 0.0)
        seen = np.square(self.view(queries), dtype=np.float64).T @ self.gains(alpha)
        return unseen + alpha / self.weighting.unit * seen + self._variance_of_mean(alpha)

    def error_estimate(self, alpha: float) -> float:
        """What λ cannot hide, and what summing kernel values costs.

        The latter grows in small directions of K, which count little in f.
        """
        eps = float(np.finfo(self._sum_type).eps)
        return super().error_estimate(alpha) + eps * (self._amplified - 1.0)


def _errors_of_block(
    factor: RectangleFactor,
    alphas: Array,
    block: Rows,
    root: Array | None,
    targets: Array,
    base: Array,
    own: Array,
) -> Array:
    """Errors (b, t) without each of the rows of a block, of which some are centers ``own`` (b,).

    ``factor`` knows none of the rows.
    """
    found = np.empty(targets.shape, targets.dtype)
    for alpha in np.unique(alphas):
        columns, one = np.flatnonzero(alphas == alpha), np.array([alpha])
        F = factor.filters(one)
        filtered = factor._filtered(F)
        for piece in blocks(block.shape[0], max(STRIP, PATH_BLOCK // F.shape[0])):
            A = _basis_of(factor, block[piece], root, piece)
            residuals = residuals_of(A, filtered, targets.shape[1], targets[piece])
            complements = differences(A, F, base[piece], factor.least_difference)
            errors = Factor.left_out(factor, one, piece, residuals, complements)
            at = np.flatnonzero(own[piece] >= 0)
            if at.size:
                removal = CenterRemoval.of(factor, one, A[at], own[piece][at], complements[at])
                errors[at] += removal.further_errors(errors[at])
            found[piece, columns] = errors[:, columns, 0]
    return found


def _basis_of(factor: RectangleFactor, rows: Rows, root: Array | None, part: slice) -> Array:
    some = None if root is None else root[part]
    return factor.centers.values(rows, factor._off, some) @ factor.axes


def rectangle_cost(task: Task) -> Candidate:
    """One pass over the rows, then every λ."""
    n, m = task.n, center_number(task)
    bits = 32 if task.bits == 32 and m > LARGE else 64
    without_vectors = not (task.likelihood or leverages_at_once(task))
    factorisation = [
        *between_centers_work(task, m),
        *kernel_values_work(task, n, m),
        *separate_sums_work(task, n, m),
        counted(task, "sums", 1.0 * n * m * m, m),
        counted(task, "sums", 2.0 * m**3, m, bits),
        counted(task, "eigh", (4.0 if without_vectors else 9.0) * m**3, m, bits),
    ]
    work = [
        *center_width_search_work(task),
        *during("choice of centers", center_choice_work(task, m)),
        *during("factorisation", factorisation),
        *during("path", scores_work(task, m)),
        *during("leave-one-out values", leave_one_out_work(task, m)),
    ]
    form = f"{m:,} centers, one pass over the rows, every alpha"
    if task.alphas != 1 and task.sampled:
        form += f"; leave-one-out over {task.sampled:,} random rows"
    square = 8.0 * m * m
    sample = min(float((task.sampled or n) * m * task.itemsize), float(KEPT_BYTES))
    folds = 4.0 * square if task.largest_fold else 0.0
    most = 6.0 * square + folds + sample
    return sized_candidate(task, "rectangle", work, most, m, form, needs_rows(task))


# Values below zero by less than this share of λ need no eigenvectors.
_NOTHING = 1e-3


class ShiftedSystems:
    """(A + λ)⁻¹G for a matrix A = VS²Vᵀ that is positive semidefinite but for rounding.

    Where rounding left a value below zero, it counts as zero. Only eigenvectors can see to that;
    otherwise, and until somebody asks for them, a tridiagonal form is all that is needed.

    **Cost**: 4r³/3 flops; then 8rt for every λ, and 4r²t for solutions. Eigenvectors: up to 5r³.

    Parameters
    ----------
    A : array (r, r)
        Symmetric, and destroyed: what is below the diagonal is read.
    G : array (r, t)

    Attributes
    ----------
    squares : array (r,)
        S², in float64.
    """

    def __init__(self, A: Array, G: Array) -> None:
        self._form: Tridiagonal | None = Tridiagonal(A)
        self._G = self._form.reduced(G)
        self.squares = np.maximum(self._form.values, 0.0)

    @cached_property
    def projections(self) -> Array:
        """VᵀG (r, t)."""
        return self._there.turned(self._G)

    def vectors(self) -> Array:
        """V (r, r)."""
        self.projections  # noqa: B018 – which need the tridiagonal form
        return self._there.dense()

    def release(self) -> None:
        """Give up the vectors: there are no more solutions, what they explain is still known."""
        self._form = None

    def solutions(self, shifts: Array) -> Array:
        """(A + λ_j)⁻¹g_j (r, t): every column of G has its own λ."""
        different, which = np.unique(shifts, return_inverse=True)
        solved = self._solved(different)
        if solved is None:
            return self._there.times(self.projections / (self.squares[:, None] + shifts))
        along = [solved[k][:, j] for j, k in enumerate(which)]
        return self._there.expanded(np.transpose(along))

    def explained(self, shifts: Array) -> Array:
        """gᵀ(2(A + λ)⁻¹ − A(A + λ)⁻²)g (t, L): by how much a ridge regression reduces squares."""
        solved = self._solved(shifts)
        if solved is None:
            gains = 1.0 / (self.squares[:, None] + shifts)
            taken = 2.0 * gains - self.squares[:, None] * np.square(gains)
            return np.square(self.projections, dtype=np.float64).T @ taken
        # with x = (A + λ)⁻¹g, which is as long along Q, the same is gᵀx + λxᵀx
        pairs = zip(shifts, solved, strict=True)
        return np.transpose([np.sum(x * (self._G + shift * x), axis=0) for shift, x in pairs])

    @property
    def _there(self) -> Tridiagonal:
        assert self._form is not None, "it was released"
        return self._form

    def _solved(self, shifts: Array) -> list[Array] | None:
        """(T + λ)⁻¹QᵀG (r, t) for every λ, or None where eigenvectors are there, or needed."""
        if "projections" in self.__dict__:
            return None
        below = -float(self._there.values.min(initial=0.0))
        if below > _NOTHING * float(np.min(shifts)):
            return None
        found = []
        for shift in shifts:
            X = self._there.solved(float(shift), self._G)
            if X is None:
                return None
            found.append(X)
        return found
