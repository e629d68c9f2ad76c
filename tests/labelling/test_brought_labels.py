"""Brought labels: what Label Studio and Prodigy export, and what cannot be taken of it."""

import json

import pyarrow
import pytest

from squareone.errors import TableFileError
from squareone.labelling.brought_labels import brought_labels, read_labelled

TABLE = pyarrow.table(
    {"key": [7, 8, 9, 10], "text": ["an offer", "dear Ann,\nhi ", "twin", "twin"]}
)


def studio(text, choices, **more):
    result = [{"type": "choices", "value": {"choices": choices}}]
    return {"id": 1, "data": {"text": text}, "annotations": [{"result": result, **more}]}


def brought(path, tasks, lines=False, text="text", identifier=None):
    path.write_text("\n".join(map(json.dumps, tasks)) if lines else json.dumps(tasks))
    return brought_labels(read_labelled(path), TABLE, text, identifier)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "export.json"


def test_label_studio(path):
    tasks = [
        studio("an offer", ["spam"]),
        studio("dear Ann,\r\nhi", ["ham"]),
        studio("dear Ann,\nhi", ["ham"], was_cancelled=True),
        studio("an offer", ["spam", "ham"]),
        studio("gone", ["ham"]),
        {"id": 2, "data": {"text": "an offer"}, "annotations": []},
    ]
    found = brought(path, tasks)
    assert found.labels == {0: "spam", 1: "ham"}
    assert (found.without, found.unknown) == (3, 1)


def test_label_studio_in_short(path):
    tasks = [{"id": 3, "text": "an offer", "sentiment": "spam", "annotator": 1, "lead_time": 2.5}]
    assert brought(path, tasks).labels == {0: "spam"}


def test_prodigy(path):
    tasks = [
        {"text": "an offer", "label": "spam", "answer": "accept"},
        {"text": "dear Ann,\nhi", "label": "spam", "answer": "reject"},
        {"text": "twin", "accept": ["ham"], "answer": "accept"},
        {"text": "twin", "accept": ["spam"], "answer": "accept"},
        {"text": "twin", "accept": ["spam", "ham"], "answer": "accept"},
        {"text": "an offer", "label": "spam", "answer": "ignore"},
    ]
    found = brought(path, tasks, lines=True)
    assert found.labels == {0: "spam", 2: "ham", 3: "spam"}  # twins in their order
    assert found.without == 3


def test_rows_are_joined_by_identifier_where_there_is_one(path):
    tasks = [{"data": {"key": 8}, "annotations": studio("", ["ham"])["annotations"]}]
    assert brought(path, tasks, identifier="key").labels == {1: "ham"}
    tasks = [{"text": "x", "meta": {"key": 9}, "label": "spam", "answer": "accept"}]
    assert brought(path, tasks, text=None, identifier="key").labels == {2: "spam"}
    with pytest.raises(ValueError, match="give --id"):
        brought(path, tasks, text=None)


@pytest.mark.parametrize("text", ["no json", "[1, 2]", '{"a": 1', "[[]]"])
def test_other_files_are_refused(path, text):
    path.write_text(text)
    with pytest.raises(TableFileError, match="Prodigy's JSONL"):
        read_labelled(path)


@pytest.mark.parametrize(
    "task",
    [
        {"data": {"text": "an offer"}, "annotations": [None, {"result": [None]}, {"result": None}]},
        {"text": None, "label": 3, "answer": "accept"},
        {"text": "an offer", "accept": [], "answer": "accept"},
        {},
    ],
    ids=str,
)
def test_strange_objects_have_no_label(path, task):
    found = brought(path, [task])
    assert found.labels == {}
    assert found.without == 1
