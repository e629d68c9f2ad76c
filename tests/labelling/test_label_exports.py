"""Label exports: every file can be read again, formulas are guarded in CSV only."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest

import squareone
from squareone.labelling import Pause, Session, write_export
from squareone.labelling.label_exports import EXPORTS, guarded
from squareone.persistence.save_load import load_with_facts

from .conftest import mails, truth

TEXTS = [text for text, _ in mails(150)]
FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-1-1", "@SUM(A1)", "\tx", "  =1", "＝1"]


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    table = {"key": list(range(150)), "body": [*TEXTS[:-7], *FORMULAS]}
    path = tmp_path_factory.mktemp("export") / "a.db"
    options = {"text": "body", "labels": ["spam", "ham"], "identifier": "key", "k": 100.0}
    with Session(table, path, **options) as session:
        for i in range(44):
            question = session.next(audit_only=i >= 20)
            session.answer(question, truth(session.cells(question.place)["body"]))
        session.cannot_tell(session.next(audit_only=True))
        for place in range(143, 150):
            if place not in session.audit_places:
                session.answer(session.ask(place, "search"), "spam")
        yield session


def written(session, name):
    file = io.BytesIO()
    note = write_export(session, name, file)
    return file, note


def test_labels_in_three_formats_are_the_same(session):
    csv, note = written(session, "labels.csv")
    frame = pd.read_csv(io.BytesIO(csv.getvalue()), dtype={"body": str, "label": str})
    parquet = pd.read_parquet(io.BytesIO(written(session, "labels.parquet")[0].getvalue()))
    lines = written(session, "labels.jsonl")[0].getvalue().decode().splitlines()
    rows = [json.loads(line) for line in lines]
    assert list(frame.columns) == list(parquet.columns)
    assert len(frame) == len(parquet) == len(rows)
    assert list(frame.columns) == [
        "row", "key", "body", "label", "answer", "why", "annotator", "time",
    ]  # fmt: skip
    for i, row in enumerate(rows):
        assert row["row"] == frame["row"][i] == parquet["row"][i] == row["key"] + 1
        kind, label = session.standing(row["row"] - 1)
        assert (row["answer"], row["label"]) == (kind, label)
        assert parquet["body"][i] == row["body"] == session.cells(row["row"] - 1)["body"]
    formulas = [text for text in parquet["body"] if guarded(text) != text]
    assert formulas
    assert all(text in FORMULAS for text in formulas)
    assert {f"'{text}" for text in formulas} <= set(frame["body"])
    assert re.match(r"\d+", note).group() == str(len(formulas))


def test_what_is_no_formula_stays():
    for text in ("-1.5", "+3", "1e5", "a=b", "", "'quoted", "-1e-5"):
        assert guarded(text) == text
    for text in FORMULAS:
        assert guarded(text) == f"'{text}"


def test_the_model_and_its_predictions_agree_and_quote_the_accuracy(session, tmp_path):
    file, note = written(session, "model.squareone")
    path = tmp_path / "model.squareone"
    path.write_bytes(file.getvalue())
    model = squareone.load(path)
    texts = [session.cells(place)["body"] for place in range(150)]
    table, said = written(session, "predictions.csv")
    frame = pd.read_csv(io.BytesIO(table.getvalue()))
    assert frame["prediction"].tolist() == model.predict(texts).tolist()
    shares = frame[["probability of ham", "probability of spam"]].to_numpy()
    np.testing.assert_allclose(shares, model.predict_proba(texts), rtol=1e-12)
    assert frame["row"].tolist() == list(range(1, 151))
    look = session.figures().audit
    assert look is not None
    assert f"{look.known} audit rows" in note
    assert "none of the audit" in note
    assert note in said
    _, facts = load_with_facts(path)
    with facts:
        assert facts.take("audit", str) == note
        for name, kind in (("kind", str), ("classes", list), ("labels", int)):
            facts.take(name, kind)


def test_all_events_are_there_and_no_cell_is(session):
    file, _ = written(session, "events.jsonl")
    events = [json.loads(line) for line in file.getvalue().decode().splitlines()]
    assert [event["number"] for event in events] == list(range(1, len(events) + 1))
    assert {"answer", "label_added", "cannot_tell", "look"} <= {e["kind"] for e in events}
    whole = file.getvalue() + session.journal.path.read_bytes()
    for text in TEXTS[:140] + FORMULAS:
        assert text.encode() not in whole


def test_the_page_of_what_was_spent(session):
    text = written(session, "report.html")[0].getvalue().decode()
    assert "<script" not in text
    assert "of 150 rows have a label" in text
    assert "of the audit, which measures" in text


def test_names_that_are_none(session):
    with pytest.raises(ValueError, match=r"labels\.csv"):
        write_export(session, "labels.xlsx", io.BytesIO())
    assert len(EXPORTS) == 8


@pytest.mark.thorough
def test_a_model_of_columns(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.standard_normal(80), "row": rng.standard_normal(80)})
    with Session(frame, tmp_path / "a.db", columns=["x", "row"], labels=["a", "b"]) as session:
        with pytest.raises(ValueError, match="labels of two classes"):
            written(session, "model.squareone")
        for _ in range(30):
            question = session.next()
            if isinstance(question, Pause):
                break
            session.answer(question, "a" if frame["x"][question.place] > 0 else "b")
        path = tmp_path / "model"
        path.write_bytes(written(session, "model.squareone")[0].getvalue())
        labels = pd.read_csv(io.BytesIO(written(session, "labels.csv")[0].getvalue()))
        assert list(labels.columns[:3]) == ["row_", "x", "row"]  # its own names stay
    guesses = squareone.load(path).predict(frame)
    assert np.mean(guesses == np.where(frame["x"] > 0, "a", "b")) > 0.9
