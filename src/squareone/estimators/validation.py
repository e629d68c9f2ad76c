"""The data of a fit as they come from the user, checked: rows, targets, weights."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..arrays import Array
from ..kernels.precomputed import check_square
from ..rows import ArrayRows, Stream, canonical
from ..rows.checks import check_scale, is_dask, refuse_masked
from ..rows.column_problems import column_problems, listed
from ..targets import Labels, Responses
from ..targets.target_validation import check_spread, check_weights, with_class_weights

FLOATS = [np.float64, np.float32]


@dataclass(frozen=True)
class FitData:
    """Rows, targets and weights of a fit.

    Attributes
    ----------
    X : array (n, d), CSR matrix, Stream, or kernel matrix (n, n)
    y : array (n,) or (n, t)
    targets : Responses or Labels
    columns : array (n, t)
        y as numbers.
    user_weights, weights : array (n,) or None
        As they were given, and of the fit, in which classes may have weights, too.
    class_weights : array (k,) or None
        Those of the classes.
    kept : array
        Numbers of the rows of positive weight.
    """

    X: Any
    y: Array
    targets: Responses | Labels
    columns: Array
    user_weights: Array | None
    weights: Array | None
    class_weights: Array | None
    kept: Array


def read(estimator: Any, X: Any, y: Any, sample_weight: Any, *, given: bool) -> FitData:
    """Check all of it; ``given`` says that X is a kernel matrix."""
    X = check_rows(estimator, X, reset=True, sparse=not given)
    if given:
        check_square(X)
    check_scale(X, "the kernel matrix" if given else "X")
    y, targets, columns = estimator._read_targets(X, y)
    user_weights = check_weights(sample_weight, X.shape[0], X.dtype)
    estimator._check_targets(targets, columns.shape[1], user_weights)
    class_weights = estimator._class_weights(y, user_weights)
    weights = user_weights
    if isinstance(targets, Labels):
        weights = with_class_weights(class_weights, y, user_weights)
    check_spread(weights, X.dtype)
    kept = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
    return FitData(X, y, targets, columns, user_weights, weights, class_weights, kept)


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
