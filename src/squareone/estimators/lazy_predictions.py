"""Predictions of a Dask collection, as a Dask array that nobody has computed yet."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..threads import one_core


def lazily(
    estimator: Any, method: Callable[..., Any], X: Any, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """What ``method(estimator, X, *args, **named)`` would be: chunks (b, …) for those of X.

    The model is a task of the graph, as it is now: a later fit of the estimator changes nothing.

    **Cost**: a prediction of two rows, which tells the type and the shape.
    """
    check_is_fitted(estimator)
    frame = hasattr(X, "columns")
    width = X.shape[1] if X.ndim == 2 else 0
    if X.ndim != 2:
        msg = f"X has {X.ndim} dimension: rows of features (m, d) are expected"
        raise ValueError(msg)
    if not frame and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    first = _two_rows(X) if frame else np.zeros((2, width), X.dtype)
    example = method(estimator, first, *args, **named)
    several = isinstance(example, tuple)
    # a stream goes on learning where it is; a fit begins anew
    own = deepcopy(estimator) if hasattr(estimator, "partial_fit") else copy(estimator)
    model = delayed(own, pure=False, traverse=False)
    ask = delayed(_predicted, pure=False, nout=len(example) if several else None)
    chunks = list(X.to_delayed()) if frame else list(X.to_delayed()[:, 0])
    lengths = [np.nan] * len(chunks) if frame else X.chunks[0]
    empty = tuple(part[:0] for part in example) if several else example[:0]
    answers = [ask(method.__name__, model, chunk, args, named, empty) for chunk in chunks]
    if not several:
        return _stacked(answers, lengths, example)
    columns = range(len(example))
    return tuple(_stacked([each[j] for each in answers], lengths, example[j]) for j in columns)


def _two_rows(X: Any) -> Any:
    """A data frame with the columns of a Dask data frame, and zeros for numbers."""
    found = X._meta_nonempty.copy()
    for name in found.select_dtypes("number").columns:
        found[name] = 0
    return found


def _stacked(answers: list[Any], lengths: Any, example: Array) -> Any:
    parts = [
        da.from_delayed(answer, (length, *example.shape[1:]), meta=example[:0])
        for answer, length in zip(answers, lengths, strict=True)
    ]
    return da.concatenate(parts) if len(parts) > 1 else parts[0]


def _predicted(
    name: str, model: Any, chunk: Any, args: tuple[Any, ...], named: dict[str, Any], empty: Any
) -> Any:
    """The answer for a chunk, by one thread; a chunk without rows is no question."""
    if not chunk.shape[0]:
        return empty
    with one_core():
        return getattr(model, name)(chunk, *args, **named)
