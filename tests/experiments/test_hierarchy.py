"""The experiment of a hierarchy of newsgroups, on a few posts."""

import json
import lzma
import sys

import numpy as np
import pytest

from experiments import hierarchy, report
from experiments.data import VARIABLE

TOPICS = {
    "comp.graphics": "pixel image colour screen",
    "comp.os": "kernel driver screen memory",
    "sci.med": "doctor patient dose study",
    "sci.space": "orbit moon launch study",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    rng = np.random.default_rng(0)
    with lzma.open(tmp_path / "20newsgroups_bydate.jsonl.xz", "wt", encoding="utf-8") as file:
        for i in range(360):
            label = int(rng.integers(4))
            group, words = list(TOPICS.items())[label]
            text = " ".join(rng.choice([*words.split(), "the", "and"], 12))
            part = "train" if i % 4 else "test"
            row = {"split": part, "label": label, "group": group, "text": text}
            file.write(json.dumps(row) + "\n")
    return tmp_path


def test_it_runs(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["hierarchy", "--quick"])
    hierarchy.main()
    table = (folder / "hierarchy-quick.md").read_text(encoding="utf-8")
    rows = [line for line in table.splitlines() if line.startswith(("| 0.", "| 1 "))]
    assert len(rows) == len(hierarchy.RIDGES) * 4
    assert (folder / "hierarchy-quick-pass.png").exists()
    losses = [float(cell) for row in rows for cell in row.split("|")[4:8]]
    assert max(losses) < 0.5  # the topics have words of their own
    assert "zero-one loss" in capsys.readouterr().out


def test_groups_are_below_the_first_part_of_their_names():
    found = hierarchy.two_levels(np.array([*TOPICS, "sci.med"]))
    assert found.names == ("comp", "comp.graphics", "comp.os", "sci", "sci.med", "sci.space")
    assert found.parent("sci.space") == "sci"
    truth = hierarchy.closed(found, [["sci.med"], []])
    assert truth.astype(int).tolist() == [[0, 0, 0, 1, 1, 0], [0] * 6]
