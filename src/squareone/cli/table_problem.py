"""A table and a question: what is read, what is predicted, and from which columns."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import TableFileError
from ..planning.available_memory import memory_limit
from ..rows.column_problems import refuse_missing
from ..rows.mapped_table import is_mapped
from ..rows.table_reader import TableFile, read_table
from ..tables.columns import columns_of
from ..tables.encoded_rows import rows_of_table
from ..tables.target_choice import TargetColumn, target_of
from ..texts import listed
from .console import Console
from .feature_columns import features_of, with_target

__all__ = ["TableProblem", "counted", "open_table", "table_problem"]

# A table that takes more than such a part of the memory is left on the disk, and mapped.
_PARTS = 10
# Rows without a target that are listed.
_LISTED = 5
#: How a text file is written, where the user knows.
READING = ("encoding", "delimiter", "decimal", "header_lines")


@dataclass
class TableProblem:
    """A table, and what is to be predicted of it.

    Attributes
    ----------
    file : TableFile
    target : TargetColumn
    X : pyarrow.Table (m, d)
        The columns that may help, of the rows with a target.
    weights, groups, order : array (m,) or None
        Of these rows.
    """

    file: TableFile
    target: TargetColumn
    X: Any
    weights: Array | None
    groups: Array | None
    order: Array | None

    @property
    def task(self) -> str:
        """``"regression"`` or ``"classification"``."""
        return self.target.task

    @property
    def y(self) -> Array:
        """The targets (m,)."""
        return self.target.values


def open_table(path: str, options: dict[str, Any], words: Any = ()) -> TableFile:
    """A table by its name, or from stdin for ``-``, with the options the user gave.

    Columns of ``words`` stay as they are written.
    """
    given = {name: options.get(name) for name in READING}
    source: Any = path
    if path == "-":
        if sys.stdin.isatty():
            msg = "a table is expected on standard input, and nothing is piped into it"
            raise ValueError(msg)
        source = sys.stdin.buffer
    may_take = memory_limit(options.get("memory")) / _PARTS
    return read_table(source, **given, words=words, memory=may_take)


def table_problem(path: str, options: dict[str, Any], console: Console) -> TableProblem:
    """Read a table and its target, and say what they were taken for."""
    words = options.get("words") or ()
    file = open_table(path, options, words)
    n, d = file.table.shape
    console.say(f"{file.name}: {counted(n, 'row')}, {counted(d, 'column')} ({file.said()})")
    if is_mapped(file.table):
        console.detail("the table is left on the disk, and read in passes")
    name = options["target"]
    if options.get("task") != "classification":
        file = with_target(file, name, console)
    target = target_of(file, name, options.get("task") or "auto")
    console.say(_said_of_target(target))
    _tell_left_out(file, target, console)
    special = [options.get(key) for key in ("weights", "groups", "time_column")]
    away = [name, *(each for each in special if each), *(options.get("drop") or ())]
    refuse_missing(away, file.table.column_names, file.name)
    for each in special:
        if each == name:
            msg = f"{each!r} is the target: name another column"
            raise ValueError(msg)
    features = [column for column in file.table.column_names if column not in set(away)]
    if not features:
        remedy = "a column to predict from is expected beside the target"
        raise TableFileError(file.name, "it has no column to learn from", remedy, column=name)
    X = features_of(file, features, words, console)
    whole = target.rows.size == n
    X = X if whole else rows_of_table(X, target.rows)
    weights, groups, order = (
        None if each is None else _special(file, each, kind, target.rows)
        for each, kind in zip(special, ("weights", "groups", "times"), strict=True)
    )
    if weights is not None and not weights.any():
        msg = f"the weights in {options['weights']!r} are all zero"
        raise ValueError(msg)
    return TableProblem(file, target, X, weights, groups, order)


def _said_of_target(target: TargetColumn) -> str:
    if target.task == "regression":
        return f"{target.name} is a quantity ({target.why})"
    names, counts = np.unique(target.values, return_counts=True)
    of_each = [
        f"{name} in {counted(k, 'row')}" for name, k in zip(names, counts.tolist(), strict=True)
    ]
    return f"{target.name} has {names.size:,} classes ({target.why}): {listed(of_each, 4)}"


def _tell_left_out(file: TableFile, target: TargetColumn, console: Console) -> None:
    missing = np.setdiff1d(np.arange(file.table.num_rows), target.rows)
    if missing.size:
        some = ", ".join(f"{row + 1:,}" for row in missing[:_LISTED])
        more = ", …" if missing.size > _LISTED else ""
        console.note(
            f"{counted(missing.size, 'row')} without a value of {target.name} left out "
            f"(row{'s' * (missing.size > 1)} {some}{more})"
        )


def counted(count: int, what: str) -> str:
    """A number of things."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def _special(file: TableFile, name: str, kind: str, rows: Array) -> Array:
    """Weights, groups or times (m,), of which none may be missing."""
    column = columns_of(file.table.select([name]), "the table").column(0, name)
    found = column.values[rows]
    gaps = column.gaps[rows]
    if gaps.any():
        row = int(rows[np.argmax(gaps)])
        raise file.error(f"{kind} are expected in every row", "fill it in", row=row, column=name)
    if kind == "groups":
        return np.unique(found, return_inverse=True)[1]
    if kind == "weights":
        if column.content != "numbers" or (found < 0).any() or np.isinf(found).any():
            wrong = (found < 0) | np.isinf(found) if column.content == "numbers" else [True]
            row = int(rows[int(np.argmax(wrong))])
            remedy = "write how many rows this one counts as, or name another column"
            raise file.error("a weight at or above zero is expected", remedy, row=row, column=name)
        return found
    if column.content == "words":
        from ..tables.columns import parsed_times

        times = parsed_times(column)
        if times is None:
            remedy = "write dates as 2024-12-31, or numbers"
            raise file.error("dates or numbers are expected", remedy, row=int(rows[0]), column=name)
        found = times.values[rows]
    return found
