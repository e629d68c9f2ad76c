"""Predictions of rows, block by block, into a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from ..arrays import Array
from ..rows import BlockWriter, GeneratedRows, Rows, rows_of
from ..rows.open_rows import open_features
from ..rows.stream_views import with_columns

#: What can be written row by row, and rows in a block of it.
_WRITABLE = ("predict", "decision_function", "predict_proba", "predict_interval")
_FILE_ROWS = 16_384


def write_predictions(estimator: Any, X: Any, path: str | os.PathLike[str], method: str) -> None:
    """Ask a fitted ``estimator`` for blocks of rows by one of its methods, and write the answers.

    X is rows, or the path of a file of rows. Neither rows nor answers are held.
    """
    estimator._recorded()
    ask = getattr(estimator, method, None)
    if method not in _WRITABLE or ask is None:
        known = ", ".join(f'"{name}"' for name in _WRITABLE if hasattr(estimator, name))
        msg = f"method={method!r}: one of {known} is expected"
        raise ValueError(msg)
    if estimator._takes_tables:
        msg = (
            f"predict_file reads rows of numbers, and {type(estimator).__name__} takes tables: "
            "predict parts of the table, such as those of pandas.read_csv(path, chunksize=10000), "
            "and write these predictions with squareone.rows.BlockWriter"
        )
        raise TypeError(msg)
    _refuse_same_file(X, path)
    names = getattr(estimator, "feature_names_in_", None)
    rows = estimator._rows(_with_features(estimator, X, names))
    writer: BlockWriter | None = None
    with ExitStack() as stack:
        for _, block in rows_of(rows).row_blocks(_FILE_ROWS):
            values = np.asarray(ask(_named(block, names)))
            values = values.reshape(values.shape[0], -1) if values.ndim == 3 else values
            if writer is None:
                columns = _columns_of(estimator, method, values)
                writer = stack.enter_context(BlockWriter(path, columns, rows.shape[0]))
            writer.write(values)


def _with_features(estimator: Any, X: Any, names: Array | None) -> Any:
    """Rows, or those of a file, with the features of the fit: by name where they have any."""
    if not isinstance(X, str | os.PathLike):
        return X if names is None else with_columns(X, list(names), "X")
    rows = open_features(X, None if names is None else list(names))
    if names is None and rows.feature_names and rows.shape[1] != estimator.n_features_in_:
        msg = (
            f"{rows} has the columns {rows.feature_names[:10]}, and {type(estimator).__name__} was "
            f"fitted to {estimator.n_features_in_} features without names: say which ones they "
            "are, open_rows(path, columns=[...])"
        )
        raise ValueError(msg)
    return rows


def _columns_of(estimator: Any, method: str, values: Array) -> list[str]:
    """Names of what a method gives for every row."""
    if method == "predict_interval":
        t = values.shape[1] // 2
        ends = ("lower", "upper")
        return list(ends) if t == 1 else [f"{end}_{j}" for j in range(t) for end in ends]
    if values.ndim == 1:
        return ["prediction" if method == "predict" else method]
    classes = getattr(estimator, "classes_", np.arange(values.shape[1]))
    return [f"{method}_{name}" for name in classes]


def _refuse_same_file(X: Any, path: str | os.PathLike[str]) -> None:
    """Predictions are not written over the rows they are made from."""
    source = X if isinstance(X, str | os.PathLike) else getattr(X, "path", None)
    if not isinstance(source, str | os.PathLike):
        return
    if os.path.exists(path) and os.path.exists(source) and os.path.samefile(source, path):
        msg = (
            f"predict_file would replace {os.fspath(path)!r}, which has the rows that are "
            "predicted: give another file"
        )
        raise ValueError(msg)


def _named(block: Rows, names: Array | None) -> Any:
    """A block of rows that were checked, as rows whose features have names."""
    if names is None:
        return block.X

    def make() -> Iterator[Any]:
        yield block.X

    return GeneratedRows(
        make, block.shape, block.dtype, sparse=block.sparse, feature_names=list(names)
    )
