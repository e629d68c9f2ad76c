"""Predictions of a Dask collection, as Dask arrays that nobody has computed yet."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import cloudpickle
import dask.array as da
import numpy as np
from dask.delayed import delayed
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..fitting.result import FitResult
from ..rows.dask_tasks import later, results_in_order, tasks_of_groups
from ..threads import one_core


def lazily(
    estimator: Any, method: Callable[..., Any], X: Any, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """What ``method(estimator, X, *args, **named)`` would be: chunks (b, …) for those of X.

    The model is a task of the graph, as it is now: whatever the estimator learns later changes
    nothing. What needs the factorisation, which no worker has, is computed here and now.

    **Cost**: a copy of the model, and two predictions of two rows, which tell the type and the
    shape, and whether the copy is enough.
    """
    check_is_fitted(estimator)
    if X.ndim != 2:
        msg = f"X has {X.ndim} dimension: rows of features (m, d) are expected"
        raise ValueError(msg)
    frame = hasattr(X, "columns")
    if not frame and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    chunks = list(X.to_delayed()) if frame else list(X.to_delayed()[:, 0])
    first = _two_rows(X) if frame else np.zeros((2, X.shape[1]), X.dtype)
    own, example = _answering(estimator, method, first, args, named)
    several = isinstance(example, tuple)
    empty = tuple(part[:0] for part in example) if several else example[:0]
    ask = (method.__name__, args, named, empty)
    if own is not None:
        model = delayed(own, pure=False, traverse=False)
        call = delayed(_predicted, pure=False, nout=len(example) if several else None)
        answers = [call(model, chunk, ask) for chunk in chunks]
        lengths = [np.nan] * len(chunks) if frame else X.chunks[0]
    else:
        answers = [_predicted(estimator, chunk, ask) for chunk in results_in_order(chunks)]
        lengths = [len(each[0] if several else each) for each in answers]
    if not several:
        return _stacked(answers, lengths, example)
    columns = range(len(example))
    return tuple(_stacked([each[j] for each in answers], lengths, example[j]) for j in columns)


def left_out(record: FitResult, lengths: Sequence[int]) -> Any:
    """Leave-one-out predictions of all rows of a fit (n, …), in chunks as those of its rows.

    Values that are known, or are made here, are sent; others are computed where the rows are.
    """
    asked, shaped = record.left_out_question(), record.targets.shaped
    if asked is None:
        values = shaped(record.leave_one_out_values)
        return da.from_array(values, chunks=(tuple(lengths), *values.shape[1:]))
    tasks = tasks_of_groups(asked.rows, asked.ask, asked.beside, asked.size)
    example = shaped(record.columns[:1])[:0]
    parts = [
        da.from_delayed(
            later(_joined, shaped, task), (rows.stop - rows.start, *example.shape[1:]), meta=example
        )
        for rows, task in tasks
    ]
    return da.concatenate(parts).rechunk({0: tuple(lengths)})


def _joined(shaped: Callable[[Array], Array], parts: list[Array]) -> Array:
    return shaped(np.concatenate(parts))


def _answering(
    estimator: Any, method: Callable[..., Any], first: Any, args: tuple[Any, ...], named: Any
) -> tuple[Any, Any]:
    """A copy of the estimator that has the answers, and that for the rows ``first`` (2, d).

    With what they need and no more, where the estimator knows what that is; otherwise all of it,
    as in a pickle. None in place of the copy where the factorisation has to be asked.
    """
    ask = (method.__name__, args, named, None)
    with suppress(AttributeError):
        own = _copy(estimator._travelling(*ask[:3]))
        return own, _predicted(own, first, ask)
    example = method(estimator, first, *args, **named)
    own = _copy(estimator)
    try:
        _predicted(own, first, ask)
    except AttributeError:
        own = None
    return own, example


def _copy(estimator: Any) -> Any:
    """The estimator as a worker would have it."""
    return pickle.loads(cloudpickle.dumps(estimator))


def _two_rows(X: Any) -> Any:
    """A data frame with the columns of a Dask data frame, and zeros for numbers."""
    found = X._meta_nonempty.copy()
    for name in found.select_dtypes("number").columns:
        found[name] = 0
    return found


def _stacked(answers: list[Any], lengths: Any, example: Array) -> Any:
    parts = [
        da.from_delayed(answer, (length, *example.shape[1:]), meta=example[:0])
        if not isinstance(answer, np.ndarray)
        else da.from_array(answer, chunks=answer.shape)
        for answer, length in zip(answers, lengths, strict=True)
    ]
    return da.concatenate(parts) if len(parts) > 1 else parts[0]


def _predicted(model: Any, chunk: Any, ask: tuple[Any, ...]) -> Any:
    """The answer for a chunk, by one thread; a chunk without rows is no question."""
    name, args, named, empty = ask
    if not chunk.shape[0]:
        return empty
    with one_core():
        return getattr(model, name)(chunk, *args, **named)
