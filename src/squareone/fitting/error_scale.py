"""The size of left-out errors at a row, learned from themselves with the kernel of the fit.

Behind intervals whose width depends on the row. What is learned is g, the fourth root of |e_i| over
their mean: a regression on |e_i| itself follows the few large ones and is too low, or below zero,
where errors are small, one on log |e_i| follows those that happen to be zero. s(x) = g(x)⁴ times
that mean is the size up to a factor, which a quantile of |e_i|/s_{−i}(x_i) supplies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..centers.chosen_centers import draw_rows
from ..models import Hyperplane, KernelExpansion
from ..persistence import Fields, refuse
from ..persistence.stored_rows import of_rows, rows_from
from ..rows import rows_of
from ..selection import LeaveOneOut, Objective, choose_automatically
from ..solvers import CenterBasis, Factor, RectangleFactor, SpectralFactor
from .problem import Sample
from .status_warnings import warn_of_status

if TYPE_CHECKING:
    from .result import FitResult

#: Centers of the size, at most: it varies slowly.
MOST_CENTERS = 1000
#: The least size that is expected anywhere, in shares of the mean |e|.
FLOOR = 0.02
# |e| is learned as this power of it.
_POWER = 0.25
_NAME = 'predict_interval(method="adaptive")'


@dataclass(frozen=True)
class ErrorScale:
    """s(x), the size of left-out errors, for t targets.

    Attributes
    ----------
    model : KernelExpansion or Hyperplane
        g.
    alphas : array (t,)
        λ of each column of g: the largest that its own leave-one-out error does not tell from the
        best one.
    typical, largest : array (t,)
        The mean and the largest |e_i|; the mean is one where all are zero. s(x) is at most the
        largest, and at least :data:`FLOOR` times the mean.
    left_out : array (s, t)
        g_{−i}(x_i) of the rows by whose left-out values the fit is judged.
    """

    model: KernelExpansion | Hyperplane
    alphas: Array
    typical: Array
    largest: Array
    left_out: Array

    def sizes(self, X: Any) -> Array:
        """s at rows ``X`` (m, d) → (m, t), in the units of y and in float64. Cost: a prediction."""
        return self._sizes(self.model.values(X))

    def left_out_sizes(self) -> Array:
        """s_{−i}(x_i) (s, t), in the units of y."""
        return self._sizes(self.left_out)

    def _sizes(self, roots: Array) -> Array:
        least, most = FLOOR**_POWER, np.maximum(self.largest / self.typical, FLOOR) ** _POWER
        return self.typical * np.clip(roots.astype(np.float64), least, most) ** (1.0 / _POWER)


def learn_error_scale(record: FitResult) -> ErrorScale:
    """The size of the left-out errors of the rows by whose left-out values the fit is judged.

    One column more for every target: with the factorisation that is there, or, where that is of
    more than :data:`MOST_CENTERS` centers or of other rows too, with so many random centers.

    **Cost** for a target: with a kernel, s rows and m = min(s, 1000) centers sm(d + m) + 10m³
    multiplications, less where the factorisation serves; with features a product of the basis with
    the target for every λ, some seventy, and a fit where only some of the rows are known; with
    ``krylov`` a fit. What has to be factored again, a
    precomputed kernel after ``cholesky`` or features by it, takes 9n³ flops and 3n² numbers.
    """
    rows = record.scored_rows
    sizes = np.abs(record.scored_errors.astype(np.float64))
    unknown = ~np.isfinite(sizes).all(axis=1)
    if unknown.any():
        msg = (
            f"{_NAME} learns from the leave-one-out errors, and {np.count_nonzero(unknown):,} of "
            f"{rows.size:,} are not finite, that of row {record.kept[rows[unknown][0]]} for one: "
            "use an alpha above zero"
        )
        raise ValueError(msg)
    typical = sizes.mean(axis=0)
    typical[typical == 0.0] = 1.0
    roots = ((sizes / typical) ** _POWER).astype(record.sample.Y.dtype)
    columns = [_learn_column(record, rows, roots[:, [j]]) for j in range(roots.shape[1])]
    return ErrorScale(
        _side_by_side([column.model for column in columns]),
        np.array([column.alpha for column in columns]),
        typical,
        sizes.max(axis=0),
        np.hstack([column.left_out for column in columns]),
    )


class _Column(NamedTuple):
    """What was learned for one target: g, its λ and g_{−i}(x_i) (s, 1)."""

    model: KernelExpansion | Hyperplane
    alpha: float
    left_out: Array


def _learn_column(record: FitResult, rows: Array, roots: Array) -> _Column:
    """g from its values (s, 1) at the rows (s,), by the largest λ not known to be worse."""
    factor = _factor_for(record, rows, roots)
    objective = Objective(LeaveOneOut(), roots, 1.0, None, per_target=False)
    path = choose_automatically(objective, factor)
    alphas = path.alphas[path.cautious()]  # a g that follows chance is too low where it is least
    model = _model(record, rows, factor, alphas)
    status = factor.status(alphas, factor.tolerance, path.alphas)
    warn_of_status(status, float(alphas[0]), factor.tolerance, roots.dtype)
    left_out = roots - factor.weighting.unscale(factor.left_out_by_target(alphas))
    return _Column(model, float(alphas[0]), left_out)


def _side_by_side(models: list[KernelExpansion | Hyperplane]) -> KernelExpansion | Hyperplane:
    """Models of one target each with the same centers, as one of several targets."""
    return replace(
        models[0],
        coefficients=np.hstack([model.coefficients for model in models]),
        intercepts=np.concatenate([model.intercepts for model in models]),
    )


def _factor_for(record: FitResult, rows: Array, roots: Array) -> Factor:
    """What answers for the target ``roots`` (s, 1) of rows of the fit (s,)."""
    sample = record.sample
    if not (sample.few_centers or sample.linear or sample.given):
        return _factor_of_kept_rows(record, rows, roots)
    found = None
    with record.answering(_NAME) as factor:
        if sample.few_centers or rows.size < record.kept.size:
            found = factor.of_some_rows(roots, rows, MOST_CENTERS)
        else:
            record.check_memory(_NAME, factor.numbers_for_targets * roots.itemsize)
            found = factor.for_targets(roots)
    if found is None:
        msg = (
            f"{_NAME} cannot learn from {rows.size:,} of {record.kept.size:,} rows by this "
            "factorisation: with a precomputed kernel the left-out values of all rows are needed. "
            'Use method="jackknife"'
        )
        raise ValueError(msg)
    return found


def _factor_of_kept_rows(record: FitResult, rows: Array, roots: Array) -> Factor:
    """For a kernel model of all rows, which keeps them: the same whatever its solver was."""
    sample, every = record.sample, rows.size == record.kept.size
    few = rows.size <= MOST_CENTERS
    at_hand = record.factor_at_hand
    if few and every and at_hand is not None:
        shared = at_hand.for_targets(roots)
        if shared is not None:
            return shared
    weights = None if sample.weights is None else sample.weights[rows]
    X = sample.X if every else sample.X[rows]
    some = Sample(X, roots, weights, sample.intercept, sample.kernel)
    if few:
        return SpectralFactor(some.system())
    own = draw_rows(rows.size, MOST_CENTERS, np.random.RandomState(0))
    basis = CenterBasis(sample.kernel, X[own], X.dtype)
    return RectangleFactor(basis, rows_of(X), roots, some.weighting(), own)


def _model(
    record: FitResult, rows: Array, factor: Factor, alphas: Array
) -> KernelExpansion | Hyperplane:
    coefficients, intercepts = factor.coefficients(alphas)
    intercepts = np.asarray(intercepts, dtype=np.float64)
    sample, basis = record.sample, factor.coefficient_points
    if sample.linear:
        return Hyperplane(coefficients, intercepts)
    numbers = record.kept[rows]
    if basis is not None:  # which rows these are is not asked
        centers, numbers = basis.points, np.full(basis.size, -1)
    elif sample.given:
        centers = None
    else:
        centers = sample.X if rows.size == record.kept.size else sample.X[rows]
    return KernelExpansion(sample.kernel, centers, numbers, coefficients, intercepts)


# --- in files ---


def of_error_scale(scale: ErrorScale) -> dict[str, Any]:
    """Its arrays, with ``coefficients`` (m, t), ``intercepts`` (t,) and ``centers`` (m, d).

    The centers are None where the kernel is linear or precomputed.
    """
    centers = getattr(scale.model, "centers", None)
    return {
        "coefficients": scale.model.coefficients,
        "intercepts": scale.model.intercepts,
        "centers": None if centers is None else of_rows(centers),
        "alphas": scale.alphas,
        "typical": scale.typical,
        "largest": scale.largest,
        "left_out": scale.left_out,
    }


def error_scale_from(found: Fields, record: FitResult) -> ErrorScale:
    """For a result whose model, rows and left-out values have been read."""
    sample, t = record.sample, record.alphas.size
    dtype, d = sample.Y.dtype, record.n_features
    model: KernelExpansion | Hyperplane
    with found:
        if sample.linear:
            shape = record.model.coefficients.shape
            coefficients = found.array("coefficients", shape, (dtype,))
        elif sample.given:
            coefficients = found.array("coefficients", (record.kept.size, t), (dtype,))
        else:
            coefficients = found.array("coefficients", (None, t), (dtype,))
        intercepts = found.array("intercepts", (t,), (np.float64,))
        if sample.linear:
            found.take("centers", type(None))
            model = Hyperplane(coefficients, intercepts)
        else:
            centers, numbers = None, record.kept
            if sample.given:
                found.take("centers", type(None))
            else:
                numbers = np.full(coefficients.shape[0], -1)
                centers = rows_from(found, "centers", numbers.size, dtype)
                if centers.shape[1] != d:
                    refuse(found.where, f"centers have {centers.shape[1]} features, not {d}")
            model = KernelExpansion(sample.kernel, centers, numbers, coefficients, intercepts)
        return ErrorScale(
            model,
            found.array("alphas", (t,), (np.float64,), least=0.0),
            found.array("typical", (t,), (np.float64,), least=np.nextafter(0.0, 1.0)),
            found.array("largest", (t,), (np.float64,), least=0.0),
            found.array("left_out", (record.scored_rows.size, t), (dtype,)),
        )
