"""How a text file of a table is written: its encoding, delimiter, decimal sign and header.

All of it is found from the beginning of the file, and what is found can be said to the user, who
may know better: everything given is taken as it is.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import TableFileError

__all__ = ["TextFormat", "find_format"]

#: Delimiters that are tried, those that are rarely something else first.
DELIMITERS = ("\t", ";", ",", "|")
_NAMES = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "blanks"}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Lines that are looked at, and rows of them that say what the columns are.
_LINES = 200
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")
_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(,\d{3})+\s*")
_POINT = re.compile(r"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*")
_STATED = re.compile(r"\ufeff?\"?sep=([^\r\n\"])\"?[\r\n]*", re.IGNORECASE)
_CODE = re.compile(r"\s*0\d+\s*")
# A share of rows that have to agree on a number of columns.
_AGREE = 0.8


@dataclass(frozen=True)
class TextFormat:
    """How a text file is written.

    Attributes
    ----------
    encoding : str
        A codec of Python.
    delimiter : str
    decimal : str
        ``"."`` or ``","``.
    header_lines : int
        Lines before the first row; the first of them has the names.
    lines_above : int
        Lines before those: without anything, or with Excel's own word on the delimiter.
    names : tuple of str
    codes : tuple of str
        Names of columns that hold codes with leading zeros.
    """

    encoding: str
    delimiter: str
    decimal: str
    header_lines: int
    lines_above: int
    names: tuple[str, ...]
    codes: tuple[str, ...]

    def said(self) -> str:
        """In words, for a person who may see a mistake in it."""
        encoding = {"utf-8-sig": "utf-8", "cp1252": "cp1252 (Western European)"}
        parts = [f"{_NAMES.get(self.delimiter, repr(self.delimiter))} between columns"]
        parts.append(encoding.get(self.encoding, self.encoding))
        if self.decimal == ",":
            parts.append("decimal commas")
        if self.header_lines != 1:
            lines = f"the first of {self.header_lines} header lines has the names"
            parts.append(lines if self.header_lines else "no header line")
        return ", ".join(parts)


def find_format(
    sample: bytes,
    source: str,
    *,
    whole: bool,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    header_lines: int | None = None,
) -> TextFormat:
    """What the first bytes of a file say of it.

    Parameters
    ----------
    sample : bytes
        The beginning of the file, decompressed.
    source : str
        What the file is called in messages.
    whole : bool
        Whether the sample is all there is.
    encoding, delimiter, decimal, header_lines : optional
        What is known.
    """
    encoding = encoding or _encoding(sample, source)
    lines = list(io.StringIO(_text(sample, encoding, source), newline=""))
    if not whole and len(lines) > 1:
        lines = lines[:-1]  # which may be cut
    above, stated = _lines_above(lines)
    lines = lines[above : above + _LINES]
    delimiter = delimiter or stated or _delimiter(lines)
    cells = _cells(lines, delimiter)
    if not cells:
        raise TableFileError(source, "it is empty", "a line of names and rows below are expected")
    said = decimal or ("," if delimiter != "," and _decimal_commas(cells) else ".")
    if header_lines is None:
        header_lines = _header_lines(cells, source, above)
    width = len(cells[0])
    first = list(cells[0]) if header_lines else []
    names = _names(first, width, source, above)
    body = cells[header_lines:]
    return TextFormat(encoding, delimiter, said, header_lines, above, names, _codes(names, body))


def _lines_above(lines: Sequence[str]) -> tuple[int, str]:
    """How many lines are above the names, and the delimiter that one of them states, if one does.

    Excel writes ``sep=;`` there, and reads it.
    """
    above, stated = 0, ""
    for line in lines:
        if line.strip():
            match = _STATED.fullmatch(line)
            if match is None or stated:
                break
            stated = match[1]
        above += 1
    return above, stated


def _encoding(sample: bytes, source: str) -> str:
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return name
    if b"\0" in sample:
        raise TableFileError(
            source,
            "it is a binary file, not a table in text",
            "CSV, TSV, Parquet or Arrow is expected: export the table as CSV. Text in UTF-16 "
            "without a mark at its beginning needs --encoding utf-16-le",
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _text(sample: bytes, encoding: str, source: str) -> str:
    try:
        decoder = codecs.getincrementaldecoder(encoding)
    except LookupError as error:
        raise TableFileError(
            source, f"encoding {encoding!r} is not known", "utf-8, latin-1 or utf-16 are"
        ) from error
    try:
        return decoder().decode(sample)
    except UnicodeDecodeError as error:
        if encoding == "cp1252":  # five bytes have no letter there
            return sample.decode("latin-1")
        line = sample[: error.start].count(b"\n") + 1
        raise TableFileError(
            source,
            f"its text is not {encoding}",
            "say what it is, for instance --encoding latin-1",
            line=line,
        ) from error


def _cells(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        rows = list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:  # a cell beyond any size
        rows = [line.rstrip("\r\n").split(delimiter) for line in lines]
    return [row for row in rows if any(cell.strip() for cell in row)]


def _delimiter(lines: Sequence[str]) -> str:
    """The one by which most rows have the same number of columns, more than one."""
    best, found = (0.0, 0), ","
    for delimiter in DELIMITERS:
        rows = _cells(lines, delimiter)
        if not rows:
            continue
        width, count = Counter(map(len, rows)).most_common(1)[0]
        share = count / len(rows)
        if width < 2 or share < _AGREE / 2:
            continue
        score = (round(share, 2), width)
        if score > best:
            best, found = score, delimiter
    return found


def _decimal_commas(cells: list[list[str]]) -> bool:
    """Whether numbers have commas before their fractions, and none a point."""
    body = [cell for row in cells[1:] for cell in row]
    commas = [cell for cell in body if _COMMA.fullmatch(cell)]
    points = any(_POINT.fullmatch(cell) for cell in body)
    grouped = all(_THOUSANDS.fullmatch(cell) for cell in commas)
    return bool(commas) and not points and not grouped


def _header_lines(cells: list[list[str]], source: str, above: int) -> int:
    """Nought where the first line has values; two header lines are refused."""
    first, body = cells[0], cells[1:]
    numeric = _numeric_columns(body, len(first))
    if body and numeric:
        kinds = ["number" if _is_number(first[j]) else "name" for j in numeric if first[j].strip()]
        if kinds and "name" not in kinds:
            return 0
    elif not body and all(_is_number(cell) for cell in first):
        return 0
    second = cells[1] if len(cells) > 1 else []
    later = _numeric_columns(cells[2:], len(first))
    if len(cells) > 3 and len(later) > 1 and len(second) == len(first):
        odd = [j for j in later if second[j].strip() and not _is_number(second[j])]
        gaps = {cell.strip().lower() for j in odd for cell in [second[j]]} <= GAPS
        if len(odd) >= max(2, len(later) / 2) and not gaps:
            raise TableFileError(
                source,
                "this looks like a second line of names or units",
                "delete it, or skip it with --header-lines 2",
                line=above + 2,
                column=first[odd[0]],
                value=second[odd[0]],
            )
    return 1


_WORDS_OF_GAPS = ("na", "n/a", "n.a.", "n.d.", "nan", "-nan", "null", "none", "#n/a", "#na")
#: Texts that stand for a gap among numbers, in small letters; pyarrow's own, and usual ones.
GAPS = frozenset(("", *_WORDS_OF_GAPS, "?", "-", "--", "–", "—", ".", ".."))


def is_code(text: str) -> bool:
    """Whether a text is a code such as 02139, of which a number would lose the zero."""
    return _CODE.fullmatch(text) is not None


def _numeric_columns(rows: list[list[str]], width: int) -> list[int]:
    """Columns that have numbers and nothing else."""
    found = []
    for j in range(width):
        values = [row[j] for row in rows if j < len(row) and row[j].strip().lower() not in GAPS]
        if values and all(map(_is_number, values)):
            found.append(j)
    return found


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _names(first: list[str], width: int, source: str, above: int) -> tuple[str, ...]:
    found = [name.strip() for name in first] or [""] * width
    names = [name or f"column {j}" for j, name in enumerate(found, start=1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableFileError(
            source,
            f"{Counter(names)[twice[0]]} columns have this name",
            "give every column a name of its own",
            line=above + 1,
            column=twice[0],
        )
    return tuple(names)


def _codes(names: Sequence[str], body: list[list[str]]) -> tuple[str, ...]:
    return tuple(
        name
        for j, name in enumerate(names)
        if any(j < len(row) and is_code(row[j]) for row in body)
    )


def _rows(text: io.TextIOBase, form: TextFormat) -> Any:
    """What reads the cells of lines, from that of the names on."""
    for _ in range(form.lines_above):
        text.readline()
    return csv.reader(text, delimiter=form.delimiter)


def line_of_row(text: io.TextIOBase, form: TextFormat, row: int) -> int | None:
    """The line of the file, from 1 on, in which a row (from 0 on) begins.

    **Cost**: a pass over the file up to there.
    """
    reader = _rows(text, form)
    seen, before = -form.header_lines, form.lines_above
    try:
        for cells in reader:
            if cells:
                if seen == row:
                    return before + 1
                seen += 1
            before = form.lines_above + reader.line_num
    except (csv.Error, UnicodeError):
        return None
    return None


def ragged_line(text: io.TextIOBase, form: TextFormat) -> tuple[int, int, str] | None:
    """The first line with another number of values than there are columns: where, how many, what.

    **Cost**: a pass over the file up to there.
    """
    reader = _rows(text, form)
    before = form.lines_above
    try:
        for number, cells in enumerate(reader):
            if cells and number >= form.header_lines and len(cells) != len(form.names):
                return before + 1, len(cells), form.delimiter.join(cells)[:60]
            before = form.lines_above + reader.line_num
    except (csv.Error, UnicodeError):
        return None
    return None
