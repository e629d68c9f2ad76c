"""Documents in the experiments: files, features, draws, and a run from end to end."""

import bz2
import json
import lzma
import sys
from io import BytesIO

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file

from experiments import report, sector
from experiments.data import VARIABLE, DataNotFoundError, Rows
from experiments.first_order import one_pass, passive_aggressive, perceptron
from experiments.text_data import load_counts, load_newsgroups, load_reuters, load_reuters_stream
from experiments.text_features import log_tf_idf, running_tf_idf
from experiments.text_protocol import draw

POST = "From: a@b\nSubject: stars\n\nC writes:\n> what?\n\nThe moon.\n\n--\nA, of B"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return tmp_path


def write_lines(path, documents):
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(document) + "\n" for document in documents)


def write_counts(path, rows):
    X = rows.X
    np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=rows.y)


def some_counts(classes=12, per_class=8, d=60):
    """Documents of a class have most of their words from a few terms of its own."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(1, classes + 1), per_class)
    rates = 0.1 + 2.0 * (np.arange(d) % classes == y[:, None] - 1)
    return Rows(csr_matrix(rng.poisson(rates).astype(float)), y)


def test_weights_of_terms_are_their_definition():
    train = np.array([[3, 0, 1, 0], [1, 2, 0, 0], [1, 0, 4, 0]])
    test = np.array([[0, 5, 2, 7], [2, 0, 0, 0], [0, 0, 0, 9]])
    idf = np.array([0.0, np.log(3 / 1), np.log(3 / 2), 0.0])  # in all, in one, in two, in none
    found = log_tf_idf(*(csr_matrix(part, dtype=float) for part in (train, test)))
    for part, rows in zip((train, test), found, strict=True):
        expected = np.log(1 + part) * idf
        length = np.linalg.norm(expected, axis=1, keepdims=True)
        assert_allclose(rows.toarray(), expected / np.where(length > 0, length, 1), rtol=1e-15)
    assert_allclose(found[0].power(2).sum(axis=1), 1.0)
    assert_array_equal(found[1].getnnz(axis=1), [2, 0, 0])  # nothing is known of its terms


def test_the_weights_leave_the_counts_alone():
    counts = some_counts().X
    before = counts.copy()
    log_tf_idf(counts, counts)
    assert (counts != before).nnz == 0


@pytest.mark.parametrize("suffix", [".npz", ".svmlight", ".svmlight.bz2"])
def test_counts_come_from_either_format(folder, suffix):
    rows = some_counts()
    path = folder / f"sector105{suffix}"
    if suffix == ".npz":
        write_counts(path, rows)
    else:
        buffer = BytesIO()
        dump_svmlight_file(rows.X, rows.y, buffer)
        written = buffer.getvalue()
        path.write_bytes(bz2.compress(written) if path.suffix == ".bz2" else written)
    found = load_counts("sector105")
    assert_array_equal(found.y, rows.y)
    assert (found.X != rows.X).nnz == 0


def test_newsgroups_from_the_folder(folder):
    documents = [
        {"split": "test", "label": 3, "group": "sci.space", "id": "1", "text": POST},
        {
            "split": "train",
            "label": 0,
            "group": "alt.atheism",
            "id": "2",
            "text": "Subject: é\n\nb",
        },
        {"split": "train", "label": 3, "group": "sci.space", "id": "3", "text": "x\n\nc"},
    ]
    write_lines(folder / "20newsgroups_bydate.jsonl.xz", documents)
    train, test = load_newsgroups()
    assert list(train.X) == ["Subject: é\n\nb", "x\n\nc"]
    assert_array_equal(train.y, [0, 3])
    assert list(test.X) == [POST]
    named, _ = load_newsgroups(named=True)
    assert list(named.y) == ["alt.atheism", "sci.space"]
    _, bare = load_newsgroups(bare=True)
    assert bare.X[0].strip() == "The moon."


def test_reuters_keeps_topics_of_both_parts_and_all_stories(folder):
    def story(part, topics, title="T", body="b"):
        return {"modapte": part, "topics": topics, "title": title, "body": body}

    documents = [
        story("train", ["wheat", "grain"]),
        story("train", ["earn"], title=None),
        story("train", []),
        story("unused", ["rye"]),
        story("test", ["grain", "rye"]),
        story("test", ["earn"], body=None),
    ]
    write_lines(folder / "reuters21578.jsonl.xz", documents)
    train, test = load_reuters()
    assert_array_equal(train.y, [[0, 1], [1, 0], [0, 0]])  # earn, grain
    assert_array_equal(test.y, [[0, 1], [1, 0]])
    assert list(train.X) == ["T\nb", "\nb", "T\nb"]
    assert test.X[1] == "T\n"


@pytest.mark.parametrize("load", [load_newsgroups, load_reuters, lambda: load_counts("sector105")])
def test_a_missing_file_is_named(folder, load):
    with pytest.raises(DataNotFoundError, match=r"has no .*(jsonl\.xz|sector105\.npz)"):
        load()


@pytest.mark.parametrize("load", [load_reuters, lambda: load_counts("sector105")])
def test_what_cannot_be_fetched_asks_for_a_folder(monkeypatch, load):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(DataNotFoundError, match=f"set {VARIABLE} to a folder that has"):
        load()


def test_draws_are_nested_and_leave_the_rest():
    rows = some_counts(classes=3, per_class=10)
    numbered = Rows(np.arange(len(rows.y)), rows.y)
    large, small = (draw(numbered, m, seed=4) for m in (6, 2))
    assert_array_equal(np.bincount(large.train.y)[1:], [6, 6, 6])
    assert set(small.train.X) < set(large.train.X)
    for train, test in (large, small):
        assert_array_equal(np.sort(np.r_[train.X, test.X]), numbered.X)
    assert set(draw(numbered, 2, seed=5).train.X) != set(small.train.X)
    at_most_half = draw(numbered, 8, seed=4, most=0.5)
    assert_array_equal(np.bincount(at_most_half.train.y)[1:], [5, 5, 5])


@pytest.mark.thorough
def test_the_protocol_runs_on_another_file(tmp_path, monkeypatch, capsys):
    write_counts(tmp_path / "other.npz", some_counts())
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["sector", "--quick", "--file", str(tmp_path / "other.npz")])
    sector.main()
    table = (tmp_path / "sector-quick.md").read_text(encoding="utf-8")
    assert table.count("| RLSC, BCH 63 |") == 2
    assert "test error: 0." in capsys.readouterr().out


def test_without_its_file_the_run_says_so(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sector"])
    sector.main()
    assert capsys.readouterr().out.startswith("skipped: the folder in SQUAREONE_DATA has no")


def test_running_weights_know_of_no_later_document():
    counts = np.array([[3, 0, 1], [1, 2, 0], [1, 0, 4]])
    found = running_tf_idf(csr_matrix(counts, dtype=float)).toarray()
    for t in range(1, 4):
        df = np.count_nonzero(counts[:t], axis=0)
        tf = np.where(counts[t - 1] > 0, 1 + np.log(np.maximum(counts[t - 1], 1)), 0.0)
        expected = tf * (1 + np.log((t + 1) / (df + 1)))
        assert_allclose(found[t - 1], expected / np.linalg.norm(expected), rtol=1e-14)


def test_reuters_stream_is_in_the_order_of_its_dates(folder):
    dates = {
        "3": "9-MAR-1987  09:15:05.4",
        "1": "26-FEB-1987 15:01:01.79",
        "2": "10-MAR-1987 00:02:59.13&#5;&#5;&#5;RM",
        "4": "1-MAR-1987 00:00:00.00",
    }
    topics = {"3": ["earn", "acq"], "1": ["earn"], "2": ["acq", "tin"], "4": []}
    documents = [
        {"date": date, "newid": key, "topics": topics[key], "title": key, "body": None}
        for key, date in dates.items()
    ]
    write_lines(folder / "reuters21578.jsonl.xz", documents)
    found = load_reuters_stream(2)
    assert [text.strip() for text in found.X] == ["1", "3", "2"]
    assert_array_equal(found.y, [[0, 1], [1, 1], [1, 0]])  # acq, earn


def test_a_date_that_cannot_be_read_is_refused(folder):
    document = {"date": "1987-03-09", "newid": "1", "topics": ["tin"], "title": "", "body": ""}
    write_lines(folder / "reuters21578.jsonl.xz", [document])
    with pytest.raises(ValueError, match="1987-03-09"):
        load_reuters_stream()


def test_first_order_learners_by_hand():
    X = csr_matrix([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    Y = np.array([[1.0], [1.0], [-1.0], [1.0]])
    assert_allclose(one_pass(X, Y, perceptron)[:, 0], [0.0, 2.0, 0.0, 0.0])
    assert_allclose(one_pass(X, Y, passive_aggressive)[:, 0], [0.0, 2.0, 0.0, 0.0])
    late = np.array([False, True, True, True])
    # PA: half of (2, 0) gives y·p = 1 there
    assert_allclose(one_pass(X, Y, perceptron, late)[:, 0], [0.0, 0.0, 0.0, 1.0])
    assert_allclose(one_pass(X, Y, passive_aggressive, late)[:, 0], [0.0, 0.0, 0.0, -0.5])
