"""Columns of tables: numbers, booleans, times and words of data frames and lists, as NumPy arrays.

What comes is looked at one column at a time, so that only one is held twice. pandas, polars and
pyarrow are not imported here: an object of theirs can come only where they are already.

=============  ==================================================================================
``numbers``    float64, NaN where there is a gap
``booleans``   the same, of zeros and ones
``times``      ``datetime64[us]`` in UTC, NaT where there is a gap
``words``      the number of each row's level, −1 where there is a gap; levels are texts in order
=============  ==================================================================================

A gap is None, NaN, NaT, ``pandas.NA``, a null, or text without a visible character. Objects are
looked at by their types: words and numbers in one column are words, all written as text; other
mixtures are refused.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from scipy.sparse import issparse

from ..arrays import Array
from ..errors import CellError
from ..rows.checks import is_dask, refuse_masked

__all__ = [
    "MARK_OF_WORDS",
    "Column",
    "Table",
    "alone_no_word",
    "as_content",
    "check_size",
    "columns_of",
    "parsed_numbers",
    "parsed_times",
    "with_zone",
]

# Numbers beyond this are refused with the infinite ones: their squares, and sums, would be.
LARGEST = 1e300
#: In the metadata of a field of an Arrow table: what is there are words, whatever it looks like.
MARK_OF_WORDS = b"squareone words"
# Every integer up to this is a number of float64.
_ALL_INTEGERS = 2.0**53
_NO_TIME = np.iinfo(np.int64).min  # NaT as an integer
_SECOND = 1e-6  # of microseconds
# Letters of a value that a message shows.
_SHOWN = 40

_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?", re.ASCII
)
_NUMBERS, _BOOLEANS, _TIMES, _WORDS = "numbers", "booleans", "times", "words"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
    content : str
        ``"numbers"``, ``"booleans"``, ``"times"`` or ``"words"``.
    values : array (n,)
        See the table at the top of this module.
    levels : tuple of str
        Of words: each occurs, in the order of the alphabet.
    order : tuple of str
        The categories of an ordered categorical, the lowest first; empty where there is no order.
    whole : bool
        Whether numbers are of an integer type.
    zoned : bool
        Whether times came with a time zone.
    declared : bool
        Whether words were called categories by whoever made the table: they stay words.
    settled : bool
        Whether the rows of a larger table have shown that these are words.
    integers : tuple of int or None
        Of numbers: the rows themselves, where float64 does not have all of them; None for a gap.
    """

    name: str
    content: str
    values: Array
    levels: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    whole: bool = False
    zoned: bool = False
    declared: bool = False
    settled: bool = False
    integers: tuple[int | None, ...] | None = None

    @property
    def merged(self) -> bool:
        """Whether different integers have become the same number of float64."""
        if self.integers is None:
            return False
        return len(set(self.integers) - {None}) > np.unique(self.values[~self.gaps]).size

    @property
    def gaps(self) -> Array:
        """Which rows (n,) have no value."""
        if self.content == _WORDS:
            return self.values < 0
        return np.isnat(self.values) if self.content == _TIMES else np.isnan(self.values)

    def shown(self, row: int) -> str:
        """The value of a row, for messages."""
        value = self.values[row]
        if self.content == _WORDS:
            text = repr(self.levels[value])
        else:
            text = str(value == 1) if self.content == _BOOLEANS else _text(value)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

    def rows(self, keep: Array) -> Column:
        """The rows that a mask (n,) has."""
        values = self.values[keep]
        if self.content == _WORDS:
            return _words(self, values, self.levels)
        integers = self.integers
        if integers is not None:
            integers = tuple(integers[row] for row in np.arange(len(integers))[keep])
        return replace(self, values=values, integers=integers)

    def as_words(self) -> Column:
        """Numbers and booleans as the texts they are written as.

        **Cost**: a sort.
        """
        if self.integers is not None:
            return _of_words(self.name, list(self.integers))
        known = ~self.gaps
        levels, codes = np.unique(self.values[known], return_inverse=True)
        values = np.full(self.values.size, -1)
        values[known] = codes
        kind: type = float if self.content == _NUMBERS else bool
        return _words(replace(self, content=_WORDS), values, [_text(kind(v)) for v in levels])


class Table:
    """A table with ``n`` rows, whose columns are read when they are asked for.

    Attributes
    ----------
    n, d : int
        Rows and columns.
    names : list of str or None
        None for an array or lists. Names that are no text are written as text.
    """

    def __init__(
        self, n: int, d: int, names: Sequence[Any] | None, read: Callable[[int, str], Column]
    ) -> None:
        self.n, self.d, self._read = n, d, read
        self.names = None if names is None else [str(name) for name in names]
        repeated = [name for name, count in Counter(self.names or ()).items() if count > 1]
        if repeated:
            listed = ", ".join(map(repr, sorted(repeated)[:10]))
            msg = f"X has several columns named {listed}: column names must be unique"
            raise ValueError(msg)

    def column(self, place: int, name: str) -> Column:
        """The column at a place; ``name`` is what messages call it."""
        return self._read(place, name)


def columns_of(X: Any, owner: str) -> Table:
    """The table in ``X``: of pandas, polars or pyarrow, a 2-D array, or a list of rows.

    ``owner`` is who asks, for messages.

    **Cost**: none for what has columns; a pass over lists of rows.
    """
    refuse_dask(X, owner)
    # a table that says of itself what its columns are
    table = X.columns(owner) if hasattr(X, "settled_words") else _table(X)
    for count, what in ((table.n, "sample"), (table.d, "feature")):
        if count == 0:
            msg = (
                f"Found array with 0 {what}(s) (shape=({table.n}, {table.d})) while a minimum of 1 "
                f"is required by {owner}."
            )
            raise ValueError(msg)
    return table


def refuse_dask(X: Any, owner: str) -> None:
    """A collection of Dask is no table in memory."""
    if is_dask(X):
        msg = (
            f"X is a Dask {type(X).__name__}, and {owner} is fitted to a table in memory: fit it "
            "to X.compute(), or to a part of X that fits. Once fitted it takes X as it is"
        )
        raise TypeError(msg)


def _table(X: Any) -> Table:
    if issparse(X):
        msg = (
            "X is sparse, and a table with columns of different kinds is expected: sparse rows go "
            "straight into the estimator, or X.toarray() into the encoder"
        )
        raise TypeError(msg)
    refuse_masked(X, "X")
    pandas, polars, pyarrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pandas is not None and isinstance(X, pandas.DataFrame):
        n, d = X.shape
        return Table(n, d, list(X.columns), lambda j, name: _of_pandas(name, X.iloc[:, j]))
    if polars is not None and isinstance(X, polars.DataFrame):
        n, d = X.shape
        return Table(n, d, X.columns, lambda j, name: _of_polars(name, X.to_series(j)))
    if polars is not None and isinstance(X, polars.LazyFrame):
        msg = "X is a polars LazyFrame, which has no rows yet: X.collect() makes a DataFrame of it"
        raise TypeError(msg)
    if pyarrow is not None and isinstance(X, pyarrow.Table | pyarrow.RecordBatch):
        names = X.schema.names
        return Table(X.num_rows, X.num_columns, names, lambda j, name: _of_field(name, X, j))
    array = X if isinstance(X, np.ndarray) else _array_of(X)
    if array.ndim != 2:
        msg = (
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data: "
            "X.reshape(-1, 1) or X.to_frame() for a single column, X.reshape(1, -1) for one row"
        )
        raise ValueError(msg)
    if array.dtype.kind == "c":
        msg = f"Complex data not supported: X has numbers of type {array.dtype}"
        raise ValueError(msg)
    n, d = array.shape
    return Table(n, d, None, lambda j, name: _of_array(name, array[:, j]))


def _array_of(X: Any) -> Array:
    """Lists of rows, whose values keep their types, or what has an array of its own."""
    if hasattr(X, "__array__"):
        return np.asarray(X)
    if not isinstance(X, Sequence) or isinstance(X, str | bytes):
        msg = (
            "a pandas or polars DataFrame, a pyarrow Table, a 2-D array or a list of rows is "
            f"expected, got {type(X).__name__}"
        )
        raise TypeError(msg)
    lengths = {len(row) if hasattr(row, "__len__") else -1 for row in X}
    if len(lengths) > 1:
        msg = f"rows of equal length are expected, got lengths {sorted(lengths)[:5]}"
        raise ValueError(msg)
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in X]
    return np.array(rows, dtype=object)


# --- where a column comes from ---


def _of_array(name: str, values: Array) -> Column:
    kind = values.dtype.kind
    if kind in "iu" and values.size and _beyond_float64(values.min(), values.max()):
        return _of_objects(name, values.tolist())
    if kind in "iuf":
        return Column(name, _NUMBERS, values.astype(np.float64), whole=kind != "f")
    if kind == "b":
        return Column(name, _BOOLEANS, values.astype(np.float64))
    if kind == "M":
        return Column(name, _TIMES, values.astype("datetime64[us]"))
    if kind == "m":
        lengths = values.astype("timedelta64[us]").astype(np.int64)
        seconds = np.where(np.isnat(values), np.nan, lengths * _SECOND)
        return Column(name, _NUMBERS, seconds)
    return _of_objects(name, values.tolist())


def _beyond_float64(low: Any, high: Any) -> bool:
    """Whether there are integers that float64 may not have; of gaps alone there are none."""
    return max((abs(int(v)) for v in (low, high) if v is not None and v == v), default=0) >= (
        _ALL_INTEGERS
    )


def _of_pandas(name: str, series: Any) -> Column:
    import pandas

    dtype = series.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        levels = [_text(category) for category in dtype.categories]
        column = Column(name, _WORDS, np.empty(0), declared=True)
        if dtype.ordered:
            column = replace(column, order=tuple(levels))
        return _words(column, series.cat.codes.to_numpy().astype(np.int64), levels)
    if isinstance(dtype, pandas.DatetimeTZDtype):
        times = series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        return Column(name, _TIMES, times.astype("datetime64[us]"), zoned=True)
    kind = getattr(dtype, "kind", "O")
    if isinstance(dtype, np.dtype):
        return _of_array(name, series.to_numpy())
    if kind in "iu" and _beyond_float64(series.min(), series.max()):
        return _of_objects(name, series.tolist())
    if kind in "biuf":
        values = np.array(series.to_numpy(dtype=np.float64, na_value=np.nan))
        return Column(name, _BOOLEANS if kind == "b" else _NUMBERS, values, whole=kind in "iu")
    return _of_objects(name, series.tolist())


def _of_polars(name: str, series: Any) -> Column:
    import polars

    dtype = series.dtype
    if dtype.is_integer() and _beyond_float64(series.min(), series.max()):
        return _of_objects(name, series.to_list())
    if dtype.is_numeric() or dtype == polars.Boolean:
        values = np.array(series.cast(polars.Float64).to_numpy())
        content = _NUMBERS if dtype.is_numeric() else _BOOLEANS
        return Column(name, content, values, whole=dtype.is_integer())
    if dtype in (polars.Date, polars.Datetime):
        times = series.dt.epoch("us").fill_null(_NO_TIME).to_numpy().astype("datetime64[us]")
        return Column(name, _TIMES, times, zoned=getattr(dtype, "time_zone", None) is not None)
    if dtype in (polars.Categorical, polars.Enum):
        return replace(_of_objects(name, series.cast(polars.String).to_list()), declared=True)
    return _of_objects(name, series.to_list())


def _of_field(name: str, X: Any, place: int) -> Column:
    column = _of_arrow(name, X.column(place))
    if MARK_OF_WORDS not in (X.schema.field(place).metadata or {}):
        return column
    return replace(column if column.content == _WORDS else column.as_words(), declared=True)


def _of_arrow(name: str, values: Any) -> Column:
    import pyarrow

    kinds, kind = pyarrow.types, values.type
    if kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind):
        numbers = np.array(
            values.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        )
        whole = kinds.is_integer(kind)
        if whole and (np.abs(numbers) >= _ALL_INTEGERS).any():
            return _of_objects(name, values.to_pylist())
        return Column(name, _NUMBERS, numbers, whole=whole)
    if kinds.is_timestamp(kind) or kinds.is_date(kind):
        zone = getattr(kind, "tz", None)
        times = values.cast(pyarrow.timestamp("us", zone), safe=False).cast(pyarrow.int64())
        whole = times.fill_null(_NO_TIME).to_numpy(zero_copy_only=False)
        return Column(name, _TIMES, whole.astype("datetime64[us]"), zoned=zone is not None)
    column = _of_objects(name, values.to_pylist())
    if kinds.is_dictionary(kind) and column.content == _WORDS:
        pieces = values.chunks if isinstance(values, pyarrow.ChunkedArray) else [values]
        known = pieces[0].dictionary.to_pylist() if kind.ordered and pieces else []
        return replace(column, declared=True, order=tuple(map(_text, known)))
    return column


# --- objects ---


def _of_objects(name: str, values: list[Any]) -> Column:
    """A column of Python's objects, by their types."""
    found = {kind: _category(kind) for kind in set(map(type, values))}
    categories = set(found.values())
    if "gap" in categories or ("number" in categories and len(categories) > 1):
        # a NaN among other things is a gap, too
        values = [
            None if found[type(v)] == "gap" or (found[type(v)] == "number" and v != v) else v
            for v in values
        ]
        found = {kind: _category(kind) for kind in set(map(type, values))}
        categories = set(found.values()) - {"gap"}
    if "other" in categories:
        _refuse_value(name, values, lambda value: found[type(value)] == "other")
    if categories == {"boolean"}:
        return Column(name, _BOOLEANS, _floats(name, values))
    if categories and categories <= {"boolean", "number"}:
        whole = all(_category(kind) == "gap" or issubclass(kind, Integral) for kind in found)
        numbers = _floats(name, values)
        large = whole and bool((np.abs(numbers) >= _ALL_INTEGERS).any())
        exact = tuple(None if v is None else int(v) for v in values) if large else None
        return Column(name, _NUMBERS, numbers, whole=whole, integers=exact)
    if categories == {"time"}:
        return _of_times(name, values)
    if categories == {"duration"}:
        array = np.array(values, dtype="timedelta64[us]")
        return _of_array(name, array)
    if categories & {"time", "duration"}:
        first = next(c for c in (found[type(v)] for v in values) if c != "gap")
        _refuse_value(name, values, lambda value: found[type(value)] not in ("gap", first))
    return _of_words(name, values)


def _category(kind: type) -> str:
    """What a value of this type is."""
    if kind is type(None) or kind.__name__ in ("NAType", "NaTType"):
        return "gap"
    if issubclass(kind, bool | np.bool_):
        return "boolean"
    if issubclass(kind, timedelta | np.timedelta64):  # which NumPy takes for integers
        return "duration"
    if issubclass(kind, Real | Decimal | np.integer | np.floating):
        return "number"
    if issubclass(kind, date | np.datetime64):
        return "time"
    return "word" if issubclass(kind, str | bytes) else "other"


def _refuse_value(name: str, values: list[Any], is_wrong: Callable[[Any], bool]) -> NoReturn:
    row = next(i for i, value in enumerate(values) if is_wrong(value))
    shown = repr(values[row])
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    msg = (
        f"column {name!r} holds {shown} of type {type(values[row]).__name__} in row {row}: every "
        "cell must be a string or a number, a boolean, a date or a gap, and dates do not mix with "
        "anything else. Write it as one of these: an hour or a length of time as a number, a "
        "period by its first day (in pandas .dt.to_timestamp()), anything else as text "
        "(.astype(str))"
    )
    raise TypeError(msg)


def _floats(name: str, values: list[Any]) -> Array:
    try:
        return np.array([np.nan if value is None else float(value) for value in values])
    except OverflowError:
        row = next(i for i, v in enumerate(values) if v is not None and abs(v) > LARGEST)
        _refuse_size(name, "a number beyond the range of float64", row)


def _refuse_size(name: str, shown: str, row: int) -> NoReturn:
    msg = (
        f"column {name!r} holds {shown} in row {row}: finite numbers are expected, of at most "
        f"{LARGEST:g}; write a gap, NaN, where there is no number"
    )
    raise CellError(msg, name, row, shown, "finite numbers")


def _of_times(name: str, values: list[Any]) -> Column:
    """Dates and times of Python, pandas or NumPy, all of them with a time zone or none."""
    zoned = [_zoned(value) for value in values if value is not None]
    if any(zoned) and not all(zoned):
        row = [value is not None and _zoned(value) != zoned[0] for value in values].index(True)
        _refuse_zones(name, zoned[0], str(values[row]), row)
    if any(zoned):
        values = [v and v.astimezone(UTC).replace(tzinfo=None) for v in values]
    return Column(name, _TIMES, np.array(values, dtype="datetime64[us]"), zoned=any(zoned))


def _zoned(value: Any) -> bool:
    return getattr(value, "tzinfo", None) is not None


def _refuse_zones(name: str, zoned: bool, shown: str, row: int) -> NoReturn:
    which = ("has no time zone", "have one") if zoned else ("has a time zone", "have none")
    msg = (
        f"column {name!r}: {shown} in row {row} {which[0]}, and those before {which[1]}. Give all "
        "of them one (in pandas .dt.tz_localize), or none (.dt.tz_convert(None))"
    )
    raise ValueError(msg)


def _of_words(name: str, values: list[Any]) -> Column:
    # True, 1 and 1.0 are equal, and not the same text
    alike = len(set(map(type, values)) - {type(None)}) <= 1
    keys = values if alike else [None if v is None else (type(v), v) for v in values]
    lookup: dict[Any, int] = {}
    codes = np.fromiter(
        (-1 if key is None else lookup.setdefault(key, len(lookup)) for key in keys),
        np.int64,
        len(values),
    )
    texts = []
    for key in lookup:
        value = key if alike else key[1]
        try:
            texts.append(_text(value))
        except UnicodeDecodeError as error:
            msg = (
                f"column {name!r} holds {value[:_SHOWN]!r} in row {values.index(value)}: bytes of "
                "UTF-8 are expected; decode them first"
            )
            raise ValueError(msg) from error
    return _words(Column(name, _WORDS, codes), codes, texts)


def _text(value: Any) -> str:
    """A level as text; numbers that are equal are one level."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, Real | Decimal) and not isinstance(value, bool | np.bool_):
        number: Any = value
        return str(int(number)) if float(number).is_integer() else str(number)
    return str(value)


def _words(like: Column, codes: Array, texts: Sequence[str]) -> Column:
    """Words by their ``codes`` in ``texts``, which may have blanks, repetitions and others."""
    used = np.zeros(len(texts) + 1, bool)  # the last for gaps
    used[codes] = True
    levels = sorted(
        {text for text, there in zip(texts, used, strict=False) if there and _ink(text)}
    )
    places = {text: place for place, text in enumerate(levels)}
    renumbered = np.array([*(places.get(text, -1) for text in texts), -1], dtype=np.int64)
    return replace(like, values=renumbered[codes], levels=tuple(levels))


def _ink(text: str) -> bool:
    return bool(text) and not text.isspace()


# --- from one kind to another ---


def parsed_numbers(column: Column) -> Column | None:
    """Words as the numbers they are written as, by ``float``; None where one is no number.

    **Cost**: one call for every level.
    """
    return _parsed(column, _number, np.nan, _NUMBERS)


def _number(text: str) -> float | None:
    if "_" in text:  # which Python allows in numbers
        return None
    try:
        return float(text)
    except ValueError:
        return None


def parsed_times(column: Column) -> Column | None:
    """Words as the ISO dates and times they are; None where one is something else.

    **Cost**: one call for every level.
    """
    found = _parsed(column, _time, np.datetime64("NaT", "us"), _TIMES)
    if found is None:
        return None
    zoned = np.array([*map(with_zone, column.levels), False])[column.values][~column.gaps]
    if zoned.any() and not zoned.all():
        row = int(np.flatnonzero(~column.gaps)[np.argmax(zoned != zoned[0])])
        _refuse_zones(column.name, bool(zoned[0]), column.shown(row), row)
    return replace(found, zoned=bool(zoned.any()))


def with_zone(level: str) -> bool:
    """Whether an ISO time has a time zone."""
    return level.strip()[-1] == "Z" or bool(re.search(r":\d{2}.*[+-]", level))


def _time(text: str) -> datetime | None:
    if not _ISO.fullmatch(text.strip()):
        return None
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found


def alone_no_word(level: str) -> bool:
    """Whether a column of this level alone would be numbers, dates or booleans."""
    return _number(level) is not None or _time(level) is not None or level in ("True", "False")


def _parsed(column: Column, parse: Callable[[str], Any], gap: Any, content: str) -> Column | None:
    values = []
    for level in column.levels:
        value = parse(level)
        if value is None:
            return None
        values.append(value)
    dtype = np.dtype("datetime64[us]") if content == _TIMES else np.dtype(np.float64)
    return Column(column.name, content, np.array([*values, gap], dtype=dtype)[column.values])


def as_content(column: Column, content: str, zoned: bool) -> Column:
    """A column as what it was when the encoder was fitted, refused where it cannot be that.

    **Cost**: none where it is; one call for every level of words.
    """
    found = column
    if column.gaps.all():
        found = _all_gaps(column, content)
    elif content == _WORDS and column.content in (_NUMBERS, _BOOLEANS):
        found = column.as_words()
    elif content == _NUMBERS and column.content == _BOOLEANS:
        found = replace(column, content=_NUMBERS)
    elif content == _BOOLEANS and column.content in (_NUMBERS, _WORDS):
        found = _booleans(column)
    elif content in (_NUMBERS, _TIMES) and column.content == _WORDS:
        parsed = parsed_numbers(column) if content == _NUMBERS else parsed_times(column)
        if parsed is None:
            parse = _number if content == _NUMBERS else _time
            wrong = np.array([*(parse(level) is None for level in column.levels), False])
            _refuse_change(column, content, int(np.argmax(wrong[column.values])))
        found = parsed
    if found.content != content:
        _refuse_change(column, content, int(np.argmin(column.gaps)))
    if content == _TIMES and found.zoned != zoned and not found.gaps.all():
        row = int(np.argmin(found.gaps))
        msg = (
            f"column {column.name!r} had times {'with' if zoned else 'without'} a time zone when "
            f"the encoder was fitted, and {column.shown(row)} in row {row} is "
            f"{'without' if zoned else 'with'} one: in pandas "
            f"{'.dt.tz_localize gives it' if zoned else '.dt.tz_convert(None) takes it away'}"
        )
        raise ValueError(msg)
    return found


def _all_gaps(column: Column, content: str) -> Column:
    """A column without a value can be any."""
    n = column.values.size
    empty: dict[str, Any] = {_WORDS: np.full(n, -1), _TIMES: np.full(n, "NaT", "datetime64[us]")}
    return Column(column.name, content, empty.get(content, np.full(n, np.nan)))


def _booleans(column: Column) -> Column:
    """Zeros and ones, or texts that say so, as booleans."""
    if column.content == _WORDS:
        said = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
        values = [said.get(level.strip().lower(), 2.0) for level in column.levels]
        numbers = np.array([*values, np.nan])[column.values]
    else:
        numbers = column.values
    wrong = ~np.isin(numbers, (0.0, 1.0)) & ~column.gaps
    if wrong.any():
        _refuse_change(column, _BOOLEANS, int(np.argmax(wrong)))
    return Column(column.name, _BOOLEANS, numbers)


def _refuse_change(column: Column, content: str, row: int) -> NoReturn:
    msg = (
        f"column {column.name!r} had {content} when the encoder was fitted, and holds "
        f"{column.shown(row)} in row {row}. Write it as the column was, or as a gap, or fit again"
    )
    raise CellError(msg, column.name, row, column.shown(row), content)


def check_size(column: Column) -> None:
    """Refuse numbers that are infinite, or so large that sums of them would be."""
    with np.errstate(invalid="ignore"):
        wrong = np.abs(column.values) > LARGEST
    if wrong.any():
        row = int(np.argmax(wrong))
        _refuse_size(column.name, f"{column.values[row]:g}", row)
