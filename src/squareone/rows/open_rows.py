"""Opening a file of rows: the ending of its name says which reader it needs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from .array_rows import ArrayRows, column_numbers
from .checks import FilePath, existing_file
from .column_problems import refuse_missing
from .stream import Stream
from .svmlight import SVMLightRows
from .table_files import ArrowRows, CSVRows, ParquetFolderRows, ParquetRows, TableRows

_PACKED = ("", ".gz", ".bz2")
_TABLES: dict[str, type[TableRows]] = {
    ".parquet": ParquetRows,
    **dict.fromkeys((".arrow", ".feather", ".ipc"), ArrowRows),
    **dict.fromkeys([kind + packed for kind in (".csv", ".tsv") for packed in _PACKED], CSVRows),
}
# What stands for the ending of a folder.
_FOLDER = "folder"
_SVMLIGHT = [kind + packed for kind in (".svm", ".svmlight", ".libsvm") for packed in _PACKED]


def open_rows(
    path: str | os.PathLike[str],
    target: Any = None,
    *,
    columns: Sequence[Any] | None = None,
    transformer: Any = None,
    dtype: Any = None,
    n_features: int | None = None,
) -> Any:
    """Rows of a file, to be read block by block, and its targets where they are asked for.

    Parameters
    ----------
    path : path
        A folder of Parquet files, read by name one after the other, or a file whose name ends in
        ``.npy``, ``.parquet``, ``.arrow``, ``.feather``, ``.ipc``,
        ``.csv``, ``.tsv`` (also with ``.gz`` or ``.bz2``), or in ``.svm``, ``.svmlight``,
        ``.libsvm`` (also with ``.gz`` or ``.bz2``).
    target : str or list of str, int or list of int, True, optional
        The column that is predicted, or several: by name, in ``.npy`` by number. True: the labels
        of a file of svmlight. It is not among the features.
    columns : sequence, optional
        Columns that are the features, or that the transformer is given: names, in ``.npy`` numbers.
        By default those the transformer was fitted on, or all but the target.
    transformer : fitted scikit-learn transformer, optional
        For tables: makes the features of each block, given as a pandas data frame.
    dtype : {float32, float64}, optional
        By default as in the file; integers become float64.
    n_features : int, optional
        Features of a file of svmlight, by default as many as it has.

    Returns
    -------
    Stream, or tuple of Stream and array (n,) or (n, t)
        The rows; with ``target`` also the targets, in memory: numbers, or texts as they are.

    Notes
    -----
    **Cost**: the metadata are read; of text files (CSV, svmlight) everything, to count the rows,
    and for targets their columns.

    Examples
    --------
    >>> import pandas
    >>> from tempfile import TemporaryDirectory
    >>> from squareone.rows import open_rows
    >>> table = pandas.DataFrame({"size": [1.0, 2.0], "age": [30, 4], "kind": ["oak", "elm"]})
    >>> with TemporaryDirectory() as folder:
    ...     table.to_parquet(f"{folder}/trees.parquet")
    ...     X, y = open_rows(f"{folder}/trees.parquet", "kind")
    ...     print(X, X.feature_names, y)
    ...     float(X[:].sum())
    ParquetRows('trees.parquet': 2 rows, 2 features, float64) ['size', 'age'] ['oak' 'elm']
    37.0
    """
    given = {"columns": columns, "transformer": transformer, "n_features": n_features}
    suffix = _suffix(path)
    if suffix == ".npy":
        _refuse_others(given, ("columns",), suffix)
        return _of_npy(path, target, columns, dtype)
    if suffix in _SVMLIGHT:
        _refuse_others(given, ("n_features",), suffix)
        return _of_svmlight(path, target, n_features, dtype)
    _refuse_others(given, ("columns", "transformer"), suffix)
    kind = ParquetFolderRows if suffix == _FOLDER else _TABLES[suffix]
    if target is None:
        return kind(path, columns=columns, transformer=transformer, dtype=dtype)
    return _with_target(kind, path, target, columns, transformer, dtype)


def open_features(path: FilePath, names: Sequence[str] | None) -> Stream:
    """Rows of a file for a model with features of these names: other columns are not looked at."""
    suffix = _suffix(path)
    kind = ParquetFolderRows if suffix == _FOLDER else _TABLES.get(suffix)
    if names is None or kind is None:
        return open_rows(path)
    none_of_them = (
        "Where the model was fitted to what a transformer makes of columns, open the file with it, "
        "open_rows(path, transformer=...)"
    )
    refuse_missing(names, kind.columns_of(path)[0], _quoted_name(path), none_of_them)
    return open_rows(path, columns=list(names))


def _quoted_name(path: FilePath) -> str:
    return repr(Path(os.fsdecode(path)).name)


def _suffix(path: FilePath) -> str:
    """The ending of a file's name that says how to read it."""
    if Path(os.fsdecode(path)).is_dir():
        return _FOLDER
    name = Path(os.fsdecode(path)).name.lower()
    known = [".npy", *_TABLES, *_SVMLIGHT]
    for suffix in known:
        if name.endswith(suffix):
            existing_file(path)
            return suffix
    msg = (
        f"{name!r} cannot be opened: a folder of Parquet files, or a name that ends in "
        f"{', '.join(known)}, is expected"
    )
    raise ValueError(msg)


def _refuse_others(given: dict[str, Any], known: tuple[str, ...], suffix: str) -> None:
    for name, value in given.items():
        if value is not None and name not in known:
            msg = f"{name} has no meaning for {suffix} files: leave it out"
            raise ValueError(msg)


def _refuse_leak(
    target: Any, features: list[Any], targets: list[Any], *, transformed: bool = False
) -> None:
    if set(features) & set(targets):
        where = " of the data frame that the transformer was fitted to" if transformed else ""
        msg = (
            f"the target {target!r} is among the features{where}, which are to predict it: leave "
            "it out"
        )
        raise ValueError(msg)


def _with_target(
    kind: type[TableRows], path: FilePath, target: Any, columns: Any, transformer: Any, dtype: Any
) -> tuple[Stream, Array]:
    names = [target] if isinstance(target, str) else list(target)
    there, features = kind.columns_of(path)
    refuse_missing(names, there, _quoted_name(path))
    given = getattr(transformer, "feature_names_in_", None) if columns is None else columns
    if given is not None:
        features = list(given)
        _refuse_leak(target, features, names, transformed=columns is None)
    features = [name for name in features if name not in names]
    rows = kind(path, columns=features, transformer=transformer, dtype=dtype)
    found = [rows.column(name) for name in names]
    return rows, found[0] if isinstance(target, str) else np.stack(found, axis=1)


def _of_npy(path: FilePath, target: Any, columns: Sequence[int] | None, dtype: Any) -> Any:
    try:
        array = np.load(path, mmap_mode="r")
    except ValueError as error:
        msg = f"{_quoted_name(path)} cannot be mapped into memory ({error})"
        raise ValueError(msg) from error
    rows = ArrayRows(array, columns=columns, dtype=dtype)
    if target is None:
        return rows
    width = array.shape[1]
    targets = column_numbers(np.atleast_1d(target), width)
    if columns is None:
        features = np.setdiff1d(np.arange(width), targets).tolist()
        rows = ArrayRows(array, columns=features, dtype=dtype)
    else:
        _refuse_leak(target, column_numbers(columns, width).tolist(), targets.tolist())
    y = np.array(array[:, targets])
    return rows, y[:, 0] if np.ndim(target) == 0 else y


def _of_svmlight(path: FilePath, target: Any, n_features: int | None, dtype: Any) -> Any:
    if target not in (None, True, False):
        msg = f"target={target!r}: a file of svmlight has one label per row, target=True gives them"
        raise ValueError(msg)
    rows = SVMLightRows(path, n_features=n_features, dtype=dtype)
    return (rows, rows.labels) if target else rows
