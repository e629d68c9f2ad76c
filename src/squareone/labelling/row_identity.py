"""Row identity: what makes a row of a table the same row the next time the table is opened.

A row is known by the hash of its identifier, where there is a column of them, and otherwise by the
hash of its cells and which of the rows with these cells it is. Labels attach to that, never to the
place in the table: sorting changes nothing, and what was edited or is gone takes its labels along.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import TableFileError

__all__ = ["RowIdentities", "TableChanges", "identities_of"]

_BYTES = 16
# Rows of which text is made at once.
_BLOCK = 65_536

#: The hash of the identifier or of the cells, which of the rows with it, and the hash of the cells.
RowKey = tuple[bytes, int, bytes]


@dataclass(frozen=True)
class TableChanges:
    """How a table differs from what it was when it was opened last.

    Attributes
    ----------
    new, missing, changed : int
        Rows. Without a column of identifiers a row that was edited is one that is missing, and a
        new one.
    """

    new: int
    missing: int
    changed: int

    def __bool__(self) -> bool:
        return bool(self.new or self.missing or self.changed)

    def said(self, identifier: str | None) -> str:
        """What is different about the table, for people."""
        parts = [f"{self.new:,} rows are new", f"{self.missing:,} are gone"]
        if identifier is not None:
            parts.append(f"{self.changed:,} have other cells")
        aside = "labels of rows that are gone, or changed, are set aside, and come back with them"
        return f"the table is another one than last time: {', '.join(parts)}; {aside}"


@dataclass(frozen=True)
class RowIdentities:
    """The rows of a table by what makes them the same rows.

    Attributes
    ----------
    keys : array (n,) of bytes
        Hashes of identifiers, or of cells.
    occurrences : array (n,)
        Which of the rows with that hash it is, from 0 on.
    contents : array (n,) of bytes
        Hashes of the cells.
    """

    keys: Array
    occurrences: Array
    contents: Array

    @property
    def n(self) -> int:
        """How many rows there are."""
        return int(self.keys.size)

    def row(self, place: int) -> RowKey:
        """What is known of the row at a place of the table."""
        key = self.keys[place].tobytes()
        return key, int(self.occurrences[place]), self.contents[place].tobytes()

    def places_of(self, rows: Sequence[RowKey]) -> dict[RowKey, int]:
        """Where some rows are, those that are there: one pass, and no dictionary of all rows."""
        if not rows:
            return {}
        wanted = set(rows)
        heads = np.array([_head(row[0]) for row in wanted], np.uint64)
        there = np.flatnonzero(np.isin(self.heads(), heads))
        found = ((self.row(int(place)), int(place)) for place in there)
        return {row: place for row, place in found if row in wanted}

    def heads(self) -> Array:
        """The first eight bytes of each key, as numbers (n,)."""
        whole = np.frombuffer(self.keys.tobytes(), ">u8").reshape(-1, 2)
        return whole[:, 0].astype(np.uint64)

    def random_numbers(self, seed: int) -> Array:
        """A number in [0, 1) for each row (n,), by its identity and the seed alone.

        Whatever order the rows are in, and whichever are added: those that were there keep theirs.
        """
        mixed = self.heads() ^ _mixed(np.uint64(seed) * np.ones(1, np.uint64))
        mixed = _mixed(mixed + self.occurrences.astype(np.uint64) * _GOLDEN)
        return (mixed >> np.uint64(11)).astype(float) * 2.0**-53

    def packed(self) -> tuple[bytes, bytes]:
        """Enough to see later what has changed: 16 bytes for a row."""
        names = _mixed(self.heads() + self.occurrences.astype(np.uint64) * _GOLDEN)
        contents = np.frombuffer(self.contents.tobytes(), ">u8").reshape(-1, 2)[:, 0]
        order = np.argsort(names, kind="stable")
        return (
            names[order].astype("<u8").tobytes(),
            contents[order].astype("<u8").tobytes(),
        )

    def changes_since(self, packed: tuple[bytes, bytes] | None) -> TableChanges:
        """What is different from the table that :meth:`packed` was of."""
        if packed is None:
            return TableChanges(0, 0, 0)
        old, old_contents = (np.frombuffer(part, "<u8") for part in packed)
        now, now_contents = (np.frombuffer(part, "<u8") for part in self.packed())
        both, here, there = np.intersect1d(now, old, assume_unique=False, return_indices=True)
        changed = int((now_contents[here] != old_contents[there]).sum())
        return TableChanges(now.size - both.size, old.size - both.size, changed)


def identities_of(
    table: Any, identifier: str | None, *, without: Sequence[str] = (), name: str = "the table"
) -> RowIdentities:
    """What makes the rows of a table the same rows.

    Parameters
    ----------
    table : pyarrow.Table (n, d)
    identifier : str or None
        A column without gaps in which every value is there once.
    without : sequence of str
        Columns that do not count as contents: those that labels are in.
    name : str
        Of the file, for messages.

    Returns
    -------
    RowIdentities

    Notes
    -----
    **Cost**: a hash for every row, some microseconds.

    Examples
    --------
    >>> import pyarrow
    >>> from squareone.labelling.row_identity import identities_of
    >>> rows = identities_of(pyarrow.table({"a": ["x", "y", "x"]}), None)
    >>> rows.occurrences.tolist()
    [0, 0, 1]
    """
    names = [each for each in table.column_names if each not in set(without)]
    contents = _hashes(table.select(names))
    if identifier is None:
        return RowIdentities(contents, _occurrences(contents), contents)
    column = table.column(identifier)
    if column.null_count:
        gap = int(np.argmax(np.asarray(column.is_null())))
        remedy = "give every row one, or leave out --id: rows are then known by their cells"
        raise TableFileError(name, "an identifier is missing", remedy, row=gap + 1)
    keys = _hashes(table.select([identifier]))
    occurrences = _occurrences(keys)
    if occurrences.any():
        twice = int(np.argmax(occurrences > 0))
        remedy = "each may be there once; leave out --id, and rows are known by their cells"
        shown = str(column[twice].as_py())
        raise TableFileError(
            name, "an identifier comes twice", remedy, row=twice + 1, column=identifier, value=shown
        )
    return RowIdentities(keys, occurrences, contents)


def _hashes(table: Any) -> Array:
    """A hash of the cells of every row (n,)."""
    made = bytearray()
    for batch in table.to_batches(max_chunksize=_BLOCK):
        columns = [_texts(column) for column in batch.columns]
        for cells in zip(*columns, strict=True):
            made += hashlib.blake2b("".join(cells).encode(), digest_size=_BYTES).digest()
    return np.frombuffer(bytes(made), f"V{_BYTES}")


def _texts(column: Any) -> list[str]:
    """Cells as texts of which one cannot be read as two: a kind, a length, a colon, the value."""
    found = []
    for value in column.to_pylist():
        if value is None:
            found.append("-:")
            continue
        # a column of whole numbers in which a gap turns up is one of fractions
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            value = int(value)
        text = value if isinstance(value, str) else repr(value)
        # half of a surrogate pair cannot be encoded
        text = text.encode("utf-8", "backslashreplace").decode()
        kind = "t" if isinstance(value, str) else "v"
        found.append(f"{kind}{len(text)}:{text}")
    return found


def _occurrences(keys: Array) -> Array:
    """Which of the rows with the same key each is (n,), in their order."""
    first, second = np.frombuffer(keys.tobytes(), ">u8").reshape(-1, 2).T
    order = np.lexsort((second, first))  # stable: rows with one key stay in their order
    same = (np.diff(first[order]) == 0) & (np.diff(second[order]) == 0)
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    counts = np.diff(np.append(starts, keys.size))
    found = np.empty(keys.size, np.int64)
    found[order] = np.arange(keys.size) - np.repeat(starts, counts)
    return found


def _head(key: bytes) -> int:
    return int.from_bytes(key[:8], "big")


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mixed(values: Array) -> Array:
    """Numbers of 64 bits that look random: the end of splitmix64, which is one to one."""
    with np.errstate(over="ignore"):
        z = values + _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
