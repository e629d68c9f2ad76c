"""Label exports: labels, predictions, events, a model and a page of what was spent, as files."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..arrays import blocks
from ..estimators import RLSClassifier
from ..persistence.save_load import save_with_facts
from ..report.verdict import percent
from ..tables import TableClassifier
from .audit_figures import AuditLook
from .pool_features import TextFeatures, texts_of
from .session import Figures, Session

__all__ = ["EXPORTS", "ExportedFile", "export_file", "guarded", "write_export"]

# Texts by which spreadsheets know a formula, and numbers, which are none.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
# Rows that are predicted at once, and labels of which two are needed at least.
_BLOCK, _FEWEST = 4_096, 2


@dataclass
class ExportedFile:
    """A file that was made to be taken away.

    Attributes
    ----------
    path : Path
        Where it is, in a folder of its own that only its owner can read.
    name : str
        What it is to be called.
    note : str
        What is to be known about it.
    """

    path: Path
    name: str
    note: str

    def cleanup(self) -> Any:
        """Remove it, once it was sent."""
        from starlette.background import BackgroundTask

        return BackgroundTask(shutil.rmtree, self.path.parent, ignore_errors=True)


def export_file(session: Session, name: str, title: str) -> ExportedFile:
    """One of :data:`EXPORTS`, in a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="squareone-"))
    stem = Path(title or "table").stem.partition(".")[0]
    path = folder / name
    try:
        with open(path, "xb") as file:
            note = write_export(session, name, file)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return ExportedFile(path, f"{stem}.{name}", note)


def write_export(session: Session, name: str, file: BinaryIO) -> str:
    """Write one of :data:`EXPORTS` into a file.

    Parameters
    ----------
    session : Session
    name : str
    file : binary file

    Returns
    -------
    str
        What is to be known about it; may be empty.

    Examples
    --------
    >>> import io, tempfile
    >>> from squareone.labelling import Session
    >>> from squareone.labelling.label_exports import write_export
    >>> file = io.BytesIO()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = {"text": ["=1+1", "hello"]}
    ...     with Session(table, folder + "/a.db", text="text", labels=["a", "b"]) as session:
    ...         _ = session.bring_in({0: "a"}, "somebody")
    ...         print(write_export(session, "labels.csv", file))
    1 cell that starts like a formula has a ' in front, so that no spreadsheet computes it.
    >>> print(file.getvalue().decode().splitlines()[1][:13])
    1,"'=1+1","a"
    """
    if name not in EXPORTS:
        msg = f"{name!r}: one of {', '.join(EXPORTS)} is expected"
        raise ValueError(msg)
    return EXPORTS[name](session, file)


# --- labels ---


def _labels(session: Session) -> Any:
    """The rows with an answer, with their cells and what was said, as a table."""
    import pyarrow

    standing = {
        session.place_of(row): answer
        for row, answer in session.answers.standing.items()
        if session.place_of(row) is not None
    }
    places = sorted(place for place in standing if place is not None)
    answers = [standing[place] for place in places]
    table = session.table.take(pyarrow.array(places, pyarrow.int64()))
    if session.label_column is not None:
        table = table.drop_columns([session.label_column])
    said = {
        "label": [answer.label for answer in answers],
        "answer": [answer.kind for answer in answers],
        "why": [answer.why or "imported" for answer in answers],
        "annotator": [answer.event.annotator for answer in answers],
        "time": [
            time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(answer.event.time))
            for answer in answers
        ],
    }
    numbers = pyarrow.array([place + 1 for place in places], pyarrow.int64())
    table = table.add_column(0, _free("row", table.column_names), numbers)
    for name, values in said.items():
        column = pyarrow.array(values, pyarrow.string())
        table = table.append_column(_free(name, table.column_names), column)
    return table


def _free(name: str, taken: list[str]) -> str:
    """A name that no column has yet."""
    while name in taken:
        name = f"{name}_"
    return name


def _labels_csv(session: Session, file: BinaryIO) -> str:
    return _csv(_labels(session), file)


def _labels_parquet(session: Session, file: BinaryIO) -> str:
    return _parquet(_labels(session), file)


def _labels_jsonl(session: Session, file: BinaryIO) -> str:
    table = _labels(session)
    for batch in table.to_batches(max_chunksize=_BLOCK):
        for row in batch.to_pylist():
            file.write(json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n")
    return ""


def guarded(text: str) -> str:
    """A cell of a CSV file, with a ' in front where a spreadsheet would compute it.

    Examples
    --------
    >>> from squareone.labelling.label_exports import guarded
    >>> [guarded(text) for text in ("=SUM(A1)", "@home", "-12.5", "a-b")]
    ["'=SUM(A1)", "'@home", '-12.5', 'a-b']
    """
    start = text.lstrip(" ")
    if start.startswith(_FORMULA) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def _csv(table: Any, file: BinaryIO) -> str:
    """Text with guarded cells; how many these are."""
    import pyarrow
    from pyarrow import csv

    count = 0
    for place, field in enumerate(table.schema):
        if pyarrow.types.is_string(field.type) or pyarrow.types.is_large_string(field.type):
            before = table.column(place).to_pylist()
            after = [text if text is None else guarded(text) for text in before]
            count += sum(a is not b for a, b in zip(after, before, strict=True))
            table = table.set_column(place, field.name, pyarrow.array(after, field.type))
        elif pyarrow.types.is_nested(field.type):
            texts = [None if v is None else json.dumps(v) for v in table.column(place).to_pylist()]
            table = table.set_column(place, field.name, pyarrow.array(texts, pyarrow.string()))
    csv.write_csv(table.rename_columns([guarded(name) for name in table.column_names]), file)
    if not count:
        return ""
    if count == 1:
        return (
            "1 cell that starts like a formula has a ' in front, so that no spreadsheet computes "
            "it."
        )
    return (
        f"{count:,} cells that start like formulas have a ' in front, so that no spreadsheet "
        "computes them."
    )


def _parquet(table: Any, file: BinaryIO) -> str:
    from pyarrow import parquet

    parquet.write_table(table, file)
    return ""


# --- events ---


def _events(session: Session, file: BinaryIO) -> str:
    """Everything that happened, an object a line; rows by their present number."""
    for event in session.journal.events():
        place = None if event.row is None else session.place_of(event.row)
        shown = {
            "number": event.number,
            "uuid": event.uuid,
            "time": event.time,
            "annotator": event.annotator,
            "kind": event.kind,
            "row": None if place is None else place + 1,
            "key": None if event.row is None else event.row[0].hex(),
            "occurrence": None if event.row is None else event.row[1],
            "label": event.label,
            "detail": event.detail,
        }
        file.write(json.dumps(shown, ensure_ascii=False).encode() + b"\n")
    return ""


# --- the model, and what it predicts ---


def refit(session: Session) -> tuple[Any, int]:
    """A classifier of all labels, those of the audit too, from the cells of a row to its label.

    Returns
    -------
    tuple (model, labels)
        And how many labels it was fitted to.
    """
    conflicts = session.answers.conflicts()
    known = {
        place: answer.label
        for row, answer in session.answers.standing.items()
        if answer.label is not None
        and (place := session.place_of(row)) is not None
        and row not in conflicts
    }
    places = np.array(sorted(known), np.int64)
    labels = np.array([known[place] for place in places.tolist()])
    if np.unique(labels).size < _FEWEST:
        msg = "labels of two classes are expected: a model cannot be fitted to fewer"
        raise ValueError(msg)
    if session.text is None:
        table = session.table.select(session.columns).take(places)
        return TableClassifier("gaussian", random_state=0).fit(table, labels), places.size
    from sklearn.pipeline import make_pipeline

    features = TextFeatures(session.table.select([session.text]), session.order, 0.0)
    model = RLSClassifier("linear", random_state=0).fit(features.rows(places), labels)
    return make_pipeline(*features.model_steps(), model), places.size


def _model(session: Session, file: BinaryIO) -> str:
    figures = session.figures()
    model, fitted = refit(session)
    said = said_of_accuracy(figures, fitted)
    facts = {
        "kind": "labelling",
        "classes": [str(label) for label in model.classes_],
        "labels": int(fitted),
        "audit": said,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        save_with_facts(model, facts, path)
        with open(path, "rb") as made:
            shutil.copyfileobj(made, file)
    return said


def said_of_accuracy(figures: Figures, fitted: int | None = None) -> str:
    """The accuracy of the model without audit rows, in words, and how many labels a refit has."""
    look = figures.audit
    if look is None or look.accuracy is None:
        return (
            f"Its accuracy is not known: {figures.audit_asked} of the {figures.next_look} audit "
            "rows of the next look were asked."
        )
    share, low, high = look.accuracy
    first = "" if fitted is None else f"Fitted to all {fitted:,} labels. "
    return (
        f"{first}The model of the session, which had learned "
        f"{figures.audit_labels:,} labels and none of the audit, was right in {percent(share)} of "
        f"{look.known} audit rows: between {percent(low)} and {percent(high)}."
    )


def _predictions(session: Session) -> tuple[Any, str]:
    """Every row with the class that the refit predicts, and all probabilities."""
    import pyarrow

    model, fitted = refit(session)
    names = [str(label) for label in model.classes_]
    n = session.identities.n
    shares = np.empty((n, len(names)))
    guesses = []
    for part in blocks(n, _BLOCK):
        rows = session.table.slice(part.start, part.stop - part.start)
        cells: Any = (
            rows.select(session.columns)
            if session.text is None
            else texts_of(rows.select([session.text]))
        )
        shares[part] = model.predict_proba(cells)
        guesses += [str(label) for label in model.predict(cells)]
    columns: dict[str, Any] = {"row": np.arange(1, n + 1)}
    if session.identifier is not None:
        columns[_free(session.identifier, list(columns))] = session.table.column(session.identifier)
    columns[_free("prediction", list(columns))] = guesses
    for place, name in enumerate(names):
        columns[_free(f"probability of {name}", list(columns))] = shares[:, place]
    return pyarrow.table(columns), said_of_accuracy(session.figures(), fitted)


def _predictions_csv(session: Session, file: BinaryIO) -> str:
    table, said = _predictions(session)
    return " ".join(part for part in (said, _csv(table, file)) if part)


def _predictions_parquet(session: Session, file: BinaryIO) -> str:
    table, said = _predictions(session)
    _parquet(table, file)
    return said


# --- what was spent ---

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 0 auto; }
main { padding: 1.5rem 1rem; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .3rem 1rem .3rem 0; }
td { font-variant-numeric: tabular-nums; }
"""


def _report(session: Session, file: BinaryIO) -> str:
    """A page of what was spent and what was not."""
    figures = session.figures()
    kinds: dict[str, int] = {}
    for row, answer in session.answers.standing.items():
        if session.answers.hidden(row):
            continue
        why = answer.why or "brought in"
        kinds[why] = kinds.get(why, 0) + (answer.label is not None)
    names = {
        "rule": "asked by the rule",
        "audit": "of the audit, which measures",
        "search": "found by search",
        "negatives": "of samples of predicted negatives",
        "link": "opened by their number",
        "review": "reviewed",
        "again": "answered after a break",
        "brought in": "brought in",
    }
    rows = [(names.get(why, why), count) for why, count in kinds.items()]
    rows.append(("repeats, which measure agreement with oneself", len(session.answers.repeats)))
    rows += [("skipped", figures.skipped), ("could not be told", figures.cannot_tell)]
    left = figures.rows - figures.labelled
    look = figures.audit
    parts = [
        "<h1>Labels spent, labels saved</h1>",
        f"<p>{figures.labelled:,} of {figures.rows:,} rows have a label: {left:,} "
        f"({percent(left / max(figures.rows, 1))}) were not needed so far.</p>",
        "<h2>Spent</h2>",
        _html_table(("labels", "number"), rows),
        "<h2>What they are worth</h2>",
        f"<p>{escape(said_of_accuracy(figures))}</p>",
    ]
    if look is not None:
        parts.append(_html_table(("class", "F", "between"), _class_rows(look)))
    same, total = figures.oneself
    if total:
        parts.append(f"<p>Repeated rows got the same label in {same} of {total} cases.</p>")
    body = "\n".join(parts)
    file.write(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Labels spent, labels saved</title><style>{_STYLE}</style></head>"
        f"<body><main>\n{body}\n</main></body></html>\n".encode()
    )
    return ""


def _class_rows(look: AuditLook) -> list[tuple[str, str, str]]:
    found = []
    for each in look.classes:
        if each.f is None or each.interval is None:
            found.append((each.label, "too few audit rows", ""))
        else:
            low, high = each.interval
            found.append((each.label, f"{each.f:.2f}", f"{low:.2f} and {high:.2f}"))
    return found


def _html_table(heads: tuple[str, ...], rows: list[Any]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    lines = [
        "".join(
            f"<td>{escape(f'{cell:,}' if isinstance(cell, int) else str(cell))}</td>"
            for cell in row
        )
        for row in rows
    ]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


#: What can be taken away, by the ends of the names of files.
EXPORTS: Mapping[str, Callable[[Session, BinaryIO], str]] = {
    "labels.csv": _labels_csv,
    "labels.parquet": _labels_parquet,
    "labels.jsonl": _labels_jsonl,
    "predictions.csv": _predictions_csv,
    "predictions.parquet": _predictions_parquet,
    "model.squareone": _model,
    "events.jsonl": _events,
    "report.html": _report,
}
