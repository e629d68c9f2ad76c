"""Rows, weights and alpha as they come from the user, checked."""

from __future__ import annotations

from collections import Counter
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..arrays import Array
from ..errors import ScaleError
from ..kernels import Precomputed
from ..rows import ArrayRows, Stream, canonical
from ..rows.checks import check_scale, is_dask, refuse_masked
from ..rows.column_problems import column_problems, listed

FLOATS = [np.float64, np.float32]


def check_rows(estimator: BaseEstimator, X: Any, *, reset: bool, sparse: bool = True) -> Any:
    """X as finite rows of float64 or float32, names and number of features remembered.

    A 2-D array or, where ``sparse`` says so, a CSR matrix with sorted indices and no duplicates.
    Read-only input stays untouched; integers become float64.
    """
    refuse_masked(X, "X")
    if _is_mapped(X):
        X = ArrayRows(X)
    if is_dask(X):
        from ..rows.dask_rows import DaskRows  # imported late: Dask is an extra

        X = DaskRows(X)
    if isinstance(X, Stream):
        return _check_stream(estimator, X, reset=reset, sparse=sparse)
    _check_names(X)
    _refuse_times(X)
    try:
        X_checked = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr" if sparse else False,
            dtype=FLOATS,
            order="C",
            ensure_min_samples=1,
        )
    except (OverflowError, TypeError, ValueError) as error:
        if sparse:  # rows, and not a kernel matrix
            _explain_columns(X, error)
        raise
    return canonical(X_checked) if issparse(X_checked) else X_checked


def _is_mapped(X: Any) -> bool:
    """Whether it is an array of numbers in a file: it is read block by block."""
    return isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "fiub" and X.size > 0


def _check_stream(estimator: Any, X: Stream, *, reset: bool, sparse: bool) -> Stream:
    """Names and number of features remembered or compared; its numbers are checked as they come."""
    if not sparse:
        msg = "a precomputed kernel needs its matrix in memory: pass X[:], an array"
        raise TypeError(msg)
    d, names = X.shape[1], X.feature_names
    if reset:
        estimator.n_features_in_ = d
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return X
    if d != estimator.n_features_in_:
        msg = (
            f"X has {d} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
        raise ValueError(msg)
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is not None and names is not None and list(fitted) != list(names):
        other = [name for name in names if name not in set(fitted)][:5]
        what = f"{other} were not seen at fit time" if other else "their order is another one"
        msg = (
            f"The feature names should match those that were passed during fit: {what}. Choose "
            f"columns={list(fitted)[:5]}{'...' if len(fitted) > 5 else ''} when the rows are opened"
        )
        raise ValueError(msg)
    return X


def _check_names(X: Any) -> None:
    names = getattr(X, "columns", None)
    if names is None or not hasattr(X, "shape"):
        return
    repeated = sorted(str(name) for name, count in Counter(names).items() if count > 1)
    if repeated:
        msg = f"X has several columns named {', '.join(repeated)}: column names must be unique"
        raise ValueError(msg)


# What scikit-learn says of shapes and names, and of numbers it does not know at all.
_NOT_ABOUT_COLUMNS = (
    "Complex data",
    "Expected 2D array",
    "Found array with",
    "eature names",
    "features, but",
)


def _refuse_times(X: Any) -> None:
    """Where all columns are dates NumPy makes numbers of them, in a unit nobody has chosen."""
    first = X[:1] if hasattr(X, "dtypes") or isinstance(X, np.ndarray) else None
    if first is not None and np.asarray(first).dtype.kind in "mM":
        raise TypeError(listed(column_problems(X), "X"))


def _explain_columns(X: Any, error: Exception) -> None:
    """Raise the same error with all columns that are in the way, where that is what it is about."""
    if any(about in str(error) for about in _NOT_ABOUT_COLUMNS):
        return
    try:
        problems = column_problems(X)
    except (TypeError, ValueError):  # no array either, which is what the error says
        return
    if problems:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(listed(problems, "X")) from error


def check_square(K: Array) -> None:
    """A precomputed kernel matrix between the training rows is square."""
    if K.shape[0] != K.shape[1]:
        msg = (
            f"the precomputed kernel matrix has shape {K.shape}: a square one, k between all "
            "training rows, is expected in fit"
        )
        raise ValueError(msg)


def check_kernel_values(K: Any, n: int) -> None:
    """Kernel values at predict have a column per training row."""
    shape = np.shape(K)
    if len(shape) == 2 and shape[1] != n:
        msg = (
            f"X has {shape[1]} columns: with a precomputed kernel its values with the {n} training "
            f"rows, (m, {n}), are expected"
        )
        raise ValueError(msg)


def check_weights(sample_weight: Any, n: int, dtype: np.dtype) -> Array | None:
    """Weights (n,) at or above zero, not all zero; None where all are one."""
    if sample_weight is None:
        return None
    refuse_masked(sample_weight, "sample_weight")
    if isinstance(sample_weight, Real):
        weights = np.full(n, float(sample_weight))
    else:
        if np.asarray(sample_weight).dtype.kind == "c":
            msg = "sample_weight is complex: finite weights at or above zero are expected"
            raise ValueError(msg)
        try:
            weights = np.asarray(sample_weight, dtype=np.float64)
        except (TypeError, ValueError) as error:
            msg = f"sample_weight must be numbers: {error}"
            raise ValueError(msg) from error
    if weights.ndim != 1:
        msg = f"Sample weights must be 1D array or scalar, got {weights.ndim} dimensions"
        raise ValueError(msg)
    if weights.size != n:
        msg = f"sample_weight.shape == {weights.shape}, expected {(n,)}: one weight per row"
        raise ValueError(msg)
    if not np.isfinite(weights).all():
        what = "NaN" if np.isnan(weights).any() else "infinity"
        msg = f"sample_weight contains {what}: finite weights at or above zero are expected"
        raise ValueError(msg)
    if (weights < 0).any():
        row = int(np.argmin(weights))
        msg = (
            f"Negative values in data passed to `sample_weight`: {weights[row]:.3g} at row {row}. "
            "Weights at or above zero are expected"
        )
        raise ValueError(msg)
    if not (weights > 0).any():
        msg = "Sample weights must contain at least one non-zero number: all weights are zero"
        raise ValueError(msg)
    check_scale(weights, "sample_weight")
    return None if (weights == 1).all() else weights


def check_spread(weights: Array | None, dtype: np.dtype) -> None:
    """Refuse weights so different that the smallest would vanish in this precision."""
    if weights is None:
        return
    least, most = float(weights[weights > 0].min(initial=np.inf)), float(weights.max())
    if np.sqrt(least / most) < np.finfo(dtype).tiny:
        msg = (
            f"weights from {least:.3g} to {most:.3g}: in {dtype.name} the smallest vanish beside "
            "the largest. Set them to zero, or use float64 rows"
        )
        raise ScaleError(msg)


_ALPHA_EXPECTED = (
    'a number at or above zero, a 1-D sequence of such numbers (a grid to choose from), or "auto" '
    "is expected"
)


def check_alpha(alpha: Any) -> float | Array | str:
    """A number, an array of numbers (a grid) or "auto"."""
    if isinstance(alpha, str):
        if alpha == "auto":
            return alpha
        msg = f"alpha={alpha!r}: {_ALPHA_EXPECTED}"
        raise ValueError(msg)
    if isinstance(alpha, Real) and not isinstance(alpha, bool):
        _check_alphas(np.array([float(alpha)]), alpha)
        return float(alpha)
    try:
        grid = np.asarray(alpha)
        numbers = grid.dtype.kind in "iuf" and grid.ndim <= 1
        grid = grid.astype(np.float64)
    except (TypeError, ValueError):
        numbers = False
    if not numbers and np.size(alpha):
        msg = f"alpha={alpha!r}: {_ALPHA_EXPECTED}"
        raise ValueError(msg)
    if grid.size == 0:
        msg = 'alpha is an empty sequence: give at least one value, or "auto"'
        raise ValueError(msg)
    _check_alphas(grid, alpha)
    return float(grid) if grid.ndim == 0 else grid


def _check_alphas(values: Array, alpha: Any) -> None:
    if np.isnan(values).any() or np.isinf(values).any():
        msg = f"alpha={alpha!r}: alpha must be finite, got NaN or infinity"
        raise ValueError(msg)
    if (values < 0).any():
        msg = f"alpha={alpha!r}: alpha must be at or above zero"
        raise ValueError(msg)


def is_precomputed(kernel: Any) -> bool:
    """Whether X is a kernel matrix."""
    return isinstance(kernel, Precomputed) or kernel == "precomputed"
