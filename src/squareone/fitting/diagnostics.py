"""Diagnostics of a fit: deviations, influence, leverages, rows that are suspicious.

New rows are an array (m, d) or a CSR matrix, whatever the rows of the fit are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..arrays import Array, alone, blocks, product
from ..kernels.base import check_range
from ..kernels.tiles import kernel_rectangle
from ..models import KernelExpansion
from ..selection.error_bounds import may_err_by_margin, stability_bound
from ..solvers import Factor
from ..targets import Labels
from .result import FitResult

# Numbers in a block of sensitivities: new rows times rows of the fit.
_BLOCK = 8_388_608


def where_fitted(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function of a record, whose kernel values are computed where those of the fit were."""

    @wraps(function)
    def there(record: FitResult, *args: Any, **named: Any) -> Array:
        with record.place().active():
            return function(record, *args, **named)

    return there


@where_fitted
def standard_deviations(record: FitResult, X: Any, *, noise: bool) -> Array:
    """Of the posterior of f, or of a new y, at rows ``X`` (m, d) → (m, t), in the units of y."""
    result = np.empty((X.shape[0], record.alphas.size), X.dtype)
    with record.answering("return_std") as factor:
        scales = record.scales
        for alpha, columns in record.by_alpha():
            for rows in pieces_of_new_rows(X, record.kept.size):
                prior = _prior(record, X[rows])
                variances = factor.variances(alpha, _queries(record, factor, X[rows]), prior)
                variances = np.maximum(variances, 0.0) + (alpha if noise else 0.0)
                result[rows, columns] = np.outer(np.sqrt(variances), scales[columns])
    return result


@where_fitted
def influence(record: FitResult, X: Any) -> Array:
    """f_{−i}(x) − f(x), (m, n) or (m, n, t): what leaving out each of the user's rows changes."""
    labels = record.targets
    code = labels.code if isinstance(labels, Labels) else None
    if code is not None and not code.coding.linear:
        msg = (
            f"coding={code.coding!r} counts signs, so that decision values do not change "
            'gradually: use BCH(decoding="correlation")'
        )
        raise ValueError(msg)
    record.check_rows()
    t = record.alphas.size
    result = np.zeros((X.shape[0], record.n_rows, t), X.dtype)
    errors = residuals(record)[record.kept].astype(X.dtype)
    for rows, columns, moves, _ in moves_by_blocks(record, X, "influence", None, errors):
        for j in columns:
            result[rows, record.kept, j] = -moves(j).T
    if code is not None:
        result = labels.coefficients(result.reshape(-1, t)).reshape(*result.shape[:2], -1)
    return result[:, :, 0] if result.shape[2] == 1 else result


def residuals(record: FitResult) -> Array:
    """Leave-one-out errors (n, t) of all the user's rows; plain ones for rows of weight zero."""
    return record.columns - record.leave_one_out_values


def leverages(record: FitResult) -> Array:
    """dŷ_i/dy_i of all the user's rows, (n,) or for a λ per target (n, t); zero for weight zero."""
    result = np.zeros((record.n_rows, record.alphas.size))
    result[record.kept] = 1.0 - record.complements
    return result if record.per_target else result[:, 0]


def gacv(record: FitResult) -> Array:
    """Mean square of r / (1 − tr H/n), weighted by w, for every target (t,), in its units."""
    shares = record.relative_complements / record.relative_complements.mean(axis=0)
    squares = np.square(shares * residuals(record)[record.kept])
    return np.average(squares, axis=0, weights=record.sample.weights)


def may_err(record: FitResult, thresholds: Array | float) -> Array:
    """Rows of the fit and target columns (n, t) that may be wrong when the row is left out.

    A column is wrong where its value is not on the right side of its threshold (t,).
    """
    weights = np.ones(record.kept.size) if record.sample.weights is None else record.sample.weights
    penalties = record.alphas / weights[:, None]
    fitted = record.complements * residuals(record)[record.kept]
    Y = record.columns[record.kept]
    return may_err_by_margin(Y, fitted, record.diagonal, penalties, thresholds)


def leave_one_out_error_bound(record: FitResult, threshold: Array | float) -> float | Array:
    """Share of rows that may be misclassified when left out; for several labels one for each."""
    labels = record.targets
    assert isinstance(labels, Labels)
    if labels.code is not None:
        msg = "loo_error_bound_ is for classes one against all, not for a code: use that coding"
        raise AttributeError(msg)
    if record.sample.intercept:
        msg = (
            "loo_error_bound_ holds only without an intercept: fit with fit_intercept=False "
            "for it, or take the exact leave-one-out errors, which loo_predictions_ gives"
        )
        raise AttributeError(msg)
    if record.sample.few_centers:
        msg = (
            "loo_error_bound_ is for a fit with all rows as centers: loo_predictions_ gives "
            "the leave-one-out errors themselves"
        )
        raise AttributeError(msg)
    if record.learned is not None:
        msg = (
            "loo_error_bound_ bounds leave-one-out errors at a kernel that has not seen the "
            "rows, and this one was chosen or its metric learned from them: best_score_ and "
            "loo_probabilities_ are of rows left out of that, too"
        )
        raise AttributeError(msg)
    rows = may_err(record, threshold)
    # several classes: a row is right if all its columns are
    return rows.mean(axis=0) if labels.multilabel else float(rows.any(axis=1).mean())


def bound_by_stability(record: FitResult, delta: float, kappa: float | None) -> float | Array:
    """A bound on the expected square loss on unseen rows, with probability 1 − δ; or refused."""
    if not isinstance(delta, Real) or not 0 < delta < 1:
        msg = f"delta={delta!r}: a number between 0 and 1, such as 0.05, is expected"
        raise ValueError(msg)
    assert isinstance(record.targets, Labels)
    if record.targets.code is not None:
        msg = "stability_bound is for classes one against all, not for a code: use that coding"
        raise ValueError(msg)
    if record.sample.intercept or record.sample.weights is not None:
        msg = (
            "stability_bound holds without an intercept and without weights only: fit with "
            "fit_intercept=False, and no sample_weight or class_weight"
        )
        raise ValueError(msg)
    if record.sample.few_centers:
        msg = "stability_bound is for a fit with all rows as centers: use centers=None"
        raise ValueError(msg)
    if not record.alphas.min() > 0:
        msg = "stability_bound needs an alpha above zero"
        raise ValueError(msg)
    if record.path()["alpha"].size > 1:
        msg = (
            "stability_bound needs a width and an alpha that were not chosen on these rows: "
            "fit with numbers for both, found on other rows"
        )
        raise ValueError(msg)
    if kappa is None:
        kappa = float(np.sqrt(record.diagonal.max()))
    elif not isinstance(kappa, Real) or not 0 < kappa < np.inf:
        msg = f"kappa={kappa!r}: a number above zero, the square root of k(x, x), is expected"
        raise ValueError(msg)
    return alone(stability_bound(residuals(record), record.alphas, kappa, delta))


def suspicious_rows(record: FitResult, n: int | None) -> Array:
    """The user's rows (n,) that the others believe least, in that order; None: all of the fit."""
    order = record.kept[np.argsort(-suspicion(record), kind="stable")]
    if n is None:
        return order
    if not isinstance(n, Integral) or isinstance(n, bool) or not 0 < n <= order.size:
        msg = f"n={n!r}: a number of rows from 1 to {order.size} is expected, or None for all"
        raise ValueError(msg)
    return order[:n]


def suspicion(record: FitResult) -> Array:
    """How little the other rows believe the target of each row of the fit (n,): greater is worse.

    For classes by how much the leave-one-out values prefer another one; for labels the worst of
    them. For numbers the largest leave-one-out error over the standard deviation that the model
    gives it, which is proportional to 1/√(w(1 − h)).
    """
    if isinstance(record.targets, Labels):
        values = record.targets.decisions(record.unseen_values[record.kept])
        truth = record.targets.truth(record.sample.Y)
        if values.shape[1] == 1 or record.targets.multilabel:
            return np.where(truth, -values, values).max(axis=1)
        own = values[truth]
        return np.where(truth, -np.inf, values).max(axis=1) - own
    errors = (record.columns - record.unseen_values)[record.kept]
    weights = record.sample.weights
    share = record.relative_complements
    share = share if weights is None else share * weights[:, None]
    standardised = np.abs(errors) * np.sqrt(share)
    typical = np.sqrt(np.mean(np.square(standardised), axis=0))
    return np.divide(standardised, typical, out=standardised, where=typical > 0).max(axis=1)


def moves_by_blocks(
    record: FitResult, X: Any, name: str, some: Array | None, errors: Array
) -> Iterator[tuple[slice, Array, Callable[[int], Array], Array]]:
    """New rows, target columns, f(x) − f_{−i}(x) (q, b) of a column, and predictions (b, t).

    For rows i of the fit with ``errors`` (q, t): ``some`` (q,), or all.
    """
    model = record.model
    with record.answering(name) as factor:
        for alpha, columns in record.by_alpha():
            for rows in pieces_of_new_rows(X, record.kept.size):
                queries = _queries(record, factor, X[rows])
                if factor.takes_rows:
                    values = model.values(queries)
                else:  # the kernel is there
                    values = product(queries, model.coefficients)
                    values += model.intercepts.astype(values.dtype)
                moves = factor.moves(alpha, queries, errors, record.unit, some)
                yield rows, columns, moves, values


def pieces_of_new_rows(X: Any, n: int) -> list[slice]:
    """New rows whose kernel values with ``n`` rows of the fit are held at a time."""
    return blocks(X.shape[0], max(1, _BLOCK // n))


def _queries(record: FitResult, factor: Factor, X: Any) -> Any:
    """Rows (b, d) as the factorisation asks for them: themselves, or their kernel values (b, n)."""
    model = record.model
    if factor.takes_rows or not isinstance(model, KernelExpansion):
        return X
    if model.centers is None:
        return X[:, model.indices]
    check_range(model.kernel, X)
    return kernel_rectangle(model.kernel, X, model.centers)


def _prior(record: FitResult, X: Any) -> Array:
    """k(x, x) (b,) where it is known and asked for."""
    if record.sample.given:
        msg = (
            "return_std and the gaussian interval need k(x, x) of the new rows, which a "
            'precomputed kernel does not have: use predict_interval(method="jackknife+")'
        )
        raise ValueError(msg)
    return record.sample.kernel.diagonal(X)
