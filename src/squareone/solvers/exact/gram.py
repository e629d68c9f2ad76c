"""``gram``: the eigendecomposition of X̃ᵀX̃, with leverages by a second pass over the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...arrays import Array, times
from ...decompositions import LARGEST_EIGENPROBLEM, eigh
from ...rows import Rows
from ...rows.base import gram_blocks
from ..basis_factor import differences, gram_by_blocks, residuals_of
from ..contract import (
    PATH_BLOCK,
    BlockQuestion,
    Candidate,
    Factor,
    SolverInput,
    Summarise,
    Task,
    Visitor,
    Work,
)
from ..cost_counts import (
    SPARSE_ROW,
    columns_of,
    counted,
    during,
    path_numbers,
    path_work,
    row_visits,
    scoring_stage,
)
from .feature_matrix import CentredRows, FeatureFactor, centred_products
from .folds import errors_of_thin_basis
from .ridge import RidgeFactor
from .spectral import SpectralFactor, spectral_cost
from .symmetric_system import SymmetricSystem


class GramFactor(FeatureFactor, RidgeFactor):
    """The features are those of the rows, X̃.

    For n > d and features in good condition: forming a Gram matrix squares the condition, and
    here 1 − h is a difference, so rows of leverage near one lose digits.

    **Cost**: nd² + 9d³ flops and d² numbers once, in one pass over the rows; a second pass, nd²
    and then nd(t + 1) multiplications per λ, for the leverages.
    """

    #: Rows of A as workers keep them while they are asked.
    _held: Any = None

    def __init__(self, rows: CentredRows, Y: Array) -> None:
        self.rows = rows
        self.weighting = rows.weighting
        self.targets, self.means = self.weighting.targets(Y)
        values, vectors = eigh(rows.gram())
        self.squares = np.maximum(values, 0.0)
        self.axes = np.ascontiguousarray(vectors.astype(self.targets.dtype))
        self._project()
        self.alpha_units = rows.alpha_units
        self.largest = self.rounded = self.in_user_units(float(np.max(self.squares, initial=0.0)))

    def _project(self) -> None:
        self.projections = self.axes.T @ self.rows.transposed_times(self.targets)
        self._set_base()

    def of_some_rows(self, Y: Array, some: Array, most_centers: int) -> GramFactor:
        return GramFactor(self.rows.restricted(some), Y)

    @classmethod
    def build(cls, problem: SolverInput, system: SymmetricSystem | None) -> Factor:
        """Of XᵀX; of XXᵀ, which is the kernel matrix, where that is smaller."""
        if system is not None:
            return SpectralFactor.build(problem, system)
        return cls(CentredRows.of(problem.X, problem.weighting()), problem.Y)

    def taken(self, rows: slice | Array) -> Rows:
        return self.rows.rows[rows]

    def passes(self) -> Iterator[tuple[slice, Rows]]:
        return self.rows.passes()

    def block_times(self, V: Array, block: Rows, rows: slice | Array) -> Array:
        return self.rows.block_times(V, block, rows)

    def other_times(self, X: Any, V: Array) -> Array:
        return self.rows.like(X, V)

    def summaries(
        self,
        alphas: Array,
        summarise: Summarise,
        chosen: Array,
        sample: Array | None = None,
        look: Visitor | None = None,
    ) -> list[Any]:
        rows: Any = self.rows.rows
        if sample is not None or look is not None or not rows.by_tasks:
            return super().summaries(alphas, summarise, chosen, sample, look)
        F = self.filters(alphas)
        filtered, least = self._filtered(F), self.least_difference
        ask = partial(_summary_of_block, F=F, filtered=filtered, least=least, summarise=summarise)
        size = max(64, PATH_BLOCK // max(F.shape[0], filtered.shape[1]))
        answers = [answer for _, answer in self._answers(ask, self._beside(chosen), size)]
        self._remember_least(alphas, [least for least, _ in answers])
        return [found for _, found in answers]

    def left_out_by_target(self, alphas: Array) -> Array:
        rows: Any = self.rows.rows
        if not rows.by_tasks:
            return super().left_out_by_target(alphas)
        ask, size = self._errors(alphas)
        result = np.empty((self.n, alphas.size), self.targets.dtype)
        for part, found in self._answers(ask, self._beside(), size):
            result[part] = found
        return result

    def errors_of_blocks(self, alphas: Array) -> BlockQuestion:
        ask, size = self._errors(alphas)
        ask = partial(_ask_of_view, self._view_of_block, ask)
        return BlockQuestion(self.rows.rows, ask, self._beside(), size)

    def _errors(self, alphas: Array) -> tuple[Callable[..., Array], int]:
        """What gives errors of rows of A with one λ for each target, and how many are asked."""
        distinct, which = np.unique(alphas, return_inverse=True)
        F, which = self.filters(distinct), which.reshape(-1)
        filtered, least = self.projections * F[:, which], self.least_difference
        ask = partial(_errors_of_block, F=F, filtered=filtered, least=least, which=which)
        return ask, max(64, PATH_BLOCK // max(F.shape[0], alphas.size))

    @property
    def _view_of_block(self) -> Callable[[Rows, Array | None], Array]:
        """What makes rows of A of a block."""
        return partial(centred_products, self.axes, self.rows.mean, self.rows.unit)

    def _answers(
        self, ask: Callable[..., Any], beside: Sequence[Array | None], size: int
    ) -> Iterator[tuple[slice, Any]]:
        """What ``ask`` answers of rows of A (b, k), in blocks, wherever the rows are.

        Workers keep A between these questions, if they have room for it: making it takes longer
        than they do.
        """
        rows: Any = self.rows.rows
        view = self._view_of_block
        if self._held is None or self._held.size != size or not self._held.there:
            needed = float(self.n) * self.axes.shape[1] * self.axes.itemsize
            self._held = rows.held(size, needed, view, [self.weighting.root])
        if self._held is None:
            return rows.answers(partial(_ask_of_view, view, ask), beside, size)
        return self._held.answers(ask, beside)

    def _beside(self, *more: Array) -> tuple[Array | None, ...]:
        return self.weighting.root, self.targets, self.base_complements, *more

    def settle(self) -> None:
        self.rows, self._held = self.rows.owned(), None

    def errors_without(self, alphas: Array, removed: Array) -> Array:
        A, residuals = self._fitted(alphas, removed)
        scale = np.sqrt(-self.filters(alphas))
        penalty = (self.scaled(alphas) * np.square(scale, dtype=np.float64)).astype(scale.dtype)
        kept = np.delete(np.arange(self.n), removed)
        u = self.weighting.direction
        if u is None:
            rest = gram_by_blocks(self.basis, kept, A.shape[1])
        else:  # u: fitted in full, no penalty
            ones = np.ones((1, alphas.size), scale.dtype)
            scale, penalty = np.vstack([ones, scale]), np.vstack([0 * ones, penalty])
            A = np.column_stack([u[removed], A])
            rest = gram_by_blocks(
                lambda rows: np.column_stack([u[rows], self.basis(rows)]), kept, A.shape[1]
            )
        return errors_of_thin_basis(A, rest, scale, penalty, residuals)

    def coefficients(self, alphas: Array) -> tuple[Array, Array]:
        return self.rows.hyperplane(
            self.axes @ (-self.filters(alphas) * self.projections), self.means
        )

    def variances(self, alpha: float, queries: Array, prior: Array) -> Array:
        left = self.rows.leftover_variances(queries, self.axes, self.gains(alpha), alpha)
        return left + self._variance_of_mean(alpha)


def _ask_of_view(
    view: Callable[[Rows, Array | None], Array],
    ask: Callable[..., Any],
    block: Rows,
    root: Array | None,
    *beside: Array | None,
) -> Any:
    """What ``ask`` answers of rows of A (b, k), which ``view`` makes."""
    return ask(view(block, root), root, *beside)


def _summary_of_block(
    A: Array,
    root: Array | None,
    targets: Array,
    base: Array,
    chosen: Array,
    *,
    F: Array,
    filtered: Array,
    least: float,
    summarise: Summarise,
) -> tuple[Array, Any]:
    """The least complements (L,) of rows of A, and what is made of errors without each."""
    errors = residuals_of(A, filtered, targets.shape[1], targets)
    complements = differences(A, F, base, least)
    errors /= complements[:, None, :]
    return complements.min(axis=0), summarise(errors, root, chosen)


def _errors_of_block(
    A: Array,
    root: Array | None,
    targets: Array,
    base: Array,
    *,
    F: Array,
    filtered: Array,
    least: float,
    which: Array,
) -> Array:
    """Errors (b, t) without each of the rows of A, where each target has one of the λ."""
    errors = times(A, filtered)
    errors += targets
    return errors / differences(A, F, base, least)[:, which]


def gram_cost(task: Task) -> Candidate:
    """Of XᵀX, or XXᵀ where that is smaller."""
    n, d, m = task.n, task.d, task.largest_fold
    if n <= d:
        return replace(spectral_cost(task), solver="gram", form="eigendecomposition of XXᵀ")
    visits = row_visits(task)
    first, turning, kind = 1.0 * n * d * d, 2.0 * n * d * d, "gram"
    if task.sparse:
        first, turning, kind = 2 * SPARSE_ROW * task.stored**2 / n, 2.0 * task.stored * d, "sparse"
    factorisation = [counted(task, kind, first, d), counted(task, "eigh", 9.0 * d**3, d, 64)]
    # the second pass is repeated for every visit, of which the last is that of the best λ
    second = counted(task, kind, turning, d, times=max(visits - 1.0, 0.0))
    last = Work(kind, turning * (visits > 0), d, task.bits, stage="leave-one-out values")
    work = (
        *during("factorisation", factorisation),
        *during(scoring_stage(task), [second]),
        last,
        *path_work(task, n, d),
    )
    refused = (
        "" if d <= LARGEST_EIGENPROBLEM else f"LAPACK stops at {LARGEST_EIGENPROBLEM:,} features"
    )
    block, sums = gram_blocks(n, d)
    summing = (sums + 1.0 + task.threads) * d * d + 3.0 * task.threads * min(n, block) * d
    folds = 3.0 * m * (d + 1) + 6.0 * (d + 1) ** 2 if m else 0.0
    # for what is asked later; what is read block by block is read again
    rows = 0.0 if task.streamed else task.row_bytes * (task.copied + task.kept)
    path = 2.0 * d * d + path_numbers(task, d) + folds
    needed = max(summing, 4.0 * d * d, path)
    return Candidate(
        "gram",
        work,
        8.0 * needed + rows + task.itemsize * columns_of(task),
        "eigendecomposition of XᵀX, two passes",
        refused,
    )
