"""Columns of numbers that are text in a file, because of signs, or of cells that say "no number".

Where somebody wrote "?" into a gap, or $1,234.50 for a price, the reader of the file gives the
whole column as text. What is otherwise numbers is made so again; other words in it are refused
before any work, with their line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from .mapped_table import is_mapped, map_batches
from .table_reader import TableFile
from .table_text import GAPS, is_code

__all__ = ["NumbersInText", "numbers_in_text", "with_numbers"]

# A column in which such a share of the rows with a value has numbers, of which so many differ, is
# one of measurements; the other cells are mistakes, or gaps that nobody knows as such.
_MOSTLY, _DIFFERENT = 0.95, 10
# A part of the levels that is looked at before all of them.
_FIRST = 1000
# What stands before or behind a number, one of each in a column.
_CURRENCIES = "$€£¥₹₩₽₺"
_SIGNED = re.compile(
    rf"(?P<minus>[-+−]?)\s*(?P<before>[{_CURRENCIES}]?)\s*(?P<digits>[\d.,'’\s]*\d[.,]?)"
    rf"\s*(?P<after>[{_CURRENCIES}%]?)"
)
_THOUSANDS = {
    ".": re.compile(r"\d{1,3}(?:([,'’\s])\d{3})(?:\1\d{3})*(?:\.\d*)?"),
    ",": re.compile(r"\d{1,3}(?:([.'’\s])\d{3})(?:\1\d{3})*(?:,\d*)?"),
}
_BETWEEN = re.compile(r"['’\s]")
_LONGEST = 40
# Every integer up to this is a number of float64.
_ALL_INTEGERS = 2.0**53


@dataclass(frozen=True)
class NumbersInText:
    """A column of text, most of which is numbers.

    Attributes
    ----------
    name : str
    levels : pyarrow.Array (k,)
        Its texts, each once.
    numbers : array (k,)
        What they are; NaN for a gap, and for words.
    gaps : dict of str to int
        Texts that stand for gaps, and in how many rows.
    words : tuple of int
        The places, in ``levels``, of what is neither.
    share : float
        Of the rows with a value those that have numbers.
    signed : tuple of (str, float), or None
        A text with signs of a currency, of per cent or between thousands, and its number.
    """

    name: str
    levels: Any
    numbers: Array
    gaps: dict[str, int]
    words: tuple[int, ...]
    share: float
    signed: tuple[str, float] | None = None

    @property
    def of_measurements(self) -> bool:
        """Whether words among the numbers are hardly meant as such."""
        different = np.unique(self.numbers[~np.isnan(self.numbers)]).size
        return self.share >= _MOSTLY and different > _DIFFERENT

    def first_word(self, column: Any) -> tuple[int, str]:
        """The first row, from 0 on, of a word, and the word."""
        from pyarrow import compute

        words = self.levels.take(list(self.words))
        row = compute.index(compute.is_in(column, value_set=words), True).as_py()
        return row, column[row].as_py()

    def as_numbers(self, column: Any) -> Any:
        """Rows of the column with numbers in place of text; words become gaps."""
        import pyarrow
        from pyarrow import compute

        known = self.numbers[~np.isnan(self.numbers)]
        whole = bool((known == np.round(known)).all() and (np.abs(known) < _ALL_INTEGERS).all())
        kind = pyarrow.int64() if whole else pyarrow.float64()
        numbers = pyarrow.array(self.numbers, from_pandas=True).cast(kind)
        return numbers.take(compute.index_in(column, value_set=self.levels))


def numbers_in_text(file: TableFile, name: str) -> NumbersInText | None:
    """What a column of text has of numbers; None where it is no text, or has other text mostly.

    Also None where it has codes with leading zeros, or signs of several currencies, and where there
    is nothing to be done: numbers that are written as such are known later.

    **Cost**: a pass over the column, and one call of ``float`` for every level.
    """
    import pyarrow
    from pyarrow import compute

    column = file.table.column(name)
    if not (pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type)):
        return None
    levels = column.unique().drop_null()
    decimal = file.form.decimal if file.form else "."
    numbers = np.full(len(levels), np.nan)
    gaps, words = [], []
    signed, signs = None, set()
    for place, level in enumerate(levels.to_pylist()):
        text = level.strip()
        if text.lower() in GAPS:
            gaps.append(place)
        elif is_code(text):
            return None
        elif (number := _number(text, decimal)) is not None:
            numbers[place] = number
            signs.add("")
        elif (found := _signed_number(text, decimal)) is not None:
            numbers[place], sign = found
            signs.add(sign)
            signed = signed or (text, numbers[place])
        else:
            words.append(place)
        if place == _FIRST and len(words) > _FIRST / 2:
            return None
    known = ~np.isnan(numbers)
    if not known.any() or not (gaps or words or signed or decimal == ","):
        return None
    if len(signs - {""}) > 1 or signs >= {"", "%"}:  # of 0.5 and 50 % nobody knows what is meant
        return None
    places = compute.index_in(column, value_set=levels).drop_null()
    counts = np.bincount(np.asarray(places), minlength=len(levels))
    valued = counts[known].sum() + counts[words].sum()
    shown: Counter[str] = Counter()
    for place in gaps:
        if text := levels[place].as_py().strip():
            shown[text] += int(counts[place])
    share = float(counts[known].sum() / valued)
    return NumbersInText(name, levels, numbers, dict(shown), tuple(words), share, signed)


def _number(text: str, decimal: str) -> float | None:
    if "_" in text or (decimal == "," and "." in text):
        return None
    try:
        return float(text.replace(",", ".") if decimal == "," else text)
    except ValueError:
        return None


def _signed_number(text: str, decimal: str) -> tuple[float, str] | None:
    """A number with signs that ``float`` does not read, and the sign of a currency or per cent."""
    match = _SIGNED.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or (match["before"] and match["after"]):
        return None
    digits = match["digits"].strip()
    if grouped := _THOUSANDS[decimal].fullmatch(digits):
        digits = digits.replace(grouped[1], "")
    number = None if _BETWEEN.search(digits) else _number(digits, decimal)
    if number is None:
        return None
    sign = match["before"] or match["after"]
    return (-number if match["minus"] in ("-", "−") else number), sign


def with_numbers(table: Any, found: list[NumbersInText]) -> Any:
    """A table of Arrow with numbers in such columns."""
    if not found:
        return table
    if is_mapped(table):
        return _mapped_with_numbers(table, found)
    for each in found:
        place = table.column_names.index(each.name)
        table = table.set_column(place, each.name, each.as_numbers(table.column(place)))
    return table


def _mapped_with_numbers(table: Any, found: list[NumbersInText]) -> Any:
    import pyarrow

    places = {table.column_names.index(each.name): each for each in found}

    def batches() -> Iterator[Any]:
        for batch in table.to_batches():
            columns = [
                places[j].as_numbers(column) if j in places else column
                for j, column in enumerate(batch.columns)
            ]
            yield pyarrow.record_batch(columns, names=table.column_names)

    schema = table.schema
    for place, each in places.items():
        field = schema.field(place)
        schema = schema.set(place, field.with_type(each.as_numbers(each.levels[:0]).type))
    return map_batches(schema, batches())
