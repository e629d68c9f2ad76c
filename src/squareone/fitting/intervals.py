"""Intervals at new rows: by a rule that has all it needs, or from the factorisation.

Around a prediction lies a width, or the predictions of the models without each of some rows. The
latter are functions of the form of f: written out they can be asked where no factorisation is.
New rows are an array (m, d) or a CSR matrix, whatever the rows of the fit are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from ..arrays import Array
from ..centers.chosen_centers import draw_rows
from ..devices import HOST
from ..models import Hyperplane, KernelExpansion
from ..models.jackknife_intervals import (
    jackknife,
    jackknife_minmax,
    jackknife_plus,
    rank_of,
    width_of,
)
from ..planning.available_memory import readable
from .diagnostics import (
    moves_by_blocks,
    pieces_of_new_rows,
    residuals,
    standard_deviations,
    where_fitted,
)
from .error_scale import ErrorScale
from .kernel_choice import FoldModel
from .learned_kernel import LearnedKernel
from .learned_kernel_state import MOST_FILE_BYTES
from .progress import Progress
from .result import FitResult

#: Rows of the fit up to which all leave-one-out models make intervals, and how many do beyond.
FEW_LEFT_OUT, INTERVAL_ROWS = 4000, 1000
# Bytes of the coefficients of models without rows, at most, to be written out.
_MOST_FUNCTION_BYTES = 2.0**28

Model = KernelExpansion | Hyperplane
#: How a model of a fold takes new rows.
Prepare = Callable[[FoldModel], Any]


@dataclass(frozen=True)
class IntervalRequest:
    """What is asked: see :meth:`squareone.RLSRegressor.predict_interval`."""

    coverage: float
    method: str
    loo_rows: int | str | None
    bounds: Any


@where_fitted
def intervals(
    record: FitResult,
    X: Any,
    asked: IntervalRequest,
    progress: Progress | None = None,
    prepare: Prepare | None = None,
) -> Array:
    """Intervals (m, t, 2) at the new rows ``X`` (m, d).

    ``prepare`` gives these rows as the model of a fold takes them, where each has its own way.
    """
    limits = _checked_bounds(record, asked.bounds)
    if asked.method == "gaussian":
        return _within(limits, _posterior(record, X, asked.coverage))
    some, rank = _rows_and_rank(record, asked)
    rule = _rule_at_hand(record, asked.method, some, rank)
    if rule is not None:
        return _within(limits, rule.intervals(X, prepare))
    found = _by_factor(record, X, some, asked.method, rank, progress or Progress.silent())
    return _within(limits, found)


def travelling_rule(record: FitResult, asked: IntervalRequest) -> IntervalRule | None:
    """What gives the intervals where no factorisation is; None where nothing else can.

    **Cost**: for ``"jackknife+"`` and ``"minmax"`` that of the coefficients of q targets for q rows
    that are left out: of p numbers each, and q times as many as f has.
    """
    limits = _checked_bounds(record, asked.bounds)
    if asked.method == "gaussian":
        return None
    some, rank = _rows_and_rank(record, asked)
    rule = _rule_at_hand(record, asked.method, some, rank)
    if rule is None:
        rule = _written_out(record, asked.method, some, rank)
    return None if rule is None else replace(rule, limits=limits)


# --- rules ---


@dataclass(frozen=True)
class IntervalRule(ABC):
    """Intervals at new rows, of which nothing but these has to be known any more.

    Attributes
    ----------
    model : KernelExpansion or Hyperplane
        f.
    limits : tuple of two numbers, or None
        What no target can be below or above.
    """

    model: Model
    limits: tuple[Any, Any] | None

    @abstractmethod
    def _ends(self, X: Any, prepare: Prepare | None) -> Array:
        """(m, t, 2), wherever targets can be."""

    def intervals(self, X: Any, prepare: Prepare | None = None) -> Array:
        """Intervals (m, t, 2) at rows ``X`` (m, d), which models of folds may take otherwise."""
        return _within(self.limits, self._ends(X, prepare))


@dataclass(frozen=True)
class AroundPredictions(IntervalRule):
    """f(x) ± ``widths`` (t,), times the size that errors have at x where that is known."""

    widths: Array
    scale: ErrorScale | None

    def _ends(self, X: Any, prepare: Prepare | None) -> Array:
        values = self.model.values(X)
        widths = self.widths if self.scale is None else self.widths * self.scale.sizes(X)
        found = np.empty((*values.shape, 2), X.dtype)
        for j in range(values.shape[1]):
            found[:, j] = jackknife(values[:, j], widths[..., j])
        return found


@dataclass(frozen=True)
class _ByOtherModels(IntervalRule):
    """From the predictions of models without rows: ``"jackknife+"`` or ``"minmax"``.

    Attributes
    ----------
    method : str
    rank : int
    errors : array (q, t)
        Of the rows that are left out.
    """

    method: str
    rank: int
    errors: Array

    def _ends(self, X: Any, prepare: Prepare | None) -> Array:
        result = np.empty((X.shape[0], self.errors.shape[1], 2), X.dtype)
        ends, errors = _ends_of(self.method), self.errors.astype(X.dtype)
        for rows, values, moves in self._moves(X, prepare):
            for j in range(values.shape[1]):
                result[rows, j] = ends(values[:, j], moves(j), errors[:, j], self.rank)
        return result

    @abstractmethod
    def _moves(
        self, X: Any, prepare: Prepare | None
    ) -> Iterator[tuple[slice, Array, Callable[[int], Array]]]:
        """New rows, f (b, t), and f − f_{−i} (b, q) of a column."""


@dataclass(frozen=True)
class ByModelsOfFolds(_ByOtherModels):
    """Of folds, which have learned the kernel anew: the CV+.

    Attributes
    ----------
    learned : sequence of FoldModel
    models : sequence of KernelExpansion or Hyperplane
        The same, as they predict.
    folds : array (q,)
        Which of them has not seen each of the rows.
    """

    learned: Sequence[FoldModel]
    models: Sequence[Model]
    folds: Array

    def _moves(
        self, X: Any, prepare: Prepare | None
    ) -> Iterator[tuple[slice, Array, Callable[[int], Array]]]:
        theirs = [X if prepare is None else prepare(model) for model in self.learned]
        for rows in pieces_of_new_rows(X, self.folds.size):
            values = self.model.values(X[rows])
            without = np.stack(  # (folds, b, t)
                [model.values(own[rows]) for model, own in zip(self.models, theirs, strict=True)]
            )

            def of_column(j: int, values: Array = values, without: Array = without) -> Array:
                return (values[:, j] - without[:, :, j])[self.folds].T

            yield rows, values, of_column


@dataclass(frozen=True)
class ByWrittenOutModels(_ByOtherModels):
    """``moves``, a model of q columns for each target: f − f_{−i} as functions of x."""

    moves: Sequence[Model]

    def _moves(
        self, X: Any, prepare: Prepare | None
    ) -> Iterator[tuple[slice, Array, Callable[[int], Array]]]:
        for rows in pieces_of_new_rows(X, self.errors.shape[0]):

            def of_column(j: int, rows: slice = rows) -> Array:
                return self.moves[j].values(X[rows])

            yield rows, self.model.values(X[rows]), of_column


def _ends_of(method: str) -> Callable[[Array, Array, Array, int], Array]:
    return jackknife_plus if method == "jackknife+" else jackknife_minmax


# --- what rules are made from ---


def _rows_and_rank(record: FitResult, asked: IntervalRequest) -> tuple[Array | None, int]:
    """Rows that are left out, or None for all, and which of their errors is the quantile."""
    record.check_rows()
    cheap = asked.method in ("jackknife", "adaptive")
    some = _left_out_rows(record, asked.loo_rows, cheap=cheap)
    return some, rank_of(asked.coverage, record.kept.size if some is None else some.size)


def _left_out_rows(record: FitResult, asked: int | str | None, *, cheap: bool) -> Array | None:
    """Rows of the fit (q,), ascending, whose leave-one-out models make intervals; None: all.

    Random ones will do: given the others they are exchangeable with a new row, and the models
    without each of them are those of the jackknife+ for them alone, by a rule that knows the others
    from the start. Where leave-one-out errors are known of some rows only, it is these, or some of
    them: whoever judges a fit by these rows has a reason to.
    """
    n, pool = record.kept.size, record.scored_rows
    if isinstance(asked, str):
        asked = n if cheap or n <= FEW_LEFT_OUT else INTERVAL_ROWS
    if asked is None or asked >= pool.size:
        return None if record.scored is None else pool
    return pool[draw_rows(pool.size, asked, _fixed())]


def _fixed() -> np.random.RandomState:
    return np.random.RandomState(0)


def _errors_of(record: FitResult, some: Array | None) -> Array:
    """Leave-one-out errors (q, t) of some rows of the fit, or of all."""
    if some is None:
        return residuals(record)[record.kept]
    return record.columns[record.kept[some]] - record.left_out_values_of(some)


def _rule_at_hand(
    record: FitResult, method: str, some: Array | None, rank: int
) -> IntervalRule | None:
    """A rule for which nothing has to be made of the factorisation but left-out errors."""
    if method == "adaptive":
        return _adaptive(record, some, rank)
    if method == "jackknife":
        errors = _errors_of(record, some).astype(record.model.dtype)
        return AroundPredictions(record.model, None, _widths(errors, rank), None)
    learned = record.learned
    if learned is None or not learned.judged_by_folds(record.kept.size):
        return None
    assert some is not None
    models = _fold_models(record, learned)
    folds = learned.folds[np.searchsorted(learned.rows, some)]
    errors = _errors_of(record, some)
    return ByModelsOfFolds(record.model, None, method, rank, errors, learned.models, models, folds)


def _widths(errors: Array, rank: int) -> Array:
    return np.array([width_of(column, rank) for column in errors.T])


def _adaptive(record: FitResult, some: Array | None, rank: int) -> AroundPredictions:
    """With a width in proportion to the size that errors have at a row."""
    scale, errors = record.error_scale, record.scored_errors
    expected = scale.left_out_sizes()
    if some is not None:
        places = np.searchsorted(record.scored_rows, some)
        errors, expected = errors[places], expected[places]
    return AroundPredictions(record.model, None, _widths(errors / expected, rank), scale)


def _fold_models(record: FitResult, learned: LearnedKernel) -> list[Model]:
    """Models of folds that have learned the kernel without it, for intervals of the CV+."""
    own = any(model.rows is not None for model in learned.models)
    kept = own or record.sample.X.shape[0] == record.kept.size or record.sample.linear
    if not learned.models or not kept:
        msg = (
            'method="jackknife+" and "minmax" need the models of folds that have learned the '
            "kernel anew, and these are not kept with centers, nor in a file where their rows are "
            f"more than {readable(MOST_FILE_BYTES)} or have more than 2,000 features: use "
            'method="adaptive", "jackknife" or "gaussian"'
        )
        raise ValueError(msg)
    return learned.fold_expansions(record.sample.X)


def _written_out(
    record: FitResult, method: str, some: Array | None, rank: int
) -> ByWrittenOutModels | None:
    """The models without each of the rows; None where they are too large, or of another form."""
    rows = np.arange(record.kept.size) if some is None else some
    t = record.alphas.size
    each = record.model.coefficients.shape[0] * record.model.dtype.itemsize
    if float(each) * rows.size * t > _MOST_FUNCTION_BYTES or record.place() is not HOST:
        return None
    errors = _errors_of(record, some)
    moves: list[Model] = [record.model] * t
    with record.answering("predict_interval") as factor:
        for alpha, columns in record.by_alpha():
            functions = factor.move_functions(alpha, errors, record.unit, rows)
            if functions is None:
                return None
            for j in columns:
                C, b = functions(j)
                C = np.ascontiguousarray(C, record.model.dtype)
                moves[j] = replace(record.model, coefficients=C, intercepts=b)
    return ByWrittenOutModels(record.model, None, method, rank, errors, moves)


def _by_factor(
    record: FitResult, X: Any, some: Array | None, method: str, rank: int, progress: Progress
) -> Array:
    """By the factorisation, a block of new rows at a time."""
    result = np.empty((X.shape[0], record.alphas.size, 2), X.dtype)
    errors, ends = _errors_of(record, some).astype(X.dtype), _ends_of(method)
    blocks_of_rows = len(pieces_of_new_rows(X, record.kept.size))
    with progress.stage("intervals", blocks_of_rows * len(record.by_alpha())):
        for rows, columns, moves, values in moves_by_blocks(
            record, X, "predict_interval", some, errors
        ):
            for j in columns:
                result[rows, j] = ends(values[:, j], moves(j).T, errors[:, j], rank)
            progress.step(f"{rows.stop:,} of {X.shape[0]:,} rows")
    return result


def _posterior(record: FitResult, X: Any, coverage: float) -> Array:
    """Of a Gaussian process with normal noise."""
    from scipy.special import ndtri  # imported late: it would slow `import squareone`

    values = record.model.values(X)
    wide = standard_deviations(record, X, noise=True) * ndtri(0.5 + 0.5 * coverage)
    return np.stack([values - wide, values + wide], axis=-1).astype(X.dtype, copy=False)


# --- bounds ---


def _within(limits: tuple[Any, Any] | None, found: Array) -> Array:
    return found if limits is None else np.clip(found, *limits, out=found)


def _checked_bounds(record: FitResult, bounds: Any) -> tuple[Any, Any] | None:
    """The least and the greatest target there can be, in the precision of targets, not narrower.

    Refused where they are no such pair, or where a target of the fit lies outside.
    """
    if bounds is None:
        return None
    numbers = (type(None), Real)
    pair = isinstance(bounds, tuple | list) and len(bounds) == 2
    if not pair or not all(isinstance(end, numbers) for end in bounds):
        msg = f"bounds={bounds!r}: a pair (low, high) of numbers is expected, either may be None"
        raise ValueError(msg)
    low, high = (
        float(missing if end is None else end)
        for end, missing in zip(bounds, (-np.inf, np.inf), strict=True)
    )
    if not low < high:  # NaN is neither
        msg = f"bounds={bounds!r}: the first number has to be below the second"
        raise ValueError(msg)
    Y = record.columns[record.kept]
    least, most = _rounded_down(low, Y.dtype), -_rounded_down(-high, Y.dtype)
    outside = np.flatnonzero(((least > Y) | (most < Y)).any(axis=1))
    if outside.size:
        first = Y[outside[0]]
        worst = first[(least > first) | (most < first)][0]
        msg = (
            f"bounds={bounds!r}: {outside.size:,} of the {Y.shape[0]:,} targets the model was "
            f"fitted to lie outside, that of row {record.kept[outside[0]]}, {worst:.6g}, for one. "
            "Give bounds that no target can lie outside of, or None"
        )
        raise ValueError(msg)
    return least, most


def _rounded_down(number: float, dtype: np.dtype) -> Any:
    """The largest number of a type that is not above this one."""
    with np.errstate(over="ignore"):  # to an infinity
        found = np.array(number).astype(dtype)[()]
    return found if float(found) <= number else np.nextafter(found, dtype.type(-np.inf))
