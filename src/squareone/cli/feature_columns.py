"""The columns that may help: what each is taken for is settled, and told, before any work."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import Any

from ..report.verdict import percent
from ..rows.column_problems import refuse_missing
from ..rows.numbers_in_text import NumbersInText, numbers_in_text, with_numbers
from ..rows.table_reader import TableFile
from ..tables.columns import MARK_OF_WORDS, columns_of, parsed_times, with_zone
from ..tables.table_model import TableModel
from ..tables.target_choice import check_finite
from .console import Console

__all__ = ["as_fitted", "features_of", "with_target"]

# Columns of which something is told, of each kind.
_LISTED = 5
# A share of numbers in a column of words that is worth telling.
_WORTH_TELLING = 0.5
_DATE = re.compile(r"\s*\d{4}-\d{2}-\d{2}")
# Dates as people write them, of which it is not known what is the day and what the month.
_OTHER_DATE = re.compile(
    r"\s*(\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./]\d{1,2}[./]\d{1,2}"
    r"|(19|20)\d{2}[-/](0[1-9]|1[0-2])(?![-/\d])"
    r"|\d{1,2}\.?[ -][^\W\d]{3,9}\.?[ -]\d{2,4}|[^\W\d]{3,9}\.? \d{1,2},? \d{4})\b.*"
)
# Rows, and levels in them, that are looked at for dates, and the share of these that says so.
_BEGINNING, _SOME, _MOSTLY = 10_000, 200, 0.9


def with_target(file: TableFile, name: str, console: Console) -> TableFile:
    """A table whose target is numbers, where it is text of numbers with signs and marks of gaps."""
    if name not in file.table.column_names:
        return file
    found = numbers_in_text(file, name)
    if found is None or found.words:
        return file
    _tell_gaps([found], console)
    _tell_signs([found], console)
    return replace(file, table=with_numbers(file.table, [found]))


def features_of(file: TableFile, names: list[str], words: Any, console: Console) -> Any:
    """Columns of a table as an Arrow table (n, d), with numbers where text is hardly anything else.

    Parameters
    ----------
    file : TableFile
    names : list of str
        The columns.
    words : sequence of str
        Those that are words, whatever they hold.
    console : Console
        Is told which texts are taken for gaps.

    Raises
    ------
    TableFileError
        For a word in a column of numbers, and for numbers that are not finite.
    """
    refuse_missing(list(words), file.table.column_names, file.name)
    codes = file.form.codes if file.form else ()
    free = [name for name in names if name not in (*words, *codes)]
    found = [each for name in free if (each := numbers_in_text(file, name))]
    made = []
    for each in found:
        if not each.words:
            made.append(each)
        elif each.of_measurements:
            _refuse_word(file, each)
    _tell_gaps(made, console)
    _tell_signs(made, console)
    _tell_words([each for each in found if each.words], console)
    table = with_numbers(file.table.select(names), made)
    checked = replace(file, table=table)
    _tell_dates(checked, free, console)
    for name in free:
        check_finite(checked, name)
        _check_times(checked, name)
    return _with_words(table, words)


def _refuse_word(file: TableFile, found: NumbersInText) -> None:
    row, word = found.first_word(file.table.column(found.name))
    others = len(found.words) - 1
    also = f", nor {'are' if others > 1 else 'is'} {others:,} other" if others else ""
    also += f" text{'s' * (others > 1)}" if others else ""
    raise file.error(
        f"this is no number{also}, and {percent(found.share)} of the column are",
        "write one, or leave the cell empty; to take all of the column as words, say --words "
        f"{shlex.quote(found.name)}",
        row=row,
        column=found.name,
        value=word,
    )


def _tell_gaps(found: list[NumbersInText], console: Console) -> None:
    told = [each for each in found if each.gaps]
    for each in told[:_LISTED]:
        parts = [
            f"{text!r} in {count:,} row{'s' * (count > 1)}" for text, count in each.gaps.items()
        ]
        console.note(f"{each.name} has numbers, and {', '.join(parts)}: taken as gaps")
    if len(told) > _LISTED:
        console.note(f"{len(told) - _LISTED:,} more columns of numbers have such gaps")


def _tell_signs(found: list[NumbersInText], console: Console) -> None:
    told = [each for each in found if each.signed]
    for each in told[:_LISTED]:
        text, number = each.signed or ("", 0.0)
        console.note(f"{each.name} has numbers with signs: {text!r} is read as {number:.15g}")
    if len(told) > _LISTED:
        console.note(f"{len(told) - _LISTED:,} more columns have numbers with signs")


def _tell_words(found: list[NumbersInText], console: Console) -> None:
    mixed = [each for each in found if each.share >= _WORTH_TELLING]
    for each in mixed[:_LISTED]:
        word = each.levels[each.words[0]].as_py()
        console.note(
            f"{each.name} is taken as words, though {percent(each.share)} of it are numbers: "
            f"{word[:40]!r} is none"
        )


def _tell_dates(file: TableFile, names: list[str], console: Console) -> None:
    """Columns of dates that are words, since they are not written as ISO 8601 says."""
    import pyarrow

    found = []
    for name in names:
        values = file.table.column(name)
        if not pyarrow.types.is_string(values.type):
            continue
        levels = values.slice(0, _BEGINNING).unique().drop_null()[:_SOME].to_pylist()
        dates = [level for level in levels if _OTHER_DATE.fullmatch(level)]
        isos = [level for level in levels if _DATE.match(level)]
        if dates and len(dates) + len(isos) > _MOSTLY * len(levels):
            found.append((name, dates[0]))
    for name, date in found[:_LISTED]:
        console.note(
            f"{name} looks like dates, and is taken as words: {date!r} is not written like "
            "2024-12-31, as all of a column of dates have to be"
        )


def _check_times(file: TableFile, name: str) -> None:
    """Refuse times of which some have a time zone, with the line."""
    import pyarrow

    values = file.table.column(name)
    if not pyarrow.types.is_string(values.type):
        return
    levels = values.unique().drop_null()
    if not len(levels) or not _DATE.match(levels[0].as_py()):
        return
    column = columns_of(pyarrow.table({name: levels}), "the table").column(0, name)
    try:
        parsed_times(column)
    except ValueError:
        zoned = {level: with_zone(level) for level in column.levels}
        texts = values.to_pylist()
        expected = zoned[levels[0].as_py()]
        row = next(i for i, text in enumerate(texts) if zoned.get(text, expected) != expected)
        raise file.error(
            f"a time {'with' if expected else 'without'} a time zone is expected, as before it",
            "write all of them with one, or all without",
            row=row,
            column=name,
            value=texts[row],
        ) from None


def _with_words(table: Any, words: Any) -> Any:
    """The table, with the mark of words at some of its columns."""
    import pyarrow

    schema = table.schema
    for name in words:
        if name in table.column_names:
            place = table.column_names.index(name)
            field = schema.field(place).with_metadata({MARK_OF_WORDS: b""})
            schema = schema.set(place, field)
    return table if schema is table.schema else pyarrow.table(table.columns, schema=schema)


def as_fitted(model: TableModel, file: TableFile, console: Console) -> TableFile:
    """A table of new rows, with numbers where the model has numbers and usual gaps are among them.

    Words in such columns are refused, with their line.
    """
    found = []
    for column in model.encoder._encoded:
        if not column.parts or column.content != "numbers":
            continue
        each = numbers_in_text(file, column.name)
        if each and not each.words:
            found.append(each)
    _tell_gaps(found, console)
    _tell_signs(found, console)
    return replace(file, table=with_numbers(file.table, found))
