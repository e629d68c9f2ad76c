"""The command ``label``: what it writes without a page, and what it says."""

import json
import re

import pytest

pytest.importorskip("starlette")

from squareone.labelling.journal import Journal, read_journal
from tests.cli.conftest import run
from tests.labelling.conftest import Page, mails, truth, write_mails


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_mails(tmp_path / "mails.csv", 60)


def export(path, n=60):
    """What Prodigy would have written."""
    lines = [{"text": t, "label": truth(t), "answer": "accept"} for t, _ in mails(n)[:20]]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_labels_come_in_and_go_out(table, tmp_path):
    done = run(
        "label", table, "--text", "body", "--labels", "spam,ham", "--json",
        "--import", export(tmp_path / "prodigy.jsonl"),
        "--export", "mails.labels.csv", "--export", "mails.model.squareone",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    # some are of rows that are kept for the audit, which is said
    reserved = int(re.search(r"(\d+) of its 20 new labels", " ".join(found["notes"])).group(1))
    assert sum(found["labels"].values()) == 20 - reserved
    assert found["brought"] == [{"file": str(tmp_path / "prodigy.jsonl"), "new": 20}]
    assert "accuracy is not known" in " ".join(found["notes"])
    assert (tmp_path / "mails.labels.csv").read_text().count("\n") == 21
    _, events = read_journal(tmp_path / "mails.csv.labels.db")
    assert sum(event.kind == "imported" for event in events) == 20
    again = run("label", table, "--text", "body", "--export", "mails.labels.csv")
    assert again.exit_code == 1
    assert "--force" in again.output


def test_a_column_of_labels(table, tmp_path):
    rows = [f"{text},{truth(text) if i < 10 else ''}" for i, (text, _) in enumerate(mails(60))]
    table.write_text("\n".join(["body,kind", *rows]) + "\n")
    done = run("label", table, "--text", "body", "--labels", "kind", "--no-page", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    reserved = int(re.search(r"(\d+) of its 10 new labels", " ".join(found["notes"])).group(1))
    assert sum(found["labels"].values()) == 10 - reserved


def test_merging_and_a_backup_while_it_is_in_use(table, tmp_path):
    options = ["label", table, "--text", "body", "--labels", "spam,ham", "--no-page"]
    assert run(*options, "--labels-file", "bob.db", "--annotator", "bob").exit_code == 0
    done = run(*options, "--merge", "bob.db", "--json")
    assert json.loads(done.stdout)["merged"] == [
        {"file": "bob.db", "new": 0, "known": 0, "set_aside": 0}
    ]
    with Journal(tmp_path / "mails.csv.labels.db"):
        refused = run(*options)
        assert refused.exit_code == 1
        assert "in use by process" in refused.output
        assert run("label", table, "--backup", "copy.db").exit_code == 0
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--text", "nothing", "--labels", "a,b"], "there is no column 'nothing'"),
        (["--labels", "a,b"], "a column of text, or columns"),
        (["--text", "body"], "say which labels there are"),
        (["--text", "body", "--labels", "a,b", "--export", "x.xlsx"], "a name that ends in"),
        (["--text", "body", "--labels", "a,b", "--id", "body", "--no-page"], None),
        (["--text", "body", "--labels", "body"], "it cannot be learned from"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_said(table, options, said):
    done = run("label", table, *options)
    assert done.exit_code == (0 if said is None else 1), done.output
    assert said is None or said in done.output


def test_standard_input_is_no_place_for_labels():
    done = run("label", "-", "--text", "a", "--labels", "a,b", stdin="a\nx\n")
    assert "not -" in done.output


@pytest.mark.thorough
def test_the_page_starts_ends_and_is_in_no_command_line(table):
    page = Page(table)
    try:
        assert page.link != page.new_link()
        with open(f"/proc/{page.process.pid}/cmdline") as file:
            assert page.link.partition("#")[2] not in file.read()
    finally:
        page.end()
    assert page.process.returncode in (0, 130)  # before or after it listens
