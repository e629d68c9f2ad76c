"""The request of a fit: what the user asked for, checked and immutable."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from ..arrays import Array
from ..centers import Given, KMeans, Selector, Uniform, selector_from
from ..devices import HOST, Place
from ..kernels import Gaussian, Kernel, Laplacian, Linear, Matern, Precomputed
from ..kernels.names import kernel_from, other_kernels
from ..kernels.stationary import Stationary
from ..kernels.widths import free_width
from ..planning import Plan, choose_centers, make_plan
from ..planning.available_memory import memory_limit as bytes_allowed
from ..planning.worker_memory import on_workers
from ..rows import Stream, rows_of
from ..selection import Folds, MarginalLikelihood
from ..selection.criteria import Criterion
from ..selection.objective import HeldOutScorer
from ..solvers.contract import Task
from ..solvers.registry import SOLVERS, USUAL_WITH_CENTERS, takes_centers, usual_sample
from ..targets import Labels, Responses
from ..threads import thread_budget

#: Kernels that "auto" chooses among, the simplest first.
FAMILIES: tuple[Kernel, ...] = (
    Linear(),
    Gaussian(),
    Matern(nu=2.5),
    Matern(nu=1.5),
    Matern(nu=0.5),
    Laplacian(),
)


@dataclass(frozen=True)
class RequestedCenters:
    """The parameters ``centers``, ``solver``, ``loo_rows`` and ``time_limit`` of an estimator.

    ``selector`` chooses them; it is None where all rows are centers, or where how many there are is
    still to be chosen, which is ``automatic``. ``count`` is zero in these cases.
    """

    selector: Selector | None
    count: int
    automatic: bool
    solver: str
    loo_rows: int | str | None
    time_limit: float | None

    @classmethod
    def of(
        cls,
        centers: Any,
        selector: Selector | None,
        n: int,
        solver: str,
        loo_rows: int | str | None,
        time_limit: float | None,
    ) -> RequestedCenters:
        """What was asked for as ``centers``, with ``n`` rows; see :func:`selector_of`."""
        automatic = isinstance(centers, str)
        count = 0 if selector is None else _count(centers, selector, n)
        return cls(selector, count, automatic, solver, loo_rows, time_limit)

    def why(self, plan: Plan) -> str:
        """How many centers there are, and why."""
        if not plan.task.centers:
            return 'centers="auto" took all rows, since that fits'
        limits = "" if self.time_limit is None else f" in {self.time_limit:.3g} s"
        text = f'{plan.task.centers:,} centers are what centers="auto" found room and time for'
        if self.time_limit is not None and plan.expected() > 2.0 * self.time_limit:
            text = f"{plan.task.centers:,} centers, the fewest, which need more than was allowed"
        return f"{text}{limits}"

    def planned(self, task: Task, limit: float) -> Task:
        """The number of centers where it is to be chosen, and the rows that are left out."""
        few = task.centers > 0 or takes_centers(self.solver)
        if self.automatic:
            m = choose_centers(task, limit, self.time_limit)
            if not m and few:
                m = task.n
            task = replace(task, centers=m)
            few = m > 0
        if not few:
            return task
        asked = self.loo_rows
        if isinstance(asked, str):
            asked = usual_sample(task.n, self.solver)
        sampled = 0 if asked is None or asked >= task.n else int(asked)
        return replace(task, sampled=sampled)


def selector_of(centers: Any, solver: str) -> Selector | None:
    """What chooses the centers, its parameters checked; None where all rows are."""
    if centers is None or isinstance(centers, str):
        return None
    selector = selector_from(centers)
    selector.check_parameters()
    if isinstance(selector, KMeans) and takes_centers(solver) and SOLVERS[solver].handed_on:
        msg = (
            f'solver="{solver}" fits the rows that are centers, and these centers are means of '
            f'rows: use solver="{USUAL_WITH_CENTERS}", or a selector that chooses rows'
        )
        raise ValueError(msg)
    return selector


def _count(centers: Any, selector: Selector, n: int) -> int:
    """How many were asked for, of ``n`` rows."""
    if isinstance(selector, Given):
        shape = np.shape(selector.points)
        if not shape or shape[0] == 0:
            msg = (
                f"centers of shape {shape} were given: a number of centers, or points (m, d), "
                "at least one, is expected"
            )
            raise ValueError(msg)
        return int(shape[0])
    count = int(selector.count)
    if count > n:
        msg = (
            f"centers={centers!r} asks for {count:,} centers, and there are {n:,} rows of "
            "positive weight: ask for fewer, or for all of them with centers=None"
        )
        raise ValueError(msg)
    return count


@dataclass(frozen=True)
class KernelSearch:
    """Kernels to choose among, by folds that learn everything anew.

    Attributes
    ----------
    kernels : tuple of Kernel
        Without a metric.
    learned : bool
        Whether each is tried with a learned metric, too.
    preparations : callable or None
        From the numbers (p,) of some of the user's rows to the
        :class:`~squareone.fitting.kernel_choice.Preparation` s of these; None where the rows are
        numbers already.
    ways : int
        How many preparations there are.
    prepared : callable or None
        From the number of the best of these, and the rows (p,) that alone may teach it, or None
        for all, to all of the user's rows as numbers (n, d).
    """

    kernels: tuple[Kernel, ...]
    learned: bool = True
    preparations: Callable[[Array], Sequence[Any]] | None = None
    ways: int = 1
    prepared: Callable[[int, Array | None], Array | Stream] | None = None

    @classmethod
    def asked(cls, kernel: Any) -> KernelSearch | None:
        """Which kernels ``kernel=`` asks to choose among; None where it says all by itself."""
        if isinstance(kernel, str) and kernel == "auto":
            return cls(FAMILIES)
        kernel = kernel_from(kernel)
        terms = [kernel, *kernel.get_params(deep=True).values()]
        if not any(isinstance(term, Stationary) and term.learns_metric for term in terms):
            return None
        if not isinstance(kernel, Stationary):
            msg = (
                f"{kernel}: a metric is learned for a kernel by itself, not for a term of a sum or "
                "product, whose gradients are those of the other term as well"
            )
            raise ValueError(msg)
        kernel.check_parameters()
        return cls((clone(kernel).set_params(metric=None),))

    @property
    def stand_in(self) -> Kernel:
        """A kernel that costs what the chosen one may cost."""
        return next((k for k in self.kernels if not isinstance(k, Linear)), self.kernels[0])


@dataclass(frozen=True)
class FitRequest:
    """What a fit was asked for, over all the user's rows.

    Attributes
    ----------
    X : array (n, d), CSR matrix, Stream, or kernel matrix (n, n)
    targets : Responses or Labels
        How y is coded.
    columns : array (n, t)
        y as numbers.
    weights, user_weights : array (n,) or None
        Of the fit, and as they were given, without those of classes.
    class_weights : array (k,) or None
    kept : array
        Numbers of the rows of positive weight.
    kernel : Kernel
        Its width may still be ``"auto"``.
    alpha : float, array or "auto"
    criterion : Criterion
    scorer : callable or None
    per_target : bool
        Whether each target has a λ of its own.
    intercept : bool
    solver : str
        As it was asked for, ``"auto"`` too.
    centers : RequestedCenters
    memory_limit : float, str or None
    keep_factor : bool
    rng : RandomState
    centers_seed : int
        Centers are the same whatever else is drawn.
    tolerance : float
    most_iterations : int
    checkpoint : str, PathLike or None
    left_out_values : {"always", "if not had later", "when asked"}
        When leave-one-out values are computed, beyond those that cost next to nothing.
    search : KernelSearch or None
        Where the kernel is still to be chosen; ``kernel`` then only stands for its cost.
    pool : array (p,) or None
        Rows of the fit among which it was chosen.
    place : Place
        Where kernel matrices are made.
    place_note : str
        What there is to say about that.
    calibrated_by : str or None
        How decision values become probabilities, where they do.
    scale : float or None
        Of the Gaussian process, where it is given.
    near_alpha : float or None
        Where a search for λ alone begins.
    """

    X: Any
    targets: Responses | Labels
    columns: Array
    weights: Array | None
    user_weights: Array | None
    class_weights: Array | None
    kept: Array
    kernel: Kernel
    alpha: float | Array | str
    criterion: Criterion
    scorer: HeldOutScorer | None
    per_target: bool
    intercept: bool
    solver: str
    centers: RequestedCenters
    memory_limit: float | str | None
    keep_factor: bool
    rng: np.random.RandomState
    centers_seed: int
    tolerance: float
    most_iterations: int
    checkpoint: str | os.PathLike[str] | None
    left_out_values: Literal["always", "if not had later", "when asked"] = "when asked"
    search: KernelSearch | None = None
    pool: Array | None = None
    place: Place = HOST
    place_note: str = ""
    calibrated_by: str | None = None
    scale: float | None = None
    near_alpha: float | None = None

    @property
    def given(self) -> bool:
        """Whether X is a kernel matrix."""
        return isinstance(self.kernel, Precomputed)

    def task(self) -> Task:
        """What has to be solved, as far as its cost goes."""
        n, X, alpha = self.kept.size, self.X, self.alpha
        folds = self.criterion if isinstance(self.criterion, Folds) else None
        automatic = isinstance(alpha, str)
        return Task(
            n=n,
            d=n if self.given else X.shape[1],
            t=self.columns.shape[1],
            itemsize=X.dtype.itemsize,
            linear=isinstance(self.kernel, Linear),
            given=self.given,
            alphas="auto" if automatic else int(np.size(alpha)),
            smooth=self.scorer is None and not self.per_target,
            fold_work=folds.work() if folds else 0.0,
            largest_fold=folds.largest() if folds else 0,
            held=self.scorer is not None,
            copied=n < X.shape[0] or isinstance(X, Stream),
            streamed=isinstance(X, Stream),
            threads=thread_budget(),
            width_search=free_width(self.kernel) != "",
            stored=0 if self.given else rows_of(X).stored,
            sparse=not self.given and rows_of(X).sparse,
            occupied=0 if self.given else _occupied(X),
            folds=len(folds.folds) if folds else 0,
            likelihood=isinstance(self.criterion, MarginalLikelihood),
            unregularised=not automatic and float(np.min(alpha)) == 0.0,
            kept=self.keep_factor,
            centers=self.centers.count,
            without_rows=not self.criterion.holds_out,
            per_target=self.per_target,
            device=self.place.name,
        )

    def plan(self) -> Plan:
        """Which solver, and why. Cost: microseconds."""
        centers, limit = self.centers, bytes_allowed(self.memory_limit, self.place)
        task = centers.planned(self.task(), limit)
        plan = make_plan(task, self.solver, limit)
        relevance = task.d > 1 and not task.sparse
        plan = replace(plan, untried=other_kernels(self.kernel, relevance=relevance))
        if isinstance(self.X, Stream):
            plan = on_workers(plan, *self.X.workers())
        if self.place_note:
            plan = replace(plan, reason=f"{plan.reason}; {self.place_note}")
        if centers.automatic:
            plan = replace(plan, reason=f"{plan.reason}; {centers.why(plan)}")
        if self.checkpoint is not None and not plan.task.centers:
            msg = (
                "checkpoint is for fits with centers, and here all rows are: set centers, or leave "
                "checkpoint=None"
            )
            raise ValueError(msg)
        return plan

    def selector(self, plan: Plan) -> Any:
        """What chooses the centers; None where all rows are."""
        if not plan.task.centers:
            return None
        return self.centers.selector or Uniform(plan.task.centers)


def _occupied(X: Any) -> int:
    """Features that occur, where they are few of many; zero otherwise."""
    features = rows_of(X).occupied()
    return 0 if features is None else features.size
