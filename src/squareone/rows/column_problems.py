"""Columns that cannot be features as they are: what each holds and what to do, or what is missing.

All of them are named at once: words, dates, identifiers, numbers that something else stands among,
gaps, and names that a table does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from ..arrays import Array

# Values of a column that say what it holds.
_LOOKED_AT = 10_000
# Names in a line of a message, and values in brackets.
_NAMES, _VALUES, _LONGEST = 10, 3, 24
# Names of columns that a message about missing ones lists.
_LISTED = 20
# A share of values that settles what a column holds, and one of different values that makes an
# identifier of it, with so many rows at least.
_MOST, _DIFFERENT, _FEWEST = 0.8, 0.9, 10
# Words in a value, on average, that make it a text and not a name.
_SENTENCE = 5.0

_DATE = re.compile(r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})\b")
_FORMATTED = re.compile(r"\s*[^\w\s]{0,2}\s?[-+]?\d[\d.,' ]*\s?\S{0,3}\s*")
_ALL_OF_THIS = "A sklearn.compose.ColumnTransformer does all of this, before the estimator"

#: What columns hold, and what to do with them, in the order of a message.
_ADVICE = {
    "words": (
        "Encode {them}, for instance with sklearn.preprocessing.OneHotEncoder, or TargetEncoder "
        "where there are many different ones"
    ),
    "dates": (
        "Convert {them} to numbers with pandas.to_datetime: days since the first one "
        "((when - when.min()).dt.days), the month, the hour of the day"
    ),
    "durations": "Convert {them} to numbers: .dt.total_seconds()",
    "texts": "sklearn.feature_extraction.text.TfidfVectorizer makes numbers of {them}",
    "an identifier, different in nearly every row": "Leave {them} out",
    "numbers with something else among them": (
        "Where that stands for a gap, read it as one, pandas.read_csv(..., na_values=[...]), and "
        "fill it with sklearn.impute.SimpleImputer"
    ),
    "numbers written as text": (
        "Read {them} as numbers: thousands= and decimal= of pandas.read_csv, or take the signs off "
        "with .str.replace"
    ),
    "objects": "Give every number a column of its own",
    "gaps in rows": (
        "Fill the gaps, for instance with sklearn.impute.SimpleImputer, or leave out such rows or "
        "columns"
    ),
    "infinite in rows": "Replace {them}: finite numbers are expected",
}

#: What may be wrong with numbers.
_NOT_FINITE = {"gaps in rows": np.isnan, "infinite in rows": np.isinf}


@dataclass(frozen=True)
class ColumnProblem:
    """Why a column cannot be a feature as it is.

    Attributes
    ----------
    name : object
        Its name, or its number.
    kind : str
        A key of the table of advice.
    detail : str
        Some of its values, or how many are missing.
    """

    name: Any
    kind: str
    detail: str

    @property
    def numeric(self) -> bool:
        """Whether it has numbers, of which only some are missing or infinite."""
        return self.kind in _NOT_FINITE


def column_problems(X: Any) -> list[ColumnProblem]:
    """All columns of ``X`` (n, d) that are no features yet.

    A pandas or polars data frame, a sparse matrix, or what NumPy makes an array of.
    """
    if hasattr(X, "tocsc"):
        return _of_sparse(X)
    names = getattr(X, "columns", None)
    if names is not None and hasattr(X, "__getitem__"):
        columns: Iterable[tuple[Any, Any]] = ((name, X[name]) for name in names)
    else:
        array = np.asarray(X)
        if array.ndim != 2:
            return []
        columns = ((j, array[:, j]) for j in range(array.shape[1]))
    found = (problem_of(name, np.asarray(column)) for name, column in columns)
    return [problem for problem in found if problem is not None]


def _of_sparse(X: Any) -> list[ColumnProblem]:
    stored, found = X.tocsc(), []
    features = np.repeat(np.arange(stored.shape[1]), np.diff(stored.indptr))
    for kind, is_wrong in _NOT_FINITE.items():
        columns = features[is_wrong(stored.data)]
        for j, count in zip(*np.unique(columns, return_counts=True), strict=True):
            found.append(ColumnProblem(int(j), kind, _out_of(int(count), stored.shape[0])))
    return found


def problem_of(name: Any, values: Array) -> ColumnProblem | None:
    """What is wrong with a column (n,), if anything is.

    **Cost**: a pass over its values; where they are no numbers a look at the first ten thousand.
    """
    if values.dtype.kind == "M":
        return ColumnProblem(name, "dates", _quoted(values[~np.isnat(values)][:1].astype(str)))
    if values.dtype.kind == "m":
        return ColumnProblem(name, "durations", "")
    if values.dtype.kind == "c":
        return None  # scikit-learn has its own words for those
    missing = _missing(values)
    known = np.where(missing, np.nan, values) if missing.any() else values
    try:
        numbers = known.astype(np.float64)
    except OverflowError:
        return ColumnProblem(name, "infinite in rows", "numbers too large for float64")
    except (TypeError, ValueError) as error:
        return _not_numeric(name, values[~missing], int(missing.sum()), str(error))
    for kind, is_wrong in _NOT_FINITE.items():
        if count := int(is_wrong(numbers).sum()):
            return ColumnProblem(name, kind, _out_of(count, values.size))
    return None


def _out_of(count: int, n: int) -> str:
    return f"{count:,} of {n:,}"


def _missing(values: Array) -> Array:
    """Which values (n,) are none."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(values.size, bool)
    return np.fromiter((_is_missing(value) for value in values), bool, values.size)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and value != value


def _not_numeric(name: Any, values: Array, gaps: int, why: str) -> ColumnProblem:
    """What a column holds, from what is not missing of it; ``why`` it is no numbers."""
    some = [
        v.decode("latin-1") if isinstance(v, bytes) else v for v in values[:_LOOKED_AT].tolist()
    ]
    kind, shown = _kind(some)
    detail = why if shown is None else shown
    if kind == "numbers with something else among them":
        others = [value for value in values.tolist() if not is_number(value)]
        different = list(dict.fromkeys(map(str, others)))
        detail = f"{_quoted(different[:_VALUES])} in {_out_of(len(others), values.size + gaps)}"
    elif kind == "words":
        different = list(dict.fromkeys(map(str, some)))
        few = len(different) <= _VALUES
        detail = _quoted(different[: _VALUES if few else 1])
        detail += f" and {len(different) - 1:,} others" * (not few)
    if gaps:
        detail += f"{'; ' if detail else ''}{gaps:,} missing"
    return ColumnProblem(name, kind, detail)


def _kind(some: list[Any]) -> tuple[str, str | None]:
    """A key of the advice for values that are no numbers, and one of them, where that helps."""
    if all(hasattr(value, "strftime") for value in some):
        return "dates", _quoted([str(some[0])])
    if all(hasattr(value, "total_seconds") for value in some):
        return "durations", ""
    if any(not isinstance(value, str) and not is_number(value) for value in some):
        return "objects", None
    texts = [str(value) for value in some]
    first = _quoted(texts[:1])

    def share(test: Any) -> float:
        return sum(bool(test(text)) for text in texts) / len(texts)

    if share(is_number) >= 0.5:
        return "numbers with something else among them", None
    if share(_DATE.match) >= _MOST:
        return "dates", first
    if share(_FORMATTED.fullmatch) >= _MOST:
        return "numbers written as text", first
    different = len(set(texts)) / len(texts)
    if different >= _DIFFERENT and len(texts) >= _FEWEST:
        if sum(len(text.split()) for text in texts) >= _SENTENCE * len(texts):
            return "texts", first
        return "an identifier, different in nearly every row", first
    return "words", first


def is_number(value: Any) -> bool:
    """Whether a value is a number, or a text that stands for one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _quoted(values: Iterable[Any]) -> str:
    """Values as they are, those that are long cut off."""
    texts = (str(value) for value in values)
    return ", ".join(repr(t if len(t) <= _LONGEST else f"{t[: _LONGEST - 1]}…") for t in texts)


def listed(problems: Sequence[ColumnProblem], where: str, remedy: str = "") -> str:
    """All that is wrong with the columns of ``where``, such as "X", and what to do about it.

    ``remedy`` says how that is done there.
    """
    headline = _headline(problems, where)
    if len(problems) == 1:
        (problem,) = problems
        what = f"{problem.detail} rows"
        if not problem.numeric:
            what = f"{problem.kind}: {problem.detail}" if problem.detail else problem.kind
        text = f"{headline} ({what}). {_ADVICE[problem.kind].format(them='it')}"
        return f"{text}. {remedy}" if remedy else text
    lines = [f"{headline}:"]
    for kind, advice in _ADVICE.items():
        group = [problem for problem in problems if problem.kind == kind]
        if group:
            names = [f"{p.name!r} ({p.detail})" if p.detail else repr(p.name) for p in group]
            more = len(names) - _NAMES
            text = ", ".join(names[:_NAMES])
            text += f" and {more:,} other{'s' * (more > 1)}" * (more > 0)
            them = "it" if len(group) == 1 else "them"
            lines.append(f"- {kind}: {text}. {advice.format(them=them)}")
    if remedy or len(lines) > 2:
        lines.append(remedy or _ALL_OF_THIS)
    return "\n".join(lines)


def _headline(problems: Sequence[ColumnProblem], where: str) -> str:
    others = [problem for problem in problems if not problem.numeric]
    if others:
        more, need = len(problems) - 1, "s need" if len(problems) > 2 else " needs"
        text = f"column {others[0].name!r} of {where} is not numeric"
        return text + f", and {more:,} other column{need} a change, too" * (more > 0)
    gaps = [problem for problem in problems if problem.kind == "gaps in rows"]
    what = "NaN" if gaps else "infinity"
    if len(problems) == 1:
        return f"Input {where} contains {what} in column {problems[0].name!r}"
    return f"Input {where} contains {what}{' and infinity' * (0 < len(gaps) < len(problems))}"


# --- names that are missing ---


def refuse_missing(
    names: Sequence[str], there: Sequence[str], source: str, none_of_them: str = ""
) -> None:
    """Refuse names that are not there, with the nearest ones that are.

    Where not one of them is, ``none_of_them`` says what the reason may be.
    """
    known = set(there)
    missing = [name for name in names if name not in known]
    if not missing:
        return
    wanted = []
    for name in missing[:_LISTED]:
        meant = _nearest(name, there)
        wanted.append(repr(name) if meant is None else f"{name!r} (is {meant!r} meant?)")
    what = f"column{'s' * (len(missing) > 1)} {_first(wanted, len(missing))}"
    msg = f"{source} has no {what}: its columns are {_first(list(map(repr, there)), len(there))}"
    if none_of_them and len(missing) == len(names):
        msg = f"{msg}. {none_of_them}"
    raise ValueError(msg)


def _first(names: Sequence[str], count: int) -> str:
    return ", ".join(names[:_LISTED]) + ", ..." * (count > _LISTED)


def _nearest(name: str, there: Sequence[str]) -> str | None:
    """The name that is most like another one, whatever its case; None where none is."""
    plain = {_plain(known): known for known in reversed(there)}
    found = get_close_matches(_plain(name), list(plain), n=1)
    return plain[found[0]] if found else None


def _plain(name: str) -> str:
    return "".join(c for c in str(name).casefold() if c.isalnum())
