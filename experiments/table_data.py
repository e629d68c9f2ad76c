"""Tables of mixed columns: numbers, words and gaps, read from CSV without pandas, and their splits.

The folder named by the environment variable ``SQUAREONE_DATA`` has ``tables/index.csv``, which says
whether a table is for regression or classification, and ``tables/<name>.csv.gz``, whose column
``target`` is to be predicted and whose empty values are gaps. Abalone and California housing are
taken from the archives beside. What was read is kept under ``out/tables``, as arrays: where there
is no folder, that is where tables come from.
"""

import csv
import gzip
import hashlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from experiments.data import VARIABLE, DataNotFoundError

CACHE = Path(__file__).parents[1] / "out" / "tables"
ARCHIVES = {"abalone": "abalone", "california": "california_housing"}
IN_TIME_ORDER = ("chicago",)  # trained on the past, tested on what came later
FORMAT = 2  # of the kept arrays


@dataclass(frozen=True)
class Columns:
    """Named columns of n values each; the type of an array says what the column holds.

    Parameters
    ----------
    columns : dict of arrays of shape (n,)
        int64 for whole numbers without gaps, float64 with NaN where there is none, and text, where
        an empty one is a gap.
    """

    columns: dict[str, NDArray]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def take(self, rows: NDArray) -> Self:
        return type(self)({name: column[rows] for name, column in self.columns.items()})

    @property
    def numbers(self) -> dict[str, NDArray]:
        return {name: c.astype(float) for name, c in self.columns.items() if not is_text(c)}

    @property
    def words(self) -> dict[str, NDArray]:
        return {name: column for name, column in self.columns.items() if is_text(column)}

    def frame(self) -> Any:
        """Return a pandas DataFrame, as ``pandas.read_csv`` gives it (True and False as words)."""
        import pandas as pd  # optional

        return pd.DataFrame(
            {name: _with_none(c) if is_text(c) else c for name, c in self.columns.items()}
        )

    def objects(self) -> NDArray:
        """Return an array of objects (n, d): numbers, words, NaN or None where there is a gap."""
        result = np.empty((len(self), len(self.columns)), dtype=object)
        for j, column in enumerate(self.columns.values()):
            result[:, j] = _with_none(column) if is_text(column) else column.tolist()
        return result


class Table(NamedTuple):
    """Columns of n values and the targets (n,): float64 for regression, else int64 or text."""

    name: str
    columns: Columns
    y: NDArray


class Split(NamedTuple):
    """Numbers of the rows for training, at most as many as asked for, and for testing."""

    train: NDArray
    test: NDArray
    available: int  # training rows, had all been asked for


def is_text(column: NDArray) -> bool:
    return column.dtype.kind == "U"


def are_classes(y: NDArray) -> bool:
    return y.dtype.kind != "f"


def split(table: Table, seed: int, at_most: int | None = None) -> Split:
    """Return a random 75/25 split; a table in order of time always has the same one.

    The training rows are the first ``at_most`` of the training part.
    """
    n = len(table.y)
    if table.name in IN_TIME_ORDER:
        order = np.arange(n)
    else:
        order = np.random.RandomState(seed).permutation(n)
    train, test = np.split(order, [int(0.75 * n)])
    return Split(train[:at_most], test, len(train))


def table_names() -> list[str]:
    """Return the tables there are, in the folder or, without one, among those kept."""
    folder = _folder()
    if folder is None:
        return sorted(path.stem for path in CACHE.glob("*.npz"))
    archives = (name for name, stem in ARCHIVES.items() if (folder / f"{stem}.npz").exists())
    return sorted([*_tasks(folder), *archives])


def load_table(name: str) -> Table:
    """Return a table, from the arrays that are kept of it if its file has not changed since."""
    folder = _folder()
    kept = CACHE / f"{name}.npz"
    source = None if folder is None else _source(folder, name)
    state = None if source is None else f"{FORMAT} {hashlib.sha256(source).hexdigest()}"
    if kept.exists():
        with np.load(kept, allow_pickle=False) as archive:
            if state is None or archive["state"] == state:
                names = archive["names"].tolist()
                columns = {key: archive[f"column {j}"] for j, key in enumerate(names)}
                return Table(name, Columns(columns), archive["y"])
    if folder is None:
        msg = (
            f"there is no table {name!r} under out/tables: set {VARIABLE} to the folder that has "
            "it. A run with that folder keeps the arrays there"
        )
        raise DataNotFoundError(msg)
    if name in ARCHIVES:
        table = _from_archive(name, source)
    else:
        table = read_csv(name, source, regression=_tasks(folder)[name] == "regression")
    columns = table.columns.columns
    arrays = {f"column {j}": column for j, column in enumerate(columns.values())}
    CACHE.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(kept, state=state, names=np.array([*columns]), y=table.y, **arrays)
    return table


def read_csv(name: str, compressed: bytes, *, regression: bool) -> Table:
    """Return the table of a gzipped CSV file with a header and a column ``target``."""
    with gzip.open(io.BytesIO(compressed), "rt", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    texts = dict(zip(header, zip(*rows, strict=True), strict=True))
    target = texts.pop("target")
    y = _column(target)
    if regression:
        y = y.astype(np.float64)
    elif not are_classes(y):  # 1.0, 2.0: the numbers of classes
        y = np.array(target) if np.any(y % 1) else y.astype(np.int64)
    return Table(name, Columns({key: _column(column) for key, column in texts.items()}), y)


def _column(texts: Sequence[str]) -> NDArray:
    """Return whole numbers, or numbers with NaN in the gaps, or else the texts."""
    for numbers in (lambda: [int(t) for t in texts], lambda: [float(t or "nan") for t in texts]):
        try:
            return np.array(numbers())
        except ValueError:
            continue
    return np.array(texts)


def _from_archive(name: str, archive: bytes) -> Table:
    with np.load(io.BytesIO(archive), allow_pickle=False) as arrays:
        names = arrays["feature_names"].tolist()
        columns = dict(zip(names, arrays["X"].T.astype(np.float64), strict=True))
        if "sex" in arrays.files:
            columns["sex"] = arrays["sex"]
        return Table(name, Columns(columns), arrays["y"].astype(np.float64))


def _folder() -> Path | None:
    return Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None


def _tasks(folder: Path) -> dict[str, str]:
    try:
        with (folder / "tables" / "index.csv").open(encoding="utf-8", newline="") as file:
            return {row["name"]: row["task"] for row in csv.DictReader(file)}
    except FileNotFoundError:
        return {}


def _source(folder: Path, name: str) -> bytes:
    path = folder / f"{ARCHIVES[name]}.npz" if name in ARCHIVES else _csv_path(folder, name)
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        msg = f"the folder in {VARIABLE} has no {path.relative_to(folder)}: put it there"
        raise DataNotFoundError(msg) from error


def _csv_path(folder: Path, name: str) -> Path:
    return folder / "tables" / f"{name}.csv.gz"


def _with_none(words: NDArray) -> list[str | None]:
    return [word or None for word in words.tolist()]
