"""Rows of text files with a line for every row."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from .extras import extra
from .labels import parsed_texts
from .table import TableRows

# Bytes that are parsed at once by each core; a row has to be shorter.
_BYTES = 4_194_304


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
    def _explained(self) -> Generator[None, None, None]:
        """What pyarrow says of a line it cannot read, with the name of the file."""
        try:
            yield
        except extra("pyarrow", f"reading {self._source}").ArrowInvalid as error:
            if "Empty CSV file" in str(error):
                msg = f"{self._source} has no rows: at least one row is expected"
                raise ValueError(msg) from error
            remedy = "Numbers are expected in columns that begin with numbers"
            if "conversion" not in str(error):
                remedy = "As many values as there are names are expected in every line"
            msg = f"{self._source} cannot be read ({error}). {remedy}"
            raise ValueError(msg) from error

    def _reader(self, columns: list[str] | None, types: dict[str, Any] | None) -> Any:
        csv = extra("pyarrow.csv", f"reading {self._source}")
        tabs = ".tsv" in self.path.suffixes
        return csv.open_csv(
            self.path,
            csv.ReadOptions(block_size=_BYTES, use_threads=self._threads),
            csv.ParseOptions(delimiter="\t" if tabs else ",", newlines_in_values=True),
            csv.ConvertOptions(
                include_columns=columns or [], column_types=types, strings_can_be_null=True
            ),
        )

    def _open(self) -> Any:
        with self._explained(), self._reader(None, None) as reader:
            schema = reader.schema
        if all(_is_number(name) for name in schema.names):
            msg = (
                f"the first line of {self._source} has numbers ({', '.join(schema.names[:3])}): "
                "names of the columns are expected in it"
            )
            raise ValueError(msg)
        pyarrow = extra("pyarrow", f"reading {self._source}")
        return pyarrow.schema([(field.name, _wide(field.type)) for field in schema])

    def _count(self) -> int:
        if self._n_rows is not None:
            return int(self._n_rows)
        with closing(self._batches(0, [0], self._columns[:1])) as batches:
            return sum(batch.num_rows for batch in batches)

    def _batches(
        self, size: int, pieces: Sequence[int], columns: list[str]
    ) -> Generator[Any, None, None]:
        yield from self._typed(columns, {c: self._schema.field(c).type for c in columns})

    def _typed(self, columns: list[str], types: dict[str, Any]) -> Generator[Any, None, None]:
        with self._explained(), self._reader(columns, types) as reader:
            yield from reader

    def _whole(self, name: str) -> list[Any]:
        """Read as texts: what they stand for can be said when all of them are known."""
        pyarrow = extra("pyarrow", f"reading {self._source}")
        with closing(self._typed([name], {name: pyarrow.string()})) as batches:
            column = pyarrow.chunked_array([b.column(0) for b in batches], pyarrow.string())
        return parsed_texts(column).chunks


def _wide(kind: Any) -> Any:
    """What a column is read as, whatever comes after its beginning: numbers as float64."""
    pyarrow = extra("pyarrow", "reading tables")
    types = pyarrow.types
    if types.is_boolean(kind):
        return kind
    number = types.is_null(kind) or types.is_integer(kind) or types.is_floating(kind)
    return pyarrow.float64() if number else pyarrow.string()


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
