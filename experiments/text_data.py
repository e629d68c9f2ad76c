"""The collections of documents: from a folder if there is one, 20 Newsgroups also without.

The folder is the one named by the environment variable ``SQUAREONE_DATA``. It holds

- ``news20_libsvm_train.npz`` and ``sector105.npz``: counts of terms as compressed sparse rows, in
  ``data``, ``indices`` (from zero), ``indptr`` and ``shape``, and the classes in ``y``. A file in
  the svmlight format will do as well: the same name with ``.svmlight``, also followed by ``.gz`` or
  ``.bz2``;
- ``20newsgroups_bydate.jsonl.xz``: one JSON object per line, with ``split`` (train or test),
  ``label`` (a number), ``group`` (its name) and ``text`` (with its headers);
- ``reuters21578.jsonl.xz``: the same with ``modapte`` (train, test or unused), ``topics`` (a list),
  ``title`` and ``body``, and for the stream of all its documents ``date`` and ``newid``.

Without that variable 20 Newsgroups is fetched by scikit-learn.
"""

import json
import lzma
import os
import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import fetch_20newsgroups, load_svmlight_file

# What fetch_20newsgroups(remove=...) does to each text; the folder has the texts as they were.
from sklearn.datasets._twenty_newsgroups import (
    strip_newsgroup_footer,
    strip_newsgroup_header,
    strip_newsgroup_quoting,
)

from experiments.data import VARIABLE, DataNotFoundError, Rows, Split

PARTS = ("train", "test")
_COUNTS = (".npz", ".svmlight", ".svmlight.gz", ".svmlight.bz2")
_NEWSGROUPS = "20newsgroups_bydate.jsonl.xz"
_REUTERS = "reuters21578.jsonl.xz"


def load_counts(name: str) -> Rows:
    """Return counts of terms (n, d), sparse, and classes (n,)."""
    files = [name + suffix for suffix in _COUNTS]
    folder = _folder()
    if folder is None:
        msg = (
            f"{name} cannot be fetched: set {VARIABLE} to a folder that has {_listed(files)}, with "
            "counts of its terms"
        )
        raise DataNotFoundError(msg)
    return read_counts(_first(folder, files))


def read_counts(path: Path) -> Rows:
    """Return what one such file holds."""
    if not path.exists():
        raise DataNotFoundError(f"there is no file {path.name} where it was said to be")
    if path.suffix != ".npz":
        X, y = load_svmlight_file(path)
        return Rows(X, y.astype(int))
    with np.load(path, allow_pickle=False) as archive:
        stored = (archive["data"].astype(np.float64), archive["indices"], archive["indptr"])
        return Rows(csr_matrix(stored, shape=tuple(archive["shape"])), archive["y"])


def load_newsgroups(*, bare: bool = False, named: bool = False) -> Split:
    """Return the texts of 20 Newsgroups, "bydate", and the numbers of their groups.

    ``bare`` texts are without headers, footers and quotes, as scikit-learn removes them; ``named``
    groups have their names in place of numbers.
    """
    folder = _folder()
    if folder is None:
        split = Split(*(_fetched_newsgroups(part, named=named) for part in PARTS))
    else:
        documents = _documents(_first(folder, [_NEWSGROUPS]))
        key = "group" if named else "label"
        split = Split(*(_posts(documents, part, key) for part in PARTS))
    return Split(*map(_stripped, split)) if bare else split


def load_reuters() -> Split:
    """Return the texts of Reuters-21578, ModApte, and an indicator matrix of their topics.

    Its columns are the topics, by name, that have a training and a test document at least. A
    document with none of them is kept: its row is zero.
    """
    documents = _reuters()
    parts = [[d for d in documents if d["modapte"] == part] for part in PARTS]
    in_train, in_test = ({topic for d in part for topic in d["topics"]} for part in parts)
    topics = sorted(in_train & in_test)
    return Split(*(_stories(part, topics) for part in parts))


def load_topic(topic: str) -> Split:
    """Return the texts of Reuters-21578, ModApte, and which of them have a topic."""
    documents = _reuters()
    parts = [[d for d in documents if d["modapte"] == part] for part in PARTS]
    stories = (_stories(part, [topic]) for part in parts)
    return Split(*(Rows(rows.X, rows.y[:, 0].astype(bool)) for rows in stories))


def load_reuters_stream(topics: int = 50) -> Rows:
    """Return the texts of Reuters-21578 in the order of their dates, and an indicator matrix.

    Its columns are the most frequent topics, from the first; of the documents, whatever part of
    ModApte they are in, those with one of these topics at least.
    """
    documents = _reuters()
    counts = Counter(topic for d in documents for topic in d["topics"])
    frequent = sorted(counts, key=lambda topic: (-counts[topic], topic))[:topics]
    chosen = [d for d in documents if not set(frequent).isdisjoint(d["topics"])]
    chosen.sort(key=lambda d: (_moment(d["date"]), int(d["newid"])))
    return _stories(chosen, frequent)


def _reuters() -> list[dict[str, Any]]:
    folder = _folder()
    if folder is None:
        msg = f"Reuters-21578 cannot be fetched: set {VARIABLE} to a folder that has {_REUTERS}"
        raise DataNotFoundError(msg)
    return _documents(_first(folder, [_REUTERS]))


def _moment(date: str) -> datetime:
    """Read 26-FEB-1987 15:01:01.79, with more spaces, fewer decimals or marks behind it."""
    found = re.match(r"\s*(\d+)-([A-Z]{3})-(\d{4})\s+(\d+:\d+:\d+\.\d+)", date)
    if found is None:
        raise ValueError(f"a date like '26-FEB-1987 15:01:01.79' is expected, got {date!r}")
    return datetime.strptime(" ".join(found.groups()), "%d %b %Y %H:%M:%S.%f")


def _folder() -> Path | None:
    folder = os.environ.get(VARIABLE)
    return Path(folder) if folder else None


def _first(folder: Path, names: list[str]) -> Path:
    for name in names:
        if (folder / name).exists():
            return folder / name
    msg = (
        f"the folder in {VARIABLE} has no {_listed(names)}: put it there; experiments/text_data.py "
        "says what it holds"
    )
    raise DataNotFoundError(msg)


def _listed(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def _documents(path: Path) -> list[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _texts(texts: Iterable[str]) -> np.ndarray:
    """Return an array of objects: rows can be taken from it as from any other."""
    return np.array(list(texts), dtype=object)


def _posts(documents: list[dict[str, Any]], part: str, key: str) -> Rows:
    chosen = [d for d in documents if d["split"] == part]
    return Rows(_texts(d["text"] for d in chosen), np.array([d[key] for d in chosen]))


def _fetched_newsgroups(part: str, *, named: bool) -> Rows:
    try:
        fetched = fetch_20newsgroups(subset=part, shuffle=False, remove=())
    except OSError as error:
        msg = (
            f"20 Newsgroups could not be fetched ({error}): set {VARIABLE} to a folder that has "
            f"{_NEWSGROUPS}"
        )
        raise DataNotFoundError(msg) from error
    groups = np.array(fetched.target_names)[fetched.target] if named else fetched.target
    return Rows(_texts(fetched.data), groups)


def _stripped(rows: Rows) -> Rows:
    def bare(text: str) -> str:
        return strip_newsgroup_quoting(strip_newsgroup_footer(strip_newsgroup_header(text)))

    return Rows(_texts(map(bare, rows.X)), rows.y)


def _stories(documents: list[dict[str, Any]], topics: list[str]) -> Rows:
    labels = [[topic in d["topics"] for topic in topics] for d in documents]
    texts = _texts(f"{d['title'] or ''}\n{d['body'] or ''}" for d in documents)
    return Rows(texts, np.array(labels, dtype=int).reshape(len(documents), len(topics)))
