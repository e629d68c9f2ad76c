"""Rows of tables in files: Parquet, Arrow and CSV, read with pyarrow as record batches.

:class:`TableRows` does all that is the same for the three; a format opens its file and gives record
batches. ``pyarrow.dataset`` would do that for all of them, but it decodes whole row groups of
Parquet, however large, and has to read an Arrow file from its beginning to find a row.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..threads import thread_budget
from .checks import FilePath, existing_file, float_type, import_extra, not_numeric, requested_type
from .column_problems import ColumnProblem, is_number, listed, problem_of, refuse_missing
from .stream import Blocks, Stream

# Rows that are looked at before the first pass, and rows of a column that is read as a whole.
_FIRST, _COLUMN = 1024, 65_536
# Bytes that are read at once from a column of Parquet: without it a whole row group would be.
_BUFFER = 262_144
# Bytes of CSV that are parsed at once by each core; a row has to be shorter.
_BYTES = 4_194_304


class TableRows(Stream):
    """Rows of a table in a file; only the columns that are needed are read.

    Parameters
    ----------
    path : path
        The file.
    columns : sequence of str, optional
        Columns that are the features, in this order, or that the transformer is given. By default
        those the transformer was fitted on, or all.
    transformer : fitted scikit-learn transformer, optional
        Given each block as a pandas data frame; what it makes of it are the features.
    dtype : {float32, float64}, optional
        By default the common type of the columns; integers become float64.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        columns: Sequence[str] | None = None,
        transformer: Any = None,
        dtype: Any = None,
    ) -> None:
        self._locate(path)
        self._transformer = transformer
        if transformer is not None:
            _check_transformer(transformer, self._source)
            if columns is None:
                columns = getattr(transformer, "feature_names_in_", None)
        self._schema = self._read_schema()
        columns = _feature_columns(self._schema) if columns is None else columns
        self._columns = self._check_columns(columns)
        self._starts = self._piece_starts()
        self.shape = (int(self._starts[-1]), max(1, len(self._columns)))
        self._check_shape()
        own_type = self._describe_columns() if transformer is None else self._describe_output()
        self.dtype = requested_type(dtype) or own_type
        self._check_shape()

    def _locate(self, path: FilePath) -> None:
        self.path = existing_file(path)
        self._source = repr(self.path.name)
        self._threads = thread_budget() > 1

    def _check_there(self) -> None:
        existing_file(self.path)

    @classmethod
    def columns_of(cls, path: FilePath) -> tuple[list[str], list[str]]:
        """All columns of a file, and those that may be features."""
        rows = cls.__new__(cls)
        rows._locate(path)
        schema = rows._read_schema()
        return list(schema.names), _feature_columns(schema)

    # --- what a format has to say ---

    @abstractmethod
    def _read_schema(self) -> Any:
        """The schema of all columns."""

    @abstractmethod
    def _piece_starts(self) -> Array:
        """Where pieces that can be read without the others begin (p + 1,), and the last one ends.

        Called once, when the schema is known.
        """

    @abstractmethod
    def _batches(self, size: int, pieces: Sequence[int], columns: list[str]) -> Blocks:
        """Record batches of some columns, in their order; of about ``size`` rows where it can."""

    # --- the same for all ---

    def _module(self, name: str) -> Any:
        return import_extra(name, f"reading {self._source}")

    def column(self, name: str) -> Array:
        """A whole column (n,) in memory, a target for instance: numbers as they are, or texts."""
        self._check_columns([name])
        found = _target_values(self._whole_column(name), name, self._source)
        if found.shape[0] != self.shape[0]:
            self._refuse_length(f"{found.shape[0]:,}", self.shape[0])
        return found

    def _whole_column(self, name: str) -> Any:
        pieces = range(self._starts.size - 1)
        with closing(self._batches(_COLUMN, pieces, [name])) as batches:
            return self._module("pyarrow").chunked_array([batch.column(0) for batch in batches])

    def _first_rows(self, columns: list[str]) -> Any:
        with closing(self._batches(_FIRST, [0], columns)) as batches:
            return next(batches).slice(0, _FIRST)

    def _describe_columns(self) -> np.dtype:
        """Columns of numbers are features as they are; their common type is that of NumPy."""
        kinds = {name: _numpy_type(self._schema.field(name).type) for name in self._columns}
        known = [kind for kind in kinds.values() if kind is not None]
        if len(known) < len(kinds):
            self._refuse_columns([name for name, kind in kinds.items() if kind is None])
        self.feature_names = list(self._columns)
        self.shape = (self.shape[0], len(self._columns))
        return (float_type(np.result_type(*known)) if known else None) or np.dtype(np.float64)

    def _describe_output(self) -> np.dtype:
        """How wide a transformer's output is, its type, and whether it is sparse: by a few rows."""
        found = self._features(self._first_rows(self._columns))
        own = np.dtype(np.float64) if found.dtype.kind == "O" else float_type(found.dtype)
        if own is None:
            raise not_numeric("any", f"what the transformer made of {self._source}", found.dtype)
        self.sparse = bool(issparse(found))
        self.shape = (self.shape[0], int(found.shape[1]))
        self.feature_names = _names_out(self._transformer, self.shape[1])
        return own

    def _refuse_columns(self, names: list[str]) -> NoReturn:
        """Say of all columns that are no numbers what is in their first rows, and what to do."""
        problems = []
        for name, column in zip(names, self._first_rows(names).columns, strict=True):
            problem = problem_of(name, column.to_numpy(zero_copy_only=False))
            if problem is None or problem.numeric:  # but no numbers to the file
                problem = ColumnProblem(name, "numbers written as text", str(column.type))
            problems.append(problem)
        remedy = (
            "columns= leaves columns out, and transformer= takes a fitted transformer that makes "
            "numbers of the others, such as a sklearn.compose.ColumnTransformer"
        )
        raise ValueError(listed(problems, self._source, remedy))

    def _read(self, size: int, pieces: Sequence[int]) -> Blocks:
        self._check_there()
        with closing(self._batches(size, pieces, self._columns)) as batches:
            for batch in batches:
                for start in range(0, batch.num_rows, size):
                    yield self._features(batch.slice(start, size))

    def _features(self, batch: Any) -> Any:
        """Features (b, d) of a record batch, an array or a sparse matrix."""
        if self._transformer is None:
            return _numbers(batch, self.dtype)
        import_extra("pandas", "transformer=")
        made = self._transformer.transform(batch.to_pandas())
        return made if issparse(made) else np.asarray(made)

    def _check_columns(self, columns: Sequence[str]) -> list[str]:
        """The columns, each of them in the file, and once."""
        there = list(self._schema.names)
        names = [columns] if isinstance(columns, str) else [str(name) for name in columns]
        refuse_missing(names, there, self._source)
        for where, all_names in ((self._source, there), ("columns", names)):
            repeated = sorted(name for name, count in Counter(all_names).items() if count > 1)
            if repeated:
                msg = (
                    f"{where} has several columns named {', '.join(repeated)}: column names must "
                    "be unique"
                )
                raise ValueError(msg)
        return names


class ParquetRows(TableRows):
    """Rows of a Parquet file, read row group by row group.

    How many there are stands in the file's metadata. Only the columns that are needed are read,
    and only the row groups in which rows that are asked for by number are.

    Parameters
    ----------
    path : path
        The file.
    columns : sequence of str, optional
        Columns that are the features, in this order, or that the transformer is given. By default
        those the transformer was fitted on, or all.
    transformer : fitted scikit-learn transformer, optional
        Given each block as a pandas data frame; what it makes of it are the features.
    dtype : {float32, float64}, optional
        By default the common type of the columns; integers become float64.

    Notes
    -----
    **Cost**: a pass decodes the columns once, on all cores. In memory are the pages that are being
    decoded and two blocks, however large the row groups are.

    Examples
    --------
    >>> import pandas
    >>> from tempfile import TemporaryDirectory
    >>> from squareone.rows import ParquetRows
    >>> with TemporaryDirectory() as folder:
    ...     table = pandas.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5]})
    ...     table.to_parquet(f"{folder}/small.parquet")
    ...     rows = ParquetRows(f"{folder}/small.parquet")
    ...     print(rows)
    ...     float(sum(block.sum() for _, block in rows.blocks(2)))
    ParquetRows('small.parquet': 3 rows, 2 features, float64)
    10.5
    """

    def _file(self) -> Any:
        parquet = self._module("pyarrow.parquet")
        try:
            return parquet.ParquetFile(self.path, buffer_size=_BUFFER, pre_buffer=False)
        except self._module("pyarrow").ArrowInvalid as error:
            msg = f"{self._source} is no Parquet file ({error})"
            raise ValueError(msg) from error

    def _read_schema(self) -> Any:
        with self._file() as file:
            return file.schema_arrow

    def _piece_starts(self) -> Array:
        with self._file() as file:
            return _starts(file.metadata.row_group, file.num_row_groups)

    def _batches(self, size: int, pieces: Sequence[int], columns: list[str]) -> Blocks:
        with self._file() as file:
            found = _starts(file.metadata.row_group, file.num_row_groups)
            if not np.array_equal(found, self._starts):
                self._refuse_length(f"{found[-1]:,}", self.shape[0])
            groups = [int(piece) for piece in pieces]
            for batch in file.iter_batches(size, groups, columns, use_threads=self._threads):
                yield batch.select(columns)


class ParquetFolderRows(ParquetRows):
    """Rows of a folder of Parquet files, as other programs write a table in parts.

    The files whose names end in ``.parquet`` are read one after the other, by name. All have the
    columns of the first, of the same types. Names that begin with a dot or an underline are passed
    over. Folders inside, such as those of a table that is partitioned by a column, are refused.

    Parameters
    ----------
    path : path
        The folder.
    columns : sequence of str, optional
        Columns that are the features, in this order, or that the transformer is given. By default
        those the transformer was fitted on, or all.
    transformer : fitted scikit-learn transformer, optional
        Given each block as a pandas data frame; what it makes of it are the features.
    dtype : {float32, float64}, optional
        By default the common type of the columns; integers become float64.

    Notes
    -----
    **Cost**: as :class:`ParquetRows`; opening reads the metadata of every file.

    Examples
    --------
    >>> import pandas
    >>> from tempfile import TemporaryDirectory
    >>> from squareone.rows import open_rows
    >>> with TemporaryDirectory() as folder:
    ...     for part, values in enumerate([[1, 2, 3], [4, 5]]):
    ...         pandas.DataFrame({"a": values}).to_parquet(f"{folder}/part{part}.parquet")
    ...     rows = open_rows(folder)
    ...     rows[:].ravel()
    array([1., 2., 3., 4., 5.])
    """

    def _locate(self, path: FilePath) -> None:
        self.path = Path(os.fsdecode(path)).absolute()
        self._source = repr(self.path.name)
        self._threads = thread_budget() > 1
        self._files = self._found()
        self._counts: list[int] = []

    def _check_there(self) -> None:
        if self._found() != self._files:
            msg = f"{self._source} has other files than it had: open it again"
            raise ValueError(msg)

    def _found(self) -> list[Path]:
        if not self.path.is_dir():
            msg = f"there is no folder {str(self.path)!r}"
            raise FileNotFoundError(msg)
        there = [each for each in self.path.iterdir() if each.name[0] not in "._"]
        inside = sorted(each.name for each in there if each.is_dir())
        if inside:
            kind = "partitions by a column" if "=" in inside[0] else "folders inside"
            msg = (
                f"{self._source} has {kind} ({inside[0]!r}): a folder with Parquet files alone is "
                "expected. dask.dataframe.read_parquet reads what is partitioned by columns"
            )
            raise ValueError(msg)
        found = sorted(each for each in there if each.name.endswith(".parquet"))
        if not found:
            msg = f"{self._source} is a folder without a Parquet file: names end in .parquet"
            raise IsADirectoryError(msg)
        return found

    @contextmanager
    def _opened(self, path: Path) -> Iterator[Any]:
        parquet = self._module("pyarrow.parquet")
        try:
            with parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
                yield file
        except self._module("pyarrow").ArrowInvalid as error:
            msg = f"{path.name!r} in {self._source} is no Parquet file ({error})"
            raise ValueError(msg) from error

    def _read_schema(self) -> Any:
        with self._opened(self._files[0]) as file:
            return file.schema_arrow

    def _piece_starts(self) -> Array:
        """Of the row groups of all files; how many each has is remembered."""
        lengths: list[Array] = []
        for path in self._files:
            with self._opened(path) as file:
                self._compare(path, file.schema_arrow)
                lengths.append(np.diff(_starts(file.metadata.row_group, file.num_row_groups)))
        self._counts = [each.size for each in lengths]
        return np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int64)

    def _compare(self, path: Path, schema: Any) -> None:
        """Refuse a file with other columns than the first."""
        for name in self._columns:
            place = schema.get_field_index(name)
            expected = self._schema.field(name).type
            if place < 0 or schema.field(place).type != expected:
                found = "missing" if place < 0 else f"of type {schema.field(place).type}"
                msg = (
                    f"column {name!r} is {found} in {path.name!r}, and of type {expected} in "
                    f"{self._files[0].name!r}: the files of {self._source} have to have the same "
                    "columns"
                )
                raise ValueError(msg)

    def _batches(self, size: int, pieces: Sequence[int], columns: list[str]) -> Blocks:
        ends = np.cumsum(self._counts)
        wanted = np.asarray(pieces, dtype=int)
        for number, path in enumerate(self._files):
            first = int(ends[number]) - self._counts[number]
            groups = wanted[(wanted >= first) & (wanted < ends[number])] - first
            if not groups.size:
                continue
            with self._opened(path) as file:
                found = _starts(file.metadata.row_group, file.num_row_groups)
                own = self._starts[first : int(ends[number]) + 1]
                if not np.array_equal(found, own - own[0]):
                    self._refuse_length(f"other than {own[-1] - own[0]:,}", self.shape[0])
                for batch in file.iter_batches(
                    size, groups.tolist(), columns, use_threads=self._threads
                ):
                    yield batch.select(columns)


class ArrowRows(TableRows):
    """Rows of an Arrow IPC file (Feather, version 2), mapped into memory.

    Record batches that are not compressed are read where they are in the file; compressed ones are
    decompressed one by one.

    Parameters
    ----------
    path : path
        The file.
    columns : sequence of str, optional
        Columns that are the features, in this order, or that the transformer is given. By default
        those the transformer was fitted on, or all.
    transformer : fitted scikit-learn transformer, optional
        Given each block as a pandas data frame; what it makes of it are the features.
    dtype : {float32, float64}, optional
        By default the common type of the columns; integers become float64.

    Notes
    -----
    **Cost**: a pass copies the columns into blocks. Opening looks at the length of every record
    batch; only those with rows that are asked for by number are read.

    Examples
    --------
    >>> import pandas
    >>> from tempfile import TemporaryDirectory
    >>> from squareone.rows import ArrowRows
    >>> with TemporaryDirectory() as folder:
    ...     pandas.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}).to_feather(f"{folder}/small.feather")
    ...     rows = ArrowRows(f"{folder}/small.feather", dtype="float32")
    ...     print(rows)
    ...     float(rows[[1]].sum())
    ArrowRows('small.feather': 2 rows, 2 features, float32)
    3.5
    """

    @contextmanager
    def _file(self, columns: Sequence[str] = ()) -> Iterator[Any]:
        """With all columns, or with some: others are neither read nor decompressed."""
        pyarrow, ipc = self._module("pyarrow"), self._module("pyarrow.ipc")
        fields = [self._schema.get_field_index(name) for name in columns]
        options = ipc.IpcReadOptions(included_fields=fields, use_threads=self._threads)
        with pyarrow.memory_map(str(self.path)) as source:
            try:
                reader = ipc.open_file(source, options=options)
            except pyarrow.ArrowInvalid as error:
                msg = f"{self._source} is no Arrow IPC file ({error})"
                raise ValueError(msg) from error
            yield reader

    def _read_schema(self) -> Any:
        with self._file() as file:
            return file.schema

    def _piece_starts(self) -> Array:
        with self._file(self._schema.names[:1]) as file:  # one column knows how long they are
            return _starts(file.get_batch, file.num_record_batches)

    def _batches(self, size: int, pieces: Sequence[int], columns: list[str]) -> Blocks:
        with self._file(columns) as file:
            if file.num_record_batches != self._starts.size - 1:
                self._refuse_length(f"{self._piece_starts()[-1]:,}", self.shape[0])
            for piece in pieces:
                yield file.get_batch(piece).select(columns)


class CSVRows(TableRows):
    r"""Rows of a text file with names in its first line (``.csv``, ``.tsv``, also ``.gz``).

    It is parsed anew in every pass: where a fit needs many, :func:`save_rows` first makes a file
    that can be read without parsing. pyarrow's reader is used rather than pandas' pieces: columns
    keep their type from one piece to the next, those that are not needed are not converted, and
    what comes are the record batches of the other tables. On one core both are about as fast.

    Parameters
    ----------
    path : path
        The file. Its name says how it is separated (``.tsv``: tabs) and compressed.
    columns : sequence of str, optional
        Columns that are the features, in this order, or that the transformer is given. By default
        those the transformer was fitted on, or all.
    transformer : fitted scikit-learn transformer, optional
        Given each block as a pandas data frame; what it makes of it are the features.
    dtype : {float32, float64}, optional
        float64 by default.
    n_rows : int, optional
        How many rows there are, if that is known: the file is then not read to count them.

    Notes
    -----
    Whether a column is one of numbers the first megabytes say; numbers are read as float64.

    **Cost**: opening reads the file once to count its rows, a pass reads and parses it once.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from squareone.rows import CSVRows
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.csv"
    ...     _ = path.write_text("a,b\n1,0.5\n2,1.5\n")
    ...     rows = CSVRows(path)
    ...     print(rows)
    ...     float(sum(block.sum() for _, block in rows.blocks(1)))
    CSVRows('small.csv': 2 rows, 2 features, float64)
    5.0
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        columns: Sequence[str] | None = None,
        transformer: Any = None,
        dtype: Any = None,
        n_rows: int | None = None,
    ) -> None:
        self._n_rows = n_rows
        super().__init__(path, columns=columns, transformer=transformer, dtype=dtype)

    @contextmanager
    def _file(self, types: dict[str, Any] | None = None) -> Iterator[Any]:
        """With all columns, or with those that ``types`` has; an error names the file."""
        csv, invalid = self._module("pyarrow.csv"), self._module("pyarrow").ArrowInvalid
        read = csv.ReadOptions(block_size=_BYTES, use_threads=self._threads)
        tabs = ".tsv" in self.path.suffixes
        parse = csv.ParseOptions(delimiter="\t" if tabs else ",", newlines_in_values=True)
        convert = csv.ConvertOptions(
            include_columns=list(types or ()), column_types=types, strings_can_be_null=True
        )
        try:
            with csv.open_csv(self.path, read, parse, convert) as reader:
                yield reader
        except invalid as error:
            if "Empty CSV file" in str(error):
                msg = f"{self._source} has no rows: at least one row is expected"
                raise ValueError(msg) from error
            remedy = "As many values as there are names are expected in every line"
            if "UTF8" in str(error):
                remedy = "Text in UTF-8 is expected: save it as that"
            elif "conversion" in str(error):
                remedy = "Numbers are expected in columns that begin with numbers"
            msg = f"{self._source} cannot be read ({error}). {remedy}"
            raise ValueError(msg) from error

    def _read_schema(self) -> Any:
        """Numbers are read as float64, whatever comes after the beginning of a column."""
        with self._file() as reader:
            schema = reader.schema
        self._check_first_line(schema.names)
        pyarrow = self._module("pyarrow")
        kinds = {None: pyarrow.string(), np.dtype(bool): pyarrow.bool_()}
        found = [kinds.get(_numpy_type(kind), pyarrow.float64()) for kind in schema.types]
        return pyarrow.schema(list(zip(schema.names, found, strict=True)))

    def _check_first_line(self, names: list[str]) -> None:
        other = next((sign for sign in ";|\t" if sign in names[0]), None)
        if len(names) == 1 and other is not None:
            msg = (
                f"the first line of {self._source} is {names[0][:60]!r}: names between commas, or "
                f"tabs in .tsv files, are expected. pandas.read_csv(path, sep={other!r}) reads it"
            )
            raise ValueError(msg)
        if all(is_number(name) for name in names):
            msg = (
                f"the first line of {self._source} has numbers ({', '.join(names[:3])}): names of "
                "the columns are expected in it"
            )
            raise ValueError(msg)

    def _piece_starts(self) -> Array:
        if self._n_rows is not None:
            return np.array([0, int(self._n_rows)])
        with closing(self._batches(0, [0], self._columns[:1])) as batches:
            return np.array([0, sum(batch.num_rows for batch in batches)])

    def _batches(self, size: int, pieces: Sequence[int], columns: list[str]) -> Blocks:
        with self._file({name: self._schema.field(name).type for name in columns}) as reader:
            yield from reader

    def _whole_column(self, name: str) -> Any:
        """Read as texts: what they stand for can be said when all of them are known."""
        pyarrow = self._module("pyarrow")
        with self._file({name: pyarrow.string()}) as reader:
            return _parsed_texts(reader.read_all().column(0))


def _starts(piece: Callable[[int], Any], count: int) -> Array:
    """Where row groups or record batches begin (p + 1,), and where the last one ends."""
    return np.cumsum([0, *(piece(i).num_rows for i in range(count))], dtype=np.int64)


def _feature_columns(schema: Any) -> list[str]:
    """All columns but those in which pandas keeps the index of a data frame."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


# --- features ---


def _numpy_type(kind: Any) -> np.dtype | None:
    """The type of the numbers of a column; None where it has others."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_decimal(kind) or types.is_null(kind):
        return np.dtype(np.float64)
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return np.dtype(kind.to_pandas_dtype())
    return None


def _numbers(batch: Any, dtype: np.dtype) -> Array:
    """The numbers (b, d) of a record batch; what is missing is NaN."""
    import pyarrow

    kind = pyarrow.from_numpy_dtype(dtype)
    block = np.empty((batch.num_rows, batch.num_columns), dtype)
    for position, column in enumerate(batch.columns):
        if pyarrow.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        # 16 bits become 32 below: older versions of pyarrow cannot
        if column.type not in (kind, pyarrow.float16()):
            column = column.cast(kind, safe=False)
        block[:, position] = column.to_numpy(zero_copy_only=False)
    return block


def _check_transformer(transformer: Any, source: str) -> None:
    """Refuse what is not fitted: what it learns has to be the same for all blocks."""
    if not hasattr(transformer, "transform"):
        msg = f"transformer={transformer!r}: a fitted scikit-learn transformer is expected"
        raise TypeError(msg)
    try:
        check_is_fitted(transformer)
    except (NotFittedError, TypeError) as error:
        msg = (
            f"transformer={type(transformer).__name__}(...) is not fitted, and {source} is read "
            "block by block: fit it first, on a data frame of some rows that have every category"
        )
        raise NotFittedError(msg) from error


def _names_out(transformer: Any, width: int) -> list[str] | None:
    try:
        names = [str(name) for name in transformer.get_feature_names_out()]
    except (AttributeError, NotFittedError, ValueError):
        return None  # it, or a step of it, has no names to give
    return names if len(names) == width else None


# --- targets ---


def _target_values(column: Any, name: str, source: str) -> Array:
    """The values (n,) of a column, numbers or texts; none of them may be missing."""
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count:
        row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
        msg = (
            f"row {row:,} of the target {name!r} in {source} is missing: leave rows without a "
            "target out of the file"
        )
        raise ValueError(msg)
    if types.is_string(column.type) or types.is_large_string(column.type):
        coded = column.combine_chunks().dictionary_encode()  # texts are made once for each
        words: Array = np.array(coded.dictionary.to_pylist(), dtype=str)
        return words[coded.indices.to_numpy()]
    return (column.cast(pyarrow.float64()) if types.is_decimal(column.type) else column).to_numpy()


def _parsed_texts(column: Any) -> Any:
    """What texts of a file stand for: integers, else numbers, else truth values, else themselves.

    A number that is found only after a million integers makes all of them numbers.
    """
    import pyarrow
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(column)
    for kind in (pyarrow.int64(), pyarrow.float64(), pyarrow.bool_()):
        try:
            return trimmed.cast(kind)
        except pyarrow.ArrowInvalid:
            continue
    return column
