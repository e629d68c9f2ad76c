"""What RLSRegressor and RLSClassifier share: their parameters, and the walk of a fit."""

from __future__ import annotations

import os
from abc import abstractmethod
from copy import deepcopy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import get_config
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ..arrays import Array
from ..centers import Selector, Uniform
from ..centers.chosen_centers import draw_rows
from ..fitting.problem import Problem, Request
from ..fitting.result import Record
from ..fitting.scoring import held_out_scorer
from ..kernels import Gaussian, Kernel, Linear
from ..kernels.names import BY_NAME, kernel_from
from ..kernels.widths import free_width
from ..planning.memory import memory_limit as bytes_allowed
from ..rows import Stream, rows_of
from ..selection import (
    Folds,
    GeneralisedCrossValidation,
    LeaveOneOut,
    MarginalLikelihood,
    folds_from_splits,
)
from ..selection.criteria import Criterion
from ..solvers import Plan, Task, make_plan
from ..targets import Labels, Responses
from ..threads import thread_budget
from . import validation
from .asked_centers import AskedCenters
from .callbacks import CallbackSupport, fit_progress
from .fit_data import read
from .parameter_validation import CRITERIA, SOLVERS, WITHOUT_ROWS, check_consistency
from .subset import reduced
from .walk import solve
from .written import Written

# Flops of each thread that take more than a second everywhere: progress is shown from the start.
_LENGTHY = 1.5e11

#: Iterations where ``max_iter`` says nothing.
MOST_ITERATIONS = 1000


def _occupied(X: Any) -> int:
    """Features that occur, where they are few of many; zero otherwise."""
    features = rows_of(X).occupied()
    return 0 if features is None else features.size


class RegularisedLeastSquares(CallbackSupport, Written):
    """The common part of the estimators; not for use by itself."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(BY_NAME)), Kernel],
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left"), "array-like"],
        "solver": [StrOptions(set(SOLVERS))],
        "centers": [
            None,
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            Selector,
            "array-like",
            "sparse matrix",
        ],
        "criterion": [StrOptions(set(CRITERIA))],
        "cv": [
            None,
            Interval(Integral, 2, None, closed="left"),
            HasMethods(["split"]),
            "cv_object",
        ],
        "scoring": [None, str, callable],
        "fit_intercept": ["boolean"],
        "alpha_per_target": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "memory_limit": [None, str, Interval(Real, 0, None, closed="neither")],
        "keep_factor": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [None, Interval(Integral, 1, None, closed="left")],
        "loo_rows": [StrOptions({"auto"}), None, Interval(Integral, 2, None, closed="left")],
        "time_limit": [None, Interval(Real, 0, None, closed="neither")],
        "checkpoint": [None, str, os.PathLike],
    }

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        alpha: Any = "auto",
        *,
        solver: str = "auto",
        centers: Any = None,
        criterion: str = "loo",
        cv: Any = None,
        scoring: Any = None,
        fit_intercept: bool = True,
        alpha_per_target: bool = False,
        validation_fraction: float = 0.1,
        memory_limit: float | str | None = None,
        keep_factor: bool = True,
        random_state: Any = None,
        verbose: int = 0,
        tol: float = 1e-4,
        max_iter: int | None = None,
        loo_rows: int | str | None = "auto",
        time_limit: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.solver = solver
        self.centers = centers
        self.criterion = criterion
        self.cv = cv
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.alpha_per_target = alpha_per_target
        self.validation_fraction = validation_fraction
        self.memory_limit = memory_limit
        self.keep_factor = keep_factor
        self.random_state = random_state
        self.verbose = verbose
        self.tol = tol
        self.max_iter = max_iter
        self.loo_rows = loo_rows
        self.time_limit = time_limit
        self.checkpoint = checkpoint

    # --- what a subclass says ---

    @abstractmethod
    def _read_targets(self, X: Array, y: Any) -> tuple[Array, Responses | Labels, Array]:
        """y checked, the coding, and its columns (n, t)."""

    def _check_targets(self, targets: Any, t: int, weights: Array | None) -> None:
        """Refuse parameters that do not fit the targets in ``t`` columns, before any work."""

    @abstractmethod
    def _row_weights(self, y: Array, weights: Array | None) -> Array | None:
        """Weights (n,) of the fit, from the user's weights and classes."""

    def _needs_left_out(self, problem: Problem) -> bool:
        """Whether leave-one-out values are needed in any case, and could not be had later."""
        return False

    def _fixed_scale(self) -> float | None:
        """The scale of the Gaussian process, where it is given."""
        return None

    # --- fit ---

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit, and choose λ and, where it is ``"auto"``, the kernel's width.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (n, d)
            Rows; for a precomputed kernel its matrix (n, n). A :class:`~squareone.rows.Stream`, or
            a memory-mapped array, is read block by block where the solver allows.
        y : array-like of shape (n,) or (n, t)
            Targets; for a classifier classes, or an indicator matrix of several labels per row.
        sample_weight : array-like of shape (n,) or float, optional
            Weights at or above zero.
        groups : array-like of shape (n,), optional
            For a ``cv`` that splits by groups.

        Returns
        -------
        self
        """
        self._forget()
        try:
            request = self._read(X, y, sample_weight, groups)
            plan = request.plan
            lengthy = plan.chosen.flops > _LENGTHY * plan.task.threads
            with fit_progress(self, X, y, sample_weight, lengthy=lengthy) as progress:
                problem = Problem.of(request, progress)
                if plan.solver == "subset":
                    problem = reduced(problem)
                outcome = solve(problem)
                if plan.solver == "subset":  # solved by another one, for fewer rows
                    problem.plan = replace(plan, stages=problem.plan.stages)
                record = Record(
                    problem,
                    outcome,
                    request.targets,
                    keep_factor=self.keep_factor,
                    memory_limit=self.memory_limit,
                    at_once=self._needs_left_out(problem),
                )
                self._remember(request, problem, record)
                if problem.keeper is not None:
                    problem.keeper.done()
        except BaseException:  # an interrupt too: never half fitted
            self._forget()
            raise
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Request:
        """Everything that came, checked, and the plan; nothing large is allocated."""
        if not get_config()["skip_parameter_validation"]:
            self._validate_params()
        alpha = validation.check_alpha(self.alpha)
        kernel = kernel_from(self.kernel)
        kernel.check_parameters()
        searched = free_width(kernel) != ""
        check_consistency(self, kernel, groups)
        asked = AskedCenters(self.centers, self.solver, self.loo_rows, self.time_limit)
        selector = asked.selector()
        given = validation.is_precomputed(kernel)
        came = read(self, X, y, sample_weight, given=given)
        X, y, targets, columns = came.X, came.y, came.targets, came.columns
        user_weights, weights, kept = came.user_weights, came.weights, came.kept
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        # centers are the same whatever else is drawn
        centers_seed = int(deepcopy(rng).randint(2**31 - 1))
        criterion = self._criterion(X, y, targets, kept, groups, rng, alpha)
        m = asked.count(selector, kept.size)
        per_target = self.alpha_per_target and columns.shape[1] > 1
        scorer = held_out_scorer(
            self.scoring,
            y[kept],
            targets,
            None if user_weights is None else user_weights[kept],
            per_target=per_target,
        )
        folds = criterion if isinstance(criterion, Folds) else None
        task = Task(
            n=kept.size,
            d=kept.size if given else X.shape[1],
            t=columns.shape[1],
            itemsize=X.dtype.itemsize,
            linear=isinstance(kernel, Linear),
            given=given,
            alphas="auto" if isinstance(alpha, str) else int(np.size(alpha)),
            smooth=scorer is None and not per_target,
            fold_work=folds.work() if folds else 0.0,
            largest_fold=folds.largest() if folds else 0,
            held=scorer is not None,
            copied=kept.size < X.shape[0] or isinstance(X, Stream),
            streamed=isinstance(X, Stream),
            threads=thread_budget(),
            width_search=searched,
            stored=0 if given else rows_of(X).stored,
            sparse=not given and rows_of(X).sparse,
            occupied=0 if given else _occupied(X),
            folds=len(folds.folds) if folds else 0,
            likelihood=isinstance(criterion, MarginalLikelihood),
            unregularised=not isinstance(alpha, str) and float(np.min(alpha)) == 0.0,
            kept=bool(self.keep_factor),
            centers=m,
            without_rows=self.cv is None and self.criterion in WITHOUT_ROWS,
        )
        limit = bytes_allowed(self.memory_limit)
        task = asked.planned(task, limit)
        plan = make_plan(task, self.solver, limit)
        if plan.task.centers and selector is None:
            selector = Uniform(plan.task.centers)
        if asked.automatic:
            plan = replace(plan, reason=f"{plan.reason}; {asked.why(plan)}")
        if self.checkpoint is not None and not plan.task.centers:
            msg = (
                "checkpoint is for fits with centers, and here all rows are: set centers, or leave "
                "checkpoint=None"
            )
            raise ValueError(msg)
        scored = None
        if plan.task.sampled:
            scored = draw_rows(kept.size, plan.task.sampled, rng)
            criterion = LeaveOneOut(scored) if isinstance(criterion, LeaveOneOut) else criterion
        return Request(
            X=X,
            targets=targets,
            columns=columns,
            weights=weights,
            user_weights=user_weights,
            kept=kept,
            kernel=kernel,
            alpha=alpha,
            criterion=criterion,
            scorer=scorer,
            per_target=per_target,
            intercept=self.fit_intercept,
            solver=self.solver,
            plan=plan,
            rng=rng,
            tolerance=float(self.tol),
            most_iterations=MOST_ITERATIONS if self.max_iter is None else int(self.max_iter),
            selector=selector if plan.task.centers else None,
            centers_seed=centers_seed,
            scored=scored,
            checkpoint=self.checkpoint,
        )

    # --- how λ is chosen ---

    def _criterion(
        self,
        X: Array,
        y: Array,
        targets: Responses | Labels,
        kept: Array,
        groups: Any,
        rng: np.random.RandomState,
        alpha: float | Array | str,
    ) -> Criterion:
        if self.cv is None and self.criterion != "holdout":
            if kept.size < 2 and not isinstance(alpha, float):
                msg = (
                    f"criterion={self.criterion!r} needs at least two rows of positive weight to "
                    f"choose alpha, got n_samples = {kept.size}: give a number for alpha"
                )
                raise ValueError(msg)
            if self.criterion == "marginal_likelihood":
                return MarginalLikelihood(self._fixed_scale())
            return LeaveOneOut() if self.criterion == "loo" else GeneralisedCrossValidation()
        from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv

        n = X.shape[0]
        classes = isinstance(targets, Labels) and not targets.multilabel
        if self.cv is None:
            splitter = StratifiedShuffleSplit if classes else ShuffleSplit
            cv = splitter(1, test_size=self.validation_fraction, random_state=rng)
            return Folds(folds_from_splits(cv.split(X, y), kept, n), "holdout")
        cv = check_cv(self.cv, y, classifier=classes)
        if groups is not None:
            groups = np.asarray(groups)
        return Folds(folds_from_splits(cv.split(X, y, groups), kept, n))

    def plan(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Plan:
        """Which solver a fit would use, what each one costs, and why: ``print`` it.

        Parameters
        ----------
        X : array-like, sparse matrix or Stream of shape (n, d)
        y : array-like of shape (n,) or (n, t)
        sample_weight : array-like of shape (n,), optional
        groups : array-like of shape (n,), optional

        Returns
        -------
        Plan
            With the candidates' flops and bytes, the choice and the reason.

        Notes
        -----
        **Cost**: the checks of the input; nothing is factored.
        """
        if hasattr(self.cv, "__next__"):
            msg = "cv is a generator, which plan would use up: pass list(cv)"
            raise ValueError(msg)
        parameters = self.get_params(deep=False)
        parameters["random_state"] = deepcopy(self.random_state)  # a fit draws the same numbers
        return type(self)(**parameters)._read(X, y, sample_weight, groups).plan

    def _remember(self, request: Request, problem: Problem, record: Record) -> None:
        self._show(record, problem.plan)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__sigma`` reaches into a kernel object.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        self
        """
        kernel = params.get("kernel", self.kernel)
        nested = [name for name in params if name.startswith("kernel__")]
        if nested and isinstance(kernel, str):
            inner = nested[0].removeprefix("kernel__")
            known = BY_NAME.get(kernel, Gaussian).__name__
            msg = (
                f"cannot set {nested[0]}: kernel={kernel!r} is a name and has no parameters of its "
                f"own. Pass a kernel object, kernel={known}({inner}=...), from squareone.kernels"
            )
            raise ValueError(msg)
        return super().set_params(**params)
