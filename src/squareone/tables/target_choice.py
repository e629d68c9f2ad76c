"""What the target of a table is: numbers to be predicted, or classes, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import TableFileError
from ..rows.column_problems import refuse_missing
from ..rows.table_reader import TableFile
from .columns import LARGEST

__all__ = ["TargetColumn", "check_finite", "target_of"]

# Numbers that are classes: two different ones, or a few that count from 0 or 1 on.
_FEW = 3
# More classes than this, or than half of the rows, are names or texts.
_MOST_CLASSES = 200
# Rows from which anything can be said.
_FEWEST = 10
# A share of texts that are numbers, from which the others are mistakes.
_MOSTLY = 0.8


@dataclass(frozen=True)
class TargetColumn:
    """The target of a table.

    Attributes
    ----------
    name : str
    task : str
        ``"regression"`` or ``"classification"``.
    values : array (m,)
        Numbers, or texts of classes.
    rows : array (m,)
        Which rows of the table have one.
    why : str
        Why it is that task.
    """

    name: str
    task: str
    values: Array
    rows: Array
    why: str


def target_of(file: TableFile, name: str, task: str = "auto") -> TargetColumn:
    """The column ``name`` of a table as what is to be predicted.

    Parameters
    ----------
    file : TableFile
    name : str
    task : {"auto", "regression", "classification"}, default "auto"

    Raises
    ------
    TableFileError
        Where it is not there, does not vary, or is no number where numbers are expected.

    Notes
    -----
    Rows without a target are left out. For "auto", words and booleans are classes, and so are two
    different numbers, or three that count from 0 or 1 on; other numbers are a quantity.

    **Cost**: a pass over the column.
    """
    refuse_missing([name], file.table.column_names, file.name)
    column = _plain(file.table.column(name))
    there = np.flatnonzero(~np.asarray(column.is_null()))
    if not there.size:
        remedy = "look at how the column was read, or name another one"
        raise TableFileError(file.name, "no row has a value", remedy, column=name)
    if there.size < _FEWEST:
        remedy = f"at least {_FEWEST} are expected, and hundreds make sense"
        raise TableFileError(file.name, f"it has {there.size} rows with a target", remedy)
    known = column.drop_null()
    values = _values(known)
    numeric = values.dtype.kind in "iuf"
    if numeric:
        check_finite(file, name)
    if task == "auto":
        task, why = _task(values) if numeric else ("classification", "it has words")
        if values.dtype.kind == "b":
            why = "it is true or false"
        if not numeric and values.dtype.kind != "b":
            _refuse_spoilt_numbers(file, name, values, there)
    else:
        why = f"as --task {task} says"
    if task == "regression" and not numeric:
        if values.dtype.kind == "b":
            values = values.astype(np.float64)
        else:
            _refuse_word(file, name, values, there)
    values = values.astype(np.float64) if task == "regression" else _as_classes(values)
    different = np.unique(values).size
    if different < 2:
        remedy = "there is nothing to predict: name another column, or look for missing rows"
        raise TableFileError(
            file.name, "each row has the same value", remedy, column=name, value=str(values[0])
        )
    if task == "classification" and different > max(2, min(_MOST_CLASSES, values.size // 2)):
        raise TableFileError(
            file.name,
            f"it has {different:,} different values in {values.size:,} rows, too many for classes",
            "name another column, or put values together"
            + (", or say --task regression" if numeric else ""),
            column=name,
        )
    return TargetColumn(name, task, values, there, why)


def check_finite(file: TableFile, name: str) -> None:
    """Refuse infinite numbers in a column of a table, and those whose squares would be."""
    import pyarrow
    from pyarrow import compute

    column = file.table.column(name)
    if not pyarrow.types.is_floating(column.type):
        return
    wrong = compute.greater(compute.abs(column), LARGEST).to_numpy()
    row = int(np.argmax(wrong == True))  # noqa: E712  # nulls are None
    if len(wrong) and wrong[row]:
        raise file.error(
            f"finite numbers are expected, of at most {LARGEST:g}",
            "write a number, or leave the cell empty where there is none",
            row=row,
            column=name,
            value=str(column[row].as_py()),
        )


def _plain(column: Any) -> Any:
    import pyarrow

    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if pyarrow.types.is_decimal(kind):
        column = column.cast(pyarrow.float64())
    if pyarrow.types.is_date(kind) or pyarrow.types.is_timestamp(kind):
        column = column.cast(pyarrow.string())
    if pyarrow.types.is_floating(column.type):  # NaN of a data frame is a gap as well
        from pyarrow import compute

        return compute.if_else(compute.is_nan(column), None, column)
    return column


def _values(known: Any) -> Array:
    found = known.to_numpy()
    return np.array(found, dtype=str) if found.dtype.kind == "O" else found


def _task(values: Array) -> tuple[str, str]:
    different = np.unique(values[: values.size])
    if different.size == 2:
        return "classification", "it has two different values"
    whole = bool((different == np.round(different)).all())
    counts = different.size <= _FEW and different[0] in (0, 1)
    if whole and counts and different[-1] - different[0] == different.size - 1:
        return "classification", f"it has {different.size} different whole numbers"
    if whole and different.size <= 20:
        why = f"it has {different.size} different whole numbers; --task classification if these "
        return "regression", why + "are names of classes"
    return "regression", "it has numbers"


def _as_classes(values: Array) -> Array:
    """Whole numbers as such, other values as text."""
    if values.dtype.kind == "b":
        return np.where(values, "true", "false")
    if values.dtype.kind == "f" and (values == np.round(values)).all():
        return values.astype(np.int64)
    return values if values.dtype.kind in "iu" else values.astype(str)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _refuse_spoilt_numbers(file: TableFile, name: str, values: Array, rows: Array) -> None:
    """Words most of which are numbers: the others are to be looked at first."""
    levels, counts = np.unique(values, return_counts=True)
    good = np.array([_is_number(level) for level in levels])
    if counts[good].sum() < _MOSTLY * values.size or levels[good].size <= _FEW:
        return
    _refuse_word(file, name, values, rows, ", or --task classification if these are classes")


def _refuse_word(file: TableFile, name: str, values: Array, rows: Array, more: str = "") -> None:
    place = next((i for i, value in enumerate(values) if not _is_number(value)), None)
    if place is None:
        return
    hint = ", without signs between thousands" if "," in values[place] else ""
    raise file.error(
        "this is not a number",
        f"write one{hint}, or leave the cell empty and the row is left out{more}",
        row=int(rows[place]),
        column=name,
        value=str(values[place]),
    )
