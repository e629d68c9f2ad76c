"""The result of a fit: the model, and answers that are computed when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property, partial
from threading import RLock
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays import Array
from ..devices import Place, place_or_host
from ..errors import MemoryLimitError
from ..models import Hyperplane, KernelExpansion
from ..models.probabilities import Calibration
from ..persistence import Fields
from ..persistence.checkpoint import Checkpoint
from ..planning.available_memory import memory_limit as bytes_allowed
from ..planning.available_memory import readable
from ..selection import (
    LeaveOneOut,
    MarginalLikelihood,
    Objective,
    Path,
    comparable_values,
    evaluate,
)
from ..selection.criteria import HeldOut
from ..selection.likelihood import contrasts
from ..solvers import CholeskyFactor, Factor, SpectralFactor, Weighting
from ..solvers.contract import BlockQuestion
from ..solvers.cost_counts import AT_ONCE
from ..solvers.exact.cholesky import cholesky_is_safe
from ..solvers.registry import listed
from ..targets import Labels, Responses
from .error_scale import ErrorScale, learn_error_scale
from .learned_kernel import LearnedKernel
from .problem import Problem, Sample
from .result_state import fill_from, state_of
from .status_warnings import warn_of_doubt, warn_of_rounding
from .width_search import Step

if TYPE_CHECKING:
    from .intervals import IntervalRule

_not_computing: ContextVar[bool] = ContextVar("resting", default=False)


@contextmanager
def without_computing() -> Iterator[None]:
    """Inside, what would need the factorisation is an attribute that is not there."""
    before = _not_computing.set(True)
    try:
        yield
    finally:
        _not_computing.reset(before)


@dataclass(frozen=True)
class Solution:
    """The end of the procedure: λ per target (t,), the model, the factorisation, the path if any.

    ``steps`` are the looks of a search for the kernel width.
    """

    problem: Problem
    factor: Factor
    model: KernelExpansion | Hyperplane
    alphas: Array
    path: Path | None
    steps: list[Step]


class FitResult:
    """The result of a fit: the model, and what is asked later.

    Where λ was chosen, where it costs next to nothing, or where they are needed ``at_once``, the
    score and the leave-one-out values are computed at once; for one given λ and many rows on first
    access, from the kept factorisation. That is dropped with ``keep_factor=False`` and never
    pickled; a kernel model, which keeps its rows, factors them again when it is asked for what
    needs it.
    """

    targets: Responses | Labels
    model: KernelExpansion | Hyperplane
    alphas: Array
    kept: Array
    steps: list[Step]
    keep_factor: bool
    memory_limit: float | str | None
    device: str
    per_target: bool
    sample: Sample
    unit: float
    diagonal: Array
    calibration: Calibration | None
    calibrated_by: str | None
    scale: float | None
    class_weights: Array | None
    iterations: int
    residual: float
    scored: Array | None
    learned: LearnedKernel | None
    dropped_centers: Array
    _explained: float | None
    _error_scale: ErrorScale | None
    _dropped_values: Array
    _dropped_columns: Array
    _chosen_path: Path | None
    _width: float
    _objective: Objective | None
    _factor: Factor | None
    _lock: Any
    _checkpoint: Checkpoint | None
    #: Intervals are made from the factorisation; where that is not, there is a rule for them.
    interval_rule: IntervalRule | None = None

    def __init__(self, solution: Solution, learned: LearnedKernel | None = None) -> None:
        problem, factor, path = solution.problem, solution.factor, solution.path
        request = problem.request
        self._lock = RLock()
        self.targets = request.targets
        self.model = solution.model
        self.alphas = solution.alphas
        self.kept = problem.kept
        self.steps = solution.steps
        self.keep_factor = request.keep_factor
        self.memory_limit = request.memory_limit
        self.device = request.place.name
        self.per_target = problem.objective.per_target
        # the model's own copy of the rows, where it has one: the user's may change
        rows = None if problem.few_centers else getattr(solution.model, "centers", None)
        self.sample = Sample(
            np.empty((0, problem.X.shape[1]), problem.X.dtype) if rows is None else rows,
            problem.Y,
            problem.weights,
            problem.intercept,
            problem.kernel,
            few_centers=problem.few_centers,
        )
        self.unit = problem.unit
        self.diagonal = _diagonal(problem)
        self._explained = None
        self._error_scale = None
        self.dropped_centers = factor.dropped_centers
        self._objective = problem.objective
        self._dropped_values = problem.values_aside(solution.model)
        self._dropped_columns = problem.dropped_columns
        self.calibration, self.calibrated_by = None, request.calibrated_by
        self.scale, self.class_weights = request.scale, request.class_weights
        self._chosen_path = path
        self._width = problem.width()
        self._factor = factor
        cheap = factor.leverages_at_hand
        self.scored, self.learned = problem.scored, learned
        if learned is not None:
            self._judge_by_unseen_rows(learned)
        few = self.scored is None and (path is not None or _negligible(problem))
        now = _needs_left_out(problem) or (cheap and few)
        if now and self.kept.size > 1:
            with problem.stage("leave-one-out values"):
                _ = self._path("") if few else None, self.scored_values
        self.iterations, self.residual = factor.iterations, factor.residual
        self._checkpoint = problem.keeper
        if self.keep_factor:
            factor.settle()
        else:
            self._factor = None

    def _judge_by_unseen_rows(self, learned: LearnedKernel) -> None:
        """Read left-out values of rows that the metric has not seen, or of models without them."""
        n = self.kept.size
        if learned.judged_by_folds(n):
            self.scored = learned.rows
            vars(self)["scored_values"] = learned.values
        elif self.scored is None and learned.has_seen_rows:
            self.scored = learned.unseen(n)

    def forget_checkpoint(self) -> None:
        """Remove the file in which the fit was kept on its way: it is complete."""
        if self._checkpoint is not None:
            self._checkpoint.done()
            self._checkpoint = None

    @classmethod
    def from_state(cls, found: Fields) -> Self:
        """The result whose :meth:`state` was written to a file; refused where it cannot be one."""
        result = cls.__new__(cls)
        result._lock, result._checkpoint = RLock(), None
        fill_from(result, found)
        return result

    def state(self) -> dict[str, Any]:
        """All that a file keeps: see :func:`~squareone.fitting.result_state.state_of`."""
        return state_of(self)

    def __getstate__(self) -> dict[str, Any]:
        self.compute_before_saving()
        state = {**vars(self), "_factor": None, "_objective": self.objective_to_save()}
        del state["_lock"]
        state.pop("_checkpoint", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=RLock(), _checkpoint=None)

    def objective_to_save(self) -> Objective | None:
        """The objective, unless it is done with, or has a scorer inside, which is code."""
        objective = self._objective
        done = self._chosen_path is not None or objective is None or objective.scorer is not None
        return None if done else objective

    @property
    def scored_rows(self) -> Array:
        """Rows of the fit (s,) by whose left-out values it is judged: all, or random ones."""
        return np.arange(self.kept.size) if self.scored is None else self.scored

    @property
    def n_rows(self) -> int:
        """All the user's rows, those of weight zero too."""
        return self.kept.size + self._dropped_values.shape[0]

    @property
    def n_features(self) -> int:
        """Columns of the user's rows; with a precomputed kernel as many as rows."""
        return self.n_rows if self.sample.given else self.sample.X.shape[1]

    def compute_before_saving(self) -> None:
        """The leave-one-out values that probabilities need, where rows are not kept."""
        remade = not (self.sample.linear or self.sample.given or self.sample.few_centers)
        if self.calibrated_by is None or self._factor is None or remade or self.kept.size < 2:
            return
        _ = self.scored_values

    @contextmanager
    def answering(self, name: str) -> Iterator[Factor]:
        """The factorisation, made again if need be, for what is asked by ``name``.

        One question at a time: an answer may turn the factorisation into its inverse, or into that
        of another λ. What is asked inside finds the same one.

        Cost: nothing, or n²d + n³/3 flops and n² numbers to make it again.
        """
        with self._lock, self.place().active():
            outermost = self._factor is None
            self._factor = self._kept_or_made(name)
            try:
                yield self._factor
            finally:
                if outermost and not self.keep_factor:
                    self._factor = None

    def place(self) -> Place:
        """Where matrices of the fit are; the machine's memory where there is no such place."""
        return place_or_host(self.device)

    def _kept_or_made(self, name: str) -> Factor:
        if _not_computing.get():
            msg = f"{name} has not been computed yet"
            raise AttributeError(msg)
        if self._factor is not None:
            return self._factor
        if self.sample.linear or self.sample.given or self.sample.few_centers:
            kind = "a linear model" if self.sample.linear else "a model with centers"
            why = f"{kind} does not keep the rows it was fitted to"
            if self.sample.given:
                why = "a model of a precomputed kernel does not keep its matrix"
            msg = (
                f"{name} needs the factorisation, which is gone (keep_factor=False, or the "
                f"estimator was copied, pickled or loaded), and {why}: fit again with "
                "keep_factor=True and ask then"
            )
            raise AttributeError(msg)
        n, itemsize = self.sample.X.shape[0], self.sample.X.dtype.itemsize
        self.check_memory(name, n * n * itemsize)
        system = self.sample.system()
        factor: Factor
        if cholesky_is_safe(system, float(self.alphas.min())):
            factor = CholeskyFactor(system, several=np.unique(self.alphas).size > 1)
        else:
            self.check_memory(name, 2 * n * n * itemsize)  # beside the matrix
            factor = SpectralFactor(system)
        return factor

    def check_memory(self, name: str, needed: float) -> None:
        """Refuse to allocate so many bytes for a factorisation where they are not there."""
        allowed = bytes_allowed(self.memory_limit, self.place())
        if needed > allowed:
            msg = (
                f"{name} has to factor the kernel matrix of {self.kept.size:,} rows again: "
                f"{readable(needed)}, and {readable(allowed)} are free or allowed by memory_limit"
            )
            raise MemoryLimitError(msg)

    @property
    def factor_at_hand(self) -> Factor | None:
        """The factorisation where it is kept; it is not made again."""
        return self._factor

    def check_rows(self) -> None:
        """Refuse to leave out the only row there is."""
        if self.kept.size < 2:
            msg = "one row of positive weight: there is nothing left when it is left out"
            raise AttributeError(msg)

    # --- the path ---

    def _path(self, name: str) -> Path:
        """The path; for a given λ its one point, computed now, for the attribute ``name``."""
        if self._chosen_path is None:
            self.check_rows()
            if self._objective is None:
                msg = f"{name} was not computed before the estimator was pickled: fit again"
                raise AttributeError(msg)
            with self.answering(name) as factor:
                path = evaluate(self._objective, factor, self.alphas[:1])
                self._chosen_path = path.decided(path.best())
                self._warn_of_rounding(factor)
        return self._chosen_path

    def path(self) -> dict[str, Array]:
        """One array per column, ``alpha`` ascending."""
        path = self._path("path_")
        columns = {"alpha": path.alphas, "score": path.reported.mean(axis=0)}
        if self.per_target:
            columns |= {f"score_{i}": row for i, row in enumerate(path.reported)}
        errors = path.errors.mean(axis=0) if path.errors.shape[0] == 1 else np.nan * path.alphas
        columns["standard_error"] = errors
        if path.bias.any():
            columns["bias"] = path.bias.mean(axis=0)
        if path.residuals.any():
            columns["residual"] = path.residuals
        columns |= {"effective_dof": path.dof, "bits": path.bits}
        if self.steps:
            columns = self._with_steps(columns)
        if self.learned is not None:
            columns = self._with_trials(columns, self.learned)
        return {name: values.copy() for name, values in columns.items()}

    def _with_steps(self, columns: dict[str, Array]) -> dict[str, Array]:
        """The looks of the search for the width first, with the columns that only they need."""
        last = self._chosen_path.alphas.size if self._chosen_path is not None else 0
        seen = {
            "alpha": [step.alpha for step in self.steps],
            "score": [step.score for step in self.steps],
            "effective_dof": [step.dof for step in self.steps],
            "bits": [step.bits for step in self.steps],
            "sigma": [step.sigma for step in self.steps],
            "rows": [step.rows for step in self.steps],
        }
        columns |= {
            "sigma": np.full(last, self._width),
            "rows": np.full(last, self.kept.size),
        }
        nothing = np.full(len(self.steps), np.nan)  # a score per target was not computed
        return {
            name: np.concatenate([seen.get(name, nothing), values])
            for name, values in columns.items()
        }

    def _with_trials(self, columns: dict[str, Array], learned: LearnedKernel) -> dict[str, Array]:
        """What the kernel was chosen from first; its scores are of folds that learn everything.

        Those that follow are at the final metric, which has seen the rows.
        """
        looks = columns["alpha"].size
        trials = learned.trials
        columns.setdefault("rows", np.full(looks, self.kept.size))
        columns |= {
            "kernel": np.full(looks, type(self.sample.kernel).__name__),
            "power": np.full(looks, learned.power),
            "rounds": np.full(looks, learned.rounds),
            "preparation": np.full(looks, learned.preparation),
            "stage": np.full(looks, -1),
            "chosen": np.zeros(looks, bool),
            "honest": np.zeros(looks, bool),
        }
        before = {**trials, "honest": np.ones(trials["score"].size, bool)}
        nothing = np.full(trials["score"].size, np.nan)
        return {
            name: np.concatenate([before.get(name, nothing), values])
            for name, values in columns.items()
        }

    def _at_best(self, path: Path, values: Array) -> float | Array:
        """``values`` (c, L) at the chosen λ: a number, or (t,) with one λ per target."""
        best = path.chosen
        assert best is not None
        chosen = values[np.arange(best.size) % values.shape[0], best]
        return chosen if self.per_target else float(chosen[0])

    def best_score(self) -> float | Array:
        """Score of the chosen λ; one per target if λ is.

        Where the metric was learned, that of folds that have learned everything anew.
        """
        if self.learned is not None:
            return self.learned.score if self.per_target else float(np.mean(self.learned.score))
        return self.score_on_path("best_score_")

    def score_on_path(self, name: str) -> float | Array:
        """Score of the chosen λ by the criterion, at the metric of the fit."""
        path = self._path(name)
        return self._at_best(path, path.reported)

    def degrees_of_freedom(self) -> float | Array:
        """Trace of the hat matrix at the chosen λ; one per target if λ is."""
        path = self._path("effective_dof_")
        assert path.chosen is not None
        chosen = np.unique(path.chosen)
        if np.isnan(path.dof[chosen]).any():  # λ was chosen without it
            with self.answering("effective_dof_") as factor:
                for i in chosen:
                    path.dof[i] = factor.degrees_of_freedom(path.alphas[[i]])[0]
        return self._at_best(path, path.dof[None, :])

    def explained_trace(self) -> float:
        """tr(K̃)/tr(K) for the centers of the fit."""
        if not self.sample.few_centers:
            msg = (
                f"explained_trace_ is for a fit with centers by {_own_coefficients()}, not for a "
                "subset or for all rows"
            )
            raise AttributeError(msg)
        if self._explained is None:
            with self.answering("explained_trace_") as factor:
                self._explained = factor.explained_trace
        return self._explained

    # --- one λ, every row ---

    @property
    def columns(self) -> Array:
        """Target columns (n, t) of all the user's rows, in their units."""
        columns = np.empty((self.n_rows, self.sample.Y.shape[1]), self.sample.Y.dtype)
        columns[self.kept] = self.sample.Y * self.sample.Y.dtype.type(self.unit)
        columns[self.dropped] = self._dropped_columns
        return columns

    @property
    def dropped(self) -> Array:
        """Which of the user's rows have weight zero: a mask (n,)."""
        dropped = np.ones(self.n_rows, bool)
        dropped[self.kept] = False
        return dropped

    @cached_property
    def leave_one_out_values(self) -> Array:
        """(n, t) over all the user's rows; a row of weight zero has its plain prediction."""
        self.check_rows()
        Y = self.sample.Y
        values = np.empty((self.n_rows, Y.shape[1]), Y.dtype)
        values[self.dropped] = self._dropped_values
        with self.answering("loo_predictions_") as factor:
            errors = factor.weighting.unscale(factor.left_out_by_target(self.alphas))
            values[self.kept] = (Y - errors) * self.unit
            self._warn_of_rounding(factor)
            if factor.estimated:
                self._report_doubt(factor, values)
        values.flags.writeable = False
        return values

    def left_out_question(self) -> BlockQuestion | None:
        """What gives :attr:`leave_one_out_values` where the rows are; None where they are known.

        Or where they are made here.
        """
        if "leave_one_out_values" in vars(self) or self.kept.size < self.n_rows:
            return None
        self.check_rows()
        with self.answering("loo_predictions_") as factor:
            asked = factor.errors_of_blocks(self.alphas)
            self._warn_of_rounding(factor)
        if asked is None:
            return None
        beside = self.sample.Y, factor.weighting.root, *asked.beside
        return replace(asked, ask=partial(_values_of_block, asked.ask, self.unit), beside=beside)

    @property
    def unseen_values(self) -> Array:
        """Values (n, t) of all the user's rows by models that have learned nothing from the row.

        :attr:`leave_one_out_values`, but of the rows that a metric was learned from those of folds.
        A row that no fold of the user leaves out keeps its own: the metric has seen it.
        """
        if self.learned is None or not self.learned.has_seen_rows:
            return self.leave_one_out_values
        values = self.leave_one_out_values.copy()
        values[self.kept[self.learned.rows]] = self.learned.values
        return values

    @cached_property
    def scored_values(self) -> Array:
        """Leave-one-out values (s, t) of the rows :attr:`scored_rows`."""
        if self.scored is None:
            return self.leave_one_out_values[self.kept[self.scored_rows]]
        return self._values_without(self.scored)

    @property
    def scored_errors(self) -> Array:
        """Targets less :attr:`scored_values`, (s, t)."""
        return self.columns[self.kept[self.scored_rows]] - self.scored_values

    @property
    def error_scale(self) -> ErrorScale:
        """How large left-out errors are expected to be at a row; learned when first asked for."""
        with self._lock:
            if self._error_scale is None:
                self.check_rows()
                self._error_scale = learn_error_scale(self)
            return self._error_scale

    def left_out_values_of(self, rows: Array) -> Array:
        """Leave-one-out values (q, t) of ``rows`` (q,) of the fit, ascending.

        From those that are known; otherwise, for few rows of many, without those of the others.
        """
        if self.scored is not None and np.isin(rows, self.scored).all():
            return self.scored_values[np.searchsorted(self.scored, rows)]
        return self._values_without(rows)

    def _values_without(self, rows: Array) -> Array:
        if "leave_one_out_values" in vars(self):
            return self.leave_one_out_values[self.kept[rows]]
        self.check_rows()
        Y = self.sample.Y[rows]
        values = np.empty_like(Y)
        with self.answering("leave-one-out values") as factor:
            for alpha, columns in self.by_alpha():
                errors = LeaveOneOut(rows).held_out(factor, np.array([alpha])).errors
                values[:, columns] = (Y - errors[:, :, 0])[:, columns] * self.unit
            self._warn_of_rounding(factor)
        return values

    def comparable(self, values: Array, rows: Array) -> Array:
        """Leave-one-out values (m, t) of ``rows`` (m,) of the fit, for comparison among rows.

        With an intercept of all rows: :mod:`squareone.selection.comparable_values`. In float64.
        """
        if not self.sample.intercept:
            return values.astype(np.float64)
        if self.learned is not None and self.learned.judged_by_folds(self.kept.size):
            return self._comparable_of_folds(values, rows, self.learned)
        Y, n = self.columns[self.kept], self.kept.size
        weighting = Weighting.of(n, self.sample.weights, True, np.dtype(np.float64))
        errors, shares = Y[rows] - values, weighting.shares(rows)[:, None]
        held = HeldOut(rows, errors[:, :, None], lambda i: shares * errors)
        return comparable_values(held, 0, Y, weighting)

    def _comparable_of_folds(self, values: Array, rows: Array, learned: LearnedKernel) -> Array:
        """The same where rows were left out with all others of their fold."""
        Y, n = self.columns[self.kept], self.kept.size
        weighting = Weighting.of(n, self.sample.weights, True, np.dtype(np.float64))
        errors = (Y[rows] - values).astype(np.float64)
        weighted = weighting.shares(rows)[:, None] * errors
        numbers, own = np.unique(learned.folds, return_inverse=True)
        folds = np.arange(n) + numbers.size  # other rows were left out alone
        folds[learned.rows] = own
        sums = np.zeros((folds.max() + 1, Y.shape[1]))
        np.add.at(sums, folds[rows], weighted)
        held = HeldOut(rows, errors[:, :, None], lambda i: sums[folds[rows]])
        return comparable_values(held, 0, Y, weighting)

    @property
    def comparable_scored_values(self) -> Array:
        """:attr:`scored_values` (s, t), for comparison among rows."""
        return self.comparable(self.scored_values, self.scored_rows)

    @property
    def comparable_values(self) -> Array:
        """:attr:`leave_one_out_values` (n, t), for comparison among rows."""
        values = self.unseen_values.astype(np.float64)
        rows = np.arange(self.kept.size)
        values[self.kept] = self.comparable(values[self.kept], rows)
        return values

    @property
    def user_weights(self) -> Array | None:
        """Weights (n,) of the rows of the fit without those of their classes."""
        weights, of_classes = self.sample.weights, self.class_weights
        if weights is None or of_classes is None:
            return weights
        assert isinstance(self.targets, Labels)
        return weights / of_classes[self.targets.class_numbers(self.sample.Y)]

    def _warn_of_rounding(self, factor: Factor) -> None:
        least = float(self.alphas.min())
        warn_of_rounding(factor.error_estimate(least), least, factor.targets.dtype)

    def _report_doubt(self, factor: Factor, values: Array) -> None:
        """Warn where leave-one-out errors (n, t) rest on rows that the probes cannot tell."""
        squares = np.square((self.columns - values)[self.kept], dtype=np.float64)
        if self.sample.weights is not None:
            squares *= self.sample.weights[:, None]
        doubtful = sum(
            squares[factor.doubtful(alpha)][:, columns].sum() for alpha, columns in self.by_alpha()
        )
        warn_of_doubt(doubtful / max(squares.sum(), np.finfo(np.float64).tiny))

    def by_alpha(self) -> list[tuple[float, Array]]:
        """Every λ there is, with the target columns (c,) it belongs to."""
        return [
            (float(alpha), np.flatnonzero(self.alphas == alpha)) for alpha in np.unique(self.alphas)
        ]

    @cached_property
    def relative_complements(self) -> Array:
        """1 − leverage of the rows of the fit, up to a factor, one column per target: (n, t)."""
        self.check_rows()
        with self.answering("leverages_") as factor:
            found = np.empty((self.kept.size, self.alphas.size))
            for alpha, columns in self.by_alpha():

                def store(
                    rows: slice | Array, _: Array, some: Array, columns: Array = columns
                ) -> None:
                    found[rows, columns[0] : columns[0] + 1] = some

                factor.visit(np.array([alpha]), store)
                found[:, columns] = found[:, columns[:1]]
        return found

    @cached_property
    def complements(self) -> Array:
        """1 − leverage of the rows of the fit, one column per target: (n, t)."""
        with self.answering("leverages_") as factor:
            found = self.relative_complements.copy()
            for alpha, columns in self.by_alpha():
                # they come up to a factor, and their sum is known
                total = factor.n - float(factor.degrees_of_freedom(np.array([alpha]))[0])
                found[:, columns] *= max(total, 0.0) / found[:, columns[0]].sum()
        return found

    @cached_property
    def scales(self) -> Array:
        """The scale that was given, or ŝ = √(ỹᵀc/n), over n − 1 with an intercept, (t,)."""
        if self.scale is not None:
            return np.full(self.alphas.size, self.scale)
        scales = np.empty(self.alphas.size)
        with self.answering("the scale of the posterior") as factor:
            N = contrasts(factor)
            if N == 0:
                self.check_rows()
            for alpha, columns in self.by_alpha():
                energies = factor.energies(np.array([alpha]))[:, 0]
                scales[columns] = np.sqrt(energies[columns] / N) * self.unit
        if not np.isfinite(scales).all():
            msg = (
                "at alpha = 0 the Gaussian process has no noise, and these targets have some: "
                "there is no posterior. Use an alpha above zero, or the jackknife+ interval"
            )
            raise ValueError(msg)
        return scales

    @cached_property
    def log_likelihoods(self) -> Array:
        """Log marginal likelihood of every target (t,)."""
        found = np.empty(self.alphas.size)
        criterion = MarginalLikelihood(self.scale).in_units(self.unit)
        with self.answering("log_marginal_likelihood_") as factor:
            N = contrasts(factor)
            if N == 0:
                self.check_rows()
            for alpha, columns in self.by_alpha():
                found[columns] = criterion.log_likelihoods(factor, np.array([alpha]))[columns, 0]
        return found - N * np.log(self.unit)


def _values_of_block(
    ask: Callable[..., Array],
    unit: float,
    block: Any,
    Y: Array,
    root: Array | None,
    *beside: Array | None,
) -> Array:
    """Left-out values (b, t) of the rows of a block, in the units of y."""
    errors = ask(block, *beside)
    return (Y - (errors if root is None else errors / root[:, None])) * unit


def _diagonal(problem: Problem) -> Array:
    """k(x, x) (n,); not for a fit with centers, to which no bound belongs."""
    if problem.few_centers:
        return np.empty(0, problem.X.dtype)
    return np.diagonal(problem.X).copy() if problem.given else problem.kernel.diagonal(problem.X)


def _negligible(problem: Problem) -> bool:
    """Whether the leave-one-out values of one λ cost too little to wait until somebody asks."""
    n, d = problem.X.shape
    side = min(n, d) if problem.linear else n
    return n * side * side <= AT_ONCE


def _own_coefficients() -> str:
    """Solvers whose coefficients, or matrix, belong to centers of their own."""
    return listed(lambda solver: solver.with_centers and not solver.handed_on)


def _needs_left_out(problem: Problem) -> bool:
    """Whether leave-one-out values are computed at once."""
    request = problem.request
    if request.left_out_values != "if not had later":
        return request.left_out_values == "always"
    if problem.solver.iterates:  # probes cost as much as the fit: they wait
        return not request.keep_factor
    # a kernel model of all rows keeps them, and can be asked later
    return problem.linear or problem.given or problem.few_centers
