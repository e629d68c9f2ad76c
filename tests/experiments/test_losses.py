"""The comparison of losses, from end to end on rows that are made up."""

import numpy as np
import pytest

from experiments import losses, report
from experiments.data import Rows, Split
from experiments.table_data import Columns, Table
from experiments.table_data import Split as Parts


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    return tmp_path


def test_every_loss_has_a_row_and_is_compared_with_the_square(results):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=160) > 0).astype(int)
    table = report.Report("losses", "", losses.HEADER, "", quick=True)
    losses._compare("clouds", Split(Rows(X[:60], y[:60]), Rows(X[60:], y[60:])), table)
    rows = [row.split(" | ") for row in (results / "losses-quick.md").read_text().splitlines()]
    rows = [row for row in rows if row[0].startswith("| clouds")]
    assert [row[2] for row in rows] == ["square", "hinge", "squared hinge", "LIBSVM"]
    assert rows[0][5] == ""
    for row in rows[1:]:
        more = float(row[5].split(" ± ")[0])
        assert more == pytest.approx(float(row[3]) - float(rows[0][3]), abs=0.011)


def test_words_and_fifths_are_indicators():
    columns = Columns({"age": np.arange(50), "town": np.array(["a", "b"] * 25)})
    parts = Parts(np.arange(40), np.arange(40, 50), 40)
    found = losses._binary(Table("made up", columns, np.arange(50) % 2), parts)
    assert found.train.X.shape == (40, 7)
    X = found.train.X.toarray()
    np.testing.assert_array_equal(np.unique(X), [0.0, 1.0])
    np.testing.assert_array_equal(X.sum(axis=1), np.full(40, 2.0))
    np.testing.assert_array_equal(X[:, :5].sum(axis=0), np.full(5, 8.0))
