"""``krylov``: conjugate gradients for every λ at once, from products with X̃ and X̃ᵀ alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Array, blocks
from ...threads import shared_cores
from ..contract import (
    Candidate,
    Factor,
    Functions,
    SolverInput,
    Task,
    Unconverged,
    Visitor,
    Work,
    shown_of,
)
from ..cost_counts import columns_of, counted, during
from ..exact.feature_matrix import CentredRows
from ..exact.symmetric_system import SymmetricSystem
from .lanczos import LanczosSequence
from .leverage_probes import FEW_ROWS, PROBES, Leverages, leverages_of
from .normal_equations import Limits, NormalEquations

# Relative residuals down to this are reached in float32, for λ this share of what rounding is
# relative to.
_SINGLE_TOLERANCE, _SINGLE_MARGIN = 1e-5, 100.0 * float(np.finfo(np.float64).eps)
# A tolerance beside which the rounding of one product in float32 is nothing.
_COARSE = 1e-4
# Ratio of sizes up to which target columns are comparable.
_COMPARABLE = 1e6
# Steps after which the largest eigenvalue is known well enough to be the unit of a grid of λ.
_FIRST_STEPS = 6
# Numbers, at most, in an array with a column for every target or probe and λ, and the share they
# may have of the bytes allowed.
_PATH_NUMBERS, _SHARE = 268_435_456, 0.2
# What the sequence of a fold may have of the bytes that those before it have left.
_FOLD_SHARE = 0.2
# Times a solution may be corrected by solving for what its rounding left.
_CORRECTIONS = 3


class KrylovFactor(Factor):
    """(X̃X̃ᵀ + λ)c = ỹ, or (X̃ᵀX̃ + λ)v = X̃ᵀỹ if that is smaller, by conjugate gradients.

    The sequence of products belongs to the targets and not to λ, which makes it the factorisation:
    it becomes as long as the smallest λ asked for needs it to be, and answers for all larger ones.
    The leverages are estimated by random probes, when they are asked for: see
    :class:`~squareone.solvers.krylov.leverage_probes.Probes`.

    Where the tolerance and λ allow, float64 rows are multiplied in float32, in half the time. The
    coefficients are then checked, and if need be corrected, in float64.

    **Cost**: per step two products with t columns, each a multiplication per stored number and
    column; some twenty steps where λ is a hundredth of the largest eigenvalue, two or three hundred
    where it is a ten-thousandth. min(n, d)·t numbers per step are kept.
    """

    takes_rows = True
    grid_decades = (2, 1)

    def __init__(
        self, rows: CentredRows, Y: Array, limits: Limits, seed: int, least: float = np.inf
    ) -> None:
        """``least`` is the smallest λ there will be, where that is known."""
        self.rows = rows.compact()
        self.weighting = rows.weighting
        self.targets, self.means = self.weighting.targets(Y)
        self.alpha_units = rows.alpha_units
        self._scales = _scales(self.targets)
        self._Y = Y
        self._seed = seed
        single = np.dtype(np.float32)
        if limits.tolerance >= _SINGLE_TOLERANCE:
            self._begin(single, limits)
        if limits.tolerance < _SINGLE_TOLERANCE or least < _SINGLE_MARGIN * self.rounded:
            self._begin(self.targets.dtype, limits)
        self._without: dict[bytes, KrylovFactor] = {}
        self._unsolved: set[float] = set()
        self._shortfall = 0.0
        self._for_folds = min(self._equations.limits.budget, 1e18)  # no infinities to subtract
        self.residual = np.nan  # until there are coefficients to compute it from

    @classmethod
    def build(cls, problem: SolverInput, system: SymmetricSystem | None) -> KrylovFactor:
        """The sequence of the targets; at one given λ all of it, else as far as λ will ask."""
        alpha = problem.alpha
        least = np.inf if isinstance(alpha, str) else float(np.min(alpha))
        limits, rows = problem.limits(), CentredRows.of(problem.X, problem.weighting())
        factor = cls(rows, problem.Y, limits, problem.random_seed(), least)
        if isinstance(alpha, float):
            factor.reach(np.array([alpha]))
        return factor

    def _begin(self, dtype: np.dtype, limits: Limits) -> None:
        """The first steps, which show the largest eigenvalue, in this precision."""
        self._equations = NormalEquations(self.rows.scaled_to_one(dtype), limits)
        right = self._equations.right_hand_side(self._working_targets())
        self._sequence = self._equations.sequence(right)
        with shared_cores():
            for _ in range(min(_FIRST_STEPS, *self.rows.shape, limits.most)):
                self._sequence.advance()
        self.largest = self.in_user_units(self._sequence.largest)
        # λ is compared with the rounding of these products, not of those that check the result
        coarser = float(np.finfo(dtype).eps / np.finfo(self.targets.dtype).eps)
        self.rounded = self.largest * coarser

    @property
    def tolerance(self) -> float:  # type: ignore[override]
        """The relative residual at which the sequence ends."""
        return self._equations.limits.tolerance

    def for_targets(self, Y: Array) -> KrylovFactor:
        """A sequence of their own, which takes as many products as that of these targets."""
        return KrylovFactor(self.rows, Y, self._equations.limits, self._seed)

    def of_some_rows(self, Y: Array, some: Array, most_centers: int) -> KrylovFactor:
        """A sequence of their own."""
        return KrylovFactor(self.rows.restricted(some), Y, self._equations.limits, self._seed)

    @property
    def typical(self) -> float:
        """The mean eigenvalue without those that stand out: what most of the rows differ by."""
        m = min(self.rows.shape)
        trace = float(self.rows.squares().sum())
        outstanding = self._sequence.above(10.0 * trace / m)
        return self.in_user_units(max(trace - outstanding, 0.0) / m)

    def _working_targets(self) -> Array:
        """ỹ (n, t) in the precision of the products, its columns of comparable size."""
        dtype = self._equations.rows.rows.dtype
        if self._scales is None:
            return self.targets.astype(dtype, copy=False)
        return (self.targets / self._scales).astype(dtype)

    def _unscaled(self, values: Array) -> Array:
        """Values (m, t, …) of the targets themselves."""
        if self._scales is None:
            return values
        return values * self._scales.reshape(-1, *(1,) * (values.ndim - 2))

    @property
    def bits(self) -> int:
        return 8 * self._equations.rows.rows.dtype.itemsize

    @cached_property
    def _leverages(self) -> Leverages:
        return leverages_of(self._equations, self._seed)

    @property
    def iterations(self) -> int:  # type: ignore[override]
        """Steps so far: products with X̃ and with X̃ᵀ."""
        return self._sequence.steps

    @property
    def leverages_at_hand(self) -> bool:
        """Whether the probes have been made."""
        return "_leverages" in vars(self)

    @property
    def estimated(self) -> bool:
        """Whether there are more rows than leverages are solved for."""
        return self._leverages.estimated

    @property
    def exhausted(self) -> bool:
        """Whether there were as many steps as there may be."""
        return self.iterations >= self._equations.limits.most

    def reach(self, alphas: Array) -> Array:
        """Make the sequence long enough for ``alphas`` (L,); returns them in its own units."""
        shifts = self.scaled(alphas)
        residual = self._equations.reach(self._sequence, shifts)
        if self._equations.paused:
            self._unsolved.update(
                alphas[self._own_residuals(alphas) > self._equations.limits.tolerance]
            )
            return shifts
        if self._sequence.astray and self.bits < 8 * self.targets.dtype.itemsize:
            limits, self._shortfall = self._equations.limits, 0.0
            vars(self).pop("_leverages", None)
            self._begin(self.targets.dtype, limits)
            residual = self._equations.reach(self._sequence, shifts)
        if residual > self._equations.limits.tolerance:
            self._shortfall = max(self._shortfall, residual)
        return shifts

    @contextmanager
    def as_far_as_it_is(self) -> Iterator[None]:
        everywhere = [self, *self._without.values()]
        for factor in everywhere:
            factor._equations.paused = True
        try:
            yield
        finally:
            for factor in everywhere:
                factor._equations.paused = False

    def reliable(self, alphas: Array) -> Array:
        """Whether they were solved for, or might still win."""
        unsolved = self._unsolved.union(*(rest._unsolved for rest in self._without.values()))
        return ~np.isin(alphas, list(unsolved))

    @property
    def shortfall(self) -> float:
        """The largest relative residual that a sequence of a fold, or of the targets, ended at.

        Zero if all came within the tolerance.
        """
        return max([self._shortfall, *(rest.shortfall for rest in self._without.values())])

    def residuals(self, alphas: Array) -> Array:
        """The largest relative residual of a target, or of one in a fold, at ``alphas`` (L,)."""
        asked = self._without.values() or [self]
        return np.max([one._own_residuals(alphas) for one in asked], axis=0)

    def _own_residuals(self, alphas: Array) -> Array:
        return self._sequence.residuals(self.scaled(alphas)).max(axis=0)

    def settle(self) -> None:
        """Rows are copied; nobody watches any more, and what folds needed is given up."""
        self._without.clear()
        self.rows = self.rows.owned()
        self._equations.settle()

    def chunks(self, alphas: Array, *, held: bool) -> list[Array]:
        """As many λ at once as there is room for: vectors that were not kept are made once more."""
        columns = max(self.targets.shape[1], PROBES)
        allowed = _SHARE * self._equations.limits.budget / self._equations.rows.rows.dtype.itemsize
        room = min(max(allowed, 0.0), _PATH_NUMBERS)
        size = max(1, min(alphas.size, int(room / max(1, max(self.rows.shape) * columns))))
        return [alphas[piece] for piece in blocks(alphas.size, size)]

    @property
    def costs_again(self) -> bool:
        """Whether vectors have to be made again."""
        probed = self.leverages_at_hand
        return not (self._sequence.all_kept and (not probed or self._leverages.all_kept))

    def visit(self, alphas: Array, visitor: Visitor, sample: Array | None = None) -> None:
        shifts = self.reach(alphas)
        show = shown_of(sample, visitor)
        complements = self._leverages.complements(shifts)
        self._equations.left_over(
            self._sequence,
            self._working_targets(),
            shifts,
            lambda rows, left: show(rows, self._unscaled(left), complements[rows]),
        )

    def estimates_without(self, alphas: Array) -> list[Array]:
        return self._leverages.without_group(self.scaled(alphas))

    def degrees_of_freedom(self, alphas: Array) -> Array:
        """An estimate: n − Σ(1 − h) by random probes."""
        return self.n - self._leverages.traces(self.scaled(alphas))

    def doubtful(self, alpha: float) -> Array:
        return self._leverages.doubtful(self.scaled(np.array([alpha])))[:, 0]

    def errors_without(self, alphas: Array, removed: Array) -> Array:
        """By a sequence of their own, for the other rows; it is kept for further λ."""
        key = removed.tobytes()
        if key not in self._without:
            self._without[key] = self._fit_without(removed)
        rest = self._without[key]
        shifts = rest.reach(alphas)
        weights = rest._sequence.weights(shifts)
        t, L = weights.shape[1:]
        solutions = rest._sequence.combined(weights).reshape(-1, t * L)
        V = rest._equations.hyperplanes(solutions).astype(self.targets.dtype, copy=False)
        values = rest.rows.like(self.rows.rows[removed], V)
        values = rest._unscaled(values.reshape(-1, t, L))
        values += rest.means[:, None].astype(values.dtype)
        errors = self._Y[removed, :, None] - values
        root = self.weighting.root
        return errors if root is None else errors * root[removed, None, None]

    def _fit_without(self, removed: Array) -> KrylovFactor:
        kept = np.delete(np.arange(self.n), removed)
        rows = CentredRows.of(self.rows.rows[kept].X, self.weighting.restricted(kept))
        least = 0.0 if self.bits == 64 else np.inf
        share = _FOLD_SHARE * self._for_folds
        self._for_folds -= share
        limits = replace(self._equations.limits, budget=share)
        return KrylovFactor(rows, self._Y[kept], limits, self._seed, least)

    def coefficients(self, alphas: Array) -> tuple[Array, Array]:
        """Certified: the residual is computed from the solution, not from the recurrences."""
        shifts = self.reach(alphas)
        solutions = self._unscaled(self._sequence.at_own(shifts)).astype(self.targets.dtype)
        V, left = self._checked(solutions, shifts)
        self.residual = self._relative(left)
        for _ in range(_CORRECTIONS):
            if self.residual <= self._equations.limits.tolerance or self.exhausted:
                break
            corrected = solutions + self._correction(left, shifts)
            V_new, left = self._checked(corrected, shifts)
            residual = self._relative(left)
            if not residual < 0.9 * self.residual:  # rounding is the limit
                break
            solutions, V, self.residual = corrected, V_new, residual
        return self.rows.hyperplane(V, self.means)

    def _checked(self, solutions: Array, shifts: Array) -> tuple[Array, Array]:
        """Hyperplanes (d, t), and what is left of the right-hand sides with λ (t,) each."""
        shifted = solutions * shifts.astype(solutions.dtype)
        if self._equations.dual:
            V = self._hyperplanes(solutions)
            return V, self.targets - self.rows.times(V) - shifted
        left = self.rows.transposed_times(self.targets - self.rows.times(solutions))
        return solutions, left - shifted

    def _hyperplanes(self, solutions: Array) -> Array:
        """X̃ᵀc (d, t), in single precision where its rounding is nothing beside the tolerance."""
        dtype = self._equations.rows.rows.dtype
        if self._scales is not None or self._equations.limits.tolerance < _COARSE:
            return self.rows.transposed_times(solutions)
        return self._equations.hyperplanes(solutions.astype(dtype)).astype(solutions.dtype)

    def _correction(self, left: Array, shifts: Array) -> Array:
        """The solution for what is left: in single precision recurrences and truth part ways."""
        sizes = _norms(left)
        sizes[sizes == 0.0] = 1.0
        again = self._equations.sequence((left / sizes).astype(self._equations.rows.rows.dtype))
        self._equations.reach(again, shifts, 0.1 * self._equations.limits.tolerance / self.residual)
        return again.at_own(shifts) * sizes.astype(left.dtype)

    def _relative(self, left: Array) -> float:
        whole = self._unscaled(self._sequence.norms[None])[0]
        return float(np.max(_norms(left) / np.where(whole > 0, whole, 1.0)))

    def error_estimate(self, alpha: float) -> float:
        scaled = float(self.scaled(alpha))
        if scaled == 0.0:
            return np.inf
        eps = float(np.finfo(self.targets.dtype).eps)  # of the products that check the result
        return eps * (self._sequence.largest + scaled) / scaled

    def _unconverged(
        self, alphas: Array, tolerance: float, compared: Array | None
    ) -> Unconverged | None:
        # what is lost by rounding is reported as that
        reachable = max(tolerance, 10.0 * self.error_estimate(float(alphas.min())))
        if self.residual > reachable:
            return Unconverged("krylov", self.iterations, self.residual)
        if compared is None:
            return None
        if not self.exhausted:
            short = self.shortfall
            return Unconverged("krylov", self.iterations, short, in_fold=True) if short else None
        # those that could not win any more were not solved for
        residuals = self.residuals(compared)[self.reliable(compared)]
        unsolved = int(np.count_nonzero(residuals > tolerance))
        if not unsolved:
            return None
        worst = float(residuals.max())
        return Unconverged(
            "krylov", self.iterations, worst, compared=compared.size, unsolved=unsolved
        )

    def energies(self, alphas: Array) -> Array:
        shifts = self.reach(alphas)
        energies = self._unscaled(self._unscaled(self._sequence.energies(shifts)[None]))[0]
        if not self._equations.dual:  # (ỹᵀỹ − gᵀ(X̃ᵀX̃ + λ)⁻¹g) / λ
            squares = np.square(self.targets, dtype=np.float64).sum(axis=0)
            energies = np.maximum(squares[:, None] - energies, 0.0) / shifts
        return energies / self.rows.unit / self.rows.unit

    def log_determinants(self, alphas: Array) -> Array:
        msg = (
            "krylov knows no determinant, and so no likelihood: fit with another solver "
            '("gram", "spectral", "cholesky") that the plan shows to fit in memory'
        )
        raise AttributeError(msg)

    # --- new rows ---

    def sensitivities(self, alpha: float, queries: Any, some: Array | None = None) -> Array:
        found = self._new_rows().sensitivities(self.scaled(np.array([alpha])), queries)
        return self._with_mean(found if some is None else found[some], some)

    def sensitivity_functions(self, alpha: float, some: Array) -> Functions | None:
        """**Cost**: that of a fit to q targets; None for more features than rows."""
        if self._equations.dual:
            return None
        V = self._new_rows().hyperplanes(self.scaled(np.array([alpha])), self.rows.rows[some].X)
        if self.weighting.root is not None:
            V *= np.square(self.weighting.root[some])
        return self.rows.hyperplane(V, self._shares_of_mean(some))

    def variances(self, alpha: float, queries: Any, prior: Array) -> Array:
        left = self._new_rows().leftovers(self.scaled(np.array([alpha])), queries)
        return self.rows.unit**2 * left + self._variance_of_mean(alpha)

    def _new_rows(self) -> NewRows:
        return NewRows(self._equations, self.rows)


def _norms(columns: Array) -> Array:
    """Norms of columns (m, t), in float64."""
    return np.sqrt(np.einsum("ij,ij->j", columns, columns, dtype=np.float64))


def _scales(targets: Array) -> Array | None:
    """What columns (n, t) are divided by, (t,); None where they are of comparable size as it is."""
    norms = _norms(targets)
    norms = np.where(norms > 0.0, norms, 1.0)
    spread = norms.max() / norms.min()
    return None if spread < _COMPARABLE else np.exp2(np.round(np.log2(norms)))


# Steps of a Krylov sequence that are expected: at one λ, and down to the smallest of several.
_EXPECTED_STEPS = (25, 60)


def krylov_cost(task: Task) -> Candidate:
    """Conjugate gradients for all λ at once; how many steps they take, only the data know."""
    n, d, t = task.n, task.occupied or task.d, task.t
    alone = task.alphas == 1
    steps = _EXPECTED_STEPS[not alone]
    probed = not alone and not task.folds
    sequences = max(1, task.folds + (not alone and task.folds > 0))

    def products(columns: int, count: float) -> list[Work]:
        flops = 4.0 * count * task.numbers * columns
        kind = "sparse" if task.sparse else "product"
        size = float(columns)
        rest = Work("pass", 12.0 * count * min(n, d) * columns * task.itemsize, n, task.bits)
        return [counted(task, kind, flops, size), rest, Work("call", 2.0 * count, 1, task.bits)]

    sequence = products(t, float(steps * sequences))
    if probed:
        sequence += products(PROBES, float(steps))
    work = [
        *during("factorisation" if alone else "path", sequence),
        *during("coefficients", products(t, 1.0)),
    ]
    form = "conjugate gradients" if alone else "conjugate gradients, every alpha"
    if task.folds:
        form += ", once per fold" if task.folds > 1 else ", without the held-out rows first"
    elif probed and n > FEW_ROWS:
        form += f"; leave-one-out estimated by {PROBES} random probes"
    refused = ""
    if task.likelihood:
        refused = "it knows no determinant, and so no likelihood"
    elif task.unregularised:
        refused = "it needs an alpha above zero"
    columns = t + PROBES
    rows = task.row_bytes * (task.folds > 0)
    if not task.streamed:
        rows += task.row_bytes * (task.copied + task.kept)
    least = rows + task.itemsize * (8.0 * (n + d) * max(t, PROBES) + columns_of(task))
    kept = task.row_bytes * task.sparse + task.itemsize * min(n, d) * float(steps * columns)
    return Candidate("krylov", tuple(work), least + kept, form, refused, least)


# Numbers of new rows that are dense at a time.
_DENSE_NUMBERS = 4_194_304


class NewRows:
    """Answers about new rows (m, d), a few of them at a time.

    Parameters
    ----------
    equations : NormalEquations
        In the precision of the products.
    rows : CentredRows
        The rows of the fit in their own.

    Notes
    -----
    **Cost**: as a fit to as many targets as there are new rows.
    """

    def __init__(self, equations: NormalEquations, rows: CentredRows) -> None:
        self._equations = equations
        self._rows = rows

    def sensitivities(self, shifts: Array, queries: Any) -> Array:
        """X̃(X̃ᵀX̃ + λ)⁻¹x at one λ (1,) → (n, m)."""
        found = np.empty((self._rows.shape[0], queries.shape[0]), self._rows.rows.dtype)
        for columns, start, sequence in self._sequences(shifts, queries):
            solutions = sequence.at_own(np.repeat(shifts, start.shape[1]))
            dual = self._equations.dual
            found[:, columns] = solutions if dual else self._equations.rows.times(solutions)
        return found

    def hyperplanes(self, shifts: Array, queries: Any) -> Array:
        """(X̃ᵀX̃ + λ)⁻¹x at one λ (1,) → (d, m), where there are no more features than rows."""
        found = np.empty((self._rows.shape[1], queries.shape[0]), self._rows.rows.dtype)
        for columns, start, sequence in self._sequences(shifts, queries):
            found[:, columns] = sequence.at_own(np.repeat(shifts, start.shape[1]))
        return found

    def leftovers(self, shifts: Array, queries: Any) -> Array:
        """λ xᵀ(X̃ᵀX̃ + λ)⁻¹x at one λ (1,) → (m,): what the rows of the fit leave unknown."""
        found = np.empty(queries.shape[0])
        squares = self._rows.squares_of(queries)
        for columns, start, sequence in self._sequences(shifts, queries):
            energies = sequence.energies(shifts)[:, 0]
            if self._equations.dual:  # it is |x|² − (X̃x)ᵀ(X̃X̃ᵀ + λ)⁻¹X̃x
                found[columns] = np.maximum(squares[columns] - energies, 0.0)
            else:
                known = np.square(start, dtype=np.float64).sum(axis=0)
                found[columns] = energies * shifts + np.maximum(squares[columns] - known, 0.0)
        return found

    def _sequences(
        self, shifts: Array, queries: Any
    ) -> Iterator[tuple[slice, Array, LanczosSequence]]:
        """Which rows, as X̃x (n, b), or x (d, b), and their sequence, long enough for λ."""
        equations = self._equations
        for columns in blocks(queries.shape[0], max(1, _DENSE_NUMBERS // max(self._rows.shape))):
            x = self._rows.centred_like(queries[columns]).T.astype(equations.rows.rows.dtype)
            start = equations.rows.times(x) if equations.dual else x
            sequence = equations.sequence(start)
            equations.reach(sequence, shifts)
            yield columns, start, sequence
