"""Brought labels: what Label Studio and Prodigy export, joined with the rows of a table."""

from __future__ import annotations

import json
import os
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import TableFileError

__all__ = ["BroughtLabels", "LabelledText", "brought_labels", "read_labelled"]

# Names under which Label Studio's short form has the choice, and its own fields.
_LS_FIELDS = frozenset(
    {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time"}
)


@dataclass(frozen=True)
class LabelledText:
    """A row of an export.

    Attributes
    ----------
    cells : dict
        Of the row, by the name of the field.
    label : str or None
        None where there is none, or more than one, or it was ignored.
    """

    cells: Mapping[str, Any]
    label: str | None


@dataclass(frozen=True)
class BroughtLabels:
    """Labels of an export, by the places of rows.

    Attributes
    ----------
    labels : dict of int to str
    without : int
        Rows of the export without a label that can be taken: none, several, rejected or ignored.
    unknown : int
        Rows that are not in the table.
    """

    labels: Mapping[int, str]
    without: int
    unknown: int


def read_labelled(path: str | os.PathLike[str]) -> list[LabelledText]:
    """The rows of an export: Label Studio's JSON and JSON-MIN, and Prodigy's JSONL.

    Parameters
    ----------
    path : path

    Returns
    -------
    list of LabelledText

    Raises
    ------
    TableFileError
        Where it is none of these.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from squareone.labelling.brought_labels import read_labelled
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "prodigy.jsonl")
    ...     _ = file.write_text('{"text": "an offer", "label": "spam", "answer": "accept"}')
    ...     [each.label for each in read_labelled(file)]
    ['spam']
    """
    name = os.path.basename(os.fsdecode(path))
    with open(path, encoding="utf-8-sig") as file:
        text = file.read()
    try:
        tasks = list(_objects(text))
    except ValueError as error:
        remedy = "Label Studio's JSON or JSON-MIN, or Prodigy's JSONL is expected"
        raise TableFileError(name, f"it is no JSON ({error})", remedy) from error
    found = []
    for number, task in enumerate(tasks, 1):
        if not isinstance(task, dict):
            remedy = "Label Studio's JSON or JSON-MIN, or Prodigy's JSONL is expected"
            raise TableFileError(name, "an object is expected", remedy, row=number)
        found.append(_labelled(task))
    return found


def _objects(text: str) -> Iterator[Any]:
    if text.lstrip().startswith("["):
        yield from json.loads(text)
        return
    for line in text.splitlines():
        if line.strip():
            yield json.loads(line)


def _labelled(task: dict[str, Any]) -> LabelledText:
    if isinstance(task.get("data"), dict):
        return LabelledText(task["data"], _of_annotations(task.get("annotations") or []))
    if "answer" in task or "accept" in task:
        return LabelledText({**(task.get("meta") or {}), **task}, _of_prodigy(task))
    choices = [
        value
        for name, value in task.items()
        if name in ("choice", "label", "sentiment", "class", "category") and isinstance(value, str)
    ]
    cells = {name: value for name, value in task.items() if name not in _LS_FIELDS - {"id"}}
    return LabelledText(cells, choices[0].strip() or None if len(choices) == 1 else None)


def _of_annotations(annotations: list[Any]) -> str | None:
    """The choice of the last annotation that was not cancelled."""
    for annotation in reversed(annotations):
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            continue
        choices = [
            choice
            for result in annotation.get("result") or []
            if isinstance(result, dict) and isinstance(result.get("value"), dict)
            for choice in result["value"].get("choices") or []
        ]
        return str(choices[0]) if len(choices) == 1 else None
    return None


def _of_prodigy(task: dict[str, Any]) -> str | None:
    """The label that was accepted; a rejected one says only what a row is not."""
    if task.get("answer", "accept") != "accept":
        return None
    accepted = task.get("accept")
    if isinstance(accepted, list):
        return str(accepted[0]) if len(accepted) == 1 else None
    label = task.get("label")
    return label if isinstance(label, str) and label else None


def brought_labels(
    found: list[LabelledText], table: Any, text: str | None, identifier: str | None
) -> BroughtLabels:
    """Join the rows of an export with those of a table, by identifier or by text.

    Parameters
    ----------
    found : list of LabelledText
    table : pyarrow.Table
    text : str or None
        The column of text.
    identifier : str or None
        The column by which rows are known.

    Returns
    -------
    BroughtLabels
        Rows with the same text get the labels in their order.
    """
    by = identifier
    if by is None or not any(by in each.cells for each in found):
        by = text
    if by is None:
        msg = (
            "rows without text are joined by an identifier: give --id with a column that the "
            "export has, too"
        )
        raise ValueError(msg)
    places: dict[str, deque[int]] = defaultdict(deque)
    for place, value in enumerate(table.column(by).to_pylist()):
        if value is not None:
            places[_same(value)].append(place)
    labels: dict[int, str] = {}
    without = unknown = 0
    for each in found:
        value = each.cells.get(by)
        if value is None and by == text:  # the one text there is, whatever it is called
            texts = [cell for name, cell in each.cells.items() if name in ("text", "content")]
            value = texts[0] if texts else None
        if each.label is None:
            without += 1
        elif value is None or not places.get(_same(value)):
            unknown += 1
        else:
            labels[places[_same(value)].popleft()] = each.label
    return BroughtLabels(labels, without, unknown)


def _same(value: Any) -> str:
    """Text without what programs change when they write it: ends of lines, blanks around it."""
    return "\n".join(line.rstrip() for line in str(value).strip().splitlines())
