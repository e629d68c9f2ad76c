"""A kernel that a fit has chosen or whose metric it has learned, and what that leaves to answer.

The rows from which a metric was learned, the pool, are at most 6,000. Left-out values of rows
outside of it are those of the leave-one-out models at the final metric, which has not seen these
rows. Rows of the pool have values of models that have learned everything, the metric too, without
their fold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ..arrays import Array
from ..centers import Given
from ..kernels import Kernel, Linear
from ..models import Hyperplane, KernelExpansion
from ..rows import rows_of
from ..rows.checks import in_memory
from ..rows.stream_views import kept_rows
from ..selection import Objective
from ..solvers.registry import SOLVERS
from ..targets import Responses
from .kernel_choice import (
    POOL_ROWS,
    AsTheyAre,
    FitWithCenters,
    FoldModel,
    KernelChoice,
    Preparation,
    chains_of,
    choose_kernel,
)
from .problem import Problem
from .progress import Progress
from .request import FitRequest, KernelSearch, RequestedCenters

#: From a problem to its solution, which has a ``model``.
Solve = Callable[[Problem], Any]

#: Columns of what was tried, as they stand in ``path_``.
TRIALS = (
    "kernel",
    "preparation",
    "power",
    "rounds",
    "rows",
    "score",
    "standard_error",
    "stage",
    "chosen",
)
#: Features and rows a metric is learned of: so many at most, so many at least.
MOST_FEATURES, FEWEST_ROWS = 2000, 6


def check_solver(solver: str) -> None:
    """Refuse a solver that fits other rows than those whose values are known from folds."""
    if solver in SOLVERS and SOLVERS[solver].handed_on:
        msg = (
            f'solver="{solver}" fits the rows that are centers alone, and the kernel is chosen '
            "among all: fit the rows you want, or use another solver with these centers"
        )
        raise ValueError(msg)


def check_rows(X: Any, n: int, search: KernelSearch) -> None:
    """Refuse rows among which nothing can be chosen; ``n`` have a positive weight."""
    if rows_of(X).sparse:
        msg = (
            f"X is a sparse matrix of {X.shape[1]:,} features, and a metric has a number for every "
            'pair of them: use kernel="linear" or another kernel without a learned metric'
        )
        raise ValueError(msg)
    if search.learned and X.shape[1] > MOST_FEATURES:
        msg = (
            f"X has {X.shape[1]:,} features, and a metric is learned of at most "
            f"{MOST_FEATURES:,}: use a kernel without one, or fewer features (PCA, for instance)"
        )
        raise ValueError(msg)
    if n < FEWEST_ROWS:
        msg = (
            "the kernel, its metric and the encoder of a table are chosen by folds, which need at "
            f"least {FEWEST_ROWS} rows of positive weight, got n_samples = {n}: use RLSRegressor "
            "or RLSClassifier with a kernel without a learned metric, for a table in a pipeline "
            "behind TableEncoder()"
        )
        raise ValueError(msg)


@dataclass(frozen=True)
class LearnedKernel:
    """What the choice of a kernel has left behind.

    Attributes
    ----------
    preparation : int
        Of the rows; zero where they are numbers already.
    power : float
        Of the metric; zero where there is none to learn.
    rounds : int
    score : array (1,) or (t,)
        Of the values of folds; one per target where each has a λ of its own.
    trials : dict of array (q,)
        What was tried; see :data:`TRIALS`.
    pool : array (p,)
        Rows of the fit that were looked at, ascending.
    rows : array (m,)
        Rows of the fit whose values are known from folds, ascending.
    values : array (m, t)
        In the units of the targets.
    folds : array (m,)
        The fold of each.
    models : list of FoldModel
        Their rows are numbers of the pool.
    """

    preparation: int
    power: float
    rounds: int
    score: Array
    trials: dict[str, Array]
    pool: Array
    rows: Array
    values: Array
    folds: Array
    models: list[FoldModel]

    @classmethod
    def of(cls, choice: KernelChoice, pool: Array, score: Array) -> LearnedKernel:
        """From a choice among the rows ``pool`` (p,) of the fit."""
        trials, fresh = choice.trials, choice.fresh
        columns = zip(
            *(
                (
                    str(trial.kernel),
                    trial.preparation,
                    trial.power,
                    trial.rounds,
                    trial.rows,
                    trial.score,
                    trial.standard_error,
                    trial.stage,
                    trial is choice.best,
                )
                for trial in trials
            ),
            strict=True,
        )
        return cls(
            preparation=choice.best.preparation,
            power=choice.best.power,
            rounds=choice.best.rounds,
            score=score,
            trials=dict(zip(TRIALS, map(np.array, columns), strict=True)),
            pool=pool,
            rows=pool[fresh.rows],
            values=fresh.values,
            folds=fresh.folds,
            models=fresh.models,
        )

    def unseen(self, n: int) -> Array:
        """Rows of ``n`` that the choice has not looked at."""
        return np.setdiff1d(np.arange(n), self.pool)

    @property
    def has_seen_rows(self) -> bool:
        """Whether a row has taught more than coefficients: a metric, or how rows are prepared."""
        prepared = any(model.rows is not None for model in self.models)
        return self.rounds > 0 or prepared or not self.models

    def judged_by_folds(self, n: int) -> bool:
        """Whether left-out values are those of folds: too few of ``n`` rows are outside."""
        return self.has_seen_rows and n < 2 * self.pool.size

    def fold_expansions(self, X: Array) -> list[KernelExpansion | Hyperplane]:
        """The models of the folds, for rows ``X`` (n, d) of the fit, or those they have kept."""
        found: list[KernelExpansion | Hyperplane] = []
        for model in self.models:
            if isinstance(model.kernel, Linear):
                found.append(Hyperplane(model.coefficients, model.intercepts))
                continue
            rows = self.pool[model.train]
            own = X[rows] if model.rows is None else model.rows
            found.append(
                KernelExpansion(model.kernel, own, rows, model.coefficients, model.intercepts)
            )
        return found


def with_chosen_kernel(
    request: FitRequest, progress: Progress, solve: Solve
) -> tuple[FitRequest, LearnedKernel, dict[str, float]]:
    """The request for the kernel that is best by folds; also the seconds of the choice.

    ``solve`` fits where only some points are centers.
    """
    search = request.search
    assert search is not None
    pool = np.arange(request.kept.size)
    if pool.size > POOL_ROWS:
        pool = np.sort(request.rng.choice(pool.size, POOL_ROWS, replace=False))
    problem = _pool_problem(request, pool, progress)
    preparations: Sequence[Preparation] = [AsTheyAre(problem.X)]
    if search.preparations is not None:
        preparations = search.preparations(request.kept[pool])
    chains = chains_of(search.kernels, len(preparations), learned=search.learned)
    choice = choose_kernel(
        problem, preparations, chains, request.kept.size, _with_centers(request, pool, solve)
    )
    if search.preparations is not None and not _ask_for_folds(request, pool):
        choice = replace(choice, fresh=replace(choice.fresh, models=[]))
    score = _score(problem, choice, per_target=request.per_target)
    learned = LearnedKernel.of(choice, pool, score)
    if search.prepared is not None:
        by_folds = learned.judged_by_folds(request.kept.size)
        taught = None if by_folds else request.kept[pool]
        request = replace(request, X=search.prepared(choice.best.preparation, taught))
    request = replace(
        request, kernel=choice.kernel, search=None, pool=pool, near_alpha=choice.alpha
    )
    return request, learned, problem.stages


def _ask_for_folds(request: FitRequest, pool: Array) -> bool:
    """Whether models of folds, each with rows prepared by itself, serve intervals of the CV+."""
    return isinstance(request.targets, Responses) and request.kept.size < 2 * pool.size


def _with_centers(request: FitRequest, pool: Array, solve: Solve) -> FitWithCenters | None:
    """How some rows of the pool are fitted where not all rows of the fit will be centers."""
    selector = request.selector(request.plan())
    if selector is None:
        return None
    asked = request.centers

    def fit(train: Array, X: Array, kernel: Kernel) -> KernelExpansion | Hyperplane:
        own = selector
        if not isinstance(selector, Given) and selector.count > train.size:
            own = clone(selector).set_params(count=train.size)
        count = asked.count if isinstance(own, Given) else int(own.count)
        alone = replace(
            _request_for(request, pool[train], X),
            kernel=kernel,
            criterion=request.criterion.restricted(pool[train]),
            keep_factor=False,
            centers=RequestedCenters(own, count, False, request.solver, None, None),
        )
        return solve(Problem.of(alone, alone.plan(), Progress.silent())).model

    return fit


def _request_for(request: FitRequest, rows: Array, X: Array) -> FitRequest:
    """For some rows of the fit, which are X as numbers, with nothing to choose or to keep."""
    rows = request.kept[rows]
    return replace(
        request,
        X=X,
        columns=request.columns[rows],
        weights=None if request.weights is None else request.weights[rows],
        user_weights=None if request.user_weights is None else request.user_weights[rows],
        kept=np.arange(rows.size),
        scorer=None,
        search=None,
        checkpoint=None,
    )


def _score(problem: Problem, choice: KernelChoice, *, per_target: bool) -> Array:
    """Of the values of fresh folds: minus the mean square error, or that of the scorer."""
    rows, values = choice.fresh.rows, choice.fresh.values
    t, scorer = values.shape[1], problem.objective.scorer
    if scorer is not None:
        columns = range(t) if per_target else [None]
        return np.array([scorer(rows, values, lambda: values, j) for j in columns])
    errors = problem.Y[rows] * problem.unit - values
    weights = None if problem.weights is None else problem.weights[rows]
    squares = np.average(np.square(errors, dtype=np.float64), axis=0, weights=weights)
    return -squares if per_target else -squares.mean(keepdims=True)


def _pool_problem(request: FitRequest, pool: Array, progress: Progress) -> Problem:
    """The problem of some rows of the fit, in memory, all of them centers."""
    rows = request.kept[pool]
    X = kept_rows(request.X, rows, given=False)
    alone = replace(
        _request_for(request, pool, in_memory(X)),
        criterion=request.criterion.restricted(pool),
        solver="auto",
        centers=RequestedCenters(None, 0, False, "auto", None, None),
    )
    problem = Problem.of(alone, alone.plan(), progress)
    unit = problem.unit
    whole = Objective(
        request.criterion.in_units(unit),
        request.columns[request.kept] / unit,
        unit,
        request.scorer,
        per_target=False,
    )
    return replace(problem, objective=whole.restricted(pool))
